//! What an account may come to.

use std::time::Duration;

use super::UsedUp;

/// The most that may be used of each thing; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// US dollars, of the agent and all below it.
    pub usd: Option<f64>,
    /// Tokens as [`Usage::counted`](crate::protocol::Usage::counted) counts them, of the agent and
    /// all below it.
    pub tokens: Option<u64>,
    /// Requests of the agent itself. The last one is for its summary.
    pub turns: Option<u32>,
    /// Tool calls of the agent itself.
    pub tool_calls: Option<u32>,
    /// Time since the account was opened, without what a person took to answer questions.
    pub wall: Option<Duration>,
}

impl Limits {
    /// The stricter of both, thing by thing.
    #[must_use]
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

/// The smaller one; an absent one is no limit.
fn least<T: PartialOrd>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other < one { other } else { one }),
        (one, other) => one.or(other),
    }
}

/// A limit in dollars that is used up: `$1.00`, and `$0.005` where cents do not say it.
pub(super) fn dollars(limit: f64) -> UsedUp {
    let cents = format!("{limit:.2}");
    let exact = format!("{limit:.6}");
    let exact = exact.trim_end_matches('0');
    let shown = if exact.len() > cents.len() { exact } else { &cents };
    UsedUp { what: format!("${shown}") }
}

/// A limit on a number of things that is used up: `50000 tokens`, `1 tool call`.
pub(super) fn count(limit: u64, thing: &str) -> UsedUp {
    let plural = if limit == 1 { "" } else { "s" };
    UsedUp { what: format!("{limit} {thing}{plural}") }
}
