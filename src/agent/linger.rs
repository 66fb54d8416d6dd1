//! What an agent does that has said its last word while work in the background will still report to it.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Agent, Run, Stop};
use crate::protocol::{ContentBlock, End, NoticeLevel, clock};

/// Resources that an agent releases while it only waits for background work, such as its slot among
/// the running agents.
#[async_trait]
pub trait Respite: Send + Sync {
    /// The wait begins.
    fn begin(&self);

    /// The wait is over: takes back what was given away. Ends at once when `cancel` fires.
    async fn end(&self, cancel: &CancellationToken);
}

impl Agent {
    /// Waits until something is there to read, or nothing will come any more. What is overdue is ended.
    pub(super) async fn linger(
        &self,
        blocks: &mut Vec<ContentBlock>,
        run: &Run<'_>,
    ) -> Result<(), Stop> {
        let Some(patience) = self.setup.patience else { return Ok(()) };
        if self.setup.inbox.announced() == 0 {
            // The last of it may have reported since the queue was read.
            self.check_background()?;
            self.read_queue(blocks, run).await;
            return Ok(());
        }
        let respite = self.setup.respite.as_deref();
        respite.inspect(|respite| respite.begin());
        let waited = self.wait_for_mail(patience, blocks, run).await;
        if let Some(respite) = respite {
            respite.end(run.cancel).await;
        }
        waited
    }

    async fn wait_for_mail(
        &self,
        patience: Duration,
        blocks: &mut Vec<ContentBlock>,
        run: &Run<'_>,
    ) -> Result<(), Stop> {
        let give_up = Instant::now() + patience;
        let mut overdue = false;
        while blocks.is_empty() && self.setup.inbox.announced() > 0 {
            tokio::select! {
                biased;
                () = run.cancel.cancelled() => {
                    return Err(Stop::End(End::Cancelled { before_start: false }));
                }
                () = self.setup.inbox.changed() => {}
                () = tokio::time::sleep_until(give_up), if !overdue => {
                    overdue = true;
                    self.end_announced(patience, run);
                }
            }
            self.check_background()?;
            // What was ended for being overdue has nothing to say that is worth another request.
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

    /// Ends the run when something in the background failed in a way that nobody can mend.
    pub(super) fn check_background(&self) -> Result<(), Stop> {
        match self.setup.inbox.take_failure() {
            Some((failure, message)) => Err(Stop::End(End::Failed { failure, message })),
            None => Ok(()),
        }
    }

    fn end_announced(&self, patience: Duration, run: &Run<'_>) {
        let count = self.setup.inbox.announced();
        let text =
            format!("{count} in the background still at work after {}: cancelled", clock(patience));
        run.events.notice(NoticeLevel::Warning, text);
        self.setup.inbox.cancel_announced();
    }
}
