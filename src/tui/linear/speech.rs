//! The lines to say: what others wrote is indented, so none of it passes for a line of ours.

use ratatui::text::Line;
use unicode_segmentation::UnicodeSegmentation as _;

use crate::tui::text::{most_columns, sanitize, wrap_hanging};

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
        // An empty line of others is said as one.
        if line == INDENT || !line.trim().is_empty() {
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
        let rows = |line: String| match most_columns(&line) <= usize::from(columns) {
            true => vec![line],
            false => wrap_hanging(&Line::raw(line), columns, &none, &rest)
                .iter()
                .flat_map(|row| broken(row.to_string(), usize::from(columns)))
                .collect(),
        };
        self.lines.into_iter().flat_map(rows).collect()
    }
}

/// A wrapped row, broken once more where a terminal may give its signs more columns than we do.
fn broken(row: String, columns: usize) -> Vec<String> {
    if most_columns(&row) <= columns {
        return vec![row];
    }
    let mut rows = vec![String::new()];
    let mut used = 0;
    for sign in row.graphemes(true) {
        let wide = most_columns(sign);
        if used + wide > columns && used > INDENT.len() {
            rows.push(INDENT.to_owned());
            used = INDENT.len();
        }
        used += wide;
        if let Some(last) = rows.last_mut() {
            last.push_str(sign);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_is_wider_than_any_terminal_may_draw_it() {
        let mut speech = Speech::default();
        speech.row(&"ക\u{d3f}".repeat(100));
        speech.row(&format!("{}Answers:", "a\u{302e}\u{302e}\u{302e}\u{302e}".repeat(12)));
        speech.row(&format!("{}1 Yes", "👩\u{200d}💻".repeat(30)));
        speech.row(&"plain words ".repeat(20));
        let lines = speech.into_lines(40);
        assert!(lines.iter().all(|line| most_columns(line) <= 40), "{lines:#?}");
        assert!(lines.iter().all(|line| line.starts_with(INDENT)), "{lines:#?}");
        let said: String = lines.iter().flat_map(|line| line.split_whitespace()).collect();
        assert_eq!(said.matches('ക').count(), 100);
    }
}
