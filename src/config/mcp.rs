//! MCP servers: `[mcp_servers.NAME]` of our own files, and which of all servers count.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::{ConfigError, Origin};
use super::inert::{Inert, one_line};
use super::layers::Origins;
use super::mcp_file;
use super::start::{EntryCwd, Starts, server_notice};
use super::{Project, Sources};
use crate::protocol::{McpServer, McpTransport, StartDir, shell_word};

/// The table of servers.
pub(super) const SERVERS: &str = "mcp_servers";

/// One server of a file. Texts may hold `${VAR}` and `${VAR:-default}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpServerConfig {
    /// A program that speaks the protocol over its standard streams.
    #[schemars(length(min = 1))]
    pub command: Option<String>,
    /// The program's arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// More variables for the program.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The address of a server over streamable HTTP; instead of `command`.
    #[schemars(length(min = 1))]
    pub url: Option<String>,
    /// Headers of each request to it.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Seconds that it may take to start. Absent: 30.
    #[schemars(range(min = 0.001, max = 3600))]
    pub startup_timeout_s: Option<f64>,
    /// Seconds that one call may take. Absent: 120.
    #[schemars(range(min = 0.001, max = 86400))]
    pub timeout_s: Option<f64>,
    /// Whether agents with the same environment use one connection. Absent: yes.
    pub shared: Option<bool>,
    /// Where a program of your own starts: `project` is the project's root, once you accept that
    /// for the project. Absent: an empty folder. Servers of a project start in the folder above
    /// their file's `.caliban`.
    pub cwd: Option<EntryCwd>,
}

/// A server that counts, and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct McpEntry {
    pub server: McpServer,
    pub origin: Origin,
    /// Whether it says `cwd = "project"`.
    pub asks_project: bool,
}

impl McpEntry {
    /// An entry that does not say where its program starts.
    #[must_use]
    pub fn new(server: McpServer, origin: Origin) -> Self {
        Self { server, origin, asks_project: false }
    }

    /// The same entry, started in this folder: one of the project, or of the command line.
    #[must_use]
    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.server.start = StartDir::project(folder);
        self
    }

    /// The server as a thing that a project brings.
    #[must_use]
    pub fn inert(&self) -> Inert {
        Inert { what: line(&self.server), origin: self.origin.clone() }
    }
}

/// One line that says what a server runs or connects to. Two that do something different have
/// different lines, and what it is given with that shows: a variable can make a program run
/// anything.
#[must_use]
pub fn line(server: &McpServer) -> String {
    let none = BTreeMap::new();
    let (words, values) = match &server.transport {
        McpTransport::Stdio { command, args, env } => {
            (std::iter::once(command).chain(args).map(|word| shell_word(word)).collect(), env)
        }
        // No word of a command looks like this: an address cannot become a program of the same text.
        McpTransport::Http { url, headers } => (vec![format!("<{}>", shell_word(url))], headers),
        McpTransport::Peer => (vec![server.about()], &none),
    };
    let mut line = words.join(" ");
    if !values.is_empty() {
        let value = |(name, value): (&String, &String)| {
            format!("{}={}", shell_word(name), shell_word(value))
        };
        let values: Vec<String> = values.iter().map(value).collect();
        line.push_str(&format!(" ({})", values.join(", ")));
    }
    format!("MCP server {}: {}", one_line(&server.name, Some(": ")), one_line(&line, None))
}

impl McpServerConfig {
    /// The server of this name. The error names what is missing or too much.
    fn server(&self, name: &str) -> Result<McpServer, String> {
        let stdio_only = !self.args.is_empty() || !self.env.is_empty() || self.cwd.is_some();
        let transport = match (&self.command, &self.url) {
            (Some(_), Some(_)) => {
                return Err("has a `command` and a `url`: it takes one of them".to_owned());
            }
            (None, None) => return Err("needs a `command` or a `url`".to_owned()),
            (Some(_), None) if !self.headers.is_empty() => {
                return Err("has `headers`, which go with a `url` alone".to_owned());
            }
            (None, Some(_)) if stdio_only => {
                return Err(
                    "has `args`, `env` or `cwd`, which go with a `command` alone".to_owned()
                );
            }
            (Some(command), None) => McpTransport::Stdio {
                command: command.clone(),
                args: self.args.clone(),
                env: self.env.clone(),
            },
            (None, Some(url)) => {
                McpTransport::Http { url: url.clone(), headers: self.headers.clone() }
            }
        };
        let seconds =
            |value: Option<f64>| value.and_then(|value| Duration::try_from_secs_f64(value).ok());
        Ok(McpServer {
            startup: seconds(self.startup_timeout_s),
            timeout: seconds(self.timeout_s),
            shared: self.shared.unwrap_or(true),
            ..McpServer::new(name, transport)
        })
    }
}

/// The servers of our own files.
pub(super) fn of_tables(
    servers: &BTreeMap<String, McpServerConfig>,
    origins: &Origins,
) -> Result<Vec<McpEntry>, ConfigError> {
    let entry = |(name, config): (&String, &McpServerConfig)| {
        let origin = origins.below(&format!("{SERVERS}.{name}")).clone();
        match config.server(name) {
            Ok(server) => Ok(McpEntry { server, origin, asks_project: config.cwd.is_some() }),
            Err(why) => Err(ConfigError::invalid(&origin, format!("[{SERVERS}.{name}] {why}"))),
        }
    };
    servers.iter().map(entry).collect()
}

/// Which servers count, `disabled` ones of `.mcp.json` left out: those of `--mcp-config` over the
/// project's, over those of `.mcp.json`, over the person's own.
pub(super) fn collect(
    sources: &Sources<'_>,
    project: &Project,
    tables: Vec<McpEntry>,
    disabled: &[&str],
    notices: &mut Vec<String>,
    starts: &mut Starts<'_>,
    mut admits: impl FnMut(Inert) -> bool,
) -> Result<Vec<McpEntry>, ConfigError> {
    let mut all = Vec::new();
    if !sources.overrides.strict_mcp_config {
        let is_projects = |entry: &McpEntry| starts.is_projects(&entry.origin);
        let (of_project, own): (Vec<_>, Vec<_>) = tables.into_iter().partition(is_projects);
        let file = mcp_file::of_project(project, sources.cwd);
        notices.extend(file.broken);
        notices.extend(file.notices);
        all.extend(own);
        let wanted = |entry: &McpEntry| !disabled.contains(&entry.server.name.as_str());
        let entries = file.entries.into_iter().filter(wanted);
        let entries = entries.filter(|entry| admits(entry.inert()));
        all.extend(entries.map(|entry| entry.in_folder(&file.folder)));
        all.extend(of_project.into_iter().map(|entry| entry.in_folder(&project.config_root)));
    }
    for value in &sources.overrides.mcp_config {
        let given = mcp_file::of_flag(value, sources.cwd)?;
        notices.extend(given.broken);
        all.extend(given.entries.into_iter().map(|entry| entry.in_folder(sources.cwd)));
    }
    let by_name: BTreeMap<_, _> =
        all.into_iter().map(|entry| (entry.server.name.clone(), entry)).collect();
    let mut servers: Vec<McpEntry> = by_name.into_values().collect();
    for McpEntry { server, origin, asks_project } in &mut servers {
        if server.start == StartDir::Private {
            server.start = starts.of_user(line(server), origin, *asks_project);
            notices.extend(own_notice(server, origin, *asks_project, sources.cwd));
        }
    }
    Ok(servers)
}

/// One line about a server of the user's that does not say where it starts and names a file relative to that.
#[must_use]
pub fn own_notice(
    server: &McpServer,
    origin: &Origin,
    asks_project: bool,
    cwd: &Path,
) -> Option<String> {
    if asks_project { None } else { server_notice(server, origin, cwd) }
}

#[cfg(test)]
mod tests;
