//! Ends a headless run: cancels background agents, and writes their ends before the last frame.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::protocol::{AgentEvent, AgentId, EventKind, RunOutcome};

/// How long to wait for cancelled agents before writing the last frame. Shorter than the time a run
/// may take to end after a signal.
const AGENTS_WAIT: Duration = Duration::from_secs(4);

/// The state of ending a run.
///
/// # States
/// - *open*: prompts can still arrive. A finished prompt's result is written at once; background
///   agents continue.
/// - *ending*: no more prompts can arrive, or a signal has stopped the run. All agents are
///   cancelled, including those that still start. The result of the last prompt is held until they
///   have ended, so that it stays the last frame. If no prompt is active (stdin was closed later),
///   its result was already written.
/// - *over*: no prompt is active, and all agents have ended or timed out. The held result is written.
#[derive(Default)]
pub(super) struct ShutdownState {
    /// Agents that have not ended.
    live: BTreeSet<AgentId>,
    /// The deadline for them; absent while the run is open.
    until: Option<Instant>,
    /// The held result.
    held: Option<FinalResult>,
}

/// The result of the last prompt.
pub(super) struct FinalResult {
    pub outcome: RunOutcome,
    /// The origin of its prompt, if the program gave one.
    pub origin: Option<Value>,
}

impl ShutdownState {
    /// Handles an event. Returns an agent to cancel, because it started too late.
    pub fn event(&mut self, event: &AgentEvent) -> Option<AgentId> {
        let id = event.path.id()?;
        match &event.kind {
            EventKind::Started(_) => {
                self.live.insert(id);
                return self.until.map(|_| id);
            }
            EventKind::Finished(_) => {
                self.live.remove(&id);
            }
            _ => {}
        }
        None
    }

    /// Starts ending. Returns the agents to cancel; none when called again.
    pub fn begin(&mut self) -> Vec<AgentId> {
        if self.until.is_some() {
            return Vec::new();
        }
        self.until = Some(Instant::now() + AGENTS_WAIT);
        self.live.iter().copied().collect()
    }

    /// Holds a result until the agents have ended. Returns it if there are none.
    pub fn hold(&mut self, result: FinalResult) -> Option<FinalResult> {
        if self.live.is_empty() {
            return Some(result);
        }
        self.held = Some(result);
        None
    }

    /// Whether a result is held.
    pub fn is_holding(&self) -> bool {
        self.held.is_some()
    }

    /// Whether all agents have ended or timed out.
    pub fn is_over(&self) -> bool {
        self.live.is_empty() || self.until.is_some_and(|until| until <= Instant::now())
    }

    /// Takes the held result.
    pub fn take_held(&mut self) -> Option<FinalResult> {
        self.held.take()
    }

    /// Waits for the deadline; forever while the run is open.
    pub async fn wait_overdue(&self) {
        match self.until {
            Some(until) => tokio::time::sleep_until(until).await,
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::protocol::{AgentInfo, AgentPath, RunEnd, ToolUseId};

    fn event(id: AgentId, kind: EventKind) -> AgentEvent {
        AgentEvent { path: AgentPath::root().child(id), seq: 0, at: Timestamp::now(), kind }
    }

    fn started(id: AgentId) -> AgentEvent {
        let info = AgentInfo {
            name: "explore-1".to_owned(),
            number: 0,
            agent: "explore".to_owned(),
            description: "look around".to_owned(),
            prompt: "look".to_owned(),
            model: "m".to_owned(),
            tool_use_id: ToolUseId::new("toolu_1"),
            max_turns: 20,
            max_usd: None,
            color: None,
            background: true,
        };
        event(id, EventKind::Started(Box::new(info)))
    }

    fn finished(id: AgentId) -> AgentEvent {
        let end = RunEnd::Cancelled { before_start: false };
        event(id, EventKind::Finished(Box::new(RunOutcome::without_work(end))))
    }

    fn result() -> FinalResult {
        FinalResult { outcome: RunOutcome::without_work(RunEnd::Completed), origin: None }
    }

    #[test]
    fn an_agent_that_starts_while_the_run_ends_is_cancelled_and_waited_for_too() {
        let (early, late) = (AgentId::generate(), AgentId::generate());
        let mut ending = ShutdownState::default();
        assert_eq!(ending.event(&started(early)), None, "the run is open");
        assert_eq!(ending.begin(), [early]);
        assert_eq!(ending.begin(), [], "each is cancelled once");
        assert_eq!(ending.event(&started(late)), Some(late));
        assert!(ending.hold(result()).is_none());
        assert_eq!(ending.event(&finished(early)), None);
        assert!(!ending.is_over() && ending.is_holding());
        ending.event(&finished(late));
        assert!(ending.is_over());
        assert!(ending.take_held().is_some() && ending.take_held().is_none());
    }

    #[test]
    fn agents_that_do_not_end_hold_the_last_result_for_a_while_only() {
        let mut ending = ShutdownState::default();
        assert!(ending.hold(result()).is_some(), "there is nobody to wait for");
        ending.event(&started(AgentId::generate()));
        assert!(!ending.is_over(), "an open run waits for its agents");
        ending.begin();
        assert!(ending.hold(result()).is_none() && !ending.is_over());
        ending.until = Some(Instant::now());
        assert!(ending.is_over() && ending.take_held().is_some());
    }
}
