//! Tools of Model Context Protocol servers, as tools like any other. Only this module knows the protocol.
//!
//! A `Server` is one connection, kept up by its own task: started, asked for its tools, asked again
//! when these change, restarted when it dies. Agents share it where its configuration and their
//! environment are equal (`ServerPool`). [`Mcp`] belongs to a session: it holds the servers of its
//! configuration, and those of its sub-agents.

mod connection;
mod content;
mod deps;
mod expand;
mod http;
mod keys;
mod listener;
mod listing;
mod peer;
mod pool;
mod reader;
mod remote;
mod server;
mod server_set;
mod session;
mod stdio;

pub use http::HttpSource;
pub use server_set::{OfferedTools, ServerSet, is_listed, is_of_server};
pub use session::{Mcp, McpSettings};
