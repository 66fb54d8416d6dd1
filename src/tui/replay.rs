//! Rebuilds a stored session from its events, with the same code as for live ones.

use std::time::Duration;

use crate::protocol::{AgentEvent, AgentInfo, AgentPath, EventKind, RunOutcome, Sender};
use crate::tui::agents::{HISTORY_START, RunPhase, RunState, TranscriptLocation};
use crate::tui::background::{Jobs, update as background};
use crate::tui::events;
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::Overlay;
use crate::tui::question::QuestionQueue;
use crate::tui::transcript::{ItemKind, Scroll};

/// Shows an opened session from its history.
pub(super) fn open_session(model: &mut TuiModel, history: Vec<AgentEvent>, another: bool) {
    if another || !history.is_empty() {
        clear(model);
    }
    let Some(first) = history.first().map(|event| event.at) else { return };
    let now = model.now;
    // Old events cause no notifications.
    let mut ignored = Vec::new();
    for AgentEvent { path, at, kind, .. } in history {
        let since = Duration::try_from(at.duration_since(first)).unwrap_or_default();
        model.now = HISTORY_START + since;
        events::apply_event(model, &path, kind, &mut ignored);
    }
    model.agents.end_history(model.now);
    model.now = now;
    events::fold(model);
    model.main.finish_growing();
    model.main.close_calls();
    model.run.phase = RunPhase::Idle;
    model.can_retry = false;
    model.notice = None;
}

fn clear(model: &mut TuiModel) {
    model.main.clear();
    model.agents.clear();
    model.jobs = Jobs::default();
    model.session.grants.clear();
    model.batch_item = None;
    model.focus = None;
    model.zoom = false;
    model.run = RunState::default();
    model.main_scroll = Scroll::default();
    model.session.cost = crate::protocol::Cost::default();
    model.queue.list.clear();
    model.questions = QuestionQueue::default();
}

/// Adds an agent whose conversation was not stored.
pub(super) fn add_reported(
    model: &mut TuiModel,
    path: &AgentPath,
    info: AgentInfo,
    outcome: RunOutcome,
) {
    events::agent_started(model, path, info);
    model.agents.add_report(path, outcome, model.now);
}

/// Requests the conversations of visible agents that are only on disk.
pub(super) fn request_transcripts(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let read = match &model.overlay {
        Some(Overlay::Reader(reader)) => Some(&reader.path),
        _ => None,
    };
    let asked = model.agents.request_visible(read).into_iter();
    effects
        .extend(asked.map(|id| ScreenEffect::Send(crate::protocol::Command::ReadTranscript(id))));
}

/// Replaces the transcript of an ended agent with its stored conversation.
pub(super) fn transcript_read(model: &mut TuiModel, path: &AgentPath, events: Vec<EventKind>) {
    let now = model.now;
    let waits = |kept| matches!(kept, TranscriptLocation::OnDisk | TranscriptLocation::Requested);
    let Some(agent) = model.agents.get_mut(path).filter(|agent| waits(agent.location)) else {
        return;
    };
    agent.location = TranscriptLocation::Loaded;
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
        agent.transcript.finish_growing();
        agent.transcript.close_calls();
    }
}

/// The item for a stored prompt. The first prompt of an agent is its task.
fn read_item(model: &mut TuiModel, path: &AgentPath, text: String, from: &Sender) -> ItemKind {
    let task = model.transcript(path).is_empty();
    let report = background::report_item(model, path, from, &text);
    report.unwrap_or(ItemKind::Prompt { text, task })
}
