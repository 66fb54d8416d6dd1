//! Whom main's turn waits for.

use super::{Agent, Model};

/// The tool by which main waits for an agent in the background.
const WAIT_TOOL: &str = "agent_wait";

impl Model {
    /// The agents that the turn waits for: those in the foreground, and those that a running call
    /// names to wait for.
    #[must_use]
    pub fn waited_for(&self) -> Vec<&Agent> {
        let waits = self.run.tools.iter().filter(|tool| tool.name == WAIT_TOOL);
        let named: Vec<&str> = waits.flat_map(|tool| words_of(&tool.summary)).collect();
        let meant = |agent: &Agent| {
            let id = agent.id.to_string();
            named.iter().any(|word| *word == agent.info.name || *word == id)
        };
        self.agents.alive().filter(|agent| !agent.aside || meant(agent)).collect()
    }
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split_whitespace();
    words.map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()))
}
