//! The answers of a question, and the lines that some of them ask for.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::protocol::{Access, Question};
use crate::tui::composer::Buffer as Typed;
use crate::tui::model::Questions;
use crate::tui::model::question::{NO, OpenQuestion, Stage};
use crate::tui::text::{one_line, reveal, width, wrap_hanging, wrap_text};
use crate::tui::theme::Theme;
use crate::tui::view::prompt::Draft;

use super::content::plain;
use super::grant;

/// Cells before the words of an answer: its digit, the mark of the selected one, a space.
const MARGIN: usize = 3;

/// Cells between answers on one line.
const GAP: usize = 3;

/// How the answers stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Yes on the left, no on the right.
    Columns,
    /// Each on a line of its own.
    Stacked,
    /// One behind the other.
    Packed,
    /// The same in fewer words, where the end of the content was not shown yet: they name no grant,
    /// so they allow nothing.
    Brief,
}

impl Form {
    /// The forms for this width, the best first.
    pub fn fitting(open: &OpenQuestion, question: &Question, width: u16) -> Vec<Self> {
        if open.stage != Stage::Choose {
            return vec![Self::Stacked];
        }
        let (yes, no) = columns(&answers(question));
        let columns = widest(&yes) + GAP + widest(&no) <= usize::from(width);
        let columns = columns.then_some(Self::Columns);
        columns.into_iter().chain([Self::Stacked, Self::Packed]).collect()
    }
}

/// A part of an answer on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub digit: u8,
    pub row: usize,
    pub x: u16,
    pub width: u16,
}

/// What stands below the content.
#[derive(Default)]
pub struct Lower {
    pub lines: Vec<Line<'static>>,
    pub places: Vec<Place>,
    /// Row and column of the cursor.
    pub cursor: Option<(usize, u16)>,
    /// The rules, while they are edited.
    pub rules: Option<String>,
}

/// An answer in words.
type Answer = (u8, String);

/// How the answers look.
struct Look<'a> {
    open: &'a OpenQuestion,
    /// Whether the answers that say yes may be given.
    lit: bool,
    theme: &'a Theme,
}

impl Lower {
    /// The lines of this stage of the question.
    pub fn new(
        open: &OpenQuestion,
        question: &Question,
        width: u16,
        form: Form,
        lit: bool,
        theme: &Theme,
    ) -> Self {
        let mut lower = Self::default();
        match &open.stage {
            Stage::Choose => lower.push_answers(question, width, form, &Look { open, lit, theme }),
            Stage::Reason(reason) => {
                let words = format!("What should {} do instead? (empty: just no)", question.agent);
                lower.lines.extend(wrap_text(&words, width, theme.text));
                lower.push_input(reason, width, theme);
            }
            Stage::Rule(rules) => {
                if let Some(problem) = &open.problem {
                    let words = format!("! not written: {}", one_line(&reveal(problem)));
                    lower.lines.extend(plain(&words, width, theme.question));
                }
                let added = rules.text().lines().map(str::trim).collect::<Vec<_>>().join(", ");
                let words = format!(
                    "adds {added} to allow in .caliban/config.local.toml (you, this project)"
                );
                lower.lines.extend(plain(&words, width, theme.text));
                lower.push_input(rules, width, theme);
                lower.rules = Some(rules.text().to_owned());
            }
        }
        lower
    }

    /// Whether all of an answer stands in the first rows.
    pub fn is_whole(&self, digit: u8, rows: usize) -> bool {
        let last = self.places.iter().filter(|place| place.digit == digit).map(|place| place.row);
        last.max().is_some_and(|row| row < rows)
    }

    /// A line that is being typed.
    fn push_input(&mut self, typed: &Typed, width: u16, theme: &Theme) {
        let mut draft = Draft::default();
        draft.refresh(typed, usize::from(width.saturating_sub(3)));
        let (row, column) = draft.cursor();
        self.cursor = Some((self.lines.len() + row, column));
        self.lines.extend(draft.lines(typed, 0, theme));
    }

    fn push_answers(&mut self, question: &Question, width: u16, form: Form, look: &Look<'_>) {
        let answers = match form {
            Form::Brief => brief(answers(question)),
            _ => answers(question),
        };
        match form {
            Form::Columns => self.push_columns(&answers, look),
            Form::Stacked => {
                for answer in &answers {
                    self.push_wrapped(answer, width, look);
                }
            }
            Form::Packed | Form::Brief => self.push_packed(&answers, width, look),
        }
        if question.rules.is_empty() {
            let words = without_rules(question);
            self.lines.extend(wrap_text(&words, width, look.theme.dim));
        }
    }

    fn push_columns(&mut self, answers: &[Answer], look: &Look<'_>) {
        let (yes, no) = columns(answers);
        let second = widest(&yes) + GAP;
        for row in 0..yes.len().max(no.len()) {
            let mut line = Line::default();
            if let Some(answer) = yes.get(row) {
                self.push_piece(&mut line, answer, look);
            }
            if let Some(answer) = no.get(row) {
                line.push_span(Span::raw(" ".repeat(second - line.width())));
                self.push_piece(&mut line, answer, look);
            }
            self.lines.push(line);
        }
    }

    fn push_packed(&mut self, answers: &[Answer], width: u16, look: &Look<'_>) {
        let room = usize::from(width);
        let mut line = Line::default();
        for answer in answers {
            let cells = cells(answer);
            if line.width() > 0 && line.width() + GAP + cells > room {
                self.lines.push(std::mem::take(&mut line));
            }
            if cells > room {
                self.push_wrapped(answer, width, look);
                continue;
            }
            if line.width() > 0 {
                line.push_span(Span::raw(" ".repeat(GAP)));
            }
            self.push_piece(&mut line, answer, look);
        }
        if line.width() > 0 {
            self.lines.push(line);
        }
    }

    /// One answer at the end of a line, which is the next to be pushed.
    fn push_piece(&mut self, line: &mut Line<'static>, answer: &Answer, look: &Look<'_>) {
        let x = u16::try_from(line.width()).unwrap_or(u16::MAX);
        let width = u16::try_from(cells(answer)).unwrap_or(u16::MAX);
        self.places.push(Place { digit: answer.0, row: self.lines.len(), x, width });
        line.spans.extend(look.margin(answer.0).spans);
        line.push_span(Span::styled(answer.1.clone(), look.words(answer.0)));
    }

    /// One answer on as many lines as it needs.
    fn push_wrapped(&mut self, (digit, words): &Answer, width: u16, look: &Look<'_>) {
        let words = Line::styled(words.clone(), look.words(*digit));
        let rest = Line::raw(" ".repeat(MARGIN));
        for line in wrap_hanging(&words, width, &look.margin(*digit), &rest) {
            self.places.push(Place { digit: *digit, row: self.lines.len(), x: 0, width });
            self.lines.push(line);
        }
    }
}

impl Look<'_> {
    fn is_lit(&self, digit: u8) -> bool {
        self.lit || digit >= NO
    }

    fn margin(&self, digit: u8) -> Line<'static> {
        let theme = self.theme;
        let chosen = self.open.selected == Some(digit) && self.is_lit(digit);
        let mark = if chosen { theme.glyphs.focus } else { " " };
        let number =
            if self.open.keyboard && self.is_lit(digit) { theme.question } else { theme.dim };
        Line::from(vec![
            Span::styled(digit.to_string(), number),
            Span::styled(mark, theme.accent),
            Span::raw(" "),
        ])
    }

    fn words(&self, digit: u8) -> Style {
        match (self.is_lit(digit), self.open.selected == Some(digit)) {
            (false, _) => self.theme.dim,
            (true, true) => self.theme.selection,
            (true, false) => self.theme.text,
        }
    }
}

/// The answers that say yes, and those that say no.
fn columns(answers: &[Answer]) -> (Vec<Answer>, Vec<Answer>) {
    answers.iter().cloned().partition(|(digit, _)| *digit < NO)
}

fn cells((_, words): &Answer) -> usize {
    MARGIN + width(words)
}

fn widest(answers: &[Answer]) -> usize {
    answers.iter().map(cells).max().unwrap_or(0)
}

/// The answers that this question has.
fn answers(question: &Question) -> Vec<Answer> {
    let main = question.path.is_root();
    let words = |digit: &u8| match digit {
        1 => "Yes".to_owned(),
        2 => grant::words(question),
        3 => "Yes, always in this project (shows the rule first)".to_owned(),
        4 => "No, and say what to do instead".to_owned(),
        _ if main => "No, and stop main".to_owned(),
        _ => format!("No, and cancel {}", question.agent),
    };
    let choices = Questions::choices(question).iter();
    choices.map(|digit| (*digit, one_line(&words(digit)))).collect()
}

/// The answers in fewer words.
fn brief(answers: Vec<Answer>) -> Vec<Answer> {
    let shorter = |(digit, words): Answer| match digit {
        2 => (digit, "Yes, and the like".to_owned()),
        3 => (digit, "Yes, always".to_owned()),
        _ => (digit, words),
    };
    answers.into_iter().map(shorter).collect()
}

/// Why there is neither 2 nor 3.
fn without_rules(question: &Question) -> String {
    if question.reason.starts_with("rule ") && question.reason.ends_with(" asks") {
        return "The ask rule asks every time, so there is no 2 or 3".to_owned();
    }
    format!("2 and 3 need a rule; none is safe for {}", this(question))
}

fn this(question: &Question) -> &'static str {
    match question.access {
        Access::Command { .. } => "this command",
        Access::Write { .. } => "this edit",
        Access::Fetch { .. } => "this address",
        _ => "this call",
    }
}
