//! The one owner of every sub-agent's life: who exists, who runs, who waits for a slot, and how each is cancelled.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::agent::Inbox;
use crate::protocol::{AgentId, AgentPath, EventKind, EventSink};

/// How many sub-agents may run at the same time. What is over waits, first come first served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// In the whole tree.
    pub concurrent: usize,
    /// Of one parent.
    pub children: usize,
}

/// All living sub-agents of a session. Clones are the same tree.
#[derive(Clone, Debug)]
pub struct AgentTree(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    slots: Slots,
    alive: BTreeMap<AgentId, Alive>,
    /// Those without a slot, in order of arrival.
    waiting: Vec<Waiting>,
    /// How many of each definition there have been, for their names.
    named: HashMap<String, u32>,
}

#[derive(Debug)]
struct Alive {
    path: AgentPath,
    cancel: CancellationToken,
    inbox: Inbox,
    running: bool,
}

#[derive(Debug)]
struct Waiting {
    id: AgentId,
    events: EventSink,
    start: oneshot::Sender<()>,
    /// What it was told last.
    place: usize,
}

impl AgentTree {
    /// A tree without agents.
    #[must_use]
    pub fn new(slots: Slots) -> Self {
        Self(Arc::new(Mutex::new(State {
            slots,
            alive: BTreeMap::new(),
            waiting: Vec::new(),
            named: HashMap::new(),
        })))
    }

    /// A name for the next agent of a definition: `explore-1`, `explore-2`.
    #[must_use]
    pub fn name(&self, definition: &str) -> String {
        let mut state = self.lock();
        let count = state.named.entry(definition.to_owned()).or_default();
        *count += 1;
        format!("{definition}-{count}")
    }

    /// Registers an agent, without a slot yet. It leaves the tree when the membership is dropped.
    #[must_use]
    pub fn join(&self, events: &EventSink, cancel: CancellationToken) -> Membership {
        let id = events.path().id().unwrap_or_else(AgentId::generate);
        let inbox = Inbox::default();
        let path = events.path().clone();
        let alive = Alive { path, cancel: cancel.clone(), inbox: inbox.clone(), running: false };
        self.lock().alive.insert(id, alive);
        Membership { tree: self.clone(), id, events: events.clone(), cancel, inbox }
    }

    /// Cancels an agent and all below it. False when there is none of that id.
    pub fn cancel(&self, id: AgentId) -> bool {
        let state = self.lock();
        let Some(agent) = state.alive.get(&id) else { return false };
        // Those below hang on its token.
        agent.cancel.cancel();
        true
    }

    /// The queue of prompts of the agent at `path`, while it lives.
    #[must_use]
    pub fn inbox(&self, path: &AgentPath) -> Option<Inbox> {
        let state = self.lock();
        state.alive.get(&path.id()?).map(|agent| agent.inbox.clone())
    }

    fn leave(&self, id: AgentId) {
        let mut state = self.lock();
        state.alive.remove(&id);
        state.waiting.retain(|waiting| waiting.id != id);
        state.hand_out();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Gives free slots to those who wait, in order, and tells the others their places.
    fn hand_out(&mut self) {
        let mut still = Vec::with_capacity(self.waiting.len());
        for waiting in std::mem::take(&mut self.waiting) {
            if !self.has_room(&waiting) {
                still.push(waiting);
            } else if let Some(agent) = self.alive.get_mut(&waiting.id) {
                // The receiver may be gone: then its membership is just about to be dropped.
                agent.running = waiting.start.send(()).is_ok();
            }
        }
        for (index, waiting) in still.iter_mut().enumerate() {
            if waiting.place != index + 1 {
                waiting.place = index + 1;
                waiting.events.emit(EventKind::Queued { place: waiting.place });
            }
        }
        self.waiting = still;
    }

    fn has_room(&self, waiting: &Waiting) -> bool {
        let parent = waiting.events.path().parent();
        let running = self.alive.values().filter(|agent| agent.running);
        let siblings = running.clone().filter(|agent| agent.path.parent() == parent).count();
        running.count() < self.slots.concurrent && siblings < self.slots.children
    }
}

/// One agent's place in the tree.
#[derive(Debug)]
pub struct Membership {
    tree: AgentTree,
    id: AgentId,
    events: EventSink,
    cancel: CancellationToken,
    inbox: Inbox,
}

impl Membership {
    /// Waits for a slot. False when it was cancelled before there was one: then it must not start.
    pub async fn slot(&self) -> bool {
        let (start, started) = oneshot::channel();
        {
            let mut state = self.tree.lock();
            state.waiting.push(Waiting {
                id: self.id,
                events: self.events.clone(),
                start,
                place: 0,
            });
            state.hand_out();
        }
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => false,
            result = started => result.is_ok(),
        }
    }

    /// Its queue of prompts.
    #[must_use]
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.tree.leave(self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::EventQueue;

    struct Fixture {
        tree: AgentTree,
        queue: EventQueue,
    }

    impl Fixture {
        fn new(concurrent: usize, children: usize) -> Self {
            let tree = AgentTree::new(Slots { concurrent, children });
            Self { tree, queue: EventQueue::unhurried() }
        }

        fn join(&self) -> Membership {
            let id = AgentId::generate();
            self.tree.join(&self.queue.sink().child(id), CancellationToken::new())
        }
    }

    #[tokio::test]
    async fn over_the_limit_agents_wait_in_order() {
        let fixture = Fixture::new(1, 5);
        let (first, second, third) = (fixture.join(), fixture.join(), fixture.join());
        assert!(first.slot().await);
        let (mut two, mut three) = (Box::pin(second.slot()), Box::pin(third.slot()));
        assert!(futures_util::poll!(&mut two).is_pending());
        assert!(futures_util::poll!(&mut three).is_pending());
        drop(first);
        assert!(two.await);
        assert!(futures_util::poll!(&mut three).is_pending());
    }

    #[tokio::test]
    async fn cancelled_while_waiting_never_starts_and_frees_its_place() {
        let fixture = Fixture::new(1, 5);
        let (first, second, third) = (fixture.join(), fixture.join(), fixture.join());
        assert!(first.slot().await);
        let mut three = Box::pin(third.slot());
        let mut two = Box::pin(second.slot());
        assert!(futures_util::poll!(&mut two).is_pending());
        assert!(futures_util::poll!(&mut three).is_pending());
        fixture.tree.cancel(second.id);
        assert!(!two.await);
        drop((second, first));
        assert!(three.await);
    }

    #[tokio::test]
    async fn one_parent_has_its_own_limit() {
        let fixture = Fixture::new(8, 1);
        let (first, second) = (fixture.join(), fixture.join());
        assert!(first.slot().await);
        assert!(futures_util::poll!(Box::pin(second.slot())).is_pending());
    }
}
