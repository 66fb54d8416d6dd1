//! The limits: which agents may run now, which wait for a slot, and how a waiting parent releases
//! its slot.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::agent_tree::AgentTree;
use super::entry::{AgentEntry, AgentPhase, QueuedAgent};
use super::limits::{CHILDREN_TOTAL_KEY, LimitError};
use super::state::TreeState;
use crate::agent::RunSlot;
use crate::protocol::{AgentId, AgentPath, EventSink};

impl TreeState {
    /// Removes an agent from the queue for the slot that it released: it waits for others again.
    /// The last of these waits queues it anew.
    fn withdraw_reacquire(&mut self, id: AgentId) {
        self.waiting.retain(|waiting| {
            let its_own = waiting.is_reacquiring && waiting.id == id;
            if its_own {
                waiting.start.notify_one();
            }
            !its_own
        });
    }

    /// Counts one more child of `path`'s parent, unless the limit is reached.
    pub fn count_child(&mut self, path: &AgentPath) -> Result<(), LimitError> {
        let Some(parent) = path.parent() else { return Ok(()) };
        let count = self.children_started.entry(parent).or_default();
        if let Some(value) = self.slots.children_total.filter(|most| *count >= *most) {
            return Err(LimitError { limit: CHILDREN_TOTAL_KEY, value, count: *count });
        }
        *count += 1;
        Ok(())
    }

    /// Whether one more child at `path` may run at once.
    pub fn check_room(&self, path: &AgentPath) -> Result<(), LimitError> {
        let live = self.entries.values().filter(|entry| !entry.status().is_final());
        let siblings = live.clone().filter(|entry| entry.path.parent() == path.parent()).count();
        if siblings >= self.slots.children {
            let value = self.slots.children;
            return Err(LimitError { limit: "max_children_per_agent", value, count: siblings });
        }
        // Queued agents block nothing: a slot that they could use is theirs already.
        let running = self.running();
        if running >= self.slots.concurrent {
            let value = self.slots.concurrent;
            return Err(LimitError { limit: "max_concurrent_agents", value, count: running });
        }
        Ok(())
    }

    /// Gives free slots to queued agents in order, and notifies the others of their positions.
    pub fn grant_slots(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let mut taken = SlotUsage { slots: self.running(), at_work: HashMap::new() };
        for waiting in std::mem::take(&mut self.waiting) {
            let parent = waiting.events.path().parent();
            let at_work = taken.at_work.get(&parent).copied();
            let at_work = at_work.unwrap_or_else(|| self.children_at_work(parent.as_ref()));
            let entry = self.entries.get_mut(&waiting.id);
            let itself = entry.as_ref().is_some_and(|entry| entry.is_at_work());
            let siblings = at_work.saturating_sub(usize::from(itself));
            if taken.slots >= self.slots.concurrent || siblings >= self.slots.children {
                self.waiting.push_back(waiting);
                continue;
            }
            if let Some(entry) = entry {
                taken.slots += usize::from(!entry.has_slot);
                entry.has_slot = true;
                entry.phase = AgentPhase::Running;
                taken.at_work.insert(parent, siblings + usize::from(entry.is_at_work()));
            }
            waiting.start.notify_one();
        }
        self.emit_positions();
    }

    fn running(&self) -> usize {
        self.entries.values().filter(|entry| entry.has_slot).count()
    }

    /// Counts the running children of an agent; without one, main itself.
    fn children_at_work(&self, parent: Option<&AgentPath>) -> usize {
        let is_child = |entry: &&AgentEntry| match parent {
            Some(parent) => entry.path.is_child_of(parent),
            None => entry.path.is_root(),
        };
        self.entries.values().filter(is_child).filter(|entry| entry.is_at_work()).count()
    }
}

/// The slots in use, counted once for all queued agents.
struct SlotUsage {
    slots: usize,
    /// The number of running children of each agent that was asked about.
    at_work: HashMap<Option<AgentPath>, usize>,
}

/// The released slot of an agent that waits for others. Main has none.
#[derive(Debug)]
pub struct SlotYield {
    tree: AgentTree,
    id: Option<AgentId>,
}

impl AgentTree {
    /// Releases the slot of an agent that is about to wait for others, so that they can have it.
    pub fn release_slot(&self, path: &AgentPath) -> SlotYield {
        SlotYield::new(self, path)
    }
}

impl SlotYield {
    fn new(tree: &AgentTree, path: &AgentPath) -> Self {
        let id = path.id();
        if let Some(id) = id {
            let mut state = tree.lock();
            if let Some(entry) = state.entries.get_mut(&id) {
                entry.waiting_calls += 1;
                entry.has_slot = false;
                state.withdraw_reacquire(id);
                state.grant_slots();
            }
        }
        Self { tree: tree.clone(), id }
    }

    /// Reacquires the slot when the last wait is over; waits for a free one if necessary.
    pub async fn reacquire(mut self, events: &EventSink, cancel: &CancellationToken) {
        let Some(id) = self.id.take() else { return };
        let started = {
            let mut state = self.tree.lock();
            let Some(entry) = state.entries.get_mut(&id) else { return };
            entry.waiting_calls = entry.waiting_calls.saturating_sub(1);
            if entry.waiting_calls > 0 || entry.has_slot {
                return;
            }
            let started = Arc::new(Notify::new());
            let (start, events) = (started.clone(), events.clone());
            state.waiting.push_front(QueuedAgent {
                id,
                events,
                start,
                position: 0,
                is_reacquiring: true,
            });
            state.grant_slots();
            started
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => {}
            () = started.notified() => {}
        }
    }
}

/// Releases an agent's slot while it waits for its background work.
#[derive(Debug)]
pub struct AgentSlot {
    tree: AgentTree,
    events: EventSink,
    released: Mutex<Option<SlotYield>>,
}

impl AgentSlot {
    /// For the agent with these events.
    pub fn new(tree: &AgentTree, events: &EventSink) -> Self {
        Self { tree: tree.clone(), events: events.clone(), released: Mutex::default() }
    }
}

#[async_trait]
impl RunSlot for AgentSlot {
    fn release(&self) {
        *self.released.lock() = Some(self.tree.release_slot(self.events.path()));
    }

    async fn reacquire(&self, cancel: &CancellationToken) {
        let released = self.released.lock().take();
        if let Some(released) = released {
            released.reacquire(&self.events, cancel).await;
        }
    }
}

impl Drop for SlotYield {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        // The call was dropped: its agent continues, or ends, without waiting for its slot.
        let mut state = self.tree.lock();
        if let Some(entry) = state.entries.get_mut(&id) {
            entry.waiting_calls = entry.waiting_calls.saturating_sub(1);
            entry.has_slot |=
                entry.waiting_calls == 0 && matches!(entry.phase, AgentPhase::Running);
        }
    }
}
