//! Sends requests to the driving program and receives its answers.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};

use super::super::stdout::StdoutSender;
use super::permission;
use crate::protocol::{Peer, PeerError, PeerRequest};

/// The prefix of our request ids, followed by a counter.
const ID_PREFIX: &str = "caliban-";

/// A handle for requests to the driving program. Clones share state.
#[derive(Clone)]
pub struct PeerClient(Arc<PeerClientShared>);

struct PeerClientShared {
    chunks: StdoutSender,
    state: Mutex<PeerClientState>,
    /// Signals withdrawn requests.
    changed: Notify,
}

#[derive(Default)]
struct PeerClientState {
    asked: u64,
    open: HashMap<u64, oneshot::Sender<Result<Value, PeerError>>>,
    /// Requests that nobody waits for any more and whose cancellation has not been sent yet.
    withdrawn: Vec<u64>,
    /// Whether stdin has ended: no more answers can arrive.
    gone: bool,
}

/// The result of delivering an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    Taken,
    /// The request was already answered, or withdrawn while the answer was on its way.
    Late,
    /// There was no such request.
    Unknown,
}

impl PeerClient {
    /// Creates a client that writes to `chunks`.
    pub fn new(chunks: StdoutSender) -> Self {
        let (state, changed) = (Mutex::default(), Notify::new());
        Self(Arc::new(PeerClientShared { chunks, state, changed }))
    }

    /// Delivers an answer to its request.
    pub fn deliver(&self, id: &str, answer: Result<Value, PeerError>) -> Delivery {
        let number = id.strip_prefix(ID_PREFIX).and_then(|number| number.parse().ok());
        let mut state = self.lock();
        let Some(number) = number.filter(|number| *number < state.asked) else {
            return Delivery::Unknown;
        };
        let Some(reply) = state.open.remove(&number) else { return Delivery::Late };
        match reply.send(answer) {
            Ok(()) => Delivery::Taken,
            Err(_) => Delivery::Late,
        }
    }

    /// Fails all open requests, because stdin has ended.
    pub fn end(&self) {
        let mut state = self.lock();
        state.gone = true;
        state.open.clear();
    }

    /// Waits for withdrawn requests and returns the lines that cancel them.
    pub async fn next_withdrawn(&self) -> Vec<Value> {
        loop {
            let changed = self.0.changed.notified();
            let withdrawn = std::mem::take(&mut self.lock().withdrawn);
            if !withdrawn.is_empty() {
                let line =
                    |number| json!({"type": "control_cancel_request", "request_id": name(number)});
                return withdrawn.into_iter().map(line).collect();
            }
            changed.await;
        }
    }

    /// Writes a line between the frames. Returns false if stdout is closed.
    pub async fn write_line(&self, line: &Value) -> bool {
        self.0.chunks.line(line).await
    }

    fn lock(&self) -> MutexGuard<'_, PeerClientState> {
        self.0.state.lock()
    }
}

#[async_trait]
impl Peer for PeerClient {
    async fn ask(&self, request: PeerRequest) -> Result<Value, PeerError> {
        let (reply, answer) = oneshot::channel();
        let number = {
            let mut state = self.lock();
            if state.gone {
                return Err(PeerError::Gone);
            }
            let number = state.asked;
            state.asked += 1;
            state.open.insert(number, reply);
            number
        };
        let mut question = PendingRequest { client: self, number, sent: false };
        let wants_nothing = is_notification(&request);
        let is_message = matches!(request, PeerRequest::McpMessage { .. });
        let line = json!({
            "type": "control_request", "request_id": name(number), "request": body(request),
        });
        if !self.write_line(&line).await {
            return Err(PeerError::Gone);
        }
        question.sent = true;
        let mut answer = answer.await.unwrap_or(Err(PeerError::Gone))?;
        Ok(match is_message {
            _ if wants_nothing => Value::Null,
            true => answer.get_mut("mcp_response").map(Value::take).unwrap_or_default(),
            false => answer,
        })
    }
}

/// An open request. Dropping it withdraws the request.
struct PendingRequest<'a> {
    client: &'a PeerClient,
    number: u64,
    /// Whether the program may have read it.
    sent: bool,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        let mut state = self.client.lock();
        if state.open.remove(&self.number).is_some() && self.sent {
            state.withdrawn.push(self.number);
            drop(state);
            self.client.0.changed.notify_one();
        }
    }
}

fn name(number: u64) -> String {
    format!("{ID_PREFIX}{number}")
}

/// Whether it carries a notification, which has no answer.
fn is_notification(request: &PeerRequest) -> bool {
    matches!(request, PeerRequest::McpMessage { message, .. } if message.get("id").is_none())
}

fn body(request: PeerRequest) -> Value {
    match request {
        PeerRequest::HookCallback { callback_id, input, tool_use_id } => json!({
            "subtype": "hook_callback", "callback_id": callback_id, "input": input,
            "tool_use_id": tool_use_id,
        }),
        PeerRequest::McpMessage { server, message } => {
            json!({"subtype": "mcp_message", "server_name": server, "message": message})
        }
        PeerRequest::CanUseTool(question) => permission::request(&question),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::stdout::StdoutSender;
    use super::*;

    fn message(id: Option<u64>) -> PeerRequest {
        let mut message = json!({"jsonrpc": "2.0", "method": "ping"});
        if let Some(id) = id {
            message["id"] = json!(id);
        }
        PeerRequest::McpMessage { server: "calc".to_owned(), message }
    }

    #[tokio::test]
    async fn an_answer_goes_to_its_question_once_and_a_foreign_one_to_nobody() {
        let (chunks, mut lines) = StdoutSender::channel();
        let client = PeerClient::new(chunks);
        let (one, two) = (client.clone(), client.clone());
        let first = tokio::spawn(async move { one.ask(message(Some(1))).await });
        let line = lines.next().await;
        assert_eq!(line["request"]["server_name"], "calc");
        let second = tokio::spawn(async move { two.ask(message(None)).await });
        let ids =
            [line, lines.next().await].map(|line| line["request_id"].as_str().unwrap().to_owned());
        assert_ne!(ids[0], ids[1]);
        let answer = |text: &str| Ok(json!({"mcp_response": {"result": text}}));
        assert_eq!(client.deliver(&ids[1], answer("b")), Delivery::Taken);
        assert_eq!(client.deliver(&ids[0], answer("a")), Delivery::Taken);
        assert_eq!(client.deliver(&ids[0], answer("c")), Delivery::Late);
        for foreign in ["caliban-2", "caliban-x", "req_1", ""] {
            assert_eq!(client.deliver(foreign, answer("d")), Delivery::Unknown);
        }
        assert_eq!(first.await.unwrap(), Ok(json!({"result": "a"})));
        assert_eq!(second.await.unwrap(), Ok(Value::Null), "a notification has no answer");
    }

    #[tokio::test]
    async fn a_question_that_is_dropped_is_withdrawn_and_the_end_of_stdin_ends_all() {
        let (chunks, mut lines) = StdoutSender::channel();
        let client = PeerClient::new(chunks);
        let one = client.clone();
        let dropped = tokio::spawn(async move { one.ask(message(Some(1))).await });
        let id = lines.next().await["request_id"].clone();
        dropped.abort();
        let told =
            tokio::time::timeout(Duration::from_secs(5), client.next_withdrawn()).await.unwrap();
        assert_eq!(told, [json!({"type": "control_cancel_request", "request_id": id})]);
        assert_eq!(client.deliver(id.as_str().unwrap(), Ok(Value::Null)), Delivery::Late);
        let two = client.clone();
        let open = tokio::spawn(async move { two.ask(message(Some(2))).await });
        lines.next().await;
        client.end();
        assert_eq!(open.await.unwrap(), Err(PeerError::Gone));
        assert_eq!(client.ask(message(Some(3))).await, Err(PeerError::Gone));
    }
}
