//! Tools: one trait, one registry, one file per tool.
//!
//! What an agent keeps between calls (files it has read, the shell's working directory, its to-do
//! list) lives inside its own tool instances: [`builtin`] makes a fresh set per agent, so nothing
//! is shared by accident.

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
    ReadOnly, ResultBlock, Span, Target, ToolDetails, ToolUseId,
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
pub use search::{Hidden, HiddenFiles};
pub use shells::{NotStarted, ShellRegister, Shells, StartShell};
pub use web_fetch::{RedirectRules, WebSettings};

pub use registry::{ToolRegistry, canonical_name, lists, starts_agents};

/// See [`Tool::grace`].
const GRACE: Duration = Duration::from_secs(2);

/// How a tool is described to the model.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// A JSON schema of type `object`.
    pub input_schema: Value,
}

/// Something that a model can call. The agent loop knows tools by this trait alone.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Name, description and schema. Stable for the life of the tool.
    fn spec(&self) -> &ToolSpec;

    /// What the system prompt of an agent with this tool says of it and its siblings, if anything.
    /// Siblings say the same.
    fn instructions(&self) -> Option<&str> {
        None
    }

    /// Checks the input before anything is asked or run. The error names the field and what is allowed.
    fn validate(&self, input: &Value) -> Result<(), InvalidInput>;

    /// One line that says what a valid call is about, for the screen: `"fn route"`, `src/main.rs`.
    fn summary(&self, input: &Value) -> String;

    /// The directory in which the calls of the next message start, if that is not the agent's base directory.
    fn directory(&self) -> Option<PathBuf> {
        None
    }

    /// What a valid call that starts in `cwd` would touch. This is judged, and [`Tool::call`] gets
    /// the very same in its context: it must not find out again.
    fn access(&self, input: &Value, cwd: &Path) -> Access;

    /// Shows the one who is asked what a valid call would change.
    async fn preview(&self, _input: &Value, _access: &Access) -> Preview {
        Preview::default()
    }

    /// How long a call may take; `None` when the tool keeps time itself or may take as long as it wants.
    fn time_limit(&self) -> Option<Duration> {
        Some(Duration::from_secs(120))
    }

    /// How long a cancelled or overdue call may take to end by itself, so that it can tell what it
    /// had done, before it is dropped. `None` when it surely ends: then it is waited for.
    fn grace(&self) -> Option<Duration> {
        Some(GRACE)
    }

    /// Whether a call does no work itself and only waits for that of others: it takes none of the
    /// places at work.
    fn waits(&self) -> bool {
        false
    }

    /// Runs a valid, permitted call. Must end soon after `cx.cancel` fires; the caller drops it otherwise.
    async fn call(&self, input: Value, cx: ToolContext) -> Result<ToolOutcome, ToolError>;

    /// Ends what calls have left running. Called when the agent at `owner`, whose tool this is, has
    /// ended for good.
    async fn end(&self, _owner: &AgentPath) {}
}

/// A tool with a typed input; everything about JSON follows from the type.
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

    /// Rules beyond the types, such as "must not be blank".
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

    fn waits(&self) -> bool {
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

    fn waits(&self) -> bool {
        TypedTool::waits(self)
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
    /// The spec of a tool whose input is `T`, with the schema cut to what a model needs.
    #[must_use]
    pub fn of<T: JsonSchema>(name: &str, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: description.trim().to_owned(),
            input_schema: schema::of::<T>(),
        }
    }

    /// The spec without one of its fields.
    #[must_use]
    pub fn without_field(mut self, name: &str) -> Self {
        if let Some(fields) = self.input_schema["properties"].as_object_mut() {
            fields.shift_remove(name);
        }
        self
    }

    /// The spec without the descriptions inside of one of its fields, where the names say it all.
    #[must_use]
    pub fn with_bare_field(mut self, name: &str) -> Self {
        let inner = self.input_schema["properties"][name]["properties"].as_object_mut();
        for field in inner.into_iter().flat_map(serde_json::Map::values_mut) {
            field.as_object_mut().and_then(|field| field.shift_remove("description"));
        }
        self
    }

    /// Whether the model is told of this field.
    #[must_use]
    pub fn has_field(&self, name: &str) -> bool {
        self.input_schema["properties"].get(name).is_some()
    }

    /// The spec with another text for one of its fields.
    #[must_use]
    pub fn with_field_text(mut self, name: &str, text: &str) -> Self {
        if let Some(field) = self.input_schema["properties"].get_mut(name) {
            field["description"] = text.into();
        }
        self
    }
}

/// A look at what a call would change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preview {
    /// A unified diff or other text.
    pub text: Option<String>,
    /// The file's content that the text was made from. Only while it is that, a yes to the question holds.
    pub content: Option<ContentHash>,
}

/// All that a call gets from outside its input. Made per call, cheap to clone.
#[derive(Clone, Debug)]
pub struct ToolContext {
    pub tool_use_id: ToolUseId,
    /// Carries the path of the agent whose call this is.
    pub events: EventSink,
    /// Fires when the call is to end.
    pub cancel: CancellationToken,
    /// The limit that the call has reached, set before `cancel` fires for it. Absent when all calls of
    /// the message are to end.
    pub overdue: Arc<OnceLock<Duration>>,
    /// What the call may touch: the only paths and the only directory that it uses.
    pub access: Access,
    /// The bounds of a command that nothing allows but that it only reads.
    pub read_only: Option<ReadOnly>,
    /// The content of the file when the user was asked about this call: it must not change another one.
    pub asked_content: Option<ContentHash>,
    /// The lock of a call that changes files, held since before it was judged the last time.
    pub file_guard: Option<FileGuard>,
    /// Its place among the calls of its message, from 0.
    pub order: usize,
    /// The agent's base directory, to which paths are shown relative.
    pub cwd: Arc<Path>,
    pub env: EnvOverlay,
    pub budget: Budget,
    /// Hops below the main agent: 0 for the main agent.
    pub depth: u32,
    /// Of this call, in the log.
    pub span: Span,
    /// What was said so far, up to the message that holds this call.
    pub conversation: Conversation,
    /// Masks keys in progress.
    pub masked: MaskedStream,
    /// Where work on files is done.
    pub files: BlockingPool,
}

/// The conversation of the agent that calls, as it stands. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    pub system: Arc<str>,
    pub messages: Arc<Vec<Message>>,
    /// The model whose thoughts stand in it.
    pub thinker: Option<String>,
}

impl ToolContext {
    /// Shows more output of this call on the screen, without keys. What is held back is in the result.
    pub fn progress(&self, text: impl Into<String>) {
        let text = self.masked.push(text.into());
        if !text.is_empty() {
            self.events.emit(EventKind::ToolProgress { id: self.tool_use_id.clone(), text });
        }
    }

    /// The one file or folder that the call may touch.
    ///
    /// # Errors
    /// When its access is of another kind, which is a bug of the tool.
    pub fn target(&self) -> Result<&Target, ToolError> {
        match &self.access {
            Access::Read { paths } | Access::Write { paths } => paths.first(),
            _ => None,
        }
        .ok_or_else(|| ToolError::fatal(Failure::Internal, "A call names no file or folder."))
    }

    /// The lock that a call needs in order to change files.
    ///
    /// # Errors
    /// When its access is of another kind, which is a bug of the tool.
    pub fn file_guard(&self) -> Result<&FileGuard, ToolError> {
        let missing =
            || ToolError::fatal(Failure::Internal, "A call changes files without the lock.");
        self.file_guard.as_ref().ok_or_else(missing)
    }
}

/// What a call came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutcome {
    /// What the model reads; never empty.
    pub content: Vec<ResultBlock>,
    /// The tool ran, and what it reports is a failure (a command's exit code, a cancelled sub-agent).
    pub is_error: bool,
    /// A few words for the screen: `14 hits`, `exit 1`.
    pub summary: String,
    /// More for the screen; never sent to the model.
    pub details: Option<ToolDetails>,
}

impl ToolOutcome {
    /// A success of one text.
    #[must_use]
    pub fn text(content: impl Into<String>, summary: impl Into<String>) -> Self {
        Self {
            content: vec![ResultBlock::text(content)],
            summary: summary.into(),
            ..Self::default()
        }
    }

    /// This outcome with something more for the screen.
    #[must_use]
    pub fn with_details(mut self, details: ToolDetails) -> Self {
        self.details = Some(details);
        self
    }
}

/// Why a call has no outcome. The loop acts on the class and never on which tool it was.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ToolError {
    /// Ends the run: the model cannot mend it.
    #[error("{message}")]
    Fatal {
        failure: Failure,
        message: String,
        /// For the screen and for programs.
        details: Option<Box<ToolDetails>>,
    },
    /// Goes to the model as an error result, and the run goes on.
    #[error("{message}")]
    Soft {
        kind: SoftKind,
        message: String,
        /// For the screen and for programs.
        details: Option<Box<ToolDetails>>,
    },
}

impl ToolError {
    /// A failure that the model is told of.
    #[must_use]
    pub fn soft(kind: SoftKind, message: impl Into<String>) -> Self {
        Self::Soft { kind, message: message.into(), details: None }
    }

    /// A call that was refused before it ran.
    #[must_use]
    pub fn denied(denial: Denial) -> Self {
        Self::soft(SoftKind::Denied, denial.to_string()).with_details(ToolDetails::Denied(denial))
    }

    /// An ordinary failure of the tool's own work.
    #[must_use]
    pub fn failed(message: impl Into<String>) -> Self {
        Self::soft(SoftKind::Failed, message)
    }

    /// A failure that ends the run.
    #[must_use]
    pub fn fatal(failure: Failure, message: impl Into<String>) -> Self {
        Self::Fatal { failure, message: message.into(), details: None }
    }

    /// The same failure with something more for the screen and for programs.
    #[must_use]
    pub fn with_details(self, more: ToolDetails) -> Self {
        let more = Some(Box::new(more));
        match self {
            Self::Fatal { failure, message, .. } => Self::Fatal { failure, message, details: more },
            Self::Soft { kind, message, .. } => Self::Soft { kind, message, details: more },
        }
    }

    /// The same soft failure with a further text for the model.
    #[must_use]
    pub fn with_context(self, context: &str) -> Self {
        match self {
            Self::Soft { kind, message, details } => {
                Self::Soft { kind, message: format!("{message}\n\n{context}"), details }
            }
            fatal @ Self::Fatal { .. } => fatal,
        }
    }
}

/// What kind of soft error it is; stands in the log as the call's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SoftKind {
    InvalidInput,
    UnknownTool,
    Denied,
    Cancelled,
    Timeout,
    /// What may be spent is spent.
    Budget,
    Failed,
}

impl SoftKind {
    /// The name in the log.
    #[must_use]
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

    /// The words on the screen.
    #[must_use]
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

/// An input that a tool cannot take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidInput(pub String);
