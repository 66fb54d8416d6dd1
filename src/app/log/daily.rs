//! The daily log file. Records may contain parts of files and conversations, so only its owner can read it.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// The number of daily files to keep.
const MAX_FILES: usize = 7;

const PREFIX: &str = "caliban.";
const SUFFIX: &str = ".ndjson";

/// Writes to the file of the current day, in UTC.
#[derive(Debug)]
pub struct DailyFile {
    folder: PathBuf,
    day: Date,
    file: File,
}

impl DailyFile {
    /// Opens today's file in `folder`, which is created for its owner only. Also restricts log
    /// files of earlier versions that others could read.
    pub fn open(folder: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        restrict(folder, 0o700)?;
        for old in files(folder)? {
            restrict(&old, 0o600)?;
        }
        Self::open_at(folder, today())
    }

    fn open_at(folder: &Path, day: Date) -> io::Result<Self> {
        let path = folder.join(format!("{PREFIX}{day}{SUFFIX}"));
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        remove_oldest(folder)?;
        Ok(Self { folder: folder.to_owned(), day, file })
    }

    fn write_on(&mut self, day: Date, record: &[u8]) -> io::Result<usize> {
        if day != self.day {
            // If the new file cannot be opened, keep the old one.
            if let Ok(next) = Self::open_at(&self.folder, day) {
                *self = next;
            }
        }
        self.file.write(record)
    }
}

impl Write for DailyFile {
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        self.write_on(today(), record)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn today() -> Date {
    Timestamp::now().to_zoned(TimeZone::UTC).date()
}

/// Removes all permissions beyond `mode`. Does not follow links.
fn restrict(path: &Path, mode: u32) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    let present = found.permissions().mode() & 0o7777;
    if found.is_symlink() || present & !mode == 0 {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(present & mode))
}

/// Lists the log files of a folder, oldest first.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let day = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
        if day.is_some_and(|day| day.parse::<Date>().is_ok()) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

fn remove_oldest(folder: &Path) -> io::Result<()> {
    let files = files(folder)?;
    let surplus = files.len().saturating_sub(MAX_FILES);
    // Another process may remove the same ones.
    files.iter().take(surplus).for_each(|old| drop(fs::remove_file(old)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_folder_and_every_file_of_it_are_their_owners_alone() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("a/logs");
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        let [old, other] = ["caliban.2026-01-01.ndjson", "notes.txt"].map(|name| {
            let path = folder.join(name);
            fs::write(&path, "x").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
            path
        });
        let mut log = DailyFile::open(&folder).unwrap();
        let (one, two) = (date(2030, 1, 1), date(2030, 1, 2));
        log.write_on(one, b"1\n").unwrap();
        log.write_on(two, b"2\n").unwrap();
        assert_eq!((mode(&folder), mode(&old), mode(&other)), (0o700, 0o600, 0o644));
        for (day, text) in [(one, "1\n"), (two, "2\n")] {
            let path = folder.join(format!("caliban.{day}.ndjson"));
            assert_eq!((mode(&path), fs::read_to_string(&path).unwrap().as_str()), (0o600, text));
        }
    }

    #[test]
    fn the_newest_files_are_kept() {
        let top = tempfile::tempdir().unwrap();
        for day in 1..=20 {
            DailyFile::open_at(top.path(), date(2030, 1, day)).unwrap();
        }
        let kept = files(top.path()).unwrap();
        assert_eq!(kept.len(), MAX_FILES);
        assert!(kept[0].ends_with("caliban.2030-01-14.ndjson"), "{kept:?}");
    }
}
