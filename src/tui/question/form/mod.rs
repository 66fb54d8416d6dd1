//! The form for an agent's own questions: a tab for each, and a last one that shows all answers.

pub mod draw;

use std::collections::BTreeSet;

use crossterm::event::KeyEvent;
use serde_json::Value;

use crate::protocol::{Access, Allowance, Answer, Question, UserQuestion, with_answers};
use crate::tui::composer::TextBuffer;
use crate::tui::composer::edit::edit_text;
use crate::tui::composer::paste::{NO_IMAGE, PASTE_TOO_LARGE};
use crate::tui::keymap::{Action, KeyContext, Keymap, plain_char};

/// The form, with the answers so far.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerForm {
    pub questions: Vec<FormQuestion>,
    /// The shown tab. Behind the last question, it is the summary of the answers.
    pub tab: usize,
    pub scroll: FormScroll,
}

/// A question with its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct FormQuestion {
    pub asked: UserQuestion,
    /// The row of the cursor: an option, or behind the last one the text field.
    pub row: Option<usize>,
    /// The chosen rows. At most one if the question takes only one.
    pub chosen: BTreeSet<usize>,
    pub text: TextBuffer,
}

/// The visible part of a tab that is higher than the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FormScroll {
    /// It shows the row of the cursor.
    #[default]
    ToCursor,
    /// It starts with this line.
    At(usize),
}

/// What a key on the form leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum FormOutcome {
    /// The form has handled it.
    Done,
    /// The user has answered.
    Answered(Answer),
    /// A remark for the user.
    Remark(&'static str),
    /// A letter for the draft.
    Letter(char),
    /// Something else.
    Other(Option<Action>),
}

impl FormQuestion {
    fn new(asked: UserQuestion) -> Self {
        Self { asked, row: None, chosen: BTreeSet::new(), text: TextBuffer::default() }
    }

    /// The row of the text field.
    pub fn text_row(&self) -> usize {
        self.asked.options.len()
    }

    /// Whether the cursor is in the text field.
    pub fn is_typing(&self) -> bool {
        self.row == Some(self.text_row())
    }

    /// The answer, as the model reads it.
    pub fn answer(&self) -> Option<String> {
        let typed = self.text.full_text();
        let answers = self.chosen.iter().map(|row| match self.asked.options.get(*row) {
            Some(option) => option.label.trim(),
            None => typed.trim(),
        });
        let answers: Vec<_> = answers.filter(|answer| !answer.is_empty()).collect();
        (!answers.is_empty()).then(|| answers.join(", "))
    }

    /// Whether this row is among the answers.
    pub fn is_chosen(&self, row: usize) -> bool {
        self.chosen.contains(&row) && (row < self.text_row() || !self.text.text().trim().is_empty())
    }

    fn choose(&mut self, row: usize) {
        if !self.asked.multi_select {
            self.chosen.clear();
        }
        self.chosen.insert(row);
    }

    fn toggle(&mut self, row: usize) {
        if self.asked.multi_select && self.chosen.remove(&row) {
            return;
        }
        self.choose(row);
    }

    /// Counts a typed text as an answer, and an empty one as none.
    fn text_changed(&mut self) {
        let row = self.text_row();
        match self.text.text().trim().is_empty() {
            true => {
                self.chosen.remove(&row);
            }
            false => self.choose(row),
        }
    }

    /// Moves the cursor by one row, wrapping around.
    fn move_row(&mut self, down: bool) {
        let rows = self.text_row() + 1;
        self.row = Some(match (self.row, down) {
            (None, true) => 0,
            (None, false) => rows - 1,
            (Some(row), true) => (row + 1) % rows,
            (Some(row), false) => (row + rows - 1) % rows,
        });
    }
}

impl AnswerForm {
    /// Creates the form of a question; `None` if it is about a permission.
    pub fn from_question(question: &Question) -> Option<Self> {
        let Access::AskUser { .. } = question.access else { return None };
        let questions = UserQuestion::from_input(&question.input)?;
        let questions = questions.into_iter().map(FormQuestion::new).collect();
        Some(Self { questions, tab: 0, scroll: FormScroll::default() })
    }

    /// The question of the shown tab; `None` in the summary.
    pub fn current(&self) -> Option<&FormQuestion> {
        self.questions.get(self.tab)
    }

    fn current_mut(&mut self) -> Option<&mut FormQuestion> {
        self.questions.get_mut(self.tab)
    }

    /// Whether there is a summary: with one question, the form shows the whole answer anyway.
    pub fn has_summary(&self) -> bool {
        self.questions.len() > 1
    }

    /// Whether the cursor is in a text field.
    pub fn is_typing(&self) -> bool {
        self.current().is_some_and(FormQuestion::is_typing)
    }

    /// Leaves the text field.
    pub fn stop_typing(&mut self) {
        if let Some(question) = self.current_mut() {
            question.row = None;
        }
    }

    /// Moves the cursor to a row, without choosing it.
    pub fn select(&mut self, row: usize) {
        self.scroll = FormScroll::ToCursor;
        if let Some(question) = self.current_mut() {
            question.row = Some(row.min(question.text_row()));
        }
    }

    /// Handles a click on a row. It ticks an option of several, or moves the cursor to the only one;
    /// `again`, it does what Enter does there. In the summary it shows the question of the row.
    pub fn click(&mut self, digit: u8, again: bool, input: &Value, visible: &[u8]) -> FormOutcome {
        let Some(row) = usize::from(digit).checked_sub(1) else { return FormOutcome::Done };
        let Some(question) = self.current_mut() else {
            self.show_tab(row.min(self.questions.len().saturating_sub(1)));
            return FormOutcome::Done;
        };
        let (several, is_option) = (question.asked.multi_select, row < question.text_row());
        let enters = again && is_option && !several && question.row == Some(row);
        if is_option && several && visible.contains(&digit) {
            question.toggle(row);
        }
        self.select(row);
        if enters { self.enter(input, visible) } else { FormOutcome::Done }
    }

    /// Shows the tab with this number.
    pub fn show_tab(&mut self, tab: usize) {
        if tab <= self.questions.len() {
            self.go_to(tab);
        }
    }

    /// Pastes into the text field. Returns `None` if the cursor is not in it, `Some(false)` if the text
    /// is too large.
    pub fn paste(&mut self, text: &str) -> Option<bool> {
        let question = self.current_mut().filter(|question| question.is_typing())?;
        let fits = question.text.paste(text);
        question.text_changed();
        Some(fits)
    }

    /// Handles a key. `visible` are the digits of the rows that the last frame showed in full, with their
    /// previews, if it showed this tab: the digit of another row first moves the cursor there, so that the
    /// user reads it.
    pub fn press(
        &mut self,
        keys: &Keymap,
        key: KeyEvent,
        input: &Value,
        visible: Option<&[u8]>,
    ) -> FormOutcome {
        let action = keys.action(KeyContext::Prompt, key);
        if self.is_typing() {
            return self.type_key(key, action, input);
        }
        let shown = visible.unwrap_or_default();
        if let Some(letter) = plain_char(key) {
            return self.press_letter(letter, input, shown);
        }
        match action {
            Some(Action::Up | Action::Down) => {
                self.scroll = FormScroll::ToCursor;
                if let Some(question) = self.current_mut() {
                    question.move_row(action == Some(Action::Down));
                }
            }
            Some(Action::Left | Action::BackgroundOrLeft) => self.turn(false),
            Some(Action::Right) => self.turn(true),
            // The summary must have been on the screen.
            Some(Action::Submit) if self.current().is_none() && visible.is_none() => {}
            Some(Action::Submit) => return self.enter(input, shown),
            other => return FormOutcome::Other(other),
        }
        FormOutcome::Done
    }

    fn press_letter(&mut self, letter: char, input: &Value, visible: &[u8]) -> FormOutcome {
        if letter == ' ' {
            let Some(question) = self.current_mut() else { return FormOutcome::Done };
            match question.row {
                Some(row) if is_among(row, visible) => question.toggle(row),
                None if question.asked.multi_select => {
                    return FormOutcome::Remark(
                        "no row is selected yet · ↑↓ or a digit selects one",
                    );
                }
                _ => {}
            }
            return FormOutcome::Done;
        }
        let Some(digit) = letter.to_digit(10).and_then(|digit| u8::try_from(digit).ok()) else {
            return FormOutcome::Letter(letter);
        };
        let Some(row) = usize::from(digit).checked_sub(1) else { return FormOutcome::Done };
        let Some(question) = self.current_mut() else {
            if row < self.questions.len() {
                self.go_to(row);
            }
            return FormOutcome::Done;
        };
        if row > question.text_row() {
            return FormOutcome::Done;
        }
        let multi = question.asked.multi_select;
        let is_option = row < question.text_row() && visible.contains(&digit);
        match (is_option, multi) {
            (true, true) => question.toggle(row),
            (true, false) => question.choose(row),
            (false, _) => {}
        }
        self.select(row);
        if is_option && !multi { self.go_on(input) } else { FormOutcome::Done }
    }

    /// Handles a key in the text field.
    fn type_key(&mut self, key: KeyEvent, action: Option<Action>, input: &Value) -> FormOutcome {
        self.scroll = FormScroll::ToCursor;
        let Some(question) = self.questions.get_mut(self.tab) else { return FormOutcome::Done };
        if let Some(letter) = plain_char(key) {
            question.text.type_char(letter);
            question.text_changed();
            return FormOutcome::Done;
        }
        match action {
            Some(Action::Submit) => return self.enter(input, &[]),
            Some(Action::Up | Action::Down) => question.move_row(action == Some(Action::Down)),
            Some(Action::Next | Action::Redraw | Action::Suspend | Action::Reader) => {
                return FormOutcome::Other(action);
            }
            Some(Action::PasteImage) => return FormOutcome::Remark(NO_IMAGE),
            Some(action) => {
                let fits = edit_text(&mut question.text, action);
                question.text_changed();
                if !fits {
                    return FormOutcome::Remark(PASTE_TOO_LARGE);
                }
            }
            None => {}
        }
        FormOutcome::Done
    }

    /// Enter: chooses the row of the cursor if only one can be chosen, and goes on once there is an
    /// answer.
    fn enter(&mut self, input: &Value, visible: &[u8]) -> FormOutcome {
        let Some(question) = self.current_mut() else { return self.submit(input) };
        let one = !question.asked.multi_select;
        if let Some(row) = question.row.filter(|row| one && *row < question.text_row()) {
            if !is_among(row, visible) {
                return FormOutcome::Done;
            }
            question.choose(row);
        }
        match (question.answer(), one) {
            (Some(_), _) => self.go_on(input),
            (None, true) => FormOutcome::Remark("no answer yet · a digit or ↑↓ chooses"),
            (None, false) => {
                FormOutcome::Remark("no answer yet · Space or a digit ticks an option")
            }
        }
    }

    /// Goes to the next tab; with one question, the answer is complete.
    fn go_on(&mut self, input: &Value) -> FormOutcome {
        if !self.has_summary() {
            return self.submit(input);
        }
        self.turn(true);
        FormOutcome::Done
    }

    /// Goes to the next or previous tab, if there is one.
    fn turn(&mut self, forward: bool) {
        let last = if self.has_summary() { self.questions.len() } else { 0 };
        let tab = self.tab.saturating_add_signed(if forward { 1 } else { -1 });
        self.go_to(tab.min(last));
    }

    fn go_to(&mut self, tab: usize) {
        self.tab = tab;
        self.scroll = FormScroll::ToCursor;
    }

    fn submit(&self, input: &Value) -> FormOutcome {
        let answers: Vec<_> = self
            .questions
            .iter()
            .filter_map(|question| Some((&question.asked, question.answer()?)))
            .collect();
        if answers.is_empty() {
            return FormOutcome::Remark("no answer yet · Esc declines");
        }
        let input = Some(with_answers(input, answers));
        FormOutcome::Answered(Answer::Allowed(Box::new(Allowance {
            input,
            ..Allowance::default()
        })))
    }

    /// The answers in one line, for the receipt: `Library: chrono, Features: serde, clock`.
    pub fn receipt(&self) -> String {
        let given = self.questions.iter().filter_map(|question| {
            Some(format!("{}: {}", question.asked.header, question.answer()?))
        });
        given.collect::<Vec<_>>().join(", ")
    }
}

/// Whether the digit of the row is among these.
fn is_among(row: usize, digits: &[u8]) -> bool {
    u8::try_from(row + 1).is_ok_and(|digit| digits.contains(&digit))
}
