//! Servers inside the program that drives us: messages go there, and answers come back.

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::protocol::{PeerError, PeerRequest, SharedPeer};

/// Maximum number of unread answers.
const QUEUE_CAPACITY: usize = 64;

type IncomingMessage = RxJsonRpcMessage<RoleClient>;

/// The transport to one such server.
///
/// # The states of a message
/// - *asked*: sent to the program as a control request. An MCP request waits for its answer; a
///   notification only waits for the program's empty receipt.
/// - *answered*: the server's answer goes to the waiting call. A refusal by the program, or an
///   answer that is not an MCP message, fails only that call; the server stays connected.
/// - *given up*: the call was stopped or took too long. The server gets a notification like any
///   other, and a late answer is dropped.
/// - *withdrawn*: the connection was closed first. The program is notified that it need not answer.
/// - *lost*: stdin has ended, so no answer can come. Every message fails at once, including those
///   sent before.
pub struct PeerTransport {
    server: String,
    peer: SharedPeer,
    answers: (mpsc::Sender<IncomingMessage>, mpsc::Receiver<IncomingMessage>),
}

/// A message that could not be delivered.
#[derive(Debug, thiserror::Error)]
pub enum PeerTransportError {
    #[error("{0}")]
    Peer(#[from] PeerError),
    #[error("a message could not be written: {0}")]
    Message(#[from] serde_json::Error),
    #[error("its answer is not an MCP message: {0}")]
    Answer(String),
}

impl PeerTransport {
    pub fn new(server: &str, peer: SharedPeer) -> Self {
        Self { server: server.to_owned(), peer, answers: mpsc::channel(QUEUE_CAPACITY) }
    }
}

impl Transport<RoleClient> for PeerTransport {
    type Error = PeerTransportError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), PeerTransportError>> + Send + 'static {
        let (server, peer, answers) =
            (self.server.clone(), self.peer.clone(), self.answers.0.clone());
        async move {
            let message = serde_json::to_value(&item)?;
            let waits = message.get("id").is_some() && message.get("method").is_some();
            // As long as the call takes. Other messages go out meanwhile.
            let answer = peer.ask(PeerRequest::McpMessage { server, message }).await?;
            if waits {
                // Nobody waits any more when the connection has ended.
                let _ = answers.send(read(answer)?).await;
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<IncomingMessage> {
        self.answers.1.recv().await
    }

    async fn close(&mut self) -> Result<(), PeerTransportError> {
        self.answers.1.close();
        Ok(())
    }
}

/// Parses an answer. A malformed one becomes the error of its request.
fn read(answer: Value) -> Result<IncomingMessage, PeerTransportError> {
    match answer {
        Value::Null => Err(PeerTransportError::Answer("there is no `mcp_response`".to_owned())),
        answer => serde_json::from_value(answer)
            .map_err(|error| PeerTransportError::Answer(error.to_string())),
    }
}
