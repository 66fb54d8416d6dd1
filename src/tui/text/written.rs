//! Wraps text that the user is asked to allow: what the rows show is what is written.
//!
//! A blank at the end of a row stays in the row, so a row without a free cell ends inside a word.
//! Several blanks that would end a row, or begin one, become a sign such as `⟨95 blanks⟩`.

use std::mem;
use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::width::{grapheme_at, width};
use super::wrap::{Indent, StyledRuns, styled_runs};

/// A part of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RowPart {
    Text(Range<usize>),
    /// Stands for blanks.
    Sign(String),
}

/// Blanks, or a piece of text that stays on one row if it fits.
struct Chunk {
    range: Range<usize>,
    cells: usize,
    is_blank: bool,
}

impl Chunk {
    fn at(text: &str, start: usize) -> Option<Self> {
        let is_space = |at: usize, len: usize| len == 1 && text.as_bytes()[at] == b' ';
        let (first, wide) = grapheme_at(text, start)?;
        let is_blank = is_space(start, first);
        let (mut end, mut cells, mut is_wide) = (start + first, wide, wide > 1);
        while let Some((len, wide)) = grapheme_at(text, end) {
            // Rows may also break beside a wide character.
            let parts = !is_blank && wide > 0 && (is_wide || wide > 1);
            if is_space(end, len) != is_blank || parts {
                break;
            }
            is_wide = if wide > 0 { wide > 1 } else { is_wide };
            (end, cells) = (end + len, cells + wide);
        }
        Some(Self { range: start..end, cells, is_blank })
    }

    /// The cells that this needs on its row before `next`: a blank behind it belongs to the row.
    fn needed_cells(&self, next: Option<&Self>) -> usize {
        self.cells + usize::from(next.is_some_and(|next| next.is_blank && next.cells == 1))
    }
}

/// Finds the rows of `text`, which has no newline, and passes each to `emit`, at least one. `first`
/// and `rest` are the cells of the first and the other rows.
fn find_rows(text: &str, first: usize, rest: usize, emit: impl FnMut(Vec<RowPart>)) {
    let mut rows = RowFill::new(text, first.max(1), rest.max(1), emit);
    let after = |chunk: &Chunk| Chunk::at(text, chunk.range.end);
    let mut chunk = Chunk::at(text, 0);
    while let Some(this) = chunk {
        let next = after(&this);
        if this.is_blank {
            let needed = next.as_ref().map_or(0, |word| match word.cells > rest {
                // Its beginning, as it is broken anyway.
                true => 2,
                false => word.needed_cells(after(word).as_ref()),
            });
            rows.push_blanks(this.range, needed);
        } else {
            let needed = this.needed_cells(next.as_ref());
            rows.push_word(this.range, this.cells, needed);
        }
        chunk = next;
    }
    rows.finish();
}

/// A row being filled.
struct RowFill<'a, F> {
    text: &'a str,
    rest: usize,
    limit: usize,
    cells: usize,
    is_first: bool,
    parts: Vec<RowPart>,
    emit: F,
}

impl<'a, F: FnMut(Vec<RowPart>)> RowFill<'a, F> {
    fn new(text: &'a str, first: usize, rest: usize, emit: F) -> Self {
        Self { text, rest, limit: first, cells: 0, is_first: true, parts: Vec::new(), emit }
    }

    fn finish(mut self) {
        (self.emit)(self.parts);
    }

    fn start_row(&mut self) {
        (self.emit)(mem::take(&mut self.parts));
        (self.cells, self.limit, self.is_first) = (0, self.rest, false);
    }

    fn has_room(&self, cells: usize) -> bool {
        self.cells + cells <= self.limit
    }

    fn push_text(&mut self, range: Range<usize>, cells: usize) {
        self.cells += cells;
        match self.parts.last_mut() {
            Some(RowPart::Text(last)) if last.end == range.start => last.end = range.end,
            _ => self.parts.push(RowPart::Text(range)),
        }
    }

    /// Adds a word, which needs so many cells with what belongs to it. A word wider than a row is
    /// broken at the edge.
    fn push_word(&mut self, range: Range<usize>, cells: usize, needed: usize) {
        if !self.has_room(needed) && self.cells > 0 && cells <= self.rest {
            self.start_row();
        }
        if self.has_room(cells) {
            return self.push_text(range, cells);
        }
        let mut at = range.start;
        while at < range.end
            && let Some((len, wide)) = grapheme_at(self.text, at)
        {
            if !self.has_room(wide) && (self.cells > 0 || self.limit < self.rest) {
                self.start_row();
            }
            // A character wider than a whole row is left out.
            if self.has_room(wide) {
                self.push_text(at..at + len, wide);
            }
            at += len;
        }
    }

    /// Adds blanks before a word that needs so many cells.
    fn push_blanks(&mut self, range: Range<usize>, needed: usize) {
        let count = range.len();
        if count == 1 && self.cells > 0 && self.has_room(1) {
            return self.push_text(range, 1);
        }
        if self.has_room(count + needed) && (self.cells > 0 || self.is_first) {
            return self.push_text(range, count);
        }
        let sign =
            if count == 1 { "⟨blank⟩".to_owned() } else { format!("⟨{count} blanks⟩") };
        if !self.has_room(width(&sign)) && self.cells > 0 {
            self.start_row();
        }
        for letter in sign.chars() {
            if !self.has_room(1) {
                self.start_row();
            }
            self.cells += 1;
            match self.parts.last_mut() {
                Some(RowPart::Sign(last)) => last.push(letter),
                _ => self.parts.push(RowPart::Sign(letter.to_string())),
            }
        }
    }
}

impl Indent {
    /// Wraps `runs` as they are written into `out`. `sign` is the style of signs for blanks.
    pub(super) fn wrap_written(
        &self,
        mut runs: StyledRuns<'_>,
        cells: usize,
        sign: Style,
        out: &mut Vec<Line<'static>>,
    ) {
        let first = cells.saturating_sub(Self::cells(&self.first));
        let rest = cells.saturating_sub(Self::cells(&self.rest));
        let mut prefix = &self.first;
        find_rows(runs.text(), first, rest, |parts| {
            let mut spans = prefix.clone();
            for part in parts {
                match part {
                    RowPart::Text(range) => runs.push_spans(range, &mut spans),
                    RowPart::Sign(text) => spans.push(Span::styled(text, sign)),
                }
            }
            out.push(Line::from(spans));
            prefix = &self.rest;
        });
    }
}

/// Wraps a styled line as it is written behind `first`, and its further rows behind `rest`. `sign`
/// is the style of signs for blanks.
pub fn wrap_written(
    line: &Line<'_>,
    width: u16,
    first: &Line<'static>,
    rest: &Line<'static>,
    sign: Style,
) -> Vec<Line<'static>> {
    let (text, ends) = styled_runs(line);
    let indent = Indent { first: first.spans.clone(), rest: rest.spans.clone() };
    let mut out = Vec::new();
    indent.wrap_written(StyledRuns::new(&text, ends), usize::from(width), sign, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(text: &str, cells: u16) -> Vec<String> {
        let none = Line::default();
        let lines = wrap_written(&Line::from(text), cells, &none, &none, Style::new());
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_row_without_a_free_cell_ends_inside_a_word() {
        assert_eq!(rows("the quick brown fox", 10), ["the quick ", "brown fox"]);
        assert_eq!(rows("abcd efghi", 5), ["abcd ", "efghi"]);
        assert_eq!(rows("ab cdef gh", 7), ["ab ", "cdef gh"]);
        assert_eq!(rows("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(rows("rm abcde f", 8), ["rm ", "abcde f"]);
        assert_eq!(rows("exact word", 5), ["exact", "⟨blan", "k⟩", "word"]);
    }

    #[test]
    fn blanks_at_the_end_or_the_beginning_of_a_row_become_a_sign() {
        let blanks = |count: usize| " ".repeat(count);
        assert_eq!(rows(&format!("{}do()", blanks(95)), 40), ["⟨95 blanks⟩do()"]);
        assert_eq!(rows(&format!("{}do()", blanks(36)), 40), [format!("{}do()", blanks(36))]);
        assert_eq!(
            rows(&format!("echo a{}; touch q", blanks(400)), 20),
            ["echo a⟨400 blanks⟩; ", "touch q"]
        );
        assert_eq!(rows("a   b   cccccccccccc", 14), ["a   b", "⟨3 blanks⟩", "cccccccccccc"]);
        assert_eq!(rows(&format!("end{}", blanks(30)), 20), ["end⟨30 blanks⟩"]);
        assert_eq!(rows("", 20), [""]);
    }

    proptest! {
        #[test]
        fn the_rows_say_all_that_is_written(text in "[a-c日é ]{0,80}", cells in 2u16..30) {
            let rows = rows(&text, cells);
            prop_assert!(rows.iter().all(|row| width(row) <= usize::from(cells)), "{rows:?}");
            let mut broken = rows[..rows.len() - 1].iter();
            prop_assert!(broken.all(|row| !row.ends_with("  ")), "{rows:?}");
            let mut shown = rows.concat().replace("⟨blank⟩", " ");
            for count in 2..=80 {
                shown = shown.replace(&format!("⟨{count} blanks⟩"), &" ".repeat(count));
            }
            prop_assert_eq!(shown, text);
        }
    }
}
