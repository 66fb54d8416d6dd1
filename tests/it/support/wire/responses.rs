//! Replies as the Responses API streams them.

use serde_json::{Value, json};

use super::Encoder;
use crate::support::script::{Step, Stream};

/// Writes `response.created`, items and `response.completed`.
#[derive(Debug)]
pub struct ResponsesEncoder {
    id: String,
    model: String,
    /// Events so far: each says its number.
    sequence: usize,
    /// Items so far.
    items: usize,
    /// The text of the open message.
    open: Option<String>,
    output: Vec<Value>,
}

impl ResponsesEncoder {
    pub fn new(number: usize, model: &str) -> Self {
        let id = format!("resp_{number:04}");
        let model = model.to_owned();
        Self { id, model, sequence: 0, items: 0, open: None, output: Vec::new() }
    }

    fn event(&mut self, name: &str, mut data: Value) -> String {
        data["type"] = json!(name);
        data["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        format!("event: {name}\ndata: {data}\n\n")
    }

    fn begin_item(&mut self, item: &Value) -> String {
        let out = self.end_message();
        self.items += 1;
        let added = json!({ "output_index": self.items - 1, "item": item });
        out + &self.event("response.output_item.added", added)
    }

    fn end_item(&mut self, item: Value) -> String {
        let done = json!({ "output_index": self.items - 1, "item": item });
        self.output.push(item);
        self.event("response.output_item.done", done)
    }

    /// An event about a part of the newest item.
    fn part(&mut self, name: &str, index: &str, mut data: Value) -> String {
        data["item_id"] = json!(format!("item_{}", self.items));
        data["output_index"] = json!(self.items - 1);
        data[index] = json!(0);
        self.event(name, data)
    }

    fn message(&self, status: &str, content: Value) -> Value {
        json!({
            "type": "message", "id": format!("item_{}", self.items), "role": "assistant",
            "status": status, "content": content,
        })
    }

    fn begin_message(&mut self) -> String {
        let mut out = self.end_message();
        self.items += 1;
        let item = self.message("in_progress", json!([]));
        self.items -= 1;
        out += &self.begin_item(&item);
        self.open = Some(String::new());
        let part = json!({ "part": output_text("") });
        out + &self.part("response.content_part.added", "content_index", part)
    }

    fn text(&mut self, text: &str) -> String {
        self.open.as_mut().expect("`more` continues an open text block").push_str(text);
        if text.is_empty() {
            return String::new();
        }
        let delta = json!({ "delta": text, "logprobs": [] });
        self.part("response.output_text.delta", "content_index", delta)
    }

    fn end_message(&mut self) -> String {
        let Some(text) = self.open.take() else { return String::new() };
        let done = json!({ "text": text, "logprobs": [] });
        let mut out = self.part("response.output_text.done", "content_index", done);
        let part = json!({ "part": output_text(&text) });
        out += &self.part("response.content_part.done", "content_index", part);
        let item = self.message("completed", json!([output_text(&text)]));
        out + &self.end_item(item)
    }

    fn thought(&mut self, text: &str, signature: &str) -> String {
        // What stands there in the beginning is not the whole of it.
        let mut item = reasoning(text, signature);
        item["encrypted_content"] = json!("unfinished");
        item["summary"] = json!([]);
        let mut out = self.begin_item(&item);
        let part = json!({ "part": { "type": "summary_text", "text": "" } });
        out += &self.part("response.reasoning_summary_part.added", "summary_index", part);
        let delta = json!({ "delta": text });
        out += &self.part("response.reasoning_summary_text.delta", "summary_index", delta);
        let done = json!({ "text": text });
        out += &self.part("response.reasoning_summary_text.done", "summary_index", done);
        out + &self.end_item(reasoning(text, signature))
    }

    fn call(&mut self, id: &str, name: &str, pieces: &[String]) -> String {
        let call = |status: &str, arguments: &str| {
            json!({
                "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name,
                "arguments": arguments, "status": status,
            })
        };
        let mut out = self.begin_item(&call("in_progress", ""));
        let name = "response.function_call_arguments";
        for piece in pieces {
            let delta = json!({ "delta": piece });
            out += &self.part(&format!("{name}.delta"), "content_index", delta);
        }
        let arguments = pieces.concat();
        let done = json!({ "arguments": arguments });
        out += &self.part(&format!("{name}.done"), "content_index", done);
        out + &self.end_item(call("completed", &arguments))
    }

    fn response(&self, status: &str) -> Value {
        json!({
            "id": self.id, "object": "response", "created_at": 1, "model": self.model,
            "status": status, "error": null, "incomplete_details": null, "output": [],
            "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "usage": null,
        })
    }
}

impl Encoder for ResponsesEncoder {
    fn begin(&mut self, _reply: &Stream) -> String {
        let response = self.response("in_progress");
        let created = self.event("response.created", json!({ "response": response }));
        created + &self.event("response.in_progress", json!({ "response": response }))
    }

    fn step(&mut self, step: &Step) -> String {
        match step {
            Step::Text(text) => self.begin_message() + &self.text(text),
            Step::More(text) => self.text(text),
            Step::Thinking { text, signature } => self.thought(text, signature),
            Step::ToolUse { id, name, json } => self.call(id, name, json),
            Step::EndBlock => self.end_message(),
            Step::Ping => ": ping\n\n".to_owned(),
            Step::Error { kind, message } => {
                let error = json!({ "code": kind, "message": message, "param": null });
                self.event("error", error)
            }
            Step::Gate(_) | Step::Cut | Step::Stall => String::new(),
        }
    }

    fn finish(&mut self, reply: &Stream) -> String {
        let out = self.end_message();
        let (name, reason) = match reply.stop.as_deref() {
            Some("max_tokens") => ("incomplete", Some("max_output_tokens")),
            Some("refusal") => ("incomplete", Some("content_filter")),
            _ => ("completed", None),
        };
        let tokens = reply.usage;
        let input = tokens.input + tokens.cache_read + tokens.cache_write;
        let mut response = self.response(name);
        response["output"] = json!(self.output);
        response["incomplete_details"] = reason.map_or(Value::Null, |r| json!({ "reason": r }));
        response["usage"] = json!({
            "input_tokens": input,
            "input_tokens_details": {
                "cached_tokens": tokens.cache_read, "cache_write_tokens": tokens.cache_write,
            },
            "output_tokens": tokens.output,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": input + tokens.output,
        });
        out + &self.event(&format!("response.{name}"), json!({ "response": response }))
    }
}

/// The item of a thought, as a later request must repeat it.
pub fn reasoning(text: &str, signature: &str) -> Value {
    json!({
        "type": "reasoning", "id": format!("rs_{signature}"),
        "summary": [{ "type": "summary_text", "text": text }], "encrypted_content": signature,
    })
}

fn output_text(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}
