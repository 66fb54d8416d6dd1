//! Child processes: their group, their output, their end.
//!
//! [`Shell`] is what both the Bash tool and the person's own `!` command run on. Every command is the leader of its
//! own session and process group: it has no terminal to ask on, and one signal reaches all that it started.

mod ancestors;
mod background;
mod clean;
mod descendants;
mod directory;
mod env;
mod filter;
mod follow;
mod group;
mod memory;
mod outcome;
mod output;
mod pool;
mod pump;
pub mod sandbox;
mod service;
mod shell;
mod start;

pub use ancestors::agent_above;
pub use background::{BackgroundShell, Unread};
pub use clean::Cleaner;
pub use env::{child_env, without_programs_of};
pub use filter::{Filter, Filtered, Kept};
pub use memory::hide_memory;
pub use outcome::{Exit, ShellOutcome, ShellState};
pub use output::{Capture, Captured, LeftOut};
pub use pool::{BLOCKING_THREADS, BlockingPool, WorkLost};
pub use sandbox::{Confinement, Sandbox, ShellReach};
pub use service::{Service, ServiceCommand};
pub use shell::{ExecError, Shell, ShellCall, ShellStart};
pub use start::{PrivateDir, Start, StartDirs, StartSettings};
