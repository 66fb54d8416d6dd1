//! Makes an interrupted conversation valid: every call gets exactly one result, directly after it.

use std::collections::{HashMap, HashSet};

use super::list::AgentSummary;
use crate::protocol::{
    AgentPath, ContentBlock, Message, ResultBlock, Role, ToolDetails, ToolUseId,
};

/// A conversation as stored, valid or not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawConversation {
    pub messages: Vec<Message>,
    /// How many of the first messages are the result of a compaction.
    pub replacing: usize,
    /// Results recorded individually, while the message with all results of their calls is missing.
    pub early: Vec<ContentBlock>,
}

/// A conversation that any model accepts.
#[derive(Debug, Default, PartialEq)]
pub struct ValidConversation {
    pub messages: Vec<Message>,
    /// How many blocks at the beginning of `messages` are the result of a compaction.
    pub replacing: usize,
    /// The last of `messages`, if it closes calls that were open at the end of the file.
    pub missing: Option<Message>,
    pub warnings: Vec<String>,
}

/// Repairs a conversation. Valid parts are kept; `unanswered` makes the result of a call that has none.
pub fn repair(
    raw: RawConversation,
    unanswered: impl Fn(&ToolUseId) -> ContentBlock,
) -> ValidConversation {
    let mut repair = ConversationRepair {
        unanswered,
        seen: HashSet::new(),
        open: Vec::new(),
        renamed: HashMap::new(),
        valid: ValidConversation::default(),
    };
    let RawConversation { messages, replacing, early } = raw;
    for (at, message) in messages.into_iter().enumerate() {
        match message.role {
            _ if message.content.is_empty() => {}
            Role::Assistant => repair.assistant(message),
            Role::User => repair.user(message),
        }
        // Counted in messages of the file until here: blocks come and go, messages of the file do not.
        if at + 1 == replacing {
            repair.valid.replacing = repair.block_count();
        }
    }
    repair.close(early);
    repair.valid
}

/// Returns the result of an interrupted call.
pub fn interrupted_result(id: &ToolUseId) -> ContentBlock {
    let text = "interrupted: the program ended before this call finished".to_owned();
    summarized_error(id, text, "interrupted")
}

/// Returns the result of a call without one in a session at work, for a reader who changes nothing.
pub(super) fn running_result(id: &ToolUseId) -> ContentBlock {
    summarized_error(id, "still running when this was read".to_owned(), "running")
}

/// Returns the result, in a copy of a session, of a call that goes on in the original.
pub(super) fn unfinished_result(id: &ToolUseId) -> ContentBlock {
    let text = "not in this copy: the call goes on in the session that was copied".to_owned();
    summarized_error(id, text, "at work in the original")
}

fn summarized_error(id: &ToolUseId, text: String, summary: &str) -> ContentBlock {
    match error_result(id, text) {
        ContentBlock::ToolResult { tool_use_id, content, is_error, call, details, .. } => {
            let summary = summary.to_owned();
            ContentBlock::ToolResult { tool_use_id, content, is_error, call, summary, details }
        }
        other => other,
    }
}

fn error_result(id: &ToolUseId, text: String) -> ContentBlock {
    ContentBlock::result(id.clone(), vec![ResultBlock::text(text)], true)
}

struct ConversationRepair<F> {
    unanswered: F,
    /// Call ids of the whole conversation.
    seen: HashSet<ToolUseId>,
    /// Calls of the last message that have no result yet.
    open: Vec<ToolUseId>,
    /// New ids of calls whose id was used before.
    renamed: HashMap<ToolUseId, ToolUseId>,
    valid: ValidConversation,
}

impl<F: Fn(&ToolUseId) -> ContentBlock> ConversationRepair<F> {
    fn assistant(&mut self, mut message: Message) {
        self.close(Vec::new());
        self.valid.missing = None;
        if self.valid.messages.is_empty() {
            self.warn("the beginning of the conversation is missing");
            self.push(Message::user_text("(The beginning of this conversation is lost.)"));
        }
        self.renamed.clear();
        for block in &mut message.content {
            let ContentBlock::ToolUse { id, .. } = block else { continue };
            if self.seen.insert(id.clone()) {
                continue;
            }
            let fresh = (2..)
                .map(|number| ToolUseId::new(format!("{id}-{number}")))
                .find(|fresh| self.seen.insert(fresh.clone()));
            let Some(fresh) = fresh else { continue };
            self.valid.warnings.push(format!("the call {id} has an id that was used before"));
            self.renamed.insert(id.clone(), fresh.clone());
            *id = fresh;
        }
        self.open.extend(message.tool_use_ids().cloned());
        self.push(message);
    }

    /// Adds results first, one for each open call; then everything else.
    fn user(&mut self, message: Message) {
        let is_result = |block: &ContentBlock| matches!(block, ContentBlock::ToolResult { .. });
        if self.open.is_empty() && !message.content.iter().any(is_result) {
            return self.push(message);
        }
        let open = std::mem::take(&mut self.open);
        let mut content = Vec::new();
        let mut rest = Vec::new();
        let mut answered = HashSet::new();
        for mut block in message.content {
            let ContentBlock::ToolResult { tool_use_id: id, .. } = &mut block else {
                rest.push(block);
                continue;
            };
            let waits = |id: &ToolUseId| open.contains(id) && !answered.contains(id);
            if let Some(fresh) = self.renamed.get(id).filter(|_| !waits(id)) {
                *id = fresh.clone();
            }
            if waits(id) {
                answered.insert(id.clone());
                content.push(block);
            } else {
                let warning = format!("the result of {id} belongs to no call; it is left out");
                self.valid.warnings.push(warning);
            }
        }
        for id in open.iter().filter(|id| !answered.contains(*id)) {
            self.valid.warnings.push(format!("the call {id} has no result"));
            content.push(self.placeholder_result(id));
        }
        content.append(&mut rest);
        content.shrink_to_fit();
        if !content.is_empty() {
            self.push(Message::user(content));
        }
    }

    /// Closes the open calls: with early results, and made-up ones for the others.
    fn close(&mut self, early: Vec<ContentBlock>) {
        let open = std::mem::take(&mut self.open);
        if open.is_empty() {
            return;
        }
        let mut early: HashMap<ToolUseId, ContentBlock> = early
            .into_iter()
            .filter_map(|block| match &block {
                ContentBlock::ToolResult { tool_use_id, .. } => Some((tool_use_id.clone(), block)),
                _ => None,
            })
            .collect();
        let results =
            open.iter().map(|id| early.remove(id).unwrap_or_else(|| self.placeholder_result(id)));
        let message = Message::user(results.collect());
        self.valid.missing = Some(message.clone());
        self.push(message);
    }

    /// Makes the result of an open call without one.
    fn placeholder_result(&self, id: &ToolUseId) -> ContentBlock {
        let original = self.renamed.iter().find(|(_, fresh)| *fresh == id).map(|(old, _)| old);
        let mut block = (self.unanswered)(original.unwrap_or(id));
        if let ContentBlock::ToolResult { tool_use_id, .. } = &mut block {
            tool_use_id.clone_from(id);
        }
        block
    }

    /// Counts the blocks so far.
    fn block_count(&self) -> usize {
        self.valid.messages.iter().map(|message| message.content.len()).sum()
    }

    /// Adds a message; consecutive ones of the same role are joined.
    fn push(&mut self, mut message: Message) {
        match self.valid.messages.last_mut() {
            Some(last) if last.role == message.role => last.content.append(&mut message.content),
            _ => self.valid.messages.push(message),
        }
    }

    fn warn(&mut self, text: &str) {
        self.valid.warnings.push(text.to_owned());
    }
}

/// The result of a call that started a sub-agent, made from the agent's end.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentCallResult {
    pub text: String,
    pub is_error: bool,
    /// Identifies the agent.
    pub details: ToolDetails,
}

/// Converts a stored sub-agent's end to the result of the call that started it; `None` while it has no end.
pub type EndAsResult<'a> = dyn Fn(&AgentSummary) -> Option<AgentCallResult> + 'a;

/// Returns a function that makes the results of the open calls of the agent at `path`. `without_end` makes
/// that of a call whose agent, if it started one, has not ended.
///
/// A sub-agent's own file is authoritative on how it ended. The possible states of a call, and its result:
///
/// | the caller's file has | the sub-agent's file has | result |
/// |---|---|---|
/// | the message with all results | anything | as written |
/// | the result of this call alone | anything | as written |
/// | no result | an end by itself | the same as if the call had waited for it |
/// | no result | no end, then marked as interrupted | interrupted, with what it had said so far |
/// | no result | nothing, because it had not begun | interrupted |
/// | no result | no end, and another program works on it | as `without_end` says |
pub(super) fn missing_results<'a>(
    agents: &'a [AgentSummary],
    path: &'a AgentPath,
    end_as_result: &'a EndAsResult<'_>,
    without_end: fn(&ToolUseId) -> ContentBlock,
) -> impl Fn(&ToolUseId) -> ContentBlock + 'a {
    move |call| {
        // Two agents may have calls of the same id.
        let started = agents.iter().rfind(|agent| {
            agent.meta.tool_use_id == *call && agent.meta.path.parent().as_ref() == Some(path)
        });
        let Some(AgentCallResult { text, is_error, details }) = started.and_then(end_as_result)
        else {
            return without_end(call);
        };
        ContentBlock::ToolResult {
            tool_use_id: call.clone(),
            content: vec![ResultBlock::text(text)],
            is_error,
            call: String::new(),
            summary: String::new(),
            details: Some(Box::new(details)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A message from a few letters: `u` text, `a` text, `a:x,y` with calls, `u:x,y` with results.
    fn message(text: &str) -> Message {
        let (role, ids) = text.split_once(':').unwrap_or((text, ""));
        let ids = ids.split(',').filter(|id| !id.is_empty()).map(ToolUseId::new);
        match role {
            "a" => {
                let call = |id| ContentBlock::ToolUse {
                    id,
                    name: "Read".to_owned(),
                    input: Box::new(json!({})),
                    malformed: None,
                };
                let text = std::iter::once(ContentBlock::text("hm"));
                Message::assistant(text.chain(ids.map(call)).collect())
            }
            "u" if ids.clone().next().is_none() => Message::user_text("go"),
            _ => Message::user(
                ids.map(|id| ContentBlock::result(id, vec![ResultBlock::text("ok")], false))
                    .collect(),
            ),
        }
    }

    /// The other way round; results that were made up have a `!`.
    fn picture(message: &Message) -> String {
        let ids: Vec<String> = message
            .content
            .iter()
            .filter_map(|block| match block {
                ContentBlock::ToolUse { id, .. } => Some(id.to_string()),
                ContentBlock::ToolResult { tool_use_id, is_error: false, .. } => {
                    Some(tool_use_id.to_string())
                }
                ContentBlock::ToolResult { tool_use_id, .. } => Some(format!("{tool_use_id}!")),
                _ => None,
            })
            .collect();
        let role = if message.role == Role::User { "u" } else { "a" };
        if ids.is_empty() { role.to_owned() } else { format!("{role}:{}", ids.join(",")) }
    }

    #[test]
    fn every_call_gets_one_result_right_behind_it() {
        for (raw, expected, has_missing) in [
            ("u a", "u a", false),
            ("u a:x u:x a", "u a:x u:x a", false),
            ("u a:x,y u:y,x a", "u a:x,y u:y,x a", false),
            ("u a:x,y", "u a:x,y u:x!,y!", true),
            ("u a:x,y u:x", "u a:x,y u:x,y!", false),
            ("u a:x u a", "u a:x u:x! a", false),
            ("u a:x a", "u a:x u:x! a", false),
            ("u a:x a:y", "u a:x u:x! a:y u:y!", true),
            ("u a:x u:x,x,z a", "u a:x u:x a", false),
            ("u a:x u:x a:x u:x", "u a:x u:x a:x-2 u:x-2", false),
            ("u a:x u:x a:x", "u a:x u:x a:x-2 u:x-2!", true),
            ("u a:x,x u:x,x", "u a:x,x-2 u:x,x-2", false),
            ("u u a", "u a", false),
            ("u:x a", "u a", false),
            ("a", "u a", false),
            ("", "", false),
        ] {
            let of = |messages| RawConversation { messages, ..RawConversation::default() };
            let messages = raw.split_whitespace().map(message).collect();
            let repaired = repair(of(messages), interrupted_result);
            let found: Vec<String> = repaired.messages.iter().map(picture).collect();
            assert_eq!(found.join(" "), expected, "{raw}");
            assert_eq!(repaired.missing.is_some(), has_missing, "{raw}");
            let again = repair(of(repaired.messages.clone()), interrupted_result);
            assert_eq!((again.messages, again.missing), (repaired.messages, None), "{raw}");
        }
    }
}
