//! All hooks of a session, and what it takes to run them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::run::{Place, Round};
use super::said::Said;
use crate::config::{HookConfig, Matcher};
use crate::exec::StartDirs;
use crate::protocol::{EnvOverlay, HookEvent, Redactor, SharedPeer, StartDir};

/// What the person is told of a hook that is ended with the program.
const ENDED: &str = "it was still at it when the program ended, and was ended too";

/// How long a callback may take when nothing else is said.
const TIMEOUT: Duration = Duration::from_secs(60);

/// One hook.
pub struct Hook {
    pub event: HookEvent,
    matcher: Matcher,
    pub(super) timeout: Duration,
    /// Nobody waits for it.
    pub(super) unheard: bool,
    pub(super) runner: Runner,
}

/// What a hook is run by.
pub(super) enum Runner {
    Command(Command),
    /// A callback of the driving program.
    Callback {
        id: String,
        peer: SharedPeer,
    },
}

/// A line for bash, and where it starts.
pub(super) struct Command {
    pub line: String,
    pub start: StartDir,
    /// Whether its entry says `cwd = "project"`.
    asks_project: bool,
}

impl Command {
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
    /// A configured command.
    #[must_use]
    pub fn command(config: &HookConfig) -> Self {
        Self {
            event: config.event,
            matcher: config.matcher.clone(),
            timeout: config.timeout,
            unheard: config.unheard,
            runner: Runner::Command(Command {
                line: config.command.clone(),
                start: config.start.clone(),
                asks_project: config.asks_project,
            }),
        }
    }

    /// A callback of the driving program, which knows it by `id`. The error says what is wrong with
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
        let timeout = timeout.unwrap_or(TIMEOUT);
        let runner = Runner::Callback { id, peer };
        Ok(Self { event, matcher, timeout, unheard: false, runner })
    }

    /// Whether it is for something with these names; `None` is for every hook.
    pub(super) fn matches(&self, names: &Option<Vec<&str>>) -> bool {
        names.as_ref().is_none_or(|names| self.matcher.matches(names))
    }

    /// Whether running one of the two is enough: the same line in the same place, whichever file it
    /// comes from.
    pub(super) fn does_the_same(&self, other: &Self) -> bool {
        match (&self.runner, &other.runner) {
            (Runner::Command(one), Runner::Command(other)) => {
                (&one.line, &one.start) == (&other.line, &other.start)
            }
            (Runner::Callback { id: one, .. }, Runner::Callback { id: other, .. }) => one == other,
            _ => false,
        }
    }

    /// What the person knows it by: `hook PreToolUse(Bash): ./lint.sh`.
    pub(super) fn describe(&self) -> String {
        let event = self.event.name();
        let what = match &self.runner {
            Runner::Command(command) => super::answer::first_line(&command.line),
            Runner::Callback { id, .. } => id.clone(),
        };
        match self.matcher.as_str() {
            "" => format!("hook {event}: {what}"),
            matcher => format!("hook {event}({matcher}): {what}"),
        }
    }
}

/// What hooks are made from.
#[derive(Clone, Debug)]
pub struct HookSettings {
    pub hooks: Vec<HookConfig>,
    /// Prepares the folders that commands start in.
    pub starts: StartDirs,
    /// The session's variables; commands get them without the keys of providers.
    pub env: EnvOverlay,
    /// Names of further variables that commands must not see.
    pub secrets: Vec<String>,
    /// Keeps keys out of what is told of a hook.
    pub redactor: Redactor,
}

/// The hooks of a session. Clones are the same set.
#[derive(Clone, Default)]
pub struct HookSet(Arc<Shared>);

#[derive(Default)]
struct Shared {
    hooks: Mutex<Lists>,
    place: Arc<Place>,
    /// What runs and nobody waits for.
    tasks: TaskTracker,
    /// Fires when that is to end.
    stop: CancellationToken,
}

#[derive(Default)]
struct Lists {
    configured: Vec<Arc<Hook>>,
    /// By the driving program.
    registered: Vec<Arc<Hook>>,
}

impl HookSet {
    /// A set of the configured hooks. Runs nothing and reads no file.
    #[must_use]
    pub fn new(settings: HookSettings) -> Self {
        let HookSettings { hooks, starts, env, secrets, redactor } = settings;
        let place = Place { env, secrets, starts, redactor };
        let configured = hooks.iter().map(Hook::command).map(Arc::new).collect();
        Self(Arc::new(Shared {
            hooks: Mutex::new(Lists { configured, registered: Vec::new() }),
            place: Arc::new(place),
            ..Shared::default()
        }))
    }

    /// Adds hooks of the driving program.
    pub fn register(&self, hooks: Vec<Hook>) {
        self.lock().registered.extend(hooks.into_iter().map(Arc::new));
    }

    /// Waits for what nobody else waits for, at most this long; what still runs then is ended, with
    /// all its processes.
    pub async fn finish(&self, limit: Duration) {
        if !self.settle(limit).await {
            self.0.stop.cancel();
            self.0.tasks.wait().await;
        }
    }

    /// Waits for what nobody else waits for, at most this long. Says whether all of it has come to its end.
    pub async fn settle(&self, limit: Duration) -> bool {
        // Others may still come: closed only means that they can be waited for.
        self.0.tasks.close();
        tokio::time::timeout(limit, self.0.tasks.wait()).await.is_ok()
    }

    pub(super) fn listens(&self, event: HookEvent) -> bool {
        self.lock().all().any(|hook| hook.event == event)
    }

    pub(super) fn hooks_for(&self, event: HookEvent) -> Vec<Arc<Hook>> {
        self.lock().all().filter(|hook| hook.event == event).cloned().collect()
    }

    pub(super) fn place(&self) -> Arc<Place> {
        self.0.place.clone()
    }

    /// Runs a round to its end, whether anybody waits for it or not.
    pub(super) fn go_on_with(
        &self,
        round: Round,
        before: Option<oneshot::Receiver<Said>>,
    ) -> oneshot::Receiver<Said> {
        let stop = self.0.stop.clone();
        let (answer, heard) = oneshot::channel();
        self.0.tasks.spawn(async move {
            if let Some(before) = before {
                // It has been heard also when there was nothing to hear.
                let _ = before.await;
            }
            // Nobody may want to know.
            let _ = answer.send(round.run(&stop, Some(ENDED)).await);
        });
        heard
    }

    fn lock(&self) -> MutexGuard<'_, Lists> {
        self.0.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lists {
    fn all(&self) -> impl Iterator<Item = &Arc<Hook>> {
        self.configured.iter().chain(&self.registered)
    }
}
