//! The queue of permission questions, and the one that is shown.

use std::collections::VecDeque;
use std::time::Duration;

use crate::protocol::{Answer, Question, QuestionId};
use crate::tui::composer::Buffer;

use super::{Extent, Model};

/// A question opens when no text key was pressed for this long.
pub const QUIET: Duration = Duration::from_secs(1);

/// How long the receipt of an answer stands before the next question opens.
pub const RECEIPT: Duration = Duration::from_millis(400);

/// The first answer that allows nothing.
pub const NO: u8 = 4;

/// All questions that wait for an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Questions {
    /// In order of asking.
    pub waiting: VecDeque<Waiting>,
    /// Answered here, but not closed yet: an answer can be refused.
    pub answered: Vec<Answered>,
    pub open: Option<OpenQuestion>,
    /// Until when no question opens by itself, because one has just left the screen.
    pub pause_until: Option<Duration>,
    /// When the person is told through the terminal, whose window has no focus.
    pub notify_at: Option<Duration>,
}

/// A question with the time when it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    pub question: Question,
    pub since: Duration,
    /// Put off with Tab: does not open by itself until the user comes back to the questions.
    pub later: bool,
    /// The last answer, if it was refused.
    pub refused: Option<Refused>,
}

/// A question with the answer that was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    pub waiting: Waiting,
    pub answer: Answer,
    /// The rules as they were typed.
    pub typed: Option<Buffer>,
    /// Where the end of the content had been seen.
    pub seen_at: Option<u16>,
}

/// An answer that could not be carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    pub why: String,
    pub typed: Option<Buffer>,
    pub seen_at: Option<u16>,
}

/// The question on the screen.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenQuestion {
    pub id: QuestionId,
    /// Whether keys go to it; else they go to the draft.
    pub keyboard: bool,
    /// The row chosen with the arrows, as the digit of the answer.
    pub selected: Option<u8>,
    pub stage: Stage,
    /// Lines scrolled down in the content.
    pub scroll: usize,
    /// Width of the screen on which the last line of the content stood when the user pressed a key
    /// or turned the wheel. Another width wraps the content anew, and its end has to be shown
    /// again.
    pub seen_at: Option<u16>,
    /// Why the last answer was refused.
    pub problem: Option<String>,
}

/// The open question as the last frame showed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionFrame {
    pub id: QuestionId,
    /// The content: the whole call, its reason and warnings.
    pub content: Extent,
    /// Width of the screen.
    pub width: u16,
    /// Whether the last line of the content was on the screen.
    pub end: bool,
    /// The answers that were on the screen in full and may be given.
    pub live: Vec<u8>,
    /// Whether the answers that say yes are held back until the user moves past the end of the content.
    pub held: bool,
    /// The answers that say yes and have no room on the screen.
    pub cut: Vec<u8>,
    /// Whether no screen could show the whole call, so that it can only be refused.
    pub too_large: bool,
    /// The rules that were on the screen in full, while they are edited.
    pub rules: Option<String>,
}

/// What the shown question asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    /// One of the numbered answers.
    Choose,
    /// The reason for a no.
    Reason(Buffer),
    /// The rules to write into the person's own file of the project, one per line.
    Rule(Buffer),
}

impl QuestionFrame {
    /// Whether the screen has no room for any answer that says yes.
    #[must_use]
    pub fn cramped(&self) -> bool {
        self.live.is_empty() && !self.cut.is_empty()
    }
}

impl Questions {
    #[must_use]
    pub fn get(&self, id: QuestionId) -> Option<&Waiting> {
        self.waiting.iter().find(|waiting| waiting.question.id == id)
    }

    /// The question that is shown.
    #[must_use]
    pub fn shown(&self) -> Option<(&OpenQuestion, &Waiting)> {
        let open = self.open.as_ref()?;
        Some((open, self.get(open.id)?))
    }

    /// Its place in the queue and their number, from 1.
    #[must_use]
    pub fn place(&self, id: QuestionId) -> (usize, usize) {
        let at = self.waiting.iter().position(|waiting| waiting.question.id == id).unwrap_or(0);
        (at + 1, self.waiting.len())
    }

    pub fn ask(&mut self, question: Question, at: Duration) {
        self.waiting.push_back(Waiting { question, since: at, later: false, refused: None });
    }

    /// Takes a question out, and closes it if it is shown.
    pub fn remove(&mut self, id: QuestionId) -> Option<Waiting> {
        let at = self.waiting.iter().position(|waiting| waiting.question.id == id)?;
        if self.open.as_ref().is_some_and(|open| open.id == id) {
            self.open = None;
        }
        self.waiting.remove(at)
    }

    /// Shows a question; one whose answer was refused with what was typed, and with the keyboard,
    /// which was in it.
    pub fn show(&mut self, id: QuestionId, keyboard: bool) {
        let refused = self.get(id).and_then(|waiting| waiting.refused.clone());
        let keyboard = keyboard || refused.is_some();
        let (problem, typed, seen_at) = match refused {
            Some(Refused { why, typed, seen_at }) => (Some(why), typed, seen_at),
            None => (None, None, None),
        };
        let stage = typed.map_or(Stage::Choose, Stage::Rule);
        self.open =
            Some(OpenQuestion { id, keyboard, selected: None, stage, scroll: 0, seen_at, problem });
    }

    /// Puts an answered question back, before all others. False when it was not answered here.
    pub fn reopen(&mut self, id: QuestionId, why: String) -> bool {
        let Some(Answered { mut waiting, typed, seen_at, .. }) = self.take_answered(id) else {
            return false;
        };
        waiting.later = false;
        waiting.refused = Some(Refused { why, typed, seen_at });
        self.waiting.push_front(waiting);
        self.pause_until = None;
        true
    }

    /// Takes out a question that was answered.
    pub fn take_answered(&mut self, id: QuestionId) -> Option<Answered> {
        let at = self.answered.iter().position(|known| known.waiting.question.id == id)?;
        Some(self.answered.remove(at))
    }

    /// The first that was not put off.
    #[must_use]
    pub fn next(&self) -> Option<QuestionId> {
        let waiting = self.waiting.iter().find(|waiting| !waiting.later)?;
        Some(waiting.question.id)
    }

    /// The one behind the shown one that was not put off.
    #[must_use]
    pub fn after_open(&self) -> Option<QuestionId> {
        let open = self.open.as_ref()?.id;
        let rest = self.waiting.iter().skip_while(|waiting| waiting.question.id != open).skip(1);
        rest.map(|waiting| waiting.question.id).next()
    }

    /// The user comes back to the questions that were put off: they follow one another again.
    pub fn take_up(&mut self) {
        for waiting in &mut self.waiting {
            waiting.later = false;
        }
    }

    /// Whether a question has just left the screen and the next one opens after a pause.
    #[must_use]
    pub fn between(&self) -> bool {
        self.open.is_none() && self.pause_until.is_some() && self.next().is_some()
    }

    /// The digits that answer this question now: 2 and 3 need a rule.
    #[must_use]
    pub fn choices(question: &Question) -> &'static [u8] {
        if question.rules.is_empty() { &[1, 4, 5] } else { &[1, 2, 3, 4, 5] }
    }
}

impl Model {
    /// The open question as it is on the screen now; `None` before it was drawn, and while
    /// something covers it.
    #[must_use]
    pub fn question_frame(&self) -> Option<&QuestionFrame> {
        let open = self.questions.open.as_ref()?;
        self.metrics.question.as_ref().filter(|frame| frame.id == open.id)
    }

    /// The digits that answer the open question now. No and its variants always do; the others only
    /// when they are on the screen, and once the end of what they allow was.
    #[must_use]
    pub fn answers(&self) -> Vec<u8> {
        let Some((_, waiting)) = self.questions.shown() else { return Vec::new() };
        let live = self.question_frame().map_or(&[][..], |frame| &frame.live);
        let choices = Questions::choices(&waiting.question).iter().copied();
        choices.filter(|digit| *digit >= NO || live.contains(digit)).collect()
    }
}
