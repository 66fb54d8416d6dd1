//! Draws a transcript. Only visible items are laid out, and their heights are cached. The height of
//! the rest is estimated until it becomes visible, so that a long conversation opens as fast as a
//! short one.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::tui::keymap::Action;
use crate::tui::paint::put;
use crate::tui::theme::Glyph;
use crate::tui::transcript::draw::{ItemStyle, indented, is_running};
use crate::tui::transcript::item_lines::is_rest_line;
use crate::tui::transcript::{BatchForm, Extent, ItemId, ItemKind, SearchResult, TranscriptItem};

use item::{DrawnItem, ItemLayout, inner_widths, widths};

pub use context::{FindRequest, RenderContext};

mod beginning;
mod context;
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
    key: Option<LayoutKey>,
    revision: u64,
    first: ItemId,
    /// Lines above the first item.
    head: usize,
    items: Vec<ItemLayout>,
    /// Lines above each item; valid up to `valid`.
    above: Vec<usize>,
    valid: usize,
    cached_lines: usize,
    anchor: Option<Anchor>,
    /// Total lines added by new or growing items.
    grown: usize,
    /// The query that the items' hits belong to.
    query: String,
    found: Option<SearchResult>,
    /// The items of the last frame.
    rows: Vec<ItemRows>,
}

/// A line on the screen.
pub struct LineHit {
    pub item: ItemId,
    /// Its index in the item; `None` for the gap above that.
    pub line: Option<usize>,
    /// Whether it counts what the item hides.
    pub counts_rest: bool,
}

/// The rows of an item on the screen.
struct ItemRows {
    item: ItemId,
    rows: Range<u16>,
    /// The line of the item in the first of them; its gap counts.
    line: usize,
}

/// The settings shared by all lines of a layout.
#[derive(Clone, Copy, PartialEq, Eq)]
struct LayoutKey {
    width: u16,
    prose: u16,
    theme: u64,
    dense: bool,
    rest: Option<Action>,
}

/// The first line of the last frame: its number among all lines as counted then, and its item.
#[derive(Clone, Copy)]
struct Anchor {
    top: usize,
    /// `None`: the lines above the first item.
    item: Option<ItemId>,
    line: usize,
    /// After a change of width: the number of letters of the item above the line.
    letters: Option<usize>,
}

/// A line by its piece and its index in that. Piece 0 is the head above the first item, piece n is
/// item n - 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LinePos {
    piece: usize,
    line: usize,
}

impl LayoutCache {
    /// Draws the visible part at a position, as wide as its style, and returns its extent.
    pub fn draw(
        &mut self,
        cx: &RenderContext<'_>,
        Position { x, y }: Position,
        height: u16,
        buffer: &mut Buffer,
    ) -> Extent {
        let area = Rect { x, y, width: cx.style.width, height };
        if area.is_empty() {
            return Extent::default();
        }
        let VisibleRange { pieces, skip, extent } = self.lay_out_visible(cx, height);
        let height = usize::from(height);
        self.rows.clear();
        let (mut row, within) = (0, skip);
        let mut skip = skip;
        for piece in pieces.clone() {
            let lines = self.piece_height(piece) - skip;
            let room = Rect {
                y: area.y + u16::try_from(row).unwrap_or(u16::MAX).min(area.height),
                height: u16::try_from(height - row.min(height)).unwrap_or(0),
                ..area
            };
            match piece.checked_sub(1) {
                Some(at) => {
                    let next = room.y.saturating_add(u16::try_from(lines).unwrap_or(u16::MAX));
                    let rows = room.y..next.min(area.bottom());
                    let item = self.first + at as u64;
                    self.rows.push(ItemRows { item, rows, line: skip });
                    self.draw_item(cx, at, skip, room, buffer);
                }
                None => {
                    for (row, line) in cx.head.iter().skip(skip).enumerate() {
                        put(buffer, room, row, line);
                    }
                }
            }
            row += lines;
            skip = 0;
        }
        let follows = cx.scroll.top.is_none() && cx.scroll.goto.is_none();
        if let Some(at) = pieces.start.checked_sub(1).filter(|_| cx.dense && follows && within > 0)
        {
            self.draw_beginning(cx, at, within, area, buffer);
        }
        self.evict_hidden(&pieces);
        extent
    }

    /// Returns the extent that [`Self::draw`] would, without drawing.
    pub fn measure(&mut self, cx: &RenderContext<'_>, height: u16) -> Extent {
        if height == 0 || cx.style.width == 0 {
            return Extent::default();
        }
        let VisibleRange { pieces, extent, .. } = self.lay_out_visible(cx, height);
        self.evict_hidden(&pieces);
        extent
    }

    /// The line at a row of the screen in the last frame.
    pub fn line_at(&self, y: u16) -> Option<LineHit> {
        let found = self.rows.iter().find(|found| found.rows.contains(&y))?;
        let at = usize::try_from(found.item.checked_sub(self.first)?).ok()?;
        let layout = self.items.get(at)?;
        let line = found.line + usize::from(y - found.rows.start);
        let line = line.checked_sub(usize::from(layout.gap));
        let counts_rest = match (layout.drawn.as_deref(), line) {
            (Some(DrawnItem::Lines(lines)), Some(line)) => {
                lines.get(line).is_some_and(is_rest_line)
            }
            _ => false,
        };
        Some(LineHit { item: found.item, line, counts_rest })
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
    fn lay_out_visible(&mut self, cx: &RenderContext<'_>, height: u16) -> VisibleRange {
        self.refresh(cx);
        let height = usize::from(height);
        let end = self.last_page(cx, height);
        let pos = self.requested_pos(cx, height).map_or(end, |pos| pos.min(end));
        let hit_page = self.find(cx, height, pos);
        let pos = hit_page.map_or(pos, |pos| pos.min(end));
        let mut last = pos.piece;
        let mut room = height + pos.line;
        loop {
            let lines = self.measured_height(last, cx);
            if lines >= room || last == self.items.len() {
                break;
            }
            room -= lines;
            last += 1;
        }
        self.count_lines();
        let top = self.start(pos.piece) + pos.line;
        let item = pos.piece.checked_sub(1).map(|at| self.first + at as u64);
        self.anchor = Some(Anchor { top, item, line: pos.line, letters: None });
        let total = self.start(self.items.len()) + self.piece_height(self.items.len());
        let (item, grown) = (item.unwrap_or(self.first), self.grown);
        let bottom = self.first + last.saturating_sub(1) as u64;
        self.locate_hit(top, height);
        let above = (pos.line, self.piece_height(pos.piece));
        let extent = Extent { total, height, top, item, last: bottom, above, grown };
        VisibleRange { pieces: pos.piece..last + 1, skip: pos.line, extent }
    }

    /// The start of the last page.
    fn last_page(&mut self, cx: &RenderContext<'_>, height: usize) -> LinePos {
        let mut room = height;
        let mut piece = self.items.len();
        loop {
            let lines = self.measured_height(piece, cx);
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
    fn requested_pos(&mut self, cx: &RenderContext<'_>, height: usize) -> Option<LinePos> {
        let range = cx.transcript.ids();
        let piece_of = |id: ItemId| {
            let at = id.clamp(range.start, range.end.max(range.start + 1) - 1) - range.start;
            usize::try_from(at).unwrap_or_default() + 1
        };
        if let Some(id) = cx.scroll.goto {
            let piece = piece_of(id).min(self.items.len());
            let line = match cx.scroll.above {
                (0, _) => 0,
                (above, all) => self.measured_height(piece, cx) * above / all.max(1),
            };
            return Some(LinePos { piece, line });
        }
        let top = cx.scroll.top?;
        match self.anchor {
            Some(anchor) if top.abs_diff(anchor.top) <= NEAR_PAGES * height => {
                let piece = anchor.item.map_or(0, piece_of).min(self.items.len());
                let at = match anchor.letters {
                    Some(letters) => self.line_after(piece, letters, cx),
                    None => anchor.line,
                };
                let line = isize::try_from(at + top).unwrap_or(isize::MAX);
                let line = line.saturating_sub(isize::try_from(anchor.top).unwrap_or(isize::MAX));
                Some(self.offset_pos(piece, line, cx))
            }
            _ => {
                let piece = self.piece_at(top);
                Some(LinePos { piece, line: top.saturating_sub(self.start(piece)) })
            }
        }
    }

    /// Notes the text above the first line, so that it stays first when lines wrap elsewhere.
    fn anchor_letters(&mut self, cx: &RenderContext<'_>) {
        let Some(LayoutKey { width, prose, theme, .. }) = self.key else { return };
        let Some(Anchor { item: Some(item), line, letters, .. }) = &mut self.anchor else { return };
        let at = item.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        let Some(layout) = at.and_then(|at| self.items.get_mut(at)) else { return };
        if theme == cx.style.theme.id() && (width, prose) != (cx.style.width, cx.style.prose) {
            let above = line.saturating_sub(usize::from(layout.gap));
            let lines = layout.lines(inner_widths(width, prose), cx.style.theme);
            let counted = || lines.iter().take(above).map(count_letters).sum();
            *letters = (above > 0 && !lines.is_empty()).then(counted);
        }
    }

    /// The first line of a piece after this many letters.
    fn line_after(&mut self, piece: usize, letters: usize, cx: &RenderContext<'_>) -> usize {
        self.measured_height(piece, cx);
        let Some(layout) = piece.checked_sub(1).and_then(|at| self.items.get_mut(at)) else {
            return 0;
        };
        let gap = usize::from(layout.gap);
        let mut above = 0;
        let full = |line: &&Line<'_>| {
            above += count_letters(line);
            above <= letters
        };
        gap + layout.lines(widths(&cx.style), cx.style.theme).iter().take_while(full).count()
    }

    /// The line `line` lines below the start of a piece, or above it if negative.
    fn offset_pos(&mut self, mut piece: usize, mut line: isize, cx: &RenderContext<'_>) -> LinePos {
        while line < 0 && piece > 0 {
            piece -= 1;
            line += isize::try_from(self.measured_height(piece, cx)).unwrap_or(isize::MAX);
        }
        let mut line = usize::try_from(line).unwrap_or_default();
        while piece < self.items.len() {
            let lines = self.measured_height(piece, cx);
            if line < lines {
                break;
            }
            line -= lines;
            piece += 1;
        }
        LinePos { piece, line }
    }

    /// The height of a piece, which is laid out if the height was only estimated.
    fn measured_height(&mut self, piece: usize, cx: &RenderContext<'_>) -> usize {
        let Some(at) = piece.checked_sub(1) else { return self.head };
        if !self.items[at].exact
            && let Some(item) = cx.transcript.get(self.first + at as u64)
        {
            self.lay_out(at, item, cx);
        }
        self.items[at].full_height()
    }

    fn lay_out(&mut self, at: usize, item: &TranscriptItem, cx: &RenderContext<'_>) {
        let layout = &mut self.items[at];
        let before = layout.full_height();
        let held = layout.cached_lines();
        layout.lay_out(item, cx);
        self.cached_lines = (self.cached_lines + layout.height).saturating_sub(held);
        if layout.full_height() != before {
            self.valid = self.valid.min(at);
        }
    }

    fn draw_item(
        &mut self,
        cx: &RenderContext<'_>,
        at: usize,
        skip: usize,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        let Some(item) = cx.transcript.get(self.first + at as u64) else { return };
        if self.items[at].cached_lines() == 0 {
            self.lay_out(at, item, cx);
        }
        let layout = &mut self.items[at];
        let gap = usize::from(layout.gap);
        let (blank, skip) = (gap.saturating_sub(skip), skip.saturating_sub(gap));
        let height = usize::from(area.height).saturating_sub(blank);
        let grows = matches!(&item.kind, ItemKind::Text { done: false, .. });
        if let Some(DrawnItem::Text(stream)) = layout.drawn.as_deref_mut() {
            let lines = stream.markdown.lines(widths(&cx.style), cx.style.theme);
            let count = lines.len();
            for (row, line) in lines.iter().enumerate().skip(skip).take(height) {
                let mut line = indented(line.clone());
                if item.is_void {
                    let dim = cx.style.theme.dim;
                    line.spans.iter_mut().for_each(|span| span.style = span.style.patch(dim));
                }
                if grows && cx.caret && row + 1 == count {
                    line.spans
                        .push(Span::styled(cx.style.theme.glyphs.caret, cx.style.theme.accent));
                }
                put(buffer, area, blank + row - skip, &line);
            }
        } else if let Some(DrawnItem::Lines(lines)) = layout.drawn.as_deref() {
            for (row, line) in lines.iter().skip(skip).take(height).enumerate() {
                put(buffer, area, blank + row, line);
            }
            if skip == 0 && height > 0 && !lines.is_empty() && is_running(item) {
                let sign = Glyph::Spinner.sign(cx.style.theme.glyphs, cx.spinner);
                put(buffer, area, blank, &Line::styled(sign, cx.style.theme.accent));
            }
        }
    }

    /// Updates the heights. Lays out only changed items, and none of a long transcript that is new to
    /// it.
    fn refresh(&mut self, cx: &RenderContext<'_>) {
        let transcript = cx.transcript;
        let ids = transcript.ids();
        let ItemStyle { width, prose, theme, rest, .. } = cx.style;
        let key = Some(LayoutKey { width, prose, theme: theme.id(), dense: cx.dense, rest });
        let known = (self.key == key && self.first == ids.start)
            .then(|| transcript.changed_since(self.revision))
            .flatten();
        let anew = known.is_none();
        if anew {
            self.anchor_letters(cx);
            let (anchor, grown) = (self.anchor, self.grown);
            *self = Self { key, first: ids.start, anchor, grown, ..Self::default() };
        }
        self.revision = transcript.revision();
        self.head = cx.head.len();
        let count = usize::try_from(ids.end - ids.start).unwrap_or_default();
        self.items.resize_with(count, ItemLayout::default);
        self.above.resize(count, 0);
        let guessed = anew && transcript.bytes() > EAGER_LAYOUT_BYTES;
        let changed = known.unwrap_or_else(|| ids.clone().collect());
        for id in changed.into_iter().chain(cx.live_items.iter().copied()) {
            let Some(item) = transcript.get(id) else { continue };
            let at = usize::try_from(id - self.first).unwrap_or_default();
            let before = self.items[at].full_height();
            let above = id.checked_sub(1).and_then(|above| transcript.get(above));
            let is_first = above.is_none() && self.head == 0;
            self.items[at].gap = !is_first && !cx.dense && has_gap(above, item);
            if guessed {
                self.items[at].estimate(item, &cx.style);
                continue;
            }
            self.lay_out(at, item, cx);
            let after = self.items[at].full_height();
            if after != before {
                self.valid = self.valid.min(at);
            }
            // What the user expands is not new.
            let open = item.is_open(cx.style.full);
            let was_open = std::mem::replace(&mut self.items[at].expanded, open);
            if !anew && was_open == open {
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

    /// Drops hidden lines once there are too many.
    fn evict_hidden(&mut self, visible: &std::ops::Range<usize>) {
        if self.cached_lines <= MAX_CACHED_LINES {
            return;
        }
        self.cached_lines = 0;
        let last = self.items.len().saturating_sub(1);
        for (at, layout) in self.items.iter_mut().enumerate() {
            if visible.contains(&(at + 1)) || at == last {
                self.cached_lines += layout.cached_lines();
            } else {
                layout.drawn = None;
            }
        }
    }
}

fn count_letters(line: &Line<'_>) -> usize {
    let letters = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).count();
    line.spans.iter().map(|span| letters(&span.content)).sum()
}

/// Whether a blank line stands before an item. Notices in a row need none between them.
fn has_gap(above: Option<&TranscriptItem>, item: &TranscriptItem) -> bool {
    match item.kind {
        ItemKind::Hidden | ItemKind::Batch { form: BatchForm::Rows { .. }, .. } => false,
        ItemKind::Notice { .. } => {
            !above.is_some_and(|above| matches!(above.kind, ItemKind::Notice { .. }))
        }
        _ => true,
    }
}

/// The visible pieces, and the number of lines of the first that are scrolled off.
struct VisibleRange {
    pieces: std::ops::Range<usize>,
    skip: usize,
    extent: Extent,
}

#[cfg(test)]
mod tests;
