//! Finds the sub-agent that a lifecycle call names, and builds the answer about it.

use serde::Serialize;
use serde_json::Value;

use crate::protocol::{AgentId, AgentPath, ToolDetails};
use crate::subagent::Spawner;
use crate::subagent::report::{end_text, truncate};
use crate::subagent::tree::{AgentPhase, AgentSnapshot, AgentStatus};
use crate::tool::{InvalidInput, SoftKind, ToolError, ToolOutcome};

/// Reads an id.
///
/// # Errors
/// If it is not an id.
pub(super) fn parse_id(agent_id: &str) -> Result<AgentId, InvalidInput> {
    agent_id.trim().parse::<AgentId>().map_err(|_| {
        InvalidInput(format!(
            "`agent_id` must be an id as agent_spawn and agent_list give it (a UUID), not {:?}.",
            agent_id.chars().take(60).collect::<String>()
        ))
    })
}

/// The name of the agent, for the screen; the input if there is no such agent.
pub(super) fn agent_title(executor: &Spawner, agent_id: &str) -> String {
    let agent = parse_id(agent_id).ok().and_then(|id| executor.factory().tree.look_up(id));
    agent.map_or_else(|| agent_id.to_owned(), |agent| agent.info.name)
}

/// Finds the agent with this id below the caller.
///
/// # Errors
/// If there is none, or it belongs to another agent.
pub(super) fn find_agent(
    executor: &Spawner,
    agent_id: &str,
    caller: &AgentPath,
) -> Result<AgentSnapshot, ToolError> {
    let soft = |message: String| ToolError::soft(SoftKind::InvalidInput, message);
    let id = parse_id(agent_id).map_err(|invalid| soft(invalid.0))?;
    let found = executor.factory().tree.look_up(id).ok_or_else(|| {
        soft(format!("`agent_id`: there is no agent {id}. agent_list shows the existing ones."))
    })?;
    if found.path == *caller || !found.path.is_within(caller) {
        return Err(soft(format!(
            "`agent_id`: {id} is not an agent of yours. agent_list shows yours."
        )));
    }
    Ok(found)
}

/// The answer of status and wait.
#[derive(Debug, Serialize)]
pub(super) struct StatusOutput {
    agent_id: AgentId,
    name: String,
    state: AgentStatus,
    is_final: bool,
    /// The report, or the part of it from `offset` on that fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// Why it is not completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Characters of the whole output, if `output` is only part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_chars: Option<usize>,
    /// The offset of the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    duration_ms: u64,
    tokens: u64,
}

impl StatusOutput {
    /// Describes an agent. Part of its text is shown from `offset` on; `limit` 0 is no limit.
    /// Characters.
    pub fn from_snapshot(agent: &AgentSnapshot, offset: usize, limit: usize) -> Self {
        let state = agent.status();
        let mut answer = Self {
            agent_id: agent.id,
            name: agent.info.name.clone(),
            state,
            is_final: state.is_final(),
            output: None,
            error: None,
            total_chars: None,
            next_offset: None,
            duration_ms: u64::try_from(agent.took.as_millis()).unwrap_or(u64::MAX),
            tokens: agent.tokens,
        };
        let AgentPhase::Ended(ended) = &agent.phase else { return answer };
        if state != AgentStatus::Completed {
            answer.error = Some(end_text(&ended.outcome.end));
        }
        let whole = crate::subagent::sanitize::sanitize(&ended.outcome.text);
        let total = whole.chars().count();
        let (part, shown) = match offset {
            0 => (ended.text.clone(), ended.report.shown),
            _ => {
                let page = page(&whole, offset, limit);
                let shown = page.chars().count();
                (page, shown)
            }
        };
        if !whole.is_empty() || state == AgentStatus::Completed {
            answer.output = Some(part);
        }
        let next = offset.saturating_add(shown);
        answer.total_chars = (shown < total).then_some(total);
        answer.next_offset = (next < total).then_some(next);
        answer
    }
}

/// Up to `limit` characters from `offset` on, whole graphemes if they fit.
fn page(text: &str, offset: usize, limit: usize) -> String {
    let rest: String = text.chars().skip(offset).collect();
    if limit == 0 {
        return rest;
    }
    match truncate(&rest, limit) {
        "" => rest.chars().take(limit).collect(),
        page => page.to_owned(),
    }
}

/// Marks the outcome of a call that reported an agent's end, so that it is not reported again.
pub(super) fn with_reported(id: AgentId, outcome: ToolOutcome) -> ToolOutcome {
    ToolOutcome { details: Some(ToolDetails::Reported { agent_id: id }), ..outcome }
}

/// One JSON object as a call's only text.
pub(super) fn json_outcome(value: &impl Serialize, summary: &str, is_error: bool) -> ToolOutcome {
    let value = serde_json::to_value(value).unwrap_or(Value::Null);
    ToolOutcome { is_error, ..ToolOutcome::text(value.to_string(), summary) }
}
