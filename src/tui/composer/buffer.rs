//! An editable text with a cursor: the draft of a prompt, a filter, a reason. Knows nothing of keys
//! or drawing.

use unicode_segmentation::UnicodeSegmentation;

use super::lines;

/// Undo steps kept.
const UNDO_STEPS: usize = 100;

/// Bytes of undo kept, so that large pastes don't pile up.
const UNDO_BYTES: usize = 4 * 1024 * 1024;

/// An editable text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextBuffer {
    text: String,
    /// Byte position, always between two grapheme clusters.
    cursor: usize,
    killed: String,
    undo: Vec<(String, usize)>,
    /// Whether the last change was typing, which is undone as a whole.
    typing: bool,
    /// Increases with each change of text or cursor.
    revision: u64,
}

impl From<&str> for TextBuffer {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), cursor: text.len(), ..Self::default() }
    }
}

impl TextBuffer {
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Increases with each change of text or cursor.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    pub fn cursor(&self) -> usize {
        self.cursor
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Replaces the whole text and moves the cursor to its end. Can be undone.
    pub fn set(&mut self, text: &str) {
        self.remember(false);
        text.clone_into(&mut self.text);
        self.cursor = self.text.len();
    }

    /// Empties the buffer and returns its text.
    pub fn take(&mut self) -> String {
        self.revision += 1;
        self.undo.clear();
        self.typing = false;
        self.cursor = 0;
        std::mem::take(&mut self.text)
    }

    /// Inserts one typed character.
    pub fn type_char(&mut self, letter: char) {
        let goes_on = !letter.is_whitespace();
        self.remember(true);
        self.typing = goes_on;
        self.text.insert(self.cursor, letter);
        self.cursor += letter.len_utf8();
    }

    /// Inserts text at the cursor. Line ends become `\n`; other control characters except tabs are dropped.
    pub fn insert(&mut self, text: &str) {
        self.remember(false);
        let clean: String = text
            .replace("\r\n", "\n")
            .replace('\r', "\n")
            .chars()
            .filter(|letter| matches!(letter, '\n' | '\t') || !letter.is_control())
            .collect();
        self.text.insert_str(self.cursor, &clean);
        self.cursor += clean.len();
    }

    /// Replaces the bytes from `start` to the cursor.
    pub fn replace_before(&mut self, start: usize, text: &str) {
        self.remember(false);
        self.text.replace_range(start..self.cursor, text);
        self.cursor = start + text.len();
    }

    /// Inserts text at a byte position; the cursor stays with its text.
    pub fn insert_at(&mut self, at: usize, text: &str) {
        self.remember(false);
        self.text.insert_str(at, text);
        if self.cursor >= at {
            self.cursor += text.len();
        }
    }

    pub fn left(&mut self) {
        self.move_to(self.previous_cluster());
    }

    pub fn right(&mut self) {
        self.move_to(self.next_cluster());
    }

    pub fn word_left(&mut self) {
        self.move_to(self.word_before());
    }

    pub fn word_right(&mut self) {
        self.move_to(self.word_after());
    }

    pub fn line_start(&mut self) {
        self.move_to(self.start_of_line());
    }

    pub fn line_end(&mut self) {
        self.move_to(self.end_of_line());
    }

    /// Moves one line up, with lines `room` cells wide. Returns false on the first line.
    pub fn up(&mut self, room: usize) -> bool {
        self.move_line(room, |row| row.checked_sub(1))
    }

    /// Moves one line down, with lines `room` cells wide. Returns false on the last line.
    pub fn down(&mut self, room: usize) -> bool {
        self.move_line(room, |row| row.checked_add(1))
    }

    fn move_line(&mut self, room: usize, next: impl Fn(usize) -> Option<usize>) -> bool {
        let lines = lines::lines(&self.text, room);
        let (row, column) = lines::position_of(&self.text, &lines, self.cursor);
        let Some(line) = next(row).and_then(|row| lines.get(row)) else { return false };
        self.move_to(lines::at_column(&self.text, line, column));
        true
    }

    pub fn backspace(&mut self) {
        self.erase(self.previous_cluster(), false);
    }

    pub fn delete(&mut self) {
        self.erase(self.next_cluster(), false);
    }

    pub fn kill_word_left(&mut self) {
        self.erase(self.word_before(), true);
    }

    pub fn kill_word_right(&mut self) {
        self.erase(self.word_after(), true);
    }

    /// Kills to the start of the line; at the start, the newline before it.
    pub fn kill_line_left(&mut self) {
        let start = self.start_of_line();
        self.erase(if start == self.cursor { self.previous_cluster() } else { start }, true);
    }

    /// Kills to the end of the line; at the end, the newline.
    pub fn kill_line_right(&mut self) {
        let end = self.end_of_line();
        self.erase(if end == self.cursor { self.next_cluster() } else { end }, true);
    }

    /// Inserts the text killed last.
    pub fn yank(&mut self) {
        let killed = self.killed.clone();
        self.insert(&killed);
    }

    pub fn undo(&mut self) {
        self.revision += 1;
        if let Some((text, cursor)) = self.undo.pop() {
            self.text = text;
            self.cursor = cursor;
        }
        self.typing = false;
    }

    fn move_to(&mut self, to: usize) {
        self.revision += 1;
        self.cursor = to;
        self.typing = false;
    }

    fn erase(&mut self, to: usize, kill: bool) {
        let (from, to) = (self.cursor.min(to), self.cursor.max(to));
        if from == to {
            return;
        }
        self.remember(false);
        let gone: String = self.text.drain(from..to).collect();
        if kill {
            self.killed = gone;
        }
        self.cursor = from;
    }

    fn remember(&mut self, typing: bool) {
        self.revision += 1;
        if typing && self.typing {
            return;
        }
        self.typing = false;
        self.undo.push((self.text.clone(), self.cursor));
        let mut bytes: usize = self.undo.iter().map(|(text, _)| text.len()).sum();
        while self.undo.len() > UNDO_STEPS || (bytes > UNDO_BYTES && self.undo.len() > 1) {
            bytes -= self.undo.remove(0).0.len();
        }
    }

    fn previous_cluster(&self) -> usize {
        let cluster = self.text[..self.cursor].graphemes(true).next_back();
        self.cursor - cluster.map_or(0, str::len)
    }

    fn next_cluster(&self) -> usize {
        let cluster = self.text[self.cursor..].graphemes(true).next();
        self.cursor + cluster.map_or(0, str::len)
    }

    fn word_before(&self) -> usize {
        let mut start = self.cursor;
        let mut in_word = false;
        for (at, cluster) in self.text[..self.cursor].grapheme_indices(true).rev() {
            if is_word(cluster) {
                in_word = true;
            } else if in_word {
                break;
            }
            start = at;
        }
        start
    }

    fn word_after(&self) -> usize {
        let mut in_word = false;
        for (at, cluster) in self.text[self.cursor..].grapheme_indices(true) {
            if is_word(cluster) {
                in_word = true;
            } else if in_word {
                return self.cursor + at;
            }
        }
        self.text.len()
    }

    fn start_of_line(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |newline| newline + 1)
    }

    fn end_of_line(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |newline| self.cursor + newline)
    }
}

/// Whether a cluster belongs to a word, ignoring combining marks.
fn is_word(cluster: &str) -> bool {
    cluster.chars().next().is_some_and(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editing_moves_by_clusters_and_words() {
        let mut buffer = TextBuffer::from("fix the e\u{301}tude");
        buffer.word_left();
        assert_eq!(buffer.cursor(), 8);
        buffer.right();
        buffer.right();
        buffer.backspace();
        assert_eq!(buffer.text(), "fix the e\u{301}ude");
        buffer.kill_word_left();
        assert_eq!(buffer.text(), "fix the ude");
        buffer.yank();
        assert_eq!(buffer.text(), "fix the e\u{301}ude");
    }

    #[test]
    fn killing_to_a_line_end_takes_the_newline_only_when_nothing_else_is_left() {
        let mut buffer = TextBuffer::from("one\ntwo");
        buffer.kill_line_left();
        assert_eq!(buffer.text(), "one\n");
        buffer.kill_line_left();
        assert_eq!(buffer.text(), "one");
    }

    #[test]
    fn undo_takes_back_a_typed_word_at_a_time() {
        let mut buffer = TextBuffer::default();
        "check it".chars().for_each(|letter| buffer.type_char(letter));
        buffer.undo();
        assert_eq!(buffer.text(), "check ");
        buffer.undo();
        assert_eq!(buffer.text(), "");
    }

    #[test]
    fn pasted_line_ends_become_newlines_and_escapes_are_dropped() {
        let mut buffer = TextBuffer::default();
        buffer.insert("a\r\nb\rc\u{1b}[31m");
        assert_eq!(buffer.text(), "a\nb\nc[31m");
    }

    #[test]
    fn moving_between_lines_keeps_the_column() {
        let mut buffer = TextBuffer::from("first line\n2\nthird line");
        assert!(buffer.up(80));
        assert!(buffer.up(80));
        assert_eq!(buffer.cursor(), 1);
        assert!(!buffer.up(80));
        let mut soft = TextBuffer::from("first second");
        assert!(soft.up(6) && soft.up(6));
        assert!(!soft.up(6));
    }
}
