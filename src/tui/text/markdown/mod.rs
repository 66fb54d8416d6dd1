//! Streaming Markdown: each piece of text costs its own size, not that of the whole.
//!
//! Complete lines become rows once (`block`, `inline`, `table`), rows become styled lines once per
//! width (`layout`). Only the open line, an open paragraph and the first rows of a table are
//! rendered again for each frame; all of them are bounded.

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
mod row;
mod table;
mod table_shape;
#[cfg(test)]
mod tests;
mod words;

use block::BlockReader;
use inline::DelimiterBalance;
pub use layout::Widths;
use layout::{MarkdownLayout, Savepoint};
use paragraph::PARAGRAPH_LIMIT;
use row::{Row, RowBody};
use table::ShapeChange;
pub use words::MarkdownWords;

/// Bytes after which a line of text is read in pieces, at the next safe position.
const PIECE_BYTES: usize = 512;
/// Bytes after which a line of code or a table row is split.
const WHOLE_LINE_LIMIT: usize = 8192;

/// A Markdown text as lines for the screen. Takes raw text as it arrives, and sanitises it.
#[derive(Clone, Debug)]
pub struct MarkdownStream {
    highlighter: Highlighter,
    reader: BlockReader,
    /// The incomplete line, raw.
    pending: PendingLine,
    rows: Vec<Row>,
    colours: HighlightState,
    cache: RenderCache,
    finished: bool,
}

/// The raw text of the open line, and how far it was scanned for a position to split.
#[derive(Clone, Debug, Default)]
struct PendingLine {
    text: String,
    scanned: usize,
    balance: DelimiterBalance,
    last_space: Option<usize>,
    /// Whether it continues a line whose start was already read.
    continues: bool,
}

/// How far the rows are highlighted.
#[derive(Clone, Debug, Default)]
struct HighlightState {
    rows: usize,
    state: Option<CodeState>,
    ready: bool,
    /// Whether a fence with a language was seen.
    has_fence: bool,
}

/// The lines of the last call of `lines`.
#[derive(Clone, Debug, Default)]
struct RenderCache {
    /// Widths and theme.
    key: Option<(Widths, u64)>,
    layout: MarkdownLayout,
    /// Number of final rows laid out, and the state after them.
    rows: usize,
    settled: Savepoint,
    /// The first row of the last table, and the state before it.
    table: Option<(usize, Savepoint)>,
    fresh: bool,
}

impl RenderCache {
    /// Forgets the lines from the first row of a table on.
    fn rewind(&mut self, first: usize) {
        self.fresh = false;
        match self.table.take() {
            _ if self.rows <= first => {}
            Some((at, before)) if at == first => {
                self.layout.restore(&before);
                (self.rows, self.settled) = (first, before);
            }
            _ => *self = Self::default(),
        }
    }
}

impl MarkdownStream {
    /// Creates an empty text.
    pub fn new(highlighter: &Highlighter) -> Self {
        Self {
            highlighter: highlighter.clone(),
            reader: BlockReader::new(),
            pending: PendingLine::default(),
            rows: Vec::new(),
            colours: HighlightState::default(),
            cache: RenderCache::default(),
            finished: false,
        }
    }

    /// Creates a finished text.
    pub fn whole(text: &str, highlighter: &Highlighter) -> Self {
        let mut stream = Self::new(highlighter);
        stream.push(text);
        stream.finish();
        stream
    }

    /// Appends text, split anywhere.
    pub fn push(&mut self, delta: &str) {
        if delta.is_empty() {
            return;
        }
        self.finished = false;
        self.cache.fresh = false;
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

    /// Ends the text and closes open blocks.
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
        self.cache.fresh = false;
    }

    /// Takes the reader's finished rows. When a table became wider, its rows are laid out again.
    fn take_rows(&mut self) {
        self.rows.append(&mut self.reader.rows);
        for ShapeChange { from, to } in std::mem::take(&mut self.reader.reshaped) {
            let mut first = None;
            for (at, row) in self.rows.iter_mut().enumerate().rev() {
                match &mut row.body {
                    RowBody::Table { shape, .. } | RowBody::TableRule { shape }
                        if Arc::ptr_eq(shape, &from) =>
                    {
                        *shape = Arc::clone(&to);
                        first = Some(at);
                    }
                    // Before the table's first row.
                    _ if first.is_some() => break,
                    _ => {}
                }
            }
            if let Some(first) = first {
                self.cache.rewind(first);
            }
        }
    }

    /// Whether the text is blank so far.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.tail_rows().is_empty()
    }

    /// The lines at these widths. Renders only new text if widths and theme are those of the last call.
    pub fn lines(&mut self, widths: impl Into<Widths>, theme: &Theme) -> &[Line<'static>] {
        self.colour_rows();
        let widths = widths.into();
        let key = Some((widths, theme.id()));
        if self.cache.key != key {
            self.cache = RenderCache { key, ..RenderCache::default() };
        }
        if self.cache.fresh {
            return &self.cache.layout.lines;
        }
        let tail = self.coloured_tail();
        let RenderCache { layout, settled, rows, table, fresh, .. } = &mut self.cache;
        layout.restore(settled);
        let mut in_table = rows.checked_sub(1).is_some_and(|last| self.rows[last].is_table());
        for (at, row) in self.rows.iter().enumerate().skip(*rows) {
            let was_in_table = std::mem::replace(&mut in_table, row.is_table());
            if in_table && !was_in_table {
                *table = Some((at, layout.savepoint()));
            }
            layout.push(row, widths, theme);
        }
        *rows = self.rows.len();
        *settled = layout.savepoint();
        for row in &tail {
            layout.push(row, widths, theme);
        }
        *fresh = true;
        &self.cache.layout.lines
    }

    /// Frees the lines of a text out of sight; the next call of `lines` renders them again.
    pub fn release(&mut self) {
        self.cache = RenderCache::default();
    }

    /// Reads pieces of a line that is too long to wait for its end.
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
        self.pending = PendingLine::default();
    }

    fn read(&mut self, text: &str) {
        match self.pending.continues {
            true => self.reader.continue_line(text),
            false => self.reader.line(text),
        }
    }

    /// The remaining rows if the text ended here.
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

    /// Highlights the code of new rows, or of all rows once the syntaxes are loaded.
    fn colour_rows(&mut self) {
        let colours = &mut self.colours;
        let ready = self.highlighter.ready();
        if ready && !colours.ready {
            let repaint = colours.has_fence;
            *colours = HighlightState { ready, ..HighlightState::default() };
            if repaint {
                self.cache = RenderCache::default();
            }
        }
        for row in &mut self.rows[colours.rows..] {
            colours.apply(row, &self.highlighter);
        }
        colours.rows = self.rows.len();
    }

    fn coloured_tail(&mut self) -> Vec<Row> {
        let mut tail = self.tail_rows();
        if tail.iter().any(|row| matches!(row.body, RowBody::Code { language: Some(_), .. })) {
            let mut colours = self.colours.clone();
            tail.iter_mut().for_each(|row| colours.apply(row, &self.highlighter));
            self.colours.has_fence |= colours.has_fence;
        }
        tail
    }
}

impl HighlightState {
    fn apply(&mut self, row: &mut Row, highlighter: &Highlighter) {
        let RowBody::Code { text, language, starts } = &mut row.body else { return };
        let Some(language) = language else { return };
        if !self.ready {
            self.has_fence = true;
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

impl PendingLine {
    /// The end of the piece that starts at `start`, if the line must be split. Depends only on the
    /// line's bytes up to that end and one more, so that the pieces are the same however the text
    /// arrived.
    fn next_cut(&mut self, start: usize, whole: bool) -> Option<usize> {
        let bytes = self.text.as_bytes();
        if bytes.len() - start <= PIECE_BYTES {
            return None;
        }
        let row = bytes[start..start + PIECE_BYTES].trim_ascii_start().starts_with(b"|");
        let whole = whole || (row && !self.continues);
        let limit = start + if whole { WHOLE_LINE_LIMIT } else { PARAGRAPH_LIMIT };
        let mut at = start + self.scanned;
        while at < bytes.len() && at < limit {
            if bytes[at] == b' ' && at - start >= PIECE_BYTES {
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
        self.balance = DelimiterBalance::default();
        self.last_space = None;
        end
    }
}

/// Whether the start of a line may still become any block, and so is not shown yet.
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
