//! Host mode: a sub-agent that stays after its first prompt and works again on each message.

use super::report::Reporter;
use super::tree::AgentHandle;
use crate::agent::{Agent, Prompt};
use crate::budget::Budget;
use crate::protocol::{EventSink, Journal, QueuedPrompt, RunEnd, RunOutcome};

use super::child::run_once;

/// A sub-agent that stays.
pub(super) struct HostLoop<'a> {
    pub agent: &'a mut Agent,
    pub handle: &'a AgentHandle,
    pub events: &'a EventSink,
    pub budget: &'a Budget,
    pub reporter: Reporter<'a>,
    pub journal: &'a dyn Journal,
}

impl HostLoop<'_> {
    /// Runs from the end of the first run until a run does not complete, its time is over, or it is
    /// cancelled. Returns all of its runs as one, with the text of the last.
    pub async fn run(self, first: RunOutcome) -> RunOutcome {
        let mut answer = Some(self.answer(&first));
        let mut total = first;
        while total.end == RunEnd::Completed {
            self.handle.idle(answer.take());
            if let Some(end) = self.wait_for_message().await {
                total.end = end;
                break;
            }
            // The message may have been taken back.
            let Some(next) = self.handle.inbox().take_first() else { continue };
            let QueuedPrompt { id, text, meaning, from, report, .. } = next;
            let prompt = Prompt { id: Some(id), from, meaning, report, ..Prompt::new(text) };
            let run = run_once(self.agent, Some(prompt), self.events, self.handle).await;
            answer = Some(self.answer(&run));
            total = add_runs(&total, run);
        }
        // The last end written is the one that counts; each run has written its own.
        if let Err(error) = self.journal.finish(&total).await {
            tracing::warn!(%error, "cannot write the end of an agent");
        }
        total
    }

    /// Waits for a message; returns the end if that comes first.
    async fn wait_for_message(&self) -> Option<RunEnd> {
        tokio::select! {
            biased;
            limit = self.budget.timed_out() => Some(RunEnd::TimeLimit { limit }),
            roused = self.handle.wait_for_wake() => (!roused).then_some(RunEnd::Cancelled { before_start: false }),
        }
    }

    fn answer(&self, run: &RunOutcome) -> String {
        let Reporter { id, name, .. } = self.reporter;
        let (text, _) = self.reporter.report(run);
        format!("[{name} ({id}) has answered, and stays for messages. Its answer:]\n\n{text}")
    }
}

/// Adds up two successive runs.
fn add_runs(before: &RunOutcome, run: RunOutcome) -> RunOutcome {
    let mut total = RunOutcome {
        turns: before.turns + run.turns,
        tool_uses: before.tool_uses + run.tool_uses,
        took: before.took + run.took,
        ..run
    };
    total.usage += before.usage;
    total.cost += before.cost;
    total
}
