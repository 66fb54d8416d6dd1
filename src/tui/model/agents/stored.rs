//! Agents of a stored session: all of them have ended, and each conversation is read when it is first shown.

use std::time::Duration;

use crate::protocol::{AgentPath, End, EventKind, Outcome};

use super::{Agent, Agents, Kept};

impl Agents {
    /// Ends the history of a session: no agent of it is alive or keeps a row in the background.
    pub fn close_history(&mut self, at: Duration) {
        for agent in &mut self.list {
            if agent.alive() {
                let outcome = Outcome::without_work(End::Interrupted);
                agent.run.follow(&EventKind::Finished(Box::new(outcome.clone())), at);
                agent.outcome = Some(outcome);
            }
            if let Some(outcome) = &agent.outcome {
                agent.transcript.text_finished(&outcome.text);
            }
            if agent.kept == Kept::Here {
                agent.kept = Kept::OnDisk;
            }
            agent.in_strip = false;
            agent.read = true;
        }
    }

    /// Ends an agent that is known only by its report.
    pub fn report(&mut self, path: &AgentPath, outcome: Outcome, at: Duration) {
        let Some(agent) = self.get_mut(path) else { return };
        let began = outcome.end != (End::Cancelled { before_start: true });
        agent.run.started = began.then_some(at);
        agent.run.turn = outcome.turns;
        (agent.run.usage, agent.run.cost) = (outcome.usage, outcome.cost);
        agent.run.follow(&EventKind::Finished(Box::new(outcome.clone())), at + outcome.took);
        agent.outcome = Some(outcome);
        agent.kept = Kept::Gone;
    }

    /// Marks the agents on the screen whose conversation is on disk as asked for, and returns them.
    pub fn ask_for_seen(&mut self, read: Option<&AgentPath>) -> Vec<crate::protocol::AgentId> {
        let seen = |agent: &&mut Agent| {
            let on_screen = agent.shown || agent.in_strip || read == Some(&agent.path);
            on_screen && agent.kept == Kept::OnDisk && !agent.alive()
        };
        let wanted = self.list.iter_mut().filter(seen);
        let asked = wanted.map(|agent| {
            agent.kept = Kept::AskedFor;
            agent.id
        });
        asked.collect()
    }
}
