//! The focus and scroll positions. Only keys and clicks of the user change them.

use crate::protocol::AgentPath;
use crate::tui::agents::{AgentState, update as agents};
use crate::tui::interrupt::InterruptAction;
use crate::tui::keymap::{Action, KeyContext, fixed_hint};
use crate::tui::labels;
use crate::tui::model::TuiModel;

/// Gives the focus to an agent.
pub fn focus_agent(model: &mut TuiModel, path: &AgentPath) {
    if model.agents.get(path).is_none_or(|agent| !agent.in_panel && !agent.in_strip) {
        model.agents.reveal(path);
        agents::redraw_open_batches(model);
    }
    if model.agents.get(path).is_some() {
        model.focus = Some(path.clone());
    }
}

/// Tab on the prompt: focuses an agent that asks, else one that runs, else the first; after the turn,
/// reopens the last batch.
pub fn enter_panes(model: &mut TuiModel) {
    if model.agents.panel().is_empty() && model.agents.reopen() {
        agents::redraw_open_batches(model);
    }
    let visible = model.agents.visible();
    let asks = |agent: &&&AgentState| labels::count_asking(model, std::iter::once(**agent)) > 0;
    let asking = visible.iter().find(asks);
    let running = visible.iter().find(|agent| agent.running());
    let first = asking.or(running).or(visible.first()).map(|agent| agent.path.clone());
    if let Some(path) = first {
        focus_agent(model, &path);
    }
}

/// Focuses the next or previous agent, wrapping around.
pub fn focus_next(model: &mut TuiModel, forward: bool) {
    let count = model.agents.visible().len();
    move_focus(model, |at| if forward { at + 1 } else { at + count - 1 } % count);
}

/// Focuses the agent above or below, if there is one.
pub fn focus_below(model: &mut TuiModel, below: bool) {
    move_focus(model, |at| if below { at + 1 } else { at.saturating_sub(1) });
}

/// Focuses the agent at the place that `next` gives for the focused one.
fn move_focus(model: &mut TuiModel, next: impl Fn(usize) -> usize) {
    let visible: Vec<AgentPath> =
        model.agents.visible().iter().map(|agent| agent.path.clone()).collect();
    let Some(at) = visible.iter().position(|path| Some(path) == model.focus.as_ref()) else {
        return enter_panes(model);
    };
    if let Some(path) = visible.get(next(at)) {
        model.focus = Some(path.clone());
    }
}

/// Focuses the agent beside the focused one, in the next or previous column, if there is one; with only
/// one column, the one below or above.
pub fn focus_beside(model: &mut TuiModel, forward: bool) {
    let panel: Vec<AgentPath> =
        model.agents.panel().iter().map(|agent| agent.path.clone()).collect();
    let at = panel.iter().position(|path| Some(path) == model.focus.as_ref());
    let rows = model.metrics.pane_rows.filter(|rows| *rows > 0 && !model.zoom);
    let (Some(at), Some(rows)) = (at, rows) else { return focus_below(model, forward) };
    let next = if forward { Some(at + rows) } else { at.checked_sub(rows) };
    if let Some(path) = next.and_then(|next| panel.get(next)) {
        model.focus = Some(path.clone());
    }
}

/// Focuses the agent with this number. Pressed again, goes on to those whose numbers end with this
/// digit, in turn; after the turn of main, among the last batch.
pub fn focus_number(model: &mut TuiModel, number: usize) {
    let (visible, latest) = (model.agents.visible(), model.agents.latest());
    let mut fitting: Vec<&AgentState> = visible.into_iter().chain(latest).collect();
    fitting.retain(|agent| agent.number % 10 == number);
    fitting.sort_by_key(|agent| agent.number);
    fitting.dedup_by_key(|agent| agent.number);
    let at = fitting.iter().position(|agent| Some(&agent.path) == model.focus.as_ref());
    let next = at.map_or(0, |at| (at + 1) % fitting.len());
    match fitting.get(next).map(|agent| agent.path.clone()) {
        Some(path) => focus_agent(model, &path),
        None => model.reply(format!("there is no agent {number} here")),
    }
}

/// Goes from the zoom to the panes, or from the panes to the prompt.
pub fn step_back(model: &mut TuiModel) {
    if model.zoom {
        model.zoom = false;
        return;
    }
    leave(model);
}

/// Returns the focus to the prompt; folds a batch that is due and closes a reopened one.
pub fn leave(model: &mut TuiModel) {
    model.focus = None;
    model.zoom = false;
    // Also where the rows come once the panel has folded.
    agents::redraw_open_batches(model);
    if model.fold_due {
        agents::fold(model);
    }
    model.agents.close();
}

/// Scrolls the focused transcript by lines; down is positive.
pub fn scroll(model: &mut TuiModel, lines: isize) {
    let extent = model.key_extent();
    match &model.focus {
        None => model.main_scroll.scroll_by(extent, lines),
        Some(path) => {
            if let Some(agent) = model.agents.get_mut(path) {
                agent.scroll.scroll_by(extent, lines);
            }
        }
    }
}

/// Scrolls by almost a page.
pub fn page(model: &mut TuiModel, forward: bool) {
    let step = model.key_extent().page_step();
    scroll(model, if forward { step } else { -step });
}

/// Scrolls to the start or the end of the focused transcript.
pub fn scroll_to_end(model: &mut TuiModel, end: bool) {
    scroll(model, if end { isize::MAX / 2 } else { isize::MIN / 2 });
}

/// Hints for the keys while this agent has the focus.
pub fn hint(model: &TuiModel, agent: &AgentState, interrupt: &InterruptAction) -> Vec<String> {
    let hint = |action, words| model.keymap.hint(KeyContext::Prompt, action, words);
    let cancel = match interrupt {
        InterruptAction::Cancel(_) if model.size.0 < 80 => {
            Some(format!("Ctrl+C cancels {}", agent.number))
        }
        InterruptAction::Cancel(_) => Some(format!("Ctrl+C cancels {}", agent.label())),
        InterruptAction::AlreadyCancelling(_) => {
            Some(format!("{} is being cancelled", agent.label()))
        }
        _ => None,
    };
    let several = model.agents.visible().len() > 1;
    let next = hint(Action::Next, "next").filter(|_| several);
    if model.zoom {
        let reads = hint(Action::Reader, "read and search");
        let pieces = [fixed_hint("Esc back"), cancel, next, reads];
        return pieces.into_iter().flatten().collect();
    }
    let enter = match (model.composer.is_empty(), agent.alive()) {
        (true, _) => hint(Action::Submit, "open"),
        (false, true) => hint(Action::Submit, "sends it there"),
        (false, false) => {
            let draft = model.composer.buffer.full_text();
            let again = model.keys.send_to_main.as_ref() == Some(&draft);
            let sends = if again { "sends it to main" } else { "twice sends it to main" };
            hint(Action::Submit, sends)
        }
    };
    [cancel, enter, fixed_hint("Esc back"), next].into_iter().flatten().collect()
}
