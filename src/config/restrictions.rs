//! Restrictions from settings files, and their settings that have no effect here.
//!
//! A project's files may add restrictions, but never lift those of the user's files or `--settings`.

use toml::{Table, Value};

use super::error::{ConfigError, Origin};
use super::layers::Origins;
use super::settings_file::SettingsFile;
use crate::protocol::PermissionMode;

const MODE_KEY: &str = "permissions.mode";

/// Resets the mode `bypassPermissions` if a settings file disables it. Returns whether one does. If
/// the mode comes from the command line this is an error, so that the user notices.
pub(super) fn forbid_bypass(
    files: &[SettingsFile],
    merged: &mut Table,
    origins: &Origins,
    notices: &mut Vec<String>,
) -> Result<bool, ConfigError> {
    let forbids = |file: &SettingsFile| {
        let line = file.keys.permissions.no_bypass.as_ref()?.line;
        Some(file.origin.at_line(line))
    };
    let Some(file) = files.iter().find_map(forbids) else { return Ok(false) };
    let permissions = merged.get_mut("permissions").and_then(Value::as_table_mut);
    let mode = permissions.and_then(|permissions| permissions.get_mut("mode"));
    let bypass = PermissionMode::BypassPermissions.name();
    if let Some(mode) = mode.filter(|mode| mode.as_str() == Some(bypass)) {
        let origin = origins.get(MODE_KEY);
        let why = format!("{file} disables the mode {bypass}");
        if matches!(origin, Origin::Flag { .. }) {
            return Err(ConfigError::invalid(origin, format!("{why}: choose another mode")));
        }
        notices.push(format!("{origin}: {why}, so the mode is default"));
        *mode = Value::from(PermissionMode::Default.name());
    }
    Ok(true)
}

/// Returns the origin of a setting that requires a sandbox, which does not exist here; `None` if
/// there is none. The highest file that sets it counts, but a project's file only if it requires
/// one.
pub(super) fn required_sandbox(files: &[SettingsFile]) -> Option<Origin> {
    let (mut enabled, mut required) = (None, None);
    for file in files {
        let counts = |on: bool| on || !file.owner.is_project();
        let sandbox = &file.keys.sandbox;
        enabled = sandbox.enabled.filter(|on| counts(*on)).or(enabled);
        let own = sandbox.required.as_ref().filter(|on| counts(on.value));
        required = own.map(|on| (on.value, file.origin.at_line(on.line))).or(required);
    }
    let (_, origin) = required.filter(|(on, _)| *on && enabled != Some(false))?;
    Some(origin)
}

/// Returns one line about settings that have no effect; `None` if there are none.
pub(super) fn unused_notice(files: &[SettingsFile]) -> Option<String> {
    let unused: Vec<&str> =
        files.iter().flat_map(|file| &file.unused).map(String::as_str).collect();
    let list = (!unused.is_empty()).then(|| unused.join(", "))?;
    let names = |key: &str| unused.iter().any(|entry| entry.starts_with(key));
    let sandbox = if names("sandbox ") { "; commands run without a sandbox" } else { "" };
    let status = match names("statusLine ") {
        true => {
            "; no statusLine is run: write its command as status_line below [tui] in your config.toml"
        }
        false => "",
    };
    Some(format!("Settings with no effect here: {list}{sandbox}{status}"))
}
