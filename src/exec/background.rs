//! A command that goes on while its agent does other things.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::process::ChildStderr;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::follow::{Leave, follow};
use super::group::Group;
use super::outcome::{Exit, ShellState};
use super::output::Capture;
use super::pump::{Output, TextPipe};

/// The most characters of output that wait to be read; of more, the newest.
const KEPT: usize = 200_000;

/// One command in the background. Dropped before its end, it is killed with all that it started.
#[derive(Debug)]
pub struct BackgroundShell {
    cwd: PathBuf,
    lost: Option<PathBuf>,
    backlog: Backlog,
    state: watch::Receiver<ShellState>,
    cancel: CancellationToken,
    _task: AbortOnDropHandle<()>,
}

/// A command that has just been started.
pub struct Started {
    pub group: Group,
    /// Where it runs.
    pub cwd: PathBuf,
    /// The directory that was to be used and is gone.
    pub lost: Option<PathBuf>,
}

/// What a command printed since that was asked last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    pub text: String,
    /// Characters before `text` that nobody read and that are gone.
    pub left_out: usize,
}

impl BackgroundShell {
    /// Goes on with a command in a task of its own. `tell` gets [`ShellState::Running`] first and
    /// how it ended last.
    pub(super) fn follow(
        started: Started,
        leave: Leave,
        mut tell: impl FnMut(ShellState) + Send + 'static,
    ) -> Self {
        let Started { mut group, cwd, lost } = started;
        let (backlog, cancel) = (Backlog::default(), leave.cancel.clone());
        let (state, seen) = watch::channel(ShellState::Running);
        let kept = backlog.clone();
        let task = tokio::spawn(async move {
            tell(ShellState::Running);
            let end = attend(&mut group, kept, &leave).await;
            tell(end);
            state.send_replace(end);
        });
        Self { cwd, lost, backlog, state: seen, cancel, _task: AbortOnDropHandle::new(task) }
    }

    /// Where it was started.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The agent's directory, which was gone, so that this was started in the base directory.
    #[must_use]
    pub fn lost(&self) -> Option<&Path> {
        self.lost.as_deref()
    }

    /// Whether it runs, or how it ended.
    #[must_use]
    pub fn state(&self) -> ShellState {
        *self.state.borrow()
    }

    /// What it printed since the last call, and how it stands. Once it has ended, nothing more will come.
    #[must_use]
    pub fn unread(&self) -> (Unread, ShellState) {
        // The state first: what is printed up to an end is there when the end is.
        let state = self.state();
        (self.backlog.take(), state)
    }

    /// The same in whole lines: as long as it runs, a line without an end stays unread.
    #[must_use]
    pub fn unread_lines(&self) -> (Unread, ShellState) {
        let state = self.state();
        let unread = match state {
            ShellState::Running => self.backlog.take_lines(),
            ShellState::Exited(_) | ShellState::Killed => self.backlog.take(),
        };
        (unread, state)
    }

    /// Ends it with all that it started, and waits for that. Says how it ended, which may have been
    /// by itself.
    pub async fn kill(&self) -> ShellState {
        self.cancel.cancel();
        self.wait_end().await
    }

    /// Waits until it has ended and says how. Its last output is there then. Safe to drop at any point.
    pub async fn wait_end(&self) -> ShellState {
        let mut state = self.state.clone();
        match state.wait_for(|state| *state != ShellState::Running).await {
            Ok(end) => *end,
            // The task was dropped, and the command with it.
            Err(_) => ShellState::Killed,
        }
    }
}

/// Reads what the command prints until it and all of its group have ended.
async fn attend(group: &mut Group, backlog: Backlog, leave: &Leave) -> ShellState {
    // Nobody asks where it ends, but it shall not find the pipe closed on which it says so.
    let _words: Option<ChildStderr> = group.take_words();
    let mut reader =
        Reader { pipe: TextPipe::new(group.take_output()), text: String::new(), backlog };
    let exit = follow(group, &mut reader, leave).await;
    reader.finish();
    match exit {
        Ok(Exit::Cancelled) => ShellState::Killed,
        Ok(exit) => ShellState::Exited(exit),
        Err(error) => {
            tracing::error!(%error, "a background command was lost");
            ShellState::Killed
        }
    }
}

/// Moves a command's output into its backlog.
struct Reader {
    pipe: TextPipe,
    /// What was read and is not in the backlog yet.
    text: String,
    backlog: Backlog,
}

impl Output for Reader {
    fn is_closed(&self) -> bool {
        self.pipe.is_closed()
    }

    async fn step(&mut self) {
        self.pipe.read(&mut self.text).await;
        self.hand_over();
    }
}

impl Reader {
    fn finish(mut self) {
        let pipe = std::mem::replace(&mut self.pipe, TextPipe::new(None));
        pipe.finish(&mut self.text);
        self.hand_over();
    }

    fn hand_over(&mut self) {
        self.backlog.lock().push(&self.text);
        self.text.clear();
    }
}

/// Output that nobody has read yet. Clones are the same.
#[derive(Clone, Debug)]
struct Backlog(Arc<Mutex<Capture>>);

impl Default for Backlog {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(empty())))
    }
}

impl Backlog {
    fn take(&self) -> Unread {
        let (text, left_out) = std::mem::replace(&mut *self.lock(), empty()).into_tail();
        Unread { text, left_out: left_out.chars }
    }

    fn take_lines(&self) -> Unread {
        let mut waiting = self.lock();
        let (mut text, left_out) = std::mem::replace(&mut *waiting, empty()).into_tail();
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        waiting.push(&text.split_off(whole));
        Unread { text, left_out: left_out.chars }
    }

    fn lock(&self) -> MutexGuard<'_, Capture> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn empty() -> Capture {
    Capture::new((0, KEPT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_read_once_and_a_line_without_an_end_can_wait() {
        let backlog = Backlog::default();
        backlog.lock().push("one\ntw");
        assert_eq!(backlog.take_lines().text, "one\n");
        backlog.lock().push("o\n");
        assert_eq!(backlog.take_lines().text, "two\n");
        backlog.lock().push("three");
        assert_eq!(backlog.take().text, "three");
        assert_eq!(backlog.take(), Unread::default());
    }

    #[test]
    fn what_nobody_reads_is_bounded_and_the_loss_is_counted_once() {
        let backlog = Backlog::default();
        for _ in 0..5 {
            backlog.lock().push(&"é".repeat(KEPT / 2));
        }
        let unread = backlog.take();
        assert_eq!((unread.text.chars().count(), unread.left_out), (KEPT, KEPT + KEPT / 2));
        backlog.lock().push("new");
        assert_eq!(backlog.take(), Unread { text: "new".to_owned(), left_out: 0 });
    }
}
