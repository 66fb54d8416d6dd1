//! `agent_status`: what a sub-agent is doing, or what it came to.

use std::path::Path;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::target::{self, StatusAnswer};
use crate::protocol::Access;
use crate::subagent::Executor;
use crate::tool::{InvalidInput, ToolContext, ToolError, ToolOutcome, ToolSpec, TypedTool};

const DESCRIPTION: &str = "Looks at one of your sub-agents once. Never poll with it: results come to you as messages; agent_wait waits for one. With `offset` it shows more of a long output.";

/// The tool that looks at a sub-agent.
pub(super) struct StatusTool {
    executor: Executor,
    spec: ToolSpec,
}

/// The input of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    agent_id: String,
    /// Characters of the output to skip.
    offset: Option<usize>,
}

impl StatusTool {
    pub fn new(executor: Executor) -> Self {
        Self { executor, spec: ToolSpec::of::<Input>("agent_status", DESCRIPTION) }
    }
}

#[async_trait]
impl TypedTool for StatusTool {
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
        let agent = target::find(&self.executor, &input.agent_id, cx.events.path())?;
        let factory = self.executor.factory();
        let limit = factory.settings.result_max_chars;
        let answer = StatusAnswer::of(&agent, input.offset.unwrap_or(0), limit);
        if agent.status().is_final() {
            factory.tree.handed_over(agent.id, &self.executor.caller().inbox);
        }
        let outcome = target::json(&answer, agent.status().as_str(), false);
        Ok(if agent.status().is_final() { target::reporting(agent.id, outcome) } else { outcome })
    }
}
