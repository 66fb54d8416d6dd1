//! A batch of agents in main's transcript: a header, and one line per agent.

use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::protocol::AgentPath;
use crate::tui::agents::row::AgentRow;
use crate::tui::agents::{AgentSet, AgentState, HISTORY_START, RunPhase, RunState, row};
use crate::tui::format::{clock, count, money, tokens};
use crate::tui::keymap::{Action, KeyContext};
use crate::tui::labels;
use crate::tui::labels::tally_label;
use crate::tui::model::TuiModel;
use crate::tui::paint::{Painter, two_ends};
use crate::tui::text::{padded, width};
use crate::tui::transcript::{ItemKind, TranscriptItem};

/// The lines of a transcript item that changes with its agents; `None` for other items.
pub fn live_lines(
    model: &TuiModel,
    item: &TranscriptItem,
    room: u16,
    pen: Painter<'_>,
) -> Option<Vec<Line<'static>>> {
    match &item.kind {
        ItemKind::Batch { members, folded } => Some(lines(model, members, *folded, room, pen)),
        _ => None,
    }
}

/// The lines of a batch: live while its agents work, their results afterwards.
fn lines(
    model: &TuiModel,
    members: &[AgentPath],
    folded: bool,
    room: u16,
    pen: Painter<'_>,
) -> Vec<Line<'static>> {
    let agents: Vec<&AgentState> =
        members.iter().flat_map(|top| model.agents.within(top)).collect();
    let queued = model.agents.queued();
    let room = usize::from(room);
    let mut all = vec![header(model, &agents, folded, room, pen)];
    let name = agents.iter().map(|agent| width(&agent.info.name)).max().unwrap_or(0).min(20);
    let title =
        agents.iter().map(|agent| width(&agent.info.description)).max().unwrap_or(0).min(28);
    let row = |agent: &&AgentState| row(model, (agent, queued), (name, title), room, pen);
    all.extend(agents.iter().map(row));
    all
}

fn header(
    model: &TuiModel,
    agents: &[&AgentState],
    folded: bool,
    room: usize,
    pen: Painter<'_>,
) -> Line<'static> {
    let theme = pen.theme;
    let tally = AgentSet::tally(agents.iter().copied());
    let alive = tally.running + tally.queued > 0;
    let asks = labels::count_asking(model, agents.iter().copied());
    let mut text = if alive {
        tally_label(tally, asks, pen.theme.glyphs, true)
    } else {
        let pieces = [count(tally.all, "agent"), labels::end_counts(tally, pen.theme.glyphs)];
        let pieces = pieces.into_iter().filter(|piece| !piece.is_empty());
        pieces.chain(labels::background_label(tally)).collect::<Vec<_>>().join(" · ")
    };
    if !alive {
        if let Some(worked) = total_time(agents) {
            text.push_str(&format!(" · {}", clock(worked)));
        }
        let (used, cost) = labels::sum_usage(agents.iter().copied());
        text.push_str(&format!(" · {} · {}", tokens(used), money(cost)));
    }
    let mark = Span::styled(format!("{} ", theme.glyphs.tool), theme.dim);
    let opens = model.keymap.hint(KeyContext::Prompt, Action::Next, "opens them");
    let right = opens.filter(|_| folded).map(|words| Span::styled(words, theme.dim));
    two_ends(vec![mark, Span::raw(text)], right.into_iter().collect(), room, None)
}

/// The time from the first start to the last end. Replayed runs and those of this process use
/// different parts of the clock, so the two times are added.
fn total_time(agents: &[&AgentState]) -> Option<Duration> {
    let span = |is_history: bool| {
        let times = |time: fn(&RunState) -> Option<Duration>| {
            let times = agents.iter().filter_map(move |agent| time(&agent.run));
            times.filter(move |time| (*time >= HISTORY_START) == is_history)
        };
        let (from, to) = (times(|run| run.started).min()?, times(|run| run.ended).max()?);
        Some(to.saturating_sub(from))
    };
    [span(true), span(false)].into_iter().flatten().reduce(|before, now| before + now)
}

fn row(
    model: &TuiModel,
    (agent, queued): (&AgentState, usize),
    columns: (usize, usize),
    room: usize,
    pen: Painter<'_>,
) -> Line<'static> {
    let theme = pen.theme;
    let state = labels::agent_status_with(model, agent, || queued);
    let text = match &agent.run.phase {
        RunPhase::Ended(end) => labels::short_end_label(agent, end),
        _ if agent.in_background => "in the background".to_owned(),
        _ => labels::row_label(model, agent, &state),
    };
    let (name, title) = columns;
    let nested = "  ".repeat(agent.path.depth().saturating_sub(1) as usize);
    let mut figures = row::figures(model, agent);
    match agent.run.elapsed(model.now) {
        Some(_) if agent.alive() => {}
        Some(_) => {
            let (used, _) = labels::tree_usage(&model.agents, &agent.path);
            figures[1] = format!("{} {}", count(agent.run.turn as usize, "turn"), tokens(used));
        }
        None => figures.clear(),
    }
    let plain = Style::new();
    AgentRow::new(state, pen)
        .text(format!("  {nested}"), plain)
        .glyph()
        .text(format!("{}  ", padded(&agent.info.name, name)), plain)
        .text(format!("{}  ", padded(&agent.info.description, title)), theme.dim)
        .text(text, plain)
        .figures(figures, theme.dim)
        .fit(room, 0)
        .line(room, None)
}
