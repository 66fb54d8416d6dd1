//! The path of events from agents to the front end.
//!
//! A sink carries its agent's path, so a child's events need no forwarding: they go straight into
//! the queue. Text deltas merge while they wait, and so do positions in the queue for a slot, so the
//! queue holds no more than the text itself plus one entry per change of state.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use super::event::{AgentEvent, EventKind, NoticeLevel};
use super::ids::{AgentId, AgentPath};
use super::stream::StreamEvent;

/// The receiving end: one queue for the whole tree of agents.
#[derive(Clone, Debug)]
pub struct EventQueue(Arc<QueueShared>);

#[derive(Debug)]
struct QueueShared {
    state: Mutex<QueueState>,
    /// Wakes the reader when an event arrives.
    filled: Notify,
    /// Wakes writers when there is room again.
    drained: Notify,
    capacity: usize,
    wants: EventFilter,
}

/// Events that only some readers want.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Every step of an answer ([`EventKind::Streamed`]) instead of its text only.
    pub steps: bool,
    /// The beginning and the end of each hook.
    pub hooks: bool,
    /// Output of commands that still run. Commands don't wait for readers, so a stalled reader
    /// would let this grow without bound.
    pub progress: bool,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: VecDeque<AgentEvent>,
    /// The number of the event at the head of `waiting`, so that positions stay valid while it is drained.
    head: u64,
    /// The position of each path's last event, to merge the next delta into it.
    last: HashMap<AgentPath, u64>,
    next_seq: u64,
}

impl EventQueue {
    /// Creates a queue for the screen, which agents never wait for.
    pub fn unbounded() -> Self {
        Self::with_filter(usize::MAX, EventFilter { progress: true, ..EventFilter::default() })
    }

    /// Creates a queue that agents wait for (in [`EventSink::ready`]) while it holds `capacity`
    /// events or more. Output of running commands is left out: their results have it.
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_filter(capacity, EventFilter::default())
    }

    /// Like [`Self::with_capacity`], for a reader that wants more than others.
    pub fn with_filter(capacity: usize, wants: EventFilter) -> Self {
        Self(Arc::new(QueueShared {
            state: Mutex::default(),
            filled: Notify::new(),
            drained: Notify::new(),
            capacity,
            wants,
        }))
    }

    /// Returns the main agent's sink.
    pub fn sink(&self) -> EventSink {
        self.sink_at(AgentPath::root())
    }

    /// Returns the sink of the agent at `path`.
    pub fn sink_at(&self, path: AgentPath) -> EventSink {
        EventSink { path, queue: self.clone() }
    }

    /// Waits for events, then moves up to `limit` of them to the end of `into`. Safe to drop at any point.
    pub async fn drain(&self, into: &mut Vec<AgentEvent>, limit: usize) {
        loop {
            let filled = self.0.filled.notified();
            if self.drain_ready(into, limit) > 0 {
                return;
            }
            filled.await;
        }
    }

    /// Moves up to `limit` waiting events to the end of `into`, and returns their number.
    pub fn drain_ready(&self, into: &mut Vec<AgentEvent>, limit: usize) -> usize {
        let mut state = self.lock();
        let count = limit.min(state.waiting.len());
        into.extend(state.waiting.drain(..count));
        state.head += count as u64;
        if state.waiting.is_empty() {
            state.last.clear();
        }
        drop(state);
        if count > 0 {
            self.0.drained.notify_waiters();
        }
        count
    }

    fn push(&self, path: &AgentPath, kind: EventKind) {
        let is_progress = matches!(
            kind,
            EventKind::ToolProgress { .. }
                | EventKind::ShellOutput { .. }
                | EventKind::BackgroundShellOutput { .. }
        );
        if is_progress && !self.0.wants.progress {
            return;
        }
        let mut state = self.lock();
        let QueueState { waiting, head, last, next_seq } = &mut *state;
        let earlier = last.get(path).and_then(|place| place.checked_sub(*head));
        if let Some(event) = earlier.and_then(|index| waiting.get_mut(usize::try_from(index).ok()?))
            && merge(&mut event.kind, &kind)
        {
            return;
        }
        last.insert(path.clone(), *head + waiting.len() as u64);
        let seq = *next_seq;
        *next_seq += 1;
        waiting.push_back(AgentEvent { path: path.clone(), seq, at: Timestamp::now(), kind });
        drop(state);
        self.0.filled.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.0.state.lock()
    }
}

/// Appends `next` to `last` when both are pieces of the same text, and replaces `last` when only the
/// newest of both matters.
fn merge(last: &mut EventKind, next: &EventKind) -> bool {
    match (last, next) {
        // Each agent that starts moves all others up in the queue.
        (EventKind::Queued { place }, EventKind::Queued { place: newest }) => {
            *place = *newest;
            true
        }
        (EventKind::TextDelta { text }, EventKind::TextDelta { text: more })
        | (EventKind::ThinkingDelta { text }, EventKind::ThinkingDelta { text: more })
        | (EventKind::ShellOutput { text }, EventKind::ShellOutput { text: more }) => {
            text.push_str(more);
            true
        }
        (
            EventKind::ToolProgress { id, text },
            EventKind::ToolProgress { id: same, text: more },
        ) if id == same => {
            text.push_str(more);
            true
        }
        (EventKind::Streamed(last), EventKind::Streamed(next)) => match (last.as_mut(), &**next) {
            (
                StreamEvent::BlockDelta { index, delta },
                StreamEvent::BlockDelta { index: same, delta: more },
            ) if index == same => delta.join(more),
            _ => false,
        },
        _ => false,
    }
}

/// The sending end, with the path of its agent. Cheap to clone.
#[derive(Clone, Debug)]
pub struct EventSink {
    path: AgentPath,
    queue: EventQueue,
}

impl EventSink {
    /// Returns the sink of this agent's child `id`.
    pub fn child(&self, id: AgentId) -> Self {
        Self { path: self.path.child(id), queue: self.queue.clone() }
    }

    /// Returns the path of its agent.
    pub fn path(&self) -> &AgentPath {
        &self.path
    }

    /// Whether the reader wants every step of an answer.
    pub fn wants_steps(&self) -> bool {
        self.queue.0.wants.steps
    }

    /// Whether the reader wants events about each hook.
    pub fn wants_hooks(&self) -> bool {
        self.queue.0.wants.hooks
    }

    /// Puts an event into the queue. Never waits.
    pub fn emit(&self, kind: EventKind) {
        self.queue.push(&self.path, kind);
    }

    /// Shows a notice to the user.
    pub fn notice(&self, level: NoticeLevel, text: impl Into<String>) {
        self.emit(EventKind::Notice { level, text: text.into() });
    }

    /// Waits while the reader is too far behind: never for the screen, whose queue has no limit.
    pub async fn ready(&self) {
        loop {
            let drained = self.queue.0.drained.notified();
            if self.queue.lock().waiting.len() < self.queue.0.capacity {
                return;
            }
            drained.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ToolUseId;

    #[test]
    fn what_commands_print_is_not_kept_for_a_reader_that_may_stall() {
        let progress = |call: &str| EventKind::ToolProgress {
            id: ToolUseId::new(call),
            text: "x".repeat(1000),
        };
        let kept = |queue: EventQueue| {
            let sink = queue.sink();
            // Two commands alternate: nothing merges.
            for _ in 0..1000 {
                ["a", "b"].into_iter().for_each(|call| sink.emit(progress(call)));
            }
            sink.emit(EventKind::ShellOutput { text: "x".to_owned() });
            queue.drain_ready(&mut Vec::new(), usize::MAX)
        };
        assert_eq!(kept(EventQueue::with_capacity(4)), 0);
        assert_eq!(
            kept(EventQueue::with_filter(4, EventFilter { steps: true, ..EventFilter::default() })),
            0
        );
        assert_eq!(kept(EventQueue::unbounded()), 2001, "a screen shows it");
    }

    #[test]
    fn an_agent_that_moves_up_in_the_queue_is_in_the_events_once() {
        let queue = EventQueue::unbounded();
        let agents: Vec<_> = (0..100).map(|_| queue.sink().child(AgentId::generate())).collect();
        for moved in 0..agents.len() {
            for (place, agent) in (1..).zip(&agents[moved..]) {
                agent.emit(EventKind::Queued { place });
            }
        }
        let mut events = Vec::new();
        queue.drain_ready(&mut events, usize::MAX);
        assert_eq!(events.len(), agents.len());
        assert!(events.iter().all(|event| event.kind == EventKind::Queued { place: 1 }));
    }
}
