//! Reads Claude Code's `settings.json` as far as it matters here: `permissions`, `hooks`, `env`,
//! `sandbox` and `disabledMcpjsonServers`. Other keys are skipped.

use std::path::{Path, PathBuf};

use super::dirs::Dirs;
use super::error::{ConfigError, Origin, display_path};
use super::hooks::{self, HookList};
use super::load::read_text;
use super::node::{Node, ValueError, parse_json};
use super::project::{LOCAL_SETTINGS, Project, SETTINGS};

const DISABLED_SERVERS: &str = "disabledMcpjsonServers";

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

/// A text and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsText {
    pub text: String,
    pub origin: Origin,
}

/// `permissions` of a settings file as written: rules and mode are not parsed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsPermissions {
    pub allow: Vec<SettingsText>,
    pub ask: Vec<SettingsText>,
    pub deny: Vec<SettingsText>,
    pub additional_dirs: Vec<SettingsText>,
    /// `defaultMode`.
    pub mode: Option<SettingsText>,
}

/// The content of one settings file.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingsFile {
    pub owner: SettingsOwner,
    /// The file as the user would write it, or the flag.
    pub place: String,
    pub permissions: SettingsPermissions,
    /// Variables by name, each with its value.
    pub env: Vec<(String, SettingsText)>,
    pub hooks: HookList,
    /// Names of `.mcp.json` servers not to use.
    pub disabled_servers: Vec<String>,
    /// `outputStyle`: reported in frames, without effect here.
    pub output_style: Option<String>,
    pub sandbox: SettingsSandbox,
    /// The origin of `"disableBypassPermissionsMode": "disable"`.
    pub no_bypass: Option<Origin>,
    /// Settings without effect here, each with its origin: `statusLine (.claude/settings.json:4)`.
    pub unused: Vec<String>,
}

/// `sandbox` of a settings file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsSandbox {
    pub enabled: Option<bool>,
    /// `failIfUnavailable`.
    pub required: Option<(bool, Origin)>,
}

impl SettingsFile {
    /// Returns one line about skipped hooks; `None` if there are none.
    pub(super) fn notice(&self) -> Option<String> {
        self.hooks.notice().map(|notice| format!("{}: {notice}", self.place))
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
    let path = display_path(path, cwd);
    parse(owner, &text, |line| Origin::File { path: path.clone(), line: line.unwrap_or(1) })
        .map(Some)
}

/// Reads the value of `--settings`: JSON, or else the path of an existing file.
pub(super) fn from_flag(value: &str, cwd: &Path) -> Result<SettingsFile, ConfigError> {
    let flag = Origin::Flag { name: "--settings" };
    if value.trim_start().starts_with('{') {
        return parse(SettingsOwner::Flag, value, |_| flag.clone());
    }
    read(SettingsOwner::Flag, &cwd.join(value), cwd)?.ok_or_else(|| {
        let message =
            format!("no such file: {value}; expected a file or JSON such as {{\"env\": {{}}}}");
        ConfigError::invalid(&flag, message)
    })
}

/// Parses the text of a settings file; `at` makes an origin from a line.
pub fn parse(
    owner: SettingsOwner,
    text: &str,
    at: impl Fn(Option<usize>) -> Origin,
) -> Result<SettingsFile, ConfigError> {
    let read = || -> Result<SettingsFile, ValueError> {
        let node = parse_json(text)?;
        node.table("settings")
            .map_err(|fault| ValueError { message: "must be a JSON object".to_owned(), ..fault })?;
        Ok(SettingsFile {
            owner,
            place: match at(None) {
                Origin::File { path, .. } => path.display().to_string(),
                other => other.to_string(),
            },
            permissions: permissions(node.get("permissions"), &at)?,
            env: variables(node.get("env"), &at)?,
            hooks: node
                .get("hooks")
                .map_or(Ok(HookList::default()), |hooks| hooks::from_node(hooks, &at))?,
            disabled_servers: disabled_servers(node.get(DISABLED_SERVERS))?,
            output_style: node
                .get("outputStyle")
                .and_then(|style| style.text("outputStyle").ok())
                .map(str::to_owned),
            sandbox: sandbox(node.get("sandbox"), &at)?,
            no_bypass: no_bypass(node.get("permissions"), &at)?,
            unused: unused_keys(&node, &at),
        })
    };
    read().map_err(|fault| ConfigError::invalid(&at(fault.line), fault.message))
}

/// Lists Claude Code's keys that have no effect here. A `sandbox` that is off and the default style
/// are not worth a mention.
fn unused_keys(node: &Node, at: &impl Fn(Option<usize>) -> Origin) -> Vec<String> {
    let is_said = |key: &str, value: &Node| match key {
        "sandbox" => value.get("enabled").and_then(Node::scalar) == Some("true"),
        "outputStyle" => value.scalar() != Some("default"),
        _ => true,
    };
    let keys = ["sandbox", "statusLine", "outputStyle"];
    let said = keys.into_iter().filter_map(|key| {
        let value = node.get(key).filter(|value| is_said(key, value))?;
        Some(format!("{key} ({})", at(value.line)))
    });
    said.collect()
}

fn sandbox(
    node: Option<&Node>,
    at: &impl Fn(Option<usize>) -> Origin,
) -> Result<SettingsSandbox, ValueError> {
    let Some(node) = node else { return Ok(SettingsSandbox::default()) };
    node.table("sandbox")?;
    let switch = |key: &str| -> Result<Option<(bool, Origin)>, ValueError> {
        let Some(value) = node.get(key) else { return Ok(None) };
        let on = value.scalar().and_then(|text| text.parse().ok());
        let on = on.ok_or_else(|| value.type_error(&format!("sandbox.{key}"), "true or false"))?;
        Ok(Some((on, at(value.line))))
    };
    let enabled = switch("enabled")?.map(|(on, _)| on);
    Ok(SettingsSandbox { enabled, required: switch("failIfUnavailable")? })
}

fn no_bypass(
    permissions: Option<&Node>,
    at: &impl Fn(Option<usize>) -> Origin,
) -> Result<Option<Origin>, ValueError> {
    const KEY: &str = "disableBypassPermissionsMode";
    let Some(value) = permissions.and_then(|node| node.get(KEY)) else { return Ok(None) };
    match value.text(&format!("permissions.{KEY}"))? {
        "disable" => Ok(Some(at(value.line))),
        _ => Err(value.type_error(&format!("permissions.{KEY}"), "\"disable\"")),
    }
}

fn disabled_servers(node: Option<&Node>) -> Result<Vec<String>, ValueError> {
    let Some(node) = node else { return Ok(Vec::new()) };
    let entry = format!("each entry of {DISABLED_SERVERS}");
    let name = |name: &Node| name.text(&entry).map(str::to_owned);
    node.list(DISABLED_SERVERS)?.iter().map(name).collect()
}

fn permissions(
    node: Option<&Node>,
    at: &impl Fn(Option<usize>) -> Origin,
) -> Result<SettingsPermissions, ValueError> {
    let Some(node) = node else { return Ok(SettingsPermissions::default()) };
    node.table("permissions")?;
    let written = |node: &Node, key: &str| {
        let text = node.text(key)?.to_owned();
        Ok(SettingsText { text, origin: at(node.line) })
    };
    let list = |name: &str| -> Result<Vec<SettingsText>, ValueError> {
        let key = format!("permissions.{name}");
        let Some(list) = node.get(name) else { return Ok(Vec::new()) };
        let entry = format!("each entry of {key}");
        list.list(&key)?.iter().map(|item| written(item, &entry)).collect()
    };
    let mode = node.get("defaultMode").map(|mode| written(mode, "permissions.defaultMode"));
    Ok(SettingsPermissions {
        allow: list("allow")?,
        ask: list("ask")?,
        deny: list("deny")?,
        additional_dirs: list("additionalDirectories")?,
        mode: mode.transpose()?,
    })
}

fn variables(
    node: Option<&Node>,
    at: &impl Fn(Option<usize>) -> Origin,
) -> Result<Vec<(String, SettingsText)>, ValueError> {
    let Some(node) = node else { return Ok(Vec::new()) };
    let variable = |(name, value): &(String, Node)| {
        let key = format!("env.{}", name.escape_debug());
        let text = value.scalar().ok_or_else(|| value.type_error(&key, "a quoted string"))?;
        Ok((name.clone(), SettingsText { text: text.to_owned(), origin: at(value.line) }))
    };
    node.table("env")?.iter().map(variable).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn read(text: &str) -> Result<SettingsFile, String> {
        let at = |line: Option<usize>| Origin::File {
            path: ".claude/settings.json".into(),
            line: line.unwrap_or(1),
        };
        parse(SettingsOwner::User, text, at).map_err(|error| error.to_string())
    }

    fn shown(list: &[SettingsText]) -> Vec<String> {
        list.iter().map(|written| format!("{} {}", written.origin, written.text)).collect()
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
        let at = |line: usize, text: &str| format!(".claude/settings.json:{line} {text}");
        let SettingsPermissions { allow, ask, deny, additional_dirs, mode } = &file.permissions;
        assert_eq!(shown(allow), [at(2, "Read"), at(3, "Bash(ls:*)")]);
        assert_eq!((shown(ask), shown(deny)), (vec![], vec![at(4, "WebFetch")]));
        assert_eq!(shown(additional_dirs), [at(4, "../docs")]);
        assert_eq!(shown(mode.as_slice()), [at(4, "plan")]);
        let env: Vec<_> = file
            .env
            .iter()
            .map(|(name, value)| format!("{name} {} {}", value.origin, value.text))
            .collect();
        assert_eq!(env, ["A .claude/settings.json:6 b", "N .claude/settings.json:7 3"]);
        assert_eq!(file.hooks.hooks[0].origin.to_string(), ".claude/settings.json:8");
    }

    #[test]
    fn every_mistake_names_the_file_the_line_and_what_is_allowed() {
        let table = [
            ("{\n\"a\": }", "2: not valid JSON: expected value"),
            ("[]", "1: must be a JSON object"),
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
                "2: `each entry of permissions.deny` must be a quoted string, not 3",
            ),
            ("{\"env\": {\n\"A\": []}}", "2: `env.A` must be a quoted string, not a list"),
            ("{\n\"hooks\": []}", "2: `hooks` must be an object of keys and values, not a list"),
        ];
        for (text, expected) in table {
            assert_eq!(read(text).unwrap_err(), format!(".claude/settings.json:{expected}"));
        }
        assert_eq!(read("{\"permissions\": null}").unwrap().env, []);
    }

    #[test]
    fn the_flag_takes_json_or_a_file_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mine.json"), "{\"env\": {\"A\": \"b\"}}").unwrap();
        let of = |value: &str| from_flag(value, folder.path());
        let origin = |file: SettingsFile| file.env[0].1.origin.to_string();
        assert_eq!(origin(of("mine.json").unwrap()), "mine.json:1");
        assert_eq!(origin(of("{\"env\": {\"A\": \"b\"}}").unwrap()), "--settings");
        let missing = of("none.json").unwrap_err().to_string();
        assert!(missing.starts_with("--settings: no such file: none.json; expected"), "{missing}");
        let broken = of("{").unwrap_err().to_string();
        assert!(broken.starts_with("--settings: not valid JSON: EOF"), "{broken}");
    }
}
