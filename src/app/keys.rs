//! The user's keymap: `keymap.toml` next to their `config.toml`. A project cannot have one: it
//! could make a harmless key send something.

use std::io;

use crate::config::Dirs;
use crate::protocol::printable_path;
use crate::tui::{Keymap, TuiError};

/// The state of the user's keymap.
pub(crate) enum UserKeymap {
    Missing,
    Used,
    /// It is ignored, for this reason.
    Invalid(String),
}

/// Returns the keymap: the user's if it is valid, else the built-in one.
pub(crate) fn keymap(dirs: &Dirs) -> Result<(Keymap, UserKeymap), TuiError> {
    let built_in = Keymap::built_in()?;
    let path = dirs.keymap_file();
    let problem = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok((built_in, UserKeymap::Missing));
        }
        Err(error) => format!(" cannot be read: {error}"),
        Ok(text) => match built_in.clone().merge(&text) {
            Ok(keymap) => return Ok((keymap, UserKeymap::Used)),
            Err(error) => format!(":{error}"),
        },
    };
    let why = format!("{}{problem}. Using the built-in keys.", printable_path(&path));
    Ok((built_in, UserKeymap::Invalid(why)))
}
