//! `/agents`: rows under three headings, and details of the selected definition below.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::tui::agents::list::AgentList;
use crate::tui::agents::list::rows::ListRow;
use crate::tui::agents::row::AgentRow;
use crate::tui::format::{clock, money};
use crate::tui::labels;
use crate::tui::model::TuiModel;
use crate::tui::paint::{Painter, draw_rows, frame, put_all};
use crate::tui::text::{column_width, one_line, padded, wrap_text};

/// Maximum number of detail lines below the list.
const ABOUT_LINES: usize = 4;

/// Minimum number of lines of the list beside details.
const LIST_LINES: u16 = 4;

/// Draws the list.
pub fn draw(
    model: &TuiModel,
    list: &AgentList,
    area: Rect,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) {
    let title = if list.filtering {
        format!("agents · filter: {}", list.filter.text())
    } else {
        "agents".to_owned()
    };
    let mut inner = frame(buffer, area, painter.theme, painter.theme.accent, &title, "Esc closes");
    let found = list.rows(model);
    if let Some(ListRow::Definition(chosen)) = list.selected_row(model) {
        let words = format!(
            "{}\ntools: {} · model: {} · {}",
            one_line(&chosen.description),
            one_line(&chosen.tools),
            one_line(&chosen.model),
            one_line(&chosen.origin)
        );
        let mut about = wrap_text(&words, inner.width.max(1), painter.theme.dim);
        about.truncate(ABOUT_LINES);
        let height = u16::try_from(about.len()).unwrap_or(0);
        if inner.height > height + LIST_LINES {
            let below = Rect { y: inner.bottom() - height, height, ..inner };
            put_all(buffer, below, &about);
            inner.height -= height + 1;
        }
    }
    let (lines, selected) = all_lines(model, list, &found, inner.width, painter);
    draw_rows(lines, selected, inner, painter, buffer);
}

/// The rows with their headings, and the index of the selected line.
fn all_lines(
    model: &TuiModel,
    list: &AgentList,
    found: &[ListRow],
    room: u16,
    painter: Painter<'_>,
) -> (Vec<Line<'static>>, usize) {
    let chosen = list.selected.min(found.len().saturating_sub(1));
    let names = column_width(found.iter().map(|row| row.name(model)), 24);
    let (mut lines, mut selected, mut section) = (Vec::new(), usize::MAX, None);
    for (at, row) in found.iter().enumerate() {
        let of = row.section(model);
        if section != Some(of) {
            lines.push(Line::styled(of.title(), painter.theme.dim));
            section = Some(of);
        }
        if at == chosen {
            selected = lines.len();
        }
        lines.push(line(model, row, names, room, painter));
    }
    if list.definitions.is_none() {
        lines.push(Line::styled("loading definitions", painter.theme.dim));
    } else if found.is_empty() {
        lines.push(Line::styled("no match", painter.theme.dim));
    }
    (lines, selected)
}

/// The number of the agent's pane or row, in its colour; blank if it has neither.
fn number(model: &TuiModel, row: &ListRow, painter: Painter<'_>) -> Span<'static> {
    let visible = model.agents.visible();
    let digits = visible.iter().map(|agent| agent.number.to_string().len()).max().unwrap_or(0);
    let agent = match row {
        ListRow::Agent(path) => visible.iter().find(|agent| agent.path == *path),
        _ => None,
    };
    match (digits, agent) {
        (0, _) => Span::raw(""),
        (_, None) => Span::raw(" ".repeat(digits + 1)),
        (_, Some(agent)) => {
            Span::styled(format!("{:>digits$} ", agent.number), painter.agent(agent))
        }
    }
}

fn line(
    model: &TuiModel,
    row: &ListRow,
    names: usize,
    room: u16,
    painter: Painter<'_>,
) -> Line<'static> {
    let theme = painter.theme;
    let name = format!("{}  ", padded(row.name(model), names));
    let room = usize::from(room).saturating_sub(2);
    let (plain, dim) = (Style::new(), theme.dim);
    match row {
        ListRow::Definition(definition) => Line::from(vec![
            Span::styled("@ ", dim),
            Span::raw(name),
            Span::styled(one_line(&definition.description), dim),
        ]),
        ListRow::Job(id) => {
            let Some(job) = model.jobs.get(id) else { return Line::default() };
            let ended = !job.alive() || job.killing;
            let command = ended.then(|| format!("  {}", one_line(&job.command)));
            AgentRow::new(labels::job_status(job), painter)
                .spans([number(model, row, painter)])
                .glyph()
                .text(name, plain)
                .state(plain)
                .text(command.unwrap_or_default(), dim)
                .figures(vec![clock(job.elapsed(model.now))], dim)
                .line(room, None)
        }
        ListRow::Agent(path) => {
            let Some(agent) = model.agents.get(path) else { return Line::default() };
            let (_, cost) = labels::tree_usage(&model.agents, path);
            let time = agent.run.elapsed(model.now).map_or("–".to_owned(), clock);
            let aside = agent.alive() && agent.in_background;
            AgentRow::new(labels::agent_status(model, agent), painter)
                .spans([number(model, row, painter)])
                .glyph()
                .text(name, plain)
                .text(format!("{}  ", one_line(&agent.info.description)), dim)
                .state(plain)
                .text(if aside { " · in the background" } else { "" }, dim)
                .figures(vec![time, money(cost)], dim)
                .line(room, None)
        }
    }
}
