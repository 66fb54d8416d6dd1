//! `mcpServers` of a definition: names of the session's servers, and servers of its own.

use super::DefinitionError;
use super::field::Key;
use crate::config::mcp_file;
use crate::config::node::{Misfit, Node, NodeValue};
use crate::markdown::front_matter::{Field, Value};
use crate::protocol::McpWish;

/// What every error ends with.
const EXAMPLE: &str = "a list of names and of servers, such as [github, { files: { command: … } }]";

/// A server, and whether its own definition says `cwd: project`.
pub(super) struct Wish {
    pub server: McpWish,
    pub asks_project: bool,
}

impl Wish {
    fn named(name: impl Into<String>) -> Self {
        Self { server: McpWish::Named(name.into()), asks_project: false }
    }
}

/// Reads the key. `None` when it is not there.
pub(super) fn read(key: Key<'_>) -> Result<Option<Vec<Wish>>, DefinitionError> {
    let wrong = || key.error(format!("`{}` must be {EXAMPLE}", key.name));
    let Some(field) = key.field else { return Ok(None) };
    let mut wishes = Vec::new();
    match &field.value {
        Value::Text(_) | Value::List(_) => {
            wishes.extend(key.list()?.unwrap_or_default().into_iter().map(Wish::named));
        }
        Value::Items(items) => {
            for item in items {
                match &item.value {
                    Value::Text(name) => wishes.push(Wish::named(name.trim())),
                    Value::Table(servers) => own(key, servers, &mut wishes)?,
                    _ => return Err(wrong()),
                }
            }
        }
        Value::Table(servers) => own(key, servers, &mut wishes)?,
        Value::Bare(_) | Value::Other => return Err(wrong()),
    }
    Ok(Some(wishes))
}

fn own(
    key: Key<'_>,
    servers: &[(String, Field)],
    wishes: &mut Vec<Wish>,
) -> Result<(), DefinitionError> {
    for (name, field) in servers {
        let node = node(field);
        let wrong = |misfit: Misfit| {
            let message = format!("`{}.{}`: {}", key.name, name.escape_debug(), misfit.message);
            DefinitionError { line: misfit.line.or(field.line), ..key.error(message) }
        };
        let server = mcp_file::server(name, &node).map_err(wrong)?;
        let asks_project = match node.get("cwd").map(|cwd| (cwd, cwd.text("cwd"))) {
            None => false,
            Some((_, Ok("project"))) => true,
            Some((cwd, _)) => {
                return Err(wrong(cwd.misfit("`cwd` is `project` or is left out".to_owned())));
            }
        };
        wishes.push(Wish { server: McpWish::Own(server), asks_project });
    }
    Ok(())
}

/// The same value in the form in which servers are read everywhere.
fn node(field: &Field) -> Node {
    let line = field.line;
    let value = match &field.value {
        Value::Text(text) => NodeValue::Text(text.clone()),
        Value::Bare(text) => NodeValue::Bare(text.clone()),
        Value::List(texts) => {
            let text = |text: &String| Node { line, value: NodeValue::Text(text.clone()) };
            NodeValue::List(texts.iter().map(text).collect())
        }
        Value::Items(items) => NodeValue::List(items.iter().map(node).collect()),
        Value::Table(pairs) => NodeValue::Table(
            pairs.iter().map(|(name, field)| (name.clone(), node(field))).collect(),
        ),
        Value::Other => NodeValue::Bare("null".to_owned()),
    };
    Node { line, value }
}
