//! A value that one side changes and the other waits on, without polling, from blocking and from async code.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::DEADLINE;

/// Shared, watched state. Clones see the same value.
#[derive(Debug)]
pub struct Watched<T>(Arc<Inner<T>>);

#[derive(Debug)]
struct Inner<T> {
    value: Mutex<T>,
    condvar: Condvar,
    version: watch::Sender<u64>,
}

/// The deadline passed.
#[derive(Debug)]
pub struct TooLate;

impl<T> Clone for Watched<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Watched<T> {
    pub fn new(value: T) -> Self {
        Self(Arc::new(Inner {
            value: Mutex::new(value),
            condvar: Condvar::new(),
            version: watch::Sender::new(0),
        }))
    }

    /// Looks at the value.
    pub fn read<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.lock())
    }

    /// Changes the value and wakes all who wait.
    pub fn update<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let result = change(&mut self.lock());
        self.0.condvar.notify_all();
        self.0.version.send_modify(|version| *version += 1);
        result
    }

    /// Waits until `look` finds what it looks for, but not for ever.
    pub async fn wait<R>(&self, look: impl FnMut(&T) -> Option<R>) -> Result<R, TooLate> {
        tokio::time::timeout(DEADLINE, self.wait_forever(look)).await.map_err(|_| TooLate)
    }

    /// Waits until `look` finds what it looks for.
    pub async fn wait_forever<R>(&self, mut look: impl FnMut(&T) -> Option<R>) -> R {
        let mut version = self.0.version.subscribe();
        loop {
            if let Some(found) = self.read(&mut look) {
                return found;
            }
            if version.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// The same for threads.
    pub fn wait_blocking<R>(&self, look: impl FnMut(&T) -> Option<R>) -> Result<R, TooLate> {
        self.wait_blocking_for(DEADLINE, look)
    }

    /// The same with a time of its own, where that nothing comes is what is looked for.
    pub fn wait_blocking_for<R>(
        &self,
        time: Duration,
        mut look: impl FnMut(&T) -> Option<R>,
    ) -> Result<R, TooLate> {
        let end = Instant::now() + time;
        let mut value = self.lock();
        loop {
            if let Some(found) = look(&value) {
                return Ok(found);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(TooLate);
            }
            let woken = self.0.condvar.wait_timeout(value, left);
            value = woken.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        self.0.value.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
