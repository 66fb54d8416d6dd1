//! T12 and S4.22: a panic in a tool is an internal error of its run, and of nothing else.

use std::path::Path;

use serde_json::{Value, json};

use super::frames_of;
use crate::support::pty::{ENTER, Screen};
use crate::support::record::StreamEnd;
use crate::support::run::{Finished, PROMPTS};
use crate::support::scene::{DONE, PARENT, Scene, agent, bash, calls};
use crate::support::script::{Reply, text, tool_use};

/// A scene in which the tool that panics is offered.
fn scene() -> Scene {
    let mut scene = Scene::new();
    scene.world.env("CALIBAN_FAULT", "panic");
    scene
}

fn fault() -> Reply {
    tool_use("Fault", json!({}))
}

#[track_caller]
fn assert_internal(run: &Finished) {
    run.assert_code(1);
    let result = run.result();
    assert_eq!(
        (&result["subtype"], &result["is_error"]),
        (&json!("error_during_execution"), &Value::Bool(true))
    );
    assert!(run.stderr.to_lowercase().contains("this is a bug"), "{run}");
}

/// The stored conversation takes another prompt: the server is strict about open calls.
async fn assert_resumable(scene: &Scene) {
    scene.server.when(PARENT).reply(text("resumed"));
    let next = scene.world.run(["-c", "-p", "continue", "--dangerously-skip-permissions"]);
    let next = next.finish().await;
    next.assert_code(0);
    assert_eq!(next.stdout, "resumed\n");
}

#[tokio::test]
async fn a_panic_in_a_childs_tool_ends_the_run_as_an_internal_error() {
    let scene = scene();
    scene.parent_calls([agent("CHILD-A"), agent("CHILD-B")]);
    scene.server.when("CHILD-A").reply(text("half").stall());
    scene.server.when("CHILD-B").reply(text("x").gate("both run").tool_use("Fault", json!({})));
    let running = scene.run().start();
    scene.server.wait_for_of("CHILD-A", 1).await;
    scene.server.open("both run");
    let run = running.wait().await;
    assert_internal(&run);
    assert_eq!(scene.server.ended("CHILD-A").await.0, StreamEnd::ClosedByClient);
    assert_eq!(scene.server.requests_of(PARENT).len(), 1, "it is not swallowed");
    let ends = frames_of(&run, "system/task_notification");
    assert_eq!(ends.len(), 2, "both have ended\n{run}");
}

#[tokio::test]
async fn after_a_panic_the_transcript_is_valid_and_the_session_goes_on() {
    let scene = scene();
    scene.server.when(PARENT).reply(calls([agent("CHILD-A")]));
    scene.server.when("CHILD-A").reply(fault());
    assert_internal(&scene.run().finish().await);
    assert_resumable(&scene).await;
    scene.server.finish();
}

#[tokio::test]
async fn a_panic_in_a_tool_of_main_ends_its_run_alone() {
    let scene = scene();
    scene.server.when(PARENT).reply(fault());
    assert_internal(&scene.run().finish().await);
    assert_resumable(&scene).await;
    scene.server.finish();
}

#[tokio::test]
async fn a_panic_outside_of_tools_ends_its_run_alone() {
    let fault = || tool_use("Fault", json!({ "outside": true }));
    let main = scene();
    main.server.when(PARENT).reply(fault());
    assert_internal(&main.run().finish().await);
    assert_resumable(&main).await;
    main.server.finish();
    let child = scene();
    child.server.when(PARENT).reply(calls([agent("CHILD-A")]));
    child.server.when("CHILD-A").reply(fault());
    let run = child.run().finish().await;
    assert_internal(&run);
    assert_eq!(frames_of(&run, "system/task_notification").len(), 1, "{run}");
    assert_resumable(&child).await;
    child.server.finish();
}

#[tokio::test]
async fn a_panic_in_a_background_child_ends_the_run_at_a_safe_point() {
    let scene = scene();
    scene.world.config("[subagents]\nfaces = [\"lifecycle\"]\n");
    let spawn = tool_use("agent_spawn", json!({ "prompt": "CHILD-A go" }));
    scene.server.when(PARENT).reply(spawn).then(text("it works"));
    scene.server.when("CHILD-A").reply(text("x").gate("main waits").tool_use("Fault", json!({})));
    let running = scene.run().start();
    scene.server.wait_for_of(PARENT, 2).await;
    scene.server.open("main waits");
    let run = running.wait().await;
    assert_internal(&run);
    assert!(run.stderr.contains("general-purpose-1"), "it says whose: {run}");
    assert_eq!(scene.server.requests_of(PARENT).len(), 2);
    assert_resumable(&scene).await;
    scene.server.finish();
}

#[tokio::test]
async fn after_a_panic_in_the_background_main_rests_until_the_next_prompt() {
    let scene = scene();
    scene.world.config("[subagents]\nfaces = [\"lifecycle\"]\n");
    let spawn = tool_use("agent_spawn", json!({ "prompt": "CHILD-A go" }));
    scene.server.when(PARENT).reply(spawn).then(text("MAIN-IDLE")).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("x").gate("main idle").tool_use("Fault", json!({})));
    let args = ["--dangerously-skip-permissions", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 100, 30);
    screen.wait_for("MAIN-IDLE");
    screen.wait_gone("writing ·");
    scene.server.open("main idle");
    screen.wait_for("This is a bug");
    screen.keys("and now?");
    screen.keys(ENTER);
    screen.wait_for(DONE);
    let requests = scene.server.requests_of(PARENT);
    assert_eq!(requests.len(), 3, "the report alone starts nothing");
    let read = requests[2].messages().last().unwrap().to_string();
    assert!(read.contains("has ended: failed: internal") && read.contains("and now?"), "{read}");
    scene.server.finish();
}

#[tokio::test]
async fn after_a_panic_the_screen_takes_the_next_prompt_and_slots_are_free() {
    let scene = scene();
    scene.world.config("[subagents]\nmax_concurrent_agents = 2\n");
    scene.server.when(PARENT).reply(calls([agent("CHILD-A"), agent("CHILD-B")]));
    scene.server.when("CHILD-A").reply(text("half").stall());
    scene.server.when("CHILD-B").reply(text("x").gate("both run").tool_use("Fault", json!({})));
    let args = ["--dangerously-skip-permissions", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 100, 30);
    scene.server.wait_for_of("CHILD-A", 1).await;
    scene.server.open("both run");
    screen.wait_for("This is a bug");
    // The pane of the child says so before main has ended.
    screen.wait_for("Ctrl+D quits");
    scene.server.when(PARENT).reply(calls([agent("CHILD-C"), agent("CHILD-D")])).then(text(DONE));
    for word in ["CHILD-C", "CHILD-D"] {
        scene.server.when(word).reply(text("x").gate("two at once"));
    }
    screen.keys("again");
    screen.keys(ENTER);
    scene.server.reached_by("two at once", 2).await;
    scene.server.open("two at once");
    screen.wait_for(DONE);
    screen.wait_for("Ctrl+D quits");
    screen.keys("\x04");
    let left = screen.exit();
    left.assert_restored();
    assert_eq!(left.exit, Ok(0));
    scene.server.finish();
}

#[tokio::test]
async fn after_a_panic_in_a_session_that_is_not_stored_nothing_is_said_to_be_saved() {
    let scene = scene();
    let fault = tool_use("Fault", json!({ "outside": true }));
    scene.server.when(PARENT).reply(fault);
    let args = PROMPTS.iter().copied().chain(["--no-session"]);
    let mut run = scene.world.run(args).open_stdin().start();
    run.turn("PARENT-1 go", 1).await;
    scene.server.when("PARENT-2").reply(text(DONE));
    run.turn("PARENT-2 go", 2).await;
    let run = run.close().await;
    let [crashed, next] = &frames_of(&run, "result")[..] else { panic!("{run}") };
    assert!(crashed.to_string().contains("This session is not stored"), "{crashed}");
    assert!(!crashed.to_string().contains("is saved"), "{crashed}");
    assert_eq!(next["result"], DONE);
    scene.server.finish();
}

#[tokio::test]
async fn a_session_that_cannot_be_read_after_a_panic_takes_no_more_prompts() {
    let scene = scene();
    let sessions = scene.world.settings_dir().join("sessions");
    let hidden = scene.world.settings_dir().join("hidden");
    let hide = format!("mv '{}' '{}'", sessions.display(), hidden.display());
    let fault = tool_use("Fault", json!({ "outside": true }));
    scene.server.when(PARENT).reply(tool_use("Bash", bash(&hide))).then(fault);
    let mut run = scene.world.run(PROMPTS).open_stdin().start();
    run.turn("PARENT-1 go", 1).await;
    run.send(&json!({"type": "user", "message": {"role": "user", "content": "PARENT-2 go"}}));
    let run = run.close().await;
    assert!(run.stderr.contains("The session could not be read again after the crash"), "{run}");
    assert_eq!(scene.server.requests().len(), 2, "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn the_tool_that_panics_is_not_there_unless_it_is_asked_for() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(fault()).then(text(DONE));
    scene.go().await;
    let requests = scene.server.requests_of(PARENT);
    assert!(!requests[0].tool_names().contains(&"Fault"));
    assert!(requests[1].tool_result().text.contains("There is no tool Fault"));
    scene.server.finish();
}

#[test]
fn a_release_is_built_without_the_tool_that_panics() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let names_it = |line: &str| line.contains("mod fault") || line.contains("fault::");
    let mut named = 0;
    for file in ["tool/mod.rs", "subagent/factory.rs", "agent/dispatch.rs"] {
        let code = std::fs::read_to_string(source.join(file)).unwrap();
        let lines: Vec<&str> = code.lines().map(str::trim).collect();
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| names_it(line)) {
            named += 1;
            assert_eq!(lines[at - 1], "#[cfg(debug_assertions)]", "{file}: {line}");
        }
    }
    assert_eq!(
        named, 3,
        "the module, the place that offers the tool, and the one where it strikes"
    );
}
