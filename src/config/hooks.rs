//! Hooks: commands that the user or a project runs on certain events.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toml::Value;

use super::error::{ConfigError, Origin};
use super::layers::{Origins, Setting};
use super::matcher::Matcher;
use super::node::{Node, ValueError};
use super::schema::HookTables;
use super::start::{EntryCwd, StartResolver, hook_notice};
use super::untrusted_item::{UntrustedItem, one_line};
use crate::protocol::{HookEvent, StartDir};

/// Default time limit of a hook, in seconds.
pub(super) const DEFAULT_TIMEOUT_S: f64 = 60.0;

/// Upper bound for a hook's time limit, in seconds.
const MAX_TIMEOUT_S: f64 = 86_400.0;

/// One command for one event.
#[derive(Clone, Debug, PartialEq)]
pub struct HookConfig {
    pub event: HookEvent,
    /// Matches a tool's name, an agent's type, or the cause of the event.
    pub matcher: Matcher,
    /// The `bash -c` command, without surrounding blank lines.
    pub command: String,
    pub timeout: Duration,
    /// The hook runs in the background and its output changes nothing.
    pub is_async: bool,
    pub origin: Origin,
    /// Whether the entry sets `cwd = "project"`.
    pub wants_project_cwd: bool,
    /// The folder it starts in.
    pub start: StartDir,
}

impl HookConfig {
    /// Returns the hook, started in this folder of the project or the command line.
    pub fn in_folder(self, folder: &Path) -> Self {
        Self { start: StartDir::project(folder), ..self }
    }

    /// Returns its name without the command: `hook PreToolUse(Bash)`, or `hook PreToolUse[async, 5
    /// s](Bash)` if it is async or has an unusual time limit.
    fn name(&self) -> String {
        // The matcher ends at the first text that looks like an end.
        match one_line(self.matcher.as_str(), Some("): ")).as_str() {
            "" => format!("hook {}{}", self.event.name(), self.options()),
            matcher => format!("hook {}{}({matcher})", self.event.name(), self.options()),
        }
    }

    /// Returns the options that decide whether the hook can block anything.
    fn options(&self) -> String {
        let usual = Duration::from_secs_f64(DEFAULT_TIMEOUT_S);
        let time = (self.timeout != usual).then(|| format!("{} s", self.timeout.as_secs_f64()));
        let options = self.is_async.then(|| "async".to_owned()).into_iter().chain(time);
        match options.collect::<Vec<_>>().join(", ") {
            options if options.is_empty() => options,
            options => format!("[{options}]"),
        }
    }

    /// Describes the hook in one line: `hook PreToolUse(Bash): ./lint.sh`.
    pub fn describe(&self) -> String {
        format!("{}: {}", self.name(), one_line(&self.command, None))
    }

    /// Returns the hook as an item that needs the user's trust.
    pub(super) fn untrusted_item(&self) -> UntrustedItem {
        UntrustedItem { what: self.describe(), origin: self.origin.clone() }
    }
}

/// The hooks of a settings file or of an agent's definition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookList {
    pub hooks: Vec<HookConfig>,
    /// Hooks for other programs, which are skipped: `PermissionDenied (line 4)`.
    pub skipped: Vec<String>,
}

/// A hook as written in our own files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookEntry {
    /// Which tools, agents or causes it is for: a name, names separated by `|`, or a regular expression. Absent: all.
    #[serde(default)]
    pub matcher: String,
    /// The command, run by bash. It gets the event as JSON on stdin.
    #[schemars(length(min = 1))]
    pub command: String,
    /// Time limit in seconds.
    #[serde(default = "timeout_s")]
    #[schemars(range(min = 0.001, max = 86400))]
    pub timeout_s: f64,
    /// Where your own hook starts: `project` is the project's root, once you accept that for the
    /// project. Absent: an empty folder. A project's hooks start in the folder above their file's
    /// `.caliban` or `.claude`.
    pub cwd: Option<EntryCwd>,
}

fn timeout_s() -> f64 {
    DEFAULT_TIMEOUT_S
}

/// Returns the hooks of our own files, in the order of the layers.
pub(super) fn from_tables(
    tables: &HookTables,
    origins: &Origins,
    starts: &mut StartResolver<'_>,
    notices: &mut Vec<String>,
) -> Result<Vec<HookConfig>, ConfigError> {
    let mut hooks = Vec::new();
    for (event, entries) in tables.iter() {
        for (index, entry) in entries.iter().enumerate() {
            let origin = origins.get_entry(&format!("hooks.{}", event.name()), index).clone();
            let mut hook = from_entry(*event, entry, origin.clone())
                .map_err(|why| ConfigError::invalid(&origin, why))?;
            hook.start = starts.start_of_table(hook.describe(), &origin, hook.wants_project_cwd);
            if hook.start == StartDir::Private && !hook.wants_project_cwd {
                notices.extend(hook_notice(&hook.name(), &hook.command, &origin));
            }
            hooks.push(hook);
        }
    }
    Ok(hooks)
}

/// Keeps only the hooks for which `counts` returns true.
pub(super) fn retain(
    settings: &mut [Setting],
    mut counts: impl FnMut(&HookConfig) -> bool,
) -> Result<(), ConfigError> {
    for setting in settings.iter_mut().filter(|setting| is_hooks(setting)) {
        let event = setting.path.last().and_then(|name| HookEvent::from_name(name));
        let (Some(event), Value::Array(entries)) = (event, &mut setting.value) else { continue };
        let all = std::mem::take(entries).into_iter().zip(std::mem::take(&mut setting.origins));
        for (entry, origin) in all {
            let invalid = |why: String| ConfigError::invalid(&origin, why);
            let read = HookEntry::deserialize(entry.clone())
                .map_err(|error| invalid(error.message().to_owned()))?;
            if counts(&from_entry(event, &read, origin.clone()).map_err(invalid)?) {
                entries.push(entry);
                setting.origins.push(origin);
            }
        }
    }
    Ok(())
}

fn is_hooks(setting: &Setting) -> bool {
    setting.path.first().is_some_and(|table| table == "hooks")
}

/// Reads one hook of our own files.
fn from_entry(event: HookEvent, entry: &HookEntry, origin: Origin) -> Result<HookConfig, String> {
    let key = format!("hooks.{}.matcher", event.name());
    Ok(HookConfig {
        event,
        matcher: Matcher::parse(&entry.matcher).map_err(|why| format!("`{key}` {why}"))?,
        command: entry.command.trim_matches('\n').to_owned(),
        timeout: Duration::try_from_secs_f64(entry.timeout_s).unwrap_or(Duration::MAX),
        is_async: false,
        origin,
        wants_project_cwd: entry.cwd == Some(EntryCwd::Project),
        start: StartDir::Private,
    })
}

/// Reads the format of settings files: `{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type":
/// "command", "command": "…", "timeout": 60}]}]}`. `at` makes an origin from a line. Events, types
/// and keys for other programs are skipped.
pub fn from_node(
    node: &Node,
    at: impl Fn(Option<usize>) -> Origin,
) -> Result<HookList, ValueError> {
    let mut list = HookList::default();
    for (name, groups) in node.table("hooks")? {
        let Some(event) = HookEvent::from_name(name) else {
            list.skip(&name.escape_debug().to_string(), groups);
            continue;
        };
        let key = format!("hooks.{name}");
        for group in groups.list(&key)? {
            group.table(&key)?;
            let matcher = matcher(group.get("matcher"), &key)?;
            let Some(commands) = group.get("hooks") else {
                return Err(group.error(format!("an entry of `{key}` needs a `hooks` list")));
            };
            for command in commands.list(&format!("{key}.hooks"))? {
                list.add(event, &matcher, command, &at)?;
            }
        }
    }
    Ok(list)
}

impl HookList {
    /// Returns one line that names the skipped hooks and the supported ones; `None` if none were skipped.
    pub fn notice(&self) -> Option<String> {
        let events = HookEvent::ALL.map(HookEvent::name).join(", ");
        (!self.skipped.is_empty()).then(|| {
            format!(
                "hooks skipped: {}; supported are hooks of type command, without `if`, for {events}",
                self.skipped.join(", ")
            )
        })
    }

    fn add(
        &mut self,
        event: HookEvent,
        matcher: &Matcher,
        node: &Node,
        at: &impl Fn(Option<usize>) -> Origin,
    ) -> Result<(), ValueError> {
        let key = format!("hooks.{}.hooks", event.name());
        node.table(&key)?;
        let kind = node.get("type").map(|kind| kind.text(&format!("{key}.type"))).transpose()?;
        // A condition that we don't understand must not be dropped silently.
        let strange = match kind {
            Some("command") | None => node.get("if").map(|_| "with `if`".to_owned()),
            Some(other) => Some(format!("of type {}", other.escape_debug())),
        };
        if let Some(strange) = strange {
            self.skip(&format!("a {} hook {strange}", event.name()), node);
            return Ok(());
        }
        let Some(command) = node.get("command") else {
            return Err(node.error(format!("an entry of `{key}` needs a `command`")));
        };
        let text = command.text(&format!("{key}.command"))?;
        if text.trim().is_empty() {
            return Err(command.error(format!("`{key}.command` must not be empty")));
        }
        self.hooks.push(HookConfig {
            event,
            matcher: matcher.clone(),
            command: with_arguments(text, node.get("args"), &key)?,
            timeout: timeout(node.get("timeout"), &key)?,
            is_async: is_async(node.get("async"), &key)?,
            origin: at(command.line.or(node.line)),
            wants_project_cwd: node.get("cwd").and_then(Node::scalar) == Some("project"),
            start: StartDir::Private,
        });
        Ok(())
    }

    fn skip(&mut self, what: &str, node: &Node) {
        let line = node.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        self.skipped.push(format!("{what}{line}"));
    }
}

fn matcher(node: Option<&Node>, key: &str) -> Result<Matcher, ValueError> {
    let key = format!("{key}.matcher");
    let text = node.map_or(Ok(""), |node| node.text(&key))?;
    Matcher::parse(text).map_err(|why| ValueError {
        line: node.and_then(|node| node.line),
        message: format!("`{key}` {why}"),
    })
}

/// Quotes a program and its arguments as a line for bash.
fn with_arguments(command: &str, args: Option<&Node>, key: &str) -> Result<String, ValueError> {
    let Some(args) = args else { return Ok(command.trim_matches('\n').to_owned()) };
    let key = format!("{key}.args");
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let mut line = quoted(command);
    for arg in args.list(&key)? {
        line.push(' ');
        line.push_str(&quoted(arg.text(&key)?));
    }
    Ok(line)
}

fn is_async(node: Option<&Node>, key: &str) -> Result<bool, ValueError> {
    let Some(node) = node else { return Ok(false) };
    let value = node.scalar().and_then(|text| text.parse().ok());
    value.ok_or_else(|| node.type_error(&format!("{key}.async"), "true or false"))
}

fn timeout(node: Option<&Node>, key: &str) -> Result<Duration, ValueError> {
    let Some(node) = node else { return Ok(Duration::from_secs_f64(DEFAULT_TIMEOUT_S)) };
    let seconds = node.scalar().and_then(|text| text.parse::<f64>().ok());
    let wanted = seconds.filter(|seconds| *seconds > 0.0);
    wanted
        .map(|seconds| Duration::from_secs_f64(seconds.min(MAX_TIMEOUT_S)))
        .ok_or_else(|| node.type_error(&format!("{key}.timeout"), "a number of seconds above 0"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::node::parse_json;
    use super::*;

    fn read(json: &str) -> Result<HookList, ValueError> {
        let at = |line: Option<usize>| Origin::File { path: "s.json".into(), line: line.unwrap() };
        from_node(&parse_json(json).unwrap(), at)
    }

    #[test]
    fn the_shape_of_settings_files_is_read_with_the_line_of_each_command() {
        let list = read(
            r#"{"PreToolUse": [
                {"matcher": "Bash|Edit", "hooks": [
                    {"type": "command", "command": "./lint.sh", "timeout": 2.5, "statusMessage": "x", "async": true},
                    {"command": "true"}]},
                {"hooks": [{"type": "command", "command": "/opt/check it", "args": ["a'b", "c"]}]}],
              "Stop": []}"#,
        )
        .unwrap();
        let shown: Vec<String> = list
            .hooks
            .iter()
            .map(|hook| format!("{} {:?} {}", hook.origin, hook.timeout, hook.describe()))
            .collect();
        let unheard: Vec<bool> = list.hooks.iter().map(|hook| hook.is_async).collect();
        assert_eq!(unheard, [true, false, false]);
        assert_eq!(
            shown,
            [
                "s.json:3 2.5s hook PreToolUse[async, 2.5 s](Bash|Edit): ./lint.sh",
                "s.json:4 60s hook PreToolUse(Bash|Edit): true",
                r"s.json:5 60s hook PreToolUse: '/opt/check it' 'a'\''b' 'c'",
            ]
        );
        assert!(list.skipped.is_empty());
    }

    #[test]
    fn a_time_without_end_is_a_day() {
        for seconds in ["1e19", "1e300", "600000"] {
            let hook = format!("{{\"hooks\": [{{\"command\": \"x\", \"timeout\": {seconds}}}]}}");
            let list = read(&format!("{{\"Stop\": [{hook}]}}")).unwrap();
            assert_eq!(list.hooks[0].timeout, Duration::from_secs(86_400), "{seconds}");
        }
    }

    #[test]
    fn hooks_show_as_they_are_written_and_different_ones_have_different_lines() {
        let line = |matcher: &str, command: &str| {
            let entry = HookEntry {
                matcher: matcher.to_owned(),
                command: command.to_owned(),
                timeout_s: DEFAULT_TIMEOUT_S,
                cwd: None,
            };
            from_entry(HookEvent::Stop, &entry, Origin::BuiltIn).unwrap().describe()
        };
        for (command, shown) in [
            (r#""$CLAUDE_PROJECT_DIR"/x.sh 'a'"#, r#""$CLAUDE_PROJECT_DIR"/x.sh 'a'"#),
            (r"printf 'a\n\\b'", r"printf 'a\n\\b'"),
            ("a\nb\u{1b}[2J\u{202e}\u{a0}", r"a\u{a}b\u{1b}[2J\u{202e}\u{a0}"),
            ("\u{a0}./x.sh", r"\u{a0}./x.sh"),
            (" ./x.sh\n", " ./x.sh"),
            (r"a\u{a}b", r"a\\u{a}b"),
            ("a\\\nb", r"a\\\u{a}b"),
            ("für", "für"),
            ("./te\u{1161}st.sh", r"./te\u{1161}st.sh"),
        ] {
            assert_eq!(line("", command), format!("hook Stop: {shown}"));
        }
        assert_eq!(line("(?:A)", "b): c"), "hook Stop((?:A)): b): c");
        let options = |options: &str| {
            let hook = format!("{{\"hooks\": [{{\"command\": \"x\"{options}}}]}}");
            read(&format!("{{\"Stop\": [{hook}]}}")).unwrap().hooks[0].describe()
        };
        assert_eq!(options(r#", "timeout": 60, "async": false"#), options(""));
        assert_eq!(options(r#", "async": true"#), "hook Stop[async]: x");
        assert_eq!(options(r#", "timeout": 0.01"#), "hook Stop[0.01 s]: x");
        let one = line("(?x)A #): b", "c");
        assert_eq!(one, r"hook Stop((?x)A #\u{29}: b): c");
        assert_ne!(one, line("(?x)A #", "b): c"));
    }

    #[test]
    fn what_is_for_other_programs_is_passed_over_and_named() {
        let list = read(
            r#"{"PermissionDenied": [{"hooks": [{"type": "command", "command": "x"}]}],
                "Stop": [{"hooks": [{"type": "prompt", "prompt": "done?"},
                {"type": "command", "command": "x", "if": "Bash(git *)"}]}]}"#,
        )
        .unwrap();
        assert_eq!(list.hooks, []);
        assert_eq!(
            list.skipped,
            [
                "PermissionDenied (line 1)",
                "a Stop hook of type prompt (line 2)",
                "a Stop hook with `if` (line 3)"
            ]
        );
    }

    #[test]
    fn every_mistake_names_its_line_and_what_is_allowed() {
        let hook = |hook: &str| format!("{{\"Stop\": [{{\"hooks\": [\n{hook}]}}]}}");
        let cases = [
            ("[]".to_owned(), "1: `hooks` must be an object of keys and values, not a list"),
            ("{\"Stop\":\n3}".to_owned(), "2: `hooks.Stop` must be a list, not 3"),
            ("{\"Stop\": [\n{}]}".to_owned(), "2: an entry of `hooks.Stop` needs a `hooks` list"),
            (
                "{\"Stop\": [{\"matcher\":\n1, \"hooks\": []}]}".to_owned(),
                "2: `hooks.Stop.matcher` must be a quoted string, not 1",
            ),
            (
                hook("\"x\""),
                "2: `hooks.Stop.hooks` must be an object of keys and values, not a string",
            ),
            (hook("{}"), "2: an entry of `hooks.Stop.hooks` needs a `command`"),
            (hook("{\"command\": \" \"}"), "2: `hooks.Stop.hooks.command` must not be empty"),
            (
                hook("{\"command\": [\"x\"]}"),
                "2: `hooks.Stop.hooks.command` must be a quoted string, not a list",
            ),
            (
                hook("{\"command\": \"x\", \"async\": 1}"),
                "2: `hooks.Stop.hooks.async` must be true or false, not 1",
            ),
            (
                hook("{\"command\": \"x\", \"timeout\": 0}"),
                "2: `hooks.Stop.hooks.timeout` must be a number of seconds above 0, not 0",
            ),
        ];
        for (json, expected) in cases {
            let ValueError { line, message } = read(&json).unwrap_err();
            assert_eq!(format!("{}: {message}", line.unwrap()), expected, "{json}");
        }
        let bad = read("{\"Stop\": [{\"matcher\": \"(\", \"hooks\": []}]}").unwrap_err();
        assert!(bad.message.starts_with("`hooks.Stop.matcher` must be a name"), "{}", bad.message);
    }
}
