//! The inbox of an agent: prompts of the user, and messages and results of other agents. Anyone
//! adds to it; the agent takes from it between two steps.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::protocol::{Failure, PromptId, PromptTiming, QueuedPrompt, Sender};

/// One agent's queue. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Inbox(Arc<InboxShared>);

#[derive(Debug, Default)]
struct InboxShared {
    state: Mutex<InboxState>,
    /// Wakes the task that waits for a change.
    changed: Notify,
}

#[derive(Debug, Default)]
struct InboxState {
    waiting: VecDeque<QueuedPrompt>,
    /// Background work that will report here, with the token that ends it.
    announced: BTreeMap<u64, CancellationToken>,
    next: u64,
    /// A background error that also ends the run of this agent.
    failure: Option<(Failure, String)>,
}

impl Inbox {
    /// Whether both are the same queue.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Adds a prompt to the end.
    pub fn push(&self, prompt: QueuedPrompt) {
        self.push_with(prompt, || ());
    }

    /// Adds a prompt to the end and calls `notify` in one step: whoever it notifies can rely on
    /// the agent finding the prompt. `notify` must not touch this queue.
    pub fn push_with(&self, prompt: QueuedPrompt, notify: impl FnOnce()) {
        let mut state = self.lock();
        notify();
        state.waiting.push_back(prompt);
        drop(state);
        self.0.changed.notify_one();
    }

    /// Whether nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.lock().waiting.is_empty()
    }

    /// Removes one prompt that was not read yet.
    pub fn take_back(&self, id: PromptId) -> Option<QueuedPrompt> {
        let mut state = self.lock();
        let index = state.waiting.iter().position(|prompt| prompt.id == id)?;
        state.waiting.remove(index)
    }

    /// Changes when a prompt is read.
    pub fn requeue(&self, id: PromptId, when: PromptTiming) {
        if let Some(prompt) = self.lock().waiting.iter_mut().find(|prompt| prompt.id == id) {
            prompt.when = when;
        }
    }

    /// Takes all prompts that the agent reads at its next step, oldest first.
    pub fn take_next_step(&self) -> Vec<QueuedPrompt> {
        let mut state = self.lock();
        let (now, later) =
            state.waiting.drain(..).partition(|prompt| prompt.when == PromptTiming::NextStep);
        state.waiting = later;
        now.into()
    }

    /// Takes the oldest prompt, whenever it is due.
    pub fn take_first(&self) -> Option<QueuedPrompt> {
        self.lock().waiting.pop_front()
    }

    /// Takes the oldest prompt for which an idle agent starts to work.
    pub fn take_first_waking(&self) -> Option<QueuedPrompt> {
        let waiting = &mut self.lock().waiting;
        let index = waiting.iter().position(|prompt| prompt.wakes)?;
        waiting.remove(index)
    }

    /// Takes the user's oldest prompt.
    pub fn take_first_typed(&self) -> Option<QueuedPrompt> {
        let waiting = &mut self.lock().waiting;
        let index = waiting.iter().position(|prompt| prompt.from == Sender::Person)?;
        waiting.remove(index)
    }

    /// Takes the user's prompts, oldest first. Results of other agents stay: they are read with the
    /// next prompt.
    pub fn take_typed(&self) -> Vec<QueuedPrompt> {
        let mut state = self.lock();
        let (typed, others) =
            state.waiting.drain(..).partition(|prompt| prompt.from == Sender::Person);
        state.waiting = others;
        typed.into()
    }

    /// Registers background work that will report here. It counts until the announcement is
    /// dropped; `cancel` ends it.
    pub fn announce(&self, cancel: CancellationToken) -> Announcement {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.announced.insert(number, cancel);
        Announcement { inbox: self.clone(), number }
    }

    /// The number of announced jobs that have not reported yet.
    pub fn announced(&self) -> usize {
        self.lock().announced.len()
    }

    /// Cancels all announced work.
    pub fn cancel_announced(&self) {
        let tokens: Vec<_> = self.lock().announced.values().cloned().collect();
        tokens.iter().for_each(CancellationToken::cancel);
    }

    /// Records a background failure that ends the agent's run at its next safe point.
    pub fn fail(&self, failure: Failure, message: String) {
        self.lock().failure.get_or_insert((failure, message));
        self.0.changed.notify_one();
    }

    /// Takes the background failure that ends this agent's run.
    pub fn take_failure(&self) -> Option<(Failure, String)> {
        self.lock().failure.take()
    }

    /// Waits until something was added since the last wait, or announced work has ended.
    /// Cancel-safe.
    pub async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// Clears the wake-up for what was added: it stays queued, and wakes nothing any more.
    pub fn clear_wakeup(&self) {
        use futures_util::FutureExt as _;
        let _ = self.0.changed.notified().now_or_never();
    }

    fn lock(&self) -> MutexGuard<'_, InboxState> {
        self.0.state.lock()
    }
}

/// Background work that has not reported yet.
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
        QueuedPrompt { from, ..QueuedPrompt::typed(PromptId(id), "text", PromptTiming::NextStep) }
    }

    #[test]
    fn a_stop_gives_back_what_was_typed_and_keeps_results() {
        let inbox = Inbox::default();
        inbox.push(prompt(1, Sender::Person));
        inbox.push(prompt(2, Sender::Agent { name: "explore-1".to_owned() }));
        assert_eq!(inbox.take_typed().len(), 1);
        assert_eq!(inbox.take_next_step().len(), 1);
    }

    #[test]
    fn what_wakes_nothing_is_read_with_what_does() {
        let inbox = Inbox::default();
        let from = Sender::Agent { name: "explore-1".to_owned() };
        inbox.push(QueuedPrompt { wakes: false, ..prompt(1, from) });
        assert_eq!(inbox.take_first_waking(), None);
        inbox.push(prompt(2, Sender::Person));
        assert_eq!(inbox.take_first_waking().unwrap().id, PromptId(2));
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
