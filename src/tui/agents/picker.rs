//! "Cancel which?" and "Background which?": asks which agent to act on.

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::protocol::{AgentPath, Command};
use crate::tui::agents::AgentState;
use crate::tui::agents::row::AgentRow;
use crate::tui::background::update as background;
use crate::tui::format::count;
use crate::tui::interrupt::update as interrupt;
use crate::tui::keymap::{Action, KeyContext, plain_char};
use crate::tui::labels;
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::{Overlay, cycle_selection};
use crate::tui::paint::{Painter, draw_rows, frame};
use crate::tui::text::one_line;

/// Asks which agent to act on. Its rows never shift.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentPicker {
    pub action: AgentAction,
    pub rows: Vec<AgentPath>,
    pub selected: usize,
}

/// The action for the chosen agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentAction {
    Cancel,
    Background,
}

impl AgentAction {
    /// Whether the action applies to this agent now.
    pub fn applies_to(self, agent: &AgentState) -> bool {
        match self {
            Self::Cancel => agent.alive(),
            Self::Background => agent.running() && !agent.in_background,
        }
    }
}

impl AgentPicker {
    /// The keys that pick an agent: `1–3 or ↑↓ Enter picks`. The numbers are those of the panes;
    /// only the first nine have a key.
    fn key_hints(&self, model: &TuiModel) -> String {
        let agents = self.rows.iter().filter_map(|path| model.agents.get(path));
        let open = agents.filter(|agent| self.action.applies_to(agent)).map(|agent| agent.number);
        let mut digits: Vec<usize> = open.filter(|number| *number < 10).collect();
        digits.sort_unstable();
        let digits = match digits[..] {
            [first, .., last] if last - first + 1 == digits.len() => {
                Some(format!("{first}–{last}"))
            }
            [] => None,
            _ => Some(digits.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")),
        };
        let arrows = model.keymap.labels(KeyContext::List, &[Action::Up, Action::Down]);
        let enter = model.keymap.label(KeyContext::List, Action::Submit);
        let arrows = arrows.into_iter().chain(enter).collect::<Vec<_>>().join(" ");
        let keys = digits.into_iter().chain(Some(arrows).filter(|keys| !keys.is_empty()));
        format!("{} picks", keys.collect::<Vec<_>>().join(" or "))
    }

    /// Hints for all keys.
    pub fn hint(&self, model: &TuiModel) -> Vec<String> {
        let all = match self.action {
            AgentAction::Cancel => "a or Ctrl+C all",
            AgentAction::Background => "a all",
        };
        vec![self.key_hints(model), all.to_owned(), "Esc none".to_owned()]
    }
}

/// Opens the list.
pub fn open(model: &mut TuiModel, action: AgentAction) {
    let waited_for = model.awaited_agents();
    let listed = |agent: &AgentState| match action {
        AgentAction::Background => agent.running() && !agent.in_background,
        AgentAction::Cancel if waited_for.is_empty() => agent.alive(),
        AgentAction::Cancel => waited_for.iter().any(|other| other.path == agent.path),
    };
    let visible = model.agents.visible();
    let rows: Vec<AgentPath> =
        visible.iter().filter(|agent| listed(agent)).map(|agent| agent.path.clone()).collect();
    model.overlay = Some(Overlay::AgentPicker(AgentPicker { action, rows, selected: 0 }));
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
        (Some(letter), _) => {
            let number = letter.to_digit(10).map(|digit| digit as usize);
            let agents = which.rows.iter().filter_map(|path| model.agents.get(path));
            let mut open = agents.filter(|agent| agent_action.applies_to(agent));
            open.find(|agent| Some(agent.number) == number).map(|agent| agent.path.clone())
        }
        (_, Some(Action::Submit)) => which.rows.get(which.selected).cloned(),
        (_, Some(Action::Up | Action::Down)) => {
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
        AgentAction::Cancel => interrupt::cancel(model, &path, effects),
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
    interrupt::cancel_all(model, &which.rows, effects);
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

/// Draws the list at the bottom of the area.
pub fn draw(
    model: &TuiModel,
    which: &AgentPicker,
    area: Rect,
    pen: Painter<'_>,
    buffer: &mut Buffer,
) {
    let height = u16::try_from(which.rows.len() + 2).unwrap_or(u16::MAX).min(area.height);
    let area = Rect::new(area.x, area.bottom() - height, area.width, height);
    let title = match which.action {
        AgentAction::Cancel => "Cancel which?",
        AgentAction::Background => "Background which?",
    };
    let numbers = which.rows.iter().filter_map(|path| model.agents.get(path));
    let digits = numbers.map(|agent| agent.number.to_string().len()).max().unwrap_or(1);
    let foot = which.hint(model).join(" · ");
    let inner = frame(buffer, area, pen.theme, pen.theme.question, title, &foot);
    let lines = which
        .rows
        .iter()
        .map(|path| {
            let Some(agent) = model.agents.get(path) else { return Line::default() };
            let can = which.action.applies_to(agent);
            let look = if can { pen.theme.text } else { pen.theme.dim };
            let number = if can { pen.agent(agent) } else { pen.theme.dim };
            let title = one_line(&agent.info.description);
            let row = AgentRow::new(labels::agent_status(model, agent), pen)
                .text(format!("{:>digits$}  ", agent.number), number)
                .text(agent.info.name.clone(), look)
                .text(format!(" · {title}  "), pen.theme.dim)
                .glyph()
                .state(look);
            Line::from(row.into_spans())
        })
        .collect();
    draw_rows(lines, which.selected, inner, pen, buffer);
}
