//! How a command ended, and how that is told.

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::output::Captured;
use crate::protocol::event::ShellEnd;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    Cancelled,
    TimedOut(Duration),
}

/// How a command in the background stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellState {
    Running,
    /// By itself, or because its time was over.
    Exited(Exit),
    /// Somebody ended it.
    Killed,
}

impl ShellState {
    /// The end as events tell it; `None` while it runs.
    #[must_use]
    pub fn end(self) -> Option<ShellEnd> {
        match self {
            Self::Running => None,
            Self::Exited(Exit::Code(code)) => Some(ShellEnd::Code { code }),
            Self::Exited(Exit::Signal(number)) => {
                Some(ShellEnd::Signal { name: signal_name(number) })
            }
            Self::Exited(Exit::TimedOut(limit)) => Some(ShellEnd::TimedOut { limit }),
            Self::Exited(Exit::Cancelled) | Self::Killed => Some(ShellEnd::Killed),
        }
    }
}

/// What became of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct ShellOutcome {
    pub exit: Exit,
    pub output: Captured,
    /// Where the next command will run.
    pub cwd: PathBuf,
    pub took: Duration,
    /// The directory that was to be used and is gone.
    pub lost: Option<PathBuf>,
}

impl Exit {
    /// How a process ended by itself.
    pub(super) fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Code(-1),
        }
    }

    /// A few words for the screen: `exit 1`, `SIGKILL`, `cancelled`; nothing for a success.
    #[must_use]
    pub fn words(self) -> Option<String> {
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
    /// The output and, unless all went well, how it ended: what a model reads.
    #[must_use]
    pub fn report(&self) -> String {
        let mut report = self.output.text.trim_end().to_owned();
        let mut add = |line: String| {
            if !report.is_empty() {
                report.push('\n');
            }
            report.push_str(&line);
        };
        match self.exit {
            Exit::Code(0) if self.output.text.trim().is_empty() => add("(no output)".to_owned()),
            Exit::Code(0) => {}
            Exit::Code(code) => add(format!("exit code {code}")),
            Exit::Signal(number) => add(format!("ended by {}", signal_name(number))),
            Exit::Cancelled => {
                add(format!("[cancelled after {:.1} s, all its processes ended]", self.seconds()));
            }
            Exit::TimedOut(limit) => {
                add(format!("[timed out after {limit:?}, all its processes ended]"));
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
