//! Sets one key in the text of a `config.toml` file, leaving the rest unchanged.

use serde_json::Value as Schema;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

use super::document::{ALIASES, check_value, choices, is_table, key_schema};
use super::schema::SCHEMA;
use super::trust_filter::is_users_alone;
use crate::protocol::{Secret, likeness};

/// How alike a key and a suggestion for it must be, between 0 and 1.
const LIKENESS: f32 = 0.7;

/// A key and its new value, both as the schema allows them.
#[derive(Clone, Debug)]
pub struct ConfigEdit {
    path: Vec<String>,
    /// It may be a key for a provider or a server.
    value: Secret<Value>,
}

impl ConfigEdit {
    /// Parses a key such as `model.effort` and a value as written on a command line.
    ///
    /// # Errors
    /// Says in one line what is wrong with the key or the value, and what is allowed.
    pub fn parse(key: &str, value: &str) -> Result<Self, String> {
        let path: Vec<String> = key.split('.').map(str::to_owned).collect();
        let path = canonical(path);
        let schema = path.iter().try_fold(&*SCHEMA, |schema, name| key_schema(schema, name));
        let schema = schema.ok_or_else(|| unknown_key(key))?;
        if is_table(schema) {
            return Err(format!(
                "`{key}` is a table: name a key in it, such as {}",
                first_key(key)
            ));
        }
        if is_table(&schema["items"]) {
            return Err(format!("`{key}` is a list of tables: write it into the file yourself"));
        }
        let value = parse_value(value, schema);
        check(&value, schema).map_err(|why| format!("`{key}` {why}"))?;
        Ok(Self { path, value: value.into() })
    }

    /// Whether only the user's own file sets the key.
    pub fn is_users_alone(&self) -> bool {
        is_users_alone(&self.path)
    }

    /// Returns the key with its dots, without aliases.
    pub fn key(&self) -> String {
        self.path.join(".")
    }

    /// Returns the texts in the list at this key that are not in the new one.
    pub(super) fn lost_entries(&self, text: &str) -> Vec<String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Ok(document) = text.parse::<DocumentMut>() else { return Vec::new() };
        let old = self.path.iter().try_fold(document.as_item(), |item, name| item.get(name));
        let texts = |list: Option<&Array>| -> Vec<String> {
            let texts = list.into_iter().flatten().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        };
        let new = texts(self.value.as_array());
        let old = texts(old.and_then(Item::as_array));
        old.into_iter().filter(|entry| !new.contains(entry)).collect()
    }

    /// Returns the text of a file with this value. Comments and order are kept.
    ///
    /// # Errors
    /// Fails if the text is not TOML, or has a value where the key needs a table.
    pub(super) fn apply(&self, text: &str) -> Result<String, String> {
        let (mark, text) =
            text.strip_prefix('\u{feff}').map_or(("", text), |text| ("\u{feff}", text));
        let mut document: DocumentMut = text
            .parse()
            .map_err(|error: toml_edit::TomlError| error.to_string().trim().to_owned())?;
        insert(document.as_table_mut(), &[], &self.path, &self.value)?;
        let new = document.to_string();
        let new = match text.contains("\r\n") {
            true => new.replace("\r\n", "\n").replace('\n', "\r\n"),
            false => new,
        };
        Ok(format!("{mark}{new}"))
    }
}

/// Sets the value at `path` below the table at `above`.
fn insert(
    table: &mut dyn TableLike,
    above: &[&str],
    path: &[String],
    value: &Value,
) -> Result<(), String> {
    let Some((name, below)) = path.split_first() else { return Ok(()) };
    let here = [above, &[name]].concat();
    let wrong = |what: &str| format!("`{}` must be {what}", here.join("."));
    if below.is_empty() {
        let name = written_name(table, above, name);
        let Some(item) = table.get_mut(name) else {
            table.insert(name, Item::Value(value.clone()));
            return Ok(());
        };
        let old = item.as_value_mut().ok_or_else(|| wrong("a value"))?;
        let decor = old.decor().clone();
        *old = value.clone();
        *old.decor_mut() = decor;
        return Ok(());
    }
    let mut new = Table::new();
    new.set_implicit(true);
    let inner = table.entry(name).or_insert(Item::Table(new));
    let inner = inner.as_table_like_mut().ok_or_else(|| wrong("a table"))?;
    insert(inner, &here, below, value)
}

/// Returns the alias of a key if the file uses it, else its name.
fn written_name<'a>(table: &dyn TableLike, above: &[&str], name: &'a str) -> &'a str {
    let alias = ALIASES.iter().find(|(inside, alias, known)| {
        above == [*inside]
            && *known == name
            && !table.contains_key(name)
            && table.contains_key(alias)
    });
    alias.map_or(name, |(_, alias, _)| alias)
}

/// Replaces an alias at the end of a path by the key that it stands for.
fn canonical(mut path: Vec<String>) -> Vec<String> {
    if let [table, name] = path.as_mut_slice()
        && let Some((.., known)) =
            ALIASES.iter().find(|(inside, alias, _)| table == inside && name == alias)
    {
        *name = (*known).to_owned();
    }
    path
}

/// Reads a value: text where the schema takes text, otherwise TOML. What cannot be read stays text,
/// which the check then refuses with what is allowed.
fn parse_value(text: &str, schema: &Schema) -> Value {
    let takes_bool = schema["enum"].as_array().is_some_and(|all| all.contains(&Schema::Bool(true)));
    let is_text = schema["type"] == "string" || (choices(schema).is_some() && !takes_bool);
    let parsed = if is_text { None } else { text.trim().parse::<Value>().ok() };
    let parsed = parsed.filter(|value| !takes_bool || value.is_bool());
    let mut value = parsed.unwrap_or_else(|| Value::from(text));
    value.decor_mut().clear();
    value
}

fn check(value: &Value, schema: &Schema) -> Result<(), String> {
    let plain = |value: &Value| -> Option<toml::Value> {
        let table: toml::Table = format!("value = {value}").parse().ok()?;
        table.get("value").cloned()
    };
    let Some(plain) = plain(value) else { return Err("cannot be written as TOML".to_owned()) };
    let example = match schema["type"] == "array" && !plain.is_array() {
        true => ": write it in brackets, such as '[\"one\", \"two\"]'",
        false => "",
    };
    check_value(&plain, schema).map_err(|why| why + example)?;
    let mut entries = plain.as_array().into_iter().flatten();
    entries
        .try_for_each(|entry| check_value(entry, &schema["items"]))
        .map_err(|why| format!("has a wrong entry: each {why}"))
}

fn unknown_key(key: &str) -> String {
    let mut known = Vec::new();
    leaves(&SCHEMA, "", &mut known);
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let end = |known: &str| known.rsplit('.').next().unwrap_or_default().to_owned();
    let last = known.iter().copied().find(|known| end(known) == key);
    let near = || {
        let score = |name: &str| match key.contains('.') {
            true => likeness(key, name),
            false => likeness(key, name).max(likeness(key, &end(name))),
        };
        let alike = known.iter().map(|name| (score(name), *name));
        let best = alike.max_by(|(one, _), (other, _)| one.total_cmp(other));
        best.filter(|(ratio, _)| *ratio >= LIKENESS).map(|(_, name)| name)
    };
    let advice = match last.or_else(near) {
        Some(known) => format!("did you mean {known}?"),
        None => "`caliban config show` lists the keys".to_owned(),
    };
    format!("there is no key `{}`; {advice}", key.escape_debug())
}

/// Lists the keys with values below a schema; the names of tables that users name are `NAME`.
fn leaves(schema: &Schema, path: &str, found: &mut Vec<String>) {
    let join =
        |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    if let Some(properties) = schema["properties"].as_object() {
        properties.iter().for_each(|(name, inner)| leaves(inner, &join(name), found));
    } else if schema["additionalProperties"].is_object() {
        leaves(&schema["additionalProperties"], &join("NAME"), found);
    } else {
        found.push(path.to_owned());
    }
}

/// Returns the first key with a value in a table.
fn first_key(table: &str) -> String {
    let schema = table.split('.').try_fold(&*SCHEMA, key_schema);
    let mut found = Vec::new();
    leaves(schema.unwrap_or(&SCHEMA), table, &mut found);
    found.into_iter().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str, key: &str, value: &str) -> String {
        ConfigEdit::parse(key, value).unwrap().apply(text).unwrap()
    }

    #[test]
    fn a_value_is_set_where_it_belongs_and_the_rest_stays() {
        let file = "# mine\n[model]\nname = \"m\" # best\n\n# the screen\n[tui]\nmouse = true\n";
        let table = [
            ("", "model.effort", "high", "[model]\neffort = \"high\"\n"),
            (
                file,
                "model.name",
                "other",
                "# mine\n[model]\nname = \"other\" # best\n\n# the screen\n[tui]\nmouse = true\n",
            ),
            (
                file,
                "model.effort",
                "low",
                "# mine\n[model]\nname = \"m\" # best\neffort = \"low\"\n\n# the screen\n[tui]\nmouse = true\n",
            ),
            (
                "model.name = \"m\"",
                "model.effort",
                "low",
                "model.name = \"m\"\nmodel.effort = \"low\"\n",
            ),
            (
                "model = { name = \"m\" }\n",
                "model.effort",
                "low",
                "model = { name = \"m\" , effort = \"low\" }\n",
            ),
            ("[tui]\r\nmouse = true\r\n", "tui.mouse", "false", "[tui]\r\nmouse = false\r\n"),
            ("\u{feff}[tui]\n", "tui.mouse", "false", "\u{feff}[tui]\nmouse = false\n"),
            (
                "[subagents]\nenable_comms = false # off\n",
                "subagents.comms",
                "true",
                "[subagents]\nenable_comms = true # off\n",
            ),
            ("", "subagents.enable_comms", "true", "[subagents]\ncomms = true\n"),
            (
                "",
                "providers.work.base_url",
                "http://h/v1",
                "[providers.work]\nbase_url = \"http://h/v1\"\n",
            ),
        ];
        for (text, key, value, expected) in table {
            assert_eq!(set(text, key, value), expected, "{key} in {text:?}");
        }
    }

    #[test]
    fn a_value_gets_the_type_of_its_key() {
        let table = [
            ("model.name", "3", "name = \"3\""),
            ("model.name", "\"quoted\"", "name = '\"quoted\"'"),
            ("model.max_tokens", "8000", "max_tokens = 8000"),
            ("budget.max_usd", "2", "max_usd = 2"),
            ("budget.max_usd", "2.5", "max_usd = 2.5"),
            ("tui.notifications", "false", "notifications = false"),
            ("tui.notifications", "bell", "notifications = \"bell\""),
            ("permissions.deny", " ['Read', \"Grep\"] ", "deny = ['Read', \"Grep\"]"),
        ];
        for (key, value, expected) in table {
            let text = set("", key, value);
            assert!(text.ends_with(&format!("{expected}\n")), "{text}");
        }
    }

    #[test]
    fn a_wrong_key_or_value_says_what_is_allowed() {
        let table = [
            ("model.efort", "low", "there is no key `model.efort`; did you mean model.effort?"),
            ("effort", "low", "there is no key `effort`; did you mean model.effort?"),
            ("efort", "low", "there is no key `efort`; did you mean model.effort?"),
            ("nothing", "low", "there is no key `nothing`; `caliban config show` lists the keys"),
            ("", "low", "there is no key ``; `caliban config show` lists the keys"),
            ("model", "low", "`model` is a table: name a key in it, such as model.name"),
            (
                "hooks.Stop",
                "[]",
                "`hooks.Stop` is a list of tables: write it into the file yourself",
            ),
            (
                "tui.panes",
                "left",
                "`tui.panes` cannot be \"left\"; allowed: auto, right, below, rows",
            ),
            ("tui.mouse", "yes", "`tui.mouse` must be true or false, not a string"),
            ("model.max_tokens", "0", "`model.max_tokens` must be at least 1, not 0"),
            ("model.name", " ", "`model.name` must not be empty"),
            (
                "permissions.deny",
                "Read",
                "`permissions.deny` must be a list, not a string: write it in brackets, such as '[\"one\", \"two\"]'",
            ),
            (
                "permissions.deny",
                "[1]",
                "`permissions.deny` has a wrong entry: each must be a quoted string, not a whole number",
            ),
        ];
        for (key, value, expected) in table {
            assert_eq!(ConfigEdit::parse(key, value).unwrap_err(), expected);
        }
        let edit = ConfigEdit::parse("model.name", "m").unwrap();
        assert_eq!(edit.apply("model = 3").unwrap_err(), "`model` must be a table");
        edit.apply("[model").unwrap_err();
    }
}
