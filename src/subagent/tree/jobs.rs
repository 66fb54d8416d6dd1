//! Commands in the background stand beside the agents: the tree keeps their register, and tells an
//! agent when one of its own has ended. An agent that has read the end by itself is not told again.

use std::collections::VecDeque;
use std::sync::Arc;

use async_trait::async_trait;

use super::AgentTree;
use super::state::State;
use crate::agent::Inbox;
use crate::exec::{BackgroundShell, ShellState};
use crate::protocol::{AgentPath, PromptId, QueuedPrompt, Sender, ShellId, When};
use crate::tool::{NotStarted, ShellRegister, StartShell};

/// Messages that can still be taken back: as many as there are commands in the register.
const KEPT: usize = 32;

/// Characters of a command's first line in the message.
const COMMAND: usize = 60;

/// Messages about ends that were put into a queue, oldest first.
#[derive(Debug, Default)]
pub(super) struct Told(VecDeque<(ShellId, Inbox, PromptId)>);

impl Told {
    fn add(&mut self, id: ShellId, inbox: Inbox, message: PromptId) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back((id, inbox, message));
    }

    fn take(&mut self, id: &ShellId) -> Option<(Inbox, PromptId)> {
        let place = self.0.iter().position(|(told, ..)| told == id)?;
        self.0.remove(place).map(|(_, inbox, message)| (inbox, message))
    }
}

impl State {
    /// Puts the end of a command into its owner's queue, if the owner still lives.
    fn tell_of_end(&mut self, owner: &AgentPath, id: &ShellId, text: String) {
        let Some(inbox) = self.inbox(owner) else { return };
        let message = self.next_message();
        inbox.push(QueuedPrompt {
            from: Sender::Job { name: id.to_string() },
            ..QueuedPrompt::typed(message, text, When::NextStep)
        });
        self.told.add(id.clone(), inbox, message);
    }
}

#[async_trait]
impl ShellRegister for AgentTree {
    fn start(
        &self,
        owner: &AgentPath,
        start: StartShell<'_>,
    ) -> Result<(ShellId, Arc<BackgroundShell>), NotStarted> {
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

    /// What somebody has ended needs no message: an agent knows it from its call, and a person
    /// wants no answer to it.
    fn tell_end(&self, owner: &AgentPath, id: &ShellId, command: &str, end: ShellState) {
        if let ShellState::Exited(_) = end
            && let Some(end) = end.end()
        {
            let command = title(command);
            let text =
                format!("[{id} ({command}) has ended: {end}. BashOutput shows what it printed.]");
            self.lock().tell_of_end(owner, id, text);
        }
    }

    fn end_read(&self, id: &ShellId) {
        let told = self.lock().told.take(id);
        if let Some((inbox, message)) = told {
            let _ = inbox.take_back(message);
        }
    }

    async fn end_all(&self, above: &AgentPath) {
        self.0.shells.end_all(above).await;
    }
}

/// The beginning of a command.
fn title(command: &str) -> String {
    let command = command.trim();
    let line = command.lines().next().unwrap_or_default();
    let title: String = line.chars().take(COMMAND).collect();
    if title.len() < command.len() { format!("{} …", title.trim_end()) } else { title }
}
