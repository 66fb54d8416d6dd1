//! The lines above the transcript of an agent that fills the body.

use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use crate::tui::agents::AgentState;
use crate::tui::agents::grid::most_telling;
use crate::tui::agents::row::{
    AgentGroup, figure_width, number_style, right_aligned, state_word, task, turns, turns_width,
};
use crate::tui::format::{CLOCK_WIDTH, TOKENS_WIDTH, clock, spent, spent_width, tokens};
use crate::tui::labels;
use crate::tui::model::TuiModel;
use crate::tui::paint::{Painter, gauge, spans_width, two_ends};
use crate::tui::text::{one_line, truncate};

/// Cells of the task of another agent.
const TASK_WIDTH: usize = 24;

/// Cells of an agent beside a zoomed one, with a number of three digits.
const OTHER_WIDTH: usize = 8;

/// Cells of a gauge in the head of a zoomed agent.
const GAUGE_WIDTH: u16 = 10;

/// The lines above a zoomed agent, at most `height`: its ancestors, task and figures, then the others.
pub fn header(
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
    let mut beside = model.agents.visible();
    // Those below it have rows in its transcript.
    beside.retain(|other| !other.path.is_within(&agent.path));
    let group = AgentGroup { model, agents: &beside, painter };
    let others = others(group, room);
    let mut right = figures(group, agent, true);
    if spans_width(&left) + spans_width(&right) + 2 > room {
        right = figures(group, agent, false);
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
fn figures(group: AgentGroup<'_>, agent: &AgentState, gauges: bool) -> Vec<Span<'static>> {
    let AgentGroup { model, painter, .. } = group;
    let theme = painter.theme;
    let state = labels::agent_status(model, agent).glyph;
    let words = state_word(agent, state);
    let gap = if words.is_empty() { "" } else { " " };
    let sign = format!("{}{gap}{words}", painter.sign(state));
    let mut spans = vec![Span::styled(sign, painter.style(state))];
    let figure = |text: &str, room: usize| {
        let cells = figure_width(text, agent.alive().then_some(room));
        Span::styled(format!("  {}", right_aligned(text, cells)), theme.dim)
    };
    let bar = |used: f64, whole: f64| {
        let bar = gauge(theme, used, whole, GAUGE_WIDTH, painter.agent(agent));
        std::iter::once(Span::raw(" ")).chain(bar)
    };
    let (used, cost) = labels::agent_usage(&model.agents, agent);
    if agent.run.started.is_some() {
        let elapsed = agent.run.elapsed(model.now);
        spans.extend(elapsed.map(|elapsed| figure(&clock(elapsed), CLOCK_WIDTH)));
        spans.push(figure(&turns(&agent.run), turns_width(&agent.run)));
        if let Some(limit) = agent.run.limit.filter(|_| gauges) {
            spans.extend(bar(f64::from(agent.run.turn), f64::from(limit)));
        }
    }
    spans.push(figure(&tokens(used), TOKENS_WIDTH));
    let cost_words = spent(cost, agent.info.max_usd);
    spans.extend(
        (!cost_words.is_empty()).then(|| figure(&cost_words, spent_width(agent.info.max_usd))),
    );
    if let Some(limit) = agent.info.max_usd.filter(|_| gauges) {
        spans.extend(bar(cost.usd, limit));
    }
    spans.push(Span::raw(" "));
    spans
}

/// `others  ●1 map the routes ✓  ●3 check the tests ⠹ writing`, by their numbers; without tasks if they do
/// not fit, and only the most telling ones if the numbers do not.
fn others(group: AgentGroup<'_>, room: usize) -> Vec<Span<'static>> {
    let fitting = (room / OTHER_WIDTH).saturating_sub(3).max(1);
    let mut shown = most_telling(group, fitting);
    shown.sort_by_key(|other| other.number);
    let (all, group) = (group.agents.len(), AgentGroup { agents: &shown, ..group });
    let spans = other_spans(group, all, true);
    match spans_width(&spans) < room {
        true => spans,
        false => other_spans(group, all, false),
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
            let task = format!(" {}", truncate(&task(other), TASK_WIDTH));
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
