//! What a server says about its tools, read one by one: a bad one costs no other.

use serde_json::{Map, Value, json};

use crate::exec::Cleaner;
use crate::protocol::mcp_name;
use crate::tool::ToolSpec;

/// The most characters of a description that a model is told.
const DESCRIPTION: usize = 4000;

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
}

impl Listed {
    /// Takes in one page of `server`'s tools.
    pub fn take(&mut self, server: &str, page: &[Value]) {
        for entry in page {
            match read(server, entry) {
                Ok(tool) if self.tools.iter().any(|other| other.remote == tool.remote) => {
                    let name = shown(&tool.remote);
                    self.problems.push(format!("offers two tools {name}: the first counts"));
                }
                Ok(tool) => match self.tools.iter().find(|other| other.spec.name == tool.spec.name)
                {
                    Some(other) => self.problems.push(format!(
                        "its tools {} and {} would both be {}: the first counts",
                        shown(&other.remote),
                        shown(&tool.remote),
                        tool.spec.name
                    )),
                    None => self.tools.push(tool),
                },
                Err(problem) => self.problems.push(problem),
            }
        }
    }
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
