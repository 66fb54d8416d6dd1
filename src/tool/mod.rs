//! Tools: one trait, one registry, one file per tool.
//!
//! State that an agent keeps between calls (files it has read, the shell's working directory, its
//! to-do list) lives inside its own tool instances: [`builtin`] creates a fresh set per agent, so
//! nothing is shared by accident.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::budget::Budget;
pub use crate::exec::BlockingPool;
use crate::protocol::{
    Access, AgentPath, Denial, EnvOverlay, EventKind, EventSink, Failure, MaskedStream, Message,
    PathTarget, ReadOnly, ResultBlock, Span, ToolDetails, ToolUseId,
};

mod bash;
mod bash_output;
mod blocking;
mod builtin;
mod diff;
mod edit;
#[cfg(debug_assertions)]
pub mod fault;
mod file;
mod glob;
mod grep;
mod grep_sink;
mod ignore_files;
mod kill_shell;
mod ledger;
pub mod mcp;
pub mod path;
mod read;
mod registry;
mod replace;
mod schema;
mod search;
mod shells;
#[cfg(test)]
mod testing;
mod todo_write;
mod web_fetch;
mod web_guard;
mod web_text;
mod write;

use blocking::blocking;
pub use builtin::{BuiltinSettings, builtin};
pub use ignore_files::{IgnoreFiles, walk};
pub use ledger::{ContentHash, FileGuard, FileLock};
pub use search::{HiddenFiles, HiddenRules};
pub use shells::{ShellRegister, ShellStartError, Shells, StartShell};
pub use web_fetch::{RedirectRules, WebSettings};

pub use registry::{ToolRegistry, canonical_name, entry_matches, starts_agents};

/// See [`Tool::grace`].
const GRACE: Duration = Duration::from_secs(2);

/// A tool's description for the model.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// A JSON schema of type `object`.
    pub input_schema: Value,
}

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

    /// Checks the input before the user is asked or anything runs. The error names the field and what is allowed.
    fn validate(&self, input: &Value) -> Result<(), InvalidInput>;

    /// Summarizes a valid call in one line, for the screen: `"fn route"`, `src/main.rs`.
    fn summary(&self, input: &Value) -> String;

    /// Returns the directory in which the calls of the next message start, if not the agent's base directory.
    fn directory(&self) -> Option<PathBuf> {
        None
    }

    /// Returns what a valid call that starts in `cwd` would touch. This is judged, and
    /// [`Tool::call`] gets exactly this in its context: it must not determine it again.
    fn access(&self, input: &Value, cwd: &Path) -> Access;

    /// Previews the change of a valid call, for the user's decision.
    async fn preview(&self, _input: &Value, _access: &Access) -> Preview {
        Preview::default()
    }

    /// Returns the time limit of a call; `None` if the tool keeps time itself or may take as long as it wants.
    fn time_limit(&self) -> Option<Duration> {
        Some(Duration::from_secs(120))
    }

    /// Returns how long a cancelled or overdue call may take to end by itself, so that it can
    /// report what it had done, before it is dropped. `None` if it always ends: then it is awaited.
    fn grace(&self) -> Option<Duration> {
        Some(GRACE)
    }

    /// Whether a call does no work itself and only waits for that of others: it does not count
    /// against the concurrency limit.
    fn only_waits(&self) -> bool {
        false
    }

    /// Runs a valid, permitted call. Must end soon after `cx.cancel` fires; the caller drops it otherwise.
    async fn call(&self, input: Value, cx: ToolContext) -> Result<ToolOutcome, ToolError>;

    /// Ends everything that calls have left running. Called when the agent at `owner`, which owns
    /// this tool, has ended for good.
    async fn end(&self, _owner: &AgentPath) {}
}

/// A tool with a typed input; its JSON side follows from the type.
#[async_trait]
pub trait TypedTool: Send + Sync {
    /// Its fields' doc comments are the schema's descriptions; `deny_unknown_fields` is expected.
    type Input: DeserializeOwned + JsonSchema + Send + Sync;

    fn spec(&self) -> &ToolSpec;
    fn summary(&self, input: &Self::Input) -> String;
    fn access(&self, input: &Self::Input, cwd: &Path) -> Access;

    fn directory(&self) -> Option<PathBuf> {
        None
    }

    /// Checks rules beyond the types, such as "must not be blank".
    fn check(&self, _input: &Self::Input) -> Result<(), InvalidInput> {
        Ok(())
    }

    async fn preview(&self, _input: &Self::Input, _access: &Access) -> Preview {
        Preview::default()
    }

    fn time_limit(&self) -> Option<Duration> {
        Some(Duration::from_secs(120))
    }

    fn grace(&self) -> Option<Duration> {
        Some(GRACE)
    }

    fn only_waits(&self) -> bool {
        false
    }

    async fn run(&self, input: Self::Input, cx: ToolContext) -> Result<ToolOutcome, ToolError>;

    async fn end(&self, _owner: &AgentPath) {}
}

#[async_trait]
impl<T: TypedTool> Tool for T {
    fn spec(&self) -> &ToolSpec {
        TypedTool::spec(self)
    }

    fn validate(&self, input: &Value) -> Result<(), InvalidInput> {
        let typed = schema::parse::<T::Input>(self.spec(), input)?;
        self.check(&typed)
    }

    fn summary(&self, input: &Value) -> String {
        match schema::parse::<T::Input>(self.spec(), input) {
            Ok(typed) => TypedTool::summary(self, &typed),
            Err(_) => String::new(),
        }
    }

    fn access(&self, input: &Value, cwd: &Path) -> Access {
        match schema::parse::<T::Input>(self.spec(), input) {
            Ok(typed) => TypedTool::access(self, &typed, cwd),
            Err(_) => Access::Other,
        }
    }

    fn directory(&self) -> Option<PathBuf> {
        TypedTool::directory(self)
    }

    async fn preview(&self, input: &Value, access: &Access) -> Preview {
        match schema::parse::<T::Input>(self.spec(), input) {
            Ok(typed) => TypedTool::preview(self, &typed, access).await,
            Err(_) => Preview::default(),
        }
    }

    fn time_limit(&self) -> Option<Duration> {
        TypedTool::time_limit(self)
    }

    fn grace(&self) -> Option<Duration> {
        TypedTool::grace(self)
    }

    fn only_waits(&self) -> bool {
        TypedTool::only_waits(self)
    }

    async fn call(&self, input: Value, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let typed = schema::parse::<T::Input>(self.spec(), &input)
            .map_err(|invalid| ToolError::soft(SoftKind::InvalidInput, invalid.to_string()))?;
        self.run(typed, cx).await
    }

    async fn end(&self, owner: &AgentPath) {
        TypedTool::end(self, owner).await;
    }
}

impl ToolSpec {
    /// Creates the spec of a tool whose input is `T`, with the schema reduced to what a model needs.
    pub fn new<T: JsonSchema>(name: &str, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: description.trim().to_owned(),
            input_schema: schema::schema_for::<T>(),
        }
    }

    /// Removes one of the fields.
    pub fn without_field(mut self, name: &str) -> Self {
        if let Some(fields) = self.input_schema["properties"].as_object_mut() {
            fields.shift_remove(name);
        }
        self
    }

    /// Removes the descriptions inside of one of the fields, if the names are clear enough.
    pub fn with_bare_field(mut self, name: &str) -> Self {
        let inner = self.input_schema["properties"][name]["properties"].as_object_mut();
        for field in inner.into_iter().flat_map(serde_json::Map::values_mut) {
            field.as_object_mut().and_then(|field| field.shift_remove("description"));
        }
        self
    }

    /// Whether the model sees this field.
    pub fn has_field(&self, name: &str) -> bool {
        self.input_schema["properties"].get(name).is_some()
    }

    /// Replaces the description of one of the fields.
    pub fn with_field_text(mut self, name: &str, text: &str) -> Self {
        if let Some(field) = self.input_schema["properties"].get_mut(name) {
            field["description"] = text.into();
        }
        self
    }
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
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
        match self {
            Self::InvalidInput => "invalid_input",
            Self::UnknownTool => "unknown_tool",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
            Self::Budget => "budget",
            Self::Failed => "failed",
        }
    }

    /// Returns the text on the screen.
    pub fn words(self) -> &'static str {
        match self {
            Self::InvalidInput => "bad input",
            Self::UnknownTool => "no such tool",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timed out",
            Self::Budget => "budget used up",
            Self::Failed => "failed",
        }
    }
}

/// The error of an invalid input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidInput(pub String);
