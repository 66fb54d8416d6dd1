//! The conversation: messages made of content blocks, in the shape that all providers map to.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::format::count;
use super::ids::{AgentId, ToolUseId};
use super::image::ImageSource;
use super::tool_details::ToolDetails;

/// Notices that the program adds to prompts, for the model only.
pub mod remark {
    /// Added to the last allowed turn.
    pub const LAST_TURN_NOTICE: &str = "[This is your last turn: no tools are available any more. Give your final answer now: what you found or did, what is unfinished, what you did not verify.]";

    /// Added to the prompt after a stopped turn.
    pub const STOPPED_NOTICE: &str = "[The user stopped the previous turn before it was finished.]";

    /// Sent after an answer that was cut off.
    pub const CUT_OFF_NOTICE: &str = "[Your last answer was cut off. Go on from there.]";

    /// Whether a text is one of these.
    pub fn is_remark(text: &str) -> bool {
        [LAST_TURN_NOTICE, STOPPED_NOTICE, CUT_OFF_NOTICE].contains(&text)
    }
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user, and the results of tools.
    User,
    /// The model.
    Assistant,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    #[serde(deserialize_with = "exact_content")]
    pub content: Vec<ContentBlock>,
}

/// Reads blocks without room for more: a list grows by fours, most messages are one block, and a
/// long session holds a hundred thousand of them.
fn exact_content<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<ContentBlock>, D::Error> {
    let mut content = Vec::deserialize(input)?;
    content.shrink_to_fit();
    Ok(content)
}

impl Message {
    /// Creates a user message with the given blocks.
    pub fn user(content: Vec<ContentBlock>) -> Self {
        Self { role: Role::User, content }
    }

    /// Creates a user message of one text.
    pub fn user_text(text: impl Into<Arc<str>>) -> Self {
        Self::user(vec![ContentBlock::text(text)])
    }

    /// Creates an assistant message with the given blocks.
    pub fn assistant(content: Vec<ContentBlock>) -> Self {
        Self { role: Role::Assistant, content }
    }

    /// Returns all text blocks joined by blank lines, without tool calls and thinking.
    pub fn text(&self) -> String {
        let content = self.joined_content();
        let texts: Vec<&str> = content.iter().filter_map(ContentBlock::as_text).collect();
        texts.join("\n\n")
    }

    /// Returns the content as the user wrote it: a prompt's text around its images is one block before
    /// them.
    pub fn joined_content(&self) -> Cow<'_, [ContentBlock]> {
        let is_within =
            |block: &ContentBlock| matches!(block, ContentBlock::Image { within: true, .. });
        if !self.content.iter().any(is_within) {
            return Cow::Borrowed(&self.content);
        }
        let mut joined: Vec<ContentBlock> = Vec::new();
        let mut goes_on = false;
        for block in &self.content {
            let last_text =
                joined.iter_mut().rev().find(|before| matches!(before, ContentBlock::Text { .. }));
            match (block, last_text) {
                (ContentBlock::Text { text: part, .. }, Some(ContentBlock::Text { text, .. }))
                    if goes_on =>
                {
                    *text = [&**text, part].concat().into();
                }
                _ => joined.push(block.clone()),
            }
            goes_on = is_within(block);
        }
        Cow::Owned(joined)
    }

    /// Returns the sub-agents whose end this message reports: as the result of a call, or as a report of its own.
    pub fn reported_agents(&self) -> impl Iterator<Item = AgentId> {
        self.content.iter().filter_map(|block| match block {
            ContentBlock::Text { report, .. } => *report,
            ContentBlock::ToolResult { details, .. } => match details.as_deref() {
                Some(ToolDetails::Agent(report)) => Some(report.agent_id),
                Some(ToolDetails::Reported { agent_id }) => Some(*agent_id),
                _ => None,
            },
            _ => None,
        })
    }

    /// Returns the ids of the tool calls in this message, in call order.
    pub fn tool_use_ids(&self) -> impl Iterator<Item = &ToolUseId> {
        self.content.iter().filter_map(|block| match block {
            ContentBlock::ToolUse { id, .. } => Some(id),
            _ => None,
        })
    }
}

/// The content of a result that a provider has rejected.
const REJECTED_RESULT: &str =
    "[This result was left out: the provider rejected the request that contained it.]";

/// Returns where the messages begin that no answer has followed. A summary at their beginning does
/// not count.
pub fn start_of_unanswered(messages: &[Message]) -> usize {
    let is_answered = |message: &Message| {
        message.role == Role::Assistant
            || matches!(message.content[..], [ContentBlock::Text { summary: true, .. }])
    };
    messages.iter().rposition(is_answered).map_or(0, |at| at + 1)
}

/// Empties messages that a provider has rejected, as far as the conversation stays valid without
/// their content: each call keeps a result, and a summary stays.
pub fn leave_out_rejected(messages: &mut [Message]) {
    for block in messages.iter_mut().flat_map(|message| &mut message.content) {
        if let ContentBlock::ToolResult { content, is_error, .. } = block {
            *content = vec![ResultBlock::text(REJECTED_RESULT)];
            *is_error = true;
        }
    }
    for message in messages {
        message.content.retain(|block| {
            matches!(
                block,
                ContentBlock::ToolResult { .. } | ContentBlock::Text { summary: true, .. }
            )
        });
    }
}

/// One piece of a message. What texts do not have is in boxes: a long session has many texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    Text {
        /// Shared with the screen: the texts are most of what a long session takes.
        text: Arc<str>,
        /// Whether it was added by hooks, commands or the program itself for the model to read.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        aside: bool,
        /// The sub-agent whose end it reports.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<AgentId>,
        /// Whether it is the summary of the conversation before it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        summary: bool,
        /// The user's own command whose output it holds. Absent in old files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shell: Option<ShellRun>,
    },
    /// The model's reasoning. `signature` is opaque and must be echoed unchanged to the provider
    /// that made it.
    Thinking {
        thinking: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        signature: String,
    },
    /// Reasoning that the provider keeps encrypted; echoed unchanged.
    RedactedThinking { data: String },
    ToolUse {
        id: ToolUseId,
        name: String,
        /// Always a JSON object, as the wires demand; empty when `malformed` is set.
        input: Box<Value>,
        /// The model's original input, if it was not a JSON object; such a call is answered, never run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        malformed: Option<String>,
    },
    ToolResult {
        tool_use_id: ToolUseId,
        /// The content for the model.
        content: Vec<ResultBlock>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        /// The call in a few words for the screen, such as `"TODO" in src`; never sent to a model.
        /// Empty in old files, and for a call that never started.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        call: String,
        /// A few words for the screen, such as `14 hits`; never sent to a model. Empty in old files.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        summary: String,
        /// Details for the screen and the transcript only; never sent to a model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Box<ToolDetails>>,
    },
    Image {
        source: ImageSource,
        /// The image in a few words for the user, such as `Image #1 · 1280×720 · 84 kB`; never sent
        /// to a model. Empty in old files.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        label: String,
        /// Whether the text before it goes on behind it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        within: bool,
    },
}

impl ContentBlock {
    /// Creates a text block.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text { text: text.into(), aside: false, report: None, summary: false, shell: None }
    }

    /// Creates a text for the model beside the user's own.
    pub fn aside(text: impl Into<Arc<str>>) -> Self {
        Self::Text { text: text.into(), aside: true, report: None, summary: false, shell: None }
    }

    /// Creates a block for a command that the user ran, with its output.
    pub fn shell_run(run: ShellRun, printed: &str) -> Self {
        let text = (run.head() + printed).into();
        Self::Text { text, aside: true, report: None, summary: false, shell: Some(run) }
    }

    /// Creates the summary that replaces a conversation.
    pub fn summary(text: impl Into<Arc<str>>) -> Self {
        Self::Text { text: text.into(), aside: false, report: None, summary: true, shell: None }
    }

    /// Creates the result of a call for the model, with no details for the user.
    pub fn result(tool_use_id: ToolUseId, content: Vec<ResultBlock>, is_error: bool) -> Self {
        let (call, summary) = (String::new(), String::new());
        Self::ToolResult { tool_use_id, content, is_error, call, summary, details: None }
    }

    /// Creates an image after a text.
    pub fn image(source: ImageSource) -> Self {
        Self::Image { label: source.label(), source, within: false }
    }

    /// Returns the text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            _ => None,
        }
    }
}

/// A command that the user ran beside the agents, as recorded in their conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellRun {
    pub line: String,
    /// How it ended, in a few words. Empty for a success.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// When it began. The message that it stands in may be much later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<Timestamp>,
}

impl ShellRun {
    /// Returns the heading of its output in the text for the model.
    fn head(&self) -> String {
        format!("[The user ran `{}` in a shell. It printed:]\n", self.line)
    }

    /// Returns its output from the text for the model.
    pub fn printed<'a>(&self, text: &'a str) -> &'a str {
        text.strip_prefix(&self.head()).unwrap_or(text)
    }
}

/// Returns the most telling field of a call's input, such as the command or the path.
pub fn call_subject(input: &Value) -> Option<&str> {
    const TELLING: [&str; 8] =
        ["command", "file_path", "path", "pattern", "url", "description", "prompt", "query"];
    TELLING.iter().find_map(|name| input.get(name)?.as_str())
}

/// One piece of a tool result, as the model reads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResultBlock {
    Text {
        text: String,
    },
    Image {
        source: ImageSource,
    },
    /// A PDF, or some of its pages.
    Document {
        source: ImageSource,
        /// Its file's name.
        name: String,
        pages: u32,
    },
}

impl ResultBlock {
    /// Creates a text piece.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The texts of a result, a line end between two.
    pub fn joined_text(blocks: &[Self]) -> String {
        let texts = blocks.iter().filter_map(|block| match block {
            Self::Text { text } => Some(text.as_str()),
            Self::Image { .. } | Self::Document { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Describes a piece that is no text in a few words: `[image/png · 84 kB]`.
    pub fn label(&self) -> String {
        match self {
            Self::Text { .. } => String::new(),
            Self::Image { source } => format!("[{}]", source.label()),
            Self::Document { name, pages, .. } => {
                format!("[{name} · {}]", count(*pages as usize, "page"))
            }
        }
    }
}
