//! The events that hooks run on.

use serde::{Deserialize, Serialize};

/// An event that runs the user's own commands. Named as in settings files.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantNames,
)]
pub enum HookEvent {
    /// Before a tool call, after its input was checked.
    PreToolUse,
    /// After a tool call that ran.
    PostToolUse,
    /// After a tool call that ran and failed.
    PostToolUseFailure,
    /// After all tool calls of one message, before the model reads their results.
    PostToolBatch,
    /// Before the user is asked about a tool call.
    PermissionRequest,
    /// Before a prompt enters the conversation.
    UserPromptSubmit,
    SubagentStart,
    /// A sub-agent is about to end.
    SubagentStop,
    /// The main agent is about to end its turn.
    Stop,
    SessionStart,
    SessionEnd,
    /// Before a conversation is replaced by a summary.
    PreCompact,
    /// When the user is needed, or was shown a notice.
    Notification,
}

impl HookEvent {
    /// The names of all events.
    pub const NAMES: &'static [&'static str] = <Self as strum::VariantNames>::VARIANTS;

    /// Returns the name in files and on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the event of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}
