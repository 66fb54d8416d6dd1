//! Tools: one trait (`api.rs`), one registry, one file per tool.
//!
//! State that an agent keeps between calls (files it has read, the shell's working directory, its
//! to-do list) lives inside its own tool instances: [`builtin`] creates a fresh set per agent, so
//! nothing is shared by accident.

mod api;
mod ask_user;
mod bash;
mod bash_output;
mod builtin;
mod diff;
mod edit;
mod exit_plan_mode;
#[cfg(debug_assertions)]
pub mod fault;
mod file;
mod glob;
mod grep;
mod grep_sink;
mod ignore_files;
mod kill_shell;
mod ledger;
pub mod mcp;
mod named_image;
pub mod path;
mod read;
mod registry;
mod replace;
mod search;
mod shells;
mod spec;
#[cfg(test)]
mod testing;
mod todo_write;
mod web_fetch;
mod web_guard;
mod web_text;
mod write;

pub use crate::exec::BlockingPools;
pub use api::{
    Conversation, PreparedCall, Preview, SoftKind, Tool, ToolContext, ToolError, ToolOutcome,
};
pub use builtin::{BuiltinSettings, builtin};
pub use ignore_files::{IgnoreFiles, walk};
pub use ledger::{ContentHash, FileGuard, FileLock};
pub use named_image::read_named_image;
pub use registry::{ToolRegistry, canonical_name, entry_denies, entry_matches, starts_agents};
pub use search::{HiddenFiles, HiddenRules};
pub use shells::{ShellRegister, ShellStartError, Shells, StartShell};
pub use spec::{InvalidInput, ToolSpec};
pub use web_fetch::{RedirectRules, WebSettings};
