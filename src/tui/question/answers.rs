//! The answers of a question, and the text fields that some of them open.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::protocol::{Access, Question, printable_line};
use crate::tui::composer::TextBuffer as Typed;
use crate::tui::composer::draw::DraftLayout;
use crate::tui::question::content::plain_lines;
use crate::tui::question::{NO_DIGIT, QuestionQueue, QuestionStage, ShownQuestion, grant, is_plan};
use crate::tui::text::{reveal_line, width as width_of, wrap_hanging, wrap_text};
use crate::tui::theme::{Glyphs, Theme};

/// Cells before an answer's text: its digit, the selection mark, a space.
const MARGIN: usize = 3;

/// Cells between answers on one line.
const GAP: usize = 3;

/// Where the column of noes begins if the yes answers are shorter.
const SECOND_COLUMN: usize = 28;

/// Cells that half of a note loses where it breaks between words.
const NOTE_LOSS: usize = 4;

/// How the answers are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerLayout {
    /// Yes on the left, no on the right.
    Columns,
    /// The same, with "it" in place of the asker's name.
    ShortColumns,
    /// Each on a line of its own.
    Stacked,
    /// Side by side, wrapped between answers.
    Packed,
    /// Packed and shortened, while the end of the content was not shown yet: the labels name no
    /// grant, so the yes answers are disabled.
    Brief,
}

impl AnswerLayout {
    /// The arrangements possible at this width, best first.
    pub fn candidates(
        open: &ShownQuestion,
        question: &Question,
        width: u16,
        glyphs: &Glyphs,
    ) -> Vec<Self> {
        if open.stage != QuestionStage::Choose {
            return vec![Self::Stacked];
        }
        let columns = [(Self::Columns, false), (Self::ShortColumns, true)].into_iter();
        let fitting = columns.filter(|(_, short)| {
            let (yes, no) = split_yes_no(&answers(question, *short, glyphs));
            max_label_width(&yes) + GAP + max_label_width(&no) <= usize::from(width)
        });
        let best = fitting.map(|(columns, _)| columns).next();
        best.into_iter().chain([Self::Stacked, Self::Packed]).collect()
    }
}

/// The part of an answer on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerSpan {
    pub digit: u8,
    pub row: usize,
    pub x: u16,
    pub width: u16,
}

/// The lines below the content.
#[derive(Default)]
pub struct AnswerBlock {
    pub lines: Vec<Line<'static>>,
    pub spans: Vec<AnswerSpan>,
    /// Row and column of the cursor.
    pub cursor: Option<(usize, u16)>,
    /// The first row of the text field, if there is one.
    pub field: usize,
    /// The rules, while they are edited.
    pub rules: Option<String>,
    /// Whether the answers name Esc, so that the border need not.
    pub names_esc: bool,
}

/// An answer's digit and text.
type AnswerLabel = (u8, String);

/// Style of the answers.
struct AnswerStyle<'a> {
    open: &'a ShownQuestion,
    /// Whether the yes answers are enabled.
    enabled: bool,
    theme: &'a Theme,
}

impl AnswerBlock {
    /// Lays out the question's current stage.
    pub fn new(
        open: &ShownQuestion,
        question: &Question,
        width: u16,
        form: AnswerLayout,
        lit: bool,
        theme: &Theme,
    ) -> Self {
        let mut lower = Self::default();
        match &open.stage {
            QuestionStage::Choose => lower.push_answers(
                question,
                width,
                form,
                &AnswerStyle { open, enabled: lit, theme },
            ),
            QuestionStage::Reason(reason) => {
                let does = if is_plan(question) { "plan" } else { "do" };
                let agent = reveal_line(&question.agent);
                let words = format!("What should {agent} {does} instead? (optional)");
                lower.lines.extend(wrap_text(&words, width, theme.text));
                lower.push_input(reason, width, theme);
            }
            QuestionStage::Rule(rules) => {
                if let Some(problem) = &open.problem {
                    let words = format!("! not written: {}", printable_line(problem));
                    lower.lines.extend(plain_lines(&words, width, theme.question, theme));
                }
                let added = rules.text().lines().map(str::trim).collect::<Vec<_>>().join(", ");
                let also = question.worktree.as_ref().map_or("", |_| " and its agents' worktrees");
                let words = format!(
                    "adds {added} to allow in .caliban/config.local.toml (you, this project{also})"
                );
                lower.lines.extend(plain_lines(&words, width, theme.text, theme));
                lower.push_input(rules, width, theme);
                lower.rules = Some(rules.text().to_owned());
            }
        }
        lower
    }

    /// Whether the first `rows` rows show all of an answer.
    pub fn is_whole(&self, digit: u8, rows: usize) -> bool {
        let last = self.spans.iter().filter(|span| span.digit == digit).map(|span| span.row);
        last.max().is_some_and(|row| row < rows)
    }

    /// Adds a text field.
    fn push_input(&mut self, typed: &Typed, width: u16, theme: &Theme) {
        let mut draft = DraftLayout::default();
        draft.refresh(typed, usize::from(width.saturating_sub(3)));
        let (row, column) = draft.cursor();
        self.field = self.lines.len();
        self.cursor = Some((self.lines.len() + row, column));
        self.lines.extend(draft.lines(typed, 0, theme));
    }

    fn push_answers(
        &mut self,
        question: &Question,
        width: u16,
        form: AnswerLayout,
        style: &AnswerStyle<'_>,
    ) {
        let glyphs = style.theme.glyphs;
        let answers = match form {
            AnswerLayout::Brief if !is_plan(question) => shorten(answers(question, false, glyphs)),
            _ => answers(question, form == AnswerLayout::ShortColumns, glyphs),
        };
        let note =
            (question.rules.is_empty() && !is_plan(question)).then(|| no_rule_note(question));
        match form {
            AnswerLayout::Columns | AnswerLayout::ShortColumns => {
                return self.push_columns(&answers, note.as_deref(), width, style);
            }
            AnswerLayout::Stacked => {
                for answer in &answers {
                    self.push_wrapped(answer, width, style);
                }
            }
            AnswerLayout::Packed | AnswerLayout::Brief => self.push_packed(&answers, width, style),
        }
        self.lines.extend(note.iter().flat_map(|note| wrap_text(note, width, style.theme.dim)));
    }

    fn push_columns(
        &mut self,
        answers: &[AnswerLabel],
        note: Option<&str>,
        width: u16,
        style: &AnswerStyle<'_>,
    ) {
        let (yes, no) = split_yes_no(answers);
        let most = usize::from(width).saturating_sub(max_label_width(&no));
        let second = (max_label_width(&yes) + GAP).max(SECOND_COLUMN.min(most));
        // The note about answers that are missing stands in their place, on two lines if there is room.
        let half = note.map_or(0, |note| width_of(note).div_ceil(2) + NOTE_LOSS + GAP);
        let second = second.max(half.min(most));
        let cells = u16::try_from(second.saturating_sub(GAP)).unwrap_or(width);
        let note = note.map(|note| wrap_text(note, cells, style.theme.dim)).unwrap_or_default();
        for row in 0..(yes.len() + note.len()).max(no.len()) {
            let mut line = Line::default();
            if let Some(answer) = yes.get(row) {
                self.push_piece(&mut line, answer, style);
            } else if let Some(note) = note.get(row - yes.len()) {
                line.spans.extend(note.spans.iter().cloned());
            }
            let gap = Span::raw(" ".repeat(second.saturating_sub(line.width())));
            if let Some(answer) = no.get(row) {
                line.push_span(gap);
                self.push_piece(&mut line, answer, style);
            } else if row == no.len() {
                let key = if style.open.keyboard { style.theme.question } else { style.theme.dim };
                let spans = [gap, Span::styled("Esc", key), Span::styled(" No", style.theme.text)];
                line.spans.extend(spans);
                self.names_esc = true;
            }
            self.lines.push(line);
        }
    }

    fn push_packed(&mut self, answers: &[AnswerLabel], width: u16, style: &AnswerStyle<'_>) {
        let room = usize::from(width);
        let mut line = Line::default();
        for answer in answers {
            let cells = label_width(answer);
            // A no never stands beside a yes.
            let turns = answer.0 == NO_DIGIT;
            if line.width() > 0 && (turns || line.width() + GAP + cells > room) {
                self.lines.push(std::mem::take(&mut line));
            }
            if cells > room {
                self.push_wrapped(answer, width, style);
                continue;
            }
            if line.width() > 0 {
                line.push_span(Span::raw(" ".repeat(GAP)));
            }
            self.push_piece(&mut line, answer, style);
        }
        if line.width() > 0 {
            self.lines.push(line);
        }
    }

    /// Adds an answer to the end of `line`, the next line to be pushed.
    fn push_piece(
        &mut self,
        line: &mut Line<'static>,
        answer: &AnswerLabel,
        style: &AnswerStyle<'_>,
    ) {
        let x = u16::try_from(line.width()).unwrap_or(u16::MAX);
        let width = u16::try_from(label_width(answer)).unwrap_or(u16::MAX);
        self.spans.push(AnswerSpan { digit: answer.0, row: self.lines.len(), x, width });
        line.spans.extend(style.margin(answer.0).spans);
        line.push_span(Span::styled(answer.1.clone(), style.text_style(answer.0)));
    }

    /// Adds an answer on as many lines as it needs.
    fn push_wrapped(&mut self, (digit, words): &AnswerLabel, width: u16, style: &AnswerStyle<'_>) {
        let words = Line::styled(words.clone(), style.text_style(*digit));
        let rest = Line::raw(" ".repeat(MARGIN));
        for line in wrap_hanging(&words, width, &style.margin(*digit), &rest) {
            self.spans.push(AnswerSpan { digit: *digit, row: self.lines.len(), x: 0, width });
            self.lines.push(line);
        }
    }
}

impl AnswerStyle<'_> {
    fn is_enabled(&self, digit: u8) -> bool {
        self.enabled || digit >= NO_DIGIT
    }

    fn margin(&self, digit: u8) -> Line<'static> {
        let theme = self.theme;
        let chosen = self.open.selected == Some(digit) && self.is_enabled(digit);
        let mark = if chosen { theme.glyphs.focus } else { " " };
        let number =
            if self.open.keyboard && self.is_enabled(digit) { theme.question } else { theme.dim };
        Line::from(vec![
            Span::styled(digit.to_string(), number),
            Span::styled(mark, theme.accent),
            Span::raw(" "),
        ])
    }

    fn text_style(&self, digit: u8) -> Style {
        match (self.is_enabled(digit), self.open.selected == Some(digit)) {
            (false, _) => self.theme.dim,
            (true, true) => self.theme.selection,
            (true, false) => self.theme.text,
        }
    }
}

/// Splits the answers into yes and no.
fn split_yes_no(answers: &[AnswerLabel]) -> (Vec<AnswerLabel>, Vec<AnswerLabel>) {
    answers.iter().cloned().partition(|(digit, _)| *digit < NO_DIGIT)
}

fn label_width((_, words): &AnswerLabel) -> usize {
    MARGIN + width_of(words)
}

fn max_label_width(answers: &[AnswerLabel]) -> usize {
    answers.iter().map(label_width).max().unwrap_or(0)
}

/// The question's answers; `short` ones call the asker "it", since the title names it.
fn answers(question: &Question, short: bool, glyphs: &Glyphs) -> Vec<AnswerLabel> {
    let main = question.path.is_root();
    let plan = is_plan(question);
    let words = |digit: &u8| match digit {
        1 if plan => "Yes, and ask before each change".to_owned(),
        2 if plan => "Yes, and let edits run".to_owned(),
        3 if plan => "Edit the plan first".to_owned(),
        4 if plan => "No, and say what to change".to_owned(),
        1 => "Yes".to_owned(),
        2 => grant::grant_label(question, short),
        3 => "Yes, always (shows the rule first)".to_owned(),
        4 => "No, and say what to do instead".to_owned(),
        _ if main => "No, and stop main".to_owned(),
        _ if short => "No, and cancel it".to_owned(),
        _ => format!("No, and cancel {}", question.agent),
    };
    let choices = QuestionQueue::choices(question).iter();
    let label = |digit| reveal_line(&glyphs.number_in_line(&words(digit)));
    choices.map(|digit| (*digit, label(digit))).collect()
}

/// Shortens the answers.
fn shorten(answers: Vec<AnswerLabel>) -> Vec<AnswerLabel> {
    let shorter = |(digit, words): AnswerLabel| match digit {
        2 => (digit, "Yes, and the like".to_owned()),
        3 => (digit, "Yes, always".to_owned()),
        _ => (digit, words),
    };
    answers.into_iter().map(shorter).collect()
}

/// Explains why there is no 2 and 3.
fn no_rule_note(question: &Question) -> String {
    if question.reason.starts_with("rule ") && question.reason.ends_with(" asks") {
        return "The ask rule asks every time, so there is no 2 or 3".to_owned();
    }
    if question.reason.starts_with("plan mode asks") {
        return "Plan mode asks every time, so there is no 2 or 3".to_owned();
    }
    format!("2 and 3 need a rule; none is safe for {}", call_noun(question))
}

fn call_noun(question: &Question) -> &'static str {
    match question.access {
        Access::Command { .. } => "this command",
        Access::Write { .. } => "this edit",
        Access::Fetch { .. } => "this address",
        _ => "this call",
    }
}
