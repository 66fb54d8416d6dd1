//! The search in a transcript, by laid-out line.

use ratatui::text::Line;

use crate::tui::transcript::draw::ItemStyle;
use crate::tui::transcript::layout::beginning::is_wrapped;
use crate::tui::transcript::layout::context::RenderContext;
use crate::tui::transcript::layout::item::{ItemLayout, widths};
use crate::tui::transcript::layout::{LayoutCache, LinePos};
use crate::tui::transcript::{ItemKind, SearchDirection, SearchHit, SearchResult};

/// Cells that wrapped text may leave free at the end of a line.
const WRAP_SLACK: usize = 3;

impl LayoutCache {
    /// The search result of the last frame.
    pub fn found(&self) -> Option<SearchResult> {
        self.found
    }

    /// Counts the matching lines. If a key asked for the next hit, returns the start of a page with
    /// that in the middle. `top` is where the page would start otherwise.
    pub(super) fn find(
        &mut self,
        cx: &RenderContext<'_>,
        height: usize,
        top: LinePos,
    ) -> Option<LinePos> {
        self.found = None;
        let find = cx.find.filter(|find| !find.query.trim().is_empty())?;
        let all = self.hits(cx, &find.query.to_lowercase());
        let from = find.hit.unwrap_or_else(|| self.hit_at(top));
        let before = all.partition_point(|hit| *hit < from);
        let at_hit = find.hit.is_some() && all.get(before) == Some(&from);
        let at = match find.seek {
            None => at_hit.then_some(before),
            Some(SearchDirection::Forward) => {
                let next = before + usize::from(at_hit);
                Some(if next < all.len() { next } else { 0 })
            }
            Some(SearchDirection::Backward) => {
                before.checked_sub(1).or_else(|| all.len().checked_sub(1))
            }
        };
        let hit = at.and_then(|at| all.get(at).copied());
        let number = hit.and(at).map_or(0, |at| at + 1);
        let requested = find.seek.is_some();
        let wrapped = match (find.seek, at) {
            (Some(SearchDirection::Forward), Some(at)) => before + usize::from(at_hit) > at,
            (Some(SearchDirection::Backward), Some(at)) => at >= before,
            _ => false,
        };
        let found = SearchResult { requested, hit, number, total: all.len(), wrapped, row: None };
        self.found = Some(found);
        let hit = hit.filter(|_| requested)?;
        let at = usize::try_from(hit.item.checked_sub(self.first)?).ok()?;
        let line = hit.line + usize::from(self.items.get(at)?.gap);
        let line = isize::try_from(line).ok()?.saturating_sub_unsigned(height / 2);
        Some(self.offset_pos(at + 1, line, cx))
    }

    /// Notes the row of the current hit in a view that starts at the line `top`.
    pub(super) fn locate_hit(&mut self, top: usize, height: usize) {
        let Some(found) = self.found else { return };
        let row = found.hit.and_then(|hit| {
            let at = usize::try_from(hit.item.checked_sub(self.first)?).ok()?;
            let line = self.start(at + 1) + usize::from(self.items.get(at)?.gap) + hit.line;
            let row = line.checked_sub(top).filter(|row| *row < height)?;
            u16::try_from(row).ok()
        });
        self.found = Some(SearchResult { row, ..found });
    }

    /// Converts a position into a line of an item.
    fn hit_at(&self, pos: LinePos) -> SearchHit {
        let Some(at) = pos.piece.checked_sub(1) else {
            return SearchHit { item: self.first, line: 0 };
        };
        let gap = self.items.get(at).map_or(0, |item| usize::from(item.gap));
        SearchHit { item: self.first + at as u64, line: pos.line.saturating_sub(gap) }
    }

    /// All lines that contain `query`, in order. Searches only changed items again.
    fn hits(&mut self, cx: &RenderContext<'_>, query: &str) -> Vec<SearchHit> {
        if self.query != query {
            query.clone_into(&mut self.query);
            self.items.iter_mut().for_each(|item| item.hits = None);
        }
        let wanted = letters(query);
        for at in 0..self.items.len() {
            if self.items[at].hits.is_some() {
                continue;
            }
            let Some(item) = cx.transcript.get(self.first + at as u64) else { continue };
            if !may_match(&item.kind, &wanted) {
                self.items[at].hits = Some(Box::default());
                continue;
            }
            let passing = self.items[at].cached_lines() == 0;
            if passing {
                self.lay_out(at, item, cx);
            }
            self.items[at].hits = Some(self.items[at].matching_lines(query, &cx.style));
            if passing {
                self.cached_lines = self.cached_lines.saturating_sub(self.items[at].cached_lines());
                self.items[at].drawn = None;
            }
        }
        self.count_lines();
        let items = (self.first..).zip(&self.items);
        let hits = items.flat_map(|(item, layout)| {
            layout.hits.iter().flatten().map(move |line| SearchHit { item, line: *line })
        });
        hits.collect()
    }
}

/// The letters and digits of a text, lower case.
fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether a line is an item of a numbered list, which may be shown with another number.
fn is_numbered(line: &str) -> bool {
    let item = line.trim_start_matches(|c: char| c.is_whitespace() || ">-*+".contains(c));
    let behind = item.trim_start_matches(|c: char| c.is_ascii_digit());
    behind.len() < item.len() && behind.starts_with(['.', ')'])
}

/// Whether an item can match a search for these letters. Saves the layout of most of a long
/// transcript: rendering plain prose changes signs and blanks, but no letters.
fn may_match(kind: &ItemKind, wanted: &str) -> bool {
    let text = match kind {
        ItemKind::Prompt { text, task: false } => &**text,
        // Entities, tags and links may be shown otherwise.
        ItemKind::Text { text, .. }
            if !text.contains(['&', '<'])
                && !text.contains("](")
                && !text.lines().any(is_numbered) =>
        {
            text
        }
        _ => return true,
    };
    wanted.is_empty() || letters(text).contains(wanted)
}

impl ItemLayout {
    fn matching_lines(&mut self, query: &str, style: &ItemStyle<'_>) -> Box<[usize]> {
        matching_lines(self.lines(widths(style), style.theme), query, style.width)
    }
}

/// The indices of the lines that contain `query`, which is lower case. A match across a wrap counts
/// for the line where it starts.
fn matching_lines(lines: &[Line<'_>], query: &str, room: u16) -> Box<[usize]> {
    let texts: Vec<String> = lines.iter().map(|line| line.to_string().to_lowercase()).collect();
    let full = usize::from(room).saturating_sub(WRAP_SLACK);
    let wrapped = |at: usize| {
        let Some(next) = texts.get(at + 1).filter(|next| !next.contains(query)) else {
            return false;
        };
        let (start, end) = (texts[at].trim_end(), next.trim_start());
        is_wrapped(start, end, full)
            && (format!("{start} {end}").contains(query) || format!("{start}{end}").contains(query))
    };
    (0..texts.len()).filter(|at| texts[*at].contains(query) || wrapped(*at)).collect()
}
