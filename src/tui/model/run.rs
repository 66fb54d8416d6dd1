//! What one agent does now, and what it has used up: the same for the main agent and sub-agents.

use std::time::Duration;

use crate::protocol::{CompactionState, Cost, End, EventKind, ToolUseId, Usage, Wait};

/// The start of a history on the clock of the screen: later than anything that happens while the
/// program runs, so that spans of time of the two never overlap.
pub const HISTORY: Duration = Duration::from_secs(1 << 32);

/// The state of one agent's run, fed from its events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    pub phase: Phase,
    /// When the phase began. All times count from the start of the screen.
    pub since: Duration,
    /// When the run began to work; `None` while it only queued.
    pub started: Option<Duration>,
    pub ended: Option<Duration>,
    /// When the agent was last heard of.
    pub last_sign: Duration,
    pub turn: u32,
    pub limit: Option<u32>,
    /// Of all requests of this run, without sub-agents.
    pub usage: Usage,
    /// Of all requests of this run, without sub-agents.
    pub cost: Cost,
    /// What the last request filled of the model's window, in tokens.
    pub context: u64,
    /// Calls that run now, in order of start.
    pub tools: Vec<RunningTool>,
    /// What else it waits for, in order of beginning, each with when that was told.
    pub waits: Vec<(Wait, Duration)>,
    /// The person cancelled it, and its end has not come yet.
    pub cancelling: bool,
}

/// The rough state of a run; what it waits for is worked out where it is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Phase {
    /// Nothing runs (main between prompts).
    #[default]
    Idle,
    Queued {
        place: usize,
    },
    Starting,
    Thinking,
    Writing,
    /// Runs tools.
    Tools,
    /// Waits before it repeats a request.
    Retrying {
        until: Duration,
        attempt: u32,
        limit: u32,
        reason: String,
    },
    /// The model writes a summary of the conversation.
    Compacting,
    Ended(End),
}

/// A call that has no result yet.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningTool {
    pub id: ToolUseId,
    pub name: String,
    pub summary: String,
    pub since: Duration,
}

impl Run {
    /// Whether it works or waits to work.
    #[must_use]
    pub fn alive(&self) -> bool {
        !self.rests() || !self.waits.is_empty()
    }

    /// Whether no run has begun, or none after the last. Main may still wait for what comes before one.
    #[must_use]
    pub fn rests(&self) -> bool {
        matches!(self.phase, Phase::Idle | Phase::Ended(_))
    }

    /// Whether it waits for a free slot.
    #[must_use]
    pub fn queued(&self) -> bool {
        matches!(self.phase, Phase::Queued { .. })
    }

    /// How long it has worked, or did.
    #[must_use]
    pub fn elapsed(&self, now: Duration) -> Option<Duration> {
        Some(self.ended.unwrap_or(now).saturating_sub(self.started?))
    }

    /// A new run begins: what the one before used is gone.
    pub fn begin(&mut self, at: Duration) {
        let context = self.context;
        *self = Self { started: Some(at), last_sign: at, context, ..Self::default() };
        self.enter(Phase::Starting, at);
    }

    /// An ended run goes on: its turns begin anew, what it has used up stays.
    pub fn resume(&mut self, limit: u32, at: Duration) {
        let (usage, cost) = (self.usage, self.cost);
        self.begin(at);
        (self.usage, self.cost) = (usage, cost);
        self.limit = Some(limit);
    }

    /// Follows one event.
    pub fn follow(&mut self, kind: &EventKind, at: Duration) {
        self.last_sign = at;
        match kind {
            EventKind::Started(_) => self.enter(Phase::Starting, at),
            EventKind::Queued { place } => self.phase = Phase::Queued { place: *place },
            EventKind::TurnStarted { turn, limit } => {
                if self.rests() {
                    self.begin(at);
                }
                self.started.get_or_insert(at);
                (self.turn, self.limit) = (*turn, *limit);
                self.enter(Phase::Starting, at);
            }
            EventKind::TextDelta { .. } => self.enter(Phase::Writing, at),
            EventKind::ThinkingDelta { .. } => self.enter(Phase::Thinking, at),
            EventKind::Retrying { attempt, limit, wait, reason } => {
                let (attempt, limit, reason) = (*attempt, *limit, reason.clone());
                self.enter(Phase::Retrying { until: at + *wait, attempt, limit, reason }, at);
            }
            EventKind::TurnFinished { usage, cost, .. } => {
                self.usage += *usage;
                self.cost += *cost;
                self.context = usage.context();
            }
            EventKind::Compaction { by_hand, state } => self.compaction(*by_hand, state, at),
            EventKind::ToolStarted { id, name, summary } => {
                let (id, name, summary) = (id.clone(), name.clone(), summary.clone());
                self.tools.push(RunningTool { id, name, summary, since: at });
                self.enter(Phase::Tools, at);
            }
            EventKind::ToolFinished { id, .. } => {
                self.tools.retain(|tool| tool.id != *id);
                if self.tools.is_empty() && self.phase == Phase::Tools {
                    self.enter(Phase::Starting, at);
                }
            }
            EventKind::WaitBegan(what) => self.waits.push((what.clone(), at)),
            EventKind::WaitEnded(what) => {
                let place = self.waits.iter().position(|(wait, _)| wait == what);
                place.map(|place| self.waits.remove(place));
            }
            EventKind::Finished(outcome) => {
                self.ended = Some(at);
                self.tools.clear();
                self.waits.clear();
                self.cancelling = false;
                self.enter(Phase::Ended(outcome.end.clone()), at);
            }
            _ => {}
        }
    }

    fn compaction(&mut self, by_hand: bool, state: &CompactionState, at: Duration) {
        if let CompactionState::Done { after_tokens, .. } = state {
            self.context = *after_tokens;
        }
        match state {
            CompactionState::Started => {
                if self.rests() {
                    self.begin(at);
                }
                self.enter(Phase::Compacting, at);
            }
            _ if by_hand => {
                self.ended = Some(at);
                self.cancelling = false;
                self.enter(Phase::Idle, at);
            }
            _ => self.enter(Phase::Starting, at),
        }
    }

    fn enter(&mut self, phase: Phase, at: Duration) {
        if std::mem::discriminant(&self.phase) != std::mem::discriminant(&phase) {
            self.since = at;
        }
        self.phase = phase;
    }
}
