//! What an agent can wait for besides its model, its tools and other agents.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::event::EventKind;
use super::hook::HookEvent;
use super::sink::EventSink;

/// A wait that is shorter than this is not worth a word.
const WORD_AFTER: Duration = Duration::from_millis(300);

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "wait", rename_all = "snake_case")]
pub enum Wait {
    /// Hooks that have a say in what comes next.
    Hooks { event: HookEvent },
    /// MCP servers that start, by name.
    Servers { names: Vec<String> },
    /// Requests of other agents, which have reserved the money that its own needs.
    Budget,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hooks { event } => write!(f, "waits for hooks on {event}"),
            Self::Servers { names } => write!(f, "waits for MCP servers: {}", names.join(", ")),
            Self::Budget => {
                f.write_str("waiting for budget: other requests have reserved the rest")
            }
        }
    }
}

/// Does the waiting, and tells of it if it is more than a moment: of its beginning and, however it
/// ends, of its end.
pub async fn tell_wait<T>(
    events: &EventSink,
    what: impl FnOnce() -> Wait,
    waiting: impl Future<Output = T>,
) -> T {
    let mut waiting = std::pin::pin!(waiting);
    tokio::select! {
        biased;
        done = &mut waiting => return done,
        () = tokio::time::sleep(WORD_AFTER) => {}
    }
    let _told = Told::of(what(), events);
    waiting.await
}

/// A wait that was told of. Dropping it tells of its end.
struct Told<'a> {
    what: Wait,
    events: &'a EventSink,
}

impl<'a> Told<'a> {
    fn of(what: Wait, events: &'a EventSink) -> Self {
        events.emit(EventKind::WaitBegan(what.clone()));
        Self { what, events }
    }
}

impl Drop for Told<'_> {
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
        let queue = EventQueue::unhurried();
        let events = queue.sink();
        let what = || Wait::Servers { names: vec!["slow".to_owned()] };
        let next = async || {
            let mut batch = Vec::new();
            queue.drain(&mut batch, 1).await;
            batch.pop().unwrap().kind
        };
        assert_eq!(tell_wait(&events, what, async { 7 }).await, 7);
        let (done, waiting) = tokio::sync::oneshot::channel();
        let told = async {
            assert_eq!(next().await, EventKind::WaitBegan(what()));
            done.send(8).unwrap();
        };
        let (answer, ()) = tokio::join!(tell_wait(&events, what, waiting), told);
        assert_eq!(answer, Ok(8));
        assert_eq!(next().await, EventKind::WaitEnded(what()));
    }
}
