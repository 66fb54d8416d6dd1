//! The permission question: its content first, the answers below it.
//!
//! The content is the whole call. It covers what it needs of the body, and the answers that say yes
//! are dead until the end of the content was on the screen. Answers that would take lines from the
//! content have to wait for the user: they come once the user has moved past the end of the
//! content.

mod answers;
mod content;
mod grant;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::Line;

use crate::protocol::{AgentPath, Question, QuestionId};
use crate::tui::figures::count;
use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::model::question::{NO, OpenQuestion, QuestionFrame, Stage};
use crate::tui::model::{Extent, Model, Questions};
use crate::tui::theme::Theme;

use super::layout::Layout;
use super::paint::{Pen, frame, put};
use answers::{Form, Lower};
pub use content::Content;

/// Lines of content that come before the answers get any.
const CONTENT_LINES: usize = 6;

/// Narrower than this, nothing of the content can be read. Cells.
const LEAST: u16 = 12;

/// What was drawn of the question.
pub struct Drawn {
    pub frame: QuestionFrame,
    /// Where each answer stands, for the mouse.
    pub answers: Vec<(Rect, u8)>,
    /// Where the cursor stands while a line is typed.
    pub cursor: Option<Position>,
    pub area: Rect,
}

/// How many lines the content and the answers have, and how the answers stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fit {
    form: Form,
    content: usize,
    /// A blank line between the two, where everything fits.
    gap: usize,
    lower: usize,
}

/// Draws the open question: over the transcript if there is room for all of it, else over the whole body.
pub fn draw(
    model: &Model,
    layout: &Layout,
    content: &mut Content,
    pen: Pen<'_>,
    buffer: &mut Buffer,
) -> Option<Drawn> {
    let (open, waiting) = model.questions.shown()?;
    let question = &waiting.question;
    let seen = open.seen_at == Some(layout.body.width);
    let mut fit = |area: Rect| {
        let (width, room) = inside(area);
        let lines = content.lines(question, width, pen.theme).len();
        let lower = |form| Lower::new(open, question, width, form, false, pen.theme).lines.len();
        let forms = Form::fitting(open, question, width);
        (lines, fit(&forms, lines, room, seen, open.stage == Stage::Choose, lower))
    };
    let mut area = layout.transcript;
    let (mut all, mut fits) = fit(area);
    if layout.small || fits.content < all || fits.form == Form::Brief {
        area = layout.body;
        (all, fits) = fit(area);
    }
    let height = u16::try_from(fits.content + fits.gap + fits.lower + 2)
        .unwrap_or(u16::MAX)
        .min(area.height);
    let area = Rect::new(area.x, area.bottom() - height, area.width, height);
    let (width, _) = inside(area);
    let readable = width >= LEAST && fits.content > 0;
    let top = open.scroll.min(all - fits.content);
    let extent = Extent { total: all, height: fits.content, top, ..Extent::default() };
    let too_large = content.is_too_large(question, pen.theme);
    let end = readable && !too_large && top + fits.content >= all;
    let lit = readable && !too_large && (seen || end) && fits.form != Form::Brief;
    let lower = Lower::new(open, question, width, fits.form, lit, pen.theme);
    let live: Vec<u8> = Questions::choices(question)
        .iter()
        .copied()
        .filter(|digit| lit && *digit < NO && lower.is_whole(*digit, fits.lower))
        .collect();
    // Without a line of content nothing can be allowed, however often the user looks.
    let wanted = open.stage == Stage::Choose && !too_large && (!readable || lit);
    let yes = Questions::choices(question).iter().copied().filter(|digit| *digit < NO);
    let cut = yes.filter(|digit| wanted && !live.contains(digit)).collect();
    let held = fits.form == Form::Brief;
    let rules = lower.rules.clone().filter(|_| readable && fits.lower >= lower.lines.len());
    let frame = QuestionFrame {
        id: open.id,
        content: extent,
        width: layout.body.width,
        end,
        live,
        held,
        cut,
        too_large,
        rules,
    };
    let lines = content.lines(question, width, pen.theme);
    Some(paint(model, open, question, (frame, lines, lower, fits), area, pen, buffer))
}

/// Draws the content alone, with all the room there is.
pub fn read(
    model: &Model,
    id: QuestionId,
    scroll: usize,
    area: Rect,
    content: &mut Content,
    pen: Pen<'_>,
    buffer: &mut Buffer,
) -> Option<QuestionFrame> {
    let question = &model.questions.get(id)?.question;
    let (width, _) = inside(area);
    let lines = content.lines(question, width, pen.theme);
    let title = title(model, question, area.width, pen.theme);
    let style = colour(model, &question.path, pen.theme);
    let inner = frame(buffer, area, pen.theme, style, &title, "Esc back");
    let height = usize::from(inner.height).min(lines.len());
    let top = scroll.min(lines.len() - height);
    for (row, line) in lines.iter().skip(top).take(height).enumerate() {
        put(buffer, inner, row, line);
    }
    let end = width >= LEAST && height > 0 && top + height >= lines.len();
    let extent = Extent { total: lines.len(), height, top, ..Extent::default() };
    let too_large = content.is_too_large(question, pen.theme);
    Some(QuestionFrame {
        id,
        content: extent,
        width: area.width,
        end: end && !too_large,
        live: Vec::new(),
        held: true,
        cut: Vec::new(),
        too_large,
        rules: None,
    })
}

/// Width and lines inside the box that fills an area.
fn inside(area: Rect) -> (u16, usize) {
    (area.width.saturating_sub(4).max(1), usize::from(area.height.saturating_sub(2)))
}

/// Shares the lines out. The content goes first, with six lines at least; where the answers have no
/// room beside those, they get it once the end of the content was seen.
fn fit(
    forms: &[Form],
    content: usize,
    room: usize,
    seen: bool,
    choosing: bool,
    lower: impl Fn(Form) -> usize,
) -> Fit {
    let least = if choosing { content.min(CONTENT_LINES) } else { content.min(1) };
    for wanted in [content, least] {
        for &form in forms {
            let lower = lower(form);
            if wanted + lower <= room {
                let gap = usize::from(content + lower < room);
                return Fit { form, content: content.min(room - lower), gap, lower };
            }
        }
    }
    let form = match (choosing, seen) {
        (true, false) => Form::Brief,
        (true, true) => Form::Packed,
        (false, _) => Form::Stacked,
    };
    let lower = lower(form);
    let kept = if choosing && !seen { least } else { content.min(1) };
    let content = kept.max(room.saturating_sub(lower)).min(content).min(room);
    Fit { form, content, gap: 0, lower: lower.min(room - content) }
}

fn paint(
    model: &Model,
    open: &OpenQuestion,
    question: &Question,
    (drawn, lines, lower, fits): (QuestionFrame, &[Line<'static>], Lower, Fit),
    area: Rect,
    pen: Pen<'_>,
    buffer: &mut Buffer,
) -> Drawn {
    let theme = pen.theme;
    let style = if open.keyboard { colour(model, &question.path, theme) } else { theme.dim };
    let foot = foot(open, question, &drawn, &model.keymap);
    let title = title(model, question, area.width, theme);
    let inner = frame(buffer, area, theme, style, &title, &foot);
    for (row, line) in lines.iter().skip(drawn.content.top).take(fits.content).enumerate() {
        put(buffer, inner, row, line);
    }
    // What is typed stays in view.
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
    let shown = lower.places.iter().filter(|place| place.row < fits.lower);
    let answers = shown
        .map(|place| {
            let y = inner.y + u16::try_from(fits.content + fits.gap + place.row).unwrap_or(0);
            (Rect::new(inner.x + place.x, y, place.width, 1).intersection(inner), place.digit)
        })
        .collect();
    Drawn { frame: drawn, answers, cursor: cursor.filter(|_| open.keyboard), area }
}

/// `⚑ explore-2 wants to run a command · 1 of 2`.
fn title(model: &Model, question: &Question, room: u16, theme: &Theme) -> String {
    let (place, all) = model.questions.place(question.id);
    let words = match content::fits_title(question, room) {
        true => content::sentence(question),
        false => format!("{} asks", content::asker(question)),
    };
    format!("{} {words} · {place} of {all}", theme.glyphs.asks)
}

/// The asker's colour, over that of a question.
fn colour(model: &Model, path: &AgentPath, theme: &Theme) -> Style {
    match model.agents.get(path) {
        Some(agent) => theme.question.patch(theme.agent(agent.info.color.as_deref(), agent.colour)),
        None => theme.question,
    }
}

fn foot(
    open: &OpenQuestion,
    question: &Question,
    drawn: &QuestionFrame,
    keymap: &Keymap,
) -> String {
    let hint = |action, words| keymap.hint(Context::Prompt, action, words);
    let fixed = |words: &str| Some(words.to_owned());
    let words = match (&open.stage, open.keyboard) {
        (_, false) => {
            let key = keymap.label(Context::Prompt, Action::Next);
            [key.map(|key| format!("{key}: answer")), fixed("the draft has the keyboard"), None]
        }
        (Stage::Choose, true) if drawn.too_large => {
            [fixed("too large to allow it here"), None, None]
        }
        (Stage::Choose, true) if drawn.cramped() => {
            [fixed("too small to allow it here"), None, None]
        }
        (Stage::Choose, true) if drawn.held && drawn.end => {
            [Some(shows_answers(keymap)), fixed("Esc no"), hint(Action::Reader, "in full")]
        }
        (Stage::Choose, true) if !drawn.cut.is_empty() => {
            [Some(cut(drawn)), fixed("Esc no"), hint(Action::Reader, "in full")]
        }
        (Stage::Choose, true) if drawn.live.is_empty() => {
            let below = drawn.content.total - drawn.content.top - drawn.content.height;
            let below = format!("⋮ {} below", count(below, "line"));
            [Some(below), Some(rest(question, keymap)), None]
        }
        (Stage::Choose, true) => {
            [fixed("Esc no"), hint(Action::Next, "next"), hint(Action::Reader, "in full")]
        }
        (Stage::Reason(_), true) => [hint(Action::Submit, "says no"), fixed("Esc back"), None],
        (Stage::Rule(_), true) if drawn.rules.is_none() => {
            [fixed("too small to show the rule"), fixed("Esc back"), None]
        }
        (Stage::Rule(_), true) => [hint(Action::Submit, "writes"), fixed("Esc back"), None],
    };
    words.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// `End shows the answers`.
pub fn shows_answers(keymap: &Keymap) -> String {
    let keys = [Action::End, Action::PageDown];
    let key = keys.into_iter().find_map(|action| keymap.label(Context::Prompt, action));
    format!("{} shows the answers", key.as_deref().unwrap_or("the wheel"))
}

/// `2 and 3 do not fit here; 1 works`.
fn cut(drawn: &QuestionFrame) -> String {
    let list = |digits: &[u8]| {
        let digits: Vec<String> = digits.iter().map(u8::to_string).collect();
        digits.join(" and ")
    };
    let fit = if drawn.cut.len() == 1 { "does not fit" } else { "do not fit" };
    let work = if drawn.live.len() == 1 { "works" } else { "work" };
    format!("{} {fit} here; {} {work}", list(&drawn.cut), list(&drawn.live))
}

/// `PgDn or End shows the rest · then 1–3`; without a rule to offer, 1 is the only yes.
pub fn rest(question: &Question, keymap: &Keymap) -> String {
    let keys = [Action::PageDown, Action::End];
    let keys: Vec<String> =
        keys.into_iter().filter_map(|action| keymap.label(Context::Prompt, action)).collect();
    let keys = if keys.is_empty() { "the wheel".to_owned() } else { keys.join(" or ") };
    let last = Questions::choices(question).iter().filter(|digit| **digit < NO).max();
    let yes = match last {
        None | Some(1) => "1".to_owned(),
        Some(last) => format!("1–{last}"),
    };
    format!("{keys} shows the rest · then {yes}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(content: usize, room: usize, seen: bool) -> Fit {
        let lower = |form| match form {
            Form::Columns => 3,
            Form::Stacked => 6,
            Form::Packed => 4,
            Form::Brief => 3,
        };
        fit(&[Form::Stacked, Form::Packed], content, room, seen, true, lower)
    }

    #[test]
    fn the_content_gets_six_lines_before_the_answers_get_any() {
        let fit = |form, content, gap, lower| Fit { form, content, gap, lower };
        assert_eq!(fitted(3, 20, false), fit(Form::Stacked, 3, 1, 6));
        assert_eq!(fitted(14, 20, false), fit(Form::Stacked, 14, 0, 6));
        assert_eq!(fitted(16, 20, false), fit(Form::Packed, 16, 0, 4));
        assert_eq!(fitted(90, 20, false), fit(Form::Stacked, 14, 0, 6));
        assert_eq!(fitted(90, 11, false), fit(Form::Packed, 7, 0, 4));
        assert_eq!(fitted(90, 9, false), fit(Form::Brief, 6, 0, 3));
        assert_eq!(fitted(90, 8, false), fit(Form::Brief, 6, 0, 2));
        assert_eq!(fitted(90, 8, true), fit(Form::Packed, 4, 0, 4));
        assert_eq!(fitted(90, 3, false), fit(Form::Brief, 3, 0, 0));
        assert_eq!(fitted(90, 3, true), fit(Form::Packed, 1, 0, 2));
        assert_eq!(fitted(90, 0, true), fit(Form::Packed, 0, 0, 0));
    }
}
