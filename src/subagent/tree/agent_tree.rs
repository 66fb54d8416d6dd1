//! The tree as its users see it: what they ask of it and of the agents in it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::entry::{AgentEntry, AgentResult, AgentSnapshot, AgentStatus};
use super::limits::SlotLimits;
use super::state::TreeState;
use crate::agent::Inbox;
use crate::protocol::{AgentId, AgentPath, EventSink};
use crate::tool::Shells;

/// All sub-agents of a session, with the ended ones still kept. Clones share the tree.
#[derive(Clone, Debug)]
pub struct AgentTree(pub(super) Arc<TreeShared>);

#[derive(Debug)]
pub(super) struct TreeShared {
    state: Mutex<TreeState>,
    tasks: TaskTracker,
    /// Background commands.
    pub(super) shells: Shells,
}

/// The result of cancelling an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelOutcome {
    /// Its state before.
    pub previous: AgentStatus,
    /// Whether there was something to cancel.
    pub success: bool,
}

impl AgentTree {
    /// Creates a tree without agents.
    pub fn new(slots: SlotLimits) -> Self {
        let state = Mutex::new(TreeState::new(slots));
        Self(Arc::new(TreeShared { state, tasks: TaskTracker::new(), shells: Shells::default() }))
    }

    /// The name of the next agent of a definition: `explore-1`, `explore-2`.
    pub fn next_name(&self, definition: &str) -> String {
        self.lock().next_name(definition)
    }

    /// Continues the numbers of a session in which agents and background commands have had numbers up to
    /// these.
    pub fn continue_numbers(&self, last_agent: usize, last_shell: u32) {
        self.0.shells.continue_numbers(last_shell);
        let mut state = self.lock();
        state.started = state.started.max(last_agent);
    }

    /// Adds ended agents of an earlier process, so that they can be queried and resumed. A message
    /// waits in main's queue like that of any other end, until main has read of it in one way or
    /// another.
    pub fn restore(
        &self,
        ended: impl IntoIterator<Item = (EventSink, AgentResult, Option<String>)>,
    ) {
        let mut state = self.lock();
        for (events, ended, message) in ended {
            state.restore(&events, ended, message);
        }
    }

    /// Queues the message of an agent's end for main. The agent itself is not known here, but no
    /// other agent of its definition gets its name.
    pub fn push_main_report(&self, definition: &str, name: &str, id: AgentId, message: String) {
        let mut state = self.lock();
        state.count_name(definition, name);
        let main = state.main.clone();
        state.push_report(&main, name, id, message);
    }

    /// Queues the message of an agent's end.
    pub fn push_report(&self, inbox: &Inbox, name: &str, id: AgentId, message: String) {
        self.lock().push_report(inbox, name, id, message);
    }

    /// Runs an agent as a task that [`Self::end_all`] waits for.
    pub fn spawn(&self, life: impl Future<Output = ()> + Send + 'static) {
        self.0.tasks.spawn(life);
    }

    /// Cancels an agent and all below it; `None` if there is none with that id.
    pub fn cancel(&self, id: AgentId) -> Option<CancelOutcome> {
        let mut state = self.lock();
        let previous = state.entries.get(&id)?.status();
        let success = !previous.is_final();
        if success {
            state.cancel(id, false);
        }
        Some(CancelOutcome { previous, success })
    }

    /// Cancels an agent for the user: an idle parent reads its partial text with the next prompt.
    pub fn cancel_for_user(&self, id: AgentId) {
        if let Some(entry) = self.lock().entries.get_mut(&id) {
            entry.by_user = true;
        }
        self.cancel(id);
    }

    /// Cancels an agent for the call that waits for it. `overdue` is the limit that the call has
    /// reached; without one, the run of its parent was stopped. False if the agent moved to the
    /// background first: then it continues, and the call no longer waits.
    pub fn cancel_waited(&self, id: AgentId, overdue: Option<Duration>) -> bool {
        self.lock().cancel_waited(id, overdue)
    }

    /// Cancels main's run and the agents that its calls wait for, all at once. Each call would
    /// cancel its own agent, but those that are cancelled first would be ending by then, and in the
    /// way of the others.
    pub fn cancel_main_run(&self, run: &CancellationToken) {
        self.lock().cancel_main_run(run);
    }

    /// Cancels everything below an agent, and waits until all of it has ended.
    pub async fn end_below(&self, path: &AgentPath) {
        let ends: Vec<_> = {
            let mut state = self.lock();
            let below = state.entries.values().filter(|entry| entry.is_below(path));
            let live = below.filter(|entry| !entry.status().is_final());
            let (tokens, ends): (Vec<_>, Vec<_>) = live.map(AgentEntry::watch_end).unzip();
            state.fire(path, tokens);
            ends
        };
        for mut done in ends {
            // The sender is only dropped with an entry that has ended.
            let _ = done.wait_for(Option::is_some).await;
        }
    }

    /// Cancels everything, and waits up to `limit` until it has ended. False if something is left.
    pub async fn end_all(&self, limit: Duration) -> bool {
        self.lock().cancel_all();
        self.0.tasks.close();
        let ended = tokio::time::timeout(limit, self.0.tasks.wait()).await.is_ok();
        self.0.tasks.reopen();
        ended
    }

    /// Forgets everything that has ended, for a new session, which begins with an empty queue for
    /// main.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Moves a foreground agent to the background: the call that waits for it returns at once.
    /// False if it has ended, was cancelled, or runs in the background already.
    pub fn detach(&self, id: AgentId) -> bool {
        self.lock().detach(id)
    }

    /// The queue of the agent at `path`, while it is alive. Main always is.
    pub fn inbox(&self, path: &AgentPath) -> Option<Inbox> {
        self.lock().inbox(path)
    }

    /// The main agent's queue.
    pub fn main_inbox(&self) -> Inbox {
        self.lock().main.clone()
    }

    /// A snapshot of one agent.
    pub fn look_up(&self, id: AgentId) -> Option<AgentSnapshot> {
        self.lock().entries.get(&id).map(AgentEntry::snapshot)
    }

    /// All agents below `path`, in order of start.
    pub fn list(&self, path: &AgentPath) -> Vec<AgentSnapshot> {
        self.lock().list(path)
    }

    /// Waits for the end of an agent's current run; returns at once if it has ended. `None` if
    /// there is no such agent.
    pub async fn ended(&self, id: AgentId) -> Option<Arc<AgentResult>> {
        let mut done = self.lock().entries.get(&id)?.done.subscribe();
        let ended = done.wait_for(Option::is_some).await.ok()?;
        ended.clone()
    }

    /// Records that an agent's result was read by the owner of this queue, so that it is not pushed
    /// any more. Only its reporting parent counts: an agent further up that looked at it does not
    /// inform the parent.
    pub fn mark_reported(&self, id: AgentId, reader: &Inbox) {
        let pushed = {
            let mut state = self.lock();
            let entry = state.entries.get_mut(&id);
            let told = entry.filter(|entry| entry.report_to.ptr_eq(reader));
            told.and_then(|entry| entry.pending_report.take())
        };
        if let Some((inbox, message)) = pushed {
            let _ = inbox.take_back(message);
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, TreeState> {
        self.0.state.lock()
    }
}
