//! Background agents, and their rows between the body and the prompt.

use std::time::Duration;

use crate::protocol::{AgentInfo, AgentPath};
use crate::tui::agents::{AgentSet, AgentState, FirstRun, TranscriptLocation, tree_order};
use crate::tui::background::ENDED_ROW_TIME;

impl AgentSet {
    /// Agents that main's turn waits for.
    pub fn foreground(&self) -> impl Iterator<Item = &AgentState> {
        self.alive().filter(|agent| !agent.in_background)
    }

    /// Agents that keep running after main's turn.
    pub fn background(&self) -> impl Iterator<Item = &AgentState> {
        self.alive().filter(|agent| agent.in_background)
    }

    /// Agents below `above` that it waits for: none on the path down is in the background.
    pub fn awaited_by(&self, above: &AgentPath) -> impl Iterator<Item = &AgentState> {
        self.within(above).filter(|agent| agent.alive()).filter(move |agent| {
            let mut path = agent.path.clone();
            while path.is_within(above) && path != *above {
                if self.get(&path).is_none_or(|step| step.info.background) {
                    return false;
                }
                match path.parent() {
                    Some(parent) => path = parent,
                    None => break,
                }
            }
            path == *above && agent.path != *above
        })
    }

    /// Agents with a row in the background strip, in the order of the panel.
    pub fn strip(&self) -> Vec<&AgentState> {
        tree_order(self.list.iter().filter(|agent| agent.in_strip).collect())
    }

    /// All agents that can have the focus: the panel first, then the background.
    pub fn visible(&self) -> Vec<&AgentState> {
        let mut visible = self.panel();
        visible.extend(self.strip());
        visible
    }

    /// Moves an agent and all agents below it from the panel to the background.
    pub fn move_to_background(&mut self, path: &AgentPath) {
        let Some(agent) = self.get_mut(path) else { return };
        agent.info.background = true;
        for agent in self.list.iter_mut().filter(|agent| agent.path.is_within(path)) {
            agent.in_background = true;
            agent.in_strip |= agent.alive();
            agent.in_panel = false;
        }
    }

    /// Resumes an ended agent in the background. Keeps its task, transcript and number.
    pub fn restart(&mut self, path: &AgentPath, info: AgentInfo, at: Duration) {
        let agents = self.list.len();
        let Some(agent) = self.get_mut(path) else { return };
        if agent.first_run.is_none() {
            let transcript = std::mem::take(&mut agent.transcript);
            let location = TranscriptLocation::Missing;
            let first = AgentState { location, in_panel: false, ..agent.clone() };
            agent.first_run = Some(Box::new(FirstRun { agent: first, agents }));
            agent.transcript = transcript;
        }
        agent.run.resume(info.max_turns, at);
        let AgentInfo { prompt, description, .. } = agent.info.clone();
        agent.resume_prompt = Some(info.prompt.clone());
        agent.info = AgentInfo { background: true, prompt, description, ..info };
        agent.outcome = None;
        agent.stopped_with_main = false;
        agent.stopped_with_parent = false;
        agent.result_read = false;
        agent.in_background = true;
        agent.in_panel = false;
        self.add_to_strip(path);
    }

    /// Adds a row for an agent to the background strip.
    pub(super) fn add_to_strip(&mut self, path: &AgentPath) {
        if let Some(agent) = self.get_mut(path) {
            agent.in_strip = true;
        }
    }

    /// Marks the result of a direct child of `reader` as read.
    pub fn mark_result_read(&mut self, reader: &AgentPath, name: &str) {
        let from = |agent: &&mut AgentState| {
            agent.info.name == name && agent.path.parent().as_ref() == Some(reader)
        };
        for agent in self.list.iter_mut().filter(from) {
            agent.result_read |= !agent.alive();
        }
    }

    /// When the next row of an ended agent disappears; a focused one stays.
    pub fn next_expiry(&self, focus: Option<&AgentPath>) -> Option<Duration> {
        let rows = self.list.iter().filter(|agent| Some(&agent.path) != focus);
        rows.filter_map(expires_at).min()
    }

    /// Removes expired rows. Returns whether there were any.
    pub fn expire(&mut self, now: Duration, focus: Option<&AgentPath>) -> bool {
        let mut gone = false;
        for agent in &mut self.list {
            if Some(&agent.path) != focus && expires_at(agent).is_some_and(|at| at <= now) {
                agent.in_strip = false;
                gone = true;
            }
        }
        gone
    }
}

fn expires_at(agent: &AgentState) -> Option<Duration> {
    let ended = agent.run.ended.filter(|_| agent.in_strip && !agent.alive())?;
    Some(if agent.result_read { Duration::ZERO } else { ended + ENDED_ROW_TIME })
}
