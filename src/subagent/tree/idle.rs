//! Agents that have answered and stay for messages. An idle one holds no slot, and nothing waits
//! for it.

use super::agent_tree::AgentTree;
use super::entry::AgentPhase;
use super::handle::AgentHandle;
use super::state::TreeState;
use crate::protocol::{AgentId, PromptTiming, QueuedPrompt, Sender};

impl AgentTree {
    /// Waits until an agent is idle. Forever if it never is.
    pub async fn wait_until_idle(&self, id: AgentId) {
        let resting = self.lock().entries.get(&id).map(|entry| entry.idle.subscribe());
        if let Some(mut resting) = resting
            && resting.wait_for(|resting| *resting).await.is_ok()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}

impl AgentHandle {
    /// Makes the agent idle until it is woken: its slot goes to others. `answer` is for its parent
    /// to read.
    pub fn idle(&self, answer: Option<String>) {
        self.tree().lock().idle(self.id(), answer);
    }

    /// Waits until there is something to read and a slot to work in. False if it was cancelled
    /// first.
    pub async fn wait_for_wake(&self) -> bool {
        while self.inbox().is_empty() {
            tokio::select! {
                biased;
                () = self.cancel().cancelled() => return false,
                () = self.inbox().changed() => {}
            }
        }
        self.tree().lock().wake(self.id());
        self.requeue();
        self.wait_for_slot().await
    }
}

impl TreeState {
    fn idle(&mut self, id: AgentId, answer: Option<String>) {
        let message = self.next_message();
        let Some(entry) = self.entries.get_mut(&id) else { return };
        if let Some(text) = answer {
            entry.report_to.push(QueuedPrompt {
                from: Sender::Agent { name: entry.info.name.clone() },
                ..QueuedPrompt::typed(message, text, PromptTiming::NextStep)
            });
        }
        entry.has_slot = false;
        entry.idle.send_replace(true);
        // After the answer, so that whoever waits for the last announced work finds it.
        entry.announcement = None;
        self.grant_slots();
    }

    /// Wakes an idle agent: it waits for a slot, and its parent for it. Does nothing to one that is
    /// not idle.
    pub fn wake(&mut self, id: AgentId) {
        let Some(entry) = self.entries.get_mut(&id).filter(|entry| *entry.idle.borrow()) else {
            return;
        };
        entry.phase = AgentPhase::Queued;
        entry.announcement = Some(entry.report_to.announce(entry.cancel.clone()));
        entry.idle.send_replace(false);
    }
}
