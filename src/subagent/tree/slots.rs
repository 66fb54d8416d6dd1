//! The limits: who may run now, who waits for a slot, and how a waiting parent gives its slot away.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::AgentTree;
use super::entry::Phase;
use super::state::State;
use crate::agent::Respite;
use crate::protocol::{AgentId, AgentPath, EventSink};

/// A limit that a sub-agent may not exceed by waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{limit}` is {value}, and {count} {}", self.hint())]
pub struct OverLimit {
    /// The key of the configuration.
    pub limit: &'static str,
    pub value: usize,
    pub count: usize,
}

/// One agent that wants a slot.
#[derive(Debug)]
pub(super) struct Waiting {
    pub id: AgentId,
    pub events: EventSink,
    pub start: Arc<Notify>,
    /// What it was told last.
    pub place: usize,
    /// It had a slot already and lent it: it goes first, and is not shown as queued.
    pub returns: bool,
}

impl OverLimit {
    fn hint(&self) -> &'static str {
        match self.limit {
            EVER => "were started: no more can be. Do the work yourself.",
            _ => "are there: wait for one to end, or cancel one.",
        }
    }
}

/// The limit that no end of an agent makes room under.
pub(super) const EVER: &str = "max_children_total";

impl State {
    /// Takes an agent out of the line for the slot that it had lent: it waits for others again. The
    /// last of these waits stands in line anew.
    fn withdraw_return(&mut self, id: AgentId) {
        self.waiting.retain(|waiting| {
            let its_own = waiting.returns && waiting.id == id;
            if its_own {
                waiting.start.notify_one();
            }
            !its_own
        });
    }

    /// Counts one more child of `path`'s parent, unless there have been too many.
    pub fn count_child(&mut self, path: &AgentPath) -> Result<(), OverLimit> {
        let Some(parent) = path.parent() else { return Ok(()) };
        let count = self.started.entry(parent).or_default();
        if let Some(value) = self.slots.children_ever.filter(|most| *count >= *most) {
            return Err(OverLimit { limit: EVER, value, count: *count });
        }
        *count += 1;
        Ok(())
    }

    /// Whether one more child at `path` may run at once.
    pub fn room_for(&self, path: &AgentPath) -> Result<(), OverLimit> {
        let live = self.entries.values().filter(|entry| !entry.status().is_final());
        let siblings = live.clone().filter(|entry| entry.path.parent() == path.parent()).count();
        if siblings >= self.slots.children {
            let value = self.slots.children;
            return Err(OverLimit { limit: "max_children_per_agent", value, count: siblings });
        }
        // Those who wait stand in nobody's way: a slot that they could use is theirs already.
        let running = self.running();
        if running >= self.slots.concurrent {
            let value = self.slots.concurrent;
            return Err(OverLimit { limit: "max_concurrent_agents", value, count: running });
        }
        Ok(())
    }

    /// Gives free slots to those who wait, in order, and tells the others their places.
    pub fn hand_out(&mut self) {
        let mut taken = self.taken();
        for waiting in std::mem::take(&mut self.waiting) {
            let entry = self.entries.get_mut(&waiting.id);
            let parent = waiting.events.path().parent();
            let itself = entry.as_ref().is_some_and(|entry| entry.is_at_work());
            let siblings = taken.siblings(&parent).saturating_sub(usize::from(itself));
            if taken.slots >= self.slots.concurrent || siblings >= self.slots.children {
                self.waiting.push_back(waiting);
                continue;
            }
            if let Some(entry) = entry {
                taken.slots += usize::from(!entry.has_slot);
                entry.has_slot = true;
                entry.phase = Phase::Running;
                let count = taken.at_work.entry(parent).or_default();
                *count = siblings + usize::from(entry.is_at_work());
            }
            waiting.start.notify_one();
        }
        self.tell_places();
    }

    fn running(&self) -> usize {
        self.entries.values().filter(|entry| entry.has_slot).count()
    }

    fn taken(&self) -> Taken {
        let mut at_work: HashMap<_, usize> = HashMap::new();
        for entry in self.entries.values().filter(|entry| entry.is_at_work()) {
            *at_work.entry(entry.path.parent()).or_default() += 1;
        }
        Taken { slots: self.running(), at_work }
    }
}

/// What is taken of the slots, counted once for all who wait.
struct Taken {
    slots: usize,
    /// How many children of each agent work.
    at_work: HashMap<Option<AgentPath>, usize>,
}

impl Taken {
    fn siblings(&self, parent: &Option<AgentPath>) -> usize {
        self.at_work.get(parent).copied().unwrap_or_default()
    }
}

/// The slot of an agent that waits for others. Main has none, and lends nothing.
#[derive(Debug)]
pub struct Lent {
    tree: AgentTree,
    id: Option<AgentId>,
}

impl Lent {
    pub(super) fn new(tree: &AgentTree, path: &AgentPath) -> Self {
        let id = path.id();
        if let Some(id) = id {
            let mut state = tree.lock();
            if let Some(entry) = state.entries.get_mut(&id) {
                entry.waits += 1;
                entry.has_slot = false;
                state.withdraw_return(id);
                state.hand_out();
            }
        }
        Self { tree: tree.clone(), id }
    }

    /// Takes the slot back when the last wait is over; waits for a free one if need be.
    pub async fn take_back(mut self, events: &EventSink, cancel: &CancellationToken) {
        let Some(id) = self.id.take() else { return };
        let started = {
            let mut state = self.tree.lock();
            let Some(entry) = state.entries.get_mut(&id) else { return };
            entry.waits = entry.waits.saturating_sub(1);
            if entry.waits > 0 || entry.has_slot {
                return;
            }
            let started = Arc::new(Notify::new());
            let (start, events) = (started.clone(), events.clone());
            state.waiting.push_front(Waiting { id, events, start, place: 0, returns: true });
            state.hand_out();
            started
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => {}
            () = started.notified() => {}
        }
    }
}

/// Lends an agent's slot while it waits for its own in the background.
#[derive(Debug)]
pub struct Lender {
    tree: AgentTree,
    events: EventSink,
    lent: Mutex<Option<Lent>>,
}

impl Lender {
    /// For the agent whose events these are.
    #[must_use]
    pub fn new(tree: &AgentTree, events: &EventSink) -> Self {
        Self { tree: tree.clone(), events: events.clone(), lent: Mutex::default() }
    }

    fn lent(&self) -> MutexGuard<'_, Option<Lent>> {
        self.lent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Respite for Lender {
    fn begin(&self) {
        *self.lent() = Some(self.tree.lend(self.events.path()));
    }

    async fn end(&self, cancel: &CancellationToken) {
        let lent = self.lent().take();
        if let Some(lent) = lent {
            lent.take_back(&self.events, cancel).await;
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        // The call was dropped: its agent goes on, or ends, without waiting for its slot.
        let mut state = self.tree.lock();
        if let Some(entry) = state.entries.get_mut(&id) {
            entry.waits = entry.waits.saturating_sub(1);
            entry.has_slot |= entry.waits == 0 && matches!(entry.phase, Phase::Running);
        }
    }
}
