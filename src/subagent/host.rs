//! Host mode: a sub-agent that stays after its first prompt and works again on each message.

use super::report::Reporter;
use super::tree::Membership;
use crate::agent::{Agent, Prompt};
use crate::budget::Budget;
use crate::protocol::{End, EventSink, Journal, Outcome, QueuedPrompt};

use super::life::work;

/// A sub-agent that stays.
pub(super) struct Host<'a> {
    pub agent: &'a mut Agent,
    pub member: &'a Membership,
    pub events: &'a EventSink,
    pub budget: &'a Budget,
    pub reporter: Reporter<'a>,
    pub journal: &'a dyn Journal,
}

impl Host<'_> {
    /// From the end of its first run to its own: when a run does not complete, its time is over, or
    /// it is cancelled. Answers with all of its runs as one, and the text of the last.
    pub async fn stay(self, first: Outcome) -> Outcome {
        let mut answer = Some(self.answer(&first));
        let mut total = first;
        while total.end == End::Completed {
            self.member.rest(answer.take());
            if let Some(end) = self.woken().await {
                total.end = end;
                break;
            }
            // It may have been taken back again.
            let Some(next) = self.member.inbox().take_first() else { continue };
            let QueuedPrompt { id, text, meaning, from, report, .. } = next;
            let prompt = Prompt { id: Some(id), from, meaning, report, ..Prompt::new(text) };
            let run = work(self.agent, Some(prompt), self.events, self.member).await;
            answer = Some(self.answer(&run));
            total = sum(&total, run);
        }
        // The end that counts is the last one that is written; each run has written its own.
        if let Err(error) = self.journal.finish(&total).await {
            tracing::warn!(%error, "the end of an agent could not be written");
        }
        total
    }

    /// Waits for a message; the end, if that comes first.
    async fn woken(&self) -> Option<End> {
        tokio::select! {
            biased;
            limit = self.budget.out_of_time() => Some(End::TimeLimit { limit }),
            roused = self.member.roused() => (!roused).then_some(End::Cancelled { before_start: false }),
        }
    }

    fn answer(&self, run: &Outcome) -> String {
        let Reporter { id, name, .. } = self.reporter;
        let (text, _) = self.reporter.report(run);
        format!("[{name} ({id}) has answered, and stays for messages. Its answer:]\n\n{text}")
    }
}

/// Two runs in a row as one.
fn sum(before: &Outcome, run: Outcome) -> Outcome {
    let mut total = Outcome {
        turns: before.turns + run.turns,
        tool_uses: before.tool_uses + run.tool_uses,
        took: before.took + run.took,
        ..run
    };
    total.usage += before.usage;
    total.cost += before.cost;
    total
}
