//! Which sub-agent a lifecycle call means, and what it is told of it.

use serde::Serialize;
use serde_json::Value;

use crate::protocol::{AgentId, AgentPath, ToolDetails};
use crate::subagent::Executor;
use crate::subagent::report::{cut, words};
use crate::subagent::tree::{Listed, Phase, Status};
use crate::tool::{InvalidInput, SoftKind, ToolError, ToolOutcome};

/// Reads an id.
///
/// # Errors
/// When it is none.
pub(super) fn parse(agent_id: &str) -> Result<AgentId, InvalidInput> {
    agent_id.trim().parse::<AgentId>().map_err(|_| {
        InvalidInput(format!(
            "`agent_id` must be an id as agent_spawn and agent_list give it (a UUID), not {:?}.",
            agent_id.chars().take(60).collect::<String>()
        ))
    })
}

/// The name of the agent that is meant, for the screen; what was written where there is none.
pub(super) fn title(executor: &Executor, agent_id: &str) -> String {
    let agent = parse(agent_id).ok().and_then(|id| executor.factory().tree.look_up(id));
    agent.map_or_else(|| agent_id.to_owned(), |agent| agent.info.name)
}

/// The agent of this id below the caller.
///
/// # Errors
/// When there is none, or it is another agent's.
pub(super) fn find(
    executor: &Executor,
    agent_id: &str,
    caller: &AgentPath,
) -> Result<Listed, ToolError> {
    let soft = |message: String| ToolError::soft(SoftKind::InvalidInput, message);
    let id = parse(agent_id).map_err(|invalid| soft(invalid.0))?;
    let found = executor.factory().tree.look_up(id).ok_or_else(|| {
        soft(format!("`agent_id`: there is no agent {id}. agent_list shows those that there are."))
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
pub(super) struct StatusAnswer {
    agent_id: AgentId,
    name: String,
    state: Status,
    is_final: bool,
    /// The report, or the part of it from `offset` on that fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// Why it is not completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Characters of the whole output, when `output` is only a part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_chars: Option<usize>,
    /// Where the rest of it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    duration_ms: u64,
    tokens: u64,
}

impl StatusAnswer {
    /// What is known of an agent. A part of its text is shown from `offset` on; `limit` 0 is no
    /// limit. Characters.
    pub fn of(agent: &Listed, offset: usize, limit: usize) -> Self {
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
        let Phase::Ended(ended) = &agent.phase else { return answer };
        if state != Status::Completed {
            answer.error = Some(words(&ended.outcome.end));
        }
        let whole = crate::subagent::defuse::defuse(&ended.outcome.text);
        let total = whole.chars().count();
        let (part, shown) = match offset {
            0 => (ended.text.clone(), ended.report.shown),
            _ => {
                let page = page(&whole, offset, limit);
                let shown = page.chars().count();
                (page, shown)
            }
        };
        if !whole.is_empty() || state == Status::Completed {
            answer.output = Some(part);
        }
        let next = offset.saturating_add(shown);
        answer.total_chars = (shown < total).then_some(total);
        answer.next_offset = (next < total).then_some(next);
        answer
    }
}

/// At most `limit` characters from `offset` on, whole graphemes where they fit.
fn page(text: &str, offset: usize, limit: usize) -> String {
    let rest: String = text.chars().skip(offset).collect();
    if limit == 0 {
        return rest;
    }
    match cut(&rest, limit) {
        "" => rest.chars().take(limit).collect(),
        page => page.to_owned(),
    }
}

/// The same for a call that has told of an agent's end, so that nobody tells it again.
pub(super) fn reporting(id: AgentId, outcome: ToolOutcome) -> ToolOutcome {
    ToolOutcome { details: Some(ToolDetails::Reported { agent_id: id }), ..outcome }
}

/// One JSON object as a call's only text.
pub(super) fn json(value: &impl Serialize, summary: &str, is_error: bool) -> ToolOutcome {
    let value = serde_json::to_value(value).unwrap_or(Value::Null);
    ToolOutcome { is_error, ..ToolOutcome::text(value.to_string(), summary) }
}
