//! `/agents`: rows under three headings, and details of the selected one below.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::agents::AgentState;
use crate::tui::agents::gutter::edge;
use crate::tui::agents::list::AgentList;
use crate::tui::agents::list::rows::ListRow;
use crate::tui::agents::row::{AgentColumns, AgentGroup, Emphasis};
use crate::tui::background::Job;
use crate::tui::background::draw::job_line;
use crate::tui::labels;
use crate::tui::model::TuiModel;
use crate::tui::paint::{Painter, put_all};
use crate::tui::popup::{self, DrawnList, PopupTitle, draw_rows};
use crate::tui::text::{column_width, one_line, padded, wrap_text};

/// Stands before the state of an agent whose worktree holds something to merge or discard.
const LEFT_WORK: &str = "left work";

/// Maximum width of the names of definitions, in cells.
const MAX_NAME_WIDTH: usize = 24;

/// Maximum number of detail lines below the list.
const ABOUT_LINES: usize = 4;

/// The most bytes of a task below the list.
const MAX_TASK_BYTES: usize = 1000;

/// Minimum number of lines of the list beside details.
const LIST_LINES: u16 = 4;

/// Draws the list.
pub fn draw(
    model: &TuiModel,
    list: &AgentList,
    area: Rect,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) -> DrawnList {
    let room = popup::room(area).0;
    let found = list.rows(model);
    let (lines, rows) = all_lines(model, list, &found, room, painter);
    let chosen = list.selected.min(found.len().saturating_sub(1));
    let selected = rows.iter().position(|row| *row == Some(chosen)).unwrap_or(usize::MAX);
    let about = |row: &ListRow| {
        let words = about_words(model, row, room, painter);
        let mut about = wrap_text(&words, room.max(1), painter.theme.dim);
        about.truncate(ABOUT_LINES);
        about
    };
    // As much for each row, so that the box does not move with the selection.
    let about_lines = found.iter().map(|row| about(row).len()).max().map_or(0, |lines| lines + 1);
    let area = popup::place(area, usize::from(room), lines.len() + about_lines);
    let filter = Some(&list.filter).filter(|text| list.filtering || !text.is_empty());
    let is_cut = lines.len() + about_lines > usize::from(area.height.saturating_sub(2));
    let note = popup::position(list.selected, found.len(), is_cut, !list.filter.is_empty());
    let title = PopupTitle { name: "agents", filter, note };
    let (mut inner, cursor) = popup::draw(&title, area, painter, buffer);
    let height = u16::try_from(about_lines).unwrap_or(u16::MAX);
    let least = LIST_LINES.min(u16::try_from(lines.len()).unwrap_or(u16::MAX));
    if inner.height >= height.saturating_add(least) {
        let below =
            Rect { y: inner.bottom() - height + 1, height: height.saturating_sub(1), ..inner };
        inner.height -= height;
        if let Some(chosen) = list.selected_row(model) {
            put_all(buffer, below, &about(&chosen));
        }
    }
    let visible = draw_rows(lines, selected, model.keys.clicked_top(), inner, painter, buffer);
    let rows = visible.rows(|line| rows.get(line).copied().flatten());
    let cursor = cursor.filter(|_| list.filtering);
    DrawnList { cursor, lines: visible.room, top: visible.top, rows }
}

/// Facts about a row besides its line.
fn about_words(model: &TuiModel, row: &ListRow, room: u16, painter: Painter<'_>) -> String {
    match row {
        ListRow::Definition(definition) => format!(
            "{}\ntools: {} · model: {} · {}",
            one_line(&definition.description),
            one_line(&definition.tools),
            one_line(&definition.model),
            one_line(&definition.origin)
        ),
        ListRow::Agent(path) => {
            let task = model.agents.get(path).map_or("", |agent| &*agent.info.prompt);
            let start = &task[..task.floor_char_boundary(MAX_TASK_BYTES)];
            let work = model.agents.get(path).filter(|agent| agent.has_work());
            let work = work.and_then(|agent| agent.worktree.as_ref());
            let work = work.map(|work| format!("work: on the branch {}\n", work.branch));
            format!("{}task: {}", work.unwrap_or_default(), one_line(start))
        }
        ListRow::Job(id) => {
            let job = model.jobs.get(id);
            let line = line(model, row, 0, room, painter).to_string();
            job.map(|job| job_words(model, job, &line)).unwrap_or_default()
        }
    }
}

/// Facts about a command besides its line: who started it, and all of it if the line has cut it.
fn job_words(model: &TuiModel, job: &Job, line: &str) -> String {
    let starter = format!("started by {}", model.label(&job.path));
    let command = one_line(&job.command);
    if line.contains(&command) { starter } else { format!("{starter}\n{command}") }
}

/// The rows with their headings, and for each line the row that it is.
fn all_lines(
    model: &TuiModel,
    list: &AgentList,
    found: &[ListRow],
    room: u16,
    painter: Painter<'_>,
) -> (Vec<Line<'static>>, Vec<Option<usize>>) {
    let agents: Vec<&AgentState> = found.iter().filter_map(|row| row.agent(model)).collect();
    // Each stands below the one that started it, but not in another section or in the order of a filter.
    let together = |one: &&AgentState, other: &&AgentState| {
        list.filter.is_empty() && one.alive() == other.alive()
    };
    let groups = agents.chunk_by(together).map(|agents| AgentGroup { model, agents, painter });
    let groups: Vec<AgentGroup<'_>> = groups.collect();
    // Without the mark of the selection.
    let columns = AgentColumns::with_names(&groups, usize::from(room).saturating_sub(2));
    let mut agent_lines = groups
        .iter()
        .flat_map(|group| (0..group.agents.len()).map(|at| agent_line(*group, at, &columns)));
    let definitions = found.iter().filter(|row| matches!(row, ListRow::Definition(_)));
    let names = column_width(definitions.map(|row| row.name(model)), MAX_NAME_WIDTH);
    let (mut lines, mut rows, mut section) = (Vec::new(), Vec::new(), None);
    for (at, row) in found.iter().enumerate() {
        let of = row.section(model);
        if section != Some(of) {
            lines.push(Line::styled(of.title(), painter.theme.dim));
            rows.push(None);
            section = Some(of);
        }
        rows.push(Some(at));
        lines.push(match row {
            ListRow::Agent(_) => agent_lines.next().unwrap_or_default(),
            _ => line(model, row, names, room, painter),
        });
    }
    if list.definitions.is_none() {
        lines.push(Line::styled("loading definitions", painter.theme.dim));
    } else if found.is_empty() {
        lines.push(Line::styled("no match", painter.theme.dim));
    }
    (lines, rows)
}

fn agent_line(group: AgentGroup<'_>, at: usize, columns: &AgentColumns) -> Line<'static> {
    let agent = group.agents[at];
    let mut state = labels::agent_status(group.model, agent);
    if agent.alive() && agent.in_background {
        state.push_words(" · in the background");
    }
    if agent.has_work() {
        state.mark(LEFT_WORK);
    }
    columns.line(group, agent, &state, edge(group, at), Emphasis::Normal)
}

/// The line of a command or a definition.
fn line(
    model: &TuiModel,
    row: &ListRow,
    names: usize,
    room: u16,
    painter: Painter<'_>,
) -> Line<'static> {
    let theme = painter.theme;
    let room = room.saturating_sub(2);
    match row {
        ListRow::Definition(definition) => Line::from(vec![
            Span::styled("@ ", theme.dim),
            Span::raw(format!("{}  ", padded(&definition.name, names))),
            Span::styled(one_line(&definition.description), theme.dim),
        ]),
        ListRow::Job(id) => {
            let job = model.jobs.get(id);
            job.map(|job| job_line(model, job, room, painter)).unwrap_or_default()
        }
        ListRow::Agent(_) => Line::default(),
    }
}
