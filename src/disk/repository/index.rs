//! Git's index, read as far as it says which files of a checkout git tracks, and which of its
//! folders are repositories of their own.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// A larger index is not read. Bytes.
const MAX_FILE: u64 = 256 << 20;

/// Times, numbers and sizes before the mode of an entry; then owner, size and the hash follow. Bytes.
const MODE: usize = 24;
/// From the start of an entry to its hash. Bytes.
const HASH: usize = 40;
/// Modes of regular files.
const FILES: [u32; 2] = [0o100_644, 0o100_755];
/// The mode of a link.
const LINK: u32 = 0o120_000;
/// Longer names are counted as this long in the flags of an entry. Bytes.
const MAX_COUNTED: usize = 0xfff;
/// The extensions that git writes beside the entries, which they leave as they are. Where the
/// entries of each thread begin (`IEOT`) does not matter: agents' git reads the index in one
/// thread.
const EXTENSIONS: [&[u8]; 6] = [b"TREE", b"REUC", b"UNTR", b"FSMN", b"EOIE", b"IEOT"];
/// The mode of a commit, which stands for a repository in the checkout.
const COMMIT: u32 = 0o160_000;

/// The folders that the index at `path` has as commits, from the top of the checkout. `hash` is the
/// length of an object's name in bytes.
///
/// # Errors
///
/// Says why the index cannot be read, or that it is in several files.
pub fn commits(path: &Path, hash: usize) -> Result<Vec<PathBuf>, &'static str> {
    let mut commits = Vec::new();
    read(path, hash, &mut |entry, name| {
        if entry == Entry::Commit {
            commits.push(PathBuf::from(OsString::from_vec(name.to_owned())));
        }
    })?;
    Ok(commits)
}

/// Whether all paths of the index at `path` are so, from the top of the checkout. `hash` is the length
/// of an object's name in bytes.
///
/// # Errors
///
/// As for [`commits`].
pub fn all_names(
    path: &Path,
    hash: usize,
    mut is_so: impl FnMut(&[u8]) -> bool,
) -> Result<bool, &'static str> {
    let mut all = true;
    read(path, hash, &mut |_, name| all = all && is_so(name))?;
    Ok(all)
}

/// The regular files that the index at `path` names. `hash` is the length of an object's name in bytes.
///
/// # Errors
///
/// As for [`commits`].
pub fn files(path: &Path, hash: usize) -> Result<TrackedFiles, &'static str> {
    let mut files = TrackedFiles::default();
    read(path, hash, &mut |entry, name| {
        if entry == Entry::File {
            files.names.extend_from_slice(name);
            files.ends.push(files.names.len());
        }
    })?;
    Ok(files)
}

/// The regular files that git tracks in a checkout, in the order of the index, which is that of
/// their names' bytes. An index in another order hides files, and shows none that it does not name.
#[derive(Debug, Default)]
pub struct TrackedFiles {
    /// All names, one behind the other.
    names: Vec<u8>,
    /// The end of each name.
    ends: Vec<usize>,
}

impl TrackedFiles {
    /// Whether git tracks the file of this path from the top of the checkout.
    #[must_use]
    pub fn contain(&self, path: &Path) -> bool {
        let path = path.as_os_str().as_bytes();
        self.first_from(path) == Some(path)
    }

    /// Whether git tracks a file below the folder of this path from the top of the checkout.
    #[must_use]
    pub fn lie_below(&self, folder: &Path) -> bool {
        let start = [folder.as_os_str().as_bytes(), b"/"].concat();
        self.first_from(&start).is_some_and(|name| name.starts_with(&start))
    }

    /// The first name that is not less than this one.
    fn first_from(&self, name: &[u8]) -> Option<&[u8]> {
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
enum Entry {
    File,
    Link,
    /// A repository in the checkout.
    Commit,
}

/// Hands each entry of the index at `path` to `take`, with its name.
fn read(path: &Path, hash: usize, take: &mut dyn FnMut(Entry, &[u8])) -> Result<(), &'static str> {
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

/// `None` where the bytes end too early or mean nothing.
fn parse(
    bytes: &[u8],
    hash: usize,
    take: &mut dyn FnMut(Entry, &[u8]),
) -> Option<Result<(), &'static str>> {
    let version = number(bytes, 4)?;
    if bytes.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let (mut at, mut name) = (12, Vec::<u8>::new());
    for _ in 0..number(bytes, 8)? {
        let flags = at + HASH + hash;
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
        // Git goes by the length in the flags: a name that ends elsewhere would hide what follows.
        let counted = number(bytes, flags - 2)? as usize & MAX_COUNTED;
        if counted != name.len().min(MAX_COUNTED) || !is_plain(&name) {
            return None;
        }
        let entry = match number(bytes, at + MODE)? {
            COMMIT => Entry::Commit,
            LINK => Entry::Link,
            mode if FILES.contains(&mode) => Entry::File,
            // Such as a whole folder, which git may fill in.
            _ => return None,
        };
        take(entry, &name);
        let end = match version {
            4 => start + length + 1,
            // Entries end with one to eight zeros, so that each is a multiple of eight bytes long.
            _ => at + ((start + length - at) / 8 + 1) * 8,
        };
        if bytes.get(start + length..end)?.iter().any(|byte| *byte != 0) {
            return None;
        }
        at = end;
    }
    parse_extensions(bytes, at, bytes.len().checked_sub(hash)?)
}

/// Looks at the extensions between the entries and the checksum: each is a name, a length, and as many bytes.
fn parse_extensions(
    bytes: &[u8],
    entries_end: usize,
    end: usize,
) -> Option<Result<(), &'static str>> {
    let mut at = entries_end;
    while at < end {
        match bytes.get(at..at + 4)? {
            b"link" => return Some(Err("git's index is split into several files")),
            // Git finds the extensions by this one: it must not lead into another.
            b"EOIE" if number(bytes, at + 8)? as usize != entries_end => return None,
            name if !EXTENSIONS.contains(&name) => return None,
            _ => {}
        }
        at = at + 8 + usize::try_from(number(bytes, at + 4)?).ok()?;
    }
    (at == end).then_some(Ok(()))
}

/// Whether a name leads to a place in the checkout. Git does not look at that when it reads an index.
fn is_plain(name: &[u8]) -> bool {
    name.split(|byte| *byte == b'/')
        .all(|part| !matches!(part, b"" | b"." | b"..") && !part.eq_ignore_ascii_case(b".git"))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_be_bytes(four))
}

/// A number of seven bits a byte, and the place behind it; each byte but the last has its highest bit set.
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
