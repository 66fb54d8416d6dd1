//! The servers of one agent.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;

use super::remote::RemoteTool;
use super::server::Server;
use crate::protocol::{McpStatus, mcp_name};
use crate::tool::api::Tool;

/// An agent's servers, in the order of the configuration. They run as long as this or one of their tools is held.
#[derive(Clone, Default)]
pub struct ServerSet {
    servers: Vec<Arc<Server>>,
    soften: bool,
}

/// The tools that its servers offer an agent.
#[derive(Default)]
pub struct OfferedTools {
    pub tools: Vec<Arc<dyn Tool>>,
    /// Tools that were left out, one line each.
    pub problems: Vec<String>,
}

impl ServerSet {
    pub(super) fn new(servers: Vec<Arc<Server>>, soften: bool) -> Self {
        Self { servers, soften }
    }

    /// Waits until all are up or have failed, or a request's wait is over.
    pub async fn wait_ready(&self) {
        join_all(self.servers.iter().map(|server| server.wait_ready())).await;
    }

    pub(super) async fn wait_ready_by(&self, moment: Instant) {
        join_all(self.servers.iter().map(|server| server.wait_ready_by(moment))).await;
    }

    /// Waits up to `limit` until the servers of these tools, or entries of a list of tools, are up or have failed.
    pub async fn wait_ready_for(&self, tools: &[String], limit: Duration) {
        let by = Instant::now() + limit;
        let is_meant = |server: &&Arc<Server>| {
            tools.iter().any(|tool| is_of_server(&server.config().name, tool))
        };
        let meant = self.servers.iter().filter(is_meant);
        join_all(meant.map(|server| server.wait_ready_by(by))).await;
    }

    /// Returns the names of servers that are still starting for the first time, each with any
    /// output that is not the protocol.
    pub fn still_starting(&self) -> Vec<String> {
        let missing = self.servers.iter().filter(|server| server.is_starting());
        let named = missing.map(|server| match server.complaint() {
            Some(complaint) => format!("{} ({complaint})", server.config().name),
            None => server.config().name.clone(),
        });
        named.collect()
    }

    /// Returns the status of each.
    pub fn status(&self) -> Vec<McpStatus> {
        self.servers.iter().map(|server| server.status()).collect()
    }

    /// Returns the tools of all, sorted by server and then as each lists them. Of two with one
    /// name, the first wins.
    pub fn offered(&self) -> OfferedTools {
        let mut offered = OfferedTools::default();
        let mut owners: Vec<&str> = Vec::new();
        for server in &self.servers {
            let name = server.config().name.as_str();
            let listed = server.listed();
            for listing in &listed.tools {
                let wire = &listing.spec.name;
                match offered.tools.iter().position(|other| other.spec().name == *wire) {
                    Some(place) => offered.problems.push(format!(
                        "the MCP servers {} and {name} both offer {wire}: the first is used",
                        owners[place]
                    )),
                    None => {
                        let (listing, instructions) =
                            (listing.clone(), listed.instructions.clone());
                        let remote =
                            RemoteTool::new(server.clone(), listing, instructions, self.soften);
                        offered.tools.push(Arc::new(remote));
                        owners.push(name);
                    }
                }
            }
        }
        offered
    }
}

/// Whether an entry of a list of tools covers this tool of a server: `mcp__server`,
/// `mcp__server__*`, `mcp__server__tool`.
pub fn is_listed(entry: &str, tool: &str) -> bool {
    match mcp_name::parts(entry) {
        Some((server, None)) => tool.starts_with(&mcp_name::server_prefix(server)),
        Some((server, Some(own))) => tool == mcp_name::tool_name(server, own),
        None => false,
    }
}

/// Whether a tool, or an entry of a list of tools, belongs to the server of this name.
pub fn is_of_server(server: &str, tool: &str) -> bool {
    let own = mcp_name::server_prefix(server);
    mcp_name::parts(tool).is_some_and(|(named, _)| mcp_name::server_prefix(named) == own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_for_a_whole_server_means_its_tools_and_no_others() {
        for (entry, tool, expected) in [
            ("mcp__a", "mcp__a__x", true),
            ("mcp__a__*", "mcp__a__x", true),
            ("mcp__a.b", "mcp__a_b__x", true),
            ("mcp__a.b__x", "mcp__a_b__x", true),
            ("mcp__a", "mcp__ab__x", false),
            ("mcp__a__x", "mcp__a__x", true),
            ("mcp__a__x", "mcp__a__x__y", false),
            ("mcp__a__x__*", "mcp__a__x__y", false),
            ("a", "mcp__a__x", false),
        ] {
            assert_eq!(is_listed(entry, tool), expected, "{entry} {tool}");
        }
        for (server, tool, expected) in [
            ("a", "mcp__a__x", true),
            ("a", "mcp__a", true),
            ("a", "mcp__a__*", true),
            ("a.b", "mcp__a_b__x", true),
            ("a", "mcp__ab__x", false),
            ("a", "Read", false),
        ] {
            assert_eq!(is_of_server(server, tool), expected, "{server} {tool}");
        }
    }
}
