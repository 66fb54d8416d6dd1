//! Pieces of an answer of the Gemini API, and what they mean. Each is a whole answer in form; calls
//! come in one piece.

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::super::exchange::{self, Decode, Fault, Progress};
use super::super::report::Report;
use super::thought::Signed;
use crate::protocol::{BlockStart, Delta, StopReason, StreamEvent, ToolUseId, Usage};

/// Reads one answer.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    started: bool,
    /// The text or thinking block that is being written.
    open: Option<(usize, Writing)>,
    next_block: usize,
    /// Signatures of the open text: they stand behind it when it is whole.
    signatures: Vec<String>,
    ids: Vec<String>,
    called: bool,
    stop_reason: Option<StopReason>,
    usage: Usage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writing {
    Text,
    Thinking,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    candidates: Option<Vec<Candidate>>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<WireUsage>,
    model_version: Option<String>,
    response_id: Option<String>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<Content>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

#[derive(Deserialize)]
struct Content {
    parts: Option<Vec<Part>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    thought_signature: Option<String>,
    function_call: Option<Call>,
}

#[derive(Deserialize)]
struct Call {
    id: Option<String>,
    name: Option<String>,
    args: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireUsage {
    prompt_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
}

impl Decode for Decoder {
    fn event(&mut self, data: &str, out: &mut Vec<StreamEvent>) -> Result<(), Fault> {
        let chunk: Chunk = exchange::piece(data)?;
        if let Some(error) = &chunk.error {
            return Err(Fault::Reported(Report::parse(&serde_json::json!({ "error": error }))));
        }
        self.chunk(chunk, out)
    }

    /// The numbers may follow the reason.
    fn progress(&self) -> Progress {
        if self.stop_reason.is_some() { Progress::Complete } else { Progress::Underway }
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), Fault> {
        let stop_reason = match self.stop_reason.clone() {
            None => return Err(Fault::Cut),
            Some(StopReason::EndTurn) if self.called => StopReason::ToolUse,
            Some(other) => other,
        };
        self.close(out);
        out.push(StreamEvent::MessageDelta { stop_reason: Some(stop_reason), usage: self.usage });
        out.push(StreamEvent::MessageStop);
        Ok(())
    }
}

impl Decoder {
    fn chunk(&mut self, chunk: Chunk, out: &mut Vec<StreamEvent>) -> Result<(), Fault> {
        let Chunk {
            candidates, prompt_feedback, usage_metadata, model_version, response_id, ..
        } = chunk;
        if candidates.is_none() && prompt_feedback.is_none() && usage_metadata.is_none() {
            return Err(Fault::Senseless("a piece of an unknown shape".into()));
        }
        self.start(response_id, model_version, out);
        if let Some(usage) = usage_metadata {
            self.usage = usage.into();
        }
        if prompt_feedback.is_some_and(|feedback| feedback.block_reason.is_some()) {
            self.stop_reason = Some(StopReason::Refusal);
        }
        // Only the first candidate is ours: we ask for one.
        match candidates.into_iter().flatten().next() {
            Some(candidate) => self.candidate(candidate, out),
            None => Ok(()),
        }
    }

    fn start(&mut self, id: Option<String>, model: Option<String>, out: &mut Vec<StreamEvent>) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let given = id.filter(|id| !id.is_empty());
        let id = given.unwrap_or_else(|| format!("msg_{}", Uuid::now_v7().simple()));
        let model = model.unwrap_or_default();
        out.push(StreamEvent::MessageStart { id, model, usage: Usage::default() });
    }

    fn candidate(&mut self, candidate: Candidate, out: &mut Vec<StreamEvent>) -> Result<(), Fault> {
        let Candidate { content, finish_reason, finish_message } = candidate;
        for part in content.and_then(|content| content.parts).into_iter().flatten() {
            self.part(part, out);
        }
        if let Some(name) = finish_reason.filter(|name| !name.is_empty()) {
            self.stop_reason = Some(stop_reason(name, finish_message)?);
        }
        Ok(())
    }

    fn part(&mut self, part: Part, out: &mut Vec<StreamEvent>) {
        let Part { text, thought, thought_signature, function_call } = part;
        let signature = thought_signature.filter(|signature| !signature.is_empty());
        if let Some(call) = function_call {
            self.call(call, signature, out);
            return;
        }
        let writing = if thought { Writing::Thinking } else { Writing::Text };
        self.write(writing, text.unwrap_or_default(), out);
        self.signatures.extend(signature);
    }

    /// A call, behind the thought that bears its signature.
    fn call(&mut self, call: Call, signature: Option<String>, out: &mut Vec<StreamEvent>) {
        self.called = true;
        if let Some(signature) = signature {
            if self.open.is_none_or(|(_, writing)| writing != Writing::Thinking)
                || !self.signatures.is_empty()
            {
                self.close(out);
                self.begin(Writing::Thinking, out);
            }
            self.sign(&Signed::Call(&signature), out);
        }
        self.close(out);
        let Call { id, name, args } = call;
        let given = id.filter(|id| !id.is_empty() && !self.ids.contains(id));
        self.ids.extend(given.clone());
        let id = given.map_or_else(ToolUseId::generate, ToolUseId::new);
        let index = self.next_block;
        self.next_block += 1;
        let block = BlockStart::ToolUse { id, name: name.unwrap_or_default() };
        out.push(StreamEvent::BlockStart { index, block });
        if let Some(args) = args.filter(|args| !args.is_null()) {
            let delta = Delta::Input(args.to_string());
            out.push(StreamEvent::BlockDelta { index, delta });
        }
        out.push(StreamEvent::BlockStop { index });
    }

    /// Appends to the open block if it is of that kind, else to a new one.
    fn write(&mut self, writing: Writing, text: String, out: &mut Vec<StreamEvent>) {
        if text.is_empty() {
            return;
        }
        let index = match self.open {
            Some((index, kind)) if kind == writing => index,
            _ => {
                self.close(out);
                self.begin(writing, out)
            }
        };
        let delta = match writing {
            Writing::Text => Delta::Text(text),
            Writing::Thinking => Delta::Thinking(text),
        };
        out.push(StreamEvent::BlockDelta { index, delta });
    }

    fn begin(&mut self, writing: Writing, out: &mut Vec<StreamEvent>) -> usize {
        let index = self.next_block;
        self.next_block += 1;
        self.open = Some((index, writing));
        let block = match writing {
            Writing::Text => BlockStart::Text,
            Writing::Thinking => BlockStart::Thinking,
        };
        out.push(StreamEvent::BlockStart { index, block });
        index
    }

    fn sign(&self, signed: &Signed<'_>, out: &mut Vec<StreamEvent>) {
        let delta = Delta::Signature(signed.seal());
        out.extend(self.open.map(|(index, _)| StreamEvent::BlockDelta { index, delta }));
    }

    /// Ends the open block; the signatures that came meanwhile become thinking blocks behind it.
    fn close(&mut self, out: &mut Vec<StreamEvent>) {
        let open = self.open.take();
        out.extend(open.map(|(index, _)| StreamEvent::BlockStop { index }));
        for signature in std::mem::take(&mut self.signatures) {
            let index = self.begin(Writing::Thinking, out);
            self.sign(&Signed::Text(&signature), out);
            self.open = None;
            out.push(StreamEvent::BlockStop { index });
        }
    }
}

impl From<WireUsage> for Usage {
    /// The wire counts cached tokens as part of the prompt, and thoughts apart from the answer.
    fn from(wire: WireUsage) -> Self {
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
fn stop_reason(name: String, message: Option<String>) -> Result<StopReason, Fault> {
    Ok(match name.as_str() {
        "STOP" => StopReason::EndTurn,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
        | "IMAGE_SAFETY" | "ESCALATION" | "MODEL_ARMOR" => StopReason::Refusal,
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MALFORMED_RESPONSE" => {
            let message = message.unwrap_or_else(|| format!("the answer ended with {name}"));
            return Err(Fault::Reported(Report { class: name, message, ..Report::default() }));
        }
        _ => StopReason::Other(name),
    })
}

#[cfg(test)]
mod tests;
