//! One entry of a transcript.

use std::time::Duration;

use crate::protocol::{AgentPath, NoticeLevel, ToolDetails, ToolUseId};

/// Number of one item; counts up and is never used again in its transcript.
pub type ItemId = u64;

/// One entry of a transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Counts up with each change of this item.
    pub version: u32,
    /// Whether its folded part is shown.
    pub open: bool,
    pub kind: ItemKind,
}

/// What an item is.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemKind {
    /// What a person (or the parent, as `task`) said.
    Prompt {
        text: String,
        task: bool,
    },
    /// Markdown of the model; `done` when no more will come. `edition` counts how often the text
    /// became another one instead of growing.
    Text {
        text: String,
        done: bool,
        edition: u32,
    },
    /// Reasoning; `took` when it is over.
    Thinking {
        text: String,
        since: Duration,
        took: Option<Duration>,
    },
    /// Calls that share a line: one, or several of the reading kind in a row.
    Tools(Vec<Call>),
    /// Agents that were started together; once folded, what became of them.
    Batch {
        members: Vec<AgentPath>,
        folded: bool,
    },
    /// What came from another agent, or from a command that has ended: one line, and a text.
    Report {
        head: String,
        text: String,
    },
    /// A command that the person ran.
    Shell {
        line: String,
        text: String,
        status: Option<String>,
    },
    Notice {
        level: NoticeLevel,
        text: String,
    },
    /// Older items that were given up to keep memory bounded.
    Dropped {
        items: usize,
    },
    /// An item that another one stands for.
    Hidden,
}

/// One tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub id: ToolUseId,
    pub name: String,
    /// What it is called on, such as `"fn route"`.
    pub summary: String,
    /// Output so far, or the result; only its end is kept.
    pub output: String,
    pub result: Option<CallResult>,
    /// Who or what denied the call, in words: it never ran, and its result says no more than this.
    pub denied: Option<String>,
}

impl Call {
    /// A call that has neither printed anything nor ended.
    #[must_use]
    pub fn new(id: ToolUseId, name: String, summary: String) -> Self {
        Self { id, name, summary, output: String::new(), result: None, denied: None }
    }
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub struct CallResult {
    pub is_error: bool,
    pub summary: String,
    pub details: Option<ToolDetails>,
    pub took: Duration,
}

/// How much of a call's output is kept for the screen, in bytes. The transcript on disk has all of it.
pub const OUTPUT_KEPT: usize = 64 * 1024;

impl ItemKind {
    /// Bytes of text, about.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Prompt { text, .. }
            | Self::Text { text, .. }
            | Self::Thinking { text, .. }
            | Self::Report { text, .. }
            | Self::Shell { text, .. }
            | Self::Notice { text, .. } => text.len(),
            Self::Tools(calls) => calls.iter().map(|call| call.output.len() + 64).sum(),
            Self::Batch { .. } | Self::Dropped { .. } | Self::Hidden => 0,
        }
    }
}

/// The last `bytes` of a text, from a character's start.
pub(super) fn end_of(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// Keeps the end of a text; lets it grow by half before it cuts, so that each byte is moved a
/// bounded number of times.
pub(super) fn keep_end(text: &mut String, bytes: usize) {
    if text.len() > bytes + bytes / 2 {
        *text = end_of(text, bytes).to_owned();
    }
}
