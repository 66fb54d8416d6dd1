//! What the tree knows of one sub-agent.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Done;
use crate::agent::{Announcement, Inbox};
use crate::budget::Budget;
use crate::protocol::event::AgentReport;
use crate::protocol::{AgentId, AgentInfo, AgentPath, End, EventSink, Outcome, PromptId};

/// Where an agent is in its life.
#[derive(Clone, Debug)]
pub enum Phase {
    /// It waits for a slot.
    Queued,
    Running,
    Ended(Arc<Ended>),
}

impl Phase {
    /// The phase in one word.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Queued => Status::Queued,
            Self::Running => Status::Running,
            Self::Ended(ended) => Status::of(&ended.outcome.end),
        }
    }
}

/// How an agent ended, and what its parent gets of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub info: AgentInfo,
    pub outcome: Outcome,
    pub report: AgentReport,
    /// The text for the parent: cut to size, with a line on how it ended where that is needed.
    pub text: String,
}

/// An agent's life in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Queued,
    Running,
    Completed,
    Failed,
    Cancelled,
}

impl Status {
    /// How a run ended, in one word. What is partial is not a success.
    #[must_use]
    pub fn of(end: &End) -> Self {
        match end {
            End::Completed => Self::Completed,
            End::Cancelled { .. } => Self::Cancelled,
            _ => Self::Failed,
        }
    }

    /// Whether nothing more will come of it.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// The word in results of tools.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// One agent as others see it.
#[derive(Clone, Debug)]
pub struct Listed {
    pub id: AgentId,
    pub path: AgentPath,
    pub info: AgentInfo,
    pub phase: Phase,
    pub background: bool,
    /// Since it joined, or all that it took.
    pub took: Duration,
    /// Tokens that it and all below it have used.
    pub tokens: u64,
}

impl Listed {
    /// Its life in one word.
    #[must_use]
    pub fn status(&self) -> Status {
        self.phase.status()
    }
}

/// How many agents of a list are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub running_count: usize,
    pub completed_count: usize,
    pub failed_count: usize,
    pub cancelled_count: usize,
    pub queued_count: usize,
    pub total_count: usize,
}

impl Counts {
    /// Counts a list.
    #[must_use]
    pub fn of(list: &[Listed]) -> Self {
        let mut counts = Self { total_count: list.len(), ..Self::default() };
        for agent in list {
            *match agent.status() {
                Status::Queued => &mut counts.queued_count,
                Status::Running => &mut counts.running_count,
                Status::Completed => &mut counts.completed_count,
                Status::Failed => &mut counts.failed_count,
                Status::Cancelled => &mut counts.cancelled_count,
            } += 1;
        }
        counts
    }
}

/// The tree's own record of one agent.
#[derive(Debug)]
pub(super) struct Entry {
    pub id: AgentId,
    /// Counts up, for the order of start.
    pub number: u64,
    pub path: AgentPath,
    pub info: AgentInfo,
    pub phase: Phase,
    pub background: bool,
    pub joined: Instant,
    pub cancel: CancellationToken,
    /// Whether `cancel` was fired because its parent's run was stopped while a call waited for it.
    pub with_parent: bool,
    pub inbox: Inbox,
    pub budget: Option<Budget>,
    /// Whether it counts against the limit of agents at work.
    pub has_slot: bool,
    /// Whether it has answered and waits for a message: then nobody waits for it.
    pub resting: watch::Sender<bool>,
    /// Messages that its parent has sent it.
    pub sent: Vec<PromptId>,
    /// Calls of its own that wait for other agents.
    pub waits: usize,
    pub done: Done,
    /// Fires when it goes to the background.
    pub detached: CancellationToken,
    /// Its parent's queue, and while it runs in the background the announcement there.
    pub report_to: Inbox,
    pub announcement: Option<Announcement>,
    /// Carries its path.
    pub events: EventSink,
    /// The message with its result, until that is handed over.
    pub pushed: Option<(Inbox, PromptId)>,
}

impl Entry {
    pub fn status(&self) -> Status {
        self.phase.status()
    }

    /// Whether it counts against its parent's limit. One that rests would hold the place for as
    /// long as nobody needs it.
    pub fn is_at_work(&self) -> bool {
        matches!(self.phase, Phase::Running) && !*self.resting.borrow()
    }

    /// Whether it stands below `path`, at any depth.
    pub fn is_below(&self, path: &AgentPath) -> bool {
        self.path != *path && self.path.is_within(path)
    }

    /// What one needs to end it and to see it end.
    pub fn watched(&self) -> (CancellationToken, watch::Receiver<Option<Arc<Ended>>>) {
        (self.cancel.clone(), self.done.subscribe())
    }

    pub fn listed(&self) -> Listed {
        let (took, tokens) = match &self.phase {
            Phase::Ended(ended) => (ended.outcome.took, ended.outcome.usage.counted()),
            _ => {
                let spent = self.budget.as_ref().map(|budget| budget.spent().usage.counted());
                (self.joined.elapsed(), spent.unwrap_or_default())
            }
        };
        Listed {
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
