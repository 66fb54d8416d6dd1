//! What the scripted server remembers of each request, and ways to look at it that fit all wires.

use std::time::Instant;

use axum::http::HeaderMap;
use serde_json::Value;

/// Which API a request speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    Anthropic,
    Chat,
    Responses,
    Gemini,
}

impl Wire {
    pub const ALL: [Self; 4] = [Self::Anthropic, Self::Chat, Self::Responses, Self::Gemini];
}

/// How an answer's stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// All of it was sent.
    Whole,
    /// The script broke the connection.
    Cut,
    /// The client went away first.
    ClosedByClient,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// 0 for the first request of the server.
    pub index: usize,
    pub wire: Wire,
    /// The model, where the path names it.
    pub model: Option<String>,
    pub headers: HeaderMap,
    pub body: Value,
    /// The client's port: equal for requests on one connection.
    pub connection: u16,
    /// The word by which its script was found.
    pub agent: Option<String>,
    pub arrived: Instant,
    pub first_byte: Option<Instant>,
    pub end: Option<(StreamEnd, Instant)>,
    /// The HTTP status of the answer.
    pub status: Option<u16>,
}

/// One tool result, as the model reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    pub id: String,
    pub text: String,
    pub is_error: bool,
    /// How many blocks it has; 1 where the wire has no blocks.
    pub blocks: usize,
}

impl Recorded {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub fn model(&self) -> &str {
        self.model.as_deref().or_else(|| self.body["model"].as_str()).unwrap_or_default()
    }

    pub fn messages(&self) -> &[Value] {
        messages(&self.body)
    }

    /// The names in `tools`, in order.
    pub fn tool_names(&self) -> Vec<&str> {
        self.tools().iter().filter_map(|tool| self.function(tool)["name"].as_str()).collect()
    }

    /// The entry of one tool: `name`, `description` and the schema.
    pub fn tool(&self, name: &str) -> Option<&Value> {
        self.tools().iter().map(|tool| self.function(tool)).find(|tool| tool["name"] == name)
    }

    pub fn tools(&self) -> &[Value] {
        let tools = match self.wire {
            Wire::Gemini => &self.body["tools"][0]["functionDeclarations"],
            _ => &self.body["tools"],
        };
        tools.as_array().map_or(&[], Vec::as_slice)
    }

    /// Whether the model may call tools now.
    pub fn offers_tools(&self) -> bool {
        let choice = &self.body["tool_choice"];
        let mode = &self.body["toolConfig"]["functionCallingConfig"]["mode"];
        let forbidden = choice["type"] == "none" || choice == "none" || mode == "NONE";
        !self.tools().is_empty() && !forbidden
    }

    /// All text of the system prompt.
    pub fn system(&self) -> String {
        match self.wire {
            Wire::Anthropic => all_text(&self.body["system"]),
            Wire::Chat => self
                .messages()
                .iter()
                .take_while(|message| is_system(message))
                .map(|message| all_text(&message["content"]))
                .collect::<Vec<_>>()
                .join("\n"),
            Wire::Responses => all_text(&self.body["instructions"]),
            Wire::Gemini => all_text(&self.body["systemInstruction"]["parts"]),
        }
    }

    /// All text of the first user message.
    pub fn first_user_text(&self) -> String {
        first_user_text(&self.body)
    }

    /// The results at the end of the conversation, in order.
    pub fn tool_results(&self) -> Vec<ToolResult> {
        match self.wire {
            Wire::Anthropic => {
                let content = self.messages().last().and_then(|last| last["content"].as_array());
                let blocks = content.map_or(&[][..], Vec::as_slice);
                blocks
                    .iter()
                    .filter(|block| block["type"] == "tool_result")
                    .map(anthropic)
                    .collect()
            }
            Wire::Chat => {
                let tools = self.messages().iter().rev().skip_while(|m| m["role"] == "user");
                let mut results: Vec<_> =
                    tools.take_while(|m| m["role"] == "tool").map(chat).collect();
                results.reverse();
                results
            }
            Wire::Responses => {
                let items = self.messages().iter().rev().skip_while(|item| item["role"] == "user");
                let outputs = items.take_while(|item| item["type"] == "function_call_output");
                let mut results: Vec<_> = outputs.map(responses).collect();
                results.reverse();
                results
            }
            Wire::Gemini => {
                let parts = self.messages().last().and_then(|last| last["parts"].as_array());
                let parts = parts.map_or(&[][..], Vec::as_slice);
                parts.iter().filter_map(|part| part.get("functionResponse")).map(gemini).collect()
            }
        }
    }

    /// The one result at the end of the conversation.
    pub fn tool_result(&self) -> ToolResult {
        let mut results = self.tool_results();
        assert_eq!(results.len(), 1, "expected one tool result: {:#?}", self.messages());
        results.remove(0)
    }

    /// The whole body as text, to look for canaries.
    pub fn text(&self) -> String {
        self.body.to_string()
    }

    fn function<'a>(&self, tool: &'a Value) -> &'a Value {
        match self.wire {
            Wire::Chat => &tool["function"],
            Wire::Anthropic | Wire::Responses | Wire::Gemini => tool,
        }
    }
}

/// All text of the first user message of a request body.
pub fn first_user_text(body: &Value) -> String {
    let first = messages(body).iter().find(|message| message["role"] == "user");
    let content = |message: &Value| match message.get("parts") {
        Some(parts) => all_text(parts),
        None => all_text(&message["content"]),
    };
    first.map(content).unwrap_or_default()
}

/// The conversation, whatever its wire calls it.
fn messages(body: &Value) -> &[Value] {
    let mut lists = ["messages", "input", "contents"].iter().filter_map(|name| body.get(name));
    lists.next().and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The text of a string, or of all text blocks.
pub fn all_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<_> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

fn is_system(message: &Value) -> bool {
    message["role"] == "system" || message["role"] == "developer"
}

fn anthropic(block: &Value) -> ToolResult {
    ToolResult {
        id: block["tool_use_id"].as_str().unwrap_or_default().to_owned(),
        text: all_text(&block["content"]),
        is_error: block["is_error"] == true,
        blocks: block["content"].as_array().map_or(1, Vec::len),
    }
}

/// The chat wire has no place for `is_error`.
fn chat(message: &Value) -> ToolResult {
    ToolResult {
        id: message["tool_call_id"].as_str().unwrap_or_default().to_owned(),
        text: all_text(&message["content"]),
        is_error: false,
        blocks: 1,
    }
}

/// The Responses wire has none either.
fn responses(item: &Value) -> ToolResult {
    ToolResult {
        id: item["call_id"].as_str().unwrap_or_default().to_owned(),
        text: all_text(&item["output"]),
        is_error: false,
        blocks: item["output"].as_array().map_or(1, Vec::len),
    }
}

fn gemini(response: &Value) -> ToolResult {
    let error = response["response"]["error"].as_str();
    let text = error.or_else(|| response["response"]["output"].as_str());
    ToolResult {
        id: response["id"].as_str().unwrap_or_default().to_owned(),
        text: text.unwrap_or_default().to_owned(),
        is_error: error.is_some(),
        blocks: 1,
    }
}
