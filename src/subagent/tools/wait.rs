//! `agent_wait`: blocks until a sub-agent in the background has ended.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::target::{self, StatusOutput};
use crate::protocol::Access;
use crate::subagent::Spawner;
use crate::subagent::tree::AgentStatus;
use crate::tool::{
    InvalidInput, SoftKind, ToolContext, ToolError, ToolOutcome, ToolSpec, TypedTool,
};

const DESCRIPTION: &str = "Waits until one of your sub-agents has ended, and returns its result. Only when you have nothing else to do: otherwise keep working; the result comes to you as a message.";

/// The tool that waits for a sub-agent.
pub(super) struct WaitTool {
    spawner: Spawner,
    spec: ToolSpec,
}

/// The input of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitInput {
    agent_id: String,
    /// Give up after so many seconds; the agent keeps running.
    timeout_s: Option<u64>,
}

impl WaitTool {
    pub fn new(executor: Spawner) -> Self {
        Self { spawner: executor, spec: ToolSpec::new::<WaitInput>("agent_wait", DESCRIPTION) }
    }
}

#[async_trait]
impl TypedTool for WaitTool {
    type Input = WaitInput;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn summary(&self, input: &WaitInput) -> String {
        target::agent_title(&self.spawner, &input.agent_id)
    }

    fn access(&self, _input: &WaitInput, _cwd: &Path) -> Access {
        Access::Nothing
    }

    fn check(&self, input: &WaitInput) -> Result<(), InvalidInput> {
        if input.timeout_s == Some(0) {
            return Err(InvalidInput("`timeout_s` must be at least 1.".to_owned()));
        }
        target::parse_id(&input.agent_id).map(drop)
    }

    /// The agent has its own limits.
    fn time_limit(&self) -> Option<Duration> {
        None
    }

    fn only_waits(&self) -> bool {
        true
    }

    async fn run(&self, input: WaitInput, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let tree = &self.spawner.factory().tree;
        let id = target::find_agent(&self.spawner, &input.agent_id, cx.events.path())?.id;
        let timeout = async {
            match input.timeout_s {
                Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
                None => std::future::pending().await,
            }
        };
        let lent = tree.release_slot(cx.events.path());
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => {
                return Err(ToolError::soft(SoftKind::Cancelled, "The wait was cancelled; the agent keeps running."));
            }
            _ = tree.ended(id) => {}
            () = tree.wait_until_idle(id) => {}
            () = timeout => {}
        }
        lent.reacquire(&cx.events, &cx.cancel).await;
        let agent = target::find_agent(&self.spawner, &input.agent_id, cx.events.path())?;
        // It may have ended since: its end is reported only once.
        if agent.status().is_final() {
            tree.mark_reported(id, &self.spawner.parent().inbox);
        }
        let limit = self.spawner.factory().settings.result_max_chars;
        let answer = StatusOutput::from_snapshot(&agent, 0, limit);
        let failed = agent.status().is_final() && agent.status() != AgentStatus::Completed;
        let outcome = target::json_outcome(&answer, agent.status().as_str(), failed);
        Ok(if agent.status().is_final() { target::with_reported(id, outcome) } else { outcome })
    }
}
