//! Rows: parsed Markdown before layout, without width, colour or theme.

use std::sync::Arc;

use super::table_shape::TableShape;
use crate::tui::text::styled::StyledText;

/// The mark of a block before a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mark {
    Quote,
    Bullet,
    Number(u64),
    Task { done: bool },
    Spaces(usize),
}

/// The marks before the first and the other lines of a row, outermost first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RowMarks {
    pub(super) first: Vec<Mark>,
    pub(super) rest: Vec<Mark>,
}

/// The language of a fence, shared by its rows.
pub(super) type Language = Arc<str>;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum RowBody {
    Blank,
    Rule,
    /// Wrapped at words. With `joins`, continues the row before it.
    Text {
        text: StyledText,
        joins: bool,
    },
    /// Wrapped at the edge. `starts` is true for the first line of a block.
    Code {
        text: StyledText,
        language: Option<Language>,
        starts: bool,
    },
    Table {
        shape: Arc<TableShape>,
        cells: Vec<StyledText>,
    },
    /// The line under a table's header.
    TableRule {
        shape: Arc<TableShape>,
    },
}

/// One line of the document, or one row of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) marks: RowMarks,
    pub(super) body: RowBody,
}

impl Row {
    /// Whether it is a part of a table.
    pub(super) fn is_table(&self) -> bool {
        matches!(self.body, RowBody::Table { .. } | RowBody::TableRule { .. })
    }
}

impl Mark {
    /// The mark's width in cells, including the space behind it.
    pub(super) fn cells(&self) -> usize {
        match self {
            Self::Quote | Self::Bullet | Self::Task { .. } => 2,
            Self::Number(number) => number.checked_ilog10().unwrap_or(0) as usize + 3,
            Self::Spaces(cells) => *cells,
        }
    }
}
