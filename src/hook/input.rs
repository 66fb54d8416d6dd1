//! The JSON that a hook reads. Field names and shapes are those that existing scripts read.

use serde_json::{Map, Value, json};

use super::moment::{FinishedCall, Moment, Need, ToolCall, trigger};
use super::{Here, Hooks};
use crate::protocol::{HookEvent, ResultBlock};

/// What the hooks of a moment are told.
pub(super) fn of(event: HookEvent, moment: &Moment<'_>, hooks: &Hooks, here: Here<'_>) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    let session = hooks.session.id.map(|id| id.to_string()).unwrap_or_default();
    put("session_id", session.into());
    put("transcript_path", hooks.session.transcript.display().to_string().into());
    put("cwd", here.cwd.display().to_string().into());
    put("permission_mode", here.mode.name().into());
    put("hook_event_name", event.name().into());
    if let Some(agent) = &hooks.agent {
        put("agent_id", agent.id.to_string().into());
        put("agent_type", agent.kind.as_str().into());
    }
    match moment {
        Moment::PreToolUse(call) => put_call(*call, &mut put),
        Moment::PostToolUse { call, response, took } => {
            put_call(*call, &mut put);
            put("tool_response", self::response(*call, response));
            put("duration_ms", u64::try_from(took.as_millis()).unwrap_or(u64::MAX).into());
        }
        Moment::PostToolUseFailure { call, error, interrupted, took } => {
            put_call(*call, &mut put);
            put("error", (*error).into());
            put("is_interrupt", (*interrupted).into());
            put("duration_ms", u64::try_from(took.as_millis()).unwrap_or(u64::MAX).into());
        }
        Moment::PostToolBatch(calls) => put("tool_calls", calls.iter().map(finished).collect()),
        Moment::PermissionRequest(call) => put_call(*call, &mut put),
        Moment::UserPromptSubmit { prompt } => put("prompt", (*prompt).into()),
        Moment::SubagentStart => {}
        Moment::Stop { again, last } => {
            put("stop_hook_active", (*again).into());
            put("last_assistant_message", (*last).into());
            if let Some(agent) = &hooks.agent {
                put("agent_transcript_path", agent.transcript.display().to_string().into());
            }
        }
        Moment::SessionStart { opening, model } => {
            put("source", opening.name().into());
            model.iter().for_each(|model| put("model", (*model).into()));
        }
        Moment::SessionEnd(leaving) => put("reason", leaving.name().into()),
        Moment::PreCompact { by_hand, instructions } => {
            put("trigger", trigger(*by_hand).into());
            put("custom_instructions", instructions.unwrap_or_default().into());
        }
        Moment::Notification(need) => {
            let (title, message) = words(*need);
            put("message", message.into());
            put("title", title.into());
            put("notification_type", need.name().into());
        }
    }
    Value::Object(fields)
}

fn put_call(call: ToolCall<'_>, put: &mut impl FnMut(&str, Value)) {
    put("tool_name", call.known_as().into());
    put("tool_input", call.known_input());
    put("tool_use_id", call.id.to_string().into());
}

/// One call of a batch. Its result is what the model reads.
fn finished(finished: &FinishedCall<'_>) -> Value {
    let FinishedCall { call, response } = finished;
    json!({
        "tool_name": call.known_as(), "tool_input": call.known_input(), "tool_use_id": call.id,
        "tool_response": response,
    })
}

/// A result in the shape that scripts know of the tool.
fn response(call: ToolCall<'_>, content: &[ResultBlock]) -> Value {
    let text = texts(content);
    match call.tool {
        "Bash" => json!({ "stdout": text, "stderr": "", "interrupted": false, "isImage": false }),
        "Write" | "Edit" => {
            json!({ "filePath": call.known_input()["file_path"], "success": true, "content": text })
        }
        _ => json!({ "content": content }),
    }
}

fn texts(content: &[ResultBlock]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        ResultBlock::Text { text } => Some(text.as_str()),
        ResultBlock::Image { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn words(need: Need<'_>) -> (&'static str, String) {
    match need {
        Need::Permission { tool } => {
            ("Permission needed", format!("caliban needs your permission to use {tool}"))
        }
        Need::Idle => ("Waiting for you", "caliban is waiting for your input".to_owned()),
    }
}
