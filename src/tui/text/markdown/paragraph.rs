//! The open paragraph: the only text that is parsed more than once, up to [`PARAGRAPH_LIMIT`] bytes.

use super::inline::{BREAK, DelimiterBalance};

/// Maximum bytes of a paragraph that wait for open emphasis to close.
pub(super) const PARAGRAPH_LIMIT: usize = 2048;

/// The part of a paragraph that is not final yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Paragraph {
    /// Lines, joined by [`BREAK`].
    pub(super) source: String,
    /// Start of its last line.
    last_line: usize,
    balance: DelimiterBalance,
    /// Whether its first line continues the last row.
    pub(super) joins: bool,
    /// Whether rows of it were already emitted.
    pub(super) has_rows: bool,
}

impl Paragraph {
    /// Creates the rest of a partly emitted paragraph; with `joins`, on the same line.
    pub(super) fn continuation(joins: bool) -> Self {
        Self { joins, has_rows: true, ..Self::default() }
    }

    pub(super) fn add(&mut self, text: &str) {
        self.source.push_str(text);
        text.bytes().for_each(|byte| self.balance.feed(byte));
    }

    /// Ends the line: drops trailing blanks and a backslash that ask for a line break.
    pub(super) fn end_line(&mut self) {
        self.source.truncate(self.source.trim_end().len());
        let slashes = self.source.len() - self.source.trim_end_matches('\\').len();
        if slashes % 2 == 1 {
            self.source.pop();
        }
    }

    pub(super) fn new_line(&mut self) {
        self.source.push(' ');
        self.source.push(BREAK);
        self.source.push(' ');
        self.balance.feed(b' ');
        self.last_line = self.source.len();
    }

    /// Whether nothing is open that the next line could close.
    pub(super) fn is_settled(&self) -> bool {
        self.balance.is_even()
    }

    pub(super) fn last_line(&self) -> &str {
        &self.source[self.last_line..]
    }

    pub(super) fn drop_last_line(&mut self) {
        self.source.truncate(self.last_line);
    }

    /// Whether it is one line, none of it emitted.
    pub(super) fn is_one_line(&self) -> bool {
        !self.has_rows && self.last_line == 0
    }

    /// Takes the source, without trailing blanks and breaks.
    pub(super) fn take(&mut self) -> String {
        let mut source = std::mem::take(&mut self.source);
        source.truncate(source.trim_end_matches([' ', BREAK]).len());
        source
    }

    /// Closes open emphasis and code.
    pub(super) fn close_emphasis(&mut self) {
        let Some(mark) = self.balance.open_mark() else { return };
        if self.source.ends_with([mark, ' ']) {
            return;
        }
        let before = self.source.rfind(mark).map_or("", |at| &self.source[..=at]);
        let run = before.len() - before.trim_end_matches(mark).len();
        self.source.extend(std::iter::repeat_n(mark, run));
    }
}
