//! How a run of an agent ends: its result, its figures, and the failure behind it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::format::{clock, thousands};
use super::usage::{Cost, Usage};

/// How a run ended. Never guessed from text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum RunEnd {
    /// The model finished by itself, with an answer.
    Completed,
    /// The turn limit was reached; the text is partial.
    MaxTurns { limit: u32 },
    /// A budget was used up; the text is partial. `what` names it with its limit, such as `$0.50`.
    Budget { what: String },
    /// The model's answer was cut off; the text is partial. `limit` is the output limit in tokens that
    /// was requested, if the answer has reached it: a server may have a smaller one.
    MaxTokens {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
    },
    /// The time limit was reached; the text is partial.
    TimeLimit { limit: Duration },
    /// Stopped by the user, or by the end of its parent.
    Cancelled { before_start: bool },
    /// The program died in the middle; detected on resume.
    Interrupted,
    /// An error ended it.
    Failed { failure: Failure, message: String },
    /// The model declined.
    Refused,
    /// The model finished by itself, without an answer.
    Empty,
}

/// How to resume once the budget of a session is spent.
pub const RAISE_BUDGET: &str = "`caliban -c --max-budget-usd USD` resumes with a higher limit";

/// Returns a provider's message without the advice to try again, for where that is done.
pub fn without_retry_advice(message: &str) -> &str {
    const ADVICE: [&str; 2] = [". Try again later", ": try again"];
    ADVICE.iter().find_map(|advice| message.strip_suffix(advice)).unwrap_or(message)
}

impl RunEnd {
    /// Describes the end in a few words. Those who know more about a cancelled or failed run say
    /// more.
    pub fn describe(&self) -> String {
        match self {
            Self::Completed => "done".to_owned(),
            Self::MaxTurns { limit } => format!("turn limit {limit}, partial"),
            Self::Budget { what } => format!("budget {what} spent, partial"),
            Self::MaxTokens { limit: Some(limit) } => {
                format!("answer cut off at {} tokens", thousands(u64::from(*limit)))
            }
            Self::MaxTokens { limit: None } => "answer ended early by the server".to_owned(),
            Self::TimeLimit { limit } => format!("time limit {}, partial", clock(*limit)),
            Self::Cancelled { before_start: true } => "cancelled before it started".to_owned(),
            Self::Cancelled { before_start: false } => "cancelled".to_owned(),
            Self::Interrupted => "interrupted".to_owned(),
            Self::Failed { failure, .. } => format!("failed: {}", failure.describe()),
            Self::Refused => "refused by the model".to_owned(),
            Self::Empty => "ended without an answer".to_owned(),
        }
    }
}

/// The kind of error that ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Failure {
    /// The provider rejects the key, or there is none.
    Auth,
    /// The same at a provider other than the parent's, where the operator leaves it to the parent.
    SoftAuth,
    RateLimit,
    Overloaded,
    Timeout,
    Connection,
    ContextFull,
    BadRequest,
    /// An answer that could not be decoded.
    BadAnswer,
    /// A sub-agent call beyond the depth limit.
    Autonomy,
    /// The agent's own folder could not be created.
    Worktree,
    /// The transcript could not be written.
    Storage,
    /// A bug in this program.
    Internal,
}

impl Failure {
    /// Whether the agent that started this one cannot continue either.
    pub fn is_fatal(self) -> bool {
        matches!(self, Self::Auth | Self::Autonomy | Self::Internal)
    }

    /// The text on the screen, for a failure that the provider named so. An overload is one only if
    /// the provider says so.
    pub fn describe_with(self, error: Option<&ApiError>) -> String {
        let failed = "server error";
        match (self, error) {
            (Self::BadRequest, Some(ApiError { status: Some(402), .. })) => {
                "payment required".to_owned()
            }
            (Self::Auth | Self::SoftAuth, Some(ApiError { status: Some(403), .. })) => {
                "not allowed".to_owned()
            }
            (Self::Overloaded, Some(ApiError { status: Some(status), .. }))
                if !matches!(status, 503 | 529) =>
            {
                format!("{failed} (HTTP {status})")
            }
            (Self::Overloaded, Some(ApiError { class: Some(class), .. })) if class.is_empty() => {
                failed.to_owned()
            }
            (Self::Overloaded, Some(ApiError { class: Some(class), .. })) => {
                format!("{failed} ({class})")
            }
            _ => self.describe().to_owned(),
        }
    }

    /// The text on the screen.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Auth | Self::SoftAuth => "key rejected",
            Self::RateLimit => "rate limit",
            Self::Overloaded => "overloaded",
            Self::Timeout => "timeout",
            Self::Connection => "no connection",
            Self::ContextFull => "context full",
            Self::BadRequest => "bad request",
            Self::BadAnswer => "unreadable answer",
            Self::Autonomy => "depth",
            Self::Worktree => "no worktree",
            Self::Storage => "disk",
            Self::Internal => "internal",
        }
    }
}

/// How a failed request is named by the provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiError {
    /// The HTTP status of the refusal; absent if there was no answer, or the refusal came inside one.
    pub status: Option<u16>,
    /// The name of a failure that the provider reported inside its answer, such as `api_error`; empty
    /// if it has none. Absent for those that have a [`Failure`] of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
}

/// The result of one run of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunOutcome {
    #[serde(flatten)]
    pub end: RunEnd,
    /// The failed request behind `end`, if one ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_error: Option<ApiError>,
    /// Whether the provider rejected what the agent had read since its last answer: later prompts
    /// are sent without it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
    /// The final text, or the part of it that arrived.
    pub text: String,
    /// Number of requests.
    pub turns: u32,
    pub tool_uses: u32,
    /// This agent alone, without its sub-agents.
    pub usage: Usage,
    /// This agent and all below it.
    pub cost: Cost,
    pub took: Duration,
}

impl RunOutcome {
    /// The outcome of a run that ended before it did anything.
    pub fn without_work(end: RunEnd) -> Self {
        Self {
            end,
            api_error: None,
            rejected: false,
            text: String::new(),
            turns: 0,
            tool_uses: 0,
            usage: Usage::default(),
            cost: Cost::default(),
            took: Duration::ZERO,
        }
    }
}
