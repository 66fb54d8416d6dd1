//! The ledger of what agents may use: one account per agent, each below its parent's, so that one
//! cap covers the whole tree. Money and tokens are counted up the chain, turns and tool calls only
//! for the agent itself.
//!
//! Money is reserved before a request and settled after it ([`Budget::reserve`]); a request waits
//! while others hold what it needs. Tokens are checked before a request against what was reported
//! so far. Each account has a clock, which is paused while the user is asked.

mod account;
mod clock;
mod limits;
mod reserve;
#[cfg(test)]
mod tests;

pub use account::{Budget, ClockPause, Spending};
pub use limits::{BudgetExhausted, Limits};
pub use reserve::{Estimate, Reservation};
