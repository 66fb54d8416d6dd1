//! Places a question, and distributes its lines over the content and the answers.

use ratatui::layout::Rect;

use crate::protocol::Question;
use crate::tui::agents::AgentState;
use crate::tui::layout::{LEAD_LINES, ScreenLayout};
use crate::tui::model::TuiModel;
use crate::tui::question::answers::{AnswerBlock, AnswerLayout};
use crate::tui::question::content::{QuestionContent, QuestionContext};
use crate::tui::question::form::AnswerForm;
use crate::tui::question::form::draw::{FormLines, FormStyle};
use crate::tui::question::{QuestionStage, ShownQuestion};
use crate::tui::theme::Theme;

/// Lines reserved for the content before the answers get any.
const MIN_CONTENT_LINES: usize = 6;

/// Beside panes, one in so many lines of a call may wrap, else the question covers them.
const FEW_WRAPS: usize = 5;

/// A call with few lines may wrap to so many more.
const MIN_WRAPS: usize = 2;

/// Lines about the agents above a question, of which fewer would name none.
pub const MIN_LINES_ABOVE: u16 = 3;

/// Line counts of content and answers, and the arrangement of the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DialogRows {
    pub layout: AnswerLayout,
    pub content: usize,
    /// A blank line above the answers, if everything fits or the content has enough.
    pub gap: usize,
    /// Another one above the reason.
    pub reason_gap: usize,
    pub lower: usize,
}

/// The area that the open question covers.
pub fn area(
    model: &TuiModel,
    layout: &ScreenLayout,
    content: &mut QuestionContent,
    theme: &Theme,
) -> Option<Rect> {
    let (open, waiting) = model.questions.current()?;
    Some(match &waiting.form {
        Some(form) => place_form(model, &waiting.question, form, layout, theme).area,
        None => place(model, open, &waiting.question, layout, content, theme).area,
    })
}

/// The place of a question, and what it has room for.
pub struct Placement {
    pub area: Rect,
    /// The first line that it may cover. Lines of agents stand above it, unless it is over the transcript.
    pub top: u16,
    pub over_transcript: bool,
    /// Lines of the whole content.
    pub all: usize,
    pub fits: DialogRows,
}

impl Placement {
    /// Whether all of its content and answers are on the screen.
    fn is_whole(&self) -> bool {
        self.fits.content == self.all && !self.is_brief()
    }

    fn is_brief(&self) -> bool {
        self.fits.layout == AnswerLayout::Brief
    }

    /// Whether it hides less of the content, or has the answers that `other` has no room for.
    fn shows_more_than(&self, other: &Self) -> bool {
        self.hidden() < other.hidden() || other.is_brief() && !self.is_brief()
    }

    /// Lines of the content that are not on the screen.
    fn hidden(&self) -> usize {
        self.all - self.fits.content
    }
}

/// Places the open question. Where agents stand below the transcript, it is below their lines, on a low
/// screen as high as the room there, so that no question moves it; the lines of an agent that asks alone
/// give way to it, and so does that of a small screen. Elsewhere it is over the transcript, unless many lines
/// of the call wrap there or the body has room for more of its content; then it is over the body, below a
/// line for each agent, or as many of these as take nothing from its content.
pub fn place(
    model: &TuiModel,
    open: &ShownQuestion,
    question: &Question,
    layout: &ScreenLayout,
    content: &mut QuestionContent,
    theme: &Theme,
) -> Placement {
    let seen = open.seen_width == Some(layout.body.width);
    let context = QuestionContext::new(model, question);
    let mut call_lines =
        |area: Rect| content.wrapped(question, context, inner_size(area).0, theme).call;
    let wide = call_lines(layout.body);
    let wraps = call_lines(layout.transcript) > wide + MIN_WRAPS.max(wide / FEW_WRAPS);
    let beside = layout.panel.is_some_and(|panel| panel.right) && !layout.small;
    let mut fit = |area: Rect| {
        let (width, room) = inner_size(area);
        let all = content.wrapped(question, context, width, theme).lines.len();
        let lower = |form| AnswerBlock::new(open, question, width, form, false, theme).lines.len();
        let forms = AnswerLayout::candidates(open, question, width, theme.glyphs);
        let choosing = open.stage == QuestionStage::Choose;
        let over_transcript = match beside {
            true => area.width == layout.transcript.width,
            false => layout.panel.is_none() || area == layout.transcript,
        };
        Placement {
            area,
            top: area.y,
            over_transcript,
            all,
            fits: fit(&forms, all, room, seen, choosing, lower),
        }
    };
    let agents = model.agents.panel().len();
    let stays = stays_below_agents(model, question, layout);
    let mut placement = fit(layout.transcript);
    if stays {
        let kept = layout.lines_above_question(agents);
        placement = fit(below_agents(layout, kept));
        // What led to it gives way to its last lines, but no line of an agent does.
        let named = u16::try_from(agents + 1).unwrap_or(u16::MAX);
        let fewer = (kept.saturating_sub(LEAD_LINES).max(named)..kept).rev();
        let mut fewer = fewer.map(|lines| fit(below_agents(layout, lines)));
        if !placement.is_whole()
            && let Some(whole) = fewer.find(Placement::is_whole)
        {
            placement = whole;
        }
    } else if layout.small || layout.has_agents_below() || wraps || !placement.is_whole() {
        let kept = layout.lines_above_question(agents);
        let over_body = place_over_body(kept, |lines| fit(below_agents(layout, lines)));
        if beside {
            // What led to it stays in view.
            placement = fit(below_lead(layout.transcript));
        }
        // It does not cover panes for nothing.
        if !beside || wraps || over_body.shows_more_than(&placement) {
            placement = over_body;
        }
    }
    let mut fits = placement.fits;
    let rows = fits.content + fits.reason_gap + fits.gap + fits.lower;
    let area = placement.area;
    if stays && layout.is_low() {
        fits.gap += inner_size(area).1.saturating_sub(rows);
        return Placement { fits, ..placement };
    }
    let height = u16::try_from(rows + 2).unwrap_or(u16::MAX).min(area.height);
    placement.area = Rect::new(area.x, area.bottom() - height, area.width, height);
    placement
}

/// Whether the question leaves the lines of agents their place above it: they stand below the transcript,
/// and one of them is not the one that asks.
fn stays_below_agents(model: &TuiModel, question: &Question, layout: &ScreenLayout) -> bool {
    let is_other = |agent: &&AgentState| agent.path != question.path;
    layout.has_agents_below() && !layout.small && model.agents.panel().iter().any(is_other)
}

/// A transcript below the last lines of what led to a question.
fn below_lead(transcript: Rect) -> Rect {
    let lead = LEAD_LINES.min(transcript.height);
    Rect { y: transcript.y + lead, height: transcript.height - lead, ..transcript }
}

/// The body below so many lines.
fn below_agents(layout: &ScreenLayout, lines: u16) -> Rect {
    let body = layout.body;
    let lines = lines.min(body.height);
    Rect { y: body.y + lines, height: body.height - lines, ..body }
}

/// Places a question below `kept` lines, or below fewer of these if all of it fits then. It covers all of
/// them if that alone makes its answers fit.
fn place_over_body(kept: u16, mut below: impl FnMut(u16) -> Placement) -> Placement {
    let mut placement = below(kept);
    let mut fewer = (MIN_LINES_ABOVE..kept).rev().chain([0]).filter(|_| kept > 0);
    while !placement.is_whole()
        && let Some(lines) = fewer.next()
    {
        let larger = below(lines);
        if larger.is_whole() || lines == 0 && placement.is_brief() && !larger.is_brief() {
            placement = larger;
        }
    }
    placement
}

/// The place of a form, and the arrangement of its lines.
pub struct FormPlacement {
    pub area: Rect,
    pub roomy: bool,
}

/// Places a form: below the lines of agents that stand below the transcript, as a question; elsewhere over
/// the transcript if the highest tab fits there, else over the body. All tabs have the same place.
pub fn place_form(
    model: &TuiModel,
    question: &Question,
    form: &AnswerForm,
    layout: &ScreenLayout,
    theme: &Theme,
) -> FormPlacement {
    let last = if form.has_summary() { form.questions.len() } else { 0 };
    let needed = |area: Rect, roomy: bool| {
        let width = inner_size(area).0;
        let style = FormStyle { theme, width, keyboard: true, roomy, preview: usize::MAX };
        let lines = (0..=last).map(|tab| match FormLines::new(form, tab, style) {
            shown if tab == form.tab => shown.lines.len(),
            other => other.without_preview(),
        });
        let head = if form.has_summary() { 1 + usize::from(roomy) } else { 0 };
        lines.max().unwrap_or(0) + head
    };
    let body = layout.body;
    let below = below_agents(layout, layout.lines_above_question(model.agents.panel().len()));
    let stays = stays_below_agents(model, question, layout);
    let transcript =
        Some(layout.transcript).filter(|_| !layout.small && !layout.has_agents_below());
    let largest = if stays { below } else { body };
    let places =
        [(transcript, true), (Some(below), true), (Some(largest), true), (Some(largest), false)];
    let fits = places.into_iter().find_map(|(area, roomy)| {
        let area = area?;
        let rows = needed(area, roomy);
        (rows <= inner_size(area).1).then_some((area, roomy, rows))
    });
    let (area, roomy, rows) = fits.unwrap_or((largest, false, inner_size(largest).1));
    if stays && layout.is_low() {
        return FormPlacement { area, roomy };
    }
    let height = u16::try_from(rows + 2).unwrap_or(u16::MAX).min(area.height);
    FormPlacement { area: Rect::new(area.x, area.bottom() - height, area.width, height), roomy }
}

/// Width and height inside a box that fills `area`.
pub fn inner_size(area: Rect) -> (u16, usize) {
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
                let free = room.saturating_sub(content + lower);
                let cut = content > room - lower;
                let gap = usize::from(free > 0 || cut && room - lower > MIN_CONTENT_LINES);
                return DialogRows {
                    layout: form,
                    content: content.min(room - lower - gap),
                    gap,
                    reason_gap: usize::from(free > 1 && choosing),
                    lower,
                };
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
    let lower = lower.min(room - content);
    DialogRows { layout: form, content, gap: 0, reason_gap: 0, lower }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(content: usize, room: usize, seen: bool) -> DialogRows {
        let lower = |form| match form {
            AnswerLayout::Columns | AnswerLayout::ShortColumns => 3,
            AnswerLayout::Stacked => 6,
            AnswerLayout::Packed => 4,
            AnswerLayout::Brief => 3,
        };
        fit(&[AnswerLayout::Stacked, AnswerLayout::Packed], content, room, seen, true, lower)
    }

    #[test]
    fn the_content_gets_six_lines_before_the_answers_get_any() {
        let fit = |form, content, gap, lower| DialogRows {
            layout: form,
            content,
            gap,
            reason_gap: 0,
            lower,
        };
        let roomy = DialogRows { reason_gap: 1, ..fit(AnswerLayout::Stacked, 3, 1, 6) };
        assert_eq!(fitted(3, 20, false), roomy);
        assert_eq!(fitted(13, 20, false), fit(AnswerLayout::Stacked, 13, 1, 6));
        assert_eq!(fitted(14, 20, false), fit(AnswerLayout::Stacked, 14, 0, 6));
        assert_eq!(fitted(16, 20, false), fit(AnswerLayout::Packed, 16, 0, 4));
        assert_eq!(fitted(90, 20, false), fit(AnswerLayout::Stacked, 13, 1, 6));
        assert_eq!(fitted(90, 11, false), fit(AnswerLayout::Packed, 6, 1, 4));
        assert_eq!(fitted(90, 9, false), fit(AnswerLayout::Brief, 6, 0, 3));
        assert_eq!(fitted(90, 8, false), fit(AnswerLayout::Brief, 6, 0, 2));
        assert_eq!(fitted(90, 8, true), fit(AnswerLayout::Packed, 4, 0, 4));
        assert_eq!(fitted(90, 3, false), fit(AnswerLayout::Brief, 3, 0, 0));
        assert_eq!(fitted(90, 3, true), fit(AnswerLayout::Packed, 1, 0, 2));
        assert_eq!(fitted(90, 0, true), fit(AnswerLayout::Packed, 0, 0, 0));
    }
}
