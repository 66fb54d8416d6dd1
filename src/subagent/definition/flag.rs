//! The option `--agents`: definitions as a JSON object with a name for each.

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::field::{DefinitionKey, Document, Field, FieldList, FieldValue};
use super::reader::DefinitionReader;
use super::{DefinitionError, DefinitionFormat, DefinitionSource, ParsedDefinition};

const EXAMPLE: &str =
    r#"{"reviewer": {"description": "Reviews a change.", "prompt": "You review."}}"#;

/// Parses all definitions of the option; their hooks and servers start in `cwd`. Fails with the
/// first mistake, with the agent's name before the key.
pub(in crate::subagent) fn parse(
    json: &str,
    cwd: &Path,
) -> Result<Vec<ParsedDefinition>, DefinitionError> {
    let AgentsFlag(agents) = serde_json::from_str(json)
        .map_err(|error| wrong(format!("not understood: {error}; it must be like {EXAMPLE}")))?;
    let parse = |(name, value): (String, FieldValue)| {
        let about = |error: DefinitionError| format!("{}: {}", name.escape_debug(), error.message);
        agent(&name, value, cwd).map_err(|error| wrong(about(error)))
    };
    agents.into_iter().map(parse).collect()
}

fn agent(name: &str, value: FieldValue, cwd: &Path) -> Result<ParsedDefinition, DefinitionError> {
    let FieldValue::Table(mut fields) = value else {
        return Err(wrong(format!("must be an object, as in {EXAMPLE}")));
    };
    let prompt = fields.iter().position(|(key, _)| key == "prompt").map(|at| fields.remove(at).1);
    let key =
        DefinitionKey { source: &DefinitionSource::Flag, name: "prompt", field: prompt.as_ref() };
    let missing = || wrong("`prompt` is missing: it tells the agent who it is".to_owned());
    let prompt = key.text()?.ok_or_else(missing)?;
    let document = Document { fields, prompt, prompt_line: None };
    let (source, name) = (&DefinitionSource::Flag, name.to_owned());
    let (dialect, document, folder) = (DefinitionFormat::Own, &document, Some(cwd));
    DefinitionReader { source, dialect, document, name, accepted: None, folder }.read()
}

fn wrong(message: String) -> DefinitionError {
    DefinitionError { place: DefinitionSource::Flag, line: None, message }
}

/// The top-level object. Unlike a key, an agent cannot be left out with a null.
struct AgentsFlag(Vec<(String, FieldValue)>);

impl<'de> Deserialize<'de> for AgentsFlag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor(PhantomData::<FieldValue>)).map(Self)
    }
}

impl<'de> Deserialize<'de> for FieldValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

/// The entries of an object, with unique names.
struct EntriesVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for EntriesVisitor<T> {
    type Value = Vec<(String, T)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of agents")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries: Self::Value = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if entries.iter().any(|(other, _)| *other == name) {
                return Err(A::Error::custom(format!("`{}` occurs twice", name.escape_debug())));
            }
            entries.push((name, map.next_value()?));
        }
        Ok(entries)
    }
}

/// Any JSON value.
struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = FieldValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<FieldValue, E> {
        Ok(FieldValue::Text(text.to_owned()))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<FieldValue, E> {
        Ok(FieldValue::Bare(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<FieldValue, E> {
        Ok(FieldValue::Bare(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<FieldValue, E> {
        Ok(FieldValue::Bare(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<FieldValue, E> {
        Ok(FieldValue::Bare(value.to_string()))
    }

    fn visit_unit<E: Error>(self) -> Result<FieldValue, E> {
        Ok(FieldValue::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<FieldValue, A::Error> {
        let mut items = Vec::new();
        while let Some(value) = seq.next_element()? {
            items.push(Field { line: None, value });
        }
        Ok(FieldValue::list(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<FieldValue, A::Error> {
        let entries = EntriesVisitor(PhantomData::<Option<FieldValue>>).visit_map(map)?;
        let field = |(name, value): (String, Option<FieldValue>)| {
            value.map(|value| (name, Field { line: None, value }))
        };
        Ok(FieldValue::Table(entries.into_iter().filter_map(field).collect::<FieldList>()))
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::{Value as Json, json};

    use super::super::budget::BudgetSpec;
    use super::super::{Definition, Isolation, MemoryScope, ReturnMode};
    use super::*;

    fn parse(json: &str) -> Result<Vec<ParsedDefinition>, DefinitionError> {
        super::parse(json, Path::new("/work"))
    }
    use crate::protocol::PermissionMode;

    fn one(json: &Json) -> Definition {
        parse(&json.to_string()).unwrap().remove(0).definition
    }

    #[test]
    fn s2_4_every_key_is_read_from_json() {
        let definition = one(&json!({ "db-scout": {
            "description": "Finds queries.", "prompt": "Look.\n", "tools": ["Read", "Bash(git diff:*)"],
            "disallowedTools": "Write, Edit", "model": "haiku", "provider": "openai", "maxTurns": 9,
            "budget": { "max_usd": 0.5, "max_turns": 4, "max_tokens": null }, "permissionMode": "plan",
            "memory": "none", "color": "green", "background": true, "isolation": "worktree",
            "env": { "LEVEL": 3, "MODE": "x" }, "return": "verbatim",
        } }));
        let texts = |list: &[&str]| list.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
        let expected = Definition {
            name: "db-scout".to_owned(),
            description: "Finds queries.".to_owned(),
            prompt: "Look.".to_owned(),
            tools: Some(texts(&["Read", "Bash(git diff:*)"])),
            disallowed_tools: texts(&["Write", "Edit"]),
            model: Some("haiku".to_owned()),
            provider: Some("openai".to_owned()),
            max_turns: Some(4),
            budget: BudgetSpec { max_usd: Some(0.5), max_turns: Some(4), ..BudgetSpec::default() },
            permission_mode: Some(PermissionMode::Plan),
            own_mode: true,
            memory: Some(MemoryScope::None),
            color: Some("green".to_owned()),
            background: true,
            isolation: Isolation::Worktree,
            env: [("LEVEL", "3"), ("MODE", "x")].map(|(a, b)| (a.to_owned(), b.to_owned())).into(),
            hooks: Vec::new(),
            returns: ReturnMode::Verbatim,
            mcp_servers: None,
            source: DefinitionSource::Flag,
        };
        assert_eq!(definition, expected);
        let plain = one(&json!({ "x": { "description": "d", "prompt": "p", "tools": null } }));
        assert_eq!((plain.tools, plain.memory, plain.background), (None, None, false));
    }

    #[test]
    fn s2_4_every_mistake_names_the_agent_and_the_key() {
        let keys = "description, tools, disallowedTools, model, provider, maxTurns, budget, permissionMode, memory, color, background, isolation, env, hooks, return, mcpServers";
        let unknown = format!("x: unknown key `maxturns`; allowed: {keys}");
        let named = format!("x: unknown key `name`; allowed: {keys}");
        let cases = [
            (json!({ "maxTurns": 0 }), "x: `maxTurns` must be a whole number of at least 1"),
            (json!({ "maxTurns": 1.5 }), "x: `maxTurns` must be a whole number of at least 1"),
            (json!({ "maxturns": 1 }), &unknown),
            (json!({ "name": "x" }), &named),
            (json!({ "skills": [] }), "x: `skills` is not supported yet: remove it"),
            (json!({ "description": 5 }), "x: `description` must be a text"),
            (
                json!({ "description": null }),
                "x: `description` is missing: it says what the agent does and when to use it",
            ),
            (json!({ "prompt": null }), "x: `prompt` is missing: it tells the agent who it is"),
            (json!({ "prompt": " " }), "x: `prompt` must not be empty"),
            (json!({ "tools": 5 }), "x: `tools` must be a list of names, such as Read, Grep"),
            (json!({ "tools": [5] }), "x: `tools` must be a list of names, such as Read, Grep"),
            (json!({ "background": "yes" }), "x: `background` must be true or false"),
            (json!({ "memory": "user" }), "x: `memory` must be one of: project, none"),
            (json!({ "env": "A=1" }), "x: `env` must be a table, such as { RUST_LOG: debug }"),
            (
                json!({ "env": { "A": [] } }),
                "x: `env.A` must be one value, such as RUST_LOG: debug",
            ),
            (
                json!({ "budget": { "max_usd": -1 } }),
                "x: `budget.max_usd` must be an amount above 0, such as 0.50",
            ),
        ];
        for (change, expected) in cases {
            let mut agent = json!({ "description": "d", "prompt": "p" });
            agent.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let error = parse(&json!({ "x": agent }).to_string()).unwrap_err().to_string();
            assert_eq!(error, format!("--agents: {expected}"), "{change}");
        }
    }

    #[test]
    fn s2_4_what_is_no_object_of_agents_is_refused_with_an_example() {
        let fine = r#"{"description": "d", "prompt": "p"}"#;
        for (json, part) in [
            ("", "not understood: EOF"),
            ("reviewer.json", "not understood: "),
            ("[]", "expected an object of agents"),
            (r#"{"x": null}"#, "x: must be an object"),
            (r#"{"x": "y"}"#, "x: must be an object"),
            (&format!(r#"{{"x": {fine}, "x": {fine}}}"#), "`x` occurs twice"),
            (r#"{"x": {"prompt": "p", "prompt": "q"}}"#, "`prompt` occurs twice"),
        ] {
            let error = parse(json).unwrap_err().to_string();
            assert!(error.starts_with("--agents: ") && error.contains(part), "{json}: {error}");
            assert!(error.contains(r#"{"reviewer": "#), "{json}: {error}");
        }
        assert_eq!(parse("{}").unwrap().len(), 0);
        assert!(parse(&"[".repeat(100_000)).is_err());
    }
}
