//! Events of agents while they work. Plain data: the screen and the headless writers draw from it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::command::Sender;
use super::format::seconds;
use super::hook::HookEvent;
use super::ids::{AgentPath, PromptId, QuestionId, SessionId, ShellId, ToolUseId};
use super::message::{ContentBlock, ResultBlock};
use super::outcome::{ApiError, Failure, RunOutcome};
use super::permission_mode::PermissionMode;
use super::question::Question;
use super::stream::StreamEvent;
use super::tool_details::{Denial, ToolDetails};
use super::usage::{Cost, Usage};
use super::worktree::WorktreeInfo;

/// One event of one agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentEvent {
    /// The agent it is about.
    pub path: AgentPath,
    /// Increases by one per event of the process; merged deltas keep the first number.
    pub seq: u64,
    pub at: Timestamp,
    pub kind: EventKind,
}

/// The reason why the model of the next request is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelCause {
    /// A session was opened, or the program uses another one by itself.
    #[default]
    Program,
    /// The user chose a model.
    Model,
    /// The user chose an effort level.
    Effort,
}

/// The event itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EventKind {
    /// A session is open (main agent only): at start, after `/clear` and after `/resume`.
    ///
    /// `history` holds the past of a stored session as the same events, ordered by time. For a
    /// sub-agent it has everything but the conversation, which `TranscriptRead` brings on request.
    SessionOpened {
        id: SessionId,
        history: Vec<AgentEvent>,
        /// Whether the history is that of another session, which has paid for it.
        forked: bool,
    },
    /// The session that was just opened can only be read: another process writes to it.
    SessionReadOnly,
    /// The last events of a long session that is being opened, to be shown until `SessionOpened`
    /// brings all of them (main agent only).
    SessionPreview {
        history: Vec<AgentEvent>,
    },
    /// Another session could not be opened: the current one stays (main agent only).
    SessionFailed {
        why: String,
    },
    /// A sub-agent exists, or an ended one was resumed. The first event of its path, unless it was reported.
    Started(Box<AgentInfo>),
    /// An ended sub-agent without a file of its own, as the result of its call reports it (in a
    /// history only). The only event of its path. The cost is part of the session's spending
    /// already, or of another session's.
    Reported {
        info: Box<AgentInfo>,
        outcome: Box<RunOutcome>,
    },
    /// The stored conversation of an ended sub-agent, as the events that showed it at work.
    TranscriptRead {
        events: Vec<EventKind>,
    },
    /// It waits for a free slot; 1 is the head of the queue.
    Queued {
        place: usize,
    },
    /// It works in a git worktree of its own from here on.
    WorktreeEntered(Box<WorktreeInfo>),
    /// Its worktree was removed, because it held no work.
    WorktreeRemoved,
    /// A running foreground sub-agent moved to the background: its parent no longer waits for it.
    MovedToBackground,
    /// A prompt entered this agent's conversation.
    PromptRead {
        id: Option<PromptId>,
        text: Arc<str>,
        /// The author of the prompt.
        #[serde(default)]
        from: Sender,
    },
    /// An image entered this agent's conversation with the prompt before it.
    ImageRead {
        /// The image in a few words.
        label: String,
    },
    /// A text for the model beside a prompt (in a history only).
    Aside {
        text: String,
    },
    /// A line for the user that the session keeps (main agent only).
    Note {
        text: String,
    },
    /// A prompt waits in this agent's queue.
    PromptQueued {
        id: PromptId,
    },
    /// A queued prompt left the queue unread.
    PromptReturned {
        id: PromptId,
        text: String,
    },
    /// A prompt was rejected; `why` says what to change.
    PromptRefused {
        id: PromptId,
        text: String,
        why: String,
    },
    /// A request is sent. `limit` is the last allowed turn.
    TurnStarted {
        turn: u32,
        limit: Option<u32>,
    },
    /// A step of the answer as the provider sends it, in place of the deltas: only if the reader asked for it.
    Streamed(Box<StreamEvent>),
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        text: String,
    },
    /// A block of the answer is complete; it replaces the deltas before it.
    BlockFinished {
        message_id: String,
        /// The model of the request.
        model: String,
        block: ContentBlock,
        /// As reported so far: the end of the answer may report more.
        usage: Usage,
    },
    /// The answer was cut off inside a block and is not retried. This part of the block stays in the conversation.
    BlockCut {
        message_id: String,
        model: String,
        text: String,
        usage: Usage,
    },
    /// The running request failed and will be retried: what it streamed is void. `reason` is the
    /// whole message of the error, whose kind is `failure`.
    Retrying {
        attempt: u32,
        limit: u32,
        wait: Duration,
        failure: Failure,
        error: ApiError,
        reason: String,
    },
    /// A request is over. `usage` and `cost` are of this request alone. It is not `whole` if it
    /// failed or was stopped, which is charged too.
    TurnFinished {
        usage: Usage,
        cost: Cost,
        model: String,
        api_time: Duration,
        whole: bool,
    },
    /// A hook started: only if the reader asked for it.
    HookStarted(HookRunInfo),
    /// A hook has run: only if the reader asked for it.
    HookFinished {
        hook: HookRunInfo,
        outcome: HookOutcome,
        /// Output of a command.
        stdout: String,
        stderr: String,
        /// Absent for callbacks and for commands that were killed.
        exit_code: Option<i32>,
    },
    /// A call is running: it was valid and allowed. `summary` is one line, such as `"fn route"`.
    ToolStarted {
        id: ToolUseId,
        name: String,
        summary: String,
    },
    /// More output of a running call.
    ToolProgress {
        id: ToolUseId,
        text: String,
    },
    /// A call has its result, even if it never ran. `summary` is a few words, such as `14 hits`.
    ToolFinished {
        id: ToolUseId,
        name: String,
        is_error: bool,
        summary: String,
        content: Vec<ResultBlock>,
        details: Option<ToolDetails>,
        took: Duration,
    },
    PermissionAsked(Box<Question>),
    /// The question needs no answer any more; `allowed` is the outcome, absent if it was withdrawn.
    QuestionClosed {
        id: QuestionId,
        allowed: Option<bool>,
    },
    /// An answer could not be carried out; the question stays open (main agent only, whoever asked).
    AnswerRefused {
        id: QuestionId,
        why: String,
    },
    /// A call was refused.
    PermissionDenied {
        id: ToolUseId,
        tool: String,
        input: serde_json::Value,
        denial: Denial,
    },
    ModeChanged {
        mode: PermissionMode,
    },
    ModelChanged {
        provider: String,
        model: String,
        context_window: Option<u64>,
        /// The effort level that requests ask for; `None` for the model's default.
        effort: Option<String>,
        /// The effort levels that the model takes, lowest first; `None` if unknown.
        efforts: Option<Vec<String>>,
        cause: ModelCause,
    },
    /// A `Shell` command of the user printed something.
    ShellOutput {
        text: String,
    },
    /// A `Shell` command of the user ended. `text` is its output, capped.
    ShellFinished {
        line: String,
        text: String,
        status: String,
    },
    /// A command of the agent's runs in the background.
    BackgroundShellStarted {
        id: ShellId,
        command: String,
    },
    /// The end of what it has printed so far: before its end, and in answer to `ReadShell`. `total` counts
    /// the characters of all of it.
    BackgroundShellOutput {
        id: ShellId,
        text: String,
        total: u64,
    },
    /// It has ended, with everything it started.
    BackgroundShellEnded {
        id: ShellId,
        end: ShellEnd,
    },
    /// The conversation is being replaced by a summary. `by_hand`: the user asked for it, outside of a run.
    Compaction {
        by_hand: bool,
        state: CompactionState,
    },
    /// It waits for longer than a moment, during which there are no other events.
    WaitBegan(WaitKind),
    /// That wait is over, one way or the other.
    WaitEnded(WaitKind),
    Notice {
        level: NoticeLevel,
        text: String,
    },
    /// A sub-agent's final text, shown to the user unchanged (main agent only). `name` is the sub-agent's.
    Verbatim {
        name: String,
        text: String,
    },
    /// A run ended. The last event of a sub-agent's path.
    Finished(Box<RunOutcome>),
}

/// The progress of a compaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionState {
    /// The model is asked for the summary.
    Started,
    /// The summary replaces the conversation. Tokens of the whole context, approximately.
    Done { before_tokens: u64, after_tokens: u64 },
    /// It was stopped: the conversation is unchanged.
    Cancelled,
    /// The conversation is unchanged.
    Failed { why: String },
}

/// How a command in the background ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum ShellEnd {
    Code {
        code: i32,
    },
    /// `name` is the signal's, such as `SIGKILL`.
    Signal {
        name: String,
    },
    TimedOut {
        limit: Duration,
    },
    /// By its agent, the user, or the end of either.
    Killed,
}

impl fmt::Display for ShellEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code { code } => write!(f, "exit code {code}"),
            Self::Signal { name } => write!(f, "killed by {name}"),
            Self::TimedOut { limit } => write!(f, "timed out after {}", seconds(*limit)),
            Self::Killed => f.write_str("killed"),
        }
    }
}

impl ShellEnd {
    /// Parses what the display form says.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "killed" {
            return Some(Self::Killed);
        }
        if let Some(code) = text.strip_prefix("exit code ") {
            return code.parse().ok().map(|code| Self::Code { code });
        }
        if let Some(name) = text.strip_prefix("killed by ") {
            return Some(Self::Signal { name: name.to_owned() });
        }
        let seconds = text.strip_prefix("timed out after ")?.strip_suffix(" s")?.parse().ok()?;
        let limit = Duration::try_from_secs_f64(seconds).ok()?;
        Some(Self::TimedOut { limit })
    }
}

/// One run of one hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRunInfo {
    pub id: String,
    /// The hook's name for the user, such as `hook PreToolUse(Bash): ./lint.sh`.
    pub name: String,
    pub event: HookEvent,
}

/// How a run of a hook ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookOutcome {
    Success,
    Error,
    Cancelled,
}

/// The severity of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    Info,
    Warning,
    Error,
}

/// A sub-agent's identity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentInfo {
    /// The name on the screen: the definition's name and a number, such as `explore-2`.
    pub name: String,
    /// Its place among the agents of the session, in order of start, from 1; 0 in old files.
    #[serde(default)]
    pub number: usize,
    /// The definition's name.
    pub agent: String,
    /// The task in three to six words.
    pub description: String,
    pub prompt: String,
    pub model: String,
    /// The call that started it.
    pub tool_use_id: ToolUseId,
    pub max_turns: u32,
    /// US dollars that it may spend, together with the agents below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_usd: Option<f64>,
    /// From the definition; the screen picks one otherwise.
    pub color: Option<String>,
    /// Nobody waits for it: its result comes to its parent as a message.
    #[serde(default)]
    pub background: bool,
}

/// The reason for a wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "wait", rename_all = "snake_case")]
pub enum WaitKind {
    /// Hooks that decide what comes next.
    Hooks { event: HookEvent },
    /// MCP servers that are starting, by name.
    Servers { names: Vec<String> },
    /// Requests of other agents, which have reserved the money that its own request needs.
    Budget,
}

impl fmt::Display for WaitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hooks { event } => write!(f, "running {event} hooks"),
            Self::Servers { names } => write!(f, "waiting for MCP servers: {}", names.join(", ")),
            Self::Budget => f.write_str("waiting for budget"),
        }
    }
}
