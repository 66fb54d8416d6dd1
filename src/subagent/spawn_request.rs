//! The sub-agent that a call requests, whichever tool it used.

use std::sync::Arc;

use super::budget_policy::BudgetPolicy;
use super::definition::BudgetSpec;
use crate::protocol::{ContentBlock, Message, ResultBlock, Role, ToolUseId};
use crate::tool::{Conversation, entry_denies, entry_matches};

/// The default definition.
pub const DEFAULT_AGENT: &str = "general-purpose";

/// The length limit of a title, in characters.
const MAX_TITLE_CHARS: usize = 60;

/// One sub-agent as a call requests it.
#[derive(Clone, Debug, Default)]
pub struct SpawnRequest {
    pub prompt: String,
    /// The task in a few words; defaults to the start of the prompt.
    pub title: Option<String>,
    /// A definition's name.
    pub agent: Option<String>,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub tools: ToolAccess,
    /// The field of the call with the tools, for errors.
    pub tools_field: &'static str,
    /// Replaces the definition's prompt.
    pub system_prompt: Option<String>,
    /// Can only lower limits.
    pub budget: BudgetSpec,
    /// Its share of the parent's budget; only a fork can ask for one.
    pub budget_policy: Option<BudgetPolicy>,
    /// Whether the configured default of tokens applies when nothing else sets a limit.
    pub default_budget: bool,
    /// Whether it reads the project's instructions if its definition does not say; `None`: it does.
    pub memory: Option<bool>,
    pub background: bool,
    /// Whether it stays after its first prompt, for messages.
    pub host: bool,
    /// Whether it continues the parent's conversation.
    pub is_fork: bool,
}

/// The state that a fork inherits.
#[derive(Clone, Debug)]
pub struct Fork {
    pub system: Arc<str>,
    /// Every call in it has its result, except those of the last message.
    pub messages: Vec<Message>,
    /// The results of those calls as the fork sees them.
    pub results: Vec<ContentBlock>,
    pub reasoning_model: Option<String>,
}

impl Fork {
    /// Copies the conversation up to the message with the call `own`, with a result for each call
    /// of that message.
    pub fn from_conversation(conversation: &Conversation, own: &ToolUseId) -> Self {
        let Conversation { system, messages, reasoning_model } = conversation;
        let open = messages.last().filter(|message| message.role == Role::Assistant);
        let closing = open.iter().flat_map(|message| &message.content).filter_map(|block| {
            let ContentBlock::ToolUse { id, .. } = block else { return None };
            let text = if id == own {
                "You are the fork. The original agent continues separately; the next message is your task."
            } else {
                "This call runs for the original agent, not for you. Repeat it if you need its result."
            };
            Some(ContentBlock::result(id.clone(), vec![ResultBlock::text(text)], false))
        });
        Self {
            system: system.clone(),
            results: closing.collect(),
            messages: messages.to_vec(),
            reasoning_model: reasoning_model.clone(),
        }
    }
}

/// The subset of its parent's tools that a sub-agent gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolAccess {
    #[default]
    Inherit,
    Allow(Vec<String>),
    Deny(Vec<String>),
}

impl ToolAccess {
    /// Whether a tool may be passed on.
    pub fn allows(&self, tool: &str) -> bool {
        let listed = |list: &[String]| list.iter().any(|entry| entry_matches(entry, tool));
        match self {
            Self::Inherit => true,
            Self::Allow(list) => listed(list),
            Self::Deny(list) => !list.iter().any(|entry| entry_denies(entry, tool)),
        }
    }

    /// The names in the list.
    pub fn names(&self) -> &[String] {
        match self {
            Self::Inherit => &[],
            Self::Allow(list) | Self::Deny(list) => list,
        }
    }
}

impl SpawnRequest {
    /// The name of the definition.
    pub fn agent(&self) -> &str {
        self.agent.as_deref().unwrap_or(DEFAULT_AGENT)
    }

    /// The title of the pane: the given one, or the start of the prompt.
    pub fn title(&self) -> String {
        let given = self.title.as_deref().filter(|title| !title.trim().is_empty());
        let line = given
            .unwrap_or(&self.prompt)
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or_default();
        line.chars().take(MAX_TITLE_CHARS).collect()
    }
}
