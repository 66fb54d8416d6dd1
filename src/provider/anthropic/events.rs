//! Decodes events of the Messages API. Unknown ones are ignored.

use serde::Deserialize;
use serde_json::Value;

use super::super::error::ProviderError;
use super::super::exchange::{AnswerProgress, EventDecoder};
use crate::protocol::{BlockStart, Delta, StopReason, StreamEvent, ToolUseId, Usage};

/// Decodes one answer.
#[derive(Debug, Default)]
pub struct AnthropicDecoder {
    usage: Usage,
    open: Vec<AnthropicOpenBlock>,
    stopped: bool,
}

/// A block that has begun and not ended.
#[derive(Debug)]
struct AnthropicOpenBlock {
    index: usize,
    /// The input of a call, if its first event held it; replaced once pieces follow.
    input: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicEvent {
    MessageStart {
        message: MessageHead,
    },
    ContentBlockStart {
        index: usize,
        content_block: WireBlock,
    },
    ContentBlockDelta {
        index: usize,
        delta: AnthropicDelta,
    },
    ContentBlockStop {
        index: usize,
    },
    MessageDelta {
        delta: MessageDelta,
        usage: Option<AnthropicUsage>,
    },
    MessageStop,
    Error {
        error: Value,
    },
    /// A whole answer at once, from a server that does not stream.
    Message,
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct MessageHead {
    #[serde(default)]
    id: String,
    #[serde(default)]
    model: String,
    usage: Option<AnthropicUsage>,
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
enum AnthropicDelta {
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
struct AnthropicUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl EventDecoder for AnthropicDecoder {
    fn event(&mut self, data: &str, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        if data.trim() == "[DONE]" {
            return Ok(());
        }
        match serde_json::from_str(data) {
            Ok(event) => self.handle_event(event, out),
            Err(error) => Err(Self::unreadable(data, &error)),
        }
    }

    fn progress(&self) -> AnswerProgress {
        if self.stopped { AnswerProgress::Over } else { AnswerProgress::Underway }
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        if !self.stopped {
            return Err(ProviderError::cut());
        }
        while let Some(open) = self.open.first() {
            let index = open.index;
            self.stop_block(index, out);
        }
        out.push(StreamEvent::MessageStop);
        Ok(())
    }
}

impl AnthropicDecoder {
    fn handle_event(
        &mut self,
        event: AnthropicEvent,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        match event {
            AnthropicEvent::MessageStart { message: MessageHead { id, model, usage } } => {
                self.count(usage);
                out.push(StreamEvent::MessageStart { id, model, usage: self.usage });
            }
            AnthropicEvent::ContentBlockStart { index, content_block } => {
                self.start_block(index, content_block, out);
            }
            AnthropicEvent::ContentBlockDelta { index, delta } => {
                self.extend_block(index, delta, out);
            }
            AnthropicEvent::ContentBlockStop { index } => self.stop_block(index, out),
            AnthropicEvent::MessageDelta { delta, usage } => {
                self.count(usage);
                let stop_reason = delta.stop_reason.map(stop_reason);
                out.push(StreamEvent::MessageDelta { stop_reason, usage: self.usage });
            }
            AnthropicEvent::MessageStop => self.stopped = true,
            AnthropicEvent::Error { error } => {
                return Err(ProviderError::reported(&error));
            }
            AnthropicEvent::Message => {
                return Err(ProviderError::malformed("the answer does not stream"));
            }
            AnthropicEvent::Unknown => {}
        }
        Ok(())
    }

    /// Classifies data that is not an event: a failure that a gateway reports in its own shape, or nonsense.
    fn unreadable(data: &str, error: &serde_json::Error) -> ProviderError {
        match serde_json::from_str::<Value>(data) {
            Ok(body) if body.get("error").is_some() => ProviderError::reported(&body),
            _ => ProviderError::malformed(error),
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
        self.open.push(AnthropicOpenBlock { index, input });
        out.push(StreamEvent::BlockStart { index, block });
        let said = deltas.into_iter().filter(|delta| !is_empty(delta));
        out.extend(said.map(|delta| StreamEvent::BlockDelta { index, delta }));
    }

    fn extend_block(&mut self, index: usize, delta: AnthropicDelta, out: &mut Vec<StreamEvent>) {
        let Some(open) = self.open.iter_mut().find(|open| open.index == index) else {
            return;
        };
        let delta = match delta {
            AnthropicDelta::TextDelta { text } => Delta::Text(text),
            AnthropicDelta::InputJsonDelta { partial_json } => Delta::Input(partial_json),
            AnthropicDelta::ThinkingDelta { thinking } => Delta::Thinking(thinking),
            AnthropicDelta::SignatureDelta { signature } => Delta::Signature(signature),
            AnthropicDelta::Unknown => return,
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

    /// The numbers are running totals, so they never fall; missing ones stay unchanged.
    fn count(&mut self, news: Option<AnthropicUsage>) {
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
