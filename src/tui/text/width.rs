//! Widths in terminal cells, counted by grapheme as ratatui draws them.

use std::borrow::Cow;

use ratatui::buffer::CellWidth;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthChar;

use crate::protocol::certain_columns;

/// The byte length and the cells of the grapheme at `at`; `None` at the end.
///
/// A control character has no width, as ratatui does not draw it.
pub(super) fn grapheme_at(text: &str, at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let first = *bytes.get(at)?;
    // Two ASCII characters never form one grapheme, except for \r\n.
    if (b' '..=b'~').contains(&first) && bytes.get(at + 1).is_none_or(u8::is_ascii) {
        return Some((1, 1));
    }
    let grapheme = text[at..].graphemes(true).next()?;
    if grapheme.contains(char::is_control) {
        return Some((grapheme.len(), 0));
    }
    Some((grapheme.len(), usize::from(grapheme.cell_width())))
}

/// The first emoji of a sign joined from several, as terminals that do not join them draw each in its own
/// cells; `None` for other signs.
pub fn first_of_joined(sign: &str) -> Option<char> {
    let joins = |c: char| matches!(c, '\u{200d}' | '\u{1f3fb}'..='\u{1f3ff}');
    let first = sign.chars().next()?;
    let cells = |c: char| c.width().unwrap_or(0);
    let apart: usize = sign.chars().map(cells).sum();
    let is_joined = sign.len() > first.len_utf8() && sign.contains(joins);
    (is_joined && apart > width(sign)).then_some(first)
}

/// The text with each sign joined from several emoji as the first of them.
pub fn unjoined(text: &str) -> Cow<'_, str> {
    if text.graphemes(true).all(|sign| first_of_joined(sign).is_none()) {
        return Cow::Borrowed(text);
    }
    let first =
        |sign| first_of_joined(sign).map_or_else(|| Cow::Borrowed(sign), |c| c.to_string().into());
    Cow::Owned(text.graphemes(true).map(first).collect::<String>())
}

/// The width of a text on one line, in cells.
pub fn width(text: &str) -> usize {
    let mut at = 0;
    let mut cells = 0;
    while let Some((len, wide)) = grapheme_at(text, at) {
        at += len;
        cells += wide;
    }
    cells
}

/// The most columns that a terminal may give a text on one line. Terminals disagree about marks,
/// signs of several characters, and characters that are new to one of them.
pub fn most_columns(text: &str) -> usize {
    text.chars().map(|c| certain_columns(c).unwrap_or(2)).sum()
}

/// The longest prefix that fits into `cells`, and its width.
fn longest_prefix(text: &str, cells: usize) -> (&str, usize) {
    let mut at = 0;
    let mut used = 0;
    while let Some((len, wide)) = grapheme_at(text, at) {
        if used + wide > cells {
            break;
        }
        at += len;
        used += wide;
    }
    (&text[..at], used)
}

/// Truncates the text to `cells`, ending in `…` if anything is cut. Reads no further than necessary.
pub fn truncate(text: &str, cells: usize) -> Cow<'_, str> {
    let (fits, _) = longest_prefix(text, cells);
    if fits.len() == text.len() {
        return Cow::Borrowed(text);
    }
    if cells == 0 {
        return Cow::Borrowed("");
    }
    let (start, _) = longest_prefix(fits, cells - 1);
    let mut cut = String::with_capacity(start.len() + '…'.len_utf8());
    cut.push_str(start);
    cut.push('…');
    Cow::Owned(cut)
}

/// Truncates the text or pads it with blanks to exactly `cells`.
pub fn padded(text: &str, cells: usize) -> String {
    let cut = truncate(text, cells);
    let blanks = cells.saturating_sub(width(&cut));
    format!("{cut}{}", " ".repeat(blanks))
}

/// The width of the widest text, or `max`.
pub fn column_width<'a>(texts: impl Iterator<Item = &'a str>, max: usize) -> usize {
    texts.map(width).max().unwrap_or(0).min(max)
}

/// Like [`truncate`], for a styled line; the `…` has the style of the cut span.
pub fn truncate_line(mut line: Line<'static>, cells: usize) -> Line<'static> {
    let mut used = 0;
    for at in 0..line.spans.len() {
        let span = &line.spans[at];
        let left = cells.saturating_sub(used);
        let (fits, wide) = longest_prefix(&span.content, left);
        if fits.len() == span.content.len() {
            used += wide;
            continue;
        }
        cut_span(&mut line, at, left);
        return line;
    }
    line
}

/// Truncates `line` in its span `at`, of which `left` cells fit.
fn cut_span(line: &mut Line<'static>, at: usize, left: usize) {
    let style = line.spans[at].style;
    let cut = truncate(&line.spans[at].content, left).into_owned();
    line.spans.truncate(at);
    if left == 0 {
        // The line is full: the `…` replaces its last cells.
        shorten_last(line);
        return;
    }
    line.spans.push(Span::styled(cut, style));
}

fn shorten_last(line: &mut Line<'static>) {
    while let Some(last) = line.spans.pop() {
        let wide = width(&last.content);
        if wide == 0 {
            continue;
        }
        let (start, _) = longest_prefix(&last.content, wide - 1);
        line.spans.push(Span::styled(format!("{start}…"), last.style));
        return;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::style::{Style, Stylize};

    use super::*;

    #[test]
    fn wide_characters_and_clusters_count_as_the_terminal_draws_them() {
        assert_eq!(width("abc"), 3);
        assert_eq!(width("日本"), 4);
        assert_eq!(width("e\u{301}x"), 2);
        assert_eq!(width("👩\u{200d}💻"), 2);
        assert_eq!(width("⚠\u{fe0f}"), 2);
    }

    #[test]
    fn a_cut_text_ends_with_the_sign_and_fits() {
        assert_eq!(truncate("abcdef", 6), "abcdef");
        assert_eq!(truncate("abcdef", 4), "abc…");
        assert_eq!(truncate("日本語", 4), "日…");
        assert_eq!(truncate("abc", 1), "…");
        assert_eq!(truncate("abc", 0), "");
        assert_eq!(truncate("", 0), "");
    }

    #[test]
    fn a_cut_line_keeps_its_styles() {
        let line = Line::from(vec!["ab".red(), "cdef".blue()]);
        assert_eq!(truncate_line(line.clone(), 4), Line::from(vec!["ab".red(), "c…".blue()]));
        assert_eq!(truncate_line(line.clone(), 2), Line::from(vec!["a…".red()]));
        assert_eq!(truncate_line(line.clone(), 6), line);
        assert_eq!(truncate_line(Line::styled("ab", Style::new()), 0).width(), 0);
    }

    proptest! {
        #[test]
        fn a_cut_text_is_never_too_wide(text in "\\PC{0,40}", cells in 0usize..20) {
            prop_assert!(width(&truncate(&text, cells)) <= cells);
            let line = Line::from(vec![Span::raw(text.clone()), Span::raw(text)]);
            let cut = truncate_line(line, cells);
            let wide: usize = cut.spans.iter().map(|span| width(&span.content)).sum();
            prop_assert!(wide <= cells);
        }
    }
}
