//! Events of the Messages API, and what they mean. What nobody knows yet is passed over.

use serde::Deserialize;
use serde_json::Value;

use super::super::exchange::{Decode, Fault, Progress};
use super::super::report::Report;
use crate::protocol::{BlockStart, Delta, StopReason, StreamEvent, ToolUseId, Usage};

/// Reads one answer.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    usage: Usage,
    open: Vec<Open>,
    stopped: bool,
}

/// A block that has begun and not ended.
#[derive(Debug)]
struct Open {
    index: usize,
    /// The input of a call when its first event held it; void once pieces follow.
    input: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        index: usize,
        content_block: WireBlock,
    },
    ContentBlockDelta {
        index: usize,
        delta: WireDelta,
    },
    ContentBlockStop {
        index: usize,
    },
    MessageDelta {
        delta: MessageDelta,
        usage: Option<WireUsage>,
    },
    MessageStop,
    Error {
        error: Value,
    },
    /// A whole answer at once, which is what a server sends that does not stream.
    Message,
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct Start {
    #[serde(default)]
    id: String,
    #[serde(default)]
    model: String,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireBlock {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: Value,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireDelta {
    TextDelta {
        text: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct MessageDelta {
    stop_reason: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl Decode for Decoder {
    fn event(&mut self, data: &str, out: &mut Vec<StreamEvent>) -> Result<(), Fault> {
        if data.trim() == "[DONE]" {
            return Ok(());
        }
        match serde_json::from_str(data) {
            Ok(event) => self.known(event, out),
            Err(error) => Err(Self::unreadable(data, &error)),
        }
    }

    fn progress(&self) -> Progress {
        if self.stopped { Progress::Over } else { Progress::Underway }
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), Fault> {
        if !self.stopped {
            return Err(Fault::Cut);
        }
        while let Some(open) = self.open.first() {
            let index = open.index;
            self.stop_block(index, out);
        }
        out.push(StreamEvent::MessageStop);
        Ok(())
    }
}

impl Decoder {
    fn known(&mut self, event: Event, out: &mut Vec<StreamEvent>) -> Result<(), Fault> {
        match event {
            Event::MessageStart { message: Start { id, model, usage } } => {
                self.count(usage);
                out.push(StreamEvent::MessageStart { id, model, usage: self.usage });
            }
            Event::ContentBlockStart { index, content_block } => {
                self.start_block(index, content_block, out);
            }
            Event::ContentBlockDelta { index, delta } => self.extend_block(index, delta, out),
            Event::ContentBlockStop { index } => self.stop_block(index, out),
            Event::MessageDelta { delta, usage } => {
                self.count(usage);
                let stop_reason = delta.stop_reason.map(stop_reason);
                out.push(StreamEvent::MessageDelta { stop_reason, usage: self.usage });
            }
            Event::MessageStop => self.stopped = true,
            Event::Error { error } => return Err(Fault::Reported(Report::parse(&error))),
            Event::Message => return Err(Fault::Senseless("the answer does not stream".into())),
            Event::Unknown => {}
        }
        Ok(())
    }

    /// What is no event: a failure that some gateway reports in its own shape, or nonsense.
    fn unreadable(data: &str, error: &serde_json::Error) -> Fault {
        match serde_json::from_str::<Value>(data) {
            Ok(body) if body.get("error").is_some() => Fault::Reported(Report::parse(&body)),
            _ => Fault::Senseless(error.to_string()),
        }
    }

    fn start_block(&mut self, index: usize, block: WireBlock, out: &mut Vec<StreamEvent>) {
        let mut input = None;
        let mut deltas = Vec::new();
        let block = match block {
            WireBlock::Text { text } => {
                deltas.push(Delta::Text(text));
                BlockStart::Text
            }
            WireBlock::Thinking { thinking, signature } => {
                deltas.extend([Delta::Thinking(thinking), Delta::Signature(signature)]);
                BlockStart::Thinking
            }
            WireBlock::RedactedThinking { data } => BlockStart::RedactedThinking { data },
            WireBlock::ToolUse { id, name, input: given } => {
                let says = given.as_object().is_some_and(|object| !object.is_empty());
                input = says.then(|| given.to_string());
                BlockStart::ToolUse { id: ToolUseId::new(id), name }
            }
            WireBlock::Unknown => return,
        };
        self.open.push(Open { index, input });
        out.push(StreamEvent::BlockStart { index, block });
        let said = deltas.into_iter().filter(|delta| !is_empty(delta));
        out.extend(said.map(|delta| StreamEvent::BlockDelta { index, delta }));
    }

    fn extend_block(&mut self, index: usize, delta: WireDelta, out: &mut Vec<StreamEvent>) {
        let Some(open) = self.open.iter_mut().find(|open| open.index == index) else {
            return;
        };
        let delta = match delta {
            WireDelta::TextDelta { text } => Delta::Text(text),
            WireDelta::InputJsonDelta { partial_json } => Delta::Input(partial_json),
            WireDelta::ThinkingDelta { thinking } => Delta::Thinking(thinking),
            WireDelta::SignatureDelta { signature } => Delta::Signature(signature),
            WireDelta::Unknown => return,
        };
        if is_empty(&delta) {
            return;
        }
        if matches!(delta, Delta::Input(_)) {
            open.input = None;
        }
        out.push(StreamEvent::BlockDelta { index, delta });
    }

    fn stop_block(&mut self, index: usize, out: &mut Vec<StreamEvent>) {
        let Some(at) = self.open.iter().position(|open| open.index == index) else {
            return;
        };
        if let Some(input) = self.open.remove(at).input {
            out.push(StreamEvent::BlockDelta { index, delta: Delta::Input(input) });
        }
        out.push(StreamEvent::BlockStop { index });
    }

    /// The numbers are running totals, so they never fall; what is missing stays as it was.
    fn count(&mut self, news: Option<WireUsage>) {
        let Some(news) = news else { return };
        let raise = |total: &mut u64, news: Option<u64>| *total = (*total).max(news.unwrap_or(0));
        raise(&mut self.usage.input_tokens, news.input_tokens);
        raise(&mut self.usage.output_tokens, news.output_tokens);
        raise(&mut self.usage.cache_read_input_tokens, news.cache_read_input_tokens);
        raise(&mut self.usage.cache_creation_input_tokens, news.cache_creation_input_tokens);
    }
}

fn is_empty(delta: &Delta) -> bool {
    let (Delta::Text(text) | Delta::Thinking(text) | Delta::Signature(text) | Delta::Input(text)) =
        delta;
    text.is_empty()
}

fn stop_reason(name: String) -> StopReason {
    match name.as_str() {
        "end_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "pause_turn" => StopReason::PauseTurn,
        "refusal" => StopReason::Refusal,
        "model_context_window_exceeded" => StopReason::ModelContextWindowExceeded,
        _ => StopReason::Other(name),
    }
}

#[cfg(test)]
mod tests;
