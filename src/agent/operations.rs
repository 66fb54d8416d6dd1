//! Limits for the requests and tool calls of all agents of a session: how many run at the same time
//! (first come, first served), how long a call of any tool may take, and the threads for blocking
//! work.
//!
//! An agent that waits for its tools holds no place, and neither does a tool that only waits for
//! other work, so that agents below agents come to their end under any limit.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::tool::{BlockingPool, FileLock};

/// The places at work of one session. Clones share them.
#[derive(Clone, Debug)]
pub struct Operations {
    places: Arc<Semaphore>,
    call_limit: Option<Duration>,
    files: BlockingPool,
    file_lock: FileLock,
    git: BlockingPool,
}

/// One place, taken until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Place(#[expect(dead_code, reason = "it is held, not read")] OwnedSemaphorePermit);

impl Operations {
    /// So many places, at least one.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        let places = Semaphore::new(limit.clamp(1, Semaphore::MAX_PERMITS));
        let (files, git) = (BlockingPool::for_files(), BlockingPool::for_git());
        let file_lock = FileLock::default();
        Self { places: Arc::new(places), call_limit: None, files, file_lock, git }
    }

    /// The same, where no tool call may take longer than this.
    #[must_use]
    pub fn with_call_limit(self, call_limit: Option<Duration>) -> Self {
        Self { call_limit, ..self }
    }

    /// How long a tool call may take.
    #[must_use]
    pub fn call_limit(&self) -> Option<Duration> {
        self.call_limit
    }

    /// The threads on which tools work on files.
    #[must_use]
    pub fn files(&self) -> &BlockingPool {
        &self.files
    }

    /// The lock of the calls that change files.
    #[must_use]
    pub fn file_lock(&self) -> &FileLock {
        &self.file_lock
    }

    /// The threads that wait for git.
    #[must_use]
    pub fn git(&self) -> &BlockingPool {
        &self.git
    }

    /// Waits for a place. `None` when it was cancelled before there was one.
    pub async fn enter(&self, cancel: &CancellationToken) -> Option<Place> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            permit = self.places.clone().acquire_owned() => permit.ok().map(Place),
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
