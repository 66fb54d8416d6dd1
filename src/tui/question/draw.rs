//! The permission question: its content first, the answers below it.
//!
//! The content is the whole call. It covers as much of the body as it needs, and the yes answers
//! are disabled until the end of the content has been on the screen. Answers that would take lines
//! from the content appear once the user has scrolled past its end.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::Line;

use crate::protocol::{AgentPath, Question, QuestionId};
use crate::tui::layout::ScreenLayout;
use crate::tui::model::TuiModel;
use crate::tui::paint::{Painter, frame, put};
use crate::tui::question::answers::{AnswerBlock, AnswerLayout};
use crate::tui::question::content::QuestionContent;
use crate::tui::question::{
    NO_DIGIT, QuestionFrame, QuestionQueue, QuestionStage, ShownQuestion, content, hint,
};
use crate::tui::theme::Theme;
use crate::tui::transcript::Extent;

/// Lines reserved for the content before the answers get any.
const MIN_CONTENT_LINES: usize = 6;

/// Width in cells below which the content is unreadable.
const MIN_WIDTH: u16 = 12;

/// The question as drawn.
pub struct DialogLayout {
    pub frame: QuestionFrame,
    /// Areas of the answers, for the mouse.
    pub answers: Vec<(Rect, u8)>,
    /// The cursor of an open text field.
    pub cursor: Option<Position>,
    pub area: Rect,
}

/// Line counts of content and answers, and the arrangement of the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DialogRows {
    layout: AnswerLayout,
    content: usize,
    /// A blank line between the two, if everything fits.
    gap: usize,
    lower: usize,
}

/// Draws the open question: over the transcript if all of it fits, else over the whole body.
pub fn draw(
    model: &TuiModel,
    layout: &ScreenLayout,
    content: &mut QuestionContent,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) -> Option<DialogLayout> {
    let (open, waiting) = model.questions.current()?;
    let question = &waiting.question;
    let seen = open.seen_width == Some(layout.body.width);
    let mut fit = |area: Rect| {
        let (width, room) = inner_size(area);
        let lines = content.lines(question, width, painter.theme).len();
        let lower =
            |form| AnswerBlock::new(open, question, width, form, false, painter.theme).lines.len();
        let forms = AnswerLayout::candidates(open, question, width);
        (lines, fit(&forms, lines, room, seen, open.stage == QuestionStage::Choose, lower))
    };
    let mut area = layout.transcript;
    let (mut all, mut fits) = fit(area);
    if layout.small || fits.content < all || fits.layout == AnswerLayout::Brief {
        area = layout.body;
        (all, fits) = fit(area);
    }
    let height = u16::try_from(fits.content + fits.gap + fits.lower + 2)
        .unwrap_or(u16::MAX)
        .min(area.height);
    let area = Rect::new(area.x, area.bottom() - height, area.width, height);
    let (width, _) = inner_size(area);
    let readable = width >= MIN_WIDTH && fits.content > 0;
    let top = open.scroll.min(all - fits.content);
    let extent = Extent { total: all, height: fits.content, top, ..Extent::default() };
    let too_large = content.is_too_large(question, painter.theme);
    let end = readable && !too_large && top + fits.content >= all;
    let lit = readable && !too_large && (seen || end) && fits.layout != AnswerLayout::Brief;
    let lower = AnswerBlock::new(open, question, width, fits.layout, lit, painter.theme);
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
        content: extent,
        width: layout.body.width,
        end,
        available: live,
        held,
        clipped: cut,
        too_large,
        rules,
    };
    let lines = content.lines(question, width, painter.theme);
    Some(draw_box(model, open, question, (frame, lines, lower, fits), area, painter, buffer))
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
    let lines = content.lines(question, width, painter.theme);
    let title = title(model, question, area.width, painter.theme);
    let style = colour(model, &question.path, painter);
    let inner = frame(buffer, area, painter.theme, style, &title, "Esc back");
    let height = usize::from(inner.height).min(lines.len());
    let top = scroll.min(lines.len() - height);
    for (row, line) in lines.iter().skip(top).take(height).enumerate() {
        put(buffer, inner, row, line);
    }
    let end = width >= MIN_WIDTH && height > 0 && top + height >= lines.len();
    let extent = Extent { total: lines.len(), height, top, ..Extent::default() };
    let too_large = content.is_too_large(question, painter.theme);
    Some(QuestionFrame {
        id,
        content: extent,
        width: area.width,
        end: end && !too_large,
        available: Vec::new(),
        held: true,
        clipped: Vec::new(),
        too_large,
        rules: None,
    })
}

/// Width and height inside a box that fills `area`.
fn inner_size(area: Rect) -> (u16, usize) {
    (area.width.saturating_sub(4).max(1), usize::from(area.height.saturating_sub(2)))
}

/// Distributes the lines. The content goes first and gets at least six lines; answers that do not
/// fit beside those get their room once the end of the content was seen.
fn fit(
    forms: &[AnswerLayout],
    content: usize,
    room: usize,
    seen: bool,
    choosing: bool,
    lower: impl Fn(AnswerLayout) -> usize,
) -> DialogRows {
    let least = if choosing { content.min(MIN_CONTENT_LINES) } else { content.min(1) };
    for lines in [content, least] {
        for &form in forms {
            let lower = lower(form);
            if lines + lower <= room {
                let gap = usize::from(content + lower < room);
                return DialogRows { layout: form, content: content.min(room - lower), gap, lower };
            }
        }
    }
    let form = match (choosing, seen) {
        (true, false) => AnswerLayout::Brief,
        (true, true) => AnswerLayout::Packed,
        (false, _) => AnswerLayout::Stacked,
    };
    let lower = lower(form);
    let kept = if choosing && !seen { least } else { content.min(1) };
    let content = kept.max(room.saturating_sub(lower)).min(content).min(room);
    DialogRows { layout: form, content, gap: 0, lower: lower.min(room - content) }
}

fn draw_box(
    model: &TuiModel,
    open: &ShownQuestion,
    question: &Question,
    (drawn, lines, lower, fits): (QuestionFrame, &[Line<'static>], AnswerBlock, DialogRows),
    area: Rect,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) -> DialogLayout {
    let theme = painter.theme;
    let style = if open.keyboard { colour(model, &question.path, painter) } else { theme.dim };
    let foot = hint::footer(open, question, &drawn, &model.keymap);
    let title = title(model, question, area.width, theme);
    let inner = frame(buffer, area, theme, style, &title, &foot);
    for (row, line) in lines.iter().skip(drawn.content.top).take(fits.content).enumerate() {
        put(buffer, inner, row, line);
    }
    // Keep the text field's cursor in view.
    let typed = lower.cursor.map_or(0, |(row, _)| (row + 1).saturating_sub(fits.lower));
    let mut cursor = None;
    for (at, line) in lower.lines.iter().enumerate().skip(typed).take(fits.lower) {
        let row = fits.content + fits.gap + at - typed;
        put(buffer, inner, row, line);
        if let Some((_, column)) = lower.cursor.filter(|(row, _)| *row == at) {
            let y = inner.y + u16::try_from(row).unwrap_or(0);
            cursor = Some(Position { x: inner.x + column, y });
        }
    }
    let visible = lower.spans.iter().filter(|span| span.row < fits.lower);
    let answers = visible
        .map(|span| {
            let y = inner.y + u16::try_from(fits.content + fits.gap + span.row).unwrap_or(0);
            (Rect::new(inner.x + span.x, y, span.width, 1).intersection(inner), span.digit)
        })
        .collect();
    DialogLayout { frame: drawn, answers, cursor: cursor.filter(|_| open.keyboard), area }
}

/// `⚑ explore-2 wants to run a command · 1 of 2`.
fn title(model: &TuiModel, question: &Question, room: u16, theme: &Theme) -> String {
    let (number, all) = model.questions.place_in_queue(question.id);
    let words = match content::fits_title(question, room) {
        true => content::sentence(question),
        false => format!("{} needs you", content::asker(question)),
    };
    format!("{} {words} · {number} of {all}", theme.glyphs.asks)
}

/// The question style, patched with the asking agent's colour.
fn colour(model: &TuiModel, path: &AgentPath, painter: Painter<'_>) -> Style {
    let agent = model.agents.get(path).map(|agent| painter.agent(agent));
    painter.theme.question.patch(agent.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(content: usize, room: usize, seen: bool) -> DialogRows {
        let lower = |form| match form {
            AnswerLayout::Columns => 3,
            AnswerLayout::Stacked => 6,
            AnswerLayout::Packed => 4,
            AnswerLayout::Brief => 3,
        };
        fit(&[AnswerLayout::Stacked, AnswerLayout::Packed], content, room, seen, true, lower)
    }

    #[test]
    fn the_content_gets_six_lines_before_the_answers_get_any() {
        let fit = |form, content, gap, lower| DialogRows { layout: form, content, gap, lower };
        assert_eq!(fitted(3, 20, false), fit(AnswerLayout::Stacked, 3, 1, 6));
        assert_eq!(fitted(14, 20, false), fit(AnswerLayout::Stacked, 14, 0, 6));
        assert_eq!(fitted(16, 20, false), fit(AnswerLayout::Packed, 16, 0, 4));
        assert_eq!(fitted(90, 20, false), fit(AnswerLayout::Stacked, 14, 0, 6));
        assert_eq!(fitted(90, 11, false), fit(AnswerLayout::Packed, 7, 0, 4));
        assert_eq!(fitted(90, 9, false), fit(AnswerLayout::Brief, 6, 0, 3));
        assert_eq!(fitted(90, 8, false), fit(AnswerLayout::Brief, 6, 0, 2));
        assert_eq!(fitted(90, 8, true), fit(AnswerLayout::Packed, 4, 0, 4));
        assert_eq!(fitted(90, 3, false), fit(AnswerLayout::Brief, 3, 0, 0));
        assert_eq!(fitted(90, 3, true), fit(AnswerLayout::Packed, 1, 0, 2));
        assert_eq!(fitted(90, 0, true), fit(AnswerLayout::Packed, 0, 0, 0));
    }
}
