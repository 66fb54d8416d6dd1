//! Git worktrees of sub-agents, and what becomes of the work in them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::lossy_path;

/// A git worktree of an agent's own, with everything needed to find it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreeInfo {
    /// Absolute, without links.
    #[serde(with = "lossy_path")]
    pub path: PathBuf,
    pub branch: String,
    /// The commit that it began with.
    pub start: String,
}

/// The outcome of merging an agent's work into the user's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergedWork {
    /// Number of the user's files that have changed.
    pub files: usize,
    /// The short name of the commit that holds the agent's files, on no branch.
    pub commit: String,
}
