//! The result frame: the end of a prompt, with totals over the whole tree of agents.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::info::{ModelLimits, SessionInfo};
use crate::protocol::{
    AgentEvent, Cost, EventKind, Failure, RunEnd, RunOutcome, ToolUseId, Usage, clock, count,
};

/// Totals of a session and of the current prompt.
#[derive(Debug)]
pub(super) struct Totals {
    /// When the current prompt was sent.
    pub began: Instant,
    /// Time spent waiting for models since then, summed over all agents.
    pub api_time: Duration,
    /// Of the session.
    pub cost: Cost,
    /// Of the session.
    pub models: BTreeMap<String, (Usage, Cost)>,
    /// Whether the main agent has started calls since its last request.
    pub in_tools: bool,
    /// Calls denied since the current prompt was sent.
    pub denials: Vec<DeniedCall>,
}

/// A denied call.
#[derive(Debug)]
pub(super) struct DeniedCall {
    pub tool: String,
    pub id: ToolUseId,
    pub input: Value,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            api_time: Duration::ZERO,
            cost: Cost::default(),
            models: BTreeMap::new(),
            in_tools: false,
            denials: Vec::new(),
        }
    }
}

impl Totals {
    /// Resets the totals of the current prompt.
    pub fn next_prompt(&mut self) {
        self.began = Instant::now();
        self.api_time = Duration::ZERO;
        self.denials.clear();
        self.in_tools = false;
    }

    /// Adds the cost of a request.
    fn charge(&mut self, event: &AgentEvent) {
        if let EventKind::TurnFinished { usage, cost, model, .. } = &event.kind {
            self.cost += *cost;
            // Old files do not always name the model.
            if model.is_empty() {
                return;
            }
            let (all_usage, all_cost) = self.models.entry(model.clone()).or_default();
            *all_usage += *usage;
            *all_cost += *cost;
        }
    }

    /// Adds an event.
    pub fn add(&mut self, event: &AgentEvent) {
        match &event.kind {
            // Totals are per session.
            EventKind::SessionOpened { history, forked, .. } => {
                self.cost = Cost::default();
                self.models.clear();
                if !*forked {
                    history.iter().for_each(|event| self.charge(event));
                }
            }
            EventKind::TurnFinished { api_time, .. } => {
                self.api_time += *api_time;
                self.charge(event);
            }
            EventKind::TurnStarted { .. } if event.path.is_root() => self.in_tools = false,
            EventKind::ToolStarted { .. } if event.path.is_root() => self.in_tools = true,
            EventKind::PermissionDenied { id, tool, input, .. } => {
                let (tool, id, input) = (tool.clone(), id.clone(), input.clone());
                self.denials.push(DeniedCall { tool, id, input });
            }
            _ => {}
        }
    }
}

/// Returns the body of the frame for a prompt.
pub(super) fn to_json(outcome: &RunOutcome, totals: &Totals, info: &SessionInfo) -> Value {
    let error = error_text(&outcome.end);
    // The SDK expects the error of a refused request in place of the answer.
    let (result, errors) = match (&outcome.api_error, error) {
        (Some(_), Some(error)) => (error, Vec::new()),
        (_, error) => (outcome.text.clone(), error.into_iter().collect()),
    };
    json!({
        "subtype": subtype(outcome),
        "is_error": outcome.end != RunEnd::Completed,
        "error_kind": error_kind(&outcome.end),
        "result": result,
        "terminal_reason": terminal_reason(outcome, totals),
        "api_error_status": outcome.api_error.as_ref().and_then(|error| error.status),
        "stop_reason": (outcome.end == RunEnd::Completed).then_some("end_turn"),
        "duration_ms": millis(totals.began.elapsed()),
        "duration_api_ms": millis(totals.api_time),
        "num_turns": outcome.turns,
        "total_cost_usd": totals.cost.usd,
        "usage": outcome.usage,
        "modelUsage": models(totals, info),
        "permission_denials": denials(totals, info),
        "errors": errors,
    })
}

fn subtype(outcome: &RunOutcome) -> &'static str {
    match outcome.end {
        _ if outcome.api_error.is_some() => "success",
        RunEnd::Completed => "success",
        RunEnd::MaxTurns { .. } => "error_max_turns",
        RunEnd::Budget { .. } | RunEnd::MaxTokens { .. } => "error_max_budget_usd",
        _ => "error_during_execution",
    }
}

/// Returns why the work ended, in the SDK's terms; `None` if it has no term for it, or if there was no work.
fn terminal_reason(outcome: &RunOutcome, totals: &Totals) -> Option<&'static str> {
    match outcome.end {
        _ if outcome.api_error.is_some() => Some("api_error"),
        RunEnd::Completed => (outcome.turns > 0).then_some("completed"),
        RunEnd::MaxTurns { .. } => Some("max_turns"),
        RunEnd::Cancelled { .. } if totals.in_tools => Some("aborted_tools"),
        RunEnd::Cancelled { .. } => Some("aborted_streaming"),
        _ => None,
    }
}

/// Returns the body of the frame for a prompt that could not be read.
pub(super) fn refusal(why: &str, totals: &Totals, info: &SessionInfo) -> Value {
    let failure = Failure::BadRequest;
    let end = RunEnd::Failed { failure, message: why.to_owned() };
    let mut body = to_json(&RunOutcome::without_work(end), totals, info);
    body["error_kind"] = json!("bad_input");
    body
}

fn models(totals: &Totals, info: &SessionInfo) -> Map<String, Value> {
    let models = totals.models.iter().map(|(model, (usage, cost))| {
        let ModelLimits { context_window, max_output } = info.limits.get(model);
        let value = json!({
            "inputTokens": usage.input_tokens,
            "outputTokens": usage.output_tokens,
            "cacheReadInputTokens": usage.cache_read_input_tokens,
            "cacheCreationInputTokens": usage.cache_creation_input_tokens,
            "costUSD": cost.usd,
            "contextWindow": context_window,
            "maxOutputTokens": max_output,
        });
        (model.clone(), value)
    });
    models.collect()
}

fn denials(totals: &Totals, info: &SessionInfo) -> Vec<Value> {
    let denials = totals.denials.iter().map(|denial| {
        json!({
            "tool_name": info.tool_name(&denial.tool),
            "tool_use_id": denial.id,
            "tool_input": denial.input,
        })
    });
    denials.collect()
}

/// Returns what went wrong, in one line; `None` for a completed run.
pub(super) fn error_text(end: &RunEnd) -> Option<String> {
    Some(match end {
        RunEnd::Completed => return None,
        RunEnd::MaxTurns { limit } => {
            let turns = count(*limit as usize, "turn");
            format!("stopped at the limit of {turns}: the answer is partial")
        }
        RunEnd::Budget { what } => format!("stopped: {what} used up, the answer is partial"),
        RunEnd::MaxTokens { limit: Some(limit) } => {
            format!("stopped: {limit} output tokens used up, the answer is partial")
        }
        RunEnd::MaxTokens { limit: None } => {
            "the server ended the answer early: it is partial".to_owned()
        }
        RunEnd::TimeLimit { limit } => {
            format!("stopped at the time limit of {}: the answer is partial", clock(*limit))
        }
        RunEnd::Cancelled { .. } => "stopped before it was finished".to_owned(),
        RunEnd::Interrupted => "interrupted".to_owned(),
        RunEnd::Failed { message, .. } => message.clone(),
        RunEnd::Refused => "the model refused to answer".to_owned(),
        RunEnd::Empty => "the model ended without an answer".to_owned(),
    })
}

/// Returns the error for programs: a stable identifier.
fn error_kind(end: &RunEnd) -> Option<&'static str> {
    Some(match end {
        RunEnd::Completed => return None,
        RunEnd::MaxTurns { .. } => "max_turns",
        RunEnd::Budget { .. } | RunEnd::MaxTokens { .. } => "budget",
        RunEnd::TimeLimit { .. } => "time_limit",
        RunEnd::Cancelled { .. } => "cancelled",
        RunEnd::Interrupted => "interrupted",
        RunEnd::Refused => "refused",
        RunEnd::Empty => "empty",
        RunEnd::Failed { failure: Failure::SoftAuth, .. } => Failure::Auth.into(),
        RunEnd::Failed { failure: Failure::Autonomy, .. } => "autonomy_violation",
        RunEnd::Failed { failure, .. } => failure.into(),
    })
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{AgentPath, SessionId};

    fn event(kind: EventKind) -> AgentEvent {
        AgentEvent { path: AgentPath::root(), seq: 0, at: jiff::Timestamp::now(), kind }
    }

    fn request(model: &str, input_tokens: u64) -> AgentEvent {
        event(EventKind::TurnFinished {
            usage: Usage { input_tokens, ..Usage::default() },
            cost: Cost { usd: 1.0, ..Cost::default() },
            model: model.to_owned(),
            api_time: Duration::ZERO,
            whole: true,
        })
    }

    fn opened(forked: bool) -> Totals {
        let history = vec![request("m", 10), request("", 20)];
        let mut totals = Totals::default();
        totals.add(&event(EventKind::SessionOpened { id: SessionId::generate(), history, forked }));
        totals.add(&request("m", 5));
        totals
    }

    fn tokens(totals: &Totals) -> Vec<(&str, u64)> {
        let models = totals.models.iter();
        models.map(|(model, (usage, _))| (model.as_str(), usage.input_tokens)).collect()
    }

    #[test]
    fn the_history_of_a_session_counts_but_names_no_model_that_is_not_known() {
        let totals = opened(false);
        assert_eq!((tokens(&totals), totals.cost.usd), (vec![("m", 15)], 3.0));
    }

    #[test]
    fn the_history_of_a_fork_was_paid_for_by_another_session() {
        let totals = opened(true);
        assert_eq!((tokens(&totals), totals.cost.usd), (vec![("m", 5)], 1.0));
    }
}
