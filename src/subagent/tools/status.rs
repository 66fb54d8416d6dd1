//! `agent_status`: shows what a sub-agent is doing, or its result.

use std::path::Path;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::target::{self, StatusOutput};
use crate::protocol::Access;
use crate::subagent::Spawner;
use crate::tool::{InvalidInput, ToolContext, ToolError, ToolOutcome, ToolSpec, TypedTool};

const DESCRIPTION: &str = "Looks at one of your sub-agents once. Never poll with it: results come to you as messages; agent_wait waits for one. With `offset` it shows more of a long output.";

/// The tool that looks at a sub-agent.
pub(super) struct StatusTool {
    spawner: Spawner,
    spec: ToolSpec,
}

/// The input of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StatusInput {
    agent_id: String,
    /// Characters of the output to skip.
    offset: Option<usize>,
}

impl StatusTool {
    pub fn new(executor: Spawner) -> Self {
        Self { spawner: executor, spec: ToolSpec::new::<StatusInput>("agent_status", DESCRIPTION) }
    }
}

#[async_trait]
impl TypedTool for StatusTool {
    type Input = StatusInput;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn summary(&self, input: &StatusInput) -> String {
        target::agent_title(&self.spawner, &input.agent_id)
    }

    fn access(&self, _input: &StatusInput, _cwd: &Path) -> Access {
        Access::Nothing
    }

    fn check(&self, input: &StatusInput) -> Result<(), InvalidInput> {
        target::parse_id(&input.agent_id).map(drop)
    }

    /// Does no work of its own, so it needs no permit.
    fn only_waits(&self) -> bool {
        true
    }

    async fn run(&self, input: StatusInput, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let agent = target::find_agent(&self.spawner, &input.agent_id, cx.events.path())?;
        let factory = self.spawner.factory();
        let limit = factory.settings.result_max_chars;
        let answer = StatusOutput::from_snapshot(&agent, input.offset.unwrap_or(0), limit);
        if agent.status().is_final() {
            factory.tree.mark_reported(agent.id, &self.spawner.parent().inbox);
        }
        let outcome = target::json_outcome(&answer, agent.status().as_str(), false);
        Ok(if agent.status().is_final() {
            target::with_reported(agent.id, outcome)
        } else {
            outcome
        })
    }
}
