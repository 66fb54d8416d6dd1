//! Reads tables: their cells, and when the widths of their columns are chosen.

use std::sync::Arc;

use pulldown_cmark::Alignment;
use ratatui::style::Modifier;

use super::inline;
use super::row::RowBody;
use super::table_shape::{ColumnWidth, TableShape};
use crate::tui::text::styled::{RoleStyle, StyledText};

/// Rows measured to choose the first widths. A later row that does not fit widens them.
///
/// States of a table: waiting (rows are kept) → chosen (rows are emitted) → chosen again, any number
/// of times. Each new choice widens a column by at least a quarter or is for a longer word, so that
/// there are few. It also applies to the rows already emitted, see [`ShapeChange`].
const ROWS_MEASURED: usize = 10;
/// Maximum number of columns; a table with more stays text.
const COLUMN_LIMIT: usize = 32;

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
        let column = |at: usize| {
            let cells = waiting.iter().map(|row| ColumnWidth::new(&row[at]));
            cells.fold(ColumnWidth::default(), ColumnWidth::max)
        };
        let alignments = self.alignments.clone();
        let columns = (0..alignments.len()).map(column).collect();
        let shape = Arc::new(TableShape { alignments, columns });
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
