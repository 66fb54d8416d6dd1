//! Reads `.mcp.json` and `--mcp-config`: `{"mcpServers": {"NAME": {"command": …}}}`.

use std::path::{Path, PathBuf};

use super::error::{ConfigError, Origin, file_origin};
use super::mcp_entry::{McpEntry, McpServerConfig};
use super::project::Project;
use super::sources::read_text;
use crate::protocol::{McpServer, McpTransport, printable_line};
use crate::spanned::json::parse_json;
use crate::spanned::{Spanned, Value, ValueError};

/// The name of the file in a project's folder.
pub const MCP_FILE: &str = ".mcp.json";

/// Example shown in errors.
const EXAMPLE: &str = r#"{"mcpServers": {"NAME": {"command": "…", "args": []}}}"#;

/// Origin of servers given on the command line.
const FLAG_ORIGIN: Origin = Origin::Flag { name: "--mcp-config" };

/// Keys that a server may have. `name` and `description` are informational and have no effect.
const SERVER_KEYS: [&str; 8] =
    ["type", "command", "args", "env", "url", "headers", "name", "description"];

/// The usable servers of a file, and problems with the others.
#[derive(Debug, Default, PartialEq)]
pub(super) struct McpServerList {
    /// The file's folder; empty if there is none.
    pub folder: PathBuf,
    pub entries: Vec<McpEntry>,
    /// Skipped servers and the reason, one line each.
    pub errors: Vec<String>,
    /// Ignored keys of usable servers, one line each.
    pub notices: Vec<String>,
}

/// Finds the project's file, in the nearest folder that has one; `None` if project files are not read.
pub fn project_file(project: &Project) -> Option<PathBuf> {
    let folders = project.folders.iter().filter(|_| project.sources.project);
    folders.map(|folder| folder.join(MCP_FILE)).find(|file| file.is_file())
}

/// Reads the project's file. An error disables only the server it is about and is reported in one line.
pub(super) fn read_project(project: &Project, cwd: &Path) -> McpServerList {
    project_file(project).map_or_else(McpServerList::default, |file| read_file(&file, cwd))
}

/// Reads one file, which may be absent.
pub(super) fn read_file_if_exists(file: &Path, cwd: &Path) -> McpServerList {
    if file.exists() { read_file(file, cwd) } else { McpServerList::default() }
}

fn read_file(file: &Path, cwd: &Path) -> McpServerList {
    let read = || -> Result<McpServerList, ConfigError> {
        let text = read_text(file, cwd)?.unwrap_or_default();
        let folder = file.parent().map(Path::to_owned).unwrap_or_default();
        let mut found = McpServerList { folder, ..McpServerList::default() };
        for NamedServer { name, origin, server, unknown, .. } in
            parse(&text, &file_origin(file, cwd))?
        {
            match server {
                Ok(McpServer { transport: McpTransport::Peer, .. }) => {
                    let what = "has type sdk, which only works for a program that drives caliban";
                    found.errors.push(format!(
                        "{origin}: MCP server {} skipped: {what}",
                        printable_line(&name)
                    ));
                }
                Ok(server) => {
                    if !unknown.is_empty() {
                        let unknown = printable_line(&unknown.join(", "));
                        found.notices.push(format!(
                            "{origin}: MCP server {}: unknown keys ignored: {unknown}",
                            printable_line(&name)
                        ));
                    }
                    found.entries.push(McpEntry::new(server, origin));
                }
                Err(error) => {
                    let origin = origin.at_line(error.line);
                    let name = printable_line(&name);
                    let mut why = format!("{origin}: MCP server {name} skipped: {error}");
                    if !unknown.is_empty() {
                        let unknown = printable_line(&unknown.join(", "));
                        why.push_str(&format!("; unknown keys: {unknown}"));
                    }
                    found.errors.push(why);
                }
            }
        }
        Ok(found)
    };
    read().unwrap_or_else(|error| McpServerList {
        errors: vec![error.to_string()],
        ..McpServerList::default()
    })
}

/// Reads the option's value: JSON, or else the path of an existing file. Here a mistake is fatal,
/// except that a server of type sse, which other programs still accept, is skipped.
pub(super) fn from_flag(value: &str, cwd: &Path) -> Result<McpServerList, ConfigError> {
    if value.trim_start().starts_with('{') {
        return parse_all(value, &FLAG_ORIGIN);
    }
    let file = cwd.join(value);
    let Some(text) = read_text(&file, cwd)? else {
        let message = format!("no such file: {value}; expected a file or JSON such as {EXAMPLE}");
        return Err(ConfigError::invalid(&FLAG_ORIGIN, message));
    };
    parse_all(&text, &file_origin(&file, cwd))
}

/// Reads servers from a JSON text that comes from neither option nor file.
pub fn from_json(text: &str, origin: &Origin) -> Result<Vec<McpEntry>, ConfigError> {
    let found = parse_all(text, origin)?;
    match found.errors.first() {
        Some(why) => Err(ConfigError::invalid(origin, why.clone())),
        None => Ok(found.entries),
    }
}

/// Reads all servers of a text.
fn parse_all(text: &str, origin: &Origin) -> Result<McpServerList, ConfigError> {
    let mut found = McpServerList::default();
    for NamedServer { name, origin, server, is_sse, .. } in parse(text, origin)? {
        match server {
            Ok(server) => found.entries.push(McpEntry::new(server, origin)),
            Err(error) => {
                let (name, origin) = (printable_line(&name), origin.at_line(error.line));
                if !is_sse {
                    let message = format!("MCP server {name}: {error}");
                    return Err(ConfigError::invalid(&origin, message));
                }
                found.errors.push(format!("{origin}: MCP server {name} skipped: {error}"));
            }
        }
    }
    Ok(found)
}

/// One server as written.
#[derive(Debug)]
struct NamedServer {
    name: String,
    origin: Origin,
    server: Result<McpServer, ValueError>,
    /// Whether it uses the older HTTP transport.
    is_sse: bool,
    /// Unknown keys.
    unknown: Vec<String>,
}

fn parse(text: &str, origin: &Origin) -> Result<Vec<NamedServer>, ConfigError> {
    let invalid = |error: ValueError| ConfigError::invalid_value(origin, &error);
    let root = parse_json(text).map_err(invalid)?;
    let servers = root
        .get("mcpServers")
        .ok_or_else(|| invalid(root.error(format!("`mcpServers` is missing, as in {EXAMPLE}"))))?;
    let named = |(name, server): &(String, Spanned<Value>)| NamedServer {
        name: name.escape_debug().to_string(),
        origin: origin.at_line(server.line),
        server: parse_server(name, server),
        is_sse: server.get("type").is_some_and(|kind| kind.scalar() == Some("sse")),
        unknown: unknown_keys(server),
    };
    let servers = servers.table().map_err(|error| invalid(error.below("mcpServers")))?;
    Ok(servers.iter().map(named).collect())
}

fn unknown_keys(server: &Spanned<Value>) -> Vec<String> {
    let entries = server.table().unwrap_or_default().iter();
    let unknown = entries.filter(|(key, _)| !SERVER_KEYS.contains(&key.as_str()));
    unknown.map(|(key, _)| key.escape_debug().to_string()).collect()
}

/// Reads one server of `.mcp.json` or of a definition: the keys that go with its type. The error
/// has the line of the mistake.
pub fn parse_server(name: &str, server: &Spanned<Value>) -> Result<McpServer, ValueError> {
    server.table()?;
    if name.trim().is_empty() {
        return Err(server.error("needs a name"));
    }
    let kind = server.get("type").map(Spanned::read::<String>).transpose();
    let kind = kind.map_err(|error| error.below("type"))?;
    let implied = if server.get("command").is_some() { "stdio" } else { "http" };
    let (needed, keys): (&str, &[&str]) = match kind.as_deref().unwrap_or(implied) {
        "stdio" => ("command", &["command", "args", "env"]),
        "http" | "streamable-http" | "streamableHttp" => ("url", &["url", "headers"]),
        "sdk" => return Ok(McpServer::from_peer(name)),
        "sse" => {
            let message = "has type sse, the older HTTP transport, which is not supported; most such servers also offer streamable HTTP: use type http";
            return Err(server.error(message));
        }
        other => {
            let message =
                format!("has type {other:?}, which is not supported; allowed: stdio, http");
            return Err(server.error(message));
        }
    };
    if let Some(kind) = kind.filter(|_| server.get(needed).is_none()) {
        return Err(server.error(format!("needs a `{needed}`, because its type is {kind}")));
    }
    let config: McpServerConfig = server.read_keys(keys)?;
    config.to_server(name).map_err(|why| server.error(why))
}
