use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::config::models::Thinking;
use crate::protocol::Message;

fn json_of(request: &ModelRequest<'_>) -> Value {
    serde_json::from_slice(&body(request, OpenaiDialect::Common).unwrap()).unwrap()
}

fn request<'a>(messages: &'a [Message], tools: &'a [ToolSpec]) -> ModelRequest<'a> {
    ModelRequest {
        model: "gpt-5.5",
        system: "Be brief.",
        messages,
        tools,
        tool_choice: ToolChoice::Auto,
        max_tokens: 900,
        thinking: Thinking::Adaptive,
        effort: Some("low"),
    }
}

fn input_of(messages: &[Message]) -> Value {
    json_of(&request(messages, &[]))["input"].take()
}

fn read() -> ToolSpec {
    let input_schema = json!({"type": "object"}).into();
    ToolSpec { name: "Read".into(), description: "Reads.".into(), input_schema }
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
    ContentBlock::result(ToolUseId::new(id), content, is_error)
}

fn thought(item: &Value) -> ContentBlock {
    ContentBlock::Thinking { thinking: "hm".into(), signature: item.to_string() }
}

fn item(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "gAAA"})
}

fn image() -> ImageSource {
    ImageSource { media_type: "image/png".into(), data: "AAAA".into() }
}

#[test]
fn a_body_holds_what_the_wire_asks_for_and_nothing_else() {
    let expected = json!({
        "model": "gpt-5.5",
        "max_output_tokens": 900,
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "auto"},
        "tools": [{"type": "function", "name": "Read", "description": "Reads.",
            "parameters": {"type": "object"}, "strict": false}],
        "instructions": "Be brief.",
        "input": [{"type": "message", "role": "user",
            "content": [{"type": "input_text", "text": "hello"}]}],
    });
    let messages = [Message::user_text("hello")];
    assert_eq!(json_of(&request(&messages, &[read()])), expected);
}

#[test]
fn openai_itself_gets_a_cache_key_that_a_conversation_keeps() {
    let key = |messages: &[Message], tools: &[ToolSpec]| {
        let body = body(&request(messages, tools), OpenaiDialect::OpenAi).unwrap();
        serde_json::from_slice::<Value>(&body).unwrap()["prompt_cache_key"].take()
    };
    let messages = [Message::user_text("hello")];
    let longer = [&messages[..], &[Message::assistant(vec![]), Message::user_text("on")]].concat();
    let own = key(&messages, &[read()]);
    assert!(own.is_string());
    assert_eq!(key(&longer, &[]), own);
    assert_ne!(key(&[Message::user_text("hello!")], &[read()]), own);
    let elsewhere = json_of(&request(&messages, &[]));
    assert_eq!(elsewhere.get("prompt_cache_key"), None, "gateways refuse it");
}

#[test]
fn nothing_is_asked_of_a_model_that_does_not_reason() {
    let messages = [Message::user_text("hello")];
    let plain = ModelRequest {
        model: "gpt-4.1",
        thinking: Thinking::Off,
        effort: None,
        system: " ",
        ..request(&messages, &[])
    };
    let body = json_of(&plain);
    for field in ["include", "reasoning", "instructions", "tools", "tool_choice"] {
        assert_eq!(body.get(field), None, "{field}");
    }
    let unknown = ModelRequest { model: "house-model", ..plain };
    assert_eq!(json_of(&unknown)["include"][0], "reasoning.encrypted_content");
}

#[test]
fn a_tool_is_forced_by_its_name() {
    let messages = [Message::user_text("go")];
    let tools = [read()];
    let choice = |tool_choice| {
        json_of(&ModelRequest { tool_choice, ..request(&messages, &tools) })["tool_choice"].take()
    };
    assert_eq!(choice(ToolChoice::Tool("Read")), json!({"type": "function", "name": "Read"}));
    assert_eq!(choice(ToolChoice::Tool("Write")), Value::Null, "it is not offered");
    assert_eq!(choice(ToolChoice::Auto), Value::Null);
    assert_eq!(choice(ToolChoice::None), json!("none"));
}

#[test]
fn an_answer_goes_back_as_its_items_in_order_and_results_before_the_rest() {
    let messages = [
        Message::user_text("go"),
        Message::assistant(vec![
            thought(&item("rs_1")),
            ContentBlock::text("I look."),
            call("call_a"),
            thought(&item("rs_2")),
            call("call_b"),
        ]),
        Message::user(vec![
            ContentBlock::text("and hurry"),
            result("call_a", vec![ResultBlock::text("one"), ResultBlock::text("two")], false),
            result("call_b", vec![ResultBlock::text("gone")], true),
        ]),
    ];
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "Read", "arguments": r#"{"b":1,"a":2}"#});
    let output = |id: &str, text: &str| json!({"type": "function_call_output", "call_id": id, "output": text});
    let said = |text: &str| json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
    let expected = json!([
        said("go"),
        item("rs_1"),
        {"type": "message", "role": "assistant", "content": "I look."},
        call("call_a"),
        item("rs_2"),
        call("call_b"),
        output("call_a", "one\ntwo"),
        output("call_b", "Error: gone"),
        said("and hurry"),
    ]);
    assert_eq!(input_of(&messages), expected);
}

#[test]
fn thoughts_that_the_api_would_refuse_stay_here() {
    let signed = |signature: &str| ContentBlock::Thinking {
        thinking: "hm".into(),
        signature: signature.into(),
    };
    let messages = [
        Message::user_text("go"),
        Message::assistant(vec![signed("EqoB"), signed(""), thought(&item("rs_1"))]),
        Message::user_text("on"),
        Message::assistant(vec![ContentBlock::text("yes"), thought(&item("rs_2"))]),
        Message::user_text("more"),
    ];
    let input = input_of(&messages);
    let roles: Vec<_> = input.as_array().unwrap().iter().map(|item| &item["role"]).collect();
    assert_eq!(roles, ["user", "user", "assistant", "user"], "{input}");
}

#[test]
fn images_stand_where_they_belong_also_in_results() {
    let source = image();
    let shown = ResultBlock::Image { source: source.clone() };
    let messages = [
        Message::user(vec![ContentBlock::image(source)]),
        Message::assistant(vec![call("call_a"), call("call_b"), call("call_c")]),
        Message::user(vec![
            result("call_a", vec![ResultBlock::text("a dot"), shown.clone()], false),
            result("call_b", vec![shown], true),
            result("call_c", vec![ResultBlock::text(" ")], false),
        ]),
    ];
    let input = input_of(&messages);
    let picture =
        json!({"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"});
    assert_eq!(input[0]["content"], json!([picture]));
    assert_eq!(input[4]["output"], json!([{"type": "input_text", "text": "a dot"}, picture]));
    assert_eq!(input[5]["output"], json!([{"type": "input_text", "text": "Error:"}, picture]));
    assert_eq!(input[6]["output"], "(no output)");
}
