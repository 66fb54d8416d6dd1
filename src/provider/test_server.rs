//! For tests: a server on loopback that answers byte by byte as a test wants, and decoding of events
//! without one.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::error::ProviderError;
use super::exchange::EventDecoder;
use crate::protocol::{Accumulator, Reply, StreamEvent};

/// Decodes the data of the events of an answer.
pub(super) fn decode(
    mut decoder: impl EventDecoder,
    data: &[impl ToString],
) -> Result<Vec<StreamEvent>, ProviderError> {
    let mut out = Vec::new();
    for data in data {
        decoder.event(&data.to_string(), &mut out)?;
    }
    decoder.end(&mut out)?;
    Ok(out)
}

/// Decodes a whole answer.
pub(super) fn decode_reply(decoder: impl EventDecoder, data: &[impl ToString]) -> Reply {
    let mut accumulator = Accumulator::default();
    for event in decode(decoder, data).unwrap() {
        accumulator.push(&event);
    }
    assert!(accumulator.is_whole());
    accumulator.into_reply()
}

/// One answer: a head and the pieces of its body.
#[derive(Clone, Debug)]
pub(super) struct CannedResponse {
    head: String,
    pieces: Vec<Vec<u8>>,
    end: ResponseEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResponseEnd {
    Whole,
    /// Closes the connection before the body is over.
    Cut,
    /// Sends nothing more.
    Silent,
}

impl CannedResponse {
    /// Creates a success whose body is a stream of events.
    pub fn events(body: impl AsRef<[u8]>) -> Self {
        Self::new(200, "text/event-stream", body)
    }

    /// Creates an answer with any status and type.
    pub fn new(status: u16, kind: &str, body: impl AsRef<[u8]>) -> Self {
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n"
        );
        Self { head, pieces: vec![body.as_ref().to_vec()], end: ResponseEnd::Whole }
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.head.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    /// Splits the body in two pieces.
    pub fn split_at(mut self, at: usize) -> Self {
        let body = self.pieces.concat();
        let (left, right) = body.split_at(at);
        self.pieces = vec![left.to_vec(), right.to_vec()];
        self
    }

    /// Closes the connection before the body is over.
    pub fn cut(self) -> Self {
        Self { end: ResponseEnd::Cut, ..self }
    }

    /// Sends nothing more after the body, and keeps the connection open.
    pub fn silent(self) -> Self {
        Self { end: ResponseEnd::Silent, ..self }
    }
}

/// Requests and connections that the server saw.
#[derive(Debug, Default)]
pub(super) struct ReceivedRequests {
    pub connections: usize,
    /// Heads (lower case names) and bodies.
    pub requests: Vec<(String, Vec<u8>)>,
}

/// Gives its answers in order, and repeats the last one.
pub(super) struct TestServer {
    pub address: SocketAddr,
    pub seen: Arc<Mutex<ReceivedRequests>>,
    /// Notified when the client closes a connection that had fallen silent.
    pub closed: Arc<Notify>,
    task: JoinHandle<()>,
}

impl TestServer {
    pub async fn start(answers: Vec<CannedResponse>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(ReceivedRequests::default()));
        let closed = Arc::new(Notify::new());
        let (shared, told) = (Arc::clone(&seen), Arc::clone(&closed));
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                shared.lock().unwrap().connections += 1;
                let told = Arc::clone(&told);
                tokio::spawn(serve(stream, answers.clone(), Arc::clone(&shared), told));
            }
        });
        Self { address, seen, closed, task }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    answers: Vec<CannedResponse>,
    seen: Arc<Mutex<ReceivedRequests>>,
    closed: Arc<Notify>,
) {
    while let Some(request) = read_request(&mut stream).await {
        let number = {
            let mut seen = seen.lock().unwrap();
            seen.requests.push(request);
            seen.requests.len()
        };
        let answer = &answers[number.min(answers.len()) - 1];
        let _ = write_answer(&mut stream, answer).await;
        match answer.end {
            ResponseEnd::Whole => {}
            ResponseEnd::Cut => return,
            ResponseEnd::Silent => {
                let _ = stream.read_u8().await;
                closed.notify_one();
                return;
            }
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..at].to_vec()).unwrap();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let end = at + 4 + length.map_or(0, |length| length.parse().unwrap());
            while bytes.len() < end {
                stream.read_buf(&mut bytes).await.ok().filter(|read| *read > 0)?;
            }
            return Some((head, bytes[at + 4..end].to_vec()));
        }
        stream.read_buf(&mut bytes).await.ok().filter(|read| *read > 0)?;
    }
}

async fn write_answer(stream: &mut TcpStream, answer: &CannedResponse) -> std::io::Result<()> {
    // Each piece leaves at once, as a packet of its own; the end travels with the last one.
    stream.set_nodelay(true)?;
    let mut packet = format!("{}\r\n", answer.head).into_bytes();
    for piece in answer.pieces.iter().filter(|piece| !piece.is_empty()) {
        stream.write_all(&packet).await?;
        tokio::task::yield_now().await;
        packet = [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
    }
    if answer.end == ResponseEnd::Whole {
        packet.extend_from_slice(b"0\r\n\r\n");
    }
    stream.write_all(&packet).await
}
