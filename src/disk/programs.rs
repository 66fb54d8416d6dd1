//! Where programs lie.

use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use super::resolve;

/// Folders that only package managers of the system fill.
const SYSTEM: [&str; 7] =
    ["/usr", "/bin", "/sbin", "/nix/store", "/gnu/store", "/opt/homebrew", "/opt/local"];

/// Whether the program is the system's own. One elsewhere may look for another to start in its
/// place, as those of version managers do.
#[must_use]
pub fn is_of_system(program: &Path) -> bool {
    let is_in = |path: Option<PathBuf>| {
        path.is_some_and(|path| SYSTEM.iter().any(|folder| path.starts_with(folder)))
    };
    is_in(program.parent().and_then(resolve)) && is_in(resolve(program))
}

/// The programs of this name in `folders`, in their order. Bash passes over folders, and over files
/// that it may not run.
pub fn programs_named(
    name: &str,
    folders: impl IntoIterator<Item = PathBuf>,
) -> impl Iterator<Item = PathBuf> {
    let files = folders.into_iter().map(move |folder| folder.join(name));
    files.filter(|file| file.is_file() && access(file, AccessFlags::X_OK).is_ok())
}
