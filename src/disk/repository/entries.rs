//! Checks the entries of a git folder, which are regular files and folders as long as only git creates them.
//!
//! Git follows a link in there, and prints lines of what it finds: in a complaint about an
//! unreadable file, or as the name of a branch. One link could expose any file, or let git write
//! anywhere.

use std::fs::{self, FileType};
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// Maximum number of entries to check.
const MAX_ENTRIES: usize = 1 << 18;

/// The hooks' folder. Git runs hooks and shows none, and people link their own.
const HOOKS: &str = "hooks";

/// The folder with the submodules' git folders. Git reads one only for a checkout that leads to it,
/// and that checkout is a repository of its own.
const SUBMODULES: &str = "modules";

/// The socket of git's file watcher.
const WATCHER: &str = "fsmonitor--daemon.ipc";

/// Checks that the git folder contains only regular files and folders where git reads it. Only
/// lists the folders: there can be thousands of branches and objects.
///
/// # Errors
///
/// Returns a message that names an entry of another kind, or says why not all are known.
pub fn check(git: &Path) -> Result<(), String> {
    let mut folders = vec![PathBuf::new()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        let failed = |_| format!("its .git holds a folder {folder:?} that cannot be read");
        let is_top = folder.as_os_str().is_empty();
        let entries = match fs::read_dir(git.join(&folder)) {
            // Another git process may have removed it since.
            Err(error) if error.kind() == ErrorKind::NotFound && !is_top => continue,
            entries => entries.map_err(failed)?,
        };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if is_top && name == HOOKS {
                continue;
            }
            seen += 1;
            if seen > MAX_ENTRIES {
                return Err("its .git holds too many files to look through".to_owned());
            }
            let kind = match entry.file_type() {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                kind => kind.map_err(failed)?,
            };
            if kind.is_dir() {
                if !(is_top && name == SUBMODULES) {
                    folders.push(folder.join(name));
                }
            } else if !(kind.is_file() || kind.is_socket() && name == WATCHER) {
                let path = folder.join(name);
                return Err(format!("its .git holds {}, {path:?}", words(kind)));
            }
        }
    }
    Ok(())
}

fn words(kind: FileType) -> &'static str {
    match kind.is_symlink() {
        true => "a symbolic link",
        false => "a device, pipe or socket",
    }
}
