//! The agents' panel: a pane for each agent with its header, its state and the end of its transcript,
//! which the view draws; or one line each, and a pane for the one with the focus.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use crate::protocol::{AgentPath, RunEnd};
use crate::tui::agents::live::live_line;
use crate::tui::agents::row::{
    AgentColumns, AgentGroup, Emphasis, FigureColumns, band, kind, number_style, task, turns,
};
use crate::tui::agents::{AgentState, ENDED_PANE_TIME, RunPhase};
use crate::tui::format::{clock, money, spent, tokens};
use crate::tui::labels;
use crate::tui::labels::StatusLabel;
use crate::tui::layout::Panel;
use crate::tui::model::TuiModel;
use crate::tui::paint::{Painter, cut_spans, gauge, put, spans_width, two_ends};
use crate::tui::text::{column_width, one_line, truncate, width};
use crate::tui::theme::Glyph;

/// Cells of a task in a header; figures are dropped to keep them.
const MIN_TASK_WIDTH: usize = 20;

/// Cells of the tasks of agents in trouble if there are many of them.
const CUT_TASK_WIDTH: usize = 12;

/// Panes with at least this many lines have a blank one between them.
const SEPARATED_LINES: u16 = 5;

/// Lines of a pane whose agent has ended while others work: its header and its result.
const ENDED_LINES: u16 = 2;

/// Time from the end of an agent until its pane has become small.
const SHRINK_TIME: Duration = Duration::from_millis(600);

/// How long the header of an agent that has just ended is lit.
const FLASH_TIME: Duration = Duration::from_millis(200);

/// Cells of an agent beside a zoomed one, with a number of three digits.
const OTHER_WIDTH: usize = 8;

/// Cells of a gauge in the head of a zoomed agent.
const GAUGE_WIDTH: u16 = 10;

/// The area of an agent.
pub struct PaneArea {
    /// All of it, for the mouse.
    pub area: Rect,
    pub path: AgentPath,
    /// The part with the transcript; empty if the agent is only a line.
    pub text: Rect,
    /// The line after the transcript.
    pub live: Option<Line<'static>>,
}

/// Areas of the agents drawn.
pub type PaneAreas = Vec<PaneArea>;

/// Draws the panel without the transcripts.
pub fn draw(
    model: &TuiModel,
    panel: &Panel,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) -> PaneAreas {
    let agents = model.agents.panel();
    let group = AgentGroup { model, agents: &agents, painter };
    if let Some(area) = panel.header {
        put(buffer, area, 0, &header(group, panel, area.width));
    }
    if panel.right {
        let x = panel.area.x.saturating_sub(2);
        separator(Rect::new(x, 0, 1, panel.area.bottom()), painter, buffer);
    }
    let mut areas =
        if panel.slot > 1 { slots(group, panel, buffer) } else { lines(group, panel, buffer) };
    let focus = (0..agents.len()).find(|at| group.is_focused(*at));
    if let (Some(area), Some(at)) = (panel.open, focus) {
        areas.push(open_pane(group, at, area, buffer));
    }
    areas
}

/// `3 agents · 2 running · ⚑ 1 needs you   0:42  21k  $0.07`.
fn header(group: AgentGroup<'_>, panel: &Panel, room: u16) -> Line<'static> {
    let theme = group.painter.theme;
    let room = usize::from(room);
    let mut words = group.tally_spans(false);
    if spans_width(&words) > room {
        words = group.tally_spans(true);
    }
    let (used, cost) = group.usage();
    let mut figures = vec![money(cost), tokens(used)];
    figures.extend(elapsed(group).map(clock));
    figures.retain(|figure| !figure.is_empty());
    while spans_width(&words) + width(&figures.join("  ")) + 4 > room && figures.pop().is_some() {}
    figures.reverse();
    let figures = figures.join("  ");
    if panel.right {
        let right = vec![Span::styled(figures, theme.dim)];
        return two_ends(words, right, room, None);
    }
    let rule = theme.glyphs.rule;
    words.insert(0, Span::styled(format!("{rule} "), theme.dim));
    let right = vec![Span::styled(format!("{figures} {rule}"), theme.dim)];
    two_ends(words, right, room, Some((rule, theme.dim)))
}

/// The time since the first of the agents started, or until the last ended.
fn elapsed(group: AgentGroup<'_>) -> Option<Duration> {
    let runs = group.agents.iter().map(|agent| &agent.run);
    let from = runs.clone().filter_map(|run| run.started).min()?;
    let end = |agent: &&AgentState| agent.run.ended.filter(|_| !agent.alive());
    let ends: Option<Vec<_>> = group.agents.iter().map(end).collect();
    let to = ends.and_then(|ends| ends.into_iter().max()).unwrap_or(group.model.now);
    Some(to.saturating_sub(from))
}

/// Draws a vertical line.
fn separator(area: Rect, painter: Painter<'_>, buffer: &mut Buffer) {
    for y in area.top()..area.bottom() {
        buffer.set_string(area.x, y, painter.theme.glyphs.vertical, painter.theme.dim);
    }
}

fn slots(group: AgentGroup<'_>, panel: &Panel, buffer: &mut Buffer) -> PaneAreas {
    let columns = HeaderColumns::new(group, panel.column_width());
    for column in 1..panel.columns {
        let x = panel.column_x(column).saturating_sub(2);
        separator(Rect { x, width: 1, ..panel.area }, group.painter, buffer);
    }
    let separated = panel.slot >= SEPARATED_LINES;
    let small = small_heights(group, panel.slot, separated);
    let mut areas = PaneAreas::new();
    for (at, area) in panel.slot_areas(&small).into_iter().enumerate() {
        let below = separated && (area.bottom() < panel.area.bottom() || small[at].is_some());
        let area = Rect { height: area.height - u16::from(below), ..area };
        areas.push(slot(group, at, area, &columns, buffer));
    }
    areas
}

/// The lines of the panes of ended agents, which leave their room to the others step by step. The focused
/// one keeps its room, and so does the last one to end.
fn small_heights(group: AgentGroup<'_>, slot: u16, separated: bool) -> Vec<Option<u16>> {
    let AgentGroup { model, agents, painter } = group;
    let ended = |agent: &AgentState| agent.run.ended.filter(|_| !agent.alive());
    let some_work = agents.iter().any(|agent| agent.alive());
    let last = agents.iter().filter_map(|agent| ended(agent)).max().filter(|_| !some_work);
    let small = (ENDED_LINES + u16::from(separated)).min(slot);
    let height = |(at, agent): (usize, &&AgentState)| {
        let ended = ended(agent).filter(|ended| Some(*ended) != last)?;
        if group.is_focused(at) || model.agents.is_folded() {
            return None;
        }
        let since = model.now.checked_sub(ended + ENDED_PANE_TIME)?;
        let moved = match painter.frame {
            Some(_) => since.as_secs_f32() / SHRINK_TIME.as_secs_f32(),
            None => 1.0,
        };
        // The height is at most that of the screen.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
        let gone = (f32::from(slot - small) * moved.min(1.0)).round() as u16;
        Some(slot - gone)
    };
    agents.iter().enumerate().map(height).collect()
}

/// Draws a pane's header and edge.
fn slot(
    group: AgentGroup<'_>,
    at: usize,
    area: Rect,
    columns: &HeaderColumns,
    buffer: &mut Buffer,
) -> PaneArea {
    let AgentGroup { model, agents, .. } = group;
    let agent = agents[at];
    let edge = Gutter::new(group, at);
    let state = labels::agent_status(model, agent);
    let room = usize::from(area.width).saturating_sub(edge.width());
    let mut spans = edge.head.clone();
    spans.extend(columns.line(group, agent, &state, room, group.is_focused(at)).spans);
    put(buffer, area, 0, &Line::from(spans));
    let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    PaneArea { area, ..pane_text(group, at, below, (&edge.rest, &state), buffer) }
}

/// Draws the pane of the focused agent below a grid. Its line in the grid has its task and figures, as the
/// rule above the prompt has.
fn open_pane(group: AgentGroup<'_>, at: usize, area: Rect, buffer: &mut Buffer) -> PaneArea {
    let state = labels::agent_status(group.model, group.agents[at]);
    let bar = Gutter::bar(group, at);
    pane_text(group, at, area, (&[bar], &state), buffer)
}

/// Draws the edge of the text of a pane.
fn pane_text(
    group: AgentGroup<'_>,
    at: usize,
    area: Rect,
    (edge, state): (&[Span<'static>], &StatusLabel),
    buffer: &mut Buffer,
) -> PaneArea {
    let agent = group.agents[at];
    for row in 0..usize::from(area.height) {
        put(buffer, area, row, &Line::from(edge.to_vec()));
    }
    let indent = u16::try_from(spans_width(edge)).unwrap_or(0).min(area.width);
    let text = Rect { x: area.x + indent, width: area.width - indent, ..area };
    let live = live_line(group, agent, state, usize::from(text.width), text.height < 2);
    PaneArea { area, path: agent.path.clone(), text, live: live.filter(|_| text.height > 0) }
}

/// The parts that the headers of all panes share.
struct HeaderColumns {
    digits: usize,
    figures: FigureColumns,
}

impl HeaderColumns {
    fn new(group: AgentGroup<'_>, room: u16) -> Self {
        let tasks: Vec<String> = group.agents.iter().map(|agent| task(agent)).collect();
        let task = column_width(tasks.iter().map(String::as_str), MIN_TASK_WIDTH);
        let digits = group.digits();
        let mut figures = FigureColumns::new(&[group]);
        let glyph = |agent: &AgentState| labels::agent_status_with(group.model, agent, || 0).glyph;
        let words = |agent: &&AgentState| width(header_words(agent, glyph(agent)));
        let words = group.agents.iter().map(words).max().filter(|cells| *cells > 0);
        // The edge, the number, and the sign of the state with its word, which goes before figures.
        let other = 1 + digits + 1 + task + 2 + 1 + words.map_or(0, |cells| cells + 1);
        while other + figures.width() > usize::from(room) && figures.drop_last() {}
        Self { digits, figures }
    }

    /// `1 map the routes  explore          ⠹  0:42  4/20  $0.04`.
    fn line(
        &self,
        group: AgentGroup<'_>,
        agent: &AgentState,
        state: &StatusLabel,
        room: usize,
        focused: bool,
    ) -> Line<'static> {
        let AgentGroup { model, painter, .. } = group;
        let theme = painter.theme;
        let digits = self.digits;
        let alive = agent.alive();
        let plain = if alive { theme.text.add_modifier(Modifier::BOLD) } else { theme.dim };
        let (number, task, kind) = (agent.number, task(agent), kind(agent));
        let mut right = vec![Span::styled(painter.sign(state.glyph), painter.style(state.glyph))];
        let words = header_words(agent, state.glyph);
        let figures = self.figures.text(model, agent);
        if !words.is_empty() {
            right.push(Span::styled(format!(" {words}"), painter.style(state.glyph)));
        }
        right.push(Span::styled(figures, theme.dim));
        let rest = room.saturating_sub(digits + 1 + spans_width(&right) + 1);
        let mut left = vec![
            Span::styled(format!("{number:>digits$} "), number_style(painter, agent)),
            Span::styled(truncate(&task, rest).into_owned(), plain),
        ];
        if width(&task) + 2 + width(&kind) < rest {
            left.push(Span::styled(format!("  {kind}"), theme.dim));
        }
        let line = two_ends(left, right, room, None);
        let ended = agent.run.ended.filter(|_| !alive && painter.frame.is_some());
        let since = ended.and_then(|at| model.now.checked_sub(at));
        let flashes = since.is_some_and(|since| since < FLASH_TIME);
        if focused || flashes { Line::from(band(painter, agent, line.spans)) } else { line }
    }
}

/// The word beside the sign of a state that needs attention or is an end.
fn header_words(agent: &AgentState, sign: Glyph) -> &'static str {
    match (sign, &agent.run.phase) {
        (Glyph::Asks, _) => "needs you",
        (Glyph::Queued, _) => "queued",
        (Glyph::Done, _) => "done",
        (Glyph::Failed, RunPhase::Ended(_)) => "failed",
        (Glyph::Cancelled, RunPhase::Ended(RunEnd::Interrupted)) => "interrupted",
        (Glyph::Cancelled, RunPhase::Ended(_)) => "cancelled",
        (Glyph::Partial, _) => "partial",
        (Glyph::Empty, _) => "no answer",
        _ => "",
    }
}

/// The left edge of an agent: the branch of a child, and the bar in the agent's colour.
struct Gutter {
    head: Vec<Span<'static>>,
    rest: Vec<Span<'static>>,
}

impl Gutter {
    fn bar(group: AgentGroup<'_>, at: usize) -> Span<'static> {
        let AgentGroup { agents, painter, .. } = group;
        Span::styled(painter.theme.glyphs.bar, painter.agent(agents[at]))
    }

    fn new(group: AgentGroup<'_>, at: usize) -> Self {
        let AgentGroup { agents, painter, .. } = group;
        let agent = agents[at];
        let glyphs = painter.theme.glyphs;
        let bar = Self::bar(group, at);
        let mark = if group.is_focused(at) {
            Span::styled(glyphs.focus, painter.agent(agent))
        } else {
            bar.clone()
        };
        let (mut head, mut rest) = (Vec::new(), Vec::new());
        let indent = group.indent(agent);
        if indent > 0 {
            let depth = agent.path.depth();
            let mut after = agents[at + 1..].iter().map(|other| other.path.depth());
            let last = after.find(|other| *other <= depth) != Some(depth);
            let (branch, line) =
                if last { (glyphs.last_branch, " ") } else { (glyphs.branch, glyphs.vertical) };
            let indent = " ".repeat(indent - 1);
            head.push(Span::styled(format!("{indent}{branch}"), painter.theme.dim));
            rest.push(Span::styled(format!("{indent}{line}"), painter.theme.dim));
        }
        head.push(mark);
        rest.push(bar);
        Self { head, rest }
    }

    fn width(&self) -> usize {
        spans_width(&self.rest)
    }
}

/// One line per agent. A line about those in trouble and those that do not fit is above a grid, and below
/// the rows of a small screen.
fn lines(group: AgentGroup<'_>, panel: &Panel, buffer: &mut Buffer) -> PaneAreas {
    let columns = usize::from(panel.columns);
    let mut height = usize::from(panel.area.height);
    if panel.header.is_none() && group.agents.len() > height * columns {
        height = height.saturating_sub(1);
    }
    let shown = most_telling(group, height * columns);
    let hidden = group.agents.len() - shown.len();
    if let Some(area) = panel.note {
        put(buffer, area, 0, &more_line(group, hidden, area.width));
    } else if hidden > 0 {
        let gone = |agent: &&&AgentState| !shown.iter().any(|other| other.path == agent.path);
        let gone: Vec<&AgentState> = group.agents.iter().filter(gone).copied().collect();
        let words = more_line(AgentGroup { agents: &gone, ..group }, hidden, panel.area.width);
        put(buffer, panel.area, height, &words);
    }
    let group = AgentGroup { agents: &shown, ..group };
    let per_column = shown.len().div_ceil(columns).max(1);
    let width = panel.column_width();
    let shared = AgentColumns::new(group, usize::from(width));
    let mut areas = PaneAreas::new();
    for (at, agent) in shown.iter().enumerate() {
        let (column, row) = (at / per_column, at % per_column);
        let (Ok(column), Ok(row)) = (u16::try_from(column), u16::try_from(row)) else { continue };
        let area = Rect::new(panel.column_x(column), panel.area.y + row, width, 1);
        let area = area.intersection(panel.area);
        put(buffer, area, 0, &line(group, at, &shared));
        areas.push(line_area(area, agent));
    }
    areas
}

/// As many agents as there is room for, in the order of the panel: the focused one, then those in trouble,
/// at work, in the queue, and ended ones, the newest end first.
fn most_telling<'a>(group: AgentGroup<'a>, room: usize) -> Vec<&'a AgentState> {
    let AgentGroup { model, agents, .. } = group;
    if agents.len() <= room {
        return agents.to_vec();
    }
    let rank = |at: &usize| {
        let agent = agents[*at];
        let class = match labels::agent_status_with(model, agent, || 0).glyph {
            _ if group.is_focused(*at) => 0,
            Glyph::Asks => 1,
            Glyph::Failed => 2,
            _ if agent.running() => 3,
            Glyph::Queued => 4,
            _ => 5,
        };
        let ended = agent.run.ended.filter(|_| class == 5).unwrap_or_default();
        (class, std::cmp::Reverse(ended), *at)
    };
    let mut ranked: Vec<usize> = (0..agents.len()).collect();
    ranked.sort_by_cached_key(rank);
    ranked.truncate(room);
    ranked.sort_unstable();
    ranked.into_iter().map(|at| agents[at]).collect()
}

/// The area of an agent that is only a line.
pub fn line_area(area: Rect, agent: &AgentState) -> PaneArea {
    PaneArea { area, path: agent.path.clone(), text: Rect::default(), live: None }
}

/// `▌1 map the routes  explore  ⠹ Grep "fn route"    0:42  4/20  $0.04`.
pub fn line(group: AgentGroup<'_>, at: usize, columns: &AgentColumns) -> Line<'static> {
    let agent = group.agents[at];
    let state = labels::agent_status(group.model, agent);
    let focused = group.is_focused(at);
    let emphasis = if focused { Emphasis::Focused } else { Emphasis::Normal };
    columns.line(group, agent, &state, edge(group, at), emphasis)
}

/// The left edge of the line of an agent: the branch of a child, and the bar in the agent's colour.
pub fn edge(group: AgentGroup<'_>, at: usize) -> Vec<Span<'static>> {
    Gutter::new(group, at).head
}

/// ` +7 more   ⚑ 7 plan the migration   ✗ 9 check i18n · 12 read the docs`: those that do not fit, that
/// need the user, and that have failed. Without room for tasks, these are cut, or left out.
pub fn more_line(group: AgentGroup<'_>, more: usize, room: u16) -> Line<'static> {
    let room = usize::from(room);
    let forms = [usize::MAX, CUT_TASK_WIDTH, 0].map(|task| trouble_spans(group, more, task));
    let fits = forms.iter().position(|spans| spans_width(spans) <= room);
    let mut spans = forms.into_iter().nth(fits.unwrap_or(2)).unwrap_or_default();
    cut_spans(&mut spans, room);
    Line::from(spans)
}

fn trouble_spans(group: AgentGroup<'_>, more: usize, tasks: usize) -> Vec<Span<'static>> {
    let AgentGroup { model, agents, painter } = group;
    let theme = painter.theme;
    let mut spans = Vec::new();
    if more > 0 {
        spans.push(Span::styled(format!(" +{more} more"), theme.dim));
    }
    let glyph = |agent: &&&AgentState| labels::agent_status_with(model, agent, || 0).glyph;
    for sign in [Glyph::Asks, Glyph::Failed] {
        let those: Vec<_> = agents.iter().filter(|agent| glyph(agent) == sign).collect();
        for (at, agent) in those.into_iter().enumerate() {
            let before = match (at, tasks) {
                (0, _) if spans.is_empty() => " ",
                (0, _) => "   ",
                (_, 0) => " ",
                (_, _) => " · ",
            };
            spans.push(Span::styled(before, theme.dim));
            if at == 0 {
                let sign = Span::styled(format!("{} ", painter.sign(sign)), painter.style(sign));
                spans.push(sign);
            }
            spans.push(Span::styled(agent.number.to_string(), number_style(painter, agent)));
            if tasks > 0 {
                let task = format!(" {}", truncate(&task(agent), tasks));
                spans.push(Span::styled(task, theme.text));
            }
        }
    }
    spans
}

/// The lines above a zoomed agent, at most `height`: its ancestors, task and figures, then the others.
pub fn zoom_header(
    model: &TuiModel,
    agent: &AgentState,
    room: u16,
    height: u16,
    painter: Painter<'_>,
) -> Vec<Line<'static>> {
    let theme = painter.theme;
    let room = usize::from(room);
    let mut left = vec![Span::styled(" main › ", theme.dim)];
    let mut above = Vec::new();
    let mut parent = agent.path.parent();
    while let Some(path) = parent.filter(|path| !path.is_root()) {
        if let Some(agent) = model.agents.get(&path) {
            above.push(format!("{} {} › ", agent.number, task(agent)));
        }
        parent = path.parent();
    }
    left.extend(above.into_iter().rev().map(|name| Span::styled(name, theme.dim)));
    left.push(Span::styled(format!("{} ", agent.number), number_style(painter, agent)));
    left.push(Span::styled(task(agent), theme.text.add_modifier(Modifier::BOLD)));
    left.push(Span::styled(format!("  {}", agent.info.name), theme.dim));
    if !agent.info.model.is_empty() {
        left.push(Span::styled(format!(" · {}", one_line(&agent.info.model)), theme.dim));
    }
    let others = others(model, agent, room, painter);
    let mut right = zoom_figures(model, agent, true, painter);
    if spans_width(&left) + spans_width(&right) + 2 > room {
        right = zoom_figures(model, agent, false, painter);
    }
    if height < 2 {
        let right = if others.is_empty() { right } else { others };
        return vec![two_ends(left, right, room, None)];
    }
    let mut lines = vec![two_ends(left, right, room, None)];
    if !others.is_empty() {
        lines.push(Line::from([vec![Span::raw(" ")], others].concat()));
    }
    lines.push(Line::styled(theme.glyphs.rule.repeat(room), theme.dim));
    lines.truncate(usize::from(height));
    lines
}

/// `⠹  1:02  5/20 ━━━┈┈┈┈┈┈┈  21k  $0.03/0.50 ━┈┈┈┈┈┈┈┈┈`: the state and the figures of a zoomed agent.
fn zoom_figures(
    model: &TuiModel,
    agent: &AgentState,
    gauges: bool,
    painter: Painter<'_>,
) -> Vec<Span<'static>> {
    let theme = painter.theme;
    let state = labels::agent_status(model, agent).glyph;
    let words = header_words(agent, state);
    let gap = if words.is_empty() { "" } else { " " };
    let sign = format!("{}{gap}{words}", painter.sign(state));
    let mut spans = vec![Span::styled(sign, painter.style(state))];
    let figure = |text: &str| Span::styled(format!("  {text}"), theme.dim);
    let bar = |used: f64, whole: f64| {
        let bar = gauge(theme, used, whole, GAUGE_WIDTH, painter.agent(agent));
        std::iter::once(Span::raw(" ")).chain(bar)
    };
    let (used, cost) = labels::agent_usage(&model.agents, agent);
    if let Some(elapsed) = agent.run.elapsed(model.now) {
        spans.push(figure(&clock(elapsed)));
        spans.push(figure(&turns(&agent.run)));
        if let Some(limit) = agent.run.limit.filter(|_| gauges) {
            spans.extend(bar(f64::from(agent.run.turn), f64::from(limit)));
        }
    }
    spans.push(figure(&tokens(used)));
    let cost_words = spent(cost, agent.info.max_usd);
    spans.extend((!cost_words.is_empty()).then(|| figure(&cost_words)));
    if let Some(limit) = agent.info.max_usd.filter(|_| gauges) {
        spans.extend(bar(cost.usd, limit));
    }
    spans.push(Span::raw(" "));
    spans
}

/// `others  ●1 map the routes ✓  ●3 check the tests ⠹ writing`, by their numbers; without tasks if they do
/// not fit, and only the most telling ones if the numbers do not.
fn others(
    model: &TuiModel,
    agent: &AgentState,
    room: usize,
    painter: Painter<'_>,
) -> Vec<Span<'static>> {
    let mut others = model.agents.visible();
    others.retain(|other| other.path != agent.path);
    let fitting = (room / OTHER_WIDTH).saturating_sub(3).max(1);
    let mut shown = most_telling(AgentGroup { model, agents: &others, painter }, fitting);
    shown.sort_by_key(|other| other.number);
    let group = AgentGroup { model, agents: &shown, painter };
    let spans = other_spans(group, others.len(), true);
    match spans_width(&spans) < room {
        true => spans,
        false => other_spans(group, others.len(), false),
    }
}

fn other_spans(group: AgentGroup<'_>, all: usize, tasks: bool) -> Vec<Span<'static>> {
    let AgentGroup { model, agents: shown, painter } = group;
    let theme = painter.theme;
    let mut spans = Vec::new();
    for (at, other) in shown.iter().enumerate() {
        let state = labels::agent_status(model, other);
        let words = match other.alive() && all < 4 {
            true => format!(" {}", state.fitted(16)),
            false => String::new(),
        };
        spans.push(Span::styled(if at == 0 { "others  " } else { "  " }, theme.dim));
        let number = format!("{}{}", theme.glyphs.tool, other.number);
        spans.push(Span::styled(number, number_style(painter, other)));
        if tasks {
            let task = format!(" {}", truncate(&task(other), MIN_TASK_WIDTH + 4));
            spans.push(Span::styled(task, theme.text));
        }
        let sign = format!(" {}", painter.sign(state.glyph));
        spans.push(Span::styled(sign, painter.style(state.glyph)));
        spans.push(Span::styled(words, theme.dim));
    }
    if all > shown.len() {
        let more = all - shown.len();
        spans.push(Span::styled(format!("  +{more} more"), theme.dim));
    }
    spans
}
