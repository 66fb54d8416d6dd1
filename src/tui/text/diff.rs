//! Unified diffs as lines: numbers, signs and colours.

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::sanitize::{reveal, sanitize};
use super::wrap::{Indent, StyledRuns, WrapMode};
use super::written::wrap_written;
use crate::tui::theme::{Theme, on_ground};

mod code;
mod parse;
mod words;

use code::DiffCode;
pub use code::DiffFile;
pub use parse::count_changes;
use parse::{ChangedLine, DiffLineKind, DiffPosition, max_line_number, source_lines};
use words::{DiffRow, MAX_PAIRED_LINES, changed_words};

/// Added lines that a cut diff shows at least, behind those that they replace.
const MIN_ADDED: usize = 4;

/// How much of a diff to render.
#[derive(Clone, Copy)]
pub struct DiffLimit<'a> {
    pub rows: usize,
    /// The name of the key that shows the rest.
    pub key: Option<&'a str>,
}

/// Renders a unified diff without its file names, with line numbers (the new ones, for removed lines
/// the old ones) and `⋮` between hunks. The last line counts the lines beyond the limit.
pub fn diff_lines(
    diff: &str,
    file: Option<DiffFile<'_>>,
    width: u16,
    limit: DiffLimit<'_>,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let clean = |text: &str| sanitize(text).into_owned();
    render_diff(diff, file, Canvas::new(diff, width, theme), limit, &clean)
}

/// Renders a whole unified diff, with visible signs for characters and blanks that are dropped
/// elsewhere, and beside rows that continue a line.
pub fn whole_diff(
    diff: &str,
    file: Option<DiffFile<'_>>,
    width: u16,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let limit = DiffLimit { rows: usize::MAX, key: None };
    let clean = |text: &str| sanitize(&reveal(&theme.glyphs.number(text))).into_owned();
    let canvas = Canvas { as_written: true, ..Canvas::new(diff, width, theme) };
    render_diff(diff, file, canvas, limit, &clean)
}

fn render_diff(
    diff: &str,
    file: Option<DiffFile<'_>>,
    canvas: Canvas<'_>,
    limit: DiffLimit<'_>,
    clean: &dyn Fn(&str) -> String,
) -> Vec<Line<'static>> {
    let Canvas { digits, theme, .. } = canvas;
    let mut out = Vec::new();
    let mut position = DiffPosition::default();
    // The end of each diff line on the screen.
    let mut ends = Vec::new();
    let mut code = DiffCode::new(file.filter(|_| theme.added_line.bg.is_some()));
    // Changed lines, held back until all that belong together are known.
    let mut block: Vec<DiffRow> = Vec::new();
    let mut lines = source_lines(diff);
    let most = limit.rows.saturating_add(2 * MAX_PAIRED_LINES);
    while let Some(line) = lines.next() {
        let kind = position.read(line);
        let goes_on = match &kind {
            DiffLineKind::Change(ChangedLine { sign: '+', .. }) => true,
            DiffLineKind::Change(ChangedLine { sign: '-', .. }) => {
                block.is_empty() || is_removed(&block)
            }
            _ => false,
        };
        if !goes_on {
            push_block(&mut block, &mut code, canvas, &mut out, &mut ends);
        }
        match kind {
            DiffLineKind::Nothing => {}
            DiffLineKind::Hunk { first } => {
                code.restart();
                if !first {
                    out.push(gap_line(digits, theme));
                }
            }
            DiffLineKind::Note => {
                let note = Line::styled(clean(line), theme.dim);
                match canvas.as_written {
                    true => {
                        let sign = format!("{} ", theme.glyphs.continued);
                        let rest = Line::styled(sign, theme.dim);
                        let none = Line::default();
                        out.extend(wrap_written(&note, canvas.width, &none, &rest, theme.dim));
                    }
                    false => out.push(note),
                }
                ends.push(out.len());
            }
            DiffLineKind::Change(ChangedLine { sign, number, text }) => {
                if sign == '+' && is_removed(&block) {
                    let room = limit.rows.saturating_sub(out.len());
                    let hidden = block.len().saturating_sub(room / 2);
                    let next = lines.clone().take_while(|line| line.starts_with('+'));
                    let added = 1 + next.take(MIN_ADDED - 1).count();
                    if room > 0 && block.len() + added > room && hidden > 1 {
                        block.truncate(room / 2);
                        push_block(&mut block, &mut code, canvas, &mut out, &mut ends);
                        let words = format!("{} … {hidden} more removed", " ".repeat(digits));
                        out.push(Line::styled(words, theme.dim));
                    }
                }
                block.push(DiffRow { sign, number, text: clean(text) });
            }
        }
        // What replaces removed lines is shown with them.
        let waits = is_removed(&block) && out.len() < limit.rows;
        if !waits && out.len() + block.len() > most {
            break;
        }
    }
    let hidden = block.len().saturating_sub(most);
    block.truncate(most);
    push_block(&mut block, &mut code, canvas, &mut out, &mut ends);
    if out.len() > limit.rows {
        let whole = ends.partition_point(|end| *end < limit.rows);
        let kept = whole.checked_sub(1).map_or(0, |last| ends[last]);
        let rest = lines.filter(|line| !line.starts_with("@@")).count();
        let missing = ends.len() - whole + rest + hidden;
        let words = if missing == 1 { "line" } else { "lines" };
        let key = limit.key.map(|key| format!(" · {key}")).unwrap_or_default();
        out.truncate(kept);
        out.push(Line::styled(format!("… +{missing} {words}{key}"), theme.dim));
    }
    out
}

/// Whether a block of changed lines has removed ones only, so far.
fn is_removed(block: &[DiffRow]) -> bool {
    block.last().is_some_and(|last| last.sign == '-')
}

fn gap_line(digits: usize, theme: &Theme) -> Line<'static> {
    Line::styled(format!("{:>digits$}", theme.glyphs.more), theme.dim)
}

/// The settings that all lines of a diff share.
#[derive(Clone, Copy)]
struct Canvas<'a> {
    digits: usize,
    width: u16,
    theme: &'a Theme,
    /// Whether the rows show every blank and which of them continue a line.
    as_written: bool,
}

impl<'a> Canvas<'a> {
    fn new(diff: &str, width: u16, theme: &'a Theme) -> Self {
        let digits = max_line_number(diff).max(1).ilog10() as usize + 1;
        Self { digits, width, theme, as_written: false }
    }
}

/// Renders lines that were held back, and empties their list.
fn push_block(
    block: &mut Vec<DiffRow>,
    code: &mut DiffCode<'_>,
    canvas: Canvas<'_>,
    out: &mut Vec<Line<'static>>,
    ends: &mut Vec<usize>,
) {
    let words = changed_words(block);
    for (row, words) in block.drain(..).zip(words) {
        push_change(&row, &words, code, canvas, out);
        ends.push(out.len());
    }
}

fn push_change(
    row: &DiffRow,
    words: &[Range<usize>],
    code: &mut DiffCode<'_>,
    Canvas { digits, width, theme, as_written }: Canvas<'_>,
    out: &mut Vec<Line<'static>>,
) {
    let (sign, line, word) = match row.sign {
        '+' => (theme.added, theme.added_line, theme.added_word),
        '-' => (theme.removed, theme.removed_line, theme.removed_word),
        _ => (Style::new(), Style::new(), Style::new()),
    };
    let code = code.styles(row.sign, &row.text, theme);
    let ground = if line.bg.is_some() { line } else { Style::new() };
    let sign = on_ground(sign, ground);
    let number = format!("{:>digits$} ", row.number);
    let mark = Span::styled(format!("{} ", row.sign), sign);
    let first = vec![Span::styled(number, on_ground(theme.dim, ground)), mark];
    // Further lines hang under the first letter of the code, unless that is far to the right.
    let indent = row.text.bytes().take_while(|byte| *byte == b' ').count();
    let indent = indent.min(usize::from(width) / 3);
    let (continued, margin) = match as_written {
        true => (theme.glyphs.continued, on_ground(theme.dim, ground)),
        false => (" ", ground),
    };
    let before = " ".repeat(digits + 1);
    let rest = vec![Span::styled(format!("{before}{continued} {:indent$}", ""), margin)];
    // In a very narrow window, drop the line number.
    let indent = match usize::from(width) > digits + 8 {
        true => Indent { first, rest },
        false => Indent {
            first: vec![Span::styled(row.sign.to_string(), sign)],
            rest: Some(Span::styled(continued, margin))
                .filter(|_| as_written)
                .into_iter()
                .collect(),
        },
    };
    let ends = styles_with_words(&row.text, &code, words, line, word);
    let from = out.len();
    let (runs, cells) = (StyledRuns::new(&row.text, ends), usize::from(width));
    if as_written {
        indent.wrap_written(runs, cells, margin, out);
    } else {
        indent.wrap(runs, cells, WrapMode::Words, out);
    }
    if ground.bg.is_some() {
        for line in &mut out[from..] {
            let blank = usize::from(width).saturating_sub(line.width());
            line.spans.push(Span::styled(" ".repeat(blank), ground));
        }
    }
}

/// The styles of a line by end byte: those of its code, on the ground of the line or of changed words.
fn styles_with_words(
    text: &str,
    code: &[(usize, Style)],
    words: &[Range<usize>],
    line: Style,
    word: Style,
) -> Vec<(usize, Style)> {
    let mut ends: Vec<usize> = code.iter().map(|(end, _)| *end).chain([text.len()]).collect();
    ends.extend(words.iter().flat_map(|word| [word.start, word.end]));
    ends.sort_unstable();
    ends.dedup();
    let mut code = code.iter().peekable();
    let mut words = words.iter().peekable();
    let style = |end: usize| {
        while code.next_if(|(until, _)| *until < end).is_some() {}
        while words.next_if(|word| word.end < end).is_some() {}
        let changed = words.peek().is_some_and(|word| word.start < end);
        let base = code.peek().map_or(Style::new(), |(_, style)| *style);
        let ground = match changed {
            true if word.bg.is_some() => word,
            true => line.patch(word),
            false => line,
        };
        (end, on_ground(base, ground))
    };
    ends.into_iter().filter(|end| *end > 0).map(style).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "--- a/src/x.rs\n+++ b/src/x.rs\n@@ -8,4 +8,3 @@ fn x\n keep\n-old \x1b[31mred\n+new\n more\n--- not a name\n@@ -98,2 +98,3 @@\n a\n+b\n c\n\\ No newline at end of file\n";

    const ALL: DiffLimit<'_> = DiffLimit { rows: 99, key: None };

    fn rendered(width: u16, max: usize) -> Vec<String> {
        let limit = DiffLimit { rows: max, key: None };
        let lines = diff_lines(DIFF, None, width, limit, &Theme::default());
        lines.iter().map(ToString::to_string).collect()
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
        let lines = diff_lines(DIFF, None, 40, ALL, &theme);
        assert!(lines[1].spans[1..].iter().all(|span| span.style == theme.removed));
        assert!(lines[2].spans[1..].iter().all(|span| span.style == theme.added));
    }

    #[test]
    fn a_cut_diff_shows_both_sides_of_a_large_change() {
        let side = |sign: char, count: usize| format!("{sign}line\n").repeat(count);
        let cut = |removed: usize, added: usize| {
            let diff = format!(
                "@@ -1,{removed} +1,{added} @@\n{}{}",
                side('-', removed),
                side('+', added)
            );
            let limit = DiffLimit { rows: 16, key: None };
            let lines = diff_lines(&diff, None, 40, limit, &Theme::default());
            let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
            let count = |sign: &str| lines.iter().filter(|line| line.contains(sign)).count();
            let told = lines.iter().filter(|line| line.contains('…')).cloned().collect::<Vec<_>>();
            (count(" - line"), count(" + line"), told.join(" "))
        };
        assert_eq!(cut(40, 40), (8, 6, "   … 32 more removed … +34 lines".to_owned()));
        assert_eq!(cut(12, 1), (12, 1, String::new()));
        assert_eq!(cut(40, 0), (15, 0, "… +25 lines".to_owned()));
        assert_eq!(cut(3000, 1), (8, 1, "     … 2992 more removed".to_owned()));
    }

    #[test]
    fn a_long_diff_says_what_is_missing() {
        assert_eq!(rendered(40, 4), ["  8   keep", "  9 - old red", "  9 + new", "… +6 lines"]);
    }

    #[test]
    fn nothing_hides_in_a_whole_diff() {
        let diff = "@@ -1 +1,2 @@\n-old\r+new\n+\x1b]0;rm -rf ~\n";
        let whole = |line: &Line<'_>| line.to_string();
        let rendered: Vec<_> =
            whole_diff(diff, None, 40, &Theme::default()).iter().map(whole).collect();
        assert_eq!(rendered, ["1 - old␍+new", "1 + ␛]0;rm -rf ~"]);
    }

    #[test]
    fn a_carriage_return_at_the_end_is_seen_where_some_lines_have_none() {
        let whole = |diff: &str| -> Vec<String> {
            let lines = whole_diff(diff, None, 40, &Theme::default());
            lines.iter().map(ToString::to_string).collect()
        };
        assert_eq!(whole("@@ -1 +1 @@\n-a\n+a\r\n"), ["1 - a", "1 + a␍"]);
        assert_eq!(whole("@@ -1 +1 @@\n-a\r\n+b\r\n"), ["1 - a", "1 + b"]);
    }

    #[test]
    fn no_line_of_a_whole_diff_is_taken_for_the_name_of_a_file_or_a_hunk() {
        let diff = "@@ -1,2 +1,4 @@\n a\r \r \r b\n+# x\r@@ -0,0 +0,0 @@ c\n+++ d()\n index = e\n--- f\n\
                    +++ g\n";
        let whole = |line: &Line<'_>| line.to_string();
        let rendered: Vec<_> =
            whole_diff(diff, None, 40, &Theme::default()).iter().map(whole).collect();
        let expected = [
            "1   a␍ ␍ ␍ b",
            "2 + # x␍@@ -0,0 +0,0 @@ c",
            "3 + ++ d()",
            "4   index = e",
            "--- f",
            "+++ g",
        ];
        assert_eq!(rendered, expected);
        assert_eq!(count_changes(diff), (2, 0));
    }

    #[test]
    fn long_lines_hang_under_their_start() {
        let diff = "@@ -1 +1 @@\n-abcdefghijklmn\n+x\n";
        let lines: Vec<_> = diff_lines(diff, None, 12, ALL, &Theme::default())
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(lines, ["1 - abcdefgh", "    ijklmn", "1 + x"]);
    }

    #[test]
    fn long_lines_break_at_words_and_hang_under_their_code() {
        let diff = "@@ -1 +1 @@\n-    one two three four\n";
        let lines = whole_diff(diff, None, 20, &Theme::default());
        let lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["1 -     one two ", "  ↪     three four"]);
    }

    #[test]
    fn a_whole_diff_tells_rows_from_lines_and_shows_all_blanks() {
        let diff = format!("@@ -1 +1,3 @@\n+if False:\n+{}do()\n+x = 1 #\n", " ".repeat(95));
        for (width, expected) in [
            (30, vec!["1 + if False:", "2 + ⟨95 blanks⟩do()", "3 + x = 1 #"]),
            (9, vec!["+if ", "↪False:", "+⟨95 blan", "↪ks⟩do()", "+x = 1 #"]),
        ] {
            let lines = whole_diff(&diff, None, width, &Theme::default());
            assert_eq!(lines.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn changed_lines_have_a_ground_across_the_whole_width() {
        let theme = Theme::named("dark").unwrap();
        let diff = "@@ -1,2 +1,2 @@\n same\n-count -gt 10\n+count -ge 10\n";
        let lines = diff_lines(diff, None, 30, ALL, &theme);
        assert_eq!(lines.iter().map(Line::width).collect::<Vec<_>>(), [8, 30, 30]);
        assert!(lines[1].spans.iter().all(|span| span.style.bg.is_some()));
        let word = lines[2].spans.iter().find(|span| span.content == "ge").unwrap();
        assert_eq!(word.style.bg, theme.added_word.bg);
    }

    #[test]
    fn the_line_about_the_rest_names_the_key() {
        let limit = DiffLimit { rows: 4, key: Some("Ctrl+O") };
        let lines = diff_lines(DIFF, None, 40, limit, &Theme::default());
        assert_eq!(lines[3].to_string(), "… +6 lines · Ctrl+O");
    }
}
