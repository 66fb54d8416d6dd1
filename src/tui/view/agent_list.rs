//! `/agents`: rows under three headings, and details of the selected definition below.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::format::{clock, money};
use crate::tui::labels;
use crate::tui::model::TuiModel;
use crate::tui::model::agent_list::{AgentList, AgentRow};
use crate::tui::text::{one_line, padded, width, wrap_text};

use super::lists::draw_rows;
use super::paint::{Painter, frame, put_all, two_ends};

/// Maximum number of detail lines below the list.
const ABOUT_LINES: usize = 4;

/// Minimum number of lines of the list beside details.
const LIST_LINES: u16 = 4;

/// Draws the list.
pub fn draw(model: &TuiModel, list: &AgentList, area: Rect, pen: Painter<'_>, buffer: &mut Buffer) {
    let title = if list.filtering {
        format!("agents · filter: {}", list.filter.text())
    } else {
        "agents".to_owned()
    };
    let mut inner = frame(buffer, area, pen.theme, pen.theme.accent, &title, "Esc closes");
    let found = list.rows(model);
    if let Some(AgentRow::Definition(chosen)) = list.selected_row(model) {
        let words = format!(
            "{}\ntools: {} · model: {} · {}",
            one_line(&chosen.description),
            one_line(&chosen.tools),
            one_line(&chosen.model),
            one_line(&chosen.origin)
        );
        let mut about = wrap_text(&words, inner.width.max(1), pen.theme.dim);
        about.truncate(ABOUT_LINES);
        let height = u16::try_from(about.len()).unwrap_or(0);
        if inner.height > height + LIST_LINES {
            let below = Rect { y: inner.bottom() - height, height, ..inner };
            put_all(buffer, below, &about);
            inner.height -= height + 1;
        }
    }
    let (lines, selected) = all_lines(model, list, &found, inner.width, pen);
    draw_rows(lines, selected, inner, pen, buffer);
}

/// The rows with their headings, and the index of the selected line.
fn all_lines(
    model: &TuiModel,
    list: &AgentList,
    found: &[AgentRow],
    room: u16,
    pen: Painter<'_>,
) -> (Vec<Line<'static>>, usize) {
    let chosen = list.selected.min(found.len().saturating_sub(1));
    let names = found.iter().map(|row| width(row.name(model))).max().unwrap_or(0).min(24);
    let (mut lines, mut selected, mut section) = (Vec::new(), usize::MAX, None);
    for (at, row) in found.iter().enumerate() {
        let of = row.section(model);
        if section != Some(of) {
            lines.push(Line::styled(of.title(), pen.theme.dim));
            section = Some(of);
        }
        if at == chosen {
            selected = lines.len();
        }
        lines.push(line(model, row, names, room, pen));
    }
    if list.definitions.is_none() {
        lines.push(Line::styled("loading definitions", pen.theme.dim));
    } else if found.is_empty() {
        lines.push(Line::styled("no match", pen.theme.dim));
    }
    (lines, selected)
}

/// The number of the agent's pane or row, in its colour; blank if it has neither.
fn number(model: &TuiModel, row: &AgentRow, pen: Painter<'_>) -> Span<'static> {
    let visible = model.agents.visible();
    let digits = visible.iter().map(|agent| agent.number.to_string().len()).max().unwrap_or(0);
    let agent = match row {
        AgentRow::Agent(path) => visible.iter().find(|agent| agent.path == *path),
        _ => None,
    };
    match (digits, agent) {
        (0, _) => Span::raw(""),
        (_, None) => Span::raw(" ".repeat(digits + 1)),
        (_, Some(agent)) => {
            let colour = pen.theme.agent(agent.info.color.as_deref(), agent.colour);
            Span::styled(format!("{:>digits$} ", agent.number), colour)
        }
    }
}

fn line(
    model: &TuiModel,
    row: &AgentRow,
    names: usize,
    room: u16,
    pen: Painter<'_>,
) -> Line<'static> {
    let theme = pen.theme;
    let name = format!("{}  ", padded(row.name(model), names));
    let room = usize::from(room).saturating_sub(2);
    match row {
        AgentRow::Definition(definition) => Line::from(vec![
            Span::styled("@ ", theme.dim),
            Span::raw(name),
            Span::styled(one_line(&definition.description), theme.dim),
        ]),
        AgentRow::Job(id) => {
            let Some(job) = model.jobs.get(id) else { return Line::default() };
            let state = labels::job_status(job);
            let mut left = vec![
                number(model, row, pen),
                Span::styled(format!("{} ", pen.sign(state.glyph)), pen.style(state.glyph)),
                Span::raw(name),
                Span::raw(state.text),
            ];
            if !job.alive() || job.killing {
                left.push(Span::styled(format!("  {}", one_line(&job.command)), theme.dim));
            }
            let time = clock(job.elapsed(model.now));
            two_ends(left, vec![Span::styled(time, theme.dim)], room, None)
        }
        AgentRow::Agent(path) => {
            let Some(agent) = model.agents.get(path) else { return Line::default() };
            let state = labels::agent_status(model, agent);
            let (_, cost) = labels::tree_usage(&model.agents, path);
            let time = agent.run.elapsed(model.now).map_or("–".to_owned(), clock);
            let title = one_line(&agent.info.description);
            let mut left = vec![
                number(model, row, pen),
                Span::styled(format!("{} ", pen.sign(state.glyph)), pen.style(state.glyph)),
                Span::raw(name),
                Span::styled(format!("{title}  "), theme.dim),
                Span::raw(state.text),
            ];
            if agent.alive() && agent.in_background {
                left.push(Span::styled(" · in the background", theme.dim));
            }
            let right = vec![Span::styled(format!("{time} {}", money(cost)), theme.dim)];
            two_ends(left, right, room, None)
        }
    }
}
