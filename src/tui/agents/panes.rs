//! The agents' panel: a pane for each agent with its header, its state and the end of its transcript,
//! which the view draws; or one line each, and a pane for the one with the focus.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use crate::tui::agents::gutter::Gutter;
use crate::tui::agents::live::live_line;
use crate::tui::agents::pane_area::{PaneArea, PaneAreas};
use crate::tui::agents::row::{
    AgentGroup, FigureColumns, band, figure_width, kind, number_style, right_aligned, state_word,
    task,
};
use crate::tui::agents::{AgentState, ENDED_PANE_TIME, grid};
use crate::tui::format::{CLOCK_WIDTH, MONEY_WIDTH, TOKENS_WIDTH, clock, money, tokens};
use crate::tui::labels;
use crate::tui::labels::StatusLabel;
use crate::tui::layout::Panel;
use crate::tui::model::TuiModel;
use crate::tui::paint::{Painter, put, spans_width, two_ends};
use crate::tui::text::{column_width, truncate, width};

/// Cells of a task in a header; figures are dropped to keep them.
const MIN_TASK_WIDTH: usize = 20;

/// Panes with at least this many lines have a blank one between them.
const SEPARATED_LINES: u16 = 5;

/// Lines of a pane whose agent has ended while others work: its header and its result.
const ENDED_LINES: u16 = 2;

/// Time from the end of an agent until its pane has become small.
const SHRINK_TIME: Duration = Duration::from_millis(600);

/// How long the header of an agent that has just ended is lit.
const FLASH_TIME: Duration = Duration::from_millis(200);

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
        if panel.slot > 1 { slots(group, panel, buffer) } else { grid::draw(group, panel, buffer) };
    let asker = model.questions.current().map(|(_, waiting)| &waiting.question.path);
    let opened = (0..agents.len()).find(|at| match panel.asker {
        true => Some(&agents[*at].path) == asker,
        false => group.is_focused(*at),
    });
    if let (Some(area), Some(at)) = (panel.open, opened) {
        let pane = open_pane(group, at, area, buffer);
        // The question below says what it asks.
        let live = pane.live.filter(|_| !panel.asker);
        areas.push(PaneArea { live, ..pane });
    }
    areas
}

/// `3 agents · 2 running · ⚑ 1 needs you   0:42  21k  $0.07`.
fn header(group: AgentGroup<'_>, panel: &Panel, room: u16) -> Line<'static> {
    let theme = group.painter.theme;
    let room = usize::from(room);
    let (used, cost) = group.usage();
    let alive = group.agents.iter().any(|agent| agent.alive());
    let aligned = |figure: String, room: usize| {
        let cells = figure_width(&figure, alive.then_some(room));
        right_aligned(&figure, cells)
    };
    let mut figures = vec![aligned(money(cost), MONEY_WIDTH), aligned(tokens(used), TOKENS_WIDTH)];
    figures.extend(elapsed(group).map(|time| aligned(clock(time), CLOCK_WIDTH)));
    figures.retain(|figure| !figure.is_empty());
    let around = if panel.right { 2 } else { 4 };
    // Words of the states give way to figures.
    let whole = width(&figures.join("  ")) + around;
    let forms = [false, true].map(|brief| group.tally_spans(brief));
    let with_all = forms.iter().find(|words| spans_width(words) + whole <= room);
    let alone = forms.iter().find(|words| spans_width(words) <= room);
    let mut words = with_all.or(alone).unwrap_or(&forms[1]).clone();
    while spans_width(&words) + width(&figures.join("  ")) + around > room
        && figures.pop().is_some()
    {}
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
        if below && area.bottom() + 1 < panel.area.bottom() && at + 1 < group.agents.len() {
            let between = Rect { y: area.bottom(), height: 1, ..area };
            put(buffer, between, 0, &Line::from(Gutter::above(group, at + 1)));
        }
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
        let glyph = |agent: &AgentState| labels::agent_status(group.model, agent).glyph;
        // One that waits for its turn has no figures, which leaves room for its place.
        let others = |agent: &&&AgentState| !agent.run.queued();
        let words = |agent: &&AgentState| width(&state_word(agent, glyph(agent)));
        let words = group.agents.iter().filter(others).map(words).max().filter(|cells| *cells > 0);
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
        let words = state_word(agent, state.glyph);
        if !words.is_empty() {
            right.push(Span::styled(format!(" {words}"), painter.style(state.glyph)));
        }
        if !agent.run.queued() {
            right.push(Span::styled(self.figures.text(model, agent), theme.dim));
        }
        let rest = room.saturating_sub(digits + 1 + spans_width(&right) + 1);
        let mut left = vec![
            Span::styled(format!("{number:>digits$} "), number_style(painter, agent)),
            Span::styled(truncate(&task, rest).into_owned(), plain),
        ];
        if width(&task) + 2 + width(&kind) <= rest {
            left.push(Span::styled(format!("  {kind}"), theme.dim));
        }
        let line = two_ends(left, right, room, None);
        let ended = agent.run.ended.filter(|_| !alive && painter.frame.is_some());
        let since = ended.and_then(|at| model.now.checked_sub(at));
        let flashes = since.is_some_and(|since| since < FLASH_TIME);
        if focused || flashes { Line::from(band(painter, agent, line.spans)) } else { line }
    }
}
