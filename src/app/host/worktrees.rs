//! The work of isolated agents: showing, merging and discarding it at the user's request.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::LocalHost;
use crate::exec::Sandbox;
use crate::protocol::{AgentId, MergedWork, WorkingTreeChanges, WorktreeInfo};
use crate::subagent::worktree::{NewWorktree, Worktree};

impl LocalHost {
    /// How to open a worktree as its agent did.
    fn worktree_settings(&self) -> NewWorktree {
        NewWorktree {
            cwd: self.cwd.to_path_buf(),
            project: self.project.clone(),
            root: self.worktrees.clone(),
            name: String::new(),
            id: AgentId::generate(),
            env: self.env.clone(),
            secrets: self.secrets.as_slice().into(),
            sandbox: Sandbox::for_this_program(),
            pool: self.git.clone(),
            stop: CancellationToken::new(),
        }
    }

    pub(super) async fn worktree_changes(
        &self,
        worktree: &WorktreeInfo,
    ) -> Result<Arc<WorkingTreeChanges>, String> {
        let found = Worktree::changes(self.worktree_settings(), worktree.clone()).await;
        found.map(Arc::new).map_err(|error| error.to_string())
    }

    pub(super) async fn merge_worktree(
        &self,
        worktree: &WorktreeInfo,
    ) -> Result<MergedWork, String> {
        let merged = Worktree::merge(self.worktree_settings(), worktree.clone()).await;
        merged.map_err(|error| error.to_string())
    }

    pub(super) async fn discard_worktree(&self, worktree: &WorktreeInfo) -> Result<String, String> {
        let discarded = Worktree::discard(self.worktree_settings(), worktree.clone()).await;
        discarded.map_err(|error| error.to_string())
    }
}
