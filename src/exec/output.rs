//! A program's output as text: decoded across chunk borders, kept as head and tail with bounded memory.

use std::fmt::Write as _;

/// Decodes bytes to text; a character that is split by a chunk border waits for its rest.
#[derive(Debug, Default)]
pub struct Utf8Decoder {
    pending: Vec<u8>,
}

impl Utf8Decoder {
    /// Appends the text of `bytes` to `out`; invalid UTF-8 becomes U+FFFD.
    pub fn push(&mut self, bytes: &[u8], out: &mut String) {
        let mut joined = std::mem::take(&mut self.pending);
        joined.extend_from_slice(bytes);
        let mut rest = joined.as_slice();
        loop {
            let error = match std::str::from_utf8(rest) {
                Ok(text) => return out.push_str(text),
                Err(error) => error,
            };
            let (valid, after) = rest.split_at(error.valid_up_to());
            out.push_str(&String::from_utf8_lossy(valid));
            let Some(length) = error.error_len() else {
                self.pending = after.to_vec();
                return;
            };
            out.push(char::REPLACEMENT_CHARACTER);
            rest = &after[length..];
        }
    }

    /// Appends U+FFFD for an unfinished character.
    pub fn finish(&mut self, out: &mut String) {
        if !std::mem::take(&mut self.pending).is_empty() {
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

/// Keeps the first and the last characters of a text of any length.
#[derive(Debug)]
pub struct Capture {
    head: String,
    /// Number of characters that still fit into `head`.
    room: usize,
    tail: String,
    tail_chars: usize,
    tail_limit: usize,
    left_out: OmittedOutput,
    line_ends: usize,
}

/// Amount left out of the middle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OmittedOutput {
    pub chars: usize,
    pub lines: usize,
}

/// The kept text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    /// Head and tail; where something was left out, a line between them says how much.
    pub text: String,
    pub left_out: OmittedOutput,
    /// Number of lines of the whole output.
    pub lines: usize,
}

impl Capture {
    /// Characters of a command's output that a model reads: from its start and from its end.
    pub const MODEL_LIMITS: (usize, usize) = (20_000, 10_000);

    /// Keeps up to `head` characters from the start and `tail` from the end.
    pub fn new((head, tail): (usize, usize)) -> Self {
        Self {
            head: String::new(),
            room: head,
            tail: String::new(),
            tail_chars: 0,
            tail_limit: tail,
            left_out: OmittedOutput::default(),
            line_ends: 0,
        }
    }

    /// Appends text.
    pub fn push(&mut self, text: &str) {
        self.line_ends += line_ends(text);
        let rest = self.fill_head(text);
        if rest.is_empty() {
            return;
        }
        self.tail.push_str(rest);
        self.tail_chars += rest.chars().count();
        // Cut only when there is as much to drop as to keep: each character is moved at most once.
        if self.tail_chars > 2 * self.tail_limit {
            self.shorten_tail();
        }
    }

    /// Returns the kept text.
    pub fn finish(mut self) -> CapturedOutput {
        self.shorten_tail();
        let ends_open = !self.tail.is_empty() && !self.tail.ends_with('\n')
            || self.tail.is_empty() && !self.head.is_empty() && !self.head.ends_with('\n');
        let mut text = self.head;
        if self.left_out.chars > 0 {
            let OmittedOutput { chars, lines } = self.left_out;
            let _ = write!(text, "\n… {chars} characters ({lines} lines) left out …\n");
        }
        text.push_str(&self.tail);
        CapturedOutput {
            text,
            left_out: self.left_out,
            lines: self.line_ends + usize::from(ends_open),
        }
    }

    /// Returns the end of the text and how much was left out, without a note about it in the text.
    /// For captures without a head.
    pub fn into_tail(mut self) -> (String, OmittedOutput) {
        self.shorten_tail();
        (self.tail, self.left_out)
    }

    /// The same, and keeps it.
    pub fn tail(&mut self) -> String {
        self.shorten_tail();
        self.tail.clone()
    }

    fn fill_head<'t>(&mut self, text: &'t str) -> &'t str {
        if self.room == 0 {
            return text;
        }
        let end = text.char_indices().nth(self.room).map_or(text.len(), |(at, _)| at);
        let (fits, rest) = text.split_at(end);
        self.head.push_str(fits);
        self.room -= fits.chars().count();
        rest
    }

    fn shorten_tail(&mut self) {
        let excess = self.tail_chars.saturating_sub(self.tail_limit);
        if excess == 0 {
            return;
        }
        let end = self.tail.char_indices().nth(excess).map_or(self.tail.len(), |(at, _)| at);
        self.left_out.chars += excess;
        self.left_out.lines += line_ends(&self.tail[..end]);
        self.tail.drain(..end);
        self.tail_chars -= excess;
    }
}

fn line_ends(text: &str) -> usize {
    text.bytes().filter(|&byte| byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(limits: (usize, usize), pieces: &[&str]) -> CapturedOutput {
        let mut capture = Capture::new(limits);
        pieces.iter().for_each(|piece| capture.push(piece));
        capture.finish()
    }

    #[test]
    fn what_fits_is_untouched() {
        let whole = captured((4, 3), &["ab", "cdé", "fg"]);
        assert_eq!((whole.text.as_str(), whole.left_out.chars, whole.lines), ("abcdéfg", 0, 1));
    }

    #[test]
    fn the_cut_counts_characters_and_lines() {
        let cut = captured((4, 3), &["abcd", "1\n2\n3é", "xyz"]);
        assert_eq!(cut.text, "abcd\n… 6 characters (2 lines) left out …\nxyz");
        assert_eq!(cut.left_out, OmittedOutput { chars: 6, lines: 2 });
        assert_eq!(cut.lines, 3);
    }

    #[test]
    fn pieces_make_no_difference_and_memory_stays_bounded() {
        let line = "0123456789abcdef\n";
        let mut capture = Capture::new((100, 50));
        for _ in 0..10_000 {
            capture.push(line);
            assert!(capture.tail.len() <= 2 * 50 + line.len());
        }
        let pieces = capture.finish();
        assert_eq!(pieces, captured((100, 50), &[&line.repeat(10_000)]));
        assert_eq!(pieces.left_out.chars, 170_000 - 150);
        assert_eq!(pieces.lines, 10_000);
    }

    #[test]
    fn a_character_cut_by_a_chunk_border_stays_whole() {
        let (mut decoder, mut out) = (Utf8Decoder::default(), String::new());
        for byte in "a😀é".bytes() {
            decoder.push(&[byte], &mut out);
        }
        decoder.push(b"\xff!\xe2\x82", &mut out);
        decoder.finish(&mut out);
        assert_eq!(out, "a😀é\u{fffd}!\u{fffd}");
    }
}
