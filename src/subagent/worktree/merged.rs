//! The commit with the work of an agent that the user has merged. A file beside the worktree keeps it, where no
//! agent can write: the agent may work on once its worktree is gone.

use std::fs;
use std::path::{Path, PathBuf};

/// The file for a worktree at this path.
fn file(worktree: &Path) -> PathBuf {
    let mut name = worktree.as_os_str().to_owned();
    name.push(".merged");
    name.into()
}

/// Reads the commit for a worktree.
pub fn read(worktree: &Path) -> Option<String> {
    let commit = fs::read_to_string(file(worktree)).ok()?;
    let is_commit = !commit.is_empty() && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then_some(commit)
}

/// Keeps the commit. Without the file, the agent would go on from the last commit of the project.
pub fn write(worktree: &Path, commit: &str) {
    if let Err(error) = fs::write(file(worktree), commit) {
        tracing::warn!(%error, "cannot keep the commit with an agent's merged work");
    }
}
