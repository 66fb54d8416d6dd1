//! Syncs files to disk, with the folders that name them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

/// The files written since the last sync to disk, without which a power loss may lose what they
/// hold; a killed program loses nothing even without one. Clones share the set.
#[derive(Clone, Debug, Default)]
pub(super) struct UnsyncedFiles(Arc<SyncState>);

#[derive(Debug, Default)]
struct SyncState {
    files: Mutex<BTreeSet<PathBuf>>,
    /// Held during a sync: a second one waits for the files that the first has taken.
    turn: Mutex<()>,
}

impl UnsyncedFiles {
    /// Records that a file was written.
    pub fn add(&self, path: &Path) {
        let mut files = self.0.files.lock();
        if !files.contains(path) {
            files.insert(path.to_owned());
        }
    }

    /// Syncs everything written so far, with the folders that name it. Blocks.
    pub fn sync(&self) -> io::Result<()> {
        let _turn = self.0.turn.lock();
        let files = std::mem::take(&mut *self.0.files.lock());
        let mut folders = BTreeSet::new();
        let mut result = Ok(());
        for file in &files {
            folders.extend(file.ancestors().skip(1).take(2));
            result = result.and(sync(file));
        }
        folders.into_iter().fold(result, |result, folder| result.and(sync(folder)))
    }
}

/// Syncs one file or folder, unless it is gone.
fn sync(path: &Path) -> io::Result<()> {
    match File::open(path).and_then(|file| file.sync_data()) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
