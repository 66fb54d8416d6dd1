//! A session that another program writes to: what that adds is shown as it comes.
//!
//! Nothing works here: main is idle, and agents without an end have a phase of their own. What they do
//! there is kept aside, so that the next events find it.

use std::collections::HashSet;
use std::time::Duration;

use crate::protocol::{AgentEvent, AgentPath, SessionId};
use crate::tui::agents::{HISTORY_START, RunPhase, TranscriptLocation, update as agents};
use crate::tui::background::Jobs;
use crate::tui::events::{apply_stored, prompts_in};
use crate::tui::host::HostRequest;
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::{replay, turn};

/// Asks for what comes next, while a session is shown that another program writes to.
pub fn request(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let session = &mut model.session;
    let Some(id) = session.id.filter(|_| session.read_only && !session.growth.is_awaited) else {
        return;
    };
    session.growth.is_awaited = true;
    let (size, left) = (session.growth.size, session.growth.left);
    let request = HostRequest::SessionGrowth { session: id, size, left, files: None };
    effects.push(ScreenEffect::Ask(request));
}

/// Shows the events that are new.
pub fn grown(
    model: &mut TuiModel,
    id: SessionId,
    (size, left): (u64, bool),
    files: Option<Vec<Vec<AgentEvent>>>,
) {
    model.session.growth.is_awaited = false;
    if !model.session.read_only || model.session.id != Some(id) {
        return;
    }
    model.session.growth.size = size;
    let has_changed = std::mem::replace(&mut model.session.growth.left, left) != left;
    if has_changed || files.is_some() {
        show(model, files.unwrap_or_default());
    }
}

fn show(model: &mut TuiModel, files: Vec<Vec<AgentEvent>>) {
    let new = new_events(model, files);
    let Some(began) = model.session.growth.began else { return };
    model.session.earlier_prompts += prompts_in(&new);
    let (now, notice) = (model.now, model.notice.take());
    let touched: HashSet<AgentPath> = new.iter().map(|event| event.path.clone()).collect();
    for (path, phase) in std::mem::take(&mut model.session.growth.phases) {
        match model.agents.get_mut(&path) {
            Some(agent) => agent.run.phase = phase,
            None => model.run.phase = phase,
        }
    }
    for AgentEvent { path, at, kind, .. } in new {
        let since = Duration::try_from(at.duration_since(began)).unwrap_or_default();
        model.now = HISTORY_START + since;
        apply_stored(model, &path, kind);
        // Its work is not to be merged from here.
        if let Some(agent) = model.agents.get_mut(&path) {
            agent.worktree = None;
        }
    }
    if model.session.growth.left {
        let last = model.agents.iter().map(|agent| agent.run.last_activity).max();
        model.now = last.unwrap_or(model.now);
        replay::end_agents(model);
    }
    settle(model, &touched);
    model.now = now;
    agents::fold(model);
    turn::withdraw_retry(model);
    model.notice = notice;
}

/// Returns the events that are not shown yet, in the order of their times.
fn new_events(model: &mut TuiModel, files: Vec<Vec<AgentEvent>>) -> Vec<AgentEvent> {
    let growth = &mut model.session.growth;
    let mut new = Vec::new();
    for file in files {
        let Some(first) = file.first() else { continue };
        growth.began.get_or_insert(first.at);
        let shown = growth.events.entry(first.path.clone()).or_default();
        let all = file.len();
        new.extend(file.into_iter().skip(*shown));
        *shown = all.max(*shown);
    }
    new.sort_by_key(|event| event.at);
    new
}

/// Puts aside what main and the agents do, and has the conversations read again that have grown.
fn settle(model: &mut TuiModel, touched: &HashSet<AgentPath>) {
    let phases = &mut model.session.growth.phases;
    phases.insert(AgentPath::root(), std::mem::take(&mut model.run.phase));
    // They can neither be read nor killed from here.
    model.jobs = Jobs::default();
    for agent in model.agents.iter_mut() {
        if agent.alive() {
            let phase = std::mem::replace(&mut agent.run.phase, RunPhase::Elsewhere);
            phases.insert(agent.path.clone(), phase);
        } else if let Some(outcome) =
            agent.outcome.as_ref().filter(|_| touched.contains(&agent.path))
        {
            agent.transcript.text_finished(outcome.text.as_str());
        }
        let is_read = agent.location == TranscriptLocation::Loaded;
        if is_read && touched.contains(&agent.path) {
            agent.location = TranscriptLocation::OnDisk;
        }
        agent.in_strip = false;
        agent.result_read = true;
    }
}
