//! Ends, slots and limits at their edges: where two things come together.

use serde_json::json;

use super::{after_calls, frames_of, log_of};
use crate::support::scene::{DONE, PARENT, Scene, agent, agent_with, bash};
use crate::support::script::{text, tool_use};

fn lifecycle(more: &str) -> Scene {
    let scene = Scene::new();
    scene.world.config(&format!("[subagents]\nfaces = [\"agent\", \"lifecycle\"]\n{more}\n"));
    scene
}

fn spawn(word: &str) -> serde_json::Value {
    json!({ "prompt": format!("{word} look around") })
}

#[tokio::test]
async fn an_agent_that_is_done_and_waits_for_its_own_gives_its_slot_away() {
    let scene = lifecycle("max_depth = 2\nmax_concurrent_agents = 1\non_limit = \"queue\"");
    scene.parent_calls([agent("CHILD-A")]);
    let works = scene.server.when("CHILD-A").reply(tool_use("agent_spawn", spawn("CHILD-B")));
    works.then(text("for now")).then(text("with what B said"));
    scene.server.when("CHILD-B").reply(text("from B"));
    scene.go().await;
    assert!(scene.server.requests_of("CHILD-A")[2].text().contains("from B"));
    assert_eq!(after_calls(&scene).tool_result().text, "with what B said");
    scene.server.finish();
}

#[tokio::test]
async fn a_look_from_further_up_takes_no_result_away_from_the_one_that_waits_for_it() {
    let scene = lifecycle("max_depth = 2");
    let start = tool_use("agent_spawn", spawn("CHILD-A"));
    let list = tool_use("agent_list", json!({}));
    let look = crate::support::script::dynamic(|request| {
        let list: serde_json::Value = serde_json::from_str(&request.tool_result().text).unwrap();
        let agents = list["agents"].as_array().unwrap();
        let below = agents.iter().find(|agent| agent["depth"] == 2).unwrap();
        tool_use("agent_status", json!({ "agent_id": below["agent_id"] }))
    });
    let parent =
        scene.server.when(PARENT).reply(start).reply(tool_use("Bash", bash("true")).gate("later"));
    parent.then(list).then(look).forever(text(DONE));
    let works = scene.server.when("CHILD-A").reply(tool_use("agent_spawn", spawn("CHILD-B")));
    works.then(text("for now").gate("looked")).then(text("with what B said"));
    scene.server.when("CHILD-B").reply(text("from B"));
    let running = scene.run().start();
    scene.server.reached("later").await;
    scene.server.reached("looked").await;
    scene.server.ended("CHILD-B").await;
    running.printed("\"subtype\":\"task_notification\"", 1).await;
    scene.server.open("later");
    scene.server.wait_for_of(PARENT, 5).await;
    let seen = scene.server.requests_of(PARENT)[4].tool_result();
    assert!(seen.text.contains("from B"), "main has looked: {seen:?}");
    scene.server.open("looked");
    running.wait().await.assert_code(0);
    assert!(scene.server.requests_of("CHILD-A")[2].text().contains("from B"));
    scene.server.finish();
}

#[tokio::test]
async fn a_cap_over_a_whole_life_can_be_set_and_no_end_makes_room_under_it() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nmax_children_total = 1\n");
    scene.parent_calls_in_turn([agent("CHILD-A"), agent("CHILD-B")]);
    scene.server.when("CHILD-A").reply(text("a"));
    scene.go().await;
    let refused = scene.server.requests_of(PARENT)[2].tool_result();
    assert!(refused.is_error && refused.text.contains("`max_children_total` is 1"), "{refused:?}");
    assert_eq!(scene.server.requests_of("CHILD-B").len(), 0);
    scene.server.finish();
}

#[tokio::test]
async fn a_call_with_an_empty_list_of_tools_is_refused_and_names_its_field() {
    let scene = lifecycle("");
    let empty =
        json!({ "prompt": "CHILD-B look", "tool_access": { "policy": "allow_list", "tools": [] } });
    let both = tool_use("AgentTool", agent_with("CHILD-A", "tool_allowlist", json!([])))
        .tool_use("agent_spawn", empty);
    scene.server.when(PARENT).reply(both).then(text(DONE));
    scene.go().await;
    let results = after_calls(&scene).tool_results();
    assert!(results[0].is_error && results[0].text.starts_with("`tool_allowlist` leaves no tool"));
    assert!(results[1].is_error && results[1].text.starts_with("`tool_access` leaves no tool"));
    assert_eq!(scene.server.requests().len(), 2, "the parent's own");
    scene.server.finish();
}

#[tokio::test]
async fn a_listed_agent_tool_is_withheld_and_that_is_said() {
    let scene = Scene::new();
    let list = json!(["Read", "AgentTool"]);
    scene.parent_calls([agent_with("CHILD-A", "tool_allowlist", list)]);
    scene.server.when("CHILD-A").reply(text("ok"));
    let run = scene.run().args(["--log-level", "warn"]).finish().await;
    run.assert_code(0);
    let notices = frames_of(&run, "system/notice");
    let said =
        |text: &str| notices.iter().any(|notice| notice["text"].as_str().unwrap().contains(text));
    assert!(said("AgentTool not passed on"), "{notices:?}");
    assert!(scene.world.log().contains("not passed on"));
    assert_eq!(log_of(&scene, "turn_started").len(), 0, "warnings alone");
    scene.server.finish();
}

#[tokio::test]
async fn a_definition_that_asks_for_the_instructions_gets_them_in_the_background_too() {
    let scene = lifecycle("");
    scene.world.write("AGENTS.md", "CANARY-OF-THE-PROJECT");
    let knowing = "---\nname: knowing\ndescription: Knows what the project says.\nmemory: project\n---\nWork.";
    scene.world.agent("knowing", knowing);
    let call = json!({ "prompt": "CHILD-A look", "agent": "knowing" });
    scene.server.when(PARENT).reply(tool_use("agent_spawn", call)).forever(text(DONE));
    scene.server.when("CHILD-A").reply(text("ok"));
    scene.go().await;
    assert!(scene.server.requests_of("CHILD-A")[0].text().contains("CANARY-OF-THE-PROJECT"));
    scene.server.finish();
}
