//! The inputs of a configuration, and the reading of its files.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

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
fn read_bytes(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    // Checked first, because opening a named pipe would block.
    match path.metadata() {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(std::io::Error::other("it is not a file")),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}
