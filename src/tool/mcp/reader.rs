//! Passes the output of a server program on unchanged, and watches for output that is not the protocol.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

use crate::exec::OutputCleaner;

/// Bytes kept of the first output, to show what a server prints instead of the protocol.
const FIRST_OUTPUT_BYTES: usize = 200;

/// Maximum size of a server's message, in bytes. A larger one is skipped.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// Maximum bytes of a line that are checked; of a longer one only the beginning.
const MAX_CHECKED_LINE: usize = 64 * 1024;

/// Maximum characters shown of a line.
const MAX_SHOWN_CHARS: usize = 120;

/// The first output of a program. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct FirstOutput(Arc<Mutex<Vec<u8>>>);

impl FirstOutput {
    /// Returns an error if the first line is there already and is not the protocol.
    pub fn complaint(&self) -> Option<String> {
        let printed = OutputCleaner::clean(&String::from_utf8_lossy(&self.bytes()));
        let line = printed.lines().map(str::trim).find(|line| !line.is_empty())?;
        (!line.starts_with('{')).then(|| format!("it printed text that is not MCP: {line:?}"))
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock()
    }
}

/// Counts of the lines read so far.
#[derive(Clone, Debug, Default)]
struct LineCounts {
    /// Pieces of lines beyond the largest message.
    too_large: usize,
    /// Lines that begin like a message but are not valid.
    broken: usize,
    /// Lines of plain text.
    stray: usize,
    /// The last broken or stray line.
    last: String,
}

/// Reports output that cannot be read as messages. A clone reports only output after its creation.
#[derive(Debug)]
pub struct BadLines {
    seen: Option<watch::Receiver<LineCounts>>,
    before: LineCounts,
}

impl BadLines {
    /// Never reports anything: for servers that are not programs.
    pub fn none() -> Self {
        Self { seen: None, before: LineCounts::default() }
    }

    /// Waits for a message that is too large or broken, and describes it in one line.
    pub async fn message(&mut self) -> String {
        loop {
            if let Some(why) = self.bad_message() {
                return why;
            }
            self.changed().await;
        }
    }

    fn bad_message(&self) -> Option<String> {
        let seen = self.seen.as_ref()?.borrow();
        if seen.too_large != self.before.too_large {
            let limit = MAX_LINE / 1024 / 1024;
            return Some(format!("it sent a message larger than {limit} MB, which was skipped"));
        }
        let broken = seen.broken != self.before.broken;
        broken.then(|| format!("it sent an invalid JSON-RPC message: {:?}", seen.last))
    }

    /// Returns the last line of plain text, as a description. An answer may still come: the text
    /// only helps to explain why none came.
    pub fn stray_line(&self) -> Option<String> {
        let seen = self.seen.as_ref()?.borrow();
        let fresh = seen.stray != self.before.stray;
        fresh.then(|| format!("printed text: {:?} (a server must log to stderr)", seen.last))
    }

    /// Waits for the next line, forever if there is none.
    async fn changed(&mut self) {
        if let Some(seen) = &mut self.seen
            && seen.changed().await.is_ok()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}

impl Clone for BadLines {
    fn clone(&self) -> Self {
        let mut seen = self.seen.clone();
        let before = seen.as_mut().map(|seen| seen.borrow_and_update().clone()).unwrap_or_default();
        Self { seen, before }
    }
}

/// A pipe that remembers its first output and checks its lines.
#[derive(Debug)]
pub struct LineReader<R> {
    inner: R,
    first: FirstOutput,
    /// The beginning of the current line, and the length read so far.
    line: Vec<u8>,
    len: usize,
    seen: watch::Sender<LineCounts>,
}

impl<R> LineReader<R> {
    /// Watches `inner`. Replaces the content of `first` by its first output.
    pub fn new(inner: R, first: FirstOutput) -> (Self, BadLines) {
        first.bytes().clear();
        let (seen, receiver) = watch::channel(LineCounts::default());
        let unreadable = BadLines { seen: Some(receiver), before: LineCounts::default() };
        (Self { inner, first, line: Vec::new(), len: 0, seen }, unreadable)
    }

    fn scan(&mut self, bytes: &[u8]) {
        let times = |len: usize| len.saturating_sub(1) / MAX_LINE;
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let before = times(self.len);
            self.len += part.len();
            let room = MAX_CHECKED_LINE.saturating_sub(self.line.len());
            self.line.extend(part.iter().take(room));
            // An endless line is reported again and again: each call made meanwhile fails.
            if times(self.len) > before {
                self.seen.send_modify(|seen| seen.too_large = seen.too_large.wrapping_add(1));
            }
            if part.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let kind = kind(&self.line, self.len > self.line.len());
        if kind != LineKind::Blank {
            self.seen.send_modify(|seen| {
                match kind {
                    LineKind::Broken => seen.broken = seen.broken.wrapping_add(1),
                    LineKind::Stray => seen.stray = seen.stray.wrapping_add(1),
                    LineKind::Blank | LineKind::Message => return,
                }
                seen.last = words(&self.line);
            });
        }
        self.line.clear();
        self.len = 0;
    }
}

/// The kind of a line in a server's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    Blank,
    Message,
    /// Begins like a message, but is not valid.
    Broken,
    Stray,
}

/// The fields that identify messages of JSON-RPC.
#[derive(Deserialize)]
struct MessageFields {
    id: Option<IgnoredAny>,
    method: Option<IgnoredAny>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// Classifies a line; of a `cut` one only the beginning is there.
fn kind(line: &[u8], cut: bool) -> LineKind {
    let text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    match text.first() {
        None => LineKind::Blank,
        Some(b'{') if cut => LineKind::Message,
        Some(b'{') => match serde_json::from_slice::<MessageFields>(text) {
            // JSON-RPC allows an error without an id, for requests that could not be read. A result
            // without one is useless.
            Ok(MessageFields { method: Some(_), .. } | MessageFields { id: Some(_), .. }) => {
                LineKind::Message
            }
            Ok(MessageFields { result: None, error: Some(_), .. }) => LineKind::Message,
            Ok(MessageFields { result: Some(_), .. }) | Err(_) => LineKind::Broken,
            // A logger's line.
            Ok(_) => LineKind::Stray,
        },
        Some(_) => LineKind::Stray,
    }
}

/// Returns the beginning of a line, for a message.
fn words(line: &[u8]) -> String {
    let text = OutputCleaner::clean(&String::from_utf8_lossy(
        &line[..line.len().min(4 * MAX_SHOWN_CHARS)],
    ));
    text.trim().chars().take(MAX_SHOWN_CHARS).collect()
}

impl<R: AsyncRead + Unpin> AsyncRead for LineReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        let fresh = &buffer.filled()[before..];
        self.scan(fresh);
        let mut first = self.first.bytes();
        let room = FIRST_OUTPUT_BYTES.saturating_sub(first.len());
        first.extend(fresh.iter().take(room));
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_message_by_its_form() {
        for (line, expected) in [
            ("", LineKind::Blank),
            (" \r\n", LineKind::Blank),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, LineKind::Message),
            ("\u{feff}{\"id\":\"a\",\"result\":[]}\r\n", LineKind::Message),
            (r#"{"method":"notifications/message"}"#, LineKind::Message),
            (r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#, LineKind::Message),
            (r#"{"jsonrpc":"2.0","result":{}}"#, LineKind::Broken),
            (r#"{"level":"info"}"#, LineKind::Stray),
            (r#"{"id":1,"result":"#, LineKind::Broken),
            ("{oops}", LineKind::Broken),
            ("[info] calling", LineKind::Stray),
            ("42", LineKind::Stray),
            ("\u{1b}[32mdone", LineKind::Stray),
        ] {
            assert_eq!(kind(line.as_bytes(), false), expected, "{line}");
        }
        assert_eq!(kind(b"{\"id\":1,\"result\":\"xxx", true), LineKind::Message);
    }

    #[tokio::test]
    async fn text_is_remembered_and_only_what_looks_like_a_message_ends_the_wait() {
        let (mut reader, unreadable) = LineReader::new(tokio::io::empty(), FirstOutput::default());
        reader.scan(b"Welcome!\n");
        let mut waiting = unreadable.clone();
        assert_eq!(waiting.stray_line(), None, "it came before");
        reader.scan(b"Compiling...\n{\"method\":\"notifications/progress\"}\n");
        tokio::select! {
            biased;
            why = waiting.message() => panic!("{why}"),
            () = std::future::ready(()) => {}
        }
        let said = r#"printed text: "Compiling..." (a server must log to stderr)"#;
        assert_eq!(waiting.stray_line().as_deref(), Some(said));
        reader.scan(b"{\"id\":1,\"resu\n");
        assert_eq!(
            waiting.message().await,
            r#"it sent an invalid JSON-RPC message: "{\"id\":1,\"resu""#
        );
    }
}
