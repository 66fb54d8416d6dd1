//! What the server refuses on the Responses and the Gemini wire.

use serde_json::{Value, json};

use super::{Client, with};
use crate::support::script::{text, thinking, tool_use};
use crate::support::server::Server;

#[tokio::test]
async fn invalid_transcripts_are_refused_as_the_responses_api_refuses_them() {
    let server = Server::start();
    server
        .when("HELLO-1")
        .reply(thinking("hm", "sig-1").tool_use("Read", json!({})))
        .forever(text("hi"));
    let client = Client::new();
    let turn = |input: Value| {
        json!({ "model": "gpt-5.5", "max_output_tokens": 100, "stream": true, "store": false,
            "include": ["reasoning.encrypted_content"], "input": input })
    };
    let user = json!({ "type": "message", "role": "user", "content": "HELLO-1" });
    let said = json!({ "type": "message", "role": "assistant", "content": "hm" });
    let call = |id: &str| json!({ "type": "function_call", "call_id": id, "name": "Read", "arguments": "{}" });
    let output = |id: &str| json!({ "type": "function_call_output", "call_id": id, "output": "x" });
    let thought = json!({ "type": "reasoning", "id": "rs_sig-1", "encrypted_content": "sig-1",
        "summary": [{ "type": "summary_text", "text": "hm" }] });
    let altered = with(thought.clone(), "id", json!("rs_other"));
    let first = client.ask_responses(&server, &turn(json!([user]))).await;
    assert!(first.0 == 200 && first.1.contains("response.completed"), "{first:?}");
    let id = "toolu_0001";
    let whole = turn(json!([user, thought, call(id), output(id)]));
    assert_eq!(client.ask_responses(&server, &whole).await.0, 200);
    let cases = [
        ("no thought", turn(json!([user, call(id), output(id)]))),
        ("an altered thought", turn(json!([user, altered, call(id), output(id)]))),
        ("a thought of nothing", turn(json!([user, thought, user]))),
        ("no output", turn(json!([user, call("a"), user]))),
        ("an output of nothing", turn(json!([user, output("a")]))),
        ("an output twice", turn(json!([user, call("a"), output("a"), output("a")]))),
        ("the same id twice", turn(json!([user, call("a"), output("a"), call("a"), output("a")]))),
        ("the model last", turn(json!([user, said]))),
        ("the model first", turn(json!([said, user]))),
        ("kept at the server", with(turn(json!([user])), "store", json!(true))),
        ("thoughts not asked for", with(turn(json!([user])), "include", json!([]))),
        ("an unknown field", with(turn(json!([user])), "messages", json!([]))),
        (
            "a level that is none",
            with(turn(json!([user])), "reasoning", json!({ "effort": "huge" })),
        ),
    ];
    for (name, body) in &cases {
        let (status, answer) = client.ask_responses(&server, body).await;
        assert_eq!(status, 400, "{name}: {answer}");
        assert_eq!(server.take_violations().len(), 1, "{name}");
    }
}

#[tokio::test]
async fn invalid_transcripts_are_refused_as_the_gemini_api_refuses_them() {
    let server = Server::start();
    let two = tool_use("Read", json!({})).tool_use("Bash", json!({}));
    server
        .when("HELLO-1")
        .reply(two)
        .then(thinking("hm", "dGV4dA==").text("so"))
        .forever(text("hi"));
    let client = Client::new();
    let turn = |contents: Value| json!({ "generationConfig": { "maxOutputTokens": 100 }, "contents": contents });
    let user = |parts: Value| json!({ "role": "user", "parts": parts });
    let model = |parts: Value| json!({ "role": "model", "parts": parts });
    let hello = user(json!([{ "text": "HELLO-1" }]));
    let call =
        |id: &str, name: &str| json!({ "functionCall": { "id": id, "name": name, "args": {} } });
    let signed =
        |signature: &str| with(call("toolu_0001", "Read"), "thoughtSignature", json!(signature));
    let response = |id: &str, name: &str| json!({ "functionResponse": { "id": id, "name": name, "response": { "output": "x" } } });
    let (second, first_out, second_out) = (
        call("toolu_0002", "Bash"),
        response("toolu_0001", "Read"),
        response("toolu_0002", "Bash"),
    );
    let newer = "gemini-3.8-flash";
    let first = client.ask_gemini(&server, newer, &turn(json!([hello]))).await;
    let own = "toolu/0001AA";
    assert!(first.0 == 200 && first.1.contains(own) && first.1.contains("STOP"), "{first:?}");
    let results = user(json!([first_out, second_out]));
    let whole = turn(json!([hello, model(json!([signed(own), second])), results]));
    assert_eq!(client.ask_gemini(&server, newer, &whole).await.0, 200);
    let so = |signature: &str| {
        model(json!([{ "text": "so" }, { "text": "", "thoughtSignature": signature }]))
    };
    let on = turn(json!([hello, so("dGV4dA=="), hello]));
    assert_eq!(client.ask_gemini(&server, newer, &on).await.0, 200);
    let calls = |first: &Value, results: Value| {
        turn(json!([hello, model(json!([first, second])), user(results)]))
    };
    let cases = [
        ("no signature", calls(&call("toolu_0001", "Read"), json!([first_out, second_out]))),
        ("another signature", calls(&signed("AAAA"), json!([first_out, second_out]))),
        ("another order", calls(&signed(own), json!([second_out, first_out]))),
        ("one result of two", calls(&signed(own), json!([first_out]))),
        ("text first", calls(&signed(own), json!([{ "text": "t" }, first_out, second_out]))),
        ("no result", turn(json!([hello, model(json!([signed(own)])), hello]))),
        ("a result of nothing", turn(json!([user(json!([{ "text": "HELLO-1" }, first_out]))]))),
        ("a text's signature altered", turn(json!([hello, so("AAAA"), hello]))),
        ("two users", turn(json!([hello, hello]))),
        ("an empty text", turn(json!([user(json!([{ "text": "" }]))]))),
        ("no part", turn(json!([user(json!([]))]))),
        ("two kinds of data", turn(json!([user(json!([{ "text": "a", "inlineData": {} }]))]))),
        ("an unknown field", with(turn(json!([hello])), "messages", json!([]))),
        (
            "a level and a budget",
            with(
                turn(json!([hello])),
                "generationConfig",
                json!({ "maxOutputTokens": 9, "thinkingConfig": { "thinkingBudget": 9, "thinkingLevel": "LOW" } }),
            ),
        ),
    ];
    for (name, body) in &cases {
        let (status, answer) = client.ask_gemini(&server, newer, body).await;
        assert_eq!(status, 400, "{name}: {answer}");
        assert!(answer.contains("INVALID_ARGUMENT"), "{name}: {answer}");
        assert_eq!(server.take_violations().len(), 1, "{name}");
    }
    let status = client.ask_gemini(&server, "gemini-2.5-pro", &whole).await.0;
    assert_eq!(status, 400, "an older model takes no ids");
    let level = json!({ "maxOutputTokens": 9, "thinkingConfig": { "thinkingLevel": "LOW" } });
    let leveled = with(turn(json!([hello])), "generationConfig", level);
    let status = client.ask_gemini(&server, "gemini-2.5-pro", &leveled).await.0;
    assert_eq!(status, 400, "an older model takes no level");
    server.take_violations();
}
