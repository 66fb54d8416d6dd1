//! The question about trust on the screen.

use nix::sys::signal::Signal;

use super::{ALLOW_TOUCH, SHARED};
use crate::support::pty::{CTRL_C, CTRL_D, ENTER, ESC, Screen};
use crate::support::scene::{Scene, bash};
use crate::support::script::{text, tool_use};

const NOTHING: [&str; 0] = [];

const QUESTION: &str = "trust this project?";

/// What can be answered is shown: digits count from here on.
const ANSWERS: &str = "1  trust this";

#[tokio::test]
async fn the_screen_asks_before_the_session_and_what_was_shown_counts_from_then_on() {
    let scene = Scene::new();
    scene.world.write(SHARED, ALLOW_TOUCH);
    scene.server.when("TASK-1").reply(tool_use("Bash", bash("touch made.txt"))).then(text("tried"));
    let screen = Screen::start(&scene.world, ["TASK-1 go"], 100, 30);
    screen.wait_for(QUESTION);
    let shown = screen.wait_for(ANSWERS);
    assert!(shown.contains("2  allow rule Bash(touch:*)") && shown.contains(SHARED), "{shown}");
    assert_eq!(scene.server.requests().len(), 0, "nothing has begun");
    // What comes after the question was shown is not what was accepted.
    let more = "[permissions]\nallow = [\"Bash(touch:*)\", \"Bash(mkdir:*)\"]\n";
    scene.world.write(SHARED, more);
    screen.keys("1");
    screen.wait_for("tried");
    assert!(scene.world.exists("made.txt"), "{}", screen.contents());
    let notice = screen.wait_for("Ignored until");
    assert!(notice.contains("Bash(mkdir:*)") && !notice.contains("Bash(touch:*)"), "{notice}");
    screen.quit_when_idle();
    screen.exit().assert_restored();

    let changed = Screen::start(&scene.world, NOTHING, 100, 30);
    let shown = changed.wait_for(ANSWERS);
    assert!(shown.contains("It has changed since you trusted it"), "{shown}");
    assert!(shown.contains("Bash(mkdir:*)") && !shown.contains("Bash(touch:*)"), "{shown}");
    changed.keys("1");
    changed.wait_for("? keys");
    changed.keys(CTRL_D);
    changed.exit().assert_restored();
    let again = Screen::start(&scene.world, NOTHING, 100, 30);
    let shown = again.wait_for("? keys");
    assert!(!shown.contains("Ignored until"), "{shown}");
    scene.server.finish();
}

#[tokio::test]
async fn not_now_goes_on_without_it_and_says_so_once() {
    for key in ["2", ESC] {
        let scene = Scene::new();
        scene.world.write(SHARED, ALLOW_TOUCH);
        let touch = tool_use("Bash", bash("touch made.txt"));
        scene.server.when("TASK-1").reply(touch).then(text("tried"));
        let screen = Screen::start(&scene.world, ["TASK-1 go"], 100, 30);
        screen.wait_for(ANSWERS);
        screen.keys(key);
        let shown = screen.wait_for("1  Yes");
        assert_eq!(shown.matches("What you have not trusted stays off").count(), 1, "{shown}");
        assert!(!shown.contains("Ignored until"), "the user has just read it: {shown}");
        assert!(!scene.world.exists("made.txt"), "{shown}");
        let later = Screen::start(&scene.world, NOTHING, 100, 30);
        later.wait_for(QUESTION);
    }
}

#[tokio::test]
async fn ctrl_c_at_the_question_leaves_and_a_signal_does_too() {
    let scene = Scene::new();
    scene.world.write(SHARED, ALLOW_TOUCH);
    let screen = Screen::start(&scene.world, ["TASK-1 go"], 100, 30);
    screen.wait_for(QUESTION);
    screen.keys(CTRL_C);
    let left = screen.exit();
    left.assert_restored();
    assert_eq!(left.exit, Ok(0));
    let screen = Screen::start(&scene.world, ["TASK-1 go"], 100, 30);
    screen.wait_for(QUESTION);
    screen.signal(Signal::SIGTERM);
    let left = screen.exit();
    left.assert_restored();
    assert_eq!(left.exit, Ok(143));
    assert!(!scene.world.settings_dir().join("trust.json").exists());
    assert_eq!(scene.server.requests().len(), 0);
}

#[tokio::test]
async fn keys_that_were_typed_ahead_trust_nothing_and_no_mode_answers_the_question() {
    let scene = Scene::new();
    scene.world.write(SHARED, ALLOW_TOUCH);
    let screen = Screen::start(&scene.world, ["--dangerously-skip-permissions"], 100, 30);
    screen.keys("1. fix the tests");
    screen.keys(ENTER);
    screen.paste("1");
    screen.wait_for(ANSWERS);
    // What comes in one go with the answer, but behind it, is for the prompt.
    screen.keys("2and then");
    screen.wait_for("› and then");
    assert!(!scene.world.settings_dir().join("trust.json").exists());
}

#[tokio::test]
async fn nothing_is_asked_where_nothing_is_brought_or_nothing_can_be_kept() {
    let scene = Scene::new();
    scene.world.write(SHARED, "[permissions]\ndeny = [\"WebFetch\"]\n[model]\nmax_tokens = 8000\n");
    Screen::start(&scene.world, NOTHING, 100, 30).wait_for("? keys");
    scene.world.write(SHARED, ALLOW_TOUCH);
    std::fs::write(scene.world.settings_dir().join("trust.json"), "{").unwrap();
    let shown = Screen::start(&scene.world, NOTHING, 100, 30).wait_for("? keys");
    assert!(shown.contains("Ignored until") && shown.contains("removed"), "{shown}");
}
