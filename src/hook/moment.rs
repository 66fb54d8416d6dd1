//! What hooks hear of.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::protocol::{HookEvent, ResultBlock, ToolUseId};
use crate::tool::{canonical_name, starts_agents};

/// Something that happens, as its hooks hear of it.
#[derive(Clone, Copy, Debug)]
pub enum Moment<'a> {
    /// A valid call is about to be judged and run.
    PreToolUse(ToolCall<'a>),
    /// A call has succeeded.
    PostToolUse {
        call: ToolCall<'a>,
        response: &'a [ResultBlock],
        took: Duration,
    },
    /// A call has run and failed.
    PostToolUseFailure {
        call: ToolCall<'a>,
        error: &'a str,
        /// Whether the user stopped it.
        interrupted: bool,
        took: Duration,
    },
    /// All calls of a message have their results.
    PostToolBatch(&'a [FinishedCall<'a>]),
    /// The user is about to be asked about a call.
    PermissionRequest(ToolCall<'a>),
    /// A person's prompt is about to enter the conversation.
    UserPromptSubmit {
        prompt: &'a str,
    },
    SubagentStart,
    /// An agent's run is about to end, or has ended. Sub-agents' hooks hear of it under another name.
    Stop {
        /// A hook has made it go on before.
        again: bool,
        /// Its last text.
        last: &'a str,
    },
    SessionStart {
        opening: Opening,
        model: Option<&'a str>,
    },
    SessionEnd(Leaving),
    PreCompact {
        by_hand: bool,
        instructions: Option<&'a str>,
    },
    Notification(Need<'a>),
}

/// A tool call.
#[derive(Clone, Copy, Debug)]
pub struct ToolCall<'a> {
    pub id: &'a ToolUseId,
    pub tool: &'a str,
    pub input: &'a Value,
    /// The file or folder that a file tool opens for this input, absolute.
    pub file: Option<&'a Path>,
}

/// A tool call and its result.
#[derive(Clone, Copy, Debug)]
pub struct FinishedCall<'a> {
    pub call: ToolCall<'a>,
    pub response: &'a [ResultBlock],
}

/// How a session begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// The program starts with a new one.
    Startup,
    /// A stored one is gone on with.
    Resume,
    /// The one before was cleared away.
    Clear,
}

/// Why a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// A new one takes its place.
    Clear,
    /// A stored one takes its place.
    Resume,
    /// The person quits.
    PromptInputExit,
    Other,
}

/// What the person should look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need<'a> {
    /// A question about a call of this tool waits.
    Permission { tool: &'a str },
    /// The work is done, and the next prompt is waited for.
    Idle,
}

impl Moment<'_> {
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

    /// What matchers are compared with: the names of the tool, the kind of the agent, or the cause.
    /// `None` where every hook is meant.
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
            Self::SessionStart { opening, .. } => one(opening.name()),
            Self::SessionEnd(leaving) => one(leaving.name()),
            Self::PreCompact { by_hand, .. } => one(trigger(*by_hand)),
            Self::Notification(need) => one(need.name()),
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

impl<'a> ToolCall<'a> {
    /// All names of the tool.
    fn names(&self) -> Vec<&'a str> {
        match canonical_name(self.tool) {
            "AgentTool" => vec!["Agent", "Task", "AgentTool"],
            // A guard of agents is one however they are started.
            name if starts_agents(name) => vec!["Agent", "Task", "AgentTool", name],
            name => vec![name],
        }
    }

    /// The input with the fields that scripts know, whose paths are absolute. The tool takes both names.
    pub(super) fn known_input(&self) -> Value {
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
    pub(super) fn known_as(&self) -> &'a str {
        if self.tool == "AgentTool" { "Agent" } else { self.tool }
    }
}

impl Opening {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Resume => "resume",
            Self::Clear => "clear",
        }
    }
}

impl Leaving {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Clear => "clear",
            Self::Resume => "resume",
            Self::PromptInputExit => "prompt_input_exit",
            Self::Other => "other",
        }
    }
}

impl Need<'_> {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Permission { .. } => "permission_prompt",
            Self::Idle => "idle_prompt",
        }
    }
}

/// What makes a conversation be summarized.
pub(super) fn trigger(by_hand: bool) -> &'static str {
    if by_hand { "manual" } else { "auto" }
}
