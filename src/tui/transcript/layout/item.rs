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
    /// Its lines, while they are needed. In a box: a long transcript has many items, and few of
    /// them have lines.
    pub(super) drawn: Option<Box<DrawnItem>>,
    /// Lines that match the search, once searched.
    pub(super) hits: Option<Box<[usize]>>,
}

/// The lines of an item.
pub(super) enum DrawnItem {
    Lines(Vec<Line<'static>>),
    Text(Box<TextStream>),
}

/// Markdown that may grow, with the bytes and the edition read so far.
pub(super) struct TextStream {
    pub(super) markdown: MarkdownStream,
    read: usize,
    edition: u32,
}

impl ItemLayout {
    pub(super) fn full_height(&self) -> usize {
        self.height + usize::from(self.gap)
    }

    /// Number of cached lines.
    pub(super) fn cached_lines(&self) -> usize {
        if self.drawn.is_some() { self.height } else { 0 }
    }

    /// Estimates the height without laying anything out.
    pub(super) fn estimate(&mut self, item: &TranscriptItem, style: &ItemStyle<'_>) {
        *self =
            Self { height: draw::estimate_height(item, style), gap: self.gap, ..Self::default() };
        self.expanded = item.is_open(style.full);
    }

    pub(super) fn lay_out(&mut self, item: &TranscriptItem, cx: &RenderContext<'_>) {
        self.exact = true;
        self.hits = None;
        if let ItemKind::Text { text, done, edition } = &item.kind {
            self.lay_out_text(text, *done, *edition, cx);
            return;
        }
        let lines = (cx.live)(item).unwrap_or_else(|| draw::lines(item, &cx.style));
        self.height = lines.len();
        self.drawn = Some(Box::new(DrawnItem::Lines(lines)));
    }

    /// The cached lines, if any; those of markdown at other widths are rendered again.
    pub(super) fn lines(&mut self, widths: Widths, theme: &Theme) -> &[Line<'static>] {
        match self.drawn.as_deref_mut() {
            Some(DrawnItem::Text(stream)) => stream.markdown.lines(widths, theme),
            Some(DrawnItem::Lines(lines)) => lines,
            None => &[],
        }
    }

    /// Feeds only new text to the markdown stream.
    fn lay_out_text(&mut self, text: &str, done: bool, edition: u32, cx: &RenderContext<'_>) {
        let continues = matches!(
            self.drawn.as_deref(),
            Some(DrawnItem::Text(stream)) if stream.edition == edition && stream.read <= text.len()
        );
        if !continues {
            let markdown = MarkdownStream::new(cx.highlighter);
            let stream = TextStream { markdown, read: 0, edition };
            self.drawn = Some(Box::new(DrawnItem::Text(Box::new(stream))));
        }
        let Some(DrawnItem::Text(stream)) = self.drawn.as_deref_mut() else { return };
        if let Some(more) = text.get(stream.read..) {
            stream.markdown.push(more);
            stream.read = text.len();
        }
        if done {
            stream.markdown.finish();
        }
        self.height = stream.markdown.lines(widths(&cx.style), cx.style.theme).len();
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
