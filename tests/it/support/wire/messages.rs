//! Replies as the Messages API streams them.

use serde_json::{Value, json};

use super::Encoder;
use crate::support::script::{Step, Stream, Tokens};

/// Writes `message_start`, blocks and `message_stop`.
#[derive(Debug)]
pub struct MessagesEncoder {
    id: String,
    model: String,
    /// Index of the next block.
    next: usize,
    open: Option<&'static str>,
    calls: bool,
}

impl MessagesEncoder {
    pub fn new(number: usize, model: &str) -> Self {
        let id = format!("msg_{number:04}");
        Self { id, model: model.to_owned(), next: 0, open: None, calls: false }
    }

    fn begin_block(&mut self, kind: &'static str, block: &Value) -> String {
        let mut out = self.end_block();
        self.open = Some(kind);
        let start = json!({
            "type": "content_block_start", "index": self.next, "content_block": block
        });
        out += &event("content_block_start", &start);
        self.next += 1;
        out
    }

    fn delta(&self, delta: &Value) -> String {
        let data = json!({ "type": "content_block_delta", "index": self.next - 1, "delta": delta });
        event("content_block_delta", &data)
    }

    fn end_block(&mut self) -> String {
        match self.open.take() {
            None => String::new(),
            Some(_) => {
                let data = json!({ "type": "content_block_stop", "index": self.next - 1 });
                event("content_block_stop", &data)
            }
        }
    }
}

impl Encoder for MessagesEncoder {
    fn begin(&mut self, reply: &Stream) -> String {
        let message = json!({
            "id": self.id, "type": "message", "role": "assistant", "model": self.model,
            "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": usage(reply.usage, 1),
        });
        event("message_start", &json!({ "type": "message_start", "message": message }))
    }

    fn step(&mut self, step: &Step) -> String {
        match step {
            Step::Text(text) => {
                let start = self.begin_block("text", &json!({ "type": "text", "text": "" }));
                start + &self.delta(&json!({ "type": "text_delta", "text": text }))
            }
            Step::More(text) => {
                assert_eq!(self.open, Some("text"), "`more` continues an open text block");
                self.delta(&json!({ "type": "text_delta", "text": text }))
            }
            Step::Thinking { text, signature } => {
                let block = json!({ "type": "thinking", "thinking": "", "signature": "" });
                let mut out = self.begin_block("thinking", &block);
                out += &self.delta(&json!({ "type": "thinking_delta", "thinking": text }));
                let delta = json!({ "type": "signature_delta", "signature": signature });
                out + &self.delta(&delta) + &self.end_block()
            }
            Step::ToolUse { id, name, json } => {
                self.calls = true;
                let block = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
                let mut out = self.begin_block("tool_use", &block);
                out += &self.delta(&json!({ "type": "input_json_delta", "partial_json": "" }));
                for piece in json {
                    let delta = json!({ "type": "input_json_delta", "partial_json": piece });
                    out += &self.delta(&delta);
                }
                out + &self.end_block()
            }
            Step::EndBlock => self.end_block(),
            Step::Ping => event("ping", &json!({ "type": "ping" })),
            Step::Error { kind, message } => event("error", &error(kind, message)),
            Step::Gate(_) | Step::Cut | Step::Stall => String::new(),
        }
    }

    fn finish(&mut self, reply: &Stream) -> String {
        let implied = if self.calls { "tool_use" } else { "end_turn" };
        let stop = reply.stop.as_deref().unwrap_or(implied);
        let delta = json!({
            "type": "message_delta",
            "delta": { "stop_reason": stop, "stop_sequence": null },
            "usage": usage(reply.usage, reply.usage.output),
        });
        self.end_block()
            + &event("message_delta", &delta)
            + &event("message_stop", &json!({ "type": "message_stop" }))
    }
}

/// The error object of the Messages API.
pub fn error(kind: &str, message: &str) -> Value {
    json!({
        "type": "error",
        "error": { "type": kind, "message": message },
        "request_id": "req_0001",
    })
}

fn usage(tokens: Tokens, output: u64) -> Value {
    json!({
        "input_tokens": tokens.input,
        "cache_creation_input_tokens": tokens.cache_write,
        "cache_read_input_tokens": tokens.cache_read,
        "output_tokens": output,
    })
}

fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}
