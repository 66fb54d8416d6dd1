//! MCP servers that live in the driving program: their messages go over the control lines.

use serde_json::{Value, json};

use super::{ARGS, Client, MODEL, request};
use crate::mcp;
use crate::support::client::Question;
use crate::support::process;
use crate::support::scene::{Scene, bash};
use crate::support::script::{text, tool_use};

/// A client with a server of one tool.
async fn connect(scene: &Scene, server: &str, args: &[&str]) -> Client {
    let servers = json!({ "mcpServers": { server: { "type": "sdk", "name": server } } });
    let run = scene.world.run(ARGS).args(MODEL).args(args.iter().copied());
    let mut client = Client::start(run.args(["--mcp-config", &servers.to_string()]));
    client.initialize(json!({ "sdkMcpServers": [server] })).await.unwrap();
    client
}

/// Sends a prompt, and plays the server until it has its result. `called` makes the text of a call's answer.
async fn turn(
    client: &mut Client,
    prompt: &str,
    tool: &str,
    called: impl Fn(&Value) -> String,
) -> Value {
    client.prompt(prompt);
    until(client, tool, called, |frame| frame["type"] == "result").await
}

/// Plays the server until such a frame comes.
async fn until(
    client: &mut Client,
    tool: &str,
    called: impl Fn(&Value) -> String,
    is: impl Fn(&Value) -> bool,
) -> Value {
    loop {
        let frame =
            client.frame(|frame| is(frame) || frame["request"]["subtype"] == "mcp_message").await;
        if is(&frame) {
            return frame;
        }
        let question = Question::of(frame);
        let message = &question.body["message"];
        let answer = match reply(message, tool, &called) {
            Some(result) => json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }),
            None => json!({ "jsonrpc": "2.0", "result": {} }),
        };
        client.answer(&question, json!({ "mcp_response": answer }));
    }
}

/// Plays the server until its tool is called, and leaves that to the test.
async fn call(client: &mut Client) -> Question {
    let is = |frame: &Value| frame["request"]["message"]["method"] == "tools/call";
    let never = |_: &Value| -> String { panic!("calls are answered by the test") };
    Question::of(until(client, "add", never, is).await)
}

/// What a call with this text comes to.
fn said(question: &Question, text: &str) -> Value {
    let result = json!({ "content": [{ "type": "text", "text": text }] });
    let id = &question.body["message"]["id"];
    json!({ "mcp_response": { "jsonrpc": "2.0", "id": id, "result": result } })
}

const ADD: [&str; 2] = ["--allowed-tools", "mcp__calc__add"];

/// What a server says to a message; nothing to a notification.
fn reply(message: &Value, tool: &str, called: &impl Fn(&Value) -> String) -> Option<Value> {
    message.get("id")?;
    Some(match message["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "stub", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [{
            "name": tool, "description": "a tool of the program",
            // Only a tool that asks for the directory gets it.
            "inputSchema": { "type": "object", "properties": match tool {
                "ask" => json!({ "cwd": { "type": "string" }, "decision_reason": { "type": "string" } }),
                _ => json!({}),
            } },
        }] }),
        "tools/call" => {
            let text = called(&message["params"]["arguments"]);
            json!({ "content": [{ "type": "text", "text": text }] })
        }
        other => panic!("{other}"),
    })
}

#[tokio::test]
async fn a_tool_of_the_program_is_called_like_any_other() {
    let scene = Scene::new();
    let call = tool_use("mcp__calc__add", json!({ "a": 2, "b": 3 }));
    scene.server.when("HELLO-1").reply(call).then(text("five"));
    let mut client = connect(&scene, "calc", &ADD).await;
    let add =
        |given: &Value| (given["a"].as_i64().unwrap() + given["b"].as_i64().unwrap()).to_string();
    let result = turn(&mut client, "HELLO-1", "add", add).await;
    assert_eq!(result["result"], "five");
    let status = client.request(request("mcp_status")).await.unwrap();
    assert_eq!(status["mcpServers"][0]["name"], "calc");
    assert_eq!(status["mcpServers"][0]["status"], "connected");
    assert_eq!(status["mcpServers"][0]["tools"], json!([{ "name": "mcp__calc__add" }]));
    client.close().await.assert_code(0);
    let requests = scene.server.requests();
    assert!(requests[0].tool_names().contains(&"mcp__calc__add"));
    assert_eq!(requests[1].tool_result().text, "5");
    scene.server.finish();
}

#[tokio::test]
async fn a_server_that_only_the_handshake_names_lives_in_the_program() {
    let scene = Scene::new();
    // A file of the project cannot take its place.
    let command = json!({ "command": "bash", "args": ["-c", "touch started"] });
    scene.world.write(".mcp.json", &json!({ "mcpServers": { "calc": command } }).to_string());
    scene.world.trust();
    let call = tool_use("mcp__calc__add", json!({ "a": 2, "b": 3 }));
    scene.server.when("HELLO-1").reply(call).then(text("five"));
    let mut client = super::start(&scene, &ADD);
    let handshake = json!({
        "sdkMcpServers": ["calc"],
        "sdkMcpServerConfigs": { "calc": { "timeout": 60_000 } },
        "sdkMcpServerManifests": { "calc": { "initializeResult": {} } },
    });
    client.initialize(handshake).await.unwrap();
    let result = turn(&mut client, "HELLO-1", "add", |_| "5".to_owned()).await;
    assert_eq!(result["result"], "five");
    let status = client.request(request("mcp_status")).await.unwrap();
    assert_eq!(status["mcpServers"].as_array().unwrap().len(), 1, "{status}");
    assert_eq!(status["mcpServers"][0]["status"], "connected");
    let run = client.close().await;
    run.assert_code(0);
    assert!(!run.frames().iter().any(|frame| frame["subtype"] == "notice"), "{run}");
    assert!(!scene.world.exists("started"));
    assert_eq!(scene.server.requests()[1].tool_result().text, "5");
    scene.server.finish();
}

#[tokio::test]
async fn a_policy_for_tools_of_the_programs_server_is_refused_by_name() {
    let scene = Scene::new();
    let mut client = super::start(&scene, &[]);
    let policy = json!({ "calc": { "tools": [{ "name": "add", "policy": "always_ask" }] } });
    let fields = json!({ "sdkMcpServers": ["calc"], "sdkMcpServerConfigs": policy });
    let why = client.initialize(fields).await.unwrap_err();
    assert!(why.contains("`calc`") && why.contains("sdkMcpServerConfigs"), "{why}");
    client.close().await.assert_code(2);
}

#[tokio::test]
async fn servers_to_start_can_come_with_the_handshake() {
    let scene = Scene::new();
    let call = tool_use("mcp__stub__echo", json!({}));
    scene.server.when("HELLO-1").reply(call).then(text("done"));
    let args = ["--await-initialize", "--allowed-tools", "mcp__stub__echo"];
    let mut client = super::start(&scene, &args);
    let log = scene.world.project_dir().join("stub.log");
    let server = json!({
        "command": "bash", "args": [mcp::stub()],
        "env": { "STUB_LOG": log, "STUB_TOOLS": mcp::tools(&["echo"]) },
    });
    let response = client.initialize(json!({ "mcpServers": { "stub": server } })).await.unwrap();
    assert_eq!(response["mcp_servers_applied"], true);
    assert_eq!(client.turn("HELLO-1").await["result"], "done");
    client.close().await.assert_code(0);
    assert!(!scene.server.requests()[1].tool_result().is_error);
    scene.server.finish();
    let scene = Scene::new();
    let mut client = super::start(&scene, &["--await-initialize"]);
    let broken = json!({ "mcpServers": { "stub": { "type": "carrier-pigeon" } } });
    let why = client.initialize(broken).await.unwrap_err();
    assert!(why.contains("stub"), "{why}");
    client.close().await.assert_code(2);
}

#[tokio::test]
async fn a_permission_prompt_tool_receives_the_question_and_decides() {
    let scene = Scene::new();
    let touch = |file: &str| tool_use("Bash", bash(&format!("touch {file}")));
    scene.server.when("HELLO-1").reply(touch("a.txt")).then(touch("b.txt")).then(touch("c.txt"));
    scene.server.when("HELLO-1").reply(touch("e.txt")).then(text("done"));
    let args = ["--permission-prompt-tool", "mcp__approver__ask"];
    let mut client = connect(&scene, "approver", &args).await;
    let project = scene.world.project_dir().canonicalize().unwrap();
    let decide = |given: &Value| {
        assert_eq!(given["tool_name"], "Bash");
        assert_eq!(given["cwd"], project.to_str().unwrap());
        assert_eq!(
            (&given["decision_reason"], given.get("blocked_path")),
            (&json!("no rule allows touch"), None)
        );
        assert!(given["tool_use_id"].is_string());
        let answer = match given["input"]["command"].as_str().unwrap() {
            "touch a.txt" => json!({ "behavior": "allow", "updatedInput": bash("touch d.txt") }),
            "touch b.txt" => json!({ "behavior": "deny", "message": "WHY-77" }),
            "touch e.txt" => {
                return r#"{"behavior": "deny", "message": "m", "behavior": "allow"}"#.to_owned();
            }
            _ => return "certainly".to_owned(),
        };
        answer.to_string()
    };
    let result = turn(&mut client, "HELLO-1", "ask", decide).await;
    assert_eq!(result["result"], "done");
    let run = client.close().await;
    run.assert_code(0);
    assert!(run.stderr.contains("must answer with JSON"), "{run}");
    assert!(run.stderr.contains("`behavior` occurs twice"), "{run}");
    let made = ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"];
    let made = made.map(|file| scene.world.exists(file));
    assert_eq!(made, [false, false, false, true, false]);
    let told = scene.server.requests()[2].tool_result().text;
    assert_eq!(told, "denied by the permission tool mcp__approver__ask: WHY-77");
    scene.server.finish();
}

#[tokio::test]
async fn a_question_that_is_withdrawn_is_cancelled_at_the_server_that_was_asked() {
    let scene = Scene::new();
    let list = mcp::tools(&["never"]);
    scene.world.config(&mcp::server(&scene, "stub", &[("STUB_TOOLS", &list)]));
    scene.server.when("HELLO-1").reply(tool_use("Bash", bash("touch a.txt")));
    let args = ["--permission-prompt-tool", "mcp__stub__never"];
    let mut client = super::connect(&scene, &args).await;
    client.prompt("HELLO-1");
    process::eventually(|| mcp::count(&scene, "stub", "call never") == 1).await;
    client.request(request("interrupt")).await.unwrap();
    process::eventually(|| mcp::count(&scene, "stub", "cancelled") == 1).await;
    client.result().await;
    client.close().await;
    assert!(!scene.world.exists("a.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn a_permission_prompt_tool_that_is_not_there_is_a_no_that_says_so() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(tool_use("Bash", bash("touch a.txt"))).then(text("done"));
    let args = ["-p", "HELLO-1", "--permission-prompt-tool", "mcp__approver__ask"];
    let run = scene.world.run(args).finish().await;
    run.assert_code(0);
    assert!(run.stderr.contains("no MCP tool mcp__approver__ask"), "{run}");
    assert!(!scene.world.exists("a.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn an_interrupt_tells_the_server_and_a_late_answer_is_no_mistake() {
    let scene = Scene::new();
    let add = || tool_use("mcp__calc__add", json!({}));
    scene.server.when("HELLO-1").reply(add()).then(add()).then(text("done"));
    let mut client = connect(&scene, "calc", &ADD).await;
    client.prompt("HELLO-1");
    let open = call(&mut client).await;
    client.request(request("interrupt")).await.unwrap();
    assert_eq!(client.result().await["error_kind"], "cancelled");
    let told = client
        .frame(|frame| frame["request"]["message"]["method"] == "notifications/cancelled")
        .await;
    let told = Question::of(told);
    assert_eq!(told.body["message"]["params"]["requestId"], open.body["message"]["id"]);
    client.answer(&told, json!({ "mcp_response": { "jsonrpc": "2.0", "result": {} } }));
    client.answer(&open, said(&open, "too late"));
    client.prompt("again");
    let next = call(&mut client).await;
    client.answer(&next, said(&next, "in time"));
    assert_eq!(client.result().await["result"], "done");
    let run = client.close().await;
    run.assert_code(0);
    assert!(!run.stderr.contains("no request has the id"), "{run}");
    assert_eq!(scene.server.requests()[2].tool_result().text, "in time");
    scene.server.finish();
}

#[tokio::test]
async fn an_error_of_the_server_or_of_its_program_is_the_calls_error_and_the_server_stays() {
    let scene = Scene::new();
    let add = || tool_use("mcp__calc__add", json!({}));
    let script = scene.server.when("HELLO-1").reply(add()).then(add()).then(add()).then(add());
    script.then(add()).then(text("done"));
    let mut client = connect(&scene, "calc", &ADD).await;
    client.prompt("HELLO-1");
    let question = call(&mut client).await;
    let error = json!({ "code": -32000, "message": "WHY-77" });
    let id = &question.body["message"]["id"];
    let answer = json!({ "mcp_response": { "jsonrpc": "2.0", "id": id, "error": error } });
    client.answer(&question, answer);
    let question = call(&mut client).await;
    client.fail(&question, "RAISED-66");
    let question = call(&mut client).await;
    client.answer(&question, json!({}));
    let question = call(&mut client).await;
    client.answer(&question, json!({ "mcp_response": { "jsonrpc": "2.0", "id": {} } }));
    let question = call(&mut client).await;
    client.answer(&question, said(&question, "well"));
    assert_eq!(client.result().await["result"], "done");
    client.close().await.assert_code(0);
    let requests = scene.server.requests();
    let named = ["WHY-77", "RAISED-66", "there is no `mcp_response`", "not an MCP message"];
    for (request, named) in requests[1..].iter().zip(named) {
        let result = request.tool_result();
        assert!(result.is_error && result.text.contains(named), "{named}: {result:?}");
    }
    let last = requests[5].tool_result();
    assert_eq!((last.is_error, last.text.as_str()), (false, "well"));
    scene.server.finish();
}

#[tokio::test]
async fn a_large_answer_is_read_and_one_over_the_limit_is_the_calls_error_at_once() {
    let scene = Scene::new();
    let add = || tool_use("mcp__calc__add", json!({}));
    scene.server.when("HELLO-1").reply(add()).then(add()).then(text("done"));
    let mut client = connect(&scene, "calc", &ADD).await;
    client.prompt("HELLO-1");
    for megabytes in [9, 17] {
        let question = call(&mut client).await;
        client.answer(&question, said(&question, &"x".repeat(megabytes << 20)));
    }
    assert_eq!(client.result().await["result"], "done");
    let run = client.close().await;
    run.assert_code(0);
    let results = run.frames().into_iter().filter(|frame| frame["type"] == "result");
    assert_eq!(results.count(), 1);
    let requests = scene.server.requests();
    assert!(!requests[1].tool_result().is_error);
    let over = requests[2].tool_result();
    assert!(over.is_error && over.text.contains("longer than 16 MB"), "{over:?}");
    scene.server.finish();
}
