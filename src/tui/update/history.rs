//! The past of a session, from the same events and by the same code as the present.

use std::time::Duration;

use crate::protocol::{AgentEvent, AgentInfo, AgentPath, EventKind, Outcome, Sender};
use crate::tui::model::{
    HISTORY, ItemKind, Jobs, Kept, Model, Overlay, Phase, Questions, Run, Scroll,
};
use crate::tui::msg::Effect;

use super::{background, events};

/// Shows a session that was opened, from its history.
pub(super) fn open_session(model: &mut Model, history: Vec<AgentEvent>, another: bool) {
    if another || !history.is_empty() {
        clear(model);
    }
    let Some(first) = history.first().map(|event| event.at) else { return };
    let now = model.now;
    // Old events notify nobody.
    let mut ignored = Vec::new();
    for AgentEvent { path, at, kind, .. } in history {
        let since = Duration::try_from(at.duration_since(first)).unwrap_or_default();
        model.now = HISTORY + since;
        events::event(model, &path, kind, &mut ignored);
    }
    model.agents.close_history(model.now);
    model.now = now;
    events::fold(model);
    model.main.settle();
    model.main.close_calls();
    model.run.phase = Phase::Idle;
    model.can_retry = false;
    model.notice = None;
}

fn clear(model: &mut Model) {
    model.main.clear();
    model.agents.clear();
    model.jobs = Jobs::default();
    model.session.grants.clear();
    model.batch_item = None;
    model.focus = None;
    model.zoom = false;
    model.run = Run::default();
    model.main_scroll = Scroll::default();
    model.session.cost = crate::protocol::Cost::default();
    model.queue.list.clear();
    model.questions = Questions::default();
}

/// Adds an agent whose conversation was not stored.
pub(super) fn reported(model: &mut Model, path: &AgentPath, info: AgentInfo, outcome: Outcome) {
    events::started(model, path, info);
    model.agents.report(path, outcome, model.now);
}

/// Requests the conversations of agents on the screen that are only on disk.
pub(super) fn fetch(model: &mut Model, effects: &mut Vec<Effect>) {
    let read = match &model.overlay {
        Some(Overlay::Reader(reader)) => Some(&reader.path),
        _ => None,
    };
    let asked = model.agents.ask_for_seen(read).into_iter();
    effects.extend(asked.map(|id| Effect::Send(crate::protocol::Command::ReadTranscript(id))));
}

/// Replaces what is shown of an ended agent by its stored conversation.
pub(super) fn transcript_read(model: &mut Model, path: &AgentPath, events: Vec<EventKind>) {
    let now = model.now;
    let waits = |kept| matches!(kept, Kept::OnDisk | Kept::AskedFor);
    let Some(agent) = model.agents.get_mut(path).filter(|agent| waits(agent.kept)) else { return };
    agent.kept = Kept::Here;
    agent.transcript.clear();
    for kind in events {
        if let EventKind::PromptRead { text, from, .. } = kind {
            let item = read_item(model, path, text, &from);
            if let Some(agent) = model.agents.get_mut(path) {
                agent.transcript.push(item);
            }
        } else if let Some(agent) = model.agents.get_mut(path) {
            events::transcribe(&mut agent.transcript, kind, now);
        }
    }
    if let Some(agent) = model.agents.get_mut(path) {
        agent.transcript.settle();
        agent.transcript.close_calls();
    }
}

/// The first prompt of an agent is its task.
fn read_item(model: &mut Model, path: &AgentPath, text: String, from: &Sender) -> ItemKind {
    let task = model.transcript(path).is_empty();
    let report = background::report(model, path, from, &text);
    report.unwrap_or(ItemKind::Prompt { text, task })
}
