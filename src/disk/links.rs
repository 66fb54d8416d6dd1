//! Searches a folder for links.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum folders that are searched for links.
pub(super) const MAX_FOLDERS: usize = 20_000;

/// Whether the folder, which is no link, holds a link for which `is_it` returns true, at any depth
/// below folders whose names are not skipped. One with too many folders to search, or with one that
/// cannot be read, may hold such a link.
pub fn has_link(
    folder: &Path,
    is_skipped: impl Fn(&OsStr) -> bool,
    is_it: impl Fn(&Path) -> bool,
) -> bool {
    let mut pending: Vec<PathBuf> = vec![folder.to_owned()];
    let mut looked_into = 0;
    while let Some(folder) = pending.pop() {
        looked_into += 1;
        let Ok(entries) = fs::read_dir(&folder) else { return true };
        for entry in entries {
            let Ok(entry) = entry else { return true };
            let (path, kind) = (entry.path(), entry.file_type());
            if kind.as_ref().is_ok_and(fs::FileType::is_dir) {
                pending.extend((!is_skipped(&entry.file_name())).then_some(path));
            } else if kind.is_ok_and(|kind| kind.is_symlink()) && is_it(&path) {
                return true;
            }
        }
        if looked_into + pending.len() > MAX_FOLDERS {
            return true;
        }
    }
    false
}
