//! Paths as the gate sees them: whether one is inside the working directories.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::protected::{ProtectedPlaces, WorkingDirs};
pub(super) use crate::disk::resolve;
pub use crate::protocol::Target;

/// Where things are: the folders that agents work in, the project and the home.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The working directories: reading inside is free. Absolute.
    pub dirs: WorkingDirs,
    /// The person's home, for `~` in shell commands.
    pub home: Option<PathBuf>,
    /// The project directory. Relative patterns start here, and paths in messages are shown relative to it.
    pub project: PathBuf,
    /// The only folder that file tools may write to, whatever rules and mode say. Absolute, without links.
    pub bound: Option<PathBuf>,
    /// The places where edits are always asked about.
    pub protected: Arc<ProtectedPlaces>,
}

impl Places {
    /// Whether a resolved path lies in one of the working directories.
    #[must_use]
    pub fn contains(&self, resolved: &Path) -> bool {
        self.dirs.containing(resolved).is_some()
    }

    /// The path as messages show it: relative to the project where it is inside.
    #[must_use]
    pub fn show(&self, path: &Path) -> String {
        match path.strip_prefix(&self.project) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
            Ok(inside) => inside.display().to_string(),
            Err(_) => path.display().to_string(),
        }
    }
}

impl Target {
    /// Both names of the target.
    pub fn names(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(self.written.as_path()).chain(self.resolved.as_deref())
    }

    /// Whether the target is certain to lie inside the working directories.
    #[must_use]
    pub fn is_inside(&self, places: &Places) -> bool {
        self.resolved.as_deref().is_some_and(|path| places.contains(path))
    }
}
