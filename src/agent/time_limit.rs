//! How long a call may take: its wait for the lock on files, and its work. What stops one says which it was.

use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::budget::Budget;
use crate::protocol::{Access, ResultBlock, clock};
use crate::tool::{FileGuard, FileLock, SoftKind, Tool, ToolContext, ToolError, ToolOutcome};

/// The result that the model gets for a stopped call that has no result of its own.
const CANCELLED: &str = "This call was cancelled.";

/// The time that one call may take, without the time for which its agent's clock stands still.
pub(super) struct TimeLimit<'a> {
    limit: Option<Duration>,
    budget: &'a Budget,
}

impl<'a> TimeLimit<'a> {
    /// The shortest of these limits. Without any, a call may take as long as it wants.
    pub fn shortest(limits: [Option<Duration>; 2], budget: &'a Budget) -> Self {
        Self { limit: limits.into_iter().flatten().min(), budget }
    }

    /// Waits, from now on, until the limit is over, and returns it; for ever when there is none.
    async fn over(&self) -> Duration {
        match self.limit {
            Some(limit) => {
                self.budget.passes(limit).await;
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
            () = cancel.cancelled() => Err(cancelled()),
            guard = lock.hold() => Ok(guard),
            limit = self.over() => Err(ToolError::soft(SoftKind::Timeout, waited(limit, access))),
        }
    }

    /// Runs one tool. A cancelled or overdue tool may end by itself within a grace, so that it can
    /// tell what it had done; then it is dropped.
    pub async fn run(
        &self,
        tool: &dyn Tool,
        input: Value,
        cx: ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let (cancel, reached) = (cx.cancel.clone(), cx.overdue.clone());
        let mut call = tool.call(input, cx);
        let overdue = tokio::select! {
            biased;
            result = &mut call => return result,
            () = cancel.cancelled() => None,
            limit = self.over() => Some(*reached.get_or_init(|| limit)),
        };
        cancel.cancel();
        let result = match tool.grace() {
            Some(grace) => tokio::time::timeout(grace, call).await.unwrap_or(Err(cancelled())),
            None => call.await,
        };
        match overdue {
            Some(limit) => stopped_after(limit, result),
            None => result,
        }
    }
}

/// The text for a call that did not get the lock in its time.
fn waited(limit: Duration, access: &Access) -> String {
    let file = match access {
        Access::Write { paths } => paths.first(),
        _ => None,
    };
    let file = file.map_or_else(|| "files".to_owned(), |file| file.written.display().to_string());
    format!(
        "This call waited {} s to change {file}, because other calls were changing files, and was not run. Make it \
         again if it is still wanted.",
        limit.as_secs()
    )
}

/// Says that a call was stopped for being overdue. The tool only knows that it was stopped; what it
/// had done until then follows the reason.
fn stopped_after(
    limit: Duration,
    result: Result<ToolOutcome, ToolError>,
) -> Result<ToolOutcome, ToolError> {
    let why = format!("This call took longer than {} s and was stopped.", limit.as_secs());
    match result {
        Err(ToolError::Soft { kind: SoftKind::Cancelled, message, .. }) if message != CANCELLED => {
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

/// The error of a call that was stopped and says nothing itself.
pub(super) fn cancelled() -> ToolError {
    ToolError::soft(SoftKind::Cancelled, CANCELLED)
}

/// Gives a call that was stopped because its agent's time was over that reason.
pub(super) fn overdue(error: ToolError, limit: Option<Duration>) -> ToolError {
    match (error, limit) {
        (ToolError::Soft { kind: SoftKind::Cancelled, message, .. }, Some(limit)) => {
            let why = format!("{message} The time limit of {} is over.", clock(limit));
            ToolError::soft(SoftKind::Timeout, why)
        }
        (error, _) => error,
    }
}
