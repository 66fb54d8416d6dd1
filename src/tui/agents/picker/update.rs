//! Opening "Cancel which?" and "Background which?", and their keys.

use crossterm::event::KeyEvent;

use crate::protocol::{AgentPath, Command};
use crate::tui::agents::AgentState;
use crate::tui::agents::picker::{AgentAction, AgentPicker, UNREAD_TIME};
use crate::tui::background::update as background;
use crate::tui::format::count;
use crate::tui::interrupt::stop;
use crate::tui::keymap::{Action, KeyContext, plain_char};
use crate::tui::labels::with_detail;
use crate::tui::model::{NoticeCause, TuiModel};
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::{Overlay, move_selection};

/// Opens the list.
pub fn open(model: &mut TuiModel, action: AgentAction) {
    let waited_for = model.awaited_agents();
    let listed = |agent: &AgentState| match action {
        AgentAction::Background => agent.running() && !agent.in_background,
        AgentAction::Cancel if waited_for.is_empty() => agent.alive(),
        AgentAction::Cancel => waited_for.iter().any(|other| other.path == agent.path),
    };
    // In the order of the panes, children below their parent.
    let mut agents = model.agents.visible();
    agents.retain(|agent| listed(agent));
    let rows = agents.iter().map(|agent| agent.path.clone()).collect();
    let which = AgentPicker {
        action,
        rows,
        selected: 0,
        typed: String::new(),
        rejected: false,
        confirms: false,
        unread_until: Some(model.now + UNREAD_TIME),
    };
    model.overlay = Some(Overlay::AgentPicker(which));
}

/// Moves the focused or the only running agent to the background, or asks which.
pub fn choose_background(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    if let Some(path) = model.focus.clone() {
        return background::send_to_background(model, &path, effects);
    }
    let movable = model.agents.foreground().filter(|agent| agent.running());
    let running: Vec<AgentPath> = movable.map(|agent| agent.path.clone()).collect();
    match &running[..] {
        [] if model.main_is_busy() => {
            let keys = (KeyContext::Prompt, Action::BackgroundOrLeft);
            let does = model.keymap.hint(keys.0, keys.1, "moves agents only");
            model.reply(with_detail("no agent runs that could move", does));
        }
        [] => {}
        [only] => background::send_to_background(model, only, effects),
        _ => open(model, AgentAction::Background),
    }
}

/// Handles a key in "Cancel which?" and "Background which?": a pane number, arrows, or `a` for all.
pub fn press(
    model: &mut TuiModel,
    key: KeyEvent,
    action: Option<Action>,
    effects: &mut Vec<ScreenEffect>,
) {
    let lines = model.metrics.list;
    let Some(Overlay::AgentPicker(which)) = &mut model.overlay else { return };
    let (count, agent_action) = (which.rows.len(), which.action);
    let confirmed = std::mem::take(&mut which.confirms);
    match (plain_char(key), action) {
        (Some('a'), _) if confirmed => {
            model.mark_acted('a');
            apply_to_all(model, agent_action, effects);
        }
        // A word typed by mistake acts on nobody.
        (Some('a'), _) => {
            which.confirms = true;
            let verb = match agent_action {
                AgentAction::Cancel => "cancels all listed here",
                AgentAction::Background => "moves all listed here to the background",
            };
            model.say_while(NoticeCause::Confirm, format!("a again {verb}"));
        }
        (Some(digit), _) if digit.is_ascii_digit() => type_digit(model, digit, effects),
        (Some(_), _) => {}
        (_, Some(Action::Submit)) => submit(model, effects),
        (_, Some(Action::Backspace)) => {
            which.rejected = false;
            which.typed.pop();
            select_typed(model);
        }
        (_, Some(action)) if move_selection(&mut which.selected, count, lines, action) => {
            which.typed.clear();
        }
        _ => {}
    }
}

/// Adds a digit to the number of an agent. It acts at once only while all numbers have one digit;
/// otherwise it selects, and Enter acts.
fn type_digit(model: &mut TuiModel, digit: char, effects: &mut Vec<ScreenEffect>) {
    let at_once = !model.agents.has_long_numbers();
    let Some(Overlay::AgentPicker(which)) = &mut model.overlay else { return };
    if std::mem::take(&mut which.rejected) {
        which.typed.clear();
    }
    which.typed.push(digit);
    let is_whole = at_once && which.typed.len() == 1;
    if select_typed(model) && is_whole {
        submit(model, effects);
    }
    if let Some(Overlay::AgentPicker(which)) = &mut model.overlay
        && is_whole
    {
        which.typed.clear();
    }
}

/// Selects the agent whose number was typed. Returns false, and says so, if none that is listed has it.
fn select_typed(model: &mut TuiModel) -> bool {
    let Some(Overlay::AgentPicker(which)) = &mut model.overlay else { return false };
    if which.typed.is_empty() {
        return false;
    }
    let named: Option<usize> = which.typed.parse().ok();
    let is_named =
        |path: &AgentPath| model.agents.get(path).is_some_and(|agent| Some(agent.number) == named);
    let at = which.rows.iter().position(is_named);
    match at {
        Some(at) => {
            which.selected = at;
        }
        None => {
            let text = format!("agent {} is not in this list", which.typed);
            model.reply(text);
        }
    }
    at.is_some()
}

/// Acts on the selected agent, if it is the one whose number was typed.
fn submit(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let has_typed = |which: &AgentPicker| !which.typed.is_empty();
    if matches!(&model.overlay, Some(Overlay::AgentPicker(which)) if has_typed(which))
        && !select_typed(model)
    {
        if let Some(Overlay::AgentPicker(which)) = &mut model.overlay {
            which.rejected = true;
        }
        return;
    }
    let Some(Overlay::AgentPicker(which)) = &model.overlay else { return };
    let action = which.action;
    let chosen = which.rows.get(which.selected);
    let Some(agent) = chosen.and_then(|path| model.agents.get(path)) else { return };
    if !action.applies_to(agent) {
        let state = match (agent.alive(), agent.in_background) {
            (false, _) => "has ended",
            (true, true) => "is already in the background",
            (true, false) => "has not started",
        };
        let text = format!("{} {state}", agent.label());
        return model.reply(text);
    }
    let path = agent.path.clone();
    model.overlay = None;
    match action {
        AgentAction::Cancel => stop::cancel(model, &path, effects),
        AgentAction::Background => background::send_to_background(model, &path, effects),
    }
}

fn apply_to_all(model: &mut TuiModel, action: AgentAction, effects: &mut Vec<ScreenEffect>) {
    match action {
        AgentAction::Cancel => cancel_listed(model, effects),
        AgentAction::Background => send_all_listed(model, effects),
    }
}

/// Cancels every live agent listed by "Cancel which?".
pub fn cancel_listed(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let Some(Overlay::AgentPicker(which)) = model.overlay.take() else { return };
    stop::cancel_all(model, &which.rows, effects);
}

/// Moves all agents listed by "Background which?" to the background.
fn send_all_listed(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let Some(Overlay::AgentPicker(which)) = model.overlay.take() else { return };
    let agents = which.rows.iter().filter_map(|path| model.agents.get(path));
    let ids: Vec<_> = agents
        .filter(|agent| agent.running() && !agent.in_background)
        .map(|agent| agent.id)
        .collect();
    effects.extend(ids.iter().map(|id| ScreenEffect::Send(Command::Background(*id))));
    let verb = if ids.len() == 1 { "is" } else { "are" };
    model.say(format!("{} {verb} in the background now", count(ids.len(), "agent")));
}

/// Closes the list without an action.
pub fn close(model: &mut TuiModel) {
    let Some(Overlay::AgentPicker(which)) = model.overlay.take() else { return };
    model.say(match which.action {
        AgentAction::Cancel => "nothing cancelled",
        AgentAction::Background => "nothing moved",
    });
}
