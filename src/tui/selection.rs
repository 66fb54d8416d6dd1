//! Text selected with the mouse.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use crate::protocol::AgentPath;
use crate::tui::paint::set_ground;
use crate::tui::text::width;

/// Text selected by dragging the mouse within one area. Positions are in cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MouseSelection {
    pub area: Rect,
    /// Where it began; the first or last cell of the area if that place was scrolled out of it.
    pub from: Position,
    pub to: Position,
    /// The transcript in the area; `None` if it does not scroll along.
    pub transcript: Option<AgentPath>,
    /// The column in which it began.
    column: u16,
    /// The side on which its beginning was scrolled out, and the rows that went there, that one first.
    outside: Option<Side>,
    kept: Vec<String>,
    /// Whether it was drawn since it last scrolled.
    pub is_drawn: bool,
    /// The side to which it scrolls while the mouse is held there, and when it next does.
    pub pull: Option<(Side, Duration)>,
}

/// A side of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Above,
    Below,
}

impl MouseSelection {
    /// A selection that begins at a place.
    pub fn new(area: Rect, at: Position, transcript: Option<AgentPath>) -> Self {
        let mut selection =
            Self { area, from: at, to: at, column: at.x, transcript, ..Self::default() };
        // The head of a pane is no part of its text.
        selection.extend(at);
        selection.from = selection.to;
        selection
    }

    /// Whether nothing is selected yet.
    pub fn is_empty(&self) -> bool {
        self.from == self.to && self.kept.is_empty()
    }

    /// Extends it to a place, within the area where it began.
    pub fn extend(&mut self, at: Position) {
        if !self.area.is_empty() {
            self.to.x = at.x.clamp(self.area.left(), self.area.right() - 1);
            self.to.y = at.y.clamp(self.area.top(), self.area.bottom() - 1);
        }
    }

    /// The side of the area on which a place is. The edge of the screen counts as outside.
    pub fn side(&self, at: Position) -> Option<Side> {
        if at.y < self.area.top() || at.y == 0 {
            Some(Side::Above)
        } else {
            (at.y >= self.area.bottom()).then_some(Side::Below)
        }
    }

    /// Follows its text, which has moved by so many lines, up if positive. `rows` is the selected text of
    /// the last frame.
    pub fn scroll(&mut self, lines: isize, rows: &[String]) {
        let towards = if lines > 0 { Side::Above } else { Side::Below };
        let mut leaving: Vec<&String> = rows.iter().collect();
        if towards == Side::Above {
            leaving.reverse();
        }
        for _ in 0..lines.unsigned_abs() {
            if self.outside.is_some_and(|side| side != towards) {
                self.kept.pop();
                if self.kept.is_empty() {
                    let edge = self.edge(towards.opposite());
                    self.from = Position { x: self.column, y: edge.y };
                    self.outside = None;
                }
            } else if self.outside.is_none() && self.from.y != self.edge(towards).y {
                match towards {
                    Side::Above => self.from.y -= 1,
                    Side::Below => self.from.y += 1,
                }
            } else {
                self.kept.extend(leaving.pop().cloned());
                self.outside = Some(towards);
                self.from = self.edge(towards);
            }
        }
        self.is_drawn = false;
    }

    /// The first or last cell of the area.
    fn edge(&self, side: Side) -> Position {
        let area = self.area;
        match side {
            Side::Above => area.as_position(),
            Side::Below => {
                Position { x: area.right().saturating_sub(1), y: area.bottom().saturating_sub(1) }
            }
        }
    }

    /// All of its text, with the rows of the last frame.
    pub fn text(&self, rows: &[String]) -> String {
        let kept = self.kept.iter();
        let lines: Vec<&str> = match self.outside {
            Some(Side::Below) => rows.iter().chain(kept.rev()).map(String::as_str).collect(),
            _ => kept.chain(rows).map(String::as_str).collect(),
        };
        lines.join("\n")
    }

    /// The selected cells per row, in reading order: row, first cell, and the cell after the last.
    pub fn rows(&self) -> impl Iterator<Item = (u16, u16, u16)> {
        let Self { area, from, to, .. } = *self;
        let (first, last) = if (from.y, from.x) <= (to.y, to.x) { (from, to) } else { (to, from) };
        (first.y..=last.y).map(move |y| {
            let start = if y == first.y { first.x } else { area.left() };
            let end = if y == last.y { last.x + 1 } else { area.right() };
            (y, start, end.min(area.right()))
        })
    }

    /// Highlights the selected cells and returns the text of each row, without trailing blanks, and with
    /// blanks in place of `signs`.
    pub fn highlight(&self, buffer: &mut Buffer, style: Style, signs: &[Position]) -> Vec<String> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut lines = Vec::new();
        let within = self.area.intersection(buffer.area);
        for (y, start, end) in
            self.rows().filter(|(y, ..)| (within.top()..within.bottom()).contains(y))
        {
            let mut line = String::new();
            let mut covered = 0;
            for x in start.max(within.left())..end.min(within.right()) {
                let cell = &mut buffer[(x, y)];
                set_ground(cell, style);
                if covered == 0 {
                    let is_sign = signs.contains(&Position { x, y });
                    line.push_str(if is_sign { " " } else { cell.symbol() });
                }
                // Skip the cell behind a wide character.
                covered = width(cell.symbol()).max(covered).saturating_sub(1);
            }
            lines.push(line.trim_end().to_owned());
        }
        lines
    }
}

impl Side {
    fn opposite(self) -> Self {
        match self {
            Self::Above => Self::Below,
            Self::Below => Self::Above,
        }
    }
}
