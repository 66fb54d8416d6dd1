//! Background commands: the tree keeps their register, and notifies an agent when one of its own
//! has ended. An agent that has read the end by itself is not notified again.

use std::sync::Arc;

use async_trait::async_trait;

use super::agent_tree::AgentTree;
use super::state::{ExitNotices, TreeState};
use crate::agent::Inbox;
use crate::exec::{BackgroundShell, ShellState};
use crate::protocol::{
    AgentPath, PromptId, PromptTiming, QueuedPrompt, Sender, ShellId, ShellNotice,
};
use crate::tool::{ShellRegister, ShellStartError, StartShell};

/// How many messages can still be taken back: as many as there are commands in the register.
const MAX_NOTICES: usize = 32;

/// Characters of a command's first line in the message.
const MAX_COMMAND_CHARS: usize = 60;

impl ExitNotices {
    fn add(&mut self, id: ShellId, inbox: Inbox, message: PromptId) {
        if self.0.len() == MAX_NOTICES {
            self.0.pop_front();
        }
        self.0.push_back((id, inbox, message));
    }

    fn take(&mut self, id: &ShellId) -> Option<(Inbox, PromptId)> {
        let index = self.0.iter().position(|(known, ..)| known == id)?;
        self.0.remove(index).map(|(_, inbox, message)| (inbox, message))
    }
}

impl TreeState {
    /// Queues the end of a command for its owner, if the owner is still alive.
    fn push_exit_notice(&mut self, owner: &AgentPath, id: &ShellId, text: String) {
        let Some(inbox) = self.inbox(owner) else { return };
        let message = self.next_message();
        inbox.push(QueuedPrompt {
            from: Sender::Job { name: id.to_string() },
            ..QueuedPrompt::typed(message, text, PromptTiming::NextStep)
        });
        self.exit_notices.add(id.clone(), inbox, message);
    }
}

#[async_trait]
impl ShellRegister for AgentTree {
    fn start(
        &self,
        owner: &AgentPath,
        start: StartShell<'_>,
    ) -> Result<(ShellId, Arc<BackgroundShell>), ShellStartError> {
        self.0.shells.start(owner, start)
    }

    fn get(&self, owner: &AgentPath, id: &ShellId) -> Option<Arc<BackgroundShell>> {
        self.0.shells.get(owner, id)
    }

    fn find(&self, id: &ShellId) -> Option<Arc<BackgroundShell>> {
        self.0.shells.find(id)
    }

    fn ids(&self, owner: &AgentPath) -> Vec<ShellId> {
        self.0.shells.ids(owner)
    }

    /// A command that was stopped needs no message: an agent knows it from its call, and a user who
    /// stopped it wants no answer.
    fn notify_end(&self, owner: &AgentPath, id: &ShellId, command: &str, end: ShellState) {
        if let ShellState::Exited(_) = end
            && let Some(end) = end.end()
        {
            let (command, end) = (command_title(command), end.to_string());
            let notice = ShellNotice { id: id.clone(), command, end };
            self.lock().push_exit_notice(owner, id, notice.to_string());
        }
    }

    fn mark_end_read(&self, id: &ShellId) {
        let told = self.lock().exit_notices.take(id);
        if let Some((inbox, message)) = told {
            let _ = inbox.take_back(message);
        }
    }

    async fn end_all(&self, above: &AgentPath) {
        self.0.shells.end_all(above).await;
    }
}

/// The start of a command.
fn command_title(command: &str) -> String {
    let command = command.trim();
    let line = command.lines().next().unwrap_or_default();
    let title: String = line.chars().take(MAX_COMMAND_CHARS).collect();
    if title.len() < command.len() { format!("{} …", title.trim_end()) } else { title }
}
