//! The tree's record of one sub-agent.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::agent::{Announcement, Inbox};
use crate::budget::Budget;
use crate::protocol::{
    AgentId, AgentInfo, AgentPath, AgentReport, EventSink, PromptId, RunEnd, RunOutcome,
};

/// The phase of an agent's life.
#[derive(Clone, Debug)]
pub enum AgentPhase {
    /// It waits for a slot.
    Queued,
    Running,
    Ended(Arc<AgentResult>),
}

impl AgentPhase {
    /// The phase in one word.
    pub fn status(&self) -> AgentStatus {
        match self {
            Self::Queued => AgentStatus::Queued,
            Self::Running => AgentStatus::Running,
            Self::Ended(ended) => AgentStatus::from_end(&ended.outcome.end),
        }
    }
}

/// How an agent ended, and its report for its parent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentResult {
    pub info: AgentInfo,
    pub outcome: RunOutcome,
    pub report: AgentReport,
    /// The text for the parent: cut to size, with a line on how it ended if needed.
    pub text: String,
}

/// The state of an agent in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum AgentStatus {
    Queued,
    Running,
    Completed,
    Failed,
    Cancelled,
}

impl AgentStatus {
    /// The state for the end of a run. A partial result is not a success.
    pub fn from_end(end: &RunEnd) -> Self {
        match end {
            RunEnd::Completed => Self::Completed,
            RunEnd::Cancelled { .. } => Self::Cancelled,
            _ => Self::Failed,
        }
    }

    /// Whether it has ended.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// The word in results of tools.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One agent as others see it.
#[derive(Clone, Debug)]
pub struct AgentSnapshot {
    pub id: AgentId,
    pub path: AgentPath,
    pub info: AgentInfo,
    pub phase: AgentPhase,
    pub background: bool,
    /// Time since it joined, or its total time.
    pub took: Duration,
    /// Tokens used by it and all below it.
    pub tokens: u64,
}

impl AgentSnapshot {
    /// Its state in one word.
    pub fn status(&self) -> AgentStatus {
        self.phase.status()
    }
}

/// How many agents of a list are in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StatusCounts {
    pub running_count: usize,
    pub completed_count: usize,
    pub failed_count: usize,
    pub cancelled_count: usize,
    pub queued_count: usize,
    pub total_count: usize,
}

impl StatusCounts {
    /// Counts a list.
    pub fn count(list: &[AgentSnapshot]) -> Self {
        let mut counts = Self { total_count: list.len(), ..Self::default() };
        for agent in list {
            *match agent.status() {
                AgentStatus::Queued => &mut counts.queued_count,
                AgentStatus::Running => &mut counts.running_count,
                AgentStatus::Completed => &mut counts.completed_count,
                AgentStatus::Failed => &mut counts.failed_count,
                AgentStatus::Cancelled => &mut counts.cancelled_count,
            } += 1;
        }
        counts
    }
}

/// The channel that reports an agent's end.
type ResultSender = watch::Sender<Option<Arc<AgentResult>>>;

/// The tree's own record of one agent.
#[derive(Debug)]
pub(super) struct AgentEntry {
    pub id: AgentId,
    pub path: AgentPath,
    pub info: AgentInfo,
    pub phase: AgentPhase,
    pub background: bool,
    pub joined: Instant,
    pub cancel: CancellationToken,
    /// Whether `cancel` was fired because its parent's run was stopped while a call waited for it.
    pub with_parent: bool,
    /// Whether the user cancelled this agent.
    pub by_user: bool,
    pub inbox: Inbox,
    pub budget: Option<Budget>,
    /// Whether it counts against the limit of running agents.
    pub has_slot: bool,
    /// Whether it has answered and waits for a message: then nothing waits for it.
    pub idle: watch::Sender<bool>,
    /// Messages that its parent has sent it.
    pub sent: Vec<PromptId>,
    /// The number of its own calls that wait for other agents.
    pub waiting_calls: usize,
    pub done: ResultSender,
    /// Fires when it goes to the background.
    pub detached: CancellationToken,
    /// Its parent's queue, and its announcement there while it runs in the background.
    pub report_to: Inbox,
    pub announcement: Option<Announcement>,
    /// Carries its path.
    pub events: EventSink,
    /// The message with its result, until that is read.
    pub pending_report: Option<(Inbox, PromptId)>,
}

impl AgentEntry {
    pub fn status(&self) -> AgentStatus {
        self.phase.status()
    }

    /// Whether it counts against its parent's limit. An idle one would hold its place for as long
    /// as it is not needed.
    pub fn is_at_work(&self) -> bool {
        matches!(self.phase, AgentPhase::Running) && !*self.idle.borrow()
    }

    /// Whether it is below `path`, at any depth.
    pub fn is_below(&self, path: &AgentPath) -> bool {
        self.path.depth() > path.depth() && self.path.is_within(path)
    }

    /// The token that cancels it and the channel that reports its end.
    pub fn watch_end(&self) -> (CancellationToken, watch::Receiver<Option<Arc<AgentResult>>>) {
        (self.cancel.clone(), self.done.subscribe())
    }

    pub fn snapshot(&self) -> AgentSnapshot {
        let (took, tokens) = match &self.phase {
            AgentPhase::Ended(ended) => (ended.outcome.took, ended.outcome.usage.counted()),
            _ => {
                let spent = self.budget.as_ref().map(|budget| budget.spent().usage.counted());
                (self.joined.elapsed(), spent.unwrap_or_default())
            }
        };
        AgentSnapshot {
            id: self.id,
            path: self.path.clone(),
            info: self.info.clone(),
            phase: self.phase.clone(),
            background: self.background,
            took,
            tokens,
        }
    }
}

/// One agent that waits for a slot.
#[derive(Debug)]
pub(super) struct QueuedAgent {
    pub id: AgentId,
    pub events: EventSink,
    pub start: Arc<Notify>,
    /// The position that it was last notified of.
    pub position: usize,
    /// It had a slot already and released it: it goes first, and is not shown as queued.
    pub is_reacquiring: bool,
}

/// An agent that is about to join.
#[derive(Debug)]
pub struct NewAgent<F> {
    /// Describes it, given its number in the session.
    pub info: F,
    /// Its number if it is resumed; a new agent gets the next one.
    pub number: Option<usize>,
    /// Carries its path.
    pub events: EventSink,
    /// Its parent's queue, for its result when no call waits for it.
    pub report_to: Inbox,
    pub budget: Budget,
    /// Whether it may wait for a slot; otherwise it is refused if there is none.
    pub may_queue: bool,
}

/// The parts of its entry that a handle holds.
#[derive(Debug)]
pub(super) struct HandleParts {
    pub id: AgentId,
    pub info: AgentInfo,
    pub cancel: CancellationToken,
    pub inbox: Inbox,
    pub detached: CancellationToken,
    pub started: Arc<Notify>,
}
