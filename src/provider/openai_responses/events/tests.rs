use pretty_assertions::assert_eq;
use serde_json::json;

use super::super::super::error::ErrorKind;
use super::super::super::test_server::{decode, decode_reply};
use super::*;
use crate::protocol::{ContentBlock, Reply};

fn read(events: &[Value]) -> Result<Vec<StreamEvent>, ProviderError> {
    decode(ResponsesDecoder::default(), events)
}

fn reply(events: &[Value]) -> Reply {
    decode_reply(ResponsesDecoder::default(), events)
}

fn created() -> Value {
    json!({"type": "response.created", "response": {"id": "resp_1", "model": "gpt-5.5", "output": []}})
}

fn added(at: usize, item: &Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": at, "item": item})
}

fn done(at: usize, item: &Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": at, "item": item})
}

fn delta(kind: &str, at: usize, part: usize, text: &str) -> Value {
    json!({"type": format!("response.{kind}.delta"), "output_index": at, "content_index": part, "delta": text})
}

fn summary(at: usize, part: usize, text: &str) -> Value {
    json!({"type": "response.reasoning_summary_text.delta", "output_index": at, "summary_index": part, "delta": text})
}

fn call(id: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": "Read", "arguments": arguments})
}

fn message(text: &str) -> Value {
    json!({"type": "message", "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn completed() -> Value {
    json!({"type": "response.completed", "response": {"id": "resp_1", "output": []}})
}

fn tool_use(id: &str, path: &str) -> ContentBlock {
    ContentBlock::ToolUse {
        id: ToolUseId::new(id),
        name: "Read".into(),
        input: Box::new(json!({"p": path})),
        malformed: None,
    }
}

#[test]
fn a_whole_answer_is_read() {
    let item = json!({
        "type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA",
        "summary": [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}],
    });
    let usage = json!({
        "input_tokens": 100, "output_tokens": 20, "total_tokens": 120,
        "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 16},
        "output_tokens_details": {"reasoning_tokens": 9},
    });
    let reply = reply(&[
        created(),
        json!({"type": "response.in_progress", "response": {}}),
        added(0, &json!({"type": "reasoning", "id": "rs_1", "summary": []})),
        summary(0, 0, "o"),
        summary(0, 0, "ne"),
        summary(0, 1, "two"),
        done(0, &item),
        added(1, &message("")),
        delta("output_text", 1, 0, "Hel"),
        delta("output_text", 1, 0, "lo"),
        json!({"type": "response.output_text.done", "output_index": 1, "content_index": 0, "text": "Hello"}),
        done(1, &message("Hello")),
        added(2, &call("call_a", "")),
        added(3, &call("call_b", "")),
        delta("function_call_arguments", 3, 0, r#"{"p":"#),
        delta("function_call_arguments", 2, 0, r#"{"p":"a"}"#),
        delta("function_call_arguments", 3, 0, r#""b"}"#),
        done(2, &call("call_a", r#"{"p":"a"}"#)),
        done(3, &call("call_b", r#"{"p":"b"}"#)),
        json!({"type": "response.completed", "response": {"id": "resp_1", "output": [item], "usage": usage}}),
    ]);
    let thinking =
        ContentBlock::Thinking { thinking: "one\n\ntwo".into(), signature: item.to_string() };
    let expected = Reply {
        id: "resp_1".into(),
        model: "gpt-5.5".into(),
        content: vec![
            thinking,
            ContentBlock::text("Hello"),
            tool_use("call_a", "a"),
            tool_use("call_b", "b"),
        ],
        stop_reason: StopReason::ToolUse,
        usage: Usage {
            input_tokens: 20,
            output_tokens: 20,
            cache_read_input_tokens: 64,
            cache_creation_input_tokens: 16,
        },
    };
    // The order of an item's fields does not matter.
    let sorted = |mut reply: Reply| {
        if let ContentBlock::Thinking { signature, .. } = &mut reply.content[0] {
            *signature = reasoning::decode(signature).unwrap().to_string();
            let value: std::collections::BTreeMap<String, Value> =
                serde_json::from_str(signature).unwrap();
            *signature = serde_json::to_string(&value).unwrap();
        }
        reply
    };
    assert_eq!(sorted(reply), sorted(expected));
}

#[test]
fn items_that_do_not_stream_are_read_when_they_are_whole() {
    let thought = json!({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]});
    let items = [thought, message("Hello"), call("", r#"{"p":"a"}"#)];
    let streamed =
        [created(), done(0, &items[0]), done(1, &items[1]), done(2, &items[2]), completed()];
    let at_once = [json!({"type": "response.completed", "response": {"output": items}})];
    let object = [json!({"object": "response", "id": "resp_1", "error": null, "output": items})];
    for events in [&streamed[..], &at_once[..], &object[..]] {
        let reply = reply(events);
        assert_eq!(reply.content.len(), 3, "{reply:?}");
        let unsigned = ContentBlock::Thinking { thinking: "hm".into(), signature: String::new() };
        assert_eq!(reply.content[0], unsigned);
        assert_eq!(reply.content[1], ContentBlock::text("Hello"));
        let ContentBlock::ToolUse { id, input, .. } = &reply.content[2] else {
            panic!("{reply:?}")
        };
        assert!(id.is_generated(), "{id}");
        assert_eq!(**input, json!({"p": "a"}));
        assert!(!reply.id.is_empty());
    }
}

#[test]
fn the_reason_of_the_end_is_told() {
    let incomplete = |reason: &str| {
        json!({"type": "response.incomplete",
        "response": {"incomplete_details": {"reason": reason}}})
    };
    let table = [
        (completed(), StopReason::EndTurn),
        (incomplete("max_output_tokens"), StopReason::MaxTokens),
        (incomplete("content_filter"), StopReason::Refusal),
        (incomplete("tired"), StopReason::Other("tired".into())),
    ];
    for (last, expected) in table {
        assert_eq!(reply(&[created(), last]).stop_reason, expected);
    }
    let refused = reply(&[created(), delta("refusal", 0, 0, "No."), completed()]);
    assert_eq!(refused.stop_reason, StopReason::Refusal);
    let refusal = json!({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]});
    assert_eq!(
        reply(&[created(), done(0, &refusal), completed()]).stop_reason,
        StopReason::Refusal
    );
    let cut = [created(), added(0, &call("a", "")), incomplete("max_output_tokens")];
    assert_eq!(reply(&cut).stop_reason, StopReason::MaxTokens);
}

#[test]
fn failures_are_reported_in_each_of_their_shapes() {
    let table = [
        (json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow"}), "slow"),
        (json!({"type": "error", "error": {"type": "server_error", "message": "oh"}}), "oh"),
        (json!({"error": {"message": "gateway"}}), "gateway"),
        (
            json!({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "down"}}}),
            "down",
        ),
        (json!({"object": "response", "error": {"message": "whole"}}), "whole"),
    ];
    for (event, message) in table {
        match read(&[created(), event.clone()]) {
            Err(error) => assert_eq!(error.message, message, "{event}"),
            other => panic!("{event}: {other:?}"),
        }
    }
}

#[test]
fn what_is_cut_or_makes_no_sense_is_no_answer() {
    let cut = [created(), delta("output_text", 0, 0, "half")];
    assert_eq!(read(&cut), Err(ProviderError::cut()));
    assert_eq!(read(&[json!({"choices": []})]).unwrap_err().kind, ErrorKind::Protocol);
    let unknown = [
        created(),
        json!({"type": "response.news"}),
        done(0, &json!({"type": "news"})),
        completed(),
    ];
    assert_eq!(reply(&unknown).content, []);
}
