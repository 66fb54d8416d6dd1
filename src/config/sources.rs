//! The inputs of a configuration, and the reading of its files.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::OFlag;

use super::dirs::Dirs;
use super::error::{ConfigError, Origin, display_path};
use super::overrides::Overrides;
use super::trust::Trust;
use crate::protocol::EnvOverlay;

/// Maximum size of a configuration file, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// The inputs of a configuration.
#[derive(Clone, Copy)]
pub struct ConfigSources<'a> {
    pub dirs: &'a Dirs,
    /// The working directory, absolute.
    pub cwd: &'a Path,
    pub env: &'a EnvOverlay,
    pub overrides: &'a Overrides,
    /// The project's items that the user has accepted; they count like the user's own.
    pub trust: &'a Trust,
}

/// Reads a configuration file of limited size; `None` if it does not exist.
pub(super) fn read_text(path: &Path, cwd: &Path) -> Result<Option<String>, ConfigError> {
    let shown = display_path(path, cwd);
    let unreadable = |reason: String| ConfigError::Unreadable { path: shown.clone(), reason };
    let bytes = match read_bytes(path) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(None),
        Err(error) if is_other_kind(&error) => {
            return Err(ConfigError::NotAFile { path: shown, reason: error.to_string() });
        }
        Err(error) => return Err(unreadable(error.to_string())),
    };
    if bytes.len() as u64 > MAX_FILE {
        return Err(unreadable(format!("it is longer than {} KiB", MAX_FILE >> 10)));
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
        let at = Origin::File { path: shown, line };
        ConfigError::invalid(&at, "not valid UTF-8 text")
    })
}

/// Reads up to one byte more than allowed; `None` if the file does not exist.
fn read_bytes(path: &Path) -> io::Result<Option<Vec<u8>>> {
    // Checked first, because opening a device may have effects.
    match path.metadata() {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(not_a_file()),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    }
    let mut bytes = Vec::new();
    open_file(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Opens a regular file. A named pipe may have replaced it since it was checked: that must not block.
fn open_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_a_file()) }
}

fn not_a_file() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "it is not a file")
}

/// Whether the error says that the path leads to no file, whatever its content or permissions.
fn is_other_kind(error: &io::Error) -> bool {
    let is_link_to_itself = error.raw_os_error() == Some(Errno::ELOOP as i32);
    error.kind() == ErrorKind::InvalidInput || is_link_to_itself
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
        let top = tempfile::tempdir().unwrap();
        let pipe = top.path().join("settings.json");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(open_file(&pipe).unwrap_err().to_string(), "it is not a file");
    }
}
