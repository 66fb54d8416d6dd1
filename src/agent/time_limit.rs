//! Time limits of calls: the wait for the lock on files, and the work. Errors say which of them ran
//! out.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::budget::Budget;
use crate::protocol::{Access, ResultBlock, clock};
use crate::tool::{
    FileGuard, FileLock, PreparedCall, SoftKind, ToolContext, ToolError, ToolOutcome,
};

/// The result for the model of a stopped call that has no result of its own.
const CANCELLED_MESSAGE: &str = "This call was cancelled.";

/// The time that one call may take, not counting the time for which its agent's clock is paused.
pub(super) struct TimeLimit<'a> {
    limit: Option<Duration>,
    budget: &'a Budget,
}

impl<'a> TimeLimit<'a> {
    /// Takes the shortest of these limits. Without any, a call may take as long as it wants.
    pub fn shortest(limits: [Option<Duration>; 2], budget: &'a Budget) -> Self {
        Self { limit: limits.into_iter().flatten().min(), budget }
    }

    /// Waits until the limit, counted from now, is over, and returns it; forever when there is
    /// none.
    async fn elapsed(&self) -> Duration {
        match self.limit {
            Some(limit) => {
                self.budget.sleep(limit).await;
                limit
            }
            None => std::future::pending().await,
        }
    }

    /// Waits until no other call of the session changes files.
    pub async fn lock(
        &self,
        lock: &FileLock,
        access: &Access,
        cancel: &CancellationToken,
    ) -> Result<FileGuard, ToolError> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(cancelled_error()),
            guard = lock.hold() => Ok(guard),
            limit = self.elapsed() => Err(ToolError::soft(SoftKind::Timeout, lock_timeout_text(limit, access))),
        }
    }

    /// Runs one call. A cancelled or overdue one may end by itself within its grace period, to
    /// report what it has done; then it is dropped.
    pub async fn run(
        &self,
        prepared: Box<dyn PreparedCall>,
        cx: ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let (cancel, reached, grace) = (cx.cancel.clone(), cx.overdue.clone(), prepared.grace());
        let mut call = prepared.run(cx);
        let overdue = tokio::select! {
            biased;
            result = &mut call => return result,
            () = cancel.cancelled() => None,
            limit = self.elapsed() => Some(*reached.get_or_init(|| limit)),
        };
        cancel.cancel();
        let result = match grace {
            Some(grace) => {
                tokio::time::timeout(grace, call).await.unwrap_or(Err(cancelled_error()))
            }
            None => call.await,
        };
        match overdue {
            Some(limit) => timeout_error(limit, result),
            None => result,
        }
    }
}

/// The error text for a call that did not get the lock in time.
fn lock_timeout_text(limit: Duration, access: &Access) -> String {
    let file = match access {
        Access::Write { paths } => paths.first(),
        _ => None,
    };
    let file = file.map_or_else(|| "files".to_owned(), |file| file.written.display().to_string());
    format!(
        "This call was not run: it waited {} s to change {file} while other calls were changing files. Repeat it \
         if you still need it.",
        limit.as_secs()
    )
}

/// Says that a call was stopped for being overdue. The tool only knows that it was stopped; what it
/// reports follows the reason.
fn timeout_error(
    limit: Duration,
    result: Result<ToolOutcome, ToolError>,
) -> Result<ToolOutcome, ToolError> {
    let why = format!("This call took longer than {} s and was stopped.", limit.as_secs());
    match result {
        Err(ToolError::Soft { kind: SoftKind::Cancelled, message, .. })
            if message != CANCELLED_MESSAGE =>
        {
            Err(ToolError::soft(SoftKind::Timeout, format!("{why}\n\n{message}")))
        }
        Err(ToolError::Soft { kind: SoftKind::Cancelled, .. }) => {
            Err(ToolError::soft(SoftKind::Timeout, why))
        }
        Ok(mut outcome) if outcome.is_error => {
            outcome.content.insert(0, ResultBlock::text(why));
            Ok(ToolOutcome { summary: SoftKind::Timeout.words().to_owned(), ..outcome })
        }
        result => result,
    }
}

/// The error of a call that was stopped and reports nothing itself.
pub(super) fn cancelled_error() -> ToolError {
    ToolError::soft(SoftKind::Cancelled, CANCELLED_MESSAGE)
}

/// Adds the time limit to the error of a call that was stopped because its agent's time was over.
pub(super) fn with_time_limit(error: ToolError, limit: Option<Duration>) -> ToolError {
    match (error, limit) {
        (ToolError::Soft { kind: SoftKind::Cancelled, message, .. }, Some(limit)) => {
            let why = format!("{message} The time limit of {} has passed.", clock(limit));
            ToolError::soft(SoftKind::Timeout, why)
        }
        (error, _) => error,
    }
}
