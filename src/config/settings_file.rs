//! Reads Claude Code's `settings.json` as far as it matters here: `permissions`, `hooks`, `env`,
//! `sandbox` and `disabledMcpjsonServers`. Other keys are skipped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::dirs::Dirs;
use super::error::{ConfigError, Origin, file_origin};
use super::hooks::{HookList, read_hooks, read_valid_hooks};
use super::project::{LOCAL_SETTINGS, Project, SETTINGS};
use super::sources::read_text;
use crate::protocol::Secret;
use crate::spanned::json::parse_json;
use crate::spanned::{Scalar, Spanned, Value, ValueError};

/// The owner of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsOwner {
    /// In the user's home directory.
    User,
    /// The project's `.claude/settings.json`, which comes with it.
    Shared,
    /// The project's `.claude/settings.local.json`.
    Local,
    /// Given with `--settings`.
    Flag,
}

impl SettingsOwner {
    /// Whether it is in the project's folder, which the user may have cloned and never read.
    pub fn is_project(self) -> bool {
        matches!(self, Self::Shared | Self::Local)
    }
}

/// The content of one settings file.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingsFile {
    pub owner: SettingsOwner,
    /// The first line of the file, or the flag.
    pub origin: Origin,
    pub keys: SettingsKeys,
    pub hooks: HookList,
    /// Mistakes of a project in what needs the user's trust, which is left out.
    pub mistakes: Vec<ValueError>,
    /// `outputStyle`: reported in frames, without effect here.
    pub output_style: Option<String>,
    /// Settings without effect here, each with its origin: `statusLine (.claude/settings.json:4)`.
    pub unused: Vec<String>,
}

/// The keys that count here, as written: rules and mode are not parsed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct SettingsKeys {
    pub permissions: SettingsPermissions,
    /// Variables by name.
    pub env: Secret<BTreeMap<String, Spanned<Scalar>>>,
    /// Names of `.mcp.json` servers not to use.
    #[serde(rename = "disabledMcpjsonServers")]
    pub disabled_servers: Vec<String>,
    pub sandbox: SettingsSandbox,
}

/// `permissions` of a settings file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SettingsPermissions {
    pub allow: Vec<Spanned<String>>,
    pub ask: Vec<Spanned<String>>,
    pub deny: Vec<Spanned<String>>,
    #[serde(rename = "additionalDirectories")]
    pub additional_dirs: Vec<Spanned<String>>,
    #[serde(rename = "defaultMode")]
    pub mode: Option<Spanned<String>>,
    #[serde(rename = "disableBypassPermissionsMode")]
    pub no_bypass: Option<Spanned<Disable>>,
}

/// The only value of a key that disables something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Disable {
    Disable,
}

/// `sandbox` of a settings file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SettingsSandbox {
    pub enabled: Option<bool>,
    #[serde(rename = "failIfUnavailable")]
    pub required: Option<Spanned<bool>>,
}

impl SettingsFile {
    /// Returns a line about skipped hooks, and one for each thing that a mistake leaves out.
    pub(super) fn notices(&self) -> Vec<String> {
        let file = match &self.origin {
            Origin::File { path, .. } => path.display().to_string(),
            other => other.to_string(),
        };
        let skipped = self.hooks.notice().map(|notice| format!("{file}: {notice}"));
        let invalid = |error| ConfigError::invalid_value(&self.origin, error);
        let mistakes: Vec<ConfigError> = self.mistakes.iter().map(invalid).collect();
        skipped.into_iter().chain(ConfigError::left_out(&mistakes)).collect()
    }
}

/// Lists the settings files that are read if they exist, lowest first.
pub(super) fn settings_paths(project: &Project, dirs: &Dirs) -> Vec<(SettingsOwner, PathBuf)> {
    let [shared, local] = [SETTINGS, LOCAL_SETTINGS].map(|file| project.claude_root.join(file));
    let shared = Some(shared).filter(|_| project.sources.project);
    let local = Some(local).filter(|_| project.sources.local);
    let person = dirs.claude.as_ref().map(|folder| folder.join("settings.json"));
    // In the user's home directory this is the user's own file, which is read already.
    let shared = shared.filter(|shared| person.as_ref() != Some(shared));
    let files = [
        (SettingsOwner::User, person),
        (SettingsOwner::Shared, shared),
        (SettingsOwner::Local, local),
    ];
    files.into_iter().filter_map(|(owner, file)| Some((owner, file?))).collect()
}

/// Reads a settings file; `None` if it does not exist.
pub(super) fn read(
    owner: SettingsOwner,
    path: &Path,
    cwd: &Path,
) -> Result<Option<SettingsFile>, ConfigError> {
    let Some(text) = read_text(path, cwd)? else { return Ok(None) };
    parse(owner, &text, &file_origin(path, cwd)).map(Some)
}

/// Reads the value of `--settings`: JSON, or else the path of an existing file.
pub(super) fn from_flag(value: &str, cwd: &Path) -> Result<SettingsFile, ConfigError> {
    let flag = Origin::Flag { name: "--settings" };
    if value.trim_start().starts_with('{') {
        return parse(SettingsOwner::Flag, value, &flag);
    }
    read(SettingsOwner::Flag, &cwd.join(value), cwd)?.ok_or_else(|| {
        let message =
            format!("no such file: {value}; expected a file or JSON such as {{\"env\": {{}}}}");
        ConfigError::invalid(&flag, message)
    })
}

/// Parses the text of a settings file. In a project's, a mistake in what needs the user's trust
/// leaves that out; one in a restriction is always an error, so that none is lost.
fn parse(owner: SettingsOwner, text: &str, origin: &Origin) -> Result<SettingsFile, ConfigError> {
    let read = || -> Result<SettingsFile, ValueError> {
        let mut settings = parse_json(text)?;
        let mut mistakes = Vec::new();
        if owner.is_project() {
            mistakes = drop_mistakes(&mut settings);
        }
        let keys = settings.read()?;
        let mut list = HookList::default();
        if let Some(hooks) = settings.get("hooks") {
            if owner.is_project() {
                let (valid, wrong) = read_valid_hooks(hooks, origin);
                mistakes.extend(wrong.into_iter().map(|error| error.below("hooks")));
                list = valid;
            } else {
                list = read_hooks(hooks, origin).map_err(|error| error.below("hooks"))?;
            }
        }
        Ok(SettingsFile {
            owner,
            origin: origin.clone(),
            keys,
            hooks: list,
            mistakes,
            output_style: settings.get("outputStyle").and_then(|style| style.read().ok()),
            unused: unused_keys(&settings, origin),
        })
    };
    read().map_err(|error| ConfigError::invalid_value(origin, &error))
}

/// Drops the values of the wrong type among those that only widen what the user allows, and an
/// unreadable mode. Returns the mistakes.
fn drop_mistakes(settings: &mut Spanned<Value>) -> Vec<ValueError> {
    let mut mistakes = Vec::new();
    for (key, value) in entries(settings) {
        match key.as_str() {
            "env" => {
                let found = drop_others::<Scalar>(value, |env| env.table().map(drop));
                mistakes.extend(found.into_iter().map(|error| error.below("env")));
            }
            "permissions" => {
                for (key, value) in entries(value) {
                    let found = match key.as_str() {
                        "allow" | "additionalDirectories" => {
                            drop_others::<String>(value, |list| list.list().map(drop))
                        }
                        "defaultMode" => {
                            drop_others::<String>(value, |mode| mode.read::<String>().map(drop))
                        }
                        _ => Vec::new(),
                    };
                    let found = found.into_iter().map(|error| error.below(key));
                    mistakes.extend(found.map(|error| error.below("permissions")));
                }
            }
            _ => {}
        }
    }
    mistakes
}

/// Returns the entries of a table; none of another value.
fn entries(value: &mut Spanned<Value>) -> &mut [(String, Spanned<Value>)] {
    match &mut value.value {
        Value::Table(entries) => entries,
        _ => &mut [],
    }
}

/// Drops the value if it fails the check, and the entries of a list or table that are no `T`. Returns
/// the mistakes.
fn drop_others<T: DeserializeOwned>(
    value: &mut Spanned<Value>,
    check: impl Fn(&Spanned<Value>) -> Result<(), ValueError>,
) -> Vec<ValueError> {
    if value.is_null() {
        return Vec::new();
    }
    if let Err(error) = check(value) {
        value.value = Value::Bare("null".to_owned());
        return vec![error];
    }
    let mut mistakes = Vec::new();
    match &mut value.value {
        Value::List(items) => items.retain(|item| {
            let error = item.read::<T>().err().map(ValueError::in_list);
            let is_valid = error.is_none();
            mistakes.extend(error);
            is_valid
        }),
        Value::Table(entries) => entries.retain(|(name, entry)| {
            let error = entry.read::<T>().err().map(|error| error.below(name));
            let is_valid = error.is_none();
            mistakes.extend(error);
            is_valid
        }),
        Value::Text(_) | Value::Bare(_) | Value::Unsupported => {}
    }
    mistakes
}

/// Lists Claude Code's keys that have no effect here. A `sandbox` that is off and the default style
/// are not worth a mention.
fn unused_keys(settings: &Spanned<Value>, origin: &Origin) -> Vec<String> {
    let is_said = |key: &str, value: &Spanned<Value>| match key {
        "sandbox" => value.get("enabled").and_then(Spanned::scalar) == Some("true"),
        "outputStyle" => value.scalar() != Some("default"),
        _ => true,
    };
    let keys = ["sandbox", "statusLine", "outputStyle"];
    let said = keys.into_iter().filter_map(|key| {
        let value = settings.get(key).filter(|value| is_said(key, value))?;
        Some(format!("{key} ({})", origin.at_line(value.line)))
    });
    said.collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn read(text: &str) -> Result<SettingsFile, String> {
        let file = Origin::File { path: ".claude/settings.json".into(), line: 1 };
        parse(SettingsOwner::User, text, &file).map_err(|error| error.to_string())
    }

    fn shown(list: &[Spanned<String>]) -> Vec<String> {
        list.iter().map(|text| format!("{} {}", text.line, text.value)).collect()
    }

    #[test]
    fn permissions_env_and_hooks_are_read_with_their_lines_and_the_rest_passed_over() {
        let file = read(
            "{\n\"model\": \"opus\", \"permissions\": {\"allow\": [\"Read\",\n\"Bash(ls:*)\"],\n\
             \"deny\": [\"WebFetch\"], \"additionalDirectories\": [\"../docs\"], \"defaultMode\": \"plan\",\n\
             \"disableBypassPermissionsMode\": \"disable\"},\n\"env\": {\"A\": \"b\",\n\"N\": 3},\n\
             \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}]}}",
        )
        .unwrap();
        let at = |line: usize, text: &str| format!("{line} {text}");
        let SettingsPermissions { allow, ask, deny, additional_dirs, mode, no_bypass } =
            &file.keys.permissions;
        assert_eq!(shown(allow), [at(2, "Read"), at(3, "Bash(ls:*)")]);
        assert_eq!((shown(ask), shown(deny)), (vec![], vec![at(4, "WebFetch")]));
        assert_eq!(shown(additional_dirs), [at(4, "../docs")]);
        assert_eq!(shown(mode.as_slice()), [at(4, "plan")]);
        assert_eq!(no_bypass.as_ref().unwrap().line, 5);
        let env = file.keys.env.iter();
        let env: Vec<_> =
            env.map(|(name, text)| format!("{name} {} {}", text.line, text.value.0)).collect();
        assert_eq!(env, ["A 6 b", "N 7 3"]);
        assert_eq!(file.hooks.hooks[0].origin.to_string(), ".claude/settings.json:8");
    }

    #[test]
    fn every_mistake_names_the_file_the_line_and_what_is_allowed() {
        let table = [
            ("{\n\"a\": }", "2: not valid JSON: expected value"),
            ("[]", "1: must be an object of keys and values, not a list"),
            (
                "{\"permissions\": 3}",
                "1: `permissions` must be an object of keys and values, not 3",
            ),
            (
                "{\"permissions\":\n{\"allow\": \"Read\"}}",
                "2: `permissions.allow` must be a list, not a string",
            ),
            (
                "{\"permissions\": {\"deny\": [\"Read\",\n3]}}",
                "2: an entry of `permissions.deny` must be a quoted string, not 3",
            ),
            ("{\"env\": {\n\"A\": []}}", "2: `env.A` must be a quoted string, not a list"),
            ("{\n\"hooks\": []}", "2: `hooks` must be an object of keys and values, not a list"),
        ];
        for (text, expected) in table {
            assert_eq!(read(text).unwrap_err(), format!(".claude/settings.json:{expected}"));
        }
        assert_eq!(read("{\"permissions\": null}").unwrap().keys, SettingsKeys::default());
    }

    #[test]
    fn the_flag_takes_json_or_a_file_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mine.json"), "{\"env\": {\"A\": \"b\"}}").unwrap();
        let of = |value: &str| from_flag(value, folder.path());
        let origin = |file: SettingsFile| file.origin.at_line(file.keys.env["A"].line).to_string();
        assert_eq!(origin(of("mine.json").unwrap()), "mine.json:1");
        assert_eq!(origin(of("{\"env\": {\"A\": \"b\"}}").unwrap()), "--settings");
        let missing = of("none.json").unwrap_err().to_string();
        assert!(missing.starts_with("--settings: no such file: none.json; expected"), "{missing}");
        let broken = of("{").unwrap_err().to_string();
        assert!(broken.starts_with("--settings: not valid JSON: EOF"), "{broken}");
    }
}
