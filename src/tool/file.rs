//! Reading a file to change it, and replacing it in one step.

use std::fs::{Metadata, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ToolError;
use super::held_folder::HeldFolder;
use super::ledger::{FileLock, Ledger, Stale};
use super::path::Paths;

/// The largest file, in bytes, that is read as a whole.
pub const MAX_BYTES: u64 = 10 * 1024 * 1024;

/// What those tools of one agent share that read and change files. Clones are the same.
#[derive(Clone, Debug)]
pub struct Files {
    pub paths: Paths,
    /// What was read. Only that may be changed.
    pub ledger: Ledger,
    pub lock: FileLock,
    /// The only folder to write in, if there is such a bound. Absolute, without links.
    pub bound: Option<Arc<Path>>,
}

/// A file as it stands on disk.
pub struct OnDisk {
    /// Where the bytes are: the end of any symbolic links.
    pub target: PathBuf,
    /// Absent when there is no file yet.
    pub file: Option<(Metadata, Vec<u8>)>,
}

/// Reads the file at `path`, or finds that there is none.
pub fn load(path: &Path) -> Result<OnDisk, ToolError> {
    let target = follow(path).map_err(|error| failed("find", path, &error))?;
    let metadata = match std::fs::metadata(&target) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(OnDisk { target, file: None });
        }
        Err(error) => return Err(failed("read", path, &error)),
    };
    if metadata.is_dir() {
        return Err(ToolError::failed(format!("{} is a directory, not a file.", path.display())));
    }
    if !metadata.is_file() {
        let text = format!("{} is no regular file (a device, pipe or socket).", path.display());
        return Err(ToolError::failed(text));
    }
    if metadata.len() > MAX_BYTES {
        return Err(ToolError::failed(format!(
            "{} is larger than 10 MB ({} bytes). Change it with Bash instead.",
            path.display(),
            metadata.len()
        )));
    }
    let content = read_whole(&target).map_err(|error| failed("read", path, &error))?;
    Ok(OnDisk { target, file: Some((metadata, content)) })
}

impl OnDisk {
    /// Refuses to go on when this agent has not read the file, or it has changed since.
    pub fn check(&self, path: &Path, ledger: &Ledger) -> Result<(), ToolError> {
        let Some((metadata, content)) = &self.file else { return Ok(()) };
        ledger.check(path, metadata, content).map_err(|stale| {
            let path = path.display();
            ToolError::failed(match stale {
                Stale::NeverRead => format!("{path} has not been read yet. Read it first."),
                Stale::Changed => {
                    format!("{path} has changed on disk since it was read. Read it again first.")
                }
            })
        })
    }

    /// Puts `content` in the file's place in one step and notes it as read. Mode and owner stay.
    pub fn replace(&self, path: &Path, content: &[u8], files: &Files) -> Result<(), ToolError> {
        self.write(content, files.bound.as_deref())
            .map_err(|error| failed("write", path, &error))?;
        if let Ok(metadata) = std::fs::metadata(&self.target) {
            files.ledger.note(path, &metadata, Some(content));
        }
        Ok(())
    }

    fn write(&self, content: &[u8], bound: Option<&Path>) -> io::Result<()> {
        let folder = self.target.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(folder)?;
        let held = bound.map(|bound| HeldFolder::open(folder, bound)).transpose()?;
        let folder = held.as_ref().map_or(folder, HeldFolder::path);
        let target = folder.join(self.target.file_name().unwrap_or_default());
        let mut builder = tempfile::Builder::new();
        // The process's mask is applied to this, as to any new file.
        let mut new = builder
            .prefix(".caliban-")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)?;
        new.write_all(content)?;
        if let Some((old, _)) = &self.file {
            let made = new.as_file().metadata()?;
            if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
                // Only root can; for others the file becomes their own, as with any editor.
                let _ = std::os::unix::fs::chown(new.path(), Some(old.uid()), Some(old.gid()));
            }
            new.as_file().set_permissions(old.permissions())?;
        }
        new.persist(&target).map_err(|error| error.error)?;
        Ok(())
    }
}

/// The text of an editable file.
pub fn text<'c>(path: &Path, content: &'c [u8]) -> Result<&'c str, ToolError> {
    std::str::from_utf8(content).map_err(|_| {
        let path = path.display();
        ToolError::failed(format!("{path} is not UTF-8 text. Change it with Bash instead."))
    })
}

/// The error of an operation on a file.
pub fn failed(what: &str, path: &Path, error: &io::Error) -> ToolError {
    ToolError::failed(format!("Cannot {what} {}: {error}.", path.display()))
}

fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    std::fs::File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_BYTES {
        return Err(io::Error::other("it grew beyond 10 MB while it was read"));
    }
    Ok(content)
}

/// The file that `path` stands for, also when a link on the way points to nothing yet.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..40 {
        match std::fs::read_link(&path) {
            Ok(link) => {
                let folder = path.parent().unwrap_or(Path::new("/")).canonicalize()?;
                path = super::path::normalize(&folder.join(link));
            }
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}
