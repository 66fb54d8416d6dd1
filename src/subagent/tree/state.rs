//! The tree's state, and every change of it. One lock guards it, so a change is seen whole or not at all.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::entry::{Ended, Entry, Listed, Phase};
use super::jobs::Told;
use super::member::{Ending, Handle, Joining, Membership};
use super::slots::{OverLimit, Waiting};
use super::{AgentTree, Slots, below};
use crate::agent::Inbox;
use crate::protocol::{
    AgentId, AgentPath, End, EventKind, EventSink, PromptId, QueuedPrompt, Sender, When,
};

/// Ended agents that can still be asked about; older ones are on disk only.
const ENDED_KEPT: usize = 256;

/// Messages of agents are numbered from here on, beyond what persons send.
const FIRST_MESSAGE: u64 = 1 << 48;

#[derive(Debug)]
pub(super) struct State {
    pub slots: Slots,
    pub entries: BTreeMap<AgentId, Entry>,
    /// Those without a slot, in order of arrival.
    pub waiting: VecDeque<Waiting>,
    /// Ended agents, oldest first.
    ended: VecDeque<AgentId>,
    /// How many of each definition there have been, for their names.
    named: HashMap<String, u32>,
    /// How many each agent has started.
    pub started: HashMap<AgentPath, usize>,
    /// Cancels everything.
    root: CancellationToken,
    /// The main agent's queue.
    pub main: Inbox,
    /// Ends of commands that were told.
    pub told: Told,
    joined: u64,
    messages: u64,
}

impl State {
    pub fn new(slots: Slots) -> Self {
        Self {
            slots,
            entries: BTreeMap::new(),
            waiting: VecDeque::new(),
            ended: VecDeque::new(),
            named: HashMap::new(),
            started: HashMap::new(),
            root: CancellationToken::new(),
            main: Inbox::default(),
            told: Told::default(),
            joined: 0,
            messages: FIRST_MESSAGE,
        }
    }

    pub fn name(&mut self, definition: &str) -> String {
        let count = self.named.entry(definition.to_owned()).or_default();
        *count += 1;
        format!("{definition}-{count}")
    }

    pub fn join(&mut self, tree: &AgentTree, joining: Joining) -> Result<Membership, OverLimit> {
        let Joining { info, events, report_to, budget, may_queue } = joining;
        let path = events.path().clone();
        if !may_queue {
            self.room_for(&path)?;
        }
        // One that goes on is no new one.
        if !path.id().is_some_and(|id| self.entries.contains_key(&id)) {
            self.count_child(&path)?;
        }
        let id = path.id().unwrap_or_else(AgentId::generate);
        // An agent that goes on may have outlived the one above it, whose token has fired.
        let above = path.parent().and_then(|parent| self.entries.get(&parent.id()?));
        let above = above.filter(|entry| !entry.status().is_final());
        let cancel = below(above.map_or(&self.root, |entry| &entry.cancel));
        let background = info.background;
        let inbox = Inbox::default();
        self.joined += 1;
        let entry = Entry {
            id,
            number: self.joined,
            path,
            info,
            phase: Phase::Queued,
            background,
            joined: Instant::now(),
            cancel: cancel.clone(),
            inbox: inbox.clone(),
            budget: Some(budget),
            has_slot: false,
            resting: watch::Sender::new(false),
            sent: Vec::new(),
            waits: 0,
            done: watch::Sender::new(None),
            detached: CancellationToken::new(),
            with_parent: false,
            announcement: background.then(|| report_to.announce(cancel.clone())),
            report_to,
            events: events.clone(),
            pushed: None,
        };
        let detached = entry.detached.clone();
        events.emit(EventKind::Started(Box::new(entry.info.clone())));
        self.ended.retain(|known| *known != id);
        let before = self.entries.insert(id, entry);
        // That it was interrupted is no news once it goes on. A result still is.
        if let Some(Entry { phase: Phase::Ended(ended), pushed: Some((inbox, number)), .. }) =
            before
            && ended.outcome.end == End::Interrupted
        {
            let _ = inbox.take_back(number);
        }
        let started = Arc::new(Notify::new());
        let start = started.clone();
        // Places in the queue go by the order of the calls, not by that of the tasks.
        let waiting = Waiting { id, events: events.clone(), start, place: 0, returns: false };
        self.waiting.push_back(waiting);
        self.hand_out();
        let handle = Handle { id, cancel, inbox, detached, started };
        Ok(Membership::new(tree.clone(), events, handle))
    }

    /// Puts the message of an agent's end into this queue, and answers with its number.
    pub fn tell(&mut self, inbox: &Inbox, name: &str, id: AgentId, text: String) -> PromptId {
        let number = self.next_message();
        inbox.push(QueuedPrompt {
            from: Sender::Agent { name: name.to_owned() },
            report: Some(id),
            ..QueuedPrompt::typed(number, text, When::NextStep)
        });
        number
    }

    pub fn restore(&mut self, events: &EventSink, ended: Ended, message: Option<String>) {
        let path = events.path().clone();
        let Some(id) = path.id() else { return };
        let pushed = message.map(|text| {
            let main = self.main.clone();
            let number = self.tell(&main, &ended.info.name, id, text);
            (main, number)
        });
        self.joined += 1;
        self.count_name(&ended.info.agent, &ended.info.name);
        let entry = Entry {
            id,
            number: self.joined,
            path,
            info: ended.info.clone(),
            phase: Phase::Ended(Arc::new(ended.clone())),
            background: ended.info.background,
            joined: Instant::now(),
            cancel: CancellationToken::new(),
            inbox: Inbox::default(),
            budget: None,
            has_slot: false,
            resting: watch::Sender::new(false),
            sent: Vec::new(),
            waits: 0,
            done: watch::Sender::new(Some(Arc::new(ended))),
            detached: CancellationToken::new(),
            with_parent: false,
            announcement: None,
            report_to: self.main.clone(),
            events: events.clone(),
            pushed,
        };
        self.entries.insert(id, entry);
        self.keep_ended(id);
    }

    /// A name that is taken by an agent of an earlier process is not given again.
    pub fn count_name(&mut self, definition: &str, name: &str) {
        let number = name.strip_prefix(definition).and_then(|rest| rest.strip_prefix('-'));
        if let Some(number) = number.and_then(|number| number.parse::<u32>().ok()) {
            let count = self.named.entry(definition.to_owned()).or_default();
            *count = number.max(*count);
        }
    }

    /// Books an agent's end, frees its slot, and tells those who wait and the one who is to be told.
    pub fn finish(&mut self, id: AgentId, ending: Ending) {
        let number = self.next_message();
        self.waiting.retain(|waiting| waiting.id != id);
        let Some(entry) = self.entries.get_mut(&id) else { return };
        // What a person sent too late to be read comes back, and then nothing more is said of this agent.
        for QueuedPrompt { id, text, .. } in entry.inbox.take_typed() {
            entry.events.emit(EventKind::PromptReturned { id, text });
        }
        let Ending { outcome, mut report, mut text, message, brief } = ending;
        report.with_parent = entry.with_parent && matches!(outcome.end, End::Cancelled { .. });
        // One that rests has told its last answer when it gave it.
        let mut told = if *entry.resting.borrow() { brief } else { message };
        if let Some(unread) = entry.unread() {
            text.push_str(&unread);
            told.push_str(&unread);
        }
        let finished = EventKind::Finished(Box::new(outcome.clone()));
        let ended = Arc::new(Ended { info: entry.info.clone(), outcome, report, text });
        entry.phase = Phase::Ended(ended.clone());
        entry.has_slot = false;
        entry.budget = None;
        if entry.background {
            // What nobody waits for ends its parent's run by way of the queue.
            if let End::Failed { failure, message } = &ended.outcome.end
                && failure.is_fatal()
            {
                let name = &entry.info.name;
                entry.report_to.fail(*failure, format!("{name}: {message}"));
            }
            let report = QueuedPrompt {
                from: Sender::Agent { name: entry.info.name.clone() },
                report: Some(id),
                ..QueuedPrompt::typed(number, told, When::NextStep)
            };
            entry.report_to.push_told(report, || entry.events.emit(finished));
            entry.pushed = Some((entry.report_to.clone(), number));
        } else {
            entry.events.emit(finished);
        }
        // After the message, so that whoever waits for the last of the announced work finds it.
        entry.announcement = None;
        entry.done.send_replace(Some(ended));
        self.keep_ended(id);
        self.hand_out();
    }

    /// The id of one more message of ours.
    pub fn next_message(&mut self) -> PromptId {
        self.messages += 1;
        PromptId(self.messages)
    }

    /// The queue of the agent at `path`, while it lives.
    pub fn inbox(&self, path: &AgentPath) -> Option<Inbox> {
        if path.is_root() {
            return Some(self.main.clone());
        }
        let entry = self.entries.get(&path.id()?)?;
        (!entry.status().is_final()).then(|| entry.inbox.clone())
    }

    fn keep_ended(&mut self, id: AgentId) {
        self.ended.push_back(id);
        while self.ended.len() > ENDED_KEPT {
            if let Some(oldest) = self.ended.pop_front() {
                self.entries.remove(&oldest);
            }
        }
    }

    /// Decides who learns of the agent's end.
    ///
    /// # The states of an agent that a call waits for
    /// - *waited for*: its end is the call's result. It leaves this state once, under the lock: by
    ///   [`Self::detach`], by [`Self::cancel_waited`], by the cancellation of one above it, or by
    ///   its end.
    /// - *in the background*: its end is a message to its parent. The call has returned, or returns
    ///   as soon as it looks; its own cancellation does not reach the agent any more.
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

    /// Cancels an agent unless it went to the background: the other way out of *waited for* in
    /// [`Self::detach`].
    pub fn cancel_waited(&mut self, id: AgentId, overdue: Option<Duration>) -> bool {
        let Some(entry) = self.entries.get(&id) else { return true };
        if entry.background && !entry.status().is_final() {
            return false;
        }
        // One that was cancelled before ends as that.
        if let (Some(limit), Some(budget), false) =
            (overdue, &entry.budget, entry.cancel.is_cancelled())
        {
            budget.expire(limit);
        }
        self.cancel(id, overdue.is_none());
        true
    }

    /// Cancels an agent and all below it. `with_parent` tells whether the run of its parent was
    /// stopped. The first cancellation of an agent decides that.
    pub fn cancel(&mut self, id: AgentId, with_parent: bool) {
        let Some(entry) = self.entries.get(&id) else { return };
        let (token, is_first) = (entry.cancel.clone(), !entry.cancel.is_cancelled());
        self.fire([token]);
        if is_first && let Some(entry) = self.entries.get_mut(&id) {
            entry.with_parent &= with_parent;
        }
    }

    /// Fires tokens, and records of each agent that a call waits for and that this cancels that the
    /// run of its parent was stopped.
    pub fn fire(&mut self, tokens: impl IntoIterator<Item = CancellationToken>) {
        let mut live = Vec::new();
        for entry in self.entries.values_mut() {
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

    pub fn list(&self, path: &AgentPath) -> Vec<Listed> {
        let mut below: Vec<_> =
            self.entries.values().filter(|entry| entry.is_below(path)).collect();
        below.sort_by_key(|entry| entry.number);
        below.into_iter().map(Entry::listed).collect()
    }

    pub fn cancel_all(&mut self) {
        let root = std::mem::take(&mut self.root);
        self.fire([root]);
    }

    pub fn clear(&mut self) {
        for id in std::mem::take(&mut self.ended) {
            self.entries.remove(&id);
        }
        self.named.clear();
        self.started.clear();
        self.main = Inbox::default();
        self.told = Told::default();
    }

    /// Tells those who wait for a slot their places.
    pub fn tell_places(&mut self) {
        let queued = self.waiting.iter_mut().filter(|waiting| !waiting.returns);
        for (index, waiting) in queued.enumerate() {
            if waiting.place != index + 1 {
                waiting.place = index + 1;
                waiting.events.emit(EventKind::Queued { place: waiting.place });
            }
        }
    }
}
