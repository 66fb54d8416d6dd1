//! Servers inside of the program that drives us: each message goes there, and its answer comes back.

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::protocol::{PeerError, PeerRequest, SharedPeer};

/// How many answers may wait to be read.
const WAITING: usize = 64;

type Answer = RxJsonRpcMessage<RoleClient>;

/// The way to one such server.
///
/// # The states of a message
/// - *asked*: it went to the program as a control request. If it is a request of MCP, somebody here
///   waits for its answer; a notification only waits for the program's receipt, which says nothing.
/// - *answered*: the server's answer goes to the call that waits. A refusal by the program, or an
///   answer that is no message of MCP, fails that call alone; the server stays connected.
/// - *given up*: the call was stopped or took too long. The server learns of it by a notification
///   like any other, and a late answer goes to nobody.
/// - *withdrawn*: the connection was closed first. The program is told that it need not answer any more.
/// - *lost*: stdin has ended, so nothing can be answered. Every message fails at once, those that
///   were asked before too.
pub struct PeerTransport {
    server: String,
    peer: SharedPeer,
    answers: (mpsc::Sender<Answer>, mpsc::Receiver<Answer>),
}

/// A message that found no way.
#[derive(Debug, thiserror::Error)]
pub enum PeerFault {
    #[error("{0}")]
    Peer(#[from] PeerError),
    #[error("a message could not be written: {0}")]
    Message(#[from] serde_json::Error),
    #[error("its answer is no message of MCP: {0}")]
    Answer(String),
}

impl PeerTransport {
    pub fn new(server: &str, peer: SharedPeer) -> Self {
        Self { server: server.to_owned(), peer, answers: mpsc::channel(WAITING) }
    }
}

impl Transport<RoleClient> for PeerTransport {
    type Error = PeerFault;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), PeerFault>> + Send + 'static {
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

    async fn receive(&mut self) -> Option<Answer> {
        self.answers.1.recv().await
    }

    async fn close(&mut self) -> Result<(), PeerFault> {
        self.answers.1.close();
        Ok(())
    }
}

/// What cannot be read is told to the one who waits for it.
fn read(answer: Value) -> Result<Answer, PeerFault> {
    match answer {
        Value::Null => Err(PeerFault::Answer("there is no `mcp_response`".to_owned())),
        answer => {
            serde_json::from_value(answer).map_err(|error| PeerFault::Answer(error.to_string()))
        }
    }
}
