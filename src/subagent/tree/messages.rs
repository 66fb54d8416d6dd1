//! Messages from one agent to another: only between a parent and its own children.

use super::AgentTree;
use super::entry::{Entry, Status};
use super::state::State;
use crate::protocol::{AgentId, AgentPath, QueuedPrompt, Sender, When};

/// Who is to read a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipient {
    /// The agent that started the sender.
    Parent,
    /// One that the sender started.
    Child(AgentId),
}

/// Why nobody gets a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undelivered {
    #[error("nobody started you, so there is no parent to send to.")]
    NoParent,
    #[error("there is no agent {0}.")]
    Unknown(AgentId),
    #[error(
        "{0} is neither your parent nor an agent that you started yourself: messages go no other way."
    )]
    Stranger(AgentId),
    #[error("{name} has ended ({}): nobody would read it.", .state.as_str())]
    Ended { name: String, state: Status },
}

impl AgentTree {
    /// Puts a message into the receiver's queue. Answers with the receiver's name.
    ///
    /// # Errors
    /// When it is no parent or child of the sender, or has ended: then nothing was sent.
    pub fn send(
        &self,
        from: &AgentPath,
        sender: &str,
        to: Recipient,
        text: String,
    ) -> Result<String, Undelivered> {
        self.lock().send(from, sender, to, text)
    }
}

impl State {
    fn send(
        &mut self,
        from: &AgentPath,
        sender: &str,
        to: Recipient,
        text: String,
    ) -> Result<String, Undelivered> {
        let message = QueuedPrompt {
            from: Sender::Agent { name: sender.to_owned() },
            ..QueuedPrompt::typed(self.next_message(), text, When::NextStep)
        };
        let above = from.parent().and_then(|above| above.id());
        let child = match to {
            Recipient::Child(id) if Some(id) != above => id,
            _ => return self.send_up(from, above, message),
        };
        let entry = self.entries.get_mut(&child).ok_or(Undelivered::Unknown(child))?;
        if entry.path.parent().as_ref() != Some(from) {
            return Err(Undelivered::Stranger(child));
        }
        let (name, state) = (entry.info.name.clone(), entry.status());
        if state.is_final() {
            return Err(Undelivered::Ended { name, state });
        }
        let inbox = entry.inbox.clone();
        entry.sent.push(message.id);
        // It counts as work under way from now on, not only when it has noticed.
        self.rouse(child);
        inbox.push(message);
        Ok(name)
    }

    /// To the agent `above` the sender; absent: to main.
    fn send_up(
        &self,
        from: &AgentPath,
        above: Option<AgentId>,
        message: QueuedPrompt,
    ) -> Result<String, Undelivered> {
        let own = from.id().and_then(|id| self.entries.get(&id)).ok_or(Undelivered::NoParent)?;
        let name = match above.and_then(|id| self.entries.get(&id)) {
            None => "main".to_owned(),
            Some(parent) if parent.status().is_final() => {
                let (name, state) = (parent.info.name.clone(), parent.status());
                return Err(Undelivered::Ended { name, state });
            }
            Some(parent) => parent.info.name.clone(),
        };
        own.report_to.push(message);
        Ok(name)
    }
}

impl Entry {
    /// What is to be said of messages that nobody will read any more: the sender was told that they
    /// were delivered.
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
    use crate::protocol::{End, EventQueue, Outcome, ToolUseId};
    use crate::subagent::report::Reporter;
    use crate::subagent::tree::{Joining, Membership, Slots};

    use super::*;

    fn child(tree: &AgentTree) -> Membership {
        let info = crate::protocol::AgentInfo {
            name: "explore-1".to_owned(),
            agent: "explore".to_owned(),
            description: "look".to_owned(),
            prompt: "look".to_owned(),
            model: "m".to_owned(),
            tool_use_id: ToolUseId::new("call"),
            max_turns: 20,
            color: None,
            background: false,
        };
        let events = EventQueue::unhurried().sink_at(AgentPath::root().child(AgentId::generate()));
        let (report_to, budget) = (Inbox::default(), Budget::new(Limits::default()));
        tree.join(Joining { info, events, report_to, budget, may_queue: true }).unwrap()
    }

    /// What the parent gets from a child that was sent a message, and has read it or not.
    async fn report(reads: bool) -> String {
        let tree = AgentTree::new(Slots { concurrent: 1, children: 1, children_ever: None });
        let member = child(&tree);
        let (id, root) = (member.id(), AgentPath::root());
        let name = tree.send(&root, "main", Recipient::Child(id), "and this".to_owned()).unwrap();
        assert_eq!(name, "explore-1");
        if reads {
            assert_eq!(member.inbox().take_next_step()[0].text, "and this");
        }
        let reporter = Reporter { id, name: &name, max_chars: 0, kept: false, note: None };
        let outcome = Outcome { text: "found".to_owned(), ..Outcome::without_work(End::Completed) };
        member.finish(reporter.ending(outcome));
        tree.ended(id).await.unwrap().text.clone()
    }

    #[tokio::test]
    async fn s3_36_a_message_that_came_too_late_to_be_read_is_said_in_the_report() {
        assert_eq!(report(true).await, "found");
        assert_eq!(report(false).await, "found\n\n[1 message to it came too late to be read.]");
    }
}
