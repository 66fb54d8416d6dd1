//! Conversations as bodies of chat completions.

use serde::Serialize;
use serde_json::Value;

use super::super::api::{ModelRequest, ToolChoice};
use super::super::dialect::OpenaiDialect;
use super::super::turns::{Turn, data_url, result_pieces, turns};
use crate::protocol::{ContentBlock, ImageSource, ResultBlock, Role, ToolUseId};
use crate::tool::ToolSpec;

/// Builds the body of a request.
pub(super) fn body(
    request: &ModelRequest<'_>,
    dialect: OpenaiDialect,
) -> serde_json::Result<Vec<u8>> {
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(ChatMessage::System { content: request.system });
    }
    for turn in turns(request.messages, is_sent) {
        match turn.role {
            Role::User => user(&turn, &mut messages),
            Role::Assistant => messages.push(assistant(&turn)),
        }
    }
    let limit = Some(request.max_tokens);
    let (max_tokens, max_completion_tokens) = match dialect {
        OpenaiDialect::OpenAi => (None, limit),
        OpenaiDialect::Common => (limit, None),
    };
    let body = ChatRequest {
        model: request.model,
        max_tokens,
        max_completion_tokens,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        reasoning_effort: request.effort,
        tools: request.tools.iter().map(ChatTool::new).collect(),
        tool_choice: choice(request),
        prompt_cache_key: dialect.cache_key(request),
        messages,
    };
    serde_json::to_vec(&body)
}

#[derive(Serialize)]
struct ChatRequest<'a> {
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
    tools: Vec<ChatTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ChatToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<String>,
    messages: Vec<ChatMessage<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ChatTool<'a> {
    Function { function: ChatFunction<'a> },
}

#[derive(Serialize)]
#[serde(untagged)]
enum ChatToolChoice<'a> {
    Word(&'static str),
    Forced(ChatNamedChoice<'a>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ChatNamedChoice<'a> {
    Function { function: FunctionName<'a> },
}

#[derive(Serialize)]
struct FunctionName<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct ChatFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl<'a> ChatTool<'a> {
    fn new(tool: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input_schema } = tool;
        Self::Function { function: ChatFunction { name, description, parameters: input_schema } }
    }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum ChatMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: ChatContent<'a>,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ChatToolCall<'a>>,
    },
    Tool {
        tool_call_id: &'a ToolUseId,
        content: String,
    },
}

/// A plain text wherever possible: some servers support nothing else.
#[derive(Serialize)]
#[serde(untagged)]
enum ChatContent<'a> {
    Text(String),
    Parts(Vec<ChatPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ChatPart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ChatToolCall<'a> {
    Function { id: &'a ToolUseId, function: CallFunction<'a> },
}

#[derive(Serialize)]
struct CallFunction<'a> {
    name: &'a str,
    arguments: String,
}

/// Forces the given tool, if the request offers it, or forbids all.
fn choice<'a>(request: &ModelRequest<'a>) -> Option<ChatToolChoice<'a>> {
    match request.tool_choice {
        ToolChoice::Tool(name) if request.offers(name) => {
            Some(ChatToolChoice::Forced(ChatNamedChoice::Function {
                function: FunctionName { name },
            }))
        }
        ToolChoice::None if request.forbids_calls() => Some(ChatToolChoice::Word("none")),
        ToolChoice::Tool(_) | ToolChoice::None | ToolChoice::Auto => None,
    }
}

/// Stands for a PDF, which most servers with this wire do not take.
const NO_PDF: &str = "(The PDF cannot be shown: this provider takes none. Extract its text with Bash, for \
                      example with pdftotext.)";

/// Thoughts are not echoed on this wire.
fn is_sent(block: &ContentBlock) -> bool {
    !matches!(block, ContentBlock::Thinking { .. } | ContentBlock::RedactedThinking { .. })
}

/// Adds one `tool` message per result, then one user message with the rest. This wire has no images
/// in results, so they go with the rest.
fn user<'a>(turn: &Turn<'a>, messages: &mut Vec<ChatMessage<'a>>) {
    let mut parts = Vec::new();
    for block in &turn.blocks {
        match block {
            ContentBlock::ToolResult { tool_use_id, content, is_error, .. } => {
                let content = result(content, *is_error, &mut parts);
                messages.push(ChatMessage::Tool { tool_call_id: tool_use_id, content });
            }
            ContentBlock::Text { text, .. } => parts.push(ChatPart::Text { text }),
            ContentBlock::Image { source, .. } => parts.push(image(source)),
            _ => {}
        }
    }
    if !parts.is_empty() {
        messages.push(ChatMessage::User { content: ChatContent::from(parts) });
    }
}

/// Returns the text of a result for the model. Its images are appended to `parts`.
fn result<'a>(content: &'a [ResultBlock], is_error: bool, parts: &mut Vec<ChatPart<'a>>) -> String {
    let mut texts = Vec::new();
    for piece in result_pieces(content) {
        match piece {
            ResultBlock::Text { text } => texts.push(text.as_str()),
            ResultBlock::Image { source } => {
                texts.push("(The image follows in the next user message.)");
                parts.push(image(source));
            }
            ResultBlock::Document { .. } => texts.push(NO_PDF),
        }
    }
    let text = if texts.is_empty() { "(no output)".to_owned() } else { texts.join("\n") };
    // The wire has no flag for errors.
    if is_error { format!("Error: {text}") } else { text }
}

fn assistant<'a>(turn: &Turn<'a>) -> ChatMessage<'a> {
    let texts: Vec<_> = turn.blocks.iter().filter_map(|block| block.as_text()).collect();
    let calls = turn.blocks.iter().filter_map(|block| match block {
        ContentBlock::ToolUse { id, name, input, .. } => Some(ChatToolCall::Function {
            id,
            function: CallFunction { name, arguments: input.to_string() },
        }),
        _ => None,
    });
    ChatMessage::Assistant {
        content: (!texts.is_empty()).then(|| texts.join("\n\n")),
        tool_calls: calls.collect(),
    }
}

fn image<'a>(source: &ImageSource) -> ChatPart<'a> {
    ChatPart::ImageUrl { image_url: ImageUrl { url: data_url(source) } }
}

impl<'a> From<Vec<ChatPart<'a>>> for ChatContent<'a> {
    fn from(parts: Vec<ChatPart<'a>>) -> Self {
        let texts: Option<Vec<_>> = parts
            .iter()
            .map(|part| match part {
                ChatPart::Text { text } => Some(*text),
                ChatPart::ImageUrl { .. } => None,
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
