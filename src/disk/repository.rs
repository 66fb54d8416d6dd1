//! Which repository git would find.

use std::path::Path;

/// Whether git, started in `dir`, finds a repository by its `.git`. A folder that merely looks like a bare repository
/// can be part of any checkout, and its settings can name programs to run.
#[must_use]
pub fn has_own_repository(dir: &Path) -> bool {
    for folder in dir.ancestors() {
        if folder.join(".git").symlink_metadata().is_ok() {
            return true;
        }
        if folder.join("HEAD").symlink_metadata().is_ok() {
            return false;
        }
    }
    false
}
