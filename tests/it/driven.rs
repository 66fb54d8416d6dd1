//! Another program drives the binary: control lines both ways, as the Agent SDK speaks them.

use serde_json::{Value, json};

use crate::support::DEADLINE;
use crate::support::client::{ARGS, Client};
use crate::support::scene::{Scene, agent, bash, calls};
use crate::support::script::{Reply, dynamic, text, tool_use};

mod commands;
mod frames;
mod hooks;
mod partial;
mod permission;
mod questions;
mod servers;
mod sources;
mod start;

const MODEL: [&str; 2] = ["--model", "claude-sonnet-5"];

fn start(scene: &Scene, args: &[&str]) -> Client {
    Client::start(scene.world.run(ARGS).args(MODEL).args(args.iter().copied()))
}

/// A client that has introduced itself.
async fn connect(scene: &Scene, args: &[&str]) -> Client {
    let mut client = start(scene, args);
    client.initialize(json!({})).await.unwrap();
    client
}

fn request(subtype: &str) -> Value {
    json!({ "subtype": subtype })
}

#[tokio::test]
async fn the_handshake_is_answered_before_any_prompt_and_several_turns_follow() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("one")).then(text("two"));
    let mut client = start(&scene, &["--system-prompt", ""]);
    let info = client.initialize(json!({})).await.unwrap();
    assert_eq!(info["models"][0]["value"], "claude-sonnet-5");
    let init = client.frame(|frame| frame["subtype"] == "init").await;
    assert_eq!(init["claude_code_version"], env!("CARGO_PKG_VERSION"));
    for (prompt, answer) in [("HELLO-1 go", "one"), ("and on", "two")] {
        assert_eq!(client.turn(prompt).await["result"], answer);
    }
    client.close().await.assert_code(0);
    assert_eq!(scene.server.requests()[1].messages().len(), 3, "one conversation");
    scene.server.finish();
}

#[tokio::test]
async fn a_client_that_leaves_without_a_prompt_is_no_failure() {
    let scene = Scene::new();
    let run = connect(&scene, &[]).await.close().await;
    run.assert_code(0);
    assert!(run.frames().iter().all(|frame| frame["type"] != "result"), "{run}");
}

#[tokio::test]
async fn agents_of_the_handshake_are_on_offer_beside_those_of_the_flag() {
    let scene = Scene::new();
    let mut call = agent("CHILD-A");
    call["subagent_type"] = json!("scout");
    scene.server.when("HELLO-1").reply(calls([call])).then(text("done"));
    scene.server.when("CHILD-A").reply(text("seen"));
    let flag = r#"{"other": {"description": "d", "prompt": "p"}}"#;
    let mut client = start(&scene, &["--agents", flag]);
    let scout = json!({ "description": "looks", "prompt": "SCOUT-PROMPT-9", "tools": ["Read"] });
    client.initialize(json!({ "agents": { "scout": scout } })).await.unwrap();
    let init = client.frame(|frame| frame["subtype"] == "init").await;
    for name in ["scout", "other"] {
        assert!(init["agents"].as_array().unwrap().contains(&json!(name)), "{init}");
    }
    assert_eq!(client.turn("HELLO-1").await["result"], "done");
    let child = &scene.server.requests_of("CHILD-A")[0];
    assert!(child.system().contains("SCOUT-PROMPT-9"));
    assert_eq!(child.tool_names(), ["Read"]);
    client.close().await.assert_code(0);
    scene.server.finish();
}

#[tokio::test]
async fn a_handshake_that_cannot_be_met_is_refused_and_nothing_runs() {
    let scene = Scene::new();
    let agents = json!({ "agents": { "x": { "description": "d" } } });
    let hooks = json!({ "hooks": { "Stop": [{ "hookCallbackIds": "h" }] } });
    for (fields, named) in [(agents, "`prompt` is missing"), (hooks, "`hooks` of Stop")] {
        let mut client = start(&scene, &[]);
        let why = client.initialize(fields).await.unwrap_err();
        assert!(why.contains(named), "{why}");
        let run = client.close().await;
        run.assert_code(2);
        assert!(run.stderr.contains(&why), "{run}");
    }
    assert_eq!(scene.server.requests().len(), 0);
}

#[tokio::test]
async fn a_start_that_fails_is_the_answer_to_the_handshake() {
    let mut scene = Scene::new();
    scene.world.unset("ANTHROPIC_API_KEY").unset("OPENAI_API_KEY");
    let mut client = Client::start(scene.world.run(ARGS));
    let why = client.initialize(json!({})).await.unwrap_err();
    assert!(why.contains("ANTHROPIC_API_KEY"), "{why}");
    client.close().await.assert_code(3);
}

#[tokio::test]
async fn unknown_requests_foreign_answers_and_broken_lines_get_one_line_each_and_nothing_hangs() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("one"));
    let mut client = connect(&scene, &[]).await;
    for (body, named) in [
        (request("frobnicate"), "`frobnicate`"),
        (json!({}), "not supported"),
        (json!({ "subtype": "rewind_files", "user_message_id": "u" }), "rewind_files"),
        (json!({ "subtype": "set_permission_mode", "mode": "auto" }), "auto"),
        (json!({ "subtype": "stop_task", "task_id": "nobody" }), "`nobody`"),
        (request("initialize"), "first line"),
    ] {
        let why = client.request(body.clone()).await.unwrap_err();
        assert!(why.contains(named), "{body}: {why}");
    }
    for id in ["caliban-77", "req_1_zz"] {
        client.respond(json!({ "subtype": "success", "request_id": id, "response": {} }));
    }
    client.send(&json!({ "type": "control_cancel_request", "request_id": "req_x" }));
    client.send(&json!("no object"));
    assert_eq!(client.result().await["error_kind"], "bad_input");
    assert_eq!(client.turn("HELLO-1").await["result"], "one");
    let run = client.close().await;
    run.assert_code(0);
    for id in ["`caliban-77`", "`req_1_zz`"] {
        let told = run.stderr.lines().filter(|line| line.contains(id)).count();
        assert_eq!(told, 1, "{run}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn a_request_that_cannot_be_read_is_answered_and_what_is_no_prompt_has_no_result() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("one").gate("hold")).then(text("two"));
    let mut client = connect(&scene, &[]).await;
    client.prompt("HELLO-1");
    scene.server.reached("hold").await;
    let flat = json!({ "type": "control_request", "request_id": "r-flat", "subtype": "interrupt" });
    let why = client.request_line("r-flat", &flat).await.unwrap_err();
    assert!(why.contains("missing field `request`"), "{why}");
    let long = json!({
        "type": "control_request", "request_id": "r-long",
        "request": { "subtype": "set_model", "model": "x".repeat(17 << 20) },
    });
    let why = client.request_line("r-long", &long).await.unwrap_err();
    assert!(why.contains("longer than 16 MB"), "{why}");
    for line in [
        json!({ "type": "control_request", "request": request("interrupt") }),
        json!({ "type": "control_response", "response": {} }),
        json!({ "type": "from_the_future" }),
    ] {
        client.send(&line);
    }
    client.request(request("mcp_status")).await.unwrap();
    scene.server.open("hold");
    assert_eq!(client.result().await["result"], "one");
    assert_eq!(client.turn("again").await["result"], "two", "one result for each prompt");
    let run = client.close().await;
    run.assert_code(0);
    let told: Vec<_> = run.stderr.lines().filter(|line| line.contains("stdin line")).collect();
    assert_eq!(told.len(), 3, "{run}");
    for (line, named) in told.iter().zip(["`request_id`", "`subtype`", "`from_the_future`"]) {
        assert!(line.contains(" ignored: ") && line.contains(named), "{line}");
    }
    let results = run.frames().into_iter().filter(|frame| frame["type"] == "result");
    assert_eq!(results.count(), 2, "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn requests_are_answered_while_a_server_starts_and_before_the_first_frame() {
    let scene = Scene::new();
    let go = scene.world.project_dir().join("go");
    let waits = format!("until [ -e '{}' ]; do sleep 0.05; done", go.display());
    let waits = toml::Value::String(waits);
    let server = format!("[mcp_servers.slow]\ncommand = \"bash\"\nargs = [\"-c\", {waits}]\n");
    scene.world.config(&server);
    let mut client = connect(&scene, &[]).await;
    let status = client.request(request("mcp_status")).await.unwrap();
    assert_eq!(status["mcpServers"][0]["status"], "pending");
    client.prompt("HELLO-1");
    client.send(&json!("no object"));
    let model = json!({ "subtype": "set_model", "model": null });
    client.request(model).await.unwrap();
    client.request(request("interrupt")).await.unwrap();
    scene.world.write("go", "");
    assert_eq!(client.result().await["error_kind"], "cancelled");
    assert_eq!(client.result().await["error_kind"], "bad_input");
    let run = client.close().await;
    run.assert_code(2);
    let frames = run.frames();
    let kinds: Vec<_> = frames.iter().map(|frame| frame["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds[..5],
        ["control_response"; 4].into_iter().chain(["system"]).collect::<Vec<_>>()
    );
    assert_eq!(frames[4]["subtype"], "init");
    assert_eq!(scene.server.requests().len(), 0);
}

#[tokio::test]
async fn an_interrupt_ends_the_running_tool_and_the_next_prompt_is_answered() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(tool_use("Bash", bash("sleep 600"))).then(text("again"));
    let mut client = connect(&scene, &["--dangerously-skip-permissions"]).await;
    client.prompt("HELLO-1");
    client.frame(|frame| frame["message"]["content"][0]["type"] == "tool_use").await;
    client.request(request("interrupt")).await.unwrap();
    let result = client.result().await;
    assert_eq!((&result["is_error"], &result["error_kind"]), (&json!(true), &json!("cancelled")));
    assert_eq!(client.turn("go on").await["result"], "again");
    client.close().await.assert_code(0);
    scene.server.finish();
}

#[tokio::test]
async fn an_interrupt_right_behind_its_prompt_stops_that_prompt_and_none_that_comes_later() {
    let scene = Scene::new();
    // Whether the first prompt comes as far as a request is not said: its answer never ends.
    scene.server.when("HELLO-1").forever(dynamic(|request| match request.text() {
        text_of if text_of.contains("SECOND-2") => text("later"),
        _ => text("half").stall(),
    }));
    let mut client = connect(&scene, &[]).await;
    client.request(request("interrupt")).await.unwrap();
    client.prompt("HELLO-1 first");
    client.request(request("interrupt")).await.unwrap();
    assert_eq!(client.result().await["error_kind"], "cancelled");
    assert_eq!(client.turn("SECOND-2").await["is_error"], false);
    client.close().await.assert_code(0);
}

#[tokio::test]
async fn mode_and_model_can_be_changed_between_and_during_turns() {
    let scene = Scene::new();
    let write = |path: &str| tool_use("Write", json!({ "file_path": path, "content": "x" }));
    scene.server.when("HELLO-1").reply(write("a.txt")).then(text("one"));
    scene.server.when("HELLO-1").reply(write("b.txt").gate("hold")).then(text("two"));
    scene.server.when("HELLO-1").reply(text("three"));
    let mut client = connect(&scene, &[]).await;
    client.turn("HELLO-1").await;
    assert!(!scene.world.exists("a.txt"), "nobody was asked");
    let mode = json!({ "subtype": "set_permission_mode", "mode": "acceptEdits" });
    client.prompt("again");
    scene.server.reached("hold").await;
    client.request(mode).await.unwrap();
    let model = |name: Value| json!({ "subtype": "set_model", "model": name });
    client.request(model(json!("claude-opus-4-8"))).await.unwrap();
    scene.server.open("hold");
    client.result().await;
    assert!(scene.world.exists("b.txt"), "from the next call on");
    client.request(model(Value::Null)).await.unwrap();
    client.turn("once more").await;
    client.close().await.assert_code(0);
    let models: Vec<_> =
        scene.server.requests().iter().map(|request| request.model().to_owned()).collect();
    let (first, second) = ("claude-sonnet-5", "claude-opus-4-8");
    assert_eq!(models, [first, first, first, second, first]);
    scene.server.finish();
}

#[tokio::test]
async fn the_window_and_the_servers_can_be_asked_for_while_a_turn_runs() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("one").usage(50_000, 100).cache(49_900, 0));
    scene.server.when("HELLO-1").reply(text("two").gate("hold"));
    let mut client = connect(&scene, &[]).await;
    let usage = client.request(request("get_context_usage")).await.unwrap();
    assert_eq!((&usage["totalTokens"], &usage["model"]), (&json!(0), &json!("claude-sonnet-5")));
    client.turn("HELLO-1").await;
    client.prompt("again");
    scene.server.reached("hold").await;
    let usage = client.request(request("get_context_usage")).await.unwrap();
    assert_eq!(usage["totalTokens"], 100_000, "cache reads fill the window too");
    let window = usage["maxTokens"].as_u64().unwrap();
    let free = usage["categories"][1]["tokens"].as_u64().unwrap();
    assert_eq!(free, window - 100_000);
    let servers = client.request(request("mcp_status")).await.unwrap();
    assert_eq!(servers, json!({ "mcpServers": [] }));
    scene.server.open("hold");
    client.result().await;
    client.close().await.assert_code(0);
    scene.server.finish();
}

#[tokio::test]
async fn the_window_of_a_resumed_session_is_as_full_as_it_was() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("one").usage(50_000, 100).cache(49_900, 0));
    let mut client = connect(&scene, &[]).await;
    client.turn("HELLO-1").await;
    client.close().await.assert_code(0);
    let mut client = connect(&scene, &["-c"]).await;
    // It can be asked for before the session is read.
    let filled = async {
        while client.request(request("get_context_usage")).await.unwrap()["totalTokens"] == 0 {}
        client.request(request("get_context_usage")).await.unwrap()
    };
    let usage = tokio::time::timeout(DEADLINE, filled).await.unwrap();
    assert_eq!(usage["totalTokens"], 100_000);
    client.close().await.assert_code(0);
    scene.server.finish();
}

#[tokio::test]
async fn a_running_sub_agent_can_be_stopped_by_its_task_id() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(calls([agent("CHILD-A")])).then(text("done"));
    scene.server.when("CHILD-A").reply(text("never").gate("never"));
    let mut client = connect(&scene, &[]).await;
    client.prompt("HELLO-1");
    let task = client.frame(|frame| frame["subtype"] == "task_started").await["task_id"].clone();
    scene.server.reached("never").await;
    let stop = json!({ "subtype": "stop_task", "task_id": task });
    client.request(stop.clone()).await.unwrap();
    let ended = client.frame(|frame| frame["subtype"] == "task_notification").await;
    assert_eq!((&ended["task_id"], &ended["status"]), (&task, &json!("stopped")));
    assert_eq!(client.result().await["result"], "done");
    client.request(stop).await.unwrap_err();
    client.close().await.assert_code(0);
}

#[tokio::test]
async fn the_exit_code_tells_of_the_last_prompt() {
    let scene = Scene::new();
    let refused = || Reply::stream().text("no").stop("refusal");
    scene.server.when("HELLO-1").reply(refused()).then(text("one")).then(refused());
    for (turns, code) in [(2, 0), (1, 1)] {
        let mut client = connect(&scene, &[]).await;
        for _ in 0..turns {
            client.turn("HELLO-1").await;
        }
        client.close().await.assert_code(code);
    }
    scene.server.finish();
}
