//! The signals that end a run.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens to SIGINT, SIGTERM and SIGHUP.
pub(super) struct ExitSignals {
    int: Signal,
    term: Signal,
    hup: Signal,
}

impl ExitSignals {
    /// Installs the handlers: these signals no longer kill the process.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            int: signal(SignalKind::interrupt())?,
            term: signal(SignalKind::terminate())?,
            hup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal and returns its exit code.
    pub async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.int.recv() => 130,
            _ = self.term.recv() => 143,
            _ = self.hup.recv() => 129,
        }
    }
}
