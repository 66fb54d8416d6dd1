//! S2: what crosses the border between parent and child, in both directions.

use serde_json::Value;

use super::{AGENT_TOOLS, after_calls, frames_of};
use crate::support::pty::Screen;
use crate::support::record::Recorded;
use crate::support::scene::{DONE, PARENT, Scene, agent, bash, calls};
use crate::support::script::{text, tool_use};

async fn one_child() -> (Scene, Recorded) {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(text("ok"));
    scene.go().await;
    let child = scene.server.requests_of("CHILD-A").remove(0);
    (scene, child)
}

#[tokio::test]
async fn the_prompt_is_the_only_content_that_goes_in() {
    let (scene, child) = one_child().await;
    assert_eq!(child.messages().len(), 1);
    assert_eq!(child.first_user_text(), "CHILD-A look around");
    scene.server.finish();
}

#[tokio::test]
async fn the_child_gets_the_project_memory() {
    let scene = Scene::new();
    scene.world.write("AGENTS.md", "Always say CANARY-77.\n");
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(text("ok"));
    scene.go().await;
    assert!(scene.server.requests_of("CHILD-A")[0].text().contains("CANARY-77"));
    assert!(scene.server.requests_of(PARENT)[0].text().contains("CANARY-77"));
    scene.server.finish();
}

#[tokio::test]
async fn the_child_gets_its_own_tool_definitions() {
    let (scene, child) = one_child().await;
    let parent = scene.server.requests_of(PARENT).remove(0);
    assert!(child.tool_names().contains(&"Read"));
    for name in child.tool_names() {
        let of = |request: &Recorded| {
            let mut tool = request.tool(name).unwrap().clone();
            tool.as_object_mut().unwrap().remove("cache_control");
            tool
        };
        assert_eq!(of(&child), of(&parent));
    }
    scene.server.finish();
}

#[tokio::test]
async fn nothing_of_the_parents_conversation_or_system_prompt_goes_in() {
    let scene = Scene::new();
    scene
        .server
        .when(PARENT)
        .reply(text("CANARY-66").tool_use("Bash", bash("echo CANARY-$((70+7))")))
        .then(calls([agent("CHILD-A")]))
        .then(text(DONE));
    scene.server.when("CHILD-A").reply(text("ok"));
    let run = scene.run().args(["--append-system-prompt", "CANARY-88"]).finish().await;
    run.assert_code(0);
    let parent = scene.server.requests_of(PARENT)[1].text();
    let child = scene.server.requests_of("CHILD-A")[0].text();
    for canary in ["CANARY-66", "CANARY-77", "CANARY-88", PARENT] {
        assert!(parent.contains(canary), "{canary}");
        assert!(!child.contains(canary), "{canary}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn what_the_parent_was_granted_is_asked_again_for_the_child() {
    let scene = Scene::new();
    scene
        .server
        .when(PARENT)
        .reply(tool_use("Bash", bash("touch granted.txt")))
        .then(tool_use("Bash", bash("touch granted.txt")).tool_use("AgentTool", agent("CHILD-A")))
        .then(text(DONE));
    let same = tool_use("Bash", bash("touch granted.txt"));
    scene.server.when("CHILD-A").reply(same).then(text("ok"));
    let args = ["--allowed-tools", "AgentTool", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 120, 40);
    screen.wait_for("touch granted.txt");
    screen.wait_for("Yes, and");
    screen.keys("2");
    scene.server.wait_for_of("CHILD-A", 1).await;
    screen.wait_for("agent 1 wants to run a command");
    screen.wait_for("1  Yes");
    assert!(scene.world.exists("granted.txt"));
    screen.keys("1");
    screen.wait_for(DONE);
    for word in [PARENT, "CHILD-A"] {
        let results = scene.server.requests_of(word)[1].tool_results();
        assert!(results.iter().all(|result| !result.is_error), "{word}: {results:?}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn the_parent_receives_the_childs_final_message() {
    let (scene, _) = one_child().await;
    assert_eq!(after_calls(&scene).tool_result().text, "ok");
    scene.server.finish();
}

#[tokio::test]
async fn every_frame_of_a_child_names_the_call_that_started_it() {
    let scene = Scene::new();
    scene.parent_calls(["CHILD-A", "CHILD-B"].map(agent));
    for (word, said) in [("CHILD-A", "from the first"), ("CHILD-B", "from the second")] {
        let command = bash(&format!("echo {word}"));
        scene.server.when(word).reply(tool_use("Bash", command)).then(text(said));
    }
    let run = scene.go().await;
    let parents_of = |kind: &str, needle: &str| -> Vec<Value> {
        let found = frames_of(&run, kind).into_iter().filter(|f| f.to_string().contains(needle));
        found.map(|frame| frame["parent_tool_use_id"].clone()).collect()
    };
    // The calls are numbered through: the main agent's are the first two.
    for (call, word, said) in
        [("toolu_0001", "CHILD-A", "from the first"), ("toolu_0002", "CHILD-B", "from the second")]
    {
        assert_eq!(parents_of("assistant", said), [call]);
        assert_eq!(parents_of("assistant", &format!("echo {word}")), [call], "its tool call");
        let output = format!("\"content\":\"{word}\"");
        assert_eq!(parents_of("user", &output), [call], "what its tool said\n{run}");
    }
    assert_eq!(parents_of("assistant", DONE), [Value::Null]);
    let started = frames_of(&run, "system/task_started");
    let mut calls: Vec<_> = started.iter().map(|f| f["tool_use_id"].as_str().unwrap()).collect();
    calls.sort_unstable();
    assert_eq!(calls, ["toolu_0001", "toolu_0002"]);
    scene.server.finish();
}

#[tokio::test]
async fn the_childs_transcript_is_a_file_of_its_own_with_the_call_beside_it() {
    let (scene, _) = one_child().await;
    let transcripts = scene.world.child_transcripts();
    assert_eq!(transcripts.len(), 1);
    let stored = std::fs::read_to_string(&transcripts[0]).unwrap();
    assert!(stored.contains("CHILD-A look around") && stored.contains("ok"), "{stored}");
    let meta = std::fs::read_to_string(transcripts[0].with_extension("meta.json")).unwrap();
    let meta: Value = serde_json::from_str(&meta).unwrap();
    assert!(meta.to_string().contains("toolu_0001"), "{meta}");
    scene.server.finish();
}

#[tokio::test]
async fn delegation_is_one_level_deep_by_default() {
    let (scene, child) = one_child().await;
    assert!(child.tool_names().iter().all(|name| !AGENT_TOOLS.contains(name)));
    scene.server.finish();
}

#[tokio::test]
async fn frames_of_a_grandchild_name_the_call_that_started_it_and_not_its_parents() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nmax_depth = 2\n");
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(calls([agent("CHILD-B")])).then(text("SAID-A"));
    let command = tool_use("Bash", bash("echo OUT-$((70+7))"));
    scene.server.when("CHILD-B").reply(command).then(text("SAID-B"));
    let run = scene.go().await;
    let parents_of = |kind: &str, needle: &str| -> Vec<Value> {
        let found = frames_of(&run, kind).into_iter().filter(|f| f.to_string().contains(needle));
        found.map(|frame| frame["parent_tool_use_id"].clone()).collect()
    };
    // The calls are numbered through: the first is main's, the second the child's, the third the
    // grandchild's.
    assert_eq!(parents_of("assistant", "SAID-A"), ["toolu_0001"]);
    assert_eq!(parents_of("assistant", "\"id\":\"toolu_0002\""), ["toolu_0001"], "\n{run}");
    assert_eq!(parents_of("assistant", "\"id\":\"toolu_0003\""), ["toolu_0002"], "\n{run}");
    assert_eq!(parents_of("user", "OUT-77"), ["toolu_0002"]);
    assert_eq!(parents_of("assistant", "SAID-B"), ["toolu_0002"]);
    let started = frames_of(&run, "system/task_started");
    let calls: Vec<_> = started.iter().map(|frame| &frame["tool_use_id"]).collect();
    assert_eq!(calls, ["toolu_0001", "toolu_0002"]);
    scene.server.finish();
}
