//! The draft with its cursor, and the completion menu above it.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use crate::tui::figures::{cut, width};
use crate::tui::model::Model;

use super::paint::{Pen, clear, put, two_ends};

/// Rows that the menu shows at once.
const MENU_ROWS: u16 = 8;

/// Cells before the draft.
const MARK: u16 = 2;

/// A draft in lines as wide as the prompt, and where its cursor stands.
#[derive(Default)]
pub struct Wrapped {
    pub lines: Vec<String>,
    pub row: usize,
    pub column: usize,
}

/// Breaks a text at the edge, so that nothing moves while it is written. Tabs take four cells.
#[must_use]
pub fn wrapped(text: &str, cursor: usize, room: u16) -> Wrapped {
    let room = usize::from(room).max(1);
    let mut lines = vec![String::new()];
    let (mut used, mut row, mut column) = (0, 0, 0);
    for (at, cluster) in text.grapheme_indices(true) {
        let newline = cluster == "\n";
        let shown = match cluster {
            "\n" => "",
            "\t" => "    ",
            other => other,
        };
        let cells = width(shown);
        if used + cells > room || (used == room && !newline) {
            lines.push(String::new());
            used = 0;
        }
        if at == cursor {
            (row, column) = (lines.len() - 1, used);
        }
        if newline {
            lines.push(String::new());
            used = 0;
            continue;
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(shown);
        }
        used += cells;
    }
    if cursor >= text.len() {
        if used >= room {
            lines.push(String::new());
            used = 0;
        }
        (row, column) = (lines.len() - 1, used);
    }
    Wrapped { lines, row, column }
}

/// The draft as it was wrapped last: long ones are not wrapped again for each frame.
#[derive(Default)]
pub struct Draft {
    key: Option<(u64, u16)>,
    wrapped: Wrapped,
}

impl Draft {
    /// Wraps the draft for this width of the screen, if anything changed.
    pub fn refresh(&mut self, model: &Model, screen: u16) {
        let draft = &model.composer.buffer;
        let key = Some((draft.revision(), screen));
        if self.key != key {
            self.key = key;
            self.wrapped = wrapped(draft.text(), draft.cursor(), screen.saturating_sub(MARK + 1));
        }
    }

    /// How many lines it needs.
    #[must_use]
    pub fn height(&self) -> u16 {
        u16::try_from(self.wrapped.lines.len()).unwrap_or(u16::MAX)
    }
}

/// Draws the draft and answers where the cursor stands.
pub fn draw(
    model: &Model,
    shown: &Draft,
    area: Rect,
    pen: Pen<'_>,
    buffer: &mut Buffer,
) -> Option<Position> {
    let theme = pen.theme;
    let draft = &model.composer.buffer;
    let wrapped = &shown.wrapped;
    let height = usize::from(area.height);
    let first = (wrapped.row + 1).saturating_sub(height);
    for (row, line) in wrapped.lines.iter().enumerate().skip(first).take(height) {
        let mark = if row == 0 { format!("{} ", theme.glyphs.prompt) } else { "  ".to_owned() };
        let text = Span::raw(line.clone());
        put(buffer, area, row - first, &Line::from(vec![Span::styled(mark, theme.accent), text]));
    }
    let idle = !model.main_works() && model.agents.alive().next().is_none();
    if draft.is_empty() && idle && model.focus.is_none() {
        let words = "Ask, or / commands, @ files and agents, ? keys";
        let room = usize::from(area.width.saturating_sub(MARK + 1));
        let spans = vec![
            Span::styled(format!("{} ", theme.glyphs.prompt), theme.accent),
            Span::styled(cut(words, room), theme.dim),
        ];
        put(buffer, area, 0, &Line::from(spans));
    }
    let x = area.x + MARK + u16::try_from(wrapped.column).ok()?;
    let y = area.y + u16::try_from(wrapped.row - first).ok()?;
    (x < area.right() && y < area.bottom()).then_some(Position { x, y })
}

/// Draws the completion menu over what stands above `bottom`.
pub fn draw_menu(model: &Model, bottom: u16, screen: u16, pen: Pen<'_>, buffer: &mut Buffer) {
    let Some(menu) = &model.composer.menu else { return };
    let theme = pen.theme;
    let count = u16::try_from(menu.items.len()).unwrap_or(u16::MAX);
    let rows = count.min(MENU_ROWS).min(bottom);
    if rows == 0 {
        return;
    }
    let area = Rect::new(0, bottom - rows, screen, rows);
    clear(buffer, area);
    let visible = usize::from(rows);
    let first = (menu.selected + 1).saturating_sub(visible);
    let label = menu.items.iter().map(|item| width(&item.insert)).max().unwrap_or(0).min(60);
    for (at, item) in menu.items.iter().enumerate().skip(first).take(visible) {
        let chosen = at == menu.selected;
        let mark = if chosen { theme.glyphs.focus } else { " " };
        let look = if chosen { theme.selection } else { theme.text };
        let name = cut(&item.insert, label);
        let pad = " ".repeat(label.saturating_sub(width(&name)) + 2);
        let left = vec![
            Span::styled(mark, theme.accent),
            Span::raw(" "),
            Span::styled(name, look),
            Span::raw(pad),
            Span::styled(item.detail.clone(), theme.dim),
        ];
        put(buffer, area, at - first, &two_ends(left, Vec::new(), usize::from(screen), None));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_draft_wraps_at_the_edge_and_the_cursor_follows() {
        let found = wrapped("abcdef", 6, 4);
        assert_eq!(
            (found.lines, found.row, found.column),
            (vec!["abcd".to_owned(), "ef".into()], 1, 2)
        );
        let full = wrapped("abcd", 4, 4);
        assert_eq!((full.row, full.column), (1, 0));
        let lines = wrapped("a\n\nb", 2, 4);
        assert_eq!((lines.lines.len(), lines.row, lines.column), (3, 1, 0));
    }
}
