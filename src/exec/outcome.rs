//! How a command ended, and the texts about it.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::output::CapturedOutput;
use crate::protocol::{ShellEnd, seconds};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandExit {
    Code(i32),
    Signal(i32),
    Cancelled,
    TimedOut(Duration),
}

/// The state of a command in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellState {
    Running,
    /// It ended by itself or at its time limit.
    Exited(CommandExit),
    /// It was killed.
    Killed,
}

impl ShellState {
    /// Returns the end as events carry it; `None` while it runs.
    pub fn end(self) -> Option<ShellEnd> {
        match self {
            Self::Running => None,
            Self::Exited(CommandExit::Code(code)) => Some(ShellEnd::Code { code }),
            Self::Exited(CommandExit::Signal(number)) => {
                Some(ShellEnd::Signal { name: signal_name(number) })
            }
            Self::Exited(CommandExit::TimedOut(limit)) => Some(ShellEnd::TimedOut { limit }),
            Self::Exited(CommandExit::Cancelled) | Self::Killed => Some(ShellEnd::Killed),
        }
    }
}

/// The result of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct ShellOutcome {
    pub exit: CommandExit,
    pub output: CapturedOutput,
    /// Where the next command will run.
    pub cwd: PathBuf,
    pub took: Duration,
    /// The directory that was requested and no longer exists.
    pub lost: Option<PathBuf>,
}

impl CommandExit {
    /// Converts the exit status of a process that ended by itself.
    pub(super) fn from_status(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Code(-1),
        }
    }

    /// Returns a short text for the screen: `exit 1`, `SIGKILL`, `cancelled`; `None` for a success.
    pub fn describe(self) -> Option<String> {
        match self {
            Self::Code(0) => None,
            Self::Code(code) => Some(format!("exit {code}")),
            Self::Signal(number) => Some(signal_name(number)),
            Self::Cancelled => Some("cancelled".to_owned()),
            Self::TimedOut(limit) => Some(format!("timeout after {limit:?}")),
        }
    }
}

impl ShellOutcome {
    /// Returns the text for the model: the output and, unless it succeeded, how it ended.
    pub fn report(&self) -> String {
        let mut report = self.output.text.trim_end().to_owned();
        let mut add = |line: String| {
            if !report.is_empty() {
                report.push('\n');
            }
            report.push_str(&line);
        };
        match self.exit {
            CommandExit::Code(0) if self.output.text.trim().is_empty() => {
                add("(no output)".to_owned());
            }
            CommandExit::Code(0) => {}
            CommandExit::Code(code) => add(format!("exit code {code}")),
            CommandExit::Signal(number) => add(format!("killed by {}", signal_name(number))),
            CommandExit::Cancelled => {
                add(format!("[cancelled after {:.1} s, all its processes ended]", self.seconds()));
            }
            CommandExit::TimedOut(limit) => {
                add(format!("[timed out after {}, all its processes ended]", seconds(limit)));
            }
        }
        if let Some(lost) = &self.lost {
            add(format!("[{} is gone; this ran in the base directory]", lost.display()));
        }
        report
    }

    fn seconds(&self) -> f64 {
        self.took.as_secs_f64()
    }
}

fn signal_name(number: i32) -> String {
    Signal::try_from(number)
        .map_or_else(|_| format!("signal {number}"), |signal| signal.as_str().to_owned())
}

/// The error when a command could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    #[error("The directory {} is gone. Create it again, or start elsewhere.", .0.display())]
    NoDirectory(PathBuf),
    #[error("Cannot start in {}: {source}.", path.display())]
    Directory { path: PathBuf, source: io::Error },
    #[error(
        "Cannot start the shell: {0}. Check that /bin/sh exists and the command is shorter than 128 KB."
    )]
    Spawn(io::Error),
    #[error("Lost track of the shell: {0}. Its processes were killed.")]
    Wait(io::Error),
}
