//! Draws "Cancel which?" and "Background which?", and their hints.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::tui::agents::AgentState;
use crate::tui::agents::gutter::edge;
use crate::tui::agents::picker::{AgentAction, AgentPicker};
use crate::tui::agents::row::{AgentColumns, AgentGroup, Emphasis};
use crate::tui::keymap::{Action, KeyContext};
use crate::tui::model::TuiModel;
use crate::tui::paint::{BorderText, Painter, frame_with};
use crate::tui::popup::{DrawnList, draw_rows, position};
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
    let (theme, style) = (painter.theme, painter.theme.question);
    let name = match which.action {
        AgentAction::Cancel => "Cancel which?",
        AgentAction::Background => "Background which?",
    };
    let mut left = vec![Span::styled(name, style)];
    if !which.typed.is_empty() {
        left.push(Span::styled(format!(" {} ", theme.glyphs.prompt), theme.dim));
        left.push(Span::styled(which.typed.clone(), theme.text));
    }
    let is_cut = which.rows.len() + 2 > usize::from(area.height);
    let place = position(which.selected, which.rows.len(), is_cut, false);
    let words = |words: String| match words.is_empty() {
        true => Vec::new(),
        false => vec![Span::styled(words, theme.dim)],
    };
    let title = BorderText { left, right: words(place) };
    // Otherwise the hint line has the keys.
    let (width, height) = model.size;
    let tiny = layout::is_tiny(width, height);
    let foot = if tiny { which.hint(model).join(" · ") } else { String::new() };
    let foot = BorderText { left: words(foot), right: Vec::new() };
    let inner = frame_with(buffer, area, theme, style, title, foot);
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
    // A number that no agent has selects none.
    let named = |number: usize| agents.get(which.selected).is_some_and(|it| it.number == number);
    let is_named = which.typed.is_empty() || which.typed.parse().is_ok_and(named);
    let selected = if is_named { which.selected } else { usize::MAX };
    let visible = draw_rows(lines, selected, model.keys.clicked_top(), inner, painter, buffer);
    let rows = visible.rows(|line| (line < which.rows.len()).then_some(line));
    DrawnList { cursor: None, lines: visible.room, top: visible.top, rows }
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
            _ => Some(digits.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
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
