//! The inbox of an agent: prompts of the user, and messages and results of other agents. Anyone adds
//! to it; the agent takes from it between two steps.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::protocol::{Failure, PromptId, QueuedPrompt, Sender, When};

/// One agent's queue. Clones are the same queue.
#[derive(Clone, Debug, Default)]
pub struct Inbox(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Wakes the one who waits for something to happen here.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<QueuedPrompt>,
    /// Work in the background that will report here, with what ends it.
    announced: BTreeMap<u64, CancellationToken>,
    next: u64,
    /// An error in the background that ends the run of this agent too.
    failure: Option<(Failure, String)>,
}

impl Inbox {
    /// Whether both are the same queue.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Puts a prompt at the end.
    pub fn push(&self, prompt: QueuedPrompt) {
        self.push_told(prompt, || ());
    }

    /// Puts a prompt at the end and tells of what it is about, in one step: by the time anyone has
    /// been told, the agent's next look here finds the prompt. `tell` must not touch this queue.
    pub fn push_told(&self, prompt: QueuedPrompt, tell: impl FnOnce()) {
        let mut state = self.lock();
        tell();
        state.waiting.push_back(prompt);
        drop(state);
        self.0.changed.notify_one();
    }

    /// Whether nothing waits to be read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().waiting.is_empty()
    }

    /// Takes one prompt back, if it was not read yet.
    #[must_use]
    pub fn take_back(&self, id: PromptId) -> Option<QueuedPrompt> {
        let mut state = self.lock();
        let place = state.waiting.iter().position(|prompt| prompt.id == id)?;
        state.waiting.remove(place)
    }

    /// Changes when a prompt is read.
    pub fn requeue(&self, id: PromptId, when: When) {
        if let Some(prompt) = self.lock().waiting.iter_mut().find(|prompt| prompt.id == id) {
            prompt.when = when;
        }
    }

    /// Takes all prompts that the agent reads at its next step, oldest first.
    #[must_use]
    pub fn take_next_step(&self) -> Vec<QueuedPrompt> {
        let mut state = self.lock();
        let (now, later) =
            state.waiting.drain(..).partition(|prompt| prompt.when == When::NextStep);
        state.waiting = later;
        now.into()
    }

    /// Takes the oldest prompt, whenever it was meant to be read.
    #[must_use]
    pub fn take_first(&self) -> Option<QueuedPrompt> {
        self.lock().waiting.pop_front()
    }

    /// Takes the oldest prompt that a person has sent.
    #[must_use]
    pub fn take_first_typed(&self) -> Option<QueuedPrompt> {
        let waiting = &mut self.lock().waiting;
        let place = waiting.iter().position(|prompt| prompt.from == Sender::Person)?;
        waiting.remove(place)
    }

    /// Takes what a person has sent, oldest first. Results of other agents stay: they are read with
    /// the next prompt.
    #[must_use]
    pub fn take_typed(&self) -> Vec<QueuedPrompt> {
        let mut state = self.lock();
        let (typed, others) =
            state.waiting.drain(..).partition(|prompt| prompt.from == Sender::Person);
        state.waiting = others;
        typed.into()
    }

    /// Says that work has begun that will report here. It counts until the announcement is dropped;
    /// `cancel` ends it.
    #[must_use]
    pub fn announce(&self, cancel: CancellationToken) -> Announcement {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.announced.insert(number, cancel);
        Announcement { inbox: self.clone(), number }
    }

    /// How much announced work has not reported yet.
    #[must_use]
    pub fn announced(&self) -> usize {
        self.lock().announced.len()
    }

    /// Ends all announced work.
    pub fn cancel_announced(&self) {
        let tokens: Vec<_> = self.lock().announced.values().cloned().collect();
        tokens.iter().for_each(CancellationToken::cancel);
    }

    /// Tells the agent that something failed in the background which ends its run too: at its next
    /// safe point.
    pub fn fail(&self, failure: Failure, message: String) {
        self.lock().failure.get_or_insert((failure, message));
        self.0.changed.notify_one();
    }

    /// The failure in the background that ends this agent's run; only once.
    #[must_use]
    pub fn take_failure(&self) -> Option<(Failure, String)> {
        self.lock().failure.take()
    }

    /// Waits until something has been put in since the last wait, or announced work has ended. Safe to drop.
    pub async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// Forgets that something was put in: it stays, and wakes nobody any more.
    pub fn hush(&self) {
        use futures_util::FutureExt as _;
        let _ = self.0.changed.notified().now_or_never();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Work in the background that is still going on.
#[derive(Debug)]
pub struct Announcement {
    inbox: Inbox,
    number: u64,
}

impl Drop for Announcement {
    fn drop(&mut self) {
        self.inbox.lock().announced.remove(&self.number);
        self.inbox.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(id: u64, from: Sender) -> QueuedPrompt {
        QueuedPrompt { from, ..QueuedPrompt::typed(PromptId(id), "text", When::NextStep) }
    }

    #[test]
    fn a_stop_gives_back_what_was_typed_and_keeps_results() {
        let inbox = Inbox::default();
        inbox.push(prompt(1, Sender::Person));
        inbox.push(prompt(2, Sender::Agent { name: "explore-1".to_owned() }));
        assert_eq!(inbox.take_typed().len(), 1);
        assert_eq!(inbox.take_next_step().len(), 1);
    }

    #[tokio::test]
    async fn a_wait_sees_what_came_before_it_and_the_end_of_announced_work() {
        let inbox = Inbox::default();
        inbox.push(prompt(1, Sender::Person));
        inbox.changed().await;
        let announcement = inbox.announce(CancellationToken::new());
        assert_eq!(inbox.announced(), 1);
        drop(announcement);
        inbox.changed().await;
        assert_eq!(inbox.announced(), 0);
    }
}
