//! What a file of the settings.json shape says, in our own terms: its permissions as a layer, its variables.

use std::collections::BTreeMap;

use clap::ValueEnum as _;
use toml::Value;

use super::error::{ConfigError, Origin};
use super::inert::{Inert, one_line};
use super::layers::Setting;
use super::settings_file::{SettingsFile, Written, WrittenPermissions};
use crate::protocol::{DEPTH_VARIABLE, EnvOverlay, Mode};

/// The permissions as a layer, and one line about what of them is not known here.
pub(super) fn layer(file: &SettingsFile) -> (Vec<Setting>, Option<String>) {
    let WrittenPermissions { allow, ask, deny, additional_dirs, mode } = &file.permissions;
    let lists =
        [("allow", allow), ("ask", ask), ("deny", deny), ("additional_dirs", additional_dirs)];
    let filled = lists.into_iter().filter(|(_, entries)| !entries.is_empty());
    let mut layer: Vec<Setting> = filled.map(|(name, entries)| list(name, entries)).collect();
    let mut notice = None;
    if let Some(Written { text, origin }) = mode {
        match Mode::from_str(text, false) {
            Ok(mode) => layer.push(Setting {
                path: path("mode"),
                value: Value::from(mode.name()),
                origins: vec![origin.clone()],
            }),
            Err(_) => {
                let text = text.escape_debug();
                notice = Some(format!(
                    "{origin}: the permission mode {text} is not known here, so it does nothing"
                ));
            }
        }
    }
    (layer, notice)
}

fn path(name: &str) -> Vec<String> {
    vec!["permissions".to_owned(), name.to_owned()]
}

fn list(name: &str, entries: &[Written]) -> Setting {
    Setting {
        path: path(name),
        value: Value::Array(entries.iter().map(|entry| Value::from(entry.text.as_str())).collect()),
        origins: entries.iter().map(|written| written.origin.clone()).collect(),
    }
}

/// One variable for commands, hooks and servers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Variable {
    name: String,
    value: String,
    origin: Origin,
}

impl Variable {
    /// The same as a thing that waits for the person's trust.
    pub fn inert(&self) -> Inert {
        let Self { name, value, origin } = self;
        Inert { what: one_line(&format!("env {name}: {value}"), None), origin: origin.clone() }
    }
}

/// The variables of a file.
pub(super) fn variables(file: &SettingsFile) -> Result<Vec<Variable>, ConfigError> {
    let mut found = Vec::new();
    for (name, Written { text, origin }) in &file.env {
        let shown = name.escape_debug();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let why = if name.is_empty()
            || !name.chars().all(plain)
            || name.starts_with(|c: char| c.is_ascii_digit())
        {
            format!(
                "`env.{shown}` is no name of a variable: use letters, digits and _, the first no digit"
            )
        } else if name == DEPTH_VARIABLE {
            format!("`env.{DEPTH_VARIABLE}` counts the levels of agents and is not to set")
        } else if text.contains('\0') {
            format!("`env.{shown}` must not hold a NUL character")
        } else {
            found.push(Variable {
                name: name.clone(),
                value: text.clone(),
                origin: origin.clone(),
            });
            continue;
        };
        return Err(ConfigError::invalid(origin, why));
    }
    Ok(found)
}

/// The variables of all settings files that count, the highest file's value of each.
#[derive(Clone, Default, PartialEq)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    pub(super) fn set(&mut self, variable: Variable) {
        self.0.insert(variable.name, variable.value);
    }

    /// The environment of what is started for agents: that of this process, and these on top.
    #[must_use]
    pub fn over(&self, env: &EnvOverlay) -> EnvOverlay {
        env.with(self.0.iter())
    }
}

impl std::fmt::Debug for Variables {
    /// Names only: values may be keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
