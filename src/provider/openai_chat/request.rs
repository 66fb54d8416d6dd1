//! Conversations as bodies of chat completions.

use serde::Serialize;
use serde_json::Value;

use super::super::dialect::Dialect;
use super::super::turns::{Turn, data_url, result_pieces, turns};
use super::super::{ModelRequest, ToolChoice};
use crate::protocol::{ContentBlock, ImageSource, ResultBlock, Role, ToolUseId};
use crate::tool::ToolSpec;

/// The body of one request.
pub(super) fn body(request: &ModelRequest<'_>, dialect: Dialect) -> serde_json::Result<Vec<u8>> {
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(WireMessage::System { content: request.system });
    }
    for turn in turns(request.messages, is_sent) {
        match turn.role {
            Role::User => user(&turn, &mut messages),
            Role::Assistant => messages.push(assistant(&turn)),
        }
    }
    let limit = Some(request.max_tokens);
    let (max_tokens, max_completion_tokens) = match dialect {
        Dialect::OpenAi => (None, limit),
        Dialect::Common => (limit, None),
    };
    let body = Body {
        model: request.model,
        max_tokens,
        max_completion_tokens,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        reasoning_effort: request.effort,
        tools: request.tools.iter().map(WireTool::new).collect(),
        tool_choice: choice(request),
        prompt_cache_key: dialect.cache_key(request),
        messages,
    };
    serde_json::to_vec(&body)
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<String>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireTool<'a> {
    Function { function: Function<'a> },
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
    Function { function: FunctionName<'a> },
}

#[derive(Serialize)]
struct FunctionName<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl<'a> WireTool<'a> {
    fn new(tool: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input_schema } = tool;
        Self::Function { function: Function { name, description, parameters: input_schema } }
    }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum WireMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'a>>,
    },
    Tool {
        tool_call_id: &'a ToolUseId,
        content: String,
    },
}

/// A plain text wherever one does: some servers know nothing else.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(String),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireCall<'a> {
    Function { id: &'a ToolUseId, function: CallFunction<'a> },
}

#[derive(Serialize)]
struct CallFunction<'a> {
    name: &'a str,
    arguments: String,
}

/// The tool that must be called, if the request offers it, or that none may.
fn choice<'a>(request: &ModelRequest<'a>) -> Option<Choice<'a>> {
    match request.tool_choice {
        ToolChoice::Tool(name) if request.offers(name) => {
            Some(Choice::Forced(Forced::Function { function: FunctionName { name } }))
        }
        ToolChoice::None if request.forbids_calls() => Some(Choice::Word("none")),
        ToolChoice::Tool(_) | ToolChoice::None | ToolChoice::Auto => None,
    }
}

/// Thoughts are not echoed on this wire.
fn is_sent(block: &ContentBlock) -> bool {
    !matches!(block, ContentBlock::Thinking { .. } | ContentBlock::RedactedThinking { .. })
}

/// One `tool` message per result, then one user message with the rest. This wire has no images in
/// results, so they go with the rest.
fn user<'a>(turn: &Turn<'a>, messages: &mut Vec<WireMessage<'a>>) {
    let mut parts = Vec::new();
    for block in &turn.blocks {
        match block {
            ContentBlock::ToolResult { tool_use_id, content, is_error, .. } => {
                let content = result(content, *is_error, &mut parts);
                messages.push(WireMessage::Tool { tool_call_id: tool_use_id, content });
            }
            ContentBlock::Text { text, .. } => parts.push(Part::Text { text }),
            ContentBlock::Image { source } => parts.push(image(source)),
            _ => {}
        }
    }
    if !parts.is_empty() {
        messages.push(WireMessage::User { content: Content::from(parts) });
    }
}

/// What the model reads of a result. Its images are appended to `parts`.
fn result<'a>(content: &'a [ResultBlock], is_error: bool, parts: &mut Vec<Part<'a>>) -> String {
    let mut texts = Vec::new();
    for piece in result_pieces(content) {
        match piece {
            ResultBlock::Text { text } => texts.push(text.as_str()),
            ResultBlock::Image { source } => {
                texts.push("(The image follows in the next user message.)");
                parts.push(image(source));
            }
        }
    }
    let text = if texts.is_empty() { "(no output)".to_owned() } else { texts.join("\n") };
    // The wire has no flag for it.
    if is_error { format!("Error: {text}") } else { text }
}

fn assistant<'a>(turn: &Turn<'a>) -> WireMessage<'a> {
    let texts: Vec<_> = turn.blocks.iter().filter_map(|block| block.as_text()).collect();
    let calls = turn.blocks.iter().filter_map(|block| match block {
        ContentBlock::ToolUse { id, name, input, .. } => Some(WireCall::Function {
            id,
            function: CallFunction { name, arguments: input.to_string() },
        }),
        _ => None,
    });
    WireMessage::Assistant {
        content: (!texts.is_empty()).then(|| texts.join("\n\n")),
        tool_calls: calls.collect(),
    }
}

fn image<'a>(source: &ImageSource) -> Part<'a> {
    Part::ImageUrl { image_url: ImageUrl { url: data_url(source) } }
}

impl<'a> From<Vec<Part<'a>>> for Content<'a> {
    fn from(parts: Vec<Part<'a>>) -> Self {
        let texts: Option<Vec<_>> = parts
            .iter()
            .map(|part| match part {
                Part::Text { text } => Some(*text),
                Part::ImageUrl { .. } => None,
            })
            .collect();
        match texts {
            Some(texts) => Self::Text(texts.join("\n\n")),
            None => Self::Parts(parts),
        }
    }
}

#[cfg(test)]
mod tests;
