//! The scripted server itself: what it accepts, what it refuses, and what it can do to a stream.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::support::record::StreamEnd;
use crate::support::script::{dynamic, error, html, text, thinking, tool_use};
use crate::support::server::Server;

mod refusals;

struct Client(reqwest::Client);

impl Client {
    fn new() -> Self {
        // Another test of this process may have been first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self(reqwest::Client::new())
    }

    fn messages(&self, server: &Server, body: &Value) -> reqwest::RequestBuilder {
        self.0
            .post(format!("{}/v1/messages", server.url()))
            .header("anthropic-version", "2023-06-01")
            .header("x-api-key", "k")
            .json(body)
    }

    fn chat(&self, server: &Server, body: &Value) -> reqwest::RequestBuilder {
        let url = format!("{}/v1/chat/completions", server.url());
        self.0.post(url).bearer_auth("k").json(body)
    }

    /// Status and body.
    async fn ask(&self, server: &Server, body: &Value) -> (u16, String) {
        let response = self.messages(server, body).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    async fn ask_responses(&self, server: &Server, body: &Value) -> (u16, String) {
        let url = format!("{}/v1/responses", server.url());
        let response = self.0.post(url).bearer_auth("k").json(body).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    async fn ask_gemini(&self, server: &Server, model: &str, body: &Value) -> (u16, String) {
        let path = format!("v1beta/models/{model}:streamGenerateContent?alt=sse");
        let request = self.0.post(format!("{}/{path}", server.url()));
        let response = request.header("x-goog-api-key", "k").json(body).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    async fn ask_chat(&self, server: &Server, body: &Value) -> (u16, String) {
        let response = self.chat(server, body).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }
}

fn request(messages: &Value) -> Value {
    json!({ "model": "claude-sonnet-5", "max_tokens": 100, "stream": true, "messages": messages })
}

fn user(content: &Value) -> Value {
    json!({ "role": "user", "content": content })
}

fn assistant(content: &Value) -> Value {
    json!({ "role": "assistant", "content": content })
}

fn hello() -> Value {
    user(&json!([{ "type": "text", "text": "HELLO-1" }]))
}

fn call(id: &str) -> Value {
    json!({ "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": "a" } })
}

fn result(id: &str) -> Value {
    json!({ "type": "tool_result", "tool_use_id": id, "content": [{ "type": "text", "text": "x" }] })
}

fn with(mut body: Value, field: &str, value: Value) -> Value {
    body[field] = value;
    body
}

#[tokio::test]
async fn a_text_streams_as_the_vendor_streams_it() {
    let server = Server::start();
    server.when("HELLO-1").reply(text("Hel").more("lo").usage(7, 3));
    let (status, body) = Client::new().ask(&server, &request(&json!([hello()]))).await;
    assert_eq!(status, 200);
    let names: Vec<_> = body.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    let expected = [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(names, expected);
    assert!(body.contains(r#""text":"lo""#) && body.contains(r#""output_tokens":3"#), "{body}");
    assert_eq!(server.requests_of("HELLO-1").len(), 1);
    assert_eq!(server.ended("HELLO-1").await.0, StreamEnd::Whole);
    server.finish();
}

#[tokio::test]
async fn a_whole_tool_loop_with_thinking_is_accepted() {
    let server = Server::start();
    server
        .when("HELLO-1")
        .reply(thinking("hm", "sig-1").tool_use("Read", json!({ "file_path": "a" })))
        .then(text("done"));
    let client = Client::new();
    let (_, body) = client.ask(&server, &request(&json!([hello()]))).await;
    assert!(body.contains("toolu_0001") && body.contains(r#""stop_reason":"tool_use""#), "{body}");
    let thought = json!({ "type": "thinking", "thinking": "hm", "signature": "sig-1" });
    let turn = json!([
        hello(),
        assistant(&json!([thought, call("toolu_0001")])),
        user(&json!([result("toolu_0001"), { "type": "text", "text": "and more" }])),
    ]);
    let (status, body) = client.ask(&server, &request(&turn)).await;
    assert_eq!(status, 200, "{body}");
    let last = server.requests().pop().unwrap();
    assert_eq!(last.tool_result().text, "x");
    server.finish();
}

#[tokio::test]
async fn a_thought_that_is_dropped_or_altered_in_a_tool_loop_is_refused() {
    let server = Server::start();
    server.when("HELLO-1").reply(thinking("hm", "sig-1").tool_use("Read", json!({})));
    let client = Client::new();
    client.ask(&server, &request(&json!([hello()]))).await;
    let answer = user(&json!([result("toolu_0001")]));
    for thoughts in [
        json!([call("toolu_0001")]),
        json!([{ "type": "thinking", "thinking": "no", "signature": "sig-1" }, call("toolu_0001")]),
        json!([{ "type": "thinking", "thinking": "hm", "signature": "sig-2" }, call("toolu_0001")]),
    ] {
        let turn = json!([hello(), assistant(&thoughts), answer]);
        let (status, _) = client.ask(&server, &request(&turn)).await;
        assert_eq!(status, 400, "{thoughts}");
    }
    assert_eq!(server.take_violations().len(), 3);
}

#[tokio::test]
async fn invalid_transcripts_are_refused_as_the_messages_api_refuses_them() {
    let server = Server::start();
    let client = Client::new();
    let turn = |messages: Value| request(&messages);
    let marked = json!({ "type": "text", "text": "x", "cache_control": { "type": "ephemeral" } });
    let tool = json!({ "name": "Read", "description": "d", "input_schema": { "type": "object" } });
    let valid = turn(json!([hello()]));
    let cases = [
        ("no messages", turn(json!([]))),
        ("assistant first", turn(json!([assistant(&json!("a"))]))),
        ("two user messages", turn(json!([hello(), hello()]))),
        ("prefill", turn(json!([hello(), assistant(&json!("a"))]))),
        ("empty content", turn(json!([user(&json!([]))]))),
        ("empty text", turn(json!([user(&json!([{ "type": "text", "text": "" }]))]))),
        ("blank text", turn(json!([user(&json!([{ "type": "text", "text": " \n" }]))]))),
        ("no result", turn(json!([hello(), assistant(&json!([call("a")])), hello()]))),
        (
            "one result of two",
            turn(json!([
                hello(),
                assistant(&json!([call("a"), call("b")])),
                user(&json!([result("a")]))
            ])),
        ),
        (
            "result of an unknown call",
            turn(json!([
                hello(),
                assistant(&json!([call("a")])),
                user(&json!([result("a"), result("z")]))
            ])),
        ),
        (
            "the same result twice",
            turn(json!([
                hello(),
                assistant(&json!([call("a")])),
                user(&json!([result("a"), result("a")]))
            ])),
        ),
        (
            "the same id twice",
            turn(json!([
                hello(),
                assistant(&json!([call("a"), call("a")])),
                user(&json!([result("a")]))
            ])),
        ),
        (
            "text before the result",
            turn(json!([
                hello(),
                assistant(&json!([call("a")])),
                user(&json!([{ "type": "text", "text": "t" }, result("a")])),
            ])),
        ),
        (
            "an unknown field in a block",
            turn(json!([user(&json!([{ "type": "text", "text": "t", "details": 1 }]))])),
        ),
        (
            "an error result without content",
            turn(json!([
                hello(),
                assistant(&json!([call("a")])),
                user(&json!([{ "type": "tool_result", "tool_use_id": "a", "is_error": true }])),
            ])),
        ),
        (
            "a marked thought",
            turn(json!([
                hello(),
                assistant(&json!([{ "type": "thinking", "thinking": "t", "signature": "s",
                    "cache_control": { "type": "ephemeral" } }])),
                hello(),
            ])),
        ),
        ("five markers", turn(json!([user(&json!([marked, marked, marked, marked, marked]))]))),
        ("no max_tokens", with(valid.clone(), "max_tokens", Value::Null)),
        ("an unknown field", with(valid.clone(), "frobnicate", json!(1))),
        ("a temperature", with(valid.clone(), "temperature", json!(0.5))),
        (
            "an effort that is none",
            with(valid.clone(), "output_config", json!({ "effort": "huge" })),
        ),
        (
            "an effort of a model without",
            with(
                with(valid.clone(), "model", json!("claude-haiku-4-5")),
                "output_config",
                json!({ "effort": "low" }),
            ),
        ),
        ("two tools of one name", with(valid.clone(), "tools", json!([tool, tool]))),
        (
            "a bad tool name",
            with(valid.clone(), "tools", json!([with(tool.clone(), "name", json!("a.b"))])),
        ),
        (
            "a schema of no object",
            with(valid.clone(), "tools", json!([with(tool.clone(), "input_schema", json!({}))])),
        ),
        (
            "an empty system block",
            with(valid.clone(), "system", json!([{ "type": "text", "text": "" }])),
        ),
        (
            "a forced tool while thinking",
            with(
                with(valid.clone(), "thinking", json!({ "type": "adaptive" })),
                "tool_choice",
                json!({ "type": "any" }),
            ),
        ),
        ("a choice without tools", with(valid.clone(), "tool_choice", json!({ "type": "auto" }))),
        (
            "a forced tool that is not there",
            with(
                with(valid.clone(), "tools", json!([tool])),
                "tool_choice",
                json!({ "type": "tool", "name": "Write" }),
            ),
        ),
    ];
    for (name, body) in &cases {
        let (status, answer) = client.ask(&server, body).await;
        assert_eq!(status, 400, "{name}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["error"]["type"], "invalid_request_error", "{name}");
        let violations = server.take_violations();
        assert_eq!(violations.len(), 1, "{name}");
        assert!(!violations[0].contains("no script"), "{name} was accepted: {violations:?}");
    }
}

#[tokio::test]
async fn invalid_transcripts_are_refused_as_chat_completions_refuses_them() {
    let server = Server::start();
    server.when("HELLO-1").forever(text("hi"));
    let client = Client::new();
    let turn = |messages: Value| {
        json!({ "model": "gpt", "stream": true, "stream_options": { "include_usage": true },
            "messages": messages })
    };
    let user = json!({ "role": "user", "content": "HELLO-1" });
    let system = json!({ "role": "system", "content": "be kind" });
    let tool = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "x" });
    let calls = |ids: &[&str]| {
        let calls: Vec<_> = ids
            .iter()
            .map(|id| json!({ "id": id, "type": "function", "function": { "name": "Read", "arguments": "{}" } }))
            .collect();
        json!({ "role": "assistant", "content": null, "tool_calls": calls })
    };
    let valid = turn(json!([system, user, calls(&["a", "b"]), tool("a"), tool("b")]));
    let (status, body) = client.ask_chat(&server, &valid).await;
    assert!(status == 200 && body.trim_end().ends_with("[DONE]"), "{body}");
    let results = server.requests()[0].tool_results();
    assert_eq!(results.iter().map(|result| result.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);

    let bad_call = json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "a", "type": "function", "function": { "name": "Read", "arguments": "{" } }] });
    let cases = [
        ("two users", turn(json!([user, user]))),
        ("system later", turn(json!([user, system]))),
        ("a call without its result", turn(json!([user, calls(&["a", "b"]), tool("a")]))),
        ("a user before the result", turn(json!([user, calls(&["a"]), user, tool("a")]))),
        ("a result of nothing", turn(json!([user, tool("a")]))),
        ("a result twice", turn(json!([user, calls(&["a"]), tool("a"), tool("a")]))),
        ("an empty text", turn(json!([{ "role": "user", "content": "" }]))),
        (
            "no calls",
            turn(json!([user, { "role": "assistant", "content": "x", "tool_calls": [] }, user])),
        ),
        ("cut arguments", turn(json!([user, bad_call, tool("a")]))),
        ("no tools", with(turn(json!([user])), "tools", json!([]))),
        ("an unknown field", with(turn(json!([user])), "max_turns", json!(3))),
        (
            "a choice without tools",
            with(
                turn(json!([user])),
                "tool_choice",
                json!({ "type": "function", "function": { "name": "Read" } }),
            ),
        ),
        ("no usage", with(turn(json!([user])), "stream_options", Value::Null)),
    ];
    for (name, body) in &cases {
        let (status, answer) = client.ask_chat(&server, body).await;
        assert_eq!(status, 400, "{name}: {answer}");
        assert_eq!(server.take_violations().len(), 1, "{name}");
    }
}

#[tokio::test]
async fn missing_headers_and_unknown_paths_are_refused() {
    let server = Server::start();
    let client = Client::new();
    let body = request(&json!([hello()]));
    let bare = client.0.post(format!("{}/v1/messages", server.url())).json(&body);
    assert_eq!(bare.send().await.unwrap().status(), 400);
    let bare = client.0.post(format!("{}/v1/chat/completions", server.url())).json(&body);
    assert_eq!(bare.send().await.unwrap().status(), 400);
    let other = client.0.get(format!("{}/v1/files", server.url()));
    assert_eq!(other.send().await.unwrap().status(), 404);
    let list = client.0.get(format!("{}/v1/models", server.url()));
    assert_eq!(list.send().await.unwrap().status(), 400, "nobody may ask without an offer");
    server.offer(&["a"]);
    let list = client.0.get(format!("{}/v1/models", server.url()));
    assert_eq!(list.send().await.unwrap().status(), 400, "without a key");
    assert_eq!(server.take_violations().len(), 5);
}

#[tokio::test]
async fn a_script_that_is_missing_exhausted_or_ambiguous_is_a_violation() {
    let server = Server::start();
    let client = Client::new();
    let body = request(&json!([hello()]));
    assert_eq!(client.ask(&server, &body).await.0, 400);
    server.when("HELLO-1").reply(text("once"));
    assert_eq!(client.ask(&server, &body).await.0, 200);
    assert_eq!(client.ask(&server, &body).await.0, 400);
    server.when("HELLO").forever(text("x"));
    assert_eq!(client.ask(&server, &body).await.0, 400);
    assert_eq!(server.take_violations().len(), 3);
}

#[tokio::test]
#[should_panic(expected = "invalid requests")]
async fn a_violation_fails_the_test() {
    let server = Server::start();
    Client::new().ask(&server, &request(&json!([hello()]))).await;
    drop(server);
}

#[tokio::test]
#[should_panic(expected = "nobody asked for")]
async fn an_unused_answer_fails_the_test() {
    let server = Server::start();
    server.when("HELLO-1").reply(text("never"));
    server.finish();
}

#[tokio::test]
async fn a_gate_holds_the_stream_open() {
    let server = Server::start();
    server.when("HELLO-1").reply(text("before").gate("half").more("after"));
    let client = Client::new();
    let response = client.messages(&server, &request(&json!([hello()]))).send().await.unwrap();
    let mut stream = response.bytes_stream();
    let mut read = String::new();
    while !read.contains("before") {
        read += std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap();
    }
    server.reached("half").await;
    assert!(!read.contains("after"));
    server.open("half");
    while let Some(bytes) = stream.next().await {
        read += std::str::from_utf8(&bytes.unwrap()).unwrap();
    }
    assert!(read.contains("after") && read.contains("message_stop"), "{read}");
    server.finish();
}

#[tokio::test]
async fn a_client_that_goes_away_is_noticed_in_mid_stream_and_before_the_headers() {
    let server = Server::start();
    server.when("HELLO-1").reply(text("x").stall());
    server.when("HELLO-2").reply(text("x").before_headers("late"));
    let client = Client::new();
    let response = client.messages(&server, &request(&json!([hello()]))).send().await.unwrap();
    let mut stream = response.bytes_stream();
    stream.next().await.unwrap().unwrap();
    drop(stream);
    assert_eq!(server.ended("HELLO-1").await.0, StreamEnd::ClosedByClient);

    let body = request(&json!([user(&json!("HELLO-2"))]));
    let asking = tokio::spawn(client.messages(&server, &body).send());
    server.reached("late").await;
    asking.abort();
    assert_eq!(server.ended("HELLO-2").await.0, StreamEnd::ClosedByClient);
    server.finish();
}

#[tokio::test]
async fn a_stream_is_split_and_cut_at_the_byte() {
    let server = Server::start();
    server.when("HELLO-1").reply(text("hello").pieces_of(7)).then(text("hello").cut_at(100));
    let client = Client::new();
    let body = request(&json!([hello()]));
    let response = client.messages(&server, &body).send().await.unwrap();
    let pieces: Vec<_> = response.bytes_stream().map(|piece| piece.unwrap().len()).collect().await;
    assert!(pieces.len() > 50 && pieces.iter().all(|size| *size <= 7), "{pieces:?}");

    let response = client.messages(&server, &body).send().await.unwrap();
    let mut stream = response.bytes_stream();
    let mut read = 0;
    let broken = loop {
        match stream.next().await {
            Some(Ok(bytes)) => read += bytes.len(),
            other => break other,
        }
    };
    assert!(matches!(broken, Some(Err(_))), "the connection did not break");
    assert_eq!(read, 100);
    assert_eq!(server.ended("HELLO-1").await.0, StreamEnd::Cut);
    server.finish();
}

#[tokio::test]
async fn errors_pages_and_answers_made_from_the_request_come_as_scripted() {
    let server = Server::start();
    server
        .when("HELLO-1")
        .reply(error(529, "overloaded_error", "busy").header("retry-after", "3"))
        .then(html(502, "<html>bad gateway</html>"))
        .then(dynamic(|request| text(format!("you said {}", request.first_user_text()))))
        .then(text("partial").error_event("overloaded_error", "busy"))
        .forever(tool_use("Read", json!({ "file_path": "a" })));
    let client = Client::new();
    let body = request(&json!([hello()]));
    let first = client.messages(&server, &body).send().await.unwrap();
    assert_eq!(first.status(), 529);
    assert_eq!(first.headers()["retry-after"], "3");
    assert!(first.text().await.unwrap().contains("overloaded_error"));
    assert_eq!(client.ask(&server, &body).await, (502, "<html>bad gateway</html>".to_owned()));
    assert!(client.ask(&server, &body).await.1.contains("you said HELLO-1"));
    let failed = client.ask(&server, &body).await.1;
    assert!(failed.contains("event: error") && !failed.contains("message_stop"), "{failed}");
    for id in ["toolu_0001", "toolu_0002"] {
        assert!(client.ask(&server, &body).await.1.contains(id));
    }
    let connections: Vec<_> = server.requests().iter().map(|request| request.connection).collect();
    assert!(connections.windows(2).all(|pair| pair[0] == pair[1]), "{connections:?}");
    server.finish();
}

#[tokio::test]
async fn times_are_recorded_in_order() {
    let server = Server::start();
    server.when("HELLO-1").reply(text("x").gate("g"));
    let client = Client::new();
    let body = request(&json!([hello()]));
    let asking = tokio::spawn(client.messages(&server, &body).send());
    server.reached("g").await;
    server.open("g");
    asking.await.unwrap().unwrap().text().await.unwrap();
    let (_, ended) = server.ended("HELLO-1").await;
    let record = server.requests().remove(0);
    let first = record.first_byte.unwrap();
    assert!(record.arrived <= first && first <= ended);
    assert!(ended - record.arrived < Duration::from_secs(20));
    server.finish();
}
