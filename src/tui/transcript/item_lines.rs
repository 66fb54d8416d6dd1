//! The style of items, and lines that several kinds of them share.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::tui::format::count;
use crate::tui::keymap::{Action, KeyContext, Keymap};
use crate::tui::labels::with_detail;
use crate::tui::paint::{cut_spans, spans_width};
use crate::tui::text::{Highlighter, sanitize, tail_lines, truncate, wrap_hanging, wrap_text};
use crate::tui::theme::Theme;

/// How to draw an item.
#[derive(Clone, Copy)]
pub struct ItemStyle<'a> {
    pub theme: &'a Theme,
    /// The full width in cells, and that of prose, which is no larger.
    pub width: u16,
    pub prose: u16,
    /// Whether to show everything in full, as the reader does.
    pub full: bool,
    pub keymap: &'a Keymap,
    /// The action that shows the rest of a folded item; `None` if no key does that here.
    pub rest: Option<Action>,
    /// For the colours of code in diffs.
    pub highlighter: &'a Highlighter,
}

impl ItemStyle<'_> {
    /// The key that shows the rest of a folded item.
    pub(super) fn rest_key(&self) -> Option<String> {
        let context = if self.full { KeyContext::Reader } else { KeyContext::Prompt };
        self.keymap.label(context, self.rest?)
    }

    /// The line that counts what a folded item hides: `… +5 lines · Ctrl+T`.
    pub(super) fn rest_line(&self, hidden: usize) -> Line<'static> {
        let words = format!("{REST_MARK}+{}", count(hidden, "line"));
        Line::styled(with_detail(&words, self.rest_key()), self.theme.dim)
    }
}

/// Begins the line about what a folded item hides, also below a diff.
const REST_MARK: &str = "… ";

/// Whether a line is the one about what a folded item hides. An output may have such a line too.
pub(super) fn is_rest_line(line: &Line<'_>) -> bool {
    line.spans.iter().any(|span| span.content.starts_with(REST_MARK))
}

/// Stands for a blank where a line must not break, such as between a number and its unit.
pub(super) const UNBROKEN: &str = "\u{a0}";

/// Wraps text behind a mark, and indents further lines by its width.
pub(super) fn hanging_lines(
    mark: &str,
    text: &str,
    mark_style: Style,
    style: Style,
    width: u16,
) -> Vec<Line<'static>> {
    let indent = " ".repeat(crate::tui::text::width(mark));
    let clean = sanitize(text);
    let mut lines = Vec::new();
    for (at, line) in clean.split('\n').enumerate() {
        let first = if at == 0 { mark.to_owned() } else { indent.clone() };
        let first = Line::from(Span::styled(first, mark_style));
        let rest = Line::from(indent.clone());
        let wrapped = wrap_hanging(&Line::styled(line.to_owned(), style), width, &first, &rest);
        if wrapped.is_empty() { lines.push(first) } else { lines.extend(wrapped) }
    }
    lines
}

/// Puts pieces beside each other as far as they fit, so that no line begins or ends with a dot.
pub(super) fn join_pieces(
    pieces: Vec<Vec<Span<'static>>>,
    mark: Span<'static>,
    style: &ItemStyle<'_>,
) -> Vec<Line<'static>> {
    let mut rows: Vec<Vec<Span<'static>>> = Vec::new();
    let room = usize::from(style.prose).saturating_sub(2);
    for piece in pieces {
        match rows.last_mut() {
            Some(row) if spans_width(row) + 3 + spans_width(&piece) <= room => {
                row.push(Span::styled(" · ", style.theme.dim));
                row.extend(piece);
            }
            _ => rows.push(piece),
        }
    }
    let mut mark = Line::from(mark);
    let mut lines = Vec::new();
    for row in rows {
        lines.extend(wrap_hanging(&Line::from(row), style.prose, &mark, &Line::from("  ")));
        mark = Line::from("  ");
    }
    lines.into_iter().map(without_unbroken).collect()
}

/// A line that has been wrapped, with blanks for [`UNBROKEN`].
pub(super) fn without_unbroken(mut line: Line<'static>) -> Line<'static> {
    for span in &mut line.spans {
        if span.content.contains(UNBROKEN) {
            span.content = span.content.replace(UNBROKEN, " ").into();
        }
    }
    line
}

/// How a folded output shows lines that are wider than the screen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LongLines {
    Cut,
    /// Wrapped, as the output of a running command; of a line too long for the fold, its end is shown.
    WrapEnd,
    /// Wrapped, as the output of a failed command; of a line too long for the fold, its start is shown.
    WrapStart,
}

/// The last `kept` lines of output under a branch, after the number of those left out. `total` is the
/// number of all lines, if more than the text still has.
pub(super) fn output(
    text: &str,
    kept: usize,
    total: usize,
    long: LongLines,
    style: &ItemStyle<'_>,
) -> Vec<Line<'static>> {
    if kept == 0 || text.trim().is_empty() {
        return Vec::new();
    }
    let theme = style.theme;
    let width = style.width.saturating_sub(4).max(1);
    let colour = if long == LongLines::Cut { theme.dim } else { theme.text };
    if kept == usize::MAX {
        return branched(wrap_text(&sanitize(text), width, colour), theme);
    }
    let (mut groups, mut have, mut shown) = (Vec::new(), 0, 0);
    let lines = text.lines().count();
    for line in text.lines().rev() {
        // One line takes no more room than the words that it is missing.
        if have >= kept && !(lines.max(total) == shown + 1 && have == kept) {
            break;
        }
        let clean = sanitize(line);
        let room = kept.saturating_sub(have).max(1);
        let rows = match long {
            LongLines::WrapStart => first_lines(&clean, width, room, colour),
            LongLines::WrapEnd => tail_lines(&clean, width, room, colour),
            LongLines::Cut => {
                vec![Line::styled(truncate(&clean, width.into()).into_owned(), colour)]
            }
        };
        // An empty line wraps to no line, but takes one.
        let rows = if rows.is_empty() { vec![Line::default()] } else { rows };
        have += rows.len();
        shown += 1;
        groups.push(rows);
    }
    let hidden = lines.max(total) - shown;
    let mut out = Vec::with_capacity(have + 1);
    if hidden > 0 {
        out.push(style.rest_line(hidden));
    }
    out.extend(groups.into_iter().rev().flatten());
    branched(out, theme)
}

/// The first `count` lines of a wrapped line, ending in `…` if there are more. Reads only as much as they
/// can need.
fn first_lines(text: &str, width: u16, count: usize, style: Style) -> Vec<Line<'static>> {
    let cells = usize::from(width);
    let mut lines = wrap_text(&truncate(text, (cells + 1) * count), width, style);
    if lines.len() > count {
        lines.truncate(count);
        if let Some(last) = lines.last_mut() {
            last.push_span(Span::styled(" …", style));
            cut_spans(&mut last.spans, cells);
        }
    }
    lines
}

/// Output without the line at its end that tells the exit code, where another line does.
pub(super) fn without_exit_code(text: &str, code: Option<i32>) -> &str {
    let Some(code) = code.filter(|code| *code > 0) else { return text };
    let rest = text.strip_suffix(&format!("exit code {code}"));
    let rest = rest.filter(|rest| rest.is_empty() || rest.ends_with('\n'));
    rest.unwrap_or(text).trim_end()
}

/// Hangs lines under a call: `└` before the first.
pub(super) fn branched(lines: Vec<Line<'static>>, theme: &Theme) -> Vec<Line<'static>> {
    let branch = |(at, mut line): (usize, Line<'static>)| {
        let mark = if at == 0 { format!("  {} ", theme.glyphs.last_branch) } else { "    ".into() };
        line.spans.insert(0, Span::styled(mark, theme.dim));
        line
    };
    lines.into_iter().enumerate().map(branch).collect()
}

pub(super) fn indent(lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
    lines.into_iter().map(indented).collect()
}

/// Indents a line by two cells.
pub fn indented(mut line: Line<'static>) -> Line<'static> {
    line.spans.insert(0, Span::raw("  "));
    line
}
