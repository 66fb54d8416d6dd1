//! Agents that nobody's turn waits for: which those are, and the rows between the body and the
//! prompt that they have.

use std::time::Duration;

use crate::protocol::{AgentInfo, AgentPath};

use super::{Agent, Agents, in_order};

/// How long the end of a background agent or command stays in its row, if nobody reads the result before.
pub const LINGER: Duration = Duration::from_secs(10);

impl Agents {
    /// Those that main's turn waits for.
    pub fn foreground(&self) -> impl Iterator<Item = &Agent> {
        self.alive().filter(|agent| !agent.aside)
    }

    /// Those that go on when main's turn is over.
    pub fn background(&self) -> impl Iterator<Item = &Agent> {
        self.alive().filter(|agent| agent.aside)
    }

    /// Those below an agent that it waits for: no step of the way down is in the background.
    pub fn awaited(&self, above: &AgentPath) -> impl Iterator<Item = &Agent> {
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

    /// Those with a row among the background agents, in the order of the panel.
    #[must_use]
    pub fn strip(&self) -> Vec<&Agent> {
        in_order(self.list.iter().filter(|agent| agent.in_strip).collect())
    }

    /// Everyone who can have the focus: the panel first, then the background.
    #[must_use]
    pub fn visible(&self) -> Vec<&Agent> {
        let mut visible = self.shown();
        visible.extend(self.strip());
        visible
    }

    /// An agent with all below it goes on in the background: from the panel into the rows.
    pub fn move_aside(&mut self, path: &AgentPath) {
        let Some(agent) = self.get_mut(path) else { return };
        agent.info.background = true;
        for agent in self.list.iter_mut().filter(|agent| agent.path.is_within(path)) {
            agent.aside = true;
            agent.in_strip |= agent.alive();
            agent.shown = false;
        }
    }

    /// An ended agent goes on, in the background. It keeps its transcript, and its number if that is free.
    pub fn start_again(&mut self, path: &AgentPath, info: AgentInfo, at: Duration) {
        let Some(agent) = self.get_mut(path) else { return };
        agent.run.resume(info.max_turns, at);
        agent.info = AgentInfo { background: true, ..info };
        agent.outcome = None;
        agent.with_main = false;
        agent.read = false;
        agent.aside = true;
        agent.shown = false;
        self.put_in_strip(path);
    }

    /// Gives an agent a row in the background.
    pub(super) fn put_in_strip(&mut self, path: &AgentPath) {
        let Some(number) = self.get(path).map(|agent| agent.number) else { return };
        let clash =
            self.visible().iter().any(|other| other.number == number && other.path != *path);
        let number = if clash { self.free_number() } else { number };
        if let Some(agent) = self.get_mut(path) {
            agent.number = number;
            agent.in_strip = true;
        }
    }

    /// A result of an agent right below `reader` was read.
    pub fn result_read(&mut self, reader: &AgentPath, name: &str) {
        let from = |agent: &&mut Agent| {
            agent.info.name == name && agent.path.parent().as_ref() == Some(reader)
        };
        for agent in self.list.iter_mut().filter(from) {
            agent.read |= !agent.alive();
        }
    }

    /// When the next row of an ended agent goes; one with the focus stays.
    #[must_use]
    pub fn next_leave(&self, focus: Option<&AgentPath>) -> Option<Duration> {
        let rows = self.list.iter().filter(|agent| Some(&agent.path) != focus);
        rows.filter_map(leaves_at).min()
    }

    /// Takes the rows away whose time is over. Answers whether there were any.
    pub fn expire(&mut self, now: Duration, focus: Option<&AgentPath>) -> bool {
        let mut gone = false;
        for agent in &mut self.list {
            if Some(&agent.path) != focus && leaves_at(agent).is_some_and(|at| at <= now) {
                agent.in_strip = false;
                gone = true;
            }
        }
        gone
    }
}

fn leaves_at(agent: &Agent) -> Option<Duration> {
    let ended = agent.run.ended.filter(|_| agent.in_strip && !agent.alive())?;
    Some(if agent.read { Duration::ZERO } else { ended + LINGER })
}
