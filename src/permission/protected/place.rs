//! A protected place, its reach and the reason.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use crate::disk::normalize;
use crate::permission::path::resolve;
use crate::protocol::printable_path;

/// A file or folder to protect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedPlace {
    pub(super) path: PathBuf,
    pub(super) reach: ProtectionScope,
    pub(super) reason: ProtectionReason,
}

/// The working directories for which a place is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProtectionScope {
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
    /// Git's settings and hooks may be anywhere: settings have values that only git reads.
    GitUnread,
    /// The same, because this path cannot be followed.
    GitUnresolved(PathBuf),
    /// The system or a login shell finds programs there.
    Startup,
    /// This dot link leads there.
    Link(PathBuf),
    /// This dot link leads to a folder that agents work in or one around it, so every file there has a dot name.
    LinkAround(PathBuf),
    /// This folder has too many entries to look for links that may lead there, or cannot be listed.
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
            Self::GitUnread => f.write_str("your git settings have values that only git reads"),
            Self::GitUnresolved(path) => {
                let path = printable_path(path);
                write!(f, "git may read {path}, and where that leads cannot be looked up")
            }
            Self::Startup => f.write_str("programs and settings are loaded from there"),
            Self::Link(link) => write!(f, "{} leads there", printable_path(link)),
            Self::LinkAround(link) => {
                let link = printable_path(link);
                write!(
                    f,
                    "{link} leads to a folder that agents work in, so any file there may be one of its own"
                )
            }
            Self::Unsearched(folder) => {
                let folder = printable_path(folder);
                write!(f, "not all that {folder} holds or leads to can be looked up")
            }
            Self::DotName => f.write_str("dot files can decide what programs run"),
            Self::Automation => f.write_str("tools run commands from it"),
            Self::Unknown => f.write_str("its target is unknown"),
        }
    }
}

/// A name that no pattern of a rule contains.
const NO_NAME: &str = "/";

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

/// One name of a protected place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ResolvedPlace {
    pub(super) parts: Vec<String>,
    reach: ProtectionScope,
    reason: ProtectionReason,
}

impl ResolvedPlace {
    /// The place under its given name, and its resolved one. If nobody can say where it leads, that may be
    /// anywhere around it.
    pub(super) fn both_names(place: &ProtectedPlace) -> Vec<Self> {
        let around = || {
            // Where git's lead, git's settings say.
            if matches!(place.reason, ProtectionReason::Git) {
                return None;
            }
            let folder = place.path.ancestors().skip(1).find(|above| resolve(above).is_some())?;
            let reason = ProtectionReason::Unsearched(place.path.clone());
            Some(ProtectedPlace::always(folder.to_owned(), reason))
        };
        let resolved = match resolve(&place.path) {
            Some(path) => Some(ProtectedPlace { path, ..place.clone() }),
            None => around(),
        };
        let name = |place: ProtectedPlace| Self {
            parts: folded(&normalize(&place.path)),
            reach: place.reach,
            reason: place.reason,
        };
        let all: BTreeSet<_> = [place.clone()].into_iter().chain(resolved).map(name).collect();
        all.into_iter().collect()
    }

    /// Whether the place contains the file, for an agent that works in `root`.
    pub(super) fn protects(&self, file: &[String], root: Option<&[String]>) -> bool {
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

    pub(super) fn protection(&self) -> Protection {
        let name = match self.is_open() {
            true => NO_NAME.to_owned(),
            false => self.parts.last().cloned().unwrap_or_default(),
        };
        Protection { name, reason: self.reason.clone() }
    }

    /// Whether the place stands for one that may be anywhere in it.
    pub(super) fn is_open(&self) -> bool {
        match self.reason {
            ProtectionReason::GitUnread
            | ProtectionReason::GitUnresolved(_)
            | ProtectionReason::LinkAround(_)
            | ProtectionReason::Unsearched(_) => true,
            ProtectionReason::Own
            | ProtectionReason::Config
            | ProtectionReason::Git
            | ProtectionReason::Startup
            | ProtectionReason::Link(_)
            | ProtectionReason::DotName
            | ProtectionReason::Automation
            | ProtectionReason::Unknown => false,
        }
    }
}

/// The names in a path, so that two spellings of one name are equal on every file system.
pub(super) fn folded(path: &Path) -> Vec<String> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(fold(&name.to_string_lossy())),
        _ => None,
    });
    names.collect()
}

/// Folds the case of a name. Upper case comes first: some letters are equal only there.
pub fn fold(name: &str) -> String {
    name.to_uppercase().to_lowercase()
}
