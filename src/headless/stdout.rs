//! Writes stdout on its own thread, so that signals are still handled if the reader stops reading.

use std::io::{self, ErrorKind, IsTerminal as _, Write};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// The number of chunks that may be queued for a slow reader before agents block.
const CHUNK_CAPACITY: usize = 16;

/// A message to the thread.
enum StdoutChunk {
    Bytes(Vec<u8>),
    /// Ends the thread, even if other senders remain.
    End,
}

/// A writer of chunks in order.
pub(super) struct Stdout {
    chunks: StdoutSender,
    ended: oneshot::Receiver<io::Result<()>>,
}

/// A sender of lines between the frames.
#[derive(Clone)]
pub(super) struct StdoutSender(mpsc::Sender<StdoutChunk>);

impl Stdout {
    /// Starts the thread. It ends on request, or with the process if nobody reads.
    pub fn start() -> Self {
        let (chunks, receiver) = mpsc::channel(CHUNK_CAPACITY);
        let (end, ended) = oneshot::channel();
        std::thread::spawn(move || {
            // The receiver is gone only when the program exits anyway.
            let _ = end.send(write(receiver));
        });
        Self { chunks: StdoutSender(chunks), ended }
    }

    /// Returns another sender.
    pub fn sender(&self) -> StdoutSender {
        self.chunks.clone()
    }

    /// Queues a chunk; waits while the queue is full.
    pub async fn write(&mut self, chunk: Vec<u8>) -> io::Result<()> {
        if chunk.is_empty() || self.chunks.0.send(StdoutChunk::Bytes(chunk)).await.is_ok() {
            return Ok(());
        }
        self.end().await
    }

    /// Waits until everything is written.
    pub async fn finish(mut self) -> io::Result<()> {
        // If the thread has already ended, it returns an error below.
        let _ = self.chunks.0.send(StdoutChunk::End).await;
        self.end().await
    }

    /// Waits until stdout fails; forever if it does not. Notices the thread's end at once, rather
    /// than with the next chunk, which may come much later.
    pub async fn failed(&mut self) -> io::Error {
        match self.end().await {
            Err(error) => error,
            // It ends without an error only on request.
            Ok(()) => ErrorKind::BrokenPipe.into(),
        }
    }

    async fn end(&mut self) -> io::Result<()> {
        (&mut self.ended).await.unwrap_or_else(|_| Err(ErrorKind::BrokenPipe.into()))
    }
}

impl StdoutSender {
    /// Queues a line; waits while the queue is full. Returns false if stdout has failed.
    pub async fn line(&self, line: &Value) -> bool {
        self.0.send(StdoutChunk::Bytes(json_line(line))).await.is_ok()
    }
}

/// Returns a frame as a line. On a terminal, all characters beyond ASCII are escapes of JSON, since some of
/// them would be acted on.
pub fn json_line(frame: &Value) -> Vec<u8> {
    let mut line = frame.to_string();
    if !line.is_ascii() && io::stdout().is_terminal() {
        line = ascii_json(&line);
    }
    line.push('\n');
    line.into_bytes()
}

fn ascii_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match matches!(c, ' '..='~') {
            true => out.push(c),
            false => {
                let mut units = [0; 2];
                out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
            }
        }
    }
    out
}

fn write(mut chunks: mpsc::Receiver<StdoutChunk>) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    while let Some(StdoutChunk::Bytes(chunk)) = chunks.blocking_recv() {
        stdout.write_all(&chunk)?;
        stdout.flush()?;
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod testing {
    use serde_json::Value;
    use tokio::sync::mpsc;

    use crate::headless::stdout::{StdoutChunk, StdoutSender};

    /// The written lines, for a test.
    pub struct WrittenLines(mpsc::Receiver<StdoutChunk>);

    impl StdoutSender {
        /// Creates a sender whose lines only the test reads.
        pub fn channel() -> (Self, WrittenLines) {
            let (chunks, lines) = mpsc::channel(16);
            (Self(chunks), WrittenLines(lines))
        }
    }

    impl WrittenLines {
        pub async fn next(&mut self) -> Value {
            match self.0.recv().await {
                Some(StdoutChunk::Bytes(bytes)) => serde_json::from_slice(&bytes).unwrap(),
                _ => panic!("nothing more is written"),
            }
        }
    }
}
