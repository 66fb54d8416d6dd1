//! Draws a transcript: only what is visible is laid out, and its height is remembered. The height of the rest is
//! guessed until it comes into sight, so that a long conversation costs no more to open than a short one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::model::{Extent, Item, ItemId, ItemKind, Scroll, Transcript};
use crate::tui::text::{Highlighter, MarkdownStream, Widths};
use crate::tui::theme::Theme;

use super::items::{self, Look, indented};
use super::paint::put;

/// Laid-out lines that are kept beyond the visible ones.
const LINES_KEPT: usize = 2000;

/// A transcript with no more text than this, in bytes, is laid out whole: nothing in it has to be guessed.
const LAID_AT_ONCE: usize = 32 * 1024;

/// A view that moved by no more than this many pages moves line by line, whatever was guessed about what comes.
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
}

#[derive(Default)]
struct LaidItem {
    height: usize,
    /// Whether the height was measured, not guessed.
    exact: bool,
    /// A blank line stands above it.
    gap: bool,
    lines: Option<Vec<Line<'static>>>,
    /// The markdown that grows, with the bytes and the edition that it has taken.
    stream: Option<Box<(MarkdownStream, usize, u32)>>,
}

/// Where the last frame began: its number among all lines as they were counted then, and what stood there.
#[derive(Clone, Copy)]
struct Anchor {
    top: usize,
    /// `None`: the lines above the first item.
    item: Option<ItemId>,
    line: usize,
}

/// A line as the piece it belongs to, and its place in it. Piece 0 stands above the first item, piece n is item n - 1.
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
    /// Whether a caret stands behind text that grows.
    pub caret: bool,
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

    /// Brings heights up to date: only items that changed are laid out, and of a long transcript that is new here none.
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
            self.items[at].gap =
                at > 0 && matches!(item.kind, ItemKind::Prompt { task: false, .. });
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

impl LaidItem {
    fn outer(&self) -> usize {
        self.height + usize::from(self.gap)
    }

    /// The lines that it holds now.
    fn held(&self) -> usize {
        if self.lines.is_some() || self.stream.is_some() { self.height } else { 0 }
    }

    /// A height without laying anything out.
    fn guess(&mut self, item: &Item, look: &Look<'_>) {
        *self = Self { height: items::guess(item, look), gap: self.gap, ..Self::default() };
    }

    fn lay(&mut self, item: &Item, sight: &Sight<'_>, look: &Look<'_>) {
        self.exact = true;
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
fn widths(sight: &Sight<'_>, width: u16) -> Widths {
    let inner = |cells: u16| cells.saturating_sub(3).max(1);
    Widths { prose: inner(sight.prose.min(width)), wide: inner(width) }
}

fn look<'a>(sight: &Sight<'a>, width: u16) -> Look<'a> {
    Look { theme: sight.theme, width, prose: sight.prose.min(width), full: sight.full }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Rect = Rect { x: 0, y: 0, width: 60, height: 20 };

    fn long(messages: usize) -> Transcript {
        let mut transcript = Transcript::default();
        for at in 0..messages {
            let text = format!("question {at}");
            transcript.push(ItemKind::Prompt { text, task: false });
            let text =
                format!("Answer {at}. {}\n\n- one\n- two\n\nend {at}", "many words ".repeat(40));
            transcript.text_finished(&text);
        }
        transcript
    }

    fn draw(
        laid: &mut Laid,
        transcript: &Transcript,
        scroll: Scroll,
        area: Rect,
    ) -> (Extent, Vec<String>) {
        let theme = Theme::default();
        let sight = Sight {
            theme: &theme,
            highlighter: &Highlighter::off(),
            transcript,
            scroll,
            head: vec![Line::from("head")],
            live: &|_| None,
            live_item: None,
            prose: area.width,
            full: false,
            caret: false,
        };
        let mut buffer = Buffer::empty(area);
        let extent = laid.draw(&sight, area, &mut buffer);
        let row = |y| (0..area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (extent, (0..area.height).map(|y| row(y).trim_end().to_owned()).collect())
    }

    fn at(top: usize) -> Scroll {
        Scroll { top: Some(top), ..Scroll::default() }
    }

    #[test]
    fn a_long_history_lays_out_only_what_is_seen_at_the_end_and_at_the_beginning() {
        let (transcript, mut laid) = (long(1000), Laid::default());
        let (end, lines) = draw(&mut laid, &transcript, Scroll::default(), AREA);
        assert_eq!(lines.last().map(String::as_str), Some("  end 999"));
        assert!(laid.measured() < 10, "{}", laid.measured());
        assert!(end.total > 10_000);
        let (_, lines) = draw(&mut laid, &transcript, at(0), AREA);
        assert_eq!(lines[..2], ["head", "› question 0"]);
        assert!(laid.measured() < 20, "{}", laid.measured());
    }

    #[test]
    fn scrolling_through_guessed_heights_moves_by_exactly_the_lines_asked_for() {
        let (transcript, mut laid) = (long(300), Laid::default());
        let (mut extent, mut lines) = draw(&mut laid, &transcript, Scroll::default(), AREA);
        for _ in 0..100 {
            let (next, shown) = draw(&mut laid, &transcript, at(extent.top - 7), AREA);
            assert_eq!(shown[7..], lines[..13]);
            (extent, lines) = (next, shown);
        }
        for _ in 0..50 {
            let (next, shown) = draw(&mut laid, &transcript, at(extent.top + 7), AREA);
            assert_eq!(shown[..13], lines[7..]);
            (extent, lines) = (next, shown);
        }
    }

    #[test]
    fn the_place_holds_at_another_width_and_while_text_comes_below() {
        let (mut transcript, mut laid) = (long(300), Laid::default());
        draw(&mut laid, &transcript, Scroll::default(), AREA);
        let there = Scroll { top: Some(0), goto: Some(200), seen: 0 };
        let (extent, lines) = draw(&mut laid, &transcript, there, AREA);
        assert_eq!(lines[1], "› question 100");
        transcript.push(ItemKind::Prompt { text: "later".to_owned(), task: false });
        let (later, same) = draw(&mut laid, &transcript, at(extent.top), AREA);
        assert_eq!((&same, later.grown - extent.grown), (&lines, 2));
        let narrow = Rect { width: 40, ..AREA };
        let (_, lines) = draw(&mut laid, &transcript, at(later.top), narrow);
        assert_eq!(lines[1], "› question 100");
    }
}
