//! The agents' panel: slots with a header, a state and the end of the output; or one row each.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::protocol::{AgentPath, RunEnd};
use crate::tui::agents::row::AgentRow;
use crate::tui::agents::{AgentSet, AgentState, RunPhase, row};
use crate::tui::format::{money, tokens};
use crate::tui::labels;
use crate::tui::labels::{Glyph, StatusLabel, tally_label};
use crate::tui::layout::Panel;
use crate::tui::model::TuiModel;
use crate::tui::paint::{Painter, cut_spans, put, spans_width, two_ends};
use crate::tui::settings::PaneLayout;
use crate::tui::text::{one_line, sanitize, tail_lines, truncate, width};
use crate::tui::theme::Theme;

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
pub fn draw(model: &TuiModel, panel: &Panel, pen: Painter<'_>, buffer: &mut Buffer) -> PaneAreas {
    let agents = model.agents.panel();
    if let Some(area) = panel.header {
        put(buffer, area, 0, &header(model, &agents, panel, pen));
    }
    if panel.right {
        for y in 0..panel.area.bottom() {
            buffer.set_string(panel.area.x - 2, y, pen.theme.glyphs.vertical, pen.theme.dim);
        }
    }
    if panel.slot > 1 {
        slots(model, &agents, panel, pen, buffer)
    } else {
        rows(model, &agents, panel, pen, buffer)
    }
}

/// `3 agents · 2 running · ⚑ 1 needs you   21k · $0.07`.
fn header(
    model: &TuiModel,
    agents: &[&AgentState],
    panel: &Panel,
    pen: Painter<'_>,
) -> Line<'static> {
    let theme = pen.theme;
    let room = usize::from(panel.header.map_or(0, |area| area.width));
    let tally = AgentSet::tally(agents.iter().copied());
    let asks = labels::count_asking(model, agents.iter().copied());
    let words = tally_label(tally, asks, pen.theme.glyphs, false);
    let (used, cost) = labels::sum_usage(agents.iter().copied());
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

fn slots(
    model: &TuiModel,
    agents: &[&AgentState],
    panel: &Panel,
    pen: Painter<'_>,
    buffer: &mut Buffer,
) -> PaneAreas {
    let columns = panel.columns.max(1);
    let per_column = agents.len().div_ceil(usize::from(columns)).max(1);
    let column_width = (panel.area.width - 3 * (columns - 1)) / columns;
    let mut places = Vec::new();
    for (at, agent) in agents.iter().enumerate() {
        let (column, row) = (at / per_column, at % per_column);
        let (Ok(column), Ok(row)) = (u16::try_from(column), u16::try_from(row)) else { continue };
        let x = panel.area.x + column * (column_width + 3);
        let y = panel.area.y + row * panel.slot;
        let area = Rect::new(x, y, column_width, panel.slot).intersection(panel.area);
        if column > 0 && row == 0 {
            for y in 0..panel.area.bottom() {
                buffer.set_string(x - 2, y, pen.theme.glyphs.vertical, pen.theme.dim);
            }
        }
        slot(model, agents, at, area, pen, buffer);
        places.push((area, agent.path.clone()));
    }
    places
}

/// One slot: header, state, and the end of the text.
fn slot(
    model: &TuiModel,
    agents: &[&AgentState],
    at: usize,
    area: Rect,
    pen: Painter<'_>,
    buffer: &mut Buffer,
) {
    let agent = agents[at];
    let focused = model.focus.as_ref() == Some(&agent.path);
    let edge = Gutter::new(agents, at, focused, pen);
    let state = labels::agent_status(model, agent);
    put(buffer, area, 0, &slot_header(model, agent, state.clone(), &edge, area.width, pen));
    let inner = usize::from(area.width).saturating_sub(edge.width() + 2);
    let writing = matches!(agent.run.phase, RunPhase::Writing) && state.glyph == Glyph::Spinner;
    if area.height == 2 && writing {
        let line = tail(agent, inner, 1, pen.theme.text).pop().unwrap_or_default();
        put(buffer, area, 1, &edge.prefix(line));
        return;
    }
    put(buffer, area, 1, &edge.prefix(state_line(model, agent, state, inner, pen)));
    if area.height <= 2 {
        return;
    }
    let style = if agent.alive() { pen.theme.text } else { pen.theme.dim };
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
    model: &TuiModel,
    agent: &AgentState,
    mut state: StatusLabel,
    room: usize,
    pen: Painter<'_>,
) -> Line<'static> {
    match (&agent.run.phase, &agent.outcome) {
        (RunPhase::Ended(RunEnd::Completed), Some(outcome)) => {
            let mut lines = outcome.text.lines();
            if let Some(first) = lines.find(|line| !line.trim().is_empty()) {
                state.text = format!("{}: {}", state.text, one_line(first));
            }
        }
        (RunPhase::Ended(RunEnd::Cancelled { before_start: false }), _) => {
            let longer = labels::with_detail(&state.text, labels::partial_text_note(model, agent));
            if width(&longer) + 2 <= room {
                state.text = longer;
            }
        }
        _ => {}
    }
    let style = match state.glyph {
        Glyph::Asks | Glyph::Failed => pen.style(state.glyph),
        _ if agent.alive() => pen.theme.text,
        _ => pen.theme.dim,
    };
    let mut spans = AgentRow::new(state, pen).glyph().state(style).into_spans();
    cut_spans(&mut spans, room);
    Line::from(spans)
}

/// The left edge of a slot: the branch of a child, and the bar in the agent's colour.
struct Gutter {
    head: Vec<Span<'static>>,
    rest: Vec<Span<'static>>,
}

impl Gutter {
    fn new(agents: &[&AgentState], at: usize, focused: bool, pen: Painter<'_>) -> Self {
        let agent = agents[at];
        let glyphs = pen.theme.glyphs;
        let bar = Span::styled(glyphs.bar, pen.agent(agent));
        let mark = if focused { Span::styled(glyphs.focus, pen.theme.accent) } else { bar.clone() };
        let (mut head, mut rest) = (Vec::new(), Vec::new());
        let parent = agent.path.parent();
        let nested = agents.iter().any(|other| Some(&other.path) == parent.as_ref());
        if nested {
            let last = !agents[at + 1..].iter().any(|other| other.path.parent() == parent);
            let (branch, line) =
                if last { (glyphs.last_branch, " ") } else { (glyphs.branch, glyphs.vertical) };
            head.push(Span::styled(branch, pen.theme.dim));
            rest.push(Span::styled(line, pen.theme.dim));
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
fn header_style(agent: &AgentState, focused: bool, theme: &Theme) -> Style {
    match (focused, agent.alive()) {
        (true, _) => theme.focus,
        (false, true) => theme.text,
        (false, false) => theme.dim,
    }
}

/// `▌1 explore-1 · map the routes ──── 0:42 4/20 $0.04`.
fn slot_header(
    model: &TuiModel,
    agent: &AgentState,
    state: StatusLabel,
    edge: &Gutter,
    room: u16,
    pen: Painter<'_>,
) -> Line<'static> {
    let theme = pen.theme;
    let room = usize::from(room);
    let focused = model.focus.as_ref() == Some(&agent.path);
    let look = header_style(agent, focused, theme);
    let title = format!(" · {}", one_line(&agent.info.description));
    // Too narrow: drop cost, then turns, then time; then truncate the title.
    let kept = if room < NARROW_PANE { NARROW_MIN_TITLE } else { MIN_TITLE };
    AgentRow::new(state, pen)
        .figures(row::figures(model, agent), if focused { look } else { theme.dim })
        .spans(edge.head.clone())
        .text(agent.number.to_string(), if focused { look } else { pen.agent(agent) })
        .text(format!(" {}", agent.info.name), look)
        .fit(room, width(&title).min(kept))
        .truncated(&title, room, look)
        .margin(usize::from(panel_has_margin(model)))
        .line(room, Some((theme.glyphs.rule, theme.dim)))
}

/// Whether the figures keep a cell from the edge, as the rules do below the transcript.
fn panel_has_margin(model: &TuiModel) -> bool {
    model.size.0 < 100 && model.settings.panes == PaneLayout::Auto
}

/// One line per agent; the last line summarizes those that do not fit.
fn rows(
    model: &TuiModel,
    agents: &[&AgentState],
    panel: &Panel,
    pen: Painter<'_>,
    buffer: &mut Buffer,
) -> PaneAreas {
    let focus = agents.iter().position(|agent| model.focus.as_ref() == Some(&agent.path));
    let grow =
        if panel.header.is_some() && focus.is_some() && panel.area.height > FOCUSED_ROW_LINES + 2 {
            FOCUSED_ROW_LINES
        } else {
            0
        };
    let columns = panel.columns.max(1);
    if columns > 1 && grow == 0 {
        return row_columns(model, agents, panel, pen, buffer);
    }
    let room = usize::from(panel.area.height - grow);
    let visible = if agents.len() > room { room.saturating_sub(1) } else { agents.len() };
    let at = focus.unwrap_or(0);
    let first = at.saturating_sub(visible / 2).min(agents.len() - visible);
    let mut places = Vec::new();
    let mut y = panel.area.y;
    for (at, agent) in agents.iter().enumerate().skip(first).take(visible) {
        let lines = if Some(at) == focus { 1 + grow } else { 1 };
        let area = Rect::new(panel.area.x, y, panel.area.width, lines).intersection(panel.area);
        if lines > 2 {
            slot(model, agents, at, area, pen, buffer);
        } else {
            put(buffer, area, 0, &row(model, agents, at, area.width, pen));
        }
        places.push((area, agent.path.clone()));
        y += lines;
    }
    if visible < agents.len() {
        let hidden = agents[..first].iter().chain(&agents[first + visible..]).copied();
        let area = Rect::new(panel.area.x, y, panel.area.width, 1).intersection(panel.area);
        let hidden: Vec<&AgentState> = hidden.collect();
        put(buffer, area, 0, &more_line(model, hidden.len(), &hidden, area.width, pen));
    }
    places
}

fn row_columns(
    model: &TuiModel,
    agents: &[&AgentState],
    panel: &Panel,
    pen: Painter<'_>,
    buffer: &mut Buffer,
) -> PaneAreas {
    let columns = panel.columns;
    let width = (panel.area.width - 3 * (columns - 1)) / columns;
    let per_column = usize::from(panel.area.height);
    let mut places = Vec::new();
    for (at, agent) in agents.iter().enumerate().take(per_column * usize::from(columns)) {
        let (Ok(column), Ok(line)) =
            (u16::try_from(at / per_column), u16::try_from(at % per_column))
        else {
            continue;
        };
        let area = Rect::new(panel.area.x + column * (width + 3), panel.area.y + line, width, 1);
        put(buffer, area, 0, &row(model, agents, at, width, pen));
        places.push((area, agent.path.clone()));
    }
    places
}

/// `▌1 explore-1 ⠹ Grep "fn route" · map the ro… 0:42 4/20 $0.04`.
pub fn row(
    model: &TuiModel,
    agents: &[&AgentState],
    at: usize,
    room: u16,
    pen: Painter<'_>,
) -> Line<'static> {
    let agent = agents[at];
    let theme = pen.theme;
    let room = usize::from(room);
    let focused = model.focus.as_ref() == Some(&agent.path);
    let edge = Gutter::new(agents, at, focused, pen);
    let state = labels::agent_status(model, agent);
    let names = agents.iter().map(|agent| width(&agent.info.name)).max().unwrap_or(0).min(20);
    let look = header_style(agent, focused, theme);
    let pad = names.saturating_sub(width(&agent.info.name));
    let words = labels::row_label(model, agent, &state);
    let words_look = match state.glyph {
        _ if focused => theme.text,
        Glyph::Asks => theme.question,
        _ => look,
    };
    let place = if agent.in_background && agent.alive() { " · background" } else { "" };
    let title = one_line(&agent.info.description);
    AgentRow::new(state, pen)
        .spans(edge.head)
        .text(format!("{} ", agent.number), pen.agent(agent))
        .text(agent.info.name.clone(), look)
        .text(" ".repeat(pad + 1), Style::new())
        .glyph()
        .truncated(&words, room, words_look)
        .figures(row::figures(model, agent), theme.dim)
        .fit(room, 0)
        .text(format!("{place} · {title}"), theme.dim)
        .line(room, None)
}

/// `+7 more · ⚑ plan-2 asks · ✗ review-7 failed`.
pub fn more_line(
    model: &TuiModel,
    more: usize,
    hidden: &[&AgentState],
    room: u16,
    pen: Painter<'_>,
) -> Line<'static> {
    let mut spans = vec![Span::styled(format!(" +{more} more"), pen.theme.dim)];
    for glyph in [Glyph::Asks, Glyph::Failed] {
        for agent in hidden {
            let state = labels::agent_status(model, agent);
            if state.glyph == glyph {
                let verb = if glyph == Glyph::Asks { "asks" } else { "failed" };
                let text = format!("{} {} {verb}", pen.sign(glyph), agent.info.name);
                spans.push(Span::styled(" · ", pen.theme.dim));
                spans.push(Span::styled(text, pen.style(glyph)));
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
    pen: Painter<'_>,
) -> Line<'static> {
    let theme = pen.theme;
    let mut left = vec![Span::styled("main › ", theme.dim)];
    let mut above = Vec::new();
    let mut parent = agent.path.parent();
    while let Some(path) = parent.filter(|path| !path.is_root()) {
        above.push(model.name(&path).to_owned());
        parent = path.parent();
    }
    left.extend(above.into_iter().rev().map(|name| Span::styled(format!("{name} › "), theme.dim)));
    left.push(Span::styled(format!("{} {}", agent.number, agent.info.name), pen.agent(agent)));
    left.push(Span::raw(format!(" · {}", one_line(&agent.info.description))));
    let shown = model.agents.visible();
    let others: Vec<&AgentState> =
        shown.into_iter().filter(|other| other.path != agent.path).take(4).collect();
    let mut right = Vec::new();
    for (at, other) in others.into_iter().enumerate() {
        let state = labels::agent_status(model, other);
        let words =
            if other.alive() { format!(" {}", truncate(&state.text, 16)) } else { String::new() };
        right.push(Span::styled(if at == 0 { "others " } else { " · " }, theme.dim));
        right.push(Span::styled(other.number.to_string(), pen.agent(other)));
        right.push(Span::styled(format!(" {}{words}", pen.sign(state.glyph)), theme.dim));
    }
    two_ends(left, right, usize::from(room), None)
}
