//! The lines of a transcript.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::protocol::{
    AgentPath, Checkout, ChildMeta, ContentBlock, Cost, Message, Outcome, SessionId, Usage,
    lossy_path,
};

/// The version that new files carry. Since 2, the transcript that reads of a sub-agent's end says
/// whose end it is.
pub const VERSION: u32 = 2;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Record {
    /// The first line of the main agent's file.
    Session(SessionHeader),
    /// The first line of a sub-agent's file.
    Agent(Box<AgentHeader>),
    /// One whole message.
    Message {
        at: Timestamp,
        /// Counts the messages of the file from 1, so that the last line tells how many there are.
        #[serde(default)]
        n: u64,
        message: Message,
        /// In old files only: what the request cost that made an assistant message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
        /// The model that made it, whose thoughts it holds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The result of one call, while others of the same message still ran. The next message holds
    /// it too; only a file that was cut off before that needs it.
    Result {
        at: Timestamp,
        /// As of the message before.
        #[serde(default)]
        n: u64,
        /// A tool result.
        result: ContentBlock,
    },
    /// From here on these messages are the conversation. Those before stay in the file, to be read
    /// by a person.
    Compacted {
        at: Timestamp,
        /// As of the message before.
        #[serde(default)]
        n: u64,
        messages: Vec<Message>,
        /// Tokens of the whole context, about.
        #[serde(default)]
        before_tokens: u64,
        #[serde(default)]
        after_tokens: u64,
        /// In old files only: what the requests for the summary cost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
        /// The model whose thoughts `messages` hold.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// One attempt at a request was paid for, whether or not a message came of it.
    Spent {
        at: Timestamp,
        /// As of the message before.
        #[serde(default)]
        n: u64,
        usage: Usage,
        cost: Cost,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The sub-agent that made the request, if it has no file of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<AgentPath>,
        /// Names the attempt, if a file told of it while it was under way. Absent in old files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<Uuid>,
    },
    /// From here on the agent works in this worktree of its own.
    Worktree {
        /// As of the message before.
        #[serde(default)]
        n: u64,
        checkout: Checkout,
    },
    /// A run ended. The file may go on after it with another run.
    End {
        at: Timestamp,
        #[serde(default)]
        n: u64,
        outcome: Outcome,
    },
    /// A line that a later version wrote.
    #[serde(other)]
    Unknown,
}

impl Record {
    /// The record as a line, with its line end.
    pub fn to_line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }

    /// How many messages the file has up to here; `None` when the record does not say.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        match self {
            Self::Message { n, .. }
            | Self::Result { n, .. }
            | Self::Compacted { n, .. }
            | Self::Spent { n, .. }
            | Self::Worktree { n, .. }
            | Self::End { n, .. } => Some(*n).filter(|n| *n > 0),
            _ => None,
        }
    }

    /// When it was written.
    #[must_use]
    pub fn at(&self) -> Option<Timestamp> {
        match self {
            Self::Session(header) => Some(header.created),
            Self::Agent(header) => Some(header.created),
            Self::Message { at, .. }
            | Self::Result { at, .. }
            | Self::Compacted { at, .. }
            | Self::Spent { at, .. }
            | Self::End { at, .. } => Some(*at),
            Self::Worktree { .. } | Self::Unknown => None,
        }
    }
}

/// What the main agent's transcript says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionHeader {
    pub version: u32,
    pub id: SessionId,
    /// The working directory.
    #[serde(with = "lossy_path")]
    pub cwd: PathBuf,
    pub created: Timestamp,
    /// The model at the beginning.
    #[serde(default)]
    pub model: String,
    #[serde(default)]
    pub provider: String,
    /// The name under which its models were offered the tool that starts sub-agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_tool: Option<String>,
    /// The session whose history this one begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<SessionId>,
}

/// What a sub-agent's transcript says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentHeader {
    pub version: u32,
    pub created: Timestamp,
    pub agent: ChildMeta,
}
