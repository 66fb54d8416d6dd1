//! The servers of one agent.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;

use super::Server;
use super::remote::RemoteTool;
use super::session::is_of_server;
use crate::protocol::McpStatus;
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
