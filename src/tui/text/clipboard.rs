//! Copying through the terminal (OSC 52), which also works over ssh.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::sanitize::sanitize_with_tabs;

/// Maximum bytes of text to copy; terminals silently drop longer sequences.
pub const COPY_LIMIT: usize = 100 * 1024;

/// A failure to copy.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CopyError {
    #[error(
        "{size} bytes are too many for the terminal's clipboard (limit {COPY_LIMIT}); open the reader (/read) and select with the mouse"
    )]
    TooLong { size: usize },
    #[error("cannot write to the terminal: {0}")]
    Terminal(String),
}

/// The sequence that puts `text` on the clipboard, sanitised as on the screen: a paste into a shell
/// contains nothing that the user could not see. Tabs and newlines stay.
pub fn osc52(text: &str) -> Result<String, CopyError> {
    let text = sanitize_with_tabs(text);
    if text.len() > COPY_LIMIT {
        return Err(CopyError::TooLong { size: text.len() });
    }
    Ok(format!("\x1b]52;c;{}\x1b\\", STANDARD.encode(&*text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_travels_as_base64() {
        assert_eq!(osc52("hi").unwrap(), "\x1b]52;c;aGk=\x1b\\");
    }

    #[test]
    fn only_what_can_be_seen_is_copied() {
        let cases = [
            (
                "a\tb\n\tc\r\n  d 日本\u{3000}語 👩\u{200d}💻",
                "a\tb\n\tc\n  d 日本\u{3000}語 👩\u{200d}💻",
            ),
            ("npm test\u{200b}\u{202e}", "npm test⟨U+202E⟩"),
            ("x\x1b[201~\rtouch y\x07\u{9b}1m\u{85}", "x␍touch y␇⟨U+0085⟩"),
        ];
        for (text, copied) in cases {
            let expected = format!("\x1b]52;c;{}\x1b\\", STANDARD.encode(copied));
            assert_eq!(osc52(text).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn too_long_a_text_is_refused_with_a_way_out() {
        let error = osc52(&"x".repeat(COPY_LIMIT + 1)).unwrap_err();
        assert!(error.to_string().contains("/read"));
    }
}
