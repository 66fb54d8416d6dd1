//! The layout of one transcript item: its height, estimated or exact, and its lines while they are
//! needed.

use ratatui::text::Line;

use crate::tui::text::{MarkdownStream, Widths};
use crate::tui::theme::Theme;
use crate::tui::transcript::draw::ItemStyle;
use crate::tui::transcript::layout::context::RenderContext;
use crate::tui::transcript::{ItemKind, TranscriptItem, draw};

#[derive(Default)]
pub(super) struct ItemLayout {
    pub(super) height: usize,
    /// Whether the height is exact, not estimated.
    pub(super) exact: bool,
    /// Whether its folded part was shown in the last layout.
    pub(super) expanded: bool,
    /// Whether a blank line precedes it.
    pub(super) gap: bool,
    pub(super) lines: Option<Vec<Line<'static>>>,
    /// Lines that match the search, once searched.
    pub(super) hits: Option<Vec<usize>>,
    /// The growing markdown, with the bytes and the edition read so far.
    pub(super) stream: Option<Box<(MarkdownStream, usize, u32)>>,
}

impl ItemLayout {
    pub(super) fn full_height(&self) -> usize {
        self.height + usize::from(self.gap)
    }

    /// Number of cached lines.
    pub(super) fn cached_lines(&self) -> usize {
        if self.lines.is_some() || self.stream.is_some() { self.height } else { 0 }
    }

    /// Estimates the height without laying anything out.
    pub(super) fn estimate(&mut self, item: &TranscriptItem, style: &ItemStyle<'_>) {
        *self =
            Self { height: draw::estimate_height(item, style), gap: self.gap, ..Self::default() };
        self.expanded = item.expanded;
    }

    pub(super) fn lay_out(&mut self, item: &TranscriptItem, cx: &RenderContext<'_>) {
        self.exact = true;
        self.hits = None;
        if let ItemKind::Text { text, done, edition } = &item.kind {
            self.lines = None;
            self.lay_out_text(text, *done, *edition, cx);
            return;
        }
        self.stream = None;
        let lines = (cx.live)(item).unwrap_or_else(|| draw::lines(item, &cx.style));
        self.height = lines.len();
        self.lines = Some(lines);
    }

    /// The cached lines, if any; those of markdown at other widths are rendered again.
    pub(super) fn lines(&mut self, widths: Widths, theme: &Theme) -> &[Line<'static>] {
        match (&mut self.stream, &self.lines) {
            (Some(stream), _) => stream.0.lines(widths, theme),
            (None, Some(lines)) => lines,
            (None, None) => &[],
        }
    }

    /// Feeds only new text to the markdown stream.
    fn lay_out_text(&mut self, text: &str, done: bool, edition: u32, cx: &RenderContext<'_>) {
        let continues = self
            .stream
            .as_ref()
            .is_some_and(|stream| stream.2 == edition && stream.1 <= text.len());
        if !continues {
            self.stream = Some(Box::new((MarkdownStream::new(cx.highlighter), 0, edition)));
        }
        let Some(stream) = &mut self.stream else { return };
        if let Some(more) = text.get(stream.1..) {
            stream.0.push(more);
            stream.1 = text.len();
        }
        if done {
            stream.0.finish();
        }
        self.height = stream.0.lines(widths(&cx.style), cx.style.theme).len();
    }
}

/// The widths for text, indented by two cells and with one for the caret. Code and tables may be
/// wider than prose.
pub(super) fn widths(style: &ItemStyle<'_>) -> Widths {
    inner_widths(style.width, style.prose)
}

pub(super) fn inner_widths(width: u16, prose: u16) -> Widths {
    let inner = |cells: u16| cells.saturating_sub(3).max(1);
    Widths { prose: inner(prose), wide: inner(width) }
}
