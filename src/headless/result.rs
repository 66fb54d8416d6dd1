//! The result frame: how a prompt ended, in words and in numbers.

use serde_json::{Map, Value, json};

use super::frame::millis;
use super::info::{ModelLimits, SessionInfo};
use super::totals::Totals;
use crate::protocol::{End, Failure, Outcome, clock, count};

/// The body of the frame for a prompt that was worked on.
pub(super) fn of(outcome: &Outcome, totals: &Totals, info: &SessionInfo) -> Value {
    let error = error_text(&outcome.end);
    // The SDK reads the error of a refused request in place of the answer.
    let (result, errors) = match (outcome.api_error, error) {
        (Some(_), Some(error)) => (error, Vec::new()),
        (_, error) => (outcome.text.clone(), error.into_iter().collect()),
    };
    json!({
        "subtype": subtype(outcome),
        "is_error": outcome.end != End::Completed,
        "error_kind": error_kind(&outcome.end),
        "result": result,
        "terminal_reason": terminal_reason(outcome, totals),
        "api_error_status": outcome.api_error.and_then(|error| error.status),
        "stop_reason": (outcome.end == End::Completed).then_some("end_turn"),
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

fn subtype(outcome: &Outcome) -> &'static str {
    match outcome.end {
        _ if outcome.api_error.is_some() => "success",
        End::Completed => "success",
        End::MaxTurns { .. } => "error_max_turns",
        End::Budget { .. } => "error_max_budget_usd",
        _ => "error_during_execution",
    }
}

/// Why the work ended, in the SDK's words; nothing where it has none, and where there was no work.
fn terminal_reason(outcome: &Outcome, totals: &Totals) -> Option<&'static str> {
    match outcome.end {
        _ if outcome.api_error.is_some() => Some("api_error"),
        End::Completed => (outcome.turns > 0).then_some("completed"),
        End::MaxTurns { .. } => Some("max_turns"),
        End::Cancelled { .. } if totals.in_tools => Some("aborted_tools"),
        End::Cancelled { .. } => Some("aborted_streaming"),
        _ => None,
    }
}

/// The body of the frame for a prompt that could not be read.
pub(super) fn refusal(why: &str, totals: &Totals, info: &SessionInfo) -> Value {
    let failure = Failure::BadRequest;
    let end = End::Failed { failure, message: why.to_owned() };
    let mut body = of(&Outcome::without_work(end), totals, info);
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

/// What went wrong, in a line; nothing for a run that did what it should.
#[must_use]
pub(super) fn error_text(end: &End) -> Option<String> {
    Some(match end {
        End::Completed => return None,
        End::MaxTurns { limit } => {
            let turns = count(*limit as usize, "turn");
            format!("stopped at the limit of {turns}: the answer is partial")
        }
        End::Budget { what } => format!("stopped: {what} used up, the answer is partial"),
        End::TimeLimit { limit } => {
            format!("stopped at the time limit of {}: the answer is partial", clock(*limit))
        }
        End::Cancelled { .. } => "stopped before it was finished".to_owned(),
        End::Interrupted => "interrupted".to_owned(),
        End::Failed { message, .. } => message.clone(),
        End::Refused => "the model refused to answer".to_owned(),
        End::Empty => "the model ended without an answer".to_owned(),
    })
}

/// The same for programs: one word that never changes.
fn error_kind(end: &End) -> Option<&'static str> {
    Some(match end {
        End::Completed => return None,
        End::MaxTurns { .. } => "max_turns",
        End::Budget { .. } => "budget",
        End::TimeLimit { .. } => "time_limit",
        End::Cancelled { .. } => "cancelled",
        End::Interrupted => "interrupted",
        End::Refused => "refused",
        End::Empty => "empty",
        End::Failed { failure, .. } => match failure {
            Failure::Auth | Failure::SoftAuth => "auth",
            Failure::RateLimit => "rate_limit",
            Failure::Overloaded => "overloaded",
            Failure::Timeout => "timeout",
            Failure::Connection => "connection",
            Failure::ContextFull => "context_full",
            Failure::BadRequest => "bad_request",
            Failure::BadAnswer => "bad_answer",
            Failure::Autonomy => "autonomy_violation",
            Failure::Worktree => "worktree",
            Failure::Storage => "storage",
            Failure::Internal => "internal",
        },
    })
}
