//! Servers of the Model Context Protocol: how each is reached, and how it stands.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::StartDir;

/// A server as it is configured. Texts may hold `${VAR}` and `${VAR:-default}`, which the
/// environment of the agent that uses it fills in.
#[derive(Clone, PartialEq, Eq)]
pub struct McpServer {
    pub name: String,
    pub transport: McpTransport,
    /// How long it may take to start; absent: 30 s.
    pub startup: Option<Duration>,
    /// How long one call may take; absent: as long as a call of any tool.
    pub timeout: Option<Duration>,
    /// Whether agents with the same environment use one connection. Else each has its own.
    pub shared: bool,
    /// Where its program starts.
    pub start: StartDir,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// A program of ours, spoken to over its standard streams.
    Stdio { command: String, args: Vec<String>, env: BTreeMap<String, String> },
    /// Streamable HTTP.
    Http { url: String, headers: BTreeMap<String, String> },
    /// The program that drives us has it inside.
    Peer,
}

impl McpServer {
    /// A server that is shared and starts in a private folder, with nothing set beside its transport.
    #[must_use]
    pub fn new(name: impl Into<String>, transport: McpTransport) -> Self {
        let name = name.into();
        let start = StartDir::Private;
        Self { name, transport, startup: None, timeout: None, shared: true, start }
    }

    /// A server inside of the program that drives us.
    #[must_use]
    pub fn of_peer(name: impl Into<String>) -> Self {
        Self::new(name, McpTransport::Peer)
    }

    /// What runs or is connected to, in one line, as it is written. Holds no value of a variable or
    /// header, and of an address no part that may be a key.
    #[must_use]
    pub fn about(&self) -> String {
        match &self.transport {
            McpTransport::Stdio { command, args, .. } => {
                let words = std::iter::once(command).chain(args).map(String::as_str);
                words.collect::<Vec<_>>().join(" ")
            }
            McpTransport::Http { url, .. } => shown_url(url),
            McpTransport::Peer => "in the program that drives caliban".to_owned(),
        }
    }
}

/// A server's address, as it is written, without what may be a key in it: its query, and a name and
/// password before the host.
#[must_use]
pub fn shown_url(url: &str) -> String {
    let (place, query) = url.split_once('?').map_or((url, ""), |(place, _)| (place, "?***"));
    let Some((scheme, rest)) = place.split_once("://") else { return format!("{place}{query}") };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    match host.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://***@{host}{path}{query}"),
        None => format!("{place}{query}"),
    }
}

impl fmt::Debug for McpServer {
    /// No values of variables and headers: they may be keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("name", &self.name)
            .field("about", &self.about())
            .finish_non_exhaustive()
    }
}

/// How a server stands at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct McpStatus {
    pub name: String,
    pub state: McpState,
    /// Its tools that can be offered, as it calls them.
    pub tools: Vec<String>,
    /// What went wrong last.
    pub error: Option<String>,
    /// What runs or is connected to.
    pub about: String,
}

/// Whether a server can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum McpState {
    /// It is being started, for the first time or again.
    #[default]
    Pending,
    Connected,
    /// It could not be started, or ended too often.
    Failed,
}

impl McpState {
    /// The word in frames and lists.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Connected => "connected",
            Self::Failed => "failed",
        }
    }
}

/// Which servers a sub-agent's definition asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpWish {
    /// One of the session, by its name.
    Named(String),
    /// One of its own, which lives as long as the agent.
    Own(McpServer),
}

impl McpWish {
    /// The server's name.
    #[must_use]
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
            assert_eq!(shown_url(url), expected, "{url}");
        }
    }
}
