//! One agent's place in the tree, held by the task that is its life.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::slots::Waiting;
use super::{AgentTree, lost};
use crate::agent::Inbox;
use crate::budget::Budget;
use crate::protocol::event::AgentReport;
use crate::protocol::{AgentId, AgentInfo, EventSink, Outcome};
use crate::subagent::report::Reporter;

/// An agent that is about to join.
#[derive(Debug)]
pub struct Joining {
    pub info: AgentInfo,
    /// Carries its path.
    pub events: EventSink,
    /// Its parent's queue: there its result goes when nobody waits for it.
    pub report_to: Inbox,
    pub budget: Budget,
    /// Whether it may wait for a slot; else it is refused when there is none.
    pub may_queue: bool,
}

/// How an agent ended, and what is said of it.
#[derive(Clone, Debug)]
pub struct Ending {
    pub outcome: Outcome,
    pub report: AgentReport,
    /// What a call that waits for it returns.
    pub text: String,
    /// What its parent is told when no call waits for it.
    pub message: String,
    /// The same without the report, for a parent that has had it.
    pub brief: String,
}

/// What a member holds of its entry.
#[derive(Debug)]
pub(super) struct Handle {
    pub id: AgentId,
    pub cancel: CancellationToken,
    pub inbox: Inbox,
    pub detached: CancellationToken,
    pub started: Arc<Notify>,
}

/// One agent's place in the tree. Dropped without an end, it ends as failed: that is a bug of ours.
#[derive(Debug)]
pub struct Membership {
    tree: AgentTree,
    id: AgentId,
    events: EventSink,
    cancel: CancellationToken,
    inbox: Inbox,
    detached: CancellationToken,
    /// Fires when it has a slot.
    started: Arc<Notify>,
    ended: bool,
}

impl Membership {
    pub(super) fn new(tree: AgentTree, events: EventSink, handle: Handle) -> Self {
        let Handle { id, cancel, inbox, detached, started } = handle;
        Self { tree, id, events, cancel, inbox, detached, started, ended: false }
    }

    /// Stands in the queue for a slot once more, after it has given its own away.
    pub fn queue_up(&self) {
        let (start, events) = (self.started.clone(), self.events.clone());
        let waiting = Waiting { id: self.id, events, start, place: 0, returns: false };
        let mut state = self.tree.lock();
        state.waiting.push_back(waiting);
        state.hand_out();
    }

    /// Waits for its slot. False when it was cancelled before there was one: then it must not start.
    pub async fn slot(&self) -> bool {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => false,
            () = self.started.notified() => true,
        }
    }

    /// The agent's id.
    #[must_use]
    pub fn id(&self) -> AgentId {
        self.id
    }

    /// Fires when the agent is to end.
    #[must_use]
    pub fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Fires when the agent goes to the background.
    #[must_use]
    pub fn detached(&self) -> &CancellationToken {
        &self.detached
    }

    /// The tree that it stands in.
    pub(super) fn tree(&self) -> &AgentTree {
        &self.tree
    }

    /// Its queue of prompts.
    #[must_use]
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Says how it ended: to the screen, to those who wait for it, and to its parent.
    pub fn finish(mut self, ending: Ending) {
        self.end(ending);
    }

    fn end(&mut self, ending: Ending) {
        self.ended = true;
        self.tree.lock().finish(self.id, ending);
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        if !self.ended {
            let name = self.tree.look_up(self.id).map(|agent| agent.info.name).unwrap_or_default();
            let reporter =
                Reporter { id: self.id, name: &name, max_chars: 0, kept: false, note: None };
            self.end(reporter.ending(lost()));
        }
    }
}
