//! Converts a settings.json file to our own terms: permissions as a layer, and variables.

use std::collections::BTreeMap;

use clap::ValueEnum as _;
use toml::Value;

use super::error::{ConfigError, Origin};
use super::layers::Setting;
use super::settings_file::{SettingsFile, SettingsPermissions};
use super::untrusted_item::{UntrustedItem, one_line};
use crate::protocol::{DEPTH_VARIABLE, EnvOverlay, PermissionMode, Secret};
use crate::spanned::{Scalar, Spanned};

/// Converts the permissions to a layer, with a notice about an unknown mode.
pub(super) fn permissions_layer(file: &SettingsFile) -> (Vec<Setting>, Option<String>) {
    let SettingsPermissions { allow, ask, deny, additional_dirs, mode, .. } =
        &file.keys.permissions;
    let lists =
        [("allow", allow), ("ask", ask), ("deny", deny), ("additional_dirs", additional_dirs)];
    let filled = lists.into_iter().filter(|(_, entries)| !entries.is_empty());
    let mut layer: Vec<Setting> =
        filled.map(|(name, entries)| list_setting(name, entries, &file.origin)).collect();
    let mut notice = None;
    if let Some(Spanned { line, value: text }) = mode {
        let origin = file.origin.at_line(*line);
        match PermissionMode::from_str(text, false) {
            Ok(mode) => layer.push(Setting {
                path: permissions_path("mode"),
                value: Value::from(mode.name()),
                origins: vec![origin],
            }),
            Err(_) => {
                let text = text.escape_debug();
                notice = Some(format!("{origin}: unknown permission mode {text} ignored"));
            }
        }
    }
    (layer, notice)
}

fn permissions_path(name: &str) -> Vec<String> {
    vec!["permissions".to_owned(), name.to_owned()]
}

fn list_setting(name: &str, entries: &[Spanned<String>], file: &Origin) -> Setting {
    Setting {
        path: permissions_path(name),
        value: Value::Array(
            entries.iter().map(|entry| Value::from(entry.value.as_str())).collect(),
        ),
        origins: entries.iter().map(|entry| file.at_line(entry.line)).collect(),
    }
}

/// One variable for commands, hooks and servers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Variable {
    name: String,
    value: Secret<String>,
    origin: Origin,
}

impl Variable {
    /// Returns the variable as an item that needs the user's trust.
    pub fn untrusted_item(&self) -> UntrustedItem {
        let Self { name, value, origin } = self;
        UntrustedItem {
            what: one_line(&format!("env {name}: {}", **value), None),
            origin: origin.clone(),
        }
    }
}

/// Returns the valid variables of a file, and the mistakes in the others.
pub(super) fn variables(file: &SettingsFile) -> (Vec<Variable>, Vec<ConfigError>) {
    let (mut found, mut mistakes) = (Vec::new(), Vec::new());
    let mut env: Vec<_> = file.keys.env.iter().collect();
    env.sort_by_key(|(_, value)| value.line);
    for (name, Spanned { line, value: Scalar(text) }) in env {
        let origin = file.origin.at_line(*line);
        let shown = name.escape_debug();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let why = if name.is_empty()
            || !name.chars().all(plain)
            || name.starts_with(|c: char| c.is_ascii_digit())
        {
            format!(
                "`env.{shown}` is not a valid variable name: use letters, digits and _, not starting with a digit"
            )
        } else if name == DEPTH_VARIABLE {
            format!("`env.{DEPTH_VARIABLE}` counts agent levels and must not be set")
        } else if text.contains('\0') {
            format!("`env.{shown}` must not contain a NUL character")
        } else {
            found.push(Variable { name: name.clone(), value: text.clone().into(), origin });
            continue;
        };
        mistakes.push(ConfigError::invalid(&origin, why));
    }
    (found, mistakes)
}

/// The variables of all settings files that count; for each name the highest file wins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variables(BTreeMap<String, Secret<String>>);

impl Variables {
    pub(super) fn set(&mut self, variable: Variable) {
        self.0.insert(variable.name, variable.value);
    }

    /// Returns the environment for programs started for agents: the process's, overridden by these variables.
    pub fn apply_to(&self, env: &EnvOverlay) -> EnvOverlay {
        env.with(self.0.iter().map(|(name, value)| (name, &**value)))
    }
}
