//! Conversations as bodies of the Responses API: a flat list of items.

use serde::Serialize;
use serde_json::Value;

use super::super::dialect::Dialect;
use super::super::turns::{Turn, data_url, result_pieces, turns};
use super::super::{ModelRequest, ToolChoice};
use super::thought;
use crate::protocol::{ContentBlock, ImageSource, ResultBlock, Role, ToolUseId};
use crate::tool::ToolSpec;

/// How the names of models begin that do not reason: the API refuses to be asked for their thoughts.
const NEVER_REASON: [&str; 3] = ["gpt-3", "gpt-4", "chatgpt-4"];

/// The body of one request.
pub(super) fn body(request: &ModelRequest<'_>, dialect: Dialect) -> serde_json::Result<Vec<u8>> {
    let mut input = Vec::new();
    for turn in turns(request.messages, is_sent) {
        match turn.role {
            Role::User => user(&turn, &mut input),
            Role::Assistant => assistant(&turn, &mut input),
        }
    }
    let instructions = Some(request.system).filter(|text| !text.trim().is_empty());
    let body = Body {
        model: request.model,
        max_output_tokens: request.max_tokens,
        stream: true,
        store: false,
        include: include(request.model),
        reasoning: reasoning(request),
        tools: request.tools.iter().map(WireTool::new).collect(),
        tool_choice: choice(request),
        prompt_cache_key: dialect.cache_key(request),
        instructions,
        input,
    };
    serde_json::to_vec(&body)
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_output_tokens: u32,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    input: Vec<Item<'a>>,
}

#[derive(Serialize)]
struct Reasoning<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireTool<'a> {
    Function {
        name: &'a str,
        description: &'a str,
        parameters: &'a Value,
        /// The wire's default is true, which few schemas stand.
        strict: bool,
    },
}

impl<'a> WireTool<'a> {
    fn new(tool: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input_schema } = tool;
        Self::Function { name, description, parameters: input_schema, strict: false }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Choice<'a> {
    Word(&'static str),
    Forced(Forced<'a>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Forced<'a> {
    Function { name: &'a str },
}

/// One item of a conversation. A reasoning item goes back as it came.
#[derive(Serialize)]
#[serde(untagged)]
enum Item<'a> {
    Own(OwnItem<'a>),
    Reasoning(Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum OwnItem<'a> {
    Message { role: Role, content: Content<'a> },
    FunctionCall { call_id: &'a ToolUseId, name: &'a str, arguments: String },
    FunctionCallOutput { call_id: &'a ToolUseId, output: Content<'a> },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(String),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    InputText { text: &'a str },
    InputImage { image_url: String, detail: &'static str },
}

/// Thoughts go back to the server that had them.
fn is_sent(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Thinking { signature, .. } => thought::open(signature).is_some(),
        ContentBlock::RedactedThinking { .. } => false,
        _ => true,
    }
}

fn include(model: &str) -> &'static [&'static str] {
    let reasons = !NEVER_REASON.iter().any(|name| model.starts_with(name));
    if reasons { &["reasoning.encrypted_content"] } else { &[] }
}

/// A summary is asked for where the model is known to reason: some others refuse the question.
fn reasoning<'a>(request: &ModelRequest<'a>) -> Option<Reasoning<'a>> {
    let summary = request.thinking.is_on().then_some("auto");
    let asked = request.effort.is_some() || summary.is_some();
    asked.then_some(Reasoning { effort: request.effort, summary })
}

/// The tool that must be called, if the request offers it, or that none may.
fn choice<'a>(request: &ModelRequest<'a>) -> Option<Choice<'a>> {
    match request.tool_choice {
        ToolChoice::Tool(name) if request.offers(name) => {
            Some(Choice::Forced(Forced::Function { name }))
        }
        ToolChoice::None if request.forbids_calls() => Some(Choice::Word("none")),
        ToolChoice::Tool(_) | ToolChoice::None | ToolChoice::Auto => None,
    }
}

/// One item per result, then one message with the rest.
fn user<'a>(turn: &Turn<'a>, input: &mut Vec<Item<'a>>) {
    let mut parts = Vec::new();
    for block in &turn.blocks {
        match block {
            ContentBlock::ToolResult { tool_use_id, content, is_error, .. } => {
                let output = output(content, *is_error);
                let item = OwnItem::FunctionCallOutput { call_id: tool_use_id, output };
                input.push(Item::Own(item));
            }
            ContentBlock::Text { text, .. } => parts.push(Part::InputText { text }),
            ContentBlock::Image { source } => parts.push(image(source)),
            _ => {}
        }
    }
    if !parts.is_empty() {
        let message = OwnItem::Message { role: Role::User, content: Content::Parts(parts) };
        input.push(Item::Own(message));
    }
}

/// What the model reads of a result: a plain text unless there are images.
fn output(content: &[ResultBlock], is_error: bool) -> Content<'_> {
    let (mut texts, mut parts) = (Vec::new(), Vec::new());
    for piece in result_pieces(content) {
        match piece {
            ResultBlock::Text { text } => {
                texts.push(text.as_str());
                parts.push(Part::InputText { text });
            }
            ResultBlock::Image { source } => parts.push(image(source)),
        }
    }
    // The wire has no flag for a failure.
    if texts.len() < parts.len() {
        if is_error {
            parts.insert(0, Part::InputText { text: "Error:" });
        }
        return Content::Parts(parts);
    }
    let text = if texts.is_empty() { "(no output)".to_owned() } else { texts.join("\n") };
    Content::Text(if is_error { format!("Error: {text}") } else { text })
}

/// The items of an answer in their order. The API refuses a reasoning item that nothing follows.
fn assistant<'a>(turn: &Turn<'a>, input: &mut Vec<Item<'a>>) {
    let is_thought = |block: &ContentBlock| matches!(block, ContentBlock::Thinking { .. });
    let said = turn.blocks.iter().rposition(|block| !is_thought(block)).map_or(0, |last| last + 1);
    for block in &turn.blocks[..said] {
        match block {
            ContentBlock::Thinking { signature, .. } => {
                input.extend(thought::open(signature).map(Item::Reasoning));
            }
            ContentBlock::Text { text, .. } => {
                let content = Content::Text(text.clone());
                input.push(Item::Own(OwnItem::Message { role: Role::Assistant, content }));
            }
            ContentBlock::ToolUse { id, name, input: arguments, .. } => {
                let arguments = arguments.to_string();
                input.push(Item::Own(OwnItem::FunctionCall { call_id: id, name, arguments }));
            }
            _ => {}
        }
    }
}

fn image<'a>(source: &ImageSource) -> Part<'a> {
    Part::InputImage { image_url: data_url(source), detail: "auto" }
}

#[cfg(test)]
mod tests;
