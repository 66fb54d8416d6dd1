//! Replies as OpenAI-compatible chat completions stream them.

use serde_json::{Value, json};

use super::Encoder;
use crate::support::script::{Step, Stream};

/// Writes chunks, the usage chunk and `[DONE]`.
#[derive(Debug)]
pub struct ChatEncoder {
    id: String,
    model: String,
    calls: usize,
}

impl ChatEncoder {
    pub fn new(number: usize, model: &str) -> Self {
        Self { id: format!("chatcmpl-{number:04}"), model: model.to_owned(), calls: 0 }
    }

    fn chunk(&self, choices: &Value, usage: &Value) -> String {
        let chunk = json!({
            "id": self.id, "object": "chat.completion.chunk", "created": 1, "model": self.model,
            "choices": choices, "usage": usage,
        });
        format!("data: {chunk}\n\n")
    }

    fn delta(&self, delta: &Value) -> String {
        let choices = json!([{ "index": 0, "delta": delta, "finish_reason": null }]);
        self.chunk(&choices, &Value::Null)
    }

    fn call(&mut self, id: &str, name: &str, pieces: &[String]) -> String {
        let index = self.calls;
        self.calls += 1;
        let first = json!({
            "index": index, "id": id, "type": "function",
            "function": { "name": name, "arguments": "" },
        });
        let mut out = self.delta(&json!({ "tool_calls": [first] }));
        for piece in pieces {
            let more = json!({ "index": index, "function": { "arguments": piece } });
            out += &self.delta(&json!({ "tool_calls": [more] }));
        }
        out
    }
}

impl Encoder for ChatEncoder {
    fn begin(&mut self, _reply: &Stream) -> String {
        self.delta(&json!({ "role": "assistant", "content": "" }))
    }

    fn step(&mut self, step: &Step) -> String {
        match step {
            Step::Text(text) | Step::More(text) => self.delta(&json!({ "content": text })),
            Step::ToolUse { id, name, json } => self.call(id, name, json),
            Step::Error { kind, message } => format!("data: {}\n\n", error(kind, message)),
            Step::Ping => ": ping\n\n".to_owned(),
            Step::Thinking { .. } => panic!("this wire has no signed thinking"),
            Step::EndBlock | Step::Gate(_) | Step::Cut | Step::Stall => String::new(),
        }
    }

    fn finish(&mut self, reply: &Stream) -> String {
        let implied = if self.calls > 0 { "tool_use" } else { "end_turn" };
        let reason = match reply.stop.as_deref().unwrap_or(implied) {
            "end_turn" | "stop_sequence" => "stop",
            "tool_use" => "tool_calls",
            "max_tokens" => "length",
            "refusal" => "content_filter",
            other => other,
        };
        let last = json!([{ "index": 0, "delta": {}, "finish_reason": reason }]);
        let tokens = reply.usage;
        let prompt = tokens.input + tokens.cache_read + tokens.cache_write;
        let usage = json!({
            "prompt_tokens": prompt,
            "completion_tokens": tokens.output,
            "total_tokens": prompt + tokens.output,
            "prompt_tokens_details": { "cached_tokens": tokens.cache_read },
        });
        self.chunk(&last, &Value::Null) + &self.chunk(&json!([]), &usage) + "data: [DONE]\n\n"
    }
}

/// The error object of chat completions.
pub fn error(kind: &str, message: &str) -> Value {
    json!({ "error": { "message": message, "type": kind, "param": null, "code": kind } })
}
