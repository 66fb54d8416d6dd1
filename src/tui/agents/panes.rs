//! The agents' panel: a pane for each agent with its header, its state and the end of its transcript,
//! which the view draws; or one line each, and a pane for the one with the focus.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use crate::protocol::AgentPath;
use crate::tui::agents::live::live_line;
use crate::tui::agents::row::{
    AgentColumns, AgentGroup, Emphasis, FigureColumns, band, kind, number_style, task,
};
use crate::tui::agents::{AgentState, RunPhase};
use crate::tui::format::{clock, money, tokens};
use crate::tui::labels;
use crate::tui::labels::StatusLabel;
use crate::tui::layout::Panel;
use crate::tui::model::TuiModel;
use crate::tui::paint::{Painter, cut_spans, put, spans_width, two_ends};
use crate::tui::text::{column_width, one_line, truncate, width};
use crate::tui::theme::Glyph;

/// Cells of a task in a header; figures are dropped to keep them.
const MIN_TASK_WIDTH: usize = 20;

/// Panes with at least this many lines have a blank one between them.
const SEPARATED_LINES: u16 = 5;

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
        let columns = HeaderColumns::new(group, area.width);
        areas.push(slot(group, at, area, &columns, buffer));
    }
    areas
}

/// `3 agents · 2 running · ⚑ 1 needs you   0:42  21k  $0.07`.
fn header(group: AgentGroup<'_>, panel: &Panel, room: u16) -> Line<'static> {
    let theme = group.painter.theme;
    let room = usize::from(room);
    let mut words = group.tally_spans();
    let (used, cost) = group.usage();
    let mut figures = vec![money(cost), tokens(used)];
    figures.extend(elapsed(group).map(clock));
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
fn elapsed(group: AgentGroup<'_>) -> Option<std::time::Duration> {
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
    let count = group.agents.len();
    let columns = HeaderColumns::new(group, panel.column_width());
    for column in 1..panel.columns {
        let x = panel.column_x(column).saturating_sub(2);
        separator(Rect { x, width: 1, ..panel.area }, group.painter, buffer);
    }
    let mut areas = PaneAreas::new();
    for at in 0..count {
        let area = panel.slot_area(at, count);
        let below = panel.slot >= SEPARATED_LINES && area.bottom() < panel.area.bottom();
        let area = Rect { height: area.height - u16::from(below), ..area };
        areas.push(slot(group, at, area, &columns, buffer));
    }
    areas
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
    for row in 1..usize::from(area.height) {
        put(buffer, area, row, &Line::from(edge.rest.clone()));
    }
    let indent = u16::try_from(edge.width()).unwrap_or(0).min(area.width);
    let text = Rect {
        x: area.x + indent,
        y: area.y + 1,
        width: area.width - indent,
        height: area.height.saturating_sub(1),
    };
    let live = live_line(group, agent, &state, usize::from(text.width), text.height < 2);
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
        let mut figures = FigureColumns::new(group);
        // The edge, the number, and the sign of the state.
        let other = 1 + digits + 1 + task + 3;
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
        let words = header_words(agent, state);
        let figures = self.figures.text(model, agent);
        let needed = digits + 1 + width(&task) + 2 + width(words) + width(&figures) + 3;
        if !words.is_empty() && needed <= room {
            right.push(Span::styled(format!(" {words}"), painter.style(state.glyph)));
        }
        right.push(Span::styled(figures, theme.dim));
        let rest = room.saturating_sub(digits + 1 + spans_width(&right) + 1);
        let mut left = vec![
            Span::styled(format!("{number:>digits$} "), number_style(painter, agent)),
            Span::styled(truncate(&task, rest).into_owned(), plain),
        ];
        if width(&task) + 2 + width(&kind) <= rest {
            left.push(Span::styled(format!("  {kind}"), theme.dim));
        }
        let line = two_ends(left, right, room, None);
        if focused { Line::from(band(painter, agent, line.spans)) } else { line }
    }
}

/// The word beside the sign of a state that needs attention or is an end.
fn header_words(agent: &AgentState, state: &StatusLabel) -> &'static str {
    match (state.glyph, &agent.run.phase) {
        (Glyph::Asks, _) => "needs you",
        (Glyph::Queued, _) => "queued",
        (Glyph::Done, _) => "done",
        (Glyph::Failed, RunPhase::Ended(_)) => "failed",
        (Glyph::Cancelled, RunPhase::Ended(_)) => "cancelled",
        (Glyph::Partial, _) => "partial",
        _ => "",
    }
}

/// The left edge of an agent: the branch of a child, and the bar in the agent's colour.
struct Gutter {
    head: Vec<Span<'static>>,
    rest: Vec<Span<'static>>,
}

impl Gutter {
    fn new(group: AgentGroup<'_>, at: usize) -> Self {
        let AgentGroup { agents, painter, .. } = group;
        let agent = agents[at];
        let glyphs = painter.theme.glyphs;
        let bar = Span::styled(glyphs.bar, painter.agent(agent));
        let mark = if group.is_focused(at) {
            Span::styled(glyphs.focus, painter.agent(agent))
        } else {
            bar.clone()
        };
        let (mut head, mut rest) = (Vec::new(), Vec::new());
        let parent = agent.path.parent().filter(|parent| !parent.is_root());
        let nested = parent.is_some_and(|parent| agents.iter().any(|other| other.path == parent));
        if nested {
            let depth = agent.path.depth();
            let mut after = agents[at + 1..].iter().map(|other| other.path.depth());
            let last = after.find(|other| *other <= depth) != Some(depth);
            let (branch, line) =
                if last { (glyphs.last_branch, " ") } else { (glyphs.branch, glyphs.vertical) };
            let indent = " ".repeat(depth.saturating_sub(2) as usize);
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

/// One line per agent. A last line of a list or grid tells of agents in trouble and of those that do
/// not fit.
fn lines(group: AgentGroup<'_>, panel: &Panel, buffer: &mut Buffer) -> PaneAreas {
    let agents = group.agents;
    let focus = (0..agents.len()).find(|at| group.is_focused(*at));
    let footer = panel.header.is_some() && panel.area.height > 1;
    let columns = usize::from(panel.columns);
    let mut height = usize::from(panel.area.height) - usize::from(footer);
    if !footer && agents.len() > height * columns {
        height = height.saturating_sub(1);
    }
    let visible = (height * columns).min(agents.len());
    let first = focus.unwrap_or(0).saturating_sub(visible / 2).min(agents.len() - visible);
    let per_column = visible.div_ceil(columns).max(1);
    let width = panel.column_width();
    let shared = AgentColumns::new(group, usize::from(width));
    let mut areas = PaneAreas::new();
    for (at, agent) in agents.iter().enumerate().skip(first).take(visible) {
        let (column, row) = ((at - first) / per_column, (at - first) % per_column);
        let (Ok(column), Ok(row)) = (u16::try_from(column), u16::try_from(row)) else { continue };
        let area = Rect::new(panel.column_x(column), panel.area.y + row, width, 1);
        let area = area.intersection(panel.area);
        put(buffer, area, 0, &line(group, at, &shared));
        areas.push(line_area(area, agent));
    }
    let hidden = [&agents[..first], &agents[first + visible..]].concat();
    let others = if footer { agents } else { &hidden[..] };
    let below = footer || !hidden.is_empty();
    if below {
        let words =
            more_line(AgentGroup { agents: others, ..group }, hidden.len(), panel.area.width);
        put(buffer, panel.area, height.min(per_column), &words);
    }
    areas
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
    columns.line(group, agent, &state, Gutter::new(group, at).head, emphasis)
}

/// ` +7 more · ⚑ 7 plan the migration needs you · ✗ 9 check i18n failed`.
pub fn more_line(group: AgentGroup<'_>, more: usize, room: u16) -> Line<'static> {
    let AgentGroup { model, agents, painter } = group;
    let mut spans = vec![Span::raw(" ")];
    if more > 0 {
        spans.push(Span::styled(format!("+{more} more"), painter.theme.dim));
    }
    for (glyph, verb) in [(Glyph::Asks, "needs you"), (Glyph::Failed, "failed")] {
        for agent in agents {
            if labels::agent_status(model, agent).glyph == glyph {
                if spans.len() > 1 {
                    spans.push(Span::styled(" · ", painter.theme.dim));
                }
                let sign = painter.sign(glyph);
                let text = format!("{sign} {} {} {verb}", agent.number, task(agent));
                spans.push(Span::styled(text, painter.style(glyph)));
            }
        }
    }
    cut_spans(&mut spans, usize::from(room));
    Line::from(spans)
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
    let others = others(model, agent, painter);
    let state = labels::agent_status(model, agent);
    let mut right = vec![Span::styled(painter.sign(state.glyph), painter.style(state.glyph))];
    let agents = [agent];
    let group = AgentGroup { model, agents: &agents, painter };
    let (used, _) = labels::tree_usage(&model.agents, &agent.path);
    let figures = FigureColumns::new(group).text(model, agent);
    right.push(Span::styled(format!("{figures}  {} ", tokens(used)), theme.dim));
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

/// `others 1 ✓ · 3 ⠹ writing`.
fn others(model: &TuiModel, agent: &AgentState, painter: Painter<'_>) -> Vec<Span<'static>> {
    let theme = painter.theme;
    let visible = model.agents.visible();
    let others: Vec<&AgentState> =
        visible.into_iter().filter(|other| other.path != agent.path).collect();
    let mut spans = Vec::new();
    for (at, other) in others.iter().take(8).enumerate() {
        let state = labels::agent_status(model, other);
        let words = match other.alive() && others.len() < 4 {
            true => format!(" {}", state.fitted(16)),
            false => String::new(),
        };
        spans.push(Span::styled(if at == 0 { "others  " } else { "  " }, theme.dim));
        spans.push(Span::styled(other.number.to_string(), number_style(painter, other)));
        let sign = format!(" {}", painter.sign(state.glyph));
        spans.push(Span::styled(sign, painter.style(state.glyph)));
        spans.push(Span::styled(words, theme.dim));
    }
    if others.len() > 8 {
        spans.push(Span::styled(format!("  +{} more", others.len() - 8), theme.dim));
    }
    spans
}
