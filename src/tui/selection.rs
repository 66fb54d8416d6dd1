//! Text selected with the mouse.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use crate::tui::paint::set_ground;
use crate::tui::text::width;

/// Text selected by dragging the mouse within one area. Positions are in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MouseSelection {
    pub area: Rect,
    pub from: Position,
    pub to: Position,
}

impl MouseSelection {
    /// The selected cells per row, in reading order: row, first cell, and the cell after the last.
    pub fn rows(&self) -> impl Iterator<Item = (u16, u16, u16)> {
        let Self { area, from, to } = *self;
        let (first, last) = if (from.y, from.x) <= (to.y, to.x) { (from, to) } else { (to, from) };
        (first.y..=last.y).map(move |y| {
            let start = if y == first.y { first.x } else { area.left() };
            let end = if y == last.y { last.x + 1 } else { area.right() };
            (y, start, end.min(area.right()))
        })
    }

    /// Highlights the selected cells and returns their text, without trailing blanks, and with blanks
    /// in place of `signs`.
    pub fn highlight(&self, buffer: &mut Buffer, style: Style, signs: &[Position]) -> String {
        if self.from == self.to {
            return String::new();
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
        lines.join("\n")
    }
}
