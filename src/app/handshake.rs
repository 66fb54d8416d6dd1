//! MCP servers from the handshake of a driving program.

use super::setup::{AppError, Setup};
use crate::config::{self, McpEntry, Origin};
use crate::headless::{HandshakeServers, SdkServer};
use crate::protocol::{McpServer, McpTransport};

/// The origin of these servers.
const HANDSHAKE_ORIGIN: Origin = Origin::Flag { name: "initialize" };

impl Setup {
    /// Adds the servers of a handshake. They override those of files and options with the same
    /// name, because whoever starts this program outranks a project's file. A server inside the
    /// driving program that `--mcp-config` has already named is kept.
    pub(crate) fn with_servers(mut self, servers: &HandshakeServers) -> Result<Self, AppError> {
        let HandshakeServers { own, sdk } = servers;
        if let Some(json) = own {
            for entry in config::mcp_of_json(json, &HANDSHAKE_ORIGIN)? {
                let entry = entry.in_folder(&self.cwd);
                self.put_server(entry);
            }
        }
        for SdkServer { name, timeout } in sdk {
            let known = self.loaded.mcp.iter_mut().find(|entry| entry.server.name == *name);
            match known.filter(|entry| entry.server.transport == McpTransport::Peer) {
                Some(entry) => entry.server.timeout = timeout.or(entry.server.timeout),
                None => {
                    let server = McpServer { timeout: *timeout, ..McpServer::from_peer(name) };
                    let entry = McpEntry::new(server, HANDSHAKE_ORIGIN).in_folder(&self.cwd);
                    self.put_server(entry);
                }
            }
        }
        Ok(self)
    }

    /// Replaces the server of the same name, or appends it.
    fn put_server(&mut self, entry: McpEntry) {
        let servers = &mut self.loaded.mcp;
        match servers.iter_mut().find(|known| known.server.name == entry.server.name) {
            Some(known) => *known = entry,
            None => servers.push(entry),
        }
    }
}
