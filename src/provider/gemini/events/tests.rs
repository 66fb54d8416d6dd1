use pretty_assertions::assert_eq;
use serde_json::json;

use super::super::super::error::ErrorKind;
use super::super::super::test_server::{decode, decode_reply};
use super::*;
use crate::protocol::{ContentBlock, Reply};

fn read(chunks: &[Value]) -> Result<Vec<StreamEvent>, ProviderError> {
    decode(GeminiDecoder::default(), chunks)
}

fn reply(chunks: &[Value]) -> Reply {
    decode_reply(GeminiDecoder::default(), chunks)
}

fn chunk(parts: &Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}],
        "modelVersion": "gemini-3.8-flash", "responseId": "r1"})
}

fn text(text: &str) -> Value {
    chunk(&json!([{"text": text}]))
}

fn finish(reason: &str) -> Value {
    json!({"candidates": [{"finishReason": reason}]})
}

fn thought(thinking: &str, signed: SignedContent<'_>) -> ContentBlock {
    ContentBlock::Thinking { thinking: thinking.into(), signature: signed.encode() }
}

fn call(id: &str, args: &Value) -> Value {
    json!({"functionCall": {"id": id, "name": "Read", "args": args}})
}

fn tool_use(id: &str, input: Value) -> ContentBlock {
    ContentBlock::ToolUse {
        id: ToolUseId::new(id),
        name: "Read".into(),
        input: Box::new(input),
        malformed: None,
    }
}

#[test]
fn a_whole_answer_is_read() {
    let mut first = call("id-1", &json!({"p": "a"}));
    first["thoughtSignature"] = json!("SIG-1");
    let usage = json!({"promptTokenCount": 100, "cachedContentTokenCount": 64,
        "toolUsePromptTokenCount": 3, "candidatesTokenCount": 20, "thoughtsTokenCount": 9,
        "totalTokenCount": 132});
    let mut last = finish("STOP");
    last["usageMetadata"] = usage;
    let reply = reply(&[
        chunk(&json!([{"text": "h", "thought": true}])),
        chunk(&json!([{"text": "m", "thought": true}, {"text": "Hel"}])),
        text("lo"),
        chunk(&json!([{"text": "more", "thought": true}, first, call("id-2", &json!({}))])),
        last,
    ]);
    let expected = Reply {
        id: "r1".into(),
        model: "gemini-3.8-flash".into(),
        content: vec![
            ContentBlock::Thinking { thinking: "hm".into(), signature: String::new() },
            ContentBlock::text("Hello"),
            thought("more", SignedContent::Call("SIG-1")),
            tool_use("id-1", json!({"p": "a"})),
            tool_use("id-2", json!({})),
        ],
        stop_reason: StopReason::ToolUse,
        usage: Usage {
            input_tokens: 39,
            output_tokens: 29,
            cache_read_input_tokens: 64,
            cache_creation_input_tokens: 0,
        },
    };
    assert_eq!(reply, expected);
}

#[test]
fn a_signature_of_a_text_stands_behind_it_and_tears_nothing() {
    let chunks = [
        chunk(&json!([{"text": "Hel", "thoughtSignature": "SIG-1"}])),
        text("lo"),
        chunk(&json!([{"text": "", "thoughtSignature": "SIG-2"}])),
        finish("STOP"),
    ];
    let expected = [
        ContentBlock::text("Hello"),
        thought("", SignedContent::Text("SIG-1")),
        thought("", SignedContent::Text("SIG-2")),
    ];
    assert_eq!(reply(&chunks).content, expected);
    let unsigned = chunk(&json!([
        {"text": "go", "thoughtSignature": "SIG-1"}, {"functionCall": {"id": "i", "name": "Read"}},
    ]));
    let expected = [
        ContentBlock::text("go"),
        thought("", SignedContent::Text("SIG-1")),
        tool_use("i", json!({})),
    ];
    assert_eq!(reply(&[unsigned, finish("STOP")]).content, expected);
}

#[test]
fn calls_without_an_id_of_their_own_get_one() {
    let calls = json!([
        {"functionCall": {"name": "Read", "args": null}}, call("x", &json!({})), call("x", &json!({})),
        call("", &json!({})),
    ]);
    let reply = reply(&[chunk(&calls), finish("STOP")]);
    let ids: Vec<_> = reply
        .content
        .iter()
        .map(|block| match block {
            ContentBlock::ToolUse { id, .. } => id,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(ids[0].is_generated() && ids[2].is_generated() && ids[3].is_generated(), "{ids:?}");
    assert_eq!(ids[1].as_str(), "x");
}

#[test]
fn the_reason_of_the_end_is_told() {
    let table = [
        ("STOP", StopReason::EndTurn),
        ("MAX_TOKENS", StopReason::MaxTokens),
        ("SAFETY", StopReason::Refusal),
        ("PROHIBITED_CONTENT", StopReason::Refusal),
        ("RECITATION", StopReason::Refusal),
        ("NEWS", StopReason::Other("NEWS".into())),
    ];
    for (name, expected) in table {
        assert_eq!(reply(&[text("a"), finish(name)]).stop_reason, expected, "{name}");
    }
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {}});
    assert_eq!(reply(&[blocked]).stop_reason, StopReason::Refusal);
}

#[test]
fn a_call_that_the_model_could_not_write_is_a_failure_that_may_pass() {
    let mut last = finish("MALFORMED_FUNCTION_CALL");
    last["candidates"][0]["finishMessage"] = json!("Malformed function call: print(");
    let error = read(&[text("a"), last]).unwrap_err();
    assert_eq!(
        error,
        ProviderError::failed_inside("MALFORMED_FUNCTION_CALL", "Malformed function call: print(")
    );
}

#[test]
fn failures_are_reported_in_each_of_their_shapes() {
    let error = json!({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}});
    for event in [error.clone(), json!([error])] {
        match read(&[text("a"), event.clone()]) {
            Err(error) => assert_eq!(error.message, "busy", "{event}"),
            other => panic!("{event}: {other:?}"),
        }
    }
}

#[test]
fn what_is_cut_or_makes_no_sense_is_no_answer() {
    assert_eq!(read(&[text("half")]), Err(ProviderError::cut()));
    assert_eq!(read(&[json!({"choices": []})]).unwrap_err().kind, ErrorKind::Protocol);
    assert_eq!(read(&[json!("hello")]).unwrap_err().kind, ErrorKind::Protocol);
}
