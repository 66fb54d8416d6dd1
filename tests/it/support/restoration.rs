//! Whether a program left the terminal as it found it, read off the bytes that it wrote.

use std::collections::BTreeMap;

/// Modes whose resting state is on: line wrap and the visible cursor.
const ON_BY_DEFAULT: &[&str] = &["7", "25"];

/// What is left changed; empty when all is well.
pub fn problems(output: &[u8]) -> Vec<String> {
    let mut modes: BTreeMap<String, bool> = BTreeMap::new();
    // The kitty protocol keeps one stack of flags per screen: main, alternate.
    let mut kitty = [0_i64; 2];
    let mut problems = Vec::new();
    for (parameters, last) in sequences(output) {
        let alternate = usize::from(modes.get("1049") == Some(&true));
        match (parameters.as_bytes().first(), last) {
            (Some(b'?'), 'h' | 'l') => {
                for mode in parameters[1..].split(';') {
                    let left = mode == "1049" && last == 'l' && alternate == 1;
                    if left && kitty[1] != 0 {
                        problems.push("kitty flags not popped before leaving the screen".into());
                    }
                    modes.insert(mode.to_owned(), last == 'h');
                }
            }
            (Some(b'>'), 'u') => kitty[alternate] += 1,
            (Some(b'<'), 'u') => kitty[alternate] -= parameters[1..].parse().unwrap_or(1),
            _ => {}
        }
    }
    for (mode, on) in &modes {
        if *on != ON_BY_DEFAULT.contains(&mode.as_str()) {
            problems.push(format!("mode {mode} left {}", if *on { "on" } else { "off" }));
        }
    }
    if kitty != [0, 0] {
        problems.push(format!("kitty flags left: {kitty:?}"));
    }
    problems
}

/// The text behind the last change back to the normal screen, without escape sequences.
pub fn after_alternate_screen(output: &[u8]) -> String {
    let leave = b"\x1b[?1049l";
    let place = output.windows(leave.len()).rposition(|window| window == leave);
    let start = place.map_or(0, |place| place + leave.len());
    let all = String::from_utf8_lossy(&output[start..]).into_owned();
    let mut pieces = all.split('\x1b');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + behind_sequence(piece))
}

/// What follows the escape sequence whose first byte was taken off.
fn behind_sequence(piece: &str) -> &str {
    let end = match piece.chars().next() {
        Some('[') => piece[1..].find(|c| ('@'..='~').contains(&c)).map(|at| at + 2),
        Some(']') => piece.find('\x07').map(|at| at + 1),
        Some(other) => Some(other.len_utf8()),
        None => None,
    };
    end.map_or("", |end| &piece[end..])
}

/// The control sequences: parameters and the last letter.
fn sequences(output: &[u8]) -> Vec<(String, char)> {
    let mut found = Vec::new();
    let mut rest = output;
    while let Some(start) = rest.windows(2).position(|pair| pair == b"\x1b[") {
        rest = &rest[start + 2..];
        let end = rest.iter().position(|byte| (0x40..=0x7e).contains(byte));
        let Some(end) = end else { break };
        let parameters = String::from_utf8_lossy(&rest[..end]).into_owned();
        found.push((parameters, char::from(rest[end])));
        rest = &rest[end + 1..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_exit_has_no_problems() {
        let output = b"\x1b[?1049h\x1b[?25l\x1b[?1000;1006h\x1b[?2004h\x1b[>1uhello\
            \x1b[<1u\x1b[?2004l\x1b[?1000;1006l\x1b[?25h\x1b[?1049lbye";
        assert_eq!(problems(output), Vec::<String>::new());
        assert_eq!(after_alternate_screen(output), "bye");
        let coloured = b"\x1b[?1049l\x1b]0;title\x07one \x1b[1;32mtwo\x1b[0m";
        assert_eq!(after_alternate_screen(coloured), "one two");
    }

    #[test]
    fn what_is_left_on_is_named() {
        assert_eq!(problems(b"\x1b[?1049hx"), ["mode 1049 left on"]);
        assert_eq!(problems(b"\x1b[?25l"), ["mode 25 left off"]);
        assert_eq!(problems(b"\x1b[?2004h\x1b[?1002h").len(), 2);
        assert_eq!(problems(b"\x1b[>1u"), ["kitty flags left: [1, 0]"]);
    }

    #[test]
    fn kitty_flags_are_popped_on_the_screen_that_pushed_them() {
        let late = b"\x1b[?1049h\x1b[>1u\x1b[?1049l\x1b[<u";
        assert_eq!(problems(late).len(), 2);
    }
}
