//! The option `--agents`: definitions as a JSON object with a name for each.

use std::collections::BTreeSet;
use std::path::Path;

use super::fields::{DefinitionFormat, ParsedDefinition};
use super::keys::Text;
use super::reader::{DefinitionReader, Findings};
use super::source::{DefinitionError, DefinitionErrors, DefinitionSource};
use crate::markdown::front_matter::Document;
use crate::spanned::json::parse_json;
use crate::spanned::{Spanned, Value, ValueError};

const EXAMPLE: &str =
    r#"{"reviewer": {"description": "Reviews a change.", "prompt": "You review."}}"#;

/// Parses all definitions of the option; their hooks and servers start in `cwd`. Fails with the
/// first mistake, with the agent's name before the key.
pub fn parse(json: &str, cwd: &Path) -> Result<Vec<ParsedDefinition>, DefinitionError> {
    let wrong_json = |error: ValueError| {
        let line = error.line;
        wrong(format!("not understood: {error} (line {line}); it must be like {EXAMPLE}"))
    };
    let mut agents = parse_json(json).map_err(wrong_json)?;
    let Value::Table(agents) = &mut agents.value else {
        return Err(wrong_json(agents.type_error("an object of agents")));
    };
    check_unique(agents).map_err(wrong_json)?;
    let parse = |(name, value): &mut (String, Spanned<Value>)| {
        // Unlike a key, an agent cannot be left out with a null.
        drop_nulls(value).map_err(wrong_json)?;
        let about = |error: DefinitionError| format!("{}: {}", name.escape_debug(), error.message);
        agent(name, value, cwd).map_err(|errors| wrong(about(errors.first)))
    };
    agents.iter_mut().map(parse).collect()
}

fn agent(
    name: &str,
    agent: &Spanned<Value>,
    cwd: &Path,
) -> Result<ParsedDefinition, DefinitionErrors> {
    let Value::Table(entries) = &agent.value else {
        return Err(wrong(format!("must be an object, as in {EXAMPLE}")).into());
    };
    let source = &DefinitionSource::Flag;
    let prompt = agent.get("prompt").map(Spanned::read::<Text>).transpose();
    let prompt = prompt.map_err(|error| wrong(error.below("prompt").to_string()))?;
    let missing = || wrong("`prompt` is missing: it tells the agent who it is".to_owned());
    let Text(prompt) = prompt.ok_or_else(missing)?;
    let entries = entries.iter().filter(|(key, _)| key != "prompt").cloned().collect();
    let fields = Spanned { line: agent.line, value: Value::Table(entries) };
    let document = &Document { fields, prompt, prompt_line: None };
    let (dialect, name, folder) = (DefinitionFormat::Own, name.to_owned(), Some(cwd));
    let (accepted, found) = (None, Findings::default());
    DefinitionReader { source, dialect, document, name, accepted, folder, found }.read()
}

/// Drops the keys of an object whose value is null. Fails if a key occurs twice.
fn drop_nulls(value: &mut Spanned<Value>) -> Result<(), ValueError> {
    match &mut value.value {
        Value::List(items) => items.iter_mut().try_for_each(drop_nulls),
        Value::Table(entries) => {
            check_unique(entries)?;
            entries.retain(|(_, value)| !value.is_null());
            entries.iter_mut().try_for_each(|(_, value)| drop_nulls(value))
        }
        Value::Text(_) | Value::Bare(_) | Value::Unsupported => Ok(()),
    }
}

fn check_unique(entries: &[(String, Spanned<Value>)]) -> Result<(), ValueError> {
    let mut seen = BTreeSet::new();
    match entries.iter().find(|(key, _)| !seen.insert(key)) {
        Some((key, value)) => Err(value.error(format!("`{}` occurs twice", key.escape_debug()))),
        None => Ok(()),
    }
}

fn wrong(message: String) -> DefinitionError {
    DefinitionSource::Flag.error(None, message)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::{Value as Json, json};

    use super::super::budget::BudgetSpec;
    use super::super::fields::{Definition, Isolation, MemoryScope, ReturnMode};
    use super::*;

    fn parse(json: &str) -> Result<Vec<ParsedDefinition>, DefinitionError> {
        super::parse(json, Path::new("/work"))
    }
    use crate::protocol::PermissionMode;

    fn one(json: &Json) -> Definition {
        parse(&json.to_string()).unwrap().remove(0).definition
    }

    #[test]
    fn every_key_is_read_from_json() {
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
            env: [("LEVEL", "3"), ("MODE", "x")]
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
                .into_iter()
                .collect(),
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
    fn every_mistake_names_the_agent_and_the_key() {
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
            (
                json!({ "env": "A=1" }),
                "x: `env` must be an object of keys and values, not a string",
            ),
            (json!({ "env": { "A": [] } }), "x: `env.A` must be a quoted string, not a list"),
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
    fn what_is_no_object_of_agents_is_refused_with_an_example() {
        let fine = r#"{"description": "d", "prompt": "p"}"#;
        for (json, part) in [
            ("", "not understood: not valid JSON: EOF"),
            ("reviewer.json", "not understood: "),
            ("[]", "must be an object of agents"),
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
