//! Reads `.mcp.json` and `--mcp-config`: `{"mcpServers": {"NAME": {"command": …}}}`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::error::{ConfigError, Origin, display_path};
use super::load::read_text;
use super::mcp::McpEntry;
use super::node::{Node, ValueError, parse_json};
use super::project::Project;
use crate::protocol::{McpServer, McpTransport};

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
        let path = display_path(file, cwd);
        let at = |line: Option<usize>| Origin::File { path: path.clone(), line: line.unwrap_or(1) };
        let servers = parse(&text)
            .map_err(|misfit| ConfigError::invalid(&at(misfit.line), misfit.message))?;
        let folder = file.parent().map(Path::to_owned).unwrap_or_default();
        let mut found = McpServerList { folder, ..McpServerList::default() };
        for NamedServer { name, line, server, unknown, .. } in servers {
            let origin = at(line);
            match server {
                Ok(McpServer { transport: McpTransport::Peer, .. }) => {
                    let what = "type sdk only works for a program that drives caliban";
                    found.errors.push(format!("{origin}: MCP server {name} skipped: {what}"));
                }
                Ok(server) => {
                    if !unknown.is_empty() {
                        let unknown = unknown.join(", ");
                        found.notices.push(format!(
                            "{origin}: MCP server {name}: unknown keys ignored: {unknown}"
                        ));
                    }
                    found.entries.push(McpEntry::new(server, origin));
                }
                Err(ValueError { line, message }) => {
                    let origin = at(line);
                    let mut why = format!("{origin}: MCP server {name} skipped: {message}");
                    if !unknown.is_empty() {
                        why.push_str(&format!("; unknown keys: {}", unknown.join(", ")));
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
        return parse_all(value, |_| FLAG_ORIGIN.clone());
    }
    let file = cwd.join(value);
    let Some(text) = read_text(&file, cwd)? else {
        let message = format!("no such file: {value}; expected a file or JSON such as {EXAMPLE}");
        return Err(ConfigError::invalid(&FLAG_ORIGIN, message));
    };
    let path = display_path(&file, cwd);
    parse_all(&text, |line| Origin::File { path: path.clone(), line: line.unwrap_or(1) })
}

/// Reads servers from a JSON text that comes from neither option nor file.
pub fn from_json(text: &str, origin: &Origin) -> Result<Vec<McpEntry>, ConfigError> {
    let found = parse_all(text, |_| origin.clone())?;
    match found.errors.first() {
        Some(why) => Err(ConfigError::invalid(origin, why.clone())),
        None => Ok(found.entries),
    }
}

/// Reads all servers of a text.
fn parse_all(
    text: &str,
    at: impl Fn(Option<usize>) -> Origin,
) -> Result<McpServerList, ConfigError> {
    let servers =
        parse(text).map_err(|misfit| ConfigError::invalid(&at(misfit.line), misfit.message))?;
    let mut found = McpServerList::default();
    for NamedServer { name, line, server, is_sse, .. } in servers {
        match server {
            Ok(server) => found.entries.push(McpEntry::new(server, at(line))),
            Err(ValueError { line, message }) if is_sse => {
                let origin = at(line);
                found.errors.push(format!("{origin}: MCP server {name} skipped: {message}"));
            }
            Err(ValueError { line, message }) => {
                let message = format!("MCP server {name}: {message}");
                return Err(ConfigError::invalid(&at(line), message));
            }
        }
    }
    Ok(found)
}

/// One server as written.
#[derive(Debug)]
struct NamedServer {
    name: String,
    line: Option<usize>,
    server: Result<McpServer, ValueError>,
    /// Whether it uses the older HTTP transport.
    is_sse: bool,
    /// Unknown keys.
    unknown: Vec<String>,
}

fn parse(text: &str) -> Result<Vec<NamedServer>, ValueError> {
    let root = parse_json(text)?;
    let servers = root
        .get("mcpServers")
        .ok_or_else(|| root.error(format!("`mcpServers` is missing, as in {EXAMPLE}")))?;
    let named = |(name, node): &(String, Node)| NamedServer {
        name: name.escape_debug().to_string(),
        line: node.line,
        server: parse_server(name, node),
        is_sse: node.get("type").is_some_and(|kind| kind.scalar() == Some("sse")),
        unknown: unknown_keys(node),
    };
    Ok(servers.table("mcpServers")?.iter().map(named).collect())
}

fn unknown_keys(node: &Node) -> Vec<String> {
    let entries = node.table("").unwrap_or_default().iter();
    let unknown = entries.filter(|(key, _)| !SERVER_KEYS.contains(&key.as_str()));
    unknown.map(|(key, _)| key.escape_debug().to_string()).collect()
}

/// Reads one server of `.mcp.json`. The error has the line of the mistake.
pub fn parse_server(name: &str, node: &Node) -> Result<McpServer, ValueError> {
    node.table(name)?;
    if name.trim().is_empty() {
        return Err(node.error("a server needs a name"));
    }
    let kind = node.get("type").map(|kind| kind.text("type")).transpose()?;
    let kind = kind.unwrap_or(if node.get("command").is_some() { "stdio" } else { "http" });
    let needed = |key: &str| {
        let value = node.get(key).ok_or_else(|| {
            node.error(format!("`{key}` is missing; a server has a `command` or a `url`"))
        })?;
        let text = value.text(key)?;
        match text.trim().is_empty() {
            true => Err(value.error(format!("`{key}` must not be empty"))),
            false => Ok(text.to_owned()),
        }
    };
    let transport = match kind {
        "stdio" => McpTransport::Stdio {
            command: needed("command")?,
            args: texts(node, "args")?,
            env: pairs(node, "env")?,
        },
        "http" | "streamable-http" | "streamableHttp" => {
            McpTransport::Http { url: needed("url")?, headers: pairs(node, "headers")? }
        }
        "sdk" => McpTransport::Peer,
        "sse" => {
            let message = "type sse, the older HTTP transport, is not supported; most such servers also offer streamable HTTP: use type http";
            return Err(node.error(message));
        }
        other => {
            let message = format!("type {other:?} is not supported; allowed: stdio, http");
            return Err(node.error(message));
        }
    };
    Ok(McpServer::new(name, transport))
}

fn texts(node: &Node, key: &str) -> Result<Vec<String>, ValueError> {
    let Some(list) = node.get(key) else { return Ok(Vec::new()) };
    let text = |item: &Node| scalar(item, &format!("each entry of {key}"));
    list.list(key)?.iter().map(text).collect()
}

fn pairs(node: &Node, key: &str) -> Result<BTreeMap<String, String>, ValueError> {
    let Some(table) = node.get(key) else { return Ok(BTreeMap::new()) };
    let pair = |(name, value): &(String, Node)| {
        Ok((name.clone(), scalar(value, &format!("{key}.{name}"))?))
    };
    table.table(key)?.iter().map(pair).collect()
}

/// Returns a string; a number or boolean is taken as written.
fn scalar(node: &Node, name: &str) -> Result<String, ValueError> {
    node.scalar().map(str::to_owned).ok_or_else(|| node.type_error(name, "a quoted string"))
}
