//! Text with a role for each piece, without colours or a width.

use ratatui::style::{Modifier, Style};

use super::wrap::StyledRuns;
use crate::tui::theme::Theme;

/// The role of a piece of text, which the theme maps to a style.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TextRole {
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
pub(super) struct RoleStyle {
    pub(super) role: TextRole,
    pub(super) modifiers: Modifier,
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

/// The text's runs in a theme's styles.
pub(super) fn runs<'a>(styled: &'a StyledText, theme: &Theme) -> StyledRuns<'a> {
    let ends = styled.runs.iter().map(|(end, face)| (*end, face.style(theme))).collect();
    StyledRuns::new(&styled.text, ends)
}
