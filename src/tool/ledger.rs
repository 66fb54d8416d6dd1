//! Records which files one agent has read, and in which state: it must not overwrite content it has not seen.

use std::collections::HashMap;
use std::fs::Metadata;
use std::hash::{BuildHasher as _, DefaultHasher, Hasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::OwnedMutexGuard;

/// The files that one agent has read. Clones share the ledger. Reads from disk: only for threads that may block.
#[derive(Clone, Debug, Default)]
pub struct ReadLedger(Arc<Mutex<HashMap<PathBuf, FileState>>>);

/// Lets one call at a time change files, from its last judgement to the end of its work. All agents
/// of a session share one, so that two of them cannot overwrite each other unseen, and none creates
/// a file that another call was judged without. Holds no data.
#[derive(Clone, Debug, Default)]
pub struct FileLock(Arc<tokio::sync::Mutex<()>>);

/// The lock, held until the last clone is dropped.
#[derive(Clone, Debug)]
pub struct FileGuard(
    #[expect(dead_code, reason = "it is held, not read")] Arc<OwnedMutexGuard<()>>,
);

/// A file's state when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    modified: Option<SystemTime>,
    len: u64,
    /// Hash of the whole content, if that was read.
    hash: Option<u64>,
}

/// Identifies the content of a file. Nobody can craft two contents with the same hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentHash(u64);

/// Why a file must not be changed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaleReason {
    NeverRead,
    Changed,
}

impl ReadLedger {
    /// Records that the file at a resolved path was read or written. `content` is the whole of it, if known.
    pub fn note(&self, path: &Path, metadata: &Metadata, content: Option<&[u8]>) {
        let state = FileState {
            modified: metadata.modified().ok(),
            len: metadata.len(),
            hash: content.map(hash),
        };
        self.lock().insert(path.to_owned(), state);
    }

    /// Checks that the file is unchanged since it was read: by its content if known, else by time and length.
    pub fn check(
        &self,
        path: &Path,
        metadata: &Metadata,
        content: &[u8],
    ) -> Result<(), StaleReason> {
        let seen = self.lock().get(path).copied().ok_or(StaleReason::NeverRead)?;
        let same = match seen.hash {
            Some(known) => known == hash(content),
            None => seen.len == metadata.len() && seen.modified == metadata.modified().ok(),
        };
        if same { Ok(()) } else { Err(StaleReason::Changed) }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, FileState>> {
        self.0.lock()
    }
}

impl ContentHash {
    /// Hashes a file's content; a missing file and an unreadable one have their own values.
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
        let ledger = ReadLedger::default();
        assert_eq!(ledger.check(&path, &old, b"old"), Err(StaleReason::NeverRead));

        ledger.note(&path, &old, Some(b"old"));
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let touched = std::fs::metadata(&path).unwrap();
        assert_eq!(ledger.check(&path, &touched, b"old"), Ok(()));
        assert_eq!(ledger.check(&path, &old, b"new"), Err(StaleReason::Changed));

        ledger.note(&path, &old, None);
        assert_eq!(ledger.check(&path, &old, b"old"), Ok(()));
        assert_eq!(ledger.check(&path, &touched, b"old"), Err(StaleReason::Changed));
    }

    #[test]
    fn each_agent_has_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let metadata = folder.path().metadata().unwrap();
        let (one, other) = (ReadLedger::default(), ReadLedger::default());
        one.note(folder.path(), &metadata, Some(b""));
        assert_eq!(one.check(folder.path(), &metadata, b""), Ok(()));
        assert_eq!(other.check(folder.path(), &metadata, b""), Err(StaleReason::NeverRead));
    }
}
