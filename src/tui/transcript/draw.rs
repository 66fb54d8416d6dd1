//! Renders one transcript item as lines, except its markdown (`layout/item.rs`) and batches of agents.

use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::protocol::NoticeLevel;
use crate::tui::format::{clock, count};
use crate::tui::labels::with_detail;
use crate::tui::paint::Painter;
use crate::tui::text::{MarkdownStream, Widths, one_line};
use crate::tui::theme::{Glyph, Theme};
use crate::tui::transcript::item_lines::{
    LongLines, UNBROKEN, hanging_lines, indent, join_pieces, output, without_exit_code,
};
use crate::tui::transcript::tool_calls::{
    CANCELLED, is_unfinished, preview_lines, tools, without_cancel_note,
};
use crate::tui::transcript::{FinishFact, ItemKind, ToolCallItem, TranscriptItem};

pub use super::item_lines::{ItemStyle, indented};

/// Lines of the folded output of the user's own command.
pub(super) const SHELL_LINES: usize = 20;

/// Lines of a folded prompt.
pub(super) const PROMPT_LINES: usize = 20;

/// Cells of the mark before a prompt.
const PROMPT_MARK: usize = 2;

/// Lines of a folded report.
pub(super) const REPORT_LINES: usize = 3;

/// The lines of an item without markdown, which streams and has its own cache.
pub fn lines(item: &TranscriptItem, style: &ItemStyle<'_>) -> Vec<Line<'static>> {
    let theme = style.theme;
    // The reader unfolds everything by default, and `e` folds.
    let open = item.is_open(style.full);
    match &item.kind {
        ItemKind::Prompt { text, task: false } => prompt(text, open, style),
        ItemKind::Prompt { text, task: true } => {
            let text = if style.full { text.to_string() } else { one_line(text) };
            hanging_lines("  task: ", &text, theme.dim, theme.dim, style.prose)
        }
        ItemKind::Thinking { text, took, .. } => thinking(text, *took, open, style),
        ItemKind::Tools(calls) => tools(calls, open, style),
        ItemKind::Shell { line, text, status } => shell(line, text, status.as_deref(), open, style),
        ItemKind::Report { head, text, failed } => report(head, text, *failed, open, style),
        ItemKind::Finish { end, facts, advice, retry } => {
            let advice = advice.as_ref().map(|advice| with_detail(advice, retry.clone()));
            finish_lines(*end, facts, advice.as_deref(), style)
        }
        ItemKind::Notice { level, text } => notice(*level, text, style),
        ItemKind::Dropped { items } => {
            let words =
                format!("  {} not shown here; see the session file", count(*items, "older item"));
            vec![Line::styled(words, theme.dim)]
        }
        ItemKind::Text { .. } | ItemKind::Batch { .. } | ItemKind::Hidden => Vec::new(),
    }
}

/// Estimates the number of lines without laying the item out. Being off by a few does no harm.
pub fn estimate_height(item: &TranscriptItem, style: &ItemStyle<'_>) -> usize {
    let open = item.is_open(style.full);
    let lines = |text: &str| {
        let breaks = text.bytes().filter(|byte| *byte == b'\n').count();
        1 + breaks + text.len() / usize::from(style.prose.max(1))
    };
    match &item.kind {
        ItemKind::Prompt { text, task: false } => {
            lines(text).min(if open { usize::MAX } else { PROMPT_LINES })
        }
        ItemKind::Prompt { text, .. } => lines(text),
        ItemKind::Text { text, .. } => lines(text),
        ItemKind::Notice { text, .. } => lines(text),
        ItemKind::Report { text, .. } => {
            1 + lines(text).min(if open { usize::MAX } else { REPORT_LINES })
        }
        ItemKind::Thinking { text, .. } => 1 + if open { lines(text) } else { 0 },
        ItemKind::Tools(calls) if open => {
            1 + calls.iter().map(|call| lines(&call.output)).sum::<usize>()
        }
        ItemKind::Tools(calls) => {
            let folded = |call: &ToolCallItem| lines(&call.output).min(preview_lines(call, false));
            1 + calls.iter().map(folded).sum::<usize>()
        }
        ItemKind::Finish { advice, .. } => 1 + advice.as_ref().map_or(0, |advice| lines(advice)),
        ItemKind::Dropped { .. } => 1,
        ItemKind::Shell { text, .. } => {
            1 + lines(text).min(if open { usize::MAX } else { SHELL_LINES })
        }
        ItemKind::Batch { members, .. } => 1 + members.len(),
        ItemKind::Hidden => 0,
    }
}

/// A prompt on a band across the full width. Folded, it is its first lines on the screen; all of it if only
/// one line more is left.
fn prompt(text: &str, open: bool, style: &ItemStyle<'_>) -> Vec<Line<'static>> {
    let theme = style.theme;
    let mark = format!("{} ", theme.glyphs.prompt);
    let whole = text.trim_end();
    let (start, rows) = match open {
        true => (whole, 0),
        false => beginning(whole, PROMPT_LINES + 1, style.prose),
    };
    let mut lines = hanging_lines(&mark, start, theme.accent, theme.text, style.prose);
    // Words that wrap early may take a few lines more than counted.
    let hidden = rows + lines.len().saturating_sub(PROMPT_LINES);
    if !open && (rows > 0 || hidden > 1) {
        lines.truncate(PROMPT_LINES);
        lines.push(indented(style.rest_line(hidden)));
    }
    on_band(lines, style)
}

/// Whether a prompt takes more lines on the screen than it is folded to.
pub(super) fn is_long_prompt(text: &str, prose: u16) -> bool {
    let (start, rows) = beginning(text.trim_end(), PROMPT_LINES + 1, prose);
    let plain = Style::new();
    rows > 0 || hanging_lines("  ", start, plain, plain, prose).len() > PROMPT_LINES + 1
}

/// The beginning of a text that fills about so many lines on the screen, and the lines that the rest takes.
/// Wraps nothing, since a paste may be large.
fn beginning(text: &str, lines: usize, prose: u16) -> (&str, usize) {
    let room = usize::from(prose).saturating_sub(PROMPT_MARK).max(1);
    let (mut taken, mut end) = (0, 0);
    let mut pieces = text.split_inclusive('\n');
    for line in pieces.by_ref() {
        let rows = rows_of(line, room);
        if taken + rows > lines {
            // The line may be the only one.
            let letters = (lines - taken) * room;
            let cut = line.char_indices().nth(letters).map_or(line.len(), |(at, _)| at);
            let rest =
                rows_of(&line[cut..], room) + pieces.map(|line| rows_of(line, room)).sum::<usize>();
            let start = &text[..end + cut];
            return (start.strip_suffix('\n').unwrap_or(start), rest);
        }
        (taken, end) = (taken + rows, end + line.len());
    }
    (text, 0)
}

/// The lines that a line takes, if each of its letters takes a cell.
fn rows_of(line: &str, room: usize) -> usize {
    line.trim_end_matches('\n').chars().count().div_ceil(room).max(1)
}

/// Fills lines up to the full width, on the ground of what the user wrote.
fn on_band(lines: Vec<Line<'static>>, style: &ItemStyle<'_>) -> Vec<Line<'static>> {
    let band = style.theme.band;
    let fill = |mut line: Line<'static>| {
        let rest = usize::from(style.width).saturating_sub(line.width());
        line.spans.push(Span::raw(" ".repeat(rest)));
        for span in &mut line.spans {
            span.style = band.patch(span.style);
        }
        line
    };
    lines.into_iter().map(fill).collect()
}

fn thinking(
    text: &str,
    took: Option<Duration>,
    open: bool,
    style: &ItemStyle<'_>,
) -> Vec<Line<'static>> {
    let theme = style.theme;
    let words = match took {
        None => "thinking".to_owned(),
        Some(took) if took.as_secs() >= 60 => format!("thought for {}", clock(took)),
        Some(took) if took.as_secs() > 0 => format!("thought for {} s", took.as_secs()),
        Some(_) => "thought".to_owned(),
    };
    let mut lines = vec![Line::styled(format!("{} {words}", theme.glyphs.tool), theme.dim)];
    if open {
        lines.extend(hanging_lines("  ", text.trim(), theme.dim, theme.dim, style.prose));
    }
    lines
}

/// Whether a spinner takes the place of the sign before an item.
pub fn is_running(item: &TranscriptItem) -> bool {
    match &item.kind {
        ItemKind::Tools(calls) => calls.iter().any(is_unfinished),
        ItemKind::Thinking { took, .. } => took.is_none(),
        _ => false,
    }
}

fn shell(
    line: &str,
    text: &str,
    status: Option<&str>,
    open: bool,
    style: &ItemStyle<'_>,
) -> Vec<Line<'static>> {
    let theme = style.theme;
    let head = hanging_lines("! ", line, theme.accent, theme.text, style.prose);
    let mut head = on_band(head, style);
    let kept = if open { usize::MAX } else { SHELL_LINES };
    let failed = status.filter(|status| !status.is_empty());
    let code = failed.and_then(|status| status.strip_prefix("exit ")?.parse().ok());
    let text = without_exit_code(text.trim_end(), code);
    // Its last line says so.
    let text = if failed == Some(CANCELLED) { without_cancel_note(text) } else { text };
    let long = if failed.is_some() { LongLines::WrapStart } else { LongLines::Cut };
    head.extend(output(text, kept, 0, long, style));
    if let Some(status) = failed {
        let words = format!("  {} {}", theme.glyphs.failed, one_line(status));
        head.push(Line::styled(words, theme.bad));
    }
    head
}

/// `● agent 1 reports · read the docs`, and the report.
fn report(
    head: &str,
    text: &str,
    failed: bool,
    open: bool,
    style: &ItemStyle<'_>,
) -> Vec<Line<'static>> {
    let theme = style.theme;
    let tone = if failed { theme.bad } else { theme.dim };
    let mark = Span::styled(format!("{} ", theme.glyphs.tool), tone);
    let mut lines = vec![Line::from(vec![mark, Span::raw(one_line(head))])];
    if text.trim().is_empty() {
        return lines;
    }
    let inner = |cells: u16| cells.saturating_sub(2).max(1);
    let widths = Widths { prose: inner(style.prose), wide: inner(style.width) };
    let mut markdown = MarkdownStream::whole(text.trim(), style.highlighter);
    let mut body = indent(markdown.lines(widths, theme).to_vec());
    if !open {
        // Folded, it is a few dim lines without a gap.
        body.retain(|line| line.spans.iter().any(|span| !span.content.trim().is_empty()));
        for span in body.iter_mut().flat_map(|line| &mut line.spans) {
            span.style = span.style.patch(theme.dim);
        }
    }
    let hidden = body.len().saturating_sub(REPORT_LINES);
    if !open && hidden > 0 {
        body.truncate(REPORT_LINES);
        body.push(indented(style.rest_line(hidden)));
    }
    lines.extend(body);
    lines
}

/// `✓ done in 2:10 · 4 agents ✓ 3 ✗ 1 · 3 files +41 −12 · 214 tests green`, and the advice below.
fn finish_lines(
    end: Glyph,
    facts: &[FinishFact],
    advice: Option<&str>,
    style: &ItemStyle<'_>,
) -> Vec<Line<'static>> {
    let theme = style.theme;
    let mut plain = theme.text;
    let pieces =
        facts.iter().map(|fact| fact_spans(fact, std::mem::replace(&mut plain, theme.dim), theme));
    let sign = Span::styled(
        format!("{} ", end.sign(theme.glyphs, None)),
        Painter { theme, frame: None }.style(end),
    );
    // As wide as the rows of agents below.
    let wide = ItemStyle { prose: style.width, ..*style };
    let mut lines = join_pieces(pieces.collect(), sign, &wide);
    if let Some(advice) = advice {
        let colour = if end == Glyph::Failed { theme.text } else { theme.dim };
        lines.extend(hanging_lines("  ", advice, colour, colour, style.prose));
    }
    lines
}

/// One fact, in which signs of ends and signed numbers have their colours. It is never broken.
fn fact_spans(fact: &FinishFact, plain: Style, theme: &Theme) -> Vec<Span<'static>> {
    let whole = fact.good.map(|good| if good { theme.good } else { theme.bad });
    let ends = [Glyph::Done, Glyph::Cancelled, Glyph::Failed, Glyph::Partial, Glyph::Empty];
    let mut spans = Vec::new();
    // The number behind a sign has its colour too.
    let mut next = None;
    for (at, word) in fact.text.split(' ').enumerate() {
        let gap = if at == 0 { "" } else { UNBROKEN };
        let end = ends.into_iter().find(|end| end.sign(theme.glyphs, None) == word);
        let of_end = next.take();
        next = end.map(|end| Painter { theme, frame: None }.style(end));
        let signed = match word.chars().next() {
            Some('+') => Some(theme.good),
            Some('−') => Some(theme.bad),
            _ => None,
        };
        let style = whole.or(next).or(of_end).or(signed).unwrap_or(plain);
        spans.push(Span::styled(format!("{gap}{word}"), style));
    }
    spans
}

fn notice(level: NoticeLevel, text: &str, style: &ItemStyle<'_>) -> Vec<Line<'static>> {
    let theme = style.theme;
    let (mark, colour) = match level {
        NoticeLevel::Info => ("  ".to_owned(), theme.dim),
        NoticeLevel::Warning => ("! ".to_owned(), theme.question),
        NoticeLevel::Error => (format!("{} ", theme.glyphs.failed), theme.bad),
    };
    hanging_lines(&mark, text, colour, colour, style.prose)
}
