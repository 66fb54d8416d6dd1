//! What flows between the parts: plain data with no behaviour of its own beyond merging and pairing.
//!
//! Everything may depend on this module; it depends on nothing else of ours.

pub mod access;
pub mod command;
pub mod env;
pub mod event;
pub mod hook;
pub mod ids;
pub mod journal;
pub mod lossy_path;
pub mod mcp;
pub mod mcp_name;
pub mod mention;
pub mod message;
pub mod peer;
pub mod printable;
pub mod question;
pub mod redact;
pub mod sink;
pub mod slash;
pub mod span;
pub mod start;
pub mod stream;
pub mod usage;
pub mod wait;

pub use access::{Access, BashVersion, ReadOnly, Target};
pub use command::{Command, QueuedPrompt, Sender, When};
pub use env::{DEPTH_VARIABLE, EnvOverlay};
pub use event::{
    AgentEvent, AgentInfo, ApiError, CompactionState, Denial, End, EventKind, Failure, NoticeLevel,
    Outcome, ShellEnd, ToolDetails, ViolationKind, clock, count,
};
pub use hook::HookEvent;
pub use ids::{AgentId, AgentPath, PromptId, QuestionId, SessionId, ShellId, ToolUseId};
pub use journal::{
    Below, Caps, Checkout, ChildMeta, Compaction, Journal, JournalError, NoJournal, Past,
    SpendingJournal, Spent, Terms,
};
pub use mcp::{McpServer, McpState, McpStatus, McpTransport, McpWish, shown_url};
pub use mcp_name::MCP_PREFIX;
pub use message::{
    ContentBlock, ImageSource, Message, ResultBlock, Role, ShellRun, call_subject, remark,
};
pub use peer::{Peer, PeerError, PeerRequest, SharedPeer};
pub use printable::{
    BLANK, escaped_lines, is_invisible, is_joined, is_seen, is_variation_selector, printable,
    printable_line, printable_message, printable_path, selects_picture, shell_path, shell_word,
};
pub use question::{Allowance, Answer, MAX_SHOWN, Mode, Question, RuleFile};
pub use redact::{MaskedStream, Redactor};
pub use sink::{EventQueue, EventSink, Wants};
pub use span::{Span, SpanId};
pub use start::StartDir;
pub use stream::{Accumulator, BlockStart, Delta, Reply, StopReason, StreamEvent};
pub use usage::{Cost, Usage};
pub use wait::{Wait, tell_wait};
