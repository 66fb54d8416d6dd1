//! Turns drawn rows into words: without frames, and with words for signs.

use ratatui::layout::Rect;
use unicode_segmentation::UnicodeSegmentation;

use crate::tui::format::count;

/// Stands for the second cell of a wide character in a row.
pub(super) const WIDE: &str = "\0";

/// Signs of states, and the words that say the same.
const SIGNS: [(char, &str); 5] =
    [('✓', "done"), ('✗', "failed"), ('⊘', "cancelled"), ('∅', "empty"), ('▸', "")];

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
}

impl Row {
    /// Whether it says something that these rows did not.
    pub fn is_new(&self, before: &[Self]) -> bool {
        let same = || before.iter().filter(|row| row.part == self.part && row.text == self.text);
        if self.selected { !same().any(|row| row.selected) } else { same().next().is_none() }
    }

    pub fn line(&self) -> String {
        let selected = if self.selected { "Selected: " } else { "" };
        let indent = if self.part == RowPart::Content { "  " } else { "" };
        format!("{indent}{selected}{}", self.text)
    }
}

/// The lines of rows. Content and answers of a question have headings, and content is counted and
/// indented, so that no text in it passes for an answer.
pub fn lines<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<String> {
    let rows: Vec<&Row> = rows.collect();
    let of_one_part = rows.chunk_by(|one, other| one.part == other.part);
    let said = of_one_part.flat_map(|rows| {
        let heading = match rows[0].part {
            RowPart::Content => Some(format!("Content, {}:", count(rows.len(), "line"))),
            RowPart::Answers => Some("Answers:".to_owned()),
            RowPart::Other => None,
        };
        heading.into_iter().chain(rows.iter().map(|row| row.line()))
    });
    said.collect()
}

/// A drawn row in words.
pub fn clean_row(row: &str) -> Row {
    let mut text = String::with_capacity(row.len());
    let mut letters = row.chars().peekable();
    let mut selected = false;
    while let Some(c) = letters.next() {
        selected |= c == '▸';
        if let Some((_, word)) = SIGNS.iter().find(|(sign, _)| *sign == c) {
            let rest: String = letters.clone().skip_while(|c| *c == ' ').take(word.len()).collect();
            if rest != *word {
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
            // The second cell of a wide character.
            '\0' => {}
            '−' | '–' => text.push('-'),
            '…' => text.push_str("..."),
            c => text.push(c),
        }
    }
    Row { text: narrowed(&text), selected, part: RowPart::Other }
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
fn content_row(row: &str, content: Rect) -> Row {
    let cells = row.graphemes(true).skip(content.x.into()).take(content.width.into());
    let text: String = cells.filter(|cell| *cell != WIDE).collect();
    Row { text: text.trim_end().to_owned(), selected: false, part: RowPart::Content }
}

/// The rows of an area in words, without empty ones.
pub fn clean_rows<'a>(rows: impl Iterator<Item = &'a str>) -> Vec<Row> {
    rows.map(clean_row).filter(|row| !row.text.is_empty()).collect()
}

/// The rows of an area with the content of a question in it. The answers stand one below the other,
/// in order.
pub fn rows(rows: &[String], area: Rect, content: Rect, answers: &[(Rect, u8)]) -> Vec<Row> {
    let in_content = content.top()..content.bottom();
    let (mut above, mut digits, mut below) = (Vec::new(), Vec::new(), Vec::new());
    for y in area.top()..area.bottom() {
        let Some(row) = rows.get(usize::from(y)) else { break };
        let mut rest: Vec<char> = row.chars().collect();
        let on_row = || answers.iter().filter(move |(area, _)| area.y == y && !area.is_empty());
        for (answer, digit) in on_row() {
            let cells = usize::from(answer.x)..usize::from(answer.right()).min(rest.len());
            let text: String = rest.get(cells.clone()).unwrap_or_default().iter().collect();
            digits.push((*digit, Row { part: RowPart::Answers, ..clean_row(&text) }));
            rest.iter_mut().take(cells.end).skip(cells.start).for_each(|c| *c = ' ');
        }
        let rest = if on_row().next().is_some() {
            Row { part: RowPart::Answers, ..clean_row(&rest.iter().collect::<String>()) }
        } else if in_content.contains(&y) {
            content_row(row, content)
        } else {
            clean_row(&rest.iter().collect::<String>())
        };
        if digits.is_empty() { above.push(rest) } else { below.push(rest) }
    }
    digits.sort_by_key(|(digit, _)| *digit);
    let digits = digits.into_iter().map(|(_, row)| row);
    above.into_iter().chain(digits).chain(below).filter(|row| !row.text.is_empty()).collect()
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
            ("✓ done in 0:10 · 3 agents ✓ 2 ✗ 1", "done in 0:10, 3 agents done 2 failed 1"),
            ("  └ … +5 lines · Ctrl+O", "... +5 lines, Ctrl+O"),
        ] {
            assert_eq!(clean(row), words, "{row}");
        }
    }

    #[test]
    fn answers_in_two_columns_stand_one_below_the_other() {
        let drawn = ["│ call", "│ 1 Yes     4 No, say why", "│ 2 Always  Esc No"];
        let drawn: Vec<String> = drawn.iter().map(|row| format!("{row:30}")).collect();
        let at = |x, y, width, digit| (Rect::new(x, y, width, 1), digit);
        let answers = [at(2, 1, 5, 1), at(12, 1, 13, 4), at(2, 2, 8, 2)];
        let content = Rect::new(2, 0, 28, 1);
        let found = rows(&drawn, Rect::new(0, 0, 30, 3), content, &answers);
        let found = lines(found.iter());
        let parts = ["Content, 1 line:", "  call", "Answers:", "1 Yes", "2 Always"];
        assert_eq!(found, [&parts[..], &["4 No, say why", "Esc No"]].concat());
    }
}
