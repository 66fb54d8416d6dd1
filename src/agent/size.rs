//! Estimates how much of a model's window a conversation takes before a provider has counted it.

use crate::protocol::{ContentBlock, Message, ResultBlock};
use crate::provider::Model;
use crate::tool::ToolSpec;

/// Bytes assumed per token: right for English prose, a little too high for code.
const BYTES_PER_TOKEN: usize = 4;
/// The assumed cost of an image, whatever its file's size.
const IMAGE_BYTES: usize = 1_600 * BYTES_PER_TOKEN;
/// The assumed cost of a page of a document, which models read as text and as an image.
const PAGE_BYTES: usize = 2_500 * BYTES_PER_TOKEN;
/// How full the context may get before it is compacted, in percent.
const FULL_PERCENT: u64 = 85;

/// Whether a conversation leaves a model room for its answer. An estimate, on the safe side for
/// prose.
pub fn fits(model: &Model, system: &str, tools: &[ToolSpec], history: &[Message]) -> bool {
    prefix_tokens(system, tools) + tokens(history) <= max_context(model)
}

/// The length of a conversation when a provider reported its size.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportedSize {
    /// Messages, including the answer with the report.
    pub messages: usize,
    /// Tokens of these messages and everything before them.
    pub tokens: u64,
}

/// The tokens of a whole conversation: the last reported size plus an estimate of what came since,
/// or an estimate of everything.
pub(super) fn context(
    system: &str,
    tools: &[ToolSpec],
    history: &[Message],
    measured: Option<ReportedSize>,
) -> u64 {
    // A conversation that became shorter was replaced.
    match measured.and_then(|known| Some((known.tokens, history.get(known.messages..)?))) {
        Some((reported, since)) => reported + tokens(since),
        None => prefix_tokens(system, tools) + tokens(history),
    }
}

/// The tokens that a conversation may take, system prompt and tools included, before it is compacted.
pub(super) fn max_context(model: &Model) -> u64 {
    let window = model.info.context_window;
    let answer = u64::from(model.max_tokens());
    // If the answer alone may fill the window, the limit says nothing about real answers.
    window.saturating_sub(answer).max(window / 2) * FULL_PERCENT / 100
}

/// The approximate tokens of the system prompt and tools.
pub(super) fn prefix_tokens(system: &str, tools: &[ToolSpec]) -> u64 {
    let tools = tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.input_schema.to_string().len());
    tokens_of_bytes(system.len() + tools.sum::<usize>())
}

/// The tokens that texts and images take at the least: in logs and tables, long runs of blanks are
/// few.
pub(super) fn min_tokens<'a>(texts: impl IntoIterator<Item = &'a str>, images: usize) -> u64 {
    let words = texts.into_iter().flat_map(str::split_whitespace);
    tokens_of_bytes(words.map(|word| word.len() + 1).sum::<usize>() + images * IMAGE_BYTES)
}

/// The approximate tokens of messages.
pub(super) fn tokens(messages: &[Message]) -> u64 {
    tokens_of_bytes(messages.iter().flat_map(|message| &message.content).map(block_bytes).sum())
}

fn tokens_of_bytes(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN) as u64
}

fn block_bytes(block: &ContentBlock) -> usize {
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
        ResultBlock::Document { pages, .. } => *pages as usize * PAGE_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_size_counts_and_only_what_came_since_is_estimated() {
        let history = [Message::user_text("x".repeat(400)), Message::user_text("y".repeat(40))];
        assert_eq!(context("12345678", &[], &history, None), 2 + 100 + 10);
        let measured = |messages| Some(ReportedSize { messages, tokens: 7 });
        assert_eq!(context("12345678", &[], &history, measured(1)), 7 + 10);
        assert_eq!(context("12345678", &[], &history, measured(3)), 112, "it was shortened");
    }
}
