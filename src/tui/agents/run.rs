//! The state of one agent's run and its usage: the same for the main agent and sub-agents.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::protocol::{
    CompactionState, Cost, EventKind, Failure, ResultBlock, RunEnd, ToolDetails, ToolUseId, Usage,
    WaitKind,
};
use crate::tui::test_counts::TestCounts;

/// The start of a stored history on the screen's clock: later than anything that happens while the
/// program runs, so that their time spans never overlap.
pub const HISTORY_START: Duration = Duration::from_secs(1 << 32);

/// The state of one agent's run, fed from its events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunState {
    pub phase: RunPhase,
    /// When the phase began. All times are relative to the start of the screen.
    pub since: Duration,
    /// When the run started working; `None` while it is only queued.
    pub started: Option<Duration>,
    pub ended: Option<Duration>,
    /// Time of the last event of the agent.
    pub last_activity: Duration,
    pub turn: u32,
    pub limit: Option<u32>,
    /// Usage of all requests of this run, without sub-agents.
    pub usage: Usage,
    /// Cost of all requests of this run, without sub-agents.
    pub cost: Cost,
    /// Files changed in this run, with the numbers of added and removed lines.
    pub changes: BTreeMap<PathBuf, (usize, usize)>,
    /// The last tests run in this run, and when.
    pub tests: Option<(TestCounts, Duration)>,
    /// Whether something of the answer to the last request has arrived.
    pub answered: bool,
    /// Bytes of the answer that streams now.
    pub streamed: usize,
    /// When the answer that streams now began.
    pub stream_began: Option<Duration>,
    /// Tokens of the context window used by the last request.
    pub context: u64,
    /// Running calls, in order of start.
    pub tools: Vec<RunningTool>,
    /// Other things it waits for, in order of start, each with the time when the wait began.
    pub waits: Vec<(WaitKind, Duration)>,
    /// Whether the user has cancelled it and its end is still pending.
    pub cancelling: bool,
}

/// The phase of a run, without what it waits for.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum RunPhase {
    /// Not running (main between prompts).
    #[default]
    Idle,
    Queued {
        place: usize,
    },
    Starting,
    Thinking,
    Writing,
    /// Running tools.
    Tools,
    /// Waiting to retry a request.
    Retrying {
        until: Duration,
        attempt: u32,
        limit: u32,
        /// The failure, in a few words.
        cause: String,
    },
    /// Summarizing the conversation.
    Compacting,
    /// At work in another program, which has the session open.
    Elsewhere,
    Ended(RunEnd),
}

/// A call that has no result yet.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningTool {
    pub id: ToolUseId,
    pub name: String,
    pub summary: String,
    pub since: Duration,
}

impl RunState {
    /// Whether it is working or waiting.
    pub fn alive(&self) -> bool {
        !self.is_idle() || !self.waits.is_empty()
    }

    /// Whether no run is in progress. Main may still wait for something before its next run.
    pub fn is_idle(&self) -> bool {
        matches!(self.phase, RunPhase::Idle | RunPhase::Elsewhere | RunPhase::Ended(_))
    }

    /// Whether it waits for a free slot.
    pub fn queued(&self) -> bool {
        matches!(self.phase, RunPhase::Queued { .. })
    }

    /// Time it has worked so far, or in total; in another program, as far as that is known. `None` for a run
    /// that was killed with the program: nothing has noted when.
    pub fn elapsed(&self, now: Duration) -> Option<Duration> {
        if self.phase == RunPhase::Ended(RunEnd::Interrupted) {
            return None;
        }
        let now = if self.phase == RunPhase::Elsewhere { self.last_activity } else { now };
        Some(self.ended.unwrap_or(now).saturating_sub(self.started?))
    }

    /// Tokens of all answers so far; those of an unfinished one are estimated.
    pub fn output_tokens(&self) -> u64 {
        self.usage.output_tokens + self.streamed as u64 / 4
    }

    /// Estimated tokens per second of the answer that streams now; `None` until there is enough of it.
    pub fn rate(&self, now: Duration) -> Option<u64> {
        let time = now.saturating_sub(self.stream_began?);
        let streams = matches!(self.phase, RunPhase::Writing | RunPhase::Thinking);
        let tokens = self.streamed as u64 / 4;
        let enough = streams && time >= Duration::from_secs(2) && tokens > 0;
        enough.then(|| tokens * 1000 / u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    /// Adds to the answer that streams.
    fn stream(&mut self, text: &str, at: Duration) {
        self.streamed += text.len();
        self.stream_began.get_or_insert(at);
    }

    /// Starts a new run and resets what the previous one used.
    pub fn begin(&mut self, at: Duration) {
        let context = self.context;
        *self = Self { started: Some(at), last_activity: at, context, ..Self::default() };
        self.enter(RunPhase::Starting, at);
    }

    /// Resumes an ended run: turns count from zero again, usage and cost are kept.
    pub fn resume(&mut self, limit: u32, at: Duration) {
        let (usage, cost) = (self.usage, self.cost);
        self.begin(at);
        (self.usage, self.cost) = (usage, cost);
        self.limit = Some(limit);
    }

    /// Applies one event.
    pub fn apply(&mut self, kind: &EventKind, at: Duration) {
        self.last_activity = at;
        match kind {
            EventKind::Started(_) => self.enter(RunPhase::Starting, at),
            EventKind::Queued { place } => self.phase = RunPhase::Queued { place: *place },
            EventKind::TurnStarted { turn, limit } => {
                if self.is_idle() {
                    self.begin(at);
                }
                self.started.get_or_insert(at);
                self.answered = false;
                (self.turn, self.limit) = (*turn, *limit);
                self.enter(RunPhase::Starting, at);
            }
            EventKind::TextDelta { text } => {
                self.stream(text, at);
                self.answered = true;
                self.enter(RunPhase::Writing, at);
            }
            EventKind::ThinkingDelta { text } => {
                self.stream(text, at);
                self.answered = true;
                self.enter(RunPhase::Thinking, at);
            }
            EventKind::Retrying { attempt, limit, wait, failure, error, .. } => {
                let cause = match failure {
                    Failure::Connection if self.answered => "connection lost".to_owned(),
                    failure => failure.describe_with(Some(error)),
                };
                (self.streamed, self.answered, self.stream_began) = (0, false, None);
                let (until, attempt, limit) = (at + *wait, *attempt, *limit);
                self.enter(RunPhase::Retrying { until, attempt, limit, cause }, at);
            }
            EventKind::TurnFinished { usage, cost, .. } => {
                (self.streamed, self.stream_began) = (0, None);
                self.usage += *usage;
                self.cost += *cost;
                self.context = usage.context();
            }
            EventKind::Compaction { by_hand, state } => self.compaction(*by_hand, state, at),
            EventKind::ToolStarted { id, name, summary } => {
                let (id, name, summary) = (id.clone(), name.clone(), summary.clone());
                self.tools.push(RunningTool { id, name, summary, since: at });
                self.enter(RunPhase::Tools, at);
            }
            EventKind::ToolFinished { id, name, details, content, .. } => {
                // The calls of a stored agent have no names until its conversation is read.
                let is_command = matches!(details, Some(ToolDetails::Command { .. }));
                if (is_command || name == "Bash")
                    && let Some(tests) = counted_tests(content, details.as_ref())
                {
                    self.tests = Some((tests, at));
                }
                if let Some(ToolDetails::Diff { path, added, removed, .. }) = details {
                    let lines = self.changes.entry(path.clone()).or_default();
                    *lines = (lines.0 + added, lines.1 + removed);
                }
                self.tools.retain(|tool| tool.id != *id);
                if self.tools.is_empty() && self.phase == RunPhase::Tools {
                    self.enter(RunPhase::Starting, at);
                }
            }
            EventKind::WaitBegan(what) => self.waits.push((what.clone(), at)),
            EventKind::WaitEnded(what) => {
                let at = self.waits.iter().position(|(wait, _)| wait == what);
                at.map(|at| self.waits.remove(at));
            }
            EventKind::Finished(outcome) => {
                self.ended = Some(at);
                self.tools.clear();
                self.waits.clear();
                self.cancelling = false;
                self.enter(RunPhase::Ended(outcome.end.clone()), at);
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
                if self.is_idle() {
                    self.begin(at);
                }
                self.enter(RunPhase::Compacting, at);
            }
            _ if by_hand => {
                self.ended = Some(at);
                self.cancelling = false;
                self.enter(RunPhase::Idle, at);
            }
            _ => self.enter(RunPhase::Starting, at),
        }
    }

    fn enter(&mut self, phase: RunPhase, at: Duration) {
        if std::mem::discriminant(&self.phase) != std::mem::discriminant(&phase) {
            self.since = at;
        }
        self.phase = phase;
    }
}

/// The tests that a command ran. Those of a command that failed for another reason say nothing.
fn counted_tests(content: &[ResultBlock], details: Option<&ToolDetails>) -> Option<TestCounts> {
    let counts = TestCounts::parse(&ResultBlock::joined_text(content))?;
    let ended_well =
        matches!(details, None | Some(ToolDetails::Command { exit_code: Some(0), .. }));
    (ended_well || counts.failed > 0).then_some(counts)
}
