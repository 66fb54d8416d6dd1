//! Requests to the program that drives this one over its standard streams.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::ids::ToolUseId;
use super::question::Question;

/// A request that only the driving program can answer.
#[derive(Clone, Debug, PartialEq)]
pub enum PeerRequest {
    /// Run a hook that it has registered under this id.
    HookCallback { callback_id: String, input: Value, tool_use_id: Option<ToolUseId> },
    /// Pass a JSON-RPC message to an MCP server inside it. Answered by the server's message, or by
    /// `null` if it has no reply to a notification.
    McpMessage { server: String, message: Value },
    /// Decide on a tool call. The answer is the program's own JSON.
    CanUseTool(Box<Question>),
}

/// The error when there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeerError {
    #[error("the program that drives caliban is gone")]
    Gone,
    /// Refused, with the program's own message.
    #[error("{0}")]
    Refused(String),
    /// It came, but cannot be read. What it says is not known.
    #[error("{0}")]
    Unread(String),
}

/// The driving program. Any number of questions may be open at a time.
#[async_trait]
pub trait Peer: Send + Sync {
    /// Sends a request and waits for the answer. Dropping the future withdraws the request.
    async fn ask(&self, request: PeerRequest) -> Result<Value, PeerError>;
}

/// A shared handle to the driving program.
pub type SharedPeer = Arc<dyn Peer>;
