//! The first line of a pane that begins within an item, so that it makes sense without what is above.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::LayoutCache;
use crate::tui::paint::{clear, cut_with_more, put};
use crate::tui::text::width;
use crate::tui::transcript::draw::indented;
use crate::tui::transcript::layout::context::RenderContext;
use crate::tui::transcript::layout::item::widths;
use crate::tui::transcript::tool_calls::one_line_call;
use crate::tui::transcript::{ItemKind, TranscriptItem};

impl LayoutCache {
    /// Redraws the first row of an area that begins at line `skip` of an item: with the beginning of what
    /// goes on there, such as a call, or else with a mark that something is cut.
    pub(super) fn draw_beginning(
        &mut self,
        cx: &RenderContext<'_>,
        at: usize,
        skip: usize,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        let Some(item) = cx.transcript.get(self.first + at as u64) else { return };
        let lines = self.items[at].lines(widths(&cx.style), cx.style.theme);
        if skip >= lines.len() || begins(item, lines, skip, cx) {
            return;
        }
        let row = Rect { height: 1, ..area };
        match beginning(item, lines, skip, cx) {
            Some(line) => {
                clear(buffer, row);
                put(buffer, row, 0, &line);
            }
            None => buffer.set_string(row.x, row.y, "…", cx.style.theme.dim),
        }
    }
}

/// Whether a line is the beginning of something: of a call, or of a paragraph, point or row of an answer.
fn begins(item: &TranscriptItem, lines: &[Line<'_>], line: usize, cx: &RenderContext<'_>) -> bool {
    let text = lines[line].to_string();
    match (line.checked_sub(1), &item.kind) {
        (None, _) => true,
        (Some(_), ItemKind::Text { .. }) if text.trim().is_empty() => false,
        (Some(above), ItemKind::Text { .. }) => {
            let above = lines[above].to_string();
            let room = usize::from(widths(&cx.style).prose);
            above.trim().is_empty() || !is_wrapped(&above, &text, room)
        }
        (Some(_), _) => is_head(&lines[line]),
    }
}

/// Whether a line begins at the edge, where only the sign of a call or its like stands.
fn is_head(line: &Line<'_>) -> bool {
    line.spans.iter().flat_map(|span| span.content.chars()).next().is_some_and(|c| c != ' ')
}

/// Whether a line continues the wrapped paragraph of the line above.
pub(super) fn is_wrapped(above: &str, below: &str, room: usize) -> bool {
    let word = below.trim_start().split(' ').next().unwrap_or_default();
    width(above.trim_end()) + 1 + width(word) > room
}

/// The start of the call or sentence that a line continues, on one line; `None` if the line is
/// clearer by itself.
fn beginning(
    item: &TranscriptItem,
    lines: &[Line<'static>],
    line: usize,
    cx: &RenderContext<'_>,
) -> Option<Line<'static>> {
    let room = usize::from(cx.style.width);
    let cut = |mut line: Line<'static>| {
        cut_with_more(&mut line.spans, room, cx.style.theme.dim);
        line
    };
    let head = || lines[..line].iter().rfind(|line| is_head(line)).cloned();
    match &item.kind {
        // The end of a sentence alone says nothing.
        ItemKind::Text { done: true, .. } if line + 1 == lines.len() => {
            let start = (0..line).rev().find(|line| begins(item, lines, *line, cx))?;
            Some(cut(indented(lines[start].clone())))
        }
        ItemKind::Tools(calls) => match &calls[..] {
            [call] if call.result.is_some() => Some(one_line_call(call, line, &cx.style)),
            calls if calls.iter().all(|call| call.result.is_some()) => None,
            _ => head(),
        },
        ItemKind::Thinking { .. } | ItemKind::Report { .. } | ItemKind::Shell { .. } => {
            head().map(cut)
        }
        _ => None,
    }
}
