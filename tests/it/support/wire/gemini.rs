//! Replies as the Gemini API streams them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Encoder;
use crate::support::script::{Step, Stream};

/// How the names of models begin that give calls no ids and no signatures of their own.
const OLDER: &str = "gemini-2";

/// Whether a model gives an id and a signature to each answer's first call.
pub fn is_newer(model: &str) -> bool {
    !model.starts_with(OLDER)
}

/// Writes pieces of an answer.
#[derive(Debug)]
pub struct GeminiEncoder {
    id: String,
    model: String,
    /// What stands on the calls.
    signatures: BTreeMap<String, String>,
    malformed: bool,
}

impl GeminiEncoder {
    pub fn new(number: usize, model: &str, reply: &Stream) -> Self {
        let signatures = signatures(reply, is_newer(model)).of_calls;
        Self { id: format!("r{number:04}"), model: model.to_owned(), signatures, malformed: false }
    }

    fn chunk(&self, candidate: &Value, usage: &Value) -> String {
        let chunk = json!({
            "candidates": [candidate], "usageMetadata": usage, "modelVersion": self.model,
            "responseId": self.id,
        });
        format!("data: {chunk}\r\n\r\n")
    }

    fn part(&self, part: &Value) -> String {
        let candidate = json!({ "content": { "role": "model", "parts": [part] }, "index": 0 });
        self.chunk(&candidate, &json!({ "promptTokenCount": 1 }))
    }

    /// A call comes whole. One whose input is no object never comes: it ends the answer.
    fn call(&mut self, id: &str, name: &str, json: &str) -> String {
        let Ok(args @ Value::Object(_)) = serde_json::from_str(json) else {
            self.malformed = true;
            return String::new();
        };
        let mut call = json!({ "name": name, "args": args });
        if is_newer(&self.model) {
            call["id"] = json!(id);
        }
        let mut part = json!({ "functionCall": call });
        if let Some(signature) = self.signatures.get(id) {
            part["thoughtSignature"] = json!(signature);
        }
        self.part(&part)
    }
}

impl Encoder for GeminiEncoder {
    fn begin(&mut self, _reply: &Stream) -> String {
        let candidate = json!({ "content": { "role": "model", "parts": [] }, "index": 0 });
        self.chunk(&candidate, &json!({ "promptTokenCount": 1 }))
    }

    fn step(&mut self, step: &Step) -> String {
        match step {
            Step::Text(text) | Step::More(text) => self.part(&json!({ "text": text })),
            Step::Thinking { text, .. } => self.part(&json!({ "text": text, "thought": true })),
            Step::ToolUse { id, name, json } => self.call(id, name, &json.concat()),
            Step::Error { kind, message } => {
                let status = if kind == "overloaded_error" { 503 } else { 500 };
                format!("data: {}\r\n\r\n", error(status, message))
            }
            Step::Ping => ": ping\r\n\r\n".to_owned(),
            Step::EndBlock | Step::Gate(_) | Step::Cut | Step::Stall => String::new(),
        }
    }

    fn finish(&mut self, reply: &Stream) -> String {
        let reason = match reply.stop.as_deref() {
            _ if self.malformed => "MALFORMED_FUNCTION_CALL",
            Some("max_tokens") => "MAX_TOKENS",
            Some("refusal") => "SAFETY",
            _ => "STOP",
        };
        let of_text = signatures(reply, is_newer(&self.model)).of_text;
        let parts = of_text.map(|signature| json!({ "text": "", "thoughtSignature": signature }));
        let parts: Vec<_> = parts.into_iter().collect();
        let content = json!({ "role": "model", "parts": parts });
        let candidate = json!({ "content": content, "finishReason": reason, "index": 0 });
        let tokens = reply.usage;
        let prompt = tokens.input + tokens.cache_read + tokens.cache_write;
        // A part of the answer was thought.
        let thoughts = tokens.output / 2;
        let usage = json!({
            "promptTokenCount": prompt,
            "cachedContentTokenCount": tokens.cache_read,
            "candidatesTokenCount": tokens.output - thoughts,
            "thoughtsTokenCount": thoughts,
            "totalTokenCount": prompt + tokens.output,
        });
        self.chunk(&candidate, &usage)
    }
}

/// The signatures of one answer.
#[derive(Debug, Default)]
pub struct Signatures {
    /// By the call's id.
    pub of_calls: BTreeMap<String, String>,
    /// It stands on a piece of its own, at the end.
    pub of_text: Option<String>,
}

/// A thought's signature stands on the call that follows, or else at the end. Newer models sign the
/// first call of an answer in any case.
pub fn signatures(reply: &Stream, newer: bool) -> Signatures {
    let mut found = Signatures::default();
    let mut first = newer;
    for step in &reply.steps {
        match step {
            Step::Thinking { signature, .. } => found.of_text = Some(signature.clone()),
            Step::ToolUse { id, .. } => {
                let signature = found.of_text.take().or(first.then(|| own_signature(id)));
                found.of_calls.extend(signature.map(|signature| (id.clone(), signature)));
                first = false;
            }
            _ => {}
        }
    }
    found
}

/// Base64, as all signatures are here.
fn own_signature(id: &str) -> String {
    format!("{:A<12}", id.replace('_', "/"))
}

/// The error object of the Gemini API.
pub fn error(code: u16, message: &str) -> Value {
    let status = match code {
        400 | 413 | 422 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INTERNAL",
    };
    json!({ "error": { "code": code, "message": message, "status": status } })
}
