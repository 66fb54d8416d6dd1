//! Replaces a file whole or not at all: a full disk or a crash leaves the old one.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Replaces the file's text, and makes file and folder where there are none. The permissions stay; a new file gets
/// `mode`.
///
/// # Errors
/// When the old file cannot be looked at, or the new one not be written; the old one then stays as it was.
pub fn replace(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    // Where the file is a link, what it leads to is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let permissions = match fs::metadata(&path) {
        Ok(old) => old.permissions(),
        Err(error) if error.kind() == ErrorKind::NotFound => Permissions::from_mode(mode),
        Err(error) => return Err(error),
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    put(&path, text.as_bytes(), permissions)
}

/// Puts a file with these permissions in the place of what is there: written beside it, then moved. A link is replaced
/// itself.
///
/// # Errors
/// When it cannot be written; what was there stays.
pub fn put(path: &Path, content: &[u8], permissions: Permissions) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".caliban-")
        .permissions(permissions)
        .tempfile_in(folder)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
