//! Draws a transcript: only what is visible is laid out, and its height is remembered. The height
//! of the rest is guessed until it comes into sight, so that a long conversation costs no more to
//! open than a short one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::keymap::Keymap;
use crate::tui::model::{Extent, Item, ItemId, ItemKind, Scroll, Search, Transcript};
use crate::tui::text::Highlighter;
use crate::tui::theme::Theme;

use super::items::{Look, indented};
use super::paint::put;
use item::{LaidItem, widths};

pub use search::Find;

mod item;
mod search;

/// Laid-out lines that are kept beyond the visible ones.
const LINES_KEPT: usize = 2000;

/// A transcript with no more text than this, in bytes, is laid out whole: nothing in it has to be guessed.
const LAID_AT_ONCE: usize = 32 * 1024;

/// A view that moved by no more than this many pages moves line by line, whatever was guessed about
/// what comes.
const NEAR: usize = 3;

/// What was laid out of one transcript, at one width and theme.
#[derive(Default)]
pub struct Laid {
    key: Option<(u16, u16, u64)>,
    revision: u64,
    first: ItemId,
    /// Lines above the first item.
    head: usize,
    items: Vec<LaidItem>,
    /// Lines above each item; valid up to `sound`.
    above: Vec<usize>,
    sound: usize,
    kept: usize,
    anchor: Option<Anchor>,
    /// Lines that have come since the beginning, by items that came or grew.
    grown: usize,
    /// The text that the items' hits are of.
    query: String,
    found: Option<Search>,
}

/// Where the last frame began: its number among all lines as they were counted then, and what stood there.
#[derive(Clone, Copy)]
struct Anchor {
    top: usize,
    /// `None`: the lines above the first item.
    item: Option<ItemId>,
    line: usize,
}

/// A line as the piece it belongs to, and its place in it. Piece 0 stands above the first item,
/// piece n is item n - 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    piece: usize,
    line: usize,
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
    pub keymap: &'a Keymap,
    /// Whether a caret stands behind text that grows.
    pub caret: bool,
    /// What is searched for in it.
    pub find: Option<Find<'a>>,
}

impl Laid {
    /// Draws the visible part and answers with what was shown.
    pub fn draw(&mut self, sight: &Sight<'_>, area: Rect, buffer: &mut Buffer) -> Extent {
        if area.height == 0 || area.width == 0 {
            return Extent::default();
        }
        let Placed { shown, skip, extent } = self.place(sight, area);
        let height = usize::from(area.height);
        let (mut row, mut skip) = (0, skip);
        for piece in shown.clone() {
            let lines = self.outer(piece) - skip;
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
        self.forget_far(&shown);
        extent
    }

    /// Finds out what would be shown, without drawing it.
    pub fn measure(&mut self, sight: &Sight<'_>, area: Rect) -> Extent {
        if area.height == 0 || area.width == 0 {
            return Extent::default();
        }
        let Placed { shown, extent, .. } = self.place(sight, area);
        self.forget_far(&shown);
        extent
    }

    /// The theme or its colours are others now: everything is laid out anew, at the same place.
    pub fn forget(&mut self) {
        self.key = None;
    }

    /// How many items have been laid out since the width changed.
    #[cfg(test)]
    fn measured(&self) -> usize {
        self.items.iter().filter(|item| item.exact).count()
    }

    /// Brings everything up to date and decides what is visible.
    fn place(&mut self, sight: &Sight<'_>, area: Rect) -> Placed {
        self.refresh(sight, area.width);
        let look = look(sight, area.width);
        let height = usize::from(area.height);
        let end = self.end(sight, &look, height);
        let spot = self.wanted(sight, &look, height).map_or(end, |spot| spot.min(end));
        let sought = self.find(sight, &look, height, spot);
        let spot = sought.map_or(spot, |spot| spot.min(end));
        let mut last = spot.piece;
        let mut room = height + spot.line;
        loop {
            let lines = self.laid(last, sight, &look);
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
        let total = self.start(self.items.len()) + self.outer(self.items.len());
        let (item, grown) = (item.unwrap_or(self.first), self.grown);
        let extent = Extent { total, height, top, item, grown };
        Placed { shown: spot.piece..last + 1, skip: spot.line, extent }
    }

    /// Where the last page begins.
    fn end(&mut self, sight: &Sight<'_>, look: &Look<'_>, height: usize) -> Spot {
        let mut room = height;
        let mut piece = self.items.len();
        loop {
            let lines = self.laid(piece, sight, look);
            if lines >= room {
                return Spot { piece, line: lines - room };
            }
            if piece == 0 {
                return Spot { piece, line: 0 };
            }
            room -= lines;
            piece -= 1;
        }
    }

    /// Where the view wants to begin; `None` follows the end.
    fn wanted(&mut self, sight: &Sight<'_>, look: &Look<'_>, height: usize) -> Option<Spot> {
        let range = sight.transcript.ids();
        let piece_of = |id: ItemId| {
            let at = id.clamp(range.start, range.end.max(range.start + 1) - 1) - range.start;
            usize::try_from(at).unwrap_or_default() + 1
        };
        if let Some(id) = sight.scroll.goto {
            let piece = piece_of(id).min(self.items.len());
            return Some(Spot { piece, line: 0 });
        }
        let top = sight.scroll.top?;
        match self.anchor {
            Some(anchor) if top.abs_diff(anchor.top) <= NEAR * height => {
                let piece = anchor.item.map_or(0, piece_of).min(self.items.len());
                let line = isize::try_from(anchor.line + top).unwrap_or(isize::MAX);
                let line = line.saturating_sub(isize::try_from(anchor.top).unwrap_or(isize::MAX));
                Some(self.walk(piece, line, sight, look))
            }
            _ => {
                let piece = self.piece_at(top);
                Some(Spot { piece, line: top.saturating_sub(self.start(piece)) })
            }
        }
    }

    /// The line that is so many lines below the start of a piece, or above it.
    fn walk(
        &mut self,
        mut piece: usize,
        mut line: isize,
        sight: &Sight<'_>,
        look: &Look<'_>,
    ) -> Spot {
        while line < 0 && piece > 0 {
            piece -= 1;
            line += isize::try_from(self.laid(piece, sight, look)).unwrap_or(isize::MAX);
        }
        let mut line = usize::try_from(line).unwrap_or_default();
        while piece < self.items.len() {
            let lines = self.laid(piece, sight, look);
            if line < lines {
                break;
            }
            line -= lines;
            piece += 1;
        }
        Spot { piece, line }
    }

    /// The height of a piece, laid out if it was only guessed.
    fn laid(&mut self, piece: usize, sight: &Sight<'_>, look: &Look<'_>) -> usize {
        let Some(at) = piece.checked_sub(1) else { return self.head };
        if !self.items[at].exact
            && let Some(item) = sight.transcript.get(self.first + at as u64)
        {
            self.lay(at, item, sight, look);
        }
        self.items[at].outer()
    }

    fn lay(&mut self, at: usize, item: &Item, sight: &Sight<'_>, look: &Look<'_>) {
        let laid = &mut self.items[at];
        let before = laid.outer();
        let held = laid.held();
        laid.lay(item, sight, look);
        self.kept = (self.kept + laid.height).saturating_sub(held);
        if laid.outer() != before {
            self.sound = self.sound.min(at);
        }
    }

    fn draw_item(
        &mut self,
        sight: &Sight<'_>,
        at: usize,
        skip: usize,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        let Some(item) = sight.transcript.get(self.first + at as u64) else { return };
        if self.items[at].held() == 0 {
            self.lay(at, item, sight, &look(sight, area.width));
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

    /// Brings heights up to date: only items that changed are laid out, and of a long transcript
    /// that is new here none.
    fn refresh(&mut self, sight: &Sight<'_>, width: u16) {
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
        self.items.resize_with(count, LaidItem::default);
        self.above.resize(count, 0);
        let look = look(sight, width);
        let guessed = anew && transcript.bytes() > LAID_AT_ONCE;
        let changed = known.unwrap_or_else(|| ids.clone().collect());
        for id in changed.into_iter().chain(sight.live_item) {
            let Some(item) = transcript.get(id) else { continue };
            let at = usize::try_from(id - self.first).unwrap_or_default();
            let before = self.items[at].outer();
            self.items[at].gap = at > 0
                && matches!(
                    item.kind,
                    ItemKind::Prompt { task: false, .. } | ItemKind::Report { .. }
                );
            if guessed {
                self.items[at].guess(item, &look);
                continue;
            }
            self.lay(at, item, sight, &look);
            let after = self.items[at].outer();
            if after != before {
                self.sound = self.sound.min(at);
            }
            if !anew {
                self.grown += after.saturating_sub(before);
            }
        }
        self.count_lines();
    }

    /// Adds the heights up, from the first that changed.
    fn count_lines(&mut self) {
        for at in self.sound..self.items.len() {
            self.above[at] = match at.checked_sub(1) {
                Some(before) => self.above[before] + self.items[before].outer(),
                None => self.head,
            };
        }
        self.sound = self.items.len().saturating_sub(1);
        if let Some(first) = self.above.first()
            && *first != self.head
        {
            self.sound = 0;
            self.count_lines();
        }
    }

    fn outer(&self, piece: usize) -> usize {
        piece.checked_sub(1).map_or(self.head, |at| self.items[at].outer())
    }

    /// Lines above a piece.
    fn start(&self, piece: usize) -> usize {
        piece.checked_sub(1).map_or(0, |at| self.above[at])
    }

    /// The piece that this line belongs to.
    fn piece_at(&self, line: usize) -> usize {
        self.above.partition_point(|above| *above <= line)
    }

    /// Gives up lines that are out of sight once there are many.
    fn forget_far(&mut self, shown: &std::ops::Range<usize>) {
        if self.kept <= LINES_KEPT {
            return;
        }
        self.kept = 0;
        let last = self.items.len().saturating_sub(1);
        for (at, laid) in self.items.iter_mut().enumerate() {
            if shown.contains(&(at + 1)) || at == last {
                self.kept += laid.held();
            } else {
                laid.lines = None;
                laid.stream = None;
            }
        }
    }
}

/// What is visible: the pieces, and the lines of the first that are above the edge.
struct Placed {
    shown: std::ops::Range<usize>,
    skip: usize,
    extent: Extent,
}

fn look<'a>(sight: &Sight<'a>, width: u16) -> Look<'a> {
    Look {
        theme: sight.theme,
        width,
        prose: sight.prose.min(width),
        full: sight.full,
        keymap: sight.keymap,
    }
}

#[cfg(test)]
mod tests;
