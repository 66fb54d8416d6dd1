//! One MCP server as configuration files describe it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::error::Origin;
use super::project_start::EntryCwd;
use super::untrusted_item::{UntrustedItem, one_line};
use crate::protocol::{McpServer, McpTransport, Secret, StartDir, shell_word};
use crate::spanned::{Scalar, non_blank};

/// One server of a file. Values may contain `${VAR}` and `${VAR:-default}`.
// Numbers in lists of texts are for `.mcp.json` and definitions; the schema refuses them in our own files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpServerConfig {
    /// A program that speaks the protocol over its standard streams.
    #[serde(default, deserialize_with = "non_blank")]
    #[schemars(length(min = 1))]
    pub command: Option<String>,
    /// The program's arguments.
    #[serde(default, deserialize_with = "list_as_written")]
    pub args: Vec<String>,
    /// Additional environment variables for the program.
    #[serde(default, deserialize_with = "table_as_written")]
    pub env: Secret<BTreeMap<String, String>>,
    /// The URL of a streamable HTTP server, instead of `command`.
    #[serde(default, deserialize_with = "secret_non_blank")]
    #[schemars(length(min = 1))]
    pub url: Option<Secret<String>>,
    /// Headers to send with each request.
    #[serde(default, deserialize_with = "table_as_written")]
    pub headers: Secret<BTreeMap<String, String>>,
    /// Time limit for the start, in seconds. Absent: 30.
    #[schemars(range(min = 0.001, max = 3600))]
    pub startup_timeout_s: Option<f64>,
    /// Time limit for one call, in seconds. Absent: 120.
    #[schemars(range(min = 0.001, max = 86400))]
    pub timeout_s: Option<f64>,
    /// Whether agents with the same environment share one connection. Absent: yes.
    pub shared: Option<bool>,
    /// Where your own program starts: `project` is the project's root, once you accept that for the
    /// project. Absent: an empty folder. A project's servers start in the folder above their file's
    /// `.caliban`.
    pub cwd: Option<EntryCwd>,
}

fn secret_non_blank<'de, D: Deserializer<'de>>(
    text: D,
) -> Result<Option<Secret<String>>, D::Error> {
    non_blank(text).map(|text: String| Some(text.into()))
}

fn list_as_written<'de, D: Deserializer<'de>>(list: D) -> Result<Vec<String>, D::Error> {
    Ok(Vec::<Scalar>::deserialize(list)?.into_iter().map(|item| item.0).collect())
}

fn table_as_written<'de, D: Deserializer<'de>>(
    table: D,
) -> Result<Secret<BTreeMap<String, String>>, D::Error> {
    let table = BTreeMap::<String, Scalar>::deserialize(table)?;
    Ok(table.into_iter().map(|(name, value)| (name, value.0)).collect())
}

/// A configured server and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct McpEntry {
    pub server: McpServer,
    pub origin: Origin,
    /// Whether the entry sets `cwd = "project"`.
    pub wants_project_cwd: bool,
}

impl McpEntry {
    /// Creates an entry that does not set `cwd`.
    pub fn new(server: McpServer, origin: Origin) -> Self {
        Self { server, origin, wants_project_cwd: false }
    }

    /// Returns the entry, started in this folder of the project or the command line.
    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.server.start = StartDir::project(folder);
        self
    }

    /// Returns the server as an item that needs the user's trust.
    pub fn untrusted_item(&self) -> UntrustedItem {
        UntrustedItem { what: describe_server(&self.server), origin: self.origin.clone() }
    }
}

/// Describes what a server runs or connects to, in one line. Servers that do different things have
/// different lines, which include the environment: a variable can make a program run anything.
pub fn describe_server(server: &McpServer) -> String {
    let none = Secret::default();
    let (words, values) = match &server.transport {
        McpTransport::Stdio { command, args, env } => {
            (std::iter::once(command).chain(args).map(|word| shell_word(word)).collect(), env)
        }
        // No word of a command looks like this, so a URL cannot be mistaken for a program of the same text.
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
    /// Converts the entry to a server. The error names what is missing or not allowed.
    pub(super) fn to_server(&self, name: &str) -> Result<McpServer, String> {
        let stdio_only = !self.args.is_empty() || !self.env.is_empty() || self.cwd.is_some();
        let transport = match (&self.command, &self.url) {
            (Some(_), Some(_)) => {
                return Err("has both `command` and `url`; use one of them".to_owned());
            }
            (None, None) => return Err("needs a `command` or a `url`".to_owned()),
            (Some(_), None) if !self.headers.is_empty() => {
                return Err("has `headers`, which only work with `url`".to_owned());
            }
            (None, Some(_)) if stdio_only => {
                return Err("has `args`, `env` or `cwd`, which only work with `command`".to_owned());
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
