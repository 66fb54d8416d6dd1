//! Conversations as bodies of the Gemini API.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::super::turns::{Turn, result_pieces, turns};
use super::super::{ModelRequest, Thinking, ToolChoice};
use super::bare;
use super::thought::Signed;
use crate::protocol::{ContentBlock, ImageSource, ResultBlock, Role, ToolUseId};
use crate::tool::ToolSpec;

/// How the names of models begin that sign nothing that they insist on, and take no images in results.
const OLDER: [&str; 2] = ["gemini-1", "gemini-2"];

/// The signature that the API documents for a call that it did not make itself.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// The body of one request.
pub(super) fn body(request: &ModelRequest<'_>) -> serde_json::Result<Vec<u8>> {
    let mut contents = Contents { is_newer: is_newer(request.model), ..Contents::default() };
    for turn in turns(request.messages, is_sent) {
        match turn.role {
            Role::User => contents.user(&turn),
            Role::Assistant => contents.model(&turn),
        }
    }
    let has_system = !request.system.trim().is_empty();
    let body = Body {
        system_instruction: has_system.then(|| Parts::of(Part::text(request.system))),
        tools: Tools::of(request.tools),
        tool_config: tool_config(request),
        generation_config: GenerationConfig {
            max_output_tokens: request.max_tokens,
            thinking_config: thinking(request),
        },
        contents: contents.all,
    };
    serde_json::to_vec(&body)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Parts<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tools<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<Value>,
    generation_config: GenerationConfig,
    contents: Vec<Content<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: &'a Value,
}

impl<'a> Tools<'a> {
    fn of(tools: &'a [ToolSpec]) -> Option<[Self; 1]> {
        let declare = |tool: &'a ToolSpec| {
            let ToolSpec { name, description, input_schema } = tool;
            Declaration { name, description, parameters_json_schema: input_schema }
        };
        let function_declarations: Vec<_> = tools.iter().map(declare).collect();
        (!tools.is_empty()).then_some([Self { function_declarations }])
    }
}

#[derive(Serialize)]
struct Parts<'a> {
    parts: Vec<Part<'a>>,
}

impl<'a> Parts<'a> {
    fn of(part: Part<'a>) -> Self {
        Self { parts: vec![part] }
    }
}

#[derive(Serialize)]
struct Content<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(flatten)]
    data: Datum<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Datum<'a> {
    Text(&'a str),
    #[serde(rename = "inlineData")]
    Image(Blob<'a>),
    FunctionCall(Call<'a>),
    FunctionResponse(Response<'a>),
}

impl<'a> From<Datum<'a>> for Part<'a> {
    fn from(data: Datum<'a>) -> Self {
        Self { data, thought_signature: None }
    }
}

impl<'a> Part<'a> {
    fn text(text: &'a str) -> Self {
        Datum::Text(text).into()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Blob<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    args: &'a Value,
}

#[derive(Serialize)]
struct Response<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    response: Outcome,
    /// Images, for models that take them here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Output(String),
    Error(String),
}

/// The conversation as it grows.
#[derive(Default)]
struct Contents<'a> {
    is_newer: bool,
    /// The tools of the calls so far.
    names: HashMap<&'a ToolUseId, &'a str>,
    all: Vec<Content<'a>>,
}

impl<'a> Contents<'a> {
    /// The results first, in the order of their calls, then the rest.
    fn user(&mut self, turn: &Turn<'a>) {
        let (mut parts, mut rest) = (Vec::new(), Vec::new());
        for block in &turn.blocks {
            match block {
                ContentBlock::ToolResult { tool_use_id, content, is_error, .. } => {
                    let (text, mut images) = result(content);
                    if !self.is_newer {
                        rest.append(&mut images);
                    }
                    parts.push(Part::from(Datum::FunctionResponse(Response {
                        id: given(tool_use_id),
                        name: self.names.get(tool_use_id).copied().unwrap_or("unknown"),
                        response: if *is_error {
                            Outcome::Error(text)
                        } else {
                            Outcome::Output(text)
                        },
                        parts: images,
                    })));
                }
                ContentBlock::Text { text, .. } => rest.push(Part::text(text)),
                ContentBlock::Image { source } => rest.push(image(source)),
                _ => {}
            }
        }
        parts.append(&mut rest);
        match self.all.last_mut() {
            Some(last) if last.role == "user" => last.parts.append(&mut parts),
            _ => self.all.push(Content { role: "user", parts }),
        }
    }

    fn model(&mut self, turn: &Turn<'a>) {
        let mut parts = Vec::new();
        let mut signature = None;
        let mut says = false;
        for block in &turn.blocks {
            match block {
                ContentBlock::Thinking { signature: sealed, .. } => match Signed::open(sealed) {
                    Some(Signed::Call(own)) => signature = Some(own),
                    Some(Signed::Text(own)) => {
                        parts.push(Part { data: Datum::Text(""), thought_signature: Some(own) });
                    }
                    None => {}
                },
                ContentBlock::Text { text, .. } => {
                    says = true;
                    parts.push(Part::text(text));
                }
                ContentBlock::ToolUse { id, name, input, .. } => {
                    says = true;
                    self.names.insert(id, name);
                    let data = Datum::FunctionCall(Call { id: given(id), name, args: input });
                    parts.push(Part { data, thought_signature: signature.take() });
                }
                _ => {}
            }
        }
        if self.is_newer {
            sign_first_call(&mut parts);
        }
        // A signature alone is no answer.
        if says {
            self.all.push(Content { role: "model", parts });
        }
    }
}

/// Newer models refuse an answer whose first call has no signature; one from elsewhere has none.
fn sign_first_call(parts: &mut [Part<'_>]) {
    let first = parts.iter_mut().find(|part| matches!(part.data, Datum::FunctionCall(_)));
    if let Some(part) = first {
        part.thought_signature.get_or_insert(UNSIGNED);
    }
}

/// Thoughts themselves are not wanted back, only what they signed.
fn is_sent(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Thinking { signature, .. } => Signed::open(signature).is_some(),
        ContentBlock::RedactedThinking { .. } => false,
        _ => true,
    }
}

fn is_newer(model: &str) -> bool {
    let model = bare(model);
    model.starts_with("gemini") && !OLDER.iter().any(|older| model.starts_with(older))
}

/// The id as the server gave it: older models give none, and want none.
fn given(id: &ToolUseId) -> Option<&str> {
    (!id.is_generated()).then(|| id.as_str())
}

/// What the model reads of a result, and its images.
fn result(content: &[ResultBlock]) -> (String, Vec<Part<'_>>) {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for piece in result_pieces(content) {
        match piece {
            ResultBlock::Text { text } => texts.push(text.as_str()),
            ResultBlock::Image { source } => {
                texts.push("(The image stands beside this text.)");
                images.push(image(source));
            }
        }
    }
    let text = if texts.is_empty() { "(no output)".to_owned() } else { texts.join("\n") };
    (text, images)
}

fn image(source: &ImageSource) -> Part<'_> {
    let ImageSource { media_type, data } = source;
    Datum::Image(Blob { mime_type: media_type, data }).into()
}

/// The tool that must be called, if the request offers it, or that none may.
fn tool_config(request: &ModelRequest<'_>) -> Option<Value> {
    match request.tool_choice {
        ToolChoice::Tool(name) if request.offers(name) => Some(json!({
            "functionCallingConfig": { "mode": "ANY", "allowedFunctionNames": [name] },
        })),
        ToolChoice::None if request.forbids_calls() => {
            Some(json!({ "functionCallingConfig": { "mode": "NONE" } }))
        }
        ToolChoice::Tool(_) | ToolChoice::None | ToolChoice::Auto => None,
    }
}

/// The API takes a level or a budget, not both: the user's word goes before the catalogue's.
fn thinking(request: &ModelRequest<'_>) -> Option<ThinkingConfig> {
    let level = request.effort.map(str::to_ascii_uppercase);
    let budget = match request.thinking {
        Thinking::Budget(budget) if level.is_none() => Some(budget),
        _ => None,
    };
    let include_thoughts = request.thinking.is_on();
    let asked = include_thoughts || level.is_some();
    asked.then_some(ThinkingConfig {
        include_thoughts,
        thinking_budget: budget,
        thinking_level: level,
    })
}

#[cfg(test)]
mod tests;
