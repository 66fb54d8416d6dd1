//! Tables: their cells, column widths and lines.

use std::sync::Arc;

use pulldown_cmark::Alignment;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::inline;
use super::row::{RoleStyle, RowBody, StyledText, TextRole};
use crate::tui::text::width::width;
use crate::tui::text::wrap::{Indent, StyledRuns, WrapMode};
use crate::tui::theme::Theme;

/// Rows measured to choose the first widths. A later row that does not fit widens them.
///
/// States of a table: waiting (rows are kept) → chosen (rows are emitted) → chosen again, any number
/// of times. Each new choice widens a column by at least a quarter, so that there are few. It also
/// applies to the rows already emitted, see [`ShapeChange`].
const ROWS_MEASURED: usize = 10;
/// Cells up to this width widen their column; longer ones wrap, and widen it for their words.
const SHORT_CELL: usize = 24;
/// Maximum number of columns; a table with more stays text.
const COLUMN_LIMIT: usize = 32;
/// Cells between two columns: space, line, space.
const COLUMN_GAP: usize = 3;
/// Minimum width of a column; a table with less room is laid out as text.
const MIN_COLUMN_WIDTH: usize = 4;

/// The shape that all rows of a table share.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TableShape {
    alignments: Vec<Alignment>,
    /// Preferred width of each column, in cells.
    preferred_widths: Vec<usize>,
}

/// A change of a table's widths: rows with the old shape take the new one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ShapeChange {
    pub(super) from: Arc<TableShape>,
    pub(super) to: Arc<TableShape>,
}

/// A table being read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MarkdownTable {
    alignments: Vec<Alignment>,
    /// The header and the first rows, until the widths are chosen.
    waiting: Vec<Vec<StyledText>>,
    shape: Option<Arc<TableShape>>,
}

impl MarkdownTable {
    /// Starts a table, if the two lines are the head of one.
    pub(super) fn start(header: &str, delimiter: &str) -> Option<Self> {
        let alignments = alignments(delimiter)?;
        let cells = split_cells(header);
        if !header.contains('|') || cells.len() != alignments.len() {
            return None;
        }
        let face = RoleStyle::default().with(Modifier::BOLD);
        let header = cells.iter().map(|cell| parse_cell(cell, face)).collect();
        Some(Self { alignments, waiting: vec![header], shape: None })
    }

    /// Reads a row; returns rows that are ready, and the change of the shape of those returned before.
    pub(super) fn push(&mut self, line: &str) -> (Vec<RowBody>, Option<ShapeChange>) {
        let columns = self.alignments.len();
        let mut cells = split_cells(line);
        if cells.len() > columns {
            let spill = cells.split_off(columns - 1);
            cells.push(spill.join(" | "));
        }
        cells.resize(columns, String::new());
        let cells: Vec<StyledText> =
            cells.iter().map(|cell| parse_cell(cell, RoleStyle::default())).collect();
        if let Some(shape) = &mut self.shape {
            let reshaped = shape.widened(&cells).map(|wider| {
                let to = Arc::new(wider);
                ShapeChange { from: std::mem::replace(shape, Arc::clone(&to)), to }
            });
            return (vec![RowBody::Table { shape: Arc::clone(shape), cells }], reshaped);
        }
        self.waiting.push(cells);
        let rows = if self.waiting.len() > ROWS_MEASURED { self.freeze() } else { Vec::new() };
        (rows, None)
    }

    /// Ends the table; returns the rows still waiting.
    pub(super) fn finish(&mut self) -> Vec<RowBody> {
        if self.shape.is_some() { Vec::new() } else { self.freeze() }
    }

    fn freeze(&mut self) -> Vec<RowBody> {
        let waiting = std::mem::take(&mut self.waiting);
        let preferred_width = |column: usize| {
            waiting.iter().map(|row| width(&row[column].text)).max().unwrap_or(0).max(1)
        };
        let alignments = self.alignments.clone();
        let preferred_widths = (0..alignments.len()).map(preferred_width).collect();
        let shape = Arc::new(TableShape { alignments, preferred_widths });
        self.shape = Some(Arc::clone(&shape));
        let mut bodies = Vec::with_capacity(waiting.len() + 1);
        for (at, cells) in waiting.into_iter().enumerate() {
            bodies.push(RowBody::Table { shape: Arc::clone(&shape), cells });
            if at == 0 {
                bodies.push(RowBody::TableRule { shape: Arc::clone(&shape) });
            }
        }
        bodies
    }
}

fn parse_cell(source: &str, face: RoleStyle) -> StyledText {
    let mut cell = StyledText::default();
    for line in inline::parse(source, face) {
        cell.append(&line);
    }
    cell
}

/// The alignments in a line such as `| :-- | --: |`.
fn alignments(line: &str) -> Option<Vec<Alignment>> {
    if !line.bytes().all(|byte| matches!(byte, b'|' | b'-' | b':' | b' ')) || !line.contains('-') {
        return None;
    }
    let cells = split_cells(line);
    if cells.is_empty() || cells.len() > COLUMN_LIMIT || (cells.len() == 1 && !line.contains('|')) {
        return None;
    }
    let alignment = |cell: &String| {
        let dashes = cell.trim_matches(':');
        let whole = !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-');
        whole.then_some(match (cell.starts_with(':'), cell.ends_with(':')) {
            (true, true) => Alignment::Center,
            (false, true) => Alignment::Right,
            _ => Alignment::Left,
        })
    };
    cells.iter().map(alignment).collect()
}

/// Splits a line into cells at bars; `\|` is a bar within a cell.
fn split_cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let mut cells = vec![String::new()];
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let Some(cell) = cells.last_mut() else { break };
        match c {
            '\\' if chars.peek() == Some(&'|') => {
                chars.next();
                cell.push('|');
            }
            '|' => cells.push(String::new()),
            _ => cell.push(c),
        }
    }
    if cells.len() > 1 && cells.last().is_some_and(|cell| cell.trim().is_empty()) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

impl TableShape {
    /// The shape widened for this row; `None` if the row fits already.
    fn widened(&self, cells: &[StyledText]) -> Option<Self> {
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

/// The text's runs in a theme's styles.
pub(super) fn runs<'a>(styled: &'a StyledText, theme: &Theme) -> StyledRuns<'a> {
    let ends = styled.runs.iter().map(|(end, face)| (*end, face.style(theme))).collect();
    StyledRuns::new(&styled.text, ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_starts_with_a_header_and_a_line_of_dashes() {
        assert!(MarkdownTable::start("| a | b |", "|---|:-:|").is_some());
        assert!(MarkdownTable::start("a | b", "--- | ---").is_some());
        assert!(MarkdownTable::start("| a | b |", "|---|").is_none());
        assert!(MarkdownTable::start("a", "---").is_none());
        assert!(MarkdownTable::start("| a |", "| x |").is_none());
    }

    #[test]
    fn cells_are_split_at_bars_that_are_not_escaped() {
        assert_eq!(split_cells(r"| a \| b | `c` |"), ["a | b", "`c`"]);
        assert_eq!(split_cells("a | | c"), ["a", "", "c"]);
    }

    #[test]
    fn narrow_columns_keep_their_width_when_room_is_short() {
        let shape =
            TableShape { alignments: vec![Alignment::Left; 3], preferred_widths: vec![4, 50, 30] };
        assert_eq!(shape.fit(200), Some(vec![4, 50, 30]));
        assert_eq!(shape.fit(50), Some(vec![4, 20, 20]));
        assert_eq!(shape.fit(12), None);
    }

    #[test]
    fn rows_wait_until_the_widths_are_chosen_and_then_flow() {
        let mut table = MarkdownTable::start("| a | b |", "|---|---|").unwrap();
        let before: usize = (1..ROWS_MEASURED).map(|_| table.push("| 1 | 2 |").0.len()).sum();
        assert_eq!(before, 0);
        assert_eq!(table.push("| 1 | 2 |").0.len(), ROWS_MEASURED + 2);
        assert_eq!(table.push("| 1 | 2 |").0.len(), 1);
        assert_eq!(table.push("| 1 | 2 |").1, None);
        assert!(table.push("| 1 | 100 |").1.is_some(), "a row that does not fit");
        assert_eq!(table.push("| 1 | 100 |").1, None);
        assert_eq!(table.finish().len(), 0);
    }
}
