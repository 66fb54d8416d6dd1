//! T35: the end of an agent is told exactly once, however it ends.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{decide, hooks, lines, say, told};
use crate::support::run::Running;
use crate::support::scene::{DONE, PARENT, Scene, agent, bash, calls};
use crate::support::script::{error, text, tool_use};

/// One line for each end that hooks hear of: the event, and whether a hook had made it go on before.
const LOG: &str = "sed -E 's/.*\"hook_event_name\":\"([A-Za-z]+)\".*\"stop_hook_active\":([a-z]+).*/\\1 \\2/' >>ends";

fn with_log(scene: &Scene) {
    hooks(
        scene,
        &[
            ("Stop", "", LOG),
            ("SubagentStop", "", LOG),
            ("SubagentStart", "", "echo SubagentStart >>ends"),
        ],
    );
}

fn sorted(scene: &Scene) -> Vec<String> {
    let mut ends = lines(scene, "ends");
    ends.sort_unstable();
    ends
}

const BOTH: [&str; 3] = ["Stop false", "SubagentStart", "SubagentStop false"];

#[tokio::test]
async fn a_success_is_told_once_for_main_and_for_its_child() {
    let scene = Scene::new();
    with_log(&scene);
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(tool_use("Bash", bash("true"))).then(text("ok"));
    scene.go().await;
    assert_eq!(lines(&scene, "ends"), ["SubagentStart", "SubagentStop false", "Stop false"]);
    scene.server.finish();
}

#[tokio::test]
async fn a_failure_is_told_once() {
    let scene = Scene::new();
    with_log(&scene);
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(error(400, "invalid_request_error", "no"));
    scene.go().await;
    assert_eq!(sorted(&scene), BOTH);
    let scene = Scene::new();
    with_log(&scene);
    scene.server.when(PARENT).reply(error(401, "authentication_error", "no"));
    scene.run().finish().await.assert_code(3);
    assert_eq!(lines(&scene, "ends"), ["Stop false"]);
}

#[tokio::test]
async fn a_turn_limit_is_told_once() {
    let scene = Scene::new();
    with_log(&scene);
    scene.server.when(PARENT).forever(tool_use("Bash", bash("true")));
    scene.run().args(["--max-turns", "2"]).finish().await.assert_code(5);
    assert_eq!(lines(&scene, "ends"), ["Stop false"]);
}

/// Main and its child are both in the middle of their work.
async fn at_work(scene: &Scene) -> Running {
    with_log(scene);
    scene.server.when(PARENT).reply(calls([agent("CHILD-A")]));
    scene.server.when("CHILD-A").reply(text("half").stall());
    let run = scene.run().start();
    scene.server.wait_for_of("CHILD-A", 1).await;
    run
}

#[tokio::test]
async fn a_cancel_is_told_once_and_cannot_be_blocked() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let scene = Scene::new();
        let run = at_work(&scene).await;
        run.signal(signal);
        let run = run.wait().await;
        assert_eq!(run.code, Some(128 + signal as i32));
        assert_eq!(sorted(&scene), BOTH, "{signal}");
    }
    let scene = Scene::new();
    hooks(&scene, &[("Stop", "", "echo told >>ends; echo go on >&2; exit 2")]);
    scene.server.when(PARENT).reply(text("half").stall());
    let run = scene.run().start();
    scene.server.wait_for_of(PARENT, 1).await;
    run.signal(Signal::SIGINT);
    run.wait().await;
    assert_eq!(lines(&scene, "ends"), ["told"]);
    assert_eq!(scene.server.requests_of(PARENT).len(), 1);
}

/// In a call a panic becomes the call's result; outside of one nothing but the run itself is there
/// to catch it.
fn faults() -> [Value; 2] {
    [json!({}), json!({ "outside": true })]
}

#[tokio::test]
async fn a_panic_of_a_child_is_told_once() {
    for input in faults() {
        let mut scene = Scene::new();
        scene.world.env("CALIBAN_FAULT", "panic");
        with_log(&scene);
        scene.server.when(PARENT).reply(calls([agent("CHILD-A")]));
        scene.server.when("CHILD-A").reply(tool_use("Fault", input.clone()));
        scene.run().finish().await.assert_code(1);
        assert_eq!(sorted(&scene), BOTH, "{input}");
    }
}

#[tokio::test]
async fn a_panic_of_main_is_told_once() {
    for input in faults() {
        let mut scene = Scene::new();
        scene.world.env("CALIBAN_FAULT", "panic");
        with_log(&scene);
        scene.server.when(PARENT).reply(tool_use("Fault", input.clone()));
        scene.run().finish().await.assert_code(1);
        assert_eq!(lines(&scene, "ends"), ["Stop false"], "{input}");
    }
}

#[tokio::test]
async fn a_child_that_never_began_has_no_end() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nmax_concurrent_agents = 1\n");
    with_log(&scene);
    scene.server.when(PARENT).reply(calls([agent("CHILD-A"), agent("CHILD-B")]));
    scene.server.when("CHILD-A").reply(text("half").stall());
    let run = scene.run().start();
    scene.server.wait_for_of("CHILD-A", 1).await;
    run.signal(Signal::SIGINT);
    run.wait().await;
    assert_eq!(sorted(&scene), BOTH);
}

#[tokio::test]
async fn a_stop_hook_that_blocks_makes_the_agent_go_on_with_the_reason() {
    let scene = Scene::new();
    let block = say(&json!({ "decision": "block", "reason": "REASON-1 run the tests" }));
    let once = format!("grep -q '\"stop_hook_active\":true' || {block}");
    hooks(&scene, &[("Stop", "", &once), ("Stop", "", LOG), ("SubagentStop", "", &once)]);
    scene.server.when(PARENT).reply(calls([agent("CHILD-A")])).then(text("early")).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("child early")).then(text("child late"));
    let run = scene.go().await;
    assert_eq!(run.result()["result"], DONE);
    assert_eq!(lines(&scene, "ends"), ["Stop false", "Stop true"]);
    assert!(scene.server.requests_of(PARENT)[2].text().contains("REASON-1 run the tests"));
    let child = scene.server.requests_of("CHILD-A");
    assert!(child[1].text().contains("REASON-1 run the tests"));
    assert!(scene.server.requests_of(PARENT)[1].tool_result().text.contains("child late"));
    scene.server.finish();
}

#[tokio::test]
async fn a_stop_hook_that_never_lets_go_is_overruled() {
    let scene = Scene::new();
    hooks(&scene, &[("Stop", "", "echo more >>asked; echo more >&2; exit 2")]);
    scene.server.when(PARENT).forever(text("again"));
    let run = scene.run().finish().await;
    run.assert_code(0);
    assert_eq!(scene.server.requests_of(PARENT).len(), 9);
    assert_eq!(lines(&scene, "asked").len(), 9);
}

#[tokio::test]
async fn a_sub_agents_start_and_end_are_told_with_its_name_and_its_text() {
    let scene = Scene::new();
    let context = decide("SubagentStart", json!({ "additionalContext": "CONTEXT-1" }));
    let write = "cat >>told";
    hooks(
        &scene,
        &[
            ("SubagentStart", "general-purpose", &format!("{write}; {context}")),
            ("SubagentStop", "general-.*", write),
            ("SubagentStop", "explore", "touch wrong"),
        ],
    );
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(text("the child's words"));
    let run = scene.go().await;
    let told: Vec<Value> = told(&scene, "told");
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0]["hook_event_name"], "SubagentStart");
    let end = &told[1];
    assert_eq!(end["hook_event_name"], "SubagentStop");
    assert_eq!(end["last_assistant_message"], "the child's words");
    let transcript = std::fs::read_to_string(end["agent_transcript_path"].as_str().unwrap());
    assert!(transcript.unwrap().contains("the child's words"));
    let started = run.frames().into_iter().find(|frame| frame["subtype"] == "task_started");
    assert_eq!(started.unwrap()["task_id"], end["agent_id"]);
    assert!(scene.server.requests_of("CHILD-A")[0].first_user_text().contains("CONTEXT-1"));
    assert!(!scene.world.exists("wrong"));
    scene.server.finish();
}

#[tokio::test]
async fn hooks_of_the_end_are_waited_for_within_bounds_when_the_program_is_told_to_go() {
    let scene = Scene::new();
    hooks(&scene, &[("Stop", "", "sleep 1000"), ("SessionEnd", "", "sleep 1000")]);
    scene.server.when(PARENT).reply(text("half").stall());
    let run = scene.run().start();
    scene.server.wait_for_of(PARENT, 1).await;
    run.signal(Signal::SIGTERM);
    let run = run.wait().await;
    assert_eq!(run.code, Some(143));
    assert!(run.took < Duration::from_secs(12), "{:?}", run.took);
    for event in ["Stop", "SessionEnd"] {
        let line = format!("hook {event}: sleep 1000: still running at exit; killed");
        assert_eq!(run.stderr.matches(&line).count(), 1, "{run}");
    }
}

#[tokio::test]
async fn a_session_ends_for_hooks_after_its_last_run_also_when_that_fails() {
    let scene = Scene::new();
    // The end of the session has a second in which to come too early.
    let slow = "for _ in $(seq 20); do [ -e left ] && break; sleep 0.05; done; echo Stop >>ends";
    hooks(&scene, &[("Stop", "", slow), ("SessionEnd", "", "touch left; echo SessionEnd >>ends")]);
    scene.server.when(PARENT).reply(error(400, "invalid_request_error", "no"));
    scene.run().finish().await.assert_code(1);
    assert_eq!(lines(&scene, "ends"), ["Stop", "SessionEnd"]);
}
