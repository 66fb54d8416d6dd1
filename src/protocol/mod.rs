//! Plain data that the other modules exchange, with no behaviour of its own beyond merging and pairing.
//!
//! Every other module may use this one; it uses none of them.

pub mod access;
mod agent_color;
pub mod charset;
pub mod command;
pub mod display;
pub mod env;
pub mod escape;
pub mod event;
pub mod file_change;
pub mod format;
pub mod hook;
pub mod ids;
pub mod image;
pub mod journal;
mod likeness;
mod line_diff;
pub mod lossy_path;
pub mod mcp;
pub mod mcp_name;
pub mod message;
pub mod outcome;
pub mod peer;
pub mod permission_mode;
pub mod printable;
pub mod prompt;
pub mod question;
pub mod quoted;
pub mod redact;
pub mod secret;
pub mod shell_notice;
pub mod sink;
mod span;
pub mod start_dir;
pub mod stream;
pub mod tool_details;
pub mod unique_keys;
pub mod usage;
pub mod user_question;
pub mod wait;
pub mod worktree;

pub use access::{Access, BashVersion, PathTarget, ReadOnly};
pub use agent_color::is_agent_color;
pub use charset::{Charset, ascii_symbol};
pub use command::{Command, PromptTiming, QueuedPrompt, Sender};
pub use display::{MotionMode, NotificationMethod, PaneLayout};
pub use env::{DEPTH_VARIABLE, EnvOverlay, LINE_VARIABLES};
pub use escape::EscapeReader;
pub use event::{
    AgentEvent, AgentInfo, CompactionState, EventKind, HookOutcome, HookRunInfo, ModelCause,
    NoticeLevel, ShellEnd, WaitKind,
};
pub use file_change::{ChangeKind, DiffText, FileChange, FileMode, WorkingTreeChanges};
pub use format::{byte_size, clock, count, limit_in_usd, money, seconds};
pub use hook::HookEvent;
pub use ids::{AgentId, AgentPath, PromptId, QuestionId, SessionId, ShellId, ToolUseId};
pub use image::{ImageSource, PromptImage, SizedImage};
pub use journal::{
    ChildMeta, Compaction, Journal, JournalError, NoJournal, ParentBounds, RequestCost,
    SpawnLimits, SpawnTerms, SpendingJournal, TranscriptEntry,
};
pub use likeness::likeness;
pub use line_diff::LineDiff;
pub use mcp::{McpSelection, McpServer, McpState, McpStatus, McpTransport, display_url};
pub use mcp_name::MCP_PREFIX;
pub use message::{
    ContentBlock, Message, ResultBlock, Role, ShellRun, call_subject, leave_out_rejected, remark,
    start_of_unanswered,
};
pub use outcome::{ApiError, Failure, RAISE_BUDGET, RunEnd, RunOutcome, without_retry_advice};
pub use peer::{Peer, PeerError, PeerRequest, SharedPeer};
pub use permission_mode::PermissionMode;
pub use printable::{
    BLANK, certain_columns, clip_chars, escaped_lines, is_invisible, is_joined, is_seen,
    is_variation_selector, printable, printable_line, printable_message, printable_path,
    selects_picture, shell_path, shell_word,
};
pub use question::{Allowance, Answer, MAX_SHOWN_BYTES, Question, RuleFile};
pub use quoted::{quoted, quoted_name, quoted_rule, single_line};
pub use redact::{MaskedStream, Redactor};
pub use secret::{ApiKey, Secret};
pub use shell_notice::{ShellNotice, parse_shell_end_line, shell_end_line};
pub use sink::{EventFilter, EventQueue, EventSink};
pub use span::{Span, SpanId};
pub use start_dir::StartDir;
pub use stream::{Accumulator, BlockStart, Delta, Reply, StopReason, StreamEvent};
pub use tool_details::{
    AgentReport, Denial, NO_SUCH_TOOL, Todo, TodoStatus, ToolDetails, ViolationKind,
};
pub use unique_keys::UniqueKeys;
pub use usage::{Cost, Usage};
pub use user_question::{
    ASK_USER_TOOL, EXIT_PLAN_TOOL, NO_PLAN_MODE, UserOption, UserQuestion, with_answers,
};
pub use wait::report_wait;
pub use worktree::{MergedWork, WorktreeInfo};
