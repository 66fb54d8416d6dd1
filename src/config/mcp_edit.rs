//! Adds or removes one server in the text of a file, leaving the rest unchanged.

use serde::Serialize as _;
use serde_json::ser::PrettyFormatter;
use serde_json::{Map, Value as Json, json};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::layers::SERVERS_KEY;
use crate::protocol::{McpServer, McpTransport};

/// The key of the servers in `.mcp.json`.
const JSON_SERVERS: &str = "mcpServers";

/// An edit to make.
#[derive(Clone, Copy)]
pub enum McpChange<'a> {
    Add(&'a McpServer),
    Remove(&'a str),
}

/// The new text; `None` if there is nothing to do: the file already has, or does not have, a server of that name.
pub type McpChangeResult = Result<Option<String>, String>;

/// Edits the text of an `.mcp.json` file. Keys keep their order, and the indentation is kept.
pub fn edit_json(text: &str, change: McpChange<'_>) -> McpChangeResult {
    let mut root = match text.trim() {
        "" => json!({}),
        text => serde_json::from_str(text).map_err(|error| format!("not valid JSON: {error}"))?,
    };
    let top = root.as_object_mut().ok_or("it must hold a JSON object")?;
    let servers = top.entry(JSON_SERVERS).or_insert_with(|| json!({}));
    let servers = servers.as_object_mut().ok_or("`mcpServers` must be an object")?;
    match change {
        McpChange::Add(server) if servers.contains_key(&server.name) => return Ok(None),
        McpChange::Add(server) => {
            servers.insert(server.name.clone(), json_server(&server.transport));
        }
        McpChange::Remove(name) => {
            if servers.shift_remove(name).is_none() {
                return Ok(None);
            }
        }
    }
    let mut out = Vec::new();
    let indent = indent(text);
    let style = PrettyFormatter::with_indent(indent.as_bytes());
    root.serialize(&mut serde_json::Serializer::with_formatter(&mut out, style))
        .map_err(|error| error.to_string())?;
    out.push(b'\n');
    String::from_utf8(out).map(Some).map_err(|error| error.to_string())
}

/// Returns the indentation of the first indented line.
fn indent(text: &str) -> &str {
    let blanks = |line: &'_ str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let indented = text.lines().find(|line| blanks(line) > 0 && !line.trim().is_empty());
    indented.map_or("  ", |line| &line[..blanks(line)])
}

fn json_server(transport: &McpTransport) -> Json {
    let mut server = Map::new();
    match transport {
        McpTransport::Stdio { command, args, env } => {
            server.insert("command".to_owned(), json!(command));
            server.insert("args".to_owned(), json!(args));
            if !env.is_empty() {
                server.insert("env".to_owned(), json!(env));
            }
        }
        McpTransport::Http { url, headers } => {
            server.insert("type".to_owned(), json!("http"));
            server.insert("url".to_owned(), json!(url));
            if !headers.is_empty() {
                server.insert("headers".to_owned(), json!(headers));
            }
        }
        McpTransport::Peer => {
            server.insert("type".to_owned(), json!("sdk"));
        }
    }
    Json::Object(server)
}

/// Edits the text of a `config.toml` file. Comments and order are kept.
pub fn edit_toml(text: &str, change: McpChange<'_>) -> McpChangeResult {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.to_string().trim().to_owned())?;
    let is_table = || format!("`{SERVERS_KEY}` must be a table");
    let name = match change {
        McpChange::Add(server) => &server.name,
        McpChange::Remove(name) => name,
    };
    let known = document.get(SERVERS_KEY).map(|all| all.as_table_like().ok_or_else(is_table));
    let known = known.transpose()?.is_some_and(|all| all.contains_key(name));
    if known == matches!(change, McpChange::Add(_)) {
        return Ok(None);
    }
    let mut all = Table::new();
    all.set_implicit(true);
    let servers = document.entry(SERVERS_KEY).or_insert(Item::Table(all));
    let servers = servers.as_table_like_mut().ok_or_else(is_table)?;
    let orphans = match change {
        McpChange::Add(server) => {
            servers.insert(name, Item::Table(toml_server(&server.transport)));
            None
        }
        McpChange::Remove(_) => remove_server(servers, name),
    };
    if let Some(comments) = orphans {
        let decor = document.as_table_mut().decor_mut();
        let before = decor.prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
        let both = format!("{before}{comments}");
        decor.set_prefix(both);
    }
    let text = document.to_string();
    // Remove the blank line left above the first table.
    let start =
        if matches!(change, McpChange::Remove(_)) { text.trim_start_matches('\n') } else { &text };
    Ok(Some(start.to_owned()))
}

/// Removes a server. Returns the comments above it that are separated from it by a blank line: they are not about it.
fn remove_server(servers: &mut dyn TableLike, name: &str) -> Option<String> {
    let removed = servers.remove(name)?;
    let above = removed.as_table()?.decor().prefix()?.as_str()?.to_owned();
    let end = above.rfind("\n\n")?;
    let comments = &above[..end + 2];
    (!comments.trim().is_empty()).then(|| comments.to_owned())
}

fn toml_server(transport: &McpTransport) -> Table {
    let mut server = Table::new();
    let pairs = |pairs: &std::collections::BTreeMap<String, String>| {
        let pairs = pairs.iter().map(|(name, value)| (name.as_str(), Value::from(value)));
        Item::Value(InlineTable::from_iter(pairs).into())
    };
    match transport {
        McpTransport::Stdio { command, args, env } => {
            server.insert("command", Item::Value(command.into()));
            if !args.is_empty() {
                server.insert("args", Item::Value(Array::from_iter(args).into()));
            }
            if !env.is_empty() {
                server.insert("env", pairs(env));
            }
        }
        McpTransport::Http { url, headers } => {
            server.insert("url", Item::Value(url.as_str().into()));
            if !headers.is_empty() {
                server.insert("headers", pairs(headers));
            }
        }
        McpTransport::Peer => {}
    }
    server
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> McpServer {
        let env = [("KEY".to_owned(), "sk-\"1".to_owned())].into_iter().collect();
        let args = vec!["-y".to_owned(), "x y".to_owned()];
        McpServer::new("files", McpTransport::Stdio { command: "npx".to_owned(), args, env })
    }

    #[test]
    fn json_keeps_everything_else_in_its_order() {
        let old = "{\n    \"$schema\": \"x\",\n    \"mcpServers\": {\n        \"b\": {\"url\": \"u\", \"odd\": [1.0]},\n        \"a\": {\"command\": \"c\"}\n    },\n    \"more\": null\n}\n";
        let added = edit_json(old, McpChange::Add(&files())).unwrap().unwrap();
        let keys: Vec<_> = ["\"$schema\"", "\"b\"", "\"odd\"", "\"a\"", "\"files\"", "\"more\""]
            .map(|key| added.find(key).unwrap())
            .to_vec();
        assert!(keys.is_sorted(), "{added}");
        assert!(added.contains("\n        \"files\": {\n            \"command\""), "{added}");
        assert_eq!(edit_json(&added, McpChange::Add(&files())).unwrap(), None);
        let gone = edit_json(&added, McpChange::Remove("b")).unwrap().unwrap();
        assert!(gone.find("\"a\"").unwrap() < gone.find("\"files\"").unwrap(), "{gone}");
        assert_eq!(edit_json(&gone, McpChange::Remove("b")).unwrap(), None);
        for broken in ["[]", "{\"mcpServers\": 1}", "{"] {
            edit_json(broken, McpChange::Add(&files())).unwrap_err();
        }
    }

    #[test]
    fn toml_keeps_comments_and_order() {
        let written = "[mcp_servers.files]\ncommand = \"npx\"\nargs = [\"-y\", \"x y\"]\nenv = { KEY = 'sk-\"1' }\n";
        let old = "# all mine\n\n# the tracker\n[mcp_servers.tickets]\nurl = \"u\" # there\n\n[model]\nname = \"m\" # best\n";
        for (old, new) in [
            (String::new(), written.to_owned()),
            (
                "# mine\n[model]\nname = \"m\"\n".to_owned(),
                format!("# mine\n[model]\nname = \"m\"\n\n{written}"),
            ),
        ] {
            assert_eq!(edit_toml(&old, McpChange::Add(&files())).unwrap().unwrap(), new);
        }
        let added = edit_toml(old, McpChange::Add(&files())).unwrap().unwrap();
        assert!(
            added.starts_with(
                "# all mine\n\n# the tracker\n[mcp_servers.tickets]\nurl = \"u\" # there\n"
            ),
            "{added}"
        );
        assert!(added.contains(written) && added.contains("name = \"m\" # best"), "{added}");
        assert_eq!(edit_toml(&added, McpChange::Add(&files())).unwrap(), None);
        assert_eq!(edit_toml(&added, McpChange::Remove("files")).unwrap().unwrap(), old);
        let gone = edit_toml(old, McpChange::Remove("tickets")).unwrap().unwrap();
        assert!(gone.starts_with("# all mine\n"), "{gone}");
        assert!(!gone.contains("tickets") && !gone.contains("tracker"), "{gone}");
        edit_toml("mcp_servers = 1", McpChange::Add(&files())).unwrap_err();
    }
}
