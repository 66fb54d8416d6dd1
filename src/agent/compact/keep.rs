//! Selects the part of a conversation that stays beside its summary, and the excerpt to summarize
//! when all of it is too much.

use super::super::conversation::holds_results;
use super::super::size::tokens;
use crate::protocol::{ContentBlock, Message, ResultBlock, Role};

/// Bytes of a tool's result that go into an excerpt.
const MAX_RESULT_BYTES: usize = 2_000;
/// Replaces the messages that an excerpt leaves out.
const OMITTED_MARKER: &str = "[Messages omitted here for lack of room.]";

/// Returns the newest messages from the last prompt on that fit into `limit` tokens. The prompt
/// comes first, with everything said beside results since then: queued prompts, and messages and
/// reports of other agents.
///
/// Always keeps calls without results. Messages stay whole and in pairs: the kept work on a prompt
/// begins with an answer and ends where the conversation ends.
///
/// # The states of a prompt
/// - *queued*: it is not in the conversation yet, so a summary does not touch it. The agent reads
///   it after the summary.
/// - *unanswered*: the last message holds it, alone or beside results. It stays word for word,
///   whatever its size.
/// - *worked on*: answers and results follow it. It stays, with what was said beside results since
///   then, if there is room; otherwise only the summary mentions it.
/// - *answered*: the conversation ends with an answer. The prompt stays only in front of that
///   answer: if the answer has no room, the summary covers both.
pub(super) fn newest_messages(history: &[Message], limit: u64) -> Vec<Message> {
    let is_prompt =
        |at: &usize| !holds_results(&history[*at]) && !user_blocks(history, *at).is_empty();
    let at = (0..history.len()).rfind(is_prompt);
    let prompt = at.map(|at| user_blocks(history, at)).unwrap_or_default();
    let start = at.map_or(0, |at| at + 1);
    let work = &history[start..];
    let asked = |from: usize| {
        let beside = (start..start + from).flat_map(|at| user_blocks(history, at));
        prompt.iter().cloned().chain(beside).collect::<Vec<_>>()
    };
    if work.is_empty() {
        return message(prompt).into_iter().collect();
    }
    let size = |blocks: Vec<ContentBlock>| tokens(message(blocks).as_slice());
    let room = |from: usize| limit.checked_sub(size(asked(from))).unwrap_or(limit);
    let from = answer_positions(work).find(|from| tokens(&work[*from..]) <= room(*from));
    let from = from.unwrap_or(work.len());
    let newest = &work[from..];
    // An answered prompt without its answer would read like an open one.
    let open = work.last().is_some_and(|last| last.role == Role::User) || !newest.is_empty();
    let mut first = asked(from);
    if !open || size(first.clone()) > limit {
        let unanswered = (!work.is_empty() && newest.is_empty()).then(|| history.len() - 1);
        first = unanswered.map(|at| user_blocks(history, at)).unwrap_or_default();
    }
    message(first).into_iter().chain(newest.iter().cloned()).collect()
}

fn message(blocks: Vec<ContentBlock>) -> Option<Message> {
    (!blocks.is_empty()).then(|| Message::user(blocks))
}

/// Returns the text that the user or another agent wrote in this message, even if it also holds
/// results. Empty for a summary, or for a message with only our own remarks.
fn user_blocks(history: &[Message], at: usize) -> Vec<ContentBlock> {
    let message = &history[at];
    if message.role == Role::Assistant {
        return Vec::new();
    }
    let is_said = |block: &&ContentBlock| {
        let is_summary = matches!(block, ContentBlock::Text { summary: true, .. });
        !is_summary && !matches!(block, ContentBlock::ToolResult { .. })
    };
    let said: Vec<_> = message.content.iter().filter(is_said).cloned().collect();
    let is_remark = |block: &ContentBlock| matches!(block, ContentBlock::Text { aside: true, .. });
    if holds_results(message) && said.iter().all(is_remark) { Vec::new() } else { said }
}

/// The indexes of answers.
fn answer_positions(messages: &[Message]) -> impl Iterator<Item = usize> {
    let all = messages.iter().enumerate();
    all.filter(|(_, message)| message.role == Role::Assistant).map(|(at, _)| at)
}

/// Cuts the conversation to about `room` tokens for a summary: truncates results first, then omits
/// the oldest messages after the first.
pub fn excerpt(history: &[Message], room: Option<u64>) -> Vec<Message> {
    let Some(room) = room.filter(|room| tokens(history) > *room) else {
        return history.to_vec();
    };
    let cut: Vec<Message> = history.iter().map(truncate_results).collect();
    if tokens(&cut) <= room {
        return cut;
    }
    let begins = cut.first().filter(|first| tokens(std::slice::from_ref(*first)) <= room / 4);
    let mut part: Vec<Message> = begins.cloned().into_iter().collect();
    let left = room.saturating_sub(tokens(&part));
    let from =
        answer_positions(&cut).find(|from| tokens(&cut[*from..]) <= left).unwrap_or(cut.len());
    if from > part.len() {
        part.push(Message::user_text(OMITTED_MARKER));
    }
    part.extend_from_slice(&cut[from..]);
    part
}

/// Truncates the results in a message.
fn truncate_results(message: &Message) -> Message {
    let content = message.content.iter().cloned().map(|mut block| {
        if let ContentBlock::ToolResult { content, .. } = &mut block {
            content.iter_mut().for_each(truncate_result);
        }
        block
    });
    Message { role: message.role, content: content.collect() }
}

fn truncate_result(piece: &mut ResultBlock) {
    match piece {
        ResultBlock::Image { .. } | ResultBlock::Document { .. } => {
            *piece = ResultBlock::text(piece.label());
        }
        ResultBlock::Text { text } if text.len() > MAX_RESULT_BYTES => {
            let left = text.len() - MAX_RESULT_BYTES;
            text.truncate(text.floor_char_boundary(MAX_RESULT_BYTES));
            text.push_str(&format!("\n[… {left} more bytes]"));
        }
        ResultBlock::Text { .. } => {}
    }
}
