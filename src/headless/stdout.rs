//! Stdout behind a thread of its own: whoever reads it may stop reading, and signals must still be heard.

use std::io::{self, ErrorKind, Write};

use tokio::sync::{mpsc, oneshot};

/// How many pieces may wait for a slow reader before the agents wait for it.
const CAPACITY: usize = 16;

/// A writer that takes pieces in order.
pub(super) struct Stdout {
    pieces: mpsc::Sender<Vec<u8>>,
    ended: oneshot::Receiver<io::Result<()>>,
}

impl Stdout {
    /// Starts the thread. It ends with its sender, or with the process when nobody reads.
    pub fn start() -> Self {
        let (pieces, receiver) = mpsc::channel(CAPACITY);
        let (end, ended) = oneshot::channel();
        std::thread::spawn(move || {
            // The other side is gone only when the program is ending anyway.
            let _ = end.send(write(receiver));
        });
        Self { pieces, ended }
    }

    /// Hands a piece over; waits while the reader is too far behind.
    pub async fn write(&mut self, piece: Vec<u8>) -> io::Result<()> {
        if piece.is_empty() || self.pieces.send(piece).await.is_ok() {
            return Ok(());
        }
        self.end().await
    }

    /// Waits until everything is written.
    pub async fn finish(mut self) -> io::Result<()> {
        self.pieces = mpsc::channel(1).0;
        self.end().await
    }

    async fn end(&mut self) -> io::Result<()> {
        (&mut self.ended).await.unwrap_or_else(|_| Err(ErrorKind::BrokenPipe.into()))
    }
}

fn write(mut pieces: mpsc::Receiver<Vec<u8>>) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    while let Some(piece) = pieces.blocking_recv() {
        stdout.write_all(&piece)?;
        stdout.flush()?;
    }
    Ok(())
}
