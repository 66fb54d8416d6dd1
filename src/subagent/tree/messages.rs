//! Messages from one agent to another: only between a parent and its own children.

use super::AgentTree;
use super::entry::Status;
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
        let entry = self.entries.get(&child).ok_or(Undelivered::Unknown(child))?;
        if entry.path.parent().as_ref() != Some(from) {
            return Err(Undelivered::Stranger(child));
        }
        let (name, state) = (entry.info.name.clone(), entry.status());
        if state.is_final() {
            return Err(Undelivered::Ended { name, state });
        }
        let inbox = entry.inbox.clone();
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
