//! Sub-agents: a tool whose body is another agent's loop.
//!
//! The parent's loop awaits the tool like any other, so nesting is a function call and there is no
//! orchestrator. [`AgentTree`] owns every sub-agent's life, [`Factory`] builds one, [`Executor`]
//! starts it, and the faces ([`faces`]) are the tools by which models ask for that.

mod comms;
pub mod definition;
mod defuse;
mod executor;
pub mod faces;
mod factory;
mod folder;
mod host;
mod instructions;
mod life;
mod order;
pub mod registry;
mod report;
mod resume;
mod tree;
mod workplace;
pub mod worktree;

pub use executor::{Caller, Executor};
pub use factory::{Factory, Settings};
pub use order::DEFAULT_AGENT;
pub use resume::{NotResumed, Stored, end_as_result, restored};
pub use tree::{AgentTree, Ended, Listed, Phase, Slots, Status};
pub use workplace::Workplace;
