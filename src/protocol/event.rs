//! What agents say while they work. Plain data: the screen and the headless writers draw their
//! pictures from it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::command::Sender;
use super::hook::HookEvent;
use super::ids::{AgentId, AgentPath, PromptId, QuestionId, SessionId, ShellId, ToolUseId};
use super::lossy_path;
use super::message::{ContentBlock, ResultBlock};
use super::question::{Mode, Question};
use super::stream::StreamEvent;
use super::usage::{Cost, Usage};
use super::wait::Wait;

/// One event of one agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentEvent {
    /// Who it is about.
    pub path: AgentPath,
    /// Counts up by one per event of the process; merged deltas keep the first number.
    pub seq: u64,
    pub at: Timestamp,
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EventKind {
    /// A session is open (main agent only): at start, after `/clear` and after `/resume`.
    ///
    /// `history` holds what the agents of a stored session did, in the same events, ordered by
    /// time. Of a sub-agent there is everything but its conversation, which `TranscriptRead` brings
    /// when somebody asks for it.
    SessionOpened {
        id: SessionId,
        history: Vec<AgentEvent>,
        /// Whether the history is that of another session, which has paid for it.
        forked: bool,
    },
    /// Another session could not be opened: the present one stays (main agent only).
    SessionFailed {
        why: String,
    },
    /// A sub-agent exists, or one that had ended goes on. The first event of its path, unless it
    /// was reported.
    Started(Box<AgentInfo>),
    /// An ended sub-agent without a file of its own, as the result of its call reports it (in a
    /// history only). The only event of its path. The cost is a part of what the session has spent
    /// already, or of another session.
    Reported {
        info: Box<AgentInfo>,
        outcome: Box<Outcome>,
    },
    /// The stored conversation of an ended sub-agent, in the events that showed it at work.
    TranscriptRead {
        events: Vec<EventKind>,
    },
    /// It waits for a free slot; 1 is the head of the queue.
    Queued {
        place: usize,
    },
    /// A running foreground sub-agent goes on in the background: nobody waits for it any more.
    MovedToBackground,
    /// A prompt entered this agent's conversation.
    PromptRead {
        id: Option<PromptId>,
        text: String,
        /// Who sent it.
        #[serde(default)]
        from: Sender,
    },
    /// A text for the model stands beside a prompt (in a history only).
    Aside {
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
    /// A prompt that cannot be worked on comes back; `why` says what to change (main agent only).
    PromptRefused {
        id: PromptId,
        text: String,
        why: String,
    },
    /// A request goes out. `limit` is the last allowed turn.
    TurnStarted {
        turn: u32,
        limit: Option<u32>,
    },
    /// A step of the answer as the provider sends it, in place of the deltas: only where the reader
    /// asked for it.
    Streamed(Box<StreamEvent>),
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        text: String,
    },
    /// A block of the answer is whole; it stands for the deltas before it.
    BlockFinished {
        message_id: String,
        /// The model that is asked.
        model: String,
        block: ContentBlock,
        /// As reported so far: the end of the answer may report more.
        usage: Usage,
    },
    /// The answer ends in the middle of a block for good. This text of the block stays in the conversation.
    BlockCut {
        message_id: String,
        model: String,
        text: String,
        usage: Usage,
    },
    /// The running request failed and will be repeated: what it had streamed is void.
    Retrying {
        attempt: u32,
        limit: u32,
        wait: Duration,
        reason: String,
    },
    /// A request is over. `usage` and `cost` are of this request alone. It is not `whole` when it
    /// failed or was stopped, which costs all the same.
    TurnFinished {
        usage: Usage,
        cost: Cost,
        model: String,
        api_time: Duration,
        whole: bool,
    },
    /// A hook begins to run: only where the reader asked for it.
    HookStarted(HookRun),
    /// A hook has run: only where the reader asked for it.
    HookFinished {
        hook: HookRun,
        outcome: HookOutcome,
        /// What a command printed.
        stdout: String,
        stderr: String,
        /// Absent for callbacks, and for commands that were ended.
        exit_code: Option<i32>,
    },
    /// A call runs now: it was valid and allowed. `summary` is one line, such as `"fn route"`.
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
    /// A call has its result, also when it never ran. `summary` is a few words, such as `14 hits`.
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
    /// The question needs no answer any more; `allowed` says how it ended, absent when it was withdrawn.
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
        mode: Mode,
    },
    ModelChanged {
        provider: String,
        model: String,
        context_window: Option<u64>,
    },
    /// A `Shell` command of the person printed something.
    ShellOutput {
        text: String,
    },
    /// A `Shell` command of the person ended. `text` is what it printed, capped.
    ShellFinished {
        line: String,
        text: String,
        status: String,
    },
    /// An agent's command runs in the background.
    BackgroundShellStarted {
        id: ShellId,
        command: String,
    },
    /// It has ended, with all that it started.
    BackgroundShellEnded {
        id: ShellId,
        end: ShellEnd,
    },
    /// The conversation is being replaced by a summary of it. `by_hand`: the person asked for it,
    /// outside of a run.
    Compaction {
        by_hand: bool,
        state: CompactionState,
    },
    /// It waits for longer than a moment, so that nothing else would be heard of it.
    WaitBegan(Wait),
    /// That is over, one way or the other.
    WaitEnded(Wait),
    Notice {
        level: NoticeLevel,
        text: String,
    },
    /// A sub-agent's final text, for the person as it is (main agent only). `name` is the sub-agent's.
    Verbatim {
        name: String,
        text: String,
    },
    /// A run ended. The last event of a sub-agent's path.
    Finished(Box<Outcome>),
}

/// How far a compaction has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionState {
    /// The model is asked for the summary.
    Started,
    /// The summary stands for the conversation. Tokens of the whole context, about.
    Done { before_tokens: u64, after_tokens: u64 },
    /// It was stopped: the conversation is as it was.
    Cancelled,
    /// The conversation is as it was.
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
    /// By its agent, a person, or the end of either.
    Killed,
}

impl fmt::Display for ShellEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code { code } => write!(f, "exit code {code}"),
            Self::Signal { name } => write!(f, "ended by {name}"),
            Self::TimedOut { limit } => write!(f, "timed out after {limit:?}"),
            Self::Killed => f.write_str("killed"),
        }
    }
}

/// One run of one hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRun {
    pub id: String,
    /// What the user knows the hook by, such as `hook PreToolUse(Bash): ./lint.sh`.
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

/// How loud a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    Info,
    Warning,
    Error,
}

/// Who a sub-agent is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentInfo {
    /// The name on the screen: the definition's name and a number, such as `explore-2`.
    pub name: String,
    /// The definition's name.
    pub agent: String,
    /// Three to six words on what it is to do.
    pub description: String,
    pub prompt: String,
    pub model: String,
    /// The call that started it.
    pub tool_use_id: ToolUseId,
    pub max_turns: u32,
    /// From the definition; the screen picks one otherwise.
    pub color: Option<String>,
    /// Nobody waits for it: its result comes to its parent as a message.
    #[serde(default)]
    pub background: bool,
}

/// What a tool shows to a person beyond the text that the model reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ToolDetails {
    /// A file was changed: a unified diff with three lines of context, capped.
    Diff {
        #[serde(with = "lossy_path")]
        path: PathBuf,
        diff: String,
        added: usize,
        removed: usize,
    },
    /// The to-do list as it now stands.
    Todos { items: Vec<Todo> },
    /// A shell command's end.
    Command {
        exit_code: Option<i32>,
        #[serde(with = "lossy_path")]
        cwd: PathBuf,
    },
    /// A sub-agent's report.
    Agent(Box<AgentReport>),
    /// The call told of a sub-agent's end.
    Reported { agent_id: AgentId },
    /// The call was refused, and never ran.
    Denied(Denial),
    /// A boundary of autonomy was crossed.
    Violation { violation: ViolationKind, depth: u32, limit: u32 },
}

/// Why a call was refused. Its display is what the model reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// By an answer of the user's, not by a rule, the mode, a hook or a program.
    #[serde(default)]
    pub by_user: bool,
    /// Absent where the user gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Denial {
    /// A denial by a rule, the mode, a hook or a program.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { by_user: false, reason: Some(reason.into()) }
    }

    /// A denial by the user, who may have given a reason.
    #[must_use]
    pub fn by_user(reason: Option<&str>) -> Self {
        let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
        Self { by_user: true, reason: reason.map(str::to_owned) }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.reason, self.by_user) {
            (Some(reason), true) => write!(f, "the user said no: {reason}"),
            (Some(reason), false) => f.write_str(reason),
            (None, _) => f.write_str("the user said no"),
        }
    }
}

/// Which boundary of autonomy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ViolationKind {
    /// A sub-agent at `depth` tried to start another, and the limit is `limit`. Hops below the main agent.
    DepthExceeded,
}

/// One entry of a to-do list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Todo {
    pub content: String,
    pub status: TodoStatus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
}

/// The structured side of a sub-agent's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentReport {
    pub agent_id: AgentId,
    pub name: String,
    pub status: End,
    pub turns: u32,
    pub tool_uses: u32,
    pub usage: Usage,
    pub cost: Cost,
    pub duration_ms: u64,
    /// Characters of the final text handed to the parent, and in all.
    pub shown: usize,
    pub total: usize,
    /// Whether it was cancelled because its parent's run was stopped while a call of that run
    /// waited for it. False when it was cancelled alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub with_parent: bool,
}

/// How a run ended. Never guessed from text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum End {
    /// The model finished by itself, with a text.
    Completed,
    /// The turn limit was reached; the text is partial.
    MaxTurns { limit: u32 },
    /// A budget was used up; the text is partial. `what` names it with its limit, such as `$0.50`.
    Budget { what: String },
    /// It took longer than it was allowed; the text is partial.
    TimeLimit { limit: Duration },
    /// A person or the parent's end stopped it.
    Cancelled { before_start: bool },
    /// The program died in the middle; found out at resume.
    Interrupted,
    /// An error ended it.
    Failed { failure: Failure, message: String },
    /// The model declined.
    Refused,
    /// The model finished by itself, without a text.
    Empty,
}

/// A time as the screen shows it: `0:42`, `10:00`, `1:02:03`.
#[must_use]
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// A number of things in words: `1 agent`, `2 agents`.
#[must_use]
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// What kind of error ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The provider does not accept the key, or there is none.
    Auth,
    /// The same at another provider than the parent's, where the operator leaves it to the parent.
    SoftAuth,
    RateLimit,
    Overloaded,
    Timeout,
    Connection,
    ContextFull,
    BadRequest,
    /// An answer that nobody can make sense of.
    BadAnswer,
    /// A sub-agent call beyond the depth limit.
    Autonomy,
    /// The agent's own folder could not be made.
    Worktree,
    /// The transcript cannot be written.
    Storage,
    /// A bug of ours.
    Internal,
}

impl Failure {
    /// Whether the one who started the agent cannot go on either.
    #[must_use]
    pub fn is_fatal(self) -> bool {
        matches!(self, Self::Auth | Self::Autonomy | Self::Internal)
    }

    /// The words that the screen uses.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Auth | Self::SoftAuth => "key rejected",
            Self::RateLimit => "rate limit",
            Self::Overloaded => "overloaded",
            Self::Timeout => "timeout",
            Self::Connection => "no connection",
            Self::ContextFull => "context full",
            Self::BadRequest => "bad request",
            Self::BadAnswer => "unreadable answer",
            Self::Autonomy => "depth",
            Self::Worktree => "no worktree",
            Self::Storage => "disk",
            Self::Internal => "internal",
        }
    }
}

/// A request that the provider refused for good, so that its agent could not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiError {
    /// The HTTP status of the refusal; absent when there was no answer, or the refusal came inside one.
    pub status: Option<u16>,
}

/// The result of one run of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    #[serde(flatten)]
    pub end: End,
    /// The refusal that `end` tells of, where a provider's refusal ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_error: Option<ApiError>,
    /// The final text, or what there was of it.
    pub text: String,
    /// Requests made.
    pub turns: u32,
    pub tool_uses: u32,
    /// This agent alone, without its sub-agents.
    pub usage: Usage,
    /// This agent and all below it.
    pub cost: Cost,
    pub took: Duration,
}

impl Outcome {
    /// The outcome of a run that came to nothing.
    #[must_use]
    pub fn without_work(end: End) -> Self {
        Self {
            end,
            api_error: None,
            text: String::new(),
            turns: 0,
            tool_uses: 0,
            usage: Usage::default(),
            cost: Cost::default(),
            took: Duration::ZERO,
        }
    }
}
