//! The place of an event: the session, the agent, its directory and mode.

use std::path::{Path, PathBuf};

use crate::protocol::{AgentId, EventSink, PermissionMode, SessionId};

/// The session's fields in a hook's input.
#[derive(Clone, Debug, Default)]
pub struct HookSession {
    /// Absent before a session is open.
    pub id: Option<SessionId>,
    /// Empty if the session is not stored.
    pub transcript: PathBuf,
}

/// A sub-agent's fields in a hook's input.
#[derive(Debug)]
pub(super) struct HookAgent {
    pub id: AgentId,
    pub kind: String,
    /// Empty if the session is not stored.
    pub transcript: PathBuf,
}

/// The place of an event, and the sink for errors of its hooks.
#[derive(Clone, Copy)]
pub struct HookContext<'a> {
    /// The agent's base directory.
    pub cwd: &'a Path,
    pub mode: PermissionMode,
    pub events: &'a EventSink,
}
