//! The signals that end the screen.

use std::io;

use futures_util::future::FutureExt;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The number of SIGHUP: the terminal was closed.
pub const HANGUP: i32 = 1;

/// Signals that end the screen.
pub struct ScreenSignals {
    hangup: Signal,
    interrupt: Signal,
    terminate: Signal,
}

impl ScreenSignals {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Drops a Ctrl+C meant for the editor: an editor that leaves the terminal in cooked mode makes it
    /// a signal to us as well.
    pub fn drain_interrupts(&mut self) {
        while self.interrupt.recv().now_or_never().flatten().is_some() {}
    }

    /// Waits for the next signal that ends the screen even while an editor is open. A Ctrl+C is the
    /// editor's.
    pub async fn next_for_editor(&mut self) -> i32 {
        tokio::select! {
            _ = self.hangup.recv() => HANGUP,
            _ = self.terminate.recv() => 15,
        }
    }

    /// Waits for the next signal and returns its number.
    pub async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.hangup.recv() => HANGUP,
            _ = self.interrupt.recv() => 2,
            _ = self.terminate.recv() => 15,
        }
    }
}
