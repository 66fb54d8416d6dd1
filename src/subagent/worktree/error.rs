//! Why there is no worktree, and why the work in one is not merged.

use std::io;
use std::path::PathBuf;

use crate::git::GitError;

/// The most files that an error names.
const MAX_NAMED: usize = 5;

/// Why there is no worktree. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error(
        "a worktree needs a git repository with a working tree: run `git init` and commit, \
         or start the agent without isolation; there is none around {}", .0.display()
    )]
    NoRepository(PathBuf),
    #[error(
        "no worktree of the repository around {}: it holds your whole home folder; start the agent without isolation",
        .0.display()
    )]
    Home(PathBuf),
    #[error(
        "no worktree within that of another agent: start the agent without isolation, it works in {}",
        .0.display()
    )]
    Nested(PathBuf),
    #[error(
        "the repository has no commit yet, and a worktree starts from one: \
         commit first, or start the agent without isolation; it is around {}", .0.display()
    )]
    NoCommit(PathBuf),
    #[error(
        "no worktree for the agent: {0}; start it without isolation, or take that out of the repository \
         (your own settings may name programs: `git config --global`)"
    )]
    Programs(String),
    #[error(
        "no worktree for the agent: the repository keeps its branches in the format {0}, all in one place, \
         so an agent cannot be kept to branches of its own; start it without isolation, \
         or change the format with `git refs migrate --ref-format=files`"
    )]
    References(String),
    #[error("no worktree for the agent: {0}")]
    Git(#[from] GitError),
    #[error("no worktree for the agent: cannot use {}: {source}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("the worktree {} is in use: wait until the agent or the other caliban in it has ended", .0.display())]
    InUse(PathBuf),
    #[error("no worktree for the agent: the program is exiting")]
    Ended,
}

/// Why an agent's work cannot be shown, merged or discarded. The worktree and the user's files are as
/// before.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    #[error("its worktree is gone: its work was merged, discarded or removed")]
    Gone,
    #[error("its worktree cannot be opened: {0}")]
    Worktree(#[from] WorktreeError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("cannot use {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(
        "your files have conflicts of another merge: resolve them, or stop that merge with `git merge --abort`"
    )]
    Unmerged,
    #[error(
        "nothing has changed: there are conflicts in {}; its work is the commit {commit} now: commit your own \
         changes, and `git merge {commit}` merges it by hand",
        named(files)
    )]
    Conflict { files: Vec<String>, commit: String },
    #[error(
        "nothing has changed: {path} is a repository of its own; its work is the commit {commit} \
         now: commit your own changes, and `git merge {commit}` merges it by hand"
    )]
    NestedRepository { path: String, commit: String },
    #[error(
        "nothing has changed: {said}; its work is the commit {commit} now: commit your own \
         changes, and `git merge {commit}` merges it by hand"
    )]
    NotApplied { said: String, commit: String },
    #[error(
        "merging broke off: {said}; the commit {mine} has your files as they were, and {commit} those of the agent"
    )]
    HalfApplied { said: String, mine: String, commit: String },
}

/// The first few files of a list: `a.rs, b.rs and 3 more`.
fn named(files: &[String]) -> String {
    let shown = files[..files.len().min(MAX_NAMED)].join(", ");
    match files.len().saturating_sub(MAX_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
