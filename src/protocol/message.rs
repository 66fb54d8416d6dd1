//! The conversation: messages made of content blocks, in the shape all providers are mapped to.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::event::ToolDetails;
use super::ids::{AgentId, ToolUseId};

/// Remarks that the program adds to prompts, for the model alone.
pub mod remark {
    /// On the last turn that it may take.
    pub const LAST_TURN: &str = "[This is your last turn: no tools are available any more. Give your final answer now: what you found or did, what is unfinished, what you did not verify.]";

    /// With the prompt that follows a stopped turn.
    pub const WAS_STOPPED: &str = "[The user stopped the previous turn before it was finished.]";

    /// Where it is asked once more after an answer that was cut.
    pub const WAS_CUT: &str = "[Your last answer was cut off. Go on from there.]";

    /// Whether a text is one of these.
    #[must_use]
    pub fn is_one(text: &str) -> bool {
        [LAST_TURN, WAS_STOPPED, WAS_CUT].contains(&text)
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person, and the results of tools.
    User,
    /// The model.
    Assistant,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub content: Vec<ContentBlock>,
}

impl Message {
    /// A user message with the given blocks.
    #[must_use]
    pub fn user(content: Vec<ContentBlock>) -> Self {
        Self { role: Role::User, content }
    }

    /// A user message of one text.
    #[must_use]
    pub fn user_text(text: impl Into<String>) -> Self {
        Self::user(vec![ContentBlock::text(text)])
    }

    /// An assistant message with the given blocks.
    #[must_use]
    pub fn assistant(content: Vec<ContentBlock>) -> Self {
        Self { role: Role::Assistant, content }
    }

    /// All text blocks joined by blank lines; tool calls and thinking are left out.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.content.iter().filter_map(ContentBlock::as_text).collect();
        texts.join("\n\n")
    }

    /// The sub-agents whose end this message tells of: as the result of a call, or as a report that
    /// came by itself.
    pub fn reported_agents(&self) -> impl Iterator<Item = AgentId> {
        self.content.iter().filter_map(|block| match block {
            ContentBlock::Text { report, .. } => *report,
            ContentBlock::ToolResult { details: Some(ToolDetails::Agent(report)), .. } => {
                Some(report.agent_id)
            }
            ContentBlock::ToolResult {
                details: Some(ToolDetails::Reported { agent_id }), ..
            } => Some(*agent_id),
            _ => None,
        })
    }

    /// The ids of the tool calls in this message, in call order.
    pub fn tool_use_ids(&self) -> impl Iterator<Item = &ToolUseId> {
        self.content.iter().filter_map(|block| match block {
            ContentBlock::ToolUse { id, .. } => Some(id),
            _ => None,
        })
    }
}

/// One piece of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    Text {
        text: String,
        /// Whether it stands beside what a person has written: what hooks, commands and the program
        /// itself add for the model to read.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        aside: bool,
        /// The sub-agent whose end it tells of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<AgentId>,
        /// Whether it is the summary of what stood before it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        summary: bool,
        /// The user's own command whose output it tells of. Absent in old files.
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
    RedactedThinking {
        data: String,
    },
    ToolUse {
        id: ToolUseId,
        name: String,
        /// Always a JSON object, as the wires demand; empty when `malformed` is set.
        input: Value,
        /// What the model wrote when it was not a JSON object; such a call is answered, never run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        malformed: Option<String>,
    },
    ToolResult {
        tool_use_id: ToolUseId,
        /// What the model reads.
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
        /// What only the screen and the transcript show; never sent to a model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<ToolDetails>,
    },
    Image {
        source: ImageSource,
    },
}

impl ContentBlock {
    /// A text block.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), aside: false, report: None, summary: false, shell: None }
    }

    /// A text for the model beside what a person has written.
    #[must_use]
    pub fn aside(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), aside: true, report: None, summary: false, shell: None }
    }

    /// A command that the user ran beside the agents, with what it printed.
    #[must_use]
    pub fn shell_run(run: ShellRun, printed: &str) -> Self {
        let text = run.head() + printed;
        Self::Text { text, aside: true, report: None, summary: false, shell: Some(run) }
    }

    /// The summary of a conversation, in its place.
    #[must_use]
    pub fn summary(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), aside: false, report: None, summary: true, shell: None }
    }

    /// The result of a call as the model reads it, with nothing more for the user.
    #[must_use]
    pub fn result(tool_use_id: ToolUseId, content: Vec<ResultBlock>, is_error: bool) -> Self {
        let (call, summary) = (String::new(), String::new());
        Self::ToolResult { tool_use_id, content, is_error, call, summary, details: None }
    }

    /// The text of a text block.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            _ => None,
        }
    }
}

/// A command that the user ran beside the agents, as their conversation has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellRun {
    pub line: String,
    /// How it ended, in a few words. Empty when all went well.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status: String,
}

impl ShellRun {
    /// The heading of its output in the text for the model.
    fn head(&self) -> String {
        format!("[The user ran `{}` in a shell. It printed:]\n", self.line)
    }

    /// Its output, from the text for the model.
    #[must_use]
    pub fn printed<'a>(&self, text: &'a str) -> &'a str {
        text.strip_prefix(&self.head()).unwrap_or(text)
    }
}

/// The most telling field of a call's input, such as the command or the path.
#[must_use]
pub fn call_subject(input: &Value) -> Option<&str> {
    const TELLING: [&str; 8] =
        ["command", "file_path", "path", "pattern", "url", "description", "prompt", "query"];
    TELLING.iter().find_map(|name| input.get(name)?.as_str())
}

/// One piece of a tool result, as the model reads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResultBlock {
    Text { text: String },
    Image { source: ImageSource },
}

impl ResultBlock {
    /// A text piece.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// An image, base64-encoded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageSource {
    /// For example `image/png`.
    pub media_type: String,
    /// Base64, without line breaks.
    pub data: String,
}
