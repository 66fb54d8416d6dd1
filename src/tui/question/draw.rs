//! The permission question: its content first, the answers below it.
//!
//! The content is the whole call. It covers as much of the body as it needs, and the yes answers
//! are disabled until the end of the content has been on the screen. Answers that would take lines
//! from the content appear once the user has scrolled past its end.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use crate::protocol::{AgentPath, Question, QuestionId};
use crate::tui::layout::{self, ScreenLayout};
use crate::tui::model::TuiModel;
use crate::tui::paint::{BorderText, Painter, clear, frame_with, put, scrollbar, spans_width};
use crate::tui::question::answers::{AnswerBlock, AnswerLayout};
use crate::tui::question::content::{QuestionContent, QuestionContext, WrappedContent};
use crate::tui::question::form::draw::{FormLines, FormStyle};
use crate::tui::question::form::{self, AnswerForm};
use crate::tui::question::place::{
    DialogRows, FormPlacement, MIN_LINES_ABOVE, Placement, inner_size, place, place_form,
};
use crate::tui::question::{
    NO_DIGIT, QuestionFrame, QuestionQueue, QuestionStage, ShownQuestion, content, hint,
};
use crate::tui::theme::Theme;
use crate::tui::transcript::Extent;

/// The hint for Esc in the content in full, where no answer has a key.
pub const BACK_TO_ANSWERS: &str = "Esc back to the answers";

/// Cells of a title's border and the blanks in it.
const BORDER_LOSS: usize = 7;

/// Width in cells below which the content is unreadable.
const MIN_WIDTH: u16 = 12;

/// The question as drawn.
pub struct DialogLayout {
    pub frame: QuestionFrame,
    /// Areas of the answers, for the mouse.
    pub answers: Vec<(Rect, u8)>,
    /// Areas of a form's tabs, likewise.
    pub tabs: Vec<(Rect, usize)>,
    /// The cursor of an open text field.
    pub cursor: Option<Position>,
    pub area: Rect,
}

/// Draws the open question.
pub fn draw(
    model: &TuiModel,
    layout: &ScreenLayout,
    content: &mut QuestionContent,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) -> Option<DialogLayout> {
    let (open, waiting) = model.questions.current()?;
    if let Some(form) = &waiting.form {
        return Some(draw_form(model, (open, &waiting.question, form), layout, painter, buffer));
    }
    let question = &waiting.question;
    let seen = open.seen_width == Some(layout.body.width);
    let context = QuestionContext::new(model, question);
    let placement = place(model, open, question, layout, content, painter.theme);
    let Placement { area, all, fits, .. } = placement;
    if placement.over_transcript && area.y >= placement.top + MIN_LINES_ABOVE {
        let above = Rect { y: area.y - 1, height: 1, ..area };
        clear(buffer, above.intersection(layout.transcript));
    }
    let (width, _) = inner_size(area);
    let readable = width >= MIN_WIDTH && fits.content > 0;
    let top = open.scroll.min(all - fits.content);
    let extent = Extent { total: all, height: fits.content, top, ..Extent::default() };
    let too_large = content.is_too_large(question, painter.theme);
    let end = readable && !too_large && top + fits.content >= all;
    let lit = readable && !too_large && (seen || end) && fits.layout != AnswerLayout::Brief;
    let lower = AnswerBlock::new(open, question, width, fits.layout, lit, painter.theme);
    let call = content.wrapped(question, context, width, painter.theme).call;
    let live: Vec<u8> = QuestionQueue::choices(question)
        .iter()
        .copied()
        .filter(|digit| lit && *digit < NO_DIGIT && lower.is_whole(*digit, fits.lower))
        .collect();
    // Without a visible line of content, nothing can be allowed.
    let offers_yes = open.stage == QuestionStage::Choose && !too_large && (!readable || lit);
    let yes = QuestionQueue::choices(question).iter().copied().filter(|digit| *digit < NO_DIGIT);
    let cut = yes.filter(|digit| offers_yes && !live.contains(digit)).collect();
    let held = fits.layout == AnswerLayout::Brief;
    let rules = lower.rules.clone().filter(|_| readable && fits.lower >= lower.lines.len());
    let frame = QuestionFrame {
        id: open.id,
        tab: 0,
        content: extent,
        call,
        content_area: Rect::default(),
        width: layout.body.width,
        covers: layout.leaves_no_lead(area),
        end,
        available: live,
        held,
        clipped: cut,
        too_large,
        rules,
        signs: Vec::new(),
    };
    let wrapped = content.wrapped(question, context, width, painter.theme);
    Some(draw_box(model, open, question, (frame, wrapped, lower, fits), area, painter, buffer))
}

/// Draws only the content, over the whole area.
pub fn draw_content(
    model: &TuiModel,
    id: QuestionId,
    scroll: usize,
    area: Rect,
    content: &mut QuestionContent,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) -> Option<QuestionFrame> {
    let question = &model.questions.get(id)?.question;
    let (width, _) = inner_size(area);
    let context = QuestionContext::new(model, question).in_full();
    let wrapped = content.wrapped(question, context, width, painter.theme);
    let (lines, call) = (&wrapped.lines, wrapped.call);
    let style = colour(model, &question.path, painter);
    let rows = inner_size(area).1.min(lines.len());
    let first = scroll.min(lines.len() - rows);
    let seen = call_lines(call, first, rows);
    let title = title(model, question, wrapped.changes, seen, area.width, painter);
    let (screen_width, screen_height) = model.size;
    // Otherwise the hint line says it.
    let tiny = layout::is_tiny(screen_width, screen_height);
    let back = tiny.then(|| Span::styled(BACK_TO_ANSWERS, painter.theme.dim));
    let foot = BorderText { left: vec![], right: back.into_iter().collect() };
    let inner = frame_with(buffer, area, painter.theme, style, title, foot);
    let height = usize::from(inner.height).min(lines.len());
    let top = scroll.min(lines.len() - height);
    let mut signs = Vec::new();
    for (row, line) in lines.iter().skip(top).take(height).enumerate() {
        signs.extend(put_content(buffer, inner, row, line, painter.theme));
    }
    scrollbar(buffer, inner, (top, height, lines.len()), painter, style);
    let end = width >= MIN_WIDTH && height > 0 && top + height >= lines.len();
    let extent = Extent { total: lines.len(), height, top, ..Extent::default() };
    let too_large = content.is_too_large(question, painter.theme);
    Some(QuestionFrame {
        id,
        tab: 0,
        content: extent,
        call,
        content_area: Rect { height: u16::try_from(height).unwrap_or_default(), ..inner },
        width: area.width,
        covers: false,
        end: end && !too_large,
        available: Vec::new(),
        held: true,
        clipped: Vec::new(),
        too_large,
        rules: None,
        signs,
    })
}

fn draw_box(
    model: &TuiModel,
    open: &ShownQuestion,
    question: &Question,
    (mut drawn, wrapped, lower, fits): (QuestionFrame, &WrappedContent, AnswerBlock, DialogRows),
    area: Rect,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) -> DialogLayout {
    let theme = painter.theme;
    let asker = colour(model, &question.path, painter);
    let style = if open.keyboard { asker } else { theme.dim };
    let foot = hint::footer(model, &drawn, lower.names_esc, area.width);
    let live = !open.keyboard || drawn.clipped.is_empty() && !drawn.available.is_empty();
    let foot = Span::styled(foot, if live { theme.dim } else { theme.question });
    let foot = BorderText { left: Vec::new(), right: vec![foot] };
    let seen = call_lines(drawn.call, drawn.content.top, drawn.content.height);
    let title = title(model, question, wrapped.changes, seen, area.width, painter);
    let inner = frame_with(buffer, area, theme, style, title, foot);
    let top = drawn.content.top;
    for (at, line) in wrapped.lines.iter().enumerate().skip(top).take(fits.content) {
        let gap = if at >= wrapped.call { fits.reason_gap } else { 0 };
        let row = at - top + gap;
        drawn.signs.extend(put_content(buffer, inner, row, line, theme));
    }
    scrollbar(buffer, inner, (top, fits.content, wrapped.lines.len()), painter, style);
    let height = u16::try_from(fits.content + fits.reason_gap).unwrap_or(inner.height);
    drawn.content_area = Rect { height: height.min(inner.height), ..inner };
    let answers_top = fits.content + fits.reason_gap + fits.gap;
    // Keep the text field's cursor in view, below the words that say what it is for.
    let typed = lower.cursor.map_or(0, |(row, _)| (row + 1).saturating_sub(fits.lower));
    let head = lower.field.min(fits.lower.saturating_sub(1));
    let mut cursor = None;
    let rows = (0..head).chain(head + typed..lower.lines.len()).take(fits.lower);
    for (row, at) in rows.enumerate() {
        let mut line = lower.lines[at].clone();
        if let Some(sign) = line.spans.first_mut().filter(|_| typed > 0 && row == head) {
            *sign = Span::styled(format!("{} ", theme.glyphs.prompt), theme.accent);
        }
        let row = answers_top + row;
        put(buffer, inner, row, &line);
        if let Some((_, column)) = lower.cursor.filter(|(row, _)| *row == at) {
            let y = inner.y + u16::try_from(row).unwrap_or(0);
            cursor = Some(Position { x: inner.x + column, y });
        }
    }
    let visible = lower.spans.iter().filter(|span| span.row < fits.lower);
    let answers = visible
        .map(|span| {
            let y = inner.y + u16::try_from(answers_top + span.row).unwrap_or(0);
            (Rect::new(inner.x + span.x, y, span.width, 1).intersection(inner), span.digit)
        })
        .collect();
    let cursor = cursor.filter(|_| open.keyboard);
    DialogLayout { frame: drawn, answers, tabs: Vec::new(), cursor, area }
}

/// Draws a form. Its rows count as available once they are visible in full.
fn draw_form(
    model: &TuiModel,
    (open, question, form): (&ShownQuestion, &Question, &AnswerForm),
    layout: &ScreenLayout,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) -> DialogLayout {
    let theme = painter.theme;
    let FormPlacement { area, roomy } = place_form(model, question, form, layout, theme);
    let (width, room) = inner_size(area);
    let style = FormStyle { theme, width, keyboard: open.keyboard, roomy, preview: usize::MAX };
    let tabs = form::draw::tabs(form, style, model.settings.screen_reader);
    let head = usize::from(tabs.is_some()) * (1 + usize::from(roomy));
    let height = room.saturating_sub(head);
    let lines = FormLines::fitted(form, form.tab, style, height);
    let top = lines.top(form.scroll, height);
    let shown = top..(top + height).min(lines.lines.len());
    let extent = Extent { total: lines.lines.len(), height: shown.len(), top, ..Extent::default() };
    let available = if width >= MIN_WIDTH { lines.visible(&shown) } else { Vec::new() };
    let mut drawn = QuestionFrame {
        id: open.id,
        tab: form.tab,
        content: extent,
        call: lines.lines.len(),
        content_area: Rect::default(),
        width: layout.body.width,
        covers: layout.leaves_no_lead(area),
        end: shown.end == lines.lines.len(),
        available,
        held: false,
        clipped: Vec::new(),
        too_large: false,
        rules: None,
        signs: Vec::new(),
    };
    let border = if open.keyboard { colour(model, &question.path, painter) } else { theme.dim };
    let foot = Span::styled(hint::form_footer(model, form, open.keyboard, area.width), theme.dim);
    let foot = BorderText { left: Vec::new(), right: vec![foot] };
    let title = title(model, question, (0, 0), extent, area.width, painter);
    let inner = frame_with(buffer, area, theme, border, title, foot);
    let tab_areas = tabs.as_ref().map(|tabs| form::draw::tab_areas(tabs, inner));
    if let Some(tabs) = tabs {
        put(buffer, inner, 0, &tabs);
    }
    let at = |line: usize| inner.y + u16::try_from(head + line - top).unwrap_or(0);
    for line in shown.clone() {
        put(buffer, inner, head + line - top, &lines.lines[line]);
    }
    let list = Rect { y: inner.y, height: inner.height, ..inner };
    scrollbar(buffer, list, (top, shown.len(), lines.lines.len()), painter, border);
    let mut answers = Vec::new();
    for (row, digit) in lines.rows.iter().zip(1..) {
        let rows = row.clone().filter(|line| shown.contains(line));
        answers.extend(rows.map(|line| (Rect::new(inner.x, at(line), inner.width, 1), digit)));
    }
    let asked = lines.rows.first().map_or(0..0, |row| 0..row.start);
    let asked = asked.filter(|line| shown.contains(line)).count();
    let y = inner.y + u16::try_from(head).unwrap_or(0);
    drawn.content_area = Rect { y, height: u16::try_from(asked).unwrap_or(0), ..inner };
    let cursor = lines.cursor.filter(|(line, _)| open.keyboard && shown.contains(line));
    let cursor = cursor.map(|(line, column)| Position { x: inner.x + column, y: at(line) });
    DialogLayout { frame: drawn, answers, tabs: tab_areas.unwrap_or_default(), cursor, area }
}

/// Draws a row of the content. Returns the place of its sign if it continues a line.
fn put_content(
    buffer: &mut Buffer,
    inner: Rect,
    row: usize,
    line: &Line<'static>,
    theme: &Theme,
) -> Option<Position> {
    put(buffer, inner, row, line);
    extend_ground(buffer, inner, row);
    let x = inner.x + content::sign_column(line, theme)?;
    Some(Position { x, y: inner.y + u16::try_from(row).ok()? })
}

/// Continues the ground of a line, as in a diff, to the sides of the box.
fn extend_ground(buffer: &mut Buffer, inner: Rect, row: usize) {
    let Ok(row) = u16::try_from(row) else { return };
    if row >= inner.height || inner.width == 0 {
        return;
    }
    let y = inner.y + row;
    let ground = buffer[(inner.x, y)].bg;
    let whole = buffer[(inner.right() - 1, y)].bg == ground;
    if ground == Color::Reset || !whole {
        return;
    }
    for x in [inner.x.saturating_sub(1), inner.right()] {
        if let Some(cell) = buffer.cell_mut((x, y)) {
            cell.set_bg(ground);
        }
    }
}

/// The visible lines of the call, if so many lines of the content are visible from `top` on.
fn call_lines(call: usize, top: usize, height: usize) -> Extent {
    let height = height.min(call.saturating_sub(top));
    Extent { total: call, height, top, ..Extent::default() }
}

/// `⚑ agent 2 wants to edit src/main.rs` on the left, `+1 −1 · lines 1–9 of 30 · 1 of 2` on the right:
/// the changed lines, the visible ones if not all are, and the place among several questions. With little
/// room, the visible lines go first, then the changed ones.
fn title(
    model: &TuiModel,
    question: &Question,
    (added, removed): (usize, usize),
    seen: Extent,
    room: u16,
    painter: Painter<'_>,
) -> BorderText {
    let theme = painter.theme;
    let asker = colour(model, &question.path, painter);
    let numbered = |text: String| theme.glyphs.number_in_line(&text).into_owned();
    let (number, all) = model.questions.place_in_queue(question.id);
    let bold = Modifier::BOLD;
    let mut left = vec![
        Span::styled(format!("{} ", theme.glyphs.asks), theme.question),
        Span::styled(numbered(content::asker(question)), asker.add_modifier(bold)),
    ];
    if content::fits_title(question, room, model.settings.screen_reader, theme) {
        let (verb, object) = content::request(question);
        left.push(Span::styled(format!(" {verb}"), theme.text));
        left.push(Span::styled(numbered(object), theme.text.add_modifier(bold)));
    } else {
        let words = match model.settings.screen_reader {
            true => content::spoken_request(question),
            false => "needs you",
        };
        left.push(Span::styled(format!(" {words}"), theme.text));
    }
    let counts = [(added, "+", theme.added), (removed, "−", theme.removed)];
    let counts = counts.into_iter().filter(|(lines, ..)| *lines > 0);
    let counts = counts
        .map(|(lines, sign, style)| vec![Span::styled(format!("{sign}{lines}"), style)])
        .collect::<Vec<_>>()
        .join(&[Span::raw(" ")][..]);
    let counts = Some(counts).filter(|spans| !spans.is_empty());
    let (first, last) = (seen.top + 1, seen.top + seen.height);
    let words = |words: String| vec![Span::styled(words, theme.dim)];
    let lines = words(format!("lines {first}–{last} of {}", seen.total));
    let lines = Some(lines).filter(|_| (1..seen.total).contains(&seen.height));
    let place = Some(words(format!("{number} of {all}"))).filter(|_| all > 1);
    let dot = words(format!(" {} ", theme.glyphs.dot));
    let forms = [[&counts, &lines, &place], [&counts, &None, &place]];
    let forms = forms
        .map(|pieces| pieces.into_iter().flatten().cloned().collect::<Vec<_>>().join(&dot[..]));
    let room = usize::from(room).saturating_sub(spans_width(&left) + BORDER_LOSS);
    let right = forms.into_iter().find(|right| spans_width(right) <= room);
    let right = right.or(place).unwrap_or_default();
    BorderText { left, right }
}

/// The question style, patched with the asking agent's colour.
fn colour(model: &TuiModel, path: &AgentPath, painter: Painter<'_>) -> Style {
    let agent = model.agents.get(path).map(|agent| painter.agent(agent));
    painter.theme.question.patch(agent.unwrap_or_default())
}
