use pretty_assertions::assert_eq;
use serde_json::json;
use url::Url;

use super::*;
use crate::config::models::Thinking;
use crate::protocol::{Message, ToolDetails};

fn json_in(dialect: OpenaiDialect, request: &ModelRequest<'_>) -> Value {
    serde_json::from_slice(&body(request, dialect).unwrap()).unwrap()
}

fn request<'a>(messages: &'a [Message], tools: &'a [ToolSpec]) -> ModelRequest<'a> {
    ModelRequest {
        model: "llama3",
        system: "Be brief.",
        messages,
        tools,
        tool_choice: ToolChoice::Auto,
        max_tokens: 900,
        thinking: Thinking::Adaptive,
        effort: None,
    }
}

fn messages_of(messages: &[Message]) -> Value {
    json_in(OpenaiDialect::Common, &request(messages, &[]))["messages"].take()
}

fn call(id: &str) -> ContentBlock {
    ContentBlock::ToolUse {
        id: ToolUseId::new(id),
        name: "Read".into(),
        input: Box::new(json!({"b": 1, "a": 2})),
        malformed: Some("{".into()),
    }
}

fn result(id: &str, content: Vec<ResultBlock>, is_error: bool) -> ContentBlock {
    ContentBlock::ToolResult {
        tool_use_id: ToolUseId::new(id),
        content,
        is_error,
        call: "secret-call".to_owned(),
        summary: "secret-summary".to_owned(),
        details: Some(Box::new(ToolDetails::Diff {
            path: "secret-detail".into(),
            diff: String::new(),
            added: 0,
            removed: 0,
        })),
    }
}

fn image(data: &str) -> ImageSource {
    ImageSource { media_type: "image/png".into(), data: data.into() }
}

#[test]
fn a_tool_is_forced_by_its_name() {
    let messages = [Message::user(vec![ContentBlock::text("go")])];
    let input_schema = json!({"type": "object"}).into();
    let tools = [ToolSpec { name: "AgentTool".into(), description: "d".into(), input_schema }];
    let choice = |tool_choice| {
        let request = ModelRequest { tool_choice, ..request(&messages, &tools) };
        json_in(OpenaiDialect::Common, &request)["tool_choice"].take()
    };
    let forced = json!({"type": "function", "function": {"name": "AgentTool"}});
    assert_eq!(choice(ToolChoice::Tool("AgentTool")), forced);
    assert_eq!(choice(ToolChoice::Tool("Read")), Value::Null, "it is not offered");
    assert_eq!(choice(ToolChoice::Auto), Value::Null);
    assert_eq!(choice(ToolChoice::None), json!("none"));
    let key = |dialect| json_in(dialect, &request(&messages, &tools))["prompt_cache_key"].take();
    assert!(key(OpenaiDialect::OpenAi).is_string());
    assert_eq!(key(OpenaiDialect::Common), Value::Null, "others may refuse it");
}

#[test]
fn a_body_holds_what_the_wire_asks_for_and_nothing_else() {
    let tools = [ToolSpec {
        name: "Read".into(),
        description: "Reads.".into(),
        input_schema: json!({"type": "object"}).into(),
    }];
    let expected = json!({
        "model": "llama3",
        "max_tokens": 900,
        "stream": true,
        "stream_options": {"include_usage": true},
        "tools": [{"type": "function", "function": {
            "name": "Read", "description": "Reads.", "parameters": {"type": "object"},
        }}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hello"},
        ],
    });
    let messages = [Message::user_text("hello")];
    assert_eq!(json_in(OpenaiDialect::Common, &request(&messages, &tools)), expected);
}

#[test]
fn openai_itself_takes_the_limit_under_its_newer_name() {
    let dialect = |url: &str| OpenaiDialect::from_url(&Url::parse(url).unwrap());
    assert_eq!(dialect("https://api.openai.com/v1/chat/completions"), OpenaiDialect::OpenAi);
    assert_eq!(dialect("https://eu.api.openai.com/v1"), OpenaiDialect::OpenAi);
    assert_eq!(dialect("https://api.openai.com.example.org/v1"), OpenaiDialect::Common);
    assert_eq!(dialect("http://127.0.0.1:11434/v1"), OpenaiDialect::Common);
    let messages = [Message::user_text("hello")];
    let request = ModelRequest { effort: Some("low"), ..request(&messages, &[]) };
    let body = json_in(OpenaiDialect::OpenAi, &request);
    assert_eq!((&body["max_completion_tokens"], body.get("max_tokens")), (&json!(900), None));
    assert_eq!(body["reasoning_effort"], "low");
}

#[test]
fn a_tool_message_per_call_comes_before_anything_else() {
    let messages = [
        Message::user_text("go"),
        Message::assistant(vec![
            ContentBlock::Thinking { thinking: "hm".into(), signature: "s".into() },
            ContentBlock::text("reading"),
            call("a"),
            call("b"),
        ]),
        Message::user(vec![
            ContentBlock::text("by the way"),
            result(
                "a",
                vec![ResultBlock::text("one"), ResultBlock::Image { source: image("AAAA") }],
                false,
            ),
            result("b", vec![ResultBlock::text("no such file")], true),
        ]),
        Message::assistant(vec![call("c")]),
        Message::user(vec![result("c", Vec::new(), false)]),
    ];
    let wire_call = |id| json!({"type": "function", "id": id, "function": {"name": "Read", "arguments": "{\"b\":1,\"a\":2}"}});
    let expected = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "reading", "tool_calls": [wire_call("a"), wire_call("b")]},
        {"role": "tool", "tool_call_id": "a", "content": "one\n(The image follows in the next user message.)"},
        {"role": "tool", "tool_call_id": "b", "content": "Error: no such file"},
        {"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            {"type": "text", "text": "by the way"},
        ]},
        {"role": "assistant", "content": null, "tool_calls": [wire_call("c")]},
        {"role": "tool", "tool_call_id": "c", "content": "(no output)"},
    ]);
    assert_eq!(messages_of(&messages), expected);
}

#[test]
fn texts_without_images_are_one_plain_string() {
    let messages = [
        Message::user(vec![ContentBlock::text("one"), ContentBlock::text("two")]),
        Message::user_text("three"),
    ];
    assert_eq!(messages_of(&messages)[1]["content"], "one\n\ntwo\n\nthree");
}
