//! Messages that wait for their agent: sending, taking back, changing when they are read.

use std::time::Duration;

use crate::protocol::{AgentPath, Command, PromptId, When};
use crate::tui::composer::Taken;
use crate::tui::figures::count;
use crate::tui::model::{Model, Queue, Queued, QueuedState};
use crate::tui::msg::Effect;

/// Enter on the empty prompt changes when the newest message is read, but not this soon after queueing it.
const SETTLED: Duration = Duration::from_millis(300);

impl Queue {
    /// Adds a waiting message and answers with its id.
    pub fn enqueue(&mut self, to: AgentPath, text: &str, when: When, at: Duration) -> PromptId {
        self.last = at;
        self.add(to, text, when, QueuedState::Waiting)
    }

    /// Adds a message in a given state.
    pub fn add(&mut self, to: AgentPath, text: &str, when: When, state: QueuedState) -> PromptId {
        let id = PromptId(self.next_id);
        self.next_id += 1;
        self.list.push(Queued { id, to, text: text.to_owned(), when, state });
        id
    }

    /// What the strip shows, oldest first.
    pub fn shown(&self) -> impl DoubleEndedIterator<Item = &Queued> {
        self.list.iter().filter(|queued| queued.state != QueuedState::Sent)
    }

    fn position(&self, id: PromptId) -> Option<usize> {
        self.list.iter().position(|queued| queued.id == id)
    }
}

/// The runtime says that a message waits.
pub fn waits(model: &mut Model, id: PromptId) {
    if let Some(at) = model.queue.position(id)
        && model.queue.list[at].state == QueuedState::Sent
    {
        model.queue.list[at].state = QueuedState::Waiting;
    }
}

/// Main waits before it reads what was sent to it: that can only be stopped, not taken back.
pub fn hold(model: &mut Model) {
    let sent = model.queue.list.iter_mut().filter(|queued| queued.to.is_root());
    for queued in sent.filter(|queued| queued.state == QueuedState::Sent) {
        queued.state = QueuedState::Held;
    }
}

/// A message was read: it leaves the strip.
pub fn read(model: &mut Model, id: PromptId) {
    if let Some(at) = model.queue.position(id) {
        model.queue.list.remove(at);
    }
}

/// A message left the queue unread: back into the prompt, or it waits for the person to take it back.
pub fn returned(model: &mut Model, path: &AgentPath, id: PromptId, text: &str) {
    // What nobody typed here, such as an agent's message, does not come back into the prompt.
    let Some(at) = model.queue.position(id) else { return };
    if path.is_root() {
        model.session.prompts = model.session.prompts.saturating_sub(1);
    }
    if model.queue.list[at].state == QueuedState::TakenBack {
        let queued = model.queue.list.remove(at);
        into_prompt(model, &queued);
        return;
    }
    if !path.is_root() && model.stopped_at.is_none() {
        orphan(model, path);
        return;
    }
    model.queue.list.remove(at);
    before_draft(model, text);
}

/// A message was refused: it is back in the prompt, whatever stands there.
pub fn refused(model: &mut Model, id: PromptId, text: &str) {
    let messages = model.queue.returned.1;
    returned(model, &AgentPath::root(), id, text);
    if model.queue.returned.1 > messages {
        model.say("Refused · your text is back in the prompt");
    }
}

/// An agent ended: what it did not read can be taken back.
pub fn orphan(model: &mut Model, path: &AgentPath) {
    for queued in &mut model.queue.list {
        if queued.to == *path && queued.state != QueuedState::TakenBack {
            queued.state = QueuedState::Orphaned;
        }
    }
}

/// Stopping puts the queued messages before the draft, oldest first.
fn before_draft(model: &mut Model, text: &str) {
    let (at, messages) = model.queue.returned;
    let separator =
        if model.composer.is_empty() || at < model.composer.text().len() { "\n" } else { "" };
    let piece = if at == 0 && model.composer.is_empty() {
        text.to_owned()
    } else if at >= model.composer.text().len() {
        format!("\n{text}")
    } else {
        format!("{text}{separator}")
    };
    let at = at.min(model.composer.text().len());
    model.composer.buffer.prepend(at, &piece);
    model.queue.returned = (at + piece.len(), messages + 1);
    let messages = messages + 1;
    let verb = if messages == 1 { "is" } else { "are" };
    let said = count(messages, "queued message");
    model.say(format!("Stopped · {said} {verb} back in the prompt"));
}

/// Takes the newest message back. Answers false when there is none.
pub fn take_back(model: &mut Model, effects: &mut Vec<Effect>) -> bool {
    let newest =
        model.queue.list.iter().rposition(|queued| {
            matches!(queued.state, QueuedState::Waiting | QueuedState::Orphaned)
        });
    let Some(at) = newest else { return false };
    if model.queue.list[at].state == QueuedState::Orphaned {
        let queued = model.queue.list.remove(at);
        model.composer.buffer.set(&queued.text);
        return true;
    }
    let queued = &mut model.queue.list[at];
    queued.state = QueuedState::TakenBack;
    let (to, id) = (queued.to.clone(), queued.id);
    effects.push(Effect::Send(Command::TakeBack { to, id }));
    true
}

/// Enter on the empty prompt: the newest message is read at the next step, or when the agent is
/// done. Answers false when nothing waits.
pub fn toggle_newest(model: &mut Model, effects: &mut Vec<Effect>) -> bool {
    let now = model.now;
    let settled = now.saturating_sub(model.queue.last) >= SETTLED;
    let newest =
        model.queue.list.iter_mut().rev().find(|queued| queued.state == QueuedState::Waiting);
    let Some(queued) = newest else { return false };
    if !settled {
        return true;
    }
    queued.when = match queued.when {
        When::NextStep => When::Done,
        When::Done => When::NextStep,
    };
    let (to, id, when) = (queued.to.clone(), queued.id, queued.when);
    effects.push(Effect::Send(Command::Requeue { to, id, when }));
    true
}

fn into_prompt(model: &mut Model, queued: &Queued) {
    let draft = model.composer.text().to_owned();
    let text =
        if draft.is_empty() { queued.text.clone() } else { format!("{}\n{draft}", queued.text) };
    model.composer.buffer.set(&text);
    model.composer.taken = Some(Taken { to: queued.to.clone(), when: queued.when });
}
