//! The output of a server that is a program: passed on as it is, and watched for what is not the protocol.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

use crate::exec::Cleaner;

/// How much of the first output is kept, to show what a server prints instead of the protocol. Bytes.
const FIRST_WORDS: usize = 200;

/// The largest message that a server may send, in bytes. A larger one is passed over.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// Lines up to this length are checked whole, in bytes; of a longer one only the beginning.
const CHECKED: usize = 64 * 1024;

/// How much of a line is shown. Characters.
const SHOWN: usize = 120;

/// The first output of a program. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Printed(Arc<Mutex<Vec<u8>>>);

impl Printed {
    /// That its first line is none of the protocol, if there is one already.
    pub fn complaint(&self) -> Option<String> {
        let printed = Cleaner::whole(&String::from_utf8_lossy(&self.bytes()));
        let line = printed.lines().map(str::trim).find(|line| !line.is_empty())?;
        (!line.starts_with('{')).then(|| format!("it printed what is not MCP: {line:?}"))
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts what has been read so far.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// Pieces of lines beyond the largest message.
    too_large: usize,
    /// Lines that begin like a message and are none.
    broken: usize,
    /// Lines of plain text.
    stray: usize,
    /// The last broken or stray line.
    last: String,
}

/// Tells of output that cannot be read as messages. A clone tells of what comes after it was made.
#[derive(Debug)]
pub struct Unreadable {
    seen: Option<watch::Receiver<Seen>>,
    before: Seen,
}

impl Unreadable {
    /// Never tells of anything: for servers that are no programs.
    pub fn none() -> Self {
        Self { seen: None, before: Seen::default() }
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
            return Some(format!("it sent a message of more than {limit} MB, which is not read"));
        }
        let broken = seen.broken != self.before.broken;
        broken.then(|| format!("it sent what is not a JSON-RPC message: {:?}", seen.last))
    }

    /// The last line of plain text, in words. It says nothing about an answer, which may still
    /// come: it only helps to explain that none came.
    pub fn stray(&self) -> Option<String> {
        let seen = self.seen.as_ref()?.borrow();
        let fresh = seen.stray != self.before.stray;
        fresh.then(|| format!("printed text: {:?} (a server must log to stderr)", seen.last))
    }

    /// Waits for the next line, for ever when there is none.
    async fn changed(&mut self) {
        if let Some(seen) = &mut self.seen
            && seen.changed().await.is_ok()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}

impl Clone for Unreadable {
    fn clone(&self) -> Self {
        let mut seen = self.seen.clone();
        let before = seen.as_mut().map(|seen| seen.borrow_and_update().clone()).unwrap_or_default();
        Self { seen, before }
    }
}

/// A pipe that remembers how it began, and looks at its lines.
#[derive(Debug)]
pub struct Reader<R> {
    inner: R,
    first: Printed,
    /// The beginning of the line that is being read, and the length of what was read of it.
    line: Vec<u8>,
    len: usize,
    seen: watch::Sender<Seen>,
}

impl<R> Reader<R> {
    /// Watches `inner`. What it prints first is kept in `first`, in the place of what is there.
    pub fn new(inner: R, first: Printed) -> (Self, Unreadable) {
        first.bytes().clear();
        let (seen, receiver) = watch::channel(Seen::default());
        let unreadable = Unreadable { seen: Some(receiver), before: Seen::default() };
        (Self { inner, first, line: Vec::new(), len: 0, seen }, unreadable)
    }

    fn look(&mut self, bytes: &[u8]) {
        let times = |len: usize| len.saturating_sub(1) / MAX_LINE;
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let before = times(self.len);
            self.len += part.len();
            let room = CHECKED.saturating_sub(self.line.len());
            self.line.extend(part.iter().take(room));
            // A line without an end is reported again and again: each call that is made meanwhile fails.
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
        if kind != Line::Blank {
            self.seen.send_modify(|seen| {
                match kind {
                    Line::Broken => seen.broken = seen.broken.wrapping_add(1),
                    Line::Stray => seen.stray = seen.stray.wrapping_add(1),
                    Line::Blank | Line::Message => return,
                }
                seen.last = words(&self.line);
            });
        }
        self.line.clear();
        self.len = 0;
    }
}

/// What a line of a server's output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Blank,
    Message,
    /// It begins like a message, but is none.
    Broken,
    Stray,
}

/// The fields that messages of JSON-RPC are known by.
#[derive(Deserialize)]
struct Head {
    id: Option<IgnoredAny>,
    method: Option<IgnoredAny>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// Looks at a line; of a `cut` one only the beginning is there.
fn kind(line: &[u8], cut: bool) -> Line {
    let text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    match text.first() {
        None => Line::Blank,
        Some(b'{') if cut => Line::Message,
        Some(b'{') => match serde_json::from_slice::<Head>(text) {
            // An answer without an id answers nothing; JSON-RPC has it for requests that could not be read.
            Ok(Head { method: Some(_), .. } | Head { id: Some(_), .. }) => Line::Message,
            Ok(Head { result: None, error: Some(_), .. }) => Line::Message,
            Ok(Head { result: Some(_), .. }) | Err(_) => Line::Broken,
            // The line of a logger.
            Ok(_) => Line::Stray,
        },
        Some(_) => Line::Stray,
    }
}

/// The beginning of a line, for a message.
fn words(line: &[u8]) -> String {
    let text = Cleaner::whole(&String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN)]));
    text.trim().chars().take(SHOWN).collect()
}

impl<R: AsyncRead + Unpin> AsyncRead for Reader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        let fresh = &buffer.filled()[before..];
        self.look(fresh);
        let mut first = self.first.bytes();
        let room = FIRST_WORDS.saturating_sub(first.len());
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
            ("", Line::Blank),
            (" \r\n", Line::Blank),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Line::Message),
            ("\u{feff}{\"id\":\"a\",\"result\":[]}\r\n", Line::Message),
            (r#"{"method":"notifications/message"}"#, Line::Message),
            (r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#, Line::Message),
            (r#"{"jsonrpc":"2.0","result":{}}"#, Line::Broken),
            (r#"{"level":"info"}"#, Line::Stray),
            (r#"{"id":1,"result":"#, Line::Broken),
            ("{oops}", Line::Broken),
            ("[info] calling", Line::Stray),
            ("42", Line::Stray),
            ("\u{1b}[32mdone", Line::Stray),
        ] {
            assert_eq!(kind(line.as_bytes(), false), expected, "{line}");
        }
        assert_eq!(kind(b"{\"id\":1,\"result\":\"xxx", true), Line::Message);
    }

    #[tokio::test]
    async fn text_is_remembered_and_only_what_looks_like_a_message_ends_the_wait() {
        let (mut reader, unreadable) = Reader::new(tokio::io::empty(), Printed::default());
        reader.look(b"Welcome!\n");
        let mut waiting = unreadable.clone();
        assert_eq!(waiting.stray(), None, "it came before");
        reader.look(b"Compiling...\n{\"method\":\"notifications/progress\"}\n");
        tokio::select! {
            biased;
            why = waiting.message() => panic!("{why}"),
            () = std::future::ready(()) => {}
        }
        let said = r#"printed text: "Compiling..." (a server must log to stderr)"#;
        assert_eq!(waiting.stray().as_deref(), Some(said));
        reader.look(b"{\"id\":1,\"resu\n");
        assert_eq!(
            waiting.message().await,
            r#"it sent what is not a JSON-RPC message: "{\"id\":1,\"resu""#
        );
    }
}
