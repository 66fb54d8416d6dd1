//! One line about an agent or a background command, of which panes, batches and lists are made, and
//! what the lines of several agents have in common.

use std::borrow::Cow;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::protocol::Cost;
use crate::tui::agents::{AgentSet, AgentState, AgentTally, RunState};
use crate::tui::format::{clock, money};
use crate::tui::labels;
use crate::tui::labels::StatusLabel;
use crate::tui::model::TuiModel;
use crate::tui::paint::{Painter, spans_width, two_ends};
use crate::tui::text::{column_width, truncate, width};

/// Maximum width of the names of agents in a column, in cells.
const MAX_NAME_WIDTH: usize = 20;

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

    /// Counts the agents by state.
    pub fn tally(&self) -> AgentTally {
        AgentSet::tally(self.agents.iter().copied())
    }

    /// Counts the agents in words, with a sign before those that need the user unless `plain`.
    pub fn tally_label(&self, plain: bool) -> String {
        let asks = labels::count_asking(self.model, self.agents.iter().copied());
        labels::tally_label(self.tally(), asks, self.painter.theme.glyphs, plain)
    }

    /// Tokens and cost of the agents.
    pub fn usage(&self) -> (u64, Cost) {
        labels::sum_usage(self.agents.iter().copied())
    }

    /// Width of a column with the names.
    pub fn name_width(&self) -> usize {
        column_width(self.agents.iter().map(|agent| &*agent.info.name), MAX_NAME_WIDTH)
    }
}

/// Builds a line from left to right. Figures stand at its right end.
pub struct AgentRow<'a> {
    painter: Painter<'a>,
    status: StatusLabel,
    left: Vec<Span<'static>>,
    figures: Vec<String>,
    figures_style: Style,
}

impl<'a> AgentRow<'a> {
    /// An empty line about an agent or command in this state.
    pub fn new(status: StatusLabel, painter: Painter<'a>) -> Self {
        let (left, figures) = (Vec::new(), Vec::new());
        Self { painter, status, left, figures, figures_style: painter.theme.dim }
    }

    /// Sets the figures, the most important first: the last ones are dropped when there is little room.
    pub fn figures(mut self, figures: Vec<String>, style: Style) -> Self {
        (self.figures, self.figures_style) = (figures, style);
        self
    }

    /// Adds spans.
    pub fn spans(mut self, spans: impl IntoIterator<Item = Span<'static>>) -> Self {
        self.left.extend(spans);
        self
    }

    /// Adds text.
    pub fn text(self, text: impl Into<Cow<'static, str>>, style: Style) -> Self {
        self.spans([Span::styled(text, style)])
    }

    /// Adds the glyph of the state, and a blank.
    pub fn glyph(self) -> Self {
        let glyph = self.status.glyph;
        let (sign, style) = (self.painter.sign(glyph), self.painter.style(glyph));
        self.text(format!("{sign} "), style)
    }

    /// Adds the words of the state.
    pub fn state(mut self, style: Style) -> Self {
        let words = std::mem::take(&mut self.status.text);
        self.text(words, style)
    }

    /// Adds text, truncated to the room that is left.
    pub fn truncated(self, text: &str, room: usize, style: Style) -> Self {
        let text = truncate(text, room.saturating_sub(self.width())).into_owned();
        self.text(text, style)
    }

    /// Drops figures until `more` cells fit behind the text.
    pub fn fit(mut self, room: usize, more: usize) -> Self {
        while !self.figures.is_empty() && self.width() + more > room {
            self.figures.pop();
        }
        self
    }

    /// Keeps the figures this far from the right edge.
    pub fn margin(mut self, cells: usize) -> Self {
        if let Some(last) = self.figures.last_mut() {
            last.push_str(&" ".repeat(cells));
        }
        self
    }

    /// Cells that the text and the figures need so far.
    fn width(&self) -> usize {
        let figures = width(&self.figures.join(" "));
        spans_width(&self.left) + figures + usize::from(figures > 0)
    }

    /// The line, truncated or filled up to the room.
    pub fn line(self, room: usize, fill: Option<(&str, Style)>) -> Line<'static> {
        let figures = Span::styled(self.figures.join(" "), self.figures_style);
        two_ends(self.left, vec![figures], room, fill)
    }

    /// The text alone.
    pub fn into_spans(self) -> Vec<Span<'static>> {
        self.left
    }
}

/// Time, turns and cost of an agent.
pub fn figures(model: &TuiModel, agent: &AgentState) -> Vec<String> {
    let Some(elapsed) = agent.run.elapsed(model.now) else { return vec!["–".to_owned()] };
    let (_, cost) = labels::tree_usage(&model.agents, &agent.path);
    vec![clock(elapsed), turns(&agent.run), money(cost)]
}

/// `4/20`.
pub fn turns(run: &RunState) -> String {
    match run.limit {
        Some(limit) => format!("{}/{limit}", run.turn),
        None => run.turn.to_string(),
    }
}
