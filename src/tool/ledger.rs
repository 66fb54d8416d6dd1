//! Which files one agent has read, and in which state: what it has not seen, it must not overwrite.

use std::collections::HashMap;
use std::fs::Metadata;
use std::hash::{BuildHasher as _, DefaultHasher, Hasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::sync::OwnedMutexGuard;

/// The files that one agent has read. Clones are the same ledger. Looks at the disk: only for
/// threads that may block.
#[derive(Clone, Debug, Default)]
pub struct Ledger(Arc<Mutex<HashMap<PathBuf, State>>>);

/// Lets one call at a time change files, from its last judgement to the end of its work. All agents
/// of a session share one, so that two of them cannot overwrite each other unseen, and none makes
/// what another was judged without. It holds no data.
#[derive(Clone, Debug, Default)]
pub struct FileLock(Arc<tokio::sync::Mutex<()>>);

/// The lock, held until the last clone is dropped.
#[derive(Clone, Debug)]
pub struct FileGuard(
    #[expect(dead_code, reason = "it is held, not read")] Arc<OwnedMutexGuard<()>>,
);

/// A file's state when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    modified: Option<SystemTime>,
    len: u64,
    /// Of the whole content, if that was seen.
    hash: Option<u64>,
}

/// Tells one content of a file from another. Nobody can choose two contents that it takes for the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentHash(u64);

/// Why a file must not be changed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stale {
    NeverRead,
    Changed,
}

impl Ledger {
    /// Notes that the file at a resolved path was read or written. `content` is the whole of it, if
    /// it is known.
    pub fn note(&self, path: &Path, metadata: &Metadata, content: Option<&[u8]>) {
        let state = State {
            modified: metadata.modified().ok(),
            len: metadata.len(),
            hash: content.map(hash),
        };
        self.lock().insert(path.to_owned(), state);
    }

    /// Whether the file still is what was read. The content decides where it is known, else time and length.
    pub fn check(&self, path: &Path, metadata: &Metadata, content: &[u8]) -> Result<(), Stale> {
        let seen = self.lock().get(path).copied().ok_or(Stale::NeverRead)?;
        let same = match seen.hash {
            Some(known) => known == hash(content),
            None => seen.len == metadata.len() && seen.modified == metadata.modified().ok(),
        };
        if same { Ok(()) } else { Err(Stale::Changed) }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, State>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ContentHash {
    /// The hash of a file's content, of a file that is not there, or of one that cannot be read.
    pub fn new<E>(content: Result<Option<&[u8]>, E>) -> Self {
        static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        Self(KEY.hash_one(content.map_err(|_| ())))
    }
}

impl FileLock {
    /// Waits for the lock, first come first served.
    pub async fn hold(&self) -> FileGuard {
        FileGuard(Arc::new(self.0.clone().lock_owned().await))
    }
}

fn hash(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides_where_it_is_known_else_time_and_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "old").unwrap();
        let old = std::fs::metadata(&path).unwrap();
        let ledger = Ledger::default();
        assert_eq!(ledger.check(&path, &old, b"old"), Err(Stale::NeverRead));

        ledger.note(&path, &old, Some(b"old"));
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let touched = std::fs::metadata(&path).unwrap();
        assert_eq!(ledger.check(&path, &touched, b"old"), Ok(()));
        assert_eq!(ledger.check(&path, &old, b"new"), Err(Stale::Changed));

        ledger.note(&path, &old, None);
        assert_eq!(ledger.check(&path, &old, b"old"), Ok(()));
        assert_eq!(ledger.check(&path, &touched, b"old"), Err(Stale::Changed));
    }

    #[test]
    fn each_agent_has_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let metadata = folder.path().metadata().unwrap();
        let (one, other) = (Ledger::default(), Ledger::default());
        one.note(folder.path(), &metadata, Some(b""));
        assert_eq!(one.check(folder.path(), &metadata, b""), Ok(()));
        assert_eq!(other.check(folder.path(), &metadata, b""), Err(Stale::NeverRead));
    }
}
