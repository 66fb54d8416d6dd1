//! The background commands of a session: their owners and ids.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::join_all;
use parking_lot::{Mutex, MutexGuard};

use crate::exec::{BackgroundShell, ExecError, ShellState};
use crate::protocol::{AgentPath, ShellId};

/// Maximum background commands of one agent, including ended ones whose output was not read.
const MAX_SHELLS: usize = 32;

/// A register of background commands. One per session; an agent sees only its own commands.
#[async_trait]
pub trait ShellRegister: Send + Sync + fmt::Debug {
    /// Starts a command of the agent at `owner` with `start`, which gets its id.
    fn start(
        &self,
        owner: &AgentPath,
        start: StartShell<'_>,
    ) -> Result<(ShellId, Arc<BackgroundShell>), ShellStartError>;

    /// Returns the command `id` of this owner; it cannot see those of others.
    fn get(&self, owner: &AgentPath, id: &ShellId) -> Option<Arc<BackgroundShell>>;

    /// Returns the command `id` of any owner: for the user, who sees all of them.
    fn find(&self, id: &ShellId) -> Option<Arc<BackgroundShell>>;

    /// Returns this owner's commands, oldest first.
    fn ids(&self, owner: &AgentPath) -> Vec<ShellId>;

    /// Reports that a command of the agent at `owner` has ended: once, before the end can be seen.
    /// The register decides whether and how the agent is notified.
    fn notify_end(&self, _owner: &AgentPath, _id: &ShellId, _command: &str, _end: ShellState) {}

    /// Records that the agent has read how a command ended, so that it needs no notification.
    fn mark_end_read(&self, _id: &ShellId) {}

    /// Kills and forgets all commands of the agent at `above` and of those below it, and waits until they are gone.
    async fn end_all(&self, above: &AgentPath);
}

/// Starts a command whose id is already known.
pub type StartShell<'a> = Box<dyn FnOnce(&ShellId) -> Result<BackgroundShell, ExecError> + 'a>;

/// Why a command was not started in the background.
#[derive(Debug, thiserror::Error)]
pub enum ShellStartError {
    #[error(
        "{limit} background commands are running, which is the limit: stop one with KillShell."
    )]
    LimitReached { limit: usize },
    #[error(transparent)]
    Exec(#[from] ExecError),
}

/// The standard register. Clones share state.
#[derive(Clone, Debug, Default)]
pub struct Shells(Arc<Mutex<ShellsState>>);

#[derive(Debug, Default)]
struct ShellsState {
    /// Number of commands so far.
    count: u32,
    /// In the order of their ids.
    entries: Vec<ShellEntry>,
}

#[derive(Debug)]
struct ShellEntry {
    id: ShellId,
    owner: AgentPath,
    /// `None` while it is being started.
    shell: Option<Arc<BackgroundShell>>,
}

#[async_trait]
impl ShellRegister for Shells {
    fn start(
        &self,
        owner: &AgentPath,
        start: StartShell<'_>,
    ) -> Result<(ShellId, Arc<BackgroundShell>), ShellStartError> {
        let id = self.lock().reserve(owner)?;
        // Starting a process may take time: don't hold the lock.
        let started = start(&id).map(Arc::new);
        let mut state = self.lock();
        match started {
            Ok(shell) => {
                if let Some(entry) = state.entries.iter_mut().find(|entry| entry.id == id) {
                    entry.shell = Some(shell.clone());
                }
                Ok((id, shell))
            }
            Err(error) => {
                state.entries.retain(|entry| entry.id != id);
                Err(error.into())
            }
        }
    }

    fn get(&self, owner: &AgentPath, id: &ShellId) -> Option<Arc<BackgroundShell>> {
        let state = self.lock();
        state.owned_by(owner).find(|entry| entry.id == *id)?.shell.clone()
    }

    fn find(&self, id: &ShellId) -> Option<Arc<BackgroundShell>> {
        self.lock().entries.iter().find(|entry| entry.id == *id)?.shell.clone()
    }

    fn ids(&self, owner: &AgentPath) -> Vec<ShellId> {
        self.lock().owned_by(owner).map(|entry| entry.id.clone()).collect()
    }

    async fn end_all(&self, above: &AgentPath) {
        let shells: Vec<_> = {
            let state = self.lock();
            let below = state.entries.iter().filter(|entry| entry.owner.is_within(above));
            below.filter_map(|entry| entry.shell.clone()).collect()
        };
        join_all(shells.iter().map(|shell| shell.kill())).await;
        // Only now: concurrent callers must wait as well.
        let ended = |entry: &ShellEntry| {
            let is =
                |shell: &Arc<BackgroundShell>| shells.iter().any(|ended| Arc::ptr_eq(ended, shell));
            entry.shell.as_ref().is_some_and(is)
        };
        self.lock().entries.retain(|entry| !ended(entry));
    }
}

impl Shells {
    /// Continues the numbers of a session in which commands have had numbers up to `last`.
    pub fn continue_numbers(&self, last: u32) {
        let mut state = self.lock();
        state.count = state.count.max(last);
    }

    fn lock(&self) -> MutexGuard<'_, ShellsState> {
        self.0.lock()
    }
}

impl ShellsState {
    /// Reserves an id; at the limit, drops the oldest command that has ended.
    fn reserve(&mut self, owner: &AgentPath) -> Result<ShellId, ShellStartError> {
        if self.owned_by(owner).count() >= MAX_SHELLS {
            let mut all = self.entries.iter();
            let ended = all.position(|entry| entry.owner == *owner && entry.has_ended());
            self.entries.remove(ended.ok_or(ShellStartError::LimitReached { limit: MAX_SHELLS })?);
        }
        self.count += 1;
        let id = ShellId::from_number(self.count);
        self.entries.push(ShellEntry { id: id.clone(), owner: owner.clone(), shell: None });
        Ok(id)
    }

    fn owned_by(&self, owner: &AgentPath) -> impl Iterator<Item = &ShellEntry> {
        self.entries.iter().filter(move |entry| entry.owner == *owner)
    }
}

impl ShellEntry {
    fn has_ended(&self) -> bool {
        self.shell.as_ref().is_some_and(|shell| shell.state() != ShellState::Running)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::exec::{Shell, ShellCall};
    use crate::protocol::{AgentId, EnvOverlay};

    /// Starts `line` for `owner`.
    fn start(
        shells: &Shells,
        owner: &AgentPath,
        line: &str,
    ) -> Result<(ShellId, Arc<BackgroundShell>), ShellStartError> {
        let shell = Shell::new(Path::new("/").into(), Arc::from([]));
        let env = EnvOverlay::from_iter([("PATH", "/usr/bin:/bin")]);
        let cancel = CancellationToken::new();
        let call =
            ShellCall { line, env: &env, depth: 0, limit: None, cancel: &cancel, read_only: None };
        shells.start(owner, Box::new(|_| shell.start(Path::new("/"), call, |_, _| {})))
    }

    #[tokio::test]
    async fn a_full_register_forgets_the_oldest_that_has_ended_and_refuses_when_all_run() {
        let (shells, root) = (Shells::default(), AgentPath::root());
        let (first, running) = start(&shells, &root, "exec sleep 1000").unwrap();
        let (second, short) = start(&shells, &root, "true").unwrap();
        for _ in 2..MAX_SHELLS {
            start(&shells, &root, "exec sleep 1000").unwrap();
        }
        short.wait_end().await;
        let (new, _) = start(&shells, &root, "exec sleep 1000").unwrap();
        let ids = shells.ids(&root);
        assert_eq!((ids.len(), &ids[0], ids.last()), (MAX_SHELLS, &first, Some(&new)));
        assert!(!ids.contains(&second));
        let refused = start(&shells, &root, "exec sleep 1000").unwrap_err();
        assert!(matches!(refused, ShellStartError::LimitReached { limit: MAX_SHELLS }));
        shells.end_all(&root).await;
        assert_eq!((shells.ids(&root), running.state()), (Vec::new(), ShellState::Killed));
    }

    #[tokio::test]
    async fn the_end_of_an_agent_ends_its_own_and_those_below_alone() {
        let (shells, root) = (Shells::default(), AgentPath::root());
        let child = root.child(AgentId::generate());
        let (_, above) = start(&shells, &root, "exec sleep 1000").unwrap();
        let (id, own) = start(&shells, &child, "exec sleep 1000").unwrap();
        let grandchild = child.child(AgentId::generate());
        let (_, below) = start(&shells, &grandchild, "exec sleep 1000").unwrap();
        assert!(shells.get(&root, &id).is_none() && shells.get(&child, &id).is_some());
        shells.end_all(&child).await;
        let states = [above.state(), own.state(), below.state()];
        assert_eq!(states, [ShellState::Running, ShellState::Killed, ShellState::Killed]);
    }

    #[tokio::test]
    async fn a_command_that_cannot_start_takes_no_place() {
        let (shells, root) = (Shells::default(), AgentPath::root());
        let error = start(&shells, &root, &"x".repeat(200_000)).unwrap_err();
        assert!(matches!(error, ShellStartError::Exec(ExecError::Spawn(_))), "{error:?}");
        assert_eq!(shells.ids(&root), Vec::new());
    }
}
