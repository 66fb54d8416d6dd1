//! Appends lines to one file so that it always consists of whole lines, even after a failed write.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt as _, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Files and folders are accessible to their owner only.
const FILE_MODE: u32 = 0o600;
const DIR_MODE: u32 = 0o700;

/// The operations that a line writer needs.
pub trait Truncate: Write {
    /// Truncates the file to `len` bytes.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
}

impl Truncate for File {
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }
}

/// A file open for appending.
pub struct LineAppender<F> {
    file: F,
    /// The length up to the last whole line.
    whole_len: u64,
    /// A write failed, so there may be a partial line after `whole_len`.
    torn: bool,
}

impl<F: Truncate> LineAppender<F> {
    pub fn new(file: F, whole_len: u64) -> Self {
        Self { file, whole_len, torn: false }
    }

    /// Writes whole lines at once. After an error none of them counts.
    pub fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.torn {
            self.file.truncate(self.whole_len)?;
            self.torn = false;
        }
        if let Err(error) = self.file.write_all(lines).and_then(|()| self.file.flush()) {
            self.torn = self.file.truncate(self.whole_len).is_err();
            return Err(error);
        }
        self.whole_len += lines.len() as u64;
        Ok(())
    }
}

/// Creates a folder and its parents, for the owner only.
pub fn make_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIR_MODE).create(path)
}

/// Opens a file for appending and locks it. A partial last line is removed; a whole one without
/// line end gets one. Returns the writer and whether the file was empty.
pub fn open(path: &Path, may_exist: bool) -> io::Result<(LineAppender<File>, bool)> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).mode(FILE_MODE);
    let mut file = match may_exist {
        true => options.create(true).open(path)?,
        false => options.create_new(true).open(path)?,
    };
    lock(&file)?;
    check_in_place(&file, path)?;
    let len = file.metadata()?.len();
    let end = last_line_start(&mut file, len)?;
    let mut tail = LineAppender::new(file, len);
    if end < len {
        let mut piece = Vec::new();
        tail.file.seek(SeekFrom::Start(end))?;
        tail.file.read_to_end(&mut piece)?;
        if serde_json::from_slice::<serde_json::Value>(&piece).is_ok() {
            tail.append(b"\n")?;
        } else {
            tail.file.truncate(end)?;
            tail.whole_len = end;
        }
    }
    Ok((tail, len == 0))
}

/// Creates or replaces a small file, for the owner only.
pub fn write_small(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(FILE_MODE);
    options.open(path)?.write_all(bytes)
}

/// How many times to retry a locked file, and the delay in between.
const LOCK_TRIES: u32 = 10;
const LOCK_WAIT: Duration = Duration::from_millis(20);

/// Locks a file for its only writer. A process that has just ended may still hold the lock for a
/// moment, as may one that is being started.
fn lock(file: &File) -> io::Result<()> {
    let mut tries = 0;
    loop {
        match try_lock(file) {
            Err(error) if error.kind() == ErrorKind::ResourceBusy && tries < LOCK_TRIES => {
                tries += 1;
                std::thread::sleep(LOCK_WAIT);
            }
            result => return result,
        }
    }
}

/// Checks that no process holds the lock of a file.
pub fn check_unlocked(path: &Path) -> io::Result<()> {
    lock_existing(path).map(drop)
}

/// Locks a file as its writer does, until it is dropped, and changes nothing.
pub fn lock_existing(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    lock(&file)?;
    check_in_place(&file, path)?;
    Ok(file)
}

/// Checks that a locked file is still the one at its path: a process that removed it may have held
/// the lock before.
fn check_in_place(file: &File, path: &Path) -> io::Result<()> {
    let (ours, found) = (file.metadata()?, path.metadata()?);
    match (ours.dev(), ours.ino()) == (found.dev(), found.ino()) {
        true => Ok(()),
        false => Err(ErrorKind::NotFound.into()),
    }
}

fn try_lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(io::Error::new(
            ErrorKind::ResourceBusy,
            "another caliban is writing to this session; exit it first",
        )),
        // Some network file systems have no locks; a single writer is still assumed there.
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Returns where the text after the last line end begins; the file's length if it ends with one.
fn last_line_start(file: &mut File, len: u64) -> io::Result<u64> {
    const CHUNK_BYTES: u64 = 64 * 1024;
    let mut end = len;
    while end > 0 {
        let start = end.saturating_sub(CHUNK_BYTES);
        let mut piece = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        Read::by_ref(file).take(end - start).read_to_end(&mut piece)?;
        if let Some(place) = piece.iter().rposition(|&byte| byte == b'\n') {
            return Ok(start + place as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Returns the last whole line of a file, read from its end.
pub fn last_line(path: &Path) -> io::Result<Vec<u8>> {
    let line = reverse_lines(path)?.next();
    line.unwrap_or_else(|| Ok(Vec::new()))
}

/// Returns the whole lines of a file, last to first. After an error, the same line is returned again.
pub fn reverse_lines(path: &Path) -> io::Result<ReverseLines> {
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    let end = last_line_start(&mut file, len)?;
    Ok(ReverseLines { file, end })
}

/// See [`reverse_lines`].
pub struct ReverseLines {
    file: File,
    /// Where the next line ends.
    end: u64,
}

impl ReverseLines {
    fn read(&mut self) -> io::Result<Vec<u8>> {
        let start = last_line_start(&mut self.file, self.end - 1)?;
        let mut line = Vec::new();
        self.file.seek(SeekFrom::Start(start))?;
        Read::by_ref(&mut self.file).take(self.end - start).read_to_end(&mut line)?;
        self.end = start;
        Ok(line)
    }
}

impl Iterator for ReverseLines {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        (self.end > 0).then(|| self.read())
    }
}

/// Adds a hint on how to fix a failed write.
pub fn with_hint(error: io::Error) -> io::Error {
    let hint = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "free some space, then resume with --continue"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "make it writable, set CALIBAN_HOME to another folder, or use --no-session"
        }
        ErrorKind::ResourceBusy => return error,
        _ => "set CALIBAN_HOME to a writable folder, or use --no-session",
    };
    io::Error::new(error.kind(), format!("{error}; {hint}"))
}

/// Returns the path of a sub-agent's file with this extension.
pub fn agent_file(dir: &Path, id: impl std::fmt::Display, ending: &str) -> PathBuf {
    dir.join("agents").join(format!("{id}.{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with limited room.
    struct SmallDisk {
        bytes: Vec<u8>,
        room: usize,
    }

    impl Write for SmallDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.room - self.bytes.len());
            if count == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            self.bytes.extend(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Truncate for SmallDisk {
        fn truncate(&mut self, len: u64) -> io::Result<()> {
            self.bytes.truncate(usize::try_from(len).unwrap());
            Ok(())
        }
    }

    #[test]
    fn a_file_that_was_removed_while_its_lock_was_waited_for_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("transcript.jsonl");
        std::fs::write(&path, "").unwrap();
        let opened = File::open(&path).unwrap();
        check_in_place(&opened, &path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(check_in_place(&opened, &path).unwrap_err().kind(), ErrorKind::NotFound);
        std::fs::write(&path, "").unwrap();
        assert_eq!(check_in_place(&opened, &path).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_write_that_fails_half_way_leaves_whole_lines_only() {
        let mut tail = LineAppender::new(SmallDisk { bytes: Vec::new(), room: 12 }, 0);
        tail.append(b"first\n").unwrap();
        tail.append(b"much too long\n").unwrap_err();
        assert_eq!(tail.file.bytes, b"first\n");
        tail.file.room = 100;
        tail.append(b"second\n").unwrap();
        assert_eq!(tail.file.bytes, b"first\nsecond\n");
    }

    #[test]
    fn a_torn_last_line_is_cut_off_and_a_whole_one_gets_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.jsonl");
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(200_000));
        for (before, after) in [
            ("", ""),
            ("{}\n", "{}\n"),
            ("{}\n{\"a\":", "{}\n"),
            ("{}\n{\"a\":1}", "{}\n{\"a\":1}\n"),
            (&long[..150_000], ""),
            (&format!("{{}}\n{long}"), &format!("{{}}\n{long}\n")),
        ] {
            std::fs::write(&path, before).unwrap();
            let (mut tail, empty) = open(&path, true).unwrap();
            assert_eq!(empty, before.is_empty());
            tail.append(b"{\"last\":1}\n").unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{after}{{\"last\":1}}\n"));
            assert_eq!(last_line(&path).unwrap(), b"{\"last\":1}\n");
            let mut back: Vec<_> = reverse_lines(&path).unwrap().map(Result::unwrap).collect();
            back.reverse();
            assert_eq!(back.concat(), std::fs::read(&path).unwrap());
        }
    }
}
