//! An open folder, and the files in it, reached from the root without following links.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};

/// How many names to try for a temporary file.
const MAX_TRIES: u32 = 100;

/// An open folder: it stays the same even if its path is renamed or replaced.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Opens the folder at `path`, which is absolute and [resolved](super::resolve).
    ///
    /// # Errors
    /// Fails if a part of the path is missing, is not a folder, or has become a link.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::walk(path, false)
    }

    /// Opens the folder at `path`, creating missing parts.
    ///
    /// # Errors
    /// Fails if a part of the path is not a folder, has become a link, or cannot be created.
    pub fn make(path: &Path) -> io::Result<Self> {
        Self::walk(path, true)
    }

    fn walk(path: &Path, make: bool) -> io::Result<Self> {
        if !path.is_absolute() {
            return Err(unresolved_error());
        }
        let mut fd = nix::fcntl::open("/", dir_flags(), Mode::empty())?;
        for part in path.components() {
            match part {
                Component::RootDir => {}
                Component::Normal(name) => fd = open_dir(&fd, name, make)?,
                Component::CurDir | Component::ParentDir | Component::Prefix(_) => {
                    return Err(unresolved_error());
                }
            }
        }
        Ok(Self { fd, path: path.to_owned() })
    }

    /// Returns a path to this folder for a child process to start in. On systems other than Linux
    /// an open folder has no path of its own; there this is the original path, and a link that
    /// appears after the open is followed.
    pub fn path(&self) -> PathBuf {
        let names = Path::new("/proc/self/fd");
        if cfg!(target_os = "linux") && names.exists() {
            names.join(self.fd.as_raw_fd().to_string())
        } else {
            self.path.clone()
        }
    }

    /// Opens the file or folder `name` in this folder for reading.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`] for a device, pipe or socket, which is not opened;
    /// otherwise the system's error, or that the entry has become a link.
    pub fn open_entry(&self, name: &OsStr) -> io::Result<File> {
        let kind = file_kind(&self.stat(name)?);
        if kind == SFlag::S_IFLNK {
            return Err(became_link_error());
        }
        if kind != SFlag::S_IFREG && kind != SFlag::S_IFDIR {
            return Err(io::Error::new(ErrorKind::Unsupported, "a device, pipe or socket"));
        }
        let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let opened = openat(&self.fd, name, flags, Mode::empty());
        Ok(opened.map_err(|error| open_error(&self.fd, name, error))?.into())
    }

    /// Removes the entry `name` if it is a link.
    ///
    /// # Errors
    /// Fails if the entry cannot be read or removed. A missing entry is no error.
    pub fn remove_link(&self, name: &OsStr) -> io::Result<()> {
        let removed = match fstatat(&self.fd, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(found) if file_kind(&found) == SFlag::S_IFLNK => {
                unlinkat(&self.fd, name, UnlinkatFlags::NoRemoveDir)
            }
            other => other.map(drop),
        };
        match removed {
            Err(Errno::ENOENT) => Ok(()),
            removed => Ok(removed?),
        }
    }

    /// Returns the modification time of the entry `name`, of the link itself if it is one.
    ///
    /// # Errors
    /// Fails if the entry does not exist, or the folder cannot be read.
    pub fn modified(&self, name: &OsStr) -> io::Result<SystemTime> {
        let found = self.stat(name)?;
        let since = u64::try_from(found.st_mtime).map(Duration::from_secs).unwrap_or_default();
        let nanos = u64::try_from(found.st_mtime_nsec).unwrap_or_default();
        Ok(SystemTime::UNIX_EPOCH + since + Duration::from_nanos(nanos))
    }

    /// Atomically replaces the file `name` with `content`. Keeps mode and owner of the `old` file.
    /// Returns the new file's metadata.
    ///
    /// # Errors
    /// Fails if it cannot be written; the old file is then unchanged.
    pub fn replace(
        &self,
        name: &OsStr,
        content: &[u8],
        old: Option<&Metadata>,
    ) -> io::Result<Metadata> {
        self.replace_with(name, old, |file| file.write_all(content))
    }

    fn replace_with(
        &self,
        name: &OsStr,
        old: Option<&Metadata>,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<Metadata> {
        let (temporary, file) = self.create_temporary(old.is_some())?;
        let made = write_with_mode(file, old, write).and_then(|metadata| {
            renameat(&self.fd, temporary.as_os_str(), &self.fd, name)?;
            Ok(metadata)
        });
        if made.is_err() {
            // Nobody else uses it.
            let _ = unlinkat(&self.fd, temporary.as_os_str(), UnlinkatFlags::NoRemoveDir);
        }
        made
    }

    /// Creates a file with an unused name. A private one is readable only by the owner until it gets another mode.
    fn create_temporary(&self, private: bool) -> io::Result<(OsString, File)> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        for _ in 0..MAX_TRIES {
            let letters: String = (0..8).map(|_| fastrand::alphanumeric()).collect();
            let name = OsString::from(format!(".caliban-{letters}"));
            // The process's umask applies, as to any new file.
            let mode = Mode::from_bits_truncate(if private { 0o600 } else { 0o666 });
            match openat(&self.fd, name.as_os_str(), flags, mode) {
                Ok(file) => return Ok((name, file.into())),
                Err(Errno::EEXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::EEXIST.into())
    }

    fn stat(&self, name: &OsStr) -> io::Result<FileStat> {
        Ok(fstatat(&self.fd, name, AtFlags::AT_SYMLINK_NOFOLLOW)?)
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Opens the file or folder at a resolved path for reading, as [`Folder::open_entry`] does.
///
/// # Errors
/// As [`Folder::open`] and [`Folder::open_entry`].
pub fn open(path: &Path) -> io::Result<File> {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => Folder::open(folder)?.open_entry(name),
        _ if path == Path::new("/") => File::open("/"),
        _ => Err(unresolved_error()),
    }
}

/// Gives a new file the mode and owner of the `old` one, and only then its content: nobody can read
/// it who could not read the old one.
fn write_with_mode(
    mut file: File,
    old: Option<&Metadata>,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<Metadata> {
    if let Some(old) = old {
        let made = file.metadata()?;
        if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
            // Only root can do this; otherwise the file belongs to the user, as with any editor.
            let _ = std::os::unix::fs::fchown(&file, Some(old.uid()), Some(old.gid()));
        }
        file.set_permissions(Permissions::from_mode(old.mode() & 0o777))?;
    }
    write(&mut file)?;
    if let Some(old) = old.filter(|old| old.mode() & 0o7000 != 0) {
        // A write clears these bits.
        file.set_permissions(old.permissions())?;
    }
    file.metadata()
}

/// Flags for opening a folder on the path; where supported, without needing permission to list it.
fn dir_flags() -> OFlag {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    #[cfg(target_os = "linux")]
    let flags = flags | OFlag::O_PATH;
    flags
}

fn open_dir(parent: &OwnedFd, name: &OsStr, make: bool) -> io::Result<OwnedFd> {
    let enter = || openat(parent, name, dir_flags(), Mode::empty());
    let entered = match enter() {
        Err(Errno::ENOENT) if make => {
            match mkdirat(parent, name, Mode::from_bits_truncate(0o777)) {
                Ok(()) | Err(Errno::EEXIST) => enter(),
                Err(error) => return Err(error.into()),
            }
        }
        entered => entered,
    };
    entered.map_err(|error| open_error(parent, name, error))
}

/// Converts the error of an open; the system's error for a link varies.
fn open_error(parent: &OwnedFd, name: &OsStr, error: Errno) -> io::Error {
    match fstatat(parent, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Ok(found) if file_kind(&found) == SFlag::S_IFLNK => became_link_error(),
        _ => error.into(),
    }
}

fn unresolved_error() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "the path is not resolved")
}

fn became_link_error() -> io::Error {
    io::Error::other("it became a symbolic link after it was checked; try again")
}

fn file_kind(found: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use super::*;

    struct FolderFixture {
        _folder: tempfile::TempDir,
        inside: PathBuf,
        outside: PathBuf,
    }

    fn fixture() -> FolderFixture {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (inside, outside) = (root.join("in"), root.join("out"));
        fs::create_dir_all(inside.join("a")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(inside.join("a/f"), "x").unwrap();
        fs::write(outside.join("f"), "secret").unwrap();
        FolderFixture { _folder: folder, inside, outside }
    }

    #[test]
    fn a_folder_stays_the_one_that_was_opened() {
        let FolderFixture { inside, outside, _folder } = fixture();
        let held = Folder::open(&inside.join("a")).unwrap();
        fs::rename(inside.join("a"), inside.join("b")).unwrap();
        symlink(&outside, inside.join("a")).unwrap();
        held.replace(OsStr::new("new"), b"x", None).unwrap();
        assert!(inside.join("b/new").exists() && !outside.join("new").exists());
        let mut text = String::new();
        held.open_entry(OsStr::new("f")).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "x");
    }

    #[test]
    fn no_link_is_followed_at_any_place_of_the_path() {
        let FolderFixture { inside, outside, _folder } = fixture();
        symlink(&outside, inside.join("link")).unwrap();
        symlink(outside.join("f"), inside.join("a/g")).unwrap();
        let refused = |result: io::Result<()>| {
            let error = result.unwrap_err().to_string();
            assert!(error.contains("symbolic link"), "{error}");
        };
        refused(Folder::open(&inside.join("link")).map(drop));
        refused(Folder::make(&inside.join("link/new")).map(drop));
        refused(open(&inside.join("link/f")).map(drop));
        refused(open(&inside.join("a/g")).map(drop));
        assert!(!outside.join("new").exists());
        let error = Folder::open(&inside.join("a/../a")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }

    #[test]
    fn only_the_root_opens_the_root() {
        let FolderFixture { inside, _folder, .. } = fixture();
        assert!(open(Path::new("/")).unwrap().metadata().unwrap().is_dir());
        for path in [inside.join("a/.."), "/..".into(), "..".into(), "".into(), "a".into()] {
            let kind = open(&path).map(drop).map_err(|error| error.kind());
            assert_eq!(kind, Err(ErrorKind::InvalidInput), "{}", path.display());
        }
    }

    #[test]
    fn no_content_is_in_a_file_that_others_than_those_of_the_old_one_can_read() {
        let FolderFixture { inside, _folder, .. } = fixture();
        let old = |mode: u32| {
            fs::set_permissions(inside.join("a/f"), Permissions::from_mode(mode)).unwrap();
            fs::metadata(inside.join("a/f")).unwrap()
        };
        let held = Folder::open(&inside.join("a")).unwrap();
        for mode in [0o600, 0o640, 0o444, 0o4755] {
            let made = held.replace_with(OsStr::new("f"), Some(&old(mode)), |file| {
                let now = file.metadata()?.permissions().mode() & 0o7777;
                assert_eq!(now & !mode, 0, "{now:o} while {mode:o} is written");
                file.write_all(b"y")
            });
            assert_eq!(made.unwrap().permissions().mode() & 0o7777, mode, "afterwards");
        }
        let made = held.create_temporary(true).unwrap().1.metadata().unwrap().permissions().mode();
        assert_eq!(made & 0o7777, 0o600, "from its first moment");
        assert_eq!(fs::read(inside.join("a/f")).unwrap(), b"y");
    }

    #[test]
    fn what_is_missing_is_made_and_what_is_no_file_is_not_opened() {
        let place = fixture();
        let pipe = place.inside.join("pipe");
        nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        assert_eq!(open(&pipe).unwrap_err().kind(), ErrorKind::Unsupported);
        assert!(open(&place.inside).unwrap().metadata().unwrap().is_dir());
        assert_eq!(open(&place.inside.join("no/f")).unwrap_err().kind(), ErrorKind::NotFound);
        let below = open(&place.inside.join("a/f/x")).unwrap_err();
        assert_eq!(below.kind(), ErrorKind::NotADirectory);
        let made = Folder::make(&place.inside.join("x/y")).unwrap();
        made.replace(OsStr::new("z"), b"z", None).unwrap();
        assert_eq!(fs::read(place.inside.join("x/y/z")).unwrap(), b"z");
        assert_eq!(fs::read_dir(place.inside.join("x/y")).unwrap().count(), 1);
    }
}
