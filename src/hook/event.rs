//! The events that hooks are notified of.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::protocol::{HookEvent, ResultBlock, ToolUseId};
use crate::tool::{canonical_name, starts_agents};

/// An event with the data that its hooks receive.
#[derive(Clone, Copy, Debug)]
pub enum HookInput<'a> {
    /// A valid call is about to be judged and run.
    PreToolUse(HookToolCall<'a>),
    /// A call has succeeded.
    PostToolUse {
        call: HookToolCall<'a>,
        response: &'a [ResultBlock],
        took: Duration,
    },
    /// A call has run and failed.
    PostToolUseFailure {
        call: HookToolCall<'a>,
        error: &'a str,
        /// Whether the user stopped it.
        interrupted: bool,
        took: Duration,
    },
    /// All calls of a message have their results.
    PostToolBatch(&'a [FinishedCall<'a>]),
    /// The user is about to be asked about a call.
    PermissionRequest(HookToolCall<'a>),
    /// A prompt of the user is about to enter the conversation.
    UserPromptSubmit {
        prompt: &'a str,
    },
    SubagentStart,
    /// An agent's run is about to end, or has ended. For sub-agents the event has another name.
    Stop {
        /// Whether a hook has already made it continue.
        again: bool,
        /// Its last text.
        last: &'a str,
    },
    SessionStart {
        source: SessionSource,
        model: Option<&'a str>,
    },
    SessionEnd(SessionEndReason),
    PreCompact {
        by_hand: bool,
        instructions: Option<&'a str>,
    },
    Notification(NotificationKind<'a>),
}

/// A tool call.
#[derive(Clone, Copy, Debug)]
pub struct HookToolCall<'a> {
    pub id: &'a ToolUseId,
    pub tool: &'a str,
    pub input: &'a Value,
    /// The file or folder that a file tool opens for this input, absolute.
    pub file: Option<&'a Path>,
}

/// A tool call and its result.
#[derive(Clone, Copy, Debug)]
pub struct FinishedCall<'a> {
    pub call: HookToolCall<'a>,
    pub response: &'a [ResultBlock],
}

/// How a session begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum SessionSource {
    /// The program starts with a new session.
    Startup,
    /// A stored session is resumed.
    Resume,
    /// The previous session was cleared.
    Clear,
}

/// Why a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum SessionEndReason {
    /// A new session replaces it.
    Clear,
    /// A stored session replaces it.
    Resume,
    /// The user quits.
    PromptInputExit,
    Other,
}

/// A reason to notify the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
pub enum NotificationKind<'a> {
    /// A permission question about this tool is waiting.
    #[strum(serialize = "permission_prompt")]
    Permission { tool: &'a str },
    /// The work is done; waiting for the next prompt.
    #[strum(serialize = "idle_prompt")]
    Idle,
}

impl HookInput<'_> {
    /// The event's name, for a sub-agent or for the main agent.
    pub fn event(&self, in_sub_agent: bool) -> HookEvent {
        match self {
            Self::PreToolUse(_) => HookEvent::PreToolUse,
            Self::PostToolUse { .. } => HookEvent::PostToolUse,
            Self::PostToolUseFailure { .. } => HookEvent::PostToolUseFailure,
            Self::PostToolBatch(_) => HookEvent::PostToolBatch,
            Self::PermissionRequest(_) => HookEvent::PermissionRequest,
            Self::UserPromptSubmit { .. } => HookEvent::UserPromptSubmit,
            Self::SubagentStart => HookEvent::SubagentStart,
            Self::Stop { .. } if in_sub_agent => HookEvent::SubagentStop,
            Self::Stop { .. } => HookEvent::Stop,
            Self::SessionStart { .. } => HookEvent::SessionStart,
            Self::SessionEnd(_) => HookEvent::SessionEnd,
            Self::PreCompact { .. } => HookEvent::PreCompact,
            Self::Notification(_) => HookEvent::Notification,
        }
    }

    /// Returns the names that matchers are compared with: those of the tool, the agent's kind, or
    /// the cause. `None` matches every hook.
    pub(super) fn names<'a>(&'a self, agent: Option<&'a str>) -> Option<Vec<&'a str>> {
        let one = |name: &'a str| Some(vec![name]);
        match self {
            Self::PreToolUse(call)
            | Self::PostToolUse { call, .. }
            | Self::PostToolUseFailure { call, .. }
            | Self::PermissionRequest(call) => Some(call.names()),
            Self::UserPromptSubmit { .. } | Self::PostToolBatch(_) => None,
            Self::SubagentStart => one(agent.unwrap_or_default()),
            Self::Stop { .. } => agent.and_then(one),
            Self::SessionStart { source, .. } => one(source.into()),
            Self::SessionEnd(reason) => one(reason.into()),
            Self::PreCompact { by_hand, .. } => one(trigger(*by_hand)),
            Self::Notification(kind) => one(kind.name()),
        }
    }

    pub(super) fn tool_use_id(&self) -> Option<&ToolUseId> {
        match self {
            Self::PreToolUse(call)
            | Self::PostToolUse { call, .. }
            | Self::PostToolUseFailure { call, .. }
            | Self::PermissionRequest(call) => Some(call.id),
            _ => None,
        }
    }
}

impl<'a> HookToolCall<'a> {
    /// All names of the tool.
    fn names(&self) -> Vec<&'a str> {
        match canonical_name(self.tool) {
            "AgentTool" => vec!["Agent", "Task", "AgentTool"],
            // A hook on agents applies however they are started.
            name if starts_agents(name) => vec!["Agent", "Task", "AgentTool", name],
            name => vec![name],
        }
    }

    /// The input with the field names that scripts know and absolute paths. The tool accepts both names.
    pub(super) fn script_input(&self) -> Value {
        let mut input = self.input.clone();
        if canonical_name(self.tool) == "AgentTool"
            && let Some(fields) = input.as_object_mut()
            && let Some(agent) = fields.remove("agent")
        {
            fields.insert("subagent_type".to_owned(), agent);
        }
        let field = match canonical_name(self.tool) {
            "Read" | "Write" | "Edit" => "file_path",
            "Grep" => "path",
            _ => return input,
        };
        if let (Some(path), Some(file)) = (input.get_mut(field), self.file.and_then(Path::to_str)) {
            *path = file.into();
        }
        input
    }

    /// The name that scripts know it by.
    pub(super) fn script_name(&self) -> &'a str {
        if self.tool == "AgentTool" { "Agent" } else { self.tool }
    }
}

impl NotificationKind<'_> {
    pub(super) fn name(self) -> &'static str {
        self.into()
    }
}

/// The cause of a compaction.
pub(super) fn trigger(by_hand: bool) -> &'static str {
    if by_hand { "manual" } else { "auto" }
}
