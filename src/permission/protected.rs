//! Files whose edits always need approval: their content decides which programs run or the rights of agents.
//!
//! A file is protected by its place or by its name. Places are caliban's own folders, the files
//! that rules and definitions come from, git's folders, and the targets of dot links; all of them
//! count by their resolved path. By name, dot files and folders are protected, except for those
//! that only hold data, and the few other files that tools run because they exist. The project's
//! own programs, tests and build files run only when started, so they are ordinary files. So are
//! memory files such as `AGENTS.md`: they instruct a model but give it no rights.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::path::resolve;
use crate::disk::{GitConfigPaths, has_dot_git};

mod git;
mod link;
mod name;
mod place;
#[cfg(test)]
mod tests;

pub use name::is_protected_name;
pub use place::{ProtectedPlace, Protection, ProtectionReason, fold};
use place::{ProtectionScope, ResolvedPlace, folded};

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
        let around = |place: &ProtectedPlace| link::inside(place, folder_of_dots(&place.path));
        let linked: Vec<ProtectedPlace> = linked.flat_map(around).collect();
        self.places.iter().chain(&linked).flat_map(ResolvedPlace::both_names).collect()
    }

    /// Looks for places added since the last edit was judged.
    pub(super) fn renew(&self) {
        self.found.renew(self.look());
    }

    /// All reasons why edits of this path need approval, for an agent with these directories.
    pub(super) fn protections(
        &self,
        path: &Path,
        dirs: &WorkingDirs,
        home: Option<&Path>,
        git: &GitConfigPaths,
    ) -> Vec<Protection> {
        let root = dirs.containing(path);
        let (file, inside) = (folded(path), root.map(folded));
        let everywhere = self.found.get(|| self.look());
        let here = dirs.protected.get(|| dirs.look(home, git));
        let nested: Vec<ResolvedPlace> = checkouts_within(path, root)
            .flat_map(|checkout| git::places(checkout, home, git))
            .flat_map(|place| ResolvedPlace::both_names(&place))
            .collect();
        let all = everywhere.iter().chain(&*here).chain(&nested);
        let all = all.filter(|place| place.protects(&file, inside.as_deref()));
        // A rule has to name the outermost place; one that may be anywhere it cannot name.
        let (open, known): (Vec<_>, Vec<_>) = all.partition(|place| place.is_open());
        let known = known.into_iter().min_by_key(|place| place.parts.len());
        let place = known.into_iter().chain(open.into_iter().next()).map(ResolvedPlace::protection);
        // The path to the working directory or to the home says nothing about the files in it.
        let base = inside.or_else(|| home.map(folded).filter(|home| file.starts_with(home)));
        let below = &file[base.map_or(0, |base| base.len())..];
        let first = below.last().filter(|name| git::begins_repository(name));
        let first =
            first.map(|name| Protection { name: name.clone(), reason: ProtectionReason::Git });
        let named = name::protection(below).or(first);
        // A rule that names the folder around a repository does not mean its hooks.
        let repository = below.iter().find(|name| *name == ".git");
        let repository = repository
            .filter(|_| named.as_ref().is_some_and(|named| named.name != ".git"))
            .map(|name| Protection { name: name.clone(), reason: ProtectionReason::Git });
        let mut protections: Vec<_> = place.chain(named).chain(repository).collect();
        if protections.is_empty()
            && let Some(folder) = git::folder_of(path)
        {
            let name = folded(&folder).pop().unwrap_or_default();
            protections.push(Protection { name, reason: ProtectionReason::Git });
        }
        protections
    }
}

/// The checkouts around the path within the working directory, besides its own: git works in them by the
/// settings of their repositories, which may be that of the project.
fn checkouts_within<'a>(path: &'a Path, dir: Option<&Path>) -> impl Iterator<Item = &'a Path> {
    let is_below =
        move |folder: &&Path| dir.is_some_and(|dir| *folder != dir && folder.starts_with(dir));
    path.ancestors().skip(1).take_while(is_below).filter(|folder| has_dot_git(folder))
}

/// The folder that holds the outermost dot folder on the path, in which programs run; the file's own folder if
/// there is none.
fn folder_of_dots(path: &Path) -> &Path {
    let is_dot = |path: &&Path| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
    };
    let dot = path.ancestors().filter(is_dot).last().unwrap_or(path);
    dot.parent().unwrap_or(dot)
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

    /// Looks for protected places added since the last edit was judged.
    pub(super) fn renew_protected(&self, home: Option<&Path>, git: &GitConfigPaths) {
        self.protected.renew(self.look(home, git));
    }

    fn look(&self, home: Option<&Path>, git: &GitConfigPaths) -> Vec<ResolvedPlace> {
        // Git works where a link leads.
        let dirs: BTreeSet<_> = self.written.iter().chain(&*self.resolved).collect();
        // Git may skip the `.git` of the nearest checkout around.
        let checkouts = dirs.iter().flat_map(|dir| dir.ancestors()).filter(|dir| has_dot_git(dir));
        let checkouts: BTreeSet<&Path> =
            checkouts.chain(dirs.iter().map(|dir| dir.as_path())).collect();
        let git = checkouts.into_iter().flat_map(|dir| git::places(dir, home, git));
        let links = dirs.iter().flat_map(|dir| link::dot_links(dir, home, &self.resolved));
        let own = git.chain(links);
        let at_home = home.into_iter().flat_map(|home| {
            let programs = ["bin", "Library"].map(|name| home.join(name));
            let programs =
                programs.map(|path| ProtectedPlace::below(path, ProtectionReason::Startup));
            programs.into_iter().chain(link::home_links(home))
        });
        own.chain(at_home).flat_map(|place| ResolvedPlace::both_names(&place)).collect()
    }
}
