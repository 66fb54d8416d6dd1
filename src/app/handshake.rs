//! MCP servers that the handshake of a driving program brings.

use super::{AppError, Setup};
use crate::config::{self, McpEntry, Origin};
use crate::headless::{HandshakeServers, SdkServer};
use crate::protocol::{McpServer, McpTransport};

/// Where these servers come from.
const ORIGIN: Origin = Origin::Flag { name: "initialize" };

impl Setup {
    /// The same with the servers of a handshake. They stand above those of files and options with
    /// the same name: whoever starts this program has more to say than a file of the project. A
    /// server inside of the program that `--mcp-config` has named already stays as it is.
    pub(super) fn with_servers(mut self, servers: &HandshakeServers) -> Result<Self, AppError> {
        let HandshakeServers { own, sdk } = servers;
        if let Some(json) = own {
            for entry in config::mcp_of_json(json, &ORIGIN)? {
                let entry = entry.in_folder(&self.cwd);
                self.place(entry);
            }
        }
        for SdkServer { name, timeout } in sdk {
            let known = self.loaded.mcp.iter_mut().find(|entry| entry.server.name == *name);
            match known.filter(|entry| entry.server.transport == McpTransport::Peer) {
                Some(entry) => entry.server.timeout = timeout.or(entry.server.timeout),
                None => {
                    let server = McpServer { timeout: *timeout, ..McpServer::of_peer(name) };
                    let entry = McpEntry::new(server, ORIGIN).in_folder(&self.cwd);
                    self.place(entry);
                }
            }
        }
        Ok(self)
    }

    /// Puts a server into the place of one with its name, or behind all others.
    fn place(&mut self, entry: McpEntry) {
        let servers = &mut self.loaded.mcp;
        match servers.iter_mut().find(|known| known.server.name == entry.server.name) {
            Some(known) => *known = entry,
            None => servers.push(entry),
        }
    }
}
