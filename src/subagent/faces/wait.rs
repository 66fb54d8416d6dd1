//! `agent_wait`: blocks until a sub-agent in the background has ended.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::target::{self, StatusAnswer};
use crate::protocol::Access;
use crate::subagent::Executor;
use crate::subagent::tree::Status;
use crate::tool::{
    InvalidInput, SoftKind, ToolContext, ToolError, ToolOutcome, ToolSpec, TypedTool,
};

const DESCRIPTION: &str = "Waits until one of your sub-agents has ended, and returns its result. Only when you can do nothing else before: otherwise go on working, the result comes to you as a message.";

/// The tool that waits for a sub-agent.
pub(super) struct Wait {
    executor: Executor,
    spec: ToolSpec,
}

/// The input of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    agent_id: String,
    /// Give up after so many seconds; the agent goes on.
    timeout_s: Option<u64>,
}

impl Wait {
    pub fn new(executor: Executor) -> Self {
        Self { executor, spec: ToolSpec::of::<Input>("agent_wait", DESCRIPTION) }
    }
}

#[async_trait]
impl TypedTool for Wait {
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
        if input.timeout_s == Some(0) {
            return Err(InvalidInput("`timeout_s` must be at least 1.".to_owned()));
        }
        target::parse(&input.agent_id).map(drop)
    }

    /// The agent has its own limits.
    fn time_limit(&self) -> Option<Duration> {
        None
    }

    fn waits(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let tree = &self.executor.factory().tree;
        let id = target::find(&self.executor, &input.agent_id, cx.events.path())?.id;
        let timeout = async {
            match input.timeout_s {
                Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
                None => std::future::pending().await,
            }
        };
        let lent = tree.lend(cx.events.path());
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => {
                return Err(ToolError::soft(SoftKind::Cancelled, "The wait was cancelled; the agent goes on."));
            }
            _ = tree.ended(id) => {}
            () = tree.rests(id) => {}
            () = timeout => {}
        }
        lent.take_back(&cx.events, &cx.cancel).await;
        let agent = target::find(&self.executor, &input.agent_id, cx.events.path())?;
        // It may have ended since: what is told here is told once.
        if agent.status().is_final() {
            tree.handed_over(id, &self.executor.caller().inbox);
        }
        let limit = self.executor.factory().settings.result_max_chars;
        let answer = StatusAnswer::of(&agent, 0, limit);
        let failed = agent.status().is_final() && agent.status() != Status::Completed;
        let outcome = target::json(&answer, agent.status().as_str(), failed);
        Ok(if agent.status().is_final() { target::reporting(id, outcome) } else { outcome })
    }
}
