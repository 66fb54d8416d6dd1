//! One run of an agent: its progress, and why it ends.

use std::collections::HashMap;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;

use crate::budget::{Budget, BudgetExhausted};
use crate::protocol::{
    ApiError, ContentBlock, EventSink, Failure, JournalError, NoticeLevel, PathTarget, RunEnd,
    Usage,
};
use crate::provider::ProviderError;
use crate::tool::canonical_name;

/// The progress of one run.
pub(super) struct AgentRun<'a> {
    pub(super) events: &'a EventSink,
    pub(super) cancel: &'a CancellationToken,
    pub(super) started: Instant,
    /// This run's account, below the agent's.
    pub(super) budget: Budget,
    /// The number of the last turn it may take.
    pub(super) last_turn: Option<u32>,
    pub(super) turns: u32,
    pub(super) tool_uses: u32,
    pub(super) usage: Usage,
    /// The text of the latest answer, complete or not.
    pub(super) text: String,
    /// Whether it was compacted and no answer since then has left room.
    pub(super) compacted: bool,
    /// The call that its first answer must make, until that answer has come.
    pub(super) forced_call: Option<ForcedCall>,
    /// How often a hook made it continue at its end.
    pub(super) hook_continuations: u32,
    /// Why a hook ended it.
    pub(super) stopped: OnceLock<String>,
    /// The provider's refusal that ended it.
    pub(super) api_error: Option<ApiError>,
    /// Whether the provider rejected what was read since the last answer.
    pub(super) rejected: bool,
    pub(super) asked_files: AskedFiles,
}

impl<'a> AgentRun<'a> {
    pub(super) fn new(
        budget: Budget,
        events: &'a EventSink,
        cancel: &'a CancellationToken,
    ) -> Self {
        Self {
            events,
            cancel,
            started: Instant::now(),
            last_turn: budget.turns_left(),
            budget,
            turns: 0,
            tool_uses: 0,
            usage: Usage::default(),
            text: String::new(),
            compacted: false,
            forced_call: None,
            hook_continuations: 0,
            stopped: OnceLock::new(),
            api_error: None,
            rejected: false,
            asked_files: AskedFiles::default(),
        }
    }
}

/// The files that the user was asked about, each with a lock for the calls that would change it.
#[derive(Default)]
pub(super) struct AskedFiles(Mutex<HashMap<PathBuf, Arc<AsyncMutex<()>>>>);

impl AskedFiles {
    /// Waits until every earlier call that asked about this file has ended.
    pub(super) async fn hold(&self, file: &PathTarget) -> OwnedMutexGuard<()> {
        self.lock_of(file).lock_owned().await
    }

    fn lock_of(&self, file: &PathTarget) -> Arc<AsyncMutex<()>> {
        let path = file.resolved.as_ref().unwrap_or(&file.written).clone();
        let mut files = self.0.lock();
        files.entry(path).or_default().clone()
    }
}

/// Why a run ends before the model says so.
pub(super) enum RunError {
    End(RunEnd),
    /// A request failed, and no retry is left or would help.
    Provider(ProviderError),
    Journal(JournalError),
}

impl AgentRun<'_> {
    pub(super) fn is_at_last_turn(&self) -> bool {
        self.last_turn.is_some_and(|last| self.turns + 1 >= last)
    }

    /// Whether the main agent's next turn is both its first and its last: there is nothing to sum
    /// up yet, so its calls run, and the limit ends the run after them.
    pub(super) fn is_at_only_turn(&self) -> bool {
        self.turns == 0 && self.is_at_last_turn() && self.events.path().is_root()
    }

    /// Returns how a run ends whose last turn was for its summary. If that was its only turn and
    /// was answered, no limit cut it short; any other run counts as cut short, because it may have
    /// wanted to do more.
    pub(super) fn end_of_last_turn(
        &self,
        calls_spent: Option<BudgetExhausted>,
        answered: bool,
    ) -> RunEnd {
        if self.turns == 1 && answered {
            return if self.text.is_empty() { RunEnd::Empty } else { RunEnd::Completed };
        }
        match (self.last_turn, calls_spent) {
            (Some(limit), _) if self.turns >= limit => RunEnd::MaxTurns { limit },
            (_, Some(BudgetExhausted { what })) => RunEnd::Budget { what },
            (_, None) => RunEnd::MaxTurns { limit: self.turns },
        }
    }

    /// Returns how the run ends after the calls of a turn, unless it continues.
    pub(super) fn end_after_calls(
        &self,
        fatal: Option<(Failure, String)>,
        last: bool,
    ) -> Option<RunEnd> {
        if let Some((failure, message)) = fatal {
            return Some(RunEnd::Failed { failure, message });
        }
        if self.stopped.get().is_some() || self.cancel.is_cancelled() {
            return Some(RunEnd::Cancelled { before_start: false });
        }
        last.then_some(RunEnd::MaxTurns { limit: self.turns })
    }

    /// Warns if the first answer does not make the requested call. Later answers are the model's
    /// own choice.
    pub(super) fn check_forced(&mut self, calls: &[ContentBlock]) {
        if let Some(forced) = self.forced_call.take()
            && !calls.iter().any(|call| forced.matches(call))
        {
            self.events.notice(NoticeLevel::Warning, forced.warning);
        }
    }
}

/// A call that the first answer of a run must make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForcedCall {
    /// The tool's name as offered.
    pub tool: String,
    /// The value the input must have; `None` accepts any.
    pub input: Option<ArgMatch>,
    /// The hint for the model, sent with the prompt.
    pub hint: String,
    /// The warning for the user if the answer makes no such call.
    pub warning: String,
}

/// The value that one field of a call's input must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgMatch {
    /// The field, by any of its names.
    pub field: &'static [&'static str],
    pub value: String,
    /// Whether a call without the field matches too.
    pub is_default: bool,
}

impl ForcedCall {
    fn matches(&self, call: &ContentBlock) -> bool {
        let ContentBlock::ToolUse { name, input, .. } = call else { return false };
        let fits = |wanted: &ArgMatch| {
            let given = wanted.field.iter().find_map(|field| input.get(*field)?.as_str());
            given.map_or(wanted.is_default, |given| given == wanted.value)
        };
        canonical_name(name) == canonical_name(&self.tool) && self.input.as_ref().is_none_or(fits)
    }
}

impl From<JournalError> for RunError {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

/// Runs `work` until the time in its budget is over, then stops it. A run that is stopped when its
/// time is over ends for that reason, whoever stopped it.
pub(super) async fn run_within_limit(
    budget: &Budget,
    cancel: &CancellationToken,
    stop: &CancellationToken,
    work: impl Future<Output = RunEnd>,
) -> RunEnd {
    let mut work = pin!(work);
    let (end, overdue) = tokio::select! {
        biased;
        () = cancel.cancelled() => {
            // The parent's time may be over too: then it cancels this one at the same moment.
            let overdue = budget.time_up();
            (work.await, overdue)
        }
        limit = budget.timed_out() => {
            stop.cancel();
            (work.await, Some(limit))
        }
        end = &mut work => (end, None),
    };
    match (end, overdue) {
        (RunEnd::Cancelled { .. }, Some(limit)) => RunEnd::TimeLimit { limit },
        (end, _) => end,
    }
}
