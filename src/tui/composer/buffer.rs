//! An editable text with a cursor and a selection: the draft of a prompt, a filter, a reason. Knows
//! nothing of keys or drawing.
//!
//! `ratatui-textarea` edits the text and undoes edits, one `char` and one edit at a time. Here a
//! position is a byte position between two grapheme clusters, and a typed word is one undo step.

use std::ops::Range;

use ratatui_textarea::{CursorMove, DataCursor, TextArea};
use unicode_segmentation::UnicodeSegmentation;

use super::past_prompt::{PastImage, PastPrompt};
use super::paste::{self, LargePastes};
use crate::protocol::prompt::AGENT_PREFIX;

/// Edits kept for undo.
const MAX_EDITS: usize = 1000;

/// An editable text.
#[derive(Clone, Debug)]
pub struct TextBuffer {
    area: TextArea<'static>,
    /// The lines of `area` as one text. A large paste is one character of it.
    text: String,
    /// Byte position, always between two grapheme clusters.
    cursor: usize,
    undo: Vec<UndoStep>,
    /// The images of the killed text, which [`yank`](Self::yank) brings back.
    killed_images: Vec<PastImage>,
    /// Whether the last change was typing, which is undone as a whole.
    typing: bool,
    /// Whether the user has typed all of the text.
    typed: bool,
    /// Where the letters stand that were typed one behind another, without another change since.
    run: Range<usize>,
    /// The words by which the user has named agents: `@agent-NAME`.
    agents: Vec<String>,
    /// Increases with each change of text or cursor.
    revision: u64,
    pub(super) pastes: LargePastes,
}

/// Edits that are undone together.
#[derive(Clone, Copy, Debug)]
struct UndoStep {
    edits: usize,
    /// The cursor before them.
    cursor: usize,
    /// Whether all of the text before them was typed.
    typed: bool,
}

/// A movement of the cursor. Up and down go by lines of this width, in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movement {
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    Up { width: usize },
    Down { width: usize },
}

impl Default for TextBuffer {
    fn default() -> Self {
        let mut area = TextArea::default();
        area.set_max_histories(MAX_EDITS);
        Self {
            area,
            text: String::new(),
            cursor: 0,
            undo: Vec::new(),
            killed_images: Vec::new(),
            typing: false,
            typed: true,
            run: 0..0,
            agents: Vec::new(),
            revision: 0,
            pastes: LargePastes::default(),
        }
    }
}

impl From<&str> for TextBuffer {
    fn from(text: &str) -> Self {
        let mut buffer = Self::default();
        buffer.replace(&(0..0), text, false);
        buffer.undo.clear();
        buffer
    }
}

/// Compares text, cursor and selection.
impl PartialEq for TextBuffer {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, self.cursor, self.selection())
            == (&other.text, other.cursor, other.selection())
    }
}

impl Eq for TextBuffer {}

impl TextBuffer {
    /// The text as it is edited: a large paste is one character. Positions are positions in it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text with the contents of large pastes.
    pub fn full_text(&self) -> String {
        self.pastes.expand(&self.text)
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

    /// Whether the user has typed all of the text. Pasted text and that of an earlier prompt may be
    /// anybody's.
    pub fn is_typed(&self) -> bool {
        self.typed
    }

    /// The selected bytes, if there are any.
    pub fn selection(&self) -> Option<Range<usize>> {
        let (from, to) = self.area.selection_range()?;
        let range = self.byte_at(from.into())..self.byte_at(to.into());
        Some(range).filter(|range| !range.is_empty())
    }

    /// The selected text, with the contents of large pastes.
    pub fn selected_text(&self) -> Option<String> {
        self.selection().map(|range| self.pastes.expand(&self.text[range]))
    }

    /// Replaces the whole text and moves the cursor to its end. Can be undone.
    pub fn set(&mut self, prompt: &PastPrompt) {
        let (text, _) = self.fold(prompt, self.cursor);
        self.replace(&(0..self.text.len()), &text, false);
        self.typed = text.is_empty();
        self.agents.clear();
    }

    /// Replaces the whole text with what the user has made of it elsewhere. It may still have its images.
    pub fn set_typed(&mut self, text: &str) {
        let (typed, agents) = (self.typed, std::mem::take(&mut self.agents));
        let prompt = PastPrompt { text: text.to_owned(), images: self.past_images() };
        self.set(&prompt);
        self.typed |= typed;
        self.agents = agents;
    }

    /// Empties the buffer and returns its full text. The killed text stays.
    pub fn take(&mut self) -> String {
        let text = self.full_text();
        self.note_killed_images();
        let killed = self.pastes.expand(&self.area.yank_text());
        self.pastes.forget_oldest();
        let pastes = std::mem::take(&mut self.pastes);
        let killed_images = std::mem::take(&mut self.killed_images);
        *self = Self { pastes, killed_images, revision: self.revision + 1, ..Self::default() };
        self.area.set_yank_text(killed);
        text
    }

    /// Inserts one typed character in place of the selection.
    pub fn type_char(&mut self, letter: char) {
        let selection = self.selection();
        let joins = self.typing && selection.is_none();
        let range = selection.unwrap_or(self.cursor..self.cursor);
        if letter.is_whitespace() {
            self.note_agent();
        }
        let (run, typed) = (self.run.clone(), letter.len_utf8());
        self.replace(&range, letter.encode_utf8(&mut [0; 4]), joins);
        self.typing = !letter.is_whitespace();
        self.run = match run.start <= range.start && range.end <= run.end {
            true => run.start..run.end - range.len() + typed,
            false => range.start..range.start + typed,
        };
    }

    /// Notes the agent that the word before the cursor names, if all of the word was typed.
    pub fn note_agent(&mut self) {
        let head = &self.text[..self.cursor];
        let word = head.rsplit(char::is_whitespace).next().unwrap_or_default();
        let is_typed = self.run.start <= head.len() - word.len() && head.len() <= self.run.end;
        if is_typed && word.starts_with(AGENT_PREFIX) {
            self.agents.push(word.to_owned());
        }
    }

    /// Puts the name of an agent, which the user has chosen, in place of the bytes from `start` to the
    /// cursor.
    pub fn insert_agent(&mut self, start: usize, word: &str) {
        self.agents.push(word.to_owned());
        self.replace_before(start, &format!("{word} "));
    }

    /// The words by which the user names agents. `None` if the user has typed all of the text.
    pub fn agent_mentions(&self) -> Option<Vec<String>> {
        let is_there = |word: &&String| self.text.split_whitespace().any(|other| other == *word);
        let words = self.agents.iter().filter(is_there);
        (!self.typed).then(|| words.cloned().collect())
    }

    /// Inserts text in place of the selection. Line ends become `\n`; other control characters except
    /// tabs are dropped.
    pub fn insert(&mut self, text: &str) {
        let text = paste::clean(text);
        let range = self.selection().unwrap_or(self.cursor..self.cursor);
        self.replace(&range, &text, false);
    }

    /// The byte position at which [`paste`](Self::paste) inserts.
    pub fn paste_start(&self) -> usize {
        self.selection().map_or(self.cursor, |selection| selection.start)
    }

    /// Like [`insert`](Self::insert), but a large text becomes one character. Returns false and changes
    /// nothing if all large pastes together would have more than [`MAX_PASTED`](paste::MAX_PASTED) bytes.
    pub fn paste(&mut self, text: &str) -> bool {
        self.insert_folded(text, |_, text| text)
    }

    /// Inserts a text as a paste, with a part of it folded further unless all of it is one character.
    fn insert_folded(
        &mut self,
        text: &str,
        fold: impl FnOnce(&LargePastes, String) -> String,
    ) -> bool {
        let text = paste::clean(text);
        let mut range = self.selection().unwrap_or(self.cursor..self.cursor);
        let edited = self.text.len() - range.len();
        if paste::is_large(&text, edited) {
            let kept = [&self.text[..range.start], &self.text[range.end..]];
            let kept: usize = kept.map(|part| self.pastes.pasted_bytes(part)).iter().sum();
            if kept + text.len() > paste::MAX_PASTED {
                return false;
            }
            if !self.pastes.has_room(&text) {
                self.replace(&range, "", false);
                let at = self.free_pastes(range.start);
                range = at..at;
            }
        }
        let text = self.pastes.fold_into(&text, self.text.len() - range.len());
        let text = fold(&self.pastes, text);
        self.replace(&range, &text, false);
        self.typed &= text.is_empty();
        true
    }

    /// Returns the form to edit of a text from elsewhere, such as the history: in a large text each
    /// known paste is one character, or else all of it. Frees pastes if that needs a new one. Also
    /// returns where the byte position `at` is then.
    fn fold(&mut self, prompt: &PastPrompt, at: usize) -> (String, usize) {
        let text = &prompt.text;
        let known = self.pastes.fold_known(prompt);
        if known.len() <= paste::MAX_EDITED {
            return (known, at);
        }
        let at = if self.pastes.has_room(text) { at } else { self.free_pastes(at) };
        (self.pastes.fold_into(text, 0), at)
    }

    /// Makes room for a large paste: forgets the undo steps, and the pastes that only they need. If
    /// there are still too many, the text becomes up to three pastes, with the byte position `at` and
    /// the cursor between them. Returns where `at` is then.
    fn free_pastes(&mut self, at: usize) -> usize {
        self.note_killed_images();
        let killed = self.pastes.expand(&self.area.yank_text());
        let killed_images = std::mem::take(&mut self.killed_images);
        let (mut text, mut at, mut cursor) = (self.text.clone(), at, self.cursor);
        let mut pastes = std::mem::take(&mut self.pastes);
        pastes.keep_used(&text);
        if pastes.is_full() {
            let (start, end) = (at.min(cursor), at.max(cursor));
            let parts = [&text[..start], &text[start..end], &text[end..]];
            let parts = parts.map(|part| pastes.expand(part));
            pastes = LargePastes::default();
            text.clear();
            let [start, end, _] = parts.map(|part| {
                text.push_str(&pastes.fold_into(&part, text.len()));
                text.len()
            });
            (at, cursor) = if at < cursor { (start, end) } else { (end, start) };
        }
        let revision = self.revision;
        *self = Self { pastes, killed_images, typed: self.typed, ..Self::from(&*text) };
        self.revision += revision;
        self.area.set_yank_text(killed);
        self.place_cursor(cursor, false);
        at
    }

    /// Replaces the bytes from `start` to the cursor.
    pub fn replace_before(&mut self, start: usize, text: &str) {
        self.replace(&(start..self.cursor), text, false);
    }

    /// Inserts text at a byte position; the cursor stays with its text. Returns the end of the new text.
    pub fn insert_at(&mut self, at: usize, prompt: &PastPrompt) -> usize {
        let (text, at) = self.fold(prompt, at);
        let cursor = if self.cursor >= at { self.cursor + text.len() } else { self.cursor };
        self.replace(&(at..at), &text, false);
        self.typed &= text.is_empty();
        self.place_cursor(cursor, false);
        at + text.len()
    }

    /// Moves the cursor and ends the selection. Returns false if there is no line to move to.
    pub fn move_cursor(&mut self, movement: Movement) -> bool {
        self.note_agent();
        let to = match (movement, self.selection()) {
            (Movement::Left, Some(selection)) => Some(selection.start),
            (Movement::Right, Some(selection)) => Some(selection.end),
            _ => self.target(movement),
        };
        self.place_cursor(to.unwrap_or(self.cursor), false);
        to.is_some()
    }

    /// Moves the cursor and extends the selection to it.
    pub fn select(&mut self, movement: Movement) {
        let end = if matches!(movement, Movement::Up { .. }) { 0 } else { self.text.len() };
        self.place_cursor(self.target(movement).unwrap_or(end), true);
    }

    /// Moves the cursor to a byte position, and extends the selection to it or ends it.
    pub fn place_cursor(&mut self, to: usize, select: bool) {
        match (select, self.area.is_selecting()) {
            (true, false) => self.area.start_selection(),
            (false, _) => self.area.cancel_selection(),
            (true, true) => {}
        }
        self.jump(self.text.floor_char_boundary(to));
        self.cursor = self.byte_at(self.area.cursor());
        self.typing = false;
        self.revision += 1;
    }

    pub fn end_selection(&mut self) {
        self.place_cursor(self.cursor, false);
    }

    /// Deletes the selection, or else what the movement passes.
    pub fn delete(&mut self, movement: Movement) {
        let range = self.selection().unwrap_or_else(|| self.passed(movement));
        let run = self.run.clone();
        self.replace(&range, "", false);
        if run.start <= range.start && range.end <= run.end {
            self.run = run.start..run.end - range.len();
        }
    }

    /// Kills the selection, or else what the movement passes: [`yank`](Self::yank) inserts it. To the end
    /// of a line where nothing is left of it: the newline.
    pub fn kill(&mut self, movement: Movement) {
        let range = match (self.selection(), self.passed(movement), movement) {
            (Some(selection), ..) => selection,
            (None, range, Movement::LineStart) if range.is_empty() => self.passed(Movement::Left),
            (None, range, Movement::LineEnd) if range.is_empty() => self.passed(Movement::Right),
            (None, range, _) => range,
        };
        if range.is_empty() {
            return;
        }
        let cursor = self.cursor;
        self.select_range(&range);
        self.area.cut();
        self.killed_images.clear();
        self.record(1, cursor, false);
    }

    /// Inserts the text killed last. Returns false where [`paste`](Self::paste) does.
    pub fn yank(&mut self) -> bool {
        self.note_killed_images();
        let killed = self.pastes.expand(&self.area.yank_text());
        let images = self.killed_images.clone();
        self.insert_folded(&killed, |pastes, text| pastes.fold_images(text, &images))
    }

    pub fn undo(&mut self) {
        let Some(step) = self.undo.pop() else { return };
        for _ in 0..step.edits {
            self.area.undo();
        }
        self.text = self.area.lines().join("\n");
        self.typed = step.typed;
        self.place_cursor(step.cursor, false);
        self.run = self.cursor..self.cursor;
    }

    /// Replaces a range of bytes, as a step of its own or as a part of the last one.
    fn replace(&mut self, range: &Range<usize>, text: &str, joins: bool) {
        let cursor = self.cursor;
        // A range that ends before it starts would be deleted without being counted.
        let range = range.start.min(range.end)..range.start.max(range.end);
        let deletes = !range.is_empty();
        self.select_range(&range);
        let inserts = self.area.insert_str(text);
        self.record(usize::from(deletes) + usize::from(inserts), cursor, joins);
    }

    /// Takes over the text and the cursor after edits.
    fn record(&mut self, edits: usize, cursor: usize, joins: bool) {
        self.area.cancel_selection();
        self.text = self.area.lines().join("\n");
        self.place_cursor(self.byte_at(self.area.cursor()), false);
        self.run = self.cursor..self.cursor;
        match self.undo.last_mut() {
            _ if edits == 0 => {}
            Some(last) if joins => last.edits += edits,
            _ => self.undo.push(UndoStep { edits, cursor, typed: self.typed }),
        }
        self.typed |= self.text.is_empty();
        if self.text.is_empty() {
            self.agents.clear();
        }
        let mut kept: usize = self.undo.iter().map(|step| step.edits).sum();
        while kept > MAX_EDITS && self.undo.len() > 1 {
            kept -= self.undo.remove(0).edits;
        }
    }

    fn select_range(&mut self, range: &Range<usize>) {
        self.area.cancel_selection();
        self.jump(range.start);
        self.area.start_selection();
        self.jump(range.end);
    }

    /// Moves the cursor of `area`. Beyond column 65,535 it reaches the end of a line only, which takes
    /// a line of more than [`MAX_EDITED`](paste::MAX_EDITED) bytes.
    fn jump(&mut self, to: usize) {
        let head = &self.text[..to];
        let start = head.rfind('\n').map_or(0, |newline| newline + 1);
        let row = u16::try_from(head.matches('\n').count()).unwrap_or(u16::MAX);
        match u16::try_from(head[start..].chars().count()) {
            Ok(column) => self.area.move_cursor(CursorMove::Jump(row, column)),
            Err(_) => {
                self.area.move_cursor(CursorMove::Jump(row, 0));
                self.area.move_cursor(CursorMove::End);
            }
        }
    }

    /// The byte position of a line and a character in it.
    fn byte_at(&self, DataCursor(row, column): DataCursor) -> usize {
        let lines = self.area.lines();
        let start: usize = lines[..row].iter().map(|line| line.len() + 1).sum();
        let line = &lines[row];
        start + line.char_indices().nth(column).map_or(line.len(), |(at, _)| at)
    }

    /// Where a movement leads; `None` above the first and below the last line.
    fn target(&self, movement: Movement) -> Option<usize> {
        Some(match movement {
            Movement::Left => self.previous_cluster(),
            Movement::Right => self.next_cluster(),
            Movement::WordLeft => self.word_before(),
            Movement::WordRight => self.word_after(),
            Movement::LineStart => self.start_of_line(),
            Movement::LineEnd => self.end_of_line(),
            Movement::Up { width } => return self.on_line(width, |row| row.checked_sub(1)),
            Movement::Down { width } => return self.on_line(width, |row| row.checked_add(1)),
        })
    }

    /// The bytes between the cursor and where a movement leads.
    fn passed(&self, movement: Movement) -> Range<usize> {
        let to = self.target(movement).unwrap_or(self.cursor);
        self.cursor.min(to)..self.cursor.max(to)
    }

    /// The position in the cursor's column of another line.
    fn on_line(&self, width: usize, next: impl Fn(usize) -> Option<usize>) -> Option<usize> {
        let lines = self.wrap(width);
        let (row, column) = self.row_and_column(&lines);
        let line = lines.get(next(row)?)?;
        Some(self.at_column(line, column))
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
    cluster.chars().next().is_some_and(|letter| letter.is_alphanumeric() || paste::is_token(letter))
}

mod images;
#[cfg(test)]
mod tests;
