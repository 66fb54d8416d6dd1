//! Feeds a command's pipe to a live view and a capped text.

use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStdout;
use tokio::time::Instant;

use super::output::{Capture, CapturedOutput, Utf8Decoder};
use super::output_cleaner::OutputCleaner;

/// How often the live view is updated.
const SHOW_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum bytes per update of the live view; the end of longer output is shown.
const MAX_SHOWN_PIECE: usize = 8 * 1024;
/// Number of reads of [`CHUNK`] that empty a full pipe whose writer is gone.
const LAST_READS: usize = 8;
const CHUNK: usize = 16 * 1024;

/// A consumer of a command's output while the command is followed.
pub trait OutputSource {
    /// Whether the pipe is closed.
    fn is_closed(&self) -> bool;

    /// Does the next piece of work, or waits for it. Safe to drop at any point.
    async fn step(&mut self);
}

/// A command's pipe, read as clean text.
pub struct TextPipe {
    pipe: Option<ChildStdout>,
    chunk: Vec<u8>,
    decoder: Utf8Decoder,
    cleaner: OutputCleaner,
}

impl TextPipe {
    /// Reads `pipe`; `None` counts as closed.
    pub fn new(pipe: Option<ChildStdout>) -> Self {
        let chunk = vec![0; CHUNK];
        Self { pipe, chunk, decoder: Utf8Decoder::default(), cleaner: OutputCleaner::default() }
    }

    /// Whether the pipe is closed.
    pub fn is_closed(&self) -> bool {
        self.pipe.is_none()
    }

    /// Reads once and appends to `out`. Safe to drop at any point; never returns once the pipe is closed.
    pub async fn read(&mut self, out: &mut String) {
        let count = match &mut self.pipe {
            Some(pipe) => pipe.read(&mut self.chunk).await,
            None => std::future::pending().await,
        };
        self.take(count.unwrap_or(0), out);
    }

    /// Appends the rest of the pipe, and a character that stayed unfinished.
    pub fn finish(mut self, out: &mut String) {
        for _ in 0..LAST_READS {
            let Some(pipe) = &mut self.pipe else { break };
            let Some(count) = pipe.read(&mut self.chunk).now_or_never() else { break };
            self.take(count.unwrap_or(0), out);
        }
        let mut rest = String::new();
        self.decoder.finish(&mut rest);
        self.cleaner.push(&rest, out);
    }

    fn take(&mut self, count: usize, out: &mut String) {
        if count == 0 {
            self.pipe = None;
            return;
        }
        let mut text = String::with_capacity(count);
        self.decoder.push(&self.chunk[..count], &mut text);
        self.cleaner.push(&text, out);
    }
}

/// Shows a command's output as it comes, and keeps it.
pub struct Pump<F> {
    pipe: TextPipe,
    capture: Capture,
    /// Clean text that was not shown yet.
    unseen: String,
    show_at: Option<Instant>,
    show: F,
}

impl<F: FnMut(String)> Pump<F> {
    /// Shows the output of `pipe` with `show`.
    pub fn new(pipe: Option<ChildStdout>, show: F) -> Self {
        Self {
            pipe: TextPipe::new(pipe),
            capture: Capture::new(Capture::MODEL_LIMITS),
            unseen: String::new(),
            show_at: None,
            show,
        }
    }

    /// Reads the rest of the pipe, shows it and returns the text.
    pub fn finish(mut self) -> CapturedOutput {
        let before = self.unseen.len();
        let pipe = std::mem::replace(&mut self.pipe, TextPipe::new(None));
        pipe.finish(&mut self.unseen);
        self.keep(before);
        self.show();
        self.capture.finish()
    }

    /// Keeps the text added to `unseen`, which was `before` bytes long.
    fn keep(&mut self, before: usize) {
        if self.unseen.len() == before {
            return;
        }
        self.capture.push(&self.unseen[before..]);
        self.show_at.get_or_insert_with(|| Instant::now() + SHOW_INTERVAL);
        if self.unseen.len() > 2 * MAX_SHOWN_PIECE {
            let from = self.unseen.ceil_char_boundary(self.unseen.len() - MAX_SHOWN_PIECE);
            let from = self.unseen[from..].find('\n').map_or(from, |end| from + end + 1);
            self.unseen.replace_range(..from, "…\n");
        }
    }

    fn show(&mut self) {
        self.show_at = None;
        if !self.unseen.is_empty() {
            (self.show)(std::mem::take(&mut self.unseen));
        }
    }
}

impl<F: FnMut(String)> OutputSource for Pump<F> {
    fn is_closed(&self) -> bool {
        self.pipe.is_closed()
    }

    /// Reads once, or shows pending text.
    async fn step(&mut self) {
        let before = self.unseen.len();
        let due = async {
            match self.show_at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = due => self.show(),
            () = self.pipe.read(&mut self.unseen) => self.keep(before),
        }
    }
}
