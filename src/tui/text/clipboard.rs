//! Copying through the terminal (OSC 52), which also works over ssh.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Bytes of text that are copied at most; terminals drop longer sequences without a word.
pub const COPY_LIMIT: usize = 100 * 1024;

/// Why nothing was copied.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CopyError {
    #[error(
        "{size} bytes are too many for the terminal's clipboard ({COPY_LIMIT} at most): the reader (/read) leaves the mouse to the terminal"
    )]
    TooLong { size: usize },
    #[error("the terminal cannot be written to: {0}")]
    Terminal(String),
}

/// The sequence that puts `text` on the clipboard of the terminal's owner.
pub fn osc52(text: &str) -> Result<String, CopyError> {
    if text.len() > COPY_LIMIT {
        return Err(CopyError::TooLong { size: text.len() });
    }
    Ok(format!("\x1b]52;c;{}\x1b\\", STANDARD.encode(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_travels_as_base64() {
        assert_eq!(osc52("hi\x1b[0m").unwrap(), "\x1b]52;c;aGkbWzBt\x1b\\");
    }

    #[test]
    fn too_long_a_text_is_refused_with_a_way_out() {
        let error = osc52(&"x".repeat(COPY_LIMIT + 1)).unwrap_err();
        assert!(error.to_string().contains("/read"));
    }
}
