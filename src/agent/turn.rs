//! One answer of the model: the request, its stream, and its repetition when it fails.

use std::sync::Arc;
use std::time::Instant;

use futures_util::StreamExt;

use super::record::{TurnRecord, turn_started};
use super::{Agent, Run, Stop, compact};
use crate::protocol::{
    Accumulator, ContentBlock, Delta, End, EventKind, Message, Reply, StreamEvent,
};
use crate::provider::{EventStream, Model, ProviderError};

/// What the model is asked for.
pub(super) enum Ask<'a> {
    /// The next answer; without tools on the last turn.
    Turn { last: bool },
    /// A summary of the conversation, or of an excerpt of about `room` tokens. Nothing of it is shown.
    Summary { request: &'a Message, room: Option<u64> },
}

/// Why there is no whole answer, with the text that came.
pub(super) struct Unanswered {
    text: String,
    /// Absent when the run was cancelled.
    pub error: Option<ProviderError>,
}

/// How one attempt ended other than well, with what it had streamed.
enum Cut {
    Cancelled,
    Failed(ProviderError),
}

impl Agent {
    /// Asks the model until there is a whole answer, the retries are used up, or the run is cancelled.
    /// Nothing of an answer is acted on before it is whole, so asking again can run nothing twice.
    pub(super) async fn ask(&mut self, run: &mut Run<'_>, last: bool) -> Result<Reply, Stop> {
        run.turns += 1;
        run.events.emit(EventKind::TurnStarted { turn: run.turns, limit: self.setup.max_turns });
        turn_started(run.events.path(), self.setup.span, run.turns, &self.setup.model.get().name);
        match self.request(&Ask::Turn { last }, run).await {
            Ok(reply) => Ok(reply),
            Err(unanswered) => Err(self.give_up(unanswered, run).await),
        }
    }

    /// Makes one request, and again while it fails in a way that may pass.
    pub(super) async fn request(
        &mut self,
        ask: &Ask<'_>,
        run: &mut Run<'_>,
    ) -> Result<Reply, Unanswered> {
        let mut attempt = 0;
        loop {
            let model = self.setup.model.get();
            self.forget_thoughts_of_others(&model.name);
            let stream = self.send(&model, ask);
            let began = Instant::now();
            let mut partial = Accumulator::default();
            let shown = matches!(ask, Ask::Turn { .. });
            let cut = self.consume(stream, &mut partial, shown, run).await;
            self.settle(&model, &partial, began, run);
            let Some(cut) = cut else {
                return Ok(partial.into_reply());
            };
            let error = match cut {
                Cut::Cancelled => return Err(Unanswered { text: partial.text(), error: None }),
                Cut::Failed(error) => error,
            };
            attempt += 1;
            let Some(wait) = model.retry.next(attempt, &error) else {
                return Err(Unanswered { text: partial.text(), error: Some(error) });
            };
            tracing::info!(%error, attempt, "a request is repeated");
            run.events.emit(EventKind::Retrying {
                attempt,
                limit: model.retry.max_retries,
                wait,
                reason: error.message,
            });
            tokio::select! {
                biased;
                () = run.cancel.cancelled() => {
                    // What it had streamed was declared void already.
                    return Err(Unanswered { text: String::new(), error: None });
                }
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    fn send(&self, model: &Model, ask: &Ask<'_>) -> EventStream {
        let (system, history) = (&self.setup.system, &self.history);
        match ask {
            Ask::Turn { last: true } => model.stream(system, history, &[]),
            Ask::Turn { last: false } => model.stream(system, history, &self.specs),
            Ask::Summary { request, room } => {
                let mut messages = compact::excerpt(history, *room);
                messages.push((*request).clone());
                model.stream(system, &messages, &self.specs)
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
        partial: &mut Accumulator,
        shown: bool,
        run: &Run<'_>,
    ) -> Option<Cut> {
        let mut message_id = String::new();
        loop {
            let item = tokio::select! {
                biased;
                () = run.cancel.cancelled() => return Some(Cut::Cancelled),
                item = stream.next() => item,
            };
            let event = match item {
                Some(Ok(event)) => event,
                Some(Err(error)) => return Some(Cut::Failed(error)),
                None if partial.is_whole() => return None,
                None => {
                    return Some(Cut::Failed(ProviderError::cut(
                        self.setup.model.get().provider.name(),
                    )));
                }
            };
            if let StreamEvent::MessageStart { id, .. } = &event {
                message_id.clone_from(id);
            }
            let finished = partial.push(&event);
            if shown {
                show(event, run);
            }
            if let Some(block) = finished.filter(|_| shown) {
                let message_id = message_id.clone();
                run.events.emit(EventKind::BlockFinished { message_id, block });
            }
            if partial.is_whole() {
                return None;
            }
            tokio::select! {
                biased;
                () = run.cancel.cancelled() => return Some(Cut::Cancelled),
                () = run.events.ready() => {}
            }
        }
    }

    /// Books what an attempt used, also one that failed: the provider charges for it all the same.
    fn settle(&mut self, model: &Model, partial: &Accumulator, began: Instant, run: &mut Run<'_>) {
        let usage = partial.usage();
        if !partial.is_whole() && usage.context() == 0 {
            return;
        }
        let cost = model.cost(usage);
        run.usage += usage;
        self.unbooked.0 += usage;
        self.unbooked.1 += cost;
        run.budget.charge(usage, cost);
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
    }

    /// Ends the run in the middle of an answer: its text so far stays in the conversation, its calls do not.
    async fn give_up(&mut self, Unanswered { text, error }: Unanswered, run: &mut Run<'_>) -> Stop {
        if !text.is_empty() {
            run.text.clone_from(&text);
            let message = Message::assistant(vec![ContentBlock::text(text)]);
            if let Err(error) = self.book(&message).await {
                return Stop::Disk(error);
            }
            self.push(message);
        }
        Stop::End(match error {
            None => End::Cancelled { before_start: false },
            Some(error) => End::Failed { failure: error.kind.into(), message: error.message },
        })
    }
}

/// Shows what a person can see of a stream event.
fn show(event: StreamEvent, run: &Run<'_>) {
    let kind = match event {
        StreamEvent::BlockDelta { delta: Delta::Text(text), .. } => EventKind::TextDelta { text },
        StreamEvent::BlockDelta { delta: Delta::Thinking(text), .. } => {
            EventKind::ThinkingDelta { text }
        }
        _ => return,
    };
    run.events.emit(kind);
}
