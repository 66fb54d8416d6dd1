//! What settings files forbid at the start, and the settings in them that change nothing here.
//!
//! A project's files may forbid, and never lift what the user's own files or `--settings` forbid.

use toml::{Table, Value};

use super::error::{ConfigError, Origin};
use super::layers::Origins;
use super::settings_file::SettingsFile;
use crate::protocol::Mode;

const MODE: &str = "permissions.mode";

/// Takes the mode `bypassPermissions` out of the configuration if a settings file disables it.
/// Returns whether one does. A mode that the command line asks for is an error: whoever asks for it
/// must know.
pub(super) fn bypass(
    files: &[SettingsFile],
    merged: &mut Table,
    origins: &Origins,
    notices: &mut Vec<String>,
) -> Result<bool, ConfigError> {
    let Some(file) = files.iter().find_map(|file| file.no_bypass.as_ref()) else {
        return Ok(false);
    };
    let permissions = merged.get_mut("permissions").and_then(Value::as_table_mut);
    let mode = permissions.and_then(|permissions| permissions.get_mut("mode"));
    let bypass = Mode::BypassPermissions.name();
    if let Some(mode) = mode.filter(|mode| mode.as_str() == Some(bypass)) {
        let origin = origins.of(MODE);
        let why = format!("{file} disables the mode {bypass}");
        if matches!(origin, Origin::Flag { .. }) {
            return Err(ConfigError::invalid(origin, format!("{why}: choose another mode")));
        }
        notices.push(format!("{origin}: {why}, so the mode is default"));
        *mode = Value::from(Mode::Default.name());
    }
    Ok(true)
}

/// Where a settings file demands a sandbox that does not exist here; `None` when none does. The
/// highest file that says something counts, but a project's file only where it demands.
pub(super) fn sandbox(files: &[SettingsFile]) -> Option<Origin> {
    let (mut enabled, mut required) = (None, None);
    for file in files {
        let counts = |on: bool| on || !file.owner.is_project();
        enabled = file.sandbox.enabled.filter(|on| counts(*on)).or(enabled);
        required = file.sandbox.required.clone().filter(|(on, _)| counts(*on)).or(required);
    }
    let (_, origin) = required.filter(|(on, _)| *on && enabled != Some(false))?;
    Some(origin)
}

/// One line about the settings that change nothing here; `None` when there are none.
pub(super) fn unused(files: &[SettingsFile]) -> Option<String> {
    let unused: Vec<&str> =
        files.iter().flat_map(|file| &file.unused).map(String::as_str).collect();
    let list = (!unused.is_empty()).then(|| unused.join(", "))?;
    let sandbox = unused.iter().any(|entry| entry.starts_with("sandbox "));
    let more = if sandbox { "; commands run without a sandbox" } else { "" };
    Some(format!("Settings without effect here: {list}{more}"))
}
