//! Whole screens of the real program, as pictures to compare.

use crate::support::pty::Screen;
use crate::support::scene::{DONE, PARENT, Scene, agent_with, calls};
use crate::support::script::{text, tool_use};

use serde_json::{Value, json};

const BYPASS: &str = "--dangerously-skip-permissions";

/// A child with a title of its own.
fn titled(word: &str, title: &str) -> Value {
    agent_with(word, "description", json!(title))
}

/// Three children at work over a project with one file, their streams held open.
fn at_work(cols: u16, rows: u16) -> (Scene, Screen) {
    let scene = Scene::new();
    scene.world.config("[tui]\nmotion = \"reduced\"\n");
    scene.world.write("notes.txt", "one\ntwo\n");
    let read = json!({ "file_path": scene.world.project_dir().join("notes.txt") });
    let batch = [
        ("CHILD-A", "map the routes"),
        ("CHILD-B", "read the tests"),
        ("CHILD-C", "find the callers"),
    ];
    let spoken =
        text("I look at the notes, then three agents look at the rest.").tool_use("Read", read);
    scene
        .server
        .when(PARENT)
        .reply(spoken)
        .then(calls(batch.map(|(word, title)| titled(word, title))))
        .then(text("## Found\n\n- `notes.txt` has *two* lines\n- nothing else\n\n").more(DONE));
    for (word, found) in [("CHILD-A", "A-1\n\nA-2"), ("CHILD-B", "B-1"), ("CHILD-C", "C-1")] {
        scene.server.when(word).reply(text(format!("found {found}")).gate("rest"));
    }
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], cols, rows);
    (scene, screen)
}

/// The screen without what differs from run to run: clocks, and the places of the throw-away folders.
pub fn masked(shown: &str) -> String {
    let mut out = String::new();
    for line in shown.lines() {
        let mut letters: Vec<char> = line.trim_end().chars().collect();
        for at in 1..letters.len().saturating_sub(2) {
            let clock = letters[at] == ':'
                && letters[at - 1].is_ascii_digit()
                && letters[at + 1].is_ascii_digit()
                && letters[at + 2].is_ascii_digit();
            if clock {
                letters[at - 1] = '#';
                letters[at + 1] = '#';
                letters[at + 2] = '#';
            }
        }
        out.extend(letters);
        out.push('\n');
    }
    out
}

fn assert_pictures(cols: u16, rows: u16) {
    let (scene, screen) = at_work(cols, rows);
    let size = format!("{cols}x{rows}");
    let shown = screen.wait_until("three agents at work", |shown| {
        ["A-2", "B-1", "C-1", "waiting for 3 agents"].iter().all(|part| shown.contains(part))
            && shown.matches("1/20").count() >= 3
    });
    insta::assert_snapshot!(format!("work_{size}"), masked(&shown));
    scene.server.open("rest");
    let shown = screen.wait_until("the end", |shown| {
        shown.contains(DONE) && !shown.contains("writing") && shown.contains("✓ 3")
    });
    insta::assert_snapshot!(format!("done_{size}"), masked(&shown));
    scene.server.finish();
}

#[tokio::test]
async fn three_agents_at_work_and_their_end_at_80x24() {
    assert_pictures(80, 24);
}

#[tokio::test]
async fn three_agents_at_work_and_their_end_at_120x40() {
    assert_pictures(120, 40);
}

#[tokio::test]
async fn a_question_at_80x24() {
    let scene = Scene::new();
    scene
        .server
        .when(PARENT)
        .reply(tool_use("Bash", json!({ "command": "touch made.txt" })))
        .then(text(DONE));
    let screen = Screen::start(&scene.world, ["PARENT-1 go"], 80, 24);
    let shown = screen.wait_for("1–5 answer");
    // The name of the throw-away folder is always as long.
    let folder = scene.world.project_dir().display().to_string();
    let place = format!("{:1$}", "/the/project", folder.len());
    insta::assert_snapshot!("question_80x24", masked(&shown.replace(&folder, &place)));
    screen.keys("1");
    screen.wait_for(DONE);
    scene.server.finish();
}
