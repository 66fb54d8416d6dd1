//! The wait of an agent that is done for background work that will still report to it.

use std::time::Duration;

use tokio::time::Instant;

use super::run::{AgentRun, RunError};
use super::state::Agent;
use crate::protocol::{ContentBlock, NoticeLevel, RunEnd, clock};

impl Agent {
    /// Waits until there is something to read, or nothing more will come. Overdue work is
    /// cancelled.
    pub(super) async fn wait_for_background(
        &self,
        blocks: &mut Vec<ContentBlock>,
        run: &AgentRun<'_>,
    ) -> Result<(), RunError> {
        let Some(limit) = self.setup.background_wait else { return Ok(()) };
        if self.setup.inbox.announced() == 0 {
            // The last of it may have reported since the queue was read.
            self.check_background()?;
            self.read_queue(blocks, run).await;
            return Ok(());
        }
        let slot = self.setup.slot.as_deref();
        slot.inspect(|slot| slot.release());
        let waited = self.wait_for_messages(limit, blocks, run).await;
        if let Some(slot) = slot {
            slot.reacquire(run.cancel).await;
        }
        waited
    }

    async fn wait_for_messages(
        &self,
        limit: Duration,
        blocks: &mut Vec<ContentBlock>,
        run: &AgentRun<'_>,
    ) -> Result<(), RunError> {
        let deadline = Instant::now() + limit;
        let mut overdue = false;
        while blocks.is_empty() && self.setup.inbox.announced() > 0 {
            tokio::select! {
                biased;
                () = run.cancel.cancelled() => {
                    return Err(RunError::End(RunEnd::Cancelled { before_start: false }));
                }
                () = self.setup.inbox.changed() => {}
                () = tokio::time::sleep_until(deadline), if !overdue => {
                    overdue = true;
                    self.end_announced(limit, run);
                }
            }
            self.check_background()?;
            // Work cancelled for being overdue has nothing to say that is worth another request.
            if overdue {
                continue;
            }
            self.read_queue(blocks, run).await;
        }
        if !overdue {
            self.read_queue(blocks, run).await;
        }
        Ok(())
    }

    /// Ends the run if background work failed with an error that a retry cannot fix.
    pub(super) fn check_background(&self) -> Result<(), RunError> {
        match self.setup.inbox.take_failure() {
            Some((failure, message)) => Err(RunError::End(RunEnd::Failed { failure, message })),
            None => Ok(()),
        }
    }

    fn end_announced(&self, limit: Duration, run: &AgentRun<'_>) {
        let count = self.setup.inbox.announced();
        let text =
            format!("{count} still running in the background after {}: cancelled", clock(limit));
        run.events.notice(NoticeLevel::Warning, text);
        self.setup.inbox.cancel_announced();
    }
}
