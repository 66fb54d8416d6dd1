//! What frames tell a driving program, and when: names, blocks, interruptions, refusals.

use serde_json::{Value, json};

use super::{connect, request, start};
use crate::support::client::Client;
use crate::support::process::Fifo;
use crate::support::run::Finished;
use crate::support::scene::{Scene, agent, agent_with, bash};
use crate::support::script::{Reply, error, text, thinking, tool_use};

const PARTIAL: &str = "--include-partial-messages";

fn is_of(frame: &Value, kind: &str) -> bool {
    frame["type"] == kind
}

/// The position of the first frame that is looked for.
fn place(frames: &[Value], is: impl Fn(&Value) -> bool) -> usize {
    frames.iter().position(is).unwrap_or_else(|| panic!("{frames:#?}"))
}

fn init(run: &Finished) -> Value {
    run.frames().into_iter().find(|frame| frame["subtype"] == "init").unwrap()
}

/// The first frame, of a client that may leave without a prompt.
async fn first_frame(client: &mut Client) -> Value {
    client.frame(|frame| frame["subtype"] == "init").await
}

fn lists(init: &Value, tool: &str) -> bool {
    init["tools"].as_array().unwrap().contains(&json!(tool))
}

#[tokio::test]
async fn a_driving_program_sees_the_agent_tool_under_the_name_it_looks_for() {
    let scene = Scene::new();
    // Whichever of its names the model uses.
    let call = tool_use("AgentTool", agent("CHILD-A"));
    scene.server.when("HELLO-1").reply(call).then(text("done"));
    scene.server.when("CHILD-A").reply(text("seen"));
    let mut client = connect(&scene, &[PARTIAL]).await;
    client.turn("HELLO-1").await;
    let run = client.close().await;
    run.assert_code(0);
    assert!(lists(&init(&run), "Agent") && !lists(&init(&run), "AgentTool"), "{run}");
    let frames = run.frames();
    let call = place(&frames, |frame| frame["message"]["content"][0]["type"] == "tool_use");
    assert_eq!(frames[call]["message"]["content"][0]["name"], "Agent");
    let begun = place(&frames, |frame| frame["event"]["content_block"]["type"] == "tool_use");
    assert_eq!(frames[begun]["event"]["content_block"]["name"], "Agent");
    let progress = frames.iter().find(|frame| frame["subtype"] == "task_started").unwrap();
    assert_eq!(progress["tool_use_id"], frames[call]["message"]["content"][0]["id"]);
    let offered = scene.server.requests()[0].tool_names().join(" ");
    assert!(offered.split(' ').any(|name| name == "Agent"), "{offered}");

    // The session keeps that name when nobody drives it.
    scene.server.when("HELLO-1").reply(text("again"));
    let args = ["-p", "-c", "go on", "--output-format", "stream-json"];
    let run = scene.world.run(args).finish().await;
    run.assert_code(0);
    assert!(lists(&init(&run), "Agent"), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_name_in_a_file_goes_before_that_of_the_handshake_and_a_session_keeps_its_own() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("one")).then(text("two"));
    let run = scene.world.run(["-p", "HELLO-1"]).finish().await;
    run.assert_code(0);
    let mut client = connect(&scene, &["--continue"]).await;
    client.turn("again").await;
    let run = client.close().await;
    assert!(lists(&init(&run), "AgentTool"), "{run}");

    scene.world.config("[subagents]\ntool_name = \"Task\"\n");
    let mut client = connect(&scene, &[]).await;
    assert!(lists(&first_frame(&mut client).await, "Task"));
    client.close().await.assert_code(0);
    scene.server.finish();
}

#[tokio::test]
async fn each_block_is_a_frame_as_soon_as_it_ends() {
    let scene = Scene::new();
    let answer = thinking("hm", "sig").text("half").end_block().gate("hold").text("whole");
    scene.server.when("HELLO-1").reply(answer);
    let mut client = connect(&scene, &[PARTIAL]).await;
    client.prompt("HELLO-1");
    let is_text = |frame: &Value| frame["message"]["content"][0]["text"] == "half";
    let first = client.frame(is_text).await;
    assert_eq!(first["message"]["model"], "claude-sonnet-5");
    assert!(first["message"]["usage"]["input_tokens"].is_u64(), "{first}");
    scene.server.open("hold");
    client.result().await;
    let run = client.close().await;
    run.assert_code(0);
    let frames = run.frames();
    let stop = place(&frames, |frame| frame["event"]["type"] == "message_stop");
    let last = frames.iter().rposition(|frame| is_of(frame, "assistant")).unwrap();
    assert!(last < stop, "{run}");
    let ends: Vec<_> = frames
        .iter()
        .filter(|frame| is_of(frame, "assistant") || frame["event"]["type"] == "content_block_stop")
        .map(|frame| frame["type"].as_str().unwrap())
        .collect();
    assert_eq!(ends, ["stream_event", "assistant"].repeat(ends.len() / 2), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn an_interrupt_while_a_tool_runs_says_so() {
    let scene = Scene::new();
    let fifo = |name: &str| Fifo::new(&scene.world.project_dir().join(name));
    let (held, _never) = (fifo("held"), fifo("never"));
    let call = tool_use("Bash", bash("echo > held; read x < never"));
    scene.server.when("HELLO-1").reply(call).then(text("again"));
    let mut client = connect(&scene, &["--dangerously-skip-permissions"]).await;
    client.prompt("HELLO-1");
    held.opened().await;
    client.request(request("interrupt")).await.unwrap();
    assert_eq!(client.result().await["terminal_reason"], "aborted_tools");
    assert_eq!(client.turn("go on").await["terminal_reason"], "completed");
    client.close().await.assert_code(0);
    scene.server.finish();
}

#[tokio::test]
async fn an_interrupted_answer_is_told_as_far_as_it_came() {
    let scene = Scene::new();
    let whole = thinking("hm", "sig").text("HALF-7").gate("never");
    scene.server.when("HELLO-1").reply(whole).then(text("again"));
    let mut client = connect(&scene, &[PARTIAL]).await;
    client.prompt("HELLO-1");
    client.frame(|frame| frame["event"]["delta"]["text"] == "HALF-7").await;
    client.request(request("interrupt")).await.unwrap();
    let result = client.result().await;
    assert_eq!(
        (&result["subtype"], &result["terminal_reason"]),
        (&json!("error_during_execution"), &json!("aborted_streaming"))
    );
    assert_eq!(client.turn("go on").await["result"], "again");
    let run = client.close().await;
    run.assert_code(0);
    let frames = run.frames();
    let told = |kind: &'static str, text: &'static str| {
        place(&frames, |frame| is_of(frame, kind) && frame["message"]["content"][0]["text"] == text)
    };
    let answer = told("assistant", "HALF-7");
    let stopped = told("user", "[Request interrupted by user]");
    let result = place(&frames, |frame| is_of(frame, "result"));
    assert!(answer < stopped && stopped < result, "{run}");
    let thought = place(&frames, |frame| frame["message"]["content"][0]["type"] == "thinking");
    assert_eq!(frames[answer]["message"]["id"], frames[thought]["message"]["id"]);
    let texts = scene.server.requests()[1].messages()[1].to_string();
    assert!(texts.contains("HALF-7"), "the model sees the same: {texts}");
}

#[tokio::test]
async fn a_repeated_request_names_the_message_whose_frames_are_void() {
    let scene = Scene::new();
    let torn = Reply::stream().text("TORN-1").end_block().cut();
    scene.server.when("HELLO-1").reply(torn).then(text("whole"));
    let mut client = connect(&scene, &[]).await;
    client.turn("HELLO-1").await;
    let run = client.close().await;
    run.assert_code(0);
    let frames = run.frames();
    let torn = place(&frames, |frame| frame["message"]["content"][0]["text"] == "TORN-1");
    let retry = place(&frames, |frame| frame["subtype"] == "api_retry");
    assert_eq!(frames[retry]["void_message_id"], frames[torn]["message"]["id"]);
    let whole = place(&frames, |frame| frame["message"]["content"][0]["text"] == "whole");
    assert_ne!(frames[whole]["message"]["id"], frames[torn]["message"]["id"]);
    scene.server.finish();
}

#[tokio::test]
async fn what_sub_agents_write_is_told_where_the_program_asks_for_it() {
    for (fields, is_told) in [
        (json!({ "forwardSubagentText": true }), true),
        (json!({ "forwardSubagentText": false }), false),
        (json!({}), false),
    ] {
        let scene = Scene::new();
        scene.world.write("a.txt", "a\n");
        let call = tool_use("Agent", agent("CHILD-A"));
        scene.server.when("HELLO-1").reply(call).then(text("done"));
        let file = scene.world.project_dir().join("a.txt");
        let child = thinking("hm", "sig").text("I look.");
        let child = child.tool_use("Read", json!({ "file_path": file }));
        scene.server.when("CHILD-A").reply(child).then(text("CHILD-TEXT-1"));
        let mut client = start(&scene, &[]);
        client.initialize(fields.clone()).await.unwrap();
        client.turn("HELLO-1").await;
        let frames = client.close().await.frames();
        let of_child = frames.iter().filter(|frame| {
            is_of(frame, "assistant") && frame["parent_tool_use_id"] != Value::Null
        });
        let kinds: Vec<_> = of_child
            .map(|frame| frame["message"]["content"][0]["type"].as_str().unwrap())
            .collect();
        match is_told {
            true => assert_eq!(kinds, ["thinking", "text", "tool_use", "text"], "{fields}"),
            false => assert_eq!(kinds, ["tool_use"], "{fields}"),
        }
        scene.server.finish();
    }
}

#[tokio::test]
async fn the_agent_tool_takes_a_call_that_is_not_for_the_background() {
    let scene = Scene::new();
    let call = agent_with("CHILD-A", "run_in_background", json!(false));
    scene.server.when("HELLO-1").reply(tool_use("Agent", call)).then(text("done"));
    scene.server.when("CHILD-A").reply(text("seen"));
    let mut client = connect(&scene, &[]).await;
    assert_eq!(client.turn("HELLO-1").await["result"], "done");
    client.close().await.assert_code(0);
    let result = scene.server.requests_of("HELLO-1")[1].tool_result();
    assert!(!result.is_error && result.text.contains("seen"), "{result:?}");
    scene.server.finish();
}

#[tokio::test]
async fn a_result_says_whose_prompt_it_answers_where_the_program_has_said_so() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("one")).then(text("two"));
    let mut client = connect(&scene, &[]).await;
    let prompt = |text: &str, origin: Value| {
        let message = json!({ "role": "user", "content": text });
        json!({ "type": "user", "message": message, "parent_tool_use_id": null, "origin": origin })
    };
    let human = json!({ "kind": "human" });
    for (text, origin) in [
        ("HELLO-1", human.clone()),
        ("again", Value::Null),
        ("/cost", human.clone()),
        (" ", Value::Null),
    ] {
        client.send(&prompt(text, origin.clone()));
        assert_eq!(client.result().await["origin"], origin, "{text}");
    }
    client.close().await;
    scene.server.finish();
}

#[tokio::test]
async fn the_first_frame_names_the_output_style() {
    let scene = Scene::new();
    let mut client = connect(&scene, &[]).await;
    assert_eq!(first_frame(&mut client).await["output_style"], "default");
    client.close().await.assert_code(0);
    scene.world.write(".claude/settings.local.json", r#"{"outputStyle": "style-1"}"#);
    let mut client = start(&scene, &[]);
    assert_eq!(client.initialize(json!({})).await.unwrap()["output_style"], "style-1");
    assert_eq!(first_frame(&mut client).await["output_style"], "style-1");
    client.close().await.assert_code(0);
}

#[tokio::test]
async fn what_a_provider_refuses_is_a_result_in_the_words_of_the_sdk() {
    let scene = Scene::new();
    let refused = error(404, "not_found_error", "NO-SUCH-MODEL");
    scene.server.when("HELLO-1").reply(refused).then(text("fine"));
    let mut client = connect(&scene, &[]).await;
    let result = client.turn("HELLO-1").await;
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(true)));
    assert_eq!(result["terminal_reason"], "api_error");
    assert_eq!(result["api_error_status"], 404);
    assert_eq!((&result["error_kind"], &result["errors"]), (&json!("bad_request"), &json!([])));
    assert!(result["result"].as_str().unwrap().contains("NO-SUCH-MODEL"), "{result}");
    let result = client.turn("again").await;
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(false)));
    assert_eq!(
        (&result["terminal_reason"], &result["api_error_status"]),
        (&json!("completed"), &Value::Null)
    );
    client.close().await.assert_code(0);
    scene.server.finish();
}
