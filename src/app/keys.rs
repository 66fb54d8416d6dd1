//! The person's own keys: `keymap.toml` beside their `config.toml`. A project has none: it could make Enter mean "yes".

use std::io;

use crate::config::Dirs;
use crate::tui::{Keymap, TuiError};

/// Which key does what, and what is wrong with the person's own map. None of that one counts then.
pub(super) fn keymap(dirs: &Dirs) -> Result<(Keymap, Option<String>), TuiError> {
    let built_in = Keymap::built_in()?;
    let path = dirs.keymap_file();
    let problem = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((built_in, None)),
        Err(error) => format!(" cannot be read: {error}"),
        Ok(text) => match built_in.clone().with(&text) {
            Ok(keymap) => return Ok((keymap, None)),
            Err(error) => format!(":{error}"),
        },
    };
    let notice = format!("{}{problem}. The built-in keys count.", path.display());
    Ok((built_in, Some(notice)))
}
