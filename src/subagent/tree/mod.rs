//! The single owner of all sub-agents: which are queued and running, how each ended, and who waits
//! for it or is notified.
//!
//! An agent runs as its own task, so that it can continue when the call that started it stops
//! waiting. Its [`AgentHandle`] is its place in here. Whoever wants its end watches for it, and
//! cannot miss it.

mod agent_tree;
mod entry;
mod handle;
mod idle;
mod limits;
mod messages;
mod shells;
mod slots;
mod state;
#[cfg(test)]
mod tests;

pub use agent_tree::AgentTree;
pub use entry::{AgentPhase, AgentResult, AgentSnapshot, AgentStatus, NewAgent, StatusCounts};
pub use handle::AgentHandle;
pub use limits::{LimitError, SlotLimits};
pub use messages::{DeliveryError, Recipient};
pub use slots::AgentSlot;
