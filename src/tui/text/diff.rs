//! Unified diffs as lines: numbers, signs and colours.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::sanitize::{reveal, sanitize};
use super::wrap::{Indent, StyledRuns, WrapMode};
use crate::tui::theme::Theme;

/// One line of a diff's body.
struct ChangedLine<'a> {
    sign: char,
    number: usize,
    text: &'a str,
}

/// Renders a unified diff without its file names, with line numbers (the new ones, for removed lines
/// the old ones) and `⋮` between hunks. Returns at most `max_rows` lines; the last one counts the
/// lines left out.
pub fn diff_lines(diff: &str, width: u16, max_rows: usize, theme: &Theme) -> Vec<Line<'static>> {
    render_diff(diff, width, max_rows, theme, &|text| sanitize(text).into_owned())
}

/// Renders a whole unified diff, with visible signs for characters that are dropped elsewhere.
pub fn whole_diff(diff: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    render_diff(diff, width, usize::MAX, theme, &|text| sanitize(&reveal(text)).into_owned())
}

/// Counts the added and the removed lines of a unified diff.
pub fn count_changes(diff: &str) -> (usize, usize) {
    let mut position = DiffPosition::default();
    let (mut added, mut removed) = (0, 0);
    for line in source_lines(diff) {
        if let DiffLineKind::Change(change) = position.read(line) {
            added += usize::from(change.sign == '+');
            removed += usize::from(change.sign == '-');
        }
    }
    (added, removed)
}

fn render_diff(
    diff: &str,
    width: u16,
    max_rows: usize,
    theme: &Theme,
    clean: &dyn Fn(&str) -> String,
) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    let mut position = DiffPosition::default();
    let digits = max_line_number(diff).max(1).ilog10() as usize + 1;
    // The end of each diff line on the screen.
    let mut ends = Vec::new();
    let mut lines = source_lines(diff);
    for line in lines.by_ref() {
        match position.read(line) {
            DiffLineKind::Nothing | DiffLineKind::Hunk { first: true } => continue,
            DiffLineKind::Hunk { first: false } => {
                out.push(gap_line(digits, theme));
                continue;
            }
            DiffLineKind::Note => out.push(Line::styled(clean(line), theme.dim)),
            DiffLineKind::Change(change) => {
                let text = clean(change.text);
                push_change(&change, &text, digits, width, theme, &mut out);
            }
        }
        ends.push(out.len());
        if out.len() > max_rows {
            break;
        }
    }
    if out.len() > max_rows {
        let whole = ends.partition_point(|end| *end < max_rows);
        let kept = whole.checked_sub(1).map_or(0, |last| ends[last]);
        let rest = lines.filter(|line| !line.starts_with("@@")).count();
        let missing = ends.len() - whole + rest;
        let words = if missing == 1 { "line" } else { "lines" };
        out.truncate(kept);
        out.push(Line::styled(format!("… {missing} more {words}"), theme.dim));
    }
    out
}

/// The lines of a diff. A lone carriage return also ends a line, as in the tools that write diffs;
/// otherwise an added line could pass as part of the removed one before it. It is kept, so that it
/// is rendered.
fn source_lines(diff: &str) -> impl Iterator<Item = &str> {
    let lines = diff.lines();
    lines.flat_map(|line| line.split_inclusive('\r').chain(line.is_empty().then_some("")))
}

/// The kind of a line in a diff.
enum DiffLineKind<'a> {
    Nothing,
    Hunk { first: bool },
    Change(ChangedLine<'a>),
    Note,
}

/// The current position in both files.
#[derive(Default)]
struct DiffPosition {
    old: usize,
    new: usize,
    /// Remaining lines of the hunk, so that a removed line `-- x` is not mistaken for a file name.
    old_left: usize,
    new_left: usize,
    hunks: usize,
}

impl DiffPosition {
    fn read<'a>(&mut self, line: &'a str) -> DiffLineKind<'a> {
        if let Some(hunk) = Hunk::parse(line) {
            (self.old, self.old_left) = hunk.old;
            (self.new, self.new_left) = hunk.new;
            self.hunks += 1;
            return DiffLineKind::Hunk { first: self.hunks == 1 };
        }
        if self.old_left == 0 && self.new_left == 0 {
            let head =
                ["diff ", "index ", "--- ", "+++ "].iter().any(|word| line.starts_with(word));
            return if head || self.hunks == 0 {
                DiffLineKind::Nothing
            } else {
                DiffLineKind::Note
            };
        }
        let (sign, text) = match line.chars().next() {
            Some(sign @ ('+' | '-' | ' ')) => (sign, &line[1..]),
            Some('\\' | '…') => return DiffLineKind::Note,
            // Some writers drop the space of an empty line.
            _ => (' ', line),
        };
        let number = if sign == '-' { self.old } else { self.new };
        if sign != '+' {
            self.old += 1;
            self.old_left = self.old_left.saturating_sub(1);
        }
        if sign != '-' {
            self.new += 1;
            self.new_left = self.new_left.saturating_sub(1);
        }
        DiffLineKind::Change(ChangedLine { sign, number, text })
    }
}

/// The start and the length of a hunk in both files.
struct Hunk {
    old: (usize, usize),
    new: (usize, usize),
}

impl Hunk {
    /// Reads `@@ -1,7 +1,9 @@`.
    fn parse(line: &str) -> Option<Self> {
        let ranges = line.strip_prefix("@@ -")?;
        let (ranges, _) = ranges.split_once(" @@")?;
        let (old, new) = ranges.split_once(" +")?;
        Some(Self { old: parse_range(old)?, new: parse_range(new)? })
    }
}

fn parse_range(text: &str) -> Option<(usize, usize)> {
    match text.split_once(',') {
        Some((start, length)) => Some((start.parse().ok()?, length.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

fn max_line_number(diff: &str) -> usize {
    let hunks = diff.lines().filter_map(Hunk::parse);
    hunks
        .map(|hunk| {
            (hunk.old.0.saturating_add(hunk.old.1)).max(hunk.new.0.saturating_add(hunk.new.1))
        })
        .max()
        .unwrap_or(1)
}

fn gap_line(digits: usize, theme: &Theme) -> Line<'static> {
    Line::styled(format!("{:>digits$}", theme.glyphs.more), theme.dim)
}

fn push_change(
    change: &ChangedLine<'_>,
    text: &str,
    digits: usize,
    width: u16,
    theme: &Theme,
    out: &mut Vec<Line<'static>>,
) {
    let style = match change.sign {
        '+' => theme.added,
        '-' => theme.removed,
        _ => Style::new(),
    };
    let number = format!("{:>digits$} ", change.number);
    let sign = Span::styled(format!("{} ", change.sign), style);
    let first = vec![Span::styled(number, theme.dim), sign];
    let rest = vec![Span::raw(" ".repeat(digits + 3))];
    // In a very narrow window, drop the line number.
    let indent = match usize::from(width) > digits + 8 {
        true => Indent { first, rest },
        false => Indent { first: vec![Span::styled(change.sign.to_string(), style)], rest: vec![] },
    };
    let runs = StyledRuns::new(text, vec![(text.len(), style)]);
    indent.wrap(runs, usize::from(width), WrapMode::Cells, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "--- a/src/x.rs\n+++ b/src/x.rs\n@@ -8,4 +8,3 @@ fn x\n keep\n-old \x1b[31mred\n+new\n more\n--- not a name\n@@ -98,2 +98,3 @@\n a\n+b\n c\n\\ No newline at end of file\n";

    fn rendered(width: u16, max: usize) -> Vec<String> {
        diff_lines(DIFF, width, max, &Theme::default()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lines_have_numbers_and_signs() {
        assert_eq!(
            rendered(40, 99),
            [
                "  8   keep",
                "  9 - old red",
                "  9 + new",
                " 10   more",
                " 11 - -- not a name",
                "  ⋮",
                " 98   a",
                " 99 + b",
                "100   c",
                "\\ No newline at end of file",
            ]
        );
    }

    #[test]
    fn signs_and_text_have_their_colour() {
        let theme = Theme::default();
        let lines = diff_lines(DIFF, 40, 99, &theme);
        assert!(lines[1].spans[1..].iter().all(|span| span.style == theme.removed));
        assert!(lines[2].spans[1..].iter().all(|span| span.style == theme.added));
    }

    #[test]
    fn a_long_diff_says_what_is_missing() {
        assert_eq!(rendered(40, 4), ["  8   keep", "  9 - old red", "  9 + new", "… 6 more lines"]);
    }

    #[test]
    fn nothing_hides_in_a_whole_diff() {
        let diff = "@@ -1 +1,2 @@\n-old\r+new\n+\x1b]0;rm -rf ~\n";
        let whole = |line: &Line<'_>| line.to_string();
        let rendered: Vec<_> = whole_diff(diff, 40, &Theme::default()).iter().map(whole).collect();
        assert_eq!(rendered, ["1 - old␍", "1 + new", "2 + ␛]0;rm -rf ~"]);
    }

    #[test]
    fn long_lines_hang_under_their_start() {
        let diff = "@@ -1 +1 @@\n-abcdefghijklmn\n+x\n";
        let lines: Vec<_> =
            diff_lines(diff, 12, 9, &Theme::default()).iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["1 - abcdefgh", "    ijklmn", "1 + x"]);
    }
}
