//! Messages that are read, come back, or are changed while they wait.

use std::time::Duration;

use crate::protocol::{AgentPath, Command, PromptId, PromptTiming};
use crate::tui::agents::AgentState;
use crate::tui::composer::RecalledMessage;
use crate::tui::composer::past_prompt::PastPrompt;
use crate::tui::focus;
use crate::tui::format::count;
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::queue::{MessageState, QueuedMessage};

/// Enter on the empty prompt toggles when the newest message is read, but not this soon after it was queued.
const TOGGLE_DELAY: Duration = Duration::from_millis(300);

/// Marks a message as waiting in the runtime's queue.
pub fn mark_waiting(model: &mut TuiModel, id: PromptId) {
    if let Some(at) = model.queue.position(id)
        && model.queue.list[at].state == MessageState::Sent
    {
        model.queue.list[at].state = MessageState::Waiting;
    }
}

/// Whether this message waits for its agent's next step or end.
pub fn is_waiting(model: &TuiModel, id: PromptId) -> bool {
    let at = model.queue.position(id);
    at.is_some_and(|at| model.queue.list[at].state == MessageState::Waiting)
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
        model.queue.read.push(id);
    }
}

/// Handles a message that left the queue unread: it returns to the prompt, or waits for the user to
/// take it back.
pub fn returned(model: &mut TuiModel, path: &AgentPath, id: PromptId) {
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
    let queued = model.queue.list.remove(at);
    prepend_to_draft(model, queued.as_draft());
    model.queue.back.push(queued);
}

/// Returns a refused message to the prompt, before any draft.
pub fn refused(model: &mut TuiModel, path: &AgentPath, id: PromptId) {
    let Some(at) = model.queue.position(id) else { return };
    if model.queue.list[at].state == MessageState::TakenBack {
        return returned(model, path, id);
    }
    if path.is_root() {
        model.session.prompts = model.session.prompts.saturating_sub(1);
    }
    let queued = model.queue.list.remove(at);
    prepend_to_draft(model, queued.as_draft());
    model.say("Refused · your text is back in the prompt");
}

/// Marks the unread messages of an ended agent, which can be taken back.
pub fn mark_orphaned(model: &mut TuiModel, path: &AgentPath) {
    for queued in &mut model.queue.list {
        if queued.to == *path && queued.state != MessageState::TakenBack {
            queued.state = MessageState::Orphaned;
        }
    }
}

/// Moves the unread messages of ended agents to the history, where Up finds them first.
pub fn shelve_orphaned(model: &mut TuiModel) {
    let is_orphaned = |queued: &QueuedMessage| queued.state == MessageState::Orphaned;
    for queued in model.queue.list.iter().filter(|queued| is_orphaned(queued)) {
        model.composer.remember(queued.as_draft());
    }
    model.queue.list.retain(|queued| !is_orphaned(queued));
}

/// Inserts a returned message before the draft, oldest first.
fn prepend_to_draft(model: &mut TuiModel, PastPrompt { text, images }: PastPrompt) {
    let (at, messages) = model.queue.returned;
    let separator =
        if model.composer.is_empty() || at < model.composer.text().len() { "\n" } else { "" };
    let piece = if at == 0 && model.composer.is_empty() {
        text
    } else if at >= model.composer.text().len() {
        format!("\n{text}")
    } else {
        format!("{text}{separator}")
    };
    let at = at.min(model.composer.text().len());
    let end = model.composer.buffer.insert_at(at, &PastPrompt { text: piece, images });
    model.queue.returned = (end, messages + 1);
    say_returned(model);
}

/// Says why messages have come back to the prompt, once that is known.
pub fn say_returned(model: &mut TuiModel) {
    let messages = model.queue.returned.1;
    let verb = if messages == 1 { "is" } else { "are" };
    let said = format!("{} {verb} back in the prompt", count(messages, "queued message"));
    let is_stopped = model.stopped_at.is_some() || model.run.cancelling;
    let how = if model.main_is_busy() && !is_stopped {
        // The end of the turn comes after the messages.
        ""
    } else if model.can_retry && !is_stopped {
        "Failed · "
    } else {
        "Stopped · "
    };
    model.say(format!("{how}{said}"));
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
        model.composer.replace(&queued.as_draft());
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
    let waits_for_shell = model.prompt_waits_for_shell();
    let newest =
        model.queue.list.iter_mut().rev().find(|queued| queued.state == MessageState::Waiting);
    let Some(queued) = newest else { return false };
    if !settled || (waits_for_shell && queued.to.is_root()) {
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
    let draft = model.composer.buffer.as_past();
    let PastPrompt { mut text, mut images } = queued.as_draft();
    if !draft.text.is_empty() {
        text = format!("{text}\n{}", draft.text);
        images.extend(draft.images);
    }
    model.composer.replace(&PastPrompt { text, images });
    // It is still for its agent.
    if model.agents.get(&queued.to).is_some_and(AgentState::alive) {
        focus::focus_agent(model, &queued.to);
    }
    let prompt = PastPrompt { text: queued.text.clone(), images: queued.images.clone() };
    let (to, when) = (queued.to.clone(), queued.when);
    model.composer.recalled = Some(RecalledMessage { to, prompt, when });
}
