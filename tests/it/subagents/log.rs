//! The log: one shape for every call, and spans that nest as the agents do.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{flat, log_of};
use crate::support::scene::{PARENT, Scene, agent, bash};
use crate::support::script::{text, tool_use};

/// A run in which main reads a file, runs a command and starts an agent that runs one itself.
async fn run() -> Scene {
    let scene = Scene::new();
    scene.world.write("a.txt", "alpha\n");
    let calls = tool_use("Read", serde_json::json!({ "file_path": "a.txt" }))
        .tool_use("Bash", bash("exit 3"))
        .tool_use("AgentTool", agent("CHILD-A"));
    scene.server.when(PARENT).reply(calls).then(text("done"));
    scene.server.when("CHILD-A").reply(tool_use("Bash", bash("true"))).then(text("ok"));
    scene.run().finish().await.assert_code(0);
    scene
}

fn of_agent(records: &[Value], child: bool) -> Vec<&Value> {
    records.iter().filter(|record| (record["agent"] != "root") == child).collect()
}

#[tokio::test]
async fn a_childs_turns_and_calls_nest_under_the_span_of_its_call() {
    let scene = run().await;
    let (calls, turns) = (log_of(&scene, "tool_call"), log_of(&scene, "turn_started"));
    let all: Vec<_> =
        calls.iter().chain(&turns).chain(&log_of(&scene, "turn_completed")).cloned().collect();
    let traces: BTreeSet<_> =
        all.iter().map(|record| record["trace_id"].as_str().unwrap()).collect();
    assert_eq!(traces.len(), 1, "one trace: {traces:?}");
    let delegation =
        of_agent(&calls, false).into_iter().find(|call| call["tool"] == "AgentTool").unwrap();
    let span = &delegation["span_id"];
    let of_child = of_agent(&all, true);
    assert_eq!(of_child.len(), 5, "two turns, begun and ended, and a call: {of_child:?}");
    assert!(of_child.iter().all(|record| record["parent_span_id"] == *span), "{of_child:?}");
    let root: BTreeSet<_> = of_agent(&all, false)
        .iter()
        .map(|record| record["parent_span_id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(root.len(), 1, "main's work has one parent: {root:?}");
    let spans: BTreeSet<_> = calls.iter().map(|call| call["span_id"].as_str().unwrap()).collect();
    assert_eq!(spans.len(), calls.len(), "each call has a span of its own");
    scene.server.finish();
}

#[tokio::test]
async fn every_call_has_one_shape_whatever_the_tool() {
    let scene = run().await;
    let calls = log_of(&scene, "tool_call");
    assert_eq!(calls.len(), 4, "{calls:?}");
    let shape = |record: &Value| -> Vec<(String, &'static str)> {
        let fields = record.as_object().unwrap().iter();
        let kind = |value: &Value| match value {
            Value::String(_) => "text",
            Value::Number(_) => "number",
            _ => "other",
        };
        fields.map(|(name, value)| (name.clone(), kind(value))).collect()
    };
    let expected = shape(&calls[0]);
    for call in &calls {
        assert_eq!(shape(call), expected, "{call}");
    }
    for (name, kind) in [
        ("tool", "text"),
        ("agent", "text"),
        ("trace_id", "text"),
        ("span_id", "text"),
        ("parent_span_id", "text"),
        ("ms", "number"),
        ("in_bytes", "number"),
        ("out_bytes", "number"),
        ("status", "text"),
    ] {
        assert!(expected.contains(&(name.to_owned(), kind)), "{name}: {expected:?}");
    }
    let status = |tool: &str| {
        let call = of_agent(&calls, false).into_iter().find(|call| call["tool"] == tool);
        call.unwrap()["status"].as_str().unwrap().to_owned()
    };
    assert_eq!([status("Read"), status("Bash"), status("AgentTool")], ["ok", "error", "ok"]);
    scene.server.finish();
}

#[tokio::test]
async fn the_origin_of_a_tool_is_no_field_of_the_log() {
    let scene = run().await;
    let named =
        |record: &Value| record.as_object().unwrap().keys().any(|key| key.contains("origin"));
    assert!(!log_of(&scene, "tool_call").iter().any(named));
    scene.server.finish();
}

#[tokio::test]
async fn delegation_brings_no_new_kind_of_event_into_the_log() {
    let events = |scene: &Scene| -> BTreeSet<String> {
        let records = scene.world.log();
        let records = records.lines().map(|line| flat(serde_json::from_str(line).unwrap()));
        records.filter_map(|record| record["event"].as_str().map(str::to_owned)).collect()
    };
    let plain = Scene::new();
    plain.server.when(PARENT).reply(tool_use("Bash", bash("true"))).then(text("done"));
    plain.run().finish().await.assert_code(0);
    let expected: BTreeSet<_> =
        ["tool_call", "turn_completed", "turn_started"].map(str::to_owned).into();
    assert_eq!(events(&plain), expected);
    let delegating = run().await;
    assert_eq!(events(&delegating), expected);
    plain.server.finish();
    delegating.server.finish();
}
