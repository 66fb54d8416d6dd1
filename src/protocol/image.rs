//! Images on their way to a model.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::format::byte_size;

/// An image, base64-encoded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageSource {
    /// For example `image/png`.
    pub media_type: String,
    /// Base64, without line breaks.
    pub data: Arc<str>,
}

impl ImageSource {
    /// Describes the image in a few words, unless `label` does.
    pub fn label_or(&self, label: &str) -> String {
        if label.is_empty() { self.label() } else { label.to_owned() }
    }

    /// Describes the image in a few words: `image/png · 84 kB`.
    pub fn label(&self) -> String {
        format!("{} · {}", self.media_type, byte_size(self.data.len() as u64 / 4 * 3))
    }
}

/// An image that is small enough to be sent, and its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizedImage {
    pub source: ImageSource,
    pub width: u32,
    pub height: u32,
    /// Bytes of the file that is sent.
    pub bytes: u64,
}

impl SizedImage {
    /// Describes its size: `1280×720 · 84 kB`.
    pub fn size(&self) -> String {
        format!("{}×{} · {}", self.width, self.height, byte_size(self.bytes))
    }
}

/// An image of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptImage {
    pub source: ImageSource,
    /// The part of the prompt's text that stands for it, such as `[Image #1]`. Empty: it follows the
    /// text.
    #[serde(default)]
    pub mark: String,
    /// The image in a few words for the user.
    #[serde(default)]
    pub label: String,
}

impl PromptImage {
    /// Creates an image that follows the text.
    pub fn after_text(source: ImageSource) -> Self {
        let label = source.label();
        Self { source, mark: String::new(), label }
    }

    /// Creates an image for which a part of the text stands.
    pub fn marked(mark: String, name: &str, image: SizedImage) -> Self {
        let label = format!("{name} · {}", image.size());
        Self { source: image.source, mark, label }
    }
}
