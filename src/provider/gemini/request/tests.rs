use pretty_assertions::assert_eq;

use super::*;
use crate::protocol::Message;

const NEWER: &str = "gemini-3.8-flash";
const OLDER: &str = "gemini-2.5-pro";

fn json_of(request: &ModelRequest<'_>) -> Value {
    serde_json::from_slice(&body(request).unwrap()).unwrap()
}

fn request<'a>(model: &'a str, messages: &'a [Message], tools: &'a [ToolSpec]) -> ModelRequest<'a> {
    ModelRequest {
        model,
        system: "Be brief.",
        messages,
        tools,
        tool_choice: ToolChoice::Auto,
        max_tokens: 900,
        thinking: Thinking::Off,
        effort: None,
    }
}

fn contents(model: &str, messages: &[Message]) -> Value {
    json_of(&request(model, messages, &[]))["contents"].take()
}

fn read() -> ToolSpec {
    let input_schema =
        json!({"type": "object", "properties": {"p": {"type": ["string", "null"]}}}).into();
    ToolSpec { name: "Read".into(), description: "Reads.".into(), input_schema }
}

fn call(id: &str, name: &str) -> ContentBlock {
    let id = ToolUseId::new(id);
    ContentBlock::ToolUse {
        id,
        name: name.into(),
        input: Box::new(json!({"p": "a"})),
        malformed: None,
    }
}

fn result(id: &str, content: Vec<ResultBlock>, is_error: bool) -> ContentBlock {
    ContentBlock::result(ToolUseId::new(id), content, is_error)
}

fn signed(signed: SignedContent<'_>) -> ContentBlock {
    ContentBlock::Thinking { thinking: "hm".into(), signature: signed.encode() }
}

fn picture() -> ImageSource {
    ImageSource { media_type: "image/png".into(), data: "AAAA".into() }
}

#[test]
fn a_body_holds_what_the_wire_asks_for_and_nothing_else() {
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [
            {"name": "Read", "description": "Reads.", "parametersJsonSchema": read().input_schema},
        ]}],
        "generationConfig": {"maxOutputTokens": 900},
        "contents": [{"role": "user", "parts": [{"text": "hello"}]}],
    });
    let messages = [Message::user_text("hello")];
    assert_eq!(json_of(&request(NEWER, &messages, &[read()])), expected);
    let bare = ModelRequest { system: " ", ..request(NEWER, &messages, &[]) };
    let expected = json!({
        "generationConfig": {"maxOutputTokens": 900},
        "contents": [{"role": "user", "parts": [{"text": "hello"}]}],
    });
    assert_eq!(json_of(&bare), expected);
}

#[test]
fn thoughts_are_asked_for_as_the_catalogue_and_the_person_say() {
    let messages = [Message::user_text("hello")];
    let asked = |thinking, effort| {
        let request = ModelRequest { thinking, effort, ..request(NEWER, &messages, &[]) };
        json_of(&request)["generationConfig"]["thinkingConfig"].take()
    };
    assert_eq!(asked(Thinking::Off, None), Value::Null);
    assert_eq!(asked(Thinking::Adaptive, None), json!({"includeThoughts": true}));
    assert_eq!(asked(Thinking::Off, Some("low")), json!({"thinkingLevel": "LOW"}));
    let budget = json!({"includeThoughts": true, "thinkingBudget": 2000});
    assert_eq!(asked(Thinking::Budget(2000), None), budget);
    let level = json!({"includeThoughts": true, "thinkingLevel": "HIGH"});
    assert_eq!(asked(Thinking::Budget(2000), Some("high")), level, "the API takes one of them");
}

#[test]
fn a_tool_is_forced_by_its_name() {
    let messages = [Message::user_text("go")];
    let tools = [read()];
    let choice = |tool_choice| {
        let request = ModelRequest { tool_choice, ..request(NEWER, &messages, &tools) };
        json_of(&request)["toolConfig"].take()
    };
    let forced =
        json!({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["Read"]}});
    assert_eq!(choice(ToolChoice::Tool("Read")), forced);
    assert_eq!(choice(ToolChoice::Tool("Write")), Value::Null, "it is not offered");
    assert_eq!(choice(ToolChoice::Auto), Value::Null);
    assert_eq!(choice(ToolChoice::None), json!({ "functionCallingConfig": { "mode": "NONE" } }));
}

#[test]
fn signatures_go_back_to_where_they_stood() {
    let messages = [
        Message::user_text("go"),
        Message::assistant(vec![
            ContentBlock::text("I look."),
            signed(SignedContent::Text("SIG-T")),
            signed(SignedContent::Call("SIG-C")),
            call("id-1", "Read"),
            call("id-2", "Bash"),
        ]),
        Message::user(vec![
            ContentBlock::text("and hurry"),
            result("id-1", vec![ResultBlock::text("one"), ResultBlock::text("two")], false),
            result("id-2", vec![ResultBlock::text("gone")], true),
        ]),
        Message::assistant(vec![ContentBlock::text("done"), signed(SignedContent::Text("SIG-E"))]),
        Message::user_text("again"),
    ];
    let expected = json!([
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [
            {"text": "I look."},
            {"text": "", "thoughtSignature": "SIG-T"},
            {"functionCall": {"id": "id-1", "name": "Read", "args": {"p": "a"}}, "thoughtSignature": "SIG-C"},
            {"functionCall": {"id": "id-2", "name": "Bash", "args": {"p": "a"}}},
        ]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "id-1", "name": "Read", "response": {"output": "one\ntwo"}}},
            {"functionResponse": {"id": "id-2", "name": "Bash", "response": {"error": "gone"}}},
            {"text": "and hurry"},
        ]},
        {"role": "model", "parts": [{"text": "done"}, {"text": "", "thoughtSignature": "SIG-E"}]},
        {"role": "user", "parts": [{"text": "again"}]},
    ]);
    assert_eq!(contents(NEWER, &messages), expected);
}

#[test]
fn ids_that_were_made_up_here_stay_here() {
    let id = ToolUseId::generate();
    let messages = [
        Message::user_text("go"),
        Message::assistant(vec![call(id.as_str(), "Read")]),
        Message::user(vec![result(id.as_str(), Vec::new(), false)]),
    ];
    let contents = contents(OLDER, &messages);
    let call = json!({"functionCall": {"name": "Read", "args": {"p": "a"}}});
    assert_eq!(contents[1]["parts"], json!([call]));
    let response = json!({"name": "Read", "response": {"output": "(no output)"}});
    assert_eq!(contents[2]["parts"], json!([{"functionResponse": response}]));
}

#[test]
fn a_newer_model_is_told_of_calls_that_another_one_made() {
    let messages = [
        Message::user_text("go"),
        Message::assistant(vec![call("toolu_1", "Read"), call("toolu_2", "Read")]),
        Message::user(vec![
            result("toolu_1", Vec::new(), false),
            result("toolu_2", Vec::new(), false),
        ]),
    ];
    let signature = |model: &str, part: usize| {
        contents(model, &messages)[1]["parts"][part]["thoughtSignature"].take()
    };
    for model in [NEWER, "gemini-pro-latest", "models/gemini-4-argon"] {
        assert_eq!(
            (signature(model, 0), signature(model, 1)),
            (json!(SKIP_SIGNATURE), Value::Null)
        );
    }
    for model in [OLDER, "gemma-4-31b-it", "models/gemini-2.5-flash"] {
        assert_eq!(signature(model, 0), Value::Null, "{model}");
    }
}

#[test]
fn thoughts_of_other_wires_and_signatures_of_nothing_stay_here() {
    let other = |signature: &str| ContentBlock::Thinking {
        thinking: "hm".into(),
        signature: signature.into(),
    };
    let messages = [
        Message::user_text("one"),
        Message::assistant(vec![other("EqoB"), other("")]),
        Message::user_text("two"),
        Message::assistant(vec![signed(SignedContent::Text("SIG"))]),
        Message::user_text("three"),
    ];
    let expected =
        json!([{"role": "user", "parts": [{"text": "one"}, {"text": "two"}, {"text": "three"}]}]);
    assert_eq!(contents(NEWER, &messages), expected);
}

#[test]
fn images_of_results_stand_in_them_or_for_older_models_behind_them() {
    let shown = vec![ResultBlock::text("a dot"), ResultBlock::Image { source: picture() }];
    let messages = [
        Message::user(vec![ContentBlock::image(picture())]),
        Message::assistant(vec![call("id-1", "Read")]),
        Message::user(vec![result("id-1", shown, false), ContentBlock::text("see?")]),
    ];
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "AAAA"}});
    let text = "a dot\n(The image is attached to this text.)";
    let newer = contents(NEWER, &messages);
    assert_eq!(newer[0]["parts"], json!([image]));
    let response =
        json!({"id": "id-1", "name": "Read", "response": {"output": text}, "parts": [image]});
    assert_eq!(newer[2]["parts"], json!([{"functionResponse": response}, {"text": "see?"}]));
    let response = json!({"id": "id-1", "name": "Read", "response": {"output": text}});
    let older = contents(OLDER, &messages);
    assert_eq!(older[2]["parts"], json!([{"functionResponse": response}, image, {"text": "see?"}]));
}
