//! Sub-agents: a tool whose body is another agent's loop.

pub mod definition;
mod front_matter;
pub mod registry;
