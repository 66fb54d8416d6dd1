//! Lists a folder, and tells an empty one from one whose entries are not known.

use std::fs::{self, DirEntry};
use std::path::Path;

/// The longest path of a folder that is listed, in bytes. The system takes 4095 for a whole path, so files
/// further below could be opened and not be looked up.
const MAX_PATH: usize = 2048;

/// The entries of a folder; none if there is no such folder, or nobody with the user's rights can enter it.
/// `None` if it cannot be listed, but files in it may be opened by their names.
pub fn list_folder(folder: &Path) -> Option<impl Iterator<Item = DirEntry>> {
    if folder.as_os_str().len() > MAX_PATH {
        return None;
    }
    let listed = match fs::read_dir(folder) {
        Ok(entries) => Some(entries),
        // Only who may enter a folder finds the `.` in it.
        Err(_) if folder.join(".").symlink_metadata().is_ok() => return None,
        Err(_) => None,
    };
    Some(listed.into_iter().flatten().flatten())
}
