//! All hooks of a session, and what they need to run.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::output::HookOutput;
use super::run::{HookEnv, HookRun};
use crate::config::{HookConfig, Matcher};
use crate::exec::StartDirs;
use crate::protocol::{EnvOverlay, HookEvent, Redactor, SharedPeer, StartDir};

/// The message for a hook that is killed when the program exits.
const KILLED_AT_EXIT: &str = "still running at exit; killed";

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
            HookRunner::Command(command) => super::answer::first_line(&command.line),
            HookRunner::Callback { id, .. } => id.clone(),
        };
        match self.matcher.as_str() {
            "" => format!("hook {event}: {what}"),
            matcher => format!("hook {event}({matcher}): {what}"),
        }
    }
}

/// The parameters of a [`HookSet`].
#[derive(Clone, Debug)]
pub struct HookSettings {
    pub hooks: Vec<HookConfig>,
    /// Prepares the folders that commands start in.
    pub starts: StartDirs,
    /// The session's variables; commands get them without the keys of providers.
    pub env: EnvOverlay,
    /// Names of further variables that commands must not see.
    pub secrets: Vec<String>,
    /// Masks keys in messages about hooks.
    pub redactor: Redactor,
}

/// The hooks of a session. Clones are the same set.
#[derive(Clone, Default)]
pub struct HookSet(Arc<HookSetShared>);

#[derive(Default)]
struct HookSetShared {
    hooks: Mutex<HookLists>,
    env: Arc<HookEnv>,
    /// Hooks that run asynchronously.
    tasks: TaskTracker,
    /// Kills them.
    stop: CancellationToken,
}

#[derive(Default)]
struct HookLists {
    configured: Vec<Arc<Hook>>,
    /// Registered by the driving program.
    registered: Vec<Arc<Hook>>,
}

impl HookSet {
    /// Creates a set of the configured hooks. Runs nothing and reads no file.
    pub fn new(settings: HookSettings) -> Self {
        let HookSettings { hooks, starts, env, secrets, redactor } = settings;
        let env = HookEnv { env, secrets, starts, redactor };
        let configured = hooks.iter().map(Hook::command).map(Arc::new).collect();
        Self(Arc::new(HookSetShared {
            hooks: Mutex::new(HookLists { configured, registered: Vec::new() }),
            env: Arc::new(env),
            ..HookSetShared::default()
        }))
    }

    /// Adds hooks of the driving program.
    pub fn register(&self, hooks: Vec<Hook>) {
        self.lock().registered.extend(hooks.into_iter().map(Arc::new));
    }

    /// Waits up to `limit` for asynchronous hooks, then kills those that still run, with all their processes.
    pub async fn finish(&self, limit: Duration) {
        if !self.settle(limit).await {
            self.0.stop.cancel();
            self.0.tasks.wait().await;
        }
    }

    /// Waits up to `limit` for asynchronous hooks. Returns whether all of them have ended.
    pub async fn settle(&self, limit: Duration) -> bool {
        // More may still be spawned: `wait` just requires a closed tracker.
        self.0.tasks.close();
        tokio::time::timeout(limit, self.0.tasks.wait()).await.is_ok()
    }

    pub(super) fn has_hooks_for(&self, event: HookEvent) -> bool {
        self.lock().all().any(|hook| hook.event == event)
    }

    pub(super) fn hooks_for(&self, event: HookEvent) -> Vec<Arc<Hook>> {
        self.lock().all().filter(|hook| hook.event == event).cloned().collect()
    }

    pub(super) fn env(&self) -> Arc<HookEnv> {
        self.0.env.clone()
    }

    /// Spawns a batch of hooks, which run to completion even if the receiver is dropped.
    pub(super) fn spawn(
        &self,
        run: HookRun,
        before: Option<oneshot::Receiver<HookOutput>>,
    ) -> oneshot::Receiver<HookOutput> {
        let stop = self.0.stop.clone();
        let (sender, output) = oneshot::channel();
        self.0.tasks.spawn(async move {
            if let Some(before) = before {
                // A dropped sender also means that they are done.
                let _ = before.await;
            }
            // The receiver may be gone.
            let _ = sender.send(run.run(&stop, Some(KILLED_AT_EXIT)).await);
        });
        output
    }

    fn lock(&self) -> MutexGuard<'_, HookLists> {
        self.0.hooks.lock()
    }
}

impl HookLists {
    fn all(&self) -> impl Iterator<Item = &Arc<Hook>> {
        self.configured.iter().chain(&self.registered)
    }
}
