//! The tree's state and all changes to it. One lock guards it, so a change is seen whole or not at
//! all.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::entry::{
    AgentEntry, AgentPhase, AgentResult, AgentSnapshot, HandleParts, NewAgent, QueuedAgent,
};
use super::limits::{LimitError, SlotLimits};
use crate::agent::Inbox;
use crate::protocol::{
    AgentId, AgentInfo, AgentPath, EventKind, EventSink, PromptId, PromptTiming, QueuedPrompt,
    RunEnd, Sender, ShellId,
};
use crate::subagent::report::Completion;

/// Ended agents kept in memory; older ones are on disk only.
const MAX_ENDED: usize = 256;

/// The first number for messages of agents, beyond those of user prompts.
const FIRST_MESSAGE_ID: u64 = 1 << 48;

#[derive(Debug)]
pub(super) struct TreeState {
    pub slots: SlotLimits,
    pub entries: BTreeMap<AgentId, AgentEntry>,
    /// Agents without a slot, in order of arrival.
    pub waiting: VecDeque<QueuedAgent>,
    /// Ended agents, oldest first.
    ended: VecDeque<AgentId>,
    /// The number of agents started from each definition, for their names.
    name_counts: HashMap<String, u32>,
    /// The number of agents started by each agent.
    pub children_started: HashMap<AgentPath, usize>,
    /// Cancels everything.
    root: CancellationToken,
    /// The main agent's queue.
    pub main: Inbox,
    /// Queued messages about ended commands.
    pub exit_notices: ExitNotices,
    /// The highest number of an agent of the session.
    pub started: usize,
    messages: u64,
}

/// Messages about ended commands that were queued, oldest first.
#[derive(Debug, Default)]
pub(super) struct ExitNotices(pub VecDeque<(ShellId, Inbox, PromptId)>);

impl TreeState {
    pub fn new(slots: SlotLimits) -> Self {
        Self {
            slots,
            entries: BTreeMap::new(),
            waiting: VecDeque::new(),
            ended: VecDeque::new(),
            name_counts: HashMap::new(),
            children_started: HashMap::new(),
            root: CancellationToken::new(),
            main: Inbox::default(),
            exit_notices: ExitNotices::default(),
            started: 0,
            messages: FIRST_MESSAGE_ID,
        }
    }

    pub fn next_name(&mut self, definition: &str) -> String {
        let count = self.name_counts.entry(definition.to_owned()).or_default();
        *count += 1;
        format!("{definition}-{count}")
    }

    pub fn join(
        &mut self,
        new: NewAgent<impl FnOnce(usize) -> AgentInfo>,
    ) -> Result<HandleParts, LimitError> {
        let NewAgent { info, number, events, report_to, budget, may_queue } = new;
        let path = events.path().clone();
        if !may_queue {
            self.check_room(&path)?;
        }
        // A resumed agent is not a new one.
        if !path.id().is_some_and(|id| self.entries.contains_key(&id)) {
            self.count_child(&path)?;
        }
        let id = path.id().unwrap_or_else(AgentId::generate);
        // A resumed agent may have outlived its parent, whose token has fired.
        let above = path.parent().and_then(|parent| self.entries.get(&parent.id()?));
        let above = above.filter(|entry| !entry.status().is_final());
        let cancel = above.map_or(&self.root, |entry| &entry.cancel).child_token();
        let inbox = Inbox::default();
        let number = number.unwrap_or_else(|| {
            self.started += 1;
            self.started
        });
        let info = info(number);
        let background = info.background;
        let entry = AgentEntry {
            id,
            path,
            info: info.clone(),
            phase: AgentPhase::Queued,
            background,
            joined: Instant::now(),
            cancel: cancel.clone(),
            inbox: inbox.clone(),
            budget: Some(budget),
            has_slot: false,
            idle: watch::Sender::new(false),
            sent: Vec::new(),
            waiting_calls: 0,
            done: watch::Sender::new(None),
            detached: CancellationToken::new(),
            with_parent: false,
            by_user: false,
            announcement: background.then(|| report_to.announce(cancel.clone())),
            report_to,
            events: events.clone(),
            pending_report: None,
        };
        let detached = entry.detached.clone();
        events.emit(EventKind::Started(Box::new(info.clone())));
        self.ended.retain(|known| *known != id);
        let before = self.entries.insert(id, entry);
        // Once it is resumed, the news that it was interrupted is stale. A result is not.
        if let Some(AgentEntry {
            phase: AgentPhase::Ended(ended),
            pending_report: Some((inbox, number)),
            ..
        }) = before
            && ended.outcome.end == RunEnd::Interrupted
        {
            let _ = inbox.take_back(number);
        }
        let started = Arc::new(Notify::new());
        let start = started.clone();
        // Positions in the queue follow the order of the calls, not of the tasks.
        let waiting = QueuedAgent { id, events, start, position: 0, is_reacquiring: false };
        self.waiting.push_back(waiting);
        self.grant_slots();
        Ok(HandleParts { id, info, cancel, inbox, detached, started })
    }

    /// Queues the message of an agent's end, and returns its number.
    pub fn push_report(
        &mut self,
        inbox: &Inbox,
        name: &str,
        id: AgentId,
        text: String,
    ) -> PromptId {
        let number = self.next_message();
        inbox.push(QueuedPrompt {
            from: Sender::Agent { name: name.to_owned() },
            report: Some(id),
            ..QueuedPrompt::typed(number, text, PromptTiming::NextStep)
        });
        number
    }

    pub fn restore(&mut self, events: &EventSink, ended: AgentResult, message: Option<String>) {
        let path = events.path().clone();
        let Some(id) = path.id() else { return };
        let pushed = message.map(|text| {
            let main = self.main.clone();
            let number = self.push_report(&main, &ended.info.name, id, text);
            (main, number)
        });
        self.count_name(&ended.info.agent, &ended.info.name);
        let entry = AgentEntry {
            id,
            path,
            info: ended.info.clone(),
            phase: AgentPhase::Ended(Arc::new(ended.clone())),
            background: ended.info.background,
            joined: Instant::now(),
            cancel: CancellationToken::new(),
            inbox: Inbox::default(),
            budget: None,
            has_slot: false,
            idle: watch::Sender::new(false),
            sent: Vec::new(),
            waiting_calls: 0,
            done: watch::Sender::new(Some(Arc::new(ended))),
            detached: CancellationToken::new(),
            with_parent: false,
            by_user: false,
            announcement: None,
            report_to: self.main.clone(),
            events: events.clone(),
            pending_report: pushed,
        };
        self.entries.insert(id, entry);
        self.keep_ended(id);
    }

    /// Reserves a name taken by an agent of an earlier process.
    pub fn count_name(&mut self, definition: &str, name: &str) {
        let number = name.strip_prefix(definition).and_then(|rest| rest.strip_prefix('-'));
        if let Some(number) = number.and_then(|number| number.parse::<u32>().ok()) {
            let count = self.name_counts.entry(definition.to_owned()).or_default();
            *count = number.max(*count);
        }
    }

    /// Records an agent's end, frees its slot, and notifies its waiters and its parent.
    pub fn finish(&mut self, id: AgentId, ending: Completion) {
        let number = self.next_message();
        self.waiting.retain(|waiting| waiting.id != id);
        let Some(entry) = self.entries.get_mut(&id) else { return };
        // User prompts that came too late are returned, before this agent's last event.
        for QueuedPrompt { id, text, .. } in entry.inbox.take_typed() {
            entry.events.emit(EventKind::PromptReturned { id, text });
        }
        let Completion { outcome, mut report, mut text, message, brief } = ending;
        report.with_parent = entry.with_parent && matches!(outcome.end, RunEnd::Cancelled { .. });
        // An idle agent has already reported its last answer.
        let mut told = if *entry.idle.borrow() { brief } else { message };
        if let Some(unread) = entry.unread() {
            text.push_str(&unread);
            told.push_str(&unread);
        }
        let finished = EventKind::Finished(Box::new(outcome.clone()));
        let ended = Arc::new(AgentResult { info: entry.info.clone(), outcome, report, text });
        entry.phase = AgentPhase::Ended(ended.clone());
        entry.has_slot = false;
        entry.budget = None;
        if entry.background {
            // A fatal background failure ends its parent's run by way of the queue.
            if let RunEnd::Failed { failure, message } = &ended.outcome.end
                && failure.is_fatal()
            {
                let name = &entry.info.name;
                entry.report_to.fail(*failure, format!("{name}: {message}"));
            }
            let report = QueuedPrompt {
                from: Sender::Agent { name: entry.info.name.clone() },
                report: Some(id),
                // The user wanted less work, not more.
                wakes: !entry.by_user || !matches!(ended.outcome.end, RunEnd::Cancelled { .. }),
                ..QueuedPrompt::typed(number, told, PromptTiming::NextStep)
            };
            entry.report_to.push_with(report, || entry.events.emit(finished));
            entry.pending_report = Some((entry.report_to.clone(), number));
        } else {
            entry.events.emit(finished);
        }
        // After the message, so that whoever waits for the last announced work finds it.
        entry.announcement = None;
        entry.done.send_replace(Some(ended));
        self.keep_ended(id);
        self.grant_slots();
    }

    /// The id of the next message of ours.
    pub fn next_message(&mut self) -> PromptId {
        self.messages += 1;
        PromptId(self.messages)
    }

    /// The queue of the agent at `path`, while it is alive.
    pub fn inbox(&self, path: &AgentPath) -> Option<Inbox> {
        if path.is_root() {
            return Some(self.main.clone());
        }
        let entry = self.entries.get(&path.id()?)?;
        (!entry.status().is_final()).then(|| entry.inbox.clone())
    }

    fn keep_ended(&mut self, id: AgentId) {
        self.ended.push_back(id);
        while self.ended.len() > MAX_ENDED {
            if let Some(oldest) = self.ended.pop_front() {
                self.entries.remove(&oldest);
            }
        }
    }

    /// Moves an agent to the background: decides who is notified of its end.
    ///
    /// # The states of an agent that a call waits for
    /// - *waited for*: its end is the call's result. It leaves this state once, under the lock: by
    ///   [`Self::detach`], by [`Self::cancel_waited`], by the cancellation of an agent above it, or
    ///   by its end.
    /// - *in the background*: its end is a message to its parent. The call has returned, or returns
    ///   as soon as it checks; its own cancellation no longer reaches the agent.
    /// - *cancelled*: it is ending, and its end is the call's result. It cannot go to the background.
    /// - *ended*: nothing changes any more.
    pub fn detach(&mut self, id: AgentId) -> bool {
        let Some(entry) = self.entries.get_mut(&id) else { return false };
        if entry.background || entry.status().is_final() || entry.cancel.is_cancelled() {
            return false;
        }
        entry.background = true;
        entry.info.background = true;
        entry.announcement = Some(entry.report_to.announce(entry.cancel.clone()));
        entry.detached.cancel();
        entry.events.emit(EventKind::MovedToBackground);
        true
    }

    /// Cancels an agent unless it moved to the background: the other way out of *waited for* in
    /// [`Self::detach`].
    pub fn cancel_waited(&mut self, id: AgentId, overdue: Option<Duration>) -> bool {
        let Some(entry) = self.entries.get(&id) else { return true };
        if entry.background && !entry.status().is_final() {
            return false;
        }
        // If it was cancelled before, that is how it ends.
        if let (Some(limit), Some(budget), false) =
            (overdue, &entry.budget, entry.cancel.is_cancelled())
        {
            budget.expire(limit);
        }
        self.cancel(id, overdue.is_none());
        true
    }

    /// Cancels an agent and all below it. `with_parent`: the run of its parent was stopped. The
    /// first cancellation of an agent decides that.
    pub fn cancel(&mut self, id: AgentId, with_parent: bool) {
        let entry = self.entries.get(&id).filter(|entry| !entry.cancel.is_cancelled());
        let Some(entry) = entry else { return };
        let (path, token) = (entry.path.clone(), entry.cancel.clone());
        self.fire(&path, [token]);
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.with_parent &= with_parent;
        }
    }

    /// Cancels main's run and the agents that its calls wait for.
    pub fn cancel_main_run(&mut self, run: &CancellationToken) {
        let waited_for = self.entries.values().filter(|entry| {
            entry.path.depth() == 1 && !entry.background && !entry.status().is_final()
        });
        let agents: Vec<_> = waited_for.map(|entry| entry.cancel.clone()).collect();
        self.fire(&AgentPath::root(), std::iter::once(run.clone()).chain(agents));
    }

    /// Fires tokens of agents at `path` or below it, and records for each agent that this cancels
    /// and that a call waits for that the run of its parent was stopped.
    pub fn fire(&mut self, path: &AgentPath, tokens: impl IntoIterator<Item = CancellationToken>) {
        let mut live = Vec::new();
        // The path first: a stop fires a thousand tokens one by one, and each look at one locks it.
        for entry in self.entries.values_mut().filter(|entry| entry.path.is_within(path)) {
            if !entry.status().is_final() && !entry.cancel.is_cancelled() {
                live.push(entry);
            }
        }
        for token in tokens {
            token.cancel();
        }
        for entry in live {
            entry.with_parent = !entry.background && entry.cancel.is_cancelled();
        }
    }

    pub fn list(&self, path: &AgentPath) -> Vec<AgentSnapshot> {
        let mut below: Vec<_> =
            self.entries.values().filter(|entry| entry.is_below(path)).collect();
        below.sort_by_key(|entry| entry.info.number);
        below.into_iter().map(AgentEntry::snapshot).collect()
    }

    pub fn cancel_all(&mut self) {
        let root = std::mem::take(&mut self.root);
        self.fire(&AgentPath::root(), [root]);
    }

    pub fn clear(&mut self) {
        for id in std::mem::take(&mut self.ended) {
            self.entries.remove(&id);
        }
        self.name_counts.clear();
        self.started = 0;
        self.children_started.clear();
        self.main = Inbox::default();
        self.exit_notices = ExitNotices::default();
    }

    /// Notifies queued agents of their positions.
    pub fn emit_positions(&mut self) {
        let queued = self.waiting.iter_mut().filter(|waiting| !waiting.is_reacquiring);
        for (index, waiting) in queued.enumerate() {
            if waiting.position != index + 1 {
                waiting.position = index + 1;
                waiting.events.emit(EventKind::Queued { place: waiting.position });
            }
        }
    }
}
