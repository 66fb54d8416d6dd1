//! The shape of a table: the widths of its columns, and the lines of its rows.

use pulldown_cmark::Alignment;
use ratatui::text::{Line, Span};

use crate::tui::text::styled::{StyledText, TextRole, runs};
use crate::tui::text::width::width;
use crate::tui::text::wrap::{Indent, WrapMode};
use crate::tui::theme::Theme;

/// Cells up to this width widen their column; longer ones wrap, and widen it for their words.
const SHORT_CELL: usize = 24;
/// Cells between two columns: space, line, space.
const COLUMN_GAP: usize = 3;
/// Minimum width of a column; a table with less room is laid out as text.
const MIN_COLUMN_WIDTH: usize = 4;

/// The shape that all rows of a table share.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TableShape {
    pub(super) alignments: Vec<Alignment>,
    /// Preferred width of each column, in cells.
    pub(super) preferred_widths: Vec<usize>,
}

impl TableShape {
    /// The shape widened for this row; `None` if the row fits already.
    pub(super) fn widened(&self, cells: &[StyledText]) -> Option<Self> {
        let mut preferred_widths = self.preferred_widths.clone();
        for (preferred, cell) in preferred_widths.iter_mut().zip(cells) {
            let whole = width(&cell.text);
            let needed = match whole {
                0..=SHORT_CELL => whole,
                _ => cell.text.split(' ').map(width).max().unwrap_or(0).max(SHORT_CELL),
            };
            if needed > *preferred {
                *preferred = needed.max(*preferred + *preferred / 4);
            }
        }
        (preferred_widths != self.preferred_widths)
            .then(|| Self { alignments: self.alignments.clone(), preferred_widths })
    }

    /// The column widths within `cells`; `None` if the columns do not fit side by side.
    fn fit(&self, cells: usize) -> Option<Vec<usize>> {
        let columns = self.preferred_widths.len();
        let room = cells.checked_sub(COLUMN_GAP * (columns - 1))?;
        if self.preferred_widths.iter().sum::<usize>() <= room {
            return Some(self.preferred_widths.clone());
        }
        if room < columns * MIN_COLUMN_WIDTH {
            return None;
        }
        // Narrow columns get their preferred width; the others share the rest.
        let mut by_width: Vec<usize> = (0..columns).collect();
        by_width.sort_by_key(|column| self.preferred_widths[*column]);
        let mut widths = vec![0; columns];
        let mut left = room;
        for (done, column) in by_width.iter().enumerate() {
            let share = left / (columns - done);
            widths[*column] = self.preferred_widths[*column].min(share);
            left -= widths[*column];
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

    #[test]
    fn narrow_columns_keep_their_width_when_room_is_short() {
        let shape =
            TableShape { alignments: vec![Alignment::Left; 3], preferred_widths: vec![4, 50, 30] };
        assert_eq!(shape.fit(200), Some(vec![4, 50, 30]));
        assert_eq!(shape.fit(50), Some(vec![4, 20, 20]));
        assert_eq!(shape.fit(12), None);
    }
}
