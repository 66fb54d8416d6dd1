//! One run of an agent: what it has come to so far, and why it ends.

use std::collections::HashMap;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;

use super::Forced;
use crate::budget::{Budget, UsedUp};
use crate::protocol::{ApiError, End, EventSink, JournalError, Target, Usage};

/// What one run has come to so far.
pub(super) struct Run<'a> {
    pub(super) events: &'a EventSink,
    pub(super) cancel: &'a CancellationToken,
    pub(super) started: Instant,
    /// This run's account, below the agent's.
    pub(super) budget: Budget,
    /// The number of the last turn that it may take.
    pub(super) last_turn: Option<u32>,
    pub(super) turns: u32,
    pub(super) tool_uses: u32,
    pub(super) usage: Usage,
    /// The text of the latest answer, whole or not.
    pub(super) text: String,
    /// A summary was asked for, and there was no answer since that left room.
    pub(super) compacted: bool,
    /// The call that its first answer is to make, until that has come.
    pub(super) forced: Option<Forced>,
    /// How often a hook has made it go on at its end.
    pub(super) held_back: u32,
    /// Why a hook has ended it.
    pub(super) stopped: OnceLock<String>,
    /// The provider's refusal that has ended it.
    pub(super) api_error: Option<ApiError>,
    pub(super) asked_files: AskedFiles,
}

impl<'a> Run<'a> {
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
            forced: None,
            held_back: 0,
            stopped: OnceLock::new(),
            api_error: None,
            asked_files: AskedFiles::default(),
        }
    }
}

/// The files that the user was asked about, each with a lock for the calls that would change it.
#[derive(Default)]
pub(super) struct AskedFiles(Mutex<HashMap<PathBuf, Arc<AsyncMutex<()>>>>);

impl AskedFiles {
    /// Waits until each call that was asked about this file before has ended.
    pub(super) async fn hold(&self, file: &Target) -> OwnedMutexGuard<()> {
        self.lock_of(file).lock_owned().await
    }

    fn lock_of(&self, file: &Target) -> Arc<AsyncMutex<()>> {
        let path = file.resolved.as_ref().unwrap_or(&file.written).clone();
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.entry(path).or_default().clone()
    }
}

/// Why a run ends before the model says so.
pub(super) enum Stop {
    End(End),
    /// The provider refused a request for good.
    Refused(End, ApiError),
    Disk(JournalError),
}

impl Run<'_> {
    pub(super) fn is_at_last_turn(&self) -> bool {
        self.last_turn.is_some_and(|last| self.turns + 1 >= last)
    }

    /// Whether the main agent's next turn is its first and its last: nothing was done yet that it
    /// could sum up, so its calls run, and the limit ends the run behind them.
    pub(super) fn is_at_only_turn(&self) -> bool {
        self.turns == 0 && self.is_at_last_turn() && self.events.path().is_root()
    }

    /// How a run ends whose last turn was for its summary. One whose only turn this was, and that
    /// was answered, was not cut short by a limit; any other counts as cut short, because nobody
    /// knows what it still wanted to do.
    pub(super) fn end_of_last_turn(&self, calls_spent: Option<UsedUp>, answered: bool) -> End {
        if self.turns == 1 && answered {
            return if self.text.is_empty() { End::Empty } else { End::Completed };
        }
        match (self.last_turn, calls_spent) {
            (Some(limit), _) if self.turns >= limit => End::MaxTurns { limit },
            (_, Some(UsedUp { what })) => End::Budget { what },
            (_, None) => End::MaxTurns { limit: self.turns },
        }
    }
}

impl From<JournalError> for Stop {
    fn from(error: JournalError) -> Self {
        Self::Disk(error)
    }
}

/// Lets a run take as long as its budget allows, then stops it; a run that is stopped when its time
/// is over ends for that reason, whoever stopped it.
pub(super) async fn within_time(
    budget: &Budget,
    cancel: &CancellationToken,
    stop: &CancellationToken,
    work: impl Future<Output = End>,
) -> End {
    let mut work = pin!(work);
    let (end, overdue) = tokio::select! {
        biased;
        () = cancel.cancelled() => {
            // The parent's time may be over as well: then it cancels this one in the same moment.
            let overdue = budget.time_up();
            (work.await, overdue)
        }
        limit = budget.out_of_time() => {
            stop.cancel();
            (work.await, Some(limit))
        }
        end = &mut work => (end, None),
    };
    match (end, overdue) {
        (End::Cancelled { .. }, Some(limit)) => End::TimeLimit { limit },
        (end, _) => end,
    }
}
