//! The person's own keys: `keymap.toml` beside their `config.toml`. A project has none: it could
//! make a harmless key send something.

use std::io;

use crate::config::Dirs;
use crate::protocol::printable_path;
use crate::tui::{Keymap, TuiError};

/// What the person has written about keys.
pub(super) enum Own {
    Nothing,
    Counts,
    /// None of it counts, for this reason.
    Wrong(String),
}

/// Which key does what, by the person's own map if it can be used.
pub(super) fn keymap(dirs: &Dirs) -> Result<(Keymap, Own), TuiError> {
    let built_in = Keymap::built_in()?;
    let path = dirs.keymap_file();
    let problem = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok((built_in, Own::Nothing));
        }
        Err(error) => format!(" cannot be read: {error}"),
        Ok(text) => match built_in.clone().with(&text) {
            Ok(keymap) => return Ok((keymap, Own::Counts)),
            Err(error) => format!(":{error}"),
        },
    };
    let why = format!("{}{problem}. The built-in keys count.", printable_path(&path));
    Ok((built_in, Own::Wrong(why)))
}
