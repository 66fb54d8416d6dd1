//! Lists a folder, and tells an empty one from one whose entries are not known.

use std::fs::{self, DirEntry};
use std::path::Path;

/// The entries of a folder; none if there is no such folder, or nobody with the user's rights can enter it.
/// `None` if it cannot be listed, but files in it can be opened by their names.
pub fn list_folder(folder: &Path) -> Option<impl Iterator<Item = DirEntry>> {
    let listed = match fs::read_dir(folder) {
        Ok(entries) => Some(entries),
        // Only who may enter a folder finds the `.` in it.
        Err(_) if folder.join(".").symlink_metadata().is_ok() => return None,
        Err(_) => None,
    };
    Some(listed.into_iter().flatten().flatten())
}
