//! Appends lines to one file so that it always consists of whole lines, also after a write that
//! failed half way.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Files and folders are for their owner alone.
const FILE_MODE: u32 = 0o600;
const DIR_MODE: u32 = 0o700;

/// What a line writer needs of a file.
pub trait Lines: Write {
    /// Cuts the file to `len` bytes.
    fn cut(&mut self, len: u64) -> io::Result<()>;
}

impl Lines for File {
    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }
}

/// A file open for appending.
pub struct Tail<F> {
    file: F,
    /// The length up to the last whole line.
    good: u64,
    /// A write failed, so there may be a piece of a line behind `good`.
    torn: bool,
}

impl<F: Lines> Tail<F> {
    pub fn new(file: F, good: u64) -> Self {
        Self { file, good, torn: false }
    }

    /// Writes whole lines in one go. After an error none of it counts.
    pub fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.torn {
            self.file.cut(self.good)?;
            self.torn = false;
        }
        if let Err(error) = self.file.write_all(lines).and_then(|()| self.file.flush()) {
            self.torn = self.file.cut(self.good).is_err();
            return Err(error);
        }
        self.good += lines.len() as u64;
        Ok(())
    }
}

/// Makes a folder, and those above it, for the owner alone.
pub fn make_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIR_MODE).create(path)
}

/// Opens a file for appending and locks it. A torn last line is cut off; a whole one without its end gets it.
/// Answers with the writer and whether the file was empty.
pub fn open(path: &Path, may_exist: bool) -> io::Result<(Tail<File>, bool)> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).mode(FILE_MODE);
    let mut file = match may_exist {
        true => options.create(true).open(path)?,
        false => options.create_new(true).open(path)?,
    };
    lock(&file)?;
    let len = file.metadata()?.len();
    let end = last_line_start(&mut file, len)?;
    let mut tail = Tail::new(file, len);
    if end < len {
        let mut piece = Vec::new();
        tail.file.seek(SeekFrom::Start(end))?;
        tail.file.read_to_end(&mut piece)?;
        if serde_json::from_slice::<serde_json::Value>(&piece).is_ok() {
            tail.append(b"\n")?;
        } else {
            tail.file.cut(end)?;
            tail.good = end;
        }
    }
    Ok((tail, len == 0))
}

/// Creates (or replaces) a small file for the owner alone.
pub fn write_small(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(FILE_MODE);
    options.open(path)?.write_all(bytes)
}

/// How often a locked file is tried again, and after how long.
const LOCK_TRIES: u32 = 10;
const LOCK_WAIT: Duration = Duration::from_millis(20);

/// Locks a file for its only writer. One that has just ended may still hold it for a moment, as may
/// a process that is being started beside us.
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

fn try_lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(io::Error::new(
            ErrorKind::ResourceBusy,
            "another caliban is writing to this session; end that one first",
        )),
        // Some network file systems have no locks; one writer is still the rule there.
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Where the text behind the last line end begins; the file's length when it ends with one.
fn last_line_start(file: &mut File, len: u64) -> io::Result<u64> {
    const STEP: u64 = 64 * 1024;
    let mut end = len;
    while end > 0 {
        let start = end.saturating_sub(STEP);
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

/// The last whole line of a file, read from its end.
pub fn last_line(path: &Path) -> io::Result<Vec<u8>> {
    let line = lines_back(path)?.next();
    line.unwrap_or_else(|| Ok(Vec::new()))
}

/// The whole lines of a file from the last to the first. After an error, the same line comes again.
pub fn lines_back(path: &Path) -> io::Result<LinesBack> {
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    let end = last_line_start(&mut file, len)?;
    Ok(LinesBack { file, end })
}

/// See [`lines_back`].
pub struct LinesBack {
    file: File,
    /// Where the next line ends.
    end: u64,
}

impl LinesBack {
    fn read(&mut self) -> io::Result<Vec<u8>> {
        let start = last_line_start(&mut self.file, self.end - 1)?;
        let mut line = Vec::new();
        self.file.seek(SeekFrom::Start(start))?;
        Read::by_ref(&mut self.file).take(self.end - start).read_to_end(&mut line)?;
        self.end = start;
        Ok(line)
    }
}

impl Iterator for LinesBack {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        (self.end > 0).then(|| self.read())
    }
}

/// What the person can do about a failed write.
#[must_use]
pub fn with_hint(error: io::Error) -> io::Error {
    let hint = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "free some space, then go on with --continue"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "give yourself the right to write there, set CALIBAN_HOME to another folder, or use --no-session"
        }
        ErrorKind::ResourceBusy => return error,
        _ => "set CALIBAN_HOME to a folder that can be written to, or use --no-session",
    };
    io::Error::new(error.kind(), format!("{error}; {hint}"))
}

/// The path of a sub-agent's files, without their ending.
#[must_use]
pub fn agent_file(dir: &Path, id: impl std::fmt::Display, ending: &str) -> PathBuf {
    dir.join("agents").join(format!("{id}.{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with room for so many bytes.
    struct Small {
        bytes: Vec<u8>,
        room: usize,
    }

    impl Write for Small {
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

    impl Lines for Small {
        fn cut(&mut self, len: u64) -> io::Result<()> {
            self.bytes.truncate(usize::try_from(len).unwrap());
            Ok(())
        }
    }

    #[test]
    fn a_write_that_fails_half_way_leaves_whole_lines_only() {
        let mut tail = Tail::new(Small { bytes: Vec::new(), room: 12 }, 0);
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
            let mut back: Vec<_> = lines_back(&path).unwrap().map(Result::unwrap).collect();
            back.reverse();
            assert_eq!(back.concat(), std::fs::read(&path).unwrap());
        }
    }
}
