//! One hook: a configured command, or a callback of the driving program.

use std::time::Duration;

use super::answer::first_line;
use crate::config::{HookConfig, Matcher};
use crate::protocol::{HookEvent, SharedPeer, StartDir};

/// The default timeout of a callback.
const CALLBACK_TIMEOUT: Duration = Duration::from_secs(60);

/// One hook.
pub struct Hook {
    pub event: HookEvent,
    matcher: Matcher,
    pub(super) timeout: Duration,
    /// Runs asynchronously: nobody waits for its answer.
    pub(super) is_async: bool,
    pub(super) runner: HookRunner,
}

/// The command or callback behind a hook.
pub(super) enum HookRunner {
    Command(HookCommand),
    /// A callback of the driving program.
    Callback {
        id: String,
        peer: SharedPeer,
    },
}

/// A line for bash, and the folder where it starts.
pub(super) struct HookCommand {
    pub line: String,
    pub start: StartDir,
    /// Whether its entry says `cwd = "project"`.
    asks_project: bool,
}

impl HookCommand {
    /// A hint for a hook that failed in an empty folder.
    pub fn hint(&self) -> Option<&'static str> {
        match (&self.start, self.asks_project) {
            (StartDir::Project(_), _) => None,
            (StartDir::Private, true) => {
                Some(" (it started in an empty folder: `caliban trust` starts it in this project)")
            }
            (StartDir::Private, false) => Some(
                " (it started in an empty folder: add `cwd = \"project\"` to its entry to start it in the project)",
            ),
        }
    }
}

impl Hook {
    /// Creates a hook from a configured command.
    pub fn command(config: &HookConfig) -> Self {
        Self {
            event: config.event,
            matcher: config.matcher.clone(),
            timeout: config.timeout,
            is_async: config.is_async,
            runner: HookRunner::Command(HookCommand {
                line: config.command.clone(),
                start: config.start.clone(),
                asks_project: config.wants_project_cwd,
            }),
        }
    }

    /// Creates a callback that the driving program knows by `id`. The error says what is wrong with
    /// the matcher.
    pub fn callback(
        event: HookEvent,
        matcher: Option<&str>,
        timeout: Option<Duration>,
        id: String,
        peer: SharedPeer,
    ) -> Result<Self, String> {
        let matcher = Matcher::parse(matcher.unwrap_or_default())
            .map_err(|why| format!("`matcher` {why}"))?;
        let timeout = timeout.unwrap_or(CALLBACK_TIMEOUT);
        let runner = HookRunner::Callback { id, peer };
        Ok(Self { event, matcher, timeout, is_async: false, runner })
    }

    /// Whether the hook applies to any of these names; `None` matches every hook.
    pub(super) fn matches(&self, names: &Option<Vec<&str>>) -> bool {
        names.as_ref().is_none_or(|names| self.matcher.matches(names))
    }

    /// Whether two hooks are the same: the same line in the same place, whichever file it comes from.
    pub(super) fn is_duplicate_of(&self, other: &Self) -> bool {
        match (&self.runner, &other.runner) {
            (HookRunner::Command(one), HookRunner::Command(other)) => {
                (&one.line, &one.start) == (&other.line, &other.start)
            }
            (HookRunner::Callback { id: one, .. }, HookRunner::Callback { id: other, .. }) => {
                one == other
            }
            _ => false,
        }
    }

    /// Describes the hook for the user: `hook PreToolUse(Bash): ./lint.sh`.
    pub(super) fn describe(&self) -> String {
        let event = self.event.name();
        let what = match &self.runner {
            HookRunner::Command(command) => first_line(&command.line),
            HookRunner::Callback { id, .. } => id.clone(),
        };
        match self.matcher.as_str() {
            "" => format!("hook {event}: {what}"),
            matcher => format!("hook {event}({matcher}): {what}"),
        }
    }
}
