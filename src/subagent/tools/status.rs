//! The JSON in which the lifecycle tools report on a sub-agent.

use serde::Serialize;
use serde_json::Value;

use crate::protocol::{AgentId, ToolDetails};
use crate::subagent::report::{end_text, truncate};
use crate::subagent::sanitize::sanitize;
use crate::subagent::tree::{AgentPhase, AgentSnapshot, AgentStatus};
use crate::tool::ToolOutcome;

/// The answer of status and wait.
#[derive(Debug, Serialize)]
pub(super) struct StatusReport {
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

impl StatusReport {
    /// Describes an agent. Part of its text is shown from `offset` on; `limit` 0 is no limit.
    /// Characters.
    pub fn new(agent: &AgentSnapshot, offset: usize, limit: usize) -> Self {
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
            duration_ms: millis(agent),
            tokens: agent.tokens,
        };
        let AgentPhase::Ended(ended) = &agent.phase else { return answer };
        if state != AgentStatus::Completed {
            answer.error = Some(end_text(&ended.outcome.end));
        }
        let whole = sanitize(&ended.outcome.text);
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

/// One agent of a list.
#[derive(Debug, Serialize)]
pub(super) struct AgentListRow<'a> {
    agent_id: AgentId,
    name: &'a str,
    agent: &'a str,
    description: &'a str,
    state: AgentStatus,
    is_final: bool,
    background: bool,
    depth: u32,
    duration_ms: u64,
    tokens: u64,
}

impl<'a> AgentListRow<'a> {
    pub fn new(agent: &'a AgentSnapshot) -> Self {
        Self {
            agent_id: agent.id,
            name: &agent.info.name,
            agent: &agent.info.agent,
            description: &agent.info.description,
            state: agent.status(),
            is_final: agent.status().is_final(),
            background: agent.background,
            depth: agent.path.depth(),
            duration_ms: millis(agent),
            tokens: agent.tokens,
        }
    }
}

fn millis(agent: &AgentSnapshot) -> u64 {
    u64::try_from(agent.took.as_millis()).unwrap_or(u64::MAX)
}

/// One JSON object as a call's only text.
pub(super) fn json_outcome(value: &impl Serialize, summary: &str, is_error: bool) -> ToolOutcome {
    let value = serde_json::to_value(value).unwrap_or(Value::Null);
    let outcome = ToolOutcome::text(value.to_string(), summary);
    ToolOutcome { is_error, ..outcome.with_details(ToolDetails::ForModel) }
}
