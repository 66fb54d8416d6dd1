//! The search in a transcript: by line, as the lines are laid out.

use ratatui::text::Line;

use crate::tui::model::{Hit, Search, Seek};
use crate::tui::text::width;

use super::super::items::Look;
use super::item::{LaidItem, widths};
use super::{Laid, Sight, Spot};

/// Cells at the end of a line that a wrapped text may leave free.
const EDGE: usize = 3;

/// What is searched for, and from where.
#[derive(Clone, Copy)]
pub struct Find<'a> {
    pub query: &'a str,
    /// The line that the search is at.
    pub hit: Option<Hit>,
    pub seek: Option<Seek>,
}

impl Laid {
    /// What the search came to in the last frame.
    #[must_use]
    pub fn found(&self) -> Option<Search> {
        self.found
    }

    /// Counts the lines that match; where a key asked for one, answers with the start of a page
    /// that has it in the middle. `top` is where the page would start without.
    pub(super) fn find(
        &mut self,
        sight: &Sight<'_>,
        look: &Look<'_>,
        height: usize,
        top: Spot,
    ) -> Option<Spot> {
        self.found = None;
        let find = sight.find.filter(|find| !find.query.trim().is_empty())?;
        let all = self.hits(sight, look, &find.query.to_lowercase());
        let from = find.hit.unwrap_or_else(|| self.hit_at(top));
        let before = all.partition_point(|hit| *hit < from);
        let here = all.get(before) == Some(&from);
        let at = match find.seek {
            None => (here && find.hit.is_some()).then_some(before),
            Some(Seek::Forward) => {
                let next = before + usize::from(here && find.hit.is_some());
                Some(if next < all.len() { next } else { 0 })
            }
            Some(Seek::Backward) => before.checked_sub(1).or_else(|| all.len().checked_sub(1)),
        };
        let hit = at.and_then(|at| all.get(at).copied());
        let number = hit.and(at).map_or(0, |at| at + 1);
        let sought = find.seek.is_some();
        self.found = Some(Search { sought, hit, number, total: all.len() });
        let hit = hit.filter(|_| sought)?;
        let at = usize::try_from(hit.item.checked_sub(self.first)?).ok()?;
        let line = hit.line + usize::from(self.items.get(at)?.gap);
        let line = isize::try_from(line).ok()?.saturating_sub_unsigned(height / 2);
        Some(self.walk(at + 1, line, sight, look))
    }

    /// A place on the screen as a line of an item.
    fn hit_at(&self, spot: Spot) -> Hit {
        let Some(at) = spot.piece.checked_sub(1) else { return Hit { item: self.first, line: 0 } };
        let gap = self.items.get(at).map_or(0, |item| usize::from(item.gap));
        Hit { item: self.first + at as u64, line: spot.line.saturating_sub(gap) }
    }

    /// All lines with this text, in order. Only items that changed are looked at again.
    fn hits(&mut self, sight: &Sight<'_>, look: &Look<'_>, query: &str) -> Vec<Hit> {
        if self.query != query {
            query.clone_into(&mut self.query);
            self.items.iter_mut().for_each(|item| item.hits = None);
        }
        for at in 0..self.items.len() {
            if self.items[at].hits.is_some() {
                continue;
            }
            let Some(item) = sight.transcript.get(self.first + at as u64) else { continue };
            let passing = self.items[at].held() == 0;
            if passing {
                self.lay(at, item, sight, look);
            }
            self.items[at].hits = Some(self.items[at].lines_with(query, sight, look.width));
            if passing {
                self.kept = self.kept.saturating_sub(self.items[at].held());
                (self.items[at].lines, self.items[at].stream) = (None, None);
            }
        }
        self.count_lines();
        let items = (self.first..).zip(&self.items);
        let hits = items.flat_map(|(item, laid)| {
            laid.hits.iter().flatten().map(move |line| Hit { item, line: *line })
        });
        hits.collect()
    }
}

impl LaidItem {
    fn lines_with(&mut self, query: &str, sight: &Sight<'_>, room: u16) -> Vec<usize> {
        match (&mut self.stream, &self.lines) {
            (Some(stream), _) => {
                lines_with(stream.0.lines(widths(sight, room), sight.theme), query, room)
            }
            (None, Some(lines)) => lines_with(lines, query, room),
            (None, None) => Vec::new(),
        }
    }
}

/// The numbers of the lines with this text, in lower case. A text that is wrapped belongs to the
/// line where it starts.
fn lines_with(lines: &[Line<'_>], query: &str, room: u16) -> Vec<usize> {
    let texts: Vec<String> = lines.iter().map(|line| line.to_string().to_lowercase()).collect();
    let full = usize::from(room).saturating_sub(EDGE);
    let wrapped = |at: usize| {
        let Some(next) = texts.get(at + 1).filter(|next| !next.contains(query)) else {
            return false;
        };
        let (start, end) = (texts[at].trim_end(), next.trim_start());
        let word = end.split(' ').next().unwrap_or_default();
        width(start) + 1 + width(word) > full
            && (format!("{start} {end}").contains(query) || format!("{start}{end}").contains(query))
    };
    (0..texts.len()).filter(|at| texts[*at].contains(query) || wrapped(*at)).collect()
}
