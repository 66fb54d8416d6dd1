//! Sub-agents: a tool whose body is another agent's loop.
//!
//! The parent's loop awaits the tool like any other, so nesting is a function call and there is no orchestrator.
//! [`AgentTree`] owns every sub-agent's life, [`Factory`] builds one, [`AgentTool`] is the face that models call.

mod agent_tool;
pub mod definition;
mod factory;
mod front_matter;
pub mod registry;
mod report;
mod tree;
pub mod worktree;

pub use agent_tool::{AgentTool, Parent};
pub use factory::{Factory, Settings};
pub use tree::{AgentTree, Slots};
