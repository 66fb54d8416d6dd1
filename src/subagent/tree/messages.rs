//! Messages from one agent to another: only between a parent and its own children.

use super::agent_tree::AgentTree;
use super::entry::{AgentEntry, AgentStatus};
use super::state::TreeState;
use crate::protocol::{AgentId, AgentPath, PromptTiming, QueuedPrompt, Sender};

/// The receiver of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipient {
    /// The agent that started the sender.
    Parent,
    /// An agent that the sender started.
    Child(AgentId),
}

/// Why a message cannot be delivered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    #[error("no agent started you, so you have no parent to send to.")]
    NoParent,
    #[error("there is no agent {0}.")]
    Unknown(AgentId),
    #[error(
        "{0} is neither your parent nor an agent that you started yourself: you can only message those."
    )]
    NotRelated(AgentId),
    #[error("{name} has ended ({}): nobody would read it.", .state.as_str())]
    Ended { name: String, state: AgentStatus },
}

impl AgentTree {
    /// Puts a message into the receiver's queue. Returns the receiver's name.
    ///
    /// # Errors
    /// If it is no parent or child of the sender, or has ended: then nothing was sent.
    pub fn send(
        &self,
        from: &AgentPath,
        sender: &str,
        to: Recipient,
        text: String,
    ) -> Result<String, DeliveryError> {
        self.lock().send(from, sender, to, text)
    }
}

impl TreeState {
    fn send(
        &mut self,
        from: &AgentPath,
        sender: &str,
        to: Recipient,
        text: String,
    ) -> Result<String, DeliveryError> {
        let message = QueuedPrompt {
            from: Sender::Agent { name: sender.to_owned() },
            ..QueuedPrompt::typed(self.next_message(), text, PromptTiming::NextStep)
        };
        let above = from.parent().and_then(|above| above.id());
        let child = match to {
            Recipient::Child(id) if Some(id) != above => id,
            _ => return self.send_up(from, above, message),
        };
        let entry = self.entries.get_mut(&child).ok_or(DeliveryError::Unknown(child))?;
        if entry.path.parent().as_ref() != Some(from) {
            return Err(DeliveryError::NotRelated(child));
        }
        let (name, state) = (entry.info.name.clone(), entry.status());
        if state.is_final() {
            return Err(DeliveryError::Ended { name, state });
        }
        let inbox = entry.inbox.clone();
        entry.sent.push(message.id);
        // It counts as running work from now on, not only once it notices.
        self.wake(child);
        inbox.push(message);
        Ok(name)
    }

    /// Sends to the agent `above` the sender; `None` is main.
    fn send_up(
        &self,
        from: &AgentPath,
        above: Option<AgentId>,
        message: QueuedPrompt,
    ) -> Result<String, DeliveryError> {
        let own = from.id().and_then(|id| self.entries.get(&id)).ok_or(DeliveryError::NoParent)?;
        let name = match above.and_then(|id| self.entries.get(&id)) {
            None => "main".to_owned(),
            Some(parent) if parent.status().is_final() => {
                let (name, state) = (parent.info.name.clone(), parent.status());
                return Err(DeliveryError::Ended { name, state });
            }
            Some(parent) => parent.info.name.clone(),
        };
        own.report_to.push(message);
        Ok(name)
    }
}

impl AgentEntry {
    /// A note on messages that will not be read, since they were reported as delivered.
    pub(super) fn unread(&mut self) -> Option<String> {
        let sent = std::mem::take(&mut self.sent);
        let unread = sent.into_iter().filter(|id| self.inbox.take_back(*id).is_some()).count();
        let messages = if unread == 1 { "message" } else { "messages" };
        (unread > 0).then(|| format!("\n\n[{unread} {messages} to it came too late to be read.]"))
    }
}

#[cfg(test)]
mod tests {
    use crate::agent::Inbox;
    use crate::budget::{Budget, Limits};
    use crate::protocol::{EventQueue, RunEnd, RunOutcome, ToolUseId};
    use crate::subagent::report::Reporter;
    use crate::subagent::tree::{AgentHandle, NewAgent, SlotLimits};

    use super::*;

    fn child(tree: &AgentTree) -> AgentHandle {
        let info = |number| crate::protocol::AgentInfo {
            name: "explore-1".to_owned(),
            number,
            agent: "explore".to_owned(),
            description: "look".to_owned(),
            prompt: "look".to_owned(),
            model: "m".to_owned(),
            tool_use_id: ToolUseId::new("call"),
            max_turns: 20,
            max_usd: None,
            color: None,
            background: false,
        };
        let events = EventQueue::unbounded().sink_at(AgentPath::root().child(AgentId::generate()));
        let (report_to, budget) = (Inbox::default(), Budget::new(Limits::default()));
        let new = NewAgent { info, number: None, events, report_to, budget, may_queue: true };
        tree.join(new).unwrap()
    }

    /// The report of a child that was sent a message, and has read it or not.
    async fn report(reads: bool) -> String {
        let tree = AgentTree::new(SlotLimits { concurrent: 1, children: 1, children_total: None });
        let handle = child(&tree);
        let (id, root) = (handle.id(), AgentPath::root());
        let name = tree.send(&root, "main", Recipient::Child(id), "and this".to_owned()).unwrap();
        assert_eq!(name, "explore-1");
        if reads {
            assert_eq!(handle.inbox().take_next_step()[0].text, "and this");
        }
        let reporter =
            Reporter { id, name: &name, number: 1, max_chars: 0, kept: false, note: None };
        let outcome =
            RunOutcome { text: "found".to_owned(), ..RunOutcome::without_work(RunEnd::Completed) };
        handle.finish(reporter.completion(outcome));
        tree.ended(id).await.unwrap().text.clone()
    }

    #[tokio::test]
    async fn a_message_that_came_too_late_to_be_read_is_said_in_the_report() {
        assert_eq!(report(true).await, "found");
        assert_eq!(report(false).await, "found\n\n[1 message to it came too late to be read.]");
    }
}
