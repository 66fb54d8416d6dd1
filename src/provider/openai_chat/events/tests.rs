use pretty_assertions::assert_eq;
use serde_json::json;

use super::super::super::error::ErrorKind;
use super::super::super::test_server::{decode, decode_reply};
use super::*;
use crate::protocol::{ContentBlock, Reply, ToolUseId};

fn read(data: &[String]) -> Result<Vec<StreamEvent>, ProviderError> {
    decode(ChatDecoder::default(), data)
}

fn reply(data: &[String]) -> Reply {
    decode_reply(ChatDecoder::default(), data)
}

fn chunk(delta: &Value, finish: Option<&str>) -> String {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "llama3",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": null,
    })
    .to_string()
}

fn text(text: &str) -> String {
    chunk(&json!({"content": text}), None)
}

fn finish(reason: &str) -> String {
    chunk(&json!({}), Some(reason))
}

fn done() -> String {
    "[DONE]".into()
}

fn call() -> Value {
    json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "Read", "arguments": "{}"}}]})
}

#[test]
fn a_whole_answer_is_read() {
    let usage = json!({"id": "chatcmpl-1", "choices": [], "usage": {
        "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 16},
    }});
    let reply = reply(&[
        chunk(&json!({"role": "assistant", "content": ""}), None),
        chunk(&json!({"reasoning_content": "h", "reasoning": "h"}), None),
        chunk(&json!({"reasoning": "m"}), None),
        text("Hel"),
        text("lo"),
        chunk(&call(), None),
        finish("tool_calls"),
        usage.to_string(),
        done(),
    ]);
    assert_eq!((&*reply.id, &*reply.model), ("chatcmpl-1", "llama3"));
    assert_eq!(reply.stop_reason, StopReason::ToolUse);
    let usage = Usage {
        input_tokens: 20,
        output_tokens: 20,
        cache_read_input_tokens: 64,
        cache_creation_input_tokens: 16,
    };
    assert_eq!(reply.usage, usage);
    let expected = vec![
        ContentBlock::Thinking { thinking: "hm".into(), signature: String::new() },
        ContentBlock::text("Hello"),
        ContentBlock::ToolUse {
            id: ToolUseId::new("a"),
            name: "Read".into(),
            input: Box::new(json!({})),
            malformed: None,
        },
    ];
    assert_eq!(reply.content, expected);
}

#[test]
fn each_block_ends_before_the_next_begins() {
    let events = read(&[
        chunk(&json!({"reasoning": "a"}), None),
        text("b"),
        chunk(&call(), None),
        text("c"),
        finish("stop"),
    ]);
    let order: Vec<_> = events
        .unwrap()
        .iter()
        .filter_map(|event| match event {
            StreamEvent::BlockStart { index, .. } => Some(format!("+{index}")),
            StreamEvent::BlockStop { index } => Some(format!("-{index}")),
            _ => None,
        })
        .collect();
    assert_eq!(order, ["+0", "-0", "+1", "-1", "+2", "+3", "-3", "-2"]);
}

#[test]
fn finish_reasons_are_mapped_and_a_call_makes_stop_a_tool_use() {
    let table = [
        ("stop", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("tool_calls", StopReason::ToolUse),
        ("content_filter", StopReason::Refusal),
        ("eos", StopReason::Other("eos".into())),
    ];
    for (name, reason) in table {
        assert_eq!(reply(&[text("a"), finish(name)]).stop_reason, reason);
    }
    assert_eq!(reply(&[chunk(&call(), Some("stop"))]).stop_reason, StopReason::ToolUse);
    assert_eq!(reply(&[chunk(&call(), Some("length"))]).stop_reason, StopReason::MaxTokens);
    let refused = reply(&[chunk(&json!({"refusal": "No."}), None), finish("stop")]);
    assert_eq!(refused.stop_reason, StopReason::Refusal);
    assert_eq!(refused.content, [ContentBlock::text("No.")]);
}

#[test]
fn either_a_finish_reason_or_the_end_mark_makes_an_answer_whole() {
    assert_eq!(reply(&[text("a"), finish("stop")]).stop_reason, StopReason::EndTurn);
    assert_eq!(reply(&[text("a"), done()]).stop_reason, StopReason::EndTurn);
    assert_eq!(reply(&[chunk(&call(), None), done()]).stop_reason, StopReason::ToolUse);
    assert_eq!(read(&[text("a")]), Err(ProviderError::cut()));
    assert_eq!(read(&[]), Err(ProviderError::cut()));
    assert_eq!(reply(&[text("a"), done()]).usage, Usage::default());
}

#[test]
fn an_answer_that_does_not_stream_is_read_too() {
    let whole = json!({"id": "c", "object": "chat.completion", "model": "m", "choices": [{
        "index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": [{"type": "text", "text": "Hi"}],
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "Read", "arguments": "{}"}},
                {"id": "b", "type": "function", "function": {"name": "Read", "arguments": "{}"}},
            ],
        },
    }], "usage": {"prompt_tokens": 3, "completion_tokens": 2}});
    let reply = reply(&[whole.to_string()]);
    assert_eq!(reply.content.len(), 3);
    assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (3, 2));
}

#[test]
fn an_answer_without_an_id_gets_one() {
    let data = json!({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]});
    assert!(reply(&[data.to_string()]).id.starts_with("msg_"));
}

#[test]
fn a_reported_failure_and_nonsense_end_the_answer() {
    let failures = [
        json!({"error": {"message": "m", "type": "t", "code": "c"}}),
        json!({"error": "m"}),
        json!({"id": "x", "choices": [], "error": {"message": "m", "code": 502}}),
    ];
    for failure in failures {
        let fault = read(&[text("a"), failure.to_string()]);
        let message = match &fault {
            Err(error) => error.message.as_str(),
            _ => "",
        };
        assert_eq!(message, "m", "{fault:?}");
    }
    for nonsense in ["{", "hello", "[]", "{}", r#"{"choices":3}"#] {
        let fault = read(&[nonsense.to_owned()]);
        assert_eq!(fault.unwrap_err().kind, ErrorKind::Protocol, "{nonsense}");
    }
}
