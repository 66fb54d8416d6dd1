//! The limits of an account.

use std::time::Duration;

use crate::protocol::limit_in_usd;

/// The most that may be used of each resource; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// US dollars, of the agent and all below it.
    pub usd: Option<f64>,
    /// Tokens as [`Usage::counted`](crate::protocol::Usage::counted) counts them, of the agent and
    /// all below it.
    pub tokens: Option<u64>,
    /// Requests of the agent itself. The last is for its summary.
    pub turns: Option<u32>,
    /// Tool calls of the agent itself.
    pub tool_calls: Option<u32>,
    /// Time since the account was opened, not counting the user's time to answer questions.
    pub wall: Option<Duration>,
}

impl Limits {
    /// Takes the stricter of each limit.
    pub fn min(self, other: Self) -> Self {
        Self {
            usd: least(self.usd, other.usd),
            tokens: least(self.tokens, other.tokens),
            turns: least(self.turns, other.turns),
            tool_calls: least(self.tool_calls, other.tool_calls),
            wall: least(self.wall, other.wall),
        }
    }
}

/// The smaller value; `None` is no limit.
fn least<T: PartialOrd>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other < one { other } else { one }),
        (one, other) => one.or(other),
    }
}

/// A used-up dollar limit: `$1.00`.
pub(super) fn usd_exhausted(limit: f64) -> BudgetExhausted {
    BudgetExhausted { what: format!("${}", limit_in_usd(limit)) }
}

/// A used-up limit on a count: `50000 tokens`, `1 tool call`.
pub(super) fn count_exhausted(limit: u64, thing: &str) -> BudgetExhausted {
    let plural = if limit == 1 { "" } else { "s" };
    BudgetExhausted { what: format!("{limit} {thing}{plural}") }
}

/// A limit that is used up. `what` names it: `$1.00`, `50000 tokens`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the budget of {what} is used up")]
pub struct BudgetExhausted {
    pub what: String,
}

/// The rounding error of summed prices, in US dollars: less than any token costs.
pub(super) const ROUNDING_USD: f64 = 1e-9;
