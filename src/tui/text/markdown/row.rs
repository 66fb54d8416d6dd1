//! What Markdown comes to before it is laid out: rows without width, colour or theme.

use std::sync::Arc;

use ratatui::style::{Modifier, Style};

use crate::tui::theme::Theme;

/// What a piece of text is; the theme says how that looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::tui::text) enum Role {
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

/// A role with the emphasis on top of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::tui::text) struct Face {
    pub(in crate::tui::text) role: Role,
    pub(in crate::tui::text) modifiers: Modifier,
}

impl From<Role> for Face {
    fn from(role: Role) -> Self {
        Self { role, modifiers: Modifier::empty() }
    }
}

impl Face {
    pub(super) fn with(self, modifier: Modifier) -> Self {
        Self { modifiers: self.modifiers | modifier, ..self }
    }

    pub(super) fn style(self, theme: &Theme) -> Style {
        let base = match self.role {
            Role::Text => theme.text,
            Role::Dim => theme.dim,
            Role::Code => theme.code,
            Role::Link => theme.link,
            Role::Heading => theme.heading,
            Role::Keyword => theme.keyword,
            Role::String => theme.string,
            Role::Comment => theme.comment,
            Role::Number => theme.number,
            Role::Function => theme.function,
            Role::Type => theme.type_,
        };
        base.add_modifier(self.modifiers)
    }
}

/// Text of one line, in runs of one face each, by end byte.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Styled {
    pub(super) text: String,
    pub(super) runs: Vec<(usize, Face)>,
}

impl Styled {
    pub(super) fn plain(text: &str, face: impl Into<Face>) -> Self {
        let mut styled = Self::default();
        styled.push(text, face.into());
        styled
    }

    pub(super) fn push(&mut self, text: &str, face: Face) {
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

    /// What stands from byte `at` on.
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

/// What stands before a row because of the blocks around it.
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
pub(super) struct Marks {
    pub(super) first: Vec<Mark>,
    pub(super) rest: Vec<Mark>,
}

/// The language of a fence, shared by its rows.
pub(super) type Language = Arc<str>;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Body {
    Blank,
    Rule,
    /// Wrapped at words. `joins` goes on where the row before it ended.
    Text {
        text: Styled,
        joins: bool,
    },
    /// Wrapped at the edge. `starts` opens a block of code.
    Code {
        text: Styled,
        language: Option<Language>,
        starts: bool,
    },
    Table {
        shape: Arc<super::table::Shape>,
        cells: Vec<Styled>,
    },
    /// The line under a table's header.
    TableRule {
        shape: Arc<super::table::Shape>,
    },
}

/// One line of the document, or one row of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) marks: Marks,
    pub(super) body: Body,
}

impl Mark {
    /// Cells that the mark takes, with the space behind it.
    pub(super) fn cells(&self) -> usize {
        match self {
            Self::Quote | Self::Bullet | Self::Task { .. } => 2,
            Self::Number(number) => number.checked_ilog10().unwrap_or(0) as usize + 3,
            Self::Spaces(cells) => *cells,
        }
    }
}
