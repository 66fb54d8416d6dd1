//! `mcpServers` of a definition: names of the session's servers, and servers of its own.

use super::DefinitionError;
use super::field::DefinitionKey;
use crate::config::mcp_file;
use crate::config::node::{Node, NodeValue, ValueError};
use crate::markdown::front_matter::{Field, FieldValue};
use crate::protocol::McpSelection;

/// The example at the end of every error.
const EXAMPLE: &str = "a list of names and of servers, such as [github, { files: { command: … } }]";

/// A server, and whether its own definition says `cwd: project`.
pub(super) struct ServerEntry {
    pub server: McpSelection,
    pub asks_project: bool,
}

impl ServerEntry {
    fn named(name: impl Into<String>) -> Self {
        Self { server: McpSelection::Named(name.into()), asks_project: false }
    }
}

/// Reads the key. `None` if it is absent.
pub(super) fn read(key: DefinitionKey<'_>) -> Result<Option<Vec<ServerEntry>>, DefinitionError> {
    let wrong = || key.error(format!("`{}` must be {EXAMPLE}", key.name));
    let Some(field) = key.field else { return Ok(None) };
    let mut wishes = Vec::new();
    match &field.value {
        FieldValue::Text(_) | FieldValue::List(_) => {
            wishes.extend(key.list()?.unwrap_or_default().into_iter().map(ServerEntry::named));
        }
        FieldValue::Items(items) => {
            for item in items {
                match &item.value {
                    FieldValue::Text(name) => wishes.push(ServerEntry::named(name.trim())),
                    FieldValue::Table(servers) => own(key, servers, &mut wishes)?,
                    _ => return Err(wrong()),
                }
            }
        }
        FieldValue::Table(servers) => own(key, servers, &mut wishes)?,
        FieldValue::Bare(_) | FieldValue::Other => return Err(wrong()),
    }
    Ok(Some(wishes))
}

fn own(
    key: DefinitionKey<'_>,
    servers: &[(String, Field)],
    wishes: &mut Vec<ServerEntry>,
) -> Result<(), DefinitionError> {
    for (name, field) in servers {
        let node = node(field);
        let wrong = |misfit: ValueError| {
            let message = format!("`{}.{}`: {}", key.name, name.escape_debug(), misfit.message);
            DefinitionError { line: misfit.line.or(field.line), ..key.error(message) }
        };
        let server = mcp_file::parse_server(name, &node).map_err(wrong)?;
        let asks_project = match node.get("cwd").map(|cwd| (cwd, cwd.text("cwd"))) {
            None => false,
            Some((_, Ok("project"))) => true,
            Some((cwd, _)) => {
                return Err(wrong(cwd.error("`cwd` is `project` or is left out".to_owned())));
            }
        };
        wishes.push(ServerEntry { server: McpSelection::Own(server), asks_project });
    }
    Ok(())
}

/// Converts the value to the form that the server reader takes.
fn node(field: &Field) -> Node {
    let line = field.line;
    let value = match &field.value {
        FieldValue::Text(text) => NodeValue::Text(text.clone()),
        FieldValue::Bare(text) => NodeValue::Bare(text.clone()),
        FieldValue::List(texts) => {
            let text = |text: &String| Node { line, value: NodeValue::Text(text.clone()) };
            NodeValue::List(texts.iter().map(text).collect())
        }
        FieldValue::Items(items) => NodeValue::List(items.iter().map(node).collect()),
        FieldValue::Table(pairs) => NodeValue::Table(
            pairs.iter().map(|(name, field)| (name.clone(), node(field))).collect(),
        ),
        FieldValue::Other => NodeValue::Bare("null".to_owned()),
    };
    Node { line, value }
}
