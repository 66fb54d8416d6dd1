//! Rows: parsed Markdown before layout, without width, colour or theme.

use std::sync::Arc;

use ratatui::style::{Modifier, Style};

use crate::tui::theme::Theme;

/// The role of a piece of text, which the theme maps to a style.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::tui::text) enum TextRole {
    #[default]
    Text,
    Dim,
    Code,
    Link,
    Heading,
    Keyword,
    String,
    Comment,
    Number,
    Function,
    Type,
}

/// A role with additional emphasis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::tui::text) struct RoleStyle {
    pub(in crate::tui::text) role: TextRole,
    pub(in crate::tui::text) modifiers: Modifier,
}

impl From<TextRole> for RoleStyle {
    fn from(role: TextRole) -> Self {
        Self { role, modifiers: Modifier::empty() }
    }
}

impl RoleStyle {
    pub(super) fn with(self, modifier: Modifier) -> Self {
        Self { modifiers: self.modifiers | modifier, ..self }
    }

    pub(super) fn style(self, theme: &Theme) -> Style {
        let base = match self.role {
            TextRole::Text => theme.text,
            TextRole::Dim => theme.dim,
            TextRole::Code => theme.code,
            TextRole::Link => theme.link,
            TextRole::Heading => theme.heading,
            TextRole::Keyword => theme.keyword,
            TextRole::String => theme.string,
            TextRole::Comment => theme.comment,
            TextRole::Number => theme.number,
            TextRole::Function => theme.function,
            TextRole::Type => theme.type_,
        };
        base.add_modifier(self.modifiers)
    }
}

/// A line of text, with runs of one face each, by end byte.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StyledText {
    pub(super) text: String,
    pub(super) runs: Vec<(usize, RoleStyle)>,
}

impl StyledText {
    pub(super) fn plain(text: &str, face: impl Into<RoleStyle>) -> Self {
        let mut styled = Self::default();
        styled.push(text, face.into());
        styled
    }

    pub(super) fn push(&mut self, text: &str, face: RoleStyle) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        match self.runs.last_mut() {
            Some((end, last)) if *last == face => *end = self.text.len(),
            _ => self.runs.push((self.text.len(), face)),
        }
    }

    pub(super) fn append(&mut self, other: &Self) {
        let mut from = 0;
        for (end, face) in &other.runs {
            self.push(&other.text[from..*end], *face);
            from = *end;
        }
    }

    /// The text from byte `at` on.
    pub(super) fn tail(&self, at: usize) -> Self {
        let mut rest = Self::default();
        let mut from = at;
        for (end, face) in self.runs.iter().filter(|(end, _)| *end > at) {
            rest.push(&self.text[from..*end], *face);
            from = *end;
        }
        rest
    }

    pub(super) fn trim_end(&mut self) {
        let len = self.text.trim_end_matches(' ').len();
        self.text.truncate(len);
        while self.runs.len() > 1 && self.runs[self.runs.len() - 2].0 >= len {
            self.runs.pop();
        }
        match self.runs.last_mut() {
            Some(_) if len == 0 => self.runs.clear(),
            Some((end, _)) => *end = len,
            None => {}
        }
    }
}

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
        shape: Arc<super::table::TableShape>,
        cells: Vec<StyledText>,
    },
    /// The line under a table's header.
    TableRule {
        shape: Arc<super::table::TableShape>,
    },
}

/// One line of the document, or one row of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) marks: RowMarks,
    pub(super) body: RowBody,
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
