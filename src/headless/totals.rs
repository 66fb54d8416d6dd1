//! Sums over the whole tree of agents, for the result frame.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::protocol::{AgentEvent, Cost, EventKind, Usage};

/// What a session has used and been refused so far.
#[derive(Debug)]
pub struct Totals {
    pub began: Instant,
    /// Time spent waiting for models, all agents added up.
    pub api_time: Duration,
    pub cost: Cost,
    pub models: BTreeMap<String, (Usage, Cost)>,
    /// As the result frame lists them.
    pub denials: Vec<Value>,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            api_time: Duration::ZERO,
            cost: Cost::default(),
            models: BTreeMap::new(),
            denials: Vec::new(),
        }
    }
}

impl Totals {
    /// Takes one event into account.
    pub fn add(&mut self, event: &AgentEvent) {
        match &event.kind {
            EventKind::TurnFinished { usage, cost, model, api_time, .. } => {
                self.api_time += *api_time;
                self.cost += *cost;
                let (all_usage, all_cost) = self.models.entry(model.clone()).or_default();
                *all_usage += *usage;
                *all_cost += *cost;
            }
            EventKind::PermissionDenied { id, tool, input, .. } => {
                self.denials.push(json!({
                    "tool_name": tool,
                    "tool_use_id": id,
                    "tool_input": input,
                }));
            }
            _ => {}
        }
    }
}
