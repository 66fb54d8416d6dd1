//! A batch of agents in main's transcript: a header, and one line per agent.

use std::time::Duration;

use ratatui::text::{Line, Span};

use crate::protocol::{AgentPath, RunEnd};
use crate::tui::agents::result::result_line;
use crate::tui::agents::row::{
    AgentGroup, figure_width, kind, number_style, right_aligned, task, turns, turns_width,
};
use crate::tui::agents::{AgentState, RunPhase};
use crate::tui::format::{
    CLOCK_WIDTH, MONEY_WIDTH, TOKENS_WIDTH, clock, count, join_figures, money, tokens,
};
use crate::tui::keymap::{Action, KeyContext};
use crate::tui::labels;
use crate::tui::layout;
use crate::tui::model::TuiModel;
use crate::tui::paint::{Painter, cut_spans, spans_width, two_ends};
use crate::tui::text::{column_width, padded, truncate};
use crate::tui::theme::Glyph;
use crate::tui::transcript::{BatchForm, ItemKind, TranscriptItem};

/// Maximum width of the tasks of a batch, in cells.
const MAX_TASK_WIDTH: usize = 32;

/// Cells for what came of an agent; other columns give way to it.
const MIN_WORDS: usize = 24;

/// Rows of agents below a turn. More would push what main has said off the screen.
const MAX_END_ROWS: usize = 20;

/// Cells between two columns.
const GAP: usize = 2;

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
    let ItemKind::Batch { members, form } = &item.kind else { return None };
    let agents = agents(model, members);
    let group = AgentGroup { model, agents: &agents, painter };
    let room = usize::from(room);
    let open = beside && has_panel(model, &agents);
    let rows = || {
        let BatchRows { own, shared, hidden } = rows(&agents, *form);
        let group = AgentGroup { agents: &own, ..group };
        let columns = Columns::new(group, room);
        let lines = (0..own.len()).map(|at| row(group, at, &columns, room));
        let shared = AgentGroup { agents: &shared, ..group };
        let rest = hidden_row(hidden, painter);
        lines.chain(rest).chain(shared_row(shared, room)).collect::<Vec<_>>()
    };
    Some(match form {
        BatchForm::Whole if open => vec![head(group, true, room)],
        BatchForm::Whole => [vec![head(group, false, room)], rows()].concat(),
        BatchForm::Head => vec![short_head(group)],
        BatchForm::Rows { .. } if open => Vec::new(),
        BatchForm::Rows { opens } => {
            rows().into_iter().chain(hint(group).filter(|_| *opens)).collect()
        }
    })
}

/// The agent whose row is this line of an item beside the panel.
pub fn agent_at(model: &TuiModel, item: &TranscriptItem, line: usize) -> Option<AgentPath> {
    let ItemKind::Batch { members, form } = &item.kind else { return None };
    let agents = agents(model, members);
    let row = match form {
        BatchForm::Whole => line.checked_sub(1)?,
        BatchForm::Rows { .. } => line,
        BatchForm::Head => return None,
    };
    let BatchRows { own, .. } = rows(&agents, *form);
    let agent = own.get(row).filter(|_| !has_panel(model, &agents))?;
    Some(agent.path.clone())
}

/// The agents that the rows of a batch stand for.
struct BatchRows<'a> {
    /// Those with a row of their own.
    own: Vec<&'a AgentState>,
    /// Those that share one: several that were cancelled before they started.
    shared: Vec<&'a AgentState>,
    /// Number of those that were done and are only counted.
    hidden: usize,
}

/// The rows of a batch. Agents at work in the background have theirs above the prompt.
fn rows<'a>(agents: &[&'a AgentState], form: BatchForm) -> BatchRows<'a> {
    let never = |agent: &AgentState| {
        matches!(agent.run.phase, RunPhase::Ended(RunEnd::Cancelled { before_start: true }))
    };
    let shares = agents.iter().filter(|agent| never(agent)).count() > 1;
    let here = agents.iter().copied().filter(|agent| !(agent.alive() && agent.in_background));
    let (mut own, shared): (Vec<_>, _) = here.partition(|agent| !(shares && never(agent)));
    let all = own.len();
    if matches!(form, BatchForm::Rows { .. }) && all > MAX_END_ROWS {
        let is_done =
            |agent: &&AgentState| matches!(agent.run.phase, RunPhase::Ended(RunEnd::Completed));
        let early = own.iter().filter(|it| !is_done(it)).count();
        // One more takes no more room than the row that counts it.
        let most = if all == early.max(MAX_END_ROWS) + 1 { all } else { MAX_END_ROWS };
        let mut free = most.saturating_sub(early);
        own.retain(|agent| {
            let shows = !is_done(agent) || free > 0;
            free -= usize::from(shows && is_done(agent));
            shows
        });
    }
    BatchRows { hidden: all - own.len(), own, shared }
}

/// `  … +80 agents, done · /agents`.
fn hidden_row(hidden: usize, painter: Painter<'_>) -> Option<Line<'static>> {
    let words = format!("  … +{}, done · /agents", count(hidden, "agent"));
    (hidden > 0).then(|| Line::styled(words, painter.theme.dim))
}

/// `  ⊘ 39 agents cancelled before they started: 2–40`.
fn shared_row(group: AgentGroup<'_>, room: usize) -> Option<Line<'static>> {
    let AgentGroup { agents, painter, .. } = group;
    let mut numbers: Vec<usize> = agents.iter().map(|agent| agent.number).collect();
    numbers.sort_unstable();
    let ranges = numbers.chunk_by(|one, next| one + 1 == *next).filter_map(|run| {
        let (first, last) = (run.first()?, run.last()?);
        Some(if first == last { first.to_string() } else { format!("{first}–{last}") })
    });
    let ranges: Vec<String> = ranges.collect();
    let all = count(agents.len(), "agent");
    let words = format!(" {all} cancelled before they started: {}", ranges.join(", "));
    let mut spans = vec![
        Span::styled(
            format!("  {}", painter.sign(Glyph::Cancelled)),
            painter.style(Glyph::Cancelled),
        ),
        Span::styled(words, painter.theme.dim),
    ];
    cut_spans(&mut spans, room);
    (!agents.is_empty()).then(|| Line::from(spans))
}

/// The agents of a batch, each followed by those below it.
fn agents<'a>(model: &'a TuiModel, members: &[AgentPath]) -> Vec<&'a AgentState> {
    members.iter().flat_map(|top| model.agents.of_batch(top)).collect()
}

/// Whether the panel has the rows of these agents.
fn has_panel(model: &TuiModel, agents: &[&AgentState]) -> bool {
    let (width, height) = model.size;
    !layout::is_tiny(width, height) && agents.iter().any(|agent| agent.in_panel)
}

/// `● 3 agents`: where they worked. Their rows are at the end of the turn.
fn short_head(group: AgentGroup<'_>) -> Line<'static> {
    let theme = group.painter.theme;
    let words = count(group.agents.len(), "agent");
    Line::from(vec![
        Span::styled(format!("{} ", theme.glyphs.tool), theme.dim),
        Span::styled(words, theme.text),
    ])
}

/// `Tab opens them · /agents resumes what ended early and shows their work`.
fn hint(group: AgentGroup<'_>) -> Option<Line<'static>> {
    let opens = if group.agents.len() == 1 { "opens it" } else { "opens them" };
    let opens = group.model.keymap.hint(KeyContext::Prompt, Action::Next, opens);
    let is_done =
        |agent: &AgentState| matches!(agent.run.phase, RunPhase::Ended(RunEnd::Completed));
    // A spent budget resumes nothing; the end of the turn says what does.
    let is_spent =
        |agent: &AgentState| matches!(agent.run.phase, RunPhase::Ended(RunEnd::Budget { .. }));
    let early =
        |agent: &&&AgentState| !is_done(agent) && !is_spent(agent) && group.model.can_resume(agent);
    let resumes = group.agents.iter().any(|agent| early(&agent));
    let resumes = resumes.then(|| "resumes what ended early".to_owned());
    let whose = if group.agents.len() == 1 { "its" } else { "their" };
    let works = agents_with_work(group).then(|| format!("shows {whose} work"));
    let list: Vec<String> = resumes.into_iter().chain(works).collect();
    let list = (!list.is_empty()).then(|| format!("/agents {}", list.join(" and ")));
    let words: Vec<String> = opens.into_iter().chain(list).collect();
    let words = format!("  {}", words.join(" · "));
    (!words.trim().is_empty()).then(|| Line::styled(words, group.painter.theme.dim))
}

fn agents_with_work(group: AgentGroup<'_>) -> bool {
    let mut now = group.agents.iter().filter_map(|agent| group.model.agents.get(&agent.path));
    now.any(AgentState::has_work)
}

/// `⠹ 3 agents      ⚑ agent 2 needs you`, or `▪ 3 agents · ✓ 2 ⊘ 1 · 2:10 · 30k · $0.11`.
fn head(group: AgentGroup<'_>, open: bool, room: usize) -> Line<'static> {
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
        // Those of agents that work elsewhere are not known here.
        if used > 0 {
            figures.extend([tokens(used), money(cost)]);
        }
        let figures = join_figures(&figures, " · ");
        if !figures.is_empty() {
            left.push(Span::styled(format!(" · {figures}"), theme.dim));
        }
        let hint = model.keymap.hint(KeyContext::Prompt, Action::Next, "opens them");
        let folded = !agents.iter().any(|agent| agent.in_panel);
        right.extend(hint.filter(|_| folded).map(|words| Span::styled(words, theme.dim)));
    }
    two_ends(left, right, room, None)
}

/// `⚑ agent 2 needs you`, with the numbers of the agents. If they are many, the head of the panel
/// counts them, where there is one.
fn asking(group: AgentGroup<'_>) -> Vec<Span<'static>> {
    let AgentGroup { model, agents, painter } = group;
    let style = painter.style(Glyph::Asks);
    let waiting = &model.questions.waiting;
    let asks = |agent: &&&AgentState| waiting.iter().any(|w| w.question.path == agent.path);
    let asking: Vec<&&AgentState> = agents.iter().filter(asks).collect();
    let mut spans = vec![Span::styled(format!("{} ", painter.sign(Glyph::Asks)), style)];
    let (width, height) = model.size;
    let is_small = layout::is_small(width, height);
    match asking.len() {
        0 => return Vec::new(),
        named @ 1..=NAMED => {
            let noun = if named == 1 { "agent " } else { "agents " };
            spans.push(Span::styled(noun, style));
            for (at, agent) in asking.iter().enumerate() {
                if at > 0 {
                    spans.push(Span::styled(" and ", style));
                }
                let number = number_style(painter, agent);
                spans.push(Span::styled(agent.number.to_string(), number));
            }
        }
        more if is_small => spans.push(Span::styled(format!("{more} agents"), style)),
        _ => return Vec::new(),
    }
    let verb = if asking.len() == 1 { " needs you" } else { " need you" };
    spans.push(Span::styled(verb, style));
    spans
}

/// The time from the first start to the last end.
fn total_time(agents: &[&AgentState]) -> Option<Duration> {
    let runs = agents.iter().map(|agent| &agent.run);
    let from = runs.clone().filter_map(|run| run.started).min()?;
    Some(runs.filter_map(|run| run.ended).max()?.saturating_sub(from))
}

/// The columns that the rows of a batch share. A column is there for all rows or for none.
struct Columns {
    digits: usize,
    task: usize,
    /// 0 without a column for the types.
    kind: usize,
    /// Time, turns, tokens and cost of each agent, and the widths of these columns.
    figures: Vec<[String; 4]>,
    widths: [usize; 4],
}

impl Columns {
    /// Drops columns until there is room for words.
    fn new(group: AgentGroup<'_>, room: usize) -> Self {
        let agents = group.agents;
        let work = agents.iter().any(|agent| agent.alive() && !agent.in_background);
        let tasks: Vec<String> = agents.iter().map(|agent| nested_task(agent)).collect();
        let kinds: Vec<String> = agents.iter().map(|agent| kind(agent)).collect();
        let figures: Vec<[String; 4]> = agents.iter().map(|agent| figures(group, agent)).collect();
        let mut columns = Self {
            digits: group.digits(),
            task: column_width(tasks.iter().map(String::as_str), MAX_TASK_WIDTH),
            kind: column_width(kinds.iter().map(String::as_str), MAX_TASK_WIDTH),
            widths: [0, 1, 2, 3].map(|at| {
                let cells = figures.iter().zip(agents).map(|(row, agent)| {
                    let room = [CLOCK_WIDTH, turns_width(&agent.run), TOKENS_WIDTH, MONEY_WIDTH];
                    figure_width(&row[at], work.then_some(room[at]))
                });
                cells.max().unwrap_or_default()
            }),
            figures,
        };
        // Tokens go first, then types, cost and turns; the time stays.
        for figure in [Some(2), None, Some(3), Some(1)] {
            if columns.width() + MIN_WORDS <= room {
                break;
            }
            *figure.map_or(&mut columns.kind, |at| &mut columns.widths[at]) = 0;
        }
        let over = (columns.width() + MIN_WORDS).saturating_sub(room);
        columns.task -= over.min(columns.task.saturating_sub(12));
        columns
    }

    /// Cells before the words.
    fn width(&self) -> usize {
        let column = |cells: usize| if cells > 0 { cells + GAP } else { 0 };
        let figures: usize = self.widths.iter().map(|cells| column(*cells)).sum();
        4 + self.digits + 1 + self.task + column(self.kind) + figures + GAP
    }

    /// The figures of a row, each at the right end of its column.
    fn text(&self, at: usize) -> String {
        let mut text = String::new();
        for (figure, cells) in self.figures[at].iter().zip(self.widths) {
            if cells > 0 {
                text.push_str(&" ".repeat(GAP));
                text.push_str(&right_aligned(figure, cells));
            }
        }
        text
    }
}

/// Time, turns, tokens and cost of an agent; blank before it has started. Those below it have rows of
/// their own.
fn figures(group: AgentGroup<'_>, agent: &AgentState) -> [String; 4] {
    if agent.run.started.is_none() {
        return Default::default();
    }
    let elapsed = agent.run.elapsed(group.model.now).map(clock).unwrap_or_default();
    let (used, cost) = labels::sum_usage([agent].into_iter());
    let turns = match agent.run.phase {
        RunPhase::Ended(_) => count(agent.run.turn as usize, "turn"),
        // The others of the batch have ended.
        _ if agent.in_background => count(agent.run.turn as usize, "turn"),
        _ => turns(&agent.run),
    };
    [elapsed, turns, tokens(used), money(cost)]
}

/// The task of an agent, indented below its parent's.
fn nested_task(agent: &AgentState) -> String {
    format!("{}{}", "  ".repeat(agent.path.depth().saturating_sub(1) as usize), task(agent))
}

/// `  ✓ 1 map the routes  explore  0:48   6 turns  18k  $0.05  two route tables; http.rs is generated`.
fn row(group: AgentGroup<'_>, at: usize, columns: &Columns, room: usize) -> Line<'static> {
    let AgentGroup { model, agents, painter } = group;
    let (theme, agent) = (painter.theme, agents[at]);
    let state = labels::agent_status(model, agent);
    let digits = columns.digits;
    let mut spans = vec![
        Span::styled(format!("  {} ", painter.sign(state.glyph)), painter.style(state.glyph)),
        Span::styled(format!("{:>digits$} ", agent.number), number_style(painter, agent)),
        Span::styled(padded(&nested_task(agent), columns.task), painter.agent(agent)),
    ];
    if columns.kind > 0 {
        let kind = format!("  {}", padded(&kind(agent), columns.kind));
        spans.push(Span::styled(kind, theme.dim));
    }
    spans.push(Span::styled(columns.text(at), theme.dim));
    let left = room.saturating_sub(spans_width(&spans) + GAP);
    let (words, style) = match &agent.run.phase {
        RunPhase::Ended(end) => {
            let result = result_line(agent).filter(|_| state.glyph == Glyph::Done);
            let style = match state.glyph {
                Glyph::Failed | Glyph::Partial => painter.style(state.glyph),
                _ if result.is_some() => theme.text,
                _ => theme.dim,
            };
            let words = result.unwrap_or_else(|| labels::short_end_label(agent, end));
            // The sign before the row says so.
            (words.strip_prefix("failed: ").map(str::to_owned).unwrap_or(words), style)
        }
        RunPhase::Elsewhere => (state.text, theme.dim),
        _ if agent.in_background => ("in the background".to_owned(), theme.dim),
        _ => (labels::row_label(model, agent, &state, left), theme.text),
    };
    spans.push(Span::styled(format!("  {}", truncate(&words, left)), style));
    cut_spans(&mut spans, room);
    Line::from(spans)
}
