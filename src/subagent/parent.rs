//! The agent that starts others, as a bound on them.

use std::sync::Arc;

use super::workspace::Workspace;
use crate::agent::Inbox;
use crate::permission::AgentGate;
use crate::protocol::Journal;
use crate::provider::ModelSlot;
use crate::tool::canonical_name;

/// The agent that starts others.
#[derive(Clone)]
pub struct ParentContext {
    /// Its name on the screen.
    pub name: String,
    /// Its model, the default for sub-agents.
    pub model: ModelSlot,
    /// Its journal; theirs are opened beside it.
    pub journal: Arc<dyn Journal>,
    /// Its queue, for results that no call waits for.
    pub inbox: Inbox,
    /// Its rights, which bound theirs.
    pub gate: AgentGate,
    /// Where it works.
    pub workspace: Workspace,
    /// The names of its tools, which bound theirs; `None` for the main agent, which has all tools.
    pub tools: Option<Arc<[String]>>,
}

impl ParentContext {
    /// Whether it may pass on a tool: an agent cannot give what it was not given.
    pub fn has_tool(&self, tool: &str) -> bool {
        let same = |own: &String| canonical_name(own) == canonical_name(tool);
        self.tools.as_ref().is_none_or(|own| own.iter().any(same))
    }
}
