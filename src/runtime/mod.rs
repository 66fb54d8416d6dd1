//! The backend of a front end: commands in, events out. [`Runtime`] owns the main agent of a
//! session.

mod hooks;
mod images;
mod main_agent;
mod model_choice;
mod open;
mod parts;
mod project_context;
mod prompt;
mod resume_agent;
mod serve;
mod servers;
mod session;
mod shell;
mod start_hooks;
mod subagent_tools;

pub use parts::RuntimeParts;
pub use serve::Runtime;
pub use session::OpenRequest;
