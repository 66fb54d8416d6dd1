//! Plan mode on a real terminal: it ends with a plan that the user has read.

use serde_json::json;

use crate::support::pty::{ENTER, ESC_ALONE, Screen};
use crate::support::record::ToolResult;
use crate::support::scene::{DONE, PARENT, Scene, agent};
use crate::support::script::{Reply, text, tool_use};

const PLAN: &str = "# Fix it\n\n1. Write **a.txt**\n";

fn plan() -> Reply {
    tool_use("ExitPlanMode", json!({ "plan": PLAN }))
}

fn write(file: &str) -> Reply {
    tool_use("Write", json!({ "file_path": file, "content": "x" }))
}

fn start(scene: &Scene, mode: &str) -> Screen {
    let args = ["--permission-mode", mode, "--allowed-tools", "AgentTool", "PARENT-1 go"];
    Screen::start(&scene.world, args, 80, 24)
}

/// Main presents a plan, and writes a file afterwards.
fn planning() -> (Scene, Screen) {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(plan()).then(write("a.txt")).then(text(DONE));
    let screen = start(&scene, "plan");
    let shown = screen.wait_for("main has a plan");
    assert!(shown.contains("# Fix it") && shown.contains("1. Write **a.txt**"), "{shown}");
    (scene, screen)
}

fn result(scene: &Scene, word: &str, request: usize) -> ToolResult {
    scene.server.requests_of(word)[request].tool_result()
}

#[tokio::test]
async fn an_approved_plan_ends_plan_mode_and_changes_are_asked_about() {
    let (scene, screen) = planning();
    screen.keys("1");
    screen.wait_for("main wants to write a.txt");
    assert!(!scene.world.exists("a.txt"));
    screen.keys("1");
    let shown = screen.wait_for(DONE);
    assert!(shown.contains(" default · "), "{shown}");
    assert!(scene.world.exists("a.txt"));
    let read = result(&scene, PARENT, 1);
    assert_eq!(read.text, "The user approved the plan. Plan mode is off. Carry it out.");
    scene.server.finish();
}

#[tokio::test]
async fn a_hook_that_answers_questions_approves_no_plan() {
    let scene = Scene::new();
    let allow = r#"{"hookSpecificOutput":{"decision":{"behavior":"allow"}}}"#;
    let command = json!(format!("echo '{allow}'"));
    scene.world.config(&format!("[[hooks.PermissionRequest]]\ncommand = {command}\n"));
    scene.server.when(PARENT).reply(plan()).then(write("a.txt")).then(text(DONE));
    let screen = start(&scene, "plan");
    screen.wait_for("main has a plan");
    screen.keys("1");
    // The question about the file is the hook's.
    screen.wait_for(DONE);
    assert!(scene.world.exists("a.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn an_approval_can_let_edits_run() {
    let (scene, screen) = planning();
    screen.keys("2");
    let shown = screen.wait_for(DONE);
    assert!(shown.contains(" acceptEdits · "), "{shown}");
    assert!(scene.world.exists("a.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn a_refused_plan_keeps_plan_mode_and_the_model_reads_why() {
    let (scene, screen) = planning();
    screen.keys("4");
    screen.wait_for("What should main plan instead?");
    screen.keys("use sqlite");
    screen.wait_for("use sqlite");
    screen.keys(ENTER);
    let shown = screen.wait_for(DONE);
    assert!(shown.contains(" plan · "), "{shown}");
    assert_eq!(result(&scene, PARENT, 1).text, "the user said no: use sqlite");
    let denied = result(&scene, PARENT, 2);
    assert!(denied.is_error && denied.text.contains("with ExitPlanMode"), "{denied:?}");
    assert!(!scene.world.exists("a.txt"));
    scene.server.finish();
}

/// A question about a plan that the user has changed in the editor.
fn edited_plan() -> (Scene, Screen) {
    let mut scene = Scene::new();
    scene.world.env("EDITOR", "sed -i s/a.txt/b.txt/");
    scene.server.when(PARENT).reply(plan()).then(text(DONE));
    let screen = start(&scene, "plan");
    screen.wait_for("3  Edit the plan");
    screen.keys("3");
    screen.wait_for("1. Write **b.txt**");
    (scene, screen)
}

#[tokio::test]
async fn the_plan_can_be_changed_in_the_editor_and_the_model_reads_the_new_one() {
    let (scene, screen) = edited_plan();
    screen.keys("1");
    screen.wait_for(DONE);
    let read = result(&scene, PARENT, 1).text;
    assert!(read.contains("with changes") && read.ends_with("1. Write **b.txt**"), "{read}");
    scene.server.finish();
}

#[tokio::test]
async fn the_approved_plan_is_shown_and_what_is_for_the_model_is_not() {
    let (scene, screen) = edited_plan();
    screen.keys("2");
    screen.wait_for("done in");
    let live = screen.contents();
    screen.quit_when_idle();
    screen.wait_ended();
    let resumed = Screen::start(&scene.world, ["--continue"], 80, 24);
    resumed.wait_for(DONE);
    for shown in [live, resumed.contents()] {
        let call = shown.lines().position(|line| line.contains("approved · edits")).unwrap();
        let end = shown.lines().position(|line| line.contains(DONE)).unwrap();
        let lines: Vec<&str> = shown.lines().take(end).skip(call).map(str::trim_end).collect();
        assert!(lines[0].ends_with("Plan Fix it   approved · edits run"), "{shown}");
        assert_eq!(lines[1..].join("\n").trim_end(), "  Fix it\n\n  1. Write b.txt", "{shown}");
        assert!(!shown.contains("Plan mode") && !shown.contains("added"), "{shown}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn outside_plan_mode_there_is_nothing_to_approve() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(plan()).then(text(DONE));
    let screen = start(&scene, "acceptEdits");
    screen.wait_for(DONE);
    let read = result(&scene, PARENT, 1);
    assert!(read.is_error && read.text.starts_with("Plan mode is off"), "{read:?}");
    scene.server.finish();
}

#[tokio::test]
async fn a_sub_agent_leaves_only_its_own_plan_mode() {
    let scene = Scene::new();
    scene.world.write(
        ".caliban/agents/planner.md",
        "---\nname: planner\ndescription: plans\npermissionMode: plan\n---\nPLANNER",
    );
    let mut call = agent("CHILD-A");
    call["agent"] = json!("planner");
    scene.parent_calls([call, agent("CHILD-B")]);
    let first = scene.server.when("CHILD-A").reply(plan()).then(write("a.txt"));
    first.then(text("A done"));
    let second = text("x").gate("a.txt is there").tool_use(
        "Write",
        json!({
            "file_path": "b.txt", "content": "x",
        }),
    );
    scene.server.when("CHILD-B").reply(second).then(text("B done"));
    let screen = start(&scene, "default");
    screen.wait_for("agent 1 has a plan");
    screen.keys("2");
    scene.server.wait_for_of("CHILD-A", 3).await;
    assert!(scene.world.exists("a.txt") && !result(&scene, "CHILD-A", 1).is_error);
    scene.server.open("a.txt is there");
    screen.wait_for("agent 2 wants to write b.txt");
    screen.keys(ESC_ALONE);
    let shown = screen.wait_for(DONE);
    assert!(shown.contains(" default · "), "{shown}");
    scene.server.finish();
}
