//! The JSON that a hook reads, and what goes into it besides the event: session, agent, directory and
//! mode. Existing scripts rely on its field names and shapes.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::event::{FinishedCall, HookInput, HookToolCall, NotificationKind, trigger};
use crate::protocol::{
    ASK_USER_TOOL, AgentId, EventSink, HookEvent, PermissionMode, ResultBlock, SessionId,
};

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

/// Builds the JSON input of an event's hooks.
pub(super) fn to_json(
    event: HookEvent,
    input: &HookInput<'_>,
    session: &HookSession,
    agent: Option<&HookAgent>,
    context: HookContext<'_>,
) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    let id = session.id.map(|id| id.to_string()).unwrap_or_default();
    put("session_id", id.into());
    put("transcript_path", session.transcript.display().to_string().into());
    put("cwd", context.cwd.display().to_string().into());
    put("permission_mode", context.mode.name().into());
    put("hook_event_name", event.name().into());
    if let Some(agent) = agent {
        put("agent_id", agent.id.to_string().into());
        put("agent_type", agent.kind.as_str().into());
    }
    match input {
        HookInput::PreToolUse(call) => put_call(*call, &mut put),
        HookInput::PostToolUse { call, response, took } => {
            put_call(*call, &mut put);
            put("tool_response", self::response(*call, response));
            put("duration_ms", u64::try_from(took.as_millis()).unwrap_or(u64::MAX).into());
        }
        HookInput::PostToolUseFailure { call, error, interrupted, took } => {
            put_call(*call, &mut put);
            put("error", (*error).into());
            put("is_interrupt", (*interrupted).into());
            put("duration_ms", u64::try_from(took.as_millis()).unwrap_or(u64::MAX).into());
        }
        HookInput::PostToolBatch(calls) => {
            put("tool_calls", calls.iter().map(finished_call).collect());
        }
        HookInput::PermissionRequest(call) => put_call(*call, &mut put),
        HookInput::UserPromptSubmit { prompt } => put("prompt", (*prompt).into()),
        HookInput::SubagentStart => {}
        HookInput::Stop { again, last } => {
            put("stop_hook_active", (*again).into());
            put("last_assistant_message", (*last).into());
            if let Some(agent) = agent {
                put("agent_transcript_path", agent.transcript.display().to_string().into());
            }
        }
        HookInput::SessionStart { source, model } => {
            put("source", <&str>::from(source).into());
            model.iter().for_each(|model| put("model", (*model).into()));
        }
        HookInput::SessionEnd(reason) => put("reason", <&str>::from(reason).into()),
        HookInput::PreCompact { by_hand, instructions } => {
            put("trigger", trigger(*by_hand).into());
            put("custom_instructions", instructions.unwrap_or_default().into());
        }
        HookInput::Notification(kind) => {
            let (title, message) = notification_text(*kind);
            put("message", message.into());
            put("title", title.into());
            put("notification_type", kind.name().into());
        }
    }
    Value::Object(fields)
}

fn put_call(call: HookToolCall<'_>, put: &mut impl FnMut(&str, Value)) {
    put("tool_name", call.script_name().into());
    put("tool_input", call.script_input());
    put("tool_use_id", call.id.to_string().into());
}

/// One call of a batch, with the result that the model reads.
fn finished_call(finished: &FinishedCall<'_>) -> Value {
    let FinishedCall { call, response } = finished;
    json!({
        "tool_name": call.script_name(), "tool_input": call.script_input(), "tool_use_id": call.id,
        "tool_response": response,
    })
}

/// A tool's result in the shape that scripts expect.
fn response(call: HookToolCall<'_>, content: &[ResultBlock]) -> Value {
    let text = ResultBlock::joined_text(content);
    match call.tool {
        "Bash" => json!({ "stdout": text, "stderr": "", "interrupted": false, "isImage": false }),
        "Write" | "Edit" => {
            json!({ "filePath": call.script_input()["file_path"], "success": true, "content": text })
        }
        _ => json!({ "content": content }),
    }
}

fn notification_text(kind: NotificationKind<'_>) -> (&'static str, String) {
    match kind {
        NotificationKind::Permission { tool: ASK_USER_TOOL } => {
            ("Answer needed", "caliban has a question for you".to_owned())
        }
        NotificationKind::Permission { tool } => {
            ("Permission needed", format!("caliban needs your permission to use {tool}"))
        }
        NotificationKind::Idle => {
            ("Waiting for you", "caliban is waiting for your input".to_owned())
        }
    }
}
