//! The input of a layout: the transcript, its style and position, and the search in it.

use ratatui::text::Line;

use crate::tui::text::Highlighter;
use crate::tui::transcript::draw::ItemStyle;
use crate::tui::transcript::{
    ItemId, Scroll, SearchDirection, SearchHit, TranscriptItem, TranscriptState,
};

/// Everything needed to draw a transcript.
pub struct RenderContext<'a> {
    pub style: ItemStyle<'a>,
    pub highlighter: &'a Highlighter,
    pub transcript: &'a TranscriptState,
    pub scroll: Scroll,
    /// Lines above the first item.
    pub head: Vec<Line<'static>>,
    /// Returns the lines of an item that changes independently of the transcript; `None` for others.
    pub live: &'a dyn Fn(&TranscriptItem) -> Option<Vec<Line<'static>>>,
    /// The items that `live` redraws each time.
    pub live_items: Vec<ItemId>,
    /// Whether items follow each other without blank lines, as in a pane.
    pub dense: bool,
    /// Whether growing text ends with a caret.
    pub caret: bool,
    /// The spinner's frame; `None` stops it.
    pub spinner: Option<usize>,
    /// The search in this transcript.
    pub find: Option<FindRequest<'a>>,
}

impl<'a> RenderContext<'a> {
    /// A transcript with nothing above it, nothing live and no search.
    pub fn new(
        style: ItemStyle<'a>,
        highlighter: &'a Highlighter,
        transcript: &'a TranscriptState,
        scroll: Scroll,
    ) -> Self {
        Self {
            style,
            highlighter,
            transcript,
            scroll,
            head: Vec::new(),
            live: &|_| None,
            live_items: Vec::new(),
            dense: false,
            caret: false,
            spinner: None,
            find: None,
        }
    }
}

/// The query, and where to search from.
#[derive(Clone, Copy)]
pub struct FindRequest<'a> {
    pub query: &'a str,
    /// The current hit.
    pub hit: Option<SearchHit>,
    pub seek: Option<SearchDirection>,
}
