//! Draws the reader: a line with its position, and the transcript below it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::Span;

use crate::protocol::AgentPath;
use crate::tui::agents::batch;
use crate::tui::keymap::Action;
use crate::tui::model::TuiModel;
use crate::tui::paint::{self, Painter, put};
use crate::tui::reader::Reader;
use crate::tui::text::Highlighter;
use crate::tui::transcript::draw::ItemStyle;
use crate::tui::transcript::layout::{FindRequest, LayoutCache, RenderContext};
use crate::tui::transcript::{Extent, SearchResult};

/// The layout of the transcript that is read, kept between frames.
#[derive(Default)]
pub struct ReaderLayout {
    path: Option<AgentPath>,
    cache: LayoutCache,
}

impl ReaderLayout {
    /// Forces a new layout at the same position.
    pub fn invalidate(&mut self) {
        self.cache.invalidate();
    }

    /// Draws the reader. Returns the extent of its transcript and the result of the search.
    pub fn draw(
        &mut self,
        model: &TuiModel,
        reader: &Reader,
        highlighter: &Highlighter,
        area: Rect,
        painter: Painter<'_>,
        buffer: &mut Buffer,
    ) -> (Extent, Option<SearchResult>) {
        paint::clear(buffer, area);
        let (theme, width) = (painter.theme, area.width);
        if self.path.as_ref() != Some(&reader.path) {
            *self = Self { path: Some(reader.path.clone()), cache: LayoutCache::default() };
        }
        let keymap = &model.keymap;
        let (prose, full, rest) = (width, true, Some(Action::Expand));
        let style = ItemStyle { theme, width, prose, full, keymap, rest, highlighter };
        let transcript = model.transcript(&reader.path);
        let cx = RenderContext {
            live: &|item| batch::live_lines(model, item, width, false, painter),
            live_items: model.batch_item.filter(|_| reader.path.is_root()).into_iter().collect(),
            spinner: painter.frame,
            find: Some(FindRequest { query: &reader.query, hit: reader.hit, seek: reader.seek }),
            ..RenderContext::new(style, highlighter, transcript, reader.scroll)
        };
        let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        let extent = self.cache.draw(&cx, below.as_position(), below.height, buffer);
        paint::highlight(buffer, below, &reader.query, theme.selection);
        let found = self.cache.found();
        if let Some(row) = found.and_then(|found| found.row) {
            let line = Rect { y: below.y + row, height: 1, ..below };
            let style = theme.focus.add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
            paint::highlight(buffer, line, &reader.query, style);
        }
        let words = Span::styled(title(model, reader, extent, found), theme.accent);
        let rule = Some((theme.glyphs.rule, theme.dim));
        let line = paint::two_ends(vec![words], Vec::new(), usize::from(width), rule);
        put(buffer, area, 0, &line);
        (extent, found)
    }
}

/// `agent 2 · lines 6–40 of 312 · /route · 3 of 17`.
fn title(model: &TuiModel, reader: &Reader, extent: Extent, found: Option<SearchResult>) -> String {
    let name = model.label(&reader.path);
    if let Some(typed) = &reader.typing {
        return format!("{name} · search: {}", typed.text());
    }
    let last = (extent.top + extent.height).min(extent.total);
    let words = format!("{name} · lines {}–{last} of {}", (extent.top + 1).min(last), extent.total);
    if reader.query.is_empty() {
        return words;
    }
    let found = match found {
        Some(SearchResult { total: 0, .. }) | None => "not found".to_owned(),
        Some(SearchResult { number: 0, total, .. }) => format!("{total} found"),
        Some(SearchResult { number, total, .. }) => format!("{number} of {total}"),
    };
    format!("{words} · /{} · {found}", reader.query)
}
