//! Everything that is decided about a sub-agent before it starts.

use std::sync::Arc;

use super::definition::{BudgetSpec, Definition};
use super::spawn_request::{SpawnRequest, ToolAccess};
use super::tool_lists::{ToolLists, ToolSelection};
use super::workspace::Workspace;
use crate::permission::InheritedPermissions;

/// Everything that is decided about a sub-agent before it starts.
pub struct ChildSpec {
    pub request: SpawnRequest,
    pub definition: Arc<Definition>,
    /// Its place unless it gets a folder of its own.
    pub workspace: Workspace,
    pub rights: InheritedPermissions,
    pub limits: BudgetSpec,
    /// Whether no call waits for it.
    pub background: bool,
    /// The tools that its lists select from those that exist now.
    pub tools: ToolSelection,
}

impl ChildSpec {
    /// Whether it continues with all of another's conversation and tools.
    pub fn is_whole_copy(&self) -> bool {
        self.request.is_fork && self.request.tools == ToolAccess::Inherit
    }

    /// The lists that narrow its tools.
    pub fn lists(&self) -> ToolLists<'_> {
        ToolLists { definition: &self.definition, access: &self.request.tools }
    }
}
