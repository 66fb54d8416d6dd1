//! `agent_cancel`: ends a sub-agent and all below it.

use std::path::Path;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::target;
use crate::protocol::Access;
use crate::subagent::Executor;
use crate::subagent::tree::Status;
use crate::tool::{InvalidInput, ToolContext, ToolError, ToolOutcome, ToolSpec, TypedTool};

const DESCRIPTION: &str = "Ends one of your running sub-agents, and those below it. What it had written so far is kept. Use it when its work is not needed any more.";

/// The tool that ends a sub-agent.
pub(super) struct Cancel {
    executor: Executor,
    spec: ToolSpec,
}

/// The input of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    agent_id: String,
}

#[derive(Debug, Serialize)]
struct Answer {
    success: bool,
    previous_state: Status,
    message: String,
}

impl Cancel {
    pub fn new(executor: Executor) -> Self {
        Self { executor, spec: ToolSpec::of::<Input>("agent_cancel", DESCRIPTION) }
    }
}

#[async_trait]
impl TypedTool for Cancel {
    type Input = Input;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn summary(&self, input: &Input) -> String {
        target::title(&self.executor, &input.agent_id)
    }

    fn access(&self, _input: &Input, _cwd: &Path) -> Access {
        Access::Nothing
    }

    fn check(&self, input: &Input) -> Result<(), InvalidInput> {
        target::parse(&input.agent_id).map(drop)
    }

    /// No work of its own: it needs no place beside those at work.
    fn waits(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let tree = &self.executor.factory().tree;
        let agent = target::find(&self.executor, &input.agent_id, cx.events.path())?;
        let cancelled = tree.cancel(agent.id);
        let (mut success, mut previous_state) = cancelled
            .map_or((false, agent.status()), |cancelled| (cancelled.success, cancelled.previous));
        if success && let Some(ended) = tree.ended(agent.id).await {
            // It may have come to its end in the same moment: then that counts, and its result is not lost.
            let state = Status::of(&ended.outcome.end);
            success = state == Status::Cancelled;
            previous_state = if success { previous_state } else { state };
        }
        let name = &agent.info.name;
        let message = if success {
            // Said only now, when nothing more comes of it: no request, no effect of a tool, no message.
            tree.handed_over(agent.id, &self.executor.caller().inbox);
            format!("{name} was cancelled.")
        } else {
            format!("{name} has ended already ({}): nothing was done.", previous_state.as_str())
        };
        let answer = Answer { success, previous_state, message };
        let outcome = target::json(&answer, if success { "cancelled" } else { "had ended" }, false);
        Ok(if success { target::reporting(agent.id, outcome) } else { outcome })
    }
}
