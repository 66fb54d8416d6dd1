//! A session that another program writes to: what that adds is shown as it comes.

use std::time::Duration;

use crate::protocol::{AgentEvent, SessionId};
use crate::tui::agents::{HISTORY_START, RunPhase, update as agents};
use crate::tui::events::apply_stored;
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
    let size = session.growth.size;
    effects.push(ScreenEffect::Ask(HostRequest::SessionGrowth { session: id, size, events: None }));
}

/// Shows the events that are new.
pub fn grown(model: &mut TuiModel, id: SessionId, size: u64, events: Option<Vec<AgentEvent>>) {
    model.session.growth.is_awaited = false;
    if !model.session.read_only || model.session.id != Some(id) {
        return;
    }
    model.session.growth.size = size;
    if let Some(events) = events {
        show(model, events);
    }
}

fn show(model: &mut TuiModel, mut events: Vec<AgentEvent>) {
    if model.session.growth.began.is_none() {
        // What was read when the session was opened has ends for what goes on there.
        replay::clear(model);
        model.session.growth.began = events.first().map(|event| event.at);
    }
    let Some(began) = model.session.growth.began else { return };
    let all = events.len();
    let new = events.split_off(model.session.growth.events.min(all));
    model.session.growth.events = all;
    let (now, notice, known) = (model.now, model.notice.take(), model.agents.iter().count());
    model.run.phase = std::mem::take(&mut model.session.growth.phase);
    for AgentEvent { path, at, kind, .. } in new {
        let since = Duration::try_from(at.duration_since(began)).unwrap_or_default();
        model.now = HISTORY_START + since;
        apply_stored(model, &path, kind);
    }
    replay::end_agents(model, known);
    model.now = now;
    agents::fold(model);
    // Nothing works here.
    model.session.growth.phase = std::mem::replace(&mut model.run.phase, RunPhase::Idle);
    turn::withdraw_retry(model);
    model.notice = notice;
}
