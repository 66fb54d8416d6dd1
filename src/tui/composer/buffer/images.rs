//! The images in a text that is edited.

use std::ops::Range;

use super::TextBuffer;
use crate::protocol::PromptImage;
use crate::tui::composer::image_path::NewImage;
use crate::tui::composer::past_prompt::{PastImage, PastPrompt};

impl TextBuffer {
    /// Puts an image in place of the last occurrence of its path, or of the selection if it has none. The
    /// cursor stays with its text. Returns false and changes nothing if there are too many.
    pub fn insert_image(&mut self, new: NewImage<'_>) -> bool {
        let range = match new.path {
            // The user has deleted it.
            Some(path) if !self.text.contains(&path.written) => return true,
            Some(path) => place_of(&self.text, &path.written),
            None => self.selection().unwrap_or(self.cursor..self.cursor),
        };
        if self.pastes.is_full() {
            self.pastes.keep_used(&self.text);
            self.undo.clear();
        }
        let kept = [&self.text[..range.start], &self.text[range.end..]].concat();
        let token = self.pastes.add_image(new, &kept);
        let Some(token) = token else { return false };
        let before = (self.cursor < range.start).then_some(self.cursor);
        let behind = self.cursor.checked_sub(range.end);
        self.replace(&range, token.encode_utf8(&mut [0; 4]), false);
        self.pastes.sort_numbers(&self.text);
        let end = self.cursor;
        self.place_cursor(before.or(behind.map(|behind| end + behind)).unwrap_or(end), false);
        true
    }

    /// Returns the images that are pieces of the text.
    pub fn images(&self) -> Vec<PromptImage> {
        self.pastes.images_in(&self.text)
    }

    /// Returns the images that would be pieces of a text from elsewhere.
    pub fn images_of(&self, prompt: &PastPrompt) -> Vec<PromptImage> {
        self.pastes.images_in(&self.pastes.fold_known(prompt))
    }

    /// Keeps the numbers of the images from here on: their marks are in another text too.
    pub fn keep_numbers(&mut self) {
        self.pastes.keep_numbers();
    }

    /// Returns where the images that are pieces of the text came from. Their numbers stay from here on.
    pub fn past_images(&mut self) -> Vec<PastImage> {
        self.pastes.keep_numbers();
        self.pastes.past_images_in(&self.text)
    }

    /// Returns the text with its images. Their numbers stay from here on.
    pub fn as_past(&mut self) -> PastPrompt {
        PastPrompt { text: self.full_text(), images: self.past_images() }
    }

    /// Records which images the killed text has, before its characters stand for something else.
    pub(super) fn note_killed_images(&mut self) {
        let killed = self.pastes.past_images_in(&self.area.yank_text());
        self.killed_images.extend(killed);
    }
}

/// The last place of a path in a text that has it, rather as a word than as the end of another path.
fn place_of(text: &str, path: &str) -> Range<usize> {
    let ends_path = |letter: char| letter.is_alphanumeric() || "/.-_~\\".contains(letter);
    let is_word = |at: &usize| {
        !text[..*at].ends_with(ends_path)
            && !text[at + path.len()..].starts_with(char::is_alphanumeric)
    };
    let places = || text.match_indices(path).map(|(at, _)| at);
    let start = places().filter(is_word).last().or_else(|| places().last()).unwrap_or_default();
    start..start + path.len()
}
