//! Which part of a conversation stays beside its summary, and which part a summary is made of when all is too much.

use super::size::tokens;
use crate::protocol::{ContentBlock, Message, ResultBlock, Role};

/// What a summary begins with in a conversation.
pub(super) const HEAD: &str = "[Summary of the conversation so far]";
/// How much of a tool's result goes into an excerpt. Bytes.
const RESULT_HEAD: usize = 2_000;
/// Stands for what an excerpt leaves out.
const LEFT_OUT: &str = "[Messages are left out here: there is no room for them.]";

/// The newest messages, from the last prompt on, as far as they take at most `limit` tokens. The prompt comes first.
///
/// A prompt without an answer always stays. Messages stay whole and in pairs: what is kept of the work on a prompt
/// begins with an answer, and ends where the conversation ends.
pub(super) fn newest(history: &[Message], limit: u64) -> Vec<Message> {
    let at = history.iter().rposition(|message| !said(message).is_empty());
    let prompt = at.map(|at| Message::user(said(&history[at])));
    let work = &history[at.map_or(0, |at| at + 1)..];
    if work.is_empty() {
        return prompt.into_iter().collect();
    }
    let size = tokens(prompt.as_slice());
    let left = limit.checked_sub(size).unwrap_or(limit);
    let from = answers(work).find(|from| tokens(&work[*from..]) <= left);
    let newest = from.map_or(&[][..], |from| &work[from..]);
    // A prompt that was answered would read like an open one without its answer.
    let open = work.last().is_some_and(|last| last.role == Role::User) || !newest.is_empty();
    let prompt = prompt.filter(|_| open && size <= limit);
    prompt.into_iter().chain(newest.iter().cloned()).collect()
}

/// What a person (or a parent) said in a message; nothing where it answers calls, or is a summary.
fn said(message: &Message) -> Vec<ContentBlock> {
    let results = |block: &ContentBlock| matches!(block, ContentBlock::ToolResult { .. });
    if message.role == Role::Assistant || message.content.iter().any(results) {
        return Vec::new();
    }
    let summary =
        |block: &&ContentBlock| block.as_text().is_some_and(|text| text.starts_with(HEAD));
    message.content.iter().filter(|block| !summary(block)).cloned().collect()
}

/// Where answers stand.
fn answers(messages: &[Message]) -> impl Iterator<Item = usize> {
    let all = messages.iter().enumerate();
    all.filter(|(_, message)| message.role == Role::Assistant).map(|(at, _)| at)
}

/// The conversation in about `room` tokens, for a summary: results are cut first, then the oldest messages are left
/// out, but for what it began with.
pub(in crate::agent) fn excerpt(history: &[Message], room: Option<u64>) -> Vec<Message> {
    let Some(room) = room.filter(|room| tokens(history) > *room) else {
        return history.to_vec();
    };
    let cut: Vec<Message> = history.iter().map(cut).collect();
    if tokens(&cut) <= room {
        return cut;
    }
    let begins = cut.first().filter(|first| tokens(std::slice::from_ref(*first)) <= room / 4);
    let mut part: Vec<Message> = begins.cloned().into_iter().collect();
    let left = room.saturating_sub(tokens(&part));
    let from = answers(&cut).find(|from| tokens(&cut[*from..]) <= left).unwrap_or(cut.len());
    if from > part.len() {
        part.push(Message::user_text(LEFT_OUT));
    }
    part.extend_from_slice(&cut[from..]);
    part
}

/// A message whose results are cut to their heads.
fn cut(message: &Message) -> Message {
    let content = message.content.iter().cloned().map(|mut block| {
        if let ContentBlock::ToolResult { content, .. } = &mut block {
            content.iter_mut().for_each(cut_piece);
        }
        block
    });
    Message { role: message.role, content: content.collect() }
}

fn cut_piece(piece: &mut ResultBlock) {
    match piece {
        ResultBlock::Image { .. } => *piece = ResultBlock::text("[image]"),
        ResultBlock::Text { text } if text.len() > RESULT_HEAD => {
            let left = text.len() - RESULT_HEAD;
            text.truncate(text.floor_char_boundary(RESULT_HEAD));
            text.push_str(&format!("\n[… {left} more bytes]"));
        }
        ResultBlock::Text { .. } => {}
    }
}
