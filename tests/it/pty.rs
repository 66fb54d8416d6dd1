//! The screen as a person sees it, on a real terminal.

mod around;
mod background;
mod choices;
mod files;
mod form;
mod images;
mod keyboard;
mod linear;
mod plan;
mod question;
mod read_only;
mod sizes;
mod stored;

use std::time::Duration;

use nix::sys::signal::Signal;

use crate::support::process;
use crate::support::pty::{CTRL_C, CTRL_D, ENTER, ESC, SHIFT_TAB, Screen, TAB};
use crate::support::scene::{DONE, PARENT, Scene, agent, bash};
use crate::support::script::{Reply, text, tool_use};

pub(crate) const BYPASS: &str = "--dangerously-skip-permissions";
const NOTHING: [&str; 0] = [];

pub(crate) fn send(screen: &Screen, prompt: &str) {
    screen.keys(prompt);
    screen.keys(ENTER);
}

#[tokio::test]
async fn the_first_paint_has_the_rule_the_prompt_the_hints_and_the_status() {
    let scene = Scene::new();
    let screen = Screen::start(&scene.world, ["--model", "claude-sonnet-5"], 80, 24);
    screen.wait_for("? keys");
    let rows: Vec<String> = (20..24).map(|row| screen.row(row)).collect();
    assert!(rows[0].starts_with("─ to main ──"), "{rows:?}");
    assert!(rows[1].starts_with('›') && rows[1].contains("Ask, or / commands"), "{rows:?}");
    assert!(rows[2].contains("Ctrl+D quits"), "{rows:?}");
    assert!(rows[3].contains("default") && rows[3].contains("sonnet-5"), "{rows:?}");
    assert!(screen.row(0).contains("caliban"), "{}", screen.contents());
    assert_eq!(scene.server.requests().len(), 0, "nothing is asked before a prompt");
    scene.server.finish();
}

#[tokio::test]
async fn an_answer_is_on_the_screen_while_it_streams() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(text("EARLY-77").gate("held").more(" LATE-77"));
    let screen = Screen::start(&scene.world, NOTHING, 80, 24);
    screen.wait_for("? keys");
    send(&screen, "PARENT-1 go");
    let shown = screen.wait_for("EARLY-77");
    assert!(shown.contains("› PARENT-1 go") && !shown.contains("LATE-77"), "{shown}");
    screen.wait_for("writing ·");
    scene.server.open("held");
    screen.wait_for("EARLY-77 LATE-77");
    screen.wait_gone("writing");
    scene.server.finish();
}

#[tokio::test]
async fn a_paste_of_several_lines_is_one_prompt() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(text(DONE));
    let screen = Screen::start(&scene.world, NOTHING, 80, 24);
    screen.wait_for("? keys");
    screen.paste("PARENT-1 first\nsecond\nthird");
    screen.wait_for("third");
    assert_eq!(scene.server.requests().len(), 0, "a paste sends nothing");
    screen.keys(ENTER);
    screen.wait_for(DONE);
    let prompt = scene.server.requests()[0].first_user_text();
    assert!(prompt.contains("PARENT-1 first\nsecond\nthird"), "{prompt}");
    scene.server.finish();
}

#[tokio::test]
async fn three_panes_live_side_by_side_while_the_parent_waits() {
    let scene = Scene::new();
    scene.parent_calls(["CHILD-A", "CHILD-B", "CHILD-C"].map(agent));
    for (word, one, two) in [
        ("CHILD-A", "A-ONE", "A-TWO"),
        ("CHILD-B", "B-ONE", "B-TWO"),
        ("CHILD-C", "C-ONE", "C-TWO"),
    ] {
        scene.server.when(word).reply(text(one).gate(word).more(" ").more(two).gate("end"));
    }
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 40);
    for one in ["A-ONE", "B-ONE", "C-ONE"] {
        screen.wait_for(one);
    }
    let shown = screen.wait_for("3 agents");
    assert!(shown.matches("look around").count() >= 3, "{shown}");
    screen.wait_for("waiting for 3 agents");
    // Each goes on by itself.
    scene.server.open("CHILD-B");
    let shown = screen.wait_for("B-TWO");
    assert!(!shown.contains("A-TWO") && !shown.contains("C-TWO"), "{shown}");
    scene.server.open("CHILD-A");
    scene.server.open("CHILD-C");
    screen.wait_for("A-TWO");
    screen.wait_for("C-TWO");
    assert_eq!(scene.server.requests_of(PARENT).len(), 1);
    scene.server.open("end");
    screen.wait_for(DONE);
    scene.server.finish();
}

#[tokio::test]
async fn a_focused_pane_is_the_one_that_ctrl_c_means() {
    let scene = Scene::new();
    scene.parent_calls(["CHILD-A", "CHILD-B"].map(agent));
    scene.server.when("CHILD-A").reply(text("TEXT-A").gate("rest"));
    scene.server.when("CHILD-B").reply(text("TEXT-B").gate("never"));
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 40);
    screen.wait_for("TEXT-A");
    screen.wait_for("TEXT-B");
    screen.keys(TAB);
    screen.wait_for("▸1");
    screen.keys(TAB);
    screen.wait_for("▸2");
    screen.keys(CTRL_C);
    scene.server.ended("CHILD-B").await;
    assert!(scene.server.requests_of("CHILD-A")[0].end.is_none(), "the sibling goes on");
    screen.wait_for("cancelled");
    scene.server.open("rest");
    screen.keys(ESC);
    screen.wait_for(DONE);
    scene.server.finish();
}

/// A child that wants to run a command which no rule allows.
fn asking() -> (Scene, Screen) {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(tool_use("Bash", bash("touch made.txt"))).then(text("ok"));
    let args = ["--allowed-tools", "AgentTool", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 100, 30);
    let shown = screen.wait_for("1  Yes");
    assert!(
        shown.contains("wants to run a command") && shown.contains("touch made.txt"),
        "{shown}"
    );
    assert!(shown.contains("agent 1 wants"), "the asker is named: {shown}");
    assert!(!scene.world.exists("made.txt"));
    (scene, screen)
}

#[tokio::test]
async fn a_childs_question_is_shown_and_yes_runs_the_call() {
    let (scene, screen) = asking();
    screen.keys("1");
    screen.wait_for(DONE);
    assert!(scene.world.exists("made.txt"));
    assert!(!scene.server.requests_of("CHILD-A")[1].tool_result().is_error);
    scene.server.finish();
}

#[tokio::test]
async fn esc_denies_the_one_call_and_the_child_goes_on() {
    let (scene, screen) = asking();
    screen.keys(ESC);
    screen.wait_for(DONE);
    assert!(!scene.world.exists("made.txt"));
    assert!(scene.server.requests_of("CHILD-A")[1].tool_result().is_error);
    assert_eq!(scene.server.requests_of(PARENT)[1].tool_result().text, "ok");
    scene.server.finish();
}

#[tokio::test]
async fn enter_alone_answers_no_question() {
    let (scene, screen) = asking();
    screen.keys(ENTER);
    screen.keys("5");
    screen.wait_for(DONE);
    assert!(!scene.world.exists("made.txt"));
    let result = scene.server.requests_of(PARENT)[1].tool_result();
    assert!(result.is_error, "5 cancels the asker: {result:?}");
}

#[tokio::test]
async fn shift_tab_changes_the_mode_on_the_prompt() {
    let scene = Scene::new();
    let screen = Screen::start(&scene.world, NOTHING, 80, 24);
    screen.wait_for("? keys");
    for mode in ["acceptEdits", "plan", "default"] {
        screen.keys(SHIFT_TAB);
        screen.wait_until(&format!("mode {mode}"), |shown| {
            shown.lines().last().is_some_and(|status| status.trim_start().starts_with(mode))
        });
    }
    scene.server.finish();
}

#[tokio::test]
async fn the_smallest_terminal_and_back_loses_nothing() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A"), agent("CHILD-B")]);
    scene.server.when("CHILD-A").reply(text("TEXT-A").gate("rest"));
    scene.server.when("CHILD-B").reply(text("TEXT-B").gate("rest"));
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 40);
    screen.wait_for("TEXT-A");
    screen.wait_for("TEXT-B");
    screen.keys("my draft");
    screen.wait_for("my draft");
    for (cols, rows) in [(20, 5), (10, 3), (1, 1), (200, 60), (80, 24)] {
        screen.resize(cols, rows);
    }
    screen.wait_for("my draft");
    screen.wait_for("TEXT-A");
    screen.wait_for("waiting for 2 agents");
    scene.server.open("rest");
    screen.wait_for(DONE);
    scene.server.finish();
}

#[tokio::test]
async fn a_terminal_of_twenty_by_five_has_the_prompt() {
    let scene = Scene::new();
    let screen = Screen::start(&scene.world, NOTHING, 20, 5);
    screen.wait_for("›");
    screen.keys("hello");
    screen.wait_for("› hello");
    scene.server.finish();
}

#[tokio::test]
async fn quitting_restores_the_terminal_and_prints_the_last_answer_and_how_to_go_on() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(text("LAST-77"));
    let screen = Screen::start(&scene.world, ["PARENT-1 go"], 80, 24);
    screen.wait_for("LAST-77");
    screen.quit_when_idle();
    let left = screen.exit();
    assert_eq!(left.exit, Ok(0));
    left.assert_restored();
    assert!(left.farewell.contains("LAST-77"), "{}", left.farewell);
    assert!(left.farewell.contains("caliban --resume"), "{}", left.farewell);
    scene.server.finish();
}

#[tokio::test]
async fn quitting_without_a_prompt_prints_nothing() {
    let scene = Scene::new();
    let screen = Screen::start(&scene.world, NOTHING, 80, 24);
    screen.wait_for("? keys");
    screen.keys(CTRL_C);
    screen.wait_for("Ctrl+C again quits");
    screen.keys(CTRL_D);
    let left = screen.exit();
    assert_eq!(left.exit, Ok(0));
    left.assert_restored();
    assert_eq!(left.farewell.trim(), "");
    scene.server.finish();
}

#[tokio::test]
async fn a_signal_restores_the_terminal_and_leaves_no_stream() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 129), (Signal::SIGINT, 130)] {
        let scene = Scene::new();
        scene.parent_calls([agent("CHILD-A")]);
        scene.server.when("CHILD-A").reply(Reply::stream().text("TEXT-77").stall());
        let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 80, 24);
        screen.wait_for("TEXT-77");
        screen.signal(signal);
        let left = screen.exit();
        left.assert_restored();
        assert_eq!(left.exit, Ok(code), "{signal}");
        scene.server.ended("CHILD-A").await;
        assert_eq!(scene.server.requests_of(PARENT).len(), 1);
    }
}

#[tokio::test]
async fn an_idle_screen_writes_nothing_and_computes_nothing() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(text(DONE));
    let screen = Screen::start(&scene.world, ["PARENT-1 go"], 80, 24);
    screen.wait_for(DONE);
    screen.wait_gone("writing");
    screen.keys("x");
    screen.wait_for("› x");
    // What the last key and the end of the answer set off is over when a whole moment stays quiet.
    while !screen.written_within(Duration::from_millis(500)).is_empty() {}
    let before = process::cpu_ticks(screen.pid());
    let written = screen.written_within(Duration::from_secs(2));
    let ticks = process::cpu_ticks(screen.pid()) - before;
    assert_eq!(String::from_utf8_lossy(&written), "");
    assert!(ticks <= 1, "{ticks} ticks of 10 ms in 2 s");
    scene.server.finish();
}
