//! Draws pages and the help, and their hints.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::protocol::WorkingTreeChanges;
use crate::tui::keymap::{Action, KeyContext, Keymap};
use crate::tui::model::TuiModel;
use crate::tui::page::changes::change_lines;
use crate::tui::page::{Page, PageBody, PageLine, Tone, help, job};
use crate::tui::paint::{Painter, put, scrollbar};
use crate::tui::popup::{self, PopupTitle};
use crate::tui::text::{Highlighter, sanitize, width, wrap_hanging};
use crate::tui::theme::Theme;
use crate::tui::transcript::Extent;

/// Maximum width of a page's text, in cells.
const MAX_WIDTH: u16 = 110;

/// Indent of wrapped lines whose text begins too far to the right.
const SHORT_INDENT: usize = 4;

/// Hints for the keys on a page of this extent; `close` says what Esc does.
pub fn hint(model: &TuiModel, page: Extent, close: &str) -> Vec<String> {
    let arrows = model.keymap.labels(KeyContext::List, &[Action::Up, Action::Down]);
    let scroll = arrows.map(|arrows| format!("{arrows} scroll"));
    let scroll = scroll.filter(|_| page.total > page.height);
    scroll.into_iter().chain([close.to_owned()]).collect()
}

/// Draws the help.
pub fn draw_help(
    keymap: &Keymap,
    scroll: usize,
    area: Rect,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) -> Extent {
    let lines = help::lines(keymap, popup::room(area).0, painter);
    draw_lines("keys and commands", &lines, scroll, area, painter, buffer)
}

/// Draws a page. Returns its extent.
pub fn draw(
    model: &TuiModel,
    page: &Page,
    area: Rect,
    layout: &mut ChangesLayout,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) -> Extent {
    let room = popup::room(area).0.min(MAX_WIDTH);
    let wrap = |lines: &[PageLine]| -> Vec<Line<'static>> {
        lines.iter().flat_map(|line| wrapped(line, room, painter.theme)).collect()
    };
    let lines = match &page.body {
        PageBody::Lines(lines) => &wrap(lines),
        PageBody::Job(id) => &wrap(&job::lines(model, id)),
        PageBody::Changes(changes) => layout.lines(changes, room, painter.theme),
    };
    draw_lines(&page.title, lines, page.scroll, area, painter, buffer)
}

/// The lines of the changes on a page, kept between frames.
pub struct ChangesLayout {
    highlighter: Highlighter,
    /// The changes, the width and the theme of the lines.
    key: Option<(Arc<WorkingTreeChanges>, u16, u64)>,
    lines: Vec<Line<'static>>,
}

impl ChangesLayout {
    pub fn new(highlighter: Highlighter) -> Self {
        Self { highlighter, key: None, lines: Vec::new() }
    }

    /// Drops the lines, so that plain code is highlighted.
    pub fn invalidate(&mut self) {
        self.key = None;
    }

    fn lines(
        &mut self,
        changes: &Arc<WorkingTreeChanges>,
        width: u16,
        theme: &Theme,
    ) -> &[Line<'static>] {
        let is_same = self.key.as_ref().is_some_and(|(known, at, id)| {
            Arc::ptr_eq(known, changes) && (*at, *id) == (width, theme.id())
        });
        if !is_same {
            self.lines = change_lines(changes, width, &self.highlighter, theme);
            self.key = Some((changes.clone(), width, theme.id()));
        }
        &self.lines
    }
}

fn draw_lines(
    title: &str,
    lines: &[Line<'static>],
    scroll: usize,
    area: Rect,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) -> Extent {
    let cells = lines.iter().map(Line::width).max().unwrap_or(0);
    let area = popup::place(area, cells, lines.len());
    let height = usize::from(area.height.saturating_sub(2));
    let top = scroll.min(lines.len().saturating_sub(height));
    let note = match height < lines.len() {
        true => format!("{}–{} of {}", top + 1, top + height, lines.len()),
        false => String::new(),
    };
    let title = PopupTitle { name: title, filter: None, note };
    let (inner, _) = popup::draw(&title, area, painter, buffer);
    for (row, line) in lines.iter().skip(top).take(height).enumerate() {
        put(buffer, inner, row, line);
    }
    scrollbar(buffer, inner, (top, height, lines.len()), painter, painter.theme.accent);
    Extent { total: lines.len(), height, top, ..Extent::default() }
}

/// The lines of a line of a page at this width.
fn wrapped(line: &PageLine, room: u16, theme: &Theme) -> Vec<Line<'static>> {
    let Some((last, before)) = line.0.split_last() else { return vec![Line::default()] };
    let span = |(text, tone): &(String, Tone)| {
        Span::styled(sanitize(text).into_owned(), style(*tone, theme))
    };
    let mut first = Line::from(before.iter().map(span).collect::<Vec<_>>());
    let text = sanitize(&last.0);
    let room_cells = usize::from(room);
    // A word that fits only on a line of its own is not broken, such as an address.
    let word = width(text.split([' ', '\n']).next().unwrap_or_default());
    let below = first.width() + word > room_cells && SHORT_INDENT + word <= room_cells;
    let hang = match first.width() {
        far if below || far > room_cells / 2 => SHORT_INDENT,
        far => far,
    };
    // Indent after a newline, so that a name or an error cannot fake a line of the page.
    let mut rest =
        Line::from(" ".repeat(hang + width(&text[..text.len() - text.trim_start().len()])));
    let mut lines = Vec::new();
    if below {
        lines.push(std::mem::replace(&mut first, rest.clone()));
    }
    for part in text.split('\n') {
        let part = Line::styled(part.to_owned(), style(last.1, theme));
        lines.extend(wrap_hanging(&part, room, &first, &rest));
        rest = Line::from(" ".repeat(hang + 2));
        first = rest.clone();
    }
    lines
}

fn style(tone: Tone, theme: &Theme) -> Style {
    match tone {
        Tone::Plain => theme.text,
        Tone::Dim => theme.dim,
        Tone::Strong => theme.text.add_modifier(Modifier::BOLD),
        Tone::Good => theme.good,
        Tone::Bad => theme.bad.add_modifier(Modifier::BOLD),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &PageLine, room: u16) -> Vec<String> {
        let lines = wrapped(line, room, &Theme::default());
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn wrapped_text_hangs_under_its_own_start() {
        let line =
            PageLine::row([("ok", Tone::Good), ("  git  ", Tone::Dim)], "a longer text here");
        assert_eq!(texts(&line, 22), ["ok  git  a longer text", "         here"]);
        assert_eq!(texts(&line, 16), ["ok  git  a", "    longer text", "    here"]);
        assert_eq!(texts(&"  two words".into(), 7), ["  two", "  words"]);
        let line =
            PageLine::row([("KEY  ", Tone::Plain), ("Name  ", Tone::Dim)], "example.com/keys");
        assert_eq!(texts(&line, 24), ["KEY  Name  ", "    example.com/keys"]);
        assert_eq!(texts(&PageLine::default(), 16), [""]);
    }

    #[test]
    fn a_newline_begins_no_line_at_the_edge() {
        let line = PageLine::row([("name  ", Tone::Plain)], "first\nok  forged");
        assert_eq!(texts(&line, 40), ["name  first", "        ok  forged"]);
    }
}
