//! One line about an agent or a background command, of which panes, batches and lists are made.

use std::borrow::Cow;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::tui::agents::{AgentState, RunState};
use crate::tui::format::{clock, money};
use crate::tui::labels;
use crate::tui::labels::StatusLabel;
use crate::tui::model::TuiModel;
use crate::tui::paint::{Painter, spans_width, two_ends};
use crate::tui::text::{truncate, width};

/// Builds a line from left to right. Figures stand at its right end.
pub struct AgentRow<'a> {
    pen: Painter<'a>,
    status: StatusLabel,
    left: Vec<Span<'static>>,
    figures: Vec<String>,
    figures_style: Style,
}

impl<'a> AgentRow<'a> {
    /// An empty line about an agent or command in this state.
    pub fn new(status: StatusLabel, pen: Painter<'a>) -> Self {
        let (left, figures) = (Vec::new(), Vec::new());
        Self { pen, status, left, figures, figures_style: pen.theme.dim }
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
        let (sign, style) = (self.pen.sign(glyph), self.pen.style(glyph));
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
