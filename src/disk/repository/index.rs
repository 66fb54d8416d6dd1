//! Reads git's index for the tracked files of a checkout and its submodules.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// Maximum size of an index, in bytes.
const MAX_FILE: u64 = 256 << 20;

/// Offset of an entry's mode, after times and device numbers; owner, size and hash follow. Bytes.
const MODE_OFFSET: usize = 24;
/// Offset of an entry's hash, in bytes.
const HASH_OFFSET: usize = 40;
/// Modes of regular files.
const FILE_MODES: [u32; 2] = [0o100_644, 0o100_755];
/// The mode of a link.
const LINK_MODE: u32 = 0o120_000;
/// Maximum name length that an entry's flags can hold, in bytes.
const MAX_FLAG_LENGTH: usize = 0xfff;
/// Known extensions, which do not change the entries. `IEOT`, the offsets for threads, does not
/// matter: agents' git reads the index in one thread.
const EXTENSIONS: [&[u8]; 6] = [b"TREE", b"REUC", b"UNTR", b"FSMN", b"EOIE", b"IEOT"];
/// The mode of a commit, which stands for a submodule.
const COMMIT_MODE: u32 = 0o160_000;

/// Returns the submodules in the index at `path`, relative to the checkout. `hash` is the length of
/// an object name in bytes.
///
/// # Errors
///
/// Fails if the index cannot be read or is split into several files.
pub fn commits(path: &Path, hash: usize) -> Result<Vec<PathBuf>, &'static str> {
    let mut commits = Vec::new();
    read(path, hash, &mut |entry, name| {
        if entry == IndexEntry::Commit {
            commits.push(PathBuf::from(OsString::from_vec(name.to_owned())));
        }
    })?;
    Ok(commits)
}

/// Whether `is_so` holds for all paths of the index at `path`, relative to the checkout. `hash` is
/// the length of an object name in bytes.
///
/// # Errors
///
/// Fails like [`commits`].
pub fn all_names(
    path: &Path,
    hash: usize,
    mut is_so: impl FnMut(&[u8]) -> bool,
) -> Result<bool, &'static str> {
    all_entries(path, hash, |_, name| is_so(name))
}

/// The same for all entries, each with its kind.
///
/// # Errors
///
/// Fails like [`commits`].
pub fn all_entries(
    path: &Path,
    hash: usize,
    mut is_so: impl FnMut(IndexEntry, &[u8]) -> bool,
) -> Result<bool, &'static str> {
    let mut all = true;
    read(path, hash, &mut |entry, name| all = all && is_so(entry, name))?;
    Ok(all)
}

/// Returns the regular files in the index at `path`. `hash` is the length of an object name in bytes.
///
/// # Errors
///
/// Fails like [`commits`].
pub fn files(path: &Path, hash: usize) -> Result<TrackedFiles, &'static str> {
    let mut files = TrackedFiles::default();
    read(path, hash, &mut |entry, name| {
        if entry == IndexEntry::File {
            files.names.extend_from_slice(name);
            files.ends.push(files.names.len());
        }
    })?;
    Ok(files)
}

/// The regular files that git tracks in a checkout, in the index's order, sorted by bytes. An
/// unsorted index hides files, but adds none.
#[derive(Debug, Default)]
pub struct TrackedFiles {
    /// All names, concatenated.
    names: Vec<u8>,
    /// The end of each name.
    ends: Vec<usize>,
}

impl TrackedFiles {
    /// Whether git tracks the file at this path, relative to the checkout.
    pub fn contains(&self, path: &Path) -> bool {
        let path = path.as_os_str().as_bytes();
        self.lower_bound(path) == Some(path)
    }

    /// Whether git tracks a file below the folder at this path, relative to the checkout.
    pub fn has_below(&self, folder: &Path) -> bool {
        let start = [folder.as_os_str().as_bytes(), b"/"].concat();
        self.lower_bound(&start).is_some_and(|name| name.starts_with(&start))
    }

    /// Returns the first name that is not less than this one.
    fn lower_bound(&self, name: &[u8]) -> Option<&[u8]> {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.name(middle)? < name {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        self.name(low)
    }

    fn name(&self, at: usize) -> Option<&[u8]> {
        let start = at.checked_sub(1).map_or(Some(&0), |before| self.ends.get(before))?;
        self.names.get(*start..*self.ends.get(at)?)
    }
}

/// An entry of the index.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum IndexEntry {
    File,
    Link,
    /// A submodule.
    Commit,
}

/// Calls `take` for each entry of the index at `path`, with its name.
fn read(
    path: &Path,
    hash: usize,
    take: &mut dyn FnMut(IndexEntry, &[u8]),
) -> Result<(), &'static str> {
    let metadata = match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(_) => return Err("git's index cannot be read"),
        Ok(metadata) => metadata,
    };
    if !metadata.is_file() || metadata.len() > MAX_FILE {
        return Err("git's index cannot be read");
    }
    let bytes = std::fs::read(path).map_err(|_| "git's index cannot be read")?;
    parse(&bytes, hash, take).unwrap_or(Err("git's index has a form that is not understood"))
}

/// Returns `None` if the bytes end too early or are invalid.
fn parse(
    bytes: &[u8],
    hash: usize,
    take: &mut dyn FnMut(IndexEntry, &[u8]),
) -> Option<Result<(), &'static str>> {
    let version = number(bytes, 4)?;
    if bytes.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let (mut at, mut name) = (12, Vec::<u8>::new());
    for _ in 0..number(bytes, 8)? {
        let flags = at + HASH_OFFSET + hash;
        let extended = bytes.get(flags)? & 0x40 != 0;
        let start = flags + if extended { 4 } else { 2 };
        let (kept, start) = match version {
            4 => {
                let (cut, start) = offset(bytes, start)?;
                (name.len().checked_sub(cut)?, start)
            }
            _ => (0, start),
        };
        let length = bytes.get(start..)?.iter().position(|byte| *byte == 0)?;
        name.truncate(kept);
        name.extend_from_slice(&bytes[start..start + length]);
        // Git uses the length in the flags: a name that ends elsewhere would hide what follows.
        let counted = number(bytes, flags - 2)? as usize & MAX_FLAG_LENGTH;
        if counted != name.len().min(MAX_FLAG_LENGTH) || !is_plain(&name) {
            return None;
        }
        let entry = match number(bytes, at + MODE_OFFSET)? {
            COMMIT_MODE => IndexEntry::Commit,
            LINK_MODE => IndexEntry::Link,
            mode if FILE_MODES.contains(&mode) => IndexEntry::File,
            // For example a whole folder, which git may expand.
            _ => return None,
        };
        take(entry, &name);
        let end = match version {
            4 => start + length + 1,
            // Entries are padded with one to eight zeros to a multiple of eight bytes.
            _ => at + ((start + length - at) / 8 + 1) * 8,
        };
        if bytes.get(start + length..end)?.iter().any(|byte| *byte != 0) {
            return None;
        }
        at = end;
    }
    parse_extensions(bytes, at, bytes.len().checked_sub(hash)?)
}

/// Checks the extensions between the entries and the checksum: each is a name, a length, and as many bytes.
fn parse_extensions(
    bytes: &[u8],
    entries_end: usize,
    end: usize,
) -> Option<Result<(), &'static str>> {
    let mut at = entries_end;
    while at < end {
        match bytes.get(at..at + 4)? {
            b"link" => return Some(Err("git's index is split into several files")),
            // Git uses this one to find the extensions: it must not point into another.
            b"EOIE" if number(bytes, at + 8)? as usize != entries_end => return None,
            name if !EXTENSIONS.contains(&name) => return None,
            _ => {}
        }
        at = at + 8 + usize::try_from(number(bytes, at + 4)?).ok()?;
    }
    (at == end).then_some(Ok(()))
}

/// Whether a name is a path within the checkout. Git does not check that when it reads an index.
fn is_plain(name: &[u8]) -> bool {
    name.split(|byte| *byte == b'/')
        .all(|part| !matches!(part, b"" | b"." | b"..") && !part.eq_ignore_ascii_case(b".git"))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_be_bytes(four))
}

/// Reads a variable-length number of seven bits per byte, and returns it with the offset after it;
/// each byte but the last has its highest bit set.
fn offset(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)? + usize::from(byte & 0x7f);
    }
    Some((value, at + 1))
}
