//! Agents as lines of a grid or rows, and the line about those that do not fit or need the user.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::agents::AgentState;
use crate::tui::agents::gutter::edge;
use crate::tui::agents::pane_area::{PaneAreas, line_area};
use crate::tui::agents::row::{AgentColumns, AgentGroup, Emphasis, number_style, task};
use crate::tui::labels;
use crate::tui::layout::Panel;
use crate::tui::paint::{cut_spans, put, spans_width};
use crate::tui::text::truncate;
use crate::tui::theme::Glyph;

/// Cells of the tasks of agents in trouble if there are many of them.
const CUT_TASK_WIDTH: usize = 12;

/// One line per agent. A line about those in trouble and those that do not fit is above a grid, and below
/// the rows of a small screen.
pub fn draw(group: AgentGroup<'_>, panel: &Panel, buffer: &mut Buffer) -> PaneAreas {
    let columns = usize::from(panel.columns);
    let mut height = usize::from(panel.area.height);
    if panel.header.is_none() && group.agents.len() > height * columns {
        height = height.saturating_sub(1);
    }
    let shown = most_telling(group, height * columns);
    let hidden = group.agents.len() - shown.len();
    if let Some(area) = panel.note {
        put(buffer, area, 0, &more_line(group, hidden, area.width));
    } else if hidden > 0 {
        let gone = |agent: &&&AgentState| !shown.iter().any(|other| other.path == agent.path);
        let gone: Vec<&AgentState> = group.agents.iter().filter(gone).copied().collect();
        let words = more_line(AgentGroup { agents: &gone, ..group }, hidden, panel.area.width);
        put(buffer, panel.area, height, &words);
    }
    let group = AgentGroup { agents: &shown, ..group };
    let per_column = shown.len().div_ceil(columns).max(1);
    let width = panel.column_width();
    let shared = AgentColumns::new(group, usize::from(width));
    let mut areas = PaneAreas::new();
    for (at, agent) in shown.iter().enumerate() {
        let (column, row) = (at / per_column, at % per_column);
        let (Ok(column), Ok(row)) = (u16::try_from(column), u16::try_from(row)) else { continue };
        let area = Rect::new(panel.column_x(column), panel.area.y + row, width, 1);
        let area = area.intersection(panel.area);
        put(buffer, area, 0, &line(group, at, &shared));
        areas.push(line_area(area, agent));
    }
    areas
}

/// As many agents as there is room for, in the order of the panel: the one whose question is open and the
/// focused one, then those in trouble, at work, in the queue, and ended ones: those that were not done,
/// then the newest end first.
pub fn most_telling<'a>(group: AgentGroup<'a>, room: usize) -> Vec<&'a AgentState> {
    let AgentGroup { model, agents, .. } = group;
    if agents.len() <= room {
        return agents.to_vec();
    }
    let asker = model.questions.current().map(|(_, waiting)| &waiting.question.path);
    let rank = |at: &usize| {
        let agent = agents[*at];
        let class = match labels::agent_status(model, agent).glyph {
            _ if asker == Some(&agent.path) => 0,
            _ if group.is_focused(*at) => 0,
            Glyph::Asks => 1,
            Glyph::Failed => 2,
            _ if agent.running() => 3,
            Glyph::Queued => 4,
            Glyph::Done => 6,
            _ => 5,
        };
        let ended = agent.run.ended.filter(|_| class >= 5).unwrap_or_default();
        (class, std::cmp::Reverse(ended), *at)
    };
    let mut ranked: Vec<usize> = (0..agents.len()).collect();
    ranked.sort_by_cached_key(rank);
    ranked.truncate(room);
    ranked.sort_unstable();
    ranked.into_iter().map(|at| agents[at]).collect()
}

/// `▌1 map the routes  explore  ⠹ Grep "fn route"    0:42  4/20  $0.04`.
pub fn line(group: AgentGroup<'_>, at: usize, columns: &AgentColumns) -> Line<'static> {
    let agent = group.agents[at];
    let state = labels::agent_status(group.model, agent);
    let focused = group.is_focused(at);
    let emphasis = if focused { Emphasis::Focused } else { Emphasis::Normal };
    columns.line(group, agent, &state, edge(group, at), emphasis)
}

/// ` +7 more   ⚑ 7 plan the migration   ✗ 9 check i18n · 12 read the docs`: those that do not fit, that
/// need the user, and that have failed. Without room for tasks, these are cut, or left out.
pub fn more_line(group: AgentGroup<'_>, more: usize, room: u16) -> Line<'static> {
    let room = usize::from(room);
    let forms = [usize::MAX, CUT_TASK_WIDTH, 0].map(|task| trouble_spans(group, more, task));
    let fits = forms.iter().position(|spans| spans_width(spans) <= room);
    let mut spans = forms.into_iter().nth(fits.unwrap_or(2)).unwrap_or_default();
    cut_spans(&mut spans, room);
    Line::from(spans)
}

fn trouble_spans(group: AgentGroup<'_>, more: usize, tasks: usize) -> Vec<Span<'static>> {
    let AgentGroup { model, agents, painter } = group;
    let theme = painter.theme;
    let mut spans = Vec::new();
    if more > 0 {
        spans.push(Span::styled(format!(" +{more} more"), theme.dim));
    }
    let glyph = |agent: &&&AgentState| labels::agent_status(model, agent).glyph;
    for sign in [Glyph::Asks, Glyph::Failed] {
        let those: Vec<_> = agents.iter().filter(|agent| glyph(agent) == sign).collect();
        for (at, agent) in those.into_iter().enumerate() {
            let before = match (at, tasks) {
                (0, _) if spans.is_empty() => " ",
                (0, _) => "   ",
                (_, 0) => " ",
                (_, _) => " · ",
            };
            spans.push(Span::styled(before, theme.dim));
            if at == 0 {
                let sign = Span::styled(format!("{} ", painter.sign(sign)), painter.style(sign));
                spans.push(sign);
            }
            spans.push(Span::styled(agent.number.to_string(), number_style(painter, agent)));
            if tasks > 0 {
                let task = format!(" {}", truncate(&task(agent), tasks));
                spans.push(Span::styled(task, theme.text));
            }
        }
    }
    spans
}
