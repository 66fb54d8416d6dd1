//! Questions and choices of agents, on a real terminal: what is answered was on the screen, and a
//! number means the agent whose pane has it.

use serde_json::json;

use super::BYPASS;
use crate::support::pty::{CTRL_C, ESC, Screen};
use crate::support::scene::{DONE, PARENT, Scene, agent};
use crate::support::script::{text, tool_use};

const END: &str = "\x1b[F";

/// The second of three agents wants to replace the file's only line by many.
fn editing(cols: u16, rows: u16) -> (Scene, Screen) {
    let scene = Scene::new();
    scene.world.write("src/list.txt", "old\n");
    scene.parent_calls(["CHILD-A", "CHILD-B", "CHILD-C"].map(agent));
    for word in ["CHILD-A", "CHILD-C"] {
        scene.server.when(word).reply(text("looking").gate("rest"));
    }
    let new: String = (1..=60).map(|line| format!("line-{line};\n")).collect();
    let edit = json!({ "file_path": "src/list.txt", "old_string": "old\n", "new_string": new });
    let child = scene.server.when("CHILD-B");
    let read = child.reply(tool_use("Read", json!({ "file_path": "src/list.txt" })));
    read.then(tool_use("Edit", edit)).then(text("edited"));
    let args = ["--allowed-tools", "AgentTool", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, cols, rows);
    (scene, screen)
}

async fn assert_seen_first(cols: u16, rows: u16) {
    let (scene, screen) = editing(cols, rows);
    screen.wait_for("agent 2 wants to edit src/list.txt");
    let shown = screen.wait_for("PgDn or End");
    assert!(shown.contains("1 - old") && shown.contains("+ line-5;"), "{shown}");
    assert!(!shown.contains("line-60;"), "{shown}");
    screen.keys("1");
    screen.keys("2");
    // The next key shows that those before it were taken.
    screen.keys("4");
    screen.wait_for("What should agent 2 do instead?");
    assert_eq!(scene.world.read("src/list.txt"), "old\n");
    screen.keys(ESC);
    screen.wait_for("1  Yes");
    screen.keys(END);
    let shown = screen.wait_for("line-60;");
    assert!(shown.contains("no rule allows writing"), "{shown}");
    assert_eq!(scene.world.read("src/list.txt"), "old\n");
    // Where the answers take lines from the content, they come with one more key.
    screen.keys(END);
    screen.wait_for("edits in src/");
    screen.keys("1");
    scene.server.wait_for_of("CHILD-B", 3).await;
    assert!(scene.world.read("src/list.txt").ends_with("line-60;\n"));
    scene.server.open("rest");
    screen.wait_for(DONE);
    scene.server.finish();
}

#[tokio::test]
async fn a_key_that_comes_with_the_question_does_not_answer_it() {
    let scene = Scene::new();
    let main = scene.server.when(PARENT);
    main.reply(tool_use("Bash", json!({ "command": "touch made.txt" }))).then(text("ALL-DONE"));
    let screen = Screen::start(&scene.world, ["PARENT-1 go"], 100, 30);
    screen.wait_for("answers work in a moment");
    screen.keys_at_once("1");
    screen.wait_for("1–5 answer");
    assert!(!scene.world.exists("made.txt"));
    screen.keys("1");
    screen.wait_for("ALL-DONE");
    assert!(scene.world.exists("made.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn an_edit_can_be_allowed_once_its_end_was_on_the_screen_at_80x24() {
    assert_seen_first(80, 24).await;
}

#[tokio::test]
async fn an_edit_can_be_allowed_once_its_end_was_on_the_screen_at_60x15() {
    assert_seen_first(60, 15).await;
}

#[tokio::test]
async fn the_digit_in_cancel_which_is_the_number_of_the_pane() {
    let scene = Scene::new();
    scene.parent_calls(["CHILD-A", "CHILD-B", "CHILD-C"].map(agent));
    scene.server.when("CHILD-A").reply(text("TEXT-A"));
    scene.server.when("CHILD-B").reply(text("TEXT-B").gate("never"));
    scene.server.when("CHILD-C").reply(text("TEXT-C").gate("rest"));
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 40);
    for text in ["TEXT-B", "TEXT-C"] {
        screen.wait_for(text);
    }
    let shown = screen.wait_for("✓ 1");
    assert!(shown.contains("▌2 look around"), "{shown}");
    screen.keys(CTRL_C);
    let shown = screen.wait_for("Cancel which?");
    assert!(shown.contains("general-purpose-2") && shown.contains("general-purpose-3"), "{shown}");
    screen.keys("2");
    scene.server.ended("CHILD-B").await;
    screen.wait_for("agent 2 cancelled");
    assert!(scene.server.requests_of("CHILD-C")[0].end.is_none(), "its neighbour goes on");
    scene.server.open("rest");
    screen.wait_for(DONE);
    scene.server.finish();
}

#[tokio::test]
async fn a_rule_that_would_not_let_the_call_run_comes_back_to_the_editor() {
    let scene = Scene::new();
    let main = scene.server.when("PARENT-1");
    main.reply(tool_use("Bash", json!({ "command": "touch made.txt" }))).then(text("ALL-DONE"));
    let screen = Screen::start(&scene.world, ["PARENT-1 go"], 100, 30);
    screen.wait_for("1  Yes");
    screen.keys("3");
    screen.wait_for("adds Bash(touch");
    screen.keys("\x15Bash(ls:*)");
    screen.wait_for("adds Bash(ls:*) to allow");
    screen.keys("\r");
    let shown = screen.wait_for("! not written: even with these rules");
    assert!(shown.contains("adds Bash(ls:*) to allow"), "{shown}");
    assert!(!shown.contains("allowed always") && !scene.world.exists("made.txt"));
    screen.keys("\x15Bash(touch:*)");
    screen.wait_for("adds Bash(touch:*) to allow");
    screen.keys("\r");
    screen.wait_for("ALL-DONE");
    let written = scene.world.read(".caliban/config.local.toml");
    assert!(written.contains("Bash(touch:*)") && !written.contains("Bash(ls"), "{written}");
    scene.server.finish();
}
