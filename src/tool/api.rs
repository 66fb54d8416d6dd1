//! Tools as the agent loop knows them: the trait, the context of a call, and its result.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::ledger::{ContentHash, FileGuard};
use super::spec::{InvalidInput, ToolSpec};
use crate::budget::Budget;
use crate::exec::BlockingPool;
use crate::protocol::{
    Access, AgentPath, Denial, EnvOverlay, EventKind, EventSink, Failure, MaskedStream, Message,
    NO_SUCH_TOOL, PathTarget, ReadOnly, ResultBlock, Span, ToolDetails, ToolUseId,
};

/// A tool that a model can call. The agent loop knows tools only by this trait.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Returns name, description and schema. Stable for the life of the tool.
    fn spec(&self) -> &ToolSpec;

    /// Returns the instructions for this tool and its siblings in the system prompt, if any.
    /// Siblings return the same text.
    fn instructions(&self) -> Option<&str> {
        None
    }

    /// Returns the directory in which the calls of the next message start, if not the agent's base directory.
    fn directory(&self) -> Option<PathBuf> {
        None
    }

    /// Parses and checks the input of a call, before the user is asked or anything runs.
    ///
    /// # Errors
    ///
    /// Names the field and what is allowed there.
    fn prepare(self: Arc<Self>, input: &Value) -> Result<Box<dyn PreparedCall>, InvalidInput>;

    /// Does the same with an input that a hook or the user has put in place of the model's. It may
    /// hold what a model must not make up, such as the user's answers.
    ///
    /// # Errors
    ///
    /// Names the field and what is allowed there.
    fn prepare_changed(
        self: Arc<Self>,
        input: &Value,
    ) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        self.prepare(input)
    }

    /// Ends everything that calls have left running. Called when the agent at `owner`, which owns
    /// this tool, has ended for good.
    async fn end(&self, _owner: &AgentPath) {}
}

/// One call with a valid input. It holds what it needs of its tool.
#[async_trait]
pub trait PreparedCall: Send + Sync {
    /// Summarizes the call in one line, for the screen: `"fn route"`, `src/main.rs`.
    fn summary(&self) -> String;

    /// Resolves what the call would touch now if it starts in `cwd`. This is judged, and
    /// [`Self::run`] gets exactly this in its context: it must not resolve it again.
    fn access(&self, cwd: &Path) -> Access;

    /// Previews the change, for the user's decision.
    async fn preview(&self, _access: &Access) -> Preview {
        Preview::default()
    }

    /// Returns the time limit; `None` if the call keeps time itself or may take as long as it wants.
    fn time_limit(&self) -> Option<Duration> {
        Some(Duration::from_secs(120))
    }

    /// Returns how long the call may take to end by itself once it is cancelled or overdue, so that
    /// it can report what it had done, before it is dropped. `None` if it always ends: then it is
    /// awaited.
    fn grace(&self) -> Option<Duration> {
        Some(Duration::from_secs(2))
    }

    /// Whether the call does no work itself and only waits for that of others: it does not count
    /// against the concurrency limit.
    fn only_waits(&self) -> bool {
        false
    }

    /// Runs the permitted call. Must end soon after `cx.cancel` fires; the caller drops it otherwise.
    async fn run(self: Box<Self>, cx: ToolContext) -> Result<ToolOutcome, ToolError>;
}

/// A preview of the change that a call would make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preview {
    /// A unified diff or other text.
    pub text: Option<String>,
    /// The file's content that the text was made from. The user's yes holds only as long as that stays the same.
    pub content: Option<ContentHash>,
}

/// Everything a call gets besides its input. Created per call, cheap to clone.
#[derive(Clone, Debug)]
pub struct ToolContext {
    pub tool_use_id: ToolUseId,
    /// Carries the path of the agent that calls.
    pub events: EventSink,
    /// Fires when the call is to end.
    pub cancel: CancellationToken,
    /// The limit that the call has reached, set before `cancel` fires for it. Absent if all calls
    /// of the message are to end.
    pub overdue: Arc<OnceLock<Duration>>,
    /// The only paths and the only directory that the call may use.
    pub access: Access,
    /// The bounds of a command that was allowed only because it reads.
    pub read_only: Option<ReadOnly>,
    /// The content of the file when the user was asked about this call: it must not change another one.
    pub approved_content: Option<ContentHash>,
    /// The lock of a call that changes files, held since before it was judged the last time.
    pub file_guard: Option<FileGuard>,
    /// Its index among the calls of its message, from 0.
    pub order: usize,
    /// The agent's base directory, to which displayed paths are relative.
    pub cwd: Arc<Path>,
    pub env: EnvOverlay,
    pub budget: Budget,
    /// Hops below the main agent: 0 for the main agent.
    pub depth: u32,
    /// The span of this call, in the log.
    pub span: Span,
    /// The conversation up to the message that holds this call.
    pub conversation: Conversation,
    /// Masks keys in progress output.
    pub masked: MaskedStream,
    /// The thread pool for work on files.
    pub files: BlockingPool,
}

/// The current conversation of the calling agent. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    pub system: Arc<str>,
    pub messages: Arc<Vec<Message>>,
    /// The model whose thoughts it holds.
    pub reasoning_model: Option<String>,
}

impl ToolContext {
    /// Shows more output of this call on the screen, without keys. Any text held back here is in the result.
    pub fn progress(&self, text: impl Into<String>) {
        let text = self.masked.push(text.into());
        if !text.is_empty() {
            self.events.emit(EventKind::ToolProgress { id: self.tool_use_id.clone(), text });
        }
    }

    /// Returns the one file or folder that the call may touch.
    ///
    /// # Errors
    ///
    /// When its access is of another kind, which is a bug of the tool.
    pub fn target(&self) -> Result<&PathTarget, ToolError> {
        match &self.access {
            Access::Read { paths } | Access::Write { paths } => paths.first(),
            _ => None,
        }
        .ok_or_else(|| ToolError::fatal(Failure::Internal, "A call names no file or folder."))
    }

    /// Returns the lock that a call needs in order to change files.
    ///
    /// # Errors
    ///
    /// When its access is of another kind, which is a bug of the tool.
    pub fn file_guard(&self) -> Result<&FileGuard, ToolError> {
        let missing =
            || ToolError::fatal(Failure::Internal, "A call changes files without the lock.");
        self.file_guard.as_ref().ok_or_else(missing)
    }

    /// Runs `work` on a thread of the pool for files, away from the threads that serve the screen.
    /// Its token fires when the call is cancelled and when the future is dropped.
    ///
    /// # Errors
    ///
    /// Those of the work; a fatal one if it panics.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CancellationToken) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let token = self.cancel.child_token();
        let _stop_when_dropped = token.clone().drop_guard();
        match self.files.run(move || work(&token)).await {
            Ok(result) => result,
            Err(error) if error.is_panic() => {
                Err(ToolError::fatal(Failure::Internal, format!("A tool crashed: {error}.")))
            }
            Err(_) => Err(ToolError::soft(SoftKind::Cancelled, "The program is shutting down.")),
        }
    }
}

/// The result of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutcome {
    /// The content for the model; never empty.
    pub content: Vec<ResultBlock>,
    /// Whether the tool ran and reports a failure (a command's exit code, a cancelled sub-agent).
    pub is_error: bool,
    /// A few words for the screen: `14 hits`, `exit 1`.
    pub summary: String,
    /// Details for the screen; never sent to the model.
    pub details: Option<ToolDetails>,
}

impl ToolOutcome {
    /// Creates a success of one text.
    pub fn text(content: impl Into<String>, summary: impl Into<String>) -> Self {
        Self {
            content: vec![ResultBlock::text(content)],
            summary: summary.into(),
            ..Self::default()
        }
    }

    /// Adds details for the screen.
    pub fn with_details(mut self, details: ToolDetails) -> Self {
        self.details = Some(details);
        self
    }
}

/// Why a call has no outcome. The loop acts on the class, never on the tool.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ToolError {
    /// Ends the run: the model cannot fix it.
    #[error("{message}")]
    Fatal {
        failure: Failure,
        message: String,
        /// For the screen and for programs.
        details: Option<Box<ToolDetails>>,
    },
    /// Goes to the model as an error result, and the run continues.
    #[error("{message}")]
    Soft {
        kind: SoftKind,
        message: String,
        /// For the screen and for programs.
        details: Option<Box<ToolDetails>>,
    },
}

impl ToolError {
    /// Creates an error that the model sees.
    pub fn soft(kind: SoftKind, message: impl Into<String>) -> Self {
        Self::Soft { kind, message: message.into(), details: None }
    }

    /// Creates the error of a call that was refused before it ran.
    pub fn denied(denial: Denial) -> Self {
        Self::soft(SoftKind::Denied, denial.to_string()).with_details(ToolDetails::Denied(denial))
    }

    /// Creates an ordinary error of the tool's own work.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::soft(SoftKind::Failed, message)
    }

    /// Creates an error that ends the run.
    pub fn fatal(failure: Failure, message: impl Into<String>) -> Self {
        Self::Fatal { failure, message: message.into(), details: None }
    }

    /// Adds details for the screen and for programs.
    pub fn with_details(self, more: ToolDetails) -> Self {
        let more = Some(Box::new(more));
        match self {
            Self::Fatal { failure, message, .. } => Self::Fatal { failure, message, details: more },
            Self::Soft { kind, message, .. } => Self::Soft { kind, message, details: more },
        }
    }

    /// Adds a text for the model to a soft error.
    pub fn with_context(self, context: &str) -> Self {
        match self {
            Self::Soft { kind, message, details } => {
                Self::Soft { kind, message: format!("{message}\n\n{context}"), details }
            }
            fatal @ Self::Fatal { .. } => fatal,
        }
    }
}

/// The kind of a soft error; logged as the call's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SoftKind {
    InvalidInput,
    UnknownTool,
    Denied,
    Cancelled,
    Timeout,
    /// A budget is used up.
    Budget,
    Failed,
}

impl SoftKind {
    /// Returns the name in the log.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the text on the screen.
    pub fn words(self) -> &'static str {
        match self {
            Self::InvalidInput => "bad input",
            Self::UnknownTool => NO_SUCH_TOOL,
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timed out",
            Self::Budget => "budget used up",
            Self::Failed => "failed",
        }
    }
}
