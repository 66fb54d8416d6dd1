//! The commit with the work of an agent that the user has merged. A file beside the worktree keeps it, where no
//! agent can write: the agent may work on once its worktree is gone.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The extension of the files.
const ENDING: &str = "merged";

/// How long a file is kept. Git removes a commit on no branch after two weeks.
const MAX_AGE: Duration = Duration::from_hours(30 * 24);

/// The file for a worktree at this path.
fn file(worktree: &Path) -> PathBuf {
    let mut name = worktree.as_os_str().to_owned();
    name.push(".");
    name.push(ENDING);
    name.into()
}

/// Reads the commit for a worktree.
pub fn read(worktree: &Path) -> Option<String> {
    let commit = fs::read_to_string(file(worktree)).ok()?;
    let is_commit = !commit.is_empty() && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then_some(commit)
}

/// Keeps the commit. Without the file, the agent would go on from the last commit of the project. Also
/// removes the files that are too old to be of use.
pub fn write(worktree: &Path, commit: &str) {
    if let Err(error) = fs::write(file(worktree), commit) {
        tracing::warn!(%error, "cannot keep the commit with an agent's merged work");
    }
    let folder = worktree.parent().and_then(|folder| fs::read_dir(folder).ok());
    for entry in folder.into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == ENDING) && is_old(&entry) {
            // Another caliban may have removed it.
            let _ = fs::remove_file(path);
        }
    }
}

/// Forgets the commit for a worktree that could not be made.
pub fn remove(worktree: &Path) {
    // There may be none.
    let _ = fs::remove_file(file(worktree));
}

fn is_old(entry: &fs::DirEntry) -> bool {
    let written = entry.metadata().and_then(|found| found.modified());
    written.is_ok_and(|written| written.elapsed().is_ok_and(|age| age > MAX_AGE))
}
