//! Files whose edits always need approval: their content decides which programs run or the rights of agents.
//!
//! A file is protected by its place or by its name. Places are caliban's own folders, the files
//! that rules and definitions come from, git's folders, and the targets of dot links; all of them
//! count by their resolved path. By name, dot files and folders are protected, except for those
//! that only hold data, and the few other files that tools run because they exist. The project's
//! own programs, tests and build files run only when started, so they are ordinary files. So are
//! memory files such as `AGENTS.md`: they instruct a model but give it no rights.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::path::{PathTarget, Places, resolve};
use crate::disk::{GitConfigPaths, normalize};
use crate::protocol::printable_path;

mod git;
mod link;
mod name;
#[cfg(test)]
mod tests;

pub use name::is_protected_name;

/// A file or folder to protect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedPlace {
    path: PathBuf,
    reach: ProtectionScope,
    reason: ProtectionReason,
}

/// The working directories for which a place is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ProtectionScope {
    /// All of them.
    Always,
    /// Those that do not lie inside the place.
    UnlessInside,
    /// Those that contain the place.
    Below,
    /// All of them, but only for the files directly in the place.
    Files,
}

/// Why a file is protected.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProtectionReason {
    /// Caliban's own files are there.
    Own,
    /// Rules, hooks, servers or definitions come from there.
    Config,
    /// Git's settings and hooks are there.
    Git,
    /// The system or a login shell finds programs there.
    Startup,
    /// This dot link leads there.
    Link(PathBuf),
    /// This folder has too many entries to look for links that may lead there.
    Unsearched(PathBuf),
    /// The name of a file or folder on the way begins with a dot.
    DotName,
    /// Tools run the file because of its name.
    Automation,
    /// It may be any file.
    Unknown,
}

impl fmt::Display for ProtectionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.write_str("caliban keeps its own files there"),
            Self::Config => f.write_str("caliban reads rules, hooks or agents from there"),
            Self::Git => f.write_str("git reads settings and hooks from there"),
            Self::Startup => f.write_str("commands load programs or settings from there"),
            Self::Link(link) => write!(f, "{} leads there", printable_path(link)),
            Self::Unsearched(folder) => {
                write!(f, "{} has too many files to look for links", printable_path(folder))
            }
            Self::DotName => f.write_str("dot files can decide what programs run"),
            Self::Automation => f.write_str("tools run commands from it"),
            Self::Unknown => f.write_str("its target is unknown"),
        }
    }
}

/// One cause of a file's protection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protection {
    /// The name that a rule must contain to cover the file, folded.
    pub name: String,
    pub reason: ProtectionReason,
}

impl ProtectedPlace {
    /// A place that is protected wherever an agent works.
    pub fn always(path: PathBuf, reason: ProtectionReason) -> Self {
        Self { path, reach: ProtectionScope::Always, reason }
    }

    /// A folder that is protected unless an agent works inside it: a checkout can be there.
    pub fn unless_inside(path: PathBuf, reason: ProtectionReason) -> Self {
        Self { path, reach: ProtectionScope::UnlessInside, reason }
    }

    /// A place that is protected if it lies inside a working directory.
    pub fn below(path: PathBuf, reason: ProtectionReason) -> Self {
        Self { path, reach: ProtectionScope::Below, reason }
    }

    /// The files directly in a folder, wherever an agent works.
    pub fn files_of(path: PathBuf, reason: ProtectionReason) -> Self {
        Self { path, reach: ProtectionScope::Files, reason }
    }
}

/// The protected places of a session. They are looked up on disk whenever an edit is judged, and
/// those found before stay protected.
#[derive(Debug, Default)]
pub struct ProtectedPlaces {
    places: Vec<ProtectedPlace>,
    found: FoundPlaces,
}

impl ProtectedPlaces {
    /// Creates the set of named places. Touches nothing.
    pub fn new(places: Vec<ProtectedPlace>) -> Self {
        Self { places, found: FoundPlaces::default() }
    }

    fn look(&self) -> Vec<ResolvedPlace> {
        let linked = self.places.iter().filter(|place| place.reach == ProtectionScope::Always);
        let around = |place: &ProtectedPlace| {
            link::inside(place, place.path.parent().unwrap_or(&place.path))
        };
        let linked: Vec<ProtectedPlace> = linked.flat_map(around).collect();
        self.places.iter().chain(&linked).flat_map(ResolvedPlace::both_names).collect()
    }
}

/// All places ever found: changing a link removes no protection.
#[derive(Clone, Debug, Default)]
struct FoundPlaces(Arc<Mutex<Option<Arc<BTreeSet<ResolvedPlace>>>>>);

impl FoundPlaces {
    /// The places, looked up on first use.
    fn get(&self, look: impl FnOnce() -> Vec<ResolvedPlace>) -> Arc<BTreeSet<ResolvedPlace>> {
        let mut found = self.0.lock();
        found.get_or_insert_with(|| Arc::new(look().into_iter().collect())).clone()
    }

    /// Adds the current places.
    fn renew(&self, now: Vec<ResolvedPlace>) {
        let mut found = self.0.lock();
        let all = Arc::make_mut(found.get_or_insert_default());
        all.extend(now);
    }
}

/// The working directories of an agent. They are resolved once, when the agent gets them: a link
/// that changes later does not widen them.
#[derive(Clone, Debug, Default)]
pub struct WorkingDirs {
    written: Arc<[PathBuf]>,
    resolved: Arc<[PathBuf]>,
    /// The protected places in them.
    protected: FoundPlaces,
}

impl From<Vec<PathBuf>> for WorkingDirs {
    fn from(written: Vec<PathBuf>) -> Self {
        let resolved = written.iter().filter_map(|dir| resolve(dir)).collect();
        Self { written: written.into(), resolved, ..Self::default() }
    }
}

impl WorkingDirs {
    /// The directories as they were given.
    pub fn iter(&self) -> impl Iterator<Item = &PathBuf> {
        self.written.iter()
    }

    /// Where they lead. Absolute, without links.
    pub(super) fn resolved(&self) -> impl Iterator<Item = &PathBuf> {
        self.resolved.iter()
    }

    /// The innermost working directory that contains the path, as written or resolved.
    pub(super) fn containing(&self, path: &Path) -> Option<&Path> {
        let all = self.written.iter().chain(&*self.resolved);
        let holding = all.filter(|dir| path.starts_with(dir));
        holding.max_by_key(|dir| dir.components().count()).map(PathBuf::as_path)
    }

    /// The same directories, with no protected places looked up yet.
    pub(super) fn unprotected(&self) -> Self {
        Self { protected: FoundPlaces::default(), ..self.clone() }
    }

    fn look(&self, home: Option<&Path>, git: &GitConfigPaths) -> Vec<ResolvedPlace> {
        let own = self.written.iter().flat_map(|dir| {
            git::places(dir, home, git).into_iter().chain(link::dot_links(dir, home))
        });
        let at_home = home.into_iter().flat_map(|home| {
            let programs = ["bin", "Library"].map(|name| home.join(name));
            let programs =
                programs.map(|path| ProtectedPlace::below(path, ProtectionReason::Startup));
            programs.into_iter().chain(link::home_links(home))
        });
        own.chain(at_home).flat_map(|place| ResolvedPlace::both_names(&place)).collect()
    }
}

/// One name of a protected place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ResolvedPlace {
    parts: Vec<String>,
    reach: ProtectionScope,
    reason: ProtectionReason,
}

impl ResolvedPlace {
    /// The place under its given name, and its resolved one.
    fn both_names(place: &ProtectedPlace) -> Vec<Self> {
        let written = Some(normalize(&place.path));
        let resolved = resolve(&place.path).filter(|path| Some(path) != written.as_ref());
        let place = |path: PathBuf| Self {
            parts: folded(&path),
            reach: place.reach,
            reason: place.reason.clone(),
        };
        written.into_iter().chain(resolved).map(place).collect()
    }

    /// Whether the place contains the file, for an agent that works in `root`.
    fn protects(&self, file: &[String], root: Option<&[String]>) -> bool {
        if self.parts.is_empty() || !file.starts_with(&self.parts) {
            return false;
        }
        let is_direct = file.len() == self.parts.len() + 1;
        let Some(root) = root else { return self.reach != ProtectionScope::Files || is_direct };
        let is_inside = |inner: &[String], outer: &[String]| {
            inner.len() > outer.len() && inner.starts_with(outer)
        };
        match self.reach {
            ProtectionScope::Always => true,
            ProtectionScope::UnlessInside => !is_inside(root, &self.parts),
            ProtectionScope::Below => is_inside(&self.parts, root),
            ProtectionScope::Files => is_direct,
        }
    }

    fn protection(&self) -> Protection {
        let name = self.parts.last().cloned().unwrap_or_default();
        Protection { name, reason: self.reason.clone() }
    }
}

impl Places {
    /// All reasons why edits of the target need approval; empty if the mode decides alone.
    pub fn protections(&self, target: &PathTarget) -> Vec<Protection> {
        let Some(resolved) = &target.resolved else {
            // No rule can contain this name.
            return vec![Protection { name: "/".to_owned(), reason: ProtectionReason::Unknown }];
        };
        let protections = self.protections_at(resolved);
        if protections.is_empty() { self.protections_at(&target.written) } else { protections }
    }

    /// Looks for protected places added since the last edit was judged.
    pub(super) fn renew_protected(&self) {
        self.protected.found.renew(self.protected.look());
        self.dirs.protected.renew(self.dirs.look(self.home.as_deref(), &self.git));
    }

    /// Whether writing there needs approval even where edits are free.
    pub fn protects(&self, target: &PathTarget) -> bool {
        !self.protections(target).is_empty()
    }

    fn protections_at(&self, path: &Path) -> Vec<Protection> {
        let root = self.dirs.containing(path);
        let (file, inside) = (folded(path), root.map(folded));
        let home = self.home.as_deref();
        let everywhere = self.protected.found.get(|| self.protected.look());
        let here = self.dirs.protected.get(|| self.dirs.look(home, &self.git));
        let place = everywhere
            .iter()
            .chain(&*here)
            .filter(|place| place.protects(&file, inside.as_deref()))
            .min_by_key(|place| place.parts.len())
            .map(ResolvedPlace::protection);
        // The path to the working directory or to the home says nothing about the files in it.
        let base = inside.or_else(|| home.map(folded).filter(|home| file.starts_with(home)));
        let below = &file[base.map_or(0, |base| base.len())..];
        let first = below.last().filter(|name| git::begins_repository(name));
        let first =
            first.map(|name| Protection { name: name.clone(), reason: ProtectionReason::Git });
        let named = name::protection(below).or(first);
        let mut protections: Vec<_> = place.into_iter().chain(named).collect();
        if protections.is_empty()
            && let Some(folder) = git::folder_of(path)
        {
            let name = folded(&folder).pop().unwrap_or_default();
            protections.push(Protection { name, reason: ProtectionReason::Git });
        }
        protections
    }
}

/// The names in a path, so that two spellings of one name are equal on every file system.
fn folded(path: &Path) -> Vec<String> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(fold(&name.to_string_lossy())),
        _ => None,
    });
    names.collect()
}

/// Folds the case of a name. Upper case comes first: some letters are equal only there.
pub(super) fn fold(name: &str) -> String {
    name.to_uppercase().to_lowercase()
}
