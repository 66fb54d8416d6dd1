//! `agent_send`: a message to a sub-agent, or to the agent above.

use std::path::Path;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::target;
use crate::protocol::Access;
use crate::subagent::Spawner;
use crate::subagent::comms::{self, PARENT_ID};
use crate::subagent::tree::Recipient;
use crate::tool::{
    InvalidInput, SoftKind, ToolContext, ToolError, ToolOutcome, ToolSpec, TypedTool,
};

const DESCRIPTION: &str = "Sends a message to a sub-agent of yours that has not ended, or with `agent_id` \"parent\" to the agent that started you. It is read at the receiver's next step; an answer, if any, comes to you as a message. For a separate task, start an agent instead.";

/// The tool that sends a message.
pub(super) struct SendTool {
    spawner: Spawner,
    spec: ToolSpec,
}

/// The input of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SendInput {
    /// An id of yours, or "parent".
    agent_id: String,
    message: String,
}

#[derive(Debug, Serialize)]
struct SendOutput {
    delivered: bool,
    agent_id: String,
}

impl SendTool {
    pub fn new(executor: Spawner) -> Self {
        Self { spawner: executor, spec: ToolSpec::new::<SendInput>(comms::SEND_TOOL, DESCRIPTION) }
    }
}

impl SendInput {
    fn recipient(&self) -> Result<Recipient, InvalidInput> {
        if self.agent_id.trim() == PARENT_ID {
            return Ok(Recipient::Parent);
        }
        target::parse_id(&self.agent_id).map(Recipient::Child)
    }
}

#[async_trait]
impl TypedTool for SendTool {
    type Input = SendInput;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn summary(&self, input: &SendInput) -> String {
        target::agent_title(&self.spawner, &input.agent_id)
    }

    fn access(&self, _input: &SendInput, _cwd: &Path) -> Access {
        Access::Nothing
    }

    fn check(&self, input: &SendInput) -> Result<(), InvalidInput> {
        if input.message.trim().is_empty() {
            return Err(InvalidInput("`message` must not be blank.".to_owned()));
        }
        input.recipient().map(drop)
    }

    async fn run(&self, input: SendInput, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let soft = |why: String| ToolError::soft(SoftKind::InvalidInput, why);
        let to = input.recipient().map_err(|invalid| soft(invalid.0))?;
        let name = comms::send(&self.spawner, cx.events.path(), to, &input.message)
            .map_err(|error| soft(error.to_string()))?;
        let agent_id = input.agent_id.trim().to_owned();
        let answer = SendOutput { delivered: true, agent_id };
        Ok(target::json_outcome(&answer, &format!("delivered to {name}"), false))
    }
}
