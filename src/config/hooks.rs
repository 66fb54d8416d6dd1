//! Hooks: commands that the user or a project runs on certain events.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use toml::Value as TomlValue;

use super::error::{ConfigError, Origin};
use super::layers::{Origins, Setting};
use super::matcher::Matcher;
use super::project_start::EntryCwd;
use super::schema::{DEFAULT_TIMEOUT_S, HookEntry, HookTables, positive_seconds, timeout_s};
use super::start::{StartResolver, hook_notice};
use super::untrusted_item::{UntrustedItem, one_line};
use crate::protocol::{HookEvent, StartDir};
use crate::spanned::{Spanned, Value, ValueError, non_blank};

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
    fn new(
        event: HookEvent,
        matcher: Matcher,
        command: &str,
        timeout_s: f64,
        origin: Origin,
    ) -> Self {
        Self {
            event,
            matcher,
            command: command.trim_matches('\n').to_owned(),
            timeout: Duration::from_secs_f64(timeout_s.min(MAX_TIMEOUT_S)),
            is_async: false,
            origin,
            wants_project_cwd: false,
            start: StartDir::Private,
        }
    }

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

/// A hook in settings files and definitions. Other keys are for other programs.
#[derive(Deserialize)]
struct SettingsHook {
    #[serde(deserialize_with = "non_blank")]
    command: String,
    /// The arguments, if `command` is only a program.
    args: Option<Vec<String>>,
    /// In seconds.
    #[serde(default = "timeout_s", deserialize_with = "positive_seconds")]
    timeout: f64,
    /// Whether it runs in the background.
    #[serde(default, rename = "async")]
    is_async: bool,
}

/// The keys of [`SettingsHook`].
const SETTINGS_KEYS: [&str; 4] = ["command", "args", "timeout", "async"];

/// Hooks with one matcher, in settings files and definitions.
#[derive(Deserialize)]
struct HookGroup {
    #[serde(default)]
    matcher: Matcher,
    hooks: Option<Vec<Spanned<Value>>>,
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
            let mut hook = entry.clone().into_hook(*event, origin.clone())?;
            hook.start = starts.start_of_table(hook.describe(), &origin, hook.wants_project_cwd);
            if hook.start == StartDir::Private && !hook.wants_project_cwd {
                notices.extend(hook_notice(&hook.name(), &hook.command, &origin));
            }
            hooks.push(hook);
        }
    }
    Ok(hooks)
}

/// Keeps only the hooks for which `counts` returns true. Returns the mistakes in others, which are dropped.
pub(super) fn retain(
    settings: &mut [Setting],
    mut counts: impl FnMut(&HookConfig) -> bool,
) -> Vec<ConfigError> {
    let mut mistakes = Vec::new();
    for setting in settings
        .iter_mut()
        .filter(|setting| setting.path.first().is_some_and(|table| table == "hooks"))
    {
        let event = setting.path.last().and_then(|name| HookEvent::from_name(name));
        let (Some(event), TomlValue::Array(entries)) = (event, &mut setting.value) else {
            continue;
        };
        let all = std::mem::take(entries).into_iter().zip(std::mem::take(&mut setting.origins));
        for (entry, origin) in all {
            let read = HookEntry::deserialize(entry.clone())
                .map_err(|error| ConfigError::invalid(&origin, error.message()))
                .and_then(|read| read.into_hook(event, origin.clone()));
            match read {
                Ok(hook) if counts(&hook) => {
                    entries.push(entry);
                    setting.origins.push(origin);
                }
                Ok(_) => {}
                Err(error) => mistakes.push(error),
            }
        }
    }
    mistakes
}

impl HookEntry {
    /// Converts an entry of our own files.
    fn into_hook(self, event: HookEvent, origin: Origin) -> Result<HookConfig, ConfigError> {
        let matcher = Matcher::parse(&self.matcher).map_err(|why| {
            ConfigError::invalid(&origin, format!("`hooks.{}.matcher` {why}", event.name()))
        })?;
        Ok(HookConfig {
            wants_project_cwd: self.cwd == Some(EntryCwd::Project),
            ..HookConfig::new(event, matcher, &self.command, self.timeout_s, origin)
        })
    }
}

/// Reads the format of settings files: `{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type":
/// "command", "command": "…", "timeout": 60}]}]}`. Events, types and keys for other programs are
/// skipped.
///
/// # Errors
/// The first mistake.
pub fn read_hooks(hooks: &Spanned<Value>, file: &Origin) -> Result<HookList, ValueError> {
    let (list, mistakes) = read_valid_hooks(hooks, file);
    mistakes.into_iter().next().map_or(Ok(list), Err)
}

/// Like [`read_hooks`], but leaves out what has a mistake. Returns the mistakes beside the rest.
pub(super) fn read_valid_hooks(
    hooks: &Spanned<Value>,
    file: &Origin,
) -> (HookList, Vec<ValueError>) {
    let mut list = HookList::default();
    let events = match hooks.table() {
        Ok(events) => events,
        Err(error) => return (list, vec![error]),
    };
    let mut mistakes = Vec::new();
    for (name, groups) in events {
        match HookEvent::from_name(name) {
            Some(event) => {
                let found = list.add_groups(event, groups, file).into_iter();
                mistakes.extend(found.map(|error| error.below(name)));
            }
            None => list.skip(&name.escape_debug().to_string(), groups.line),
        }
    }
    (list, mistakes)
}

impl HookList {
    /// Returns one line that names the skipped hooks and the supported ones; `None` if none were skipped.
    pub fn notice(&self) -> Option<String> {
        let events = HookEvent::NAMES.join(", ");
        (!self.skipped.is_empty()).then(|| {
            format!(
                "hooks skipped: {}; supported are hooks of type command, without `if`, for {events}",
                self.skipped.join(", ")
            )
        })
    }

    /// Adds the hooks of an event. Returns the mistakes in the others.
    fn add_groups(
        &mut self,
        event: HookEvent,
        groups: &Spanned<Value>,
        file: &Origin,
    ) -> Vec<ValueError> {
        let groups = match groups.list() {
            Ok(groups) => groups,
            Err(error) => return vec![error],
        };
        let mut mistakes = Vec::new();
        for group in groups {
            let missing = || group.error("needs a `hooks` list");
            let read = group
                .read::<HookGroup>()
                .and_then(|HookGroup { matcher, hooks }| Ok((matcher, hooks.ok_or_else(missing)?)));
            match read {
                Ok((matcher, hooks)) => mistakes.extend(hooks.iter().filter_map(|hook| {
                    let error = self.add(event, &matcher, hook, file).err()?;
                    Some(error.in_list().below("hooks"))
                })),
                Err(error) => mistakes.push(error.in_list()),
            }
        }
        mistakes
    }

    fn add(
        &mut self,
        event: HookEvent,
        matcher: &Matcher,
        hook: &Spanned<Value>,
        file: &Origin,
    ) -> Result<(), ValueError> {
        hook.table()?;
        let kind = hook.get("type").map(Spanned::read::<String>).transpose();
        let kind = kind.map_err(|error| error.below("type"))?;
        // A condition that we don't understand must not be dropped silently.
        let strange = match kind.as_deref() {
            Some("command") | None => hook.get("if").map(|_| "with `if`".to_owned()),
            Some(other) => Some(format!("of type {}", other.escape_debug())),
        };
        if let Some(strange) = strange {
            self.skip(&format!("a {} hook {strange}", event.name()), hook.line);
            return Ok(());
        }
        let SettingsHook { command, args, timeout, is_async } = hook.read_keys(&SETTINGS_KEYS)?;
        let quoted = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
        let command = match args {
            None => command,
            Some(args) => {
                let words = std::iter::once(&command).chain(&args).map(quoted);
                words.collect::<Vec<_>>().join(" ")
            }
        };
        let line = hook.get("command").map_or(hook.line, |command| command.line);
        self.hooks.push(HookConfig {
            is_async,
            // Other programs may know other folders.
            wants_project_cwd: hook.get("cwd").and_then(Spanned::scalar) == Some("project"),
            ..HookConfig::new(event, matcher.clone(), &command, timeout, file.at_line(line))
        });
        Ok(())
    }

    fn skip(&mut self, what: &str, line: usize) {
        self.skipped.push(format!("{what} (line {line})"));
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::spanned::json::parse_json;

    fn read(json: &str) -> Result<HookList, ValueError> {
        let file = Origin::File { path: "s.json".into(), line: 1 };
        read_hooks(&parse_json(json).unwrap(), &file).map_err(|error| error.below("hooks"))
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
        let are_async: Vec<bool> = list.hooks.iter().map(|hook| hook.is_async).collect();
        assert_eq!(are_async, [true, false, false]);
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
            entry.into_hook(HookEvent::Stop, Origin::BuiltIn).unwrap().describe()
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
                "2: an entry of `hooks.Stop.hooks` must be an object of keys and values, not a string",
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
            let error = read(&json).unwrap_err();
            assert_eq!(format!("{}: {error}", error.line), expected, "{json}");
        }
        let bad = read("{\"Stop\": [{\"matcher\": \"(\", \"hooks\": []}]}").unwrap_err();
        assert!(bad.to_string().starts_with("`hooks.Stop.matcher` must be a name"), "{bad}");
    }
}
