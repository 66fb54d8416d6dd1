//! Turns the outcome of a call into results for the model, the screen and the log.

use std::any::Any;

use crate::protocol::{ContentBlock, Failure, ResultBlock, ToolUseId};
use crate::tool::{ToolError, ToolOutcome};

/// Turns a panic of a tool, a bug of ours, into the error that ends the run.
pub(super) fn panic_error(panic: &(dyn Any + Send)) -> ToolError {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    tracing::error!(text, "a tool panicked");
    let message = format!("A tool crashed: {text}. This is a bug; see the log.");
    ToolError::fatal(Failure::Internal, message)
}

/// Turns an error into the outcome of its call, and the failure that ends the run, if it does.
pub(super) fn error_outcome(error: ToolError) -> (ToolOutcome, Option<(Failure, String)>) {
    let text = error.to_string();
    let (summary, details, fatal) = match error {
        ToolError::Fatal { failure, message, details } => {
            (failure.describe(), details.map(|details| *details), Some((failure, message)))
        }
        ToolError::Soft { kind, details, .. } => (kind.words(), details.map(|it| *it), None),
    };
    (ToolOutcome { is_error: true, details, ..ToolOutcome::text(text, summary) }, fatal)
}

/// The call's status in the log.
pub(super) fn status(answer: &Result<ToolOutcome, ToolError>) -> &'static str {
    match answer {
        Ok(outcome) if outcome.is_error => "error",
        Ok(_) => "ok",
        Err(ToolError::Soft { kind, .. }) => kind.as_str(),
        Err(ToolError::Fatal { .. }) => "fatal",
    }
}

/// The first text of a result, for the log.
pub(super) fn first_text(content: &[ResultBlock]) -> &str {
    let mut texts = content.iter().filter_map(|block| match block {
        ResultBlock::Text { text } => Some(text.as_str()),
        ResultBlock::Image { .. } | ResultBlock::Document { .. } => None,
    });
    texts.next().unwrap_or_default()
}

/// Replaces an empty result: no provider accepts one.
pub(super) fn fill_empty(content: Vec<ResultBlock>) -> Vec<ResultBlock> {
    let mut content: Vec<_> = content
        .into_iter()
        .filter(|block| !matches!(block, ResultBlock::Text { text } if text.trim().is_empty()))
        .collect();
    if content.is_empty() {
        content.push(ResultBlock::text("(no output)"));
    }
    content
}

/// The bytes of a block.
pub(super) fn block_size(block: &ResultBlock) -> usize {
    match block {
        ResultBlock::Text { text } => text.len(),
        ResultBlock::Image { source } | ResultBlock::Document { source, .. } => source.data.len(),
    }
}

/// The beginning of a text, for a message.
pub(super) fn head(text: &str) -> String {
    text.chars().take(200).collect()
}

/// The result of a call that did not run.
pub(super) fn error_result(id: &ToolUseId, why: &str) -> ContentBlock {
    ContentBlock::result(id.clone(), vec![ResultBlock::text(why)], true)
}
