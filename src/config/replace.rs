//! Replaces a file atomically: after a full disk or a crash the old one remains.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::lock::{LockError, lock_folder};
use crate::disk::{self, Folder};
use crate::protocol::printable_path;

/// The folder of this program in a project.
const OWN_FOLDER: &str = ".caliban";

/// Replaces the file's text, creating file and folder if needed. The permissions are kept; a new file gets `mode`.
///
/// # Errors
/// Fails if the old file cannot be read or the new one cannot be written; the old one then remains.
pub fn replace(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    // If the file is a link, replace its target.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let permissions = match fs::metadata(&path) {
        Ok(old) => old.permissions(),
        Err(error) if error.kind() == ErrorKind::NotFound => Permissions::from_mode(mode),
        Err(error) => return Err(error),
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    write_atomic(&path, text.as_bytes(), permissions)
}

/// Like [`replace`], for a file that may come from a project, such as `.mcp.json` or one in
/// `.caliban`: neither the file nor that folder may be a link. Otherwise a checkout could redirect
/// the write anywhere, such as to the user's own rules.
///
/// # Errors
/// Fails like [`replace`], and if there is a link.
pub fn replace_in_project(path: &Path, text: &str) -> io::Result<()> {
    let wrong = || io::Error::from(ErrorKind::InvalidInput);
    let (folder, name) = path.parent().zip(path.file_name()).ok_or_else(wrong)?;
    let own = folder.file_name().filter(|own| *own == OWN_FOLDER);
    let root = project_folder(path).ok_or_else(wrong)?;
    for part in [folder, path] {
        let is_link = part.symlink_metadata().is_ok_and(|found| found.file_type().is_symlink());
        if is_link && (part == path || own.is_some()) {
            return Err(io::Error::other(format!(
                "{} is a symbolic link, which could lead anywhere; \
                 edit the file it leads to yourself",
                printable_path(part)
            )));
        }
    }
    let root = disk::resolve(root).ok_or_else(wrong)?;
    let folder = Folder::make(&own.map_or(root.clone(), |own| root.join(own)))?;
    let old = match folder.open_entry(name) {
        Ok(file) => Some(file.metadata()?),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    folder.replace(name, text.as_bytes(), old.as_ref()).map(drop)
}

/// Locks the project's configuration files, of which this is one, until dropped.
///
/// # Errors
/// Fails like [`lock_folder`].
pub fn lock_in_project(path: &Path) -> Result<Option<File>, LockError> {
    project_folder(path).map_or(Ok(None), lock_folder)
}

/// Returns the folder of the project that has this file in it or in its `.caliban`.
fn project_folder(path: &Path) -> Option<&Path> {
    let folder = path.parent()?;
    match folder.file_name() {
        Some(name) if name == OWN_FOLDER => folder.parent(),
        _ => Some(folder),
    }
}

/// Atomically writes a file with these permissions: to a temporary file, then renamed. A link is replaced itself.
///
/// # Errors
/// Fails if it cannot be written; the old file then remains.
pub fn write_atomic(path: &Path, content: &[u8], permissions: Permissions) -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_projects_file_is_written_where_it_stands_and_never_behind_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (project, outside) = (folder.path().join("project"), folder.path().join("outside"));
        fs::create_dir_all(&project).unwrap();
        fs::create_dir(&outside).unwrap();
        symlink(&project, folder.path().join("name")).unwrap();
        let config = |project: &str| folder.path().join(project).join(".caliban/config.toml");
        replace_in_project(&config("name"), "a").unwrap();
        fs::set_permissions(config("project"), Permissions::from_mode(0o600)).unwrap();
        replace_in_project(&config("project"), "b").unwrap();
        assert_eq!(fs::read_to_string(config("project")).unwrap(), "b");
        assert_eq!(fs::metadata(config("project")).unwrap().permissions().mode() & 0o777, 0o600);
        fs::remove_dir_all(project.join(".caliban")).unwrap();
        symlink(&outside, project.join(".caliban")).unwrap();
        symlink(outside.join("servers"), project.join(".mcp.json")).unwrap();
        for file in [config("project"), project.join(".mcp.json")] {
            let error = replace_in_project(&file, "c").unwrap_err().to_string();
            assert!(error.contains("is a symbolic link"), "{error}");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }
}
