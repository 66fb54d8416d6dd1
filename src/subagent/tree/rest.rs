//! Agents that have answered and stay for messages. One that rests holds no slot, and nobody waits for it.

use super::AgentTree;
use super::entry::Phase;
use super::member::Membership;
use super::state::State;
use crate::protocol::{AgentId, QueuedPrompt, Sender, When};

impl AgentTree {
    /// Waits until an agent rests. For ever when it never does.
    pub async fn rests(&self, id: AgentId) {
        let resting = self.lock().entries.get(&id).map(|entry| entry.resting.subscribe());
        if let Some(mut resting) = resting
            && resting.wait_for(|resting| *resting).await.is_ok()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}

impl Membership {
    /// Lets the agent rest until it is roused: its slot goes to others. `answer` is for its parent to read.
    pub fn rest(&self, answer: Option<String>) {
        self.tree().lock().rest(self.id(), answer);
    }

    /// Waits until there is something to read and a slot to work in. False when it was cancelled before.
    pub async fn roused(&self) -> bool {
        while self.inbox().is_empty() {
            tokio::select! {
                biased;
                () = self.cancel().cancelled() => return false,
                () = self.inbox().changed() => {}
            }
        }
        self.tree().lock().rouse(self.id());
        self.queue_up();
        self.slot().await
    }
}

impl State {
    fn rest(&mut self, id: AgentId, answer: Option<String>) {
        let message = self.next_message();
        let Some(entry) = self.entries.get_mut(&id) else { return };
        if let Some(text) = answer {
            entry.report_to.push(QueuedPrompt {
                from: Sender::Agent { name: entry.info.name.clone() },
                ..QueuedPrompt::typed(message, text, When::NextStep)
            });
        }
        entry.has_slot = false;
        entry.resting.send_replace(true);
        // After the answer, so that whoever waits for the last of the announced work finds it.
        entry.announcement = None;
        self.hand_out();
    }

    /// Ends an agent's rest: it waits for a slot, and its parent for it. Nothing happens to one
    /// that does not rest.
    pub fn rouse(&mut self, id: AgentId) {
        let Some(entry) = self.entries.get_mut(&id).filter(|entry| *entry.resting.borrow()) else {
            return;
        };
        entry.phase = Phase::Queued;
        entry.announcement = Some(entry.report_to.announce(entry.cancel.clone()));
        entry.resting.send_replace(false);
    }
}
