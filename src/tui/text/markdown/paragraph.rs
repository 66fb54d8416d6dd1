//! The open paragraph: the only text that is parsed more than once, and never more than
//! [`PARAGRAPH_LIMIT`] of it.

use super::inline::{BREAK, Balance};

/// Bytes of a paragraph that wait for open emphasis to be closed.
pub(super) const PARAGRAPH_LIMIT: usize = 2048;

/// The part of a paragraph that is not drawn for good yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Paragraph {
    /// Lines, joined by [`BREAK`].
    pub(super) source: String,
    /// Where its last line starts.
    last_line: usize,
    balance: Balance,
    /// Its first line goes on where the last row ended.
    pub(super) joins: bool,
    /// Rows of it were made already.
    pub(super) begun: bool,
}

impl Paragraph {
    /// What goes on a paragraph of which something is drawn; with `joins` in the same line.
    pub(super) fn more(joins: bool) -> Self {
        Self { joins, begun: true, ..Self::default() }
    }

    pub(super) fn add(&mut self, text: &str) {
        self.source.push_str(text);
        text.bytes().for_each(|byte| self.balance.feed(byte));
    }

    /// Another line follows: what only asks for a line break goes.
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

    /// Nothing is open that the next line could close.
    pub(super) fn is_settled(&self) -> bool {
        self.balance.is_even()
    }

    pub(super) fn last_line(&self) -> &str {
        &self.source[self.last_line..]
    }

    pub(super) fn drop_last_line(&mut self) {
        self.source.truncate(self.last_line);
    }

    /// It consists of one line, none of which is drawn.
    pub(super) fn is_one_line(&self) -> bool {
        !self.begun && self.last_line == 0
    }

    /// Takes the source out, without blanks and breaks at its end.
    pub(super) fn take(&mut self) -> String {
        let mut source = std::mem::take(&mut self.source);
        source.truncate(source.trim_end_matches([' ', BREAK]).len());
        source
    }

    /// Closes emphasis and code that are open.
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
