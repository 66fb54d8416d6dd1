//! Servers of the Model Context Protocol: how each is reached, and how it stands.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

/// A server as it is configured. Texts may hold `${VAR}` and `${VAR:-default}`, which the environment of the agent that
/// uses it fills in.
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
    /// A server that is shared, with nothing set beside its transport.
    #[must_use]
    pub fn new(name: impl Into<String>, transport: McpTransport) -> Self {
        Self { name: name.into(), transport, startup: None, timeout: None, shared: true }
    }

    /// A server inside of the program that drives us.
    #[must_use]
    pub fn of_peer(name: impl Into<String>) -> Self {
        Self::new(name, McpTransport::Peer)
    }

    /// What is written in it that may be a key: values of variables and headers, each of the words of a header, and the
    /// query of an address. What only refers to variables is left out.
    #[must_use]
    pub fn secrets(&self) -> Vec<&str> {
        let mut all = Vec::new();
        match &self.transport {
            McpTransport::Stdio { env, .. } => all.extend(env.values().map(String::as_str)),
            McpTransport::Http { url, headers } => {
                all.extend(headers.values().flat_map(|value| value.split(' ').chain([&**value])));
                let query = url.split_once('?').map_or("", |(_, query)| query);
                let value = |pair: &'_ str| pair.find('=').map_or(0, |at| at + 1);
                all.extend(query.split('&').map(|pair| &pair[value(pair)..]));
            }
            McpTransport::Peer => {}
        }
        all.retain(|text| !text.contains("${"));
        all
    }

    /// What runs or is connected to, in one line, as it is written. Holds no value of a variable or header.
    #[must_use]
    pub fn about(&self) -> String {
        match &self.transport {
            McpTransport::Stdio { command, args, .. } => {
                let words = std::iter::once(command).chain(args).map(String::as_str);
                words.collect::<Vec<_>>().join(" ")
            }
            McpTransport::Http { url, .. } => url.clone(),
            McpTransport::Peer => "in the program that drives caliban".to_owned(),
        }
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
    fn what_may_be_a_key_is_found_in_variables_headers_and_queries_and_references_are_left_out() {
        let pairs = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let http = McpTransport::Http {
            url: "https://h/mcp?key=sk-1&flag".to_owned(),
            headers: pairs(&[("A", "Bearer sk-2"), ("B", "Bearer ${TOKEN}")]),
        };
        let server = McpServer::new("x", http);
        assert_eq!(server.secrets(), ["Bearer", "sk-2", "Bearer sk-2", "Bearer", "sk-1", "flag"]);
        let env = pairs(&[("KEY", "sk-3"), ("PLACE", "${HOME}/x")]);
        let program = McpTransport::Stdio { command: "c".to_owned(), args: Vec::new(), env };
        assert_eq!(McpServer::new("x", program).secrets(), ["sk-3"]);
    }
}
