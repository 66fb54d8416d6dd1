//! A command that runs while its agent does other things.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::process::ChildStderr;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::group::ProcessGroup;
use super::outcome::{CommandExit, ShellState};
use super::output::Capture;
use super::pump::{OutputSource, TextPipe};
use super::run_to_exit::{StopConditions, run_to_exit};

/// Maximum number of unread characters of output; older ones are dropped.
const MAX_BACKLOG_CHARS: usize = 200_000;

/// Number of characters kept from the end of the output for the user, whether they were read or not.
const MAX_RECENT_CHARS: usize = 20_000;

/// A command in the background. Dropping it before its end kills it with everything it started.
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
pub struct StartedShell {
    pub group: ProcessGroup,
    /// Where it runs.
    pub cwd: PathBuf,
    /// The directory that was requested and no longer exists.
    pub lost: Option<PathBuf>,
}

/// Output printed since the last read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnreadOutput {
    pub text: String,
    /// Number of characters before `text` that were dropped unread.
    pub left_out: usize,
}

/// The end of everything printed so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentOutput {
    text: String,
    is_cut: bool,
    /// Number of characters of the whole output.
    pub total: u64,
}

impl RecentOutput {
    /// Returns the text as `mask` leaves it, which masks keys. A text that has lost its beginning starts
    /// with a line after that: nothing would mask the rest of a key.
    pub fn masked(self, mask: impl FnOnce(String) -> String) -> String {
        let mut text = mask(self.text);
        if self.is_cut {
            text.drain(..cut_line(&text));
        }
        text
    }
}

impl BackgroundShell {
    /// Follows a command in a task of its own. `tell` gets [`ShellState::Running`] first, and the final state
    /// last, with the end of the output.
    pub(super) fn follow(
        started: StartedShell,
        leave: StopConditions,
        mut tell: impl FnMut(ShellState, RecentOutput) + Send + 'static,
    ) -> Self {
        let StartedShell { mut group, cwd, lost } = started;
        let (backlog, cancel) = (Backlog::default(), leave.cancel.clone());
        let (state, seen) = watch::channel(ShellState::Running);
        let kept = backlog.clone();
        let task = tokio::spawn(async move {
            tell(ShellState::Running, RecentOutput::default());
            let end = run_to_end(&mut group, kept.clone(), &leave).await;
            tell(end, kept.recent());
            state.send_replace(end);
        });
        Self { cwd, lost, backlog, state: seen, cancel, _task: AbortOnDropHandle::new(task) }
    }

    /// Returns the directory in which it started.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Returns the agent's directory if it was gone, so that this was started in the base directory.
    pub fn lost(&self) -> Option<&Path> {
        self.lost.as_deref()
    }

    /// Whether it runs, or how it ended.
    pub fn state(&self) -> ShellState {
        *self.state.borrow()
    }

    /// Returns the output since the last call, and the state. After the end no more output comes.
    pub fn unread(&self) -> (UnreadOutput, ShellState) {
        // Read the state first: once it says "ended", all output up to the end is there.
        let state = self.state();
        (self.backlog.take(), state)
    }

    /// Like [`Self::unread`], but in whole lines: while it runs, an unfinished line stays unread.
    pub fn unread_lines(&self) -> (UnreadOutput, ShellState) {
        let state = self.state();
        let unread = match state {
            ShellState::Running => self.backlog.take_lines(),
            ShellState::Exited(_) | ShellState::Killed => self.backlog.take(),
        };
        (unread, state)
    }

    /// Waits until it has printed something after the first `seen` characters, or has ended, and returns the
    /// end of the output. Safe to drop at any point.
    pub async fn recent_after(&self, seen: u64) -> RecentOutput {
        let mut total = self.backlog.total.subscribe();
        tokio::select! {
            // The sender lives as long as this.
            _ = total.wait_for(|total| *total != seen) => {}
            _ = self.wait_end() => {}
        }
        self.backlog.recent()
    }

    /// Kills it with everything it started, and waits for that. Returns how it ended, which may
    /// have been by itself.
    pub async fn kill(&self) -> ShellState {
        self.cancel.cancel();
        self.wait_end().await
    }

    /// Waits until it has ended and returns how. Its last output is there then. Safe to drop at any point.
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
async fn run_to_end(
    group: &mut ProcessGroup,
    backlog: Backlog,
    leave: &StopConditions,
) -> ShellState {
    // The final directory doesn't matter, but writing it must not hit a closed pipe.
    let _words: Option<ChildStderr> = group.take_stderr();
    let mut reader =
        BacklogReader { pipe: TextPipe::new(group.take_output()), text: String::new(), backlog };
    let exit = run_to_exit(group, &mut reader, leave).await;
    reader.finish();
    match exit {
        Ok(CommandExit::Cancelled) => ShellState::Killed,
        Ok(exit) => ShellState::Exited(exit),
        Err(error) => {
            tracing::error!(%error, "a background command was lost");
            ShellState::Killed
        }
    }
}

/// Moves a command's output into its backlog.
struct BacklogReader {
    pipe: TextPipe,
    /// Text that was read but is not in the backlog yet.
    text: String,
    backlog: Backlog,
}

impl OutputSource for BacklogReader {
    fn is_closed(&self) -> bool {
        self.pipe.is_closed()
    }

    async fn step(&mut self) {
        self.pipe.read(&mut self.text).await;
        self.hand_over();
    }
}

impl BacklogReader {
    fn finish(mut self) {
        let pipe = std::mem::replace(&mut self.pipe, TextPipe::new(None));
        pipe.finish(&mut self.text);
        self.hand_over();
    }

    fn hand_over(&mut self) {
        self.backlog.push(&self.text);
        self.text.clear();
    }
}

/// Unread output, and the end of all output. Clones share it.
#[derive(Clone, Debug)]
struct Backlog {
    unread: Arc<Mutex<Capture>>,
    recent: Arc<Mutex<Capture>>,
    /// Number of characters so far.
    total: watch::Sender<u64>,
}

impl Default for Backlog {
    fn default() -> Self {
        let recent = Capture::new((0, MAX_RECENT_CHARS));
        Self {
            unread: Arc::new(Mutex::new(empty())),
            recent: Arc::new(Mutex::new(recent)),
            total: watch::Sender::new(0),
        }
    }
}

impl Backlog {
    fn push(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.unread.lock().push(text);
        // The number belongs to the text, so it changes with it.
        let mut recent = self.recent.lock();
        recent.push(text);
        self.total.send_modify(|total| *total += text.chars().count() as u64);
    }

    fn recent(&self) -> RecentOutput {
        let mut recent = self.recent.lock();
        let (text, total) = (recent.tail(), *self.total.borrow());
        RecentOutput { is_cut: (text.chars().count() as u64) < total, text, total }
    }

    fn take(&self) -> UnreadOutput {
        let (text, left_out) = std::mem::replace(&mut *self.unread.lock(), empty()).into_tail();
        UnreadOutput { text, left_out: left_out.chars }
    }

    fn take_lines(&self) -> UnreadOutput {
        let mut waiting = self.unread.lock();
        let (mut text, left_out) = std::mem::replace(&mut *waiting, empty()).into_tail();
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        waiting.push(&text.split_off(whole));
        UnreadOutput { text, left_out: left_out.chars }
    }
}

/// The most characters dropped from the start of a cut output, so that it begins with a line: more than
/// any key has.
const MAX_CUT_CHARS: usize = 1000;

/// The length of the line at the start of a text that was cut, at most [`MAX_CUT_CHARS`] of it.
fn cut_line(text: &str) -> usize {
    let most = text.char_indices().nth(MAX_CUT_CHARS).map_or(text.len(), |(at, _)| at);
    text[..most].find('\n').map_or(most, |end| end + 1)
}

fn empty() -> Capture {
    Capture::new((0, MAX_BACKLOG_CHARS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: String) -> String {
        text
    }

    #[test]
    fn each_text_is_read_once_and_a_line_without_an_end_can_wait() {
        let backlog = Backlog::default();
        backlog.unread.lock().push("one\ntw");
        assert_eq!(backlog.take_lines().text, "one\n");
        backlog.unread.lock().push("o\n");
        assert_eq!(backlog.take_lines().text, "two\n");
        backlog.unread.lock().push("three");
        assert_eq!(backlog.take().text, "three");
        assert_eq!(backlog.take(), UnreadOutput::default());
    }

    #[test]
    fn what_nobody_reads_is_bounded_and_the_loss_is_counted_once() {
        let backlog = Backlog::default();
        for _ in 0..5 {
            backlog.unread.lock().push(&"é".repeat(MAX_BACKLOG_CHARS / 2));
        }
        let unread = backlog.take();
        assert_eq!(
            (unread.text.chars().count(), unread.left_out),
            (MAX_BACKLOG_CHARS, MAX_BACKLOG_CHARS + MAX_BACKLOG_CHARS / 2)
        );
        backlog.unread.lock().push("new");
        assert_eq!(backlog.take(), UnreadOutput { text: "new".to_owned(), left_out: 0 });
    }

    #[test]
    fn the_end_of_the_output_stays_although_it_was_read_and_is_bounded() {
        let backlog = Backlog::default();
        backlog.push("one\n");
        backlog.take();
        backlog.push("two\n");
        assert_eq!((backlog.recent().total, &*backlog.recent().masked(whole)), (8, "one\ntwo\n"));
        for _ in 0..5 {
            backlog.push(&"é".repeat(MAX_RECENT_CHARS / 2));
        }
        let recent = backlog.recent();
        assert_eq!(recent.total, 8 + 5 * MAX_RECENT_CHARS as u64 / 2);
        assert_eq!(recent.masked(whole).chars().count(), MAX_RECENT_CHARS - MAX_CUT_CHARS);
        backlog.push("half\nof a line\n");
        backlog.push(&"é".repeat(MAX_RECENT_CHARS - 13));
        assert!(backlog.recent().masked(whole).starts_with("of a line\né"));
    }

    #[test]
    fn a_key_that_lies_across_the_new_beginning_is_masked() {
        let backlog = Backlog::default();
        let key = "k".repeat(40);
        backlog.push("lost");
        backlog.push(&"x".repeat(MAX_CUT_CHARS - 20));
        backlog.push(&key);
        backlog.push(&"y".repeat(MAX_RECENT_CHARS - (MAX_CUT_CHARS - 20) - key.len()));
        let text = backlog.recent().masked(|text| text.replace(&key, "*"));
        assert!(!text.contains('k'), "{}", &text[..60]);
    }
}
