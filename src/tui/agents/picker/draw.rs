//! Draws "Cancel which?" and "Background which?", and their hints.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::agents::AgentState;
use crate::tui::agents::gutter::edge;
use crate::tui::agents::picker::{AgentAction, AgentPicker};
use crate::tui::agents::row::{AgentColumns, AgentGroup, Emphasis};
use crate::tui::keymap::{Action, KeyContext};
use crate::tui::model::TuiModel;
use crate::tui::paint::{Painter, frame};
use crate::tui::popup::{DrawnList, draw_rows};
use crate::tui::{labels, layout};

/// Numbers that a hint names one by one.
const MAX_NAMED: usize = 9;

/// Draws the list at the bottom of the area.
pub fn draw(
    model: &TuiModel,
    which: &AgentPicker,
    area: Rect,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) -> DrawnList {
    let height = u16::try_from(which.rows.len() + 2).unwrap_or(u16::MAX).min(area.height);
    let area = Rect::new(area.x, area.bottom() - height, area.width, height);
    let title = match which.action {
        AgentAction::Cancel => "Cancel which?",
        AgentAction::Background => "Background which?",
    };
    // Otherwise the hint line has the keys.
    let (width, height) = model.size;
    let tiny = layout::is_tiny(width, height);
    let foot = if tiny { which.hint(model).join(" · ") } else { String::new() };
    let inner = frame(buffer, area, painter.theme, painter.theme.question, title, &foot);
    let agents: Vec<&AgentState> =
        which.rows.iter().filter_map(|path| model.agents.get(path)).collect();
    let group = AgentGroup { model, agents: &agents, painter };
    let columns = AgentColumns::with_names(&[group], usize::from(inner.width).saturating_sub(2));
    let line = |(at, agent): (usize, &&AgentState)| {
        let can = which.action.applies_to(agent);
        let emphasis = if can { Emphasis::Normal } else { Emphasis::Dim };
        let state = labels::agent_status(model, agent);
        columns.line(group, agent, &state, edge(group, at), emphasis)
    };
    let lines = agents.iter().enumerate().map(line).collect();
    let lines = draw_rows(lines, which.selected, inner, painter, buffer);
    DrawnList { cursor: None, lines }
}

impl AgentPicker {
    /// The keys that pick an agent: `1–3 or ↑↓ Enter picks`. The numbers are those of the panes; where some
    /// have two digits, all need Enter: `1–12 or ↑↓, then Enter`.
    fn key_hints(&self, model: &TuiModel) -> String {
        let agents = self.rows.iter().filter_map(|path| model.agents.get(path));
        let open = agents.filter(|agent| self.action.applies_to(agent)).map(|agent| agent.number);
        let mut digits: Vec<usize> = open.collect();
        digits.sort_unstable();
        let digits = match digits[..] {
            [first, .., last] if last - first + 1 == digits.len() => {
                Some(format!("{first}–{last}"))
            }
            [] => None,
            [first, .., last] if digits.len() > MAX_NAMED => Some(format!("{first}…{last}")),
            _ => Some(digits.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")),
        };
        let arrows = model.keymap.labels(KeyContext::List, &[Action::Up, Action::Down]);
        let enter = model.keymap.label(KeyContext::List, Action::Submit);
        if model.agents.has_long_numbers() {
            let keys = digits.into_iter().chain(arrows).collect::<Vec<_>>().join(" or ");
            return enter.map_or(keys.clone(), |enter| format!("{keys}, then {enter}"));
        }
        let arrows = arrows.into_iter().chain(enter).collect::<Vec<_>>().join(" ");
        let keys = digits.into_iter().chain(Some(arrows).filter(|keys| !keys.is_empty()));
        format!("{} picks", keys.collect::<Vec<_>>().join(" or "))
    }

    /// Hints for all keys.
    pub fn hint(&self, model: &TuiModel) -> Vec<String> {
        let all = match (self.action, self.confirms) {
            (AgentAction::Cancel, _) if self.is_unread(model.now) => "a twice: all",
            (AgentAction::Cancel, false) => "a twice or Ctrl+C: all",
            (AgentAction::Cancel, true) => "a or Ctrl+C: all",
            (AgentAction::Background, false) => "a twice: all",
            (AgentAction::Background, true) => "a: all",
        };
        vec![self.key_hints(model), all.to_owned(), "Esc: none".to_owned()]
    }
}
