//! Reading a file to change it, and replacing it in one step.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;
use std::sync::Arc;

use super::ledger::{ContentHash, FileGuard, Ledger, Stale};
use super::path::Paths;
use super::{Preview, ToolError};
use crate::disk::{self, Folder};
use crate::protocol::{Access, Target};

/// The largest file, in bytes, that is read as a whole.
pub const MAX_BYTES: u64 = 10 * 1024 * 1024;

/// What those tools of one agent share that read and change files. Clones are the same.
#[derive(Clone, Debug)]
pub struct Files {
    pub paths: Paths,
    /// What was read. Only that may be changed.
    pub ledger: Ledger,
    /// The only folder to write in, if there is such a bound. Absolute, without links.
    pub bound: Option<Arc<Path>>,
}

/// A file as it stands on disk.
pub struct OnDisk {
    /// As the call names it, and where the bytes are.
    pub target: Target,
    /// Absent when there is no file yet.
    pub file: Option<(Metadata, Vec<u8>)>,
}

/// Opens what a call may touch, a regular file or a folder. No link is followed that was not there
/// when the call was judged. `None` when nothing is there.
pub fn open(target: &Target) -> Result<Option<(File, Metadata)>, ToolError> {
    let path = target.written.as_path();
    let opened = disk::open(resolved(target)?).and_then(|file| {
        let metadata = file.metadata()?;
        Ok((file, metadata))
    });
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            let text = format!("{} is no regular file (a device, pipe or socket).", path.display());
            Err(ToolError::failed(text))
        }
        Err(error) => Err(failed("read", path, &error)),
    }
}

/// Where a target leads.
pub fn resolved(target: &Target) -> Result<&Path, ToolError> {
    target.resolved.as_deref().ok_or_else(|| {
        ToolError::failed(format!(
            "Cannot tell where {} leads: its links run in a circle, or a folder cannot be looked into.",
            target.written.display()
        ))
    })
}

/// Reads the file that a call may change, or finds that there is none.
pub fn load(target: &Target) -> Result<OnDisk, ToolError> {
    let path = target.written.as_path();
    let Some((file, metadata)) = open(target)? else {
        return Ok(OnDisk { target: target.clone(), file: None });
    };
    if metadata.is_dir() {
        return Err(ToolError::failed(format!("{} is a directory, not a file.", path.display())));
    }
    if metadata.len() > MAX_BYTES {
        return Err(ToolError::failed(format!(
            "{} is larger than 10 MB ({} bytes). Change it with Bash instead.",
            path.display(),
            metadata.len()
        )));
    }
    let content = read_whole(file).map_err(|error| failed("read", path, &error))?;
    Ok(OnDisk { target: target.clone(), file: Some((metadata, content)) })
}

/// Shows what a call would change. `change` makes the text.
pub async fn preview(
    access: &Access,
    change: impl FnOnce(&OnDisk) -> Option<String> + Send + 'static,
) -> Preview {
    let Access::Write { paths } = access else { return Preview::default() };
    let Some(target) = paths.first().cloned() else { return Preview::default() };
    let looked = tokio::task::spawn_blocking(move || {
        let on_disk = load(&target);
        let content = ContentHash::new(on_disk.as_ref().map(OnDisk::content));
        let text = on_disk.ok().and_then(|on_disk| change(&on_disk));
        Preview { text, content: Some(content) }
    });
    let unknown = || Preview { text: None, content: Some(ContentHash::new(Err(()))) };
    looked.await.unwrap_or_else(|_| unknown())
}

impl OnDisk {
    /// The bytes, if there is a file.
    pub fn content(&self) -> Option<&[u8]> {
        self.file.as_ref().map(|(_, content)| content.as_slice())
    }

    /// Refuses to go on when this agent has not read the file, or it has changed since then or
    /// since the user was asked.
    pub fn check(&self, ledger: &Ledger, asked: Option<ContentHash>) -> Result<(), ToolError> {
        let path = self.target.written.display();
        if let Some((metadata, content)) = &self.file {
            let read = ledger.check(resolved(&self.target)?, metadata, content);
            read.map_err(|stale| {
                ToolError::failed(match stale {
                    Stale::NeverRead => format!("{path} has not been read yet. Read it first."),
                    Stale::Changed => format!(
                        "{path} has changed on disk since it was read. Read it again first."
                    ),
                })
            })?;
        }
        let now = || ContentHash::new(Ok::<_, ()>(self.content()));
        match asked {
            Some(asked) if asked != now() => Err(ToolError::failed(format!(
                "{path} has changed since the question about this call, so it was not run. Make the call again if it \
                 is still wanted."
            ))),
            _ => Ok(()),
        }
    }

    /// Puts `content` in the file's place in one step and notes it as read. Mode and owner stay.
    /// Folders that are missing are made, once it is certain that the file lies within the bound.
    /// Needs the lock, held since before the file was loaded.
    pub fn replace(
        &self,
        content: &[u8],
        files: &Files,
        _guard: &FileGuard,
    ) -> Result<(), ToolError> {
        let target = resolved(&self.target)?;
        let metadata = self
            .write(target, content, files.bound.as_deref())
            .map_err(|error| failed("write", &self.target.written, &error))?;
        files.ledger.note(target, &metadata, Some(content));
        Ok(())
    }

    fn write(&self, target: &Path, content: &[u8], bound: Option<&Path>) -> io::Result<Metadata> {
        if let Some(bound) = bound.filter(|bound| !target.starts_with(bound)) {
            let text = format!("it leads to {}, outside of {}", target.display(), bound.display());
            return Err(io::Error::new(ErrorKind::PermissionDenied, text));
        }
        let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else {
            return Err(ErrorKind::IsADirectory.into());
        };
        let old = self.file.as_ref().map(|(metadata, _)| metadata);
        Folder::make(folder)?.replace(name, content, old)
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

fn read_whole(file: File) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_BYTES {
        return Err(io::Error::other("it grew beyond 10 MB while it was read"));
    }
    Ok(content)
}
