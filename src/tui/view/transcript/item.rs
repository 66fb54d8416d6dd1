//! One item of a transcript as it was laid out: its height, guessed or measured, and its lines
//! while they are needed.

use ratatui::text::Line;

use crate::tui::model::{Item, ItemKind};
use crate::tui::text::{MarkdownStream, Widths};

use super::super::items::{self, Look};
use super::Sight;

#[derive(Default)]
pub(super) struct LaidItem {
    pub(super) height: usize,
    /// Whether the height was measured, not guessed.
    pub(super) exact: bool,
    /// A blank line stands above it.
    pub(super) gap: bool,
    pub(super) lines: Option<Vec<Line<'static>>>,
    /// The lines that the search found, once they were looked at.
    pub(super) hits: Option<Vec<usize>>,
    /// The markdown that grows, with the bytes and the edition that it has taken.
    pub(super) stream: Option<Box<(MarkdownStream, usize, u32)>>,
}

impl LaidItem {
    pub(super) fn outer(&self) -> usize {
        self.height + usize::from(self.gap)
    }

    /// The lines that it holds now.
    pub(super) fn held(&self) -> usize {
        if self.lines.is_some() || self.stream.is_some() { self.height } else { 0 }
    }

    /// A height without laying anything out.
    pub(super) fn guess(&mut self, item: &Item, look: &Look<'_>) {
        *self = Self { height: items::guess(item, look), gap: self.gap, ..Self::default() };
    }

    pub(super) fn lay(&mut self, item: &Item, sight: &Sight<'_>, look: &Look<'_>) {
        self.exact = true;
        self.hits = None;
        if let ItemKind::Text { text, done, edition } = &item.kind {
            self.lines = None;
            self.lay_text(text, *done, *edition, sight, look.width);
            return;
        }
        self.stream = None;
        let lines = (sight.live)(item).unwrap_or_else(|| items::lines(item, look));
        self.height = lines.len();
        self.lines = Some(lines);
    }

    /// Feeds only what is new to the markdown stream.
    fn lay_text(&mut self, text: &str, done: bool, edition: u32, sight: &Sight<'_>, width: u16) {
        let goes_on = self
            .stream
            .as_ref()
            .is_some_and(|stream| stream.2 == edition && stream.1 <= text.len());
        if !goes_on {
            self.stream = Some(Box::new((MarkdownStream::new(sight.highlighter), 0, edition)));
        }
        let Some(stream) = &mut self.stream else { return };
        if let Some(more) = text.get(stream.1..) {
            stream.0.push(more);
            stream.1 = text.len();
        }
        if done {
            stream.0.finish();
        }
        self.height = stream.0.lines(widths(sight, width), sight.theme).len();
    }
}

/// Text stands two cells in, and leaves one for the caret. Code and tables may be wider than prose.
pub(super) fn widths(sight: &Sight<'_>, width: u16) -> Widths {
    let inner = |cells: u16| cells.saturating_sub(3).max(1);
    Widths { prose: inner(sight.prose.min(width)), wide: inner(width) }
}
