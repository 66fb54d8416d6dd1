//! The rows between the body and the prompt: agents and commands that go on in the background.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::figures::clock;
use crate::tui::model::{Agent, Job, Model};
use crate::tui::text::width;
use crate::tui::words;

use super::paint::{Pen, put, two_ends};
use super::panes::{self, Places};

/// Rows at most, the last one for what does not fit.
pub const ROWS: u16 = 2;

/// How many rows there are to show.
#[must_use]
pub fn count(model: &Model) -> usize {
    model.agents.strip().len() + model.jobs.strip().count()
}

/// Draws the rows: agents first, then commands. The agent with the focus is always among them.
pub fn draw(model: &Model, area: Rect, pen: Pen<'_>, buffer: &mut Buffer) -> Places {
    let agents = model.agents.strip();
    let jobs: Vec<&Job> = model.jobs.strip().collect();
    let room = usize::from(area.height);
    if room == 0 {
        return Places::new();
    }
    let all = agents.len() + jobs.len();
    let visible = if all > room { room - 1 } else { all };
    let focus = agents.iter().position(|agent| model.focus.as_ref() == Some(&agent.path));
    let first = focus.map_or(0, |at| (at + 1).saturating_sub(visible.max(1)));
    let visible = if focus.is_some() { visible.max(1) } else { visible };
    let mut places = Places::new();
    for (row, at) in (first..all).take(visible).enumerate() {
        match agents.get(at) {
            Some(agent) => {
                put(buffer, area, row, &panes::row(model, &agents, at, area.width, pen));
                let y = area.y + u16::try_from(row).unwrap_or_default();
                places.push((Rect { y, height: 1, ..area }, agent.path.clone()));
            }
            None => {
                put(buffer, area, row, &job_row(model, jobs[at - agents.len()], area.width, pen))
            }
        }
    }
    if visible < all && visible < room {
        let shown = first..first + visible;
        let is_hidden = |at: &usize| !shown.contains(at);
        let hidden: Vec<&Agent> =
            (0..agents.len()).filter(is_hidden).map(|at| agents[at]).collect();
        put(
            buffer,
            area,
            visible,
            &panes::more_line(model, all - visible, &hidden, area.width, pen),
        );
    }
    places
}

/// ` bash-1 ⠹ npm run dev    1:20`.
fn job_row(model: &Model, job: &Job, room: u16, pen: Pen<'_>) -> Line<'static> {
    let state = words::job_state(job);
    let look = if job.alive() { pen.theme.text } else { pen.theme.dim };
    let time = clock(job.elapsed(model.now));
    let mut left = vec![
        Span::styled(format!("{} ", pen.theme.glyphs.bar), pen.theme.dim),
        Span::styled(format!("{} ", job.id), look),
        Span::styled(format!("{} ", pen.sign(state.glyph)), pen.style(state.glyph)),
        Span::styled(state.words.clone(), look),
    ];
    if !job.alive() {
        let command = crate::tui::text::one_line(&job.command);
        left.push(Span::styled(format!(" · {command}"), pen.theme.dim));
    }
    let right = if usize::from(room) > width(&time) + 20 {
        vec![Span::styled(time, pen.theme.dim)]
    } else {
        Vec::new()
    };
    two_ends(left, right, usize::from(room), None)
}
