//! A folder that is held open, and files in it, reached from the root without following a single link.

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

/// How often a name for a temporary file may be taken already.
const MAX_TRIES: u32 = 100;

/// A folder that stays the same one for as long as it is held, whatever becomes of its name.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Opens the folder at `path`, which is absolute and [resolved](super::resolve).
    ///
    /// # Errors
    /// When a part of the path is missing, is no folder, or is a link by now.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::walk(path, false)
    }

    /// Opens the folder at `path`, and makes what is missing of it.
    ///
    /// # Errors
    /// When a part of the path is no folder, is a link by now, or cannot be made.
    pub fn make(path: &Path) -> io::Result<Self> {
        Self::walk(path, true)
    }

    fn walk(path: &Path, make: bool) -> io::Result<Self> {
        if !path.is_absolute() {
            return Err(unresolved());
        }
        let mut fd = nix::fcntl::open("/", hold(), Mode::empty())?;
        for part in path.components() {
            match part {
                Component::RootDir => {}
                Component::Normal(name) => fd = enter(&fd, name, make)?,
                Component::CurDir | Component::ParentDir | Component::Prefix(_) => {
                    return Err(unresolved());
                }
            }
        }
        Ok(Self { fd, path: path.to_owned() })
    }

    /// A path to this very folder for a child process to start in. Elsewhere than on Linux a folder
    /// that is held has no such name: there it is the path, and a link that appears after the open
    /// is followed.
    #[must_use]
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
    /// [`ErrorKind::Unsupported`] for a device, pipe or socket, which is not opened; else what the
    /// system says, or that it is a link by now.
    pub fn entry(&self, name: &OsStr) -> io::Result<File> {
        let kind = kind(&self.stat(name)?);
        if kind == SFlag::S_IFLNK {
            return Err(changed());
        }
        if kind != SFlag::S_IFREG && kind != SFlag::S_IFDIR {
            return Err(io::Error::new(ErrorKind::Unsupported, "a device, pipe or socket"));
        }
        let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let opened = openat(&self.fd, name, flags, Mode::empty());
        Ok(opened.map_err(|error| refusal(&self.fd, name, error))?.into())
    }

    /// Removes the entry `name` where it is a link.
    ///
    /// # Errors
    /// Fails if the entry cannot be read or removed. A missing entry is no error.
    pub fn remove_link(&self, name: &OsStr) -> io::Result<()> {
        let removed = match fstatat(&self.fd, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(found) if kind(&found) == SFlag::S_IFLNK => {
                unlinkat(&self.fd, name, UnlinkatFlags::NoRemoveDir)
            }
            other => other.map(drop),
        };
        match removed {
            Err(Errno::ENOENT) => Ok(()),
            removed => Ok(removed?),
        }
    }

    /// When the entry `name` was changed, the link itself where it is one.
    ///
    /// # Errors
    /// When it is not there, or the folder cannot be looked into.
    pub fn modified(&self, name: &OsStr) -> io::Result<SystemTime> {
        let found = self.stat(name)?;
        let since = u64::try_from(found.st_mtime).map(Duration::from_secs).unwrap_or_default();
        let nanos = u64::try_from(found.st_mtime_nsec).unwrap_or_default();
        Ok(SystemTime::UNIX_EPOCH + since + Duration::from_nanos(nanos))
    }

    /// Puts `content` in the place of the file `name` in one step. Mode and owner of the `old` file
    /// stay. Returns the metadata of the new one.
    ///
    /// # Errors
    /// When the disk refuses; the old file is untouched then.
    pub fn replace(
        &self,
        name: &OsStr,
        content: &[u8],
        old: Option<&Metadata>,
    ) -> io::Result<Metadata> {
        self.replace_by(name, old, |file| file.write_all(content))
    }

    fn replace_by(
        &self,
        name: &OsStr,
        old: Option<&Metadata>,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<Metadata> {
        let (temporary, file) = self.temporary(old.is_some())?;
        let made = fill(file, old, write).and_then(|metadata| {
            renameat(&self.fd, temporary.as_os_str(), &self.fd, name)?;
            Ok(metadata)
        });
        if made.is_err() {
            // Nobody else knows of it.
            let _ = unlinkat(&self.fd, temporary.as_os_str(), UnlinkatFlags::NoRemoveDir);
        }
        made
    }

    /// A new file under a name that nobody has. A private one is nobody else's to read until it
    /// gets another mode.
    fn temporary(&self, private: bool) -> io::Result<(OsString, File)> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        for _ in 0..MAX_TRIES {
            let letters: String = (0..8).map(|_| fastrand::alphanumeric()).collect();
            let name = OsString::from(format!(".caliban-{letters}"));
            // The process's mask is applied to this, as to any new file.
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

/// Opens the file or folder at a resolved path for reading, as [`Folder::entry`] does.
///
/// # Errors
/// As [`Folder::open`] and [`Folder::entry`].
pub fn open(path: &Path) -> io::Result<File> {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => Folder::open(folder)?.entry(name),
        _ if path == Path::new("/") => File::open("/"),
        _ => Err(unresolved()),
    }
}

/// Gives a new file the mode and owner of the `old` one, and only then its content: nobody reads it
/// who could not read the old one.
fn fill(
    mut file: File,
    old: Option<&Metadata>,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<Metadata> {
    if let Some(old) = old {
        let made = file.metadata()?;
        if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
            // Only root can; for others the file becomes their own, as with any editor.
            let _ = std::os::unix::fs::fchown(&file, Some(old.uid()), Some(old.gid()));
        }
        file.set_permissions(Permissions::from_mode(old.mode() & 0o777))?;
    }
    write(&mut file)?;
    if let Some(old) = old.filter(|old| old.mode() & 0o7000 != 0) {
        // A write takes these bits away again.
        file.set_permissions(old.permissions())?;
    }
    file.metadata()
}

/// How a folder on the way is opened: where it can be, without the right to list it.
fn hold() -> OFlag {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    #[cfg(target_os = "linux")]
    let flags = flags | OFlag::O_PATH;
    flags
}

fn enter(parent: &OwnedFd, name: &OsStr, make: bool) -> io::Result<OwnedFd> {
    let enter = || openat(parent, name, hold(), Mode::empty());
    let entered = match enter() {
        Err(Errno::ENOENT) if make => {
            match mkdirat(parent, name, Mode::from_bits_truncate(0o777)) {
                Ok(()) | Err(Errno::EEXIST) => enter(),
                Err(error) => return Err(error.into()),
            }
        }
        entered => entered,
    };
    entered.map_err(|error| refusal(parent, name, error))
}

/// The error of an open; the system's own word for a link depends on the system.
fn refusal(parent: &OwnedFd, name: &OsStr, error: Errno) -> io::Error {
    match fstatat(parent, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Ok(found) if kind(&found) == SFlag::S_IFLNK => changed(),
        _ => error.into(),
    }
}

fn unresolved() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "the path is not resolved")
}

fn changed() -> io::Error {
    io::Error::other("it became a symbolic link after the call was allowed; try again")
}

fn kind(found: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use super::*;

    struct Place {
        _folder: tempfile::TempDir,
        inside: PathBuf,
        outside: PathBuf,
    }

    fn place() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (inside, outside) = (root.join("in"), root.join("out"));
        fs::create_dir_all(inside.join("a")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(inside.join("a/f"), "x").unwrap();
        fs::write(outside.join("f"), "secret").unwrap();
        Place { _folder: folder, inside, outside }
    }

    #[test]
    fn a_folder_stays_the_one_that_was_opened() {
        let Place { inside, outside, _folder } = place();
        let held = Folder::open(&inside.join("a")).unwrap();
        fs::rename(inside.join("a"), inside.join("b")).unwrap();
        symlink(&outside, inside.join("a")).unwrap();
        held.replace(OsStr::new("new"), b"x", None).unwrap();
        assert!(inside.join("b/new").exists() && !outside.join("new").exists());
        let mut text = String::new();
        held.entry(OsStr::new("f")).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "x");
    }

    #[test]
    fn no_link_is_followed_at_any_place_of_the_path() {
        let Place { inside, outside, _folder } = place();
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
        let Place { inside, _folder, .. } = place();
        assert!(open(Path::new("/")).unwrap().metadata().unwrap().is_dir());
        for path in [inside.join("a/.."), "/..".into(), "..".into(), "".into(), "a".into()] {
            let kind = open(&path).map(drop).map_err(|error| error.kind());
            assert_eq!(kind, Err(ErrorKind::InvalidInput), "{}", path.display());
        }
    }

    #[test]
    fn no_content_is_in_a_file_that_others_than_those_of_the_old_one_can_read() {
        let Place { inside, _folder, .. } = place();
        let old = |mode: u32| {
            fs::set_permissions(inside.join("a/f"), Permissions::from_mode(mode)).unwrap();
            fs::metadata(inside.join("a/f")).unwrap()
        };
        let held = Folder::open(&inside.join("a")).unwrap();
        for mode in [0o600, 0o640, 0o444, 0o4755] {
            let made = held.replace_by(OsStr::new("f"), Some(&old(mode)), |file| {
                let now = file.metadata()?.permissions().mode() & 0o7777;
                assert_eq!(now & !mode, 0, "{now:o} while {mode:o} is written");
                file.write_all(b"y")
            });
            assert_eq!(made.unwrap().permissions().mode() & 0o7777, mode, "afterwards");
        }
        let made = held.temporary(true).unwrap().1.metadata().unwrap().permissions().mode();
        assert_eq!(made & 0o7777, 0o600, "from its first moment");
        assert_eq!(fs::read(inside.join("a/f")).unwrap(), b"y");
    }

    #[test]
    fn what_is_missing_is_made_and_what_is_no_file_is_not_opened() {
        let place = place();
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
