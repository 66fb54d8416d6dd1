//! `agent_send`: a message to a sub-agent, or to the agent above.

use std::path::Path;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::target;
use crate::protocol::Access;
use crate::subagent::Executor;
use crate::subagent::comms::{self, PARENT};
use crate::subagent::tree::Recipient;
use crate::tool::{
    InvalidInput, SoftKind, ToolContext, ToolError, ToolOutcome, ToolSpec, TypedTool,
};

const DESCRIPTION: &str = "Sends a message to a sub-agent of yours that has not ended, or with `agent_id` \"parent\" to the agent that started you. It is read at the receiver's next step; an answer, if there is one, comes to you as a message. Not for work of its own: start an agent for that.";

/// The tool that sends a message.
pub(super) struct SendTool {
    executor: Executor,
    spec: ToolSpec,
}

/// The input of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// An id of yours, or "parent".
    agent_id: String,
    message: String,
}

#[derive(Debug, Serialize)]
struct Answer {
    delivered: bool,
    agent_id: String,
}

impl SendTool {
    pub fn new(executor: Executor) -> Self {
        Self { executor, spec: ToolSpec::of::<Input>(comms::SEND, DESCRIPTION) }
    }
}

impl Input {
    fn recipient(&self) -> Result<Recipient, InvalidInput> {
        if self.agent_id.trim() == PARENT {
            return Ok(Recipient::Parent);
        }
        target::parse(&self.agent_id).map(Recipient::Child)
    }
}

#[async_trait]
impl TypedTool for SendTool {
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
        if input.message.trim().is_empty() {
            return Err(InvalidInput("`message` must not be blank.".to_owned()));
        }
        input.recipient().map(drop)
    }

    async fn run(&self, input: Input, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let soft = |why: String| ToolError::soft(SoftKind::InvalidInput, why);
        let to = input.recipient().map_err(|invalid| soft(invalid.0))?;
        let name = comms::send(&self.executor, cx.events.path(), to, &input.message)
            .map_err(|error| soft(error.to_string()))?;
        let agent_id = input.agent_id.trim().to_owned();
        let answer = Answer { delivered: true, agent_id };
        Ok(target::json(&answer, &format!("delivered to {name}"), false))
    }
}
