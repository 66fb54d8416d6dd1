//! What a call asks for, whichever face it came through.

use std::sync::Arc;

use super::definition::{BudgetSpec, Definition};
use crate::protocol::{ContentBlock, Message, ResultBlock, Role, ToolUseId};
use crate::tool::{Conversation, lists};

/// The definition that is used when a call names none.
pub const DEFAULT_AGENT: &str = "general-purpose";

/// A title is cut to so many characters.
const TITLE: usize = 60;

/// One sub-agent, as a call wants it.
#[derive(Clone, Debug, Default)]
pub struct Order {
    pub prompt: String,
    /// The task in a few words; the prompt's beginning when a call gives none.
    pub title: Option<String>,
    /// A definition's name.
    pub agent: Option<String>,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub tools: ToolAccess,
    /// The field of the call that says so, for errors.
    pub tools_field: &'static str,
    /// Replaces the definition's prompt.
    pub system_prompt: Option<String>,
    /// Only lowers.
    pub budget: BudgetSpec,
    /// Whether the configured default of tokens counts when nothing else says how many.
    pub default_budget: bool,
    /// Whether it reads the project's instructions when its definition does not say; `None`: it does.
    pub memory: Option<bool>,
    pub background: bool,
    /// Whether it stays after its first prompt, for messages.
    pub host: bool,
    /// Whether it goes on with the caller's conversation.
    pub is_fork: bool,
    /// That conversation, once the call runs.
    pub fork: Option<Fork>,
}

/// What a fork inherits.
#[derive(Clone, Debug)]
pub struct Fork {
    pub system: Arc<str>,
    /// Every call in it has its result, but for the last message's.
    pub messages: Vec<Message>,
    /// The results of those calls, as far as the fork is concerned.
    pub closing: Vec<ContentBlock>,
    pub thinker: Option<String>,
}

impl Fork {
    /// The conversation up to the message that holds the call `own`, with an answer to each call of
    /// that message.
    #[must_use]
    pub fn of(conversation: &Conversation, own: &ToolUseId) -> Self {
        let Conversation { system, messages, thinker } = conversation;
        let open = messages.last().filter(|message| message.role == Role::Assistant);
        let closing = open.iter().flat_map(|message| &message.content).filter_map(|block| {
            let ContentBlock::ToolUse { id, .. } = block else { return None };
            let text = if id == own {
                "You are the fork that this call has started. The one you are a copy of goes on by itself; what follows is your own task."
            } else {
                "This call runs for the one you are a copy of, not for you. Make it again if you need its result."
            };
            Some(ContentBlock::result(id.clone(), vec![ResultBlock::text(text)], false))
        });
        Self {
            system: system.clone(),
            closing: closing.collect(),
            messages: messages.to_vec(),
            thinker: thinker.clone(),
        }
    }
}

/// Which of its parent's tools a sub-agent gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolAccess {
    #[default]
    Inherit,
    Allow(Vec<String>),
    Deny(Vec<String>),
}

impl ToolAccess {
    /// Whether a tool may be handed on.
    #[must_use]
    pub fn allows(&self, tool: &str) -> bool {
        let listed = |list: &[String]| list.iter().any(|entry| lists(entry, tool));
        match self {
            Self::Inherit => true,
            Self::Allow(list) => listed(list),
            Self::Deny(list) => !listed(list),
        }
    }

    /// The names that the call lists.
    #[must_use]
    pub fn names(&self) -> &[String] {
        match self {
            Self::Inherit => &[],
            Self::Allow(list) | Self::Deny(list) => list,
        }
    }
}

impl Order {
    /// The name of the definition.
    #[must_use]
    pub fn agent(&self) -> &str {
        self.agent.as_deref().unwrap_or(DEFAULT_AGENT)
    }

    /// What the pane is called: the title, or the prompt's beginning.
    #[must_use]
    pub fn title(&self) -> String {
        let given = self.title.as_deref().filter(|title| !title.trim().is_empty());
        let line = given
            .unwrap_or(&self.prompt)
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or_default();
        line.chars().take(TITLE).collect()
    }

    /// The model that is named, by the call or else by the definition; `inherit` names none.
    #[must_use]
    pub fn model<'a>(&'a self, definition: &'a Definition) -> Option<&'a str> {
        let named = self.model.as_deref().or(definition.model.as_deref());
        named.filter(|name| *name != "inherit")
    }
}
