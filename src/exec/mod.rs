//! Child processes: their group, their output, their end.
//!
//! [`Shell`] is what both the Bash tool and the user's own `!` command run on. Every command leads
//! its own process group, in a session without a terminal to ask on. What agents run is below a
//! [`Supervisor`] where the system has one: then nothing that a command starts outlives it.

mod ancestors;
mod background;
mod descendants;
mod directory;
mod env;
mod filter;
mod group;
mod outcome;
mod output;
mod output_cleaner;
mod pool;
mod pump;
mod run_to_exit;
pub mod sandbox;
mod service;
mod shell;
mod start_dirs;
pub mod supervise;

pub use ancestors::depth_above;
pub use background::{BackgroundShell, RecentOutput, UnreadOutput};
pub use descendants::signal_command;
pub use env::{GIT_SETTINGS, NO_HOOKS, child_env};
pub use filter::{CappedOutput, FilterCommand, FilterOutput};
pub use group::{BASH_VERSION, ServiceCommand, bash};
pub use outcome::{CommandExit, ExecError, ShellOutcome, ShellState};
pub use output::{Capture, CapturedOutput, OmittedOutput};
pub use output_cleaner::OutputCleaner;
pub use pool::{BLOCKING_THREADS, BlockingPool, BlockingPools, TaskLost};
pub use sandbox::{Confinement, Sandbox, ShellReach};
pub use service::Service;
pub use shell::{Shell, ShellCall, ShellStart};
pub use start_dirs::{PrivateDir, ProgramStart, StartDirs, StartSettings};
pub use supervise::Supervisor;
