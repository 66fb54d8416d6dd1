//! One agent's place in the tree, held by the agent's task.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::agent_tree::AgentTree;
use super::entry::{HandleParts, NewAgent, QueuedAgent};
use super::limits::LimitError;
use crate::agent::Inbox;
use crate::protocol::{AgentId, AgentInfo, EventSink, Failure, RunEnd, RunOutcome};
use crate::subagent::report::{Completion, Reporter};

/// One agent's place in the tree. If dropped before it ends, the agent ends as failed: that is a
/// bug of ours.
#[derive(Debug)]
pub struct AgentHandle {
    tree: AgentTree,
    id: AgentId,
    info: AgentInfo,
    events: EventSink,
    cancel: CancellationToken,
    inbox: Inbox,
    detached: CancellationToken,
    /// Fires when it has a slot.
    started: Arc<Notify>,
    ended: bool,
}

impl AgentTree {
    /// Adds an agent. It queues for a slot; one that may not queue gets it now or is refused.
    ///
    /// # Errors
    /// If it may not queue and a limit is reached.
    pub fn join(
        &self,
        new: NewAgent<impl FnOnce(usize) -> AgentInfo>,
    ) -> Result<AgentHandle, LimitError> {
        let events = new.events.clone();
        let parts = self.lock().join(new)?;
        Ok(AgentHandle::new(self.clone(), events, parts))
    }
}

impl AgentHandle {
    fn new(tree: AgentTree, events: EventSink, handle: HandleParts) -> Self {
        let HandleParts { id, info, cancel, inbox, detached, started } = handle;
        Self { tree, id, info, events, cancel, inbox, detached, started, ended: false }
    }

    /// Queues for a slot again after releasing its own.
    pub fn requeue(&self) {
        let (start, events) = (self.started.clone(), self.events.clone());
        let waiting =
            QueuedAgent { id: self.id, events, start, position: 0, is_reacquiring: false };
        let mut state = self.tree.lock();
        state.waiting.push_back(waiting);
        state.grant_slots();
    }

    /// Waits for its slot. False if it was cancelled first: then it must not start.
    pub async fn wait_for_slot(&self) -> bool {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => false,
            () = self.started.notified() => true,
        }
    }

    /// Describes the agent, as at its start.
    pub fn info(&self) -> &AgentInfo {
        &self.info
    }

    /// The agent's id.
    pub fn id(&self) -> AgentId {
        self.id
    }

    /// Fires when the agent is to end.
    pub fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Fires when the agent goes to the background.
    pub fn detached(&self) -> &CancellationToken {
        &self.detached
    }

    /// The tree that it belongs to.
    pub(super) fn tree(&self) -> &AgentTree {
        &self.tree
    }

    /// Its queue of prompts.
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Reports how it ended: to the screen, to its waiters, and to its parent.
    pub fn finish(mut self, ending: Completion) {
        self.end(ending);
    }

    fn end(&mut self, ending: Completion) {
        self.ended = true;
        self.tree.lock().finish(self.id, ending);
    }
}

impl Drop for AgentHandle {
    fn drop(&mut self) {
        if !self.ended {
            let AgentInfo { name, number, .. } = &self.info;
            let reporter = Reporter {
                id: self.id,
                name,
                number: *number,
                max_chars: 0,
                kept: false,
                note: None,
            };
            self.end(reporter.completion(lost_outcome()));
        }
    }
}

/// The outcome of an agent whose task was lost to a bug.
fn lost_outcome() -> RunOutcome {
    let message = "The agent crashed: this is a bug. See the log.".to_owned();
    RunOutcome::without_work(RunEnd::Failed { failure: Failure::Internal, message })
}
