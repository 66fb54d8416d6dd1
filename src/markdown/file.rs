//! Reads files that may turn out to be anything: a pipe, a device, a folder, an endless stream.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;

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

/// Reads the first `limit` bytes of a regular file.
///
/// # Errors
/// Fails if it does not exist, cannot be read, or is not a regular file.
pub fn read_head(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the text of a regular file of up to `limit` bytes.
///
/// # Errors
/// Fails like [`read_head`], and if it is longer or not text.
pub fn read_text(path: &Path, limit: u64) -> Result<String, TextFileError> {
    let bytes = read_head(path, limit + 1)?;
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

/// Opens a regular file and nothing else. Checked before, because opening a device may have
/// effects, and opened without blocking, because a pipe may have replaced it since.
fn open_regular(path: &Path) -> io::Result<File> {
    let irregular = || io::Error::other("it is not a regular file");
    if !path.metadata()?.is_file() {
        return Err(irregular());
    }
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(irregular());
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_text_within_the_limit_are_read() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().join(name);
        let why = |name: &str| read_text(&path(name), 8).unwrap_err().to_string();
        std::fs::write(path("fine"), "12345678").unwrap();
        std::fs::write(path("long"), "123456789").unwrap();
        std::fs::write(path("broken"), b"a\nb\xff").unwrap();
        nix::unistd::mkfifo(&path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(read_text(&path("fine"), 8).unwrap(), "12345678");
        assert_eq!(why("long"), "it is longer than 0 KiB");
        assert_eq!(why("broken"), "it is not valid UTF-8 text (line 2)");
        assert_eq!(why("pipe"), "it is not a regular file");
        assert_eq!(why("."), "it is not a regular file");
        assert!(matches!(read_text(Path::new("/dev/zero"), 8), Err(TextFileError::Io(_))));
        assert_eq!(read_head(&path("long"), 3).unwrap(), b"123");
    }
}
