//! The shape of a table: the widths of its columns, and the lines of its rows.

use pulldown_cmark::Alignment;
use ratatui::text::{Line, Span};

use crate::tui::text::styled::{StyledText, TextRole, runs};
use crate::tui::text::width::width;
use crate::tui::text::wrap::{Indent, WrapMode};
use crate::tui::theme::Theme;

/// Widths above this count as this: no screen is wider.
const MAX_CELL: usize = 400;
/// Longer words may be broken to make room for other columns.
const MAX_WORD: usize = 60;
/// Cells between two columns: space, line, space.
const COLUMN_GAP: usize = 3;
/// Minimum width of a column; a table with less room is laid out as text.
const MIN_COLUMN_WIDTH: usize = 4;

/// The shape that all rows of a table share.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TableShape {
    pub(super) alignments: Vec<Alignment>,
    pub(super) columns: Vec<ColumnWidth>,
}

/// The room that the cells of a column ask for, in cells of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ColumnWidth {
    /// The longest word or number, which is broken only if the table has no room.
    word: usize,
    /// The longest cell, which needs no second line then.
    whole: usize,
}

impl ColumnWidth {
    /// The widths that one cell asks for.
    pub(super) fn new(cell: &StyledText) -> Self {
        let word = cell.text.split(' ').map(width).max().unwrap_or_default();
        Self { word: word.clamp(1, MAX_WORD), whole: width(&cell.text).clamp(1, MAX_CELL) }
    }

    /// The widths that fit both.
    pub(super) fn max(self, other: Self) -> Self {
        Self { word: self.word.max(other.word), whole: self.whole.max(other.whole) }
    }
}

impl TableShape {
    /// The shape widened for this row; `None` if the row fits already.
    pub(super) fn widened(&self, cells: &[StyledText]) -> Option<Self> {
        let mut columns = self.columns.clone();
        for (column, cell) in columns.iter_mut().zip(cells) {
            let before = *column;
            *column = before.max(ColumnWidth::new(cell));
            if column.whole > before.whole {
                column.whole = column.whole.max(before.whole + before.whole / 4).min(MAX_CELL);
            }
        }
        (columns != self.columns).then(|| Self { alignments: self.alignments.clone(), columns })
    }

    /// The column widths within `cells`; `None` if the columns do not fit side by side.
    fn fit(&self, cells: usize) -> Option<Vec<usize>> {
        let count = self.columns.len();
        let room = cells.checked_sub(COLUMN_GAP * (count - 1))?;
        let at_level = |level: usize, least: &dyn Fn(&ColumnWidth) -> usize| -> Vec<usize> {
            let width = |column: &ColumnWidth| level.clamp(least(column), column.whole);
            self.columns.iter().map(width).collect()
        };
        let (word, none) = (|column: &ColumnWidth| column.word, |_: &ColumnWidth| 1);
        let least: &dyn Fn(&ColumnWidth) -> usize =
            if at_level(0, &word).iter().sum::<usize>() <= room { &word } else { &none };
        if room < count * MIN_COLUMN_WIDTH && at_level(MAX_CELL, &none).iter().sum::<usize>() > room
        {
            return None;
        }
        // Narrow columns get all they ask for; the others share the rest, up to the same level.
        let fits = |level: usize| at_level(level, least).iter().sum::<usize>() <= room;
        let (mut level, mut above) = (0, room.min(MAX_CELL) + 1);
        while level + 1 < above {
            let middle = usize::midpoint(level, above);
            *(if fits(middle) { &mut level } else { &mut above }) = middle;
        }
        let mut widths = at_level(level, least);
        let mut left = room - widths.iter().sum::<usize>();
        for (width, column) in widths.iter_mut().zip(&self.columns) {
            let more = usize::from(left > 0 && *width < column.whole);
            (*width, left) = (*width + more, left - more);
        }
        Some(widths)
    }

    /// Lays out one row of cells.
    pub(super) fn lay_out(
        &self,
        cells: &[StyledText],
        indent: &Indent,
        room: usize,
        theme: &Theme,
        out: &mut Vec<Line<'static>>,
    ) {
        let Some(widths) = self.fit(room) else {
            return self.lay_out_as_text(cells, indent, room, theme, out);
        };
        let columns: Vec<Vec<Line<'static>>> = cells
            .iter()
            .zip(&widths)
            .map(|(cell, cells)| {
                let mut lines = Vec::new();
                Indent::default().wrap(runs(cell, theme), *cells, WrapMode::Words, &mut lines);
                lines
            })
            .collect();
        let height = columns.iter().map(Vec::len).max().unwrap_or(1);
        let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
        for at in 0..height {
            let mut spans = if at == 0 { indent.first.clone() } else { indent.rest.clone() };
            for (column, lines) in columns.iter_mut().enumerate() {
                if column > 0 {
                    spans.push(Span::styled(" ", theme.dim));
                    spans.push(Span::styled(theme.glyphs.vertical, theme.dim));
                    spans.push(Span::styled(" ", theme.dim));
                }
                let line = lines.next().unwrap_or_default();
                let last = column + 1 == widths.len();
                push_aligned(line, widths[column], self.alignments[column], last, &mut spans);
            }
            out.push(Line::from(spans));
        }
    }

    /// Lays out the cells one after the other, where columns do not fit.
    fn lay_out_as_text(
        &self,
        cells: &[StyledText],
        indent: &Indent,
        room: usize,
        theme: &Theme,
        out: &mut Vec<Line<'static>>,
    ) {
        let mut text = StyledText::default();
        for (at, cell) in cells.iter().enumerate() {
            if at > 0 {
                text.push(" | ", TextRole::Dim.into());
            }
            text.append(cell);
        }
        let prefix: usize = indent.first.iter().map(|span| width(&span.content)).sum();
        indent.wrap(runs(&text, theme), room + prefix, WrapMode::Words, out);
    }

    /// The line under the header.
    pub(super) fn rule(&self, indent: &Indent, room: usize, theme: &Theme) -> Line<'static> {
        let mut rule = String::new();
        match self.fit(room) {
            Some(widths) => {
                for (column, cells) in widths.iter().enumerate() {
                    if column > 0 {
                        rule.push_str(theme.glyphs.rule);
                        rule.push_str(theme.glyphs.cross);
                        rule.push_str(theme.glyphs.rule);
                    }
                    rule.push_str(&theme.glyphs.rule.repeat(*cells));
                }
            }
            None => rule = theme.glyphs.rule.repeat(room.min(MIN_COLUMN_WIDTH)),
        }
        let mut spans = indent.first.clone();
        spans.push(Span::styled(rule, theme.dim));
        Line::from(spans)
    }
}

/// Pushes a cell's line, padded to its column's width; the last column has no trailing padding.
fn push_aligned(
    line: Line<'static>,
    cells: usize,
    alignment: Alignment,
    last: bool,
    spans: &mut Vec<Span<'static>>,
) {
    let used: usize = line.spans.iter().map(|span| width(&span.content)).sum();
    let free = cells.saturating_sub(used);
    let before = match alignment {
        Alignment::Right => free,
        Alignment::Center => free / 2,
        Alignment::Left | Alignment::None => 0,
    };
    push_spaces(before, spans);
    spans.extend(line.spans);
    if !last {
        push_spaces(free - before, spans);
    }
}

fn push_spaces(count: usize, spans: &mut Vec<Span<'static>>) {
    if count > 0 {
        spans.push(Span::raw(" ".repeat(count)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(columns: &[(usize, usize)]) -> TableShape {
        let columns: Vec<_> = columns
            .iter()
            .map(|(word, whole)| ColumnWidth { word: *word, whole: *whole })
            .collect();
        TableShape { alignments: vec![Alignment::Left; columns.len()], columns }
    }

    #[test]
    fn narrow_columns_keep_their_width_when_room_is_short() {
        let shape = shape(&[(4, 4), (8, 50), (8, 30)]);
        assert_eq!(shape.fit(200), Some(vec![4, 50, 30]));
        assert_eq!(shape.fit(50), Some(vec![4, 20, 20]));
        assert_eq!(shape.fit(51), Some(vec![4, 21, 20]));
        assert_eq!(shape.fit(12), None);
    }

    #[test]
    fn words_are_broken_only_if_there_is_no_room_for_them() {
        let shape = shape(&[(4, 4), (28, 50), (8, 30)]);
        assert_eq!(shape.fit(50), Some(vec![4, 28, 12]));
        assert_eq!(shape.fit(46), Some(vec![4, 28, 8]));
        assert_eq!(shape.fit(44), Some(vec![4, 17, 17]));
    }
}
