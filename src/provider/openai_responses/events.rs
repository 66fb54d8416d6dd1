//! Events of the Responses API, and what they mean. What nobody knows yet is passed over.

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::super::exchange::{Decode, Fault, Progress};
use super::super::report::Report;
use super::thought;
use crate::protocol::{BlockStart, Delta, StopReason, StreamEvent, ToolUseId, Usage};

/// Reads one answer.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    started: bool,
    open: Vec<Open>,
    next_block: usize,
    /// Items that are whole, by their place in the answer.
    whole: Vec<usize>,
    called: bool,
    refused: bool,
    usage: Usage,
    stop_reason: Option<StopReason>,
}

/// A block that has begun and not ended.
#[derive(Debug)]
struct Open {
    /// Its item's place in the answer.
    item: usize,
    /// Its place among the parts of a message.
    part: usize,
    block: usize,
    /// The paragraph of a thought that was written last, and whether anything was written at all.
    paragraph: Option<usize>,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Event {
    #[serde(rename = "response.created")]
    Created { response: Response },
    #[serde(rename = "response.output_item.added")]
    ItemAdded {
        #[serde(default)]
        output_index: usize,
        item: Item,
    },
    #[serde(rename = "response.output_item.done")]
    ItemDone {
        #[serde(default)]
        output_index: usize,
        item: Value,
    },
    #[serde(rename = "response.output_text.delta")]
    Text(PartDelta),
    #[serde(rename = "response.refusal.delta")]
    Refusal(PartDelta),
    #[serde(
        rename = "response.reasoning_summary_text.delta",
        alias = "response.reasoning_text.delta"
    )]
    Thought(PartDelta),
    #[serde(rename = "response.function_call_arguments.delta")]
    Arguments(PartDelta),
    #[serde(rename = "response.completed", alias = "response.incomplete")]
    Ended { response: Response },
    #[serde(rename = "response.failed")]
    Failed { response: Response },
    #[serde(rename = "error")]
    Error,
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct PartDelta {
    #[serde(default)]
    output_index: usize,
    #[serde(default, alias = "summary_index")]
    content_index: usize,
    #[serde(default)]
    delta: String,
}

#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    id: String,
    #[serde(default)]
    model: String,
    #[serde(default)]
    output: Vec<Value>,
    usage: Option<WireUsage>,
    incomplete_details: Option<Incomplete>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item {
    Message {
        #[serde(default)]
        content: Vec<MessagePart>,
    },
    FunctionCall {
        #[serde(default)]
        call_id: String,
        #[serde(default)]
        name: String,
        #[serde(default)]
        arguments: String,
    },
    Reasoning {
        summary: Option<Vec<ThoughtPart>>,
        content: Option<Vec<ThoughtPart>>,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum MessagePart {
    OutputText {
        text: String,
    },
    Refusal {
        refusal: String,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct ThoughtPart {
    #[serde(default)]
    text: String,
}

#[derive(Default, Deserialize)]
struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<InputDetails>,
}

#[derive(Default, Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

impl Decode for Decoder {
    fn event(&mut self, data: &str, out: &mut Vec<StreamEvent>) -> Result<(), Fault> {
        if data.trim() == "[DONE]" {
            return Ok(());
        }
        match serde_json::from_str(data) {
            Ok(Event::Error) => Err(reported(data)),
            Ok(event) => self.known(event, out),
            Err(error) => self.whole_answer(data, &error, out),
        }
    }

    fn progress(&self) -> Progress {
        if self.stop_reason.is_some() { Progress::Over } else { Progress::Underway }
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), Fault> {
        let Some(stop_reason) = self.stop_reason.clone() else { return Err(Fault::Cut) };
        let left: Vec<_> = self.open.drain(..).map(|open| open.block).collect();
        out.extend(left.into_iter().map(|index| StreamEvent::BlockStop { index }));
        out.push(StreamEvent::MessageDelta { stop_reason: Some(stop_reason), usage: self.usage });
        out.push(StreamEvent::MessageStop);
        Ok(())
    }
}

impl Decoder {
    fn known(&mut self, event: Event, out: &mut Vec<StreamEvent>) -> Result<(), Fault> {
        match event {
            Event::Created { response } => self.start(response.id, response.model, out),
            Event::ItemAdded { output_index, item } => self.item_added(output_index, item, out),
            Event::ItemDone { output_index, item } => self.item_done(output_index, &item, out),
            Event::Text(delta) => self.write_text(&delta, out),
            Event::Refusal(delta) => {
                self.refused = true;
                self.write_text(&delta, out);
            }
            Event::Thought(delta) => self.write_thought(&delta, out),
            Event::Arguments(PartDelta { output_index, delta, .. }) => {
                self.write_arguments(output_index, delta, out);
            }
            Event::Ended { response } => self.ended(response, out),
            Event::Failed { response } => {
                let error = response.error.unwrap_or_default();
                return Err(Fault::Reported(Report::parse(&serde_json::json!({"error": error}))));
            }
            Event::Error | Event::Unknown => {}
        }
        Ok(())
    }

    /// What is no event: the whole answer as one object, a failure in some gateway's own shape, or nonsense.
    fn whole_answer(
        &mut self,
        data: &str,
        error: &serde_json::Error,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), Fault> {
        let body: Value = serde_json::from_str(data).unwrap_or_default();
        if body["object"] == "response" && body["error"].is_null() {
            let senseless = |error: serde_json::Error| Fault::Senseless(error.to_string());
            self.ended(Response::deserialize(&body).map_err(senseless)?, out);
            return Ok(());
        }
        match body.get("error").or_else(|| body.get(0)) {
            Some(_) => Err(Fault::Reported(Report::parse(&body))),
            None => Err(Fault::Senseless(error.to_string())),
        }
    }

    fn start(&mut self, id: String, model: String, out: &mut Vec<StreamEvent>) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let id = if id.is_empty() { format!("resp_{}", Uuid::now_v7().simple()) } else { id };
        out.push(StreamEvent::MessageStart { id, model, usage: Usage::default() });
    }

    fn item_added(&mut self, at: usize, item: Item, out: &mut Vec<StreamEvent>) {
        match item {
            Item::FunctionCall { call_id, name, .. } => self.begin_call(at, call_id, name, out),
            Item::Reasoning { .. } => drop(self.block(at, 0, || BlockStart::Thinking, out)),
            Item::Message { .. } | Item::Unknown => {}
        }
    }

    /// An item is whole: what of it did not stream is taken from here.
    fn item_done(&mut self, at: usize, item: &Value, out: &mut Vec<StreamEvent>) {
        self.whole.push(at);
        match Item::deserialize(item).unwrap_or(Item::Unknown) {
            Item::Message { content } => self.message_done(at, content, out),
            Item::FunctionCall { call_id, name, arguments } => {
                self.begin_call(at, call_id, name, out);
                if !self.is_written(at, 0) {
                    self.write_arguments(at, arguments, out);
                }
            }
            Item::Reasoning { summary, content } => {
                self.thought_done(at, [summary, content], item, out);
            }
            Item::Unknown => {}
        }
        self.close(at, out);
    }

    fn message_done(&mut self, at: usize, parts: Vec<MessagePart>, out: &mut Vec<StreamEvent>) {
        for (part, content) in parts.into_iter().enumerate() {
            let text = match content {
                MessagePart::OutputText { text } => text,
                MessagePart::Refusal { refusal } => {
                    self.refused = true;
                    refusal
                }
                MessagePart::Unknown => continue,
            };
            if !self.is_written(at, part) {
                let delta = PartDelta { output_index: at, content_index: part, delta: text };
                self.write_text(&delta, out);
            }
        }
    }

    fn thought_done(
        &mut self,
        at: usize,
        parts: [Option<Vec<ThoughtPart>>; 2],
        item: &Value,
        out: &mut Vec<StreamEvent>,
    ) {
        if !self.is_written(at, 0) {
            let parts = parts.into_iter().flatten().flatten().enumerate();
            for (content_index, ThoughtPart { text }) in parts {
                let delta = PartDelta { output_index: at, content_index, delta: text };
                self.write_thought(&delta, out);
            }
        }
        let index = self.block(at, 0, || BlockStart::Thinking, out);
        let delta = thought::seal(item).map(Delta::Signature);
        out.extend(delta.map(|delta| StreamEvent::BlockDelta { index, delta }));
    }

    fn begin_call(&mut self, at: usize, call_id: String, name: String, out: &mut Vec<StreamEvent>) {
        self.called = true;
        let given = (!call_id.is_empty()).then(|| ToolUseId::new(call_id));
        let start = || BlockStart::ToolUse { id: given.unwrap_or_else(ToolUseId::generate), name };
        self.block(at, 0, start, out);
    }

    fn write_text(&mut self, delta: &PartDelta, out: &mut Vec<StreamEvent>) {
        if delta.delta.is_empty() {
            return;
        }
        let PartDelta { output_index, content_index, delta } = delta;
        let index = self.block(*output_index, *content_index, || BlockStart::Text, out);
        self.mark(index, 0);
        out.push(StreamEvent::BlockDelta { index, delta: Delta::Text(delta.clone()) });
    }

    /// The parts of a summary are paragraphs of one thought.
    fn write_thought(&mut self, delta: &PartDelta, out: &mut Vec<StreamEvent>) {
        if delta.delta.is_empty() {
            return;
        }
        let index = self.block(delta.output_index, 0, || BlockStart::Thinking, out);
        let before = self.mark(index, delta.content_index);
        let begins = before.is_some_and(|before| before != delta.content_index);
        let text = if begins { format!("\n\n{}", delta.delta) } else { delta.delta.clone() };
        out.push(StreamEvent::BlockDelta { index, delta: Delta::Thinking(text) });
    }

    fn write_arguments(&mut self, at: usize, json: String, out: &mut Vec<StreamEvent>) {
        let Some(index) = self.find(at, 0).map(|open| open.block) else { return };
        if !json.is_empty() {
            self.mark(index, 0);
            out.push(StreamEvent::BlockDelta { index, delta: Delta::Input(json) });
        }
    }

    /// The block of one part of an item, begun if it has not.
    fn block(
        &mut self,
        item: usize,
        part: usize,
        start: impl FnOnce() -> BlockStart,
        out: &mut Vec<StreamEvent>,
    ) -> usize {
        self.start(String::new(), String::new(), out);
        if let Some(open) = self.find(item, part) {
            return open.block;
        }
        let index = self.next_block;
        self.next_block += 1;
        self.open.push(Open { item, part, block: index, paragraph: None });
        out.push(StreamEvent::BlockStart { index, block: start() });
        index
    }

    fn find(&self, item: usize, part: usize) -> Option<&Open> {
        self.open.iter().find(|open| (open.item, open.part) == (item, part))
    }

    fn is_written(&self, item: usize, part: usize) -> bool {
        self.find(item, part).is_some_and(|open| open.paragraph.is_some())
    }

    /// Notes that a block was written to; answers with the paragraph that was written before.
    fn mark(&mut self, block: usize, paragraph: usize) -> Option<usize> {
        let open = self.open.iter_mut().find(|open| open.block == block)?;
        open.paragraph.replace(paragraph)
    }

    fn close(&mut self, item: usize, out: &mut Vec<StreamEvent>) {
        let ends = self.open.extract_if(.., |open| open.item == item);
        out.extend(ends.map(|open| StreamEvent::BlockStop { index: open.block }));
    }

    fn ended(&mut self, response: Response, out: &mut Vec<StreamEvent>) {
        let Response { id, model, output, usage, incomplete_details, .. } = response;
        self.start(id, model, out);
        for (at, item) in output.iter().enumerate() {
            if !self.whole.contains(&at) {
                self.item_done(at, item, out);
            }
        }
        self.usage = usage.unwrap_or_default().into();
        let reason = incomplete_details.and_then(|details| details.reason);
        self.stop_reason = Some(match reason {
            _ if self.refused => StopReason::Refusal,
            Some(reason) => incomplete(reason),
            None if self.called => StopReason::ToolUse,
            None => StopReason::EndTurn,
        });
    }
}

impl From<WireUsage> for Usage {
    /// The wire counts cached tokens as part of the input.
    fn from(wire: WireUsage) -> Self {
        let details = wire.input_tokens_details.unwrap_or_default();
        let read = details.cached_tokens.unwrap_or(0);
        let written = details.cache_write_tokens.unwrap_or(0);
        Self {
            input_tokens: wire.input_tokens.unwrap_or(0).saturating_sub(read + written),
            output_tokens: wire.output_tokens.unwrap_or(0),
            cache_read_input_tokens: read,
            cache_creation_input_tokens: written,
        }
    }
}

/// An `error` event: its fields beside its type, or below `error`.
fn reported(data: &str) -> Fault {
    Fault::Reported(Report::parse(&serde_json::from_str(data).unwrap_or_default()))
}

fn incomplete(reason: String) -> StopReason {
    match reason.as_str() {
        "max_output_tokens" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refusal,
        _ => StopReason::Other(reason),
    }
}

#[cfg(test)]
mod tests;
