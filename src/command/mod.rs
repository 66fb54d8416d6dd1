//! The sub-commands that print something and end.
//!
//! Each one makes a [`Report`] from data; only [`Report::print`] touches the terminal. Nothing is
//! coloured, so that a terminal and a pipe get the same.

use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal, Write};

use unicode_width::UnicodeWidthStr;

use crate::protocol::{printable, printable_message};

pub mod agents;
pub mod auth;
pub mod completions;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod export;
pub mod mcp;
pub mod permissions;
pub mod sandbox;
pub mod sessions;
pub mod supervise;
pub mod trust;

/// What a sub-command has to say. The exit code is 0, 1 when something it looked at is broken, or 2
/// when what was asked for does not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// For stdout.
    pub text: String,
    /// One line for stderr; it makes the exit code 2.
    pub error: Option<String>,
    /// Whether what was looked at is broken.
    pub broken: bool,
}

impl Report {
    fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    fn error(message: impl Into<String>) -> Self {
        Self { error: Some(message.into()), ..Self::default() }
    }

    /// Writes it out and answers with the exit code. A reader that has gone away is no error.
    #[must_use]
    pub fn print(&self) -> u8 {
        let mut out = io::stdout().lock();
        // A file or another program gets the text as it is: an export must not be changed.
        let text = match out.is_terminal() {
            true => Cow::Owned(printable(&self.text)),
            false => Cow::Borrowed(&self.text),
        };
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        if let Err(error) = written
            && error.kind() != ErrorKind::BrokenPipe
        {
            return fail(&format!("cannot write to stdout: {error}"), 1);
        }
        match &self.error {
            Some(message) => fail(message, 2),
            None => u8::from(self.broken),
        }
    }
}

fn fail(message: &str, code: u8) -> u8 {
    // When stderr is gone there is nobody left to tell.
    let _ = writeln!(io::stderr(), "caliban: {}", printable_message(message));
    code
}

/// Rows with aligned columns, two spaces between them. The last column is not padded.
fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width - cell.width() + 2));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The same on one line, cut at `limit` characters.
fn one_line(text: &str, limit: usize) -> String {
    let words = printable(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= limit {
        return words;
    }
    let cut: String = words.chars().take(limit.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_by_the_width_on_the_screen_and_leave_no_blanks_at_the_end() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned);
        let rows = [row(["a", "漢字", "x"]), row(["bcd", "é", ""]), row(["", "", "y"])];
        assert_eq!(columns(&rows), "a    漢字  x\nbcd  é\n           y\n");
    }

    #[test]
    fn text_from_outside_cannot_steer_the_terminal() {
        assert_eq!(printable("a\u{1b}[2J\u{202e}b\tc\n"), "a\\u{1b}[2J\\u{202e}b\tc\n");
        assert_eq!(one_line("one\n two\tthree", 9), "one two…");
    }
}
