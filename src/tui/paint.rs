//! Drawing helpers that all views share.

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use crate::tui::agents::AgentState;
use crate::tui::text::{first_of_joined, truncate_line, width};
use crate::tui::theme::{Glyph, Theme, on_ground};

/// The theme and the spinner's frame.
#[derive(Clone, Copy)]
pub struct Painter<'a> {
    pub theme: &'a Theme,
    /// The spinner's frame; `None` stops it.
    pub frame: Option<usize>,
}

impl Painter<'_> {
    /// The sign of a state.
    pub fn sign(&self, glyph: Glyph) -> &'static str {
        glyph.sign(self.theme.glyphs, self.frame)
    }

    /// The colour of an agent.
    pub fn agent(&self, agent: &AgentState) -> Style {
        self.theme.agent(agent.info.color.as_deref(), agent.colour)
    }

    /// The style of a state.
    pub fn style(&self, glyph: Glyph) -> Style {
        match glyph {
            Glyph::Spinner => self.theme.accent,
            Glyph::Queued | Glyph::Waits => self.theme.dim,
            Glyph::Asks => self.theme.question,
            Glyph::Done => self.theme.good,
            Glyph::Partial | Glyph::Empty => self.theme.question,
            Glyph::Cancelled => self.theme.cancelled,
            Glyph::Failed => self.theme.bad,
        }
    }
}

/// A bar of `cells` for a part of a whole: `━━━┈┈┈┈┈┈┈`. From 80 % on it is a warning.
pub fn gauge(theme: &Theme, used: f64, whole: f64, cells: u16, style: Style) -> [Span<'static>; 2] {
    let part = if whole > 0.0 { (used / whole).clamp(0.0, 1.0) } else { 1.0 };
    // A part that is not nothing shows, and one that is not all leaves a rest.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most `cells`")]
    let filled = match (f64::from(cells) * part).round() as u16 {
        0 if part > 0.0 => 1.min(cells),
        all if all == cells && part < 1.0 => cells.saturating_sub(1),
        filled => filled,
    };
    let style = if part >= 0.8 { theme.question } else { style };
    let bar = |sign: &str, cells: u16| sign.repeat(usize::from(cells));
    [
        Span::styled(bar(theme.glyphs.gauge, filled), style),
        Span::styled(bar(theme.glyphs.gauge_rest, cells - filled), theme.dim),
    ]
}

/// Draws a line into one row of an area, ending in `…` if it is too long.
pub fn put(buffer: &mut Buffer, area: Rect, row: usize, line: &Line<'_>) {
    let Ok(row) = u16::try_from(row) else { return };
    if row >= area.height {
        return;
    }
    let (cells, y) = (usize::from(area.width), area.y + row);
    // No text takes more cells than bytes.
    let bytes: usize = line.spans.iter().map(|span| span.content.len()).sum();
    if bytes > cells && width(line.to_string().trim_end()) > cells {
        let owned = |span: &Span<'_>| Span::styled(span.content.to_string(), span.style);
        let spans: Vec<_> = line.spans.iter().map(owned).collect();
        let cut = truncate_line(Line { spans, ..Line::styled("", line.style) }, cells);
        buffer.set_line(area.x, y, &cut, area.width);
    } else {
        buffer.set_line(area.x, y, line, area.width);
    }
}

/// Draws lines from the top of an area.
pub fn put_all(buffer: &mut Buffer, area: Rect, lines: &[Line<'_>]) {
    for (row, line) in lines.iter().enumerate().take(usize::from(area.height)) {
        put(buffer, area, row, line);
    }
}

/// Gives a drawn cell a ground.
pub fn set_ground(cell: &mut Cell, ground: Style) {
    cell.set_style(on_ground(cell.style(), ground));
}

/// Gives the screen the theme's ground, if it has one, so that no text depends on the terminal's.
pub fn paint_ground(buffer: &mut Buffer, theme: &Theme) {
    if theme.ground.bg.is_none() {
        return;
    }
    for cell in &mut buffer.content {
        match (cell.bg, cell.fg) {
            (Color::Reset, _) => set_ground(cell, theme.ground),
            (_, Color::Reset) => cell.fg = theme.ground.fg.unwrap_or_default(),
            _ => {}
        }
    }
}

/// Blanks an area.
pub fn clear(buffer: &mut Buffer, area: Rect) {
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            if let Some(cell) = buffer.cell_mut((x, y)) {
                cell.reset();
            }
        }
    }
}

/// The width of some spans in cells.
pub fn spans_width(spans: &[Span<'_>]) -> usize {
    spans.iter().map(|span| width(&span.content)).sum()
}

/// A line with a left and a right part, and `fill` (or blanks) between. Truncates the left part first.
pub fn two_ends(
    mut left: Vec<Span<'static>>,
    right: Vec<Span<'static>>,
    room: usize,
    fill: Option<(&str, Style)>,
) -> Line<'static> {
    let right_width = spans_width(&right);
    let left_room = room.saturating_sub(right_width + usize::from(right_width > 0));
    cut_spans(&mut left, left_room);
    let gap = room.saturating_sub(spans_width(&left) + right_width);
    match fill {
        Some((sign, style)) if gap > 2 => {
            let tail = usize::from(right_width > 0);
            left.push(Span::raw(" "));
            left.push(Span::styled(sign.repeat(gap - 1 - tail), style));
            left.push(Span::raw(" ".repeat(tail)));
        }
        _ => left.push(Span::raw(" ".repeat(gap))),
    }
    left.extend(right);
    Line::from(left)
}

/// Truncates spans to a width, ending in `…` if anything is cut.
pub fn cut_spans(spans: &mut Vec<Span<'static>>, room: usize) {
    *spans = truncate_line(Line::from(std::mem::take(spans)), room).spans;
}

/// Truncates spans to a width, and ends them in `…` even if nothing is cut, since more follows elsewhere.
pub fn cut_with_more(spans: &mut Vec<Span<'static>>, room: usize, style: Style) {
    cut_spans(spans, room.saturating_sub(2));
    if !spans.last().is_some_and(|last| last.content.trim_end().ends_with('…')) {
        spans.push(Span::styled(" …", style));
    }
}

/// Highlights a text in an area, ignoring case.
pub fn highlight(buffer: &mut Buffer, area: Rect, text: &str, style: Style) {
    let letters: Vec<char> = text.to_lowercase().chars().collect();
    if letters.is_empty() {
        return;
    }
    for y in area.top()..area.bottom() {
        let row: Vec<(char, u16)> = (area.left()..area.right())
            .flat_map(|x| {
                buffer[(x, y)].symbol().chars().map(move |letter| (letter, x)).collect::<Vec<_>>()
            })
            .flat_map(|(letter, x)| letter.to_lowercase().map(move |lower| (lower, x)))
            .collect();
        for found in row.windows(letters.len()) {
            if found.iter().map(|(letter, _)| letter).eq(&letters) {
                for (_, x) in found {
                    set_ground(&mut buffer[(*x, y)], style);
                }
            }
        }
    }
}

/// The text in a border of a box: at its left and at its right end.
#[derive(Default)]
pub struct BorderText {
    pub left: Vec<Span<'static>>,
    pub right: Vec<Span<'static>>,
}

/// Draws a box with a title in its upper and a text in its lower border. Returns the area inside.
pub fn frame(
    buffer: &mut Buffer,
    area: Rect,
    theme: &Theme,
    style: Style,
    title: &str,
    foot: &str,
) -> Rect {
    let left = |words: &str| match words {
        "" => BorderText::default(),
        words => {
            let left = vec![Span::styled(words.to_owned(), style)];
            BorderText { left, ..BorderText::default() }
        }
    };
    frame_with(buffer, area, theme, style, left(title), left(foot))
}

/// Draws a box in a style, with texts in their own styles in its borders. Returns the area inside.
pub fn frame_with(
    buffer: &mut Buffer,
    area: Rect,
    theme: &Theme,
    style: Style,
    title: BorderText,
    foot: BorderText,
) -> Rect {
    clear(buffer, area);
    if area.width < 4 || area.height < 3 {
        return area;
    }
    let glyphs = theme.glyphs;
    let inner = usize::from(area.width) - 2;
    let edge = |left: &'static str, mut text: BorderText, right: &'static str| {
        let room = inner - 2;
        cut_spans(&mut text.right, room);
        let after = spans_width(&text.right);
        cut_spans(&mut text.left, room.saturating_sub(if after > 0 { after + 3 } else { 0 }));
        let mut spans = vec![Span::styled(left, style)];
        let pad = |mut text: Vec<Span<'static>>| {
            if !text.is_empty() {
                text.insert(0, Span::raw(" "));
                text.push(Span::raw(" "));
            }
            text
        };
        let (before, after) = (pad(text.left), pad(text.right));
        let fill = inner.saturating_sub(spans_width(&before) + spans_width(&after));
        spans.extend(before);
        spans.push(Span::styled(glyphs.rule.repeat(fill), style));
        spans.extend(after);
        spans.push(Span::styled(right, style));
        Line::from(spans)
    };
    let height = usize::from(area.height);
    put(buffer, area, 0, &edge(glyphs.top_left, title, glyphs.top_right));
    put(buffer, area, height - 1, &edge(glyphs.bottom_left, foot, glyphs.bottom_right));
    for y in area.y + 1..area.bottom() - 1 {
        buffer.set_string(area.x, y, glyphs.vertical, style);
        buffer.set_string(area.right() - 1, y, glyphs.vertical, style);
    }
    Rect::new(area.x + 2, area.y + 1, area.width.saturating_sub(4), area.height - 2)
}

/// Marks the visible part of lines on the border to the right of an area, if not all are visible: the
/// first visible one, the number of visible ones, and the number of all.
pub fn scrollbar(
    buffer: &mut Buffer,
    area: Rect,
    (top, height, all): (usize, usize, usize),
    painter: Painter<'_>,
    style: Style,
) {
    if height == 0 || height >= all {
        return;
    }
    let size = (height * height / all).max(1);
    let from = top * (height - size) / (all - height).max(1);
    for row in from..from + size {
        let Ok(row) = u16::try_from(row) else { return };
        if let Some(cell) = buffer.cell_mut((area.right() + 1, area.y + row)) {
            cell.set_symbol(painter.theme.glyphs.thumb).set_style(style);
        }
    }
}

/// Most bytes of one character.
const CHAR_BYTES: usize = 4;

/// Draws each sign joined from several emoji as the first of them, since terminals that do not join them draw
/// them over what is beside them. Leaves the area `whole` as it is.
pub fn narrow_joined(buffer: &mut Buffer, whole: Rect) {
    for at in buffer.area.positions() {
        let symbol = buffer[at].symbol();
        if symbol.len() > CHAR_BYTES
            && !whole.contains(at)
            && let Some(first) = first_of_joined(symbol)
        {
            buffer[at].set_char(first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_joined_from_emoji_are_drawn_as_the_first_one() {
        let text = "a👩\u{200d}👩\u{200d}👧b👍🏽c🎉d日e\u{301}⚠\u{fe0f}f ក្ក 🇪🇺 क्\u{200d}ष";
        let shown = |whole: Rect| {
            let mut buffer = Buffer::with_lines([text]);
            narrow_joined(&mut buffer, whole);
            buffer
        };
        let plain = "a👩b👍c🎉d日e\u{301}⚠\u{fe0f}f ក្ក 🇪🇺 क्\u{200d}ष";
        assert_eq!(shown(Rect::default()), Buffer::with_lines([plain]));
        assert_eq!(shown(Rect::new(0, 0, 50, 1)), Buffer::with_lines([text]));
        let mut flag = Buffer::with_lines(["🏳\u{fe0f}\u{200d}🌈x"]);
        narrow_joined(&mut flag, Rect::default());
        assert_eq!(flag, Buffer::with_lines(["🏳 x"]));
    }
}
