//! The agents' panel: slots with a header, a state and the end of the output; or one row each.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::protocol::{AgentPath, RunEnd};
use crate::tui::agents::row::{AgentGroup, AgentRow};
use crate::tui::agents::{AgentState, RunPhase, row};
use crate::tui::format::{money, tokens};
use crate::tui::labels;
use crate::tui::labels::StatusLabel;
use crate::tui::layout::Panel;
use crate::tui::model::TuiModel;
use crate::tui::paint::{Painter, cut_spans, put, spans_width, two_ends};
use crate::tui::settings::PaneLayout;
use crate::tui::text::{one_line, sanitize, tail_lines, truncate, width};
use crate::tui::theme::Glyph;

/// Lines of the focused agent where all agents are rows.
const FOCUSED_ROW_LINES: u16 = 6;

/// Minimum cells of a title, with the dot before it; figures are dropped to keep them.
const MIN_TITLE: usize = 11;

/// The same for panes narrower than `NARROW`, where the title would be truncated too much.
const NARROW_MIN_TITLE: usize = 21;

/// Panes narrower than this prefer the title over figures. Cells.
const NARROW_PANE: usize = 48;

/// Areas of the agents drawn, for the mouse.
pub type PaneAreas = Vec<(Rect, AgentPath)>;

/// Draws the panel.
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
        separator(panel.area.x - 2, panel, painter, buffer);
    }
    if panel.slot > 1 { slots(group, panel, buffer) } else { rows(group, panel, buffer) }
}

/// `3 agents · 2 running · ⚑ 1 needs you   21k · $0.07`.
fn header(group: AgentGroup<'_>, panel: &Panel, room: u16) -> Line<'static> {
    let theme = group.painter.theme;
    let room = usize::from(room);
    let words = group.tally_label(false);
    let (used, cost) = group.usage();
    let mut figures = format!("{} · {}", tokens(used), money(cost));
    if width(&words) + width(&figures) + 4 > room {
        figures = money(cost);
    }
    if width(&words) + width(&figures) + 2 > room {
        figures = String::new();
    }
    if panel.right {
        let right = vec![Span::styled(figures, theme.dim)];
        return two_ends(vec![Span::raw(words)], right, room, None);
    }
    let rule = theme.glyphs.rule;
    let left = vec![Span::styled(format!("{rule} "), theme.dim), Span::raw(words)];
    let right = vec![Span::styled(format!("{figures} {rule} "), theme.dim)];
    two_ends(left, right, room, Some((rule, theme.dim)))
}

/// Draws a line from the top of the screen to the bottom of the panel.
fn separator(x: u16, panel: &Panel, painter: Painter<'_>, buffer: &mut Buffer) {
    for y in 0..panel.area.bottom() {
        buffer.set_string(x, y, painter.theme.glyphs.vertical, painter.theme.dim);
    }
}

/// The area of a slot or row in a panel whose columns are filled one after the other.
fn cell(panel: &Panel, at: usize, per_column: usize) -> Option<Rect> {
    let column = u16::try_from(at / per_column).ok()?;
    let row = u16::try_from(at % per_column).ok()?;
    let width = (panel.area.width - 3 * (panel.columns - 1)) / panel.columns;
    let (x, y) = (panel.area.x + column * (width + 3), panel.area.y + row * panel.slot);
    Some(Rect::new(x, y, width, panel.slot).intersection(panel.area))
}

fn slots(group: AgentGroup<'_>, panel: &Panel, buffer: &mut Buffer) -> PaneAreas {
    let per_column = group.agents.len().div_ceil(usize::from(panel.columns)).max(1);
    let mut areas = Vec::new();
    for (at, agent) in group.agents.iter().enumerate() {
        let Some(area) = cell(panel, at, per_column) else { continue };
        if at > 0 && at % per_column == 0 {
            separator(area.x - 2, panel, group.painter, buffer);
        }
        slot(group, at, area, buffer);
        areas.push((area, agent.path.clone()));
    }
    areas
}

/// One slot: header, state, and the end of the text.
fn slot(group: AgentGroup<'_>, at: usize, area: Rect, buffer: &mut Buffer) {
    let AgentGroup { model, agents, painter } = group;
    let agent = agents[at];
    let edge = Gutter::new(group, at);
    let state = labels::agent_status(model, agent);
    put(buffer, area, 0, &slot_header(group, at, state.clone(), &edge, area.width));
    let inner = usize::from(area.width).saturating_sub(edge.width() + 2);
    let writing = matches!(agent.run.phase, RunPhase::Writing) && state.glyph == Glyph::Spinner;
    if area.height == 2 && writing {
        let line = tail(agent, inner, 1, painter.theme.text).pop().unwrap_or_default();
        put(buffer, area, 1, &edge.prefix(line));
        return;
    }
    put(buffer, area, 1, &edge.prefix(state_line(group, at, state, inner)));
    if area.height <= 2 {
        return;
    }
    let style = if agent.alive() { painter.theme.text } else { painter.theme.dim };
    let lines = tail(agent, inner, usize::from(area.height) - 2, style);
    for row in 0..usize::from(area.height) - 2 {
        let line = lines.get(row).cloned().unwrap_or_default();
        put(buffer, area, row + 2, &edge.prefix(line));
    }
}

fn tail(agent: &AgentState, room: usize, count: usize, style: Style) -> Vec<Line<'static>> {
    let width = u16::try_from(room.max(1)).unwrap_or(u16::MAX);
    let text = agent.transcript.tail(room.max(20) * (count + 2) * 4);
    tail_lines(&sanitize(text.trim_end()), width, count, style)
}

/// `⠹ Grep "fn route"`, `✓ done: Two route tables. …`.
fn state_line(
    group: AgentGroup<'_>,
    at: usize,
    mut state: StatusLabel,
    room: usize,
) -> Line<'static> {
    let (agent, painter) = (group.agents[at], group.painter);
    match (&agent.run.phase, &agent.outcome) {
        (RunPhase::Ended(RunEnd::Completed), Some(outcome)) => {
            let mut lines = outcome.text.lines();
            if let Some(first) = lines.find(|line| !line.trim().is_empty()) {
                state.text = format!("{}: {}", state.text, one_line(first));
            }
        }
        (RunPhase::Ended(RunEnd::Cancelled { before_start: false }), _) => {
            let note = labels::partial_text_note(group.model, agent);
            let longer = labels::with_detail(&state.text, note);
            if width(&longer) + 2 <= room {
                state.text = longer;
            }
        }
        _ => {}
    }
    let style = match state.glyph {
        Glyph::Asks | Glyph::Failed => painter.style(state.glyph),
        _ if agent.alive() => painter.theme.text,
        _ => painter.theme.dim,
    };
    let mut spans = AgentRow::new(state, painter).glyph().state(style).into_spans();
    cut_spans(&mut spans, room);
    Line::from(spans)
}

/// The left edge of a slot: the branch of a child, and the bar in the agent's colour.
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
            Span::styled(glyphs.focus, painter.theme.accent)
        } else {
            bar.clone()
        };
        let (mut head, mut rest) = (Vec::new(), Vec::new());
        let parent = agent.path.parent();
        let nested = agents.iter().any(|other| Some(&other.path) == parent.as_ref());
        if nested {
            let last = !agents[at + 1..].iter().any(|other| other.path.parent() == parent);
            let (branch, line) =
                if last { (glyphs.last_branch, " ") } else { (glyphs.branch, glyphs.vertical) };
            head.push(Span::styled(branch, painter.theme.dim));
            rest.push(Span::styled(line, painter.theme.dim));
        }
        head.push(mark);
        rest.push(bar);
        Self { head, rest }
    }

    fn width(&self) -> usize {
        spans_width(&self.rest)
    }

    /// Puts the gutter before a line of the slot.
    fn prefix(&self, line: Line<'static>) -> Line<'static> {
        let mut spans = self.rest.clone();
        spans.push(Span::raw("  "));
        spans.extend(line.spans);
        Line::from(spans)
    }
}

/// Style of an agent's header: reversed with the focus, dim once it has ended.
fn header_style(group: AgentGroup<'_>, at: usize) -> Style {
    let theme = group.painter.theme;
    match (group.is_focused(at), group.agents[at].alive()) {
        (true, _) => theme.focus,
        (false, true) => theme.text,
        (false, false) => theme.dim,
    }
}

/// `▌1 explore-1 · map the routes ──── 0:42 4/20 $0.04`.
fn slot_header(
    group: AgentGroup<'_>,
    at: usize,
    state: StatusLabel,
    edge: &Gutter,
    room: u16,
) -> Line<'static> {
    let AgentGroup { model, agents, painter } = group;
    let (agent, theme) = (agents[at], painter.theme);
    let room = usize::from(room);
    let focused = group.is_focused(at);
    let style = header_style(group, at);
    let title = format!(" · {}", one_line(&agent.info.description));
    // Too narrow: drop cost, then turns, then time; then truncate the title.
    let kept = if room < NARROW_PANE { NARROW_MIN_TITLE } else { MIN_TITLE };
    AgentRow::new(state, painter)
        .figures(row::figures(model, agent), if focused { style } else { theme.dim })
        .spans(edge.head.clone())
        .text(agent.number.to_string(), if focused { style } else { painter.agent(agent) })
        .text(format!(" {}", agent.info.name), style)
        .fit(room, width(&title).min(kept))
        .truncated(&title, room, style)
        .margin(usize::from(panel_has_margin(model)))
        .line(room, Some((theme.glyphs.rule, theme.dim)))
}

/// Whether the figures keep a cell from the edge, as the rules do below the transcript.
fn panel_has_margin(model: &TuiModel) -> bool {
    model.size.0 < 100 && model.settings.panes == PaneLayout::Auto
}

/// One line per agent; the last line summarizes those that do not fit.
fn rows(group: AgentGroup<'_>, panel: &Panel, buffer: &mut Buffer) -> PaneAreas {
    let agents = group.agents;
    let focus = (0..agents.len()).find(|at| group.is_focused(*at));
    let grow =
        if panel.header.is_some() && focus.is_some() && panel.area.height > FOCUSED_ROW_LINES + 2 {
            FOCUSED_ROW_LINES
        } else {
            0
        };
    if panel.columns > 1 && grow == 0 {
        return row_columns(group, panel, buffer);
    }
    let room = usize::from(panel.area.height - grow);
    let visible = if agents.len() > room { room.saturating_sub(1) } else { agents.len() };
    let first = focus.unwrap_or(0).saturating_sub(visible / 2).min(agents.len() - visible);
    let mut areas = Vec::new();
    let mut y = panel.area.y;
    for (at, agent) in agents.iter().enumerate().skip(first).take(visible) {
        let lines = if Some(at) == focus { 1 + grow } else { 1 };
        let area = Rect::new(panel.area.x, y, panel.area.width, lines).intersection(panel.area);
        if lines > 2 {
            slot(group, at, area, buffer);
        } else {
            put(buffer, area, 0, &row(group, at, area.width));
        }
        areas.push((area, agent.path.clone()));
        y += lines;
    }
    if visible < agents.len() {
        let area = Rect::new(panel.area.x, y, panel.area.width, 1).intersection(panel.area);
        let hidden = [&agents[..first], &agents[first + visible..]].concat();
        let hidden = AgentGroup { agents: &hidden, ..group };
        put(buffer, area, 0, &more_line(hidden, hidden.agents.len(), area.width));
    }
    areas
}

fn row_columns(group: AgentGroup<'_>, panel: &Panel, buffer: &mut Buffer) -> PaneAreas {
    let per_column = usize::from(panel.area.height);
    let mut areas = Vec::new();
    let fitting = per_column * usize::from(panel.columns);
    for (at, agent) in group.agents.iter().enumerate().take(fitting) {
        let Some(area) = cell(panel, at, per_column) else { continue };
        put(buffer, area, 0, &row(group, at, area.width));
        areas.push((area, agent.path.clone()));
    }
    areas
}

/// `▌1 explore-1 ⠹ Grep "fn route" · map the ro… 0:42 4/20 $0.04`.
pub fn row(group: AgentGroup<'_>, at: usize, room: u16) -> Line<'static> {
    let AgentGroup { model, agents, painter } = group;
    let (agent, theme) = (agents[at], painter.theme);
    let room = usize::from(room);
    let state = labels::agent_status(model, agent);
    let names = group.name_width();
    let style = header_style(group, at);
    let pad = names.saturating_sub(width(&agent.info.name));
    let words = labels::row_label(model, agent, &state);
    let words_style = match state.glyph {
        _ if group.is_focused(at) => theme.text,
        Glyph::Asks => theme.question,
        _ => style,
    };
    let aside = if agent.in_background && agent.alive() { " · background" } else { "" };
    let title = one_line(&agent.info.description);
    AgentRow::new(state, painter)
        .spans(Gutter::new(group, at).head)
        .text(format!("{} ", agent.number), painter.agent(agent))
        .text(agent.info.name.clone(), style)
        .text(" ".repeat(pad + 1), Style::new())
        .glyph()
        .truncated(&words, room, words_style)
        .figures(row::figures(model, agent), theme.dim)
        .fit(room, 0)
        .text(format!("{aside} · {title}"), theme.dim)
        .line(room, None)
}

/// `+7 more · ⚑ plan-2 needs you · ✗ review-7 failed`, where `hidden` are the agents among them.
pub fn more_line(hidden: AgentGroup<'_>, more: usize, room: u16) -> Line<'static> {
    let AgentGroup { model, agents, painter } = hidden;
    let mut spans = vec![Span::styled(format!(" +{more} more"), painter.theme.dim)];
    for (glyph, verb) in [(Glyph::Asks, "needs you"), (Glyph::Failed, "failed")] {
        for agent in agents {
            if labels::agent_status(model, agent).glyph == glyph {
                let text = format!("{} {} {verb}", painter.sign(glyph), agent.info.name);
                spans.push(Span::styled(" · ", painter.theme.dim));
                spans.push(Span::styled(text, painter.style(glyph)));
            }
        }
    }
    cut_spans(&mut spans, usize::from(room));
    Line::from(spans)
}

/// The line above a zoomed agent: its ancestors, and the state of other agents.
pub fn zoom_header(
    model: &TuiModel,
    agent: &AgentState,
    room: u16,
    painter: Painter<'_>,
) -> Line<'static> {
    let theme = painter.theme;
    let mut left = vec![Span::styled("main › ", theme.dim)];
    let mut above = Vec::new();
    let mut parent = agent.path.parent();
    while let Some(path) = parent.filter(|path| !path.is_root()) {
        above.push(model.name(&path).to_owned());
        parent = path.parent();
    }
    left.extend(above.into_iter().rev().map(|name| Span::styled(format!("{name} › "), theme.dim)));
    left.push(Span::styled(format!("{} {}", agent.number, agent.info.name), painter.agent(agent)));
    left.push(Span::raw(format!(" · {}", one_line(&agent.info.description))));
    let others: Vec<&AgentState> = model
        .agents
        .visible()
        .into_iter()
        .filter(|other| other.path != agent.path)
        .take(4)
        .collect();
    let mut right = Vec::new();
    for (at, other) in others.into_iter().enumerate() {
        let state = labels::agent_status(model, other);
        let words =
            if other.alive() { format!(" {}", truncate(&state.text, 16)) } else { String::new() };
        right.push(Span::styled(if at == 0 { "others " } else { " · " }, theme.dim));
        right.push(Span::styled(other.number.to_string(), painter.agent(other)));
        right.push(Span::styled(format!(" {}{words}", painter.sign(state.glyph)), theme.dim));
    }
    two_ends(left, right, usize::from(room), None)
}
