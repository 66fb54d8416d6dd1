//! The program that drives this one over its standard streams, asked for what it keeps on its side.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::ids::ToolUseId;
use super::question::Question;

/// Something that only the driving program can do.
#[derive(Clone, Debug, PartialEq)]
pub enum PeerRequest {
    /// Run a hook that it has registered under this id.
    HookCallback { callback_id: String, input: Value, tool_use_id: Option<ToolUseId> },
    /// Hand one JSON-RPC message to an MCP server that lives inside it. Answered by the server's
    /// message, or by `null` when that has nothing to say to a notification.
    McpMessage { server: String, message: Value },
    /// Decide on a tool call. The answer is the program's own JSON.
    CanUseTool(Box<Question>),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeerError {
    #[error("the program that drives caliban is gone")]
    Gone,
    /// In its own words.
    #[error("{0}")]
    Refused(String),
}

/// The driving program. Any number of questions may be open at a time.
#[async_trait]
pub trait Peer: Send + Sync {
    /// Asks and waits for the answer. Dropping the wait withdraws the question.
    async fn ask(&self, request: PeerRequest) -> Result<Value, PeerError>;
}

/// The driving program, as parts that ask it hold it.
pub type SharedPeer = Arc<dyn Peer>;
