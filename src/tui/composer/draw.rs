//! The draft with its cursor, and the completion menu above it.

use std::ops::Range;

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use crate::tui::composer::menu::MENU_ROWS;
use crate::tui::composer::{MenuItem, MenuKind, TextBuffer};
use crate::tui::model::TuiModel;
use crate::tui::overlay::Overlay;
use crate::tui::paint::{Painter, cut_spans, put, put_all, spans_width};
use crate::tui::popup::{self, DrawnList, PopupTitle, draw_rows};
use crate::tui::text::{TextFilter, truncate, width};
use crate::tui::theme::Theme;

/// Maximum width of the names in the menu, in cells.
const MAX_LABEL_WIDTH: usize = 60;

/// Cells before the draft, for the prompt's sign.
const PROMPT_SIGN_CELLS: u16 = 2;

/// A draft wrapped to the prompt's width, and its cursor. Cached, so that a long draft is not
/// wrapped again for each frame.
#[derive(Default)]
pub struct DraftLayout {
    key: Option<(u64, usize)>,
    lines: Vec<Range<usize>>,
    row: usize,
    column: usize,
    /// The first line on the screen.
    top: usize,
}

impl DraftLayout {
    /// Wraps the draft for this width, if anything changed.
    pub fn refresh(&mut self, draft: &TextBuffer, room: usize) {
        let key = Some((draft.revision(), room));
        if self.key != key {
            self.key = key;
            self.lines = draft.wrap(room);
            (self.row, self.column) = draft.row_and_column(&self.lines);
        }
    }

    /// Scrolls as little as it takes to show the cursor on so many lines, and none of them empty.
    fn scroll(&mut self, height: usize) {
        // A terminal may have no rows at all.
        let height = height.max(1);
        let last = self.lines.len().saturating_sub(height);
        self.top = self.top.clamp((self.row + 1).saturating_sub(height), self.row).min(last);
    }

    /// Number of lines.
    pub fn height(&self) -> u16 {
        u16::try_from(self.lines.len()).unwrap_or(u16::MAX)
    }

    /// The lines from `first` on; line 0 starts with the prompt's sign.
    pub fn lines(&self, draft: &TextBuffer, first: usize, theme: &Theme) -> Vec<Line<'static>> {
        let rows = self.lines.iter().enumerate().skip(first).take(usize::from(u8::MAX));
        let selection = draft.selection().unwrap_or_default();
        rows.map(|(row, line)| {
            let sign = if row == 0 { theme.glyphs.prompt } else { " " };
            let mut spans = vec![Span::styled(format!("{sign} "), theme.accent)];
            push_line(&mut spans, draft, line, &selection, theme);
            Line::from(spans)
        })
        .collect()
    }

    /// Row and column of the cursor, including the prompt's sign.
    pub fn cursor(&self) -> (usize, u16) {
        (self.row, PROMPT_SIGN_CELLS.saturating_add(u16::try_from(self.column).unwrap_or(u16::MAX)))
    }

    /// The byte position closest to a cell of the prompt as it was drawn last.
    pub fn position_at(&self, draft: &TextBuffer, column: u16, row: u16) -> usize {
        let column = usize::from(column.saturating_sub(PROMPT_SIGN_CELLS));
        let line = self.lines.get(self.top + usize::from(row));
        line.map_or(draft.text().len(), |line| draft.at_column(line, column))
    }
}

/// Adds the text of a line. A selected newline is a selected blank.
fn push_line(
    spans: &mut Vec<Span<'static>>,
    draft: &TextBuffer,
    line: &Range<usize>,
    selection: &Range<usize>,
    theme: &Theme,
) {
    let mut push = |text: &str, style: Style| match spans.last_mut() {
        Some(last) if last.style == style => last.content.to_mut().push_str(text),
        _ => spans.push(Span::styled(text.to_owned(), style)),
    };
    for (at, cluster) in draft.text()[line.clone()].grapheme_indices(true) {
        let text = draft.display(cluster);
        let style = if selection.contains(&(line.start + at)) {
            theme.selection
        } else if text == cluster || cluster == "\t" {
            Style::default()
        } else {
            theme.dim
        };
        push(text, style);
    }
    if selection.contains(&line.end) && draft.text()[line.end..].starts_with('\n') {
        push(" ", theme.selection);
    }
}

/// Draws the draft and returns the cursor's position.
pub fn draw(
    model: &TuiModel,
    layout: &mut DraftLayout,
    area: Rect,
    painter: Painter<'_>,
    buffer: &mut Cells,
) -> Option<Position> {
    let theme = painter.theme;
    let draft = &model.composer.buffer;
    let (row, column) = layout.cursor();
    layout.scroll(usize::from(area.height));
    put_all(buffer, area, &layout.lines(draft, layout.top, theme));
    let idle = !model.main_is_busy() && model.agents.foreground().next().is_none();
    // Elsewhere than on a page, letters go to what covers the body.
    let takes_letters =
        matches!(model.overlay, None | Some(Overlay::Help { .. } | Overlay::Page(_)));
    let idle = idle && takes_letters;
    if draft.is_empty() && idle && model.focus.is_none() {
        let words = "Ask, or / commands, @ files and agents, ? keys";
        let room = usize::from(area.width.saturating_sub(PROMPT_SIGN_CELLS + 1));
        let spans = vec![
            Span::styled(format!("{} ", theme.glyphs.prompt), theme.accent),
            Span::styled(truncate(words, room).into_owned(), theme.dim),
        ];
        put(buffer, area, 0, &Line::from(spans));
    }
    let x = area.x + column;
    let y = area.y + u16::try_from(row - layout.top).ok()?;
    (x < area.right() && y < area.bottom()).then_some(Position { x, y })
}

/// Draws the completion menu above `bottom`, over whatever is there. It covers the width of a question,
/// so that no part of that one's border stands alone. Returns where it is.
pub fn draw_menu(
    model: &TuiModel,
    bottom: u16,
    screen: u16,
    question: Option<Rect>,
    painter: Painter<'_>,
    buffer: &mut Cells,
) -> Option<(Rect, DrawnList)> {
    let menu = model.composer.menu.as_ref()?;
    let theme = painter.theme;
    let (mut labels, mut details) = (0, 0);
    for item in &menu.items {
        labels = width(&item.insert).max(labels);
        details = width(&item.detail).max(details);
    }
    let labels = labels.min(MAX_LABEL_WIDTH);
    let rows = menu.items.len().min(MENU_ROWS);
    let mut area = popup::place(Rect::new(0, 0, screen, bottom), 2 + labels + 2 + details, rows);
    if let Some(question) = question {
        area.width = area.width.max(question.right() - area.x);
    }
    if area.height < 3 {
        return None;
    }
    let name = match menu.kind {
        MenuKind::Command => "commands",
        MenuKind::Mention => "agents and files",
        MenuKind::Path => "files",
    };
    let all = menu.items.len();
    let mut note = popup::position(menu.selected, all, all > usize::from(area.height - 2), false);
    if menu.has_more && !note.is_empty() {
        note.push('+');
    }
    let title = PopupTitle { name, filter: None, note };
    if question.is_some_and(|question| area.right() > question.right()) {
        popup::clear_beside(area, theme, buffer);
    }
    let draw = if question.is_some() { popup::draw_over } else { popup::draw };
    let (inner, _) = draw(&title, area, painter, buffer);
    let mut filter = TextFilter::new(&menu.query);
    let hit = theme.accent.add_modifier(Modifier::BOLD);
    let line = |item: &MenuItem| {
        let mut spans = filter.name_spans(&item.insert, theme.text, hit);
        cut_spans(&mut spans, labels);
        let blanks = labels.saturating_sub(spans_width(&spans)) + 2;
        spans.push(Span::raw(" ".repeat(blanks)));
        spans.push(Span::styled(item.detail.clone(), theme.dim));
        Line::from(spans)
    };
    let lines = menu.items.iter().map(line).collect();
    let visible = draw_rows(lines, menu.selected, model.keys.clicked_top(), inner, painter, buffer);
    let (lines, top, rows) = (visible.room, visible.top, visible.rows(Some));
    Some((area, DrawnList { cursor: None, lines, top, rows }))
}
