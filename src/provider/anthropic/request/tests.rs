use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::protocol::{Message, ToolDetails};

fn request<'a>(messages: &'a [Message], tools: &'a [ToolSpec]) -> ModelRequest<'a> {
    ModelRequest {
        model: "claude-opus-5",
        system: "Be brief.",
        messages,
        tools,
        tool_choice: ToolChoice::Auto,
        max_tokens: 16_000,
        thinking: Thinking::Off,
        effort: None,
    }
}

fn json_of(request: &ModelRequest<'_>) -> Value {
    serde_json::from_slice(&body(request).unwrap()).unwrap()
}

fn messages_of(messages: &[Message]) -> Value {
    json_of(&request(messages, &[]))["messages"].take()
}

fn call(id: &str) -> ContentBlock {
    ContentBlock::ToolUse {
        id: ToolUseId::new(id),
        name: "Read".into(),
        input: Box::new(json!({"file_path": "b", "limit": 1})),
        malformed: Some("{".into()),
    }
}

fn result(id: &str, content: Vec<ResultBlock>, is_error: bool) -> ContentBlock {
    let details = ToolDetails::Diff {
        path: "secret-detail".into(),
        diff: String::new(),
        added: 0,
        removed: 0,
    };
    ContentBlock::ToolResult {
        tool_use_id: ToolUseId::new(id),
        content,
        is_error,
        call: "secret-call".to_owned(),
        summary: "secret-summary".to_owned(),
        details: Some(Box::new(details)),
    }
}

fn image() -> ImageSource {
    ImageSource { media_type: "image/png".into(), data: "AAAA".into() }
}

fn mark() -> Value {
    json!({"type": "ephemeral"})
}

fn tool(name: &str) -> ToolSpec {
    let input_schema = json!({"type": "object"}).into();
    ToolSpec { name: name.into(), description: "d".into(), input_schema }
}

#[test]
fn a_tool_is_forced_by_its_name_but_never_beside_thinking() {
    let messages = [Message::user(vec![ContentBlock::text("go")])];
    let tools = [tool("AgentTool")];
    let choice = |name, thinking| {
        let tool_choice = ToolChoice::Tool(name);
        let request = ModelRequest { tool_choice, thinking, ..request(&messages, &tools) };
        json_of(&request)["tool_choice"].take()
    };
    assert_eq!(choice("AgentTool", Thinking::Off), json!({"type": "tool", "name": "AgentTool"}));
    assert_eq!(choice("AgentTool", Thinking::Adaptive), Value::Null);
    assert_eq!(choice("Read", Thinking::Off), Value::Null, "it is not offered");
    assert_eq!(json_of(&request(&messages, &tools))["tool_choice"], Value::Null);
    let none = |tools, thinking| {
        let tool_choice = ToolChoice::None;
        json_of(&ModelRequest { tool_choice, thinking, ..request(&messages, tools) })["tool_choice"]
            .take()
    };
    assert_eq!(none(&tools, Thinking::Adaptive), json!({"type": "none"}));
    assert_eq!(none(&[], Thinking::Off), Value::Null, "the API takes no choice without tools");
}

#[test]
fn a_body_holds_what_the_api_asks_for_and_nothing_else() {
    let tools = [ToolSpec {
        name: "Read".into(),
        description: "Reads.".into(),
        input_schema: json!({"type": "object", "properties": {"b": {}, "a": {}}}).into(),
    }];
    let body = json_of(&request(&[Message::user_text("hello")], &tools));
    let expected = json!({
        "model": "claude-opus-5",
        "max_tokens": 16000,
        "stream": true,
        "tools": [{
            "name": "Read",
            "description": "Reads.",
            "input_schema": {"type": "object", "properties": {"b": {}, "a": {}}},
        }],
        "system": [{"type": "text", "text": "Be brief.", "cache_control": mark()}],
        "messages": [{
            "role": "user",
            "content": [{"type": "text", "text": "hello", "cache_control": mark()}],
        }],
    });
    assert_eq!(body, expected);
}

#[test]
fn thinking_and_effort_are_said_in_the_words_of_the_api() {
    let messages = [Message::user_text("hello")];
    let thinking = |thinking, max_tokens| {
        json_of(&ModelRequest { thinking, max_tokens, ..request(&messages, &[]) })["thinking"]
            .take()
    };
    assert_eq!(thinking(Thinking::Off, 16_000), Value::Null);
    assert_eq!(
        thinking(Thinking::Adaptive, 16_000),
        json!({"type": "adaptive", "display": "summarized"})
    );
    let enabled = |budget| json!({"type": "enabled", "budget_tokens": budget});
    assert_eq!(thinking(Thinking::Budget(4096), 16_000), enabled(4096));
    assert_eq!(thinking(Thinking::Budget(4096), 4096), enabled(2048));
    assert_eq!(thinking(Thinking::Budget(4096), 2000), Value::Null);
    let body = json_of(&ModelRequest { effort: Some("high"), ..request(&messages, &[]) });
    assert_eq!(body["output_config"], json!({"effort": "high"}));
    assert_eq!(body.get("temperature"), None);
}

#[test]
fn a_turn_of_calls_without_the_thought_that_began_it_goes_on_without_a_budget() {
    let signed = || ContentBlock::Thinking { thinking: "hm".into(), signature: "s".into() };
    let loop_of = |blocks: Vec<ContentBlock>, last: Message| {
        let results = Message::user(vec![result("a", Vec::new(), false)]);
        let messages = [Message::user_text("go"), Message::assistant(blocks), results, last];
        let budget = Thinking::Budget(4096);
        json_of(&ModelRequest { thinking: budget, ..request(&messages, &[]) })["thinking"].take()
    };
    let enabled = json!({"type": "enabled", "budget_tokens": 4096});
    // The prompt of a fork stands beside the results of its original's calls.
    let task = || Message::user_text("the task");
    assert_eq!(loop_of(vec![call("a")], task()), Value::Null);
    assert_eq!(loop_of(vec![signed(), call("a")], task()), enabled);
    let redacted = ContentBlock::RedactedThinking { data: "d".into() };
    assert_eq!(loop_of(vec![redacted, call("a")], task()), enabled);
    let messages =
        [Message::user_text("go"), Message::assistant(vec![ContentBlock::text("a")]), task()];
    let next = ModelRequest { thinking: Thinking::Budget(4096), ..request(&messages, &[]) };
    assert_eq!(json_of(&next)["thinking"], enabled, "a new prompt begins a new turn");
}

#[test]
fn results_follow_their_calls_first_in_the_next_user_message() {
    let messages = [
        Message::user_text("go"),
        Message::assistant(vec![ContentBlock::text("reading"), call("a"), call("b")]),
        Message::user(vec![
            ContentBlock::text("by the way"),
            result(
                "a",
                vec![ResultBlock::text("one"), ResultBlock::Image { source: image() }],
                false,
            ),
        ]),
        Message::user(vec![result("b", vec![ResultBlock::text(" ")], true)]),
    ];
    let input = json!({"file_path": "b", "limit": 1});
    let source = json!({"type": "base64", "media_type": "image/png", "data": "AAAA"});
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": [
            {"type": "text", "text": "reading"},
            {"type": "tool_use", "id": "a", "name": "Read", "input": input},
            {"type": "tool_use", "id": "b", "name": "Read", "input": input},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": [
                {"type": "text", "text": "one"},
                {"type": "image", "source": source},
            ]},
            {"type": "tool_result", "tool_use_id": "b", "is_error": true, "content": [
                {"type": "text", "text": "failed without a message"},
            ]},
            {"type": "text", "text": "by the way", "cache_control": mark()},
        ]},
    ]);
    assert_eq!(messages_of(&messages), expected);
}

#[test]
fn an_empty_result_has_no_content_and_may_carry_the_mark() {
    let messages = [
        Message::user_text("go"),
        Message::assistant(vec![call("a")]),
        Message::user(vec![result("a", Vec::new(), false)]),
    ];
    let last = json!([{"type": "tool_result", "tool_use_id": "a", "cache_control": mark()}]);
    assert_eq!(messages_of(&messages)[2]["content"], last);
}

#[test]
fn thoughts_are_echoed_unchanged_when_signed_and_dropped_when_not() {
    let thought = |signature: &str| ContentBlock::Thinking {
        thinking: "  hm ".into(),
        signature: signature.into(),
    };
    let messages = [
        Message::user_text("go"),
        Message::assistant(vec![
            thought("s=="),
            thought(""),
            ContentBlock::RedactedThinking { data: "xx".into() },
            call("a"),
        ]),
        Message::user(vec![result("a", Vec::new(), false)]),
        Message::assistant(vec![thought("")]),
        Message::user_text("more"),
    ];
    let sent = messages_of(&messages);
    let assistant = &sent[1]["content"];
    assert_eq!(assistant[0], json!({"type": "thinking", "thinking": "  hm ", "signature": "s=="}));
    assert_eq!(assistant[1], json!({"type": "redacted_thinking", "data": "xx"}));
    assert_eq!(assistant[2]["type"], "tool_use");
    assert_eq!(sent.as_array().unwrap().len(), 3, "the turn of an unsigned thought is gone");
}

#[test]
fn ids_of_other_providers_are_made_to_fit_on_both_sides() {
    let messages = [
        Message::user_text("go"),
        Message::assistant(vec![call("functions.Read:0")]),
        Message::user(vec![result("functions.Read:0", Vec::new(), false)]),
    ];
    let sent = messages_of(&messages);
    assert_eq!(sent[1]["content"][0]["id"], "functions_Read_0");
    assert_eq!(sent[2]["content"][0]["tool_use_id"], "functions_Read_0");
}

/// A conversation of `turns` prompts with an answer to each but the last.
fn conversation(turns: usize, calls: usize) -> Vec<Message> {
    let mut messages = vec![Message::user_text("prompt 0")];
    for turn in 1..turns {
        let ids: Vec<_> = (0..calls).map(|n| format!("t{turn}c{n}")).collect();
        let mut said = vec![ContentBlock::text("answer")];
        said.extend(ids.iter().map(|id| call(id)));
        messages.push(Message::assistant(said));
        let mut back: Vec<_> = ids.iter().map(|id| result(id, Vec::new(), false)).collect();
        back.push(ContentBlock::text("next"));
        messages.push(Message::user(back));
    }
    messages
}

#[test]
fn a_longer_conversation_begins_with_the_bytes_of_the_shorter_one() {
    let mark = r#","cache_control":{"type":"ephemeral"}"#;
    let text = |turns| {
        let messages = conversation(turns, 2);
        String::from_utf8(body(&request(&messages, &[])).unwrap()).unwrap()
    };
    let bare = |turns| {
        let text = text(turns);
        assert_eq!(text.matches(mark).count(), 2, "{text}");
        text.replace(mark, "")
    };
    assert_eq!(text(3), text(3));
    for turns in 1..4 {
        let shorter = bare(turns);
        let prefix = shorter.strip_suffix("]}").unwrap();
        assert!(bare(turns + 1).starts_with(prefix), "{turns}");
    }
}

#[test]
fn a_turn_longer_than_the_look_back_marks_the_prompt_before_it_too() {
    let marked = |calls| {
        let sent = messages_of(&conversation(3, calls));
        let turns = sent.as_array().unwrap().iter().enumerate();
        let marked = turns.filter(|(_, turn)| turn.to_string().contains("cache_control"));
        marked.map(|(at, _)| at).collect::<Vec<_>>()
    };
    assert_eq!(marked(9), [4]);
    assert_eq!(marked(10), [2, 4]);
}

#[test]
fn a_blank_system_prompt_is_left_out() {
    let messages = [Message::user_text("hello")];
    let body = json_of(&ModelRequest { system: " \n", ..request(&messages, &[]) });
    assert_eq!(body.get("system"), None);
}
