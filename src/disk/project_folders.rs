//! The folders of the project and of agents' work: a program in there is not the one that the user means by its name.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::repository::roots_around;
use super::resolve::{leads_outside, resolve};
use crate::protocol::EnvOverlay;

/// The `PATH` of a program if no folder of its own `PATH` is left.
const SYSTEM_PATH: &str = "/usr/bin:/bin";

/// The working directories of a session, and the checkouts around them.
#[derive(Clone, Debug, Default)]
pub struct ProjectFolders {
    /// Absolute, without links.
    dirs: Arc<[PathBuf]>,
    home: Option<PathBuf>,
}

impl ProjectFolders {
    /// Creates the folders around these working directories. Resolves links now, so that changing
    /// one later narrows nothing.
    pub fn new(dirs: impl IntoIterator<Item = PathBuf>, home: Option<&Path>) -> Self {
        let real = |dir: PathBuf| resolve(&dir).unwrap_or(dir);
        Self { dirs: dirs.into_iter().map(real).collect(), home: home.map(Path::to_owned) }
    }

    /// Returns these folders, plus those around one more.
    pub fn with(&self, dir: &Path) -> Self {
        Self::new(self.dirs.iter().cloned().chain([dir.to_owned()]), self.home.as_deref())
    }

    /// Whether a resolved path is in one of the working directories.
    pub fn contains(&self, resolved: &Path) -> bool {
        self.dirs.iter().any(|dir| resolved.starts_with(dir))
    }

    /// Returns the current folders, links resolved: the working directories, the checkouts around
    /// them, and the main checkouts of linked worktrees. Excludes `/` and any folder that contains
    /// the user's home, because the programs in it are the user's own.
    pub fn roots(&self) -> Vec<PathBuf> {
        let home = self.home.as_deref();
        let real_home = home.and_then(resolve);
        let is_project = |dir: &&PathBuf| {
            dir.parent().is_some() && !real_home.as_ref().is_some_and(|home| home.starts_with(dir))
        };
        let mut roots: Vec<PathBuf> = self.dirs.iter().filter(is_project).cloned().collect();
        roots.extend(self.dirs.iter().flat_map(|dir| roots_around(dir, home)));
        roots
    }

    /// Returns the environment for a program that the user means. Its `PATH` has no folder of the
    /// project and no relative folder, no library of the project is loaded, and bash reads no
    /// startup file of the project.
    pub fn without_programs(&self, env: &EnvOverlay) -> EnvOverlay {
        let roots = self.roots();
        let is_inside = |path: &Path| roots.iter().any(|root| path.starts_with(root));
        let is_outside = |path: &Path| leads_outside(path, is_inside);
        let mut kept = env.with_library_paths(is_outside);
        if let Some(path) = env.get_os("PATH") {
            let entries = path.as_bytes().split(|byte| *byte == b':');
            let own: Vec<&[u8]> =
                entries.filter(|entry| is_outside(Path::new(OsStr::from_bytes(entry)))).collect();
            let path = match own.is_empty() {
                true => OsString::from(SYSTEM_PATH),
                false => OsString::from_vec(own.join(&b':')),
            };
            kept = kept.with([("PATH", path)]);
        }
        let start = env.get_os("BASH_ENV").filter(|file| !file.is_empty());
        if start.is_some_and(|file| !is_outside(Path::new(file))) {
            kept = kept.without(["BASH_ENV"]);
        }
        kept
    }
}

#[cfg(test)]
mod tests;
