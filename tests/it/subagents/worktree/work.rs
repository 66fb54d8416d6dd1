//! The work of agents in worktrees of their own: looked at, merged and discarded in `/agents`.

use serde_json::json;

use super::{define, git, worktrees};
use crate::pty::{BYPASS, send};
use crate::support::pty::{CTRL_D, ESC, Screen};
use crate::support::scene::{DONE, PARENT, Scene, agent_with, calls};
use crate::support::script::{text, tool_use};

/// A repository in which each of two isolated agents has written a file.
fn scene() -> Scene {
    let scene = Scene::new();
    define(&scene, "");
    scene.world.write("a.txt", "one\n");
    for words in ["init -q -b main", "add -A", "commit -qm first"] {
        git(&scene, words);
    }
    let tidy = |word| agent_with(word, "agent", json!("tidy"));
    scene.server.when(PARENT).reply(calls([tidy("CHILD-A"), tidy("CHILD-B")])).then(text(DONE));
    for (word, file) in [("CHILD-A", "a.txt"), ("CHILD-B", "b.txt")] {
        let content = format!("{word} was here\n");
        let write = tool_use("Write", json!({ "file_path": file, "content": content }));
        let read = tool_use("Read", json!({ "file_path": file }));
        let script = scene.server.when(word);
        let script =
            if file == "a.txt" { script.reply(read).then(write) } else { script.reply(write) };
        script.then(text("written"));
    }
    scene
}

/// Closes the list of agents, which stays open after a merge.
fn leave_list(screen: &Screen) {
    screen.wait_for("r resume");
    screen.keys(ESC);
    screen.wait_gone("r resume");
}

#[tokio::test]
async fn work_is_looked_at_merged_and_discarded() {
    let scene = scene();
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 110, 34);
    screen.wait_for("done in");
    assert_eq!(worktrees(&scene).len(), 2);
    send(&screen, "/agents");
    screen.wait_for("d work");
    screen.keys("d");
    let shown = screen.wait_for("CHILD-A was here");
    for part in ["work of agent 1", "1 file", "a.txt", "one", "m twice merges"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    screen.keys("m");
    screen.wait_for("m again merges 1 file into yours");
    screen.keys("m");
    screen.wait_for("merged 1 file of agent 1: its files are kept as the commit");
    assert_eq!(scene.world.read("a.txt"), "CHILD-A was here\n");
    assert_eq!(git(&scene, "log --format=%s"), "first\n");
    // The other one, after a resume.
    leave_list(&screen);
    screen.keys(CTRL_D);
    screen.wait_ended();
    let screen = Screen::start(&scene.world, ["-c"], 110, 34);
    screen.wait_for("merged 1 file of agent 1: its files are kept as the commit");
    screen.wait_for(DONE);
    send(&screen, "/agents");
    screen.wait_for("r resume");
    screen.wait_gone("d work");
    screen.keys("\x1b[B");
    screen.wait_for("d work");
    screen.keys("d");
    screen.wait_for("CHILD-B was here");
    screen.keys("xx");
    let said = screen.wait_for("discarded the work of agent 2");
    assert!(said.contains("brings it back"), "{said}");
    assert_eq!(worktrees(&scene).len(), 0);
    assert_eq!(git(&scene, "branch --list caliban/*"), "");
    assert!(!scene.world.exists("b.txt"));
    leave_list(&screen);
    screen.keys(CTRL_D);
    screen.wait_ended();
    let screen = Screen::start(&scene.world, ["-c"], 110, 34);
    let shown = screen.wait_for("discarded the work of agent 2");
    assert!(shown.contains("brings it back") && shown.contains("kept as the commit"), "{shown}");
    scene.server.finish();
}

#[tokio::test]
async fn words_typed_over_work_merge_nothing_and_a_conflict_is_told() {
    let scene = scene();
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 110, 34);
    screen.wait_for("done in");
    scene.world.write("a.txt", "the user's\n");
    send(&screen, "/agents");
    screen.wait_for("d work");
    screen.keys("d");
    screen.wait_for("CHILD-A was here");
    screen.keys("merge");
    screen.wait_for("› merge");
    screen.keys("\x15");
    screen.wait_gone("› merge");
    send(&screen, "/agents");
    screen.wait_for("d work");
    screen.keys("d");
    screen.wait_for("CHILD-A was here");
    screen.keys("mm");
    let said = screen.wait_for("agent 1 · not merged");
    assert!(said.contains("conflicts in a.txt") && said.contains("by hand"), "{said}");
    assert_eq!(scene.world.read("a.txt"), "the user's\n");
    assert_eq!(worktrees(&scene).len(), 2);
    scene.server.finish();
}
