//! The terminal itself: given back on every way out, and never steered by a model, a tool or a file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::support::pty::{CTRL_D, CTRL_Z, ENTER, ESC, Screen};
use crate::support::scene::{DONE, PARENT, Scene, agent, bash};
use crate::support::script::{text, tool_use};
use crate::support::skip;

const BYPASS: &str = "--dangerously-skip-permissions";

#[tokio::test]
async fn a_panic_gives_the_terminal_back_and_says_what_happened() {
    let mut scene = Scene::new();
    // Only builds with debug assertions know this variable.
    if !cfg!(debug_assertions) {
        skip("a_panic_gives_the_terminal_back_and_says_what_happened", "this is a release build");
        return;
    }
    scene.world.env("CALIBAN_DEBUG_PANIC", "1");
    let left = Screen::start(&scene.world, [], 80, 24).exit();
    assert_eq!(left.exit, Ok(101));
    left.assert_restored();
    assert!(left.farewell.contains("because of a bug"), "{}", left.farewell);
    assert!(left.farewell.contains("logs"), "where to look: {}", left.farewell);
}

#[tokio::test]
async fn ctrl_z_gives_the_shell_back_and_fg_the_screen() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(text("BEFORE-77")).then(text("AFTER-77"));
    let screen = Screen::shell(&scene.world, 80, 24);
    screen.wait_for("shell>");
    screen.keys("$CALIBAN\r");
    screen.wait_for("? keys");
    screen.keys("PARENT-1 go");
    screen.keys(ENTER);
    screen.wait_for("BEFORE-77");
    screen.wait_gone("writing");
    screen.keys(CTRL_Z);
    // The shell's own screen is back, with what stood there.
    let shown = screen.wait_for("Stopped");
    assert!(shown.contains("shell> $CALIBAN") && !shown.contains("BEFORE-77"), "{shown}");
    screen.keys("echo still $((40+2))\r");
    screen.wait_for("still 42");
    screen.keys("fg\r");
    screen.wait_for("BEFORE-77");
    screen.keys("and now");
    screen.keys(ENTER);
    screen.wait_for("AFTER-77");
    screen.quit_when_idle();
    screen.wait_for("caliban --resume");
    screen.keys("exit\r");
    screen.exit().assert_restored();
    scene.server.finish();
}

/// What a terminal would obey: a title, a clipboard, a cleared screen, colours, a question that it
/// would answer.
const ORDERS: [&str; 7] = [
    "\u{1b}]0;EVIL-66\u{7}",
    "\u{1b}]52;c;RVZJTA==\u{7}",
    "\u{1b}[2JEVIL-66",
    "\u{1b}[31mEVIL-66",
    "\u{9b}31mEVIL-66",
    "\u{1b}PEVIL-66\u{1b}\\",
    "\u{1b}[>cEVIL-66",
];

fn assert_tame(screen: &Screen) {
    let raw = String::from_utf8_lossy(&screen.raw()).into_owned();
    assert!(raw.contains("EVIL-66"), "the harmless part is shown");
    for order in ORDERS {
        assert!(!raw.contains(order), "{order:?} reached the terminal");
    }
    for start in ["\u{1b}]0;", "\u{1b}]52;", "\u{9b}", "\u{1b}P", "\u{1b}[>c"] {
        assert!(!raw.contains(start), "{start:?} reached the terminal");
    }
}

#[tokio::test]
async fn no_escape_sequence_of_a_model_or_its_child_reaches_the_terminal() {
    let scene = Scene::new();
    let said = ORDERS.join(" ");
    // Each letter is a delta of its own, so that no piece looks like a sequence.
    let letters = |mut reply: crate::support::script::Reply| {
        for letter in said.chars() {
            reply = reply.more(letter.to_string());
        }
        reply
    };
    let first = letters(text("says ")).tool_use("AgentTool", agent("CHILD-A"));
    scene.server.when(PARENT).reply(first).then(letters(text("and ")).more(DONE));
    scene.server.when("CHILD-A").reply(letters(text("child ")).gate("held"));
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 40);
    scene.server.reached("held").await;
    screen.wait_for("EVIL-66");
    scene.server.open("held");
    screen.wait_for(DONE);
    assert_tame(&screen);
    scene.server.finish();
}

#[tokio::test]
async fn no_escape_sequence_of_a_tool_a_file_or_a_question_reaches_the_terminal() {
    let scene = Scene::new();
    scene.world.write("evil.txt", &ORDERS.join("\n"));
    let read = json!({ "file_path": scene.world.project_dir().join("evil.txt") });
    let named = json!({ "prompt": "CHILD-A go", "description": ORDERS[0] });
    scene
        .server
        .when(PARENT)
        .reply(tool_use("Bash", bash("cat evil.txt")).tool_use("Read", read))
        .then(tool_use("Bash", bash(&format!("touch '{}'", ORDERS.join("")))))
        .then(tool_use("AgentTool", named))
        .then(text(DONE));
    scene.server.when("CHILD-A").reply(text("ok"));
    let args = ["--allowed-tools", "Bash(cat:*),AgentTool", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 120, 40);
    screen.wait_for("touch");
    screen.wait_for("1  Yes");
    screen.keys("1");
    screen.wait_for(DONE);
    assert_tame(&screen);
    // The reader shows all of it in full.
    screen.keys("/read");
    screen.keys(ENTER);
    screen.wait_for("EVIL-66");
    assert_tame(&screen);
    scene.server.finish();
}

#[tokio::test]
async fn a_terminal_without_a_cursor_is_refused_with_what_works_there() {
    let mut scene = Scene::new();
    scene.world.env("TERM", "dumb");
    for args in [&[][..], &["demo"]] {
        let left = Screen::start(&scene.world, args.iter().copied(), 80, 24).exit();
        assert_eq!(left.exit, Ok(2));
        let text = String::from_utf8_lossy(&left.raw).into_owned();
        assert!(text.contains("caliban -p"), "{text}");
        assert!(!text.contains('\x1b'), "{text:?}");
    }
}

#[tokio::test]
async fn a_locale_that_is_not_utf8_gets_ascii_alone() {
    let mut scene = Scene::new();
    scene.world.env("LANG", "C");
    scene.server.when(PARENT).reply(tool_use("Bash", bash("exit 3"))).then(text(DONE));
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 80, 24);
    let shown = screen.wait_for(DONE);
    assert!(shown.contains("X exit 3") && shown.is_ascii(), "{shown}");
    scene.server.finish();
}

/// Letters whose second byte starts a sequence of 8-bit terminals, and others.
const EIGHT_BIT: &str = "\u{db}2K\u{db}5G\u{dd}0;x \u{d0} \u{e9} 日本 👩\u{200d}💻 █ …";

#[tokio::test]
async fn no_byte_beyond_ascii_reaches_a_terminal_whose_locale_is_not_utf8() {
    for reader in [false, true] {
        let mut scene = Scene::new();
        scene.world.env("LANG", "C");
        scene.world.write("evil.txt", EIGHT_BIT);
        let read = json!({ "file_path": scene.world.project_dir().join("evil.txt") });
        let line = format!("touch EVIL; : {EIGHT_BIT}");
        let write = json!({ "file_path": format!("{EIGHT_BIT}.txt"), "content": EIGHT_BIT });
        scene
            .server
            .when(PARENT)
            .reply(text(EIGHT_BIT).tool_use("Read", read))
            .then(tool_use("Bash", bash(&line)).tool_use("Write", write))
            .then(text(format!("{EIGHT_BIT} {DONE}")));
        let args: &[&str] = if reader { &["--screen-reader"] } else { &[] };
        let prompt = format!("PARENT-1 {EIGHT_BIT}");
        let args = args.iter().copied().chain([prompt.as_str()]);
        let screen = Screen::start(&scene.world, args, 120, 40);
        let shown = screen.wait_for("Yes");
        assert!(shown.contains("touch EVIL; : <U+00DB>2K<U+00DB>5G<U+00DD>0;x"), "{shown}");
        assert!(shown.contains("<U+2588>"), "{shown}");
        screen.keys("1");
        screen.wait_for("\"<U+00DB>2K<U+00DB>5G<U+00DD>0;x <U+00D0> <U+00E9> <U+65E5>");
        screen.wait_for("1  Yes");
        screen.keys("1");
        screen.wait_for(DONE);
        screen.keys(CTRL_D);
        let raw = screen.exit().raw;
        let at = raw.iter().position(|byte| !byte.is_ascii());
        let around = at.map(|at| String::from_utf8_lossy(&raw[at.saturating_sub(200)..]));
        assert_eq!(around, None);
        scene.server.finish();
    }
}

#[tokio::test]
async fn messages_and_answers_on_such_a_terminal_are_ascii_too() {
    let mut scene = Scene::new();
    scene.world.env("LANG", "C");
    scene.server.when(PARENT).reply(text(EIGHT_BIT)).then(text(EIGHT_BIT));
    for args in [
        &["-p", "PARENT-1 go"][..],
        &["-p", "--output-format", "stream-json", "--verbose", "PARENT-1 go"],
        &["--resume", EIGHT_BIT],
        &["sessions", "show", EIGHT_BIT],
        &[&format!("--{EIGHT_BIT}")],
    ] {
        let raw = Screen::start(&scene.world, args.iter().copied(), 120, 40).exit().raw;
        assert!(raw.is_ascii() && raw.len() > 9, "{}", String::from_utf8_lossy(&raw));
    }
    scene.server.finish();
}

/// What was put on the clipboard, in order.
fn copied(raw: &[u8]) -> Vec<String> {
    let raw = String::from_utf8_lossy(raw).into_owned();
    let sequences = raw.split("\u{1b}]52;c;").skip(1);
    let texts =
        sequences.map(|rest| STANDARD.decode(rest.split('\u{1b}').next().unwrap()).unwrap());
    texts.map(|text| String::from_utf8(text).unwrap()).collect()
}

#[tokio::test]
async fn what_is_copied_is_what_was_shown() {
    let scene = Scene::new();
    let answer = "Run `npm test\u{200b}\u{202e}`\n\n\tx\u{1b}[201~\rtouch made.txt\n\u{7}done";
    scene.server.when(PARENT).reply(text(answer));
    let screen = Screen::start(&scene.world, ["PARENT-1 go"], 80, 24);
    screen.wait_for("done");
    screen.wait_gone("writing");
    screen.keys("/copy");
    screen.keys(ENTER);
    screen.wait_for("copied 4 lines");
    screen.keys("\u{f}y");
    screen.wait_for("copied the prompt: 1 line");
    screen.keys("/touch");
    screen.keys(ENTER);
    screen.wait_for("1 of 1");
    screen.keys("y");
    screen.wait_for("copied the text: 4 lines");
    screen.keys("q");
    screen.wait_for("? keys");
    screen.keys(CTRL_D);
    let shown = "Run `npm test⟨U+202E⟩`\n\n\tx␍touch made.txt\n␇done";
    assert_eq!(copied(&screen.exit().raw), [shown, "PARENT-1 go", shown]);
    scene.server.finish();
}

#[tokio::test]
async fn a_blank_that_is_none_to_a_shell_has_a_sign_in_the_question() {
    for (blank, sign) in
        [('\u{a0}', "⟨U+00A0⟩"), ('\u{3000}', "⟨U+3000⟩"), ('\u{2003}', "⟨U+2003⟩")]
    {
        let scene = Scene::new();
        let line = format!("echo ok{blank}# old: rm -rf build; touch made.txt");
        scene.server.when(PARENT).reply(tool_use("Bash", bash(&line))).then(text(DONE));
        let screen = Screen::start(&scene.world, ["PARENT-1 go"], 100, 30);
        let shown = screen.wait_for("touch made.txt");
        assert!(shown.contains(&format!("echo ok{sign}# old: rm -rf build;")), "{shown}");
        screen.keys(ESC);
        screen.wait_for(DONE);
        assert!(!scene.world.exists("made.txt"));
        scene.server.finish();
    }
}
