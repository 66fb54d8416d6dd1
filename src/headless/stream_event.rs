//! Converts stream events to the format of the Messages API, whichever wire they came over.

use serde_json::{Value, json};

use super::info::SessionInfo;
use crate::protocol::{BlockStart, Delta, StreamEvent};

/// Returns the event object of a `stream_event` frame.
pub(super) fn to_json(event: &StreamEvent, info: &SessionInfo) -> Value {
    match event {
        StreamEvent::MessageStart { id, model, usage } => json!({
            "type": "message_start",
            "message": {
                "id": id, "type": "message", "role": "assistant", "model": model, "content": [],
                "stop_reason": null, "stop_sequence": null, "usage": usage,
            },
        }),
        StreamEvent::BlockStart { index, block } => {
            json!({"type": "content_block_start", "index": index, "content_block": start(block, info)})
        }
        StreamEvent::BlockDelta { index, delta } => {
            json!({"type": "content_block_delta", "index": index, "delta": delta_json(delta)})
        }
        StreamEvent::BlockStop { index } => json!({"type": "content_block_stop", "index": index}),
        StreamEvent::MessageDelta { stop_reason, usage } => json!({
            "type": "message_delta",
            "delta": {"stop_reason": stop_reason, "stop_sequence": null},
            "usage": usage,
        }),
        StreamEvent::MessageStop => json!({"type": "message_stop"}),
    }
}

fn start(block: &BlockStart, info: &SessionInfo) -> Value {
    match block {
        BlockStart::Text => json!({"type": "text", "text": ""}),
        BlockStart::Thinking => json!({"type": "thinking", "thinking": "", "signature": ""}),
        BlockStart::RedactedThinking { data } => json!({"type": "redacted_thinking", "data": data}),
        BlockStart::ToolUse { id, name } => {
            let name = info.call_name(name);
            json!({"type": "tool_use", "id": id, "name": name, "input": {}})
        }
    }
}

fn delta_json(delta: &Delta) -> Value {
    match delta {
        Delta::Text(text) => json!({"type": "text_delta", "text": text}),
        Delta::Thinking(text) => json!({"type": "thinking_delta", "thinking": text}),
        Delta::Signature(signature) => json!({"type": "signature_delta", "signature": signature}),
        Delta::Input(json) => json!({"type": "input_json_delta", "partial_json": json}),
    }
}
