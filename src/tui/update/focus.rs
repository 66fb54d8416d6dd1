//! Who has the focus, and where its transcript is looked at. Only keys and clicks of the person come here.

use crate::protocol::AgentPath;
use crate::tui::model::{Extent, Model, Scroll};

/// Gives the focus to an agent.
pub fn focus(model: &mut Model, path: &AgentPath) {
    if model.agents.get(path).is_none_or(|agent| !agent.shown && !agent.in_strip) {
        model.agents.reveal(path);
    }
    if model.agents.get(path).is_some() {
        model.focus = Some(path.clone());
    }
}

/// Tab on the prompt: the first pane; after the turn, the last agents open again.
pub fn enter_panes(model: &mut Model) {
    if model.agents.shown().is_empty() {
        model.agents.reopen();
    }
    let first = model.agents.visible().first().map(|agent| agent.path.clone());
    if let Some(path) = first {
        focus(model, &path);
    }
}

/// The next or previous agent, round and round.
pub fn turn(model: &mut Model, forward: bool) {
    let shown: Vec<AgentPath> =
        model.agents.visible().iter().map(|agent| agent.path.clone()).collect();
    let Some(at) = shown.iter().position(|path| Some(path) == model.focus.as_ref()) else {
        return enter_panes(model);
    };
    let next = if forward { at + 1 } else { at + shown.len() - 1 } % shown.len();
    model.focus = Some(shown[next].clone());
}

/// Straight to the agent with this number.
pub fn to_number(model: &mut Model, number: usize) {
    let found =
        model.agents.visible().iter().find(|agent| agent.number == number).map(|a| a.path.clone());
    if let Some(path) = found {
        focus(model, &path);
    }
}

/// From the zoom to the panes, from the panes to the prompt.
pub fn step_back(model: &mut Model) {
    if model.zoom {
        model.zoom = false;
        return;
    }
    leave(model);
}

/// The focus goes back to the prompt; what waited to be folded folds now, and what was opened again closes.
pub fn leave(model: &mut Model) {
    model.focus = None;
    model.zoom = false;
    if model.fold_due {
        super::events::fold(model);
    }
    model.agents.close();
}

/// Scrolls what the focus is on by lines; down is positive.
pub fn scroll(model: &mut Model, lines: isize) {
    let body = model.metrics.body;
    let Some(path) = model.focus.clone() else {
        move_by(&mut model.main_scroll, body, lines);
        return;
    };
    let extent = if model.zoom { body } else { model.metrics.pane(&path) };
    if let Some(agent) = model.agents.get_mut(&path) {
        move_by(&mut agent.scroll, extent, lines);
    }
}

/// Scrolls by almost a page.
pub fn page(model: &mut Model, forward: bool) {
    let pane = model.focus.as_ref().filter(|_| !model.zoom);
    let extent = pane.map_or(model.metrics.body, |path| model.metrics.pane(path));
    let step = page_of(extent);
    scroll(model, if forward { step } else { -step });
}

/// To the beginning or the end of what the focus is on.
pub fn to_end(model: &mut Model, end: bool) {
    scroll(model, if end { isize::MAX / 2 } else { isize::MIN / 2 });
}

/// A page less two lines, so that the eye finds its place.
#[must_use]
pub fn page_of(extent: Extent) -> isize {
    isize::try_from(extent.height.saturating_sub(2).max(1)).unwrap_or(1)
}

/// Moves a view by lines; at the end it follows again.
pub fn move_by(scroll: &mut Scroll, extent: Extent, lines: isize) {
    let last = extent.total.saturating_sub(extent.height);
    let top = scroll.top.unwrap_or(last).min(last);
    let next =
        isize::try_from(top).unwrap_or(isize::MAX).saturating_add(lines).max(0).unsigned_abs();
    if scroll.top.is_none() {
        scroll.seen = extent.grown;
    }
    scroll.top = (next < last).then_some(next);
    scroll.goto = None;
}
