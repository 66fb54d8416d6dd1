//! Decodes chunks of a chat completion. Everything in them may be missing.

use serde::Deserialize;
use serde_json::Value;

use super::super::blocks::{BlockKind, BlockWriter};
use super::super::dialect::CachedInput;
use super::super::error::ProviderError;
use super::super::exchange::{self, AnswerProgress, EventDecoder};
use super::calls::{CallDelta, OpenCalls};
use crate::protocol::{StopReason, StreamEvent, Usage};

/// Decodes one answer.
#[derive(Debug, Default)]
pub struct ChatDecoder {
    blocks: BlockWriter,
    calls: OpenCalls,
    refused: bool,
    stop_reason: Option<StopReason>,
    usage: Usage,
    done: bool,
}

#[derive(Deserialize)]
struct ChatChunk {
    id: Option<String>,
    model: Option<String>,
    choices: Option<Vec<ChatChoice>>,
    usage: Option<ChatUsage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct ChatChoice {
    /// `message` in an answer that does not stream.
    #[serde(alias = "message")]
    delta: Option<ChatDelta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct ChatDelta {
    /// A text, or from some servers a list of parts.
    content: Option<Value>,
    reasoning_content: Option<Value>,
    reasoning: Option<Value>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct ChatUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<CachedInput>,
}

impl EventDecoder for ChatDecoder {
    fn event(&mut self, data: &str, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        if data.trim() == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let chunk: ChatChunk = exchange::parse_event(data)?;
        if let Some(error) = &chunk.error {
            return Err(ProviderError::reported(&serde_json::json!({ "error": error })));
        }
        self.chunk(chunk, out)
    }

    fn progress(&self) -> AnswerProgress {
        match (self.done, &self.stop_reason) {
            (true, _) => AnswerProgress::Over,
            (false, Some(_)) => AnswerProgress::Complete,
            (false, None) => AnswerProgress::Underway,
        }
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        if self.progress() == AnswerProgress::Underway {
            return Err(ProviderError::cut());
        }
        self.blocks.close(out);
        self.calls.end(&mut self.blocks.next, out);
        let stop_reason = self.stop_reason();
        out.push(StreamEvent::MessageDelta { stop_reason, usage: self.usage });
        out.push(StreamEvent::MessageStop);
        Ok(())
    }
}

impl ChatDecoder {
    fn chunk(&mut self, chunk: ChatChunk, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        let ChatChunk { id, model, choices, usage, .. } = chunk;
        if id.is_none() && choices.is_none() && usage.is_none() {
            return Err(ProviderError::malformed("an unknown format"));
        }
        self.blocks.start(id, model, out);
        if let Some(usage) = usage {
            self.usage = usage.into();
        }
        // Only the first choice: we ask for one.
        if let Some(choice) = choices.into_iter().flatten().next() {
            self.choice(choice, out);
        }
        Ok(())
    }

    fn choice(&mut self, choice: ChatChoice, out: &mut Vec<StreamEvent>) {
        if let Some(delta) = choice.delta {
            let ChatDelta { content, reasoning_content, reasoning, refusal, tool_calls } = delta;
            // Some servers send the same thought under both names.
            let thought = [reasoning_content, reasoning].into_iter().flatten().map(text);
            let thought = thought.into_iter().find(|text| !text.is_empty());
            self.blocks.write(BlockKind::Thinking, thought.unwrap_or_default(), out);
            self.blocks.write(BlockKind::Text, content.map(text).unwrap_or_default(), out);
            if let Some(refusal) = refusal.filter(|text| !text.is_empty()) {
                self.refused = true;
                self.blocks.write(BlockKind::Text, refusal, out);
            }
            for (position, piece) in tool_calls.into_iter().flatten().enumerate() {
                self.blocks.close(out);
                self.calls.push(piece, position, &mut self.blocks.next, out);
            }
        }
        if let Some(name) = choice.finish_reason.filter(|name| !name.is_empty()) {
            self.stop_reason = Some(stop_reason(name));
        }
    }

    /// Several servers say `stop` where a call ends the answer.
    fn stop_reason(&self) -> Option<StopReason> {
        match &self.stop_reason {
            _ if self.refused => Some(StopReason::Refusal),
            Some(StopReason::EndTurn) if self.calls.any() => Some(StopReason::ToolUse),
            other => other.clone(),
        }
    }
}

impl From<ChatUsage> for Usage {
    fn from(wire: ChatUsage) -> Self {
        let cached = wire.prompt_tokens_details.unwrap_or_default();
        cached.usage(wire.prompt_tokens, wire.completion_tokens)
    }
}

/// Returns a text that stands alone or in a list of parts.
fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => String::new(),
    }
}

fn stop_reason(name: String) -> StopReason {
    match name.as_str() {
        "stop" => StopReason::EndTurn,
        "length" => StopReason::MaxTokens,
        "tool_calls" | "function_call" => StopReason::ToolUse,
        "content_filter" => StopReason::Refusal,
        _ => StopReason::Other(name),
    }
}

#[cfg(test)]
mod tests;
