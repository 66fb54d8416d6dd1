//! Makes a program's output harmless: no terminal sequences, no control characters, no invisible direction marks.

use crate::protocol::EscapeReader;

/// Removes terminal sequences and replaces control characters. Keeps its state between chunks of one output.
///
/// Tab and line feed pass. `\r\n` and a lone `\r` become line feeds, other controls become their
/// visible pictures, and characters that reorder or hide text become `\u{…}`.
#[derive(Debug, Default)]
pub struct OutputCleaner {
    escape: EscapeReader,
    /// The last character was a carriage return that is not written yet.
    returned: bool,
}

impl OutputCleaner {
    /// Appends the harmless form of `text` to `out`.
    pub fn push(&mut self, text: &str, out: &mut String) {
        for c in text.chars() {
            if !self.escape.is_text(c) {
                continue;
            }
            if c == '\r' {
                self.returned = true;
                continue;
            }
            if std::mem::take(&mut self.returned) && c != '\n' {
                out.push('\n');
            }
            write_harmless(c, out);
        }
    }

    /// Returns the harmless form of a whole text.
    pub fn clean(text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        Self::default().push(text, &mut out);
        out
    }
}

fn write_harmless(c: char, out: &mut String) {
    match c {
        '\n' | '\t' => out.push(c),
        // A bell and a backspace carry no text.
        '\u{7}' | '\u{8}' => {}
        '\0'..='\u{1f}' => out.extend(char::from_u32(0x2400 + c as u32)),
        '\u{7f}' => out.push('\u{2421}'),
        '\u{80}'..='\u{9f}' => out.push(char::REPLACEMENT_CHARACTER),
        '\u{61c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{e0000}'..='\u{e007f}' => out.extend(c.escape_unicode()),
        _ => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_pieces(text: &str) -> String {
        let (mut cleaner, mut out) = (OutputCleaner::default(), String::new());
        for c in text.chars() {
            cleaner.push(c.encode_utf8(&mut [0; 4]), &mut out);
        }
        out
    }

    #[test]
    fn terminal_sequences_vanish_also_when_cut_into_pieces() {
        for (dirty, clean) in [
            ("\x1b[1;31mred\x1b[0m", "red"),
            ("a\x1b]0;title\x07b", "ab"),
            ("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb"),
            ("\x1b(Bx\x1b7y\x1bPq#1\x1b\\z", "xyz"),
            ("\u{9b}31mred", "red"),
            ("a\x1b]0;never closed\nb", "a\nb"),
            ("a\x1b[31日b", "a日b"),
        ] {
            assert_eq!(OutputCleaner::clean(dirty), clean);
            assert_eq!(in_pieces(dirty), clean);
        }
    }

    #[test]
    fn controls_become_visible_and_line_ends_uniform() {
        assert_eq!(
            OutputCleaner::clean("a\tb\r\nc\rd\r\r\ne\0\x7f\x08"),
            "a\tb\nc\nd\ne\u{2400}\u{2421}"
        );
        assert_eq!(OutputCleaner::clean("10%\r20%\r"), "10%\n20%");
    }

    #[test]
    fn marks_that_reorder_or_hide_text_are_spelled_out() {
        assert_eq!(OutputCleaner::clean("a\u{202e}b\u{e0041}"), "a\\u{202e}b\\u{e0041}");
        assert_eq!(OutputCleaner::clean("👩‍👩‍👧 é"), "👩‍👩‍👧 é");
    }
}
