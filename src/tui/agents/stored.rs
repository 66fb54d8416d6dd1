//! Agents of a stored session. All have ended; each conversation is read when it is first shown.

use std::time::Duration;

use crate::protocol::{AgentPath, EventKind, RunEnd, RunOutcome};
use crate::tui::agents::{AgentSet, AgentState, TranscriptLocation};

impl AgentSet {
    /// Ends the history of a session: all its agents have ended and have no row in the background.
    pub fn end_history(&mut self, at: Duration) {
        for agent in &mut self.list {
            if agent.alive() {
                let outcome = RunOutcome::without_work(RunEnd::Interrupted);
                agent.run.apply(&EventKind::Finished(Box::new(outcome.clone())), at);
                agent.outcome = Some(outcome);
            }
            if let Some(outcome) = &agent.outcome {
                agent.transcript.text_finished(&outcome.text);
            }
            if agent.location == TranscriptLocation::Loaded {
                agent.location = TranscriptLocation::OnDisk;
            }
            agent.in_strip = false;
            agent.result_read = true;
        }
    }

    /// Ends an agent of which only the report is stored.
    pub fn add_report(&mut self, path: &AgentPath, outcome: RunOutcome, at: Duration) {
        let Some(agent) = self.get_mut(path) else { return };
        let began = outcome.end != (RunEnd::Cancelled { before_start: true });
        agent.run.started = began.then_some(at);
        agent.run.turn = outcome.turns;
        (agent.run.usage, agent.run.cost) = (outcome.usage, outcome.cost);
        agent.run.apply(&EventKind::Finished(Box::new(outcome.clone())), at + outcome.took);
        agent.outcome = Some(outcome);
        agent.location = TranscriptLocation::Missing;
    }

    /// Returns the visible agents whose conversations are on disk, and marks them as requested.
    pub fn request_visible(&mut self, read: Option<&AgentPath>) -> Vec<crate::protocol::AgentId> {
        let seen = |agent: &&mut AgentState| {
            let on_screen = agent.in_panel || agent.in_strip || read == Some(&agent.path);
            on_screen && agent.location == TranscriptLocation::OnDisk && !agent.alive()
        };
        let wanted = self.list.iter_mut().filter(seen);
        let asked = wanted.map(|agent| {
            agent.location = TranscriptLocation::Requested;
            agent.id
        });
        asked.collect()
    }
}
