//! The queue of permission questions, and the one that is shown.

use std::collections::VecDeque;
use std::time::Duration;

use crate::protocol::{Question, QuestionId};
use crate::tui::composer::Buffer;

/// A question opens when no text key was pressed for this long.
pub const QUIET: Duration = Duration::from_secs(1);

/// How long the receipt of an answer stands before the next question opens.
pub const RECEIPT: Duration = Duration::from_millis(400);

/// All questions that wait for an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Questions {
    /// In order of asking.
    pub waiting: VecDeque<Waiting>,
    pub open: Option<OpenQuestion>,
    /// Until when the receipt of the last answer stands.
    pub receipt_until: Option<Duration>,
    /// When the person is told through the terminal, whose window has no focus.
    pub notify_at: Option<Duration>,
}

/// A question with the time when it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    pub question: Question,
    pub since: Duration,
    /// Put off with Tab: does not open by itself.
    pub later: bool,
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
    /// Lines scrolled down in the command or diff.
    pub scroll: usize,
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
        self.waiting.push_back(Waiting { question, since: at, later: false });
    }

    /// Takes a question out, and closes it if it is shown.
    pub fn remove(&mut self, id: QuestionId) -> Option<Waiting> {
        let at = self.waiting.iter().position(|waiting| waiting.question.id == id)?;
        if self.open.as_ref().is_some_and(|open| open.id == id) {
            self.open = None;
        }
        self.waiting.remove(at)
    }

    /// Shows a question.
    pub fn show(&mut self, id: QuestionId, keyboard: bool) {
        let stage = Stage::Choose;
        self.open = Some(OpenQuestion { id, keyboard, selected: None, stage, scroll: 0 });
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

    /// The digits that answer this question now: 2 and 3 need a rule.
    #[must_use]
    pub fn choices(question: &Question) -> &'static [u8] {
        if question.rules.is_empty() { &[1, 4, 5] } else { &[1, 2, 3, 4, 5] }
    }
}
