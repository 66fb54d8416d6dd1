//! Markdown that is still being written: each piece of text costs its own size, not that of the whole.
//!
//! Lines that are whole become rows once (`block`, `inline`, `table`), rows become styled lines
//! once per width (`layout`). Only the open line, an open paragraph and the first rows of a table
//! are done again for each picture; all of them are bounded.

use std::sync::Arc;

use ratatui::text::Line;

use super::highlight::{CodeState, Highlighter};
use super::sanitize::sanitize;
use crate::tui::theme::Theme;

mod block;
mod inline;
mod layout;
mod line;
mod paragraph;
pub(super) mod row;
mod table;
#[cfg(test)]
mod tests;

use block::BlockReader;
use inline::Balance;
use layout::{Layout, Savepoint};
use paragraph::PARAGRAPH_LIMIT;
use row::{Body, Row};
use table::Reshaped;

/// Bytes of one line of text after which it is read in pieces, at the next good place.
const PIECE: usize = 512;
/// Bytes after which a line of code or a table's row is cut.
const WHOLE_LINE_LIMIT: usize = 8192;

/// A Markdown text as lines for the screen; takes the raw text as it comes, and sanitises it.
#[derive(Clone, Debug)]
pub struct MarkdownStream {
    highlighter: Highlighter,
    reader: BlockReader,
    /// The line that is not whole yet, raw.
    pending: Pending,
    rows: Vec<Row>,
    colours: Colours,
    picture: Picture,
    finished: bool,
}

/// The raw text of the open line, and how far it was searched for a place to cut.
#[derive(Clone, Debug, Default)]
struct Pending {
    text: String,
    scanned: usize,
    balance: Balance,
    last_space: Option<usize>,
    /// It goes on with a line whose start was read already.
    continues: bool,
}

/// How far the rows have their colours.
#[derive(Clone, Debug, Default)]
struct Colours {
    rows: usize,
    state: Option<CodeState>,
    ready: bool,
    /// A fence with a language was seen.
    wanted: bool,
}

/// The cells that lines may take: prose is easier to read when it is not too wide, code and tables
/// want all there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widths {
    pub prose: u16,
    pub wide: u16,
}

impl From<u16> for Widths {
    fn from(width: u16) -> Self {
        Self { prose: width, wide: width }
    }
}

/// The lines as they were last asked for.
#[derive(Clone, Debug, Default)]
struct Picture {
    /// Widths and theme.
    key: Option<(Widths, u64)>,
    layout: Layout,
    /// Rows laid out for good, and where that ended.
    rows: usize,
    settled: Savepoint,
    fresh: bool,
}

impl MarkdownStream {
    /// An empty text.
    #[must_use]
    pub fn new(highlighter: &Highlighter) -> Self {
        Self {
            highlighter: highlighter.clone(),
            reader: BlockReader::new(),
            pending: Pending::default(),
            rows: Vec::new(),
            colours: Colours::default(),
            picture: Picture::default(),
            finished: false,
        }
    }

    /// A whole text.
    #[must_use]
    pub fn whole(text: &str, highlighter: &Highlighter) -> Self {
        let mut stream = Self::new(highlighter);
        stream.push(text);
        stream.finish();
        stream
    }

    /// Takes more text, cut anywhere.
    pub fn push(&mut self, delta: &str) {
        if delta.is_empty() {
            return;
        }
        self.finished = false;
        self.picture.fresh = false;
        for part in delta.split_inclusive('\n') {
            let line = part.strip_suffix('\n');
            self.pending.text.push_str(line.unwrap_or(part));
            self.cut_long_line();
            if line.is_some() {
                self.end_line();
            }
        }
        self.take_rows();
    }

    /// The text is whole: what is open is closed.
    pub fn finish(&mut self) {
        if self.finished {
            return;
        }
        if !self.pending.text.is_empty() {
            self.end_line();
        }
        self.reader.finish();
        self.take_rows();
        self.finished = true;
        self.picture.fresh = false;
    }

    /// Takes what the reader has ready. Rows of a table that became wider are laid out again, and
    /// with them all before.
    fn take_rows(&mut self) {
        self.rows.append(&mut self.reader.rows);
        for Reshaped { from, to } in std::mem::take(&mut self.reader.reshaped) {
            let mut found = false;
            for row in self.rows.iter_mut().rev() {
                match &mut row.body {
                    Body::Table { shape, .. } | Body::TableRule { shape }
                        if Arc::ptr_eq(shape, &from) =>
                    {
                        *shape = Arc::clone(&to);
                        found = true;
                    }
                    // The table's first row is behind.
                    _ if found => break,
                    _ => {}
                }
            }
            self.picture = Picture::default();
        }
    }

    /// Nothing but blanks came so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.tail_rows().is_empty()
    }

    /// The lines at these widths. Costs what is new since the last call with the same widths and theme.
    pub fn lines(&mut self, widths: impl Into<Widths>, theme: &Theme) -> &[Line<'static>] {
        self.colour_rows();
        let widths = widths.into();
        let key = Some((widths, theme.id()));
        if self.picture.key != key {
            self.picture = Picture { key, ..Picture::default() };
        }
        if self.picture.fresh {
            return &self.picture.layout.lines;
        }
        let tail = self.coloured_tail();
        let Picture { layout, settled, rows, fresh, .. } = &mut self.picture;
        layout.go_back(settled);
        for row in &self.rows[*rows..] {
            layout.push(row, widths, theme);
        }
        *rows = self.rows.len();
        *settled = layout.savepoint();
        for row in &tail {
            layout.push(row, widths, theme);
        }
        *fresh = true;
        &self.picture.layout.lines
    }

    /// Frees the lines; the next call of `lines` makes them again. For texts that are out of sight.
    pub fn release(&mut self) {
        self.picture = Picture::default();
    }

    /// Reads the pieces of a line that is too long to wait for its end.
    fn cut_long_line(&mut self) {
        let mut start = 0;
        while let Some(end) = self.pending.next_cut(start, self.reader.keeps_lines_whole()) {
            let piece = sanitize(&self.pending.text[start..end]).into_owned();
            self.read(&piece);
            self.pending.continues = true;
            start = end;
        }
        if start > 0 {
            self.pending.text.drain(..start);
        }
    }

    fn end_line(&mut self) {
        let text = std::mem::take(&mut self.pending.text);
        let line = text.strip_suffix('\r').unwrap_or(&text);
        self.read(&sanitize(line));
        self.pending = Pending::default();
    }

    fn read(&mut self, text: &str) {
        match self.pending.continues {
            true => self.reader.continue_line(text),
            false => self.reader.line(text),
        }
    }

    /// What the text would come to if it ended here.
    fn tail_rows(&self) -> Vec<Row> {
        if self.finished { Vec::new() } else { self.tail_reader().rows }
    }

    fn tail_reader(&self) -> BlockReader {
        let mut reader = self.reader.clone();
        let text = sanitize(&self.pending.text);
        if self.pending.continues {
            reader.continue_line(&text);
            reader.close_emphasis();
        } else if !text.trim().is_empty() && !is_undecided(&text) {
            reader.line(&text);
            reader.close_emphasis();
        }
        reader.finish();
        reader
    }

    /// Colours the code of new rows, or of all once the syntaxes are there.
    fn colour_rows(&mut self) {
        let colours = &mut self.colours;
        let ready = self.highlighter.ready();
        if ready && !colours.ready {
            let repaint = colours.wanted;
            *colours = Colours { ready, ..Colours::default() };
            if repaint {
                self.picture = Picture::default();
            }
        }
        for row in &mut self.rows[colours.rows..] {
            colours.apply(row, &self.highlighter);
        }
        colours.rows = self.rows.len();
    }

    fn coloured_tail(&mut self) -> Vec<Row> {
        let mut tail = self.tail_rows();
        if tail.iter().any(|row| matches!(row.body, Body::Code { language: Some(_), .. })) {
            let mut colours = self.colours.clone();
            tail.iter_mut().for_each(|row| colours.apply(row, &self.highlighter));
            self.colours.wanted |= colours.wanted;
        }
        tail
    }
}

impl Colours {
    fn apply(&mut self, row: &mut Row, highlighter: &Highlighter) {
        let Body::Code { text, language, starts } = &mut row.body else { return };
        let Some(language) = language else { return };
        if !self.ready {
            self.wanted = true;
            return highlighter.request();
        }
        if *starts {
            self.state = highlighter.start(language);
        }
        if let Some(state) = &mut self.state {
            text.runs = state.line(&text.text, highlighter);
        }
    }
}

impl Pending {
    /// The end of the piece that starts at `start`, if the line is to be cut. Depends on nothing
    /// but the line's bytes up to that end and one more, so that the pieces are the same however
    /// the text came.
    fn next_cut(&mut self, start: usize, whole: bool) -> Option<usize> {
        let bytes = self.text.as_bytes();
        if bytes.len() - start <= PIECE {
            return None;
        }
        let row = bytes[start..start + PIECE].trim_ascii_start().starts_with(b"|");
        let whole = whole || (row && !self.continues);
        let limit = start + if whole { WHOLE_LINE_LIMIT } else { PARAGRAPH_LIMIT };
        let mut at = start + self.scanned;
        while at < bytes.len() && at < limit {
            if bytes[at] == b' ' && at - start >= PIECE {
                if !whole && self.balance.is_even() {
                    return Some(self.cut(at));
                }
                self.last_space = Some(at - start);
            }
            self.balance.feed(bytes[at]);
            at += 1;
        }
        self.scanned = at - start;
        if bytes.len() <= limit {
            return None;
        }
        let mut end = self.last_space.filter(|_| !whole).map_or(limit, |space| start + space);
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        Some(self.cut(end))
    }

    fn cut(&mut self, end: usize) -> usize {
        self.scanned = 0;
        self.balance = Balance::default();
        self.last_space = None;
        end
    }
}

/// The start of a line that may yet become anything: not shown until it is clear what it is.
fn is_undecided(text: &str) -> bool {
    let text = text.trim();
    let marks = |byte: u8| {
        matches!(
            byte,
            b'-' | b'*' | b'_' | b'+' | b'=' | b'#' | b'>' | b'`' | b'~' | b'|' | b':' | b' '
        )
    };
    text.bytes().all(marks) || (text.len() < 4 && text.bytes().all(|byte| byte.is_ascii_digit()))
}
