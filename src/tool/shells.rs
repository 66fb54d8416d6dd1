//! The commands in the background of a session: who owns which, and under what name.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use futures_util::future::join_all;

use crate::exec::{BackgroundShell, ExecError, ShellState};
use crate::protocol::{AgentPath, ShellId};

/// Commands in the background that one agent keeps, ended ones whose output nobody has fetched included.
const LIMIT: usize = 32;

/// Where commands in the background are registered. One per session; an agent sees its own commands only.
#[async_trait]
pub trait ShellRegister: Send + Sync + fmt::Debug {
    /// Starts a command of the agent at `owner` with `start`, which gets its id.
    fn start(
        &self,
        owner: &AgentPath,
        start: StartShell<'_>,
    ) -> Result<(ShellId, Arc<BackgroundShell>), NotStarted>;

    /// The command `id` of this owner; those of others are not there for it.
    fn get(&self, owner: &AgentPath, id: &ShellId) -> Option<Arc<BackgroundShell>>;

    /// The command `id`, whoever owns it: for the person, who sees all of them.
    fn find(&self, id: &ShellId) -> Option<Arc<BackgroundShell>>;

    /// This owner's commands, oldest first.
    fn ids(&self, owner: &AgentPath) -> Vec<ShellId>;

    /// A command of the agent at `owner` has ended: told once, and before that can be seen. Whether
    /// the agent learns of it, and how, is this register's business.
    fn tell_end(&self, _owner: &AgentPath, _id: &ShellId, _command: &str, _end: ShellState) {}

    /// An agent has read how a command ended, and need not be told any more.
    fn end_read(&self, _id: &ShellId) {}

    /// Ends and forgets all commands of the agent at `above` and of those below it, and waits until
    /// they are gone.
    async fn end_all(&self, above: &AgentPath);
}

/// Starts a command whose id is known already.
pub type StartShell<'a> = Box<dyn FnOnce(&ShellId) -> Result<BackgroundShell, ExecError> + 'a>;

/// Why a command was not started in the background.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    #[error("{limit} commands run in the background, and more must not: end one with KillShell.")]
    LimitReached { limit: usize },
    #[error(transparent)]
    Exec(#[from] ExecError),
}

/// A plain register. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Shells(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// How many there have been.
    count: u32,
    /// In the order of their ids.
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
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
    ) -> Result<(ShellId, Arc<BackgroundShell>), NotStarted> {
        let id = self.lock().reserve(owner)?;
        // Starting a process may take its time: nobody else waits for it.
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
        state.of(owner).find(|entry| entry.id == *id)?.shell.clone()
    }

    fn find(&self, id: &ShellId) -> Option<Arc<BackgroundShell>> {
        self.lock().entries.iter().find(|entry| entry.id == *id)?.shell.clone()
    }

    fn ids(&self, owner: &AgentPath) -> Vec<ShellId> {
        self.lock().of(owner).map(|entry| entry.id.clone()).collect()
    }

    async fn end_all(&self, above: &AgentPath) {
        let shells: Vec<_> = {
            let state = self.lock();
            let below = state.entries.iter().filter(|entry| entry.owner.is_within(above));
            below.filter_map(|entry| entry.shell.clone()).collect()
        };
        join_all(shells.iter().map(|shell| shell.kill())).await;
        // Only now: who asks for the same meanwhile shall wait as well.
        let ended = |entry: &Entry| {
            let is =
                |shell: &Arc<BackgroundShell>| shells.iter().any(|ended| Arc::ptr_eq(ended, shell));
            entry.shell.as_ref().is_some_and(is)
        };
        self.lock().entries.retain(|entry| !ended(entry));
    }
}

impl Shells {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Makes room, at the cost of the oldest that has ended, and takes it.
    fn reserve(&mut self, owner: &AgentPath) -> Result<ShellId, NotStarted> {
        if self.of(owner).count() >= LIMIT {
            let mut all = self.entries.iter();
            let ended = all.position(|entry| entry.owner == *owner && entry.has_ended());
            self.entries.remove(ended.ok_or(NotStarted::LimitReached { limit: LIMIT })?);
        }
        self.count += 1;
        let id = ShellId::numbered(self.count);
        self.entries.push(Entry { id: id.clone(), owner: owner.clone(), shell: None });
        Ok(id)
    }

    fn of(&self, owner: &AgentPath) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.owner == *owner)
    }
}

impl Entry {
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
    ) -> Result<(ShellId, Arc<BackgroundShell>), NotStarted> {
        let shell = Shell::new(Path::new("/").into(), Arc::from([]));
        let env = EnvOverlay::from_iter([("PATH", "/usr/bin:/bin")]);
        let cancel = CancellationToken::new();
        let call =
            ShellCall { line, env: &env, depth: 0, limit: None, cancel: &cancel, read_only: None };
        shells.start(owner, Box::new(|_| shell.start(Path::new("/"), call, |_| {})))
    }

    #[tokio::test]
    async fn a_full_register_forgets_the_oldest_that_has_ended_and_refuses_when_all_run() {
        let (shells, root) = (Shells::default(), AgentPath::root());
        let (first, running) = start(&shells, &root, "exec sleep 1000").unwrap();
        let (second, short) = start(&shells, &root, "true").unwrap();
        for _ in 2..LIMIT {
            start(&shells, &root, "exec sleep 1000").unwrap();
        }
        short.wait_end().await;
        let (new, _) = start(&shells, &root, "exec sleep 1000").unwrap();
        let ids = shells.ids(&root);
        assert_eq!((ids.len(), &ids[0], ids.last()), (LIMIT, &first, Some(&new)));
        assert!(!ids.contains(&second));
        let refused = start(&shells, &root, "exec sleep 1000").unwrap_err();
        assert!(matches!(refused, NotStarted::LimitReached { limit: LIMIT }));
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
        assert!(matches!(error, NotStarted::Exec(ExecError::Spawn(_))), "{error:?}");
        assert_eq!(shells.ids(&root), Vec::new());
    }
}
