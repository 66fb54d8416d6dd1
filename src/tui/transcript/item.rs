//! One entry of a transcript.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crate::protocol::{AgentPath, NoticeLevel, ToolDetails, ToolUseId};
use crate::tui::theme::Glyph;

/// Number of an item; increases and is never reused in its transcript.
pub type ItemId = u64;

/// One entry of a transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct TranscriptItem {
    /// Increases with each change of this item.
    pub version: u32,
    /// Whether its folded part is shown in the body.
    pub expanded: bool,
    /// Whether it is folded in the reader.
    pub folded: bool,
    /// Whether it is text of a request that failed: not part of the conversation, and replaced by
    /// the answer when that comes.
    pub is_void: bool,
    pub kind: ItemKind,
}

impl TranscriptItem {
    /// Whether its folded part is shown, in the reader (`full`) or in the body.
    pub fn is_open(&self, full: bool) -> bool {
        if full { !self.folded } else { self.expanded }
    }
}

/// The content of an item.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemKind {
    /// A prompt of the user, or the `task` from the parent.
    Prompt {
        text: Arc<str>,
        task: bool,
    },
    /// Markdown from the model; `done` once it is complete. `edition` counts how often the text was
    /// replaced instead of extended.
    Text {
        text: AnswerText,
        done: bool,
        edition: u32,
    },
    /// Reasoning; `took` when it is over.
    Thinking {
        text: String,
        since: Duration,
        took: Option<Duration>,
    },
    /// Calls that share a line: one, or several consecutive read-only ones.
    Tools(Vec<ToolCallItem>),
    /// Agents that were started together.
    Batch {
        members: Vec<AgentPath>,
        form: BatchForm,
    },
    /// A report from another agent or an ended command: a line and a text.
    Report {
        head: String,
        text: String,
        /// Whether a command has failed.
        failed: bool,
    },
    /// A `!` command of the user.
    Shell {
        line: String,
        text: String,
        status: Option<String>,
    },
    /// The end of a turn: how it ended, what it brought, and what can be done about a bad end.
    Finish {
        end: Glyph,
        facts: Vec<FinishFact>,
        advice: Option<String>,
        /// The key that tries again, as long as it does.
        retry: Option<String>,
    },
    Notice {
        level: NoticeLevel,
        text: String,
    },
    /// Older items that were dropped to bound memory.
    Dropped {
        items: usize,
    },
    /// An item replaced by another one.
    Hidden,
}

/// The text of an answer.
#[derive(Clone, Debug, Eq)]
pub enum AnswerText {
    /// As far as it was streamed.
    Partial(String),
    /// Shared with the conversation.
    Whole(Arc<str>),
}

impl Deref for AnswerText {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Partial(text) => text,
            Self::Whole(text) => text,
        }
    }
}

impl PartialEq for AnswerText {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

/// The lines of a batch that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchForm {
    /// The head and a row for each agent, while a turn goes on.
    Whole,
    /// The head: the rows are below the last line of the turn.
    Head,
    /// The rows. `opens`: a key opens these agents in the panel.
    Rows { opens: bool },
}

/// One tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCallItem {
    pub id: ToolUseId,
    pub name: String,
    /// Its subject, such as `"fn route"`.
    pub summary: String,
    /// Output so far, or the result; only the end is kept.
    pub output: String,
    pub result: Option<ToolCallResult>,
    /// Why the call was denied, if it was; it then never ran, and its result says no more.
    pub denied: Option<String>,
}

impl ToolCallItem {
    /// Creates a call without output or result.
    pub fn new(id: ToolUseId, name: String, summary: String) -> Self {
        Self { id, name, summary, output: String::new(), result: None, denied: None }
    }
}

/// One thing that a turn brought, such as `3 files +41 −12`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishFact {
    pub text: String,
    /// Whether the whole of it is good or bad news, if it is one of both.
    pub good: Option<bool>,
}

impl From<String> for FinishFact {
    fn from(text: String) -> Self {
        Self { text, good: None }
    }
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCallResult {
    pub is_error: bool,
    pub summary: String,
    pub details: Option<ToolDetails>,
    pub took: Duration,
}

/// Bytes of a call's output kept for the screen. The transcript on disk has the whole
/// result; that of a command was cut when it ran (`Capture::MODEL_LIMITS`).
pub const MAX_CALL_OUTPUT: usize = 64 * 1024;

/// Characters among which the end of an output begins a word.
const MAX_WORD: usize = 200;

impl ItemKind {
    /// Approximate number of bytes of text.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Prompt { text, .. } => text.len(),
            Self::Text { text, .. } => text.len(),
            Self::Thinking { text, .. }
            | Self::Report { text, .. }
            | Self::Shell { text, .. }
            | Self::Notice { text, .. } => text.len(),
            Self::Tools(calls) => calls.iter().map(|call| call.output.len() + 64).sum(),
            Self::Finish { facts, advice, retry, .. } => {
                let facts = facts.iter().map(|fact| &fact.text);
                facts.chain(advice).chain(retry).map(String::len).sum()
            }
            Self::Batch { .. } | Self::Dropped { .. } | Self::Hidden => 0,
        }
    }
}

/// The last `bytes` of a text, starting at a character boundary.
pub(super) fn tail_bytes(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// The end of a text that is longer than so many bytes, from the start of a word on, below a line that says
/// so; or all of it.
pub(super) fn kept_end(text: &str, bytes: usize) -> Cow<'_, str> {
    let end = tail_bytes(text, bytes);
    if end.len() == text.len() {
        return text.into();
    }
    let is_start = |at: &usize| text[..*at].ends_with(char::is_whitespace);
    let start = text.len() - end.len();
    let mut starts = text[start..].char_indices().map(|(at, _)| start + at).take(MAX_WORD);
    let start = starts.find(is_start).unwrap_or(start);
    format!("… the beginning is not kept\n{}", &text[start..]).into()
}

/// Keeps the end of a text. Lets it grow by half before cutting, so that each byte is moved only a
/// bounded number of times.
pub(super) fn truncate_front(text: &mut String, bytes: usize) {
    if text.len() > bytes + bytes / 2 {
        *text = tail_bytes(text, bytes).to_owned();
    }
}
