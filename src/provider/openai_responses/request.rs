//! Conversations as bodies of the Responses API: a flat list of items.

use serde::Serialize;
use serde_json::Value;

use super::super::api::{ModelRequest, ToolChoice};
use super::super::dialect::OpenaiDialect;
use super::super::turns::{Turn, data_url, result_pieces, turns};
use super::reasoning;
use crate::protocol::{ContentBlock, ImageSource, ResultBlock, Role, ToolUseId};
use crate::tool::ToolSpec;

/// Name prefixes of models that do not reason: the API refuses requests for their thoughts.
const NO_REASONING_MODELS: [&str; 3] = ["gpt-3", "gpt-4", "chatgpt-4"];

/// Builds the body of a request.
pub(super) fn body(
    request: &ModelRequest<'_>,
    dialect: OpenaiDialect,
) -> serde_json::Result<Vec<u8>> {
    let mut input = Vec::new();
    for turn in turns(request.messages, is_sent) {
        match turn.role {
            Role::User => user(&turn, &mut input),
            Role::Assistant => assistant(&turn, &mut input),
        }
    }
    let instructions = Some(request.system).filter(|text| !text.trim().is_empty());
    let body = ResponsesRequest {
        model: request.model,
        max_output_tokens: request.max_tokens,
        stream: true,
        store: false,
        include: include(request.model),
        reasoning: reasoning(request),
        tools: request.tools.iter().map(ResponsesTool::new).collect(),
        tool_choice: choice(request),
        prompt_cache_key: dialect.cache_key(request),
        instructions,
        input,
    };
    serde_json::to_vec(&body)
}

#[derive(Serialize)]
struct ResponsesRequest<'a> {
    model: &'a str,
    max_output_tokens: u32,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ResponsesReasoning<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ResponsesTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ResponsesToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    input: Vec<InputItem<'a>>,
}

#[derive(Serialize)]
struct ResponsesReasoning<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponsesTool<'a> {
    Function {
        name: &'a str,
        description: &'a str,
        parameters: &'a Value,
        /// The wire's default is true, which few schemas satisfy.
        strict: bool,
    },
}

impl<'a> ResponsesTool<'a> {
    fn new(tool: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input_schema } = tool;
        Self::Function { name, description, parameters: input_schema, strict: false }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum ResponsesToolChoice<'a> {
    Word(&'static str),
    Forced(ResponsesNamedChoice<'a>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponsesNamedChoice<'a> {
    Function { name: &'a str },
}

/// One item of a conversation. A reasoning item goes back unchanged.
#[derive(Serialize)]
#[serde(untagged)]
enum InputItem<'a> {
    Own(BuiltItem<'a>),
    Reasoning(Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BuiltItem<'a> {
    Message { role: Role, content: ResponsesContent<'a> },
    FunctionCall { call_id: &'a ToolUseId, name: &'a str, arguments: String },
    FunctionCallOutput { call_id: &'a ToolUseId, output: ResponsesContent<'a> },
}

#[derive(Serialize)]
#[serde(untagged)]
enum ResponsesContent<'a> {
    Text(String),
    Parts(Vec<ResponsesPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum ResponsesPart<'a> {
    #[serde(rename = "input_text")]
    Text { text: &'a str },
    #[serde(rename = "input_image")]
    Image { image_url: String, detail: &'static str },
    #[serde(rename = "input_file")]
    File { filename: &'a str, file_data: String },
}

/// Thoughts go back to the server that had them.
fn is_sent(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Thinking { signature, .. } => reasoning::decode(signature).is_some(),
        ContentBlock::RedactedThinking { .. } => false,
        _ => true,
    }
}

fn include(model: &str) -> &'static [&'static str] {
    let reasons = !NO_REASONING_MODELS.iter().any(|name| model.starts_with(name));
    if reasons { &["reasoning.encrypted_content"] } else { &[] }
}

/// Asks for a summary only if the model is known to reason: some others refuse the request.
fn reasoning<'a>(request: &ModelRequest<'a>) -> Option<ResponsesReasoning<'a>> {
    let summary = request.thinking.is_on().then_some("auto");
    let asked = request.effort.is_some() || summary.is_some();
    asked.then_some(ResponsesReasoning { effort: request.effort, summary })
}

/// Forces the given tool, if the request offers it, or forbids all.
fn choice<'a>(request: &ModelRequest<'a>) -> Option<ResponsesToolChoice<'a>> {
    match request.tool_choice {
        ToolChoice::Tool(name) if request.offers(name) => {
            Some(ResponsesToolChoice::Forced(ResponsesNamedChoice::Function { name }))
        }
        ToolChoice::None if request.forbids_calls() => Some(ResponsesToolChoice::Word("none")),
        ToolChoice::Tool(_) | ToolChoice::None | ToolChoice::Auto => None,
    }
}

/// Adds one item per result, then one message with the rest.
fn user<'a>(turn: &Turn<'a>, input: &mut Vec<InputItem<'a>>) {
    let mut parts = Vec::new();
    for block in &turn.blocks {
        match block {
            ContentBlock::ToolResult { tool_use_id, content, is_error, .. } => {
                let output = output(content, *is_error);
                let item = BuiltItem::FunctionCallOutput { call_id: tool_use_id, output };
                input.push(InputItem::Own(item));
            }
            ContentBlock::Text { text, .. } => parts.push(ResponsesPart::Text { text }),
            ContentBlock::Image { source, .. } => parts.push(image(source)),
            _ => {}
        }
    }
    if !parts.is_empty() {
        let message =
            BuiltItem::Message { role: Role::User, content: ResponsesContent::Parts(parts) };
        input.push(InputItem::Own(message));
    }
}

/// Returns the content of a result for the model: plain text unless there are images or files.
fn output(content: &[ResultBlock], is_error: bool) -> ResponsesContent<'_> {
    let (mut texts, mut parts) = (Vec::new(), Vec::new());
    for piece in result_pieces(content) {
        match piece {
            ResultBlock::Text { text } => {
                texts.push(text.as_str());
                parts.push(ResponsesPart::Text { text });
            }
            ResultBlock::Image { source } => parts.push(image(source)),
            ResultBlock::Document { source, name, .. } => {
                parts.push(ResponsesPart::File { filename: name, file_data: data_url(source) });
            }
        }
    }
    // The wire has no flag for errors.
    if texts.len() < parts.len() {
        if is_error {
            parts.insert(0, ResponsesPart::Text { text: "Error:" });
        }
        return ResponsesContent::Parts(parts);
    }
    let text = if texts.is_empty() { "(no output)".to_owned() } else { texts.join("\n") };
    ResponsesContent::Text(if is_error { format!("Error: {text}") } else { text })
}

/// Adds the items of an answer in their order. The API refuses a reasoning item that nothing follows.
fn assistant<'a>(turn: &Turn<'a>, input: &mut Vec<InputItem<'a>>) {
    let is_thought = |block: &ContentBlock| matches!(block, ContentBlock::Thinking { .. });
    let said = turn.blocks.iter().rposition(|block| !is_thought(block)).map_or(0, |last| last + 1);
    for block in &turn.blocks[..said] {
        match block {
            ContentBlock::Thinking { signature, .. } => {
                input.extend(reasoning::decode(signature).map(InputItem::Reasoning));
            }
            ContentBlock::Text { text, .. } => {
                let content = ResponsesContent::Text(text.to_string());
                input.push(InputItem::Own(BuiltItem::Message { role: Role::Assistant, content }));
            }
            ContentBlock::ToolUse { id, name, input: arguments, .. } => {
                let arguments = arguments.to_string();
                input.push(InputItem::Own(BuiltItem::FunctionCall {
                    call_id: id,
                    name,
                    arguments,
                }));
            }
            _ => {}
        }
    }
}

fn image<'a>(source: &ImageSource) -> ResponsesPart<'a> {
    ResponsesPart::Image { image_url: data_url(source), detail: "auto" }
}

#[cfg(test)]
mod tests;
