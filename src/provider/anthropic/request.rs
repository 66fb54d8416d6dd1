//! Conversations as bodies of the Messages API.
//!
//! The same conversation gives the same bytes, and a longer one the same bytes up to where it grows
//! (but for the cache mark on its last message), so that the server finds the prefix in its cache.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::super::turns::{Turn, result_pieces, turns};
use super::super::{ModelRequest, Thinking, ToolChoice};
use crate::protocol::{ContentBlock, ImageSource, ResultBlock, Role, ToolUseId};
use crate::tool::ToolSpec;

/// How many blocks before a cache mark the server looks for an earlier entry.
const LOOK_BACK: usize = 20;
/// The least thinking budget that the API takes, in tokens.
const LEAST_BUDGET: u32 = 1024;

/// The body of one request.
pub(super) fn body(request: &ModelRequest<'_>) -> serde_json::Result<Vec<u8>> {
    let turns = turns(request.messages, is_sent);
    let marks = marks(&turns);
    let messages =
        turns.iter().enumerate().map(|(at, turn)| wire_turn(turn, marks.contains(&Some(at))));
    let body = Body {
        model: request.model,
        max_tokens: request.max_tokens,
        stream: true,
        thinking: thinking(request),
        output_config: request.effort.map(|effort| OutputConfig { effort }),
        tools: request.tools,
        tool_choice: choice(request),
        system: system(request.system),
        messages: messages.collect(),
    };
    serde_json::to_vec(&body)
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<ThinkingConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tools: &'a [ToolSpec],
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[Marked<'a>; 1]>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ThinkingConfig {
    Adaptive { display: &'static str },
    Disabled,
    Enabled { budget_tokens: u32 },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Choice<'a> {
    Tool { name: &'a str },
    None,
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    effort: &'a str,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: Role,
    content: Vec<Marked<'a>>,
}

/// A block, and whether the prefix up to its end is to be cached.
#[derive(Serialize)]
struct Marked<'a> {
    #[serde(flatten)]
    block: Block<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CacheControl {
    Ephemeral,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: &'a Value,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    Image {
        source: Source<'a>,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source<'a> {
    Base64 { media_type: &'a str, data: &'a str },
}

/// Thoughts without a signature came from elsewhere: the API takes none of those.
fn is_sent(block: &ContentBlock) -> bool {
    !matches!(block, ContentBlock::Thinking { signature, .. } if signature.is_empty())
}

/// The turns whose end is marked: the last one of the user, and the one before it when the server
/// could not see that far back from there.
fn marks(turns: &[Turn<'_>]) -> [Option<usize>; 2] {
    let mut users = turns
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, turn)| turn.role == Role::User)
        .map(|(at, _)| at);
    let last = users.next();
    let before = users.next().filter(|before| {
        let since: usize = turns[before + 1..].iter().map(|turn| turn.blocks.len()).sum();
        since > LOOK_BACK
    });
    [last, before]
}

fn wire_turn<'a>(turn: &Turn<'a>, marked: bool) -> WireMessage<'a> {
    let mut content: Vec<_> = turn
        .blocks
        .iter()
        .map(|block| Marked { block: wire_block(block), cache_control: None })
        .collect();
    if marked && let Some(last) = content.last_mut() {
        last.cache_control = Some(CacheControl::Ephemeral);
    }
    WireMessage { role: turn.role, content }
}

fn wire_block(block: &ContentBlock) -> Block<'_> {
    match block {
        ContentBlock::Text { text, .. } => Block::Text { text },
        ContentBlock::Thinking { thinking, signature } => Block::Thinking { thinking, signature },
        ContentBlock::RedactedThinking { data } => Block::RedactedThinking { data },
        ContentBlock::ToolUse { id, name, input, .. } => {
            Block::ToolUse { id: wire_id(id), name, input }
        }
        ContentBlock::ToolResult { tool_use_id, content, is_error, .. } => Block::ToolResult {
            tool_use_id: wire_id(tool_use_id),
            content: wire_result(content, *is_error),
            is_error: *is_error,
        },
        ContentBlock::Image { source } => wire_image(source),
    }
}

fn wire_result(content: &[ResultBlock], is_error: bool) -> Vec<Block<'_>> {
    let mut pieces: Vec<_> = result_pieces(content)
        .map(|piece| match piece {
            ResultBlock::Text { text } => Block::Text { text },
            ResultBlock::Image { source } => wire_image(source),
        })
        .collect();
    // The API takes a success that says nothing, but no such failure.
    if pieces.is_empty() && is_error {
        pieces.push(Block::Text { text: "failed without a message" });
    }
    pieces
}

fn wire_image(source: &ImageSource) -> Block<'_> {
    let ImageSource { media_type, data } = source;
    Block::Image { source: Source::Base64 { media_type, data } }
}

/// Ids of other providers may hold characters that this API refuses.
fn wire_id(id: &ToolUseId) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let id = id.as_str();
    if id.chars().all(fits) {
        return Cow::Borrowed(id);
    }
    Cow::Owned(id.chars().map(|c| if fits(c) { c } else { '_' }).collect())
}

fn system(text: &str) -> Option<[Marked<'_>; 1]> {
    let blank = text.trim().is_empty();
    (!blank).then_some([Marked {
        block: Block::Text { text },
        cache_control: Some(CacheControl::Ephemeral),
    }])
}

/// Whether a tool must be called, or none may. A request that thinks, or that does not offer the
/// tool, forces nothing: the API refuses both.
fn choice<'a>(request: &ModelRequest<'a>) -> Option<Choice<'a>> {
    match request.tool_choice {
        ToolChoice::Tool(name) if request.offers(name) && thinking(request).is_none() => {
            Some(Choice::Tool { name })
        }
        ToolChoice::None if request.forbids_calls() => Some(Choice::None),
        ToolChoice::Tool(_) | ToolChoice::None | ToolChoice::Auto => None,
    }
}

/// A budget that the answer has no room for is halved to fit, or left out.
fn thinking(request: &ModelRequest<'_>) -> Option<ThinkingConfig> {
    match request.thinking {
        Thinking::Off => None,
        Thinking::Disabled => Some(ThinkingConfig::Disabled),
        Thinking::Adaptive => Some(ThinkingConfig::Adaptive { display: "summarized" }),
        Thinking::Budget(budget) => {
            let fitting = if budget < request.max_tokens { budget } else { request.max_tokens / 2 };
            (fitting >= LEAST_BUDGET).then_some(ThinkingConfig::Enabled { budget_tokens: fitting })
        }
    }
}

#[cfg(test)]
mod tests;
