//! Locks files against changes by other processes.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;

use crate::protocol::printable_path;

/// How long to wait for another process to release the lock, and how often to check.
pub(super) const LOCK_WAIT: Duration = Duration::from_secs(2);
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// The reason why a file could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("cannot write {}: {source}", printable_path(path))]
    Write { path: PathBuf, source: io::Error },
    #[error(
        "another process has held {} for {} s; stop it or try again later",
        printable_path(path), LOCK_WAIT.as_secs()
    )]
    Held { path: PathBuf },
}

/// Locks the file `NAME.lock` beside a file until dropped. Waits for another process only briefly.
///
/// # Errors
/// Fails if the lock cannot be created, or another process keeps it.
pub fn lock_beside(file: &Path) -> Result<File, LockError> {
    let path = file.with_extension("lock");
    let failed = |source| LockError::Write { path: path.clone(), source };
    if let Some(folder) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    }
    let mut options = OpenOptions::new();
    let lock = options.create(true).append(true).mode(0o600).open(&path).map_err(failed)?;
    wait_for(lock, &path)
}

/// Locks the files of a folder until dropped, without a file beside them, which a project would
/// show as new. Waits for another process only briefly. Returns `None`, and so locks nothing, if
/// the folder cannot be opened or its file system cannot lock folders.
///
/// # Errors
/// Fails if another process keeps the lock.
pub fn lock_folder(folder: &Path) -> Result<Option<File>, LockError> {
    // Anything else that a project puts there, such as a pipe, is not opened.
    let mut options = OpenOptions::new();
    let Ok(lock) = options.read(true).custom_flags(OFlag::O_DIRECTORY.bits()).open(folder) else {
        return Ok(None);
    };
    match wait_for(lock, folder) {
        Ok(lock) => Ok(Some(lock)),
        Err(LockError::Write { .. }) => Ok(None),
        Err(error @ LockError::Held { .. }) => Err(error),
    }
}

fn wait_for(lock: File, path: &Path) -> Result<File, LockError> {
    let path = path.to_owned();
    let began = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::Error(source)) => return Err(LockError::Write { path, source }),
            Err(TryLockError::WouldBlock) if began.elapsed() >= LOCK_WAIT => {
                return Err(LockError::Held { path });
            }
            Err(TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
        }
    }
}
