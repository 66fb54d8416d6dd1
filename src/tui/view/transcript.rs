//! Draws a transcript: each item is laid out once, its height is remembered, and only what is visible is drawn.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::model::{Extent, Item, ItemId, ItemKind, Scroll, Transcript};
use crate::tui::text::{Highlighter, MarkdownStream};
use crate::tui::theme::Theme;

use super::items::{self, Look, indented};
use super::paint::put;

/// Laid-out lines that are kept beyond the visible ones.
const LINES_KEPT: usize = 2000;

/// What was laid out of one transcript, at one width and theme.
#[derive(Default)]
pub struct Laid {
    key: Option<(u16, u16, u64)>,
    revision: u64,
    first: ItemId,
    items: Vec<LaidItem>,
    /// Lines above each item; valid up to `sound`.
    above: Vec<usize>,
    sound: usize,
    kept: usize,
}

#[derive(Default)]
struct LaidItem {
    version: u32,
    height: usize,
    /// A blank line stands above it.
    gap: bool,
    lines: Option<Vec<Line<'static>>>,
    /// The markdown that grows, with the bytes and the edition that it has taken.
    stream: Option<Box<(MarkdownStream, usize, u32)>>,
}

/// How and what to draw.
pub struct Sight<'a> {
    pub theme: &'a Theme,
    pub highlighter: &'a Highlighter,
    pub transcript: &'a Transcript,
    pub scroll: Scroll,
    /// Lines above the first item.
    pub head: Vec<Line<'static>>,
    /// Lines of an item that changes without the transcript, and of no other.
    pub live: &'a dyn Fn(&Item) -> Option<Vec<Line<'static>>>,
    /// The item that `live` draws anew each time.
    pub live_item: Option<ItemId>,
    pub prose: u16,
    /// Everything in full: the reader.
    pub full: bool,
    /// Whether a caret stands behind text that grows.
    pub caret: bool,
}

impl Laid {
    /// Draws the visible part and answers with what was shown.
    pub fn draw(&mut self, sight: &Sight<'_>, area: Rect, buffer: &mut Buffer) -> Extent {
        if area.height == 0 || area.width == 0 {
            return Extent::default();
        }
        self.refresh(sight, area.width);
        let head = sight.head.len();
        let total = head + self.total();
        let height = usize::from(area.height);
        let last = total.saturating_sub(height);
        let goto = sight.scroll.goto.and_then(|id| self.line_of(id)).map(|line| line + head);
        let top = goto.or(sight.scroll.top).unwrap_or(last).min(last);
        let mut item = self.item_at(top.saturating_sub(head));
        let top_item = self.first + item as u64;
        for (row, line) in sight.head.iter().enumerate().skip(top).take(height) {
            put(buffer, area, row - top, line);
        }
        let first_shown = item;
        while item < self.items.len() {
            let start = head + self.above[item];
            if start >= top + height {
                break;
            }
            self.draw_item(sight, item, start, top, area, buffer);
            item += 1;
        }
        self.forget_far(first_shown..item);
        Extent { total, height, top, item: top_item }
    }

    /// Lays the transcript out without drawing it.
    pub fn measure(&mut self, sight: &Sight<'_>, area: Rect) -> Extent {
        if area.height == 0 || area.width == 0 {
            return Extent::default();
        }
        self.refresh(sight, area.width);
        let total = sight.head.len() + self.total();
        let height = usize::from(area.height);
        self.forget_far(0..0);
        Extent { total, height, top: total.saturating_sub(height), item: self.first }
    }

    fn draw_item(
        &mut self,
        sight: &Sight<'_>,
        at: usize,
        start: usize,
        top: usize,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        let id = self.first + at as u64;
        let Some(item) = sight.transcript.get(id) else { return };
        let look = look(sight, area.width);
        let laid = &mut self.items[at];
        if laid.lines.is_none() && laid.stream.is_none() {
            laid.lay(item, sight, &look);
            self.kept += laid.height;
        }
        let start = start + usize::from(laid.gap);
        let skip = top.saturating_sub(start);
        let grows = matches!(&item.kind, ItemKind::Text { done: false, .. });
        if let Some(stream) = &mut laid.stream {
            let lines = stream.0.lines(text_width(sight.prose), sight.theme);
            let count = lines.len();
            for (at, line) in lines.iter().enumerate().skip(skip) {
                let row = start + at - top;
                if row >= usize::from(area.height) {
                    break;
                }
                let mut line = indented(line.clone());
                if grows && sight.caret && at + 1 == count {
                    line.spans.push(Span::styled(sight.theme.glyphs.caret, sight.theme.accent));
                }
                put(buffer, area, row, &line);
            }
        } else if let Some(lines) = &laid.lines {
            for (at, line) in lines.iter().enumerate().skip(skip) {
                let row = start + at - top;
                if row >= usize::from(area.height) {
                    break;
                }
                put(buffer, area, row, line);
            }
        }
    }

    /// Brings heights up to date: only items that changed are laid out.
    fn refresh(&mut self, sight: &Sight<'_>, width: u16) {
        let transcript = sight.transcript;
        let ids = transcript.ids();
        let key = Some((width, sight.prose, sight.theme.id()));
        let changed = if self.key == key && self.first == ids.start {
            transcript.changed_since(self.revision)
        } else {
            None
        };
        let changed = match changed {
            Some(changed) => changed,
            None => {
                *self = Self { key, first: ids.start, ..Self::default() };
                ids.clone().collect()
            }
        };
        self.revision = transcript.revision();
        let count = usize::try_from(ids.end - ids.start).unwrap_or_default();
        self.items.resize_with(count, LaidItem::default);
        self.above.resize(count, 0);
        let look = look(sight, width);
        for id in changed.into_iter().chain(sight.live_item) {
            let Some(item) = transcript.get(id) else { continue };
            let at = usize::try_from(id - self.first).unwrap_or_default();
            let gap = at > 0 && matches!(item.kind, ItemKind::Prompt { task: false, .. });
            let laid = &mut self.items[at];
            laid.gap = gap;
            let before = laid.height;
            let held = if laid.lines.is_some() || laid.stream.is_some() { before } else { 0 };
            laid.lay(item, sight, &look);
            self.kept = (self.kept + laid.height).saturating_sub(held);
            if laid.height != before || at >= self.sound {
                self.sound = self.sound.min(at);
            }
        }
        for at in self.sound..count {
            self.above[at] = match at.checked_sub(1) {
                Some(before) => self.above[before] + self.items[before].outer(),
                None => 0,
            };
        }
        self.sound = count.saturating_sub(1);
    }

    fn total(&self) -> usize {
        match (self.above.last(), self.items.last()) {
            (Some(above), Some(last)) => above + last.outer(),
            _ => 0,
        }
    }

    fn line_of(&self, id: ItemId) -> Option<usize> {
        self.above.get(usize::try_from(id.checked_sub(self.first)?).ok()?).copied()
    }

    /// The item that this line belongs to.
    fn item_at(&self, line: usize) -> usize {
        self.above.partition_point(|above| *above <= line).saturating_sub(1)
    }

    /// Gives up lines that are out of sight once there are many.
    fn forget_far(&mut self, shown: std::ops::Range<usize>) {
        if self.kept <= LINES_KEPT {
            return;
        }
        self.kept = 0;
        let last = self.items.len().saturating_sub(1);
        for (at, laid) in self.items.iter_mut().enumerate() {
            if shown.contains(&at) || at == last {
                self.kept += laid.height;
            } else {
                laid.lines = None;
                laid.stream = None;
            }
        }
    }
}

impl LaidItem {
    fn outer(&self) -> usize {
        self.height + usize::from(self.gap)
    }

    fn lay(&mut self, item: &Item, sight: &Sight<'_>, look: &Look<'_>) {
        self.version = item.version;
        if let ItemKind::Text { text, done, edition } = &item.kind {
            self.lines = None;
            self.lay_text(text, *done, *edition, sight);
            return;
        }
        self.stream = None;
        let lines = (sight.live)(item).unwrap_or_else(|| items::lines(item, look));
        self.height = lines.len();
        self.lines = Some(lines);
    }

    /// Feeds only what is new to the markdown stream.
    fn lay_text(&mut self, text: &str, done: bool, edition: u32, sight: &Sight<'_>) {
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
        self.height = stream.0.lines(text_width(sight.prose), sight.theme).len();
    }
}

/// Prose stands two cells in, and leaves one for the caret.
fn text_width(prose: u16) -> u16 {
    prose.saturating_sub(3).max(1)
}

fn look<'a>(sight: &Sight<'a>, width: u16) -> Look<'a> {
    Look { theme: sight.theme, width, prose: sight.prose.min(width), full: sight.full }
}
