//! One answer of the model: the request, its stream, and its repetition when it fails.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;

use super::call_ids::CallIds;
use super::meter::Meter;
use super::operations::Place;
use super::record::{TurnRecord, turn_started};
use super::{Agent, Run, Stop, compact, mask};
use crate::budget::{Estimate, Reservation, UsedUp};
use crate::protocol::{
    Accumulator, ApiError, ContentBlock, Delta, End, EventKind, Failure, Message, Reply, Span,
    Spent, StreamEvent, Usage, Wait, tell_wait,
};
use crate::provider::{ErrorKind, EventStream, Model, ProviderError, ToolChoice};

/// How often a model may be overloaded in a row before its fallback answers.
const MAX_OVERLOADS: u32 = 3;

/// Tokens of an answer for which money is set aside before it comes: so many agents find room under
/// one cap although each may answer at length.
const RESERVED_OUTPUT: u32 = 16_000;

/// What the model is asked for.
pub(super) enum Ask<'a> {
    /// The next answer; without calls on the last turn, and beginning with a call of the tool `force`.
    Turn { last: bool, force: Option<&'a str> },
    /// A summary of the conversation, or of an excerpt of about `room` tokens. Nothing of it is shown.
    Summary { request: &'a Message, room: Option<u64> },
}

impl Ask<'_> {
    fn is_shown(&self) -> bool {
        matches!(self, Self::Turn { .. })
    }
}

/// Why there is no whole answer, with the text that came.
pub(super) struct Unanswered {
    text: String,
    pub cut: Cut,
}

/// One request: what it may cost, and what has come of it so far.
struct Attempt {
    model: Arc<Model>,
    began: Instant,
    partial: Accumulator,
    calls: CallIds,
    meter: Meter,
    /// Whether the journal knows of it.
    is_noted: bool,
    reservation: Reservation,
}

/// How one attempt ended other than well.
pub(super) enum Cut {
    Cancelled,
    Spent(UsedUp),
    /// Nobody knows what it would cost, and there is a cap in dollars.
    Unpriced(String),
    Failed(ProviderError),
}

impl Agent {
    /// Asks the model for its next answer.
    pub(super) async fn ask(&mut self, run: &mut Run<'_>, last: bool) -> Result<Reply, Stop> {
        let force = run.forced.as_ref().map(|forced| forced.tool.clone());
        match self.request(&Ask::Turn { last, force: force.as_deref() }, run).await {
            Ok(reply) => Ok(reply),
            Err(unanswered) => Err(self.give_up(unanswered, run).await),
        }
    }

    /// Makes one request, and again while it fails in a way that may pass.
    /// Nothing of an answer is acted on before it is whole, so asking again can run nothing twice.
    pub(super) async fn request(
        &mut self,
        ask: &Ask<'_>,
        run: &mut Run<'_>,
    ) -> Result<Reply, Unanswered> {
        let (mut retries, mut overloads) = (0, 0);
        loop {
            let (mut attempt, place) = self.admit(run).await.map_err(Unanswered::without)?;
            if retries == 0 && ask.is_shown() {
                begin_turn(run, self.setup.span, &attempt.model.name);
            }
            let stream = self.send(&attempt.model, ask);
            let cut = self.consume(stream, &mut attempt, ask.is_shown(), run).await;
            drop(place);
            let (model, partial) = self.settle(attempt, run).await;
            let error = match cut {
                None => return Ok(partial.into_reply()),
                Some(Cut::Failed(error)) => error,
                Some(cut) => return Err(unanswered(&model, &partial, cut, ask, run)),
            };
            retries += 1;
            overloads = if error.kind == ErrorKind::Overloaded { overloads + 1 } else { 0 };
            let wait = model.retry.next(retries, &error);
            if overloads == MAX_OVERLOADS || (overloads > 0 && wait.is_none()) {
                overloads = 0;
                if self.fall_back(&model, retries, &error, run) {
                    continue;
                }
            }
            let Some(wait) = wait else {
                return Err(unanswered(&model, &partial, Cut::Failed(error), ask, run));
            };
            tracing::info!(%error, retries, "a request is repeated");
            run.events.emit(EventKind::Retrying {
                attempt: retries,
                limit: model.retry.max_retries,
                wait,
                reason: error.message,
            });
            tokio::select! {
                biased;
                // What it had streamed was declared void already.
                () = run.cancel.cancelled() => return Err(Unanswered::without(Cut::Cancelled)),
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Lets another model answer from here on, if there is one for this case.
    fn fall_back(&self, model: &Model, retries: u32, error: &ProviderError, run: &Run<'_>) -> bool {
        let Some(fallback) = &model.fallback else { return false };
        run.events.emit(EventKind::Retrying {
            attempt: retries,
            limit: model.retry.max_retries,
            wait: Duration::ZERO,
            reason: format!("{} {} answers from here on.", error.message, fallback.name),
        });
        // The user may have chosen another one meanwhile.
        if self.setup.model.get().name == model.name {
            self.setup.model.set((**fallback).clone());
        }
        if run.events.path().is_root() {
            run.events.emit(EventKind::ModelChanged {
                provider: fallback.provider.name().to_owned(),
                model: fallback.name.clone(),
                context_window: Some(fallback.info.context_window),
            });
        }
        true
    }

    /// Sets aside what the request may cost, and waits for a place at work. The place comes last:
    /// who waits for money needs none, and those who hold it must find one.
    async fn admit(&mut self, run: &Run<'_>) -> Result<(Attempt, Place), Cut> {
        let model = self.setup.model.get();
        if model.info.pricing.is_unknown() && run.budget.caps_money() {
            return Err(Cut::Unpriced(model.name.clone()));
        }
        self.forget_thoughts_of_others(&model.name);
        let input = self.context(&self.specs);
        let reserved = run.budget.reserve(estimate(&model, input));
        let reservation = tokio::select! {
            biased;
            () = run.cancel.cancelled() => return Err(Cut::Cancelled),
            reserved = tell_wait(run.events, || Wait::Budget, reserved) => {
                reserved.map_err(Cut::Spent)?
            }
        };
        let place = self.setup.operations.enter(run.cancel).await.ok_or(Cut::Cancelled)?;
        let (began, partial) = (Instant::now(), Accumulator::default());
        let (calls, meter) = (CallIds::from_history(&self.history), Meter::new(input));
        let is_noted = false;
        Ok((Attempt { model, began, partial, calls, meter, is_noted, reservation }, place))
    }

    fn send(&self, model: &Model, ask: &Ask<'_>) -> EventStream {
        let (redactor, history) = (&self.setup.redactor, &self.history);
        let system = &redactor.mask_keys(&self.system);
        let specs = &mask::specs(redactor, &self.specs);
        match ask {
            Ask::Turn { last, force } => {
                let choice = match force {
                    _ if *last => ToolChoice::None,
                    Some(tool) if model.can_force() => ToolChoice::Tool(tool),
                    Some(_) | None => ToolChoice::Auto,
                };
                model.stream_choosing(system, history, specs, choice)
            }
            // Nothing is said about calls, although none are run: another choice would lose the
            // cached conversation.
            Ask::Summary { request, room } => {
                let mut messages = compact::excerpt(history, *room);
                messages.push((*request).clone());
                model.stream(system, &messages, specs)
            }
        }
    }

    /// Thinking blocks are signed by the model that made them, and refused by any other.
    fn forget_thoughts_of_others(&mut self, model: &str) {
        let thinker = self.setup.thinker.replace(model.to_owned());
        if thinker.is_none_or(|thinker| thinker == model) {
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

    /// Reads one stream to its end. Dropping it, on any way out, closes its connection.
    async fn consume(
        &self,
        mut stream: EventStream,
        attempt: &mut Attempt,
        shown: bool,
        run: &Run<'_>,
    ) -> Option<Cut> {
        loop {
            let item = tokio::select! {
                biased;
                () = run.cancel.cancelled() => return Some(Cut::Cancelled),
                item = stream.next() => item,
            };
            let mut event = match item {
                Some(Ok(event)) => event,
                Some(Err(error)) => return Some(Cut::Failed(error)),
                None if attempt.partial.is_whole() => return None,
                None => {
                    let error = ProviderError::cut(attempt.model.provider.name());
                    return Some(Cut::Failed(error));
                }
            };
            attempt.calls.make_unique(&mut event);
            let finished = attempt.push(&event);
            let paid = attempt.cover(&event);
            self.note(attempt, finished.is_some()).await;
            if shown {
                show(event, run);
            }
            if let Some(block) = finished.filter(|_| shown) {
                run.events.emit(EventKind::BlockFinished {
                    message_id: attempt.partial.id().to_owned(),
                    model: attempt.model.name.clone(),
                    block,
                    usage: attempt.partial.usage(),
                });
            }
            if let Err(used_up) = paid {
                return Some(Cut::Spent(used_up));
            }
            if attempt.partial.is_whole() {
                return None;
            }
            tokio::select! {
                biased;
                () = run.cancel.cancelled() => return Some(Cut::Cancelled),
                () = run.events.ready() => {}
            }
        }
    }

    /// Tells the journal what an attempt costs at least: once its input is known, and with each
    /// block that is whole.
    async fn note(&self, attempt: &mut Attempt, has_new_block: bool) {
        let usage = attempt.meter.usage(attempt.partial.usage(), false);
        if (attempt.is_noted && !has_new_block) || usage.context() == 0 {
            return;
        }
        attempt.is_noted = true;
        let model = &attempt.model;
        let spent = Spent { usage, cost: model.cost(usage), model: &model.name, agent: None };
        if let Err(error) = self.setup.journal.begun(spent).await {
            tracing::warn!(%error, "the cost of a request under way could not be written");
        }
    }

    /// Books what an attempt used, also one that failed: the provider charges for it all the same.
    ///
    /// The journal gets it here and nowhere else, before anything is done with the answer: what
    /// becomes of that, and of the run, changes nothing about the money.
    async fn settle(&self, attempt: Attempt, run: &mut Run<'_>) -> (Arc<Model>, Accumulator) {
        let Attempt { model, began, partial, meter, reservation, .. } = attempt;
        let usage = meter.usage(partial.usage(), partial.is_whole());
        if !partial.is_whole() && usage.context() == 0 {
            return (model, partial);
        }
        let cost = model.cost(usage);
        run.usage += usage;
        reservation.settle(usage, cost);
        let spent = Spent { usage, cost, model: &model.name, agent: None };
        if let Err(error) = self.setup.journal.spent(spent).await {
            tracing::warn!(%error, "the cost of a request could not be written yet");
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

    /// Ends the run in the middle of an answer: its text so far stays in the conversation, its calls do not.
    async fn give_up(&mut self, Unanswered { text, cut }: Unanswered, run: &mut Run<'_>) -> Stop {
        if !text.is_empty() {
            run.text.clone_from(&text);
            let message = Message::assistant(vec![ContentBlock::text(text)]);
            if let Err(error) = self.write_answer(&message).await {
                return Stop::Disk(error);
            }
            self.push(message);
        }
        let before_start = self.has_not_begun(run);
        match &cut {
            Cut::Failed(error) => {
                let error = ApiError { status: error.status };
                Stop::Refused(cut.end(before_start), error)
            }
            _ => Stop::End(cut.end(before_start)),
        }
    }
}

impl Unanswered {
    /// The request came to nothing at all.
    fn without(cut: Cut) -> Self {
        Self { text: String::new(), cut }
    }
}

impl Cut {
    /// How a run ends by it.
    pub fn end(self, before_start: bool) -> End {
        match self {
            Self::Cancelled => End::Cancelled { before_start },
            Self::Spent(UsedUp { what }) => End::Budget { what },
            Self::Unpriced(model) => unpriced(&model),
            Self::Failed(error) => {
                End::Failed { failure: error.kind.into(), message: error.message }
            }
        }
    }
}

impl Attempt {
    /// Takes one event; answers with the block that it completed, if any.
    fn push(&mut self, event: &StreamEvent) -> Option<ContentBlock> {
        self.meter.push(event);
        self.partial.push(event)
    }

    /// Checks that the budget covers the answer so far. The end of an answer always passes, because
    /// stopping there would save nothing.
    fn cover(&mut self, event: &StreamEvent) -> Result<(), UsedUp> {
        let ends = match event {
            StreamEvent::MessageDelta { stop_reason, .. } => stop_reason.is_some(),
            StreamEvent::MessageStop => true,
            _ => false,
        };
        if ends {
            return Ok(());
        }
        let so_far = self.meter.usage(self.partial.usage(), false);
        self.reservation.cover(self.model.cost(so_far).usd)
    }
}

/// Returns the cost to reserve for a request: all of its input at the higher price, and an answer
/// of ordinary length. A longer answer takes more as it comes, while there is money left.
fn estimate(model: &Model, input: u64) -> Estimate {
    let usd = |usage: Usage| model.cost(usage).usd;
    let output_tokens = u64::from(model.max_tokens().min(RESERVED_OUTPUT));
    let plain = Usage { input_tokens: input, ..Usage::default() };
    let cached = Usage { cache_creation_input_tokens: input, ..Usage::default() };
    // The price of output depends on the length of the input.
    let output = usd(Usage { output_tokens, ..plain }) - usd(plain);
    Estimate { input: usd(plain).max(usd(cached)), output }
}

fn begin_turn(run: &mut Run<'_>, span: Span, model: &str) {
    run.turns += 1;
    run.budget.count_turn();
    run.events.emit(EventKind::TurnStarted { turn: run.turns, limit: run.last_turn });
    turn_started(run.events.path(), span, run.turns, model);
}

/// The end of an answer that nobody asks for again. What there is of its open block is shown, for it stays.
fn unanswered(
    model: &Model,
    partial: &Accumulator,
    cut: Cut,
    ask: &Ask<'_>,
    run: &Run<'_>,
) -> Unanswered {
    if let Some(text) = partial.open_text().filter(|_| ask.is_shown()) {
        run.events.emit(EventKind::BlockCut {
            message_id: partial.id().to_owned(),
            model: model.name.clone(),
            text: text.to_owned(),
            usage: partial.usage(),
        });
    }
    Unanswered { text: partial.text(), cut }
}

/// The end of a run whose model cannot be held to a budget in dollars.
fn unpriced(model: &str) -> End {
    let message = format!(
        "No price is known for {model}, so a budget in dollars cannot hold: put its price into models.toml, or use another model."
    );
    End::Failed { failure: Failure::BadRequest, message }
}

/// Shows what a person can see of a stream event.
fn show(event: StreamEvent, run: &Run<'_>) {
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
