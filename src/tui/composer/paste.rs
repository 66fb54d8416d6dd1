//! Large pastes and images. The editor goes through its whole text at each edit, so that a large paste is one
//! character to it, which stands for the text; so is an image.

use std::ops::RangeInclusive;

use super::image_path::NewImage;
use super::past_prompt::{PastImage, PastPrompt};
use crate::protocol::{PromptImage, SizedImage, byte_size};

/// The notice for a paste that was not inserted.
pub const PASTE_TOO_LARGE: &str = "not pasted: more than 16 MB · save it as a file and name that";

/// The reply to the key for an image where the words of an answer are typed.
pub const NO_IMAGE: &str = "an answer has no images: add the image to a prompt";

/// The most bytes that pastes may add up to as text that can be edited. With fewer, no line has more
/// than the 65,535 columns that the editor can address.
pub const MAX_EDITED: usize = 60_000;

/// The characters that stand for pastes: Unicode reserves them for use inside programs.
const TOKENS: RangeInclusive<char> = '\u{fdd0}'..='\u{fdef}';

/// The fewest bytes of a paste that is one character.
const MIN_FOLDED: usize = 1000;

/// The most lines of a paste that can be edited: the prompt shows a few at a time.
const MAX_EDITED_LINES: usize = 100;

/// The most bytes that pasting may make the large pastes of one text add up to. A text from elsewhere,
/// such as the history, may have more.
pub const MAX_PASTED: usize = 16_000_000;

/// The most images of one text.
pub const MAX_IMAGES: usize = 20;

/// Pastes kept when their draft was sent or cleared, for the history.
const KEPT_PASTES: usize = 8;

/// The large pastes of a text, each of which is one character in it. Oldest first.
#[derive(Clone, Debug, Default)]
pub struct LargePastes {
    pastes: Vec<LargePaste>,
}

#[derive(Clone, Debug)]
struct LargePaste {
    /// The character that stands for it.
    token: char,
    text: String,
    label: String,
    /// The image for which the text stands, if it is one.
    image: Option<PastedImage>,
}

#[derive(Clone, Debug)]
struct PastedImage {
    image: SizedImage,
    number: usize,
    /// The path that tells the model where it is.
    path: Option<String>,
    /// The absolute path.
    file: Option<String>,
    /// Whether only the draft has its mark, so that its number may still change.
    is_new: bool,
}

impl PastedImage {
    fn name(&self) -> String {
        format!("Image #{}", self.number)
    }

    fn mark(&self) -> String {
        match &self.path {
            Some(path) => format!("[{}: {path}]", self.name()),
            None => format!("[{}]", self.name()),
        }
    }
}

/// Whether a character stands for a large paste.
pub fn is_token(letter: char) -> bool {
    TOKENS.contains(&letter)
}

/// Whether a pasted text beside `edited` bytes is too large to be edited.
pub fn is_large(text: &str, edited: usize) -> bool {
    let long = text.len() >= MIN_FOLDED && edited + text.len() > MAX_EDITED;
    long || text.lines().nth(MAX_EDITED_LINES).is_some()
}

/// Turns line ends into `\n` and drops other control characters except tabs, and the characters that
/// stand for pastes.
pub fn clean(text: &str) -> String {
    text.replace("\r\n", "\n")
        .replace('\r', "\n")
        .chars()
        .filter(|letter| {
            matches!(letter, '\n' | '\t') || !letter.is_control() && !is_token(*letter)
        })
        .collect()
}

impl LargePastes {
    /// Returns what to insert for a pasted text beside `edited` bytes: one character if it is large.
    pub fn fold_into(&mut self, text: &str, edited: usize) -> String {
        let text = text.replace(is_token, "");
        if !is_large(&text, edited) {
            return text;
        }
        if let Some(known) = self.pastes.iter().find(|paste| paste.text == text) {
            return known.token.to_string();
        }
        let Some(token) = TOKENS.clone().find(|token| self.paste(*token).is_none()) else {
            return text;
        };
        self.pastes.push(LargePaste { token, label: label(&text), text, image: None });
        token.to_string()
    }

    /// Adds an image to a text and returns the character that stands for it, unless there are too many.
    pub fn add_image(&mut self, new: NewImage<'_>, text: &str) -> Option<char> {
        let NewImage { number, path, image } = new;
        let is_image = |letter| self.paste(letter).is_some_and(|paste| paste.image.is_some());
        let images = text.chars().filter(|letter| is_image(*letter)).count();
        let token = TOKENS.clone().find(|token| self.paste(*token).is_none());
        let token = token.filter(|_| images < MAX_IMAGES)?;
        let file = path.and_then(|path| path.file.clone());
        let path = path.map(|path| path.path.clone());
        let image = PastedImage { image, number, path, file, is_new: true };
        let (text, label) = (image.mark(), format!("[{}]", image.name()));
        self.pastes.push(LargePaste { token, text, label, image: Some(image) });
        Some(token)
    }

    /// Numbers the new images of a text by their places in it.
    pub fn sort_numbers(&mut self, text: &str) {
        let new = |paste: &&mut LargePaste| {
            let is_new = paste.image.as_ref().is_some_and(|image| image.is_new);
            is_new && text.contains(paste.token)
        };
        let mut new: Vec<_> = self.pastes.iter_mut().filter(new).collect();
        new.sort_by_key(|paste| text.find(paste.token));
        let mut numbers: Vec<_> =
            new.iter().filter_map(|paste| Some(paste.image.as_ref()?.number)).collect();
        numbers.sort_unstable();
        for (paste, number) in new.into_iter().zip(numbers) {
            let Some(image) = &mut paste.image else { continue };
            image.number = number;
            (paste.text, paste.label) = (image.mark(), format!("[{}]", image.name()));
        }
    }

    /// Keeps the numbers of all images from here on: their marks are elsewhere too.
    pub fn keep_numbers(&mut self) {
        for image in self.pastes.iter_mut().filter_map(|paste| paste.image.as_mut()) {
            image.is_new = false;
        }
    }

    /// Returns the images whose characters are in a text.
    pub fn images_in(&self, text: &str) -> Vec<PromptImage> {
        let images = self.pastes_of_images(text);
        let marked = |(mark, image): (&str, &PastedImage)| {
            PromptImage::marked(mark.to_owned(), &image.name(), image.image.clone())
        };
        images.map(marked).collect()
    }

    /// Returns where the images whose characters are in a text came from, for the history.
    pub fn past_images_in(&self, text: &str) -> Vec<PastImage> {
        let images = self.pastes_of_images(text);
        images
            .map(|(mark, image)| PastImage { mark: mark.to_owned(), file: image.file.clone() })
            .collect()
    }

    /// The marks and images whose characters are in a text. A mark that is written out is text: it may
    /// stand in a paste.
    fn pastes_of_images(&self, text: &str) -> impl Iterator<Item = (&str, &PastedImage)> {
        let pastes = self.pastes.iter().filter(move |paste| text.contains(paste.token));
        pastes.filter_map(|paste| Some((&*paste.text, paste.image.as_ref()?)))
    }

    /// Puts the characters in place of the marks of these images, as far as they are known. Another text
    /// that looks like the mark of an image may be anybody's.
    pub fn fold_images(&self, mut text: String, images: &[PastImage]) -> String {
        let is_meant = |paste: &&LargePaste| {
            paste.image.is_some() && images.iter().any(|image| image.mark == paste.text)
        };
        for paste in self.pastes.iter().filter(is_meant) {
            text = text.replace(&paste.text, paste.token.encode_utf8(&mut [0; 4]));
        }
        text
    }

    /// Puts the characters in place of known pastes in a text from elsewhere, and of its images.
    pub fn fold_known(&self, PastPrompt { text, images }: &PastPrompt) -> String {
        let mut folded = text.replace(is_token, "");
        // What stands in a paste is no image of the text.
        let mut pastes: Vec<_> = self.pastes.iter().filter(|paste| paste.image.is_none()).collect();
        pastes.sort_by_key(|paste| std::cmp::Reverse(paste.text.len()));
        for LargePaste { token, text, .. } in pastes {
            folded = folded.replace(text, token.encode_utf8(&mut [0; 4]));
        }
        self.fold_images(folded, images)
    }

    /// Puts the pastes in place of their characters.
    pub fn expand(&self, text: &str) -> String {
        if self.pastes.is_empty() {
            return text.to_owned();
        }
        let mut expanded = String::new();
        for letter in text.chars() {
            match self.paste(letter) {
                Some(paste) => expanded.push_str(&paste.text),
                None => expanded.push(letter),
            }
        }
        expanded
    }

    /// The text on the screen for a grapheme cluster that is a paste.
    pub fn label(&self, cluster: &str) -> Option<&str> {
        let paste = self.paste(cluster.chars().next()?)?;
        Some(&paste.label)
    }

    /// The bytes of the pastes in a text. A paste counts each time.
    pub fn pasted_bytes(&self, text: &str) -> usize {
        text.chars().filter_map(|letter| self.paste(letter)).map(|paste| paste.text.len()).sum()
    }

    /// Whether a paste is known or can be added.
    pub fn has_room(&self, text: &str) -> bool {
        let pasted: usize = self.pastes.iter().map(|paste| paste.text.len()).sum();
        self.pastes.iter().any(|paste| paste.text == text)
            || !self.is_full() && pasted + text.len() <= MAX_PASTED
    }

    /// Whether no character is left for another paste.
    pub fn is_full(&self) -> bool {
        self.pastes.len() >= TOKENS.count()
    }

    /// Forgets the pastes whose characters are not in a text.
    pub fn keep_used(&mut self, text: &str) {
        self.pastes.retain(|paste| text.contains(paste.token));
    }

    /// Forgets all but the newest pastes, once no text has their characters any more.
    pub fn forget_oldest(&mut self) {
        self.keep_numbers();
        self.pastes.drain(..self.pastes.len().saturating_sub(KEPT_PASTES));
    }

    fn paste(&self, letter: char) -> Option<&LargePaste> {
        self.pastes.iter().find(|paste| paste.token == letter)
    }
}

/// A label such as `[2,000 lines · 82 kB]`.
fn label(text: &str) -> String {
    let size = byte_size(text.len() as u64);
    let lines = match text.lines().count() {
        1 => "1 line".to_owned(),
        lines @ ..1000 => format!("{lines} lines"),
        lines @ ..1_000_000 => format!("{},{:03} lines", lines / 1000, lines % 1000),
        lines => {
            format!("{},{:03},{:03} lines", lines / 1_000_000, lines / 1000 % 1000, lines % 1000)
        }
    };
    format!("[{lines} · {size}]")
}
