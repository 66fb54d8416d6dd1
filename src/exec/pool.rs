//! A bounded share of the runtime's blocking threads, for work that may take long.
//!
//! The runtime starts a limited number of blocking threads, and the journal, name resolution and
//! much else needs one for a moment. Work that can hold a thread for seconds, such as a search or a
//! checkout, runs in a pool: [`SHORT_THREADS`] threads always stay free for the rest.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// Blocking threads that no pool takes.
const SHORT_THREADS: usize = 16;
/// Blocking threads for tools that read, search and write files.
const FILE_THREADS: usize = 32;
/// Blocking threads that run git.
const GIT_THREADS: usize = 8;

/// Number of blocking threads that a runtime with one [`BlockingPools`] needs.
pub const BLOCKING_THREADS: usize = SHORT_THREADS + FILE_THREADS + GIT_THREADS;

/// The pools of a program, which has one of each kind. Clones share them.
#[derive(Clone, Debug)]
pub struct BlockingPools {
    /// For tools that read, search and write files.
    pub files: BlockingPool,
    /// For git, in worktrees of agents and for the screen.
    pub git: BlockingPool,
}

impl Default for BlockingPools {
    fn default() -> Self {
        Self { files: BlockingPool::new(FILE_THREADS), git: BlockingPool::new(GIT_THREADS) }
    }
}

/// A number of blocking threads. Clones share them.
#[derive(Clone, Debug)]
pub struct BlockingPool {
    free: Arc<Semaphore>,
}

/// The error when work has no result: it panicked, or the runtime is shutting down.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct TaskLost(#[from] tokio::task::JoinError);

impl BlockingPool {
    fn new(threads: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(threads)) }
    }

    /// Runs `work` as soon as a thread is free. Dropping the future before that drops `work`; work
    /// that has begun runs to its end and holds its thread until then.
    ///
    /// # Errors
    ///
    /// When `work` panics, and when the runtime is shutting down.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, TaskLost> {
        // The semaphore is never closed: without a permit the work would still run.
        let permit = self.free.clone().acquire_owned().await.ok();
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work()
        });
        Ok(done.await?)
    }
}

impl TaskLost {
    /// Whether the work panicked.
    pub fn is_panic(&self) -> bool {
        self.0.is_panic()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures_util::poll;

    use super::*;

    #[test]
    fn a_full_pool_leaves_threads_for_the_rest() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(2)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let pool = BlockingPool::new(1);
            let (go, held) = mpsc::sync_channel::<()>(1);
            let mut first = Box::pin(pool.run(move || held.recv().unwrap()));
            let mut second = Box::pin(pool.run(|| 2));
            assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
            // The other thread of the runtime is free.
            assert_eq!(tokio::task::spawn_blocking(|| 3).await.unwrap(), 3);
            drop(first);
            assert!(poll!(&mut second).is_pending(), "the work holds its thread, not its caller");
            go.send(()).unwrap();
            assert_eq!(second.await.unwrap(), 2);
        });
    }
}
