//! Keys on their way in: none is lost to an editor or to a terminal that says something unasked,
//! and the person's own map says what they do.

use nix::sys::signal::Signal;

use crate::support::pty::{CTRL_C, ESC_ALONE, SHIFT_TAB, Screen};
use crate::support::scene::Scene;

const CTRL_G: &str = "\x07";
const CTRL_U: &str = "\x15";
const NOTHING: [&str; 0] = [];

/// A screen whose editor is this shell script, with the draft's file as `$1`.
fn with_editor(script: &str) -> (Scene, Screen) {
    let mut scene = Scene::new();
    scene.world.write("editor.sh", script);
    scene.world.env("EDITOR", "sh ./editor.sh");
    let screen = Screen::start(&scene.world, NOTHING, 80, 24);
    screen.wait_for("? keys");
    (scene, screen)
}

#[tokio::test]
async fn keys_for_the_editor_are_its_own_and_those_behind_them_reach_the_prompt_every_time() {
    let (scene, screen) = with_editor(
        "printf 'EDITS-%s-' \"$(cat \"$1\")\"; read line; printf %s \"$line\" >\"$1\"\n",
    );
    for round in 0..40 {
        screen.keys(&format!("draft{round}"));
        screen.wait_for(&format!("› draft{round}"));
        screen.keys(CTRL_G);
        screen.wait_for(&format!("EDITS-draft{round}-"));
        // One line is the editor's. What follows is typed while it ends, and in no case to it.
        screen.keys(&format!("line{round}\randa{round}"));
        screen.keys("ndb");
        screen.wait_for(&format!("› line{round}anda{round}ndb"));
        screen.keys("!");
        screen.wait_for(&format!("› line{round}anda{round}ndb!"));
        screen.keys(CTRL_U);
        screen.wait_gone("line");
    }
    scene.server.finish();
}

#[tokio::test]
async fn ctrl_c_in_an_editor_that_does_not_take_the_keyboard_ends_the_editor_alone() {
    let (scene, screen) = with_editor("echo EDITS; read line\n");
    screen.keys("my draft");
    screen.wait_for("› my draft");
    screen.keys(CTRL_G);
    screen.wait_for("EDITS");
    screen.keys(CTRL_C);
    screen.wait_for("the draft is unchanged");
    screen.keys(" stays");
    screen.wait_for("› my draft stays");
    scene.server.finish();
}

#[tokio::test]
async fn a_signal_while_an_editor_is_open_ends_the_editor_and_the_program() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let script = "trap 'echo ENDED >ended; exit' TERM\necho EDITS\nread line\n";
        let (scene, screen) = with_editor(script);
        screen.keys(CTRL_G);
        screen.wait_for("EDITS");
        screen.signal(signal);
        assert_eq!(screen.exit().exit, Ok(code));
        assert!(scene.world.exists("ended"), "the editor got the chance to save");
        scene.server.finish();
    }
}

/// What terminals send by themselves, or long after they were asked.
const UNASKED: [&str; 9] = [
    "\x1b[?2026;2$y",
    "\x1b[?997;1n",
    "\x1b[?62;22c",
    "\x1b[?0u",
    "\x1b[>41;354;0c",
    "\x1b[12;40R",
    "\x1b[8;24;80t",
    "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",
    "\x1bP>|Term(7.0)\x1b\\",
];

#[tokio::test]
async fn what_a_terminal_says_unasked_takes_no_key_with_it() {
    let scene = Scene::new();
    let screen = Screen::start(&scene.world, NOTHING, 80, 24);
    screen.wait_for("? keys");
    for (nth, said) in UNASKED.into_iter().enumerate() {
        screen.keys(&format!("{said}abc{nth}"));
        screen.wait_for(&format!("› abc{nth}"));
        screen.keys(CTRL_U);
        screen.wait_gone("abc");
    }
    scene.server.finish();
}

#[tokio::test]
async fn a_sequence_that_comes_in_pieces_is_one_key_and_one_that_never_ends_swallows_none() {
    let scene = Scene::new();
    let screen = Screen::start(&scene.world, NOTHING, 80, 24);
    screen.wait_for("? keys");
    for piece in ["ac", "\x1b[", "1;", "1", "D", "b"] {
        screen.keys(piece);
    }
    screen.wait_for("› abc");
    screen.keys("\x1b[1;");
    // What comes behind it and can be no part of it is a key of its own.
    screen.keys(ESC_ALONE);
    screen.keys("\x1b[F!");
    screen.wait_for("› abc!");
    scene.server.finish();
}

const SHIFT_LEFT: &str = "\x1b[1;2D";

#[tokio::test]
async fn shift_and_an_arrow_select_typing_replaces_and_a_click_places_the_cursor() {
    let scene = Scene::new();
    let screen = Screen::start(&scene.world, NOTHING, 80, 24);
    screen.wait_for("? keys");
    screen.keys(&format!("bcd{SHIFT_LEFT}{SHIFT_LEFT}"));
    screen.wait_for("Esc ends the selection");
    screen.keys("x");
    screen.wait_for("› bx");
    // The first letter: the third column of the third line from below.
    screen.keys("\x1b[<0;3;22M\x1b[<0;3;22m");
    screen.keys("a");
    screen.wait_for("› abx");
    scene.server.finish();
}

const F2: &str = "\x1bOQ";

#[tokio::test]
async fn the_persons_keymap_counts_and_a_projects_does_not() {
    let scene = Scene::new();
    let keymap = scene.world.settings_dir().join("keymap.toml");
    std::fs::write(&keymap, "[prompt]\nprevious = [\"f2\"]\n").unwrap();
    let theirs = "[prompt]\nprevious = [\"f4\"]\n";
    scene.world.write(".caliban/keymap.toml", theirs);
    scene.world.write("keymap.toml", theirs);
    let screen = Screen::start(&scene.world, NOTHING, 80, 24);
    screen.wait_for("F2 mode");
    screen.keys(F2);
    screen.wait_for("acceptEdits");
    scene.server.finish();
}

#[tokio::test]
async fn a_broken_keymap_is_named_with_its_line_and_the_built_in_keys_count() {
    let scene = Scene::new();
    let keymap = scene.world.settings_dir().join("keymap.toml");
    std::fs::write(&keymap, "[prompt]\nprevious = [\"f2\"]\nfly = [\"f3\"]\n").unwrap();
    let screen = Screen::start(&scene.world, NOTHING, 120, 40);
    let shown = screen.wait_for("Shift+Tab mode");
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "keymap.toml:3: unknown action \"fly\" in [prompt]: use one of submit,",
        "Using the built-in keys.",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    screen.keys(SHIFT_TAB);
    screen.wait_for("acceptEdits");
    scene.server.finish();
}
