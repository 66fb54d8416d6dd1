//! Detects changes of files without reading them.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

/// The metadata of files, to compare with a later state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint(Vec<FileStamp>);

/// A file, its length in bytes and modification time; the last two are absent if they cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileStamp {
    path: PathBuf,
    bytes: Option<u64>,
    changed: Option<SystemTime>,
}

impl Fingerprint {
    /// Records the files' metadata. Follows links.
    pub fn new(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let look = |path: PathBuf| {
            let found = path.metadata().ok();
            FileStamp {
                bytes: found.as_ref().map(fs::Metadata::len),
                changed: found.and_then(|found| found.modified().ok()),
                path,
            }
        };
        Self(files.into_iter().map(look).collect())
    }

    /// Adds one more file.
    pub fn add_file(&mut self, file: PathBuf) {
        self.0.extend(Self::new([file]).0);
    }

    /// Records the same files again.
    pub fn refreshed(&self) -> Self {
        Self::new(self.0.iter().map(|seen| seen.path.clone()))
    }
}
