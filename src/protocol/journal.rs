//! The interface through which agents write their transcripts, so that they need not know where those are stored.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::event::AgentInfo;
use super::ids::{AgentId, AgentPath, ToolUseId};
use super::lossy_path;
use super::message::{ContentBlock, Message};
use super::outcome::RunOutcome;
use super::usage::{Cost, Usage};
use super::worktree::WorktreeInfo;

/// The transcript of one agent. Append-only, and authoritative: events only display it.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Writes one whole message. An agent awaits this *before* it acts on the message. `model` is
    /// the model that made and signed it; `None` for other messages.
    async fn append(&self, message: &Message, model: Option<&str>) -> Result<(), JournalError>;

    /// Writes the result of one call while others of the same message still run, so that finished
    /// work is not lost. The message that follows holds it again.
    async fn result(&self, result: &ContentBlock) -> Result<(), JournalError>;

    /// Records the minimum cost of one attempt at a request, while it is under way; a later record
    /// replaces an earlier one. It counts only if the program ends before [`Self::spent`] is
    /// called.
    async fn begun(&self, _: RequestCost<'_>) -> Result<(), JournalError> {
        Ok(())
    }

    /// Records the cost of one attempt at a request, as soon as it is known and whatever happens to the answer.
    async fn spent(&self, spent: RequestCost<'_>) -> Result<(), JournalError>;

    /// Writes the messages that replace the whole conversation from here on. Earlier records stay.
    async fn compacted(&self, compaction: Compaction<'_>) -> Result<(), JournalError>;

    /// Records the worktree that the agent works in from here on; written together with the next record.
    async fn works_in(&self, checkout: &WorktreeInfo);

    /// Records the model that the agent uses from here on; where nothing is stored yet, it is written
    /// together with the first message.
    async fn uses_model(&self, _provider: &str, _name: &str) -> Result<(), JournalError> {
        Ok(())
    }

    /// Writes a line for the user, if anything is stored yet.
    async fn note(&self, _text: &str) -> Result<(), JournalError> {
        Ok(())
    }

    /// Writes how a run ended.
    async fn finish(&self, outcome: &RunOutcome) -> Result<(), JournalError>;

    /// Opens the journal of a sub-agent. Nothing is written before its first message.
    fn child(&self, meta: ChildMeta) -> Arc<dyn Journal>;

    /// Whether the records can be read again later.
    fn is_kept(&self) -> bool;
}

/// The cost of one attempt at a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestCost<'a> {
    pub usage: Usage,
    pub cost: Cost,
    pub model: &'a str,
    /// The sub-agent whose request it was, where that has no journal of its own.
    pub agent: Option<&'a AgentPath>,
}

/// The replacement of a conversation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compaction<'a> {
    /// The summary, and the messages kept beside it.
    pub messages: &'a [Message],
    /// Approximate tokens of the whole context.
    pub before_tokens: u64,
    pub after_tokens: u64,
    /// The model whose thoughts `messages` hold.
    pub model: Option<&'a str>,
}

/// One entry of a stored conversation, for display.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TranscriptEntry {
    Message(Message),
    /// From here on a summary replaced the entries above. Approximate tokens of the whole context.
    Compacted {
        before_tokens: u64,
        after_tokens: u64,
    },
}

/// A journal that stores nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoJournal;

#[async_trait]
impl Journal for NoJournal {
    async fn append(&self, _: &Message, _: Option<&str>) -> Result<(), JournalError> {
        Ok(())
    }

    async fn result(&self, _: &ContentBlock) -> Result<(), JournalError> {
        Ok(())
    }

    async fn spent(&self, _: RequestCost<'_>) -> Result<(), JournalError> {
        Ok(())
    }

    async fn compacted(&self, _: Compaction<'_>) -> Result<(), JournalError> {
        Ok(())
    }

    async fn works_in(&self, _: &WorktreeInfo) {}

    async fn finish(&self, _: &RunOutcome) -> Result<(), JournalError> {
        Ok(())
    }

    fn child(&self, _: ChildMeta) -> Arc<dyn Journal> {
        Arc::new(Self)
    }

    fn is_kept(&self) -> bool {
        false
    }
}

/// The journal of an agent whose conversation is not kept. Its spending is recorded in the journal
/// above it, so that the session's file still holds every dollar.
pub struct SpendingJournal {
    pub above: Arc<dyn Journal>,
    pub path: AgentPath,
}

#[async_trait]
impl Journal for SpendingJournal {
    async fn append(&self, _: &Message, _: Option<&str>) -> Result<(), JournalError> {
        Ok(())
    }

    async fn result(&self, _: &ContentBlock) -> Result<(), JournalError> {
        Ok(())
    }

    async fn begun(&self, spent: RequestCost<'_>) -> Result<(), JournalError> {
        self.above.begun(RequestCost { agent: spent.agent.or(Some(&self.path)), ..spent }).await
    }

    async fn spent(&self, spent: RequestCost<'_>) -> Result<(), JournalError> {
        // An agent further down has set its own path already.
        self.above.spent(RequestCost { agent: spent.agent.or(Some(&self.path)), ..spent }).await
    }

    async fn compacted(&self, _: Compaction<'_>) -> Result<(), JournalError> {
        Ok(())
    }

    async fn works_in(&self, _: &WorktreeInfo) {}

    async fn finish(&self, _: &RunOutcome) -> Result<(), JournalError> {
        Ok(())
    }

    fn child(&self, meta: ChildMeta) -> Arc<dyn Journal> {
        Arc::new(Self { above: self.above.clone(), path: meta.path })
    }

    fn is_kept(&self) -> bool {
        false
    }
}

/// The origin of a sub-agent, as its transcript records it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildMeta {
    pub id: AgentId,
    pub path: AgentPath,
    /// The definition's name, such as `general-purpose`.
    pub agent: String,
    /// The name on the screen, such as `explore-2`.
    pub name: String,
    /// Its number in the session, as in [`AgentInfo`]; absent in old files.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub number: usize,
    pub description: String,
    /// The call that started it.
    pub tool_use_id: ToolUseId,
    pub model: String,
    /// Turn limit of its first run; absent in old files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// From its definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// Whether it ran in the background from the start; absent in old files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<bool>,
    /// Hops below the main agent; absent in old files means 0.
    #[serde(default, rename = "delegation_depth", alias = "depth")]
    pub depth: u32,
    #[serde(default)]
    pub terms: SpawnTerms,
    /// Number of messages at the beginning of a fork's transcript that are its original's.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub inherited: usize,
}

#[cfg(test)]
impl ChildMeta {
    /// Describes an agent that `call` of main started.
    pub fn for_test(id: AgentId, call: ToolUseId) -> Self {
        Self {
            id,
            path: AgentPath::root().child(id),
            agent: "explore".to_owned(),
            name: "explore-1".to_owned(),
            number: 0,
            description: "look around".to_owned(),
            tool_use_id: call,
            model: "m".to_owned(),
            max_turns: None,
            color: None,
            background: None,
            depth: 1,
            terms: SpawnTerms::default(),
            inherited: 0,
        }
    }
}

/// The agent as its transcript describes it, which has the task's title but not its text.
impl From<&ChildMeta> for AgentInfo {
    fn from(meta: &ChildMeta) -> Self {
        Self {
            name: meta.name.clone(),
            number: meta.number,
            agent: meta.agent.clone(),
            description: meta.description.clone(),
            prompt: meta.description.clone(),
            model: meta.model.clone(),
            tool_use_id: meta.tool_use_id.clone(),
            max_turns: 0,
            max_usd: meta.terms.caps.usd,
            color: None,
            background: false,
        }
    }
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Settings of the call that started a sub-agent, beside its task, so that it resumes under the same terms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpawnTerms {
    /// The provider of its model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The only tools that it may have; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied_tools: Vec<String>,
    /// Replaces its definition's prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Whether it reads the project's instructions; absent: as its definition says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<bool>,
    /// Whether it began with its parent's conversation.
    pub fork: bool,
    /// The system prompt of that conversation; absent in old files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The bounds of the agent that started it; absent when main did, and in old files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<ParentBounds>,
    /// Its limits; it has them in full again when resumed.
    pub caps: SpawnLimits,
}

/// The bounds of an agent that another sub-agent has started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ParentBounds {
    /// The names of that sub-agent's tools.
    pub tools: Vec<String>,
    /// The folder that neither of them can leave.
    #[serde(with = "lossy_path::option", skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
}

/// Limits of one sub-agent; absent: none of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpawnLimits {
    /// US dollars.
    pub usd: Option<f64>,
    pub tokens: Option<u64>,
    /// Requests.
    pub turns: Option<u32>,
    pub tool_calls: Option<u32>,
    /// Seconds.
    pub wall_s: Option<u64>,
}

/// The error when a transcript could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {source}")]
pub struct JournalError {
    pub path: String,
    #[source]
    pub source: std::io::Error,
}
