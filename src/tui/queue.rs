//! Queued messages: sending, taking back, changing when they are read, and their lines.

use std::time::Duration;

use ratatui::text::Line;

use crate::protocol::{AgentPath, Command, PromptId, PromptTiming};
use crate::tui::agents::RunPhase;
use crate::tui::composer::RecalledMessage;
use crate::tui::format::count;
use crate::tui::keymap::{Action, KeyContext};
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::paint::Painter;
use crate::tui::text::{one_line, truncate, width};

/// Prompts queued in the runtime until their agent reads them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PromptQueue {
    pub list: Vec<QueuedMessage>,
    pub next_id: u64,
    /// When the last one was queued.
    pub last: Duration,
    /// Bytes at the start of the draft that were returned when the turn was stopped, and the number
    /// of messages in them.
    pub returned: (usize, usize),
}

/// One message sent to an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedMessage {
    pub id: PromptId,
    pub to: AgentPath,
    pub text: String,
    pub when: PromptTiming,
    pub state: MessageState,
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

/// Cells of a message that its keys leave free.
const MIN_TEXT: usize = 12;

/// Enter on the empty prompt toggles when the newest message is read, but not this soon after it was queued.
const TOGGLE_DELAY: Duration = Duration::from_millis(300);

impl PromptQueue {
    /// Adds a waiting message and returns its id.
    pub fn enqueue(
        &mut self,
        to: AgentPath,
        text: &str,
        when: PromptTiming,
        at: Duration,
    ) -> PromptId {
        self.last = at;
        self.add(to, text, when, MessageState::Waiting)
    }

    /// Adds a message in a given state.
    pub fn add(
        &mut self,
        to: AgentPath,
        text: &str,
        when: PromptTiming,
        state: MessageState,
    ) -> PromptId {
        let id = PromptId(self.next_id);
        self.next_id += 1;
        self.list.push(QueuedMessage { id, to, text: text.to_owned(), when, state });
        id
    }

    /// The messages shown in the strip, oldest first.
    pub fn visible(&self) -> impl DoubleEndedIterator<Item = &QueuedMessage> {
        self.list.iter().filter(|queued| queued.state != MessageState::Sent)
    }

    fn position(&self, id: PromptId) -> Option<usize> {
        self.list.iter().position(|queued| queued.id == id)
    }
}

/// Marks a message as waiting in the runtime's queue.
pub fn mark_waiting(model: &mut TuiModel, id: PromptId) {
    if let Some(at) = model.queue.position(id)
        && model.queue.list[at].state == MessageState::Sent
    {
        model.queue.list[at].state = MessageState::Waiting;
    }
}

/// Marks messages that main will read after a wait: they can only be stopped, not taken back.
pub fn mark_held(model: &mut TuiModel) {
    let sent = model.queue.list.iter_mut().filter(|queued| queued.to.is_root());
    for queued in sent.filter(|queued| queued.state == MessageState::Sent) {
        queued.state = MessageState::Held;
    }
}

/// Removes a message that was read.
pub fn mark_read(model: &mut TuiModel, id: PromptId) {
    if let Some(at) = model.queue.position(id) {
        model.queue.list.remove(at);
    }
}

/// Handles a message that left the queue unread: it returns to the prompt, or waits for the user to
/// take it back.
pub fn returned(model: &mut TuiModel, path: &AgentPath, id: PromptId, text: &str) {
    // Messages not typed here, such as an agent's, don't return to the prompt.
    let Some(at) = model.queue.position(id) else { return };
    if path.is_root() {
        model.session.prompts = model.session.prompts.saturating_sub(1);
    }
    if model.queue.list[at].state == MessageState::TakenBack {
        let queued = model.queue.list.remove(at);
        restore_to_prompt(model, &queued);
        return;
    }
    if !path.is_root() && model.stopped_at.is_none() {
        mark_orphaned(model, path);
        return;
    }
    model.queue.list.remove(at);
    prepend_to_draft(model, text);
}

/// Returns a refused message to the prompt, before any draft.
pub fn refused(model: &mut TuiModel, id: PromptId, text: &str) {
    let messages = model.queue.returned.1;
    returned(model, &AgentPath::root(), id, text);
    if model.queue.returned.1 > messages {
        model.say("Refused · your text is back in the prompt");
    }
}

/// Marks the unread messages of an ended agent, which can be taken back.
pub fn mark_orphaned(model: &mut TuiModel, path: &AgentPath) {
    for queued in &mut model.queue.list {
        if queued.to == *path && queued.state != MessageState::TakenBack {
            queued.state = MessageState::Orphaned;
        }
    }
}

/// Inserts a returned message before the draft, oldest first.
fn prepend_to_draft(model: &mut TuiModel, text: &str) {
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
    let end = model.composer.buffer.insert_at(at, &piece);
    model.queue.returned = (end, messages + 1);
    let messages = messages + 1;
    let verb = if messages == 1 { "is" } else { "are" };
    let said = count(messages, "queued message");
    model.say(format!("Stopped · {said} {verb} back in the prompt"));
}

/// Takes back the newest message. Returns false when there is none.
pub fn take_back(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) -> bool {
    let newest =
        model.queue.list.iter().rposition(|queued| {
            matches!(queued.state, MessageState::Waiting | MessageState::Orphaned)
        });
    let Some(at) = newest else { return false };
    if model.queue.list[at].state == MessageState::Orphaned {
        let queued = model.queue.list.remove(at);
        model.composer.buffer.set(&queued.text);
        return true;
    }
    let queued = &mut model.queue.list[at];
    queued.state = MessageState::TakenBack;
    let (to, id) = (queued.to.clone(), queued.id);
    effects.push(ScreenEffect::Send(Command::TakeBack { to, id }));
    true
}

/// Enter on the empty prompt: toggles whether the newest message is read at the next step or when the
/// agent is done. Returns false when nothing is waiting.
pub fn toggle_newest(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) -> bool {
    let now = model.now;
    let settled = now.saturating_sub(model.queue.last) >= TOGGLE_DELAY;
    let newest =
        model.queue.list.iter_mut().rev().find(|queued| queued.state == MessageState::Waiting);
    let Some(queued) = newest else { return false };
    if !settled {
        return true;
    }
    queued.when = match queued.when {
        PromptTiming::NextStep => PromptTiming::Done,
        PromptTiming::Done => PromptTiming::NextStep,
    };
    let (to, id, when) = (queued.to.clone(), queued.id, queued.when);
    effects.push(ScreenEffect::Send(Command::Requeue { to, id, when }));
    true
}

fn restore_to_prompt(model: &mut TuiModel, queued: &QueuedMessage) {
    let draft = model.composer.buffer.full_text();
    let text =
        if draft.is_empty() { queued.text.clone() } else { format!("{}\n{draft}", queued.text) };
    model.composer.buffer.set(&text);
    model.composer.recalled = Some(RecalledMessage { to: queued.to.clone(), when: queued.when });
}

/// The lines of the queued messages, the newest last.
pub fn draw(model: &TuiModel, rows: usize, room: u16, pen: Painter<'_>) -> Vec<Line<'static>> {
    let all: Vec<&QueuedMessage> = model.queue.visible().collect();
    let skip = all.len().saturating_sub(rows);
    let newest = all.len().saturating_sub(1);
    all.iter()
        .enumerate()
        .skip(skip)
        .map(|(at, queued)| {
            let more = if at == skip && skip > 0 { format!("+{skip} · ") } else { String::new() };
            let room = usize::from(room).saturating_sub(1 + width(&more));
            let words = line(model, queued, at == newest, room);
            Line::styled(format!(" {more}{words}"), pen.theme.dim)
        })
        .collect()
}

/// `↳ main, next step   also check the tests    Enter: at end · ↑ edit`: the recipient, when it reads
/// the message, the message, and for the newest one the keys that act on it.
fn line(model: &TuiModel, queued: &QueuedMessage, newest: bool, room: usize) -> String {
    let name = model.name(&queued.to);
    let (before, toggle) = match (queued.state, queued.when) {
        (MessageState::Orphaned, _) => (format!("↳ {name} ended before reading this   "), None),
        (MessageState::Held, _) => (format!("↳ {name} once that is done   "), None),
        (_, PromptTiming::Done) => (format!("↳ {name}, at end   "), Some("at next step")),
        (_, PromptTiming::NextStep) => {
            (format!("↳ {name}, {}   ", next_step(model, queued)), Some("at end"))
        }
    };
    let up = model.keymap.labels(KeyContext::Prompt, &[Action::Up]).filter(|_| newest);
    let edit = up.map(|key| match queued.state {
        MessageState::Orphaned => format!("{key} recalls it"),
        _ => format!("{key} edit"),
    });
    let edit = edit.filter(|_| queued.state != MessageState::Held);
    let enter = model.keymap.label(KeyContext::Prompt, Action::Submit).filter(|_| newest);
    let toggle = enter.zip(toggle).map(|(key, words)| format!("{key}: {words}"));
    let all: Vec<String> = toggle.into_iter().chain(edit.clone()).collect();
    let left = |keys: &str| room.saturating_sub(width(&before) + width(keys));
    let keys = [all.join(" · "), edit.unwrap_or_default()].map(|keys| format!("    {keys}"));
    let keys = keys.iter().find(|keys| left(keys) >= MIN_TEXT).map_or("", |keys| keys.trim_end());
    let text = one_line(&queued.text);
    let text = truncate(&text, left(keys));
    truncate(&format!("{before}{text}{keys}"), room).into_owned()
}

/// Describes when the recipient's next step comes.
fn next_step(model: &TuiModel, queued: &QueuedMessage) -> String {
    let run = model.agents.get(&queued.to).map_or(&model.run, |agent| &agent.run);
    if queued.to.is_root() && model.agents.foreground().next().is_some() {
        return "with the agents' results".to_owned();
    }
    match (&run.phase, run.tools.last()) {
        (RunPhase::Tools, Some(tool)) => format!("after {}", tool.name),
        (RunPhase::Queued { .. }, _) => "when it starts".to_owned(),
        _ => "next step".to_owned(),
    }
}
