//! Boxes above the prompt, as large as their content: lists to choose from, and pages.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use crate::tui::composer::TextBuffer;
use crate::tui::paint::{
    BorderText, Painter, clear, cut_spans, frame_with, put, scrollbar, set_ground, spans_width,
};
use crate::tui::text::{truncate, width};
use crate::tui::theme::Theme;

/// Minimum width of a box, in cells.
const MIN_WIDTH: usize = 40;

/// Width of a screen below which a box itself says how to close it.
const NARROW: u16 = 40;

/// Minimum height of a box, if the content needs it.
const MIN_HEIGHT: u16 = 10;

/// Lines above a box in which the transcript stays visible.
const LINES_ABOVE: u16 = 3;

/// Cells at the sides of the content: the border and a blank.
const SIDES: u16 = 4;

/// The upper border of a box.
#[derive(Default)]
pub struct PopupTitle<'a> {
    pub name: &'a str,
    /// The text that filters the rows; `None` if they have no filter.
    pub filter: Option<&'a TextBuffer>,
    /// At the right end, such as `8 of 16`.
    pub note: String,
}

/// The room that the content of a box has in an area, without its border.
pub fn room(area: Rect) -> (u16, u16) {
    (area.width.saturating_sub(SIDES), tallest(area).saturating_sub(2))
}

/// The height of the tallest box in an area.
fn tallest(area: Rect) -> u16 {
    area.height.saturating_sub(LINES_ABOVE).max(MIN_HEIGHT).min(area.height)
}

/// The part of an area for a box with so many cells and lines of content, directly above what is below.
pub fn place(area: Rect, cells: usize, lines: usize) -> Rect {
    let cells = u16::try_from(cells.max(MIN_WIDTH)).unwrap_or(u16::MAX);
    let width = cells.saturating_add(SIDES).min(area.width);
    let lines = u16::try_from(lines.max(1)).unwrap_or(u16::MAX);
    let height = lines.saturating_add(2).min(tallest(area));
    Rect::new(area.x, area.bottom() - height, width, height)
}

/// Draws an empty box, with a blank line above it where it leaves enough of the transcript. Returns the area
/// inside, and the cursor of its filter.
pub fn draw(
    title: &PopupTitle<'_>,
    area: Rect,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) -> (Rect, Option<Position>) {
    let end = clear_beside(area, painter.theme, buffer);
    if area.y > LINES_ABOVE {
        clear(buffer, Rect { y: area.y - 1, height: 1, width: end.saturating_sub(area.x), ..area });
    }
    draw_over(title, area, painter, buffer)
}

/// Draws an empty box, and changes nothing around it.
pub fn draw_over(
    title: &PopupTitle<'_>,
    area: Rect,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) -> (Rect, Option<Position>) {
    let theme = painter.theme;
    let mut left =
        vec![Span::styled(title.name.to_owned(), theme.accent.add_modifier(Modifier::BOLD))];
    let note = Some(&title.note).filter(|note| !note.is_empty());
    let right =
        note.map(|note| Span::styled(note.clone(), theme.dim)).into_iter().collect::<Vec<_>>();
    let mut cursor = None;
    if let Some(filter) = title.filter {
        left.push(Span::styled(format!(" {} ", theme.glyphs.prompt), theme.dim));
        let before = spans_width(&left);
        if filter.is_empty() {
            left.push(Span::styled("type to filter", theme.dim));
        } else {
            let room = usize::from(area.width).saturating_sub(before + spans_width(&right) + 9);
            left.push(Span::styled(truncate(filter.text(), room).into_owned(), theme.text));
        }
        let typed = width(&filter.text()[..filter.cursor()]);
        let column = u16::try_from(before + typed + 2).unwrap_or(u16::MAX);
        let at = Position { x: area.x.saturating_add(column), y: area.y };
        cursor = Some(at).filter(|at| at.x + 2 < area.right());
    }
    // A narrow screen has no line for hints.
    let close = (area.width < NARROW).then(|| Span::styled("Esc closes", theme.dim));
    let foot = BorderText { left: close.into_iter().collect(), right: Vec::new() };
    let title = BorderText { left, right };
    (frame_with(buffer, area, theme, theme.dim, title, foot), cursor)
}

/// Blanks what a box leaves of the lines that it cuts: up to the vertical line before the next pane, if
/// there is one, else up to the edge. Returns where that is.
pub fn clear_beside(area: Rect, theme: &Theme, buffer: &mut Buffer) -> u16 {
    let right = buffer.area.right();
    let is_line = |x: &u16| {
        let rows = area.top()..area.bottom();
        let those = rows.filter(|y| buffer[(*x, *y)].symbol() == theme.glyphs.vertical);
        // Below the panes, there is no line.
        those.count() * 2 > usize::from(area.height)
    };
    // A box that ends on the line cuts no pane.
    let end = (area.right().saturating_sub(2)..right).find(is_line).unwrap_or(right);
    clear(buffer, Rect { x: area.right(), width: end.saturating_sub(area.right()), ..area });
    end
}

/// A list as drawn.
#[derive(Clone, Debug, Default)]
pub struct DrawnList {
    /// The cursor of its filter.
    pub cursor: Option<Position>,
    /// The lines that it has room for, and the first one that is visible.
    pub lines: usize,
    pub top: usize,
    /// Where its rows are, for the mouse.
    pub rows: Vec<(Rect, usize)>,
}

/// The lines of a list that are visible.
#[derive(Clone, Copy, Debug)]
pub struct VisibleLines {
    /// How many there is room for.
    pub room: usize,
    /// The first of them.
    pub top: usize,
    area: Rect,
}

impl VisibleLines {
    /// Where the rows of the list are, given the row in each of its lines. Headings are none.
    pub fn rows(self, row_of: impl Fn(usize) -> Option<usize>) -> Vec<(Rect, usize)> {
        let lines = self.area.rows().zip(self.top..);
        lines.filter_map(|(area, line)| Some((area, row_of(line)?))).collect()
    }
}

/// Draws rows with a scrollbar in the border to the right: from the line `top` on if the selected row is
/// visible then, otherwise scrolled so that it is in the middle. A `selected` out of range selects none.
pub fn draw_rows(
    lines: Vec<Line<'static>>,
    selected: usize,
    top: Option<usize>,
    area: Rect,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) -> VisibleLines {
    let (height, all) = (usize::from(area.height), lines.len());
    let middle = if selected < all { selected.saturating_sub(height / 2) } else { 0 };
    let is_visible = |top: &usize| (*top..*top + height).contains(&selected);
    let first = top.filter(is_visible).unwrap_or(middle).min(all.saturating_sub(height));
    for (at, line) in lines.into_iter().enumerate().skip(first).take(height) {
        let chosen = at == selected;
        let mark = if chosen { painter.theme.glyphs.focus } else { " " };
        let mut spans = vec![Span::styled(mark, painter.theme.accent), Span::raw(" ")];
        spans.extend(line.spans.into_iter().map(|span| span.patch_style(line.style)));
        cut_spans(&mut spans, usize::from(area.width));
        put(buffer, area, at - first, &Line::from(spans));
        if let Some(y) = u16::try_from(at - first).ok().filter(|_| chosen) {
            let row = Rect { y: area.y + y, height: 1, ..area };
            for cell in row.intersection(area).positions() {
                set_ground(&mut buffer[cell], selection(painter.theme));
            }
        }
    }
    scrollbar(buffer, area, (first, height, all), painter, painter.theme.accent);
    VisibleLines { room: height, top: first, area }
}

/// The style of the selected row. One that is reversed has no room for faint or coloured text.
fn selection(theme: &Theme) -> Style {
    let style = theme.selection;
    match style.add_modifier.contains(Modifier::REVERSED) {
        true => style.fg(Color::Reset).bg(Color::Reset).remove_modifier(Modifier::DIM),
        false => style,
    }
}

/// `8 of 16`, the place of the selected row among those that there are or that a filter has found, for a
/// list that is cut or filtered; otherwise nothing.
pub fn position(selected: usize, found: usize, is_cut: bool, is_filtered: bool) -> String {
    match found > 0 && (is_cut || is_filtered) {
        true => format!("{} of {found}", selected.min(found - 1) + 1),
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_as_large_as_its_content_and_leaves_some_of_the_transcript() {
        let body = Rect::new(0, 0, 120, 36);
        assert_eq!(place(body, 60, 5), Rect::new(0, 29, 64, 7));
        assert_eq!(place(body, 3, 0), Rect::new(0, 33, 44, 3));
        assert_eq!(place(body, 500, 500), Rect::new(0, 3, 120, 33));
        assert_eq!(place(Rect::new(0, 0, 60, 12), 90, 50), Rect::new(0, 2, 60, 10));
        assert_eq!(place(Rect::new(0, 0, 30, 4), 90, 50), Rect::new(0, 0, 30, 4));
    }

    #[test]
    fn a_count_is_the_place_among_those_found() {
        assert_eq!(position(0, 5, false, false), "");
        assert_eq!(position(7, 16, true, false), "8 of 16");
        assert_eq!(position(0, 3, false, true), "1 of 3");
        assert_eq!(position(5, 3, false, true), "3 of 3");
        assert_eq!(position(0, 0, false, true), "");
    }
}
