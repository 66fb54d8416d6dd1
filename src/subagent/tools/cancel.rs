//! `agent_cancel`: ends a sub-agent and all below it.

use std::path::Path;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::target;
use crate::protocol::Access;
use crate::subagent::Spawner;
use crate::subagent::tree::AgentStatus;
use crate::tool::{InvalidInput, ToolContext, ToolError, ToolOutcome, ToolSpec, TypedTool};

const DESCRIPTION: &str = "Ends one of your running sub-agents, and those below it. Its output so far is kept. Use it when the work is no longer needed.";

/// The tool that ends a sub-agent.
pub(super) struct CancelTool {
    spawner: Spawner,
    spec: ToolSpec,
}

/// The input of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelInput {
    agent_id: String,
}

#[derive(Debug, Serialize)]
struct CancelOutput {
    success: bool,
    previous_state: AgentStatus,
    message: String,
}

impl CancelTool {
    pub fn new(executor: Spawner) -> Self {
        Self { spawner: executor, spec: ToolSpec::new::<CancelInput>("agent_cancel", DESCRIPTION) }
    }
}

#[async_trait]
impl TypedTool for CancelTool {
    type Input = CancelInput;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn summary(&self, input: &CancelInput) -> String {
        target::agent_title(&self.spawner, &input.agent_id)
    }

    fn access(&self, _input: &CancelInput, _cwd: &Path) -> Access {
        Access::Nothing
    }

    fn check(&self, input: &CancelInput) -> Result<(), InvalidInput> {
        target::parse_id(&input.agent_id).map(drop)
    }

    /// Does no work of its own, so it needs no permit.
    fn only_waits(&self) -> bool {
        true
    }

    async fn run(&self, input: CancelInput, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let tree = &self.spawner.factory().tree;
        let agent = target::find_agent(&self.spawner, &input.agent_id, cx.events.path())?;
        let cancelled = tree.cancel(agent.id);
        let (mut success, mut previous_state) = cancelled
            .map_or((false, agent.status()), |cancelled| (cancelled.success, cancelled.previous));
        if success && let Some(ended) = tree.ended(agent.id).await {
            // It may have ended at the same moment: then that counts, and its result is not lost.
            let state = AgentStatus::from_end(&ended.outcome.end);
            success = state == AgentStatus::Cancelled;
            previous_state = if success { previous_state } else { state };
        }
        let name = &agent.info.name;
        let message = if success {
            // Reported only now, when it can cause no further request, tool effect or message.
            tree.mark_reported(agent.id, &self.spawner.parent().inbox);
            format!("{name} was cancelled.")
        } else {
            format!(
                "{name} had already ended ({}): nothing was cancelled.",
                previous_state.as_str()
            )
        };
        let answer = CancelOutput { success, previous_state, message };
        let outcome =
            target::json_outcome(&answer, if success { "cancelled" } else { "had ended" }, false);
        Ok(if success { target::with_reported(agent.id, outcome) } else { outcome })
    }
}
