//! Limits for the requests and tool calls of all agents of a session: how many run at the same time
//! (first come, first served), how long a tool call may take, and the threads for blocking work.
//!
//! An agent that waits for its tools holds no permit, and neither does a tool that only waits for
//! other work, so nested agents finish under any limit.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::tool::{BlockingPools, FileLock};

/// While agents end together, permits come back in pauses shorter than this.
const ENDING_PAUSE: Duration = Duration::from_millis(5);

/// The concurrency limits of one session. Clones share them.
#[derive(Clone, Debug)]
pub struct ConcurrencyLimit {
    permits: Arc<Semaphore>,
    call_limit: Option<Duration>,
    file_lock: FileLock,
    pools: BlockingPools,
}

/// Permission to run one request or call, held until dropped.
#[derive(Debug)]
pub struct Permit(#[expect(dead_code, reason = "it is held, not read")] OwnedSemaphorePermit);

impl ConcurrencyLimit {
    /// Allows `limit` operations at a time, at least one.
    pub fn new(limit: usize, pools: BlockingPools) -> Self {
        let permits = Semaphore::new(limit.clamp(1, Semaphore::MAX_PERMITS));
        let file_lock = FileLock::default();
        Self { permits: Arc::new(permits), call_limit: None, file_lock, pools }
    }

    /// Limits how long a tool call may take.
    pub fn with_call_limit(self, call_limit: Option<Duration>) -> Self {
        Self { call_limit, ..self }
    }

    /// The time limit of a tool call.
    pub fn call_limit(&self) -> Option<Duration> {
        self.call_limit
    }

    /// The threads for blocking work.
    pub fn pools(&self) -> &BlockingPools {
        &self.pools
    }

    /// The lock of the calls that change files.
    pub fn file_lock(&self) -> &FileLock {
        &self.file_lock
    }

    /// Waits for a permit. `None` when cancelled first.
    pub async fn acquire(&self, cancel: &CancellationToken) -> Option<Permit> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            permit = self.permits.clone().acquire_owned() => permit.ok().map(Permit),
        }
    }

    /// Waits while other agents give permits back.
    pub async fn wait_for_ending(&self) {
        let mut free = self.permits.available_permits();
        loop {
            tokio::time::sleep(ENDING_PAUSE).await;
            let now = self.permits.available_permits();
            if now <= free {
                return;
            }
            free = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::poll;

    use super::*;

    #[tokio::test]
    async fn agents_that_end_together_all_give_their_permits_back_first() {
        let operations = ConcurrencyLimit::new(1_000, BlockingPools::default());
        let go = CancellationToken::new();
        let ended: Vec<_> = (0..1_000)
            .map(|_| {
                let (operations, go) = (operations.clone(), go.clone());
                tokio::spawn(async move {
                    let permit = operations.acquire(&CancellationToken::new()).await;
                    go.cancelled().await;
                    drop(permit);
                    operations.wait_for_ending().await;
                    operations.permits.available_permits()
                })
            })
            .collect();
        while operations.permits.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        go.cancel();
        for free in ended {
            assert_eq!(free.await.unwrap(), 1_000);
        }
    }

    #[tokio::test]
    async fn who_waits_longest_is_next_and_a_cancelled_one_holds_nobody_up() {
        let operations = ConcurrencyLimit::new(1, BlockingPools::default());
        let (go, stopped) = (CancellationToken::new(), CancellationToken::new());
        let first = operations.acquire(&go).await;
        let mut second = Box::pin(operations.acquire(&stopped));
        let mut third = Box::pin(operations.acquire(&go));
        assert!(poll!(&mut second).is_pending() && poll!(&mut third).is_pending());
        stopped.cancel();
        assert!(second.await.is_none());
        assert!(poll!(&mut third).is_pending());
        drop(first);
        assert!(third.await.is_some());
    }
}
