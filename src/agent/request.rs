//! One answer of the model: the request, its stream, and retries when it fails.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;

use super::call_ids::CallIds;
use super::compact::keep::excerpt;
use super::compact::trigger::CompactTrigger;
use super::concurrency::Permit;
use super::mask_keys;
use super::meter::UsageMeter;
use super::record::{TurnRecord, turn_started};
use super::run::{AgentRun, RunError};
use super::state::Agent;
use crate::budget::{BudgetExhausted, Estimate, Reservation};
use crate::protocol::{
    Accumulator, ContentBlock, Delta, EventKind, Failure, JournalError, Message, ModelCause, Reply,
    RequestCost, RunEnd, Span, StreamEvent, Usage, WaitKind, report_wait,
};
use crate::provider::{ErrorKind, EventStream, Model, ProviderError, ToolChoice};

/// How often in a row a model may be overloaded before its fallback answers.
const MAX_OVERLOADS: u32 = 3;

/// Output tokens for which money is reserved before an answer comes. Many agents fit under one cap
/// this way, although each may answer at length.
const MAX_RESERVED_OUTPUT: u32 = 16_000;

/// The kind of answer that is requested.
pub(super) enum RequestKind<'a> {
    /// The next answer: without calls on the last turn, and beginning with a call of the tool
    /// `force`.
    Turn { last: bool, force: Option<&'a str> },
    /// A summary of the conversation, or of an excerpt of about `room` tokens. It is not shown.
    Summary { request: &'a Message, room: Option<u64> },
}

impl RequestKind<'_> {
    fn is_visible(&self) -> bool {
        matches!(self, Self::Turn { .. })
    }
}

/// Why a request has no complete answer.
pub(super) enum RequestError {
    Cancelled {
        before_start: bool,
    },
    Budget(BudgetExhausted),
    /// A dollar budget cannot be enforced, because no price is known for the model.
    Unpriced {
        model: String,
    },
    /// The provider refused it, or its answer did not arrive whole. Only this is retried.
    Provider(ProviderError),
    /// The part of an answer that arrived could not be written.
    Journal(JournalError),
}

impl RequestError {
    /// Whether the provider refused the request because it is too long.
    pub fn is_context_full(&self) -> bool {
        matches!(self, Self::Provider(error) if error.kind == ErrorKind::ContextFull)
    }
}

impl From<BudgetExhausted> for RequestError {
    fn from(error: BudgetExhausted) -> Self {
        Self::Budget(error)
    }
}

impl From<JournalError> for RequestError {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

impl From<RequestError> for RunError {
    fn from(error: RequestError) -> Self {
        Self::End(match error {
            RequestError::Cancelled { before_start } => RunEnd::Cancelled { before_start },
            RequestError::Budget(BudgetExhausted { what }) => RunEnd::Budget { what },
            RequestError::Unpriced { model } => {
                let message = unpriced_message(&model);
                RunEnd::Failed { failure: Failure::BadRequest, message }
            }
            RequestError::Provider(error) => return Self::Provider(error),
            RequestError::Journal(error) => return Self::Journal(error),
        })
    }
}

/// One request: its reservation, and the answer so far.
struct Attempt {
    model: Arc<Model>,
    began: Instant,
    partial: Accumulator,
    calls: CallIds,
    meter: UsageMeter,
    /// Whether its cost was written to the journal.
    is_noted: bool,
    reservation: Reservation,
}

impl Agent {
    /// Asks the model for its next answer. If the conversation is rejected as too long and a
    /// summary makes room, asks once more.
    pub(super) async fn ask(
        &mut self,
        run: &mut AgentRun<'_>,
        last: bool,
    ) -> Result<Reply, RunError> {
        let force = run.forced_call.as_ref().map(|forced| forced.tool.clone());
        let turn = RequestKind::Turn { last, force: force.as_deref() };
        let reply = self.request(&turn, run).await;
        if !reply.as_ref().is_err_and(RequestError::is_context_full)
            || !self.make_room(CompactTrigger::Refused, run).await?
        {
            return reply.map_err(RunError::from);
        }
        // The rejected request counts as a retry, as after any failure.
        run.turns = run.turns.saturating_sub(1);
        run.budget.uncount_turn();
        self.request(&turn, run).await.map_err(RunError::from)
    }

    /// Makes one request, and retries it while the failure may be temporary. Nothing in an answer
    /// is acted on before it is complete, so a retry cannot run anything twice.
    pub(super) async fn request(
        &mut self,
        ask: &RequestKind<'_>,
        run: &mut AgentRun<'_>,
    ) -> Result<Reply, RequestError> {
        let (mut retries, mut overloads) = (0, 0);
        let mut has_begun = !ask.is_visible();
        loop {
            let (mut attempt, permit) = self.admit(run).await?;
            if !std::mem::replace(&mut has_begun, true) {
                begin_turn(run, self.setup.span, &attempt.model.name);
            }
            let stream = self.send(&attempt.model, ask);
            let received = self.consume(stream, &mut attempt, ask.is_visible(), run).await;
            drop(permit);
            if run.cancel.is_cancelled() {
                // When many agents are stopped, let all of their streams close before the first
                // of them writes how far it came.
                self.setup.concurrency.wait_for_ending().await;
            }
            let (model, partial) = self.settle(attempt, run).await;
            let error = match received {
                Ok(()) => return Ok(partial.into_reply()),
                Err(RequestError::Provider(error)) => error,
                Err(error) => {
                    self.keep_partial(&model, &partial, ask, run).await?;
                    return Err(error);
                }
            };
            retries += 1;
            overloads = if error.kind == ErrorKind::Overloaded { overloads + 1 } else { 0 };
            let wait = model.retry.next(retries, &error);
            if overloads == MAX_OVERLOADS || (overloads > 0 && wait.is_none()) {
                overloads = 0;
                if self.fall_back(&model, retries, &error, run) {
                    // The other model has all of its attempts.
                    retries = 0;
                    continue;
                }
            }
            let Some(wait) = wait else {
                self.keep_partial(&model, &partial, ask, run).await?;
                return Err(RequestError::Provider(error));
            };
            tracing::info!(%error, retries, "retrying a request");
            run.events.emit(EventKind::Retrying {
                attempt: retries,
                limit: model.retry.max_retries,
                wait,
                failure: error.kind.into(),
                error: error.api_error(),
                reason: error.message,
            });
            tokio::select! {
                biased;
                // The text it streamed was declared void already.
                () = run.cancel.cancelled() => return Err(self.cancelled(run)),
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Switches to the fallback model for good, if there is one, unless the user has chosen another
    /// model meanwhile. Returns whether the next attempt is another model's.
    fn fall_back(
        &self,
        model: &Model,
        retries: u32,
        error: &ProviderError,
        run: &AgentRun<'_>,
    ) -> bool {
        let Some(fallback) = &model.fallback else { return false };
        let switched = self.setup.model.update(|current| {
            let is_same =
                current.name == model.name && current.provider.name() == model.provider.name();
            if is_same && run.events.path().is_root() {
                run.events.emit(fallback.changed_event(ModelCause::Program));
            }
            is_same.then(|| (**fallback).clone())
        });
        let reason = match switched {
            true => format!("{} Switched to {}.", error.message, fallback.name),
            false => error.message.clone(),
        };
        run.events.emit(EventKind::Retrying {
            attempt: retries,
            limit: model.retry.max_retries,
            wait: Duration::ZERO,
            failure: error.kind.into(),
            error: error.api_error(),
            reason,
        });
        true
    }

    /// Reserves what the request may cost, then waits for a permit. The permit comes last: a
    /// request that waits for money needs none, and those that hold the money must get one.
    async fn admit(&mut self, run: &AgentRun<'_>) -> Result<(Attempt, Permit), RequestError> {
        let model = self.setup.model.get();
        if model.info.pricing.is_unknown() && run.budget.caps_money() {
            return Err(RequestError::Unpriced { model: model.name.clone() });
        }
        self.drop_foreign_thinking(&model.name);
        let input = self.context_tokens(&self.specs);
        let reserved = run.budget.reserve(estimate(&model, input));
        let reservation = tokio::select! {
            biased;
            () = run.cancel.cancelled() => return Err(self.cancelled(run)),
            reserved = report_wait(run.events, || WaitKind::Budget, reserved) => reserved?,
        };
        let permit = self.setup.concurrency.acquire(run.cancel).await;
        let permit = permit.ok_or_else(|| self.cancelled(run))?;
        let (began, partial) = (Instant::now(), Accumulator::default());
        let (calls, meter) = (CallIds::from_history(&self.history), UsageMeter::new(input));
        let is_noted = false;
        Ok((Attempt { model, began, partial, calls, meter, is_noted, reservation }, permit))
    }

    fn send(&self, model: &Model, ask: &RequestKind<'_>) -> EventStream {
        let (redactor, history) = (&self.setup.redactor, &self.history);
        let system = &redactor.mask_keys(&self.system);
        let specs = &mask_keys::mask_specs(redactor, &self.specs);
        match ask {
            RequestKind::Turn { last, force } => {
                let choice = match force {
                    _ if *last => ToolChoice::None,
                    Some(tool) if model.can_force() => ToolChoice::Tool(tool),
                    Some(_) | None => ToolChoice::Auto,
                };
                model.stream_choosing(system, history, specs, choice)
            }
            // The tool choice stays the default although no calls are run: another would lose the
            // cached conversation.
            RequestKind::Summary { request, room } => {
                let mut messages = excerpt(history, *room);
                messages.push((*request).clone());
                model.stream(system, &messages, specs)
            }
        }
    }

    /// Removes thinking blocks of other models: a model refuses those that it did not sign.
    fn drop_foreign_thinking(&mut self, model: &str) {
        let before = self.setup.reasoning_model.replace(model.to_owned());
        if before.is_none_or(|before| before == model) {
            return;
        }
        let history = Arc::make_mut(&mut self.history);
        for message in history.iter_mut() {
            message.content.retain(|block| {
                !matches!(
                    block,
                    ContentBlock::Thinking { .. } | ContentBlock::RedactedThinking { .. }
                )
            });
        }
        history.retain(|message| !message.content.is_empty());
    }

    fn cancelled(&self, run: &AgentRun<'_>) -> RequestError {
        RequestError::Cancelled { before_start: self.is_before_first_answer(run) }
    }

    /// Reads one stream to its end. Dropping it, however this returns, closes its connection.
    async fn consume(
        &self,
        mut stream: EventStream,
        attempt: &mut Attempt,
        is_visible: bool,
        run: &AgentRun<'_>,
    ) -> Result<(), RequestError> {
        loop {
            let item = tokio::select! {
                biased;
                () = run.cancel.cancelled() => return Err(self.cancelled(run)),
                item = stream.next() => item,
            };
            let mut event = match item {
                Some(event) => event.map_err(RequestError::Provider)?,
                None if attempt.partial.is_whole() => return Ok(()),
                None => {
                    let name = attempt.model.provider.name();
                    let message = format!("The answer from {name} was cut off.");
                    let error = ProviderError::new(ErrorKind::Connection, message);
                    return Err(RequestError::Provider(error));
                }
            };
            attempt.calls.make_unique(&mut event);
            let finished = attempt.push(&event);
            let paid = attempt.reserve_for(&event);
            self.journal_cost(attempt, finished.is_some()).await;
            if is_visible {
                emit_delta(event, run);
            }
            if let Some(block) = finished.filter(|_| is_visible) {
                run.events.emit(EventKind::BlockFinished {
                    message_id: attempt.partial.id().to_owned(),
                    model: attempt.model.name.clone(),
                    block,
                    usage: attempt.partial.usage(),
                });
            }
            paid?;
            if attempt.partial.is_whole() {
                return Ok(());
            }
            tokio::select! {
                biased;
                () = run.cancel.cancelled() => return Err(self.cancelled(run)),
                () = run.events.ready() => {}
            }
        }
    }

    /// Writes the least that an attempt costs to the journal: once its input is known, and with
    /// each complete block.
    async fn journal_cost(&self, attempt: &mut Attempt, has_new_block: bool) {
        let usage = attempt.meter.usage(attempt.partial.usage(), false);
        if (attempt.is_noted && !has_new_block) || usage.context() == 0 {
            return;
        }
        attempt.is_noted = true;
        let model = &attempt.model;
        let spent = RequestCost { usage, cost: model.cost(usage), model: &model.name, agent: None };
        if let Err(error) = self.setup.journal.begun(spent).await {
            tracing::warn!(%error, "cannot write the cost of a running request");
        }
    }

    /// Books what an attempt used, even if it failed: the provider charges for it all the same.
    ///
    /// The journal gets it here and nowhere else, before the answer is used: what becomes of the
    /// answer and of the run changes nothing about the money.
    async fn settle(&self, attempt: Attempt, run: &mut AgentRun<'_>) -> (Arc<Model>, Accumulator) {
        let Attempt { model, began, partial, meter, reservation, .. } = attempt;
        let usage = meter.usage(partial.usage(), partial.is_whole());
        if !partial.is_whole() && usage.context() == 0 {
            return (model, partial);
        }
        let cost = model.cost(usage);
        run.usage += usage;
        reservation.settle(usage, cost);
        let spent = RequestCost { usage, cost, model: &model.name, agent: None };
        if let Err(error) = self.setup.journal.spent(spent).await {
            tracing::warn!(%error, "cannot write the cost of a request yet");
        }
        TurnRecord {
            agent: run.events.path(),
            span: self.setup.span,
            turn: run.turns,
            model: &model.name,
            took: began.elapsed(),
            usage,
            cost,
            status: if partial.is_whole() { "ok" } else { "cut" },
        }
        .write();
        run.events.emit(EventKind::TurnFinished {
            usage,
            cost,
            model: model.name.clone(),
            api_time: began.elapsed(),
            whole: partial.is_whole(),
        });
        (model, partial)
    }

    /// Keeps the text of an answer that failed in the conversation, without its calls. The block
    /// that was still open is shown as far as it came.
    async fn keep_partial(
        &mut self,
        model: &Model,
        partial: &Accumulator,
        ask: &RequestKind<'_>,
        run: &mut AgentRun<'_>,
    ) -> Result<(), JournalError> {
        if !ask.is_visible() {
            return Ok(());
        }
        if let Some(text) = partial.open_text() {
            run.events.emit(EventKind::BlockCut {
                message_id: partial.id().to_owned(),
                model: model.name.clone(),
                text: text.to_owned(),
                usage: partial.usage(),
            });
        }
        let text = partial.text();
        if text.is_empty() {
            return Ok(());
        }
        run.text.clone_from(&text);
        let message = Message::assistant(vec![ContentBlock::text(text)]);
        self.write_answer(&message).await?;
        self.push(message);
        Ok(())
    }
}

impl Attempt {
    /// Adds one event; returns the block that it completed, if any.
    fn push(&mut self, event: &StreamEvent) -> Option<ContentBlock> {
        self.meter.push(event);
        self.partial.push(event)
    }

    /// Checks that the budget covers the answer so far. The end of an answer always passes, since
    /// stopping there would save nothing.
    fn reserve_for(&mut self, event: &StreamEvent) -> Result<(), BudgetExhausted> {
        let ends = match event {
            StreamEvent::MessageDelta { stop_reason, .. } => stop_reason.is_some(),
            StreamEvent::MessageStop => true,
            _ => false,
        };
        if ends {
            return Ok(());
        }
        let so_far = self.meter.usage(self.partial.usage(), false);
        self.reservation.reserve_for(self.model.cost(so_far).usd)
    }
}

/// Estimates the cost of a request: all of its input at the higher price, and an answer of ordinary
/// length. A longer answer reserves more as it comes, while there is money left.
pub(super) fn estimate(model: &Model, input: u64) -> Estimate {
    let usd = |usage: Usage| model.cost(usage).usd;
    let output_tokens = u64::from(model.max_tokens().min(MAX_RESERVED_OUTPUT));
    let plain = Usage { input_tokens: input, ..Usage::default() };
    let cached = Usage { cache_creation_input_tokens: input, ..Usage::default() };
    // The price of output depends on the length of the input.
    let output = usd(Usage { output_tokens, ..plain }) - usd(plain);
    Estimate { input: usd(plain).max(usd(cached)), output }
}

fn begin_turn(run: &mut AgentRun<'_>, span: Span, model: &str) {
    run.turns += 1;
    run.budget.count_turn();
    run.events.emit(EventKind::TurnStarted { turn: run.turns, limit: run.last_turn });
    turn_started(run.events.path(), span, run.turns, model);
}

/// The message for a model without a price, for which a dollar budget cannot be enforced.
pub(super) fn unpriced_message(model: &str) -> String {
    format!(
        "No price is known for {model}, so a dollar budget cannot be enforced: add its price to models.toml, or use another model."
    )
}

/// Emits the parts of a stream event that the user can see.
fn emit_delta(event: StreamEvent, run: &AgentRun<'_>) {
    let kind = match event {
        event if run.events.wants_steps() => EventKind::Streamed(Box::new(event)),
        StreamEvent::BlockDelta { delta: Delta::Text(text), .. } => EventKind::TextDelta { text },
        StreamEvent::BlockDelta { delta: Delta::Thinking(text), .. } => {
            EventKind::ThinkingDelta { text }
        }
        _ => return,
    };
    run.events.emit(kind);
}
