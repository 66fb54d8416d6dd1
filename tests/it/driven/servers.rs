//! MCP servers that live in the driving program: their messages go over the control lines.

use serde_json::{Value, json};

use super::{ARGS, Client, MODEL, request};
use crate::support::client::Question;
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

/// Plays the server until the prompt has its result. `called` makes the text of a call's answer.
async fn turn(
    client: &mut Client,
    prompt: &str,
    tool: &str,
    called: impl Fn(&Value) -> String,
) -> Value {
    client.prompt(prompt);
    loop {
        let frame = client
            .frame(|frame| {
                frame["type"] == "result" || frame["request"]["subtype"] == "mcp_message"
            })
            .await;
        if frame["type"] == "result" {
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
            "inputSchema": { "type": "object", "properties": {} },
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
    let mut client = connect(&scene, "calc", &["--allowed-tools", "mcp__calc__add"]).await;
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
async fn s2_16_a_permission_prompt_tool_receives_the_question_and_decides() {
    let scene = Scene::new();
    let touch = |file: &str| tool_use("Bash", bash(&format!("touch {file}")));
    scene.server.when("HELLO-1").reply(touch("a.txt")).then(touch("b.txt")).then(touch("c.txt"));
    scene.server.when("HELLO-1").reply(text("done"));
    let args = ["--permission-prompt-tool", "mcp__approver__ask"];
    let mut client = connect(&scene, "approver", &args).await;
    let decide = |given: &Value| {
        assert_eq!(given["tool_name"], "Bash");
        assert!(given["tool_use_id"].is_string());
        let answer = match given["input"]["command"].as_str().unwrap() {
            "touch a.txt" => json!({ "behavior": "allow", "updatedInput": bash("touch d.txt") }),
            "touch b.txt" => json!({ "behavior": "deny", "message": "WHY-77" }),
            _ => return "certainly".to_owned(),
        };
        answer.to_string()
    };
    let result = turn(&mut client, "HELLO-1", "ask", decide).await;
    assert_eq!(result["result"], "done");
    let run = client.close().await;
    run.assert_code(0);
    assert!(run.stderr.contains("must answer with JSON"), "{run}");
    let made = ["a.txt", "b.txt", "c.txt", "d.txt"].map(|file| scene.world.exists(file));
    assert_eq!(made, [false, false, false, true]);
    assert!(scene.server.requests()[2].tool_result().text.contains("WHY-77"));
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
