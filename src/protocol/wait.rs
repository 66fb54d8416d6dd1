//! Reports waits of an agent other than for its model, its tools and other agents.

use std::time::Duration;

use super::event::{EventKind, WaitKind};
use super::sink::EventSink;

/// Shorter waits are not reported.
const REPORT_DELAY: Duration = Duration::from_millis(300);

/// Awaits `waiting`. If that takes more than a moment, reports the beginning of the wait and,
/// however it ends, the end.
pub async fn report_wait<T>(
    events: &EventSink,
    what: impl FnOnce() -> WaitKind,
    waiting: impl Future<Output = T>,
) -> T {
    let mut waiting = std::pin::pin!(waiting);
    tokio::select! {
        biased;
        done = &mut waiting => return done,
        () = tokio::time::sleep(REPORT_DELAY) => {}
    }
    let _told = WaitGuard::start(what(), events);
    waiting.await
}

/// A reported wait. Dropping it reports the end.
struct WaitGuard<'a> {
    what: WaitKind,
    events: &'a EventSink,
}

impl<'a> WaitGuard<'a> {
    fn start(what: WaitKind, events: &'a EventSink) -> Self {
        events.emit(EventKind::WaitBegan(what.clone()));
        Self { what, events }
    }
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        self.events.emit(EventKind::WaitEnded(self.what.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::EventQueue;

    #[tokio::test]
    async fn a_moment_is_not_told_and_a_longer_wait_is_with_its_end() {
        let queue = EventQueue::unbounded();
        let events = queue.sink();
        let what = || WaitKind::Servers { names: vec!["slow".to_owned()] };
        let next = async || {
            let mut batch = Vec::new();
            queue.drain(&mut batch, 1).await;
            batch.pop().unwrap().kind
        };
        assert_eq!(report_wait(&events, what, async { 7 }).await, 7);
        let (done, waiting) = tokio::sync::oneshot::channel();
        let told = async {
            assert_eq!(next().await, EventKind::WaitBegan(what()));
            done.send(8).unwrap();
        };
        let (answer, ()) = tokio::join!(report_wait(&events, what, waiting), told);
        assert_eq!(answer, Ok(8));
        assert_eq!(next().await, EventKind::WaitEnded(what()));
    }
}
