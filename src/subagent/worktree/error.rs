//! Why there is no worktree.

use std::io;
use std::path::PathBuf;

use crate::git::GitError;

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
    #[error("no worktree for the agent: the program is exiting")]
    Ended,
}
