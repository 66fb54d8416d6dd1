//! The name that the user gave a session, in a file of its own beside the transcript.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The file in the session's folder.
const NAME_FILE: &str = "name";
/// Where a new name is written before it takes the place of the old one.
const NEW_NAME_FILE: &str = "name.new";
/// The most characters of a name.
const MAX_NAME_CHARS: usize = 80;
/// The most bytes that are read.
const MAX_NAME_BYTES: u64 = 1 << 10;

/// Returns the name of the session in this folder, if it has one.
pub fn read(dir: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(dir.join(NAME_FILE)).ok()?.take(MAX_NAME_BYTES).read_to_string(&mut text).ok()?;
    as_name(&text)
}

/// Names the session in this folder, or takes its name away if there is nothing but blanks.
/// Returns the name as it is stored: on one line, and not too long.
pub fn write(dir: &Path, name: &str) -> io::Result<Option<String>> {
    let Some(name) = as_name(name) else {
        return match fs::remove_file(dir.join(NAME_FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(None),
        };
    };
    let new = dir.join(NEW_NAME_FILE);
    let mut options = OpenOptions::new();
    let mut file = options.create(true).truncate(true).write(true).mode(0o600).open(&new)?;
    file.write_all(name.as_bytes())?;
    fs::rename(&new, dir.join(NAME_FILE))?;
    Ok(Some(name))
}

fn as_name(text: &str) -> Option<String> {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let name: String = words.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect();
    Some(name).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_short_line_and_blanks_take_it_away() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        assert_eq!(read(dir), None);
        let stored = write(dir, "  fix\nthe \u{1b}login  ").unwrap();
        assert_eq!(stored.as_deref(), Some("fix the login"));
        assert_eq!(read(dir), stored);
        assert_eq!(write(dir, &"x".repeat(100)).unwrap().unwrap().len(), MAX_NAME_CHARS);
        assert_eq!(write(dir, " ").unwrap(), None);
        assert_eq!((read(dir), write(dir, "").unwrap()), (None, None));
        assert!(write(&dir.join("gone"), "x").is_err());
    }
}
