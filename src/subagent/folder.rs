//! Folders of definitions on disk: which files count, their text, and whether any has changed.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::definition::{DefinitionError, Source};

/// A longer file is no prompt. Bytes.
const MAX_FILE: u64 = 256 << 10;

/// What folders of definitions look like without reading any file: to be compared with a later look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint(Vec<Seen>);

/// A file, its length in bytes and its last change; the last two are absent where it cannot be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    path: PathBuf,
    bytes: Option<u64>,
    changed: Option<SystemTime>,
}

impl Fingerprint {
    pub(super) fn of<'a>(folders: impl Iterator<Item = &'a Path>) -> Self {
        let look = |path: PathBuf| {
            // Links are followed: what they lead to is what counts.
            let found = path.metadata().ok();
            Seen {
                bytes: found.as_ref().map(fs::Metadata::len),
                changed: found.and_then(|found| found.modified().ok()),
                path,
            }
        };
        let files = folders.flat_map(|folder| {
            // A folder that cannot be listed is a problem of its own, which may come and go.
            markdown_files(folder).unwrap_or_else(|_| vec![folder.to_owned()])
        });
        Self(files.map(look).collect())
    }
}

/// The `.md` files of a folder, by name. No folder: none.
pub(super) fn markdown_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let markdown = path.extension().is_some_and(|extension| extension == "md");
        // A folder may be named so too; what cannot be looked at is kept, so that reading it says why.
        if markdown && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The text of a definition's file.
pub(super) fn read(source: &Source) -> Result<String, DefinitionError> {
    let unreadable = |why: String| DefinitionError {
        place: source.clone(),
        line: None,
        message: format!("cannot be read: {why}"),
    };
    let file = source.path().unwrap_or(Path::new(""));
    let found = file.metadata().map_err(|error| unreadable(error.to_string()))?;
    // Opening a named pipe would wait for its other end.
    if !found.is_file() {
        return Err(unreadable("it is not a file".to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|opened| opened.take(MAX_FILE + 1).read_to_end(&mut bytes))
        .map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(unreadable(format!("it is longer than {} KiB", MAX_FILE >> 10)));
    }
    String::from_utf8(bytes).map_err(|_| unreadable("it is not valid UTF-8 text".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_changes_with_every_change_of_a_definition_and_with_nothing_else() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("agents");
        let look = || Fingerprint::of([folder.as_path()].into_iter());
        let absent = look();
        fs::create_dir(&folder).unwrap();
        assert_eq!(look(), absent, "an empty folder is none");
        let file = folder.join("a.md");
        fs::write(&file, "one").unwrap();
        let one = look();
        assert_ne!(one, absent);
        fs::write(folder.join("notes.txt"), "x").unwrap();
        assert_eq!(look(), one);
        fs::write(&file, "longer").unwrap();
        let longer = look();
        assert_ne!(longer, one);
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        File::options().write(true).open(&file).unwrap().set_modified(later).unwrap();
        assert_ne!(look(), longer, "the same length");
        fs::rename(&file, folder.join("b.md")).unwrap();
        assert_ne!(look(), longer);
        fs::remove_file(folder.join("b.md")).unwrap();
        assert_eq!(look(), absent);
    }
}
