//! The lines to say: what others wrote is indented, so none of it passes for a line of ours.

use ratatui::text::Line;

use crate::tui::text::{sanitize, width, wrap_hanging};

/// Stands before what others wrote. No heading, item or answer has it.
pub(super) const INDENT: &str = "  ";

/// Lines in the order in which they are said.
#[derive(Default)]
pub(super) struct Speech {
    lines: Vec<String>,
}

impl Speech {
    /// Says a line of ours. Names in it may be of others, so line ends become signs.
    pub fn line(&mut self, text: &str) {
        let line = sanitize(text).replace('\n', "␊");
        if !line.trim().is_empty() {
            self.lines.push(line);
        }
    }

    /// Says a row that others wrote.
    pub fn row(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.line(&format!("{INDENT}{text}"));
        }
    }

    /// Says a text that others wrote; its first line follows `head`, if that is not empty.
    pub fn text(&mut self, head: &str, text: &str) {
        let text = sanitize(text);
        let mut lines = text.lines();
        if !head.is_empty() {
            self.line(&format!("{head}{}", lines.next().unwrap_or_default()));
        }
        lines.for_each(|line| self.row(line));
    }

    /// Takes the last line back if it is this one.
    pub fn take_back(&mut self, line: &str) {
        self.lines.pop_if(|last| last == line);
    }

    /// The lines for a terminal of this width. It must not wrap them itself: what follows would begin
    /// at the edge, as only lines of ours do.
    pub fn into_lines(self, columns: u16) -> Vec<String> {
        let (none, rest) = (Line::default(), Line::raw(INDENT));
        let rows = |line: String| match width(&line) <= usize::from(columns) {
            true => vec![line],
            false => wrap_hanging(&Line::raw(line), columns, &none, &rest)
                .iter()
                .map(Line::to_string)
                .collect(),
        };
        self.lines.into_iter().flat_map(rows).collect()
    }
}
