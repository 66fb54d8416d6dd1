//! Runs a program that gets a text on stdin and answers with another: hooks and our own git calls.

use std::borrow::Cow;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::group::{ProcessGroup, ServiceCommand};
use super::outcome::{CommandExit, ExecError};
use super::pump::OutputSource;
use super::run_to_exit::{StopConditions, run_to_exit};

const CHUNK: usize = 16 * 1024;

/// A program with its input.
#[derive(Clone, Copy, Debug)]
pub struct FilterCommand<'a> {
    pub command: ServiceCommand<'a>,
    /// Its stdin; it need not read it.
    pub input: &'a [u8],
    /// Maximum bytes kept of each output.
    pub keep: usize,
    /// Time limit.
    pub limit: Option<Duration>,
    pub cancel: &'a CancellationToken,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterOutput {
    pub exit: CommandExit,
    pub stdout: CappedOutput,
    pub stderr: CappedOutput,
}

/// The beginning of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CappedOutput {
    pub bytes: Vec<u8>,
    /// Whether the output was longer.
    pub is_cut: bool,
}

impl CappedOutput {
    /// Returns the output as text, with U+FFFD for bytes that are not UTF-8.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }
}

impl FilterCommand<'_> {
    /// Runs it to its end. Processes it leaves in its process group end with it; at the limit, on
    /// cancel and on drop, so does everything it started.
    pub async fn run(&self) -> Result<FilterOutput, ExecError> {
        let Self { command, limit, cancel, .. } = *self;
        if !command.cwd.is_dir() {
            return Err(ExecError::NoDirectory(command.cwd.to_owned()));
        }
        let (mut group, stdin) = ProcessGroup::serve(command).map_err(ExecError::Spawn)?;
        let mut pipes = FilterPipes {
            stdin: Some(stdin),
            input: self.input,
            stdout: CappedPipe::new(group.take_output(), self.keep),
            stderr: CappedPipe::new(group.take_stderr(), self.keep),
        };
        let leave = StopConditions { began: Instant::now(), limit, cancel: cancel.clone() };
        let exit = run_to_exit(&mut group, &mut pipes, &leave).await?;
        Ok(FilterOutput { exit, stdout: pipes.stdout.finish(), stderr: pipes.stderr.finish() })
    }
}

/// The three streams while the command runs.
struct FilterPipes<'a> {
    /// Closed once all is written, or the program stops reading.
    stdin: Option<ChildStdin>,
    /// The rest to be written.
    input: &'a [u8],
    stdout: CappedPipe<ChildStdout>,
    stderr: CappedPipe<ChildStderr>,
}

impl OutputSource for FilterPipes<'_> {
    fn is_closed(&self) -> bool {
        self.stdout.pipe.is_none() && self.stderr.pipe.is_none()
    }

    async fn step(&mut self) {
        tokio::select! {
            () = write(&mut self.stdin, &mut self.input) => {}
            () = self.stdout.read() => {}
            () = self.stderr.read() => {}
        }
    }
}

/// Writes a piece, and closes the pipe after the last. Never returns once it is closed.
async fn write(stdin: &mut Option<ChildStdin>, input: &mut &[u8]) {
    let Some(pipe) = stdin else { return std::future::pending().await };
    if !input.is_empty()
        && let Ok(count @ 1..) = pipe.write(input).await
    {
        *input = &input[count..];
        return;
    }
    *stdin = None;
}

/// An output read to its end, of which the beginning is kept.
struct CappedPipe<R> {
    pipe: Option<R>,
    kept: Vec<u8>,
    keep: usize,
    is_cut: bool,
    chunk: Vec<u8>,
}

impl<R: AsyncRead + Unpin> CappedPipe<R> {
    fn new(pipe: Option<R>, keep: usize) -> Self {
        Self { pipe, kept: Vec::new(), keep, is_cut: false, chunk: vec![0; CHUNK] }
    }

    /// Never returns once the pipe is closed.
    async fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else { return std::future::pending().await };
        let count = pipe.read(&mut self.chunk).await.unwrap_or(0);
        if count == 0 {
            self.pipe = None;
        }
        let fits = count.min(self.keep - self.kept.len());
        self.kept.extend_from_slice(&self.chunk[..fits]);
        self.is_cut |= fits < count;
    }

    fn finish(self) -> CappedOutput {
        CappedOutput { bytes: self.kept, is_cut: self.is_cut }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use tokio::net::unix::pipe;

    use super::*;
    use crate::protocol::EnvOverlay;

    async fn run(line: &str, input: &[u8], limit: Duration) -> FilterOutput {
        run_in(Path::new("/"), line, input, limit).await
    }

    async fn run_in(cwd: &Path, line: &str, input: &[u8], limit: Duration) -> FilterOutput {
        let env = EnvOverlay::from_iter([("PATH", "/usr/bin:/bin"), ("OWN", "yes")]);
        let cancel = CancellationToken::new();
        let args = ["-c", line].map(OsString::from);
        let command = ServiceCommand {
            program: "bash",
            args: &args,
            cwd,
            env: &env,
            confinement: None,
            supervisor: None,
        };
        let filter =
            FilterCommand { command, input, keep: 1000, limit: Some(limit), cancel: &cancel };
        filter.run().await.unwrap()
    }

    const LONG: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn it_reads_its_input_and_both_outputs_are_told_apart() {
        let done = run("read line; echo \"$line $OWN\"; echo oops >&2; exit 2", b"hello\n", LONG);
        let done = done.await;
        assert_eq!(done.exit, CommandExit::Code(2));
        assert_eq!((&*done.stdout.text(), &*done.stderr.text()), ("hello yes\n", "oops\n"));
    }

    #[tokio::test]
    async fn input_longer_than_a_pipe_arrives_whole_or_stays_unread() {
        let input = vec![b'x'; 3_000_000];
        assert_eq!(run("wc -c", &input, LONG).await.stdout.text().trim(), "3000000");
        let done = run("echo done", &input, LONG).await;
        assert_eq!((done.exit, &*done.stdout.text()), (CommandExit::Code(0), "done\n"));
    }

    #[tokio::test]
    async fn of_a_flood_the_beginning_is_kept() {
        let done = run("head -c 3000000 /dev/zero | tr '\\0' x; echo y >&2; exit 3", b"", LONG);
        let FilterOutput { exit, stdout, stderr } = done.await;
        assert_eq!((exit, stdout.is_cut, stdout.bytes.len()), (CommandExit::Code(3), true, 1000));
        assert_eq!(stderr, CappedOutput { bytes: b"y\n".to_vec(), is_cut: false });
    }

    #[tokio::test]
    async fn at_its_limit_all_that_it_started_is_killed_also_what_ignores_term() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fifo");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let mut witness = pipe::OpenOptions::new().open_receiver(&path).unwrap();
        let line = "trap '' TERM; exec 9>fifo; printf '!' >&9; (trap '' TERM; sleep 1000) & \
                    setsid sleep 1000 & sleep 1000";
        let limit = Duration::from_secs(1);
        let done = run_in(folder.path(), line, b"", limit).await;
        assert_eq!(done.exit, CommandExit::TimedOut(limit));
        let mut said = String::new();
        let read = witness.read_to_string(&mut said);
        tokio::time::timeout(Duration::from_secs(2), read).await.expect("still there").unwrap();
        assert_eq!(said, "!");
    }
}
