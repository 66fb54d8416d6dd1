//! S1: a sub-agent is always and only a tool. What cannot be seen from outside (S1.2, S1.5, S1.6) stands in `layering`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{after_calls, log_of};
use crate::support::process;
use crate::support::scene::{PARENT, Scene, agent, bash};
use crate::support::script::{text, tool_use};

#[tokio::test]
async fn s1_1_no_text_and_no_stop_reason_starts_a_sub_agent() {
    for stop in ["end_turn", "stop_sequence", "pause_turn_of_tomorrow"] {
        let scene = Scene::new();
        let call = json!({ "type": "tool_use", "name": "AgentTool", "input": agent("CHILD-A") });
        scene.server.when(PARENT).reply(text(format!("@agent-general-purpose {call}")).stop(stop));
        scene.run().args(["--log-level", "debug"]).finish().await.assert_code(0);
        assert_eq!(scene.server.requests().len(), 1, "{stop}");
        assert_eq!(log_of(&scene, "tool_call"), Vec::<Value>::new());
        scene.server.finish();
    }
}

#[tokio::test]
async fn s1_2_calls_of_every_origin_are_answered_alike_in_call_order() {
    let scene = Scene::new();
    scene.world.write("a.txt", "READ-77\n");
    let read = json!({ "file_path": scene.world.project_dir().join("a.txt") });
    let batch = tool_use("AgentTool", agent("CHILD-A"))
        .tool_use("Bash", bash("echo BASH-77"))
        .tool_use("AgentTool", json!({}))
        .tool_use("Read", read)
        .tool_use("AgentTool", agent("CHILD-B"));
    scene.server.when(PARENT).reply(batch).then(text("ok"));
    // The first call ends last.
    scene.server.when("CHILD-A").reply(text("AGENT-77").gate("late"));
    scene.server.when("CHILD-B").reply(text("AGENT-88"));
    let running = scene.run().start();
    scene.server.ended("CHILD-B").await;
    scene.server.open("late");
    running.wait().await.assert_code(0);
    let results = after_calls(&scene).tool_results();
    let expected = ["AGENT-77", "BASH-77", "prompt", "READ-77", "AGENT-88"];
    assert_eq!(results.len(), expected.len(), "{results:?}");
    for (at, (result, expected)) in results.iter().zip(expected).enumerate() {
        assert!(result.text.contains(expected), "{expected}: {result:?}");
        assert_eq!(result.id, format!("toolu_{:04}", at + 1));
        assert_eq!(result.is_error, expected == "prompt");
    }
    let messages = after_calls(&scene).messages().len();
    assert_eq!(messages, 3, "all results are in one message");
    scene.server.finish();
}

#[tokio::test]
async fn s1_3_every_tool_has_the_same_shape_and_s1_4_says_nothing_of_its_origin() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(text("ok"));
    scene.go().await;
    let request = scene.server.requests().remove(0);
    assert!(request.tools().len() > 5, "{:?}", request.tool_names());
    for tool in request.tools() {
        let mut fields: BTreeSet<_> =
            tool.as_object().unwrap().keys().map(String::as_str).collect();
        fields.remove("cache_control");
        assert_eq!(fields, BTreeSet::from(["description", "input_schema", "name"]));
        assert!(tool["description"].as_str().is_some_and(|text| !text.is_empty()), "{tool}");
        assert!(tool["input_schema"]["properties"].is_object(), "{tool}");
    }
    let agent = request.tool("AgentTool").unwrap();
    assert_eq!(agent["input_schema"]["required"], json!(["prompt"]));
    scene.server.finish();
}

#[tokio::test]
async fn s1_5_the_working_directory_never_changes() {
    let scene = Scene::new();
    let elsewhere = scene.world.settings_dir();
    scene.parent_calls([agent("CHILD-A")]);
    scene
        .server
        .when("CHILD-A")
        .reply(tool_use("Bash", bash("cd / && pwd")))
        .then(text("x").gate("after the cd").tool_use("Bash", bash("pwd")))
        .then(text("x").gate("end"));
    let running = scene.world.run(["-p", "PARENT-1 go", "--dangerously-skip-permissions"]);
    let running = running.args(["-C", elsewhere.to_str().unwrap()]).start();
    let before = process::cwd(running.pid());
    assert_eq!(before, std::fs::canonicalize(scene.world.project_dir()).unwrap());
    for gate in ["after the cd", "end"] {
        scene.server.reached(gate).await;
        assert_eq!(process::cwd(running.pid()), before, "at {gate}");
        scene.server.open(gate);
    }
    running.wait().await.assert_code(0);
    let first = scene.server.requests_of("CHILD-A")[1].tool_result();
    assert!(first.text.contains('/') && !first.is_error, "{first:?}");
    scene.server.finish();
}

#[tokio::test]
async fn s1_6_commands_see_no_provider_keys() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(tool_use("Bash", bash("env | sort"))).then(text("ok"));
    scene.go().await;
    let env = scene.server.requests_of("CHILD-A")[1].tool_result();
    assert!(env.text.contains("PATH="), "{env:?}");
    assert!(!env.text.contains(crate::support::world::KEY), "{env:?}");
    assert!(env.text.contains("CALIBAN_DEPTH="), "{env:?}");
    scene.server.finish();
}
