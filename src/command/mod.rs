//! The sub-commands that print something and exit.
//!
//! Each one builds a [`CommandReport`] from data; only [`CommandReport::print`] accesses the terminal. Nothing is
//! colored, and a pipe gets the same as a terminal, where the rows of a table are cut to its width.

use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::protocol::{
    Charset, ContentBlock, ShellNotice, clip_chars, printable, printable_message,
};

pub mod agents;
pub mod auth;
pub mod completions;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod export;
pub mod internal;
pub mod mcp;
pub mod permissions;
pub mod sessions;
pub mod trust;

/// The output of a sub-command. The exit code is 0, 1 if something it checked is broken, or 2 if
/// the requested item does not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandReport {
    /// For stdout.
    pub text: String,
    /// Whether its lines up to the first empty one are rows of a table, which a terminal shows as far as
    /// they fit.
    pub is_table: bool,
    /// The text for a terminal in which the table does not fit.
    pub narrow: Option<String>,
    /// One line for stderr; it makes the exit code 2.
    pub error: Option<String>,
    /// Whether something it checked is broken.
    pub broken: bool,
}

impl CommandReport {
    fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    fn table<const N: usize>(rows: &[[String; N]]) -> Self {
        Self { text: columns(rows), is_table: true, ..Self::default() }
    }

    fn error(message: impl Into<String>) -> Self {
        Self { error: Some(message.into()), ..Self::default() }
    }

    /// Returns the text for a terminal of this width.
    fn fitted(&self, width: Option<usize>) -> String {
        let text = printable(&self.text);
        let Some(width) = width.filter(|_| self.is_table) else { return text };
        let is_row = |line: &&str| !line.is_empty();
        let fits = text.lines().take_while(is_row).all(|line| line.width() <= width);
        let text = match self.narrow.as_deref().filter(|_| !fits) {
            Some(narrow) => printable(narrow),
            None => text,
        };
        let rows = text.lines().take_while(is_row).count();
        let lines = text.lines().enumerate().map(|(at, line)| match at < rows {
            true => cut_line(line, width),
            false => line.into(),
        });
        lines.map(|line| format!("{line}\n")).collect()
    }

    /// Prints it and returns the exit code. A closed pipe is not an error.
    pub fn print(&self, charset: Charset) -> u8 {
        let mut out = io::stdout().lock();
        // A file or another program gets the unchanged text, for example an export.
        let text = match out.is_terminal() {
            true => Cow::Owned(charset.encode(&self.fitted(terminal_width(&out))).into_owned()),
            false => Cow::Borrowed(&self.text),
        };
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        if let Err(error) = written
            && error.kind() != ErrorKind::BrokenPipe
        {
            return fail(&format!("cannot write to stdout: {error}"), 1, charset);
        }
        match &self.error {
            Some(message) => fail(message, 2, charset),
            None => u8::from(self.broken),
        }
    }
}

/// Returns the columns of a terminal, if it knows them.
fn terminal_width(terminal: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Cuts a line to `width` columns, with `…` for the rest.
fn cut_line(line: &str, width: usize) -> Cow<'_, str> {
    if line.width() <= width {
        return Cow::Borrowed(line);
    }
    let mut cut = String::new();
    let mut columns = 1;
    for grapheme in line.graphemes(true) {
        columns += grapheme.width();
        if columns > width {
            break;
        }
        cut.push_str(grapheme);
    }
    cut.truncate(cut.trim_end().len());
    cut.push('…');
    Cow::Owned(cut)
}

fn fail(message: &str, code: u8, charset: Charset) -> u8 {
    // If stderr is gone, nobody can be notified.
    let text = printable_message(message);
    let _ = writeln!(io::stderr(), "caliban: {}", charset.encode_for(&io::stderr(), &text));
    code
}

/// Formats rows with aligned columns, two spaces between them. The last column is not padded.
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

/// Returns the blocks of a message in the order in which a user reads them: notes to the model behind the
/// prompt that they came with.
fn in_reading_order(blocks: &[ContentBlock]) -> impl Iterator<Item = &ContentBlock> {
    let is_aside = |block: &&ContentBlock| {
        matches!(block, ContentBlock::Text { aside: true, shell: None, .. })
    };
    let prompts = blocks.iter().filter(move |block| !is_aside(block));
    prompts.chain(blocks.iter().filter(is_aside))
}

/// Returns the text of a note to the model, without the brackets around it. The end of a background command and
/// the report of an agent are notes, too.
fn note_to_model(block: &ContentBlock) -> Option<&str> {
    let ContentBlock::Text { text, aside, report, shell: None, .. } = block else { return None };
    let text = text.trim();
    if !(*aside || report.is_some() || ShellNotice::parse(text).is_some()) {
        return None;
    }
    let inside = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    // There may be several.
    Some(inside.filter(|inside| !inside.contains("]\n")).unwrap_or(text))
}

/// Joins the text to one line, truncated to `limit` characters.
fn one_line(text: &str, limit: usize) -> String {
    let words = printable(text).split_whitespace().collect::<Vec<_>>().join(" ");
    clip_chars(&words, limit).into_owned()
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
    fn a_row_of_a_table_is_cut_to_the_width_of_the_terminal() {
        let rows = [["a".to_owned(), "漢字漢字".to_owned()], ["b".to_owned(), "c".to_owned()]];
        let report = CommandReport::table(&rows);
        assert_eq!(report.fitted(Some(9)), "a  漢字…\nb  c\n");
        assert_eq!(report.fitted(Some(11)), report.text);
        assert_eq!(report.fitted(None), report.text);
        let with_notes =
            CommandReport { text: format!("{}\na note of any length\n", report.text), ..report };
        assert_eq!(with_notes.fitted(Some(9)), "a  漢字…\nb  c\n\na note of any length\n");
        let narrow = Some("a  漢\n".to_owned());
        let report = CommandReport { narrow, ..CommandReport::table(&rows) };
        assert_eq!((&*report.fitted(Some(9)), &report.fitted(Some(11))), ("a  漢\n", &report.text));
        let long = CommandReport::text("a long line\n");
        assert_eq!(long.fitted(Some(4)), long.text);
    }

    #[test]
    fn text_from_outside_cannot_steer_the_terminal() {
        assert_eq!(printable("a\u{1b}[2J\u{202e}b\tc\n"), "a\\u{1b}[2J\\u{202e}b\tc\n");
        assert_eq!(one_line("one\n two\tthree", 9), "one two…");
    }
}
