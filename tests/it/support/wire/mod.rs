//! The two wires that the scripted server speaks: how a reply is put onto each, and what each refuses.

use std::collections::BTreeMap;

use serde_json::Value;

use super::script::{Step, Stream};

mod chat;
mod chat_rules;
mod messages;
mod messages_rules;

pub use chat::{ChatEncoder, error as chat_error};
pub use messages::{MessagesEncoder, error as messages_error};

/// Turns the steps of a reply into server-sent events.
pub trait Encoder: Send {
    /// What comes before the first step.
    fn begin(&mut self, reply: &Stream) -> String;
    /// The events of one step; empty for steps that only happen.
    fn step(&mut self, step: &Step) -> String;
    /// What comes after the last step.
    fn finish(&mut self, reply: &Stream) -> String;
}

/// Why a request is refused: the vendor's words.
pub type Refusal = String;

/// What the server has said so far, as far as later requests must repeat it.
#[derive(Debug, Default)]
pub struct Issued {
    /// The thinking blocks of the reply that made a tool call, by the call's id.
    thinking_before: BTreeMap<String, Vec<Thought>>,
    signatures: BTreeMap<String, String>,
}

/// A thinking block as it was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Thought {
    pub text: String,
    pub signature: String,
}

impl Issued {
    /// Remembers a reply that is about to be sent.
    pub fn remember(&mut self, reply: &Stream) {
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
                }
                _ => {}
            }
        }
    }
}

/// Checks one request to the Messages API.
pub fn check_messages(body: &Value, issued: &Issued) -> Result<(), Refusal> {
    messages_rules::check(body, issued)
}

/// Checks one request to the chat completions API.
pub fn check_chat(body: &Value) -> Result<(), Refusal> {
    chat_rules::check(body)
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

/// The items of an array field; an absent field has none.
fn items<'a>(value: &'a Value, field: &str) -> Result<&'a [Value], Refusal> {
    match &value[field] {
        Value::Null => Ok(&[]),
        Value::Array(items) => Ok(items),
        _ => Err(format!("{field}: Input should be a valid list")),
    }
}
