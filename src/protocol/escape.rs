//! Tells text from terminal control sequences (ECMA-48), one character at a time.

const BELL: char = '\u{7}';
const CANCEL: char = '\u{18}';
const SUBSTITUTE: char = '\u{1a}';
const ESCAPE: char = '\u{1b}';
const STRING_END: char = '\u{9c}';

/// Reads text with control sequences. Keeps its state between the pieces of one text.
///
/// A character that no sequence may have, such as a letter beyond ASCII, ends the sequence and is
/// text, and so does a line end: an unfinished sequence hides nothing of what follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EscapeReader {
    state: EscapeState,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum EscapeState {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and at least one intermediate character, as in `ESC ( B`.
    Intermediate,
    /// In `ESC [ …`.
    Control,
    /// In a string such as `ESC ] …`, up to BEL or `ESC \`.
    ControlString,
    /// After ESC in a string.
    StringEscape,
}

impl EscapeReader {
    /// Reads the next character. Returns whether it is text rather than part of a sequence.
    pub fn is_text(&mut self, c: char) -> bool {
        use EscapeState::{Control, ControlString, Escape, Intermediate, StringEscape, Text};
        let next = match (self.state, c) {
            (Text, _) | (_, '\n' | '\r') => None,
            (_, CANCEL | SUBSTITUTE) => Some(Text),
            (ControlString, BELL | STRING_END) | (StringEscape, '\\') => Some(Text),
            (ControlString, ESCAPE) => Some(StringEscape),
            (ControlString, _) => Some(ControlString),
            (Escape | StringEscape, '[') => Some(Control),
            (Escape | StringEscape, ']' | 'P' | 'X' | '^' | '_') => Some(ControlString),
            (Escape | StringEscape | Intermediate, ' '..='/') => Some(Intermediate),
            (Escape | StringEscape | Intermediate, '0'..='~') => Some(Text),
            (Control, ' '..='?') => Some(Control),
            (Control, '@'..='~') => Some(Text),
            _ => None,
        };
        self.state = match (next, c) {
            (Some(state), _) => state,
            (None, ESCAPE) => Escape,
            (None, '\u{9b}') => Control,
            (None, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}') => ControlString,
            (None, _) => {
                self.state = Text;
                return true;
            }
        };
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(dirty: &str) -> String {
        let mut reader = EscapeReader::default();
        dirty.chars().filter(|c| reader.is_text(*c)).collect()
    }

    #[test]
    fn sequences_are_no_text() {
        for (dirty, clean) in [
            ("a\x1b[1;31mb\x1b[0m", "ab"),
            ("a\x1b]0;title\x07b\x1b]8;;x\x1b\\c", "abc"),
            ("a\x1b(Bb\x1b7c\x1bPq#1\x1b\\d", "abcd"),
            ("a\u{9b}2Jb\u{9d}0;x\u{9c}c", "abc"),
            ("a\x1b\x1b[1mb\x1b", "ab"),
            ("a\x1b[3\x18b\x1b]0;x\x1ac", "abc"),
        ] {
            assert_eq!(text(dirty), clean, "{dirty:?}");
        }
    }

    #[test]
    fn an_unfinished_sequence_hides_nothing_behind_it() {
        for (dirty, clean) in [
            ("a\x1b]0;never closed\nb", "a\nb"),
            ("a\x1b]0;never closed\rb", "a\rb"),
            ("a\x1b[31\nb", "a\nb"),
            ("a\x1b[31日b", "a日b"),
            ("a\x1b[3\x1b[1mb", "ab"),
            ("a\x1bßb\x1b(ßc", "aßbßc"),
            ("a\x1b]8;;x\x1b[1mb", "ab"),
        ] {
            assert_eq!(text(dirty), clean, "{dirty:?}");
        }
    }
}
