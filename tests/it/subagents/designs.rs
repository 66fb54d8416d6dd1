//! Choices where the designs differ: what holds by default, and what a setting makes of it.

use serde_json::json;

use super::after_calls;
use crate::support::scene::{DONE, PARENT, Scene, agent, agent_with, calls};
use crate::support::script::{text, tool_use};

const CANARY: &str = "CANARY-OF-THE-PROJECT";

#[tokio::test]
async fn there_is_one_general_tool_and_its_other_names_are_the_same_one() {
    let scene = Scene::new();
    let mixed = tool_use("Task", agent("CHILD-A")).tool_use("Agent", agent("CHILD-B"));
    scene.server.when(PARENT).reply(mixed).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("a"));
    scene.server.when("CHILD-B").reply(text("b"));
    scene.go().await;
    let main = &scene.server.requests_of(PARENT)[0];
    let general = ["AgentTool", "Agent", "Task"];
    let offered = main.tool_names().into_iter().filter(|name| general.contains(name)).count();
    assert_eq!(offered, 1);
    let results = after_calls(&scene).tool_results();
    assert_eq!([&results[0].text, &results[1].text], ["a", "b"]);
    scene.server.finish();
}

#[tokio::test]
async fn a_transcript_is_kept_unless_that_is_switched_off() {
    for (config, files) in [("", 1), ("[subagents]\npersist = false\n", 0)] {
        let scene = Scene::new();
        scene.world.config(config);
        scene.parent_calls([agent("CHILD-A")]);
        scene.server.when("CHILD-A").reply(text("ok"));
        scene.go().await;
        assert_eq!(scene.world.child_transcripts().len(), files, "{config}");
        assert_eq!(after_calls(&scene).tool_result().text, "ok");
        scene.server.finish();
    }
}

#[tokio::test]
async fn the_projects_instructions_go_to_those_that_want_them() {
    let scene = Scene::new();
    scene.world.write("AGENTS.md", CANARY);
    scene.world.config("[subagents]\nfaces = [\"agent\", \"lifecycle\"]\n");
    let plain =
        "---\nname: plain\ndescription: Knows nothing of the project.\nmemory: none\n---\nWork.";
    scene.world.agent("plain", plain);
    let spawn = json!({ "prompt": "CHILD-C look around" });
    let all = calls([agent("CHILD-A"), agent_with("CHILD-B", "agent", json!("plain"))]);
    scene.server.when(PARENT).reply(all.tool_use("agent_spawn", spawn)).forever(text(DONE));
    for word in ["CHILD-A", "CHILD-B", "CHILD-C"] {
        scene.server.when(word).reply(text("ok"));
    }
    scene.go().await;
    let knows = |word: &str| scene.server.requests_of(word)[0].text().contains(CANARY);
    assert_eq!(["CHILD-A", "CHILD-B", "CHILD-C"].map(knows), [true, false, false]);
    scene.server.finish();
}

#[tokio::test]
async fn a_blank_prompt_is_refused_before_anything_is_there() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nfaces = [\"lifecycle\"]\n");
    let blank = tool_use("agent_spawn", json!({ "prompt": "  \n" }));
    scene
        .server
        .when(PARENT)
        .reply(blank)
        .reply(tool_use("agent_list", json!({})))
        .then(text(DONE));
    scene.go().await;
    let requests = scene.server.requests_of(PARENT);
    assert_eq!(scene.server.requests().len(), requests.len(), "nobody else asked");
    let refused = requests[1].tool_result();
    assert!(refused.is_error && refused.text.contains("`prompt`"), "{refused:?}");
    assert!(
        requests[2].text().contains("\\\"total_count\\\":0")
            || requests[2].text().contains("\"total_count\":0")
    );
    assert_eq!(scene.world.child_transcripts().len(), 0);
    scene.server.finish();
}

#[tokio::test]
async fn children_have_none_of_the_tools_that_start_or_write_to_agents() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nfaces = [\"agent\", \"lifecycle\", \"delegate\"]\n");
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(text("ok"));
    scene.go().await;
    let child = &scene.server.requests_of("CHILD-A")[0];
    let left: Vec<_> = child
        .tool_names()
        .into_iter()
        .filter(|name| {
            name.starts_with("agent_") || name.starts_with("delegate_") || *name == "AgentTool"
        })
        .collect();
    assert_eq!(left, Vec::<&str>::new());
    scene.server.finish();
}
