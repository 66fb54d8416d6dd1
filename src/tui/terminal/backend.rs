//! A backend that puts each cell in its column, whatever width the terminal gives the one before.

use std::io::{self, Write};

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::{Buffer, Cell, CellDiffOption, CellWidth as _};
use ratatui::layout::{Position, Size};

use crate::protocol::{Charset, certain_columns};
use crate::tui::text::{most_columns, width};

/// [`CrosstermBackend`], but each sign about whose width terminals disagree is written over blanks, and
/// the cursor moves behind it. Otherwise such signs would push the rest of a row over what stands beside
/// it, or leave something of what stood in their place.
pub(super) struct ColumnBackend<W: Write>(CrosstermBackend<W>);

impl<W: Write> ColumnBackend<W> {
    pub(super) fn new(writer: W) -> Self {
        Self(CrosstermBackend::new(writer))
    }
}

/// Whether all terminals give the sign of a cell as many columns as it has cells.
fn is_certain(sign: &str) -> bool {
    match sign.as_bytes() {
        [_] => true,
        _ => {
            let mut chars = sign.chars();
            let first = chars.next().map(certain_columns);
            chars.next().is_none() && first != Some(None)
        }
    }
}

/// How many columns more than its cells a terminal may give a sign.
fn excess_columns(sign: &str) -> usize {
    match is_certain(sign) {
        true => 0,
        false => most_columns(sign).saturating_sub(width(sign)),
    }
}

/// Puts other signs into cells whose sign the terminal does not take.
pub(super) fn encode_cells(charset: Charset, buffer: &mut Buffer) {
    if charset == Charset::Utf8 {
        return;
    }
    for at in 0..buffer.content.len() {
        if buffer.content[at].symbol().is_ascii() {
            continue;
        }
        let encoded = charset.encode(buffer.content[at].symbol()).into_owned();
        let signs = encoded.chars().chain(encoded.is_empty().then_some(' '));
        for (cell, sign) in buffer.content[at..].iter_mut().zip(signs) {
            cell.set_char(sign);
        }
    }
}

/// Makes the next frame draw what stands behind signs that a terminal may draw over it.
pub(super) fn mark_covered_cells(buffer: &mut Buffer) {
    let width = usize::from(buffer.area.width).max(1);
    for row in buffer.content.chunks_mut(width) {
        let mut covered = 0..0;
        for (at, cell) in row.iter_mut().enumerate() {
            if covered.contains(&at) {
                cell.set_diff_option(CellDiffOption::AlwaysUpdate);
            }
            let excess = excess_columns(cell.symbol());
            if excess > 0 {
                let behind = at + usize::from(cell.cell_width());
                covered = behind.min(covered.start)..(behind + excess).max(covered.end);
            }
        }
    }
}

impl<W: Write> Backend for ColumnBackend<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let cells: Vec<_> = content.collect();
        for run in cells.split_inclusive(|(_, _, cell)| !is_certain(cell.symbol())) {
            let Some(((x, y, last), before)) = run.split_last() else { continue };
            if is_certain(last.symbol()) {
                self.0.draw(run.iter().copied())?;
                continue;
            }
            // What stands in its cells would stay where a terminal draws the sign in fewer.
            let mut blank = (*last).clone();
            blank.set_symbol(" ");
            let blanks = (*x..).take(usize::from(last.cell_width())).map(|x| (x, *y, &blank));
            self.0.draw(before.iter().copied().chain(blanks))?;
            self.0.draw(std::iter::once((*x, *y, *last)))?;
        }
        Ok(())
    }

    fn append_lines(&mut self, count: u16) -> io::Result<()> {
        self.0.append_lines(count)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.0.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.0.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        self.0.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.0.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.0.clear()
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        self.0.clear_region(region)
    }

    fn size(&self) -> io::Result<Size> {
        self.0.size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.0.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    fn row(text: &str) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 20, 1));
        buffer.set_string(0, 0, text, Style::default());
        mark_covered_cells(&mut buffer);
        buffer
    }

    fn written(before: &Buffer, after: &Buffer) -> String {
        let mut out = Vec::new();
        ColumnBackend::new(&mut out).draw(before.diff(after).into_iter()).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_cursor_moves_behind_signs_of_doubtful_width_and_no_others() {
        let empty = Buffer::empty(Rect::new(0, 0, 20, 1));
        assert_eq!(written(&empty, &row("plain–éЖ│✓→")).matches('H').count(), 1);
        // Combined signs, scripts with marks, pictures with a selector, new pictures.
        for text in ["e\u{301}x", "\u{b95}\u{bbe}x", "\u{d4e}\u{d15}x", "\u{324f}x"] {
            let written = written(&empty, &row(text));
            assert!(written.contains("\u{1b}[1;2H"), "{written:?}");
        }
    }

    #[test]
    fn a_sign_that_may_be_wider_is_followed_by_all_that_it_may_cover() {
        // Nine columns in some terminals.
        let sign = "a\u{302e}\u{302e}\u{302e}\u{302e}";
        let written =
            written(&row("│ rm -rf everything │"), &row(&format!("{sign} rm -rf everything │")));
        assert!(written.contains("rm -rf"), "{written:?}");
    }
}
