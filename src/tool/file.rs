//! Reads a file to change it, and replaces it in one step.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;
use std::sync::Arc;

use super::api::{Preview, ToolError};
use super::ledger::{ContentHash, FileGuard, ReadLedger, StaleReason};
use super::path::Paths;
use crate::disk::{self, Folder};
use crate::protocol::{Access, PathTarget};

/// Maximum size of a file that is read as a whole, in bytes.
pub const MAX_BYTES: u64 = 10 * 1024 * 1024;

/// State shared by the tools of one agent that read and change files. Clones share it.
#[derive(Clone, Debug)]
pub struct FileToolState {
    pub paths: Paths,
    /// The files that were read. Only these may be changed.
    pub ledger: ReadLedger,
    /// The only writable folder, if bounded. Absolute, without links.
    pub bound: Option<Arc<Path>>,
}

/// The current state of a file.
pub struct DiskFile {
    /// The path of the call, and where it leads.
    pub target: PathTarget,
    /// Absent if there is no file yet.
    pub file: Option<(Metadata, Vec<u8>)>,
}

/// Opens the target of a call, a regular file or a folder. Follows no link that was not there when
/// the call was judged. `None` if nothing is there.
pub fn open(target: &PathTarget) -> Result<Option<(File, Metadata)>, ToolError> {
    let path = target.written.as_path();
    let opened = disk::open(resolved(target)?).and_then(|file| {
        let metadata = file.metadata()?;
        Ok((file, metadata))
    });
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            let text =
                format!("{} is not a regular file but a device, pipe or socket.", path.display());
            Err(ToolError::failed(text))
        }
        Err(error) => Err(failed("read", path, &error)),
    }
}

/// Returns the resolved path of a target.
pub fn resolved(target: &PathTarget) -> Result<&Path, ToolError> {
    target.resolved.as_deref().ok_or_else(|| {
        ToolError::failed(format!(
            "Cannot resolve {}: its links form a loop, or a folder cannot be read.",
            target.written.display()
        ))
    })
}

/// Reads the file that a call may change, if there is one.
pub fn load(target: &PathTarget) -> Result<DiskFile, ToolError> {
    let path = target.written.as_path();
    let Some((file, metadata)) = open(target)? else {
        return Ok(DiskFile { target: target.clone(), file: None });
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
    Ok(DiskFile { target: target.clone(), file: Some((metadata, content)) })
}

/// Previews the change of a call. `change` makes the text; if it fails, so would the call, and the preview
/// says why. `noun` names the call there.
pub async fn preview(
    access: &Access,
    noun: &'static str,
    change: impl FnOnce(&DiskFile) -> Result<String, ToolError> + Send + 'static,
) -> Preview {
    let Access::Write { paths } = access else { return Preview::default() };
    let Some(target) = paths.first().cloned() else { return Preview::default() };
    let looked = tokio::task::spawn_blocking(move || {
        let on_disk = load(&target);
        let content = ContentHash::new(on_disk.as_ref().map(DiskFile::content));
        let text = on_disk.and_then(|on_disk| change(&on_disk));
        let text = text.unwrap_or_else(|error| format!("This {noun} would fail: {error}"));
        Preview { text: Some(text), content: Some(content) }
    });
    let unknown = || Preview { text: None, content: Some(ContentHash::new(Err(()))) };
    looked.await.unwrap_or_else(|_| unknown())
}

impl DiskFile {
    /// Returns the bytes, if there is a file.
    pub fn content(&self) -> Option<&[u8]> {
        self.file.as_ref().map(|(_, content)| content.as_slice())
    }

    /// Fails if this agent has not read the file, or it has changed since then or since the user was asked.
    pub fn check(&self, ledger: &ReadLedger, asked: Option<ContentHash>) -> Result<(), ToolError> {
        let path = self.target.written.display();
        if let Some((metadata, content)) = &self.file {
            let read = ledger.check(resolved(&self.target)?, metadata, content);
            read.map_err(|stale| {
                ToolError::failed(match stale {
                    StaleReason::NeverRead => {
                        format!("{path} has not been read yet. Read it first.")
                    }
                    StaleReason::Changed => format!(
                        "{path} has changed on disk since it was read. Read it again first."
                    ),
                })
            })?;
        }
        let now = || ContentHash::new(Ok::<_, ()>(self.content()));
        match asked {
            Some(asked) if asked != now() => Err(ToolError::failed(format!(
                "{path} has changed since the user was asked about this call, so it did not run. \
                 Repeat the call if it is still needed."
            ))),
            _ => Ok(()),
        }
    }

    /// Replaces the file by `content` in one step and records it as read. Keeps mode and owner.
    /// Creates missing folders, once it is certain that the file lies within the bound. Needs the
    /// lock, held since before the file was loaded.
    pub fn replace(
        &self,
        content: &[u8],
        files: &FileToolState,
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

/// Returns the text of an editable file.
pub fn text<'c>(path: &Path, content: &'c [u8]) -> Result<&'c str, ToolError> {
    std::str::from_utf8(content).map_err(|_| {
        let path = path.display();
        ToolError::failed(format!("{path} is not UTF-8 text. Change it with Bash instead."))
    })
}

/// Creates the error of a file operation.
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
