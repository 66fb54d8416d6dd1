//! The wires that the scripted server speaks: how a reply is put onto each, and what each refuses.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::record::{Recorded, Wire};
use super::script::{Step, Stream};

mod chat;
mod chat_rules;
mod gemini;
mod gemini_rules;
mod messages;
mod messages_rules;
mod responses;
mod responses_rules;

use chat::ChatEncoder;
use gemini::GeminiEncoder;
use messages::MessagesEncoder;
use responses::ResponsesEncoder;

/// Turns the steps of a reply into server-sent events.
pub trait Encoder: Send {
    /// What comes before the first step.
    fn begin(&mut self, reply: &Stream) -> String;
    /// The events of one step; empty for steps that only happen.
    fn step(&mut self, step: &Step) -> String;
    /// What comes after the last step.
    fn finish(&mut self, reply: &Stream) -> String;
}

/// A list of models, as the wire writes it.
pub fn models(wire: Wire, names: &[String]) -> Value {
    let each = |make: fn(&str) -> Value| names.iter().map(|name| make(name)).collect::<Vec<_>>();
    match wire {
        Wire::Anthropic => json!({
            "data": each(|name| json!({
                "type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z",
            })),
            "has_more": false, "first_id": names.first(), "last_id": names.last(),
        }),
        Wire::Chat | Wire::Responses => json!({
            "object": "list",
            "data": each(|name| json!({
                "id": name, "object": "model", "created": 1, "owned_by": "house",
            })),
        }),
        Wire::Gemini => json!({
            "models": each(|name| json!({
                "name": format!("models/{name}"), "displayName": name, "inputTokenLimit": 77_000,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
            })),
        }),
    }
}

/// Why a request is refused: the vendor's words.
pub type Refusal = String;

/// What the server has said so far, as far as later requests must repeat it.
#[derive(Debug, Default)]
pub struct Issued {
    /// The thinking blocks of the reply that made a tool call, by the call's id.
    thinking_before: BTreeMap<String, Vec<Thought>>,
    /// The model that made a tool call, by the call's id.
    callers: BTreeMap<String, String>,
    signatures: BTreeMap<String, String>,
    /// What stood on each call over the Gemini wire, by the call's id.
    call_signatures: BTreeMap<String, Option<String>>,
    /// What stood on texts there.
    text_signatures: BTreeSet<String>,
}

/// A thinking block as it was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Thought {
    pub text: String,
    pub signature: String,
}

impl Issued {
    /// Remembers a reply that is about to be sent over the Gemini wire.
    fn remember_signatures(&mut self, reply: &Stream, newer: bool) {
        let signatures = gemini::signatures(reply, newer);
        self.text_signatures.extend(signatures.of_text);
        for step in &reply.steps {
            if let Step::ToolUse { id, .. } = step {
                self.call_signatures.insert(id.clone(), signatures.of_calls.get(id).cloned());
            }
        }
    }

    /// Remembers a reply that is about to be sent.
    pub fn remember(&mut self, reply: &Stream, request: &Recorded) {
        if request.wire == Wire::Gemini {
            self.remember_signatures(reply, gemini::is_newer(request.model()));
        }
        let mut thoughts = Vec::new();
        for step in &reply.steps {
            match step {
                Step::Thinking { text, signature } => {
                    self.signatures.insert(signature.clone(), text.clone());
                    let thought = Thought { text: text.clone(), signature: signature.clone() };
                    thoughts.push(thought);
                }
                Step::ToolUse { id, .. } => {
                    self.thinking_before.insert(id.clone(), thoughts.clone());
                    self.callers.insert(id.clone(), request.model().to_owned());
                }
                _ => {}
            }
        }
    }
}

/// Checks one request.
pub fn check(request: &Recorded, issued: &Issued) -> Result<(), Refusal> {
    let body = &request.body;
    match request.wire {
        Wire::Anthropic => messages_rules::check(body, issued),
        Wire::Chat => chat_rules::check(body),
        Wire::Responses => responses_rules::check(body, issued),
        Wire::Gemini => gemini_rules::check(request.model(), body, issued),
    }
}

/// What puts a reply to the request onto its wire.
pub fn encoder(request: &Recorded, reply: &Stream) -> Box<dyn Encoder> {
    let (index, model) = (request.index, request.model());
    match request.wire {
        Wire::Anthropic => Box::new(MessagesEncoder::new(index, model)),
        Wire::Chat => Box::new(ChatEncoder::new(index, model)),
        Wire::Responses => Box::new(ResponsesEncoder::new(index, model)),
        Wire::Gemini => Box::new(GeminiEncoder::new(index, model, reply)),
    }
}

/// The error object of a wire.
pub fn error(wire: Wire, status: u16, kind: &str, message: &str) -> Value {
    match wire {
        Wire::Anthropic => messages::error(kind, message),
        Wire::Chat | Wire::Responses => chat::error(kind, message),
        Wire::Gemini => gemini::error(status, message),
    }
}

/// Refuses unless `holds`.
fn ensure(holds: bool, refusal: impl FnOnce() -> String) -> Result<(), Refusal> {
    if holds { Ok(()) } else { Err(refusal()) }
}

/// Refuses fields that the API does not know.
fn only_fields(value: &Value, allowed: &[&str], place: &str) -> Result<(), Refusal> {
    let fields = value.as_object().ok_or_else(|| format!("{place}: Input should be an object"))?;
    let unknown = fields.keys().find(|field| !allowed.contains(&field.as_str()));
    unknown.map_or(Ok(()), |field| Err(format!("{place}.{field}: Extra inputs are not permitted")))
}

/// Whether a tool name fits `^[a-zA-Z0-9_-]{1,limit}$`.
fn is_tool_name(name: &str, limit: usize) -> bool {
    (1..=limit).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Checks a function as OpenAI's wires do: its name, which is not in `names` yet, and its schema.
fn check_function<'a>(
    function: &'a Value,
    place: &str,
    names: &mut BTreeSet<&'a str>,
) -> Result<(), Refusal> {
    let name = function["name"].as_str().unwrap_or_default();
    ensure(is_tool_name(name, 64), || format!("{place}.name: `{name}`"))?;
    ensure(names.insert(name), || format!("duplicate tool `{name}`"))?;
    ensure(function["parameters"]["type"] == "object", || {
        format!("Invalid schema for function '{name}': schema must be of type \"object\"")
    })
}

/// The items of an array field; an absent field has none.
fn items<'a>(value: &'a Value, field: &str) -> Result<&'a [Value], Refusal> {
    match &value[field] {
        Value::Null => Ok(&[]),
        Value::Array(items) => Ok(items),
        _ => Err(format!("{field}: Input should be a valid list")),
    }
}
