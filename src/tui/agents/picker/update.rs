//! Opening "Cancel which?" and "Background which?", and their keys.

use crossterm::event::KeyEvent;

use crate::protocol::{AgentPath, Command};
use crate::tui::agents::AgentState;
use crate::tui::agents::picker::{AgentAction, AgentPicker};
use crate::tui::background::update as background;
use crate::tui::format::count;
use crate::tui::interrupt::stop;
use crate::tui::keymap::{Action, plain_char};
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::{Overlay, cycle_selection};

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
    let which = AgentPicker { action, rows, selected: 0, typed: String::new() };
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
    let Some(Overlay::AgentPicker(which)) = &mut model.overlay else { return };
    let (count, agent_action) = (which.rows.len(), which.action);
    let meant = match (plain_char(key), action) {
        (Some('a'), _) => return apply_to_all(model, agent_action, effects),
        (Some(digit), _) if digit.is_ascii_digit() => {
            let agents = which.rows.iter().filter_map(|path| model.agents.get(path));
            let open = agents.filter(|agent| agent_action.applies_to(agent));
            let numbers: Vec<usize> = open.map(|agent| agent.number).collect();
            let Some(number) = which.type_digit(digit, &numbers) else { return };
            let mut rows = which.rows.iter().enumerate();
            let meant = rows.find(|(_, path)| {
                model.agents.get(path).is_some_and(|agent| agent.number == number)
            });
            let Some((at, path)) = meant.map(|(at, path)| (at, path.clone())) else { return };
            which.selected = at;
            // More digits may follow; Enter picks what is selected.
            Some(path).filter(|_| which.typed.is_empty())
        }
        (Some(_), _) => return,
        (_, Some(Action::Submit)) => which.rows.get(which.selected).cloned(),
        (_, Some(Action::Up | Action::Down)) => {
            which.typed.clear();
            return cycle_selection(&mut which.selected, count, action == Some(Action::Down));
        }
        _ => return,
    };
    let Some(agent) = meant.and_then(|path| model.agents.get(&path)) else { return };
    if !agent_action.applies_to(agent) {
        return;
    }
    let path = agent.path.clone();
    model.overlay = None;
    match agent_action {
        AgentAction::Cancel => stop::cancel(model, &path, effects),
        AgentAction::Background => background::send_to_background(model, &path, effects),
    }
}

impl AgentPicker {
    /// Adds a digit. Returns the number typed, if an agent has it; the digits are kept as long as more of
    /// them would lead to another agent.
    fn type_digit(&mut self, digit: char, numbers: &[usize]) -> Option<usize> {
        let begun = |typed: &str| {
            numbers.iter().filter(|number| number.to_string().starts_with(typed)).count()
        };
        self.typed.push(digit);
        if begun(&self.typed) == 0 {
            self.typed = digit.to_string();
        }
        let number = self.typed.parse().ok().filter(|number| numbers.contains(number));
        if begun(&self.typed) <= 1 && (number.is_some() || begun(&self.typed) == 0) {
            self.typed.clear();
        }
        number
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
