//! The servers of one agent.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;

use super::Server;
use super::remote::Remote;
use super::session::is_of_server;
use crate::protocol::McpStatus;
use crate::tool::Tool;

/// Its servers, in the order of the configuration. They run as long as this or one of their tools is held.
#[derive(Clone, Default)]
pub struct Fleet {
    servers: Vec<Arc<Server>>,
    soften: bool,
}

/// What an agent is offered of its servers.
#[derive(Default)]
pub struct Offered {
    pub tools: Vec<Arc<dyn Tool>>,
    /// What had to be left out, one line each.
    pub problems: Vec<String>,
}

impl Fleet {
    pub(super) fn new(servers: Vec<Arc<Server>>, soften: bool) -> Self {
        Self { servers, soften }
    }

    /// Waits until all are up or have failed, for as long as a request waits.
    pub async fn settled(&self) {
        join_all(self.servers.iter().map(|server| server.settled())).await;
    }

    pub(super) async fn settled_by(&self, moment: Instant) {
        join_all(self.servers.iter().map(|server| server.settled_by(moment))).await;
    }

    /// Waits until those are up or have failed of which these are tools, or entries of a list of
    /// tools; at most `limit`.
    pub async fn settled_of(&self, tools: &[String], limit: Duration) {
        let by = Instant::now() + limit;
        let is_meant = |server: &&Arc<Server>| {
            tools.iter().any(|tool| is_of_server(&server.config().name, tool))
        };
        let meant = self.servers.iter().filter(is_meant);
        join_all(meant.map(|server| server.settled_by(by))).await;
    }

    /// The names of those that are still being started for the first time, each with what it prints
    /// instead of the protocol.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        let missing = self.servers.iter().filter(|server| server.is_missing());
        let named = missing.map(|server| match server.complaint() {
            Some(complaint) => format!("{} ({complaint})", server.config().name),
            None => server.config().name.clone(),
        });
        named.collect()
    }

    /// How each stands.
    #[must_use]
    pub fn status(&self) -> Vec<McpStatus> {
        self.servers.iter().map(|server| server.status()).collect()
    }

    /// The tools of all, sorted by server and then as each lists them. Of two with one name the first counts.
    #[must_use]
    pub fn offered(&self) -> Offered {
        let mut offered = Offered::default();
        let mut owners: Vec<&str> = Vec::new();
        for server in &self.servers {
            let name = server.config().name.as_str();
            let listed = server.listed();
            for listing in &listed.tools {
                let wire = &listing.spec.name;
                match offered.tools.iter().position(|other| other.spec().name == *wire) {
                    Some(place) => offered.problems.push(format!(
                        "the MCP servers {} and {name} both offer {wire}: the first counts",
                        owners[place]
                    )),
                    None => {
                        let (listing, instructions) =
                            (listing.clone(), listed.instructions.clone());
                        let remote =
                            Remote::new(server.clone(), listing, instructions, self.soften);
                        offered.tools.push(Arc::new(remote));
                        owners.push(name);
                    }
                }
            }
        }
        offered
    }
}
