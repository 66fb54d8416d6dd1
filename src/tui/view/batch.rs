//! The line of a batch of agents in main's transcript, with one line for each of them.

use std::time::Duration;

use ratatui::text::{Line, Span};

use crate::protocol::AgentPath;
use crate::tui::figures::{clock, count, money, tokens};
use crate::tui::keymap::{Action, Context};
use crate::tui::model::{Agent, Agents, HISTORY, Model, Phase, Run};
use crate::tui::text::{padded, width};
use crate::tui::words::{self, tally_words};

use super::paint::{Pen, two_ends};

/// The lines of a batch: live while its agents work, and what became of them afterwards.
#[must_use]
pub fn lines(
    model: &Model,
    members: &[AgentPath],
    folded: bool,
    room: u16,
    pen: Pen<'_>,
) -> Vec<Line<'static>> {
    let agents: Vec<&Agent> = members.iter().flat_map(|top| model.agents.within(top)).collect();
    let queued = model.agents.queued();
    let room = usize::from(room);
    let mut all = vec![head(model, &agents, folded, room, pen)];
    let name = agents.iter().map(|agent| width(&agent.info.name)).max().unwrap_or(0).min(20);
    let title =
        agents.iter().map(|agent| width(&agent.info.description)).max().unwrap_or(0).min(28);
    let row = |agent: &&Agent| row(model, (agent, queued), (name, title), room, pen);
    all.extend(agents.iter().map(row));
    all
}

fn head(
    model: &Model,
    agents: &[&Agent],
    folded: bool,
    room: usize,
    pen: Pen<'_>,
) -> Line<'static> {
    let theme = pen.theme;
    let tally = Agents::tally(agents.iter().copied());
    let alive = tally.running + tally.queued > 0;
    let asks = words::asking(model, agents.iter().copied());
    let mut text = if alive {
        tally_words(tally, asks, pen.theme.glyphs, true)
    } else {
        let pieces = [count(tally.all, "agent"), words::ends(tally, pen.theme.glyphs)];
        let pieces = pieces.into_iter().filter(|piece| !piece.is_empty());
        pieces.chain(words::aside_words(tally)).collect::<Vec<_>>().join(" · ")
    };
    if !alive {
        if let Some(worked) = worked(agents) {
            text.push_str(&format!(" · {}", clock(worked)));
        }
        let (used, cost) = words::sum(agents.iter().copied());
        text.push_str(&format!(" · {} · {}", tokens(used), money(cost)));
    }
    let mark = Span::styled(format!("{} ", theme.glyphs.tool), theme.dim);
    let opens = model.keymap.hint(Context::Prompt, Action::Next, "opens them");
    let right = opens.filter(|_| folded).map(|words| Span::styled(words, theme.dim));
    two_ends(vec![mark, Span::raw(text)], right.into_iter().collect(), room, None)
}

/// The time from the first start to the last end. Runs of a history and those of this program are
/// on different parts of the clock, so their times add up.
fn worked(agents: &[&Agent]) -> Option<Duration> {
    let span = |is_history: bool| {
        let times = |time: fn(&Run) -> Option<Duration>| {
            let times = agents.iter().filter_map(move |agent| time(&agent.run));
            times.filter(move |time| (*time >= HISTORY) == is_history)
        };
        let (from, to) = (times(|run| run.started).min()?, times(|run| run.ended).max()?);
        Some(to.saturating_sub(from))
    };
    [span(true), span(false)].into_iter().flatten().reduce(|before, now| before + now)
}

fn row(
    model: &Model,
    (agent, queued): (&Agent, usize),
    columns: (usize, usize),
    room: usize,
    pen: Pen<'_>,
) -> Line<'static> {
    let theme = pen.theme;
    let state = words::agent_state_of(model, agent, || queued);
    let text = match &agent.run.phase {
        Phase::Ended(end) => words::short_end(agent, end),
        _ if agent.aside => "in the background".to_owned(),
        _ => words::row_words(model, agent, &state),
    };
    let (name, title) = columns;
    let nested = "  ".repeat(agent.path.depth().saturating_sub(1) as usize);
    let left = vec![
        Span::raw(format!("  {nested}")),
        Span::styled(pen.sign(state.glyph), pen.style(state.glyph)),
        Span::raw(format!(" {}  ", padded(&agent.info.name, name))),
        Span::styled(format!("{}  ", padded(&agent.info.description, title)), theme.dim),
        Span::raw(text),
    ];
    let (used, cost) = words::spent(&model.agents, &agent.path);
    let turns = count(agent.run.turn as usize, "turn");
    let mut figures = Vec::new();
    if let Some(elapsed) = agent.run.elapsed(model.now) {
        figures.push(clock(elapsed));
        if agent.alive() {
            figures.push(super::panes::turns(&agent.run));
        } else {
            figures.push(format!("{turns} {}", tokens(used)));
        }
        figures.push(money(cost));
    }
    // Too narrow: cost goes first, then turns, then time.
    let needed =
        |figures: &[String]| super::paint::spans_width(&left) + width(&figures.join(" ")) + 1;
    while !figures.is_empty() && needed(&figures) > room {
        figures.pop();
    }
    two_ends(left, vec![Span::styled(figures.join(" "), theme.dim)], room, None)
}
