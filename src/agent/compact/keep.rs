//! Which part of a conversation stays beside its summary, and which part a summary is made of when
//! all is too much.

use super::super::conversation::holds_results;
use super::size::tokens;
use crate::protocol::{ContentBlock, Message, ResultBlock, Role};

/// How much of a tool's result goes into an excerpt. Bytes.
const RESULT_HEAD: usize = 2_000;
/// Stands for what an excerpt leaves out.
const LEFT_OUT: &str = "[Messages are left out here: there is no room for them.]";

/// The newest messages, from the last prompt on, as far as they take at most `limit` tokens. The
/// prompt comes first, and with it what was said beside results since then: queued prompts,
/// messages and reports of other agents.
///
/// Always keeps calls without an answer. Messages stay whole and in pairs: what is kept of the work
/// on a prompt begins with an answer, and ends where the conversation ends.
///
/// # The states of a prompt
/// - *queued*: it is not in the conversation yet, so a summary does not touch it. The agent reads
///   it behind the summary.
/// - *unanswered*: the last message holds it, alone or beside results. It stays word for word,
///   whatever its size.
/// - *worked on*: answers and results follow it. It stays, with what was said beside results since
///   then, if there is room for that; else the summary alone tells of it.
/// - *answered*: the conversation ends with an answer. The prompt stays only in front of that
///   answer: where the answer has no room, the summary tells of both.
pub(super) fn newest(history: &[Message], limit: u64) -> Vec<Message> {
    let is_prompt = |at: &usize| !holds_results(&history[*at]) && !said(history, *at).is_empty();
    let at = (0..history.len()).rfind(is_prompt);
    let prompt = at.map(|at| said(history, at)).unwrap_or_default();
    let start = at.map_or(0, |at| at + 1);
    let work = &history[start..];
    let asked = |from: usize| {
        let beside = (start..start + from).flat_map(|at| said(history, at));
        prompt.iter().cloned().chain(beside).collect::<Vec<_>>()
    };
    if work.is_empty() {
        return message(prompt).into_iter().collect();
    }
    let size = |blocks: Vec<ContentBlock>| tokens(message(blocks).as_slice());
    let room = |from: usize| limit.checked_sub(size(asked(from))).unwrap_or(limit);
    let from = answers(work).find(|from| tokens(&work[*from..]) <= room(*from));
    let from = from.unwrap_or(work.len());
    let newest = &work[from..];
    // A prompt that was answered would read like an open one without its answer.
    let open = work.last().is_some_and(|last| last.role == Role::User) || !newest.is_empty();
    let mut first = asked(from);
    if !open || size(first.clone()) > limit {
        let unanswered = (!work.is_empty() && newest.is_empty()).then(|| history.len() - 1);
        first = unanswered.map(|at| said(history, at)).unwrap_or_default();
    }
    message(first).into_iter().chain(newest.iter().cloned()).collect()
}

fn message(blocks: Vec<ContentBlock>) -> Option<Message> {
    (!blocks.is_empty()).then(|| Message::user(blocks))
}

/// Returns the text that the user or another agent wrote in the message at this place, even one that
/// also holds results. Nothing for a summary, or for a message that only holds our own remarks.
fn said(history: &[Message], at: usize) -> Vec<ContentBlock> {
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

/// Where answers stand.
fn answers(messages: &[Message]) -> impl Iterator<Item = usize> {
    let all = messages.iter().enumerate();
    all.filter(|(_, message)| message.role == Role::Assistant).map(|(at, _)| at)
}

/// The conversation in about `room` tokens, for a summary: results are cut first, then the oldest
/// messages are left out, but for what it began with.
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
