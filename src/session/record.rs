//! The lines of a transcript.

use std::borrow::Cow;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::protocol::{
    AgentPath, ChildMeta, ContentBlock, Cost, Message, Role, RunOutcome, SessionId, ToolDetails,
    ToolUseId, Usage, WorktreeInfo, lossy_path,
};

/// The version of new files. Since 2, a message that reports a sub-agent's end names the agent.
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
    Message(MessageRecord),
    /// The result of one call, while others of the same message were still running. The next
    /// message contains it too; only a file that was cut off before that needs it.
    Result {
        at: Timestamp,
        /// As in the previous message.
        #[serde(default)]
        n: u64,
        /// A tool result.
        result: ContentBlock,
    },
    /// From here on these messages are the conversation. Earlier ones stay in the file for the user to read.
    Compacted {
        at: Timestamp,
        /// As in the previous message.
        #[serde(default)]
        n: u64,
        messages: Vec<Message>,
        /// Approximate tokens of the whole context.
        #[serde(default)]
        before_tokens: u64,
        #[serde(default)]
        after_tokens: u64,
        /// In old files only: the cost of the requests for the summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
        /// The model whose thoughts `messages` hold.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// One attempt at a request was paid for, whether or not it produced a message.
    Spent {
        at: Timestamp,
        /// As in the previous message.
        #[serde(default)]
        n: u64,
        usage: Usage,
        cost: Cost,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The sub-agent that made the request, if it has no file of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<AgentPath>,
        /// Identifies the attempt if a file recorded it while it was pending. Absent in old files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<Uuid>,
    },
    /// From here on the agent works in this worktree of its own.
    Worktree {
        /// As in the previous message.
        #[serde(default)]
        n: u64,
        checkout: WorktreeInfo,
    },
    /// A line for the user, which no agent reads.
    Note {
        at: Timestamp,
        /// As in the previous message.
        #[serde(default)]
        n: u64,
        text: String,
    },
    /// From here on the main agent uses this model.
    Model {
        at: Timestamp,
        /// As in the previous message.
        #[serde(default)]
        n: u64,
        provider: String,
        name: String,
    },
    /// A run ended. The file may continue with another run.
    End {
        at: Timestamp,
        #[serde(default)]
        n: u64,
        outcome: RunOutcome,
    },
    /// A line written by a later version.
    #[serde(other)]
    Unknown,
}

/// One whole message of a transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageRecord {
    pub at: Timestamp,
    /// Message number, from 1, so that the last line holds the count.
    #[serde(default)]
    pub n: u64,
    pub message: Message,
    /// In old files only: the cost of the request for an assistant message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// The model that made it, whose thoughts it contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether a resume wrote it, to close the calls of a run that was cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closing: bool,
}

/// The beginning of every line that this program writes for a message.
const MESSAGE_START: &[u8] = br#"{"type":"message","#;

impl Record {
    /// Parses a line.
    pub fn parse(line: &[u8]) -> serde_json::Result<Self> {
        // Most lines are messages, and serde copies a tagged enum before it reads it: a long session
        // would take twice as long to open.
        match line.starts_with(MESSAGE_START) {
            true => serde_json::from_slice(line).map(Self::Message),
            false => serde_json::from_slice(line),
        }
    }

    /// Parses a line without the text of its messages, but with the figures of changes and the output of
    /// commands, in which tests are counted; `None` for lines that say nothing about
    /// time, cost or a worktree.
    pub fn without_text(line: &[u8]) -> Option<Self> {
        let figures: RecordLine<'_> = serde_json::from_slice(line).ok()?;
        if !figures.has_command() {
            return figures.record();
        }
        let mut record = Self::parse(line).ok()?;
        if let Self::Message(MessageRecord { message, .. }) = &mut record {
            message.content.retain(has_figures);
        }
        Some(record)
    }

    /// Serializes the record as a line, including the line end.
    pub fn to_line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }

    /// Returns the number of messages up to here; `None` if the record does not contain it.
    pub fn count(&self) -> Option<u64> {
        match self {
            Self::Message(MessageRecord { n, .. })
            | Self::Result { n, .. }
            | Self::Compacted { n, .. }
            | Self::Spent { n, .. }
            | Self::Worktree { n, .. }
            | Self::Note { n, .. }
            | Self::Model { n, .. }
            | Self::End { n, .. } => Some(*n).filter(|n| *n > 0),
            _ => None,
        }
    }

    /// Returns the time of writing.
    pub fn at(&self) -> Option<Timestamp> {
        match self {
            Self::Session(header) => Some(header.created),
            Self::Agent(header) => Some(header.created),
            Self::Message(MessageRecord { at, .. })
            | Self::Result { at, .. }
            | Self::Compacted { at, .. }
            | Self::Spent { at, .. }
            | Self::Note { at, .. }
            | Self::Model { at, .. }
            | Self::End { at, .. } => Some(*at),
            Self::Worktree { .. } | Self::Unknown => None,
        }
    }
}

/// The first line of the main agent's transcript.
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
    /// The name of the tool for starting sub-agents that its models were offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_tool: Option<String>,
    /// The git branch of the working directory at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The session whose history this one continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<SessionId>,
    /// The agents that have worked in that session: of those, this one has the results but no files.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub copied_agents: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The first line of a sub-agent's transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentHeader {
    pub version: u32,
    pub created: Timestamp,
    pub agent: ChildMeta,
}

/// Whether a block of a message is the result of a change or of a command.
fn has_figures(block: &ContentBlock) -> bool {
    let ContentBlock::ToolResult { details: Some(details), .. } = block else { return false };
    details.has_figures()
}

/// One line without its text.
#[derive(Deserialize)]
struct RecordLine<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    at: Option<Timestamp>,
    #[serde(borrow)]
    message: Option<MessageFigures<'a>>,
    usage: Option<Usage>,
    cost: Option<Cost>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    agent: Option<AgentPath>,
    #[serde(default)]
    before_tokens: u64,
    #[serde(default)]
    after_tokens: u64,
    outcome: Option<RunOutcome>,
    checkout: Option<WorktreeInfo>,
}

/// A message without its text.
#[derive(Deserialize)]
struct MessageFigures<'a> {
    role: Role,
    #[serde(borrow, default)]
    content: Vec<BlockFigures<'a>>,
}

/// A block of a message without its text.
#[derive(Deserialize)]
struct BlockFigures<'a> {
    #[serde(borrow)]
    details: Option<DetailsFigures<'a>>,
}

/// The details of a call; only a change has figures.
#[derive(Deserialize)]
struct DetailsFigures<'a> {
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    path: Cow<'a, str>,
    #[serde(default)]
    added: usize,
    #[serde(default)]
    removed: usize,
}

impl BlockFigures<'_> {
    /// The result of a call that changed a file.
    fn change(self) -> Option<ContentBlock> {
        let DetailsFigures { kind, path, added, removed } = self.details?;
        let path = PathBuf::from(path.into_owned());
        let details = ToolDetails::Diff { path, diff: String::new(), added, removed };
        (kind == "diff").then(|| ContentBlock::ToolResult {
            tool_use_id: ToolUseId::new(""),
            content: Vec::new(),
            is_error: false,
            call: String::new(),
            summary: String::new(),
            details: Some(Box::new(details)),
        })
    }
}

impl RecordLine<'_> {
    /// Whether it has the result of a command.
    fn has_command(&self) -> bool {
        let content = self.message.iter().flat_map(|message| &message.content);
        content.filter_map(|block| block.details.as_ref()).any(|details| details.kind == "command")
    }

    /// Converts the line to a record whose messages have only the figures of changes.
    fn record(self) -> Option<Record> {
        let RecordLine {
            kind, at, message, usage, cost, model, before_tokens, after_tokens, ..
        } = self;
        let n = 0;
        if let Some(checkout) = self.checkout {
            return Some(Record::Worktree { n, checkout });
        }
        let (at, model) = (at?, model.map(Cow::into_owned));
        Some(match (&*kind, message, self.outcome) {
            ("message", Some(MessageFigures { role, content }), _) => {
                let content = content.into_iter().filter_map(BlockFigures::change).collect();
                let message = Message { role, content };
                let closing = false;
                Record::Message(MessageRecord { at, n, message, usage, cost, model, closing })
            }
            ("spent", ..) => {
                let (usage, cost) = (usage.unwrap_or_default(), cost.unwrap_or_default());
                Record::Spent { at, n, usage, cost, model, agent: self.agent, attempt: None }
            }
            ("compacted", ..) => {
                let messages = Vec::new();
                Record::Compacted {
                    at,
                    n,
                    messages,
                    before_tokens,
                    after_tokens,
                    usage,
                    cost,
                    model,
                }
            }
            ("end", _, Some(outcome)) => Record::End { at, n, outcome },
            _ => return None,
        })
    }
}
