//! Says when agents start, queue and end.

use std::collections::HashMap;

use super::speech::Speech;
use crate::protocol::{AgentPath, quoted};
use crate::tui::agents::result::result_line;
use crate::tui::agents::{AgentState, RunPhase};
use crate::tui::format::clock;
use crate::tui::labels;
use crate::tui::model::TuiModel;
use crate::tui::text::{one_line, truncate};

/// Cells of an agent's result in the line about its end.
const RESULT_WIDTH: usize = 200;

/// The state of an agent as it was last said.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Queued,
    Running,
    Ended,
}

/// The same for each agent.
#[derive(Default)]
pub(super) struct AgentLog(HashMap<AgentPath, Stage>);

impl AgentLog {
    pub fn say(&mut self, model: &TuiModel, speech: &mut Speech) {
        for agent in model.agents.iter() {
            let stage = match &agent.run.phase {
                RunPhase::Ended(_) => Stage::Ended,
                RunPhase::Queued { .. } => Stage::Queued,
                _ => Stage::Running,
            };
            let before = self.0.insert(agent.path.clone(), stage);
            match (before, stage) {
                // Agents of a stored session.
                (None, Stage::Ended) => {}
                (before, stage) if before == Some(stage) => {}
                (_, Stage::Queued) => speech.line(&format!("Queued: {}.", title(agent))),
                (Some(Stage::Ended), Stage::Running) => {
                    speech.line(&format!("Resumed: {}.", title(agent)));
                }
                (_, Stage::Running) => speech.line(&format!("Started: {}.", title(agent))),
                (_, Stage::Ended) => speech.line(&end(model, agent)),
            }
        }
    }
}

/// `agent 2, "find the slow query" (explore-2)`.
pub(super) fn title(agent: &AgentState) -> String {
    let task = quoted(&one_line(&agent.info.description));
    format!("agent {}, {task} ({})", agent.number, one_line(&agent.info.name))
}

fn end(model: &TuiModel, agent: &AgentState) -> String {
    let state = labels::agent_status(model, agent).text;
    let time = agent.run.elapsed(model.now).map(|time| format!(", {}", clock(time)));
    let time = time.unwrap_or_default();
    let result = result_line(agent).unwrap_or_default();
    let line = format!("Ended, {state}{time}: {}. {result}", title(agent));
    truncate(line.trim_end(), RESULT_WIDTH).into_owned()
}
