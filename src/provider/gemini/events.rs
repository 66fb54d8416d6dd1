//! Decodes pieces of an answer of the Gemini API. Each has the form of a whole answer; calls come in one piece.

use serde::Deserialize;
use serde_json::Value;

use super::super::blocks::{BlockKind, BlockWriter};
use super::super::error::ProviderError;
use super::super::exchange::{self, AnswerProgress, EventDecoder};
use super::signature::SignedContent;
use crate::protocol::{BlockStart, Delta, StopReason, StreamEvent, ToolUseId, Usage};

/// Decodes one answer.
#[derive(Debug, Default)]
pub struct GeminiDecoder {
    blocks: BlockWriter,
    /// Signatures of the open text: they follow it when it is complete.
    signatures: Vec<String>,
    ids: Vec<String>,
    called: bool,
    stop_reason: Option<StopReason>,
    usage: Usage,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiChunk {
    candidates: Option<Vec<Candidate>>,
    prompt_feedback: Option<PromptFeedback>,
    usage_metadata: Option<UsageMetadata>,
    model_version: Option<String>,
    response_id: Option<String>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<CandidateContent>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

#[derive(Deserialize)]
struct CandidateContent {
    parts: Option<Vec<CandidatePart>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CandidatePart {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    thought_signature: Option<String>,
    function_call: Option<CandidateCall>,
}

#[derive(Deserialize)]
struct CandidateCall {
    id: Option<String>,
    name: Option<String>,
    args: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsageMetadata {
    prompt_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
}

impl EventDecoder for GeminiDecoder {
    fn event(&mut self, data: &str, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        let chunk: GeminiChunk = exchange::parse_event(data)?;
        if let Some(error) = &chunk.error {
            return Err(ProviderError::reported(&serde_json::json!({ "error": error })));
        }
        self.chunk(chunk, out)
    }

    /// The numbers may follow the reason.
    fn progress(&self) -> AnswerProgress {
        if self.stop_reason.is_some() { AnswerProgress::Complete } else { AnswerProgress::Underway }
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        let stop_reason = match self.stop_reason.clone() {
            None => return Err(ProviderError::cut()),
            Some(StopReason::EndTurn) if self.called => StopReason::ToolUse,
            Some(other) => other,
        };
        self.close(out);
        out.push(StreamEvent::MessageDelta { stop_reason: Some(stop_reason), usage: self.usage });
        out.push(StreamEvent::MessageStop);
        Ok(())
    }
}

impl GeminiDecoder {
    fn chunk(
        &mut self,
        chunk: GeminiChunk,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        let GeminiChunk {
            candidates,
            prompt_feedback,
            usage_metadata,
            model_version,
            response_id,
            ..
        } = chunk;
        if candidates.is_none() && prompt_feedback.is_none() && usage_metadata.is_none() {
            return Err(ProviderError::malformed("an unknown format"));
        }
        self.blocks.start(response_id, model_version, out);
        if let Some(usage) = usage_metadata {
            self.usage = usage.into();
        }
        if prompt_feedback.is_some_and(|feedback| feedback.block_reason.is_some()) {
            self.stop_reason = Some(StopReason::Refusal);
        }
        // Only the first candidate: we ask for one.
        match candidates.into_iter().flatten().next() {
            Some(candidate) => self.candidate(candidate, out),
            None => Ok(()),
        }
    }

    fn candidate(
        &mut self,
        candidate: Candidate,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        let Candidate { content, finish_reason, finish_message } = candidate;
        for part in content.and_then(|content| content.parts).into_iter().flatten() {
            self.part(part, out);
        }
        if let Some(name) = finish_reason.filter(|name| !name.is_empty()) {
            self.stop_reason = Some(stop_reason(name, finish_message)?);
        }
        Ok(())
    }

    fn part(&mut self, part: CandidatePart, out: &mut Vec<StreamEvent>) {
        let CandidatePart { text, thought, thought_signature, function_call } = part;
        let signature = thought_signature.filter(|signature| !signature.is_empty());
        if let Some(call) = function_call {
            self.call(call, signature, out);
            return;
        }
        let writing = if thought { BlockKind::Thinking } else { BlockKind::Text };
        self.write(writing, text.unwrap_or_default(), out);
        self.signatures.extend(signature);
    }

    /// Writes a call, after the thought that carries its signature.
    fn call(&mut self, call: CandidateCall, signature: Option<String>, out: &mut Vec<StreamEvent>) {
        self.called = true;
        if let Some(signature) = signature {
            if !self.blocks.is_open(BlockKind::Thinking) || !self.signatures.is_empty() {
                self.close(out);
                self.blocks.begin(BlockKind::Thinking, out);
            }
            self.sign(&SignedContent::Call(&signature), out);
        }
        self.close(out);
        let CandidateCall { id, name, args } = call;
        let given = id.filter(|id| !id.is_empty() && !self.ids.contains(id));
        self.ids.extend(given.clone());
        let id = given.map_or_else(ToolUseId::generate, ToolUseId::new);
        let index = self.blocks.next;
        self.blocks.next += 1;
        let block = BlockStart::ToolUse { id, name: name.unwrap_or_default() };
        out.push(StreamEvent::BlockStart { index, block });
        if let Some(args) = args.filter(|args| !args.is_null()) {
            let delta = Delta::Input(args.to_string());
            out.push(StreamEvent::BlockDelta { index, delta });
        }
        out.push(StreamEvent::BlockStop { index });
    }

    fn write(&mut self, kind: BlockKind, text: String, out: &mut Vec<StreamEvent>) {
        if !text.is_empty() && !self.blocks.is_open(kind) {
            self.close(out);
        }
        self.blocks.write(kind, text, out);
    }

    fn sign(&self, signed: &SignedContent<'_>, out: &mut Vec<StreamEvent>) {
        self.blocks.push(Delta::Signature(signed.encode()), out);
    }

    /// Ends the open block; the signatures received meanwhile become thinking blocks after it.
    fn close(&mut self, out: &mut Vec<StreamEvent>) {
        self.blocks.close(out);
        for signature in std::mem::take(&mut self.signatures) {
            self.blocks.begin(BlockKind::Thinking, out);
            self.sign(&SignedContent::Text(&signature), out);
            self.blocks.close(out);
        }
    }
}

impl From<UsageMetadata> for Usage {
    /// The wire counts cached tokens as part of the prompt, and thoughts separately from the answer.
    fn from(wire: UsageMetadata) -> Self {
        let count = |number: Option<u64>| number.unwrap_or(0);
        let read = count(wire.cached_content_token_count);
        let prompt = count(wire.prompt_token_count) + count(wire.tool_use_prompt_token_count);
        Self {
            input_tokens: prompt.saturating_sub(read),
            output_tokens: count(wire.candidates_token_count) + count(wire.thoughts_token_count),
            cache_read_input_tokens: read,
            cache_creation_input_tokens: 0,
        }
    }
}

/// An answer that the model itself could not write is a failure that may pass.
fn stop_reason(name: String, message: Option<String>) -> Result<StopReason, ProviderError> {
    Ok(match name.as_str() {
        "STOP" => StopReason::EndTurn,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
        | "IMAGE_SAFETY" | "ESCALATION" | "MODEL_ARMOR" => StopReason::Refusal,
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MALFORMED_RESPONSE" => {
            let message = message.unwrap_or_else(|| format!("the answer ended with {name}"));
            return Err(ProviderError::failed_inside(name, message));
        }
        _ => StopReason::Other(name),
    })
}

#[cfg(test)]
mod tests;
