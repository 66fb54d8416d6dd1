use pretty_assertions::assert_eq;
use serde_json::json;

use super::super::super::error::ErrorKind;
use super::super::super::test_server::{decode, decode_reply};
use super::*;
use crate::protocol::{ContentBlock, Reply};

fn read(events: &[Value]) -> Result<Vec<StreamEvent>, ProviderError> {
    decode(AnthropicDecoder::default(), events)
}

fn reply(events: &[Value]) -> Reply {
    decode_reply(AnthropicDecoder::default(), events)
}

fn start(usage: &Value) -> Value {
    json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5",
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage,
    }})
}

fn block(index: usize, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: usize, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn stop(index: usize) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn message_delta(reason: &str, usage: &Value) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": usage})
}

fn message_stop() -> Value {
    json!({"type": "message_stop"})
}

#[test]
fn a_whole_answer_is_read() {
    let reply = reply(&[
        start(
            &json!({"input_tokens": 3, "output_tokens": 1, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 5, "service_tier": "standard"}),
        ),
        block(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
        json!({"type": "ping"}),
        delta(0, &json!({"type": "thinking_delta", "thinking": "hm"})),
        delta(0, &json!({"type": "signature_delta", "signature": "s=="})),
        stop(0),
        block(1, &json!({"type": "redacted_thinking", "data": "xx"})),
        stop(1),
        block(2, &json!({"type": "text", "text": ""})),
        delta(2, &json!({"type": "text_delta", "text": "Hel"})),
        delta(2, &json!({"type": "citations_delta", "citation": {}})),
        delta(2, &json!({"type": "text_delta", "text": "lo"})),
        stop(2),
        block(3, &json!({"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}})),
        delta(3, &json!({"type": "input_json_delta", "partial_json": ""})),
        delta(3, &json!({"type": "input_json_delta", "partial_json": "{\"a\""})),
        delta(3, &json!({"type": "input_json_delta", "partial_json": ":1}"})),
        stop(3),
        message_delta("tool_use", &json!({"output_tokens": 20})),
        message_delta("tool_use", &json!({"output_tokens": 25, "input_tokens": 4})),
        message_stop(),
    ]);
    assert_eq!((&*reply.id, &*reply.model), ("msg_1", "claude-opus-5"));
    assert_eq!(reply.stop_reason, StopReason::ToolUse);
    let usage = Usage {
        input_tokens: 4,
        output_tokens: 25,
        cache_read_input_tokens: 7,
        cache_creation_input_tokens: 5,
    };
    assert_eq!(reply.usage, usage);
    let expected = vec![
        ContentBlock::Thinking { thinking: "hm".into(), signature: "s==".into() },
        ContentBlock::RedactedThinking { data: "xx".into() },
        ContentBlock::text("Hello"),
        ContentBlock::ToolUse {
            id: ToolUseId::new("toolu_1"),
            name: "Read".into(),
            input: Box::new(json!({"a": 1})),
            malformed: None,
        },
    ];
    assert_eq!(reply.content, expected);
}

#[test]
fn what_is_new_to_us_is_passed_over() {
    let reply = reply(&[
        json!({"type": "greeting", "text": "hi"}),
        start(&json!({})),
        block(0, &json!({"type": "fallback", "from": "a", "to": "b"})),
        stop(0),
        block(1, &json!({"type": "server_tool_use", "id": "x", "name": "web", "input": {}})),
        delta(1, &json!({"type": "input_json_delta", "partial_json": "{"})),
        stop(1),
        block(2, &json!({"type": "text", "text": "early "})),
        delta(2, &json!({"type": "dance_delta", "steps": 3})),
        delta(2, &json!({"type": "text_delta", "text": "late"})),
        delta(9, &json!({"type": "text_delta", "text": "nowhere"})),
        stop(9),
        message_delta("tired", &Value::Null),
        message_stop(),
    ]);
    assert_eq!(reply.content, [ContentBlock::text("early late")]);
    assert_eq!(reply.stop_reason, StopReason::Other("tired".into()));
}

#[test]
fn every_stop_reason_has_its_name() {
    for name in [
        "end_turn",
        "tool_use",
        "max_tokens",
        "stop_sequence",
        "pause_turn",
        "refusal",
        "model_context_window_exceeded",
    ] {
        let reason = stop_reason(name.into());
        assert!(!matches!(reason, StopReason::Other(_)), "{name}");
        assert_eq!(serde_json::to_value(&reason).unwrap(), name);
    }
}

#[test]
fn an_input_given_whole_at_the_start_counts_unless_pieces_follow() {
    let input = |pieces: &[&str]| {
        let mut events = vec![
            start(&json!({})),
            block(0, &json!({"type": "tool_use", "id": "a", "name": "Read", "input": {"a": 1}})),
        ];
        let deltas = pieces
            .iter()
            .map(|piece| delta(0, &json!({"type": "input_json_delta", "partial_json": piece})));
        events.extend(deltas);
        events.push(message_stop());
        match &reply(&events).content[0] {
            ContentBlock::ToolUse { input, .. } => (**input).clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(input(&[]), json!({"a": 1}));
    assert_eq!(input(&["{\"a\":", "2}"]), json!({"a": 2}));
}

#[test]
fn blocks_left_open_are_closed_at_the_end() {
    let events =
        read(&[start(&json!({})), block(0, &json!({"type": "text", "text": "a"})), message_stop()]);
    assert_eq!(
        events.unwrap()[3..],
        [StreamEvent::BlockStop { index: 0 }, StreamEvent::MessageStop]
    );
}

#[test]
fn an_answer_without_its_end_was_cut() {
    let events = [start(&json!({})), message_delta("end_turn", &json!({"output_tokens": 1}))];
    assert_eq!(read(&events), Err(ProviderError::cut()));
}

#[test]
fn a_reported_failure_and_nonsense_end_the_answer() {
    let failure =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let overloaded = ProviderError::new(ErrorKind::Overloaded, "Overloaded");
    assert_eq!(read(&[start(&json!({})), failure]), Err(overloaded));
    let gateway = read(&[json!({"error": "down"})]);
    assert_eq!(gateway, Err(ProviderError::failed_inside("", "down")));
    let failure = json!({"type": "error", "error": {"type": "api_error", "message": "oops"}});
    let failed = ProviderError::failed_inside("api_error", "oops");
    assert_eq!(read(&[start(&json!({})), failure]), Err(failed));
    for nonsense in ["{", "[]", "hello", r#"{"a":1}"#, r#"{"type":"message","content":[]}"#] {
        let mut decoder = AnthropicDecoder::default();
        let fault = decoder.event(nonsense, &mut Vec::new());
        assert_eq!(fault.unwrap_err().kind, ErrorKind::Protocol, "{nonsense}");
    }
}
