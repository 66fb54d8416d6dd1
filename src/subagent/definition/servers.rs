//! `mcpServers` of a definition: names of the session's servers, and servers of its own.

use super::keys::Names;
use crate::config::{EntryCwd, mcp_file};
use crate::protocol::McpSelection;
use crate::spanned::{Spanned, Value, ValueError};

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

/// Reads the key's value.
pub(super) fn read(servers: &Spanned<Value>) -> Result<Vec<ServerEntry>, ValueError> {
    let wrong = || {
        servers.error(
            "must be a list of names and of servers, such as [github, { files: { command: … } }]",
        )
    };
    let mut entries = Vec::new();
    match &servers.value {
        Value::Table(own) => add_own(own, &mut entries)?,
        Value::List(items) if servers.value.texts().is_none() => {
            for item in items {
                match &item.value {
                    Value::Text(name) => entries.push(ServerEntry::named(name.trim())),
                    Value::Table(own) => add_own(own, &mut entries)?,
                    _ => return Err(wrong()),
                }
            }
        }
        Value::Text(_) | Value::List(_) => {
            entries.extend(servers.read::<Names>()?.0.into_iter().map(ServerEntry::named));
        }
        Value::Bare(_) | Value::Unsupported => return Err(wrong()),
    }
    Ok(entries)
}

fn add_own(
    servers: &[(String, Spanned<Value>)],
    entries: &mut Vec<ServerEntry>,
) -> Result<(), ValueError> {
    for (name, server) in servers {
        let cwd = server.get("cwd").map(Spanned::read::<EntryCwd>).transpose();
        let asks_project = cwd.map_err(|error| error.below("cwd").below(name))?.is_some();
        let own = mcp_file::parse_server(name, server).map_err(|error| error.below(name))?;
        entries.push(ServerEntry { server: McpSelection::Own(own), asks_project });
    }
    Ok(())
}
