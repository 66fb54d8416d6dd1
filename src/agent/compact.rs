//! Compaction: a conversation that fills the model's window is replaced by a summary that the model
//! writes of it.
//!
//! The summary is asked for with the same system prompt, the same tools and the same messages as
//! any answer, so that it is read from the provider's cache. Until the summary is in the journal,
//! the conversation stays as it is.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::turn::{Ask, Cut};
use super::{Agent, Run, Stop, record, size};
use crate::budget::UsedUp;
use crate::protocol::{
    Compaction, CompactionState, ContentBlock, End, EventKind, EventSink, Failure, JournalError,
    Message, Reply, Role, StopReason,
};
use crate::provider::ErrorKind;
use crate::tool::ToolSpec;

mod keep;
#[cfg(test)]
mod tests;

pub use super::size::fits;
pub(super) use keep::excerpt;

/// What the model is told when a summary is wanted.
const PROMPT: &str = include_str!("../../assets/prompts/compact.md");

/// The first line of a summary in a conversation.
const HEAD: &str = "[Summary of the conversation so far]";

/// How often a summary is asked for, each time of half as much, before it is given up.
const TRIES: usize = 3;

/// The most that is kept beside a summary, in tokens; less where the window or the conversation is small.
const KEPT: u64 = 20_000;

/// Why a conversation is compacted.
pub(super) enum Cause<'a> {
    /// The person wants it, and may say what the summary must keep.
    ByHand(Option<&'a str>),
    /// There is little room left.
    NearlyFull,
    /// The provider found it too long.
    Refused,
}

/// Why a conversation was not compacted. It is as it was.
enum Undone {
    Cancelled,
    Failed(String),
    Disk(JournalError),
}

impl Agent {
    /// Replaces the conversation by a summary of it, outside of a run. `instructions` say what the
    /// summary must keep. Tells by events how that went; when it came to nothing, the conversation
    /// is as it was.
    pub async fn compact(
        &mut self,
        instructions: Option<&str>,
        events: &EventSink,
        cancel: &CancellationToken,
    ) {
        let budget = self.setup.budget.for_run(self.setup.per_run);
        let mut run = Run::new(budget, events, cancel);
        let done = self.replace(Cause::ByHand(instructions), &mut run).await;
        if !matches!(done, Ok(true)) {
            self.return_queue(events);
        }
    }

    /// Asks for the next answer, after making room for it where there is little left.
    pub(super) async fn ask_with_room(
        &mut self,
        run: &mut Run<'_>,
        last: bool,
    ) -> Result<Reply, Stop> {
        if self.is_nearly_full() && self.may_compact(run) {
            self.replace(Cause::NearlyFull, run).await?;
        }
        let mut reply = self.ask(run, last).await;
        if reply.as_ref().is_err_and(too_long)
            && self.may_compact(run)
            && self.replace(Cause::Refused, run).await?
        {
            // What was refused counts as a repetition, as after any failure.
            run.turns = run.turns.saturating_sub(1);
            run.budget.uncount_turn();
            reply = self.ask(run, last).await;
        }
        let reply = reply?;
        // One summary that makes no room is enough; one that did may be followed by another.
        run.compacted &= self.is_nearly_full();
        Ok(reply)
    }

    /// The context that the next request would have with these tools, in tokens.
    pub(super) fn context(&self, tools: &[ToolSpec]) -> u64 {
        size::context(&self.system, tools, &self.history, self.measured)
    }

    fn is_nearly_full(&self) -> bool {
        self.context(&self.specs) > size::room(&self.setup.model.get())
    }

    /// Whether a summary could make room: at most once in a run, and never of a single prompt. A
    /// conversation that ends with part of an answer cannot continue in any case.
    fn may_compact(&self, run: &Run<'_>) -> bool {
        let history = &self.history;
        let ends_with_user = history.last().is_some_and(|last| last.role == Role::User);
        !run.compacted && ends_with_user && self.has_answers()
    }

    fn has_answers(&self) -> bool {
        self.history.iter().any(|message| message.role == Role::Assistant)
    }

    /// Compacts, and tells of it. Answers whether the conversation was replaced; a run goes on in
    /// either case.
    async fn replace(&mut self, cause: Cause<'_>, run: &mut Run<'_>) -> Result<bool, Stop> {
        let by_hand = matches!(cause, Cause::ByHand(_));
        let events = run.events;
        let tell = |state| events.emit(EventKind::Compaction { by_hand, state });
        if !self.has_answers() {
            let why = "there is nothing to summarize yet".to_owned();
            tell(CompactionState::Failed { why });
            return Ok(false);
        }
        run.compacted = true;
        if let Some(why) = self.keeps_from_compacting(&cause, run).await {
            tell(CompactionState::Failed { why });
            return Ok(false);
        }
        tell(CompactionState::Started);
        match self.summarized(&cause, run).await {
            Ok(done) => tell(done),
            Err(Undone::Cancelled) => {
                tell(CompactionState::Cancelled);
                let before_start = run.turns == 0;
                return Err(Stop::End(End::Cancelled { before_start }));
            }
            Err(Undone::Failed(why)) => {
                tell(CompactionState::Failed { why });
                return Ok(false);
            }
            Err(Undone::Disk(error)) => {
                tell(CompactionState::Failed { why: error.to_string() });
                return Err(Stop::Disk(error));
            }
        }
        match run.budget.used_up() {
            Some(what) => Err(Stop::End(End::Budget { what })),
            None => Ok(true),
        }
    }

    async fn summarized(
        &mut self,
        cause: &Cause<'_>,
        run: &mut Run<'_>,
    ) -> Result<CompactionState, Undone> {
        if let Some(what) = run.budget.used_up() {
            return Err(Undone::Failed(format!("the budget {what} is used up")));
        }
        let before_tokens = self.context(&self.specs);
        let summary = self.summary(cause, before_tokens, run).await?;
        let room = size::room(&self.setup.model.get());
        let limit = KEPT.min(room / 10).min(before_tokens / 4);
        let kept = keep::newest(&self.history, limit);
        let summary = ContentBlock::summary(format!("{HEAD}\n\n{summary}"));
        let mut messages = vec![Message::user(vec![summary])];
        messages.extend(kept);
        let after_tokens = size::prefix(&self.system, &self.specs) + size::tokens(&messages);
        let model = self.setup.thinker.as_deref();
        let compaction = Compaction { messages: &messages, before_tokens, after_tokens, model };
        self.setup.journal.compacted(compaction).await.map_err(Undone::Disk)?;
        record::compacted(run.events.path(), self.setup.span, before_tokens, after_tokens);
        self.history = Arc::new(messages);
        self.summaries += 1;
        self.measured = None;
        Ok(CompactionState::Done { before_tokens, after_tokens })
    }

    /// Asks for the summary: of all, or of as much as the model takes. Calls in the answer are ignored.
    async fn summary(
        &mut self,
        cause: &Cause<'_>,
        context: u64,
        run: &mut Run<'_>,
    ) -> Result<String, Undone> {
        let mut request = PROMPT.trim().to_owned();
        if let Cause::ByHand(Some(instructions)) = cause {
            request.push_str("\n\nThe person wants this in the summary above all: ");
            request.push_str(instructions);
        }
        let request = Message::user_text(request);
        let model = self.setup.model.get();
        let room = size::room(&model);
        let mut excerpt = match cause {
            Cause::Refused => Some(room.min(context / 2)),
            _ => (context + u64::from(model.max_tokens()) > model.info.context_window)
                .then_some(room),
        };
        for _ in 0..TRIES {
            let ask = Ask::Summary { request: &request, room: excerpt };
            let unanswered = match self.request(&ask, run).await {
                Ok(reply) => return text_of(reply),
                Err(unanswered) => unanswered,
            };
            match unanswered.cut {
                Cut::Cancelled => return Err(Undone::Cancelled),
                Cut::Failed(error) if error.kind == ErrorKind::ContextFull => {
                    excerpt = Some(excerpt.unwrap_or(context).min(context) / 2);
                }
                Cut::Failed(error) => return Err(Undone::Failed(error.message)),
                Cut::Spent(UsedUp { what }) => {
                    return Err(Undone::Failed(format!("the budget {what} is used up")));
                }
                Cut::Unpriced(model) => {
                    return Err(Undone::Failed(format!("no price is known for {model}")));
                }
            }
        }
        Err(Undone::Failed("the conversation is too long even for a summary".to_owned()))
    }
}

fn text_of(reply: Reply) -> Result<String, Undone> {
    let refused = reply.stop_reason == StopReason::Refusal;
    let text = Message::assistant(reply.content).text();
    match text.trim() {
        _ if refused => Err(Undone::Failed("the model refused to summarize it".to_owned())),
        "" => Err(Undone::Failed("the model's summary is empty".to_owned())),
        text => Ok(text.to_owned()),
    }
}

fn too_long(stop: &Stop) -> bool {
    matches!(stop, Stop::Refused(End::Failed { failure: Failure::ContextFull, .. }, _))
}
