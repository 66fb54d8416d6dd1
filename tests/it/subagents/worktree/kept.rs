//! What is left of a worktree when its agent ends.

use nix::sys::signal::Signal;
use serde_json::json;

use super::super::after_calls;
use super::{kept, scene, scene_with, tidy, write_new};
use crate::support::pty::{CTRL_C, Screen};
use crate::support::scene::{DONE, PARENT, calls};
use crate::support::script::{error, text, tool_use};

#[tokio::test]
async fn a_child_that_runs_out_of_turns_keeps_its_changes_and_says_where() {
    let scene = scene_with("maxTurns: 2\n");
    scene.parent_calls([tidy("CHILD-A")]);
    scene.server.when("CHILD-A").reply(write_new("mine\n")).then(text("half of it"));
    scene.go().await;
    let result = after_calls(&scene).tool_result();
    let kept = kept(&scene);
    assert!(
        result.is_error && result.text.starts_with("half of it\n\n[tidy-1: turn limit 2, partial")
    );
    assert!(result.text.contains(&kept), "{kept}\n{result:?}");
    scene.server.finish();
}

#[tokio::test]
async fn a_cancelled_child_keeps_its_changes_and_says_where() {
    let scene = scene();
    scene.parent_calls([tidy("CHILD-A")]);
    scene.server.when("CHILD-A").reply(write_new("mine\n")).then(text("PARTIAL-77").stall());
    let args = ["--dangerously-skip-permissions", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 100, 30);
    screen.wait_for("PARTIAL-77");
    screen.keys(CTRL_C);
    screen.wait_for(DONE);
    let result = after_calls(&scene).tool_result();
    let kept = kept(&scene);
    assert!(result.is_error && result.text.contains("[tidy-1: cancelled, partial"), "{result:?}");
    assert!(result.text.contains(&kept), "{kept}\n{result:?}");
    scene.server.finish();
}

#[tokio::test]
async fn a_failure_that_ends_the_run_says_where_the_changes_are() {
    let scene = scene();
    scene.parent_calls([tidy("CHILD-A")]);
    let rejected = error(401, "authentication_error", "invalid x-api-key");
    scene.server.when("CHILD-A").reply(write_new("mine\n")).then(rejected);
    let run = scene.run().finish().await;
    run.assert_code(3);
    let kept = kept(&scene);
    assert!(run.stderr.contains(&kept), "{kept}\n{run}");
}

#[tokio::test]
async fn a_child_in_the_background_says_where_its_changes_are() {
    let scene = scene();
    scene.world.config("[subagents]\nfaces = [\"lifecycle\"]\n");
    let spawn = json!({ "prompt": "CHILD-A tidy", "agent": "tidy" });
    let parent = scene.server.when(PARENT).reply(tool_use("agent_spawn", spawn));
    parent.then(text("it works")).then(text(DONE));
    let child = scene.server.when("CHILD-A").reply(write_new("mine\n"));
    child.then(text("tidied").gate("end"));
    let running = scene.run().start();
    scene.server.wait_for_of(PARENT, 2).await;
    scene.server.open("end");
    let run = running.wait().await;
    run.assert_code(0);
    let told = scene.server.requests_of(PARENT)[2].messages().last().unwrap().to_string();
    let kept = kept(&scene);
    assert!(told.contains("tidied") && told.contains(&kept), "{kept}\n{told}");
    scene.server.finish();
}

#[tokio::test]
async fn after_a_sigkill_git_names_the_worktree_that_is_left() {
    let scene = scene();
    scene.server.when(PARENT).reply(calls([tidy("CHILD-A")]));
    scene.server.when("CHILD-A").reply(write_new("mine\n")).then(text("x").stall());
    let running = scene.run().start();
    scene.server.wait_for_of("CHILD-A", 2).await;
    running.signal(Signal::SIGKILL);
    assert_eq!(running.wait().await.code, None);
    kept(&scene);
    scene.server.finish();
}
