//! Reads open files within limits. Whoever opens them decides which may be read.

use std::fs::File;
use std::io::{self, Read};

/// The reason why a file cannot be read. Follows text such as `cannot be read: `.
#[derive(Debug, thiserror::Error)]
pub enum TextFileError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("it is longer than {} KiB", .0 >> 10)]
    TooLong(u64),
    #[error("it is not valid UTF-8 text (line {line})")]
    NotText { line: usize },
}

/// Reads the first `limit` bytes of a file.
///
/// # Errors
/// Fails if it cannot be read.
pub fn read_head(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the text of a file of up to `limit` bytes.
///
/// # Errors
/// Fails like [`read_head`], and if it is longer or not text.
pub fn read_text(file: File, limit: u64) -> Result<String, TextFileError> {
    let bytes = read_head(file, limit + 1)?;
    if bytes.len() as u64 > limit {
        return Err(TextFileError::TooLong(limit));
    }
    String::from_utf8(bytes).map_err(|error| {
        let line = line_at(error.as_bytes(), error.utf8_error().valid_up_to());
        TextFileError::NotText { line }
    })
}

/// Returns the line of a byte, counted from 1.
pub fn line_at(bytes: &[u8], place: usize) -> usize {
    bytes[..place.min(bytes.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_within_the_limit_is_read() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().join(name);
        let open = |name: &str| File::open(path(name)).unwrap();
        let why = |name: &str| read_text(open(name), 8).unwrap_err().to_string();
        std::fs::write(path("fine"), "12345678").unwrap();
        std::fs::write(path("long"), "123456789").unwrap();
        std::fs::write(path("broken"), b"a\nb\xff").unwrap();
        assert_eq!(read_text(open("fine"), 8).unwrap(), "12345678");
        assert_eq!(why("long"), "it is longer than 0 KiB");
        assert_eq!(why("broken"), "it is not valid UTF-8 text (line 2)");
        assert_eq!(read_head(open("long"), 3).unwrap(), b"123");
    }
}
