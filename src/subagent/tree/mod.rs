//! The one owner of every sub-agent's life: who is queued, who runs, how each ended, who waits for
//! it and who is told.
//!
//! An agent runs as a task of its own, so that it can go on when the call that started it does not
//! wait any more. Its [`Membership`] is its place in here. Whoever wants its end watches for it,
//! and cannot miss it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agent::Inbox;
use crate::protocol::{AgentId, AgentPath, End, EventSink, Outcome};
use crate::tool::Shells;

mod entry;
mod jobs;
mod member;
mod messages;
mod rest;
mod slots;
mod state;
#[cfg(test)]
mod tests;

pub use entry::{Counts, Ended, Listed, Phase, Status};
pub use member::{Ending, Joining, Membership};
pub use messages::{Recipient, Undelivered};
pub use slots::{Lender, Lent, OverLimit};

use state::State;

/// How many sub-agents may run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// In the whole tree.
    pub concurrent: usize,
    /// Of one parent.
    pub children: usize,
    /// Of one parent, over its whole life; `None` is any number.
    pub children_ever: Option<usize>,
}

/// All sub-agents of a session, and as many of the ended ones as are kept. Clones are the same tree.
#[derive(Clone, Debug)]
pub struct AgentTree(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    tasks: TaskTracker,
    /// Commands in the background.
    shells: Shells,
}

/// What became of a wish to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled {
    /// What it was doing before.
    pub previous: Status,
    /// Whether there was something to cancel.
    pub success: bool,
}

impl AgentTree {
    /// A tree without agents.
    #[must_use]
    pub fn new(slots: Slots) -> Self {
        let state = Mutex::new(State::new(slots));
        Self(Arc::new(Shared { state, tasks: TaskTracker::new(), shells: Shells::default() }))
    }

    /// A name for the next agent of a definition: `explore-1`, `explore-2`.
    #[must_use]
    pub fn name(&self, definition: &str) -> String {
        self.lock().name(definition)
    }

    /// Takes an agent in. It queues for a slot; one that may not queue gets it now or is refused.
    ///
    /// # Errors
    /// When it may not queue and a limit is reached.
    pub fn join(&self, joining: Joining) -> Result<Membership, OverLimit> {
        self.lock().join(self, joining)
    }

    /// Takes in agents of an earlier process that have ended, so that they can be asked about and
    /// resumed. A message waits in main's queue like that of any other end, until main has read of
    /// it in one way or another.
    pub fn restore(&self, ended: impl IntoIterator<Item = (EventSink, Ended, Option<String>)>) {
        let mut state = self.lock();
        for (events, ended, message) in ended {
            state.restore(&events, ended, message);
        }
    }

    /// Puts the message of an agent's end into main's queue. The agent itself is not known here, but
    /// no other agent of its definition gets its name.
    pub fn tell_main(&self, definition: &str, name: &str, id: AgentId, message: String) {
        let mut state = self.lock();
        state.count_name(definition, name);
        let main = state.main.clone();
        state.tell(&main, name, id, message);
    }

    /// Puts the message of an agent's end into this queue.
    pub fn tell(&self, inbox: &Inbox, name: &str, id: AgentId, message: String) {
        self.lock().tell(inbox, name, id, message);
    }

    /// Runs an agent's life as a task that [`Self::end_all`] waits for.
    pub fn spawn(&self, life: impl Future<Output = ()> + Send + 'static) {
        self.0.tasks.spawn(life);
    }

    /// Cancels an agent and all below it; `None` when there is none of that id.
    pub fn cancel(&self, id: AgentId) -> Option<Cancelled> {
        let mut state = self.lock();
        let previous = state.entries.get(&id)?.status();
        let success = !previous.is_final();
        if success {
            state.cancel(id, false);
        }
        Some(Cancelled { previous, success })
    }

    /// Cancels an agent for the call that waits for it. `overdue` is the limit that the call has
    /// reached; without one, the run of its parent was stopped. False when the agent went to the
    /// background before: then it goes on, and the call does not wait any more.
    #[must_use]
    pub fn cancel_waited(&self, id: AgentId, overdue: Option<Duration>) -> bool {
        self.lock().cancel_waited(id, overdue)
    }

    /// Cancels everything below an agent, and waits until all of that has ended.
    pub async fn end_below(&self, path: &AgentPath) {
        let ends: Vec<_> = {
            let mut state = self.lock();
            let below = state.entries.values().filter(|entry| entry.is_below(path));
            let live = below.filter(|entry| !entry.status().is_final());
            let (tokens, ends): (Vec<_>, Vec<_>) = live.map(entry::Entry::watched).unzip();
            state.fire(tokens);
            ends
        };
        for mut done in ends {
            // The sender goes only with an entry that has ended.
            let _ = done.wait_for(Option::is_some).await;
        }
    }

    /// Cancels everything, and waits at most `limit` until it has ended. False when something is left.
    pub async fn end_all(&self, limit: Duration) -> bool {
        self.lock().cancel_all();
        self.0.tasks.close();
        let ended = tokio::time::timeout(limit, self.0.tasks.wait()).await.is_ok();
        self.0.tasks.reopen();
        ended
    }

    /// Forgets all that has ended, for another session, which begins with an empty queue of main.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Lets a foreground agent go on in the background: the call that waits for it returns at once.
    /// False when it has ended or was cancelled, or runs in the background already.
    pub fn detach(&self, id: AgentId) -> bool {
        self.lock().detach(id)
    }

    /// The queue of prompts of the agent at `path`, while it lives. Main always does.
    #[must_use]
    pub fn inbox(&self, path: &AgentPath) -> Option<Inbox> {
        self.lock().inbox(path)
    }

    /// The main agent's queue.
    #[must_use]
    pub fn main_inbox(&self) -> Inbox {
        self.lock().main.clone()
    }

    /// What is known of one agent.
    #[must_use]
    pub fn look_up(&self, id: AgentId) -> Option<Listed> {
        self.lock().entries.get(&id).map(entry::Entry::listed)
    }

    /// All agents below `path`, in order of start.
    #[must_use]
    pub fn list(&self, path: &AgentPath) -> Vec<Listed> {
        self.lock().list(path)
    }

    /// Waits for the end of an agent's present run; at once when it has ended. `None` when there is
    /// no such agent.
    pub async fn ended(&self, id: AgentId) -> Option<Arc<Ended>> {
        let mut done = self.lock().entries.get(&id)?.done.subscribe();
        let ended = done.wait_for(Option::is_some).await.ok()?;
        ended.clone()
    }

    /// Says that an agent's result was handed over to the one with this queue, so that it is not
    /// pushed any more. Only the one that is to be told counts: an agent further up that looked at
    /// it tells its parent nothing.
    pub fn handed_over(&self, id: AgentId, reader: &Inbox) {
        let pushed = {
            let mut state = self.lock();
            let entry = state.entries.get_mut(&id);
            let told = entry.filter(|entry| entry.report_to.is(reader));
            told.and_then(|entry| entry.pushed.take())
        };
        if let Some((inbox, message)) = pushed {
            let _ = inbox.take_back(message);
        }
    }

    /// Lends the slot of an agent that is going to wait for others, so that they can have it.
    #[must_use]
    pub fn lend(&self, path: &AgentPath) -> Lent {
        Lent::new(self, path)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where an agent's end is announced.
type Done = watch::Sender<Option<Arc<Ended>>>;

/// The outcome of an agent whose task was lost to a bug.
fn lost() -> Outcome {
    let message = "The agent failed inside: this is a bug. The log says more.".to_owned();
    Outcome::without_work(End::Failed { failure: crate::protocol::Failure::Internal, message })
}

/// A token below `above`.
fn below(above: &CancellationToken) -> CancellationToken {
    above.child_token()
}
