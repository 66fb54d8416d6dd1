//! Unified diffs as lines: numbers, signs and colours.

use std::ops::Range;
use std::path::Path;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::highlight::{CodeState, Highlighter};
use super::sanitize::{reveal, sanitize};
use super::wrap::{Indent, StyledRuns, WrapMode};
use crate::tui::theme::Theme;

/// Maximum lines removed and added in one place that are compared word by word.
const PAIRED_LINES: usize = 12;
/// Added lines that a cut diff shows at least, behind those that they replace.
const MIN_ADDED: usize = 4;
/// Maximum bytes of a line that is compared.
const PAIRED_BYTES: usize = 500;

/// One line of a diff's body.
struct ChangedLine<'a> {
    sign: char,
    number: usize,
    text: &'a str,
}

/// Parts of a line, in order.
type WordRanges = Vec<Range<usize>>;

/// The file of a diff, for the colours of its code.
#[derive(Clone, Copy)]
pub struct DiffFile<'a> {
    pub path: &'a Path,
    pub highlighter: &'a Highlighter,
}

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
    render_diff(diff, file, width, limit, theme, &|text| sanitize(text).into_owned())
}

/// Renders a whole unified diff, with visible signs for characters that are dropped elsewhere.
pub fn whole_diff(
    diff: &str,
    file: Option<DiffFile<'_>>,
    width: u16,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let limit = DiffLimit { rows: usize::MAX, key: None };
    render_diff(diff, file, width, limit, theme, &|text| sanitize(&reveal(text)).into_owned())
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
    file: Option<DiffFile<'_>>,
    width: u16,
    limit: DiffLimit<'_>,
    theme: &Theme,
    clean: &dyn Fn(&str) -> String,
) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    let mut position = DiffPosition::default();
    let digits = max_line_number(diff).max(1).ilog10() as usize + 1;
    // The end of each diff line on the screen.
    let mut ends = Vec::new();
    let mut code = DiffCode::new(file.filter(|_| theme.added_line.bg.is_some()));
    // Changed lines, held back until all that belong together are known.
    let mut block: Vec<DiffRow> = Vec::new();
    let mut lines = source_lines(diff);
    let canvas = Canvas { digits, width, theme };
    let most = limit.rows.saturating_add(2 * PAIRED_LINES);
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
                out.push(Line::styled(clean(line), theme.dim));
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
        out.push(Line::styled(format!("… {missing} more {words}{key}"), theme.dim));
    }
    out
}

/// Whether a block of changed lines has removed ones only, so far.
fn is_removed(block: &[DiffRow]) -> bool {
    block.last().is_some_and(|last| last.sign == '-')
}

/// A line of a diff with printable text.
struct DiffRow {
    sign: char,
    number: usize,
    text: String,
}

/// The parsers of the old and the new code, if its language is known.
struct DiffCode<'a> {
    file: Option<DiffFile<'a>>,
    old: Option<CodeState>,
    new: Option<CodeState>,
}

impl<'a> DiffCode<'a> {
    fn new(file: Option<DiffFile<'a>>) -> Self {
        let mut code = Self { file, old: None, new: None };
        code.restart();
        code
    }

    /// Forgets the code so far: another hunk begins elsewhere.
    fn restart(&mut self) {
        let Some(DiffFile { path, highlighter }) = self.file else { return };
        let names = [path.extension(), path.file_name()];
        let mut names = names.into_iter().flatten().filter_map(|name| name.to_str());
        highlighter.request();
        self.new = names.find_map(|name| highlighter.start(name));
        self.old.clone_from(&self.new);
    }

    /// The styles of a line of code, by end byte.
    fn styles(&mut self, sign: char, text: &str, theme: &Theme) -> Vec<(usize, Style)> {
        let Some(DiffFile { highlighter, .. }) = self.file else { return Vec::new() };
        let read = |state: &mut Option<CodeState>| {
            state.as_mut().map(|state| state.line(text, highlighter)).unwrap_or_default()
        };
        let runs = match sign {
            '-' => read(&mut self.old),
            '+' => read(&mut self.new),
            _ => {
                read(&mut self.old);
                read(&mut self.new)
            }
        };
        runs.into_iter().map(|(end, face)| (end, face.style(theme))).collect()
    }
}

/// The changed words of each line: removed lines are compared with the added ones that replace them.
fn changed_words(block: &[DiffRow]) -> Vec<WordRanges> {
    let mut words = vec![Vec::new(); block.len()];
    let removed = block.iter().take_while(|row| row.sign == '-').count();
    let added = block.len() - removed;
    if removed.max(added) > PAIRED_LINES {
        return words;
    }
    let mut next = removed;
    for old in 0..removed {
        let mut pairs = (next..block.len()).filter(|new| removed != added || *new == removed + old);
        let found =
            pairs.find_map(|new| Some((new, compare_words(&block[old].text, &block[new].text)?)));
        if let Some((new, (in_old, in_new))) = found {
            (words[old], words[new]) = (in_old, in_new);
            next = new + 1;
        }
    }
    words
}

/// The ranges in which two lines differ; `None` if they have too little in common.
fn compare_words(old: &str, new: &str) -> Option<(WordRanges, WordRanges)> {
    if old.len().max(new.len()) > PAIRED_BYTES {
        return None;
    }
    let (old_words, new_words) = (split_words(old), split_words(new));
    let old_texts: Vec<&str> = old_words.iter().map(|word| &old[word.clone()]).collect();
    let new_texts: Vec<&str> = new_words.iter().map(|word| &new[word.clone()]).collect();
    let mut common = 0;
    let (mut in_old, mut in_new) = (Vec::new(), Vec::new());
    for op in capture_diff_slices(Algorithm::Myers, &old_texts, &new_texts) {
        match op {
            DiffOp::Equal { old_index, len, .. } => {
                let same = &old_texts[old_index..old_index + len];
                common += same.iter().map(|word| word.trim().len()).sum::<usize>();
            }
            op => {
                push_range(&mut in_old, &old_words[op.old_range()], old);
                push_range(&mut in_new, &new_words[op.new_range()], new);
            }
        }
    }
    let letters = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).count();
    (2 * common >= letters(old).max(letters(new)) && common > 0).then_some((in_old, in_new))
}

/// Appends changed words, joined with those before them if only blanks are between.
fn push_range(ranges: &mut Vec<Range<usize>>, words: &[Range<usize>], text: &str) {
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return };
    match ranges.last_mut() {
        Some(before) if text[before.end..first.start].trim().is_empty() => before.end = last.end,
        _ => ranges.push(first.start..last.end),
    }
}

/// Splits a line into words, blanks and single signs.
fn split_words(text: &str) -> WordRanges {
    let kind = |letter: char| match letter {
        letter if letter.is_alphanumeric() || letter == '_' => 0,
        letter if letter.is_whitespace() => 1,
        _ => 2,
    };
    let mut words: Vec<(u8, Range<usize>)> = Vec::new();
    for (at, letter) in text.char_indices() {
        let end = at + letter.len_utf8();
        match words.last_mut() {
            Some((of, word)) if *of == kind(letter) && *of != 2 => word.end = end,
            _ => words.push((kind(letter), at..end)),
        }
    }
    words.into_iter().map(|(_, word)| word).collect()
}

/// The lines of a diff. A lone carriage return also ends a line, as in the tools that write diffs;
/// otherwise an added line could pass as part of the removed one before it. It is kept, so that it
/// is rendered.
fn source_lines(diff: &str) -> impl Iterator<Item = &str> + Clone {
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

/// The settings that all lines of a diff share.
#[derive(Clone, Copy)]
struct Canvas<'a> {
    digits: usize,
    width: u16,
    theme: &'a Theme,
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
    Canvas { digits, width, theme }: Canvas<'_>,
    out: &mut Vec<Line<'static>>,
) {
    let (sign, line, word) = match row.sign {
        '+' => (theme.added, theme.added_line, theme.added_word),
        '-' => (theme.removed, theme.removed_line, theme.removed_word),
        _ => (Style::new(), Style::new(), Style::new()),
    };
    let code = code.styles(row.sign, &row.text, theme);
    let ground = line.bg.map(|bg| Style::new().bg(bg)).unwrap_or_default();
    let sign = sign.patch(ground);
    let number = format!("{:>digits$} ", row.number);
    let mark = Span::styled(format!("{} ", row.sign), sign);
    let first = vec![Span::styled(number, theme.dim.patch(ground)), mark];
    // Further lines hang under the first letter of the code, unless that is far to the right.
    let indent = row.text.bytes().take_while(|byte| *byte == b' ').count();
    let indent = indent.min(usize::from(width) / 3);
    let rest = vec![Span::styled(" ".repeat(digits + 3 + indent), ground)];
    // In a very narrow window, drop the line number.
    let indent = match usize::from(width) > digits + 8 {
        true => Indent { first, rest },
        false => Indent { first: vec![Span::styled(row.sign.to_string(), sign)], rest: vec![] },
    };
    let ends = styles_with_words(&row.text, &code, words, line, word);
    let from = out.len();
    indent.wrap(StyledRuns::new(&row.text, ends), usize::from(width), WrapMode::Words, out);
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
        let style = base.patch(line);
        (end, if changed { style.patch(word) } else { style })
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
        assert_eq!(cut(40, 40), (8, 6, "   … 32 more removed … 34 more lines".to_owned()));
        assert_eq!(cut(12, 1), (12, 1, String::new()));
        assert_eq!(cut(40, 0), (15, 0, "… 25 more lines".to_owned()));
        assert_eq!(cut(3000, 1), (8, 1, "     … 2992 more removed".to_owned()));
    }

    #[test]
    fn a_long_diff_says_what_is_missing() {
        assert_eq!(rendered(40, 4), ["  8   keep", "  9 - old red", "  9 + new", "… 6 more lines"]);
    }

    #[test]
    fn nothing_hides_in_a_whole_diff() {
        let diff = "@@ -1 +1,2 @@\n-old\r+new\n+\x1b]0;rm -rf ~\n";
        let whole = |line: &Line<'_>| line.to_string();
        let rendered: Vec<_> =
            whole_diff(diff, None, 40, &Theme::default()).iter().map(whole).collect();
        assert_eq!(rendered, ["1 - old␍", "1 + new", "2 + ␛]0;rm -rf ~"]);
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
        assert_eq!(lines, ["1 -     one two", "        three four"]);
    }

    fn words(old: &str, new: &str) -> Option<(Vec<String>, Vec<String>)> {
        let (in_old, in_new) = compare_words(old, new)?;
        let texts = |ranges: WordRanges, text: &str| {
            ranges.into_iter().map(|range| text[range].to_owned()).collect()
        };
        Some((texts(in_old, old), texts(in_new, new)))
    }

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn changed_words_are_those_that_differ() {
        let found = words("if [ $count -gt $from ]; then", "if [ $count -ge $from ]; then");
        assert_eq!(found, Some((owned(&["gt"]), owned(&["ge"]))));
        let found = words("map(|i| i.price).sum()", "map(|i| off(i.price)).sum()");
        assert_eq!(found, Some((owned(&[]), owned(&["off(", ")"]))));
        assert_eq!(words("let x = 1;", "println!(\"{total}\");"), None);
    }

    #[test]
    fn a_removed_line_is_compared_with_the_one_that_replaces_it() {
        let row = |sign, text: &str| DiffRow { sign, number: 1, text: text.to_owned() };
        let block =
            [row('-', "let total = a;"), row('+', "// A comment."), row('+', "let total = b;")];
        let words = changed_words(&block);
        let starts: Vec<_> =
            words.iter().map(|words| words.first().map(|word| word.start)).collect();
        assert_eq!(starts, [Some(12), None, Some(12)]);
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
        assert_eq!(lines[3].to_string(), "… 6 more lines · Ctrl+O");
    }
}
