//! Messages that wait until their agent reads them.

pub mod draw;
pub mod update;

use std::time::Duration;

use crate::protocol::{AgentPath, PromptId, PromptTiming};
use crate::tui::composer::as_prompt;
use crate::tui::composer::past_prompt::{PastImage, PastPrompt};

/// Prompts queued in the runtime until their agent reads them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PromptQueue {
    pub list: Vec<QueuedMessage>,
    /// Those that their agents have read.
    pub read: Vec<PromptId>,
    pub next_id: u64,
    /// When the last one was queued.
    pub last: Duration,
    /// Bytes at the start of the draft that were returned when the turn was stopped, and the number
    /// of messages in them.
    pub returned: (usize, usize),
    /// Those messages.
    pub back: Vec<QueuedMessage>,
}

/// One message sent to an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedMessage {
    pub id: PromptId,
    pub to: AgentPath,
    pub text: String,
    pub images: Vec<PastImage>,
    pub when: PromptTiming,
    pub state: MessageState,
}

impl QueuedMessage {
    /// The message as a draft.
    pub fn as_draft(&self) -> PastPrompt {
        PastPrompt { text: as_prompt(&self.text).into_owned(), images: self.images.clone() }
    }
}

/// The state of a queued message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageState {
    /// Sent to an idle agent, which reads it at once. Not shown.
    Sent,
    /// Sent to an idle agent that waits for something else before it can read it.
    Held,
    /// In the queue.
    Waiting,
    /// The user has asked for it back.
    TakenBack,
    /// Its agent ended before reading it.
    Orphaned,
}

impl PromptQueue {
    /// Adds a waiting message and returns its id.
    pub fn enqueue(
        &mut self,
        to: AgentPath,
        prompt: PastPrompt,
        when: PromptTiming,
        at: Duration,
    ) -> PromptId {
        self.last = at;
        self.add(to, prompt, when, MessageState::Waiting)
    }

    /// Adds a message in a given state.
    pub fn add(
        &mut self,
        to: AgentPath,
        PastPrompt { text, images }: PastPrompt,
        when: PromptTiming,
        state: MessageState,
    ) -> PromptId {
        let id = PromptId(self.next_id);
        self.next_id += 1;
        self.list.push(QueuedMessage { id, to, text, images, when, state });
        id
    }

    /// The messages shown in the strip, oldest first.
    pub fn visible(&self) -> impl DoubleEndedIterator<Item = &QueuedMessage> {
        self.list.iter().filter(|queued| queued.state != MessageState::Sent)
    }

    /// The messages that wait for the end of the user's `!` command, oldest first, if `waits` says that
    /// they do.
    pub fn awaiting_shell(&self, waits: bool) -> impl Iterator<Item = PromptId> {
        let waiting = self.list.iter().filter(move |queued| {
            waits && queued.to.is_root() && queued.state == MessageState::Waiting
        });
        waiting.map(|queued| queued.id)
    }

    /// Whether Enter on the empty prompt changes when a message is read.
    pub fn has_waiting(&self) -> bool {
        self.list.iter().any(|queued| queued.state == MessageState::Waiting)
    }

    fn position(&self, id: PromptId) -> Option<usize> {
        self.list.iter().position(|queued| queued.id == id)
    }
}
