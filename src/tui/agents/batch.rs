//! A batch of agents in main's transcript: a header, and one line per agent.

use std::time::Duration;

use ratatui::text::{Line, Span};

use crate::tui::agents::row::{AgentGroup, FigureColumns, kind, number_style, result_line, task};
use crate::tui::agents::{AgentState, HISTORY_START, RunPhase, RunState};
use crate::tui::format::{clock, money, tokens};
use crate::tui::keymap::{Action, KeyContext};
use crate::tui::labels;
use crate::tui::layout;
use crate::tui::model::TuiModel;
use crate::tui::paint::{Painter, cut_spans, spans_width, two_ends};
use crate::tui::text::{column_width, padded, truncate, width};
use crate::tui::theme::Glyph;
use crate::tui::transcript::{ItemKind, TranscriptItem};

/// Maximum width of the tasks of a batch, in cells.
const MAX_TASK_WIDTH: usize = 32;

/// Cells for what came of an agent; other columns give way to it.
const MIN_WORDS: usize = 16;

/// Number of agents named in the head when they need the user; more are counted.
const NAMED: usize = 2;

/// The lines of a transcript item that changes with its agents; `None` for other items. With `beside`
/// the panel, an open panel has the rows.
pub fn live_lines(
    model: &TuiModel,
    item: &TranscriptItem,
    room: u16,
    beside: bool,
    painter: Painter<'_>,
) -> Option<Vec<Line<'static>>> {
    let ItemKind::Batch { members, folded } = &item.kind else { return None };
    let agents: Vec<&AgentState> =
        members.iter().flat_map(|top| model.agents.within(top)).collect();
    let group = AgentGroup { model, agents: &agents, painter };
    let room = usize::from(room);
    let (width, height) = model.size;
    let open =
        beside && !layout::is_tiny(width, height) && agents.iter().any(|agent| agent.in_panel);
    let mut lines = vec![head(group, *folded && !open, open, room)];
    if !open {
        let columns = Columns::new(group, room);
        lines.extend(agents.iter().map(|agent| row(group, agent, &columns, room)));
    }
    Some(lines)
}

/// `⠹ 3 agents            ⚑ 2 needs you`, or `▪ 3 agents · ✓ 2 ⊘ 1 · 2:10 · 30k · $0.11`.
fn head(group: AgentGroup<'_>, opens: bool, open: bool, room: usize) -> Line<'static> {
    let AgentGroup { model, agents, painter } = group;
    let theme = painter.theme;
    let tally = group.tally();
    let alive = tally.running + tally.queued > 0;
    let mut left = if alive {
        let spinner = Glyph::Spinner;
        vec![Span::styled(format!("{} ", painter.sign(spinner)), painter.style(spinner))]
    } else {
        vec![Span::styled(format!("{} ", theme.glyphs.tool), theme.dim)]
    };
    let mut words = group.tally_spans(false);
    if alive && open {
        // The panel counts their states.
        words.truncate(1);
    }
    left.extend(words);
    let mut right = Vec::new();
    if alive && open {
        right.extend(asking(group));
    } else if !alive {
        let mut figures: Vec<String> = total_time(agents).map(clock).into_iter().collect();
        let (used, cost) = group.usage();
        figures.extend([tokens(used), money(cost)]);
        let figures = format!(" · {}", figures.join(" · "));
        left.push(Span::styled(figures, theme.dim));
        let hint = model.keymap.hint(KeyContext::Prompt, Action::Next, "opens them");
        right.extend(hint.filter(|_| opens).map(|words| Span::styled(words, theme.dim)));
    }
    two_ends(left, right, room, None)
}

/// `⚑ 2 needs you`, with the numbers of the agents.
fn asking(group: AgentGroup<'_>) -> Vec<Span<'static>> {
    let AgentGroup { model, agents, painter } = group;
    let style = painter.style(Glyph::Asks);
    let waiting = &model.questions.waiting;
    let asks = |agent: &&&AgentState| waiting.iter().any(|w| w.question.path == agent.path);
    let asking: Vec<&&AgentState> = agents.iter().filter(asks).collect();
    let mut spans = vec![Span::styled(format!("{} ", painter.sign(Glyph::Asks)), style)];
    match asking.len() {
        0 => return Vec::new(),
        1..=NAMED => {
            for (at, agent) in asking.iter().enumerate() {
                if at > 0 {
                    spans.push(Span::styled(" and ", style));
                }
                let number = number_style(painter, agent);
                spans.push(Span::styled(agent.number.to_string(), number));
            }
        }
        more => spans.push(Span::styled(format!("{more} agents"), style)),
    }
    let verb = if asking.len() == 1 { " needs you" } else { " need you" };
    spans.push(Span::styled(verb, style));
    spans
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

/// The columns that the rows of a batch share.
struct Columns {
    digits: usize,
    task: usize,
    /// 0 without a column for the types.
    kind: usize,
    figures: FigureColumns,
    /// 0 without a column for the tokens.
    tokens: usize,
    /// Number of agents that wait for a slot.
    queued: usize,
}

impl Columns {
    /// Drops columns until there is room for words.
    fn new(group: AgentGroup<'_>, room: usize) -> Self {
        let AgentGroup { model, agents, .. } = group;
        let tasks: Vec<String> = agents.iter().map(|agent| task(agent)).collect();
        let kinds: Vec<String> = agents.iter().map(|agent| kind(agent)).collect();
        let used: Vec<String> = agents.iter().map(|agent| used(model, agent)).collect();
        let mut columns = Self {
            digits: group.digits(),
            task: column_width(tasks.iter().map(String::as_str), MAX_TASK_WIDTH),
            kind: column_width(kinds.iter().map(String::as_str), MAX_TASK_WIDTH),
            figures: FigureColumns::new(group),
            tokens: column_width(used.iter().map(String::as_str), MAX_TASK_WIDTH),
            queued: model.agents.queued(),
        };
        while columns.width() + MIN_WORDS > room {
            if columns.tokens > 0 {
                columns.tokens = 0;
            } else if columns.kind > 0 {
                columns.kind = 0;
            } else if !columns.figures.drop_last() {
                break;
            }
        }
        let over = (columns.width() + MIN_WORDS).saturating_sub(room);
        columns.task -= over.min(columns.task.saturating_sub(12));
        columns
    }

    /// Cells before the words.
    fn width(&self) -> usize {
        let column = |cells: usize| if cells > 0 { cells + 2 } else { 0 };
        let text = 4 + self.digits + 1 + self.task;
        text + column(self.kind) + column(self.tokens) + self.figures.width() + 2
    }
}

/// Tokens of an agent and those below it.
fn used(model: &TuiModel, agent: &AgentState) -> String {
    match agent.run.started {
        Some(_) => tokens(labels::tree_usage(&model.agents, &agent.path).0),
        None => String::new(),
    }
}

/// `  ✓ 1 map the routes  explore  0:48   6/20  $0.05  18k  two route tables; http.rs is generated`.
fn row(group: AgentGroup<'_>, agent: &AgentState, columns: &Columns, room: usize) -> Line<'static> {
    let AgentGroup { model, painter, .. } = group;
    let theme = painter.theme;
    let state = labels::agent_status_with(model, agent, || columns.queued);
    let digits = columns.digits;
    let nested = "  ".repeat(agent.path.depth().saturating_sub(1) as usize);
    let task = format!("{nested}{}", task(agent));
    let mut spans = vec![
        Span::styled(format!("  {} ", painter.sign(state.glyph)), painter.style(state.glyph)),
        Span::styled(format!("{:>digits$} ", agent.number), number_style(painter, agent)),
        Span::styled(padded(&task, columns.task), theme.text),
    ];
    if columns.kind > 0 {
        let kind = format!("  {}", padded(&kind(agent), columns.kind));
        spans.push(Span::styled(kind, theme.dim));
    }
    spans.push(Span::styled(columns.figures.text(model, agent), theme.dim));
    if columns.tokens > 0 {
        let used = used(model, agent);
        let blanks = " ".repeat(2 + columns.tokens.saturating_sub(width(&used)));
        spans.push(Span::styled(format!("{blanks}{used}"), theme.dim));
    }
    let left = room.saturating_sub(spans_width(&spans) + 2);
    let (words, style) = match &agent.run.phase {
        RunPhase::Ended(end) => {
            let result = result_line(agent).filter(|_| state.glyph == Glyph::Done);
            let words = result.unwrap_or_else(|| labels::short_end_label(agent, end));
            let style = match state.glyph {
                Glyph::Failed | Glyph::Partial => painter.style(state.glyph),
                _ => theme.dim,
            };
            (words, style)
        }
        _ if agent.in_background => ("in the background".to_owned(), theme.dim),
        _ => (labels::row_label(model, agent, &state, left), theme.text),
    };
    spans.push(Span::styled(format!("  {}", truncate(&words, left)), style));
    cut_spans(&mut spans, room);
    Line::from(spans)
}
