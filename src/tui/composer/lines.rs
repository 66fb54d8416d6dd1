//! Wraps a text between words, as all other text on the screen.
//!
//! The editor below wraps too, but only to a width that its own widget was drawn with.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::TextBuffer;
use crate::tui::text::width;

/// A tab on the screen.
const TAB: &str = "    ";

impl TextBuffer {
    /// The byte range of each line, without its newline. A line ends behind a blank if it has one, and a
    /// blank may stand behind the edge. A full last line is followed by an empty one for the cursor.
    pub fn wrap(&self, room: usize) -> Vec<Range<usize>> {
        let room = room.max(1);
        let text = self.text();
        let mut lines = Vec::new();
        let (mut start, mut used) = (0, 0);
        // The end of the last whole word, and the cells up to it.
        let mut word = (0, 0);
        for (at, cluster) in text.grapheme_indices(true) {
            if cluster == "\n" {
                lines.push(start..at);
                (start, used) = (at + 1, 0);
                continue;
            }
            let cells = self.cells(cluster);
            let is_blank = cluster == " ";
            if used > 0 && used + cells > room && !(is_blank && used == room) {
                let (end, before) = if word.0 > start { word } else { (at, used) };
                lines.push(start..end);
                (start, used) = (end, used - before);
            }
            used += cells;
            if is_blank {
                word = (at + 1, used);
            }
        }
        lines.push(start..text.len());
        if used >= room {
            lines.push(text.len()..text.len());
        }
        lines
    }

    /// Row and column of the cursor, in cells.
    pub fn row_and_column(&self, lines: &[Range<usize>]) -> (usize, usize) {
        let row = lines.partition_point(|line| line.start <= self.cursor()).saturating_sub(1);
        let start = lines.get(row).map_or(0, |line| line.start);
        let head = self.text().get(start..self.cursor()).unwrap_or_default();
        (row, head.graphemes(true).map(|cluster| self.cells(cluster)).sum())
    }

    /// The byte position in a line that is closest to a column, in cells.
    pub fn at_column(&self, line: &Range<usize>, column: usize) -> usize {
        let mut used = 0;
        for (at, cluster) in self.text()[line.clone()].grapheme_indices(true) {
            if used >= column {
                return line.start + at;
            }
            used += self.cells(cluster);
        }
        line.end
    }

    /// The form of a grapheme cluster on the screen.
    pub fn display<'a>(&'a self, cluster: &'a str) -> &'a str {
        match cluster {
            "\t" => TAB,
            _ => self.pastes.label(cluster).unwrap_or(cluster),
        }
    }

    fn cells(&self, cluster: &str) -> usize {
        width(self.display(cluster))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, room: usize) -> Vec<String> {
        let buffer = TextBuffer::from(text);
        buffer.wrap(room).into_iter().map(|line| text[line].to_owned()).collect()
    }

    /// Row and column of a cursor at a byte position.
    fn position(text: &str, room: usize, at: usize) -> (usize, usize) {
        let mut buffer = TextBuffer::from(text);
        buffer.place_cursor(at, false);
        buffer.row_and_column(&buffer.wrap(room))
    }

    #[test]
    fn a_long_draft_breaks_at_the_edge_and_the_cursor_follows() {
        assert_eq!(wrapped("one two three", 8), ["one two ", "three"]);
        assert_eq!(wrapped("one two three", 7), ["one two ", "three"]);
        assert_eq!(wrapped("one two three", 6), ["one ", "two ", "three"]);
        assert_eq!(wrapped("a abcdefgh", 4), ["a ", "abcd", "efgh", ""]);
        assert_eq!(wrapped("ab    cd", 4), ["ab   ", " cd"]);
        assert_eq!(position("one two three", 7, 8), (1, 0));
        assert_eq!(position("one two three", 7, 7), (0, 7));
        assert_eq!(position("one two ", 7, 8), (1, 0));
        assert_eq!(wrapped("abcdef", 4), ["abcd", "ef"]);
        assert_eq!(position("abcdef", 4, 6), (1, 2));
        assert_eq!(position("abcd", 4, 4), (1, 0));
        assert_eq!(wrapped("a\n\nb", 4), ["a", "", "b"]);
        assert_eq!(position("a\n\nb", 4, 2), (1, 0));
    }

    #[test]
    fn wide_clusters_are_never_split_and_a_tab_takes_four_cells() {
        assert_eq!(wrapped("日本語", 5), ["日本", "語"]);
        assert_eq!(wrapped("a\tb", 5), ["a\t", "b"]);
        assert_eq!(position("e\u{301}x", 9, 3), (0, 1));
    }
}
