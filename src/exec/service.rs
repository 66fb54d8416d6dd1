//! A long-running program that we talk to over its standard streams.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{ChildStdin, ChildStdout};
use tokio_util::task::AbortOnDropHandle;

use super::group::{ProcessGroup, ServiceCommand};
use super::output_cleaner::OutputCleaner;

/// How many bytes of the end of stderr are kept.
const STDERR_TAIL_BYTES: usize = 4096;

/// How long a program may take to end after its input is closed, and again after it was asked to.
const GRACE: Duration = Duration::from_millis(300);

/// How long to wait for a killed program.
const END_WAIT: Duration = Duration::from_secs(2);

/// A running program. Dropping it before its end kills it with everything it started; it also dies
/// with this program.
pub struct Service {
    group: ProcessGroup,
    words: Arc<Mutex<String>>,
    reader: AbortOnDropHandle<()>,
}

impl Service {
    /// Starts it, and returns the pipes to and from it.
    pub fn start(command: ServiceCommand<'_>) -> io::Result<(Self, ChildStdin, ChildStdout)> {
        let (mut group, stdin) = ProcessGroup::serve(command)?;
        let missing = || io::Error::other("the program has no pipes");
        let stdout = group.take_output().ok_or_else(missing)?;
        let stderr = group.take_stderr().ok_or_else(missing)?;
        let words = Arc::new(Mutex::new(String::new()));
        let reader = tokio::spawn(keep_last(stderr, words.clone()));
        let service = Self { group, words, reader: AbortOnDropHandle::new(reader) };
        Ok((service, stdin, stdout))
    }

    /// Waits until it has ended by itself. Safe to drop at any point.
    pub async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.group.wait().await
    }

    /// Waits until the output of an ended program is read, unless another process still holds the pipe.
    pub async fn drain_stderr(&mut self) {
        if !self.reader.is_finished() {
            // On timeout or failure, use what was read.
            let _ = tokio::time::timeout(GRACE, &mut self.reader).await;
        }
    }

    /// Returns the end of its stderr, made harmless, on one line; empty if it printed nothing.
    pub fn stderr_tail(&self) -> String {
        let words = lock(&self.words);
        let clean = OutputCleaner::clean(&words);
        let lines: Vec<&str> = clean.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
        // The last lines matter most.
        lines[lines.len().saturating_sub(3)..].join(" · ")
    }

    /// Records the processes it has started so far: they end with it, even if it ends before [`Self::end`].
    pub fn scan_descendants(&mut self) {
        self.group.scan_descendants();
    }

    /// Ends it with everything it started: closed input first, then a signal, then a kill. Its
    /// input must be closed by now.
    pub async fn end(mut self) {
        if tokio::time::timeout(GRACE, self.group.wait()).await.is_err() {
            self.group.terminate();
            // If it does not react, it is killed.
            let _ = tokio::time::timeout(GRACE, self.group.wait()).await;
        }
        self.group.end(END_WAIT).await;
    }
}

/// Reads to the end, and keeps the last part.
async fn keep_last(mut pipe: impl AsyncRead + Unpin, words: Arc<Mutex<String>>) {
    let mut chunk = vec![0; STDERR_TAIL_BYTES];
    while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
        let mut kept = lock(&words);
        kept.push_str(&String::from_utf8_lossy(&chunk[..count]));
        let excess = kept.len().saturating_sub(STDERR_TAIL_BYTES);
        let cut = kept.ceil_char_boundary(excess);
        kept.drain(..cut);
    }
}

fn lock(words: &Mutex<String>) -> MutexGuard<'_, String> {
    words.lock()
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use std::ffi::OsString;
    use std::path::Path;

    use super::*;
    use crate::protocol::EnvOverlay;

    fn start(line: &str) -> (Service, ChildStdin, ChildStdout) {
        let env = EnvOverlay::from_iter([("PATH", "/usr/bin:/bin"), ("OWN", "yes")]);
        let args = ["-c", line].map(OsString::from);
        let (program, cwd) = ("sh", Path::new("/"));
        let command = ServiceCommand {
            program,
            args: &args,
            cwd,
            env: &env,
            confinement: None,
            supervisor: None,
        };
        Service::start(command).unwrap()
    }

    async fn text(mut pipe: ChildStdout) -> String {
        let mut text = String::new();
        pipe.read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn it_has_its_own_streams_and_exactly_its_variables() {
        let (mut service, mut stdin, stdout) =
            start("read line; echo \"$line $OWN $HOME\"; echo oops >&2; exit 3");
        stdin.write_all(b"hello\n").await.unwrap();
        assert_eq!(text(stdout).await, "hello yes \n");
        assert_eq!(service.ended().await.unwrap().code(), Some(3));
        while service.stderr_tail().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(service.stderr_tail(), "oops");
        service.end().await;
    }

    #[tokio::test]
    async fn a_program_that_ignores_everything_is_killed_with_what_it_started() {
        let (service, stdin, mut stdout) = start("trap '' TERM; echo up; sleep 1000 & sleep 1000");
        assert_eq!(stdout.read_u8().await.unwrap(), b'u');
        drop(stdin);
        service.end().await;
        // No process can write any more.
        assert_eq!(text(stdout).await, "p\n");
    }

    #[tokio::test]
    async fn it_dies_when_nobody_holds_it() {
        let (service, _stdin, mut stdout) = start("echo up; sleep 1000 & sleep 1000");
        assert_eq!(stdout.read_u8().await.unwrap(), b'u');
        drop(service);
        let rest = tokio::time::timeout(Duration::from_secs(5), text(stdout)).await;
        assert_eq!(rest.expect("still there"), "p\n");
    }

    #[tokio::test]
    async fn only_the_end_of_a_flood_is_kept() {
        let (mut service, _stdin, stdout) =
            start("i=0; while [ $i -lt 3000 ]; do echo \"line $i\" >&2; i=$((i+1)); done");
        text(stdout).await;
        service.ended().await.unwrap();
        while !service.stderr_tail().ends_with("line 2999") {
            tokio::task::yield_now().await;
        }
        assert!(lock(&service.words).len() <= STDERR_TAIL_BYTES);
    }
}
