//! Servers of the Model Context Protocol: their configuration and state.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::secret::Secret;
use super::start_dir::StartDir;

/// A configured server. Texts may hold `${VAR}` and `${VAR:-default}`, filled in from the
/// environment of the agent that uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    pub name: String,
    pub transport: McpTransport,
    /// Startup timeout; absent: 30 s.
    pub startup: Option<Duration>,
    /// Timeout of one call; absent: as for any tool.
    pub timeout: Option<Duration>,
    /// Whether agents with the same environment share one connection. Otherwise each has its own.
    pub shared: bool,
    /// Where its program starts.
    pub start: StartDir,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpTransport {
    /// A program that we start, with the protocol on its standard streams.
    Stdio { command: String, args: Vec<String>, env: Secret<BTreeMap<String, String>> },
    /// Streamable HTTP.
    Http { url: Secret<String>, headers: Secret<BTreeMap<String, String>> },
    /// Inside the program that drives us.
    Peer,
}

impl McpServer {
    /// Creates a server that is shared and starts in a private folder, with nothing set but its transport.
    pub fn new(name: impl Into<String>, transport: McpTransport) -> Self {
        let name = name.into();
        let start = StartDir::Private;
        Self { name, transport, startup: None, timeout: None, shared: true, start }
    }

    /// Creates a server inside the program that drives us.
    pub fn from_peer(name: impl Into<String>) -> Self {
        Self::new(name, McpTransport::Peer)
    }

    /// Returns the command or address in one line, as configured. Leaves out values of variables
    /// and headers, and parts of an address that may be a key.
    pub fn about(&self) -> String {
        match &self.transport {
            McpTransport::Stdio { command, args, .. } => {
                let words = std::iter::once(command).chain(args).map(String::as_str);
                words.collect::<Vec<_>>().join(" ")
            }
            McpTransport::Http { url, .. } => display_url(url),
            McpTransport::Peer => "in the program that drives caliban".to_owned(),
        }
    }
}

/// Returns a server's address as configured, without its query, user name and password, which may be a key.
pub fn display_url(url: &str) -> String {
    let (place, query) = url.split_once('?').map_or((url, ""), |(place, _)| (place, "?***"));
    let Some((scheme, rest)) = place.split_once("://") else { return format!("{place}{query}") };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    match host.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://***@{host}{path}{query}"),
        None => format!("{place}{query}"),
    }
}

/// The state of a server at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct McpStatus {
    pub name: String,
    pub state: McpState,
    /// Names of its usable tools, as it calls them.
    pub tools: Vec<String>,
    /// The last error.
    pub error: Option<String>,
    /// The command or address.
    pub about: String,
}

/// The connection state of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum McpState {
    /// It is being started, for the first time or again.
    #[default]
    Pending,
    Connected,
    /// It could not be started, or died too often.
    Failed,
}

impl McpState {
    /// Returns the word in frames and lists.
    pub fn label(self) -> &'static str {
        self.into()
    }
}

/// A server that a sub-agent's definition asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpSelection {
    /// One of the session's, by its name.
    Named(String),
    /// One of its own, which lives as long as the agent.
    Own(McpServer),
}

impl McpSelection {
    /// Returns the server's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Named(name) => name,
            Self::Own(server) => &server.name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_what_may_be_a_key() {
        for (url, expected) in [
            ("https://h/mcp", "https://h/mcp"),
            ("https://h/mcp?key=sk-1&flag", "https://h/mcp?***"),
            ("https://h?key=sk-1", "https://h?***"),
            ("https://me:pw@h:1/a@b?c", "https://***@h:1/a@b?***"),
            ("${BASE:-http://h}/mcp?k", "${BASE:-http://h}/mcp?***"),
            ("${WHOLE}", "${WHOLE}"),
        ] {
            assert_eq!(display_url(url), expected, "{url}");
        }
    }
}
