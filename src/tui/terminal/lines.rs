//! Prints lines above a prompt that stays the last thing on the terminal, for screen readers: only
//! what has changed is written, because what is written is read aloud.

use std::fmt::Write as _;

use crate::tui::text::width;

/// The rows of the prompt, and the cursor in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptRows {
    pub rows: Vec<String>,
    pub row: u16,
    pub column: u16,
}

/// Moves the cursor from one row of the prompt to another.
fn move_rows(out: &mut String, from: u16, to: u16) {
    // Writing to a String cannot fail.
    let _ = match to.checked_sub(from) {
        Some(0) => Ok(()),
        Some(down) => write!(out, "\x1b[{down}B"),
        None => write!(out, "\x1b[{}A", from - to),
    };
}

fn move_to(out: &mut String, from: (u16, u16), to: (u16, u16)) {
    move_rows(out, from.0, to.0);
    if from.1 != to.1 {
        let _ = write!(out, "\x1b[{}G", to.1 + 1);
    }
}

/// Returns what to write so that the lines stand above the prompt. `shown` is the prompt that is on
/// the terminal, if one is.
pub(super) fn update(shown: Option<&PromptRows>, lines: &[String], prompt: &PromptRows) -> String {
    let mut out = String::new();
    let same_rows = shown.filter(|shown| lines.is_empty() && shown.rows.len() == prompt.rows.len());
    let Some(shown) = same_rows else {
        if let Some(shown) = shown {
            move_rows(&mut out, shown.row, 0);
            out.push_str("\r\x1b[J");
        }
        for line in lines {
            out.push_str(line);
            out.push_str("\r\n");
        }
        out.push_str(&prompt.rows.join("\r\n"));
        let last = prompt.rows.len().saturating_sub(1);
        let end = prompt.rows.last().map_or(0, |row| width(row));
        let at = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
        move_to(&mut out, (at(last), at(end)), (prompt.row, prompt.column));
        return out;
    };
    let mut cursor = (shown.row, shown.column);
    for (row, (old, new)) in (0..).zip(shown.rows.iter().zip(&prompt.rows)) {
        if old == new {
            continue;
        }
        let same = old.chars().zip(new.chars()).take_while(|(old, new)| old == new);
        let same: String = same.map(|(old, _)| old).collect();
        let column = u16::try_from(width(&same)).unwrap_or(u16::MAX);
        move_to(&mut out, cursor, (row, column));
        out.push_str(&new[same.len()..]);
        if width(old) > width(new) {
            out.push_str("\x1b[K");
        }
        cursor = (row, u16::try_from(width(new)).unwrap_or(u16::MAX));
    }
    move_to(&mut out, cursor, (prompt.row, prompt.column));
    out
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use super::*;

    fn prompt(rows: &[&str], row: u16, column: u16) -> PromptRows {
        PromptRows { rows: rows.iter().map(ToString::to_string).collect(), row, column }
    }

    #[test]
    fn a_letter_is_written_alone() {
        let before = prompt(&["> fin"], 0, 5);
        assert_eq!(update(Some(&before), &[], &prompt(&["> find"], 0, 6)), "d");
        assert_eq!(update(Some(&before), &[], &before), "");
        assert_eq!(update(Some(&before), &[], &prompt(&["> fi"], 0, 4)), "\x1b[5G\x1b[K");
    }

    #[test]
    fn the_terminal_shows_the_lines_and_the_prompt_below_them() {
        let size = NonZero::new(10).unwrap();
        let mut terminal = vt100::Parser::new(size, NonZero::new(30).unwrap(), 0);
        let mut shown = None;
        for (lines, next) in [
            (&["one"][..], prompt(&[">"], 0, 2)),
            (&[], prompt(&["> a日b", "  c"], 1, 3)),
            (&["two", "three"], prompt(&["> a日b", "  c"], 0, 4)),
            (&[], prompt(&["> a日b!", "  c"], 0, 6)),
            (&["four"], prompt(&["Esc closes"], 0, 10)),
            (&[], prompt(&["> x"], 0, 2)),
        ] {
            let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
            terminal.process(update(shown.as_ref(), &lines, &next).as_bytes());
            let (row, column) = terminal.screen().cursor_position();
            assert_eq!(column, next.column, "{next:?}");
            let rows: Vec<String> = terminal.screen().rows(0, 30).collect();
            let first = usize::from(row - next.row);
            for (at, expected) in next.rows.iter().enumerate() {
                assert_eq!(rows[first + at].trim_end(), expected.trim_end(), "{rows:?}");
            }
            shown = Some(next);
        }
        let all = terminal.screen().contents();
        assert_eq!(all, "one\ntwo\nthree\nfour\n> x");
    }
}
