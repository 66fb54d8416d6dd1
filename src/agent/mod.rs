//! The loop: ask the model, run the tools it asked for, repeat.
//!
//! An agent is a straight-line `async fn`. It knows tools by their trait alone, so a tool whose body is another
//! agent's loop is nothing special to it. Every wait ends at once when the agent's token is cancelled, and whatever
//! ends a run, the conversation stays one that a provider accepts: each call has its result.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use crate::budget::{Budget, Limits};
use crate::permission::AgentGate;
use crate::protocol::{
    ContentBlock, Cost, End, EnvOverlay, EventKind, EventSink, Failure, Journal, JournalError,
    Message, Outcome, PromptId, QueuedPrompt, Redactor, Reply, Sender, Span, Spent, StopReason,
    Usage,
};
use crate::provider::ModelSlot;
use crate::tool::{ToolRegistry, ToolSpec};

mod dispatch;
mod inbox;
pub mod memory;
pub mod prompt;
mod record;
mod turn;

pub use inbox::Inbox;

/// What the model is told on the last turn that it may take.
const LAST_TURN: &str = "[This is your last turn: no tools are available any more. Give your final answer now: what you found or did, what is unfinished, what you did not verify.]";

/// What the model is told with the prompt that follows a stopped turn.
const WAS_STOPPED: &str = "[The user stopped the previous turn before it was finished.]";

/// How often in a row an answer may come to nothing before the run ends: each costs as much as one that does.
const IN_VAIN: u32 = 3;

/// All that an agent is made of.
pub struct AgentSetup {
    /// The name in questions and logs, such as `main` or `explore-2`.
    pub name: String,
    pub model: ModelSlot,
    pub system: Arc<str>,
    pub tools: ToolRegistry,
    pub gate: AgentGate,
    pub journal: Arc<dyn Journal>,
    pub inbox: Inbox,
    pub budget: Budget,
    /// The base directory, against which relative paths resolve.
    pub cwd: Arc<Path>,
    pub env: EnvOverlay,
    /// The most requests that one run may make.
    pub max_turns: Option<u32>,
    /// The conversation so far; every call in it has its result.
    pub history: Vec<Message>,
    /// Where the agent's work stands in the log.
    pub span: Span,
    /// Masks keys in what the log keeps of inputs and outputs.
    pub redactor: Redactor,
    /// The model whose thoughts stand in `history`: no other model is sent them.
    pub thinker: Option<String>,
}

/// One agent with its conversation.
pub struct Agent {
    setup: AgentSetup,
    /// What the model is offered: all tools but the withheld ones.
    specs: Vec<ToolSpec>,
    /// Names of tools that are there and may not be used now.
    withheld: Vec<String>,
    /// Whether the last run was stopped, which the model is told with the next prompt.
    was_stopped: bool,
    /// What failed attempts cost: booked in the journal with the next answer.
    unbooked: (Usage, Cost),
}

/// A prompt, as it enters a conversation.
#[derive(Clone, Debug)]
pub struct Prompt {
    pub id: Option<PromptId>,
    pub text: String,
    pub from: Sender,
    /// What the model reads before it, such as what the person's own commands printed.
    pub note: Option<String>,
}

/// What one run has come to so far.
struct Run<'a> {
    events: &'a EventSink,
    cancel: &'a CancellationToken,
    started: Instant,
    /// This run's account, below the agent's.
    budget: Budget,
    turns: u32,
    tool_uses: u32,
    usage: Usage,
    /// The text of the latest answer, whole or not.
    text: String,
}

/// Why a run ends before the model says so.
enum Stop {
    End(End),
    Disk(JournalError),
}

impl From<JournalError> for Stop {
    fn from(error: JournalError) -> Self {
        Self::Disk(error)
    }
}

impl Agent {
    /// An agent that has done nothing yet.
    #[must_use]
    pub fn new(setup: AgentSetup) -> Self {
        let specs = setup.tools.specs();
        let withheld = Vec::new();
        Self { setup, specs, withheld, was_stopped: false, unbooked: Default::default() }
    }

    /// Withholds these tools from the next run on, and no others: they are not offered, and a call all the same is
    /// a soft error.
    pub fn withhold(&mut self, names: Vec<String>) {
        self.specs = self.setup.tools.specs();
        self.specs.retain(|spec| !names.contains(&spec.name));
        self.withheld = names;
    }

    /// Works on a prompt, or without one once more on the last, until the model is done, a limit is reached, something fails, or `cancel` fires.
    /// Emits `Finished` with the outcome as its last event.
    pub async fn run(
        &mut self,
        prompt: Option<Prompt>,
        events: &EventSink,
        cancel: &CancellationToken,
    ) -> Outcome {
        let mut run = Run {
            events,
            cancel,
            started: Instant::now(),
            budget: self.setup.budget.child(Limits::default()),
            turns: 0,
            tool_uses: 0,
            usage: Usage::default(),
            text: String::new(),
        };
        let end = match self.drive(prompt, &mut run).await {
            Ok(end) | Err(Stop::End(end)) => end,
            Err(Stop::Disk(error)) => {
                End::Failed { failure: Failure::Storage, message: error.to_string() }
            }
        };
        self.was_stopped = matches!(end, End::Cancelled { .. });
        let outcome = Outcome {
            end,
            text: run.text,
            turns: run.turns,
            tool_uses: run.tool_uses,
            usage: run.usage,
            cost: run.budget.spent().cost,
            took: run.started.elapsed(),
        };
        // What is meant for later is read later, but only if the run was not stopped, and never by a sub-agent.
        if !run.events.path().is_root() || outcome.end != End::Completed {
            for QueuedPrompt { id, text, .. } in self.setup.inbox.take_all() {
                events.emit(EventKind::PromptReturned { id, text });
            }
        }
        if let Err(error) = self.setup.journal.finish(&outcome).await {
            tracing::warn!(%error, "the end of a run could not be written");
        }
        events.emit(EventKind::Finished(Box::new(outcome.clone())));
        outcome
    }

    async fn drive(&mut self, prompt: Option<Prompt>, run: &mut Run<'_>) -> Result<End, Stop> {
        let mut blocks = Vec::new();
        if std::mem::take(&mut self.was_stopped) {
            blocks.push(ContentBlock::text(WAS_STOPPED));
        }
        if let Some(prompt) = prompt {
            read_prompt(prompt, &mut blocks, run.events);
        }
        let mut in_vain = 0;
        loop {
            let last = self.setup.max_turns.is_some_and(|limit| run.turns + 1 >= limit);
            if last && run.turns > 0 {
                blocks.push(ContentBlock::text(LAST_TURN));
            }
            if !blocks.is_empty() {
                self.keep(Message::user(std::mem::take(&mut blocks))).await?;
            }
            if run.cancel.is_cancelled() {
                return Ok(End::Cancelled { before_start: run.turns == 0 });
            }
            if let Some(what) = self.setup.budget.used_up() {
                return Ok(End::Budget { what });
            }
            let reply = self.ask(run, last).await?;
            let stop_reason = reply.stop_reason.clone();
            let calls = self.accept(reply, run).await?;
            if let Some((end, why)) = self.cut_short(&stop_reason) {
                self.refuse(&calls, why).await?;
                in_vain += 1;
                if calls.is_empty() || last || in_vain == IN_VAIN {
                    return Ok(end);
                }
                continue;
            }
            if last {
                self.refuse(&calls, "This call was not run: the turn limit is reached.").await?;
                return Ok(self.end_of_last_turn(run, calls.is_empty()));
            }
            if stop_reason == StopReason::PauseTurn && calls.is_empty() && in_vain < IN_VAIN {
                in_vain += 1;
                continue;
            }
            in_vain = 0;
            if calls.is_empty() {
                self.read_queue(&mut blocks, run);
                if blocks.is_empty() {
                    return Ok(if run.text.is_empty() { End::Empty } else { End::Completed });
                }
                continue;
            }
            run.tool_uses += u32::try_from(calls.len()).unwrap_or(u32::MAX);
            let done = self.dispatch(calls, run).await;
            blocks = done.results;
            if done.fatal.is_none() && !run.cancel.is_cancelled() {
                self.read_queue(&mut blocks, run);
                continue;
            }
            self.keep(Message::user(blocks)).await?;
            return Ok(match done.fatal {
                Some((failure, message)) => End::Failed { failure, message },
                None => End::Cancelled { before_start: false },
            });
        }
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
                let message = "The conversation fills the model's window: go on in a new one.";
                (
                    End::Failed { failure: Failure::ContextFull, message: message.to_owned() },
                    smaller,
                )
            }
            _ => return None,
        })
    }

    /// A run whose only turn was its last, and that was answered, was not cut short by the limit.
    fn end_of_last_turn(&self, run: &Run<'_>, answered: bool) -> End {
        match self.setup.max_turns {
            Some(limit) if run.turns > 1 || !answered => End::MaxTurns { limit },
            _ if run.text.is_empty() => End::Empty,
            _ => End::Completed,
        }
    }

    /// Takes a whole answer into the conversation; says which calls it holds.
    async fn accept(&mut self, reply: Reply, run: &mut Run<'_>) -> Result<Vec<ContentBlock>, Stop> {
        if reply.stop_reason == StopReason::Refusal {
            run.text.clear();
            return Ok(Vec::new());
        }
        let calls: Vec<_> = reply
            .content
            .iter()
            .filter(|block| matches!(block, ContentBlock::ToolUse { .. }))
            .cloned()
            .collect();
        let message = Message::assistant(reply.content);
        let text = message.text();
        // What was said beside calls is kept only as a partial text; an answer without text is not a text.
        if !text.is_empty() || calls.is_empty() {
            run.text = text;
        }
        if !message.content.is_empty() {
            self.book(&message).await?;
            self.setup.history.push(message);
        }
        Ok(calls)
    }

    /// Answers calls that will not run.
    async fn refuse(&mut self, calls: &[ContentBlock], why: &str) -> Result<(), Stop> {
        let results: Vec<_> = calls
            .iter()
            .filter_map(|call| match call {
                ContentBlock::ToolUse { id, .. } => Some(dispatch::error_result(id, why)),
                _ => None,
            })
            .collect();
        if results.is_empty() {
            return Ok(());
        }
        self.keep(Message::user(results)).await?;
        Ok(())
    }

    /// Writes a message to the journal, then takes it into the conversation.
    async fn keep(&mut self, message: Message) -> Result<(), JournalError> {
        let written = self.setup.journal.append(&message, None).await;
        // Results of tools that ran are taken in all the same: calls without results would spoil the conversation.
        // The file gets such results when it is read again.
        if written.is_ok() || holds_results(&message) {
            self.setup.history.push(message);
        }
        written
    }

    /// Writes an answer to the journal, with what it and the failed attempts before it cost.
    async fn book(&mut self, message: &Message) -> Result<(), JournalError> {
        let (usage, cost) = std::mem::take(&mut self.unbooked);
        let model = self.setup.thinker.as_deref().unwrap_or_default();
        self.setup.journal.append(message, Some(Spent { usage, cost, model })).await
    }

    /// Reads what the person queued for this step.
    fn read_queue(&self, blocks: &mut Vec<ContentBlock>, run: &Run<'_>) {
        for queued in self.setup.inbox.take_next_step() {
            let QueuedPrompt { id, text, from, .. } = queued;
            let prompt = Prompt { id: Some(id), text, from, note: None };
            read_prompt(prompt, blocks, run.events);
        }
    }
}

fn holds_results(message: &Message) -> bool {
    message.content.iter().any(|block| matches!(block, ContentBlock::ToolResult { .. }))
}

/// Puts a prompt into the message that is being made, and says so.
fn read_prompt(prompt: Prompt, blocks: &mut Vec<ContentBlock>, events: &EventSink) {
    let Prompt { id, text, from, note } = prompt;
    events.emit(EventKind::PromptRead { id, text: text.clone(), from });
    blocks.extend(note.map(ContentBlock::text));
    blocks.push(ContentBlock::text(text));
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("name", &self.setup.name)
            .field("messages", &self.setup.history.len())
            .finish_non_exhaustive()
    }
}
