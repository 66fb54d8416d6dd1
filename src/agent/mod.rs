//! The loop: ask the model, run the tools it asked for, repeat.
//!
//! An agent is a straight-line `async fn`. It knows tools by their trait alone, so a tool whose
//! body is another agent's loop is nothing special to it. Every wait ends at once when the agent's
//! token is cancelled, and whatever ends a run, the conversation stays one that a provider accepts:
//! each call has its result.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::budget::{Budget, Limits};
use crate::hook::Hooks;
use crate::permission::AgentGate;
use crate::protocol::{
    ContentBlock, End, EnvOverlay, EventKind, EventSink, Failure, Journal, Message, Outcome,
    Redactor, Role, Sender, Span, StopReason, remark,
};
use crate::provider::ModelSlot;
use crate::tool::{ToolRegistry, ToolSpec};

mod call_ids;
mod call_result;
pub mod compact;
mod conversation;
mod dispatch;
mod forced;
mod hooks;
mod inbox;
mod intake;
mod linger;
mod mask;
mod meter;
mod operations;
mod outcome_hooks;
mod permit;
pub mod prompt;
mod record;
mod run;
mod size;
#[cfg(test)]
mod tests;
mod time_limit;
mod turn;

pub use forced::{Forced, Wanted};
pub use inbox::{Announcement, Inbox};
pub use intake::Prompt;
use intake::read_prompt;
pub use linger::Respite;
pub use operations::{Operations, Place};
use run::{Run, Stop, within_time};
use size::Measured;

/// How often in a row an answer may come to nothing before the run ends: each costs as much as one that does.
const IN_VAIN: u32 = 3;

/// All that an agent is made of.
pub struct AgentSetup {
    /// The name in questions and logs, such as `main` or `explore-2`.
    pub name: String,
    pub model: ModelSlot,
    /// The system prompt, without the instructions that come with tools.
    pub system: Arc<str>,
    pub tools: ToolRegistry,
    pub gate: AgentGate,
    pub hooks: Hooks,
    pub journal: Arc<dyn Journal>,
    pub inbox: Inbox,
    /// How long the agent waits, when it is done, for work in the background that will report to
    /// it. `None`: not at all, because whoever runs it wakes it again.
    pub patience: Option<Duration>,
    /// What it gives away while it waits so.
    pub respite: Option<Arc<dyn Respite>>,
    pub budget: Budget,
    /// What one run may come to, below the agent's account.
    pub per_run: Limits,
    /// The places at work that all agents of the session share.
    pub operations: Operations,
    /// The base directory, against which relative paths resolve.
    pub cwd: Arc<Path>,
    pub env: EnvOverlay,
    /// The conversation so far; every call in it has its result.
    pub history: Vec<Message>,
    /// Where the agent's work stands in the log.
    pub span: Span,
    /// Masks keys in what the log and the transcript keep and the model reads.
    pub redactor: Redactor,
    /// The model whose thoughts stand in `history`: no other model is sent them.
    pub thinker: Option<String>,
}

/// One agent with its conversation.
pub struct Agent {
    setup: AgentSetup,
    /// The conversation so far. Calls that run may look at it.
    history: Arc<Vec<Message>>,
    /// The system prompt with the instructions that come with tools.
    system: Arc<str>,
    /// What the model is offered: all tools but the withheld ones.
    specs: Vec<ToolSpec>,
    /// Names of tools that are there and may not be used now.
    withheld: Vec<String>,
    /// Whether the last run was stopped, which the model is told with the next prompt.
    was_stopped: bool,
    /// Whether it ended with what nobody can mend.
    ended_fatally: bool,
    /// How often a summary has taken the conversation's place.
    summaries: u32,
    /// Whether hooks have not heard of the end of the present run yet.
    end_untold: bool,
    /// The size of the conversation when it was last reported; absent when it became another since.
    measured: Option<Measured>,
}

impl Agent {
    /// An agent that has done nothing yet.
    #[must_use]
    pub fn new(mut setup: AgentSetup) -> Self {
        let (specs, system) = (setup.tools.specs(), setup.tools.system_prompt(&setup.system));
        let history = Arc::new(std::mem::take(&mut setup.history));
        Self {
            setup,
            history,
            system,
            specs,
            withheld: Vec::new(),
            was_stopped: false,
            ended_fatally: false,
            end_untold: false,
            summaries: 0,
            measured: None,
        }
    }

    /// Withholds the tools that `withhold` names from the next run on, and no others: they are not
    /// offered, and a call all the same is a soft error.
    pub fn withhold(&mut self, withhold: impl Fn(&str) -> bool) {
        let (withheld, offered): (Vec<_>, Vec<_>) =
            self.setup.tools.specs().into_iter().partition(|spec| withhold(&spec.name));
        self.specs = offered;
        self.withheld = withheld.into_iter().map(|spec| spec.name).collect();
    }

    /// Replaces all tools, from the next run on. What calls of the old ones began goes on.
    pub fn set_tools(&mut self, tools: ToolRegistry) {
        self.specs = tools.specs();
        self.system = tools.system_prompt(&self.setup.system);
        self.withheld.clear();
        self.setup.tools = tools;
    }

    /// All tools, those that are withheld now included.
    #[must_use]
    pub fn tools(&self) -> &ToolRegistry {
        &self.setup.tools
    }

    /// Replaces the system prompt, from the next run on. The provider then reads the whole conversation anew.
    pub fn set_system(&mut self, system: impl Into<Arc<str>>) {
        self.setup.system = system.into();
        self.system = self.setup.tools.system_prompt(&self.setup.system);
    }

    /// How often a summary has taken the conversation's place since the agent was built.
    #[must_use]
    pub fn summaries(&self) -> u32 {
        self.summaries
    }

    /// Whether the last run ended with what nobody can mend: then only a person makes the agent go on.
    #[must_use]
    pub fn ended_fatally(&self) -> bool {
        self.ended_fatally
    }

    /// Works on a prompt, or without one once more on the last, until the model is done, a limit is
    /// reached, something fails, or `cancel` fires. Emits `Finished` with the outcome as its last
    /// event.
    pub async fn run(
        &mut self,
        prompt: Option<Prompt>,
        events: &EventSink,
        cancel: &CancellationToken,
    ) -> Outcome {
        let outcome = self.work(prompt, events, cancel).await;
        events.emit(EventKind::Finished(Box::new(outcome.clone())));
        outcome
    }

    /// The same without the last event, for one who has more to do before the end can be told.
    pub async fn work(
        &mut self,
        prompt: Option<Prompt>,
        events: &EventSink,
        cancel: &CancellationToken,
    ) -> Outcome {
        let stop = cancel.child_token();
        let budget = self.setup.budget.for_run(self.setup.per_run);
        let mut run = Run::new(budget.clone(), events, &stop);
        self.end_untold = true;
        let end =
            within_time(&budget, cancel, &stop, self.drive_to_the_end(prompt, &mut run)).await;
        self.tell_end(&run.text, events);
        self.was_stopped = matches!(end, End::Cancelled { .. });
        self.ended_fatally = matches!(end, End::Failed { failure, .. } if failure.is_fatal());
        let outcome = Outcome {
            end,
            api_error: run.api_error,
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
        // What is meant for later is read later, but only if the run was not stopped, and never by
        // a sub-agent.
        if !run.events.path().is_root() || outcome.end != End::Completed {
            self.return_queue(events);
        }
        if let Err(error) = self.setup.journal.finish(&outcome).await {
            tracing::warn!(%error, "the end of a run could not be written");
        }
        outcome
    }

    /// Ends what calls have left running, and writes the end: for a run that a bug inside has broken off.
    pub async fn clear_up(&mut self, outcome: &Outcome, events: &EventSink) {
        self.tell_end(&outcome.text, events);
        self.setup.tools.end(events.path()).await;
        if let Err(error) = self.setup.journal.finish(outcome).await {
            tracing::warn!(%error, "the end of a run could not be written");
        }
    }

    async fn drive_to_the_end(&mut self, prompt: Option<Prompt>, run: &mut Run<'_>) -> End {
        match self.drive(prompt, run).await {
            Ok(end) | Err(Stop::End(end)) => end,
            Err(Stop::Refused(end, error)) => {
                run.api_error = Some(error);
                end
            }
            Err(Stop::Disk(error)) => {
                End::Failed { failure: Failure::Storage, message: error.to_string() }
            }
        }
    }

    async fn drive(&mut self, prompt: Option<Prompt>, run: &mut Run<'_>) -> Result<End, Stop> {
        let mut blocks = Vec::new();
        if std::mem::take(&mut self.was_stopped) {
            blocks.push(ContentBlock::aside(remark::WAS_STOPPED));
        }
        // Messages of other agents that arrived while this one was idle go before a prompt of the
        // user's; what the user has sent since goes after it. Where the oldest of those messages is
        // the prompt itself, all others are newer.
        let typed = prompt.as_ref().is_none_or(|prompt| prompt.from == Sender::Person);
        // What was stopped before it began reads nothing more: the person gets it back.
        let stopped = run.cancel.is_cancelled();
        let queued = if stopped { Vec::new() } else { self.setup.inbox.take_next_step() };
        let (later, before): (Vec<_>, Vec<_>) =
            queued.into_iter().partition(|queued| !typed || queued.from == Sender::Person);
        self.read(before, &mut blocks, run).await;
        if let Some(prompt) = prompt {
            run.forced.clone_from(&prompt.force);
            read_prompt(prompt, &self.setup.redactor, &mut blocks, run.events);
        }
        self.read(later, &mut blocks, run).await;
        // No wire takes a conversation that ends with a piece of an answer.
        if blocks.is_empty() && self.history.last().is_some_and(|last| last.role == Role::Assistant)
        {
            blocks.push(ContentBlock::aside(remark::WAS_CUT));
        }
        let mut in_vain = 0;
        loop {
            let calls_spent = run.budget.no_tool_calls_left();
            let last = calls_spent.is_some() || run.is_at_last_turn();
            if last && run.turns > 0 {
                blocks.push(ContentBlock::aside(remark::LAST_TURN));
            }
            if !blocks.is_empty() {
                self.keep(Message::user(std::mem::take(&mut blocks))).await?;
            }
            if run.cancel.is_cancelled() {
                return Ok(End::Cancelled { before_start: self.has_not_begun(run) });
            }
            self.check_background()?;
            if let Some(what) = run.budget.used_up() {
                return Ok(End::Budget { what });
            }
            let only = calls_spent.is_none() && run.is_at_only_turn();
            let reply = self.ask_with_room(run, last && !only).await?;
            let stop_reason = reply.stop_reason.clone();
            let calls = self.accept(reply, run).await?;
            run.check_forced(&calls);
            if let Some((end, why)) = self.cut_short(&stop_reason) {
                self.refuse(&calls, why).await?;
                in_vain += 1;
                if calls.is_empty() || last || in_vain == IN_VAIN {
                    return Ok(end);
                }
                continue;
            }
            if last && (calls.is_empty() || !only) {
                self.refuse(&calls, "This call was not run: no tools are available any more.")
                    .await?;
                return Ok(run.end_of_last_turn(calls_spent, calls.is_empty()));
            }
            if stop_reason == StopReason::PauseTurn && calls.is_empty() && in_vain < IN_VAIN {
                in_vain += 1;
                continue;
            }
            in_vain = 0;
            if calls.is_empty() {
                self.read_queue(&mut blocks, run).await;
                if blocks.is_empty() {
                    self.linger(&mut blocks, run).await?;
                }
                if blocks.is_empty() {
                    let held = self.held_back(run).await;
                    let held = held.map(|why| self.setup.redactor.without_keys(why));
                    blocks.extend(held.map(ContentBlock::aside));
                }
                if blocks.is_empty() {
                    return Ok(if run.text.is_empty() { End::Empty } else { End::Completed });
                }
                continue;
            }
            run.tool_uses += u32::try_from(calls.len()).unwrap_or(u32::MAX);
            let done = self.dispatch(calls, run).await;
            blocks = done.results;
            let stopped = run.stopped.get().is_some();
            let may_go_on = done.fatal.is_none() && !stopped && !run.cancel.is_cancelled();
            if may_go_on && !last {
                self.read_queue(&mut blocks, run).await;
                continue;
            }
            self.keep(Message::user(blocks)).await?;
            return Ok(match done.fatal {
                Some((failure, message)) => End::Failed { failure, message },
                None if may_go_on => End::MaxTurns { limit: run.turns },
                None => End::Cancelled { before_start: false },
            });
        }
    }

    /// Whether the model has not said a word yet, in this run or an earlier one.
    fn has_not_begun(&self, run: &Run<'_>) -> bool {
        run.turns == 0 && !self.history.iter().any(|message| message.role == Role::Assistant)
    }

    /// What an answer ends with that the model did not end itself, and what its calls are told.
    fn cut_short(&self, stop_reason: &StopReason) -> Option<(End, &'static str)> {
        let smaller = "This call was not run: the answer was cut at the output limit. Repeat it in smaller pieces.";
        Some(match stop_reason {
            StopReason::Refusal => (End::Refused, ""),
            StopReason::MaxTokens => {
                let limit = self.setup.model.get().max_tokens();
                (End::Budget { what: format!("{limit} output tokens") }, smaller)
            }
            StopReason::ModelContextWindowExceeded => {
                let message = "The answer was cut: the conversation fills the model's window. Go on, and it is summarized first.";
                (
                    End::Failed { failure: Failure::ContextFull, message: message.to_owned() },
                    smaller,
                )
            }
            _ => return None,
        })
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("name", &self.setup.name)
            .field("messages", &self.history.len())
            .finish_non_exhaustive()
    }
}
