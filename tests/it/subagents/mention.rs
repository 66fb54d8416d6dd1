//! S2.14: a prompt that names an agent begins with a call of it.

use serde_json::{Value, json};

use super::frames_of;
use crate::support::record::Recorded;
use crate::support::run::{Finished, Run};
use crate::support::scene::{DONE, PARENT, Scene, agent_with, calls};
use crate::support::script::{Reply, text, tool_use};

const MISSED: &str = "@agent-explore: the answer did not start it";

fn asking<'a>(scene: &'a Scene, prompt: &str) -> Run<'a> {
    let args = ["-p", prompt, "--output-format", "stream-json"];
    scene.world.run(args).args(["--dangerously-skip-permissions"])
}

async fn go(scene: &Scene) -> Finished {
    let run = asking(scene, "PARENT-1 @agent-explore: where is it?").finish().await;
    run.assert_code(0);
    run
}

fn explore() -> Value {
    agent_with("CHILD-A", "agent", json!("explore"))
}

/// The function that a request on the chat wire forces.
fn forced(request: &Recorded) -> Value {
    request.body["tool_choice"]["function"]["name"].clone()
}

#[tokio::test]
async fn the_first_request_is_forced_to_the_agent_and_no_later_one() {
    let scene = Scene::on_chat();
    scene.server.when(PARENT).reply(calls([explore()])).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("ok"));
    let run = go(&scene).await;
    let requests = scene.server.requests_of(PARENT);
    assert_eq!(forced(&requests[0]), "AgentTool");
    assert!(requests[0].first_user_text().contains("the agent explore"), "which one");
    assert_eq!(requests[1].body["tool_choice"], Value::Null);
    assert_eq!(scene.server.requests_of("CHILD-A")[0].body["tool_choice"], Value::Null);
    assert!(!run.stdout.contains(MISSED), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn the_other_faces_are_forced_where_they_are_the_only_ones() {
    let cases = [
        ("delegate", "delegate_to_explore", json!({ "prompt": "CHILD-A look" })),
        ("lifecycle", "agent_spawn", json!({ "prompt": "CHILD-A look", "agent": "explore" })),
    ];
    for (face, tool, input) in cases {
        let scene = Scene::on_chat();
        scene.world.config(&format!("[subagents]\nfaces = [\"{face}\"]\n"));
        scene.server.when(PARENT).reply(tool_use(tool, input)).forever(text(DONE));
        scene.server.when("CHILD-A").reply(text("ok"));
        let run = go(&scene).await;
        assert_eq!(forced(&scene.server.requests_of(PARENT)[0]), tool);
        assert!(!run.stdout.contains(MISSED), "{run}");
        scene.server.finish();
    }
}

/// Whether the person is told that the agent was not started, when the first answer is this one.
async fn missed(first: Reply) -> bool {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(first).forever(text(DONE));
    scene.server.when("CHILD-A").forever(text("ok"));
    let run = asking(&scene, "PARENT-1 @agent-explore where?")
        .args(["--model", "claude-sonnet-5"])
        .finish()
        .await;
    run.assert_code(0);
    let request = &scene.server.requests_of(PARENT)[0];
    assert!(request.body["thinking"].is_object(), "{}", request.body["thinking"]);
    assert_eq!(request.body["tool_choice"], Value::Null);
    let said = request.first_user_text();
    assert!(said.contains("call AgentTool with `agent` \"explore\" first"), "{said}");
    let notices = frames_of(&run, "system/notice");
    notices.iter().filter(|notice| notice["text"] == MISSED).count() == 1
}

#[tokio::test]
async fn a_model_that_thinks_is_asked_and_the_person_told_when_it_does_not_comply() {
    assert!(!missed(calls([explore()])).await);
    assert!(missed(text("I know it already.")).await);
    let other = agent_with("CHILD-A", "agent", json!("plan"));
    assert!(missed(calls([other])).await, "another agent");
}

#[tokio::test]
async fn an_unknown_name_is_an_error_before_any_request() {
    let scene = Scene::new();
    let run = asking(&scene, "PARENT-1 @agent-exlpore where?").finish().await;
    run.assert_code(2);
    for part in ["@agent-exlpore", "no such agent", "explore, general-purpose, plan"] {
        assert!(run.stderr.contains(part), "{part}\n{run}");
    }
    assert_eq!(run.result()["is_error"], true);
    assert_eq!(scene.server.requests().len(), 0);
    scene.server.finish();
}

#[tokio::test]
async fn a_prompt_that_cannot_start_the_agent_says_why_and_sends_nothing() {
    let cases = [
        ("[subagents]\nenabled = false\n", "sub-agents are off"),
        ("[subagents]\nmax_depth = 0\n", "depth"),
        ("[permissions]\ndeny = [\"AgentTool(explore)\"]\n", "deny rule"),
    ];
    for (config, why) in cases {
        let scene = Scene::new();
        scene.world.config(config);
        let run = asking(&scene, "PARENT-1 @agent-explore where?").finish().await;
        run.assert_code(2);
        assert!(run.stderr.contains(why), "{config}\n{run}");
        assert_eq!(scene.server.requests().len(), 0);
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_piped_text_names_no_agent() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(text(DONE));
    let args = ["-p", "PARENT-1 what is this?", "--output-format", "stream-json"];
    let run = scene.world.run(args).stdin("log: @agent-explore look, @agent-nobody").finish().await;
    run.assert_code(0);
    let request = serde_json::to_string(&scene.server.requests()[0].body).unwrap();
    assert!(!request.contains("asks for the agent"), "{request}");
    scene.server.finish();
}

#[tokio::test]
async fn a_refused_frame_does_not_end_those_after_it() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(text(DONE));
    let user = |text: &str| {
        json!({ "type": "user", "message": { "role": "user", "content": text } }).to_string()
    };
    let lines = [user("@agent-nobody look"), user("PARENT-1 mail me@agent-x.example")];
    let args = ["-p", "--output-format", "stream-json", "--input-format", "stream-json"];
    let run = scene.world.run(args).stdin(lines.join("\n")).finish().await;
    run.assert_code(2);
    let results = frames_of(&run, "result");
    assert_eq!(results.len(), 2, "{run}");
    assert_eq!((&results[0]["is_error"], &results[1]["result"]), (&json!(true), &json!(DONE)));
    scene.server.finish();
}
