//! The scroll position of a transcript, and the part of it in the last frame.

use super::item::ItemId;

/// Scroll position of a transcript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scroll {
    /// The line at the top; `None` follows the end.
    pub top: Option<usize>,
    /// The item to bring to the top at the next frame.
    pub goto: Option<ItemId>,
    /// How many lines of that item are above the top, out of how many. Another width may give it more.
    pub above: (usize, usize),
    /// Number of lines that existed when it stopped following.
    pub seen: usize,
}

/// The extent of a scrolled area in the last frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    pub total: usize,
    pub height: usize,
    pub top: usize,
    /// The items at the top and at the bottom.
    pub item: ItemId,
    pub last: ItemId,
    /// How many lines of the item at the top are above it, out of how many.
    pub above: (usize, usize),
    /// Lines added since the start. Unlike `total`, corrected estimates don't change it.
    pub grown: usize,
}

impl Scroll {
    /// A position with this item at the top.
    pub fn at_item(item: ItemId) -> Self {
        Self { top: Some(0), goto: Some(item), ..Self::default() }
    }

    /// The same position in a view of another width.
    pub fn in_other_view(self, extent: Extent) -> Self {
        match self.top {
            None => Self::default(),
            Some(_) => Self { above: extent.above, ..Self::at_item(extent.item) },
        }
    }

    /// Scrolls by lines, down if positive; at the end it follows again.
    pub fn scroll_by(&mut self, extent: Extent, lines: isize) {
        let last = extent.last_top();
        let top = self.top.unwrap_or(last).min(last);
        let next = top.saturating_add_signed(lines);
        if self.top.is_none() {
            self.seen = extent.grown;
        }
        self.top = (next < last).then_some(next);
        self.goto = None;
    }
}

impl Extent {
    /// The line at the top of the last page.
    pub fn last_top(self) -> usize {
        self.total.saturating_sub(self.height)
    }

    /// Whether the last line is visible.
    pub fn is_at_end(self) -> bool {
        self.top >= self.last_top()
    }

    /// A page minus two lines of overlap.
    pub fn page_step(self) -> isize {
        isize::try_from(self.height.saturating_sub(2).max(1)).unwrap_or(1)
    }
}

/// A laid-out line of a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SearchHit {
    pub item: ItemId,
    pub line: usize,
}

/// Direction of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchDirection {
    Forward,
    Backward,
}

/// Result of a search. The view computes it, since lines are only known after layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchResult {
    /// Whether this frame has performed the search that a key requested.
    pub requested: bool,
    /// The current match, and its number from 1; 0 when there is none.
    pub hit: Option<SearchHit>,
    pub number: usize,
    pub total: usize,
    /// Whether the requested search went past an end and continued at the other one.
    pub wrapped: bool,
    /// The row of the current match in the frame.
    pub row: Option<u16>,
}
