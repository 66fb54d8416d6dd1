//! The screen as lines, for screen readers: a whole session in it.

use super::send;
use crate::support::pty::{CTRL_C, CTRL_D, ENTER, ESC_ALONE, Screen, TAB};
use crate::support::scene::{DONE, Scene, agent, bash};
use crate::support::script::{text, tool_use};

const CTRL_L: &str = "\x0c";

fn start(scene: &Scene) -> Screen {
    let args = ["--screen-reader", "--allowed-tools", "AgentTool"];
    let screen = Screen::start(&scene.world, args, 100, 60);
    screen.wait_for("Lines for screen readers");
    screen
}

#[tokio::test]
async fn a_session_is_a_sequence_of_lines() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(tool_use("Bash", bash("touch made.txt"))).then(text("A-OK"));
    let screen = start(&scene);
    send(&screen, "PARENT-1 go");
    screen.wait_for("You: PARENT-1 go");
    screen.wait_for("Main is working. Esc stops it.");
    screen.wait_for("Started: agent 1, \"look around\" (general-purpose-1).");
    let shown = screen.wait_for("5  No, and cancel agent 1");
    assert!(shown.contains("agent 1 wants to run a command"), "{shown}");
    for answer in ["\n1  Yes\n", "\n4  No, and say what to do instead\n"] {
        assert!(shown.replace(" \n", "\n").contains(answer), "{answer:?}: {shown}");
    }
    screen.keys("1");
    screen.wait_for("Ended, done,");
    let shown = screen.wait_for(&format!("main: {DONE}"));
    assert!(scene.world.exists("made.txt"));
    assert!(!shown.contains(['─', '│', '╭', '⠹', '●', '✓']), "{shown}");
    screen.wait_for("done in");
    screen.keys(TAB);
    screen.wait_for("Messages go to agent 1, \"look around\" (general-purpose-1): done.");
    screen.keys(ENTER);
    screen.wait_for("Transcript of agent 1, \"look around\"");
    screen.wait_for("general-purpose-1: A-OK");
    screen.keys(ESC_ALONE);
    screen.wait_for("Transcript of main:");
    screen.keys(CTRL_L);
    screen.wait_for("Main: idle");
    let raw = String::from_utf8_lossy(&screen.raw()).into_owned();
    assert!(!raw.contains("\x1b[?1049h") && !raw.contains("\x1b[2J"), "its own screen");
    drop(screen);
    scene.server.finish();
}

#[tokio::test]
async fn a_letter_is_echoed_alone_and_lists_say_what_is_selected() {
    let scene = Scene::new();
    scene.server.offer(&["claude-sonnet-5"]);
    let screen = start(&scene);
    screen.keys("hell");
    screen.wait_for("> hell");
    let before = screen.raw().len();
    screen.keys("o");
    screen.wait_for("> hello");
    let echo = String::from_utf8_lossy(&screen.raw()[before..]).into_owned();
    assert_eq!(echo, "o");
    screen.keys("\x15/hel");
    screen.wait_for("Selected: /help");
    screen.keys(ENTER);
    screen.wait_for("Help:");
    screen.keys(ESC_ALONE);
    send(&screen, "/model");
    screen.wait_for("List ");
    // Esc is deaf for a moment after it closed something; Ctrl+C closes as well.
    screen.keys(CTRL_C);
    screen.wait_for(">");
    screen.keys(CTRL_D);
    let left = screen.exit();
    assert_eq!(left.exit, Ok(0));
    left.assert_restored();
}

#[tokio::test]
async fn the_trust_question_is_lines_too() {
    let scene = Scene::new();
    scene.world.write(".caliban/config.toml", "[permissions]\nallow = [\"Bash(touch:*)\"]\n");
    scene.world.config("[tui]\nscreen_reader = true\n");
    let screen = Screen::start(&scene.world, super::NOTHING, 80, 24);
    let shown = screen.wait_for("2  not now");
    assert!(shown.contains("allow rule Bash(touch:*)") && !shown.contains('│'), "{shown}");
    screen.keys("2");
    screen.wait_for("Lines for screen readers");
    assert!(!String::from_utf8_lossy(&screen.raw()).contains("\x1b[?1049h"));
}
