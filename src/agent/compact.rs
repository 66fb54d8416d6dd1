//! Compaction: replaces a conversation that fills the model's window with a summary that the model
//! writes.
//!
//! The summary request has the same system prompt, tools and messages as any other, so it is read
//! from the provider's cache. Until the summary is in the journal, the conversation is unchanged.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::request::{RequestError, RequestKind, unpriced_message};
use super::run::{AgentRun, RunError};
use super::state::Agent;
use super::{record, size};
use crate::budget::BudgetExhausted;
use crate::protocol::{
    Compaction, CompactionState, ContentBlock, EventKind, EventSink, JournalError, Message, Reply,
    Role, RunEnd, StopReason,
};
use crate::tool::ToolSpec;

pub(super) mod keep;
#[cfg(test)]
mod tests;
pub(super) mod trigger;

pub use super::size::fits;
use trigger::CompactTrigger;

/// The request for a summary.
const SUMMARY_PROMPT: &str = include_str!("../../assets/prompts/compact.md");

/// The first line of a summary in a conversation.
const SUMMARY_HEADER: &str = "[Summary of the conversation so far]";

/// How often a summary is requested, each time of half as much, before giving up.
const MAX_SUMMARY_ATTEMPTS: usize = 3;

/// The most tokens kept beside a summary; less if the window or the conversation is small.
const MAX_KEPT_TOKENS: u64 = 20_000;

/// The least that a summary saves, as a fraction of the context: otherwise the conversation would be
/// lost for nothing.
const MIN_SAVED: u64 = 20;

/// Why a conversation was not compacted. It is unchanged.
enum CompactError {
    Cancelled,
    Failed(String),
    Journal(JournalError),
}

impl From<RequestError> for CompactError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Cancelled { .. } => Self::Cancelled,
            RequestError::Budget(BudgetExhausted { what }) => {
                Self::Failed(format!("the budget {what} is used up"))
            }
            RequestError::Unpriced { model } => Self::Failed(unpriced_message(&model)),
            RequestError::Provider(error) => Self::Failed(error.message),
            RequestError::Journal(error) => Self::Journal(error),
        }
    }
}

impl Agent {
    /// Replaces the conversation with a summary, outside of a run. `instructions` say what the
    /// summary must keep. Events report the result; on failure, the conversation is unchanged.
    pub async fn compact(
        &mut self,
        instructions: Option<&str>,
        events: &EventSink,
        cancel: &CancellationToken,
    ) {
        let budget = self.setup.budget.for_run(self.setup.per_run);
        let mut run = AgentRun::new(budget, events, cancel);
        let done = self.try_compact(CompactTrigger::Manual(instructions), &mut run).await;
        if !matches!(done, Ok(true)) {
            self.return_queue(events);
        }
    }

    /// Compacts if a summary could make room. Returns whether the conversation was replaced.
    pub(super) async fn make_room(
        &mut self,
        cause: CompactTrigger<'_>,
        run: &mut AgentRun<'_>,
    ) -> Result<bool, RunError> {
        if !self.may_compact(run) {
            return Ok(false);
        }
        self.try_compact(cause, run).await
    }

    /// The tokens of the next request with these tools.
    pub(super) fn context_tokens(&self, tools: &[ToolSpec]) -> u64 {
        size::context(&self.system, tools, &self.history, self.measured)
    }

    pub(super) fn is_nearly_full(&self) -> bool {
        self.context_tokens(&self.specs) > size::max_context(&self.setup.model.get())
    }

    /// Whether a summary could make room: not again until an answer has shown that the last one did,
    /// and never for a single prompt. A conversation that ends with part of an answer cannot continue
    /// in any case.
    fn may_compact(&self, run: &AgentRun<'_>) -> bool {
        let history = &self.history;
        let ends_with_user = history.last().is_some_and(|last| last.role == Role::User);
        !run.compacted && ends_with_user && self.has_answers()
    }

    fn has_answers(&self) -> bool {
        self.history.iter().any(|message| message.role == Role::Assistant)
    }

    /// Compacts, and emits the progress. Returns whether the conversation was replaced; a run
    /// continues in either case.
    async fn try_compact(
        &mut self,
        cause: CompactTrigger<'_>,
        run: &mut AgentRun<'_>,
    ) -> Result<bool, RunError> {
        let by_hand = matches!(cause, CompactTrigger::Manual(_));
        let events = run.events;
        let tell = |state| events.emit(EventKind::Compaction { by_hand, state });
        if !self.has_answers() {
            let why = "there is nothing to summarize yet".to_owned();
            tell(CompactionState::Failed { why });
            return Ok(false);
        }
        run.compacted = true;
        if !self.saves_room(&self.messages_beside_summary()) {
            // Otherwise, each turn of a full conversation would report it.
            if by_hand {
                let why = "a summary would be no shorter".to_owned();
                tell(CompactionState::Failed { why });
            }
            return Ok(false);
        }
        if let Some(why) = self.run_compact_hooks(&cause, run).await {
            tell(CompactionState::Failed { why });
            return Ok(false);
        }
        tell(CompactionState::Started);
        match self.replace_with_summary(&cause, run).await {
            Ok(done) => tell(done),
            Err(CompactError::Cancelled) => {
                tell(CompactionState::Cancelled);
                let before_start = run.turns == 0;
                return Err(RunError::End(RunEnd::Cancelled { before_start }));
            }
            Err(CompactError::Failed(why)) => {
                tell(CompactionState::Failed { why });
                return Ok(false);
            }
            Err(CompactError::Journal(error)) => {
                tell(CompactionState::Failed { why: error.to_string() });
                return Err(RunError::Journal(error));
            }
        }
        match run.budget.used_up() {
            Some(what) => Err(RunError::End(RunEnd::Budget { what })),
            None => Ok(true),
        }
    }

    async fn replace_with_summary(
        &mut self,
        cause: &CompactTrigger<'_>,
        run: &mut AgentRun<'_>,
    ) -> Result<CompactionState, CompactError> {
        if let Some(what) = run.budget.used_up() {
            return Err(CompactError::Failed(format!("the budget {what} is used up")));
        }
        let before_tokens = self.context_tokens(&self.specs);
        let summary = self.request_summary(cause, before_tokens, run).await?;
        let summary = ContentBlock::summary(format!("{SUMMARY_HEADER}\n\n{summary}"));
        let mut messages = vec![Message::user(vec![summary])];
        messages.extend(self.messages_beside_summary());
        if !self.saves_room(&messages) {
            return Err(CompactError::Failed("its summary is no shorter".to_owned()));
        }
        let after_tokens = self.estimated_tokens(&messages);
        let model = self.setup.reasoning_model.as_deref();
        let compaction = Compaction { messages: &messages, before_tokens, after_tokens, model };
        self.setup.journal.compacted(compaction).await.map_err(CompactError::Journal)?;
        record::compacted(run.events.path(), self.setup.span, before_tokens, after_tokens);
        self.history = Arc::new(messages);
        self.removals += 1;
        self.measured = None;
        self.move_rejected_behind_summary();
        Ok(CompactionState::Done { before_tokens, after_tokens })
    }

    /// Returns the messages that stay beside a summary.
    fn messages_beside_summary(&self) -> Vec<Message> {
        let room = size::max_context(&self.setup.model.get());
        let context = self.context_tokens(&self.specs);
        let limit = MAX_KEPT_TOKENS.min(room / 10).min(context / 4);
        keep::newest_messages(&self.history, limit)
    }

    /// Whether the context becomes noticeably smaller if `messages` replace the conversation.
    fn saves_room(&self, messages: &[Message]) -> bool {
        let estimate = self.estimated_tokens(&self.history);
        let before = self.context_tokens(&self.specs).max(estimate);
        self.estimated_tokens(messages) <= before - before / MIN_SAVED
    }

    fn estimated_tokens(&self, messages: &[Message]) -> u64 {
        size::prefix_tokens(&self.system, &self.specs) + size::tokens(messages)
    }

    /// Requests the summary: of everything, or of as much as fits the model. Calls in the answer
    /// are ignored.
    async fn request_summary(
        &mut self,
        cause: &CompactTrigger<'_>,
        context: u64,
        run: &mut AgentRun<'_>,
    ) -> Result<String, CompactError> {
        let mut request = SUMMARY_PROMPT.trim().to_owned();
        if let CompactTrigger::Manual(Some(instructions)) = cause {
            request.push_str("\n\nAbove all, the user wants the summary to keep: ");
            request.push_str(instructions);
        }
        let request = Message::user_text(request);
        let model = self.setup.model.get();
        let room = size::max_context(&model);
        let mut excerpt = match cause {
            CompactTrigger::Refused => Some(room.min(context / 2)),
            _ => (context + u64::from(model.max_tokens()) > model.info.context_window)
                .then_some(room),
        };
        for _ in 0..MAX_SUMMARY_ATTEMPTS {
            let ask = RequestKind::Summary { request: &request, room: excerpt };
            return match self.request(&ask, run).await {
                Ok(reply) => summary_text(reply),
                Err(error) if error.is_context_full() => {
                    excerpt = Some(excerpt.unwrap_or(context).min(context) / 2);
                    continue;
                }
                Err(error) => Err(error.into()),
            };
        }
        Err(CompactError::Failed("the conversation is too long even for a summary".to_owned()))
    }
}

fn summary_text(reply: Reply) -> Result<String, CompactError> {
    let refused = reply.stop_reason == StopReason::Refusal;
    let text = Message::assistant(reply.content).text();
    match text.trim() {
        _ if refused => Err(CompactError::Failed("the model refused to summarize it".to_owned())),
        "" => Err(CompactError::Failed("the model's summary is empty".to_owned())),
        text => Ok(text.to_owned()),
    }
}
