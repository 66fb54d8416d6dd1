//! The prompt that agents work on, and the exit code of the run.

use super::input::PromptInput;
use crate::protocol::PromptId;

/// Tracks the prompt that was sent and the exit code.
#[derive(Default)]
pub(super) struct PromptTracker {
    sent: Option<SentPrompt>,
    next_id: u64,
    code: u8,
    /// Whether the exit code is that of the last prompt rather than the first failed one: a program
    /// that reads every result has already handled earlier ones.
    last_wins: bool,
}

/// The last prompt sent, not answered yet.
struct SentPrompt {
    id: PromptId,
    prompt: PromptInput,
    /// Whether it waits, or may wait, behind a run that something else started: the end of that run
    /// is not its own.
    queued: bool,
    work: PromptWork,
}

/// The kind of work for a prompt, which decides how it ends. Each ends with one result:
///
/// | work | begins with | ends with |
/// |---|---|---|
/// | `Run` | `Command::Prompt` | `Finished`, `PromptRefused`; `PromptReturned` puts it back into the queue |
/// | `Clear` | `Command::Clear` | `SessionOpened`, `SessionFailed` |
/// | `Compact` | `Command::Compact` | `Compaction` by hand that is over: done, failed or cancelled |
/// | `Answer` | nothing | its own text, at once |
///
/// `Finished` also ends a `Compact` that has started, because an internal error emits nothing else.
/// The runtime carries out `Clear` and `Compact` when the previous run is over, so neither can be
/// lost between the end of a run and its last event. Until they start they are `queued`, so that
/// the end of that run, which a background agent may have started, is not theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PromptWork {
    Run,
    Clear,
    Compact,
    Answer,
}

impl PromptTracker {
    /// Starts with no prompt sent.
    pub fn new(last_wins: bool) -> Self {
        Self { last_wins, ..Self::default() }
    }

    /// Returns the exit code so far.
    pub fn exit_code(&self) -> u8 {
        self.code
    }

    /// Records the exit code of a prompt.
    pub fn set_exit_code(&mut self, code: u8) {
        if self.code == 0 || self.last_wins {
            self.code = code;
        }
    }

    /// Begins the work for a prompt.
    pub fn begin(&mut self, prompt: PromptInput, work: PromptWork) -> PromptId {
        let id = PromptId(self.next_id);
        self.next_id += 1;
        let queued = matches!(work, PromptWork::Clear | PromptWork::Compact);
        self.sent = Some(SentPrompt { id, prompt, queued, work });
        id
    }

    /// Whether no prompt waits for its answer.
    pub fn is_idle(&self) -> bool {
        self.sent.is_none()
    }

    /// Whether the current prompt is of this kind.
    pub fn is_working_on(&self, work: PromptWork) -> bool {
        self.sent.as_ref().is_some_and(|sent| sent.work == work)
    }

    /// Whether the run that ends now is that of the current prompt.
    pub fn is_running(&self) -> bool {
        self.sent.as_ref().is_some_and(|sent| !sent.queued)
    }

    /// Returns the prompt with this id, if it is the current one.
    pub fn get(&self, id: PromptId) -> Option<&PromptInput> {
        self.sent.as_ref().filter(|sent| sent.id == id).map(|sent| &sent.prompt)
    }

    /// Records that the prompt waits behind another run, or that its own has begun.
    pub fn set_queued(&mut self, id: PromptId, queued: bool) {
        if let Some(sent) = self.sent.as_mut().filter(|sent| sent.id == id) {
            sent.queued = queued;
        }
    }

    /// Records that the work for the current prompt has begun.
    pub fn start(&mut self) {
        self.sent.iter_mut().for_each(|sent| sent.queued = false);
    }

    /// Ends the work for the prompt with this id, if it is the current one.
    pub fn take(&mut self, id: PromptId) -> Option<PromptInput> {
        self.sent.take_if(|sent| sent.id == id).map(|sent| sent.prompt)
    }

    /// Ends the work for the current prompt.
    pub fn end(&mut self) -> Option<PromptInput> {
        self.sent.take().map(|sent| sent.prompt)
    }
}
