//! A batch of agents in main's transcript: a header, and one line per agent.

use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::protocol::AgentPath;
use crate::tui::agents::row::{AgentGroup, AgentRow};
use crate::tui::agents::{AgentState, HISTORY_START, RunPhase, RunState, row};
use crate::tui::format::{clock, count, money, tokens};
use crate::tui::keymap::{Action, KeyContext};
use crate::tui::labels;
use crate::tui::model::TuiModel;
use crate::tui::paint::{Painter, two_ends};
use crate::tui::text::{column_width, padded};
use crate::tui::transcript::{ItemKind, TranscriptItem};

/// Maximum width of the tasks of a batch, in cells.
const MAX_TITLE_WIDTH: usize = 28;

/// The lines of a transcript item that changes with its agents; `None` for other items.
pub fn live_lines(
    model: &TuiModel,
    item: &TranscriptItem,
    room: u16,
    painter: Painter<'_>,
) -> Option<Vec<Line<'static>>> {
    match &item.kind {
        ItemKind::Batch { members, folded } => Some(lines(model, members, *folded, room, painter)),
        _ => None,
    }
}

/// The lines of a batch: live while its agents work, their results afterwards.
fn lines(
    model: &TuiModel,
    members: &[AgentPath],
    folded: bool,
    room: u16,
    painter: Painter<'_>,
) -> Vec<Line<'static>> {
    let agents: Vec<&AgentState> =
        members.iter().flat_map(|top| model.agents.within(top)).collect();
    let group = AgentGroup { model, agents: &agents, painter };
    let room = usize::from(room);
    let columns = Columns {
        name: group.name_width(),
        title: column_width(agents.iter().map(|agent| &*agent.info.description), MAX_TITLE_WIDTH),
        queued: model.agents.queued(),
    };
    let mut all = vec![header(group, folded, room)];
    all.extend(agents.iter().map(|agent| row(group, agent, &columns, room)));
    all
}

/// The columns that the rows of a batch share.
struct Columns {
    name: usize,
    title: usize,
    /// Number of agents that wait for a slot.
    queued: usize,
}

fn header(group: AgentGroup<'_>, folded: bool, room: usize) -> Line<'static> {
    let AgentGroup { model, agents, painter } = group;
    let theme = painter.theme;
    let tally = group.tally();
    let alive = tally.running + tally.queued > 0;
    let mut text = if alive {
        group.tally_label(true)
    } else {
        let pieces = [count(tally.all, "agent"), labels::end_counts(tally, theme.glyphs)];
        let pieces = pieces.into_iter().filter(|piece| !piece.is_empty());
        pieces.chain(labels::background_label(tally)).collect::<Vec<_>>().join(" · ")
    };
    if !alive {
        if let Some(worked) = total_time(agents) {
            text.push_str(&format!(" · {}", clock(worked)));
        }
        let (used, cost) = group.usage();
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

fn row(group: AgentGroup<'_>, agent: &AgentState, columns: &Columns, room: usize) -> Line<'static> {
    let AgentGroup { model, painter, .. } = group;
    let theme = painter.theme;
    let state = labels::agent_status_with(model, agent, || columns.queued);
    let text = match &agent.run.phase {
        RunPhase::Ended(end) => labels::short_end_label(agent, end),
        _ if agent.in_background => "in the background".to_owned(),
        _ => labels::row_label(model, agent, &state),
    };
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
    AgentRow::new(state, painter)
        .text(format!("  {nested}"), plain)
        .glyph()
        .text(format!("{}  ", padded(&agent.info.name, columns.name)), plain)
        .text(format!("{}  ", padded(&agent.info.description, columns.title)), theme.dim)
        .text(text, plain)
        .figures(figures, theme.dim)
        .fit(room, 0)
        .line(room, None)
}
