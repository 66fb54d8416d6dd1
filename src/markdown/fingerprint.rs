//! Whether any of many files has changed, without reading one.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

/// What files look like from outside: to be compared with a later look.
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
    /// Looks at the files. Links are followed: what they lead to is what counts.
    #[must_use]
    pub fn of(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let look = |path: PathBuf| {
            let found = path.metadata().ok();
            Seen {
                bytes: found.as_ref().map(fs::Metadata::len),
                changed: found.and_then(|found| found.modified().ok()),
                path,
            }
        };
        Self(files.into_iter().map(look).collect())
    }

    /// Looks at one more file.
    pub fn look(&mut self, file: PathBuf) {
        self.0.extend(Self::of([file]).0);
    }

    /// Looks at the same files again.
    #[must_use]
    pub fn again(&self) -> Self {
        Self::of(self.0.iter().map(|seen| seen.path.clone()))
    }
}
