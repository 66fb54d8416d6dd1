//! Files of the shape that Claude Code's `settings.json` has, as far as it concerns this program:
//! `permissions`, `hooks`, `env`, `sandbox` and `disabledMcpjsonServers`. What else stands there is
//! for other programs and passed over.

use std::path::{Path, PathBuf};

use super::dirs::Dirs;
use super::error::{ConfigError, Origin, shown};
use super::hooks::{self, HookList};
use super::load::read_text;
use super::node::{Misfit, Node, parse_json};
use super::project::{LOCAL_SETTINGS, Project, SETTINGS};

const DISABLED_SERVERS: &str = "disabledMcpjsonServers";

/// Whose a settings file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// In the person's home directory.
    Person,
    /// The project's `.claude/settings.json`, which comes with it.
    Shared,
    /// The project's `.claude/settings.local.json`.
    Local,
    /// Given with `--settings`.
    Flag,
}

impl Owner {
    /// Whether it lies in the project's folder, which the person may have cloned and never read.
    #[must_use]
    pub fn is_project(self) -> bool {
        matches!(self, Self::Shared | Self::Local)
    }
}

/// A text and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub text: String,
    pub origin: Origin,
}

/// `permissions` of a settings file, as it is written: no rule is parsed and no mode looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenPermissions {
    pub allow: Vec<Written>,
    pub ask: Vec<Written>,
    pub deny: Vec<Written>,
    pub additional_dirs: Vec<Written>,
    /// `defaultMode`.
    pub mode: Option<Written>,
}

/// What one settings file says.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingsFile {
    pub owner: Owner,
    /// The file as the person would write it, or the flag.
    pub place: String,
    pub permissions: WrittenPermissions,
    /// Variables by name, each with its value.
    pub env: Vec<(String, Written)>,
    pub hooks: HookList,
    /// Servers of `.mcp.json` that are not to be used, by name.
    pub disabled_servers: Vec<String>,
    /// `outputStyle`: frames name it, and it does nothing here.
    pub output_style: Option<String>,
    pub sandbox: WrittenSandbox,
    /// Where `permissions.disableBypassPermissionsMode` says `disable`.
    pub no_bypass: Option<Origin>,
    /// Settings that change nothing here, each with its place: `statusLine (.claude/settings.json:4)`.
    pub unused: Vec<String>,
}

/// `sandbox` of a settings file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenSandbox {
    pub enabled: Option<bool>,
    /// `failIfUnavailable`.
    pub required: Option<(bool, Origin)>,
}

impl SettingsFile {
    /// One line about the hooks that are not run here; `None` when there are none.
    pub(super) fn notice(&self) -> Option<String> {
        self.hooks.notice().map(|notice| format!("{}: {notice}", self.place))
    }
}

/// The settings files that are read where they are there, lowest first.
pub(super) fn places(project: &Project, dirs: &Dirs) -> Vec<(Owner, PathBuf)> {
    let [shared, local] = [SETTINGS, LOCAL_SETTINGS].map(|file| project.claude_root.join(file));
    let shared = Some(shared).filter(|_| project.sources.project);
    let local = Some(local).filter(|_| project.sources.local);
    let person = dirs.claude.as_ref().map(|folder| folder.join("settings.json"));
    // In one's home directory this is the person's own file, which is read already.
    let shared = shared.filter(|shared| person.as_ref() != Some(shared));
    let files = [(Owner::Person, person), (Owner::Shared, shared), (Owner::Local, local)];
    files.into_iter().filter_map(|(owner, file)| Some((owner, file?))).collect()
}

/// Reads a settings file; `None` when there is none.
pub(super) fn read(
    owner: Owner,
    path: &Path,
    cwd: &Path,
) -> Result<Option<SettingsFile>, ConfigError> {
    let Some(text) = read_text(path, cwd)? else { return Ok(None) };
    let path = shown(path, cwd);
    parse(owner, &text, |line| Origin::File { path: path.clone(), line: line.unwrap_or(1) })
        .map(Some)
}

/// What `--settings` gives: JSON, or else the path of a file, which must be there.
pub(super) fn of_flag(value: &str, cwd: &Path) -> Result<SettingsFile, ConfigError> {
    let flag = Origin::Flag { name: "--settings" };
    if value.trim_start().starts_with('{') {
        return parse(Owner::Flag, value, |_| flag.clone());
    }
    read(Owner::Flag, &cwd.join(value), cwd)?.ok_or_else(|| {
        let message =
            format!("there is no file {value}; it takes a file or JSON such as {{\"env\": {{}}}}");
        ConfigError::invalid(&flag, message)
    })
}

/// Reads the text of a settings file; `at` makes an origin of a line.
pub fn parse(
    owner: Owner,
    text: &str,
    at: impl Fn(Option<usize>) -> Origin,
) -> Result<SettingsFile, ConfigError> {
    let read = || -> Result<SettingsFile, Misfit> {
        let node = parse_json(text)?;
        node.table("settings")
            .map_err(|fault| Misfit { message: "must be a JSON object".to_owned(), ..fault })?;
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
                .map_or(Ok(HookList::default()), |hooks| hooks::of_node(hooks, &at))?,
            disabled_servers: names(node.get(DISABLED_SERVERS))?,
            output_style: node
                .get("outputStyle")
                .and_then(|style| style.text("outputStyle").ok())
                .map(str::to_owned),
            sandbox: sandbox(node.get("sandbox"), &at)?,
            no_bypass: no_bypass(node.get("permissions"), &at)?,
            unused: unused(&node, &at),
        })
    };
    read().map_err(|fault| ConfigError::invalid(&at(fault.line), fault.message))
}

/// Keys of Claude Code that change nothing here. A `sandbox` that is off is no loss, and neither is
/// the usual style.
fn unused(node: &Node, at: &impl Fn(Option<usize>) -> Origin) -> Vec<String> {
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
) -> Result<WrittenSandbox, Misfit> {
    let Some(node) = node else { return Ok(WrittenSandbox::default()) };
    node.table("sandbox")?;
    let switch = |key: &str| -> Result<Option<(bool, Origin)>, Misfit> {
        let Some(value) = node.get(key) else { return Ok(None) };
        let on = value.scalar().and_then(|text| text.parse().ok());
        let on = on.ok_or_else(|| value.must_be(&format!("sandbox.{key}"), "true or false"))?;
        Ok(Some((on, at(value.line))))
    };
    let enabled = switch("enabled")?.map(|(on, _)| on);
    Ok(WrittenSandbox { enabled, required: switch("failIfUnavailable")? })
}

fn no_bypass(
    permissions: Option<&Node>,
    at: &impl Fn(Option<usize>) -> Origin,
) -> Result<Option<Origin>, Misfit> {
    const KEY: &str = "disableBypassPermissionsMode";
    let Some(value) = permissions.and_then(|node| node.get(KEY)) else { return Ok(None) };
    match value.text(&format!("permissions.{KEY}"))? {
        "disable" => Ok(Some(at(value.line))),
        _ => Err(value.must_be(&format!("permissions.{KEY}"), "\"disable\"")),
    }
}

fn names(node: Option<&Node>) -> Result<Vec<String>, Misfit> {
    let Some(node) = node else { return Ok(Vec::new()) };
    let entry = format!("each entry of {DISABLED_SERVERS}");
    let name = |name: &Node| name.text(&entry).map(str::to_owned);
    node.list(DISABLED_SERVERS)?.iter().map(name).collect()
}

fn permissions(
    node: Option<&Node>,
    at: &impl Fn(Option<usize>) -> Origin,
) -> Result<WrittenPermissions, Misfit> {
    let Some(node) = node else { return Ok(WrittenPermissions::default()) };
    node.table("permissions")?;
    let written = |node: &Node, key: &str| {
        let text = node.text(key)?.to_owned();
        Ok(Written { text, origin: at(node.line) })
    };
    let list = |name: &str| -> Result<Vec<Written>, Misfit> {
        let key = format!("permissions.{name}");
        let Some(list) = node.get(name) else { return Ok(Vec::new()) };
        let entry = format!("each entry of {key}");
        list.list(&key)?.iter().map(|item| written(item, &entry)).collect()
    };
    let mode = node.get("defaultMode").map(|mode| written(mode, "permissions.defaultMode"));
    Ok(WrittenPermissions {
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
) -> Result<Vec<(String, Written)>, Misfit> {
    let Some(node) = node else { return Ok(Vec::new()) };
    let variable = |(name, value): &(String, Node)| {
        let key = format!("env.{}", name.escape_debug());
        let text = value.scalar().ok_or_else(|| value.must_be(&key, "a text in quotes"))?;
        Ok((name.clone(), Written { text: text.to_owned(), origin: at(value.line) }))
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
        parse(Owner::Person, text, at).map_err(|error| error.to_string())
    }

    fn shown(list: &[Written]) -> Vec<String> {
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
        let WrittenPermissions { allow, ask, deny, additional_dirs, mode } = &file.permissions;
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
                "2: `permissions.allow` must be a list, not a text",
            ),
            (
                "{\"permissions\": {\"deny\": [\"Read\",\n3]}}",
                "2: `each entry of permissions.deny` must be a text in quotes, not 3",
            ),
            ("{\"env\": {\n\"A\": []}}", "2: `env.A` must be a text in quotes, not a list"),
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
        let of = |value: &str| of_flag(value, folder.path());
        let origin = |file: SettingsFile| file.env[0].1.origin.to_string();
        assert_eq!(origin(of("mine.json").unwrap()), "mine.json:1");
        assert_eq!(origin(of("{\"env\": {\"A\": \"b\"}}").unwrap()), "--settings");
        let missing = of("none.json").unwrap_err().to_string();
        assert!(
            missing.starts_with("--settings: there is no file none.json; it takes"),
            "{missing}"
        );
        let broken = of("{").unwrap_err().to_string();
        assert!(broken.starts_with("--settings: not valid JSON: EOF"), "{broken}");
    }
}
