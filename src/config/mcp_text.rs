//! Changes one server in the text of a file, and leaves everything else in it as it is.

use serde::Serialize as _;
use serde_json::ser::PrettyFormatter;
use serde_json::{Map, Value as Json, json};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::mcp::SERVERS;
use crate::protocol::{McpServer, McpTransport};

/// The table of servers in files of the shape that `.mcp.json` has.
const JSON_SERVERS: &str = "mcpServers";

/// What is to become of a server.
#[derive(Clone, Copy)]
pub enum Change<'a> {
    Add(&'a McpServer),
    Remove(&'a str),
}

/// What came of it: the new text, or `None` where the file has already, or has not, a server of that name.
pub type Changed = Result<Option<String>, String>;

/// A text of the shape that `.mcp.json` has. Keys keep their order, and the indent stays.
pub fn json(text: &str, change: Change<'_>) -> Changed {
    let mut root = match text.trim() {
        "" => json!({}),
        text => serde_json::from_str(text).map_err(|error| format!("not valid JSON: {error}"))?,
    };
    let top = root.as_object_mut().ok_or("it must hold a JSON object")?;
    let servers = top.entry(JSON_SERVERS).or_insert_with(|| json!({}));
    let servers = servers.as_object_mut().ok_or("`mcpServers` must be an object")?;
    match change {
        Change::Add(server) if servers.contains_key(&server.name) => return Ok(None),
        Change::Add(server) => {
            servers.insert(server.name.clone(), json_server(&server.transport));
        }
        Change::Remove(name) => {
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

/// The blanks before the first line that has some.
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

/// A text of the shape that `config.toml` has. Comments and order stay.
pub fn toml(text: &str, change: Change<'_>) -> Changed {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.to_string().trim().to_owned())?;
    let is_table = || format!("`{SERVERS}` must be a table");
    let name = match change {
        Change::Add(server) => &server.name,
        Change::Remove(name) => name,
    };
    let known = document.get(SERVERS).map(|all| all.as_table_like().ok_or_else(is_table));
    let known = known.transpose()?.is_some_and(|all| all.contains_key(name));
    if known == matches!(change, Change::Add(_)) {
        return Ok(None);
    }
    let mut all = Table::new();
    all.set_implicit(true);
    let servers = document.entry(SERVERS).or_insert(Item::Table(all));
    let servers = servers.as_table_like_mut().ok_or_else(is_table)?;
    let orphans = match change {
        Change::Add(server) => {
            servers.insert(name, Item::Table(toml_server(&server.transport)));
            None
        }
        Change::Remove(_) => remove(servers, name),
    };
    if let Some(comments) = orphans {
        let decor = document.as_table_mut().decor_mut();
        let before = decor.prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
        let both = format!("{before}{comments}");
        decor.set_prefix(both);
    }
    let text = document.to_string();
    // What stood above the first table is gone with it.
    let start =
        if matches!(change, Change::Remove(_)) { text.trim_start_matches('\n') } else { &text };
    Ok(Some(start.to_owned()))
}

/// Takes a server out. Answers with the comments above it that a blank line keeps apart: these are
/// not about it.
fn remove(servers: &mut dyn TableLike, name: &str) -> Option<String> {
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
            server.insert("url", Item::Value(url.into()));
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
        let env = [("KEY".to_owned(), "sk-\"1".to_owned())].into();
        let args = vec!["-y".to_owned(), "x y".to_owned()];
        McpServer::new("files", McpTransport::Stdio { command: "npx".to_owned(), args, env })
    }

    #[test]
    fn json_keeps_everything_else_in_its_order() {
        let old = "{\n    \"$schema\": \"x\",\n    \"mcpServers\": {\n        \"b\": {\"url\": \"u\", \"odd\": [1.0]},\n        \"a\": {\"command\": \"c\"}\n    },\n    \"more\": null\n}\n";
        let added = json(old, Change::Add(&files())).unwrap().unwrap();
        let keys: Vec<_> = ["\"$schema\"", "\"b\"", "\"odd\"", "\"a\"", "\"files\"", "\"more\""]
            .map(|key| added.find(key).unwrap())
            .to_vec();
        assert!(keys.is_sorted(), "{added}");
        assert!(added.contains("\n        \"files\": {\n            \"command\""), "{added}");
        assert_eq!(json(&added, Change::Add(&files())).unwrap(), None);
        let gone = json(&added, Change::Remove("b")).unwrap().unwrap();
        assert!(gone.find("\"a\"").unwrap() < gone.find("\"files\"").unwrap(), "{gone}");
        assert_eq!(json(&gone, Change::Remove("b")).unwrap(), None);
        for broken in ["[]", "{\"mcpServers\": 1}", "{"] {
            json(broken, Change::Add(&files())).unwrap_err();
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
            assert_eq!(toml(&old, Change::Add(&files())).unwrap().unwrap(), new);
        }
        let added = toml(old, Change::Add(&files())).unwrap().unwrap();
        assert!(
            added.starts_with(
                "# all mine\n\n# the tracker\n[mcp_servers.tickets]\nurl = \"u\" # there\n"
            ),
            "{added}"
        );
        assert!(added.contains(written) && added.contains("name = \"m\" # best"), "{added}");
        assert_eq!(toml(&added, Change::Add(&files())).unwrap(), None);
        assert_eq!(toml(&added, Change::Remove("files")).unwrap().unwrap(), old);
        let gone = toml(old, Change::Remove("tickets")).unwrap().unwrap();
        assert!(gone.starts_with("# all mine\n"), "{gone}");
        assert!(!gone.contains("tickets") && !gone.contains("tracker"), "{gone}");
        toml("mcp_servers = 1", Change::Add(&files())).unwrap_err();
    }
}
