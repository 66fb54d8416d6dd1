//! Wraps the draft at the edge, without word wrapping, so that nothing moves while the user types.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::tui::text::width;

/// Width of a tab, in cells.
const TAB_WIDTH: usize = 4;

/// The byte range of each line, without its newline. A full last line is followed by an empty one
/// for the cursor.
pub fn lines(text: &str, room: usize) -> Vec<Range<usize>> {
    let room = room.max(1);
    let mut lines = Vec::new();
    let (mut start, mut used) = (0, 0);
    for (at, cluster) in text.grapheme_indices(true) {
        if cluster == "\n" {
            lines.push(start..at);
            (start, used) = (at + 1, 0);
            continue;
        }
        let cells = cells(cluster);
        if used > 0 && used + cells > room {
            lines.push(start..at);
            (start, used) = (at, 0);
        }
        used += cells;
    }
    lines.push(start..text.len());
    if used >= room {
        lines.push(text.len()..text.len());
    }
    lines
}

/// Row and column of a byte position, in cells.
pub fn position_of(text: &str, lines: &[Range<usize>], cursor: usize) -> (usize, usize) {
    let row = lines.partition_point(|line| line.start <= cursor).saturating_sub(1);
    let start = lines.get(row).map_or(0, |line| line.start);
    let column = text.get(start..cursor).unwrap_or_default().graphemes(true).map(cells).sum();
    (row, column)
}

/// The byte position in a line that is closest to a column, in cells.
pub fn at_column(text: &str, line: &Range<usize>, column: usize) -> usize {
    let mut used = 0;
    for (at, cluster) in text[line.clone()].grapheme_indices(true) {
        if used >= column {
            return line.start + at;
        }
        used += cells(cluster);
    }
    line.end
}

/// The text of a line for drawing.
pub fn display_line(text: &str, line: &Range<usize>) -> String {
    text[line.clone()].replace('\t', &" ".repeat(TAB_WIDTH))
}

fn cells(cluster: &str) -> usize {
    if cluster == "\t" { TAB_WIDTH } else { width(cluster) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, room: usize) -> Vec<&str> {
        lines(text, room).into_iter().map(|line| &text[line]).collect()
    }

    #[test]
    fn a_long_draft_breaks_at_the_edge_and_the_cursor_follows() {
        assert_eq!(wrapped("abcdef", 4), ["abcd", "ef"]);
        assert_eq!(position_of("abcdef", &lines("abcdef", 4), 6), (1, 2));
        assert_eq!(position_of("abcd", &lines("abcd", 4), 4), (1, 0));
        assert_eq!(wrapped("a\n\nb", 4), ["a", "", "b"]);
        assert_eq!(position_of("a\n\nb", &lines("a\n\nb", 4), 2), (1, 0));
    }

    #[test]
    fn wide_clusters_are_never_split_and_a_tab_takes_four_cells() {
        assert_eq!(wrapped("日本語", 5), ["日本", "語"]);
        assert_eq!(wrapped("a\tb", 5), ["a\t", "b"]);
        assert_eq!(position_of("e\u{301}x", &lines("e\u{301}x", 9), 3), (0, 1));
    }
}
