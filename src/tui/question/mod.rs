//! The queue of questions, about permissions and of agents themselves, and the one that is shown.

mod answers;
pub mod click;
pub mod content;
pub mod draw;
pub mod early;
pub mod form;
mod grant;
pub mod hint;
pub mod place;
pub mod update;

use std::collections::VecDeque;
use std::time::Duration;

use ratatui::layout::{Position, Rect};
use serde_json::Value;

use crate::protocol::{Access, Answer, Question, QuestionId, ToolUseId};
use crate::tui::composer::TextBuffer;
use crate::tui::question::form::AnswerForm;
use crate::tui::transcript::Extent;

/// A question opens when no text key was pressed for this long.
pub const QUIET_TIME: Duration = Duration::from_secs(1);

/// How long a question that opened by itself takes no answer: the user cannot have read it, so the key was
/// meant for what was there before.
const UNREAD_TIME: Duration = Duration::from_millis(500);

/// How long it takes no answer at most: a key that was held back starts the time anew, since the next one
/// may be another of the same burst.
const MAX_UNREAD_TIME: Duration = Duration::from_secs(1);

/// Digits that follow each other this fast are one burst, such as a held key. As long as it goes on, none of
/// them is an answer: it began before anybody can have read the question.
const BURST_GAP: Duration = Duration::from_millis(150);

/// How long the next question waits after an answer that may settle it too.
pub const RECEIPT_TIME: Duration = Duration::from_millis(400);

/// The first answer that denies the call.
pub const NO_DIGIT: u8 = 4;

/// All questions that wait for an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuestionQueue {
    /// In order of asking.
    pub waiting: VecDeque<WaitingQuestion>,
    /// Answered here but not closed yet, since an answer can be refused.
    pub answered: Vec<AnsweredQuestion>,
    pub open: Option<ShownQuestion>,
    /// No question opens by itself before this time, because one has just left the screen.
    pub pause_until: Option<Duration>,
    /// The last question that has left the screen.
    pub left: Option<LeftQuestion>,
    /// The last keys, if they were digits that came too early for the open question.
    pub held: Option<HeldDigits>,
    /// The plan that the user has refused last, as it was shown then, with its call.
    pub refused_plan: Option<(ToolUseId, Value)>,
    /// When to notify the user of new questions, if the window has no focus.
    pub notify_at: Option<Duration>,
}

/// A question that has left the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftQuestion {
    pub at: Duration,
    /// Whether the user answered it. Otherwise it went by itself.
    pub answered: bool,
}

/// A question with the time it arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingQuestion {
    pub question: Question,
    /// The form, if the agent itself asks.
    pub form: Option<Box<AnswerForm>>,
    pub since: Duration,
    /// Postponed with Tab: does not open by itself until the user returns to the questions.
    pub postponed: bool,
    /// Whether a notification has told of it.
    pub notified: bool,
    /// The last answer, if it was refused.
    pub refused: Option<RefusedAnswer>,
    /// The words of a denial that the user has left with Esc.
    pub reason: TextBuffer,
}

/// A question with the answer that was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct AnsweredQuestion {
    pub waiting: WaitingQuestion,
    pub answer: Answer,
    /// The rules as typed.
    pub typed: Option<TextBuffer>,
    /// Width at which the end of the content was seen.
    pub seen_width: Option<u16>,
}

/// An answer that could not be applied.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedAnswer {
    pub why: String,
    pub typed: Option<TextBuffer>,
    pub seen_width: Option<u16>,
}

/// The question on the screen.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownQuestion {
    pub id: QuestionId,
    /// Whether keys go to the question instead of the draft.
    pub keyboard: bool,
    /// Keys in this time were meant for what was on the screen before.
    pub unread: Option<UnreadTime>,
    /// When another question left the screen, if that was just before.
    pub follows: Option<Duration>,
    /// The row chosen with the arrows, as the digit of the answer.
    pub selected: Option<u8>,
    pub stage: QuestionStage,
    /// Whether the plan is in the user's editor.
    pub editing: bool,
    /// Lines scrolled down in the content.
    pub scroll: usize,
    /// Screen width at which the last line of the content was visible when the user pressed a key
    /// or turned the wheel. Another width wraps the content differently, so its end must be shown
    /// again.
    pub seen_width: Option<u16>,
    /// Why the last answer was refused.
    pub problem: Option<String>,
}

/// The time in which nobody can have read the shown question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadTime {
    pub until: Duration,
    /// The end of the longest such time.
    longest: Duration,
}

impl UnreadTime {
    pub fn new(opened: Duration) -> Self {
        Self { until: opened + UNREAD_TIME, longest: opened + MAX_UNREAD_TIME }
    }

    /// Starts the time anew for a key that was held back, as far as it may last.
    pub fn extend(&mut self, now: Duration) {
        self.until = self.until.max(now + UNREAD_TIME).min(self.longest);
    }

    /// The same for a digit, which the next one of its burst follows.
    pub fn extend_burst(&mut self, now: Duration) {
        self.extend(now);
        self.until = self.until.max(now + BURST_GAP);
    }
}

/// Digits that were held back as answers. They may begin a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldDigits {
    pub digits: String,
    /// When the last one was pressed.
    pub at: Duration,
}

/// The open question in the last frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionFrame {
    pub id: QuestionId,
    /// The tab of a form.
    pub tab: usize,
    /// The content: the whole call, the reason and warnings.
    pub content: Extent,
    /// Lines of the call alone, at the start of the content.
    pub call: usize,
    /// Where the visible part of it is.
    pub content_area: Rect,
    /// Width of the screen.
    pub width: u16,
    /// Whether it covers all that led to it.
    pub covers: bool,
    /// Whether the last line of the content was on the screen.
    pub end: bool,
    /// The answers that were fully visible and can be given.
    pub available: Vec<u8>,
    /// Whether the answers that allow are held back until the user scrolls past the end of the content.
    pub held: bool,
    /// The answers that allow but don't fit on the screen.
    pub clipped: Vec<u8>,
    /// Whether the call is too large for any screen, so it can only be denied.
    pub too_large: bool,
    /// The rules being edited, if they were fully visible.
    pub rules: Option<String>,
    /// Where the signs of rows that continue a line are: text that is copied is without them.
    pub signs: Vec<Position>,
}

/// The input that the shown question expects.
#[derive(Clone, Debug, PartialEq)]
pub enum QuestionStage {
    /// A numbered answer.
    Choose,
    /// The reason for a denial.
    Reason(TextBuffer),
    /// The rules to write to the user's local settings file of the project, one per line.
    Rule(TextBuffer),
}

/// Whether the question is about a plan, whose answers are about what follows.
pub fn is_plan(question: &Question) -> bool {
    matches!(question.access, Access::ExitPlan { .. })
}

impl QuestionFrame {
    /// Whether no answer that allows fits on the screen.
    pub fn cramped(&self) -> bool {
        self.available.is_empty() && !self.clipped.is_empty()
    }
}

impl QuestionQueue {
    pub fn get(&self, id: QuestionId) -> Option<&WaitingQuestion> {
        self.waiting.iter().find(|waiting| waiting.question.id == id)
    }

    /// The question that is shown.
    pub fn current(&self) -> Option<(&ShownQuestion, &WaitingQuestion)> {
        let open = self.open.as_ref()?;
        Some((open, self.get(open.id)?))
    }

    /// Whether the shown question is too new for a key to be meant for it.
    pub fn is_unread(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.unread.is_some())
    }

    /// Ends the time in which the shown question is too new. Returns whether it has ended just now.
    pub fn expire_unread(&mut self, now: Duration) -> bool {
        let open = self.open.as_mut();
        open.and_then(|open| open.unread.take_if(|unread| unread.until <= now)).is_some()
    }

    /// The form of the shown question, if it has one.
    pub fn form(&self) -> Option<&AnswerForm> {
        self.current()?.1.form.as_deref()
    }

    pub fn form_mut(&mut self) -> Option<&mut AnswerForm> {
        let id = self.open.as_ref()?.id;
        let waiting = self.waiting.iter_mut().find(|waiting| waiting.question.id == id)?;
        waiting.form.as_deref_mut()
    }

    /// Position of a question in the queue, from 1, and the length of the queue.
    pub fn place_in_queue(&self, id: QuestionId) -> (usize, usize) {
        let at = self.waiting.iter().position(|waiting| waiting.question.id == id).unwrap_or(0);
        (at + 1, self.waiting.len())
    }

    pub fn ask(&mut self, question: Question, at: Duration) {
        self.waiting.push_back(WaitingQuestion {
            form: AnswerForm::from_question(&question).map(Box::new),
            question,
            since: at,
            postponed: false,
            notified: false,
            refused: None,
            reason: TextBuffer::default(),
        });
    }

    /// Removes a question, and closes it if it is shown.
    pub fn remove(&mut self, id: QuestionId) -> Option<WaitingQuestion> {
        let at = self.waiting.iter().position(|waiting| waiting.question.id == id)?;
        if self.open.as_ref().is_some_and(|open| open.id == id) {
            self.open = None;
        }
        self.waiting.remove(at)
    }

    /// Shows a question. If its answer was refused, restores the typed text and gives it the
    /// keyboard, as before.
    pub fn show(&mut self, id: QuestionId, keyboard: bool) {
        let refused = self.get(id).and_then(|waiting| waiting.refused.clone());
        let keyboard = keyboard || refused.is_some();
        let (problem, typed, seen_at) = match refused {
            Some(RefusedAnswer { why, typed, seen_width: seen_at }) => (Some(why), typed, seen_at),
            None => (None, None, None),
        };
        let stage = typed.map_or(QuestionStage::Choose, QuestionStage::Rule);
        self.open = Some(ShownQuestion {
            id,
            keyboard,
            unread: None,
            follows: None,
            selected: None,
            stage,
            editing: false,
            scroll: 0,
            seen_width: seen_at,
            problem,
        });
    }

    /// Puts an answered question back to its place, and has it open next. Returns false when it was not
    /// answered here.
    pub fn reopen(&mut self, id: QuestionId, why: String) -> bool {
        let Some(AnsweredQuestion { mut waiting, typed, seen_width: seen_at, .. }) =
            self.take_answered(id)
        else {
            return false;
        };
        waiting.postponed = false;
        waiting.refused = Some(RefusedAnswer { why, typed, seen_width: seen_at });
        let order = |waiting: &WaitingQuestion| (waiting.since, waiting.question.id);
        let after = self.waiting.iter().position(|other| order(other) > order(&waiting));
        self.waiting.insert(after.unwrap_or(self.waiting.len()), waiting);
        self.pause_until = None;
        true
    }

    /// Removes an answered question.
    pub fn take_answered(&mut self, id: QuestionId) -> Option<AnsweredQuestion> {
        let at = self.answered.iter().position(|known| known.waiting.question.id == id)?;
        Some(self.answered.remove(at))
    }

    /// The first question that was not postponed; before all others, one whose answer was refused.
    pub fn next(&self) -> Option<QuestionId> {
        let waiting = self.waiting.iter().filter(|waiting| !waiting.postponed);
        let waiting = waiting.min_by_key(|waiting| waiting.refused.is_none())?;
        Some(waiting.question.id)
    }

    /// The question after the shown one.
    pub fn next_after_open(&self) -> Option<QuestionId> {
        let open = self.open.as_ref()?.id;
        let rest = self.waiting.iter().skip_while(|waiting| waiting.question.id != open).skip(1);
        rest.map(|waiting| waiting.question.id).next()
    }

    /// Returns to the postponed questions: they open one after another again.
    pub fn clear_postponed(&mut self) {
        for waiting in &mut self.waiting {
            waiting.postponed = false;
        }
    }

    /// The digits that can answer a question: 2 and 3 need a rule, and 3 one that is worth writing down.
    pub fn choices(question: &Question) -> &'static [u8] {
        match (is_plan(question), question.rules.is_empty(), question.offers_always) {
            (true, ..) | (_, false, true) => &[1, 2, 3, 4, 5],
            (_, false, false) => &[1, 2, 4, 5],
            (_, true, _) => &[1, 4, 5],
        }
    }
}
