//! The agents that main's turn waits for.

use crate::tui::agents::AgentState;
use crate::tui::model::TuiModel;

/// The tool with which main waits for background agents.
const WAIT_TOOL: &str = "agent_wait";

impl TuiModel {
    /// The agents that the turn waits for: those in the foreground, and those named by a running
    /// `agent_wait` call.
    pub fn awaited_agents(&self) -> Vec<&AgentState> {
        let waits = self.run.tools.iter().filter(|tool| tool.name == WAIT_TOOL);
        let named: Vec<&str> = waits.flat_map(|tool| split_words(&tool.summary)).collect();
        let meant = |agent: &AgentState| {
            let id = agent.id.to_string();
            named.iter().any(|word| *word == agent.info.name || *word == id)
        };
        self.agents.alive().filter(|agent| !agent.in_background || meant(agent)).collect()
    }
}

fn split_words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split_whitespace();
    words.map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()))
}
