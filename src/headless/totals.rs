//! Sums over the whole tree of agents, for the result frame.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::protocol::{AgentEvent, Cost, EventKind, ToolUseId, Usage};

/// Totals of a session and of the current prompt.
#[derive(Debug)]
pub struct Totals {
    /// When the current prompt was sent.
    pub began: Instant,
    /// Time spent waiting for models since then, summed over all agents.
    pub api_time: Duration,
    /// Of the session.
    pub cost: Cost,
    /// Of the session.
    pub models: BTreeMap<String, (Usage, Cost)>,
    /// Whether the main agent has started calls since its last request.
    pub in_tools: bool,
    /// Calls denied since the current prompt was sent.
    pub denials: Vec<DeniedCall>,
}

/// A denied call.
#[derive(Debug)]
pub struct DeniedCall {
    pub tool: String,
    pub id: ToolUseId,
    pub input: Value,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            api_time: Duration::ZERO,
            cost: Cost::default(),
            models: BTreeMap::new(),
            in_tools: false,
            denials: Vec::new(),
        }
    }
}

impl Totals {
    /// Resets the totals of the current prompt.
    pub fn next_prompt(&mut self) {
        self.began = Instant::now();
        self.api_time = Duration::ZERO;
        self.denials.clear();
        self.in_tools = false;
    }

    /// Adds the cost of a request.
    fn charge(&mut self, event: &AgentEvent) {
        if let EventKind::TurnFinished { usage, cost, model, .. } = &event.kind {
            self.cost += *cost;
            // Old files do not always name the model.
            if model.is_empty() {
                return;
            }
            let (all_usage, all_cost) = self.models.entry(model.clone()).or_default();
            *all_usage += *usage;
            *all_cost += *cost;
        }
    }

    /// Adds an event.
    pub fn add(&mut self, event: &AgentEvent) {
        match &event.kind {
            // Totals are per session.
            EventKind::SessionOpened { history, forked, .. } => {
                self.cost = Cost::default();
                self.models.clear();
                if !*forked {
                    history.iter().for_each(|event| self.charge(event));
                }
            }
            EventKind::TurnFinished { api_time, .. } => {
                self.api_time += *api_time;
                self.charge(event);
            }
            EventKind::TurnStarted { .. } if event.path.is_root() => self.in_tools = false,
            EventKind::ToolStarted { .. } if event.path.is_root() => self.in_tools = true,
            EventKind::PermissionDenied { id, tool, input, .. } => {
                let (tool, id, input) = (tool.clone(), id.clone(), input.clone());
                self.denials.push(DeniedCall { tool, id, input });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{AgentPath, SessionId};

    fn event(kind: EventKind) -> AgentEvent {
        AgentEvent { path: AgentPath::root(), seq: 0, at: jiff::Timestamp::now(), kind }
    }

    fn request(model: &str, input_tokens: u64) -> AgentEvent {
        event(EventKind::TurnFinished {
            usage: Usage { input_tokens, ..Usage::default() },
            cost: Cost { usd: 1.0, ..Cost::default() },
            model: model.to_owned(),
            api_time: Duration::ZERO,
            whole: true,
        })
    }

    fn opened(forked: bool) -> Totals {
        let history = vec![request("m", 10), request("", 20)];
        let mut totals = Totals::default();
        totals.add(&event(EventKind::SessionOpened { id: SessionId::generate(), history, forked }));
        totals.add(&request("m", 5));
        totals
    }

    fn tokens(totals: &Totals) -> Vec<(&str, u64)> {
        let models = totals.models.iter();
        models.map(|(model, (usage, _))| (model.as_str(), usage.input_tokens)).collect()
    }

    #[test]
    fn the_history_of_a_session_counts_but_names_no_model_that_is_not_known() {
        let totals = opened(false);
        assert_eq!((tokens(&totals), totals.cost.usd), (vec![("m", 15)], 3.0));
    }

    #[test]
    fn the_history_of_a_fork_was_paid_for_by_another_session() {
        let totals = opened(true);
        assert_eq!((tokens(&totals), totals.cost.usd), (vec![("m", 5)], 1.0));
    }
}
