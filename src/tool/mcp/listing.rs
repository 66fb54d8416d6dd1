//! Parses a server's tools one by one: a bad one costs no other.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::exec::OutputCleaner;
use crate::protocol::mcp_name;
use crate::tool::spec::ToolSpec;

/// Maximum characters of a tool's description, and of a server's instructions.
const MAX_DESCRIPTION_CHARS: usize = 4000;
const MAX_INSTRUCTIONS_CHARS: usize = 4000;

/// Maximum tools of one server.
const MAX_TOOLS: usize = 512;

/// Maximum bytes per request of one tool, and of all tools of a server.
const MAX_TOOL_BYTES: usize = 64 * 1024;
const MAX_ALL_BYTES: usize = 1024 * 1024;

/// Maximum length of the list of problems; more are only counted.
const MAX_PROBLEMS: usize = 20;

/// Schema keywords that some provider refuses at the top level, and every request with them.
const REFUSED_AT_TOP: [&str; 5] = ["oneOf", "anyOf", "allOf", "not", "enum"];

/// One tool of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedTool {
    /// The server's own name for it.
    pub remote: String,
    /// The tool as models see it.
    pub spec: ToolSpec,
}

/// The usable tools, and a line about each other one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolListing {
    pub tools: Vec<ListedTool>,
    pub problems: Vec<String>,
    /// The server's instructions for all its tools, as part of a system prompt.
    pub instructions: Option<Arc<str>>,
    /// Size of the tools in a request, in bytes.
    bytes: usize,
    /// Number of tools beyond the limit of one server.
    surplus: usize,
}

impl ToolListing {
    /// Adds one page of `server`'s tools.
    pub fn add_page(&mut self, server: &str, page: &[Value]) {
        for entry in page {
            if let Err(problem) = read(server, entry).and_then(|tool| self.add(tool)) {
                self.problems.push(problem);
            }
        }
    }

    /// Adds the instructions of `server`.
    pub fn set_instructions(&mut self, server: &str, words: &str) {
        let clean = OutputCleaner::clean(words);
        let text: String = clean.trim().chars().take(MAX_INSTRUCTIONS_CHARS).collect();
        self.instructions = (!text.is_empty()).then(|| {
            format!("# MCP server {server}\nThe server says about its tools:\n{text}").into()
        });
    }

    /// Returns the list once all pages are in, with one line about the tools beyond the bounds.
    pub fn finish(mut self) -> Self {
        let more = self.problems.len().saturating_sub(MAX_PROBLEMS);
        if more > 0 {
            self.problems.truncate(MAX_PROBLEMS);
            self.problems.push(format!("{more} more of its tools are left out"));
        }
        if self.surplus > 0 {
            let (surplus, kept) = (self.surplus, self.tools.len());
            self.problems.push(format!(
                "offers too many tools: {surplus} are left out after the first {kept}; at most {MAX_TOOLS} and {} MB \
                 of descriptions and schemas fit",
                MAX_ALL_BYTES / 1024 / 1024
            ));
        }
        self
    }

    /// Whether nothing more can be added, so that further pages need not be requested.
    pub fn is_full(&self) -> bool {
        self.tools.len() >= MAX_TOOLS && self.surplus > 0
    }

    fn add(&mut self, tool: ListedTool) -> Result<(), String> {
        if self.tools.iter().any(|other| other.remote == tool.remote) {
            let name = display_name(&tool.remote);
            return Err(format!("lists two tools named {name}: the first is used"));
        }
        if let Some(other) = self.tools.iter().find(|other| other.spec.name == tool.spec.name) {
            return Err(format!(
                "its tools {} and {} would both be {}: the first is used",
                display_name(&other.remote),
                display_name(&tool.remote),
                tool.spec.name
            ));
        }
        let bytes = size(&tool.spec);
        if bytes > MAX_TOOL_BYTES {
            return Err(format!(
                "its tool {} is left out: description and schema take {} KB, at most {} KB fit",
                display_name(&tool.remote),
                bytes.div_ceil(1024),
                MAX_TOOL_BYTES / 1024
            ));
        }
        // Later tools are left out too, small or not: otherwise their sizes would decide which tools there are.
        if self.surplus > 0 || self.tools.len() == MAX_TOOLS || self.bytes + bytes > MAX_ALL_BYTES {
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

fn read(server: &str, entry: &Value) -> Result<ListedTool, String> {
    let Some(remote) = entry["name"].as_str().filter(|name| !name.is_empty()) else {
        return Err("offers a tool without a name: it is left out".to_owned());
    };
    let schema = schema(&entry["inputSchema"]).ok_or_else(|| {
        format!("the schema of its tool {} is not an object: it is left out", display_name(remote))
    })?;
    let words = |key: &str| entry[key].as_str().filter(|text| !text.trim().is_empty());
    let text = words("description").or_else(|| words("title")).unwrap_or(remote);
    let clean = OutputCleaner::clean(text);
    let spec = ToolSpec {
        name: mcp_name::tool_name(server, remote),
        description: clean.trim().chars().take(MAX_DESCRIPTION_CHARS).collect::<String>().into(),
        input_schema: Value::Object(schema).into(),
    };
    Ok(ListedTool { remote: remote.to_owned(), spec })
}

/// Returns a schema that every wire accepts: of an object, with its properties, if any.
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
    REFUSED_AT_TOP.iter().for_each(|key| drop(schema.remove(*key)));
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    properties.is_object().then_some(schema)
}

/// Formats a tool name for a message.
fn display_name(name: &str) -> String {
    name.chars().take(80).collect::<String>().escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(entries: &Value) -> ToolListing {
        let mut listed = ToolListing::default();
        listed.add_page("srv", entries.as_array().unwrap());
        listed
    }

    #[test]
    fn a_tool_is_told_of_as_any_other() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        let all = listed(&json!([
            {"name": "echo", "description": " Says it.\u{1b}[31m ", "inputSchema": schema,
             "annotations": {"readOnlyHint": true}, "_meta": {"origin": "x"}},
            {"name": "bare", "inputSchema": {}},
        ]));
        let spec = |name: &str, description: &str, input_schema: Value| ToolSpec {
            name: name.to_owned(),
            description: description.into(),
            input_schema: input_schema.into(),
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
        assert_eq!(*all.tools[0].spec.input_schema, expected);
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
                "the schema of its tool list is not an object: it is left out",
                "the schema of its tool text is not an object: it is left out",
                "the schema of its tool none is not an object: it is left out",
                "offers a tool without a name: it is left out",
                "lists two tools named ok: the first is used",
                "its tools a.b and a/b would both be mcp__srv__a_b: the first is used",
                "offers a tool without a name: it is left out",
            ]
        );
    }
}
