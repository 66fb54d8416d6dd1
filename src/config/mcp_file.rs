//! Files of the shape that `.mcp.json` has, and `--mcp-config`: `{"mcpServers": {"NAME": {"command": …}}}`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::error::{ConfigError, Origin, shown};
use super::load::read_text;
use super::mcp::McpEntry;
use super::node::{Misfit, Node, parse_json};
use super::project::Project;
use crate::protocol::{McpServer, McpTransport};

/// The file in a project's folder.
pub const MCP_FILE: &str = ".mcp.json";

/// What every error ends with.
const EXAMPLE: &str = r#"{"mcpServers": {"NAME": {"command": "…", "args": []}}}"#;

/// The option.
const FLAG: Origin = Origin::Flag { name: "--mcp-config" };

/// Keys that a server may have. `name` and `description` are for people and change nothing.
const KEYS: [&str; 8] = ["type", "command", "args", "env", "url", "headers", "name", "description"];

/// The servers of a file that can be used, and what is wrong with the others.
#[derive(Debug, Default, PartialEq)]
pub(super) struct McpFile {
    /// The folder in which the file lies; empty where there is none.
    pub folder: PathBuf,
    pub entries: Vec<McpEntry>,
    /// What is left out, and why, one line each.
    pub broken: Vec<String>,
    /// What means nothing in servers that can be used, one line each.
    pub notices: Vec<String>,
}

/// The file of a project: of the nearest folder that has one. `None` where no files of projects are read.
pub fn file_of(project: &Project) -> Option<PathBuf> {
    let folders = project.folders.iter().filter(|_| project.sources.project);
    folders.map(|folder| folder.join(MCP_FILE)).find(|file| file.is_file())
}

/// Reads the project's file. What is wrong with it costs only what is wrong: one clear line, and no start.
pub(super) fn of_project(project: &Project, cwd: &Path) -> McpFile {
    file_of(project).map_or_else(McpFile::default, |file| read_file(&file, cwd))
}

/// The same for one file, which may be absent.
pub(super) fn read_file_if_there(file: &Path, cwd: &Path) -> McpFile {
    if file.exists() { read_file(file, cwd) } else { McpFile::default() }
}

fn read_file(file: &Path, cwd: &Path) -> McpFile {
    let read = || -> Result<McpFile, ConfigError> {
        let text = read_text(file, cwd)?.unwrap_or_default();
        let path = shown(file, cwd);
        let at = |line: Option<usize>| Origin::File { path: path.clone(), line: line.unwrap_or(1) };
        let servers = parse(&text)
            .map_err(|misfit| ConfigError::invalid(&at(misfit.line), misfit.message))?;
        let folder = file.parent().map(Path::to_owned).unwrap_or_default();
        let mut found = McpFile { folder, ..McpFile::default() };
        for NamedServer { name, line, server, unknown, .. } in servers {
            let origin = at(line);
            match server {
                Ok(McpServer { transport: McpTransport::Peer, .. }) => {
                    let what = "type sdk is for the program that drives caliban alone";
                    found.broken.push(format!("{origin}: MCP server {name} is left out: {what}"));
                }
                Ok(server) => {
                    if !unknown.is_empty() {
                        let unknown = unknown.join(", ");
                        found.notices.push(format!(
                            "{origin}: of MCP server {name} this means nothing here: {unknown}"
                        ));
                    }
                    found.entries.push(McpEntry::new(server, origin));
                }
                Err(Misfit { line, message }) => {
                    let origin = at(line);
                    let mut why = format!("{origin}: MCP server {name} is left out: {message}");
                    if !unknown.is_empty() {
                        why.push_str(&format!("; not known here: {}", unknown.join(", ")));
                    }
                    found.broken.push(why);
                }
            }
        }
        Ok(found)
    };
    read().unwrap_or_else(|error| McpFile { broken: vec![error.to_string()], ..McpFile::default() })
}

/// What the option gives: JSON, or else the path of a file, which must be there. Here a mistake
/// ends the start; a server of the older kind over HTTP, which other programs still take, is left
/// out.
pub(super) fn of_flag(value: &str, cwd: &Path) -> Result<McpFile, ConfigError> {
    if value.trim_start().starts_with('{') {
        return all(value, |_| FLAG.clone());
    }
    let file = cwd.join(value);
    let Some(text) = read_text(&file, cwd)? else {
        let message =
            format!("there is no file {value}; it takes a file or JSON such as {EXAMPLE}");
        return Err(ConfigError::invalid(&FLAG, message));
    };
    let path = shown(&file, cwd);
    all(&text, |line| Origin::File { path: path.clone(), line: line.unwrap_or(1) })
}

/// The servers of a JSON text that no option and no file holds.
pub fn of_json(text: &str, origin: &Origin) -> Result<Vec<McpEntry>, ConfigError> {
    let found = all(text, |_| origin.clone())?;
    match found.broken.first() {
        Some(why) => Err(ConfigError::invalid(origin, why.clone())),
        None => Ok(found.entries),
    }
}

/// All servers of a text.
fn all(text: &str, at: impl Fn(Option<usize>) -> Origin) -> Result<McpFile, ConfigError> {
    let servers =
        parse(text).map_err(|misfit| ConfigError::invalid(&at(misfit.line), misfit.message))?;
    let mut found = McpFile::default();
    for NamedServer { name, line, server, is_sse, .. } in servers {
        match server {
            Ok(server) => found.entries.push(McpEntry::new(server, at(line))),
            Err(Misfit { line, message }) if is_sse => {
                let origin = at(line);
                found.broken.push(format!("{origin}: MCP server {name} is left out: {message}"));
            }
            Err(Misfit { line, message }) => {
                let message = format!("MCP server {name}: {message}");
                return Err(ConfigError::invalid(&at(line), message));
            }
        }
    }
    Ok(found)
}

/// One server as it is written.
#[derive(Debug)]
struct NamedServer {
    name: String,
    line: Option<usize>,
    server: Result<McpServer, Misfit>,
    /// Whether it is of the older kind over HTTP.
    is_sse: bool,
    /// Keys that mean nothing here.
    unknown: Vec<String>,
}

fn parse(text: &str) -> Result<Vec<NamedServer>, Misfit> {
    let root = parse_json(text)?;
    let servers = root
        .get("mcpServers")
        .ok_or_else(|| root.misfit(format!("`mcpServers` is missing, as in {EXAMPLE}")))?;
    let named = |(name, node): &(String, Node)| NamedServer {
        name: name.escape_debug().to_string(),
        line: node.line,
        server: server(name, node),
        is_sse: node.get("type").is_some_and(|kind| kind.scalar() == Some("sse")),
        unknown: unknown(node),
    };
    Ok(servers.table("mcpServers")?.iter().map(named).collect())
}

fn unknown(node: &Node) -> Vec<String> {
    let entries = node.table("").unwrap_or_default().iter();
    let unknown = entries.filter(|(key, _)| !KEYS.contains(&key.as_str()));
    unknown.map(|(key, _)| key.escape_debug().to_string()).collect()
}

/// Reads a server as `.mcp.json` has it. The error says what is wrong and on which line.
pub fn server(name: &str, node: &Node) -> Result<McpServer, Misfit> {
    node.table(name)?;
    if name.trim().is_empty() {
        return Err(node.misfit("a server needs a name"));
    }
    let kind = node.get("type").map(|kind| kind.text("type")).transpose()?;
    let kind = kind.unwrap_or(if node.get("command").is_some() { "stdio" } else { "http" });
    let needed = |key: &str| {
        let value = node.get(key).ok_or_else(|| {
            node.misfit(format!("`{key}` is missing; a server has a `command` or a `url`"))
        })?;
        let text = value.text(key)?;
        match text.trim().is_empty() {
            true => Err(value.misfit(format!("`{key}` must not be empty"))),
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
            let message = "type sse, the older way over HTTP, is not supported; most such servers have streamable HTTP too: type http";
            return Err(node.misfit(message));
        }
        other => {
            let message = format!("type {other:?} is not supported; allowed: stdio, http");
            return Err(node.misfit(message));
        }
    };
    Ok(McpServer::new(name, transport))
}

fn texts(node: &Node, key: &str) -> Result<Vec<String>, Misfit> {
    let Some(list) = node.get(key) else { return Ok(Vec::new()) };
    let text = |item: &Node| scalar(item, &format!("each entry of {key}"));
    list.list(key)?.iter().map(text).collect()
}

fn pairs(node: &Node, key: &str) -> Result<BTreeMap<String, String>, Misfit> {
    let Some(table) = node.get(key) else { return Ok(BTreeMap::new()) };
    let pair = |(name, value): &(String, Node)| {
        Ok((name.clone(), scalar(value, &format!("{key}.{name}"))?))
    };
    table.table(key)?.iter().map(pair).collect()
}

/// A text; a number or truth value is taken as it is written.
fn scalar(node: &Node, name: &str) -> Result<String, Misfit> {
    node.scalar().map(str::to_owned).ok_or_else(|| node.must_be(name, "a text in quotes"))
}
