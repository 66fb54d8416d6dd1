//! How numbers read on the screen: times, tokens, money, places in a queue, and cutting to a width in cells.

use std::time::Duration;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::protocol::Cost;

/// A span of time as `m:ss`, or `h:mm:ss` from an hour on.
#[must_use]
pub fn clock(span: Duration) -> String {
    let seconds = span.as_secs();
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{rest:02}")
    } else {
        format!("{minutes}:{rest:02}")
    }
}

/// A number of tokens: `812`, `21k`, `1.4M`.
#[must_use]
pub fn tokens(count: u64) -> String {
    match count {
        0..=999 => count.to_string(),
        1_000..=999_999 => format!("{}k", (count + 500) / 1000),
        _ => format!("{}.{}M", count / 1_000_000, count / 100_000 % 10),
    }
}

/// A sum of money: `$0.07`; `$?` when nothing of it has a known price, `$0.07+` when a part has none.
#[must_use]
pub fn money(cost: Cost) -> String {
    match (cost.incomplete, cost.usd > 0.0) {
        (true, false) => "$?".to_owned(),
        (true, true) => format!("${:.2}+", cost.usd),
        (false, _) => format!("${:.2}", cost.usd),
    }
}

/// `1 agent`, `2 agents`.
#[must_use]
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// `1st`, `2nd`, `11th`.
#[must_use]
pub fn ordinal(number: usize) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// The width of a text in cells.
#[must_use]
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text cut to at most `room` cells, with `…` where something is missing.
#[must_use]
pub fn cut(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    if room == 0 {
        return String::new();
    }
    let mut kept = String::new();
    let mut used = 0;
    for cluster in text.graphemes(true) {
        let cells = cluster.width();
        if used + cells > room - 1 {
            break;
        }
        used += cells;
        kept.push_str(cluster);
    }
    kept.push('…');
    kept
}

/// The text as one line in which every control character is a visible sign or a blank.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.trim().chars() {
        match letter {
            '\n' | '\t' | '\r' => line.push(' '),
            letter if letter.is_control() => line.push(visible(letter)),
            letter => line.push(letter),
        }
    }
    line
}

/// The sign that stands for a control character, so that it cannot act on the terminal or hide.
#[must_use]
pub fn visible(control: char) -> char {
    match u32::from(control) {
        code @ 0..=31 => char::from_u32(0x2400 + code).unwrap_or('?'),
        127 => '␡',
        _ => '�',
    }
}

/// The text broken into lines of at most `room` cells, at blanks where there are any.
#[must_use]
pub fn wrap(text: &str, room: usize) -> Vec<String> {
    let room = room.max(1);
    let mut lines = Vec::new();
    for line in text.split('\n') {
        wrap_line(line.trim_end_matches('\r'), room, &mut lines);
    }
    lines
}

fn wrap_line(line: &str, room: usize, lines: &mut Vec<String>) {
    let mut current = String::new();
    let mut used = 0;
    for word in line.split_word_bounds() {
        let cells = word.width();
        if used + cells <= room {
            current.push_str(word);
            used += cells;
            continue;
        }
        if word.trim().is_empty() {
            lines.push(std::mem::take(&mut current));
            used = 0;
            continue;
        }
        carry_over(&mut current, &mut used, lines);
        for cluster in word.graphemes(true) {
            let cells = cluster.width();
            if used + cells > room && used > 0 {
                lines.push(std::mem::take(&mut current));
                used = 0;
            }
            current.push_str(cluster);
            used += cells;
        }
    }
    lines.push(current.trim_end().to_owned());
}

/// Ends the line at its last blank; what follows that blank begins the next line.
fn carry_over(current: &mut String, used: &mut usize, lines: &mut Vec<String>) {
    let rest = match current.rfind(' ') {
        Some(blank) => current.split_off(blank + 1),
        None => String::new(),
    };
    let full = current.trim_end();
    if !full.is_empty() {
        lines.push(full.to_owned());
    }
    *used = rest.width();
    *current = rest;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_the_panes_show_them() {
        assert_eq!(clock(Duration::from_secs(42)), "0:42");
        assert_eq!(clock(Duration::from_secs(3671)), "1:01:11");
        assert_eq!(tokens(21_400), "21k");
        assert_eq!(tokens(1_430_000), "1.4M");
        assert_eq!(money(Cost::known(0.066)), "$0.07");
        assert_eq!(money(Cost::UNKNOWN), "$?");
        assert_eq!(ordinal(2), "2nd");
        assert_eq!(ordinal(12), "12th");
    }

    #[test]
    fn cutting_counts_cells_and_never_splits_a_cluster() {
        assert_eq!(cut("map the routes", 10), "map the r…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("short", 5), "short");
    }

    #[test]
    fn wrapping_breaks_at_blanks_and_hard_only_where_a_word_is_too_long() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("a\n\nb", 4), ["a", "", "b"]);
    }
}
