//! Stdout behind a thread of its own: whoever reads it may stop reading, and signals must still be heard.

use std::io::{self, ErrorKind, Write};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// How many pieces may wait for a slow reader before the agents wait for it.
const CAPACITY: usize = 16;

/// What the thread is told.
enum Piece {
    Bytes(Vec<u8>),
    /// Nothing more is written, whoever else still holds the way in.
    End,
}

/// A writer that takes pieces in order.
pub(super) struct Stdout {
    pieces: Pieces,
    ended: oneshot::Receiver<io::Result<()>>,
}

/// A way into the writer for those who write beside the frames.
#[derive(Clone)]
pub(super) struct Pieces(mpsc::Sender<Piece>);

impl Stdout {
    /// Starts the thread. It ends when it is told so, or with the process when nobody reads.
    pub fn start() -> Self {
        let (pieces, receiver) = mpsc::channel(CAPACITY);
        let (end, ended) = oneshot::channel();
        std::thread::spawn(move || {
            // The other side is gone only when the program is ending anyway.
            let _ = end.send(write(receiver));
        });
        Self { pieces: Pieces(pieces), ended }
    }

    /// The way in for others.
    pub fn pieces(&self) -> Pieces {
        self.pieces.clone()
    }

    /// Hands a piece over; waits while the reader is too far behind.
    pub async fn write(&mut self, piece: Vec<u8>) -> io::Result<()> {
        if piece.is_empty() || self.pieces.0.send(Piece::Bytes(piece)).await.is_ok() {
            return Ok(());
        }
        self.end().await
    }

    /// Waits until everything is written.
    pub async fn finish(mut self) -> io::Result<()> {
        // Where the thread has ended, it has an error to tell.
        let _ = self.pieces.0.send(Piece::End).await;
        self.end().await
    }

    /// Waits until nothing can be written any more; for ever while that is not so. The thread's end
    /// is seen at once, rather than by the next piece, which may come much later.
    pub async fn failed(&mut self) -> io::Error {
        match self.end().await {
            Err(error) => error,
            // It only ends well when it was told to.
            Ok(()) => ErrorKind::BrokenPipe.into(),
        }
    }

    async fn end(&mut self) -> io::Result<()> {
        (&mut self.ended).await.unwrap_or_else(|_| Err(ErrorKind::BrokenPipe.into()))
    }
}

impl Pieces {
    /// Hands a line over; waits while the reader is too far behind. False when nothing is written any more.
    pub async fn line(&self, line: &Value) -> bool {
        self.0.send(Piece::Bytes(format!("{line}\n").into_bytes())).await.is_ok()
    }
}

fn write(mut pieces: mpsc::Receiver<Piece>) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    while let Some(Piece::Bytes(piece)) = pieces.blocking_recv() {
        stdout.write_all(&piece)?;
        stdout.flush()?;
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod testing {
    use super::{Piece, Pieces, Value, mpsc};

    /// What a test reads of what was written.
    pub(in crate::headless) struct Lines(mpsc::Receiver<Piece>);

    impl Pieces {
        /// A way to nowhere but the test.
        pub fn channel() -> (Self, Lines) {
            let (pieces, lines) = mpsc::channel(16);
            (Self(pieces), Lines(lines))
        }
    }

    impl Lines {
        pub async fn next(&mut self) -> Value {
            match self.0.recv().await {
                Some(Piece::Bytes(bytes)) => serde_json::from_slice(&bytes).unwrap(),
                _ => panic!("nothing more is written"),
            }
        }
    }
}
