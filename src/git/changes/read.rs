//! Reads the beginnings of files in a working tree, and says how much is read.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::fcntl::OFlag;

use crate::exec::CappedOutput;

/// The most bytes of git's diff, and of its list of untracked files.
pub const MAX_DIFF_BYTES: usize = 4 << 20;
/// The most files that git calls binary and whose content is looked at.
pub const MAX_BINARY: usize = 100;
/// The most bytes of an untracked file or one that git calls binary, and of all of them, whose text is read.
pub const MAX_UNTRACKED_BYTES: u64 = 256 << 10;
pub const MAX_UNTRACKED_TOTAL: u64 = 4 << 20;

/// The first `limit` bytes of a regular file, if they are text. Follows no link at its end.
pub fn beginning(path: &Path, limit: u64) -> Option<CappedOutput> {
    first_bytes(path, limit).filter(|text| !text.bytes.contains(&0))
}

/// The same of any regular file.
pub fn first_bytes(path: &Path, limit: u64) -> Option<CappedOutput> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let found = file.metadata().ok()?;
    if !found.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).ok()?;
    Some(CappedOutput { bytes, is_cut: found.len() > limit })
}
