//! The tools that act on sub-agents which were started: look at one, wait for it, end it, list all,
//! send a message.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::names::SEND_TOOL;
use super::status::{AgentListRow, StatusReport, json_outcome};
use crate::protocol::{Access, AgentId, AgentPath, ToolDetails, count};
use crate::subagent::messages::{self, PARENT_ID};
use crate::subagent::spawn::Spawner;
use crate::subagent::tree::{AgentSnapshot, AgentStatus, Recipient, StatusCounts};
use crate::tool::{
    InvalidInput, PreparedCall, SoftKind, Tool, ToolContext, ToolError, ToolOutcome, ToolSpec,
};

const STATUS_TEXT: &str = "Looks at one of your sub-agents once. Never poll with it: results come to you as messages; agent_wait waits for one. With `offset` it shows more of a long output.";
const WAIT_TEXT: &str = "Waits until one of your sub-agents has ended, and returns its result. Only when you have nothing else to do: otherwise keep working; the result comes to you as a message.";
const CANCEL_TEXT: &str = "Ends one of your running sub-agents, and those below it. Its output so far is kept. Use it when the work is no longer needed.";
const LIST_TEXT: &str =
    "Lists your sub-agents, including ended ones. For an overview; never poll with it.";
const SEND_TEXT: &str = "Sends a message to a sub-agent of yours that has not ended, or with `agent_id` \"parent\" to the agent that started you. It is read at the receiver's next step; an answer, if any, comes to you as a message. For a separate task, start an agent instead.";

/// A tool that acts on sub-agents.
pub(super) struct LifecycleTool {
    spawner: Spawner,
    spec: ToolSpec,
    /// Parses the input of a call.
    read: fn(&ToolSpec, &Value) -> Result<LifecycleAction, InvalidInput>,
}

/// The input of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StatusInput {
    agent_id: String,
    /// Characters of the output to skip.
    offset: Option<usize>,
}

/// The input of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WaitInput {
    agent_id: String,
    /// Give up after so many seconds; the agent keeps running.
    timeout_s: Option<u64>,
}

/// The input of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CancelInput {
    agent_id: String,
}

/// A call takes no input.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListInput {}

/// The input of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SendInput {
    /// An id of yours, or "parent".
    agent_id: String,
    message: String,
}

/// The effect of a call.
enum LifecycleAction {
    Status { id: AgentId, offset: usize },
    Wait { id: AgentId, timeout: Option<Duration> },
    Cancel { id: AgentId },
    List,
    Send { to: Recipient, message: String },
}

impl LifecycleTool {
    /// Creates `agent_status`, `agent_wait`, `agent_cancel` and `agent_list`.
    pub fn all(spawner: &Spawner) -> [Self; 4] {
        let tool = |spec, read| Self { spawner: spawner.clone(), spec, read };
        [
            tool(ToolSpec::new::<StatusInput>("agent_status", STATUS_TEXT), |spec, input| {
                let StatusInput { agent_id, offset } = spec.parse(input)?;
                Ok(LifecycleAction::Status {
                    id: parse_id(&agent_id)?,
                    offset: offset.unwrap_or(0),
                })
            }),
            tool(ToolSpec::new::<WaitInput>("agent_wait", WAIT_TEXT), |spec, input| {
                let WaitInput { agent_id, timeout_s } = spec.parse(input)?;
                if timeout_s == Some(0) {
                    return Err(InvalidInput("`timeout_s` must be at least 1.".to_owned()));
                }
                let timeout = timeout_s.map(Duration::from_secs);
                Ok(LifecycleAction::Wait { id: parse_id(&agent_id)?, timeout })
            }),
            tool(ToolSpec::new::<CancelInput>("agent_cancel", CANCEL_TEXT), |spec, input| {
                let CancelInput { agent_id } = spec.parse(input)?;
                Ok(LifecycleAction::Cancel { id: parse_id(&agent_id)? })
            }),
            tool(ToolSpec::new::<ListInput>("agent_list", LIST_TEXT), |spec, input| {
                spec.parse::<ListInput>(input)?;
                Ok(LifecycleAction::List)
            }),
        ]
    }

    /// Creates `agent_send`, with which a parent and its children send each other messages.
    pub fn send(spawner: &Spawner) -> Self {
        let read = |spec: &ToolSpec, input: &Value| {
            let SendInput { agent_id, message } = spec.parse(input)?;
            if message.trim().is_empty() {
                return Err(InvalidInput("`message` must not be blank.".to_owned()));
            }
            let to = match agent_id.trim() {
                PARENT_ID => Recipient::Parent,
                id => Recipient::Child(parse_id(id)?),
            };
            Ok(LifecycleAction::Send { to, message })
        };
        let spec = ToolSpec::new::<SendInput>(SEND_TOOL, SEND_TEXT);
        Self { spawner: spawner.clone(), spec, read }
    }

    /// Finds the agent with this id below the caller.
    fn find(&self, id: AgentId, caller: &AgentPath) -> Result<AgentSnapshot, ToolError> {
        let soft = |message: String| Err(ToolError::soft(SoftKind::InvalidInput, message));
        match self.spawner.factory().parts.tree.look_up(id) {
            None => soft(format!(
                "`agent_id`: there is no agent {id}. agent_list shows the existing ones."
            )),
            Some(found) if found.path == *caller || !found.path.is_within(caller) => {
                soft(format!("`agent_id`: {id} is not an agent of yours. agent_list shows yours."))
            }
            Some(found) => Ok(found),
        }
    }

    /// Marks an agent's end as read by the caller, so that it is not reported again.
    fn mark_reported(&self, id: AgentId, outcome: ToolOutcome) -> ToolOutcome {
        self.spawner.factory().parts.tree.mark_reported(id, &self.spawner.parent().inbox);
        outcome.with_details(ToolDetails::Reported { agent_id: id })
    }

    /// Describes an agent, with its output from `offset` on.
    fn status(&self, agent: &AgentSnapshot, offset: usize, is_error: bool) -> ToolOutcome {
        let limit = self.spawner.factory().parts.settings.result_max_chars();
        let answer = StatusReport::new(agent, offset, limit);
        let outcome = json_outcome(&answer, agent.status().as_str(), is_error);
        match agent.status().is_final() {
            true => self.mark_reported(agent.id, outcome),
            false => outcome,
        }
    }

    async fn wait(
        &self,
        id: AgentId,
        timeout: Option<Duration>,
        cx: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let tree = &self.spawner.factory().parts.tree;
        self.find(id, cx.events.path())?;
        let timeout = async {
            match timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        let slot = tree.release_slot(cx.events.path());
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => {
                return Err(ToolError::soft(SoftKind::Cancelled, "The wait was cancelled; the agent keeps running."));
            }
            _ = tree.ended(id) => {}
            () = tree.wait_until_idle(id) => {}
            () = timeout => {}
        }
        slot.reacquire(&cx.events, &cx.cancel).await;
        // It may have ended since: its end is reported only once.
        let agent = self.find(id, cx.events.path())?;
        let failed = agent.status().is_final() && agent.status() != AgentStatus::Completed;
        Ok(self.status(&agent, 0, failed))
    }

    async fn cancel(&self, id: AgentId, cx: &ToolContext) -> Result<ToolOutcome, ToolError> {
        #[derive(Serialize)]
        struct CancelAnswer {
            success: bool,
            previous_state: AgentStatus,
            message: String,
        }
        let tree = &self.spawner.factory().parts.tree;
        let agent = self.find(id, cx.events.path())?;
        let cancelled = tree.cancel(id);
        let (mut success, mut previous_state) = cancelled
            .map_or((false, agent.status()), |cancelled| (cancelled.success, cancelled.previous));
        if success && let Some(ended) = tree.ended(id).await {
            // It may have ended at the same moment: then that counts, and its result is not lost.
            let state = AgentStatus::from_end(&ended.outcome.end);
            success = state == AgentStatus::Cancelled;
            previous_state = if success { previous_state } else { state };
        }
        let name = &agent.info.name;
        let message = match success {
            true => format!("{name} was cancelled."),
            false => format!(
                "{name} had already ended ({}): nothing was cancelled.",
                previous_state.as_str()
            ),
        };
        let answer = CancelAnswer { success, previous_state, message };
        if !success {
            return Ok(json_outcome(&answer, "had ended", false));
        }
        // Reported only now, when it can cause no further request, tool effect or message.
        Ok(self.mark_reported(id, json_outcome(&answer, "cancelled", false)))
    }

    fn list(&self, cx: &ToolContext) -> ToolOutcome {
        #[derive(Serialize)]
        struct ListAnswer<'a> {
            agents: Vec<AgentListRow<'a>>,
            #[serde(flatten)]
            counts: StatusCounts,
        }
        let list = self.spawner.factory().parts.tree.list(cx.events.path());
        let counts = StatusCounts::count(&list);
        let answer = ListAnswer { agents: list.iter().map(AgentListRow::new).collect(), counts };
        json_outcome(&answer, &count(counts.total_count, "agent"), false)
    }

    fn deliver(
        &self,
        to: Recipient,
        message: &str,
        cx: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let name = messages::send(&self.spawner, cx.events.path(), to, message)
            .map_err(|error| ToolError::soft(SoftKind::InvalidInput, error.to_string()))?;
        let agent_id = match to {
            Recipient::Parent => PARENT_ID.to_owned(),
            Recipient::Child(id) => id.to_string(),
        };
        let answer = json!({"delivered": true, "agent_id": agent_id});
        Ok(json_outcome(&answer, &format!("delivered to {name}"), false))
    }
}

impl Tool for LifecycleTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(self: Arc<Self>, input: &Value) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        let action = (self.read)(&self.spec, input)?;
        Ok(Box::new(LifecycleCall { tool: self, action }))
    }
}

/// A call with a valid input.
struct LifecycleCall {
    tool: Arc<LifecycleTool>,
    action: LifecycleAction,
}

#[async_trait]
impl PreparedCall for LifecycleCall {
    /// The name of the agent; its id if there is no such agent.
    fn summary(&self) -> String {
        let id = match &self.action {
            LifecycleAction::List => return String::new(),
            LifecycleAction::Send { to: Recipient::Parent, .. } => return PARENT_ID.to_owned(),
            LifecycleAction::Status { id, .. }
            | LifecycleAction::Wait { id, .. }
            | LifecycleAction::Cancel { id }
            | LifecycleAction::Send { to: Recipient::Child(id), .. } => *id,
        };
        let agent = self.tool.spawner.factory().parts.tree.look_up(id);
        agent.map_or_else(|| id.to_string(), |agent| agent.info.name)
    }

    fn access(&self, _cwd: &Path) -> Access {
        Access::Nothing
    }

    /// An agent that is waited for has its own limits.
    fn time_limit(&self) -> Option<Duration> {
        match self.action {
            LifecycleAction::Wait { .. } => None,
            _ => Some(Duration::from_secs(120)),
        }
    }

    /// Does no work of its own, so it needs no permit.
    fn only_waits(&self) -> bool {
        !matches!(self.action, LifecycleAction::Send { .. })
    }

    async fn run(self: Box<Self>, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let Self { tool, action } = *self;
        match action {
            LifecycleAction::Status { id, offset } => {
                let agent = tool.find(id, cx.events.path())?;
                Ok(tool.status(&agent, offset, false))
            }
            LifecycleAction::Wait { id, timeout } => tool.wait(id, timeout, &cx).await,
            LifecycleAction::Cancel { id } => tool.cancel(id, &cx).await,
            LifecycleAction::List => Ok(tool.list(&cx)),
            LifecycleAction::Send { to, message } => tool.deliver(to, &message, &cx),
        }
    }
}

/// Reads an id.
fn parse_id(agent_id: &str) -> Result<AgentId, InvalidInput> {
    agent_id.trim().parse::<AgentId>().map_err(|_| {
        InvalidInput(format!(
            "`agent_id` must be an id as agent_spawn and agent_list give it (a UUID), not {:?}.",
            agent_id.chars().take(60).collect::<String>()
        ))
    })
}
