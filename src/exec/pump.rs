//! From a command's pipe to a live view and a capped text.

use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStdout;
use tokio::time::Instant;

use super::clean::Cleaner;
use super::output::{Capture, Captured, Decoder};

/// How often the live view gets more.
const SHOW_EVERY: Duration = Duration::from_millis(50);
/// The most that the live view gets at once, in bytes; of more, it gets the end.
const SHOW_AT_MOST: usize = 8 * 1024;
/// What a pipe can still hold after its writer is gone, in reads of [`CHUNK`].
const LAST_READS: usize = 8;
const CHUNK: usize = 16 * 1024;

/// Reads a pipe until its end, or until it is left alone.
pub struct Pump<F> {
    pipe: Option<ChildStdout>,
    chunk: Vec<u8>,
    decoder: Decoder,
    cleaner: Cleaner,
    capture: Capture,
    /// Clean text that the live view has not seen.
    unseen: String,
    show_at: Option<Instant>,
    show: F,
}

impl<F: FnMut(String)> Pump<F> {
    /// Shows what comes through `pipe` with `show`.
    pub fn new(pipe: Option<ChildStdout>, show: F) -> Self {
        Self {
            pipe,
            chunk: vec![0; CHUNK],
            decoder: Decoder::default(),
            cleaner: Cleaner::default(),
            capture: Capture::new(Capture::MODEL),
            unseen: String::new(),
            show_at: None,
            show,
        }
    }

    /// Whether nobody can write any more.
    pub fn is_closed(&self) -> bool {
        self.pipe.is_none()
    }

    /// Reads once, or shows what waits. Safe to drop at any point; never returns when there is nothing to do.
    pub async fn step(&mut self) {
        let read = async {
            match &mut self.pipe {
                Some(pipe) => pipe.read(&mut self.chunk).await,
                None => std::future::pending().await,
            }
        };
        let due = async {
            match self.show_at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = due => self.show(),
            read = read => self.take(read.unwrap_or(0)),
        }
    }

    /// Takes what is in the pipe already, shows the rest and hands out the text.
    pub fn finish(mut self) -> Captured {
        for _ in 0..LAST_READS {
            let Some(pipe) = &mut self.pipe else { break };
            let Some(read) = pipe.read(&mut self.chunk).now_or_never() else { break };
            self.take(read.unwrap_or(0));
        }
        let mut rest = String::new();
        self.decoder.finish(&mut rest);
        self.keep(&rest);
        self.show();
        self.capture.finish()
    }

    fn take(&mut self, count: usize) {
        if count == 0 {
            self.pipe = None;
            return;
        }
        let mut text = String::with_capacity(count);
        self.decoder.push(&self.chunk[..count], &mut text);
        self.keep(&text);
    }

    fn keep(&mut self, text: &str) {
        let before = self.unseen.len();
        self.cleaner.push(text, &mut self.unseen);
        if self.unseen.len() == before {
            return;
        }
        self.capture.push(&self.unseen[before..]);
        self.show_at.get_or_insert_with(|| Instant::now() + SHOW_EVERY);
        if self.unseen.len() > 2 * SHOW_AT_MOST {
            let from = self.unseen.ceil_char_boundary(self.unseen.len() - SHOW_AT_MOST);
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
