//! The rows between the body and the prompt: agents and commands running in the background.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::agents::pane_area::{PaneAreas, line_area};
use crate::tui::agents::row::{AgentColumns, AgentGroup};
use crate::tui::agents::{AgentState, grid};
use crate::tui::background::Job;
use crate::tui::format::clock;
use crate::tui::labels;
use crate::tui::model::TuiModel;
use crate::tui::overlay::Overlay;
use crate::tui::paint::{Painter, put, spans_width, two_ends};
use crate::tui::text::{one_line, truncate, width};

/// Stands before a command.
const PROMPT: &str = "$ ";

/// Cells of a command that its state does not take.
const MIN_COMMAND_WIDTH: usize = 12;

/// Cells between the state and the time.
const GAP: usize = 2;

/// Number of rows to show; none beside `/agents`, which has the same.
pub fn count(model: &TuiModel) -> usize {
    if matches!(model.overlay, Some(Overlay::Agents(_))) {
        return 0;
    }
    agents(model).len() + model.jobs.strip().count()
}

/// The agents with a row: not the one that fills the body, whose head says the same.
fn agents(model: &TuiModel) -> Vec<&AgentState> {
    let zoomed = model.zoomed().map(|agent| &agent.path);
    let mut agents = model.agents.strip();
    agents.retain(|agent| Some(&agent.path) != zoomed);
    agents
}

/// Where the rows are, for the mouse.
#[derive(Default)]
pub struct BackgroundAreas {
    pub agents: PaneAreas,
    /// The commands, by their ids.
    pub jobs: Vec<(Rect, String)>,
}

/// Draws the rows: agents first, then commands. The focused agent is always visible.
pub fn draw(
    model: &TuiModel,
    area: Rect,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) -> BackgroundAreas {
    let agents = agents(model);
    let jobs: Vec<&Job> = model.jobs.strip().collect();
    let all = agents.len() + jobs.len();
    let group = AgentGroup { model, agents: &agents, painter };
    let focus = (0..agents.len()).find(|at| group.is_focused(*at));
    let ended = |at: usize| match agents.get(at) {
        Some(agent) => !agent.alive(),
        None => !jobs[at - agents.len()].alive(),
    };
    let ended: Vec<bool> = (0..all).map(ended).collect();
    let visible = visible_rows(&ended, usize::from(area.height), focus);
    let columns = AgentColumns::new(group, usize::from(area.width));
    let mut areas = BackgroundAreas::default();
    for (row, at) in visible.iter().copied().enumerate() {
        let y = area.y + u16::try_from(row).unwrap_or_default();
        let place = Rect { y, height: 1, ..area };
        let Some(agent) = agents.get(at) else {
            let job = jobs[at - agents.len()];
            put(buffer, area, row, &job_line(model, job, area.width, painter));
            areas.jobs.push((place, job.id.to_string()));
            continue;
        };
        put(buffer, area, row, &grid::line(group, at, &columns));
        areas.agents.push(line_area(place, agent));
    }
    if visible.len() < all {
        let hidden = agents.iter().enumerate().filter(|(at, _)| !visible.contains(at));
        let hidden: Vec<&AgentState> = hidden.map(|(_, agent)| *agent).collect();
        let hidden = AgentGroup { agents: &hidden, ..group };
        put(buffer, area, visible.len(), &grid::more_line(hidden, all - visible.len(), area.width));
    }
    areas
}

/// The visible rows, given which ones have ended. If not all fit, leaves one line to count the others, and
/// leaves out those that have ended first.
fn visible_rows(ended: &[bool], room: usize, focus: Option<usize>) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..ended.len()).collect();
    if rows.len() > room {
        rows.sort_by_key(|at| (Some(*at) != focus, ended[*at]));
        rows.truncate(room.saturating_sub(1));
        rows.sort_unstable();
    }
    rows
}

/// `$ npm run dev  bash-1  ⠹ running      1:20`. Unlike the line of an agent, it begins with no number.
pub fn job_line(model: &TuiModel, job: &Job, room: u16, painter: Painter<'_>) -> Line<'static> {
    let (theme, room) = (painter.theme, usize::from(room));
    let style = if job.alive() { theme.text } else { theme.dim };
    let state = labels::job_status(job);
    let sign = format!("  {} ", painter.sign(state.glyph));
    let behind = [
        Span::styled(format!("  {}", job.id), theme.dim),
        Span::styled(sign, painter.style(state.glyph)),
        Span::styled(state.text, style),
    ];
    let time = job.elapsed(model.now).map(clock).filter(|time| room > width(time) + 20);
    let right: Vec<Span<'_>> = time.map(|time| Span::styled(time, theme.dim)).into_iter().collect();
    let others = width(PROMPT) + spans_width(&behind) + GAP + spans_width(&right);
    let cells = room.saturating_sub(others).max(MIN_COMMAND_WIDTH);
    let command = truncate(&one_line(&job.command), cells).into_owned();
    let left = [Span::styled(PROMPT, theme.dim), Span::styled(command, style)];
    two_ends(left.into_iter().chain(behind).collect(), right, room, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_focus_is_always_in_the_window() {
        assert_eq!(visible_rows(&[false; 2], 2, Some(1)), [0, 1]);
        assert_eq!(visible_rows(&[false; 5], 2, None), [0]);
        assert_eq!(visible_rows(&[false; 5], 2, Some(3)), [3]);
        assert_eq!(visible_rows(&[false; 5], 0, Some(3)), [0; 0]);
    }

    #[test]
    fn those_that_have_ended_are_left_out_first() {
        let ended = [true, false, true, false];
        assert_eq!(visible_rows(&ended, 2, None), [1]);
        assert_eq!(visible_rows(&ended, 3, None), [1, 3]);
        assert_eq!(visible_rows(&ended, 3, Some(2)), [1, 2]);
    }
}
