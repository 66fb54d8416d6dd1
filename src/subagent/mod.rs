//! Sub-agents: a tool whose body is another agent's loop.
//!
//! The parent's loop awaits the tool like any other, so nesting is a function call and there is no
//! orchestrator. [`AgentTree`] owns every sub-agent, [`Factory`] builds one, [`Spawner`] starts
//! it, and the faces ([`tools`]) are the tools with which models request that.

mod budget_policy;
mod child;
mod comms;
pub mod definition;
mod definition_folder;
mod factory;
mod host;
mod instructions;
pub mod registry;
mod report;
mod resume;
mod sanitize;
mod spawn_request;
mod spawner;
pub mod tools;
mod tree;
mod workspace;
pub mod worktree;

pub use factory::{Factory, SubagentSettings};
pub use resume::{ResumeError, StoredAgent, call_result, restore_agent};
pub use spawn_request::DEFAULT_AGENT;
pub use spawner::{ParentContext, Spawner};
pub use tree::{AgentPhase, AgentResult, AgentSnapshot, AgentStatus, AgentTree, SlotLimits};
pub use workspace::Workspace;
