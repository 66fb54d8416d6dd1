//! How much of a session's work goes on at the same time: requests and tool calls of all agents, first come first served.
//!
//! An agent that waits for its tools holds no place, and neither does a tool that only waits for other work, so that
//! agents below agents come to their end under any limit.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// The places at work of one session. Clones share them.
#[derive(Clone, Debug)]
pub struct Operations(Arc<Semaphore>);

/// One place, taken until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Place(#[expect(dead_code, reason = "it is held, not read")] OwnedSemaphorePermit);

impl Operations {
    /// So many places, at least one.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(Semaphore::new(limit.clamp(1, Semaphore::MAX_PERMITS))))
    }

    /// Waits for a place. `None` when it was cancelled before there was one.
    pub async fn enter(&self, cancel: &CancellationToken) -> Option<Place> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            permit = self.0.clone().acquire_owned() => permit.ok().map(Place),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::poll;

    use super::*;

    #[tokio::test]
    async fn who_waits_longest_is_next_and_a_cancelled_one_holds_nobody_up() {
        let operations = Operations::new(1);
        let (go, stopped) = (CancellationToken::new(), CancellationToken::new());
        let first = operations.enter(&go).await;
        let mut second = Box::pin(operations.enter(&stopped));
        let mut third = Box::pin(operations.enter(&go));
        assert!(poll!(&mut second).is_pending() && poll!(&mut third).is_pending());
        stopped.cancel();
        assert!(second.await.is_none());
        assert!(poll!(&mut third).is_pending());
        drop(first);
        assert!(third.await.is_some());
    }
}
