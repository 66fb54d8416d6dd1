//! Child processes: their group, their output, their end.
//!
//! [`Shell`] is what both the Bash tool and the user's own `!` command run on. Every command leads
//! its own process group, in a session without a terminal to ask on. What agents run is below a
//! [`Supervisor`] where the system has one: then nothing that a command starts outlives it.

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
pub mod supervise;
pub mod supervisor;

pub use ancestors::depth_above;
pub use background::{BackgroundShell, Unread};
pub use clean::Cleaner;
pub use env::{GIT_SETTINGS, NO_HOOKS, child_env};
pub use filter::{Filter, Filtered, Kept};
pub use group::{BASH_VERSION, bash};
pub use memory::hide_memory;
pub use outcome::{Exit, ShellOutcome, ShellState};
pub use output::{Capture, Captured, LeftOut};
pub use pool::{BLOCKING_THREADS, BlockingPool, WorkLost};
pub use sandbox::{Confinement, Sandbox, ShellReach};
pub use service::{Service, ServiceCommand};
pub use shell::{ExecError, Shell, ShellCall, ShellStart};
pub use start::{PrivateDir, Start, StartDirs, StartSettings};
pub use supervisor::Supervisor;
