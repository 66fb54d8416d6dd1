//! Draws a transcript. Only visible items are laid out, and their heights are cached. The height of
//! the rest is estimated until it becomes visible, so that a long conversation opens as fast as a
//! short one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::keymap::Keymap;
use crate::tui::paint::put;
use crate::tui::text::Highlighter;
use crate::tui::theme::Theme;
use crate::tui::transcript::draw::{ItemStyle, indented};
use crate::tui::transcript::{
    Extent, ItemId, ItemKind, Scroll, SearchResult, TranscriptItem, TranscriptState,
};

use item::{ItemLayout, widths};

pub use search::FindRequest;

mod item;
mod search;

/// Number of laid-out lines kept beyond the visible ones.
const MAX_CACHED_LINES: usize = 2000;

/// Transcripts up to this many bytes are laid out completely, without estimates.
const EAGER_LAYOUT_BYTES: usize = 32 * 1024;

/// Scrolling by up to this many pages moves by exact lines, regardless of estimates.
const NEAR_PAGES: usize = 3;

/// The laid-out part of one transcript, at one width and theme.
#[derive(Default)]
pub struct LayoutCache {
    key: Option<(u16, u16, u64)>,
    revision: u64,
    first: ItemId,
    /// Lines above the first item.
    head: usize,
    items: Vec<ItemLayout>,
    /// Lines above each item; valid up to `sound`.
    above: Vec<usize>,
    valid: usize,
    cached_lines: usize,
    anchor: Option<Anchor>,
    /// Total lines added by new or growing items.
    grown: usize,
    /// The query that the items' hits belong to.
    query: String,
    found: Option<SearchResult>,
}

/// The first line of the last frame: its number among all lines as counted then, and its item.
#[derive(Clone, Copy)]
struct Anchor {
    top: usize,
    /// `None`: the lines above the first item.
    item: Option<ItemId>,
    line: usize,
}

/// A line by its piece and its index in that. Piece 0 is the head above the first item, piece n is
/// item n - 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LinePos {
    piece: usize,
    line: usize,
}

/// Everything needed to draw a transcript.
pub struct RenderContext<'a> {
    pub theme: &'a Theme,
    pub highlighter: &'a Highlighter,
    pub transcript: &'a TranscriptState,
    pub scroll: Scroll,
    /// Lines above the first item.
    pub head: Vec<Line<'static>>,
    /// Returns the lines of an item that changes independently of the transcript; `None` for others.
    pub live: &'a dyn Fn(&TranscriptItem) -> Option<Vec<Line<'static>>>,
    /// The item that `live` redraws each time.
    pub live_item: Option<ItemId>,
    pub prose: u16,
    /// Whether to show everything in full, as the reader does.
    pub full: bool,
    pub keymap: &'a Keymap,
    /// Whether growing text ends with a caret.
    pub caret: bool,
    /// The search in this transcript.
    pub find: Option<FindRequest<'a>>,
}

impl LayoutCache {
    /// Draws the visible part and returns its extent.
    pub fn draw(&mut self, sight: &RenderContext<'_>, area: Rect, buffer: &mut Buffer) -> Extent {
        if area.height == 0 || area.width == 0 {
            return Extent::default();
        }
        let VisibleRange { shown, skip, extent } = self.lay_out_visible(sight, area);
        let height = usize::from(area.height);
        let (mut row, mut skip) = (0, skip);
        for piece in shown.clone() {
            let lines = self.piece_height(piece) - skip;
            let room = Rect {
                y: area.y + u16::try_from(row).unwrap_or(u16::MAX).min(area.height),
                height: u16::try_from(height - row.min(height)).unwrap_or(0),
                ..area
            };
            match piece.checked_sub(1) {
                Some(at) => self.draw_item(sight, at, skip, room, buffer),
                None => {
                    for (row, line) in sight.head.iter().skip(skip).enumerate() {
                        put(buffer, room, row, line);
                    }
                }
            }
            row += lines;
            skip = 0;
        }
        self.evict_hidden(&shown);
        extent
    }

    /// Returns the extent that [`Self::draw`] would, without drawing.
    pub fn measure(&mut self, sight: &RenderContext<'_>, area: Rect) -> Extent {
        if area.height == 0 || area.width == 0 {
            return Extent::default();
        }
        let VisibleRange { shown, extent, .. } = self.lay_out_visible(sight, area);
        self.evict_hidden(&shown);
        extent
    }

    /// Forces a new layout at the same position, after a change of theme or colours.
    pub fn invalidate(&mut self) {
        self.key = None;
    }

    /// Number of items laid out since the width changed.
    #[cfg(test)]
    fn exact_count(&self) -> usize {
        self.items.iter().filter(|item| item.exact).count()
    }

    /// Updates the layout and determines the visible part.
    fn lay_out_visible(&mut self, sight: &RenderContext<'_>, area: Rect) -> VisibleRange {
        self.refresh(sight, area.width);
        let look = item_style(sight, area.width);
        let height = usize::from(area.height);
        let end = self.last_page(sight, &look, height);
        let spot = self.requested_pos(sight, &look, height).map_or(end, |spot| spot.min(end));
        let sought = self.find(sight, &look, height, spot);
        let spot = sought.map_or(spot, |spot| spot.min(end));
        let mut last = spot.piece;
        let mut room = height + spot.line;
        loop {
            let lines = self.measured_height(last, sight, &look);
            if lines >= room || last == self.items.len() {
                break;
            }
            room -= lines;
            last += 1;
        }
        self.count_lines();
        let top = self.start(spot.piece) + spot.line;
        let item = spot.piece.checked_sub(1).map(|at| self.first + at as u64);
        self.anchor = Some(Anchor { top, item, line: spot.line });
        let total = self.start(self.items.len()) + self.piece_height(self.items.len());
        let (item, grown) = (item.unwrap_or(self.first), self.grown);
        let extent = Extent { total, height, top, item, grown };
        VisibleRange { shown: spot.piece..last + 1, skip: spot.line, extent }
    }

    /// The start of the last page.
    fn last_page(
        &mut self,
        sight: &RenderContext<'_>,
        look: &ItemStyle<'_>,
        height: usize,
    ) -> LinePos {
        let mut room = height;
        let mut piece = self.items.len();
        loop {
            let lines = self.measured_height(piece, sight, look);
            if lines >= room {
                return LinePos { piece, line: lines - room };
            }
            if piece == 0 {
                return LinePos { piece, line: 0 };
            }
            room -= lines;
            piece -= 1;
        }
    }

    /// The requested start of the view; `None` follows the end.
    fn requested_pos(
        &mut self,
        sight: &RenderContext<'_>,
        look: &ItemStyle<'_>,
        height: usize,
    ) -> Option<LinePos> {
        let range = sight.transcript.ids();
        let piece_of = |id: ItemId| {
            let at = id.clamp(range.start, range.end.max(range.start + 1) - 1) - range.start;
            usize::try_from(at).unwrap_or_default() + 1
        };
        if let Some(id) = sight.scroll.goto {
            let piece = piece_of(id).min(self.items.len());
            return Some(LinePos { piece, line: 0 });
        }
        let top = sight.scroll.top?;
        match self.anchor {
            Some(anchor) if top.abs_diff(anchor.top) <= NEAR_PAGES * height => {
                let piece = anchor.item.map_or(0, piece_of).min(self.items.len());
                let line = isize::try_from(anchor.line + top).unwrap_or(isize::MAX);
                let line = line.saturating_sub(isize::try_from(anchor.top).unwrap_or(isize::MAX));
                Some(self.offset_pos(piece, line, sight, look))
            }
            _ => {
                let piece = self.piece_at(top);
                Some(LinePos { piece, line: top.saturating_sub(self.start(piece)) })
            }
        }
    }

    /// The line `line` lines below the start of a piece, or above it if negative.
    fn offset_pos(
        &mut self,
        mut piece: usize,
        mut line: isize,
        sight: &RenderContext<'_>,
        look: &ItemStyle<'_>,
    ) -> LinePos {
        while line < 0 && piece > 0 {
            piece -= 1;
            line += isize::try_from(self.measured_height(piece, sight, look)).unwrap_or(isize::MAX);
        }
        let mut line = usize::try_from(line).unwrap_or_default();
        while piece < self.items.len() {
            let lines = self.measured_height(piece, sight, look);
            if line < lines {
                break;
            }
            line -= lines;
            piece += 1;
        }
        LinePos { piece, line }
    }

    /// The height of a piece, which is laid out if the height was only estimated.
    fn measured_height(
        &mut self,
        piece: usize,
        sight: &RenderContext<'_>,
        look: &ItemStyle<'_>,
    ) -> usize {
        let Some(at) = piece.checked_sub(1) else { return self.head };
        if !self.items[at].exact
            && let Some(item) = sight.transcript.get(self.first + at as u64)
        {
            self.lay_out(at, item, sight, look);
        }
        self.items[at].full_height()
    }

    fn lay_out(
        &mut self,
        at: usize,
        item: &TranscriptItem,
        sight: &RenderContext<'_>,
        look: &ItemStyle<'_>,
    ) {
        let laid = &mut self.items[at];
        let before = laid.full_height();
        let held = laid.cached_lines();
        laid.lay_out(item, sight, look);
        self.cached_lines = (self.cached_lines + laid.height).saturating_sub(held);
        if laid.full_height() != before {
            self.valid = self.valid.min(at);
        }
    }

    fn draw_item(
        &mut self,
        sight: &RenderContext<'_>,
        at: usize,
        skip: usize,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        let Some(item) = sight.transcript.get(self.first + at as u64) else { return };
        if self.items[at].cached_lines() == 0 {
            self.lay_out(at, item, sight, &item_style(sight, area.width));
        }
        let laid = &mut self.items[at];
        let gap = usize::from(laid.gap);
        let (blank, skip) = (gap.saturating_sub(skip), skip.saturating_sub(gap));
        let height = usize::from(area.height).saturating_sub(blank);
        let grows = matches!(&item.kind, ItemKind::Text { done: false, .. });
        if let Some(stream) = &mut laid.stream {
            let lines = stream.0.lines(widths(sight, area.width), sight.theme);
            let count = lines.len();
            for (row, line) in lines.iter().enumerate().skip(skip).take(height) {
                let mut line = indented(line.clone());
                if grows && sight.caret && row + 1 == count {
                    line.spans.push(Span::styled(sight.theme.glyphs.caret, sight.theme.accent));
                }
                put(buffer, area, blank + row - skip, &line);
            }
        } else if let Some(lines) = &laid.lines {
            for (row, line) in lines.iter().skip(skip).take(height).enumerate() {
                put(buffer, area, blank + row, line);
            }
        }
    }

    /// Updates the heights. Lays out only changed items, and none of a long transcript that is new
    /// here.
    fn refresh(&mut self, sight: &RenderContext<'_>, width: u16) {
        let transcript = sight.transcript;
        let ids = transcript.ids();
        let key = Some((width, sight.prose, sight.theme.id()));
        let known = (self.key == key && self.first == ids.start)
            .then(|| transcript.changed_since(self.revision))
            .flatten();
        let anew = known.is_none();
        if anew {
            let (anchor, grown) = (self.anchor, self.grown);
            *self = Self { key, first: ids.start, anchor, grown, ..Self::default() };
        }
        self.revision = transcript.revision();
        self.head = sight.head.len();
        let count = usize::try_from(ids.end - ids.start).unwrap_or_default();
        self.items.resize_with(count, ItemLayout::default);
        self.above.resize(count, 0);
        let look = item_style(sight, width);
        let guessed = anew && transcript.bytes() > EAGER_LAYOUT_BYTES;
        let changed = known.unwrap_or_else(|| ids.clone().collect());
        for id in changed.into_iter().chain(sight.live_item) {
            let Some(item) = transcript.get(id) else { continue };
            let at = usize::try_from(id - self.first).unwrap_or_default();
            let before = self.items[at].full_height();
            self.items[at].gap = at > 0
                && matches!(
                    item.kind,
                    ItemKind::Prompt { task: false, .. } | ItemKind::Report { .. }
                );
            if guessed {
                self.items[at].estimate(item, &look);
                continue;
            }
            self.lay_out(at, item, sight, &look);
            let after = self.items[at].full_height();
            if after != before {
                self.valid = self.valid.min(at);
            }
            if !anew {
                self.grown += after.saturating_sub(before);
            }
        }
        self.count_lines();
    }

    /// Sums up the heights, from the first changed item on.
    fn count_lines(&mut self) {
        for at in self.valid..self.items.len() {
            self.above[at] = match at.checked_sub(1) {
                Some(before) => self.above[before] + self.items[before].full_height(),
                None => self.head,
            };
        }
        self.valid = self.items.len().saturating_sub(1);
        if let Some(first) = self.above.first()
            && *first != self.head
        {
            self.valid = 0;
            self.count_lines();
        }
    }

    fn piece_height(&self, piece: usize) -> usize {
        piece.checked_sub(1).map_or(self.head, |at| self.items[at].full_height())
    }

    /// Lines above a piece.
    fn start(&self, piece: usize) -> usize {
        piece.checked_sub(1).map_or(0, |at| self.above[at])
    }

    /// The piece that contains a line.
    fn piece_at(&self, line: usize) -> usize {
        self.above.partition_point(|above| *above <= line)
    }

    /// Drops lines out of sight once there are too many.
    fn evict_hidden(&mut self, shown: &std::ops::Range<usize>) {
        if self.cached_lines <= MAX_CACHED_LINES {
            return;
        }
        self.cached_lines = 0;
        let last = self.items.len().saturating_sub(1);
        for (at, laid) in self.items.iter_mut().enumerate() {
            if shown.contains(&(at + 1)) || at == last {
                self.cached_lines += laid.cached_lines();
            } else {
                laid.lines = None;
                laid.stream = None;
            }
        }
    }
}

/// The visible pieces, and the number of lines of the first that are scrolled off.
struct VisibleRange {
    shown: std::ops::Range<usize>,
    skip: usize,
    extent: Extent,
}

fn item_style<'a>(sight: &RenderContext<'a>, width: u16) -> ItemStyle<'a> {
    ItemStyle {
        theme: sight.theme,
        width,
        prose: sight.prose.min(width),
        full: sight.full,
        keymap: sight.keymap,
    }
}

#[cfg(test)]
mod tests;
