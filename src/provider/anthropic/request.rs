//! Conversations as bodies of the Messages API.
//!
//! The same conversation gives the same bytes, and a longer one the same bytes up to where it grows
//! (except for the cache mark on its last message), so that the server finds the prefix in its
//! cache.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::super::api::{ModelRequest, ToolChoice};
use super::super::turns::{Turn, result_pieces, turns};
use crate::config::models::Thinking;
use crate::protocol::{ContentBlock, ImageSource, Message, ResultBlock, Role, ToolUseId};
use crate::tool::ToolSpec;

/// How many blocks before a cache mark the server looks for an earlier entry.
const CACHE_LOOKBACK: usize = 20;
/// The smallest thinking budget that the API accepts, in tokens.
const MIN_THINKING_BUDGET: u32 = 1024;

/// Builds the body of a request.
pub(super) fn body(request: &ModelRequest<'_>) -> serde_json::Result<Vec<u8>> {
    let turns = turns(request.messages, is_sent);
    let marks = cache_marks(&turns);
    let messages =
        turns.iter().enumerate().map(|(at, turn)| wire_turn(turn, marks.contains(&Some(at))));
    let body = AnthropicRequest {
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
struct AnthropicRequest<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<AnthropicThinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tools: &'a [ToolSpec],
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<AnthropicToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[CacheMarked<'a>; 1]>,
    messages: Vec<AnthropicMessage<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicThinking {
    Adaptive { display: &'static str },
    Disabled,
    Enabled { budget_tokens: u32 },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicToolChoice<'a> {
    Tool { name: &'a str },
    None,
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    effort: &'a str,
}

#[derive(Serialize)]
struct AnthropicMessage<'a> {
    role: Role,
    content: Vec<CacheMarked<'a>>,
}

/// A block, and whether to cache the prefix up to its end.
#[derive(Serialize)]
struct CacheMarked<'a> {
    #[serde(flatten)]
    block: AnthropicBlock<'a>,
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
enum AnthropicBlock<'a> {
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
        content: Vec<AnthropicBlock<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    Image {
        source: AnthropicSource<'a>,
    },
    Document {
        source: AnthropicSource<'a>,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicSource<'a> {
    Base64 { media_type: &'a str, data: &'a str },
}

/// The API rejects thoughts without a signature: they came from elsewhere.
fn is_sent(block: &ContentBlock) -> bool {
    !matches!(block, ContentBlock::Thinking { signature, .. } if signature.is_empty())
}

/// Returns the turns whose end is marked: the last one of the user, and the one before if the
/// server could not see that far back from there.
fn cache_marks(turns: &[Turn<'_>]) -> [Option<usize>; 2] {
    let mut users = turns
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, turn)| turn.role == Role::User)
        .map(|(at, _)| at);
    let last = users.next();
    let before = users.next().filter(|before| {
        let since: usize = turns[before + 1..].iter().map(|turn| turn.blocks.len()).sum();
        since > CACHE_LOOKBACK
    });
    [last, before]
}

fn wire_turn<'a>(turn: &Turn<'a>, marked: bool) -> AnthropicMessage<'a> {
    let mut content: Vec<_> = turn
        .blocks
        .iter()
        .map(|block| CacheMarked { block: wire_block(block), cache_control: None })
        .collect();
    if marked && let Some(last) = content.last_mut() {
        last.cache_control = Some(CacheControl::Ephemeral);
    }
    AnthropicMessage { role: turn.role, content }
}

fn wire_block(block: &ContentBlock) -> AnthropicBlock<'_> {
    match block {
        ContentBlock::Text { text, .. } => AnthropicBlock::Text { text },
        ContentBlock::Thinking { thinking, signature } => {
            AnthropicBlock::Thinking { thinking, signature }
        }
        ContentBlock::RedactedThinking { data } => AnthropicBlock::RedactedThinking { data },
        ContentBlock::ToolUse { id, name, input, .. } => {
            AnthropicBlock::ToolUse { id: wire_id(id), name, input }
        }
        ContentBlock::ToolResult { tool_use_id, content, is_error, .. } => {
            AnthropicBlock::ToolResult {
                tool_use_id: wire_id(tool_use_id),
                content: wire_result(content, *is_error),
                is_error: *is_error,
            }
        }
        ContentBlock::Image { source, .. } => wire_image(source),
    }
}

fn wire_result(content: &[ResultBlock], is_error: bool) -> Vec<AnthropicBlock<'_>> {
    let mut pieces: Vec<_> = result_pieces(content)
        .map(|piece| match piece {
            ResultBlock::Text { text } => AnthropicBlock::Text { text },
            ResultBlock::Image { source } => wire_image(source),
            ResultBlock::Document { source, .. } => {
                AnthropicBlock::Document { source: wire_source(source) }
            }
        })
        .collect();
    // The API accepts an empty success, but not an empty failure.
    if pieces.is_empty() && is_error {
        pieces.push(AnthropicBlock::Text { text: "failed without a message" });
    }
    pieces
}

fn wire_image(source: &ImageSource) -> AnthropicBlock<'_> {
    AnthropicBlock::Image { source: wire_source(source) }
}

fn wire_source(source: &ImageSource) -> AnthropicSource<'_> {
    let ImageSource { media_type, data } = source;
    AnthropicSource::Base64 { media_type, data }
}

/// Replaces characters that this API refuses in ids of other providers.
fn wire_id(id: &ToolUseId) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let id = id.as_str();
    if id.chars().all(fits) {
        return Cow::Borrowed(id);
    }
    Cow::Owned(id.chars().map(|c| if fits(c) { c } else { '_' }).collect())
}

fn system(text: &str) -> Option<[CacheMarked<'_>; 1]> {
    let blank = text.trim().is_empty();
    (!blank).then_some([CacheMarked {
        block: AnthropicBlock::Text { text },
        cache_control: Some(CacheControl::Ephemeral),
    }])
}

/// Forces a tool, or forbids all. A request that thinks, or that does not offer the tool, forces
/// nothing: the API refuses both.
fn choice<'a>(request: &ModelRequest<'a>) -> Option<AnthropicToolChoice<'a>> {
    match request.tool_choice {
        ToolChoice::Tool(name) if request.offers(name) && thinking(request).is_none() => {
            Some(AnthropicToolChoice::Tool { name })
        }
        ToolChoice::None if request.forbids_calls() => Some(AnthropicToolChoice::None),
        ToolChoice::Tool(_) | ToolChoice::None | ToolChoice::Auto => None,
    }
}

/// Halves a budget that leaves no room for the answer, or leaves it out. It is also left out in the
/// middle of a turn that another model began, whose thoughts are gone: the API refuses a turn of
/// calls that does not begin with a thought.
fn thinking(request: &ModelRequest<'_>) -> Option<AnthropicThinking> {
    match request.thinking {
        Thinking::Off => None,
        Thinking::Disabled => Some(AnthropicThinking::Disabled),
        Thinking::Adaptive => Some(AnthropicThinking::Adaptive { display: "summarized" }),
        Thinking::Budget(budget) => {
            let fitting = if budget < request.max_tokens { budget } else { request.max_tokens / 2 };
            (fitting >= MIN_THINKING_BUDGET && !lacks_thought(request.messages))
                .then_some(AnthropicThinking::Enabled { budget_tokens: fitting })
        }
    }
}

/// Whether the turn of calls that the messages end with does not begin with a thought.
fn lacks_thought(messages: &[Message]) -> bool {
    let turns = turns(messages, is_sent);
    let is_prompt = |turn: &Turn<'_>| {
        turn.role == Role::User
            && !matches!(turn.blocks.first(), Some(ContentBlock::ToolResult { .. }))
    };
    let prompt = turns.iter().rposition(is_prompt);
    let answer = prompt.and_then(|at| turns.get(at + 1)).and_then(|turn| turn.blocks.first());
    answer.is_some_and(|block| {
        !matches!(block, ContentBlock::Thinking { .. } | ContentBlock::RedactedThinking { .. })
    })
}

#[cfg(test)]
mod tests;
