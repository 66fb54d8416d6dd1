//! A model server on loopback that streams answers at a given pace, and knows when a stream ends.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// How long anything is waited for.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The pieces of a text.
pub type Pieces = Box<dyn Iterator<Item = String> + Send>;

/// One answer of the model.
pub enum Answer {
    /// Text in pieces, with a pause before each. Made as they are sent: a thousand streams that end
    /// must not keep the server busy with forgetting the rest.
    Text { pieces: Pieces, pause: Duration },
    /// Calls of `AgentTool`, one for each prompt.
    Agents(Vec<String>),
}

/// Chooses an answer from the conversation's first text and the number of answers before.
pub trait Script: Fn(&str, usize) -> Answer + Copy + Send + Sync + 'static {}

impl<F: Fn(&str, usize) -> Answer + Copy + Send + Sync + 'static> Script for F {}

/// The server. Runs until the program ends.
pub struct ModelServer {
    address: SocketAddr,
    streams: Arc<Streams>,
}

#[derive(Default)]
struct Streams {
    state: Mutex<StreamState>,
    changed: Condvar,
}

#[derive(Default)]
struct StreamState {
    /// Answers that have begun and not ended.
    open: usize,
    /// The most of them so far.
    most: usize,
    last_end: Option<Instant>,
}

impl ModelServer {
    /// Starts a server on a free port, on a thread of its own.
    pub fn start(script: impl Script) -> Self {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        listener.set_nonblocking(true).expect("a socket that does not block");
        let address = listener.local_addr().expect("an address");
        let streams = Arc::<Streams>::default();
        let shared = streams.clone();
        std::thread::spawn(move || {
            let tasks = tokio::runtime::Builder::new_current_thread().enable_all().build();
            tasks.expect("a runtime").block_on(async move {
                let listener = TcpListener::from_std(listener).expect("a listener");
                while let Ok((connection, _)) = listener.accept().await {
                    tokio::spawn(serve(connection, script, shared.clone()));
                }
            });
        });
        Self { address, streams }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits until this many answers stream at once.
    pub fn wait_for_open(&self, count: usize) {
        self.wait("streams to open", |state| (state.most >= count).then_some(()));
    }

    /// Waits until no answer streams, and returns when the last one ended.
    pub fn wait_for_closed(&self) -> Instant {
        self.wait("streams to close", |state| state.last_end.filter(|_| state.open == 0))
    }

    fn wait<T>(&self, what: &str, found: impl Fn(&StreamState) -> Option<T>) -> T {
        let end = Instant::now() + PATIENCE;
        let mut state = self.streams.state.lock();
        loop {
            if let Some(value) = found(&state) {
                return value;
            }
            let late = self.streams.changed.wait_until(&mut state, end).timed_out();
            assert!(
                !late,
                "waited in vain for {what}: {} open, {} at most",
                state.open, state.most
            );
        }
    }
}

impl Streams {
    fn begin(&self) {
        let mut state = self.state.lock();
        state.open += 1;
        state.most = state.most.max(state.open);
        self.changed.notify_all();
    }

    fn end(&self) {
        let mut state = self.state.lock();
        state.open -= 1;
        state.last_end = Some(Instant::now());
        self.changed.notify_all();
    }
}

/// Answers the requests of one connection until it is closed.
async fn serve(mut connection: TcpStream, script: impl Script, streams: Arc<Streams>) {
    let _ = connection.set_nodelay(true);
    let mut buffer = Vec::new();
    while let Some(body) = read_request(&mut connection, &mut buffer).await {
        let (first, turn) = conversation(&body);
        let answer = script(&first, turn);
        streams.begin();
        let whole = stream(&mut connection, answer).await.is_ok();
        streams.end();
        if !whole {
            return;
        }
    }
}

/// Reads one request and returns its body; `None` at the end of the connection.
async fn read_request(connection: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Vec<u8>> {
    loop {
        if let Some(head) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&buffer[..head]).to_ascii_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
            let end = head + 4 + length;
            if buffer.len() >= end {
                let body = buffer[head + 4..end].to_vec();
                buffer.drain(..end);
                return Some(body);
            }
        }
        if connection.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}

/// The first text of the user, and how many answers the conversation holds.
fn conversation(body: &[u8]) -> (String, usize) {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let turn = messages.iter().filter(|message| message["role"] == "assistant").count();
    let first = messages.first().map(|message| &message["content"]).unwrap_or(&Value::Null);
    let texts = first.as_array().map(|blocks| {
        blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
    });
    (texts.unwrap_or_else(|| first.as_str().unwrap_or_default().to_owned()), turn)
}

/// Streams an answer. Fails as soon as the client closes the connection.
async fn stream(connection: &mut TcpStream, answer: Answer) -> std::io::Result<()> {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-5",
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": { "input_tokens": 100, "output_tokens": 1 },
    });
    let start = event("message_start", &json!({ "type": "message_start", "message": message }));
    connection.write_all(format!("{head}{start}").as_bytes()).await?;
    let stop = match answer {
        Answer::Text { pieces, pause } => {
            let block = json!({ "type": "text", "text": "" });
            connection.write_all(block_start(0, &block).as_bytes()).await?;
            let mut next = tokio::time::Instant::now();
            for piece in pieces {
                if !pause.is_zero() {
                    next += pause;
                    wait_or_close(connection, next).await?;
                }
                let delta = block_delta(0, &json!({ "type": "text_delta", "text": piece }));
                connection.write_all(delta.as_bytes()).await?;
            }
            connection.write_all(block_stop(0).as_bytes()).await?;
            "end_turn"
        }
        Answer::Agents(prompts) => {
            for (index, prompt) in prompts.into_iter().enumerate() {
                let id = format!("toolu_{index}");
                let block =
                    json!({ "type": "tool_use", "id": id, "name": "AgentTool", "input": {} });
                let input = json!({ "description": prompt, "prompt": prompt }).to_string();
                let delta = json!({ "type": "input_json_delta", "partial_json": input });
                let call = block_start(index, &block) + &block_delta(index, &delta);
                connection.write_all((call + &block_stop(index)).as_bytes()).await?;
            }
            "tool_use"
        }
    };
    let end = json!({
        "type": "message_delta", "delta": { "stop_reason": stop, "stop_sequence": null },
        "usage": { "output_tokens": 10 },
    });
    let end =
        event("message_delta", &end) + &event("message_stop", &json!({ "type": "message_stop" }));
    connection.write_all(format!("{end}0\r\n\r\n").as_bytes()).await
}

/// Waits until a moment, or fails when the client closes the connection before.
async fn wait_or_close(connection: &TcpStream, until: tokio::time::Instant) -> std::io::Result<()> {
    tokio::select! {
        biased;
        ready = connection.readable() => {
            ready?;
            match connection.try_read(&mut [0; 1]) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(()),
                _ => Err(std::io::ErrorKind::ConnectionReset.into()),
            }
        }
        () = tokio::time::sleep_until(until) => Ok(()),
    }
}

fn block_start(index: usize, block: &Value) -> String {
    let data = json!({ "type": "content_block_start", "index": index, "content_block": block });
    event("content_block_start", &data)
}

fn block_delta(index: usize, delta: &Value) -> String {
    let data = json!({ "type": "content_block_delta", "index": index, "delta": delta });
    event("content_block_delta", &data)
}

fn block_stop(index: usize) -> String {
    event("content_block_stop", &json!({ "type": "content_block_stop", "index": index }))
}

/// A server-sent event as a chunk of the body.
fn event(name: &str, data: &Value) -> String {
    let event = format!("event: {name}\ndata: {data}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len())
}
