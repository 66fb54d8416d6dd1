//! Servers that are programs of ours.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::watch;

use super::session::Means;
use crate::exec::{Cleaner, Service, ServiceCommand, child_env};
use crate::protocol::{EnvOverlay, McpTransport};

/// How much of its first output is kept, to tell what it says instead of the protocol. Bytes.
const FIRST_WORDS: usize = 200;

/// How long the end of a program is waited for that has closed its output.
const EXIT_WAIT: Duration = Duration::from_millis(500);

/// The largest message that a server may send, in bytes. A larger one is passed over.
const MAX_LINE: usize = 16 * 1024 * 1024;

/// How it speaks with us.
pub type Pipes = AsyncRwTransport<RoleClient, FirstWords<ChildStdout>, ChildStdin>;

/// What a program has printed first. Clones are the same.
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

/// The program, and what is known of it when it fails.
pub struct Program {
    service: Service,
    first: Printed,
    oversize: Oversize,
    command: String,
}

impl Program {
    /// Starts it in the session's directory with the environment of the agent, without the keys of providers, and with
    /// the server's own variables. What it prints first is kept in `first` too. `None` when it is no program at all.
    pub fn start(
        transport: &McpTransport,
        env: &EnvOverlay,
        means: &Means,
        first: &Printed,
    ) -> Result<Option<(Self, Pipes)>, String> {
        let McpTransport::Stdio { command, args, env: own } = transport else { return Ok(None) };
        let env = child_env(env, 0, &means.secrets).with(own.iter());
        let start = ServiceCommand { program: command, args, cwd: &means.cwd, env: &env };
        let (service, stdin, stdout) = Service::start(start)
            .map_err(|error| format!("{command} could not be started: {error}"))?;
        first.bytes().clear();
        let first = first.clone();
        let (too_large, seen) = watch::channel(0);
        let reader = FirstWords { inner: stdout, seen: first.clone(), line: 0, too_large };
        let pipes = AsyncRwTransport::new_client(reader, stdin).with_max_line_length(MAX_LINE);
        let (oversize, command) = (Oversize(Some(seen)), command.clone());
        Ok(Some((Self { service, first, oversize, command }, pipes)))
    }

    /// What tells of messages that are too large.
    pub fn oversize(&self) -> Oversize {
        self.oversize.clone()
    }

    /// Waits until it has ended by itself. Safe to drop at any point.
    pub async fn ended(&mut self) {
        // One that cannot be waited for is gone.
        let _ = self.service.ended().await;
    }

    /// Why it is of no use: how it ended, and what it said last.
    pub async fn obituary(&mut self) -> String {
        let exit = tokio::time::timeout(EXIT_WAIT, self.service.ended()).await;
        let exit = match exit {
            Ok(Ok(status)) => match status.code() {
                // What the shell says that could not start it.
                Some(126 | 127) => return format!("there is no program {}", self.command),
                Some(code) => format!("it ended with exit code {code}"),
                None => "it was killed".to_owned(),
            },
            Ok(Err(_)) | Err(_) => "it closed its output".to_owned(),
        };
        self.service.heard().await;
        self.with_words(exit)
    }

    /// The same with what it has said.
    pub fn with_words(&self, mut why: String) -> String {
        if let Some(complaint) = self.first.complaint() {
            why.push_str(&format!("; {complaint}"));
        }
        let words = self.service.last_words();
        if !words.is_empty() {
            why.push_str(&format!("; it said: {words}"));
        }
        why
    }

    /// To be called before its input is closed, which may make it leave what it has started.
    pub fn look_below(&mut self) {
        self.service.look_below();
    }

    /// Ends it with all that it started. Its input must be closed by now, or it is only told later.
    pub async fn end(self) {
        self.service.end().await;
    }
}

/// Tells of messages that are too large to be read. A clone hears of those that come after it was made.
pub struct Oversize(Option<watch::Receiver<usize>>);

impl Oversize {
    /// There are none.
    pub fn none() -> Self {
        Self(None)
    }

    /// Waits for one, and says so in one line.
    pub async fn next(&mut self) -> String {
        if let Some(seen) = &mut self.0
            && seen.changed().await.is_ok()
        {
            let limit = MAX_LINE / 1024 / 1024;
            return format!("it sent a message of more than {limit} MB, which is not read");
        }
        std::future::pending().await
    }
}

impl Clone for Oversize {
    fn clone(&self) -> Self {
        let mut seen = self.0.clone();
        seen.iter_mut().for_each(watch::Receiver::mark_unchanged);
        Self(seen)
    }
}

/// A pipe that remembers how it began, and measures its lines.
#[derive(Debug)]
pub struct FirstWords<R> {
    inner: R,
    seen: Printed,
    /// The length of the line that is being read.
    line: usize,
    /// Counts how often a line was larger than it may be by once more.
    too_large: watch::Sender<usize>,
}

impl<R> FirstWords<R> {
    fn measure(&mut self, bytes: &[u8]) {
        let times = |line: usize| line.saturating_sub(1) / MAX_LINE;
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let before = times(self.line);
            self.line += part.len();
            // A line without an end is told of again and again: each call that is made meanwhile fails.
            if times(self.line) > before {
                self.too_large.send_modify(|count| *count = count.wrapping_add(1));
            }
            if part.ends_with(b"\n") {
                self.line = 0;
            }
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for FirstWords<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        let fresh = &buffer.filled()[before..];
        self.measure(fresh);
        let mut seen = self.seen.bytes();
        let room = FIRST_WORDS.saturating_sub(seen.len());
        seen.extend(fresh.iter().take(room));
        Poll::Ready(Ok(()))
    }
}
