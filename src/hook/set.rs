//! All hooks of a session, and what they need to run.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::entry::Hook;
use super::output::HookOutput;
use super::run::{HookEnv, HookRun};
use crate::config::HookConfig;
use crate::exec::StartDirs;
use crate::protocol::{EnvOverlay, HookEvent, Redactor};

/// The message for a hook that is killed when the program exits.
const KILLED_AT_EXIT: &str = "still running at exit; killed";

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
