//! The end of a run without a screen: what still works in the background is cancelled, and its end
//! is written before the last frame is.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::protocol::{AgentEvent, AgentId, EventKind, Outcome};

/// How long cancelled agents may take to end before the last frame is written without them. Less
/// than what a run may take to end after a signal.
const AGENTS_WAIT: Duration = Duration::from_secs(4);

/// What a run waits for at its end.
///
/// # States
/// - *open*: prompts can still come. A finished prompt's result is written at once; agents in the
///   background go on.
/// - *ending*: no prompt can come any more, or a signal has stopped the run. All agents are
///   cancelled, those that still start too. The result of the last prompt is held until they have
///   ended, so that it stays the last frame. Without a prompt under way (stdin was closed later)
///   there is no result to hold: it was written before.
/// - *over*: no prompt is under way, and all agents have ended or took too long. The result that
///   was held is written.
#[derive(Default)]
pub(super) struct Ending {
    /// Agents that have not ended.
    live: BTreeSet<AgentId>,
    /// When the wait for them is over; absent while the run is open.
    until: Option<Instant>,
    /// The result that is written last.
    held: Option<LastResult>,
}

/// The result of the prompt that was the last one.
pub(super) struct LastResult {
    pub outcome: Outcome,
    /// Who its prompt came from, where the program has said so.
    pub origin: Option<Value>,
}

impl Ending {
    /// Takes an event into account. Answers with an agent that is to be cancelled, because it
    /// started too late.
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

    /// Begins to end. Answers with the agents that are to be cancelled: once, and later with none.
    pub fn begin(&mut self) -> Vec<AgentId> {
        if self.until.is_some() {
            return Vec::new();
        }
        self.until = Some(Instant::now() + AGENTS_WAIT);
        self.live.iter().copied().collect()
    }

    /// Keeps a result until the agents have ended; gives it back when there are none to wait for.
    pub fn hold(&mut self, result: LastResult) -> Option<LastResult> {
        if self.live.is_empty() {
            return Some(result);
        }
        self.held = Some(result);
        None
    }

    /// Whether a result waits for the agents to end.
    pub fn is_holding(&self) -> bool {
        self.held.is_some()
    }

    /// Whether nothing is waited for any more.
    pub fn is_over(&self) -> bool {
        self.live.is_empty() || self.until.is_some_and(|until| until <= Instant::now())
    }

    /// The result that was held, only once.
    pub fn take_held(&mut self) -> Option<LastResult> {
        self.held.take()
    }

    /// Waits until the agents have taken too long; for ever while the run is open.
    pub async fn overdue(&self) {
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
    use crate::protocol::{AgentInfo, AgentPath, End, ToolUseId};

    fn event(id: AgentId, kind: EventKind) -> AgentEvent {
        AgentEvent { path: AgentPath::root().child(id), seq: 0, at: Timestamp::now(), kind }
    }

    fn started(id: AgentId) -> AgentEvent {
        let info = AgentInfo {
            name: "explore-1".to_owned(),
            agent: "explore".to_owned(),
            description: "look around".to_owned(),
            prompt: "look".to_owned(),
            model: "m".to_owned(),
            tool_use_id: ToolUseId::new("toolu_1"),
            max_turns: 20,
            color: None,
            background: true,
        };
        event(id, EventKind::Started(Box::new(info)))
    }

    fn finished(id: AgentId) -> AgentEvent {
        let end = End::Cancelled { before_start: false };
        event(id, EventKind::Finished(Box::new(Outcome::without_work(end))))
    }

    fn result() -> LastResult {
        LastResult { outcome: Outcome::without_work(End::Completed), origin: None }
    }

    #[test]
    fn an_agent_that_starts_while_the_run_ends_is_cancelled_and_waited_for_too() {
        let (early, late) = (AgentId::generate(), AgentId::generate());
        let mut ending = Ending::default();
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
        let mut ending = Ending::default();
        assert!(ending.hold(result()).is_some(), "there is nobody to wait for");
        ending.event(&started(AgentId::generate()));
        assert!(!ending.is_over(), "an open run waits for its agents");
        ending.begin();
        assert!(ending.hold(result()).is_none() && !ending.is_over());
        ending.until = Some(Instant::now());
        assert!(ending.is_over() && ending.take_held().is_some());
    }
}
