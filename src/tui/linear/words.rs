//! Turns drawn rows into words: without frames, and with words for signs.

use std::ops::Range;

use ratatui::layout::Rect;

use super::speech::INDENT;
use crate::tui::format::count;

/// A row as it was drawn, cell by cell. The second cell of a wide character is empty.
#[derive(Clone, Debug, Default)]
pub struct DrawnRow(pub Vec<String>);

impl DrawnRow {
    /// All of its text.
    pub fn text(&self) -> String {
        self.0.concat()
    }

    /// The text of the cells from one column to another.
    fn part(&self, columns: Range<u16>) -> String {
        let columns = usize::from(columns.start)..usize::from(columns.end).min(self.0.len());
        self.0.get(columns).unwrap_or_default().concat()
    }

    /// The same row with blanks in these columns.
    fn without(mut self, columns: Range<u16>) -> Self {
        let columns = usize::from(columns.start)..usize::from(columns.end).min(self.0.len());
        self.0.get_mut(columns).unwrap_or_default().fill(" ".to_owned());
        self
    }
}

/// Signs of states, and the words that say the same.
const SIGNS: [(char, &str); 5] =
    [('✓', "done"), ('✗', "failed"), ('⊘', "cancelled"), ('∅', "empty"), ('▸', "")];

/// Words behind a sign that say more than its own.
const ENDS: [&str; 3] = ["stopped", "cancelled", "denied"];

/// The part of a question that a row belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowPart {
    /// None, or neither of these.
    #[default]
    Other,
    Content,
    Answers,
}

/// A row of a list, a page or a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub text: String,
    pub selected: bool,
    pub part: RowPart,
    /// Whether it continues an answer.
    pub continued: bool,
    /// Its number among rows that scroll. Another row with the same text has another one.
    pub number: Option<usize>,
}

/// Where the parts of what covers the body are.
#[derive(Clone, Debug, Default)]
pub struct CoverParts {
    /// The inside of a question's box.
    pub inside: Rect,
    /// The content of a question.
    pub content: Rect,
    /// The rows of the content that are a call, if the question is about one.
    pub call: Option<Range<u16>>,
    /// The areas of the answers to a question, by digit.
    pub answers: Vec<(Rect, u8)>,
    /// The rows that scroll, and the number of the first one.
    pub scrolled: (Range<u16>, usize),
}

impl CoverParts {
    fn number(&self, y: u16) -> Option<usize> {
        let (rows, first) = &self.scrolled;
        rows.contains(&y).then(|| first + usize::from(y - rows.start))
    }
}

impl Row {
    /// Whether it says something that these rows did not: equal text alone does not make two rows one.
    pub fn is_new(&self, before: &[Self]) -> bool {
        let is_same = |row: &&Self| {
            row.part == self.part && row.number == self.number && row.text == self.text
        };
        let same = || before.iter().filter(is_same);
        if self.selected { !same().any(|row| row.selected) } else { same().next().is_none() }
    }

    pub fn line(&self) -> String {
        let selected = if self.selected { "Selected: " } else { "" };
        let indented = self.part == RowPart::Content || self.continued;
        let indent = if indented { INDENT } else { "" };
        format!("{indent}{selected}{}", self.text)
    }
}

/// The lines of rows. Content and answers of a question have headings, and content is counted and
/// indented, as is what continues an answer, so that no text in them passes for an answer. Answers that were
/// said before, of which these are some, have had their heading.
pub fn lines<'a>(rows: impl Iterator<Item = &'a Row>, goes_on: bool) -> Vec<String> {
    let rows: Vec<&Row> = rows.collect();
    let of_one_part = rows.chunk_by(|one, other| one.part == other.part);
    let said = of_one_part.flat_map(|rows| {
        let heading = match rows[0].part {
            RowPart::Content => Some(format!("Content, {}:", count(rows.len(), "line"))),
            RowPart::Answers if !goes_on => Some("Answers:".to_owned()),
            RowPart::Answers | RowPart::Other => None,
        };
        heading.into_iter().chain(rows.iter().map(|row| row.line()))
    });
    said.collect()
}

/// A drawn row in words.
pub fn clean_row(row: &str) -> Row {
    let row = row.replace("↑↓", "arrows").replace("←→", "arrows");
    // A key before what it does. Elsewhere an arrow is a sign.
    let row = row.replace("· ↑ ", "· Up ");
    let mut text = String::with_capacity(row.len());
    let mut letters = row.chars().peekable();
    let mut selected = false;
    while let Some(c) = letters.next() {
        selected |= c == '▸';
        if let Some((_, word)) = SIGNS.iter().find(|(sign, _)| *sign == c) {
            if let Some(number) = counted(letters.clone()).filter(|_| !word.is_empty()) {
                let blanks = letters.clone().take_while(|c| *c == ' ').count();
                letters.by_ref().take(blanks + number.len()).for_each(drop);
                text.truncate(text.trim_end().len());
                let comma = if text.is_empty() || text.ends_with(',') { "" } else { "," };
                text.push_str(&format!("{comma} {number} {word}"));
                continue;
            }
            let rest: String = letters.clone().skip_while(|c| *c == ' ').collect();
            let says_more = ENDS.iter().any(|end| !word.is_empty() && rest.starts_with(end));
            if !rest.starts_with(word) && !says_more {
                text.push_str(word);
                text.extend((!word.is_empty() && letters.peek() != Some(&' ')).then_some(' '));
            }
            continue;
        }
        match c {
            // Frames, bars, spinners and dots.
            '\u{2500}'..='\u{259f}' | '\u{2800}'..='\u{28ff}' => text.push(' '),
            '●' | '◐' | '◌' | '◦' | '•' | '⚑' | '›' | '⋮' | '↓' | '↑' => {}
            '·' => {
                text.truncate(text.trim_end().len());
                text.push(',');
            }
            '−' | '–' => text.push('-'),
            '…' => text.push_str("..."),
            c => text.push(c),
        }
    }
    Row { text: narrowed(&text), selected, ..Row::default() }
}

/// The number behind a sign that counts, as in `✓ 2`.
fn counted(behind: impl Iterator<Item = char>) -> Option<String> {
    let word: String = behind.skip_while(|c| *c == ' ').take_while(|c| *c != ' ').collect();
    (!word.is_empty() && word.chars().all(|c| c.is_ascii_digit())).then_some(word)
}

/// Runs of more than two blanks become two; those at the ends go.
fn narrowed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blanks = 0;
    for c in text.trim().chars() {
        blanks = if c == ' ' { blanks + 1 } else { 0 };
        if blanks <= 2 {
            out.push(c);
        }
    }
    out.trim_start_matches(", ").to_owned()
}

/// A row of the content of a question, as it is: a changed indentation is a change, and a sign may be part
/// of the code.
fn content_row(row: &DrawnRow, content: Rect) -> Row {
    let text = row.part(content.left()..content.right());
    Row { text: text.trim_end().to_owned(), part: RowPart::Content, ..Row::default() }
}

/// Another row in a question's box. Its signs may be part of a path or a rule.
fn inside_row(row: &DrawnRow, inside: Rect) -> Row {
    Row { text: narrowed(&row.part(inside.left()..inside.right())), ..Row::default() }
}

/// A row of an answer: a digit and the mark of the selected one, or blanks; then its words.
fn answer_row(text: &str, is_about_call: bool) -> Row {
    let selected = text.chars().take(2).any(|c| c == '▸');
    let words = if selected { text.replacen('▸', " ", 1) } else { text.to_owned() };
    // Below its digit, an answer has blanks.
    let continued = text.starts_with(' ');
    // Blanks in an answer about a call belong to the name of a file or to a rule; a form has columns.
    let text = match is_about_call {
        true => words.trim().to_owned(),
        // A preview stands behind a bar.
        false => match words.trim_start().strip_prefix("│ ").filter(|_| continued) {
            Some(preview) => preview.trim_end().to_owned(),
            None => narrowed(&words.replacen('☐', "not ticked", 1).replacen('☑', "ticked", 1)),
        },
    };
    Row { text, selected, part: RowPart::Answers, continued, ..Row::default() }
}

/// The rows of an area in words, without empty ones. Those of a diff are as they are.
pub fn clean_rows<'a>(rows: impl Iterator<Item = &'a str>) -> Vec<Row> {
    let clean = |row| diff_row(row).unwrap_or_else(|| clean_row(row));
    rows.map(clean).filter(|row| !row.text.is_empty()).collect()
}

/// A row of a diff, in a box or not: a number, a sign, and code, of which each blank counts.
fn diff_row(row: &str) -> Option<Row> {
    let row = row.trim_end();
    let text = match row.strip_prefix("│ ") {
        // The bar to the right may be that of the scrollbar.
        Some(inside) => inside.trim_end_matches(|c: char| matches!(c, '\u{2500}'..='\u{259f}')),
        None => row.strip_prefix("  ")?,
    };
    let rest = text.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
    let has_number = rest.len() < text.trim_start().len();
    let is_change = [" +", " -", "  "].iter().any(|sign| {
        let code = rest.strip_prefix(sign);
        code.is_some_and(|code| code.is_empty() || code.starts_with(' '))
    });
    (has_number && is_change).then(|| Row { text: text.trim_end().to_owned(), ..Row::default() })
}

/// The rows of an area with these parts in it, without empty ones but for those of a call. The answers stand one below the other, in order.
pub fn rows(rows: &[DrawnRow], area: Rect, parts: &CoverParts) -> Vec<Row> {
    let holds = |area: Rect, y: u16| (area.top()..area.bottom()).contains(&y);
    let (mut above, mut digits, mut below) = (Vec::new(), Vec::new(), Vec::new());
    for y in area.top()..area.bottom() {
        let Some(row) = rows.get(usize::from(y)) else { break };
        let number = parts.number(y);
        let mut rest = row.clone();
        let mut part = RowPart::Other;
        let on_row = parts.answers.iter().filter(|(area, _)| area.y == y && !area.is_empty());
        for (answer, digit) in on_row {
            let columns = answer.left()..answer.right();
            digits.push((
                *digit,
                Row { number, ..answer_row(&row.part(columns.clone()), parts.call.is_some()) },
            ));
            (rest, part) = (rest.without(columns), RowPart::Answers);
        }
        let rest = if part == RowPart::Answers {
            Row { part, ..inside_row(&rest, parts.inside) }
        } else if holds(parts.content, y) {
            content_row(row, parts.content)
        } else if holds(parts.inside, y) {
            inside_row(row, parts.inside)
        } else {
            // Only what scrolls has diffs.
            let diff = number.and_then(|_| diff_row(&row.text()));
            diff.unwrap_or_else(|| clean_row(&row.text()))
        };
        if rest.text.is_empty() && !parts.call.as_ref().is_some_and(|call| call.contains(&y)) {
            continue;
        }
        let rest = Row { number, ..rest };
        if digits.is_empty() { above.push(rest) } else { below.push(rest) }
    }
    digits.sort_by_key(|(digit, _)| *digit);
    let digits = digits.into_iter().map(|(_, row)| row);
    above.into_iter().chain(digits).chain(below).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(row: &str) -> String {
        clean_row(row).line()
    }

    #[test]
    fn frames_go_and_signs_become_words() {
        for (row, words) in [
            (
                "╭─ ⚑ main wants to run a command ───────── 1 of 2 ─╮",
                "main wants to run a command  1 of 2",
            ),
            ("│ 1  Yes                                           │", "1  Yes"),
            ("╰──────────────────────────────────────────────────╯", ""),
            ("▸ /model   switch model", "Selected: /model  switch model"),
            ("● Read lib/a.sh   12 lines", "Read lib/a.sh  12 lines"),
            ("✓ done in 0:10 · 3 agents ✓ 2 ✗ 1", "done in 0:10, 3 agents, 2 done, 1 failed"),
            ("  └ … +5 lines · Ctrl+O", "... +5 lines, Ctrl+O"),
            ("⊘ stopped after 0:12 · 2 agents ⊘ 2", "stopped after 0:12, 2 agents, 2 cancelled"),
            ("● Question   ✗ cancelled", "Question  cancelled"),
            ("3 agents · ✓3 · 0:18 · $0.04", "3 agents, 3 done, 0:18, $0.04"),
        ] {
            assert_eq!(clean(row), words, "{row}");
        }
    }

    #[test]
    fn answers_in_two_columns_stand_one_below_the_other() {
        let drawn = ["│ call", "│ 1 Yes     4 No, say why", "│ 2 Always  Esc No"];
        let cells = |row: &str| format!("{row:30}").chars().map(String::from).collect();
        let drawn = drawn.map(|row| DrawnRow(cells(row)));
        let at = |x, y, width, digit| (Rect::new(x, y, width, 1), digit);
        let answers = [at(2, 1, 5, 1), at(12, 1, 13, 4), at(2, 2, 8, 2)];
        let content = Rect::new(2, 0, 28, 1);
        let inside = Rect::new(2, 0, 28, 3);
        let parts =
            CoverParts { inside, content, answers: answers.to_vec(), ..CoverParts::default() };
        let found = rows(&drawn, Rect::new(0, 0, 30, 3), &parts);
        let found = lines(found.iter(), false);
        let parts = ["Content, 1 line:", "  call", "Answers:", "1 Yes", "2 Always"];
        assert_eq!(found, [&parts[..], &["4 No, say why", "Esc No"]].concat());
    }

    #[test]
    fn a_row_of_a_diff_keeps_its_blanks_and_signs() {
        let text = |row| diff_row(row).map(|row| row.text);
        for (row, words) in [
            ("   9 -     if done: # ✓", " 9 -     if done: # ✓"),
            ("  10 +", "10 +"),
            ("  10        return", "10        return"),
            ("│ 10 +     x │         ┃", "10 +     x │"),
        ] {
            assert_eq!(text(row).as_deref(), Some(words), "{row}");
        }
        for row in
            ["  14 hits", "● Edit a.py   +1 −1", "    - x", "10 + 4", "  … +5 lines", "│ 3 of 7 │"]
        {
            assert_eq!(text(row), None, "{row}");
        }
    }

    #[test]
    fn a_preview_is_said_without_its_bar() {
        let row = |text| answer_row(text, false).line();
        assert_eq!(row("     │ | card 0 |"), "  | card 0 |");
        assert_eq!(row("     a │ b"), "  a │ b");
    }
}
