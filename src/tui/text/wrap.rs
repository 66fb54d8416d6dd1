//! Wraps styled text to a width in terminal cells, in linear time for any text.

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::width::{grapheme_at, width};

/// Where lines may break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WrapMode {
    /// At spaces and between wide characters; within a word only if it is wider than a line.
    Words,
    /// Anywhere, so that nothing moves: for code and command output.
    Cells,
}

/// Words that stay on one line with the number before them.
const UNITS: [&str; 41] = [
    "%", "°C", "ns", "µs", "us", "ms", "s", "min", "h", "B", "kB", "KB", "MB", "GB", "TB", "KiB",
    "MiB", "GiB", "Hz", "kHz", "MHz", "GHz", "px", "mm", "cm", "m", "km", "g", "kg", "byte",
    "bytes", "hit", "hits", "line", "lines", "file", "files", "test", "tests", "token", "tokens",
];

/// Letters of the longest unit.
const MAX_UNIT_LETTERS: usize = 6;

/// In narrower lines, a unit may stand alone.
const MIN_UNIT_WIDTH: usize = 20;

/// Finds the lines of `text`, which has no newline. Calls `emit` with the byte range of each, in
/// order, at least once.
///
/// `first` and `rest` are the cells of the first and the other lines, at least 1. A space at a break
/// belongs to no line. A character wider than a whole line is left out.
pub(super) fn find_lines(
    text: &str,
    first: usize,
    rest: usize,
    breaks: WrapMode,
    mut emit: impl FnMut(Range<usize>),
) {
    let rest = rest.max(1);
    let mut scan = LineScan::new(0, first.max(1));
    let mut at = 0;
    while let Some((len, wide)) = grapheme_at(text, at) {
        if breaks == WrapMode::Words {
            if text.as_bytes()[at] == b' ' && len == 1 {
                if rest >= MIN_UNIT_WIDTH && is_before_unit(text, at) {
                    scan.fill(1);
                    at += 1;
                    continue;
                }
                scan.space(at);
                at += 1;
                continue;
            }
            scan.may_break_before(at, wide);
        }
        if scan.cells + wide <= scan.limit || wide == 0 {
            scan.fill(wide);
            at += len;
            continue;
        }
        match scan.break_at {
            // The line has only spaces: start it with the word instead.
            Some((end, next)) if end == scan.start => scan = LineScan::new(next, scan.limit),
            // Measure the word again on its new line.
            Some((end, next)) => {
                emit(scan.start..end);
                scan = LineScan::new(next, rest);
            }
            None if at > scan.start || scan.limit < rest => {
                emit(scan.start..at);
                scan = LineScan::new(at, rest);
            }
            None => scan = LineScan::new(at + len, scan.limit),
        }
        at = scan.start;
    }
    let end = match scan.break_at {
        Some((end, _)) if scan.after_space => end,
        _ => text.len(),
    };
    emit(scan.start..end.max(scan.start));
}

/// Whether the space at a byte stands between a number and its unit, where no line breaks.
fn is_before_unit(text: &str, at: usize) -> bool {
    if !text[..at].ends_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let word = &text[at + 1..];
    let longest = word.char_indices().nth(MAX_UNIT_LETTERS + 1).map_or(word.len(), |(end, _)| end);
    let word = &word[..longest];
    let end = word.find(|c: char| !c.is_alphabetic() && c != '%' && c != '°').unwrap_or(word.len());
    UNITS.contains(&&word[..end])
}

/// A line being filled.
struct LineScan {
    start: usize,
    limit: usize,
    cells: usize,
    /// The last possible end of the line, and the start of the next one.
    break_at: Option<(usize, usize)>,
    after_space: bool,
    after_wide: bool,
}

impl LineScan {
    fn new(start: usize, limit: usize) -> Self {
        Self { start, limit, cells: 0, break_at: None, after_space: false, after_wide: false }
    }

    fn fill(&mut self, wide: usize) {
        self.cells += wide;
        self.after_space = false;
        if wide > 0 {
            self.after_wide = wide > 1;
        }
    }

    fn space(&mut self, at: usize) {
        let end = match self.break_at {
            Some((end, next)) if self.after_space && next == at => end,
            _ => at,
        };
        self.break_at = Some((end, at + 1));
        self.cells += 1;
        self.after_space = true;
        self.after_wide = false;
    }

    fn may_break_before(&mut self, at: usize, wide: usize) {
        if !self.after_space && at > self.start && (self.after_wide || wide > 1) && wide > 0 {
            self.break_at = Some((at, at));
        }
    }
}

/// Styled text without a newline; each run's style applies up to its end byte.
pub(super) struct StyledRuns<'a> {
    text: &'a str,
    ends: Vec<(usize, Style)>,
    /// The run of the next byte.
    at: usize,
}

impl<'a> StyledRuns<'a> {
    pub(super) fn new(text: &'a str, ends: Vec<(usize, Style)>) -> Self {
        Self { text, ends, at: 0 }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Appends the spans of `range`; ranges must come in ascending order.
    pub(super) fn push_spans(&mut self, range: Range<usize>, spans: &mut Vec<Span<'static>>) {
        let mut from = range.start;
        while self.ends.get(self.at).is_some_and(|(end, _)| *end <= from) {
            self.at += 1;
        }
        while from < range.end {
            let (end, style) = match self.ends.get(self.at) {
                Some((end, style)) => (*end, *style),
                None => (range.end, Style::new()),
            };
            let to = end.min(range.end);
            if from < to {
                spans.push(Span::styled(self.text[from..to].to_owned(), style));
            }
            if end > range.end {
                break;
            }
            from = to;
            self.at += 1;
        }
    }
}

/// Prefixes of the first and the other lines of a wrapped text.
#[derive(Clone, Debug, Default)]
pub(super) struct Indent {
    pub(super) first: Vec<Span<'static>>,
    pub(super) rest: Vec<Span<'static>>,
}

impl Indent {
    pub(super) fn cells(spans: &[Span<'static>]) -> usize {
        spans.iter().map(|span| width(&span.content)).sum()
    }

    /// Wraps `runs` into `out`; returns the byte at which the last line starts.
    pub(super) fn wrap(
        &self,
        mut runs: StyledRuns<'_>,
        cells: usize,
        breaks: WrapMode,
        out: &mut Vec<Line<'static>>,
    ) -> usize {
        let first = cells.saturating_sub(Self::cells(&self.first));
        let rest = cells.saturating_sub(Self::cells(&self.rest));
        let mut prefix = &self.first;
        let mut last = 0;
        let text = runs.text;
        find_lines(text, first, rest, breaks, |range| {
            let mut spans = Vec::with_capacity(prefix.len() + 1);
            spans.extend(prefix.iter().cloned());
            last = range.start;
            runs.push_spans(range, &mut spans);
            out.push(Line::from(spans));
            prefix = &self.rest;
        });
        last
    }
}

/// Wraps a styled line at words.
pub fn wrap_line(line: &Line<'_>, width: u16) -> Vec<Line<'static>> {
    wrap_with(line, width, &Indent::default())
}

/// Wraps a styled line at words behind `first`, and its further lines behind `rest`.
pub fn wrap_hanging(
    line: &Line<'_>,
    width: u16,
    first: &Line<'static>,
    rest: &Line<'static>,
) -> Vec<Line<'static>> {
    let indent = Indent { first: first.spans.clone(), rest: rest.spans.clone() };
    wrap_with(line, width, &indent)
}

/// The text of a line, and its styles by end byte.
pub(super) fn styled_runs(line: &Line<'_>) -> (String, Vec<(usize, Style)>) {
    let mut text = String::new();
    let mut ends = Vec::with_capacity(line.spans.len());
    for span in &line.spans {
        text.push_str(&span.content);
        ends.push((text.len(), line.style.patch(span.style)));
    }
    (text, ends)
}

fn wrap_with(line: &Line<'_>, width: u16, indent: &Indent) -> Vec<Line<'static>> {
    let (text, ends) = styled_runs(line);
    let mut out = Vec::new();
    indent.wrap(StyledRuns::new(&text, ends), usize::from(width), WrapMode::Words, &mut out);
    out
}

/// Wraps sanitised plain text at words; every newline starts a line.
pub fn wrap_text(text: &str, width: u16, style: Style) -> Vec<Line<'static>> {
    wrap_plain(text, width, style, WrapMode::Words)
}

/// Wraps sanitised plain text at the edge, as a terminal does; every newline starts a line.
pub fn hard_wrap(text: &str, width: u16, style: Style) -> Vec<Line<'static>> {
    wrap_plain(text, width, style, WrapMode::Cells)
}

fn wrap_plain(text: &str, width: u16, style: Style, breaks: WrapMode) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    for line in text.lines() {
        let runs = StyledRuns::new(line, vec![(line.len(), style)]);
        Indent::default().wrap(runs, usize::from(width), breaks, &mut out);
    }
    out
}

/// The last `count` wrapped lines of a sanitised text. Reads only as much of its end as they can need.
pub fn tail_lines(text: &str, width: u16, count: usize, style: Style) -> Vec<Line<'static>> {
    let mut groups: Vec<Vec<Line<'static>>> = Vec::new();
    let mut have = 0;
    for line in text.lines().rev() {
        if have >= count {
            break;
        }
        let end = line_tail(line, usize::from(width).max(1) * (count - have + 1) * 4);
        let lines = wrap_text(end, width, style);
        // An empty line wraps to no line, but takes one.
        let lines = if lines.is_empty() { vec![Line::default()] } else { lines };
        have += lines.len();
        groups.push(lines);
    }
    let mut out: Vec<_> = groups.into_iter().rev().flatten().collect();
    out.drain(..out.len().saturating_sub(count));
    out
}

/// The end of a line, between `bytes` and twice that many. Its start rarely moves while the line
/// grows, so that a redrawn tail stays in place.
fn line_tail(line: &str, bytes: usize) -> &str {
    let mut from = (line.len().saturating_sub(bytes) / bytes) * bytes;
    while !line.is_char_boundary(from) {
        from += 1;
    }
    let end = &line[from..];
    match end.find(' ') {
        Some(space) if from > 0 && space < bytes / 2 => &end[space + 1..],
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::style::Stylize;

    use super::*;

    fn texts(lines: &[Line<'_>]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    fn words(text: &str, width: u16) -> Vec<String> {
        texts(&wrap_text(text, width, Style::new()))
    }

    #[test]
    fn lines_end_at_spaces() {
        assert_eq!(words("the quick brown fox", 10), ["the quick", "brown fox"]);
        assert_eq!(words("the quick  brown", 9), ["the quick", "brown"]);
        assert_eq!(words("exact fit", 5), ["exact", "fit"]);
        assert_eq!(words("  indented text", 10), ["  indented", "text"]);
        assert_eq!(words("trailing   ", 8), ["trailing"]);
        assert_eq!(words("a\n\nb", 8), ["a", "", "b"]);
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        assert_eq!(
            words("it takes about 412 ms per read", 20),
            ["it takes about", "412 ms per read"]
        );
        assert_eq!(
            words("all of them passed, 214 tests.", 24),
            ["all of them passed,", "214 tests."]
        );
        assert_eq!(words("it takes about 412 msgs", 20), ["it takes about 412", "msgs"]);
        assert_eq!(words("in all a growth of 3 %, or", 20), ["in all a growth of", "3 %, or"]);
        assert_eq!(words("it takes 412 ms", 12), ["it takes 412", "ms"], "narrow");
    }

    #[test]
    fn a_word_wider_than_the_line_is_broken() {
        assert_eq!(words("go abcdefghij k", 4), ["go", "abcd", "efgh", "ij k"]);
    }

    #[test]
    fn wide_characters_break_anywhere_and_never_stick_out() {
        assert_eq!(words("日本語テスト", 5), ["日本", "語テ", "スト"]);
        assert_eq!(words("ab日本", 5), ["ab日", "本"]);
        assert_eq!(words("👩\u{200d}💻👩\u{200d}💻", 3), ["👩\u{200d}💻", "👩\u{200d}💻"]);
        assert_eq!(words("日", 1), [""]);
    }

    #[test]
    fn styles_follow_their_text() {
        let line = Line::from(vec!["one ".red(), "two th".blue(), "ree".green()]);
        assert_eq!(
            wrap_line(&line, 7),
            [
                Line::from(vec!["one ".red(), "two".blue()]),
                Line::from(vec!["th".blue(), "ree".green()]),
            ]
        );
    }

    #[test]
    fn further_lines_hang() {
        let lines = wrap_hanging(&"one two three".into(), 8, &"- ".into(), &"  ".into());
        assert_eq!(texts(&lines), ["- one", "  two", "  three"]);
    }

    #[test]
    fn hard_wrapping_moves_nothing() {
        let lines = hard_wrap("ab cd  efgh", 4, Style::new());
        assert_eq!(texts(&lines), ["ab c", "d  e", "fgh"]);
    }

    #[test]
    fn the_tail_is_the_end_of_the_whole() {
        let text = "first line\n\nthe last line is a longer one";
        let tail = texts(&tail_lines(text, 10, 3, Style::new()));
        assert_eq!(tail, ["the last", "line is a", "longer one"]);
        assert_eq!(texts(&tail_lines("a\n\nb", 10, 2, Style::new())), ["", "b"]);
        assert_eq!(texts(&tail_lines("a", 10, 5, Style::new())), ["a"]);
    }

    #[test]
    fn the_tail_of_a_growing_line_stands_still() {
        let mut text = "some words ".repeat(1000);
        let mut moves = 0;
        let mut before = texts(&tail_lines(&text, 20, 3, Style::new()));
        for _ in 0..200 {
            text.push_str("x ");
            let now = texts(&tail_lines(&text, 20, 3, Style::new()));
            assert_eq!(now.len(), 3);
            moves += usize::from(now[..2] != before[..2] && now[..2] != before[1..]);
            before = now;
        }
        assert!(moves <= 2, "{moves}");
    }

    fn letters(text: &str) -> String {
        text.chars().filter(|c| !c.is_whitespace()).collect()
    }

    proptest! {
        #[test]
        fn nothing_is_too_wide_and_nothing_is_lost(
            text in "[a-z 日é👍\u{301}]{0,80}",
            cells in 2u16..12,
            hard in any::<bool>(),
        ) {
            let lines = if hard { hard_wrap(&text, cells, Style::new()) } else { wrap_text(&text, cells, Style::new()) };
            let joined: String = texts(&lines).concat();
            prop_assert_eq!(letters(&joined), letters(&text));
            if hard {
                prop_assert_eq!(joined, text);
            }
            for line in &lines {
                prop_assert!(width(&line.to_string()) <= usize::from(cells), "{line:?}");
            }
        }

        #[test]
        fn hanging_lines_fit_too(text in "[a-z 日]{0,60}", cells in 6u16..14) {
            let lines = wrap_hanging(&text.as_str().into(), cells, &"12. ".into(), &"    ".into());
            prop_assert!(lines.iter().all(|line| line.width() <= usize::from(cells)));
        }
    }
}
