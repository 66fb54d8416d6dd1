//! Prompts of the history, with the images that went with them.

use serde::{Deserialize, Serialize};

/// A prompt of the history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PastPrompt {
    pub text: String,
    pub images: Vec<PastImage>,
}

/// An image of a prompt of the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastImage {
    /// The part of the text that stands for it.
    pub mark: String,
    /// Its file, absolute; absent if it came from the clipboard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl From<&str> for PastPrompt {
    /// Creates a prompt without images.
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), images: Vec::new() }
    }
}

impl PastImage {
    /// The name of the image, such as `Image #1`.
    pub fn name(&self) -> &str {
        let inside = self.mark.trim_matches(['[', ']']);
        inside.split_once(": ").map_or(inside, |(name, _)| name)
    }

    /// The line for an image that cannot be read again.
    pub fn gone(&self) -> String {
        format!("{} is no longer there: it stays text", self.name())
    }
}
