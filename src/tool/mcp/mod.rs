//! Tools that servers of the Model Context Protocol offer, as tools like any other. Nobody else
//! names the protocol.
//!
//! A `Server` is one connection, kept up by a task of its own: started, asked for its tools, asked
//! again when these change, started again when it dies. Agents share it where its configuration and
//! their environment are equal (`Pool`). [`Mcp`] is what a session holds: the servers of its
//! configuration, and those of its sub-agents.

mod connection;
mod content;
mod expand;
mod fleet;
mod http;
mod keys;
mod listener;
mod listing;
mod peer;
mod pool;
mod reader;
mod remote;
mod server;
mod session;
mod stdio;

pub use fleet::{Fleet, Offered};
pub use http::HttpSource;
pub use session::{Mcp, McpSettings, is_listed, is_of_server};

use server::Server;
