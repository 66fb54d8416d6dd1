//! Sub-agents: a tool whose body is another agent's loop.
//!
//! The parent's loop awaits the tool like any other, so nesting is a function call and there is no
//! orchestrator. [`AgentTree`] owns every sub-agent, [`Factory`] builds one, [`Spawner`] starts
//! it, and [`tools`] has the tools with which models request that.

mod budget_policy;
mod build;
mod child;
mod child_spec;
pub mod definition;
mod definition_folder;
mod factory;
mod messages;
mod parent;
pub mod registry;
mod report;
mod resolve;
mod resume;
mod sanitize;
mod settings;
mod spawn;
mod spawn_request;
mod tool_lists;
pub mod tools;
mod toolset;
mod tree;
mod workspace;
pub mod worktree;

pub use factory::{AgentParts, Factory, SharedContext};
pub use parent::ParentContext;
pub use resume::{ResumeError, StoredAgent, call_result, restore_agent};
pub use settings::SubagentSettings;
pub use spawn::Spawner;
pub use spawn_request::DEFAULT_AGENT;
pub use tree::{AgentPhase, AgentResult, AgentSnapshot, AgentStatus, AgentTree, SlotLimits};
pub use workspace::Workspace;
