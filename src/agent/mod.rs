//! The loop: ask the model, run the tools it asked for, repeat.
//!
//! An agent is a straight-line `async fn`. It knows tools only by their trait, so a tool that runs
//! another agent's loop is nothing special to it. Every wait ends at once when the agent's token is
//! cancelled. However a run ends, the conversation stays one that a provider accepts: each call has
//! its result.

use tokio_util::sync::CancellationToken;

use crate::protocol::{
    ContentBlock, EventKind, EventSink, Failure, Message, Role, RunEnd, RunOutcome, Sender,
    StopReason, remark,
};

mod call;
mod call_ids;
mod call_order;
mod call_result;
pub mod compact;
mod concurrency;
mod conversation;
mod dispatch;
mod hooks;
mod inbox;
mod mask_keys;
mod meter;
mod prompts;
mod record;
mod rejected;
mod request;
mod run;
mod size;
mod state;
pub mod system_prompt;
#[cfg(test)]
mod tests;
mod time_limit;
mod wait_for_background;

use compact::trigger::CompactTrigger;
pub use concurrency::{ConcurrencyLimit, Permit};
pub use inbox::{Announcement, Inbox};
use prompts::read_prompt;
pub use prompts::{Prompt, PromptContext};
use run::{AgentRun, RunError, run_within_limit};
pub use run::{ArgMatch, ForcedCall};
pub use state::{Agent, AgentSetup, RunSlot};

/// The number of useless answers in a row after which a run ends: each costs as much as a useful
/// one.
const MAX_FRUITLESS_TURNS: u32 = 3;

impl Agent {
    /// Works on a prompt, or without one once more on the last, until the model is done, a limit is
    /// reached, something fails, or `cancel` fires. Its last event is `Finished` with the outcome.
    pub async fn run(
        &mut self,
        prompt: Option<Prompt>,
        events: &EventSink,
        cancel: &CancellationToken,
    ) -> RunOutcome {
        let outcome = self.run_quietly(prompt, events, cancel).await;
        events.emit(EventKind::Finished(Box::new(outcome.clone())));
        outcome
    }

    /// Does the same without the last event, for a caller that has more to do before it reports the
    /// end.
    pub async fn run_quietly(
        &mut self,
        prompt: Option<Prompt>,
        events: &EventSink,
        cancel: &CancellationToken,
    ) -> RunOutcome {
        let stop = cancel.child_token();
        let budget = self.setup.budget.for_run(self.setup.per_run);
        let mut run = AgentRun::new(budget.clone(), events, &stop);
        self.end_unreported = true;
        let end =
            run_within_limit(&budget, cancel, &stop, self.drive_to_end(prompt, &mut run)).await;
        self.notify_end(&run.text, events);
        self.was_stopped = matches!(end, RunEnd::Cancelled { .. });
        self.ended_fatally = matches!(end, RunEnd::Failed { failure, .. } if failure.is_fatal());
        let outcome = RunOutcome {
            end,
            api_error: run.api_error,
            rejected: run.rejected,
            text: run.text,
            turns: run.turns,
            tool_uses: run.tool_uses,
            usage: run.usage,
            cost: run.budget.spent().cost,
            took: run.started.elapsed(),
        };
        if !run.events.path().is_root() {
            self.setup.tools.end(run.events.path()).await;
        }
        // Prompts queued for later are read later, but only if the run was not stopped, and never
        // by a sub-agent.
        if !run.events.path().is_root() || outcome.end != RunEnd::Completed {
            self.return_queue(events);
        }
        if let Err(error) = self.setup.journal.finish(&outcome).await {
            tracing::warn!(%error, "cannot write the end of a run");
        }
        outcome
    }

    /// Stops what calls left running and writes the end, for a run broken off by an internal bug.
    pub async fn clear_up(&mut self, outcome: &RunOutcome, events: &EventSink) {
        self.notify_end(&outcome.text, events);
        self.setup.tools.end(events.path()).await;
        if let Err(error) = self.setup.journal.finish(outcome).await {
            tracing::warn!(%error, "cannot write the end of a run");
        }
    }

    async fn drive_to_end(&mut self, prompt: Option<Prompt>, run: &mut AgentRun<'_>) -> RunEnd {
        match self.drive(prompt, run).await {
            Ok(end) | Err(RunError::End(end)) => end,
            Err(RunError::Provider(error)) => {
                run.api_error = Some(error.api_error());
                run.rejected = self.leave_out_rejected(&error);
                RunEnd::Failed { failure: error.kind.into(), message: error.message }
            }
            Err(RunError::Journal(error)) => {
                RunEnd::Failed { failure: Failure::Storage, message: error.to_string() }
            }
        }
    }

    async fn drive(
        &mut self,
        prompt: Option<Prompt>,
        run: &mut AgentRun<'_>,
    ) -> Result<RunEnd, RunError> {
        let mut blocks = self.first_blocks(prompt, run).await;
        let mut fruitless_turns = 0;
        loop {
            let calls_spent = run.budget.no_tool_calls_left();
            let last = calls_spent.is_some() || run.is_at_last_turn();
            if last && run.turns > 0 {
                blocks.push(ContentBlock::aside(remark::LAST_TURN_NOTICE));
            }
            if !blocks.is_empty() {
                self.keep(Message::user(std::mem::take(&mut blocks))).await?;
            }
            self.check_turn(run)?;
            let only = calls_spent.is_none() && run.is_at_only_turn();
            if self.is_nearly_full() {
                self.make_room(CompactTrigger::NearlyFull, run).await?;
            }
            let reply = self.ask(run, last && !only).await?;
            // A summary that makes no room is not repeated; one that did may be followed by another.
            run.compacted &= self.is_nearly_full();
            let (stop_reason, output) = (reply.stop_reason.clone(), reply.usage.output_tokens);
            let calls = self.accept(reply, run).await?;
            run.check_forced(&calls);
            if let Some((end, why)) = self.cut_short(&stop_reason, output) {
                self.refuse(&calls, why).await?;
                fruitless_turns += 1;
                if calls.is_empty() || last || fruitless_turns == MAX_FRUITLESS_TURNS {
                    return Ok(end);
                }
                continue;
            }
            if last && (calls.is_empty() || !only) {
                self.refuse(&calls, "This call was not run: no tools are available any more.")
                    .await?;
                return Ok(run.end_of_last_turn(calls_spent, calls.is_empty()));
            }
            if stop_reason == StopReason::PauseTurn
                && calls.is_empty()
                && fruitless_turns < MAX_FRUITLESS_TURNS
            {
                fruitless_turns += 1;
                continue;
            }
            fruitless_turns = 0;
            if calls.is_empty() {
                blocks = self.blocks_at_end(run).await?;
                if blocks.is_empty() {
                    return Ok(if run.text.is_empty() { RunEnd::Empty } else { RunEnd::Completed });
                }
                continue;
            }
            run.tool_uses += u32::try_from(calls.len()).unwrap_or(u32::MAX);
            let done = self.dispatch(calls, run).await;
            blocks = done.results;
            if let Some(end) = run.end_after_calls(done.fatal, last) {
                self.keep(Message::user(blocks)).await?;
                return Ok(end);
            }
            self.read_queue(&mut blocks, run).await;
        }
    }

    /// Builds the first message of a run, from the prompt and the queue.
    async fn first_blocks(
        &mut self,
        prompt: Option<Prompt>,
        run: &mut AgentRun<'_>,
    ) -> Vec<ContentBlock> {
        match prompt {
            Some(_) => self.rejected = None,
            None => self.restore_rejected(),
        }
        let mut blocks = Vec::new();
        if std::mem::take(&mut self.was_stopped) {
            blocks.push(ContentBlock::aside(remark::STOPPED_NOTICE));
        }
        // Messages of other agents that arrived while this one was idle go before a user's prompt;
        // what the user has sent since goes after it. If the prompt is itself the oldest of those
        // messages, all others are newer.
        let typed = prompt.as_ref().is_none_or(|prompt| prompt.from == Sender::Person);
        // A run stopped before it began reads nothing more: the user gets the queue back.
        let stopped = run.cancel.is_cancelled();
        let queued = if stopped { Vec::new() } else { self.setup.inbox.take_next_step() };
        let (later, before): (Vec<_>, Vec<_>) =
            queued.into_iter().partition(|queued| !typed || queued.from == Sender::Person);
        self.read(before, &mut blocks, run).await;
        if let Some(prompt) = prompt {
            run.forced_call.clone_from(&prompt.context.forced_call);
            read_prompt(prompt, &self.setup.redactor, &mut blocks, run.events);
            blocks.extend(self.mode_note());
        }
        self.read(later, &mut blocks, run).await;
        // No provider accepts a conversation that ends with part of an answer.
        if blocks.is_empty() && self.history.last().is_some_and(|last| last.role == Role::Assistant)
        {
            blocks.push(ContentBlock::aside(remark::CUT_OFF_NOTICE));
        }
        blocks
    }

    /// Builds a message for an agent whose answer has no calls: from its queue, the reports of
    /// background work, or hooks that want it to continue. Empty if the run is over.
    async fn blocks_at_end(
        &mut self,
        run: &mut AgentRun<'_>,
    ) -> Result<Vec<ContentBlock>, RunError> {
        let mut blocks = Vec::new();
        self.read_queue(&mut blocks, run).await;
        if blocks.is_empty() {
            self.wait_for_background(&mut blocks, run).await?;
        }
        if blocks.is_empty() {
            let reason = self.run_stop_hooks(run).await;
            let reason = reason.map(|reason| self.setup.redactor.without_keys(reason));
            blocks.extend(reason.map(ContentBlock::aside));
        }
        Ok(blocks)
    }

    /// Checks that another turn may begin.
    fn check_turn(&self, run: &AgentRun<'_>) -> Result<(), RunError> {
        if run.cancel.is_cancelled() {
            let before_start = self.is_before_first_answer(run);
            return Err(RunError::End(RunEnd::Cancelled { before_start }));
        }
        self.check_background()?;
        match run.budget.used_up() {
            Some(what) => Err(RunError::End(RunEnd::Budget { what })),
            None => Ok(()),
        }
    }

    /// Whether the model has not answered at all yet, in this run or an earlier one.
    fn is_before_first_answer(&self, run: &AgentRun<'_>) -> bool {
        run.turns == 0 && !self.history.iter().any(|message| message.role == Role::Assistant)
    }

    /// For an answer of `output` tokens that was cut short: how the run ends, and the result for its
    /// calls.
    fn cut_short(&self, stop_reason: &StopReason, output: u64) -> Option<(RunEnd, &'static str)> {
        let smaller = "This call was not run: the answer was cut at the output limit. Repeat it in smaller pieces.";
        Some(match stop_reason {
            StopReason::Refusal => (RunEnd::Refused, ""),
            StopReason::MaxTokens => {
                let limit = self.setup.model.get().max_tokens();
                let limit = Some(limit).filter(|limit| output >= u64::from(*limit));
                (RunEnd::MaxTokens { limit }, smaller)
            }
            StopReason::ModelContextWindowExceeded => {
                let message = "The answer was cut off: the conversation fills the model's context window. Send a prompt to continue; the conversation is summarized first.";
                (
                    RunEnd::Failed { failure: Failure::ContextFull, message: message.to_owned() },
                    smaller,
                )
            }
            _ => return None,
        })
    }
}
