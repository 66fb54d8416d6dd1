//! Agents of a stored session. All have ended; each conversation is read when it is first shown.

use std::sync::Arc;

use crate::protocol::{AgentInfo, AgentPath, Command, Cost, EventKind, RunEnd, RunOutcome, Sender};
use crate::tui::agents::{AgentState, RunPhase, RunState, TranscriptLocation, update as agents};
use crate::tui::background::{Jobs, update as background};
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::Overlay;
use crate::tui::question::QuestionQueue;
use crate::tui::transcript::update::transcribe;
use crate::tui::transcript::{ItemKind, Scroll};

/// Removes what belongs to the session shown before.
pub(super) fn clear(model: &mut TuiModel) {
    model.main.clear();
    model.agents.clear();
    model.jobs = Jobs::default();
    model.session.grants.clear();
    model.batch_item = None;
    model.turn_batches.clear();
    model.agent_rows = None;
    model.focus = None;
    model.zoom = false;
    model.run = RunState::default();
    model.main_scroll = Scroll::default();
    model.session.cost = Cost::default();
    model.session.main_spent = Default::default();
    model.queue.list.clear();
    model.questions = QuestionQueue::default();
}

/// Begins the account of a copy anew: what its history cost, the original has paid.
pub(super) fn forget_spending(model: &mut TuiModel) {
    model.session.cost = Cost::default();
    model.session.main_spent = Default::default();
    for agent in model.agents.iter_mut() {
        agent.paid = Cost::default();
    }
}

/// Ends the agents of the history: all have ended and have no row in the background, nor have commands.
pub(super) fn end_agents(model: &mut TuiModel) {
    let now = model.now;
    model.jobs.leave_strip();
    for agent in model.agents.iter_mut() {
        if agent.alive() {
            let outcome = RunOutcome::without_work(RunEnd::Interrupted);
            agent.run.apply(&EventKind::Finished(Box::new(outcome.clone())), now);
            agent.outcome = Some(outcome);
        }
        if let Some(outcome) = &agent.outcome {
            agent.transcript.text_finished(outcome.text.as_str());
        }
        if agent.location == TranscriptLocation::Loaded {
            agent.location = TranscriptLocation::OnDisk;
        }
        agent.in_strip = false;
        agent.result_read = true;
    }
}

/// Adds an ended agent of which only the report is stored.
pub(super) fn add_reported(
    model: &mut TuiModel,
    path: &AgentPath,
    info: AgentInfo,
    outcome: RunOutcome,
) {
    agents::start(model, path, info);
    let now = model.now;
    let Some(agent) = model.agents.get_mut(path) else { return };
    let began = outcome.end != (RunEnd::Cancelled { before_start: true });
    agent.run.started = began.then_some(now);
    agent.run.turn = outcome.turns;
    (agent.run.usage, agent.run.cost) = (outcome.usage, outcome.cost);
    agent.run.apply(&EventKind::Finished(Box::new(outcome.clone())), now + outcome.took);
    agent.outcome = Some(outcome);
    agent.location = TranscriptLocation::Missing;
}

/// Requests the conversations of visible agents that are only on disk.
pub(super) fn request_transcripts(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let read = match &model.overlay {
        Some(Overlay::Reader(reader)) => Some(&reader.path),
        _ => None,
    };
    let is_visible =
        |agent: &AgentState| agent.in_panel || agent.in_strip || read == Some(&agent.path);
    for agent in model.agents.iter_mut() {
        let on_disk = agent.location == TranscriptLocation::OnDisk && !agent.alive();
        if on_disk && is_visible(agent) {
            agent.location = TranscriptLocation::Requested;
            effects.push(ScreenEffect::Send(Command::ReadTranscript(agent.id)));
        }
    }
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
            transcribe(&mut agent.transcript, kind, now);
        }
    }
    if let Some(agent) = model.agents.get_mut(path) {
        agent.transcript.finish_growing();
        if agent.run.phase != RunPhase::Elsewhere {
            agent.transcript.close_calls();
        }
    }
}

/// The item for a stored prompt. The first prompt of an agent is its task.
fn read_item(model: &mut TuiModel, path: &AgentPath, text: Arc<str>, from: &Sender) -> ItemKind {
    let task = model.transcript(path).is_empty();
    let report = background::report_item(model, path, from, &text);
    report.unwrap_or(ItemKind::Prompt { text, task })
}
