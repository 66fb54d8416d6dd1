//! What a server says about its tools, read one by one: a bad one costs no other.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::exec::Cleaner;
use crate::protocol::mcp_name;
use crate::tool::ToolSpec;

/// The most characters of a description that a model is told, and of what a server says of all its tools.
const DESCRIPTION: usize = 4000;
const INSTRUCTIONS: usize = 4000;

/// The most tools of one server that are offered.
const TOOLS: usize = 512;

/// The most bytes that one tool may take in every request, and all tools of a server together.
const TOOL_BYTES: usize = 64 * 1024;
const ALL_BYTES: usize = 1024 * 1024;

/// The longest list of problems; more are counted.
const PROBLEMS: usize = 20;

/// What some provider refuses at the top of a schema, and every request with it.
const NOT_AT_THE_TOP: [&str; 5] = ["oneOf", "anyOf", "allOf", "not", "enum"];

/// One tool of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// As the server calls it.
    pub remote: String,
    /// As models see it.
    pub spec: ToolSpec,
}

/// The tools that can be offered, and a line about each that cannot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listed {
    pub tools: Vec<Listing>,
    pub problems: Vec<String>,
    /// What the server says of all its tools, as a part of a system prompt.
    pub instructions: Option<Arc<str>>,
    /// Size of the tools in a request, in bytes.
    bytes: usize,
    /// Tools beyond what one server may offer.
    surplus: usize,
}

impl Listed {
    /// Takes in one page of `server`'s tools.
    pub fn take(&mut self, server: &str, page: &[Value]) {
        for entry in page {
            if let Err(problem) = read(server, entry).and_then(|tool| self.add(tool)) {
                self.problems.push(problem);
            }
        }
    }

    /// Takes in what `server` says of all its tools.
    pub fn instruct(&mut self, server: &str, words: &str) {
        let clean = Cleaner::whole(words);
        let text: String = clean.trim().chars().take(INSTRUCTIONS).collect();
        self.instructions = (!text.is_empty()).then(|| {
            format!("# MCP server {server}\nThe server says of its tools:\n{text}").into()
        });
    }

    /// Returns the list once all pages are in, with one line about the tools beyond the bounds.
    #[must_use]
    pub fn finish(mut self) -> Self {
        let more = self.problems.len().saturating_sub(PROBLEMS);
        if more > 0 {
            self.problems.truncate(PROBLEMS);
            self.problems.push(format!("{more} more of its tools are left out"));
        }
        if self.surplus > 0 {
            let (surplus, kept) = (self.surplus, self.tools.len());
            self.problems.push(format!(
                "offers too many tools: {surplus} are left out after the first {kept}; at most {TOOLS} and {} MB \
                 of descriptions and schemas fit",
                ALL_BYTES / 1024 / 1024
            ));
        }
        self
    }

    /// Whether nothing more can be taken in, so that further pages are not worth asking for.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.tools.len() >= TOOLS && self.surplus > 0
    }

    fn add(&mut self, tool: Listing) -> Result<(), String> {
        if self.tools.iter().any(|other| other.remote == tool.remote) {
            let name = shown(&tool.remote);
            return Err(format!("offers two tools {name}: the first counts"));
        }
        if let Some(other) = self.tools.iter().find(|other| other.spec.name == tool.spec.name) {
            return Err(format!(
                "its tools {} and {} would both be {}: the first counts",
                shown(&other.remote),
                shown(&tool.remote),
                tool.spec.name
            ));
        }
        let bytes = size(&tool.spec);
        if bytes > TOOL_BYTES {
            return Err(format!(
                "its tool {} is left out: description and schema take {} KB, at most {} KB fit",
                shown(&tool.remote),
                bytes.div_ceil(1024),
                TOOL_BYTES / 1024
            ));
        }
        // What comes later is left out too, small or not: else which tools there are would depend
        // on their sizes.
        if self.surplus > 0 || self.tools.len() == TOOLS || self.bytes + bytes > ALL_BYTES {
            self.surplus += 1;
            return Ok(());
        }
        self.bytes += bytes;
        self.tools.push(tool);
        Ok(())
    }
}

/// Size of a tool in a request, in bytes.
fn size(spec: &ToolSpec) -> usize {
    spec.name.len() + spec.description.len() + spec.input_schema.to_string().len()
}

fn read(server: &str, entry: &Value) -> Result<Listing, String> {
    let Some(remote) = entry["name"].as_str().filter(|name| !name.is_empty()) else {
        return Err("offers a tool without a name: it is left out".to_owned());
    };
    let schema = schema(&entry["inputSchema"]).ok_or_else(|| {
        format!("the schema of its tool {} is no object: it is left out", shown(remote))
    })?;
    let words = |key: &str| entry[key].as_str().filter(|text| !text.trim().is_empty());
    let text = words("description").or_else(|| words("title")).unwrap_or(remote);
    let clean = Cleaner::whole(text);
    let spec = ToolSpec {
        name: mcp_name::of_tool(server, remote),
        description: clean.trim().chars().take(DESCRIPTION).collect(),
        input_schema: Value::Object(schema),
    };
    Ok(Listing { remote: remote.to_owned(), spec })
}

/// A schema that every wire takes: of an object, with its properties, if there are any.
fn schema(schema: &Value) -> Option<Map<String, Value>> {
    let mut schema = schema.as_object()?.clone();
    match schema.get("type") {
        None => {
            schema.insert("type".to_owned(), json!("object"));
        }
        Some(kind) if kind == "object" => {}
        Some(_) => return None,
    }
    // The server checks its input itself.
    NOT_AT_THE_TOP.iter().for_each(|key| drop(schema.remove(*key)));
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    properties.is_object().then_some(schema)
}

/// A name for a message.
fn shown(name: &str) -> String {
    name.chars().take(80).collect::<String>().escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(entries: &Value) -> Listed {
        let mut listed = Listed::default();
        listed.take("srv", entries.as_array().unwrap());
        listed
    }

    #[test]
    fn s1_3_a_tool_is_told_of_as_any_other() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        let all = listed(&json!([
            {"name": "echo", "description": " Says it.\u{1b}[31m ", "inputSchema": schema,
             "annotations": {"readOnlyHint": true}, "_meta": {"origin": "x"}},
            {"name": "bare", "inputSchema": {}},
        ]));
        let spec = |name: &str, description: &str, input_schema: Value| ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema,
        };
        let specs: Vec<_> = all.tools.into_iter().map(|tool| tool.spec).collect();
        let bare = json!({"type": "object", "properties": {}});
        assert_eq!(
            specs,
            [spec("mcp__srv__echo", "Says it.", schema), spec("mcp__srv__bare", "bare", bare)]
        );
        assert_eq!(all.problems, [""; 0]);
    }

    #[test]
    fn what_a_provider_would_refuse_a_whole_request_for_is_left_out_of_a_schema() {
        let any = json!([{"required": ["a"]}, {"required": ["b"]}]);
        let inside = json!({"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}});
        let all = listed(&json!([{"name": "t", "inputSchema": {
            "type": "object", "properties": inside,
            "oneOf": any, "anyOf": any, "allOf": any, "not": {}, "enum": [{}],
        }}]));
        let expected = json!({"type": "object", "properties": inside});
        assert_eq!(all.tools[0].spec.input_schema, expected);
    }

    #[test]
    fn tools_beyond_the_bounds_of_a_server_are_left_out_with_one_line() {
        let tool = |name: String, bytes: usize| json!({"name": name, "inputSchema": {"type": "object", "title": "x".repeat(bytes)}});
        let few: Vec<_> = (0..3).map(|n| tool(format!("t{n}"), [9, 70_000, 9][n])).collect();
        let all = listed(&Value::Array(few)).finish();
        assert_eq!(all.tools.len(), 2);
        let said = "its tool t1 is left out: description and schema take 69 KB, at most 64 KB fit";
        assert_eq!(all.problems, [said]);

        let many: Vec<_> = (0..600).map(|n| tool(format!("t{n}"), 9)).collect();
        let all = listed(&Value::Array(many));
        assert!(all.is_full());
        assert_eq!(all.tools.len(), 512);
        let problems = all.finish().problems;
        assert_eq!(problems.len(), 1);
        assert!(
            problems[0].starts_with("offers too many tools: 88 are left out after the first 512;")
        );

        let large: Vec<_> = (0..40).map(|n| tool(format!("t{n}"), 60_000)).collect();
        let all = listed(&Value::Array(large)).finish();
        assert_eq!((all.tools.len(), all.problems.len()), (17, 1));

        let broken: Vec<_> = (0..600).map(|n| json!({"name": format!("b{n}")})).collect();
        let all = listed(&Value::Array(broken)).finish();
        assert_eq!(all.problems.len(), 21);
        assert_eq!(all.problems[20], "580 more of its tools are left out");
    }

    #[test]
    fn what_cannot_be_offered_is_one_line_each_and_costs_no_other() {
        let all = listed(&json!([
            {"name": "list", "inputSchema": [1]},
            {"name": "text", "inputSchema": {"type": "string"}},
            {"name": "none"},
            {"inputSchema": {}},
            {"name": "ok", "inputSchema": {"type": "object"}},
            {"name": "ok", "inputSchema": {"type": "object"}},
            {"name": "a.b", "inputSchema": {}},
            {"name": "a/b", "inputSchema": {}},
            "junk",
        ]));
        let names: Vec<_> = all.tools.iter().map(|tool| tool.remote.as_str()).collect();
        assert_eq!(names, ["ok", "a.b"]);
        assert_eq!(
            all.problems,
            [
                "the schema of its tool list is no object: it is left out",
                "the schema of its tool text is no object: it is left out",
                "the schema of its tool none is no object: it is left out",
                "offers a tool without a name: it is left out",
                "offers two tools ok: the first counts",
                "its tools a.b and a/b would both be mcp__srv__a_b: the first counts",
                "offers a tool without a name: it is left out",
            ]
        );
    }
}
