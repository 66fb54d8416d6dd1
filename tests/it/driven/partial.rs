//! `--include-partial-messages`: pieces of answers as they come, the parent's and its sub-agents'.

use serde_json::{Value, json};

use super::connect;
use crate::support::client::ARGS;
use crate::support::run::Finished;
use crate::support::scene::{Scene, agent, calls};
use crate::support::script::{text, thinking};

const PARTIAL: &str = "--include-partial-messages";

fn events<'a>(run: &'a [Value], parent: &'a Value) -> impl Iterator<Item = &'a Value> {
    let stream = run.iter().filter(|frame| frame["type"] == "stream_event");
    stream.filter(move |frame| frame["parent_tool_use_id"] == *parent).map(|frame| &frame["event"])
}

/// All text of one kind of delta.
fn joined<'a>(events: impl Iterator<Item = &'a Value>, field: &str) -> String {
    events.filter_map(|event| event["delta"][field].as_str()).collect()
}

#[tokio::test]
async fn pieces_of_an_answer_come_before_it_is_whole() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("half").gate("hold").more(" whole"));
    let mut client = connect(&scene, &[PARTIAL]).await;
    client.prompt("HELLO-1");
    let piece = client.frame(|frame| frame["event"]["delta"]["type"] == "text_delta").await;
    assert_eq!(piece["event"]["delta"]["text"], "half");
    assert!(piece["uuid"].is_string() && piece["session_id"].is_string(), "{piece}");
    scene.server.open("hold");
    client.result().await;
    client.close().await.assert_code(0);
    scene.server.finish();
}

async fn family(scene: &Scene) -> Finished {
    let first = thinking("let me see", "sig").tool_use("AgentTool", agent("CHILD-A"));
    scene.server.when("HELLO-1").reply(first).then(text("done"));
    scene.server.when("CHILD-A").reply(text("from the child"));
    let mut client = connect(scene, &[PARTIAL]).await;
    client.turn("HELLO-1").await;
    client.close().await
}

#[tokio::test]
async fn every_step_of_every_agent_is_told_in_the_shape_of_the_messages_api() {
    let scene = Scene::new();
    let run = family(&scene).await;
    run.assert_code(0);
    let frames = run.frames();
    let main: Vec<_> = events(&frames, &Value::Null).cloned().collect();
    let kinds: Vec<_> = main.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "message_start").count(), 2);
    assert_eq!(kinds.last(), Some(&"message_stop"));
    assert_eq!(main[0]["message"]["model"], "claude-sonnet-5");
    assert_eq!(main[1]["content_block"]["type"], "thinking");
    assert_eq!(joined(main.iter(), "thinking"), "let me see");
    assert_eq!(joined(main.iter(), "signature"), "sig");
    let call = main.iter().find(|event| event["content_block"]["type"] == "tool_use").unwrap();
    assert_eq!(call["content_block"]["input"], json!({}));
    let input: Value = serde_json::from_str(&joined(main.iter(), "partial_json")).unwrap();
    assert_eq!(input, agent("CHILD-A"));
    let stop = main.iter().find(|event| event["type"] == "message_delta").unwrap();
    assert_eq!(stop["delta"]["stop_reason"], "tool_use");
    let child = events(&frames, &call["content_block"]["id"]);
    assert_eq!(joined(child, "text"), "from the child");
    scene.server.finish();
}

#[tokio::test]
async fn without_the_option_there_are_no_pieces() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(calls([agent("CHILD-A")])).then(text("done"));
    scene.server.when("CHILD-A").reply(text("from the child"));
    let mut client = connect(&scene, &[]).await;
    client.turn("HELLO-1").await;
    let run = client.close().await;
    assert!(run.frames().iter().all(|frame| frame["type"] != "stream_event"), "{run}");
    let run = scene.world.run(["-p", "x", PARTIAL, "--output-format", "json"]).finish().await;
    run.assert_code(2);
    assert!(run.stderr.contains("stream-json"), "{run}");
}

#[tokio::test]
async fn the_chat_wire_tells_the_same_steps() {
    let scene = Scene::on_chat();
    scene.server.when("HELLO-1").reply(text("over chat"));
    let mut client = super::Client::start(scene.world.run(ARGS).args([PARTIAL]));
    client.initialize(json!({})).await.unwrap();
    client.turn("HELLO-1").await;
    let frames = client.close().await.frames();
    let kinds: Vec<_> =
        events(&frames, &Value::Null).map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds.first(), Some(&"message_start"));
    assert_eq!(kinds.last(), Some(&"message_stop"));
    assert_eq!(joined(events(&frames, &Value::Null), "text"), "over chat");
    scene.server.finish();
}
