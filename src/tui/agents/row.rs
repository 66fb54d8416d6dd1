//! The common look of lines about agents: the task as the headline, the number in the agent's
//! colour, and columns that stand below each other.

use std::borrow::Cow;

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::protocol::{Cost, RunEnd};
use crate::tui::agents::result::result_line;
use crate::tui::agents::{AgentSet, AgentState, AgentTally, RunPhase, RunState};
use crate::tui::format::{CLOCK_WIDTH, clock, spent, spent_width};
use crate::tui::labels;
use crate::tui::labels::StatusLabel;
use crate::tui::model::TuiModel;
use crate::tui::paint::{Painter, spans_width, two_ends};
use crate::tui::text::{column_width, one_line, padded, truncate, width};
use crate::tui::theme::{Glyph, on_ground};

/// Maximum width of a column of tasks, in cells.
const MAX_TASK_WIDTH: usize = 32;

/// Minimum width of a column of tasks, if one of them is that long.
const MIN_TASK_WIDTH: usize = 12;

/// Maximum width of a column of types.
const MAX_KIND_WIDTH: usize = 20;

/// Cells that a state needs to say something; other columns give way to it.
const MIN_STATE_WIDTH: usize = 14;

/// The same in narrow lines.
const MIN_GRID_STATE_WIDTH: usize = 10;

/// Lines no wider than this are those of a grid or a small screen, where a state has no clock of its own.
const GRID_LINE_WIDTH: usize = 60;

/// From this width on, the state of an agent that is done is a part of its result.
const RESULT_WIDTH: usize = 18;

/// Cells between two columns.
const GAP: usize = 2;

/// Agents that are drawn together: in the panel, in a batch, or in the background.
#[derive(Clone, Copy)]
pub struct AgentGroup<'a> {
    pub model: &'a TuiModel,
    pub agents: &'a [&'a AgentState],
    pub painter: Painter<'a>,
}

impl AgentGroup<'_> {
    /// Whether the agent at this index has the focus.
    pub fn is_focused(&self, at: usize) -> bool {
        self.model.focus.as_ref() == Some(&self.agents[at].path)
    }

    /// Cells before the bar of an agent that stands below the one that started it.
    pub fn indent(&self, agent: &AgentState) -> usize {
        let parent = agent.path.parent().filter(|parent| !parent.is_root());
        let nested = parent.is_some_and(|parent| self.agents.iter().any(|a| a.path == parent));
        if nested { agent.path.depth().saturating_sub(1) as usize } else { 0 }
    }

    /// Counts the agents by state.
    pub fn tally(&self) -> AgentTally {
        AgentSet::tally(self.agents.iter().copied())
    }

    /// Counts the agents in words, each state in its colour; `brief` without the words of those that have
    /// a sign.
    pub fn tally_spans(&self, brief: bool) -> Vec<Span<'static>> {
        let theme = self.painter.theme;
        let asks = labels::count_asking(self.model, self.agents.iter().copied());
        let mut spans = Vec::new();
        let mut in_ends = false;
        for (words, glyph) in labels::tally_pieces(self.tally(), asks, theme.glyphs) {
            let is_end = glyph.is_some_and(|glyph| glyph != Glyph::Asks);
            if !spans.is_empty() {
                spans.push(Span::styled(if in_ends { " " } else { " · " }, theme.dim));
            }
            in_ends = is_end;
            let style = glyph.map_or(theme.text, |glyph| self.painter.style(glyph));
            let words = match words.match_indices(' ').nth(1) {
                Some((end, _)) if brief && glyph.is_some() => words[..end].to_owned(),
                _ => words,
            };
            spans.push(Span::styled(words, style));
        }
        spans
    }

    /// Tokens and cost of the agents.
    pub fn usage(&self) -> (u64, Cost) {
        labels::sum_usage(self.agents.iter().copied())
    }

    /// Digits of the largest number.
    pub fn digits(&self) -> usize {
        self.agents.iter().map(|agent| agent.number).max().unwrap_or(1).to_string().len()
    }
}

/// The agents of the groups, each with its group.
fn members<'g, 'a>(
    groups: &'g [AgentGroup<'a>],
) -> impl Iterator<Item = (&'g AgentGroup<'a>, &'a AgentState)> {
    groups.iter().flat_map(|group| group.agents.iter().map(move |agent| (group, *agent)))
}

/// Whether one of the agents needs the user or has failed.
pub fn in_trouble(model: &TuiModel, agents: &[&AgentState]) -> bool {
    let failed = |agent: &&AgentState| match &agent.run.phase {
        RunPhase::Ended(end) => Glyph::of_end(end) == Glyph::Failed,
        _ => false,
    };
    labels::count_asking(model, agents.iter().copied()) > 0 || agents.iter().any(failed)
}

/// The headline of an agent: its task, or its name if it has none.
pub fn task(agent: &AgentState) -> String {
    let task = one_line(&agent.info.description);
    if task.is_empty() { one_line(&agent.info.name) } else { task }
}

/// The type of an agent, as a suffix of its task.
pub fn kind(agent: &AgentState) -> String {
    match agent.info.agent.as_str() {
        "general-purpose" => "general".to_owned(),
        other => one_line(other),
    }
}

fn suffix(agent: &AgentState, named: bool) -> String {
    if named { one_line(&agent.info.name) } else { kind(agent) }
}

/// The columns with time, turns and cost. A column is there for all agents or for none; while one of them
/// works, it has room for the digits to come.
pub struct FigureColumns {
    widths: [usize; 3],
    /// Cells of the longest time.
    time: usize,
    kept: usize,
}

impl FigureColumns {
    /// All columns, as wide as the widest figure of the groups.
    pub fn new(groups: &[AgentGroup<'_>]) -> Self {
        let (mut widths, mut time) = ([0; 3], 0);
        let work = members(groups).any(|(_, agent)| agent.alive());
        for (group, agent) in members(groups) {
            let room = [CLOCK_WIDTH, turns_width(&agent.run), spent_width(agent.info.max_usd)];
            let figures = figures(group.model, agent);
            time = width(&figures[0]).max(time);
            for ((cells, figure), room) in widths.iter_mut().zip(&figures).zip(room) {
                *cells = figure_width(figure, work.then_some(room)).max(*cells);
            }
        }
        Self { widths, time, kept: if widths == [0; 3] { 0 } else { 3 } }
    }

    /// Makes the last column that is left, that of the time, as narrow as its figures.
    fn narrow(&mut self) {
        if self.kept == 1 {
            self.widths[0] = self.time;
        }
    }

    /// Drops the last column but the time. Returns whether there was one.
    pub fn drop_last(&mut self) -> bool {
        let more = self.kept > 1;
        self.kept -= usize::from(more);
        more
    }

    /// Cells of all columns, with the gap before them.
    pub fn width(&self) -> usize {
        let there = self.widths[..self.kept].iter().filter(|cells| **cells > 0);
        there.map(|cells| cells + GAP).sum()
    }

    /// The figures of an agent, each at the right end of its column.
    pub fn text(&self, model: &TuiModel, agent: &AgentState) -> String {
        let mut text = String::new();
        for (figure, cells) in figures(model, agent).iter().zip(self.widths).take(self.kept) {
            if cells == 0 {
                continue;
            }
            text.push_str(&" ".repeat(GAP));
            text.push_str(&right_aligned(figure, cells));
        }
        text
    }
}

/// The columns of the lines about the agents of one or more groups.
pub struct AgentColumns {
    /// Whether the type is the agent's own name, as messages call it.
    named: bool,
    digits: usize,
    task: usize,
    /// 0 without a column for the types.
    kind: usize,
    figures: FigureColumns,
    /// Whether a spinner stands before the line, so that the line needs none.
    spins_before: bool,
    room: usize,
}

/// How a line stands out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Emphasis {
    Normal,
    /// The line of an agent that has the focus: one band from edge to edge.
    Focused,
    /// The line of an agent that cannot be chosen.
    Dim,
}

impl AgentColumns {
    /// Divides `room`, of which one cell is for a mark before the line. If it is too small, types go
    /// first, then cost and turns, then ends of tasks.
    pub fn new(group: AgentGroup<'_>, room: usize) -> Self {
        Self::with_suffix(&[group], room, false)
    }

    /// Like [`Self::new`], with the names that messages use instead of the types, for groups that stand
    /// one below the other.
    pub fn with_names(groups: &[AgentGroup<'_>], room: usize) -> Self {
        Self::with_suffix(groups, room, true)
    }

    /// Like [`Self::new`], for lines behind a spinner of their own.
    pub fn behind_spinner(group: AgentGroup<'_>, room: usize) -> Self {
        Self { spins_before: true, ..Self::new(group, room) }
    }

    fn with_suffix(groups: &[AgentGroup<'_>], room: usize, named: bool) -> Self {
        let tasks = members(groups).map(|(group, agent)| width(&task(agent)) + group.indent(agent));
        let kinds: Vec<String> = members(groups).map(|(_, agent)| suffix(agent, named)).collect();
        let mut columns = Self {
            named,
            digits: groups.iter().map(AgentGroup::digits).max().unwrap_or(1),
            task: tasks.max().unwrap_or(0).min(MAX_TASK_WIDTH),
            kind: column_width(kinds.iter().map(String::as_str), MAX_KIND_WIDTH),
            figures: FigureColumns::new(groups),
            spins_before: false,
            room,
        };
        if columns.lacks() > 0 {
            columns.kind = 0;
        }
        let least = columns.task.min(MIN_TASK_WIDTH + MIN_STATE_WIDTH / 2);
        while columns.lacks() > columns.task - least && columns.figures.drop_last() {}
        if columns.lacks() > 0 {
            columns.figures.narrow();
        }
        let least = columns.task.min(MIN_TASK_WIDTH);
        columns.task -= columns.lacks().min(columns.task - least);
        columns
    }

    /// Cells that a state lacks.
    fn lacks(&self) -> usize {
        let state = if self.is_grid() { MIN_GRID_STATE_WIDTH } else { MIN_STATE_WIDTH };
        (self.before_state() + state + self.figures.width() + 1).saturating_sub(self.room)
    }

    fn is_grid(&self) -> bool {
        self.room <= GRID_LINE_WIDTH
    }

    fn before_state(&self) -> usize {
        let kind = if self.kind > 0 { self.kind + GAP } else { 0 };
        1 + self.digits + 1 + self.task + GAP + kind + 2
    }

    /// `▌2 find the slow query  explore  ⠹ Grep "fn route"    0:42  4/20  $0.04`, where `lead` is the
    /// mark. A wider one takes its cells from the task.
    pub fn line(
        &self,
        group: AgentGroup<'_>,
        agent: &AgentState,
        state: &StatusLabel,
        lead: Vec<Span<'static>>,
        emphasis: Emphasis,
    ) -> Line<'static> {
        let AgentGroup { model, painter, .. } = group;
        let theme = painter.theme;
        let digits = self.digits;
        let plain = if agent.alive() { theme.text } else { theme.dim };
        let mark = spans_width(&lead);
        let cells = (self.task + 1).saturating_sub(mark.max(1));
        let mut left = vec![
            Span::styled(format!("{:>digits$} ", agent.number), number_style(painter, agent)),
            Span::styled(padded(&task(agent), cells), plain),
        ];
        if self.kind > 0 {
            let kind = padded(&suffix(agent, self.named), self.kind);
            left.push(Span::styled(format!("  {kind}"), theme.dim));
        }
        let sign = match state.glyph {
            Glyph::Spinner if self.spins_before => " ".repeat(GAP),
            glyph => format!("{}{} ", " ".repeat(GAP), painter.sign(glyph)),
        };
        left.push(Span::styled(sign, painter.style(state.glyph)));
        let whole = self.room.saturating_sub(mark);
        // Before it has any, its words take the place of its figures.
        let figures = match agent.run.started {
            Some(_) => self.figures.text(model, agent),
            None => String::new(),
        };
        let room = whole.saturating_sub(spans_width(&left) + width(&figures) + 1);
        let words = match &agent.run.phase {
            // Of several that ask, all say it in the same words.
            _ if self.is_grid() && state.glyph == Glyph::Asks => {
                truncate(&state_word(agent, Glyph::Asks), room).into_owned()
            }
            RunPhase::Tools if self.is_grid() && state.glyph == Glyph::Spinner => {
                truncate(state.words(), room).into_owned()
            }
            _ => match state.mark {
                Some(mark) => {
                    let rest = room.saturating_sub(width(mark) + 3);
                    let words = state_words(model, agent, state, rest);
                    truncate(&format!("{mark} · {words}"), room).into_owned()
                }
                None => state_words(model, agent, state, room),
            },
        };
        left.push(Span::styled(words, state_style(painter, agent, state)));
        let right = Span::styled(figures, theme.dim);
        let line = two_ends(left, vec![right], whole, None);
        let restyled = match emphasis {
            Emphasis::Normal => line.spans,
            Emphasis::Focused => band(painter, agent, line.spans),
            Emphasis::Dim => restyle(line.spans, theme.dim),
        };
        Line::from([lead, restyled].concat())
    }
}

/// The style of an agent's number.
pub fn number_style(painter: Painter<'_>, agent: &AgentState) -> Style {
    painter.agent(agent).add_modifier(Modifier::BOLD)
}

/// One band in the colour of the agent that has the focus.
pub fn band(
    painter: Painter<'_>,
    agent: &AgentState,
    spans: Vec<Span<'static>>,
) -> Vec<Span<'static>> {
    let style = on_ground(painter.agent(agent), painter.theme.focus);
    restyle(spans, style.add_modifier(Modifier::BOLD))
}

fn restyle(mut spans: Vec<Span<'static>>, style: Style) -> Vec<Span<'static>> {
    for span in &mut spans {
        span.style = style;
    }
    spans
}

/// The words of a state in a column of `room` cells. If it is narrow, only the telling part.
fn state_words(model: &TuiModel, agent: &AgentState, state: &StatusLabel, room: usize) -> String {
    let telling = |words: &str, prefix: &str| match words.strip_prefix(prefix) {
        Some(rest) if width(words) > room => truncate(rest, room).into_owned(),
        _ => truncate(words, room).into_owned(),
    };
    match &agent.run.phase {
        RunPhase::Ended(RunEnd::Completed) => {
            let result = result_line(agent).filter(|line| room >= RESULT_WIDTH.min(width(line)));
            truncate(result.as_deref().unwrap_or(&state.text), room).into_owned()
        }
        RunPhase::Ended(end) => telling(&labels::short_end_label(agent, end), "failed: "),
        _ => {
            let words = labels::row_label(model, agent, state, usize::MAX);
            match words.split_once(':') {
                Some((asks, _)) if state.glyph == Glyph::Asks && width(&words) > room => {
                    truncate(asks, room).into_owned()
                }
                _ => labels::row_label(model, agent, state, room),
            }
        }
    }
}

/// The style of the words of a state.
pub fn state_style(painter: Painter<'_>, agent: &AgentState, state: &StatusLabel) -> Style {
    match state.glyph {
        Glyph::Asks | Glyph::Failed | Glyph::Partial => painter.style(state.glyph),
        _ if agent.alive() && !agent.run.queued() => painter.theme.text,
        _ => painter.theme.dim,
    }
}

/// Time, turns and cost of an agent; blank before it has started.
fn figures(model: &TuiModel, agent: &AgentState) -> [String; 3] {
    if agent.run.started.is_none() {
        return Default::default();
    }
    let elapsed = agent.run.elapsed(model.now).map(clock).unwrap_or_default();
    let (_, cost) = labels::agent_usage(&model.agents, agent);
    [elapsed, turns(&agent.run), spent(cost, agent.info.max_usd)]
}

/// Cells of a figure, with room for the digits to come, if any come.
pub fn figure_width(figure: &str, room: Option<usize>) -> usize {
    match width(figure) {
        // Without a figure, there is no column.
        0 => 0,
        cells => cells.max(room.unwrap_or_default()),
    }
}

/// A figure at the right end of its cells.
pub fn right_aligned(figure: &str, cells: usize) -> String {
    format!("{}{figure}", " ".repeat(cells.saturating_sub(width(figure))))
}

/// Cells of the largest number of turns.
pub fn turns_width(run: &RunState) -> usize {
    run.limit.map_or(2, |limit| 2 * limit.to_string().len() + 1)
}

/// `4/20`.
pub fn turns(run: &RunState) -> String {
    match run.limit {
        Some(limit) => format!("{}/{limit}", run.turn),
        None => run.turn.to_string(),
    }
}

/// The words beside the sign of a state that needs attention, waits for its turn or is an end.
pub fn state_word(agent: &AgentState, sign: Glyph) -> Cow<'static, str> {
    let word = match (sign, &agent.run.phase) {
        (Glyph::Queued, RunPhase::Queued { place }) => return labels::queue_label(*place).into(),
        (Glyph::Asks, _) => "needs you",
        (Glyph::Done, _) => "done",
        (Glyph::Failed, RunPhase::Ended(_)) => "failed",
        (Glyph::Cancelled, RunPhase::Ended(RunEnd::Interrupted)) => "interrupted",
        (Glyph::Cancelled, RunPhase::Ended(_)) => "cancelled",
        (Glyph::Partial, _) => "partial",
        (Glyph::Empty, _) => "no answer",
        _ => "",
    };
    word.into()
}
