//! Parses one configuration file into checked settings, each with its line. The JSON schema says what is allowed.

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde_json::Value as Schema;
use toml::de::{DeString, DeTable, DeValue, Error};
use toml::{Spanned, Value};

use super::error::{ConfigError, Origin};
use super::layers::Setting;
use super::trust_filter::{is_accepted_whole, may_narrow};

/// Keys that have a second name: the table, that name and the key.
pub(super) const ALIASES: [(&str, &str, &str); 2] = [
    ("subagents", "enable_comms", "comms"),
    ("subagents", "inherit_system_prompt", "inherit_tool_instructions"),
];

/// Parses a file's text and checks every key and value against the schema. Settings keep the order of the file.
pub(super) fn parse(
    text: &str,
    schema: &Schema,
    file: &Origin,
) -> Result<Vec<Setting>, ConfigError> {
    let mut reader = DocumentReader::new(text, file);
    reader.document(text, schema)?;
    Ok(reader.settings)
}

/// A mistake in a project's file that leaves out the value of a key.
pub(super) struct DocumentMistake {
    /// The key and those above it.
    pub path: Vec<String>,
    pub error: ConfigError,
}

/// Like [`parse`], but a mistake in what needs the user's trust, and could not narrow anything,
/// leaves that out, and so does an unknown key while the user trusts nothing of the project. Returns
/// these mistakes too.
pub(super) fn parse_project(
    text: &str,
    schema: &Schema,
    file: &Origin,
    is_trusted: bool,
) -> Result<(Vec<Setting>, Vec<DocumentMistake>), ConfigError> {
    let mut reader = DocumentReader::new(text, file);
    reader.skips_unknown_keys = !is_trusted;
    reader.mistakes = Some(Vec::new());
    reader.document(text, schema)?;
    Ok((reader.settings, reader.mistakes.unwrap_or_default()))
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

struct DocumentReader<'a> {
    file: &'a Origin,
    lines: LineIndex,
    path: Vec<String>,
    settings: Vec<Setting>,
    /// The invalid entries skipped so far; `None` if an invalid entry is an error.
    mistakes: Option<Vec<DocumentMistake>>,
    /// Whether an unknown key is such an entry, wherever it is.
    skips_unknown_keys: bool,
}

impl<'a> DocumentReader<'a> {
    fn new(text: &str, file: &'a Origin) -> Self {
        let lines = LineIndex::new(without_mark(text));
        let (path, settings) = (Vec::new(), Vec::new());
        Self { file, lines, path, settings, mistakes: None, skips_unknown_keys: false }
    }
}

impl DocumentReader<'_> {
    fn document(&mut self, text: &str, schema: &Schema) -> Result<(), ConfigError> {
        let table =
            DeTable::parse(without_mark(text)).map_err(|error| self.syntax_error(&error))?;
        self.table(table.get_ref(), schema)
    }

    fn table(&mut self, table: &DeTable<'_>, schema: &Schema) -> Result<(), ConfigError> {
        for key in table.keys() {
            let (depth, first) = (self.path.len(), self.settings.len());
            if let Err(error) = self.entry(table, key, schema) {
                self.path.truncate(depth);
                self.settings.truncate(first);
                self.leave_out(key.get_ref(), schema, error)?;
            }
        }
        Ok(())
    }

    /// Reads the value of a key of the table.
    fn entry(
        &mut self,
        table: &DeTable<'_>,
        key: &Spanned<DeString<'_>>,
        schema: &Schema,
    ) -> Result<(), ConfigError> {
        let name: &str = key.get_ref();
        let known = self.canonical_key(name);
        let (Some(node), Some(inner)) = (table.get(name), key_schema(schema, known)) else {
            return Err(self.error(key.span().start, self.unknown_key_message(name, schema)));
        };
        let (depth, first) = (self.path.len(), self.settings.len());
        // Errors name the key as it is written.
        self.path.push(name.to_owned());
        self.value(node, inner)?;
        self.path.pop();
        if known != name {
            let other = table.get(known);
            if let Some(other) = other {
                self.check_same((name, node), (known, other), key.span().start)?;
                self.settings.truncate(first);
            }
            self.settings[first..].iter_mut().for_each(|it| it.path[depth] = known.to_owned());
        }
        Ok(())
    }

    /// Records the mistake in a key of the current table; it is an error if the key might narrow
    /// something, or if it means nothing without its table.
    fn leave_out(
        &mut self,
        name: &str,
        schema: &Schema,
        error: ConfigError,
    ) -> Result<(), ConfigError> {
        let known = self.canonical_key(name);
        let above = self.path.join(".");
        let path: Vec<String> = self.path.iter().cloned().chain([known.to_owned()]).collect();
        // An unknown key may stand for any in its table.
        let narrows = match key_schema(schema, known) {
            Some(_) => may_narrow(&path.join(".")),
            None => !self.skips_unknown_keys && may_narrow(&above),
        };
        match &mut self.mistakes {
            Some(mistakes) if !narrows && !is_accepted_whole(&path) => {
                mistakes.push(DocumentMistake { path, error });
                Ok(())
            }
            _ => Err(error),
        }
    }

    fn value(&mut self, node: &Spanned<DeValue<'_>>, schema: &Schema) -> Result<(), ConfigError> {
        if let DeValue::Table(table) = node.get_ref()
            && is_table(schema)
        {
            return self.table(table, schema);
        }
        let start = node.span().start;
        let value = self.plain(node)?;
        check_value(&value, schema).map_err(|why| self.error(start, self.value_message(&why)))?;
        let mut starts = vec![start];
        if let (DeValue::Array(items), Value::Array(values)) = (node.get_ref(), &value) {
            starts = items.iter().map(|item| item.span().start).collect();
            if is_table(&schema["items"]) {
                self.tables(items, &schema["items"])?;
            }
            for (start, value) in starts.iter().zip(values) {
                check_value(value, &schema["items"]).map_err(|why| {
                    self.error(*start, format!("each entry of {}", self.value_message(&why)))
                })?;
            }
        }
        let origins = starts.into_iter().map(|start| self.origin(start)).collect();
        self.settings.push(Setting { path: self.path.clone(), value, origins });
        Ok(())
    }

    /// Checks each table of a list of tables. The list stays one value; only the keys of its tables are checked here.
    fn tables(
        &mut self,
        items: &[Spanned<DeValue<'_>>],
        schema: &Schema,
    ) -> Result<(), ConfigError> {
        let settings = self.settings.len();
        // An entry means nothing without one of its keys.
        let mistakes = self.mistakes.take();
        let mut tables = items.iter().filter_map(|item| match item.get_ref() {
            DeValue::Table(table) => Some((item.span().start, table)),
            _ => None,
        });
        let checked = tables.try_for_each(|(start, table)| {
            self.table(table, schema)?;
            self.require(start, table, schema)
        });
        self.mistakes = mistakes;
        self.settings.truncate(settings);
        checked
    }

    /// Checks that a table of a list has its required keys: no other layer can add them.
    fn require(
        &self,
        offset: usize,
        table: &DeTable<'_>,
        schema: &Schema,
    ) -> Result<(), ConfigError> {
        let required = schema["required"].as_array().into_iter().flatten();
        let missing = required.filter_map(Schema::as_str).find(|key| !table.contains_key(*key));
        missing.map_or(Ok(()), |key| {
            Err(self.error(offset, self.value_message(&format!("needs a `{key}`"))))
        })
    }

    /// Returns the value without its places.
    fn plain(&self, node: &Spanned<DeValue<'_>>) -> Result<Value, ConfigError> {
        Value::deserialize(node.clone().into_deserializer())
            .map_err(|error| self.syntax_error(&error))
    }

    /// Returns the key that an alias of this table stands for; any other name is returned unchanged.
    fn canonical_key<'a>(&self, name: &'a str) -> &'a str {
        let alias =
            ALIASES.iter().find(|(table, alias, _)| self.path == [*table] && *alias == name);
        alias.map_or(name, |(_, _, known)| known)
    }

    /// Checks that an alias and its key, if both are in the file, have the same value.
    fn check_same(
        &self,
        (alias, value): (&str, &Spanned<DeValue<'_>>),
        (known, other): (&str, &Spanned<DeValue<'_>>),
        offset: usize,
    ) -> Result<(), ConfigError> {
        if self.plain(value)? == self.plain(other)? {
            return Ok(());
        }
        let table = self.path.join(".");
        let message =
            format!("`{alias}` and `{known}` in [{table}] mean the same but differ: remove one");
        Err(self.error(offset, message))
    }

    fn origin(&self, offset: usize) -> Origin {
        self.file.at_line(self.lines.line_at(offset))
    }

    fn error(&self, offset: usize, message: String) -> ConfigError {
        ConfigError::invalid(&self.origin(offset), message)
    }

    fn syntax_error(&self, error: &Error) -> ConfigError {
        let start = error.span().map_or(0, |span| span.start);
        self.error(start, format!("not valid TOML: {}", error.message()))
    }

    fn value_message(&self, why: &str) -> String {
        format!("`{}` {why}", self.path.join("."))
    }

    fn unknown_key_message(&self, name: &str, schema: &Schema) -> String {
        let table = match self.path.join(".") {
            top if top.is_empty() => "at the top level".to_owned(),
            table => format!("in [{table}]"),
        };
        let name = name.escape_debug();
        match schema["properties"].as_object() {
            Some(allowed) => {
                let allowed: Vec<&str> = allowed.keys().map(String::as_str).collect();
                format!("unknown key `{name}` {table}; allowed: {}", allowed.join(", "))
            }
            None => format!("invalid name `{name}` {table}; use letters, digits, - and _"),
        }
    }
}

/// Returns the schema of the key `name` in a table, or `None` if the table has no such key.
pub(super) fn key_schema<'a>(schema: &'a Schema, name: &str) -> Option<&'a Schema> {
    match schema.get("properties") {
        Some(properties) => properties.get(name),
        None => schema.get("additionalProperties").filter(|_| {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            !name.is_empty() && name.chars().all(plain)
        }),
    }
}

pub(super) fn is_table(schema: &Schema) -> bool {
    schema["type"] == "object"
}

/// Checks that a value other than a table fits its schema. The error continues a sentence that starts with the key.
pub fn check_value(value: &Value, schema: &Schema) -> Result<(), String> {
    if let Some(options) = choices(schema) {
        let on = value.as_bool().map(Schema::Bool);
        if on.is_some_and(|on| schema["enum"].as_array().is_some_and(|all| all.contains(&on))) {
            return Ok(());
        }
        return match value.as_str() {
            Some(text) if options.contains(&text) => Ok(()),
            Some(text) => Err(format!("cannot be {text:?}; allowed: {}", options.join(", "))),
            None => Err(format!(
                "must be one of: {}, not {}",
                options.join(", "),
                describe_value(value)
            )),
        };
    }
    let number = match (schema["type"].as_str().unwrap_or_default(), value) {
        ("string", Value::String(text)) => {
            let blank = schema["minLength"].as_u64().is_some() && text.trim().is_empty();
            return if blank { Err("must not be empty".to_owned()) } else { Ok(()) };
        }
        ("boolean", Value::Boolean(_)) | ("array", Value::Array(_)) => return Ok(()),
        ("integer" | "number", Value::Integer(number)) => *number as f64,
        ("number", Value::Float(number)) if number.is_finite() => *number,
        ("object", Value::Table(_)) => return Ok(()),
        (expected, _) => {
            return Err(format!(
                "must be {}, not {}",
                describe_type(expected),
                describe_value(value)
            ));
        }
    };
    if let Some(least) = schema["minimum"].as_f64().filter(|least| number < *least) {
        return Err(format!("must be at least {least}, not {number}"));
    }
    let type_max = if schema["format"] == "uint32" { Some(f64::from(u32::MAX)) } else { None };
    let most = schema["maximum"].as_f64().or(type_max);
    match most.filter(|most| number > *most) {
        Some(most) => Err(format!("must be at most {most}, not {number}")),
        None => Ok(()),
    }
}

/// Returns the strings that a schema allows if it is a choice: an `enum`, or one constant per described option.
pub(super) fn choices(schema: &Schema) -> Option<Vec<&str>> {
    if let Some(list) = schema["enum"].as_array() {
        return Some(list.iter().filter_map(Schema::as_str).collect());
    }
    let options = schema["oneOf"].as_array()?.iter();
    let texts = options.flat_map(|option| match (&option["const"], choices(option)) {
        (Schema::String(text), _) => vec![text.as_str()],
        (_, more) => more.unwrap_or_default(),
    });
    Some(texts.collect())
}

fn describe_type(schema_type: &str) -> &'static str {
    match schema_type {
        "object" => "a table",
        "array" => "a list",
        "string" => "a quoted string",
        "boolean" => "true or false",
        "integer" => "a whole number",
        _ => "a number",
    }
}

fn describe_value(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a string",
        Value::Integer(_) => "a whole number",
        Value::Float(number) if number.is_finite() => "a number with a fraction",
        Value::Float(_) => "an infinite number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}

/// The start of each line, so that looking up a line does not read the text again.
struct LineIndex(Vec<usize>);

impl LineIndex {
    fn new(text: &str) -> Self {
        let starts = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(std::iter::once(0).chain(starts.map(|(at, _)| at + 1)).collect())
    }

    fn line_at(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset).max(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::schema::SCHEMA;

    fn read(text: &str) -> Result<Vec<Setting>, ConfigError> {
        parse(text, &SCHEMA, &at(1))
    }

    fn at(line: usize) -> Origin {
        Origin::File { path: "c.toml".into(), line }
    }

    fn error(text: &str) -> String {
        read(text).unwrap_err().to_string().replace("c.toml:", "")
    }

    #[test]
    fn an_alias_counts_as_its_key_and_must_not_contradict_it() {
        let entry = |path: &str, value: bool, line: usize| Setting {
            path: path.split('.').map(str::to_owned).collect(),
            value: Value::Boolean(value),
            origins: vec![at(line)],
        };
        let text = "[subagents]\nenable_comms = true\ninherit_system_prompt = false";
        let expected = [
            entry("subagents.comms", true, 2),
            entry("subagents.inherit_tool_instructions", false, 3),
        ];
        assert_eq!(read(text).unwrap(), expected);
        let same = "[subagents]\ncomms = true\nenable_comms = true";
        assert_eq!(read(same).unwrap(), [entry("subagents.comms", true, 2)]);
        for (alias, key) in
            [("enable_comms", "comms"), ("inherit_system_prompt", "inherit_tool_instructions")]
        {
            for (first, second) in [(alias, key), (key, alias)] {
                let line = if first == alias { 2 } else { 3 };
                assert_eq!(
                    error(&format!("[subagents]\n{first} = true\n{second} = false")),
                    format!(
                        "{line}: `{alias}` and `{key}` in [subagents] mean the same but differ: remove one"
                    )
                );
            }
        }
        assert_eq!(
            error("[subagents]\nenable_comms = 1"),
            "2: `subagents.enable_comms` must be true or false, not a whole number"
        );
        assert!(
            error("[tui]\nenable_comms = true").contains("unknown key `enable_comms` in [tui]")
        );
    }

    #[test]
    fn every_kind_of_mistake_names_its_line_its_key_and_what_is_allowed() {
        let table = [
            (
                "[model]\nname = \"m\"\n\nmodle = \"x\"",
                "4: unknown key `modle` in [model]; allowed: name, provider, max_tokens, effort",
            ),
            (
                "[modle]\nname = \"m\"",
                "1: unknown key `modle` at the top level; allowed: model, providers, permissions, hooks, budget, mcp_servers, subagents, tui, session, log",
            ),
            (
                "[providers.work]\nkind = \"gemeni\"",
                "2: `providers.work.kind` cannot be \"gemeni\"; allowed: anthropic, openai_chat, openai_responses, gemini, scripted",
            ),
            (
                "[providers.\"a b\"]\nkind = \"anthropic\"",
                "1: invalid name `a b` in [providers]; use letters, digits, - and _",
            ),
            ("model = 3", "1: `model` must be a table, not a whole number"),
            ("[model]\nname = [\"m\"]", "2: `model.name` must be a quoted string, not a list"),
            ("[model]\nname = \" \"", "2: `model.name` must not be empty"),
            (
                "[model]\nmax_tokens = 0.5",
                "2: `model.max_tokens` must be a whole number, not a number with a fraction",
            ),
            ("[model]\nmax_tokens = 0", "2: `model.max_tokens` must be at least 1, not 0"),
            (
                "[model]\nmax_tokens = 4294967296",
                "2: `model.max_tokens` must be at most 4294967295, not 4294967296",
            ),
            (
                "[budget]\nmax_usd = inf",
                "2: `budget.max_usd` must be a number, not an infinite number",
            ),
            (
                "[providers.openai]\nmax_retries = -1",
                "2: `providers.openai.max_retries` must be at least 0, not -1",
            ),
            ("[budget]\nmax_usd = -1", "2: `budget.max_usd` must be at least 0, not -1"),
            (
                "[permissions]\nmode = \"yolo\"",
                "2: `permissions.mode` cannot be \"yolo\"; allowed: default, acceptEdits, plan, dontAsk, bypassPermissions",
            ),
            (
                "[permissions]\nallow = [\n  \"Read\",\n  3,\n]",
                "4: each entry of `permissions.allow` must be a quoted string, not a whole number",
            ),
            (
                "[permissions]\ndeny = \"Read\"",
                "2: `permissions.deny` must be a list, not a string",
            ),
            (
                "[[hooks.PreToolUse]]\ncommand = \"x\"\n[[hooks.Pretooluse]]\ncommand = \"x\"",
                "3: unknown key `Pretooluse` in [hooks]; allowed: PreToolUse, PostToolUse, PostToolUseFailure, PostToolBatch, PermissionRequest, UserPromptSubmit, SubagentStart, SubagentStop, Stop, SessionStart, SessionEnd, PreCompact, Notification",
            ),
            (
                "[[hooks.Stop]]\ncommand = \"x\"\n[[hooks.Stop]]\ncomand = \"x\"",
                "4: unknown key `comand` in [hooks.Stop]; allowed: matcher, command, timeout_s, cwd",
            ),
            ("\n[[hooks.Stop]]\nmatcher = \"x\"", "2: `hooks.Stop` needs a `command`"),
            ("[hooks.Stop]\ncommand = \"x\"", "1: `hooks.Stop` must be a list, not a table"),
            (
                "[[hooks.Stop]]\ncommand = \"x\"\ntimeout_s = 0",
                "3: `hooks.Stop.timeout_s` must be at least 0.001, not 0",
            ),
            (
                "[hooks]\nStop = [\n3]",
                "3: each entry of `hooks.Stop` must be a table, not a whole number",
            ),
            ("[[hooks.Stop]]\ncommand = \"\"", "2: `hooks.Stop.command` must not be empty"),
            (
                "[tui]\npanes = \"left\"",
                "2: `tui.panes` cannot be \"left\"; allowed: auto, right, below, rows",
            ),
            ("[tui]\nmouse = 1", "2: `tui.mouse` must be true or false, not a whole number"),
            (
                "[subagents]\ntool_name = true",
                "2: `subagents.tool_name` must be one of: AgentTool, Agent, Task, not true or false",
            ),
            (
                "[log]\nlevel = \"loud\"",
                "2: `log.level` cannot be \"loud\"; allowed: off, error, warn, info, debug, trace",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(error(text), expected, "{text}");
        }
    }

    #[test]
    fn broken_toml_names_its_line() {
        let table = ["[model]\nname = ", "[model]\nname = \"a\"\nname = \"b\"", "[model]\n[model"];
        for (text, line) in table.iter().zip([2, 3, 2]) {
            let error = error(text);
            assert!(error.starts_with(&format!("{line}: not valid TOML: ")), "{error}");
        }
    }

    #[test]
    fn values_keep_their_lines_whichever_way_tables_are_written() {
        let text = "\u{feff}model.name = \"m\"\r\nproviders = { x = { kind = \"anthropic\" } }\r\n\
                    [permissions]\r\nallow = [\"Read\",\r\n\"Grep\"]\r\n";
        let settings = read(text).unwrap();
        let found: Vec<(String, Vec<Origin>)> =
            settings.into_iter().map(|setting| (setting.key(), setting.origins)).collect();
        let expected = [
            ("model.name", vec![at(1)]),
            ("providers.x.kind", vec![at(2)]),
            ("permissions.allow", vec![at(4), at(5)]),
        ];
        assert_eq!(found, expected.map(|(path, lines)| (path.to_owned(), lines)));
    }

    #[test]
    fn no_nesting_overflows_the_stack() {
        for (start, middle, end) in [
            ("a = ", "[", ""),
            ("model = ", "{a=", ""),
            ("", "a.", "a = 1"),
            ("[", "a.", "a]"),
            ("[[", "a.", "a]]"),
            ("model = {", "a.", "a = 1}"),
        ] {
            let text = format!("{start}{}{end}", middle.repeat(400_000 / middle.len()));
            read(&text).unwrap_err();
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "[\\[\\]{}=\"'a-z0-9.,\n# \u{e9}-]{0,60}") {
            let _ = read(&text);
        }
    }
}
