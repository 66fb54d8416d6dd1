//! How much of a model's window a conversation takes, before any provider has counted it.

use crate::protocol::{ContentBlock, Message, ResultBlock};
use crate::provider::Model;
use crate::tool::ToolSpec;

/// What a token is taken to have: right for English prose, a little too many for code.
const BYTES_PER_TOKEN: usize = 4;
/// What an image is taken to cost, whatever its file's size.
const IMAGE_BYTES: usize = 1_600 * BYTES_PER_TOKEN;
/// How full the room for a conversation may get, in percent.
const FULL: u64 = 85;

/// Whether a conversation leaves a model room for its answer. An estimate, on the safe side for prose.
#[must_use]
pub fn fits(model: &Model, system: &str, tools: &[ToolSpec], history: &[Message]) -> bool {
    prefix(system, tools) + tokens(history) <= room(model)
}

/// How long a conversation was when a provider reported its size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// Messages, the answer with the report included.
    pub messages: usize,
    /// Tokens that they and what stands before them come to.
    pub tokens: u64,
}

/// The tokens of a whole conversation: what was reported last and what came since, or else an
/// estimate of everything.
pub(super) fn context(
    system: &str,
    tools: &[ToolSpec],
    history: &[Message],
    measured: Option<Measured>,
) -> u64 {
    // A conversation that became shorter is another one.
    match measured.and_then(|known| Some((known.tokens, history.get(known.messages..)?))) {
        Some((reported, since)) => reported + tokens(since),
        None => prefix(system, tools) + tokens(history),
    }
}

/// The tokens that a conversation may take, system prompt and tools included, before it is compacted.
pub(super) fn room(model: &Model) -> u64 {
    let window = model.info.context_window;
    let answer = u64::from(model.max_tokens());
    // Where the answer alone may fill the window, the limit says nothing about real answers.
    window.saturating_sub(answer).max(window / 2) * FULL / 100
}

/// The tokens of what stands before each conversation, about.
pub(super) fn prefix(system: &str, tools: &[ToolSpec]) -> u64 {
    let tools = tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.input_schema.to_string().len());
    of_bytes(system.len() + tools.sum::<usize>())
}

/// The tokens of messages, about.
pub(super) fn tokens(messages: &[Message]) -> u64 {
    of_bytes(messages.iter().flat_map(|message| &message.content).map(bytes).sum())
}

fn of_bytes(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN) as u64
}

fn bytes(block: &ContentBlock) -> usize {
    match block {
        ContentBlock::Text { text, .. } => text.len(),
        ContentBlock::Thinking { thinking, signature } => thinking.len() + signature.len(),
        ContentBlock::RedactedThinking { data } => data.len(),
        ContentBlock::ToolUse { id, name, input, .. } => {
            id.as_str().len() + name.len() + input.to_string().len()
        }
        ContentBlock::ToolResult { tool_use_id, content, .. } => {
            tool_use_id.as_str().len() + content.iter().map(result_bytes).sum::<usize>()
        }
        ContentBlock::Image { .. } => IMAGE_BYTES,
    }
}

fn result_bytes(piece: &ResultBlock) -> usize {
    match piece {
        ResultBlock::Text { text } => text.len(),
        ResultBlock::Image { .. } => IMAGE_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_size_counts_and_only_what_came_since_is_estimated() {
        let history = [Message::user_text("x".repeat(400)), Message::user_text("y".repeat(40))];
        assert_eq!(context("12345678", &[], &history, None), 2 + 100 + 10);
        let measured = |messages| Some(Measured { messages, tokens: 7 });
        assert_eq!(context("12345678", &[], &history, measured(1)), 7 + 10);
        assert_eq!(context("12345678", &[], &history, measured(3)), 112, "it was shortened");
    }
}
