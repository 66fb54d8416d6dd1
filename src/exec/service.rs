//! A program that runs beside us for a while and is spoken to over its standard streams.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{ChildStdin, ChildStdout};
use tokio_util::task::AbortOnDropHandle;

use super::clean::Cleaner;
use super::group::Group;
use super::sandbox::Confinement;
use super::supervisor::Supervisor;
use crate::protocol::EnvOverlay;

/// How much of its last words on stderr is kept. Bytes.
const LAST_WORDS: usize = 4096;

/// How long a program may take to end after its input is closed, and again after it is told to.
const GRACE: Duration = Duration::from_millis(300);

/// How long what was killed is waited for.
const END_WAIT: Duration = Duration::from_secs(2);

/// What to start.
#[derive(Clone, Copy, Debug)]
pub struct ServiceCommand<'a> {
    pub program: &'a str,
    pub args: &'a [OsString],
    pub cwd: &'a Path,
    /// Exactly these variables.
    pub env: &'a EnvOverlay,
    /// What it and all that it starts are kept to.
    pub confinement: Option<&'a Confinement>,
    /// What it runs below, if that adopts and ends what the program leaves behind.
    pub supervisor: Option<&'a Supervisor>,
}

/// The program. Dropped before its end, it is killed with all that it started; when this program
/// dies, it dies too.
pub struct Service {
    group: Group,
    words: Arc<Mutex<String>>,
    reader: AbortOnDropHandle<()>,
}

impl Service {
    /// Starts it, and hands out the pipes to and from it.
    pub fn start(command: ServiceCommand<'_>) -> io::Result<(Self, ChildStdin, ChildStdout)> {
        let (mut group, stdin) = Group::serve(command)?;
        let missing = || io::Error::other("the program has no pipes");
        let stdout = group.take_output().ok_or_else(missing)?;
        let stderr = group.take_words().ok_or_else(missing)?;
        let words = Arc::new(Mutex::new(String::new()));
        let reader = tokio::spawn(keep_last(stderr, words.clone()));
        let service = Self { group, words, reader: AbortOnDropHandle::new(reader) };
        Ok((service, stdin, stdout))
    }

    /// Waits until it has ended by itself. Safe to drop at any point.
    pub async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.group.wait().await
    }

    /// Waits until all that an ended program has said is read, unless somebody else may still say more.
    pub async fn heard(&mut self) {
        if !self.reader.is_finished() {
            // Late or failed: what is there is what there is.
            let _ = tokio::time::timeout(GRACE, &mut self.reader).await;
        }
    }

    /// What it has said last on stderr, made harmless, on one line; empty when it said nothing.
    #[must_use]
    pub fn last_words(&self) -> String {
        let words = lock(&self.words);
        let clean = Cleaner::whole(&words);
        let lines: Vec<&str> = clean.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
        // The end says most.
        lines[lines.len().saturating_sub(3)..].join(" · ")
    }

    /// Notes what it has started by now: that ends with it, whatever becomes of the program until
    /// [`Self::end`].
    pub fn look_below(&mut self) {
        self.group.look_below();
    }

    /// Ends it with all that it started: asked first, then told, then killed. Its input must be
    /// closed by now.
    pub async fn end(mut self) {
        if tokio::time::timeout(GRACE, self.group.wait()).await.is_err() {
            self.group.terminate();
            // What does not listen is killed.
            let _ = tokio::time::timeout(GRACE, self.group.wait()).await;
        }
        self.group.end(END_WAIT).await;
    }
}

/// Reads to the end, and keeps the last of it.
async fn keep_last(mut pipe: impl AsyncRead + Unpin, words: Arc<Mutex<String>>) {
    let mut chunk = vec![0; LAST_WORDS];
    while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
        let mut kept = lock(&words);
        kept.push_str(&String::from_utf8_lossy(&chunk[..count]));
        let excess = kept.len().saturating_sub(LAST_WORDS);
        let cut = kept.ceil_char_boundary(excess);
        kept.drain(..cut);
    }
}

fn lock(words: &Mutex<String>) -> MutexGuard<'_, String> {
    words.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

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
        while service.last_words().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(service.last_words(), "oops");
        service.end().await;
    }

    #[tokio::test]
    async fn a_program_that_ignores_everything_is_killed_with_what_it_started() {
        let (service, stdin, mut stdout) = start("trap '' TERM; echo up; sleep 1000 & sleep 1000");
        assert_eq!(stdout.read_u8().await.unwrap(), b'u');
        drop(stdin);
        service.end().await;
        // Everybody who could write is gone.
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
        while !service.last_words().ends_with("line 2999") {
            tokio::task::yield_now().await;
        }
        assert!(lock(&service.words).len() <= LAST_WORDS);
    }
}
