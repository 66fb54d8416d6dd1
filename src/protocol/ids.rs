//! A newtype for every identifier, so that none can be passed where another is meant.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Creates an id; later ids sort later.
            pub fn generate() -> Self {
                Self(Uuid::now_v7())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text).map(Self)
            }
        }
    };
}

uuid_id! {
    /// One conversation with the user, kept in one folder on disk.
    SessionId
}

uuid_id! {
    /// One sub-agent, unique across sessions.
    AgentId
}

/// An agent's position in the tree: the ids from the main agent (the empty path) down to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentPath(Arc<[AgentId]>);

impl AgentPath {
    /// Returns the main agent's path.
    pub fn root() -> Self {
        Self(Arc::from([]))
    }

    /// Returns the path of this agent's child `id`.
    pub fn child(&self, id: AgentId) -> Self {
        Self(self.0.iter().copied().chain([id]).collect())
    }

    /// Returns the path of the agent that started this one; `None` for the main agent.
    pub fn parent(&self) -> Option<Self> {
        let (_, above) = self.0.split_last()?;
        Some(Self(above.into()))
    }

    /// Returns this agent's id; `None` for the main agent.
    pub fn id(&self) -> Option<AgentId> {
        self.0.last().copied()
    }

    /// Returns the number of hops below the main agent: 0 for the main agent itself.
    pub fn depth(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// Whether this is the main agent's path.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `parent` started this agent.
    pub fn is_child_of(&self, parent: &Self) -> bool {
        self.0.len() == parent.0.len() + 1 && self.is_within(parent)
    }

    /// Whether this agent is `other` or below it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }
}

impl fmt::Display for AgentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("root")?;
        self.0.iter().try_for_each(|id| write!(f, "/{id}"))
    }
}

/// The id that the model gave to a tool call; its result carries the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolUseId(Arc<str>);

impl ToolUseId {
    /// Wraps an id that came off the wire.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// Creates an id, for servers that leave it out.
    pub fn generate() -> Self {
        Self(format!("call_{}", Uuid::now_v7().simple()).into())
    }

    /// Whether the id was generated here because the server gave none.
    pub fn is_generated(&self) -> bool {
        let made = self.0.strip_prefix("call_");
        made.is_some_and(|rest| rest.len() == 32 && rest.bytes().all(|b| b.is_ascii_hexdigit()))
    }

    /// Returns the id as written on the wire.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolUseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A background command, by the name that the model and the screen use: `bash-1`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ShellId(Arc<str>);

impl ShellId {
    /// Returns the id of the `number`th command of a session, counted from 1.
    pub fn from_number(number: u32) -> Self {
        Self(format!("bash-{number}").into())
    }

    /// Wraps an id written by a model or the user.
    pub fn new(id: &str) -> Self {
        Self(id.trim().into())
    }

    /// The number of the command in its session; `None` if the id is not of this form.
    pub fn number(&self) -> Option<u32> {
        self.0.strip_prefix("bash-")?.parse().ok()
    }
}

impl fmt::Display for ShellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An open permission question of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QuestionId(pub u64);

/// A prompt that the user sent, so that it can be followed from the queue into a transcript, or taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PromptId(pub u64);
