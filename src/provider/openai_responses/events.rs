//! Decodes events of the Responses API. Unknown ones are ignored.

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::super::dialect::CachedInput;
use super::super::error::ProviderError;
use super::super::exchange::{AnswerProgress, EventDecoder};
use super::reasoning;
use crate::protocol::{BlockStart, Delta, StopReason, StreamEvent, ToolUseId, Usage};

/// Decodes one answer.
#[derive(Debug, Default)]
pub struct ResponsesDecoder {
    started: bool,
    open: Vec<ResponsesOpenBlock>,
    next_block: usize,
    /// Complete items, by their index in the answer.
    whole: Vec<usize>,
    called: bool,
    refused: bool,
    usage: Usage,
    stop_reason: Option<StopReason>,
}

/// A block that has begun and not ended.
#[derive(Debug)]
struct ResponsesOpenBlock {
    /// Its item's index in the answer.
    item: usize,
    /// Its index among the parts of a message.
    part: usize,
    block: usize,
    /// The paragraph of a thought that was written last, if any text was written.
    paragraph: Option<usize>,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum ResponsesEvent {
    #[serde(rename = "response.created")]
    Created { response: ResponseObject },
    #[serde(rename = "response.output_item.added")]
    ItemAdded {
        #[serde(default)]
        output_index: usize,
        item: OutputItem,
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
    Ended { response: ResponseObject },
    #[serde(rename = "response.failed")]
    Failed { response: ResponseObject },
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
struct ResponseObject {
    #[serde(default)]
    id: String,
    #[serde(default)]
    model: String,
    #[serde(default)]
    output: Vec<Value>,
    usage: Option<ResponsesUsage>,
    incomplete_details: Option<IncompleteDetails>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum OutputItem {
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
        summary: Option<Vec<ReasoningPart>>,
        content: Option<Vec<ReasoningPart>>,
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
struct ReasoningPart {
    #[serde(default)]
    text: String,
}

#[derive(Default, Deserialize)]
struct ResponsesUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<CachedInput>,
}

impl EventDecoder for ResponsesDecoder {
    fn event(&mut self, data: &str, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        if data.trim() == "[DONE]" {
            return Ok(());
        }
        match serde_json::from_str(data) {
            // Its fields are beside its type, or below `error`.
            Ok(ResponsesEvent::Error) => {
                Err(ProviderError::reported(&serde_json::from_str(data).unwrap_or_default()))
            }
            Ok(event) => self.handle_event(event, out),
            Err(error) => self.whole_answer(data, &error, out),
        }
    }

    fn progress(&self) -> AnswerProgress {
        if self.stop_reason.is_some() { AnswerProgress::Over } else { AnswerProgress::Underway }
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        let Some(stop_reason) = self.stop_reason.clone() else { return Err(ProviderError::cut()) };
        let left: Vec<_> = self.open.drain(..).map(|open| open.block).collect();
        out.extend(left.into_iter().map(|index| StreamEvent::BlockStop { index }));
        out.push(StreamEvent::MessageDelta { stop_reason: Some(stop_reason), usage: self.usage });
        out.push(StreamEvent::MessageStop);
        Ok(())
    }
}

impl ResponsesDecoder {
    fn handle_event(
        &mut self,
        event: ResponsesEvent,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        match event {
            ResponsesEvent::Created { response } => self.start(response.id, response.model, out),
            ResponsesEvent::ItemAdded { output_index, item } => {
                self.item_added(output_index, item, out);
            }
            ResponsesEvent::ItemDone { output_index, item } => {
                self.item_done(output_index, &item, out);
            }
            ResponsesEvent::Text(delta) => self.write_text(&delta, out),
            ResponsesEvent::Refusal(delta) => {
                self.refused = true;
                self.write_text(&delta, out);
            }
            ResponsesEvent::Thought(delta) => self.write_thought(&delta, out),
            ResponsesEvent::Arguments(PartDelta { output_index, delta, .. }) => {
                self.write_arguments(output_index, delta, out);
            }
            ResponsesEvent::Ended { response } => self.ended(response, out),
            ResponsesEvent::Failed { response } => {
                let error = response.error.unwrap_or_default();
                return Err(ProviderError::reported(&serde_json::json!({"error": error})));
            }
            ResponsesEvent::Error | ResponsesEvent::Unknown => {}
        }
        Ok(())
    }

    /// Handles data that is not an event: the whole answer as one object, a failure in a gateway's
    /// own shape, or nonsense.
    fn whole_answer(
        &mut self,
        data: &str,
        error: &serde_json::Error,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        let body: Value = serde_json::from_str(data).unwrap_or_default();
        if body["object"] == "response" && body["error"].is_null() {
            let response = ResponseObject::deserialize(&body).map_err(ProviderError::malformed)?;
            self.ended(response, out);
            return Ok(());
        }
        match body.get("error").or_else(|| body.get(0)) {
            Some(_) => Err(ProviderError::reported(&body)),
            None => Err(ProviderError::malformed(error)),
        }
    }

    fn start(&mut self, id: String, model: String, out: &mut Vec<StreamEvent>) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let id = if id.is_empty() { format!("resp_{}", Uuid::now_v7().simple()) } else { id };
        out.push(StreamEvent::MessageStart { id, model, usage: Usage::default() });
    }

    fn item_added(&mut self, at: usize, item: OutputItem, out: &mut Vec<StreamEvent>) {
        match item {
            OutputItem::FunctionCall { call_id, name, .. } => {
                self.begin_call(at, call_id, name, out);
            }
            OutputItem::Reasoning { .. } => drop(self.block(at, 0, || BlockStart::Thinking, out)),
            OutputItem::Message { .. } | OutputItem::Unknown => {}
        }
    }

    /// Handles a complete item: takes everything from it that did not stream.
    fn item_done(&mut self, at: usize, item: &Value, out: &mut Vec<StreamEvent>) {
        self.whole.push(at);
        match OutputItem::deserialize(item).unwrap_or(OutputItem::Unknown) {
            OutputItem::Message { content } => self.message_done(at, content, out),
            OutputItem::FunctionCall { call_id, name, arguments } => {
                self.begin_call(at, call_id, name, out);
                if !self.is_written(at, 0) {
                    self.write_arguments(at, arguments, out);
                }
            }
            OutputItem::Reasoning { summary, content } => {
                self.thought_done(at, [summary, content], item, out);
            }
            OutputItem::Unknown => {}
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
        parts: [Option<Vec<ReasoningPart>>; 2],
        item: &Value,
        out: &mut Vec<StreamEvent>,
    ) {
        if !self.is_written(at, 0) {
            let parts = parts.into_iter().flatten().flatten().enumerate();
            for (content_index, ReasoningPart { text }) in parts {
                let delta = PartDelta { output_index: at, content_index, delta: text };
                self.write_thought(&delta, out);
            }
        }
        let index = self.block(at, 0, || BlockStart::Thinking, out);
        let delta = reasoning::encode(item).map(Delta::Signature);
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

    /// Returns the block of one part of an item, and begins it if needed.
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
        self.open.push(ResponsesOpenBlock { item, part, block: index, paragraph: None });
        out.push(StreamEvent::BlockStart { index, block: start() });
        index
    }

    fn find(&self, item: usize, part: usize) -> Option<&ResponsesOpenBlock> {
        self.open.iter().find(|open| (open.item, open.part) == (item, part))
    }

    fn is_written(&self, item: usize, part: usize) -> bool {
        self.find(item, part).is_some_and(|open| open.paragraph.is_some())
    }

    /// Records that a block was written to; returns the paragraph that was written before.
    fn mark(&mut self, block: usize, paragraph: usize) -> Option<usize> {
        let open = self.open.iter_mut().find(|open| open.block == block)?;
        open.paragraph.replace(paragraph)
    }

    fn close(&mut self, item: usize, out: &mut Vec<StreamEvent>) {
        let ends = self.open.extract_if(.., |open| open.item == item);
        out.extend(ends.map(|open| StreamEvent::BlockStop { index: open.block }));
    }

    fn ended(&mut self, response: ResponseObject, out: &mut Vec<StreamEvent>) {
        let ResponseObject { id, model, output, usage, incomplete_details, .. } = response;
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

impl From<ResponsesUsage> for Usage {
    fn from(wire: ResponsesUsage) -> Self {
        let cached = wire.input_tokens_details.unwrap_or_default();
        cached.usage(wire.input_tokens, wire.output_tokens)
    }
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
