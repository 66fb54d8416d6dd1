//! Hooks that fail, hang, flood, fork: one line each, and nothing else suffers.

use std::time::Duration;

use serde_json::json;

use super::hooks;
use crate::support::process;
use crate::support::pty::{ENTER, ESC, Screen};
use crate::support::run::Finished;
use crate::support::scene::{DONE, PARENT, Scene, bash};
use crate::support::script::{text, tool_use};

/// The lines for the person.
pub fn notices(run: &Finished) -> Vec<String> {
    let frames = run.frames().into_iter().filter(|frame| frame["subtype"] == "notice");
    frames.map(|frame| frame["text"].as_str().unwrap_or_default().to_owned()).collect()
}

/// A settings file with one hook before each call of Bash, which has half a second.
fn one(scene: &Scene, command: &str) {
    let hook = json!({ "type": "command", "command": command, "timeout": 0.5 });
    let groups = json!([{ "matcher": "Bash", "hooks": [hook] }]);
    scene
        .world
        .home(".claude/settings.json", &json!({ "hooks": { "PreToolUse": groups } }).to_string());
    scene.world.trust();
}

#[tokio::test]
async fn whatever_a_hook_does_is_one_line_and_the_call_runs_unless_it_may_be_denied() {
    let hang = "trap '' TERM; (trap '' TERM; exec -a hook-leftover sleep 300) & sleep 300";
    let rows = [
        ("echo oops >&2; exit 1", "exit 1: oops"),
        (hang, "timed out after 0.5 s; killed with all its processes"),
        (
            "head -c 3000000 /dev/zero | tr '\\0' x >&2",
            "too much output: only 256 KiB of its stderr were read",
        ),
    ];
    // It may be a denial.
    let guards = [
        ("echo '{\"decision\": \"maybe\"}'", "invalid answer: decision: unknown variant"),
        ("head -c 3000000 /dev/zero | tr '\\0' x", "its answer is too long to be read"),
        ("no-such-program", "no-such-program: command not found; install the program"),
        ("/etc/passwd", "Permission denied; make the program executable"),
    ];
    let rows = rows.map(|row| (row, true)).into_iter().chain(guards.map(|row| (row, false)));
    for ((command, expected), runs) in rows {
        let scene = Scene::new();
        one(&scene, command);
        scene.server.when(PARENT).reply(tool_use("Bash", bash("touch made"))).then(text(DONE));
        let run = scene.go().await;
        assert_eq!(scene.world.exists("made"), runs, "{command}");
        let lines = notices(&run);
        assert_eq!(lines.len(), 1, "{command}: {lines:?}");
        let start = "hook PreToolUse(Bash): ";
        assert!(lines[0].starts_with(start) && lines[0].contains(expected), "{lines:?}");
        assert!(run.took < Duration::from_secs(15), "{command}: {:?}", run.took);
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_mistake_in_a_settings_file_names_the_file_and_the_line() {
    let scene = Scene::new();
    scene
        .world
        .home(".claude/settings.json", "{\n\"hooks\": {\"Stop\": [\n{\"matcher\": \"x\"}]}}");
    let run = scene.run().finish().await;
    run.assert_code(2);
    let part = ".claude/settings.json:3: an entry of `hooks.Stop` needs a `hooks` list";
    assert!(run.stderr.contains(part), "{run}");
    assert_eq!(scene.server.requests().len(), 0);
    scene.server.finish();
}

#[tokio::test]
async fn a_hook_that_hangs_holds_up_its_call_and_not_the_screen() {
    let scene = Scene::new();
    hooks(&scene, &[("PreToolUse", "Bash", "touch hanging; sleep 1000")]);
    scene.server.when(PARENT).reply(tool_use("Bash", bash("touch made")));
    let screen = Screen::start(&scene.world, ["--dangerously-skip-permissions"], 100, 24);
    screen.wait_for("? keys");
    screen.keys("PARENT-1 go");
    screen.keys(ENTER);
    let hanging = || scene.world.exists("hanging");
    screen.wait_until("the hook runs", |_| hanging());
    screen.keys("typed meanwhile");
    screen.wait_for("typed meanwhile");
    screen.keys("\x15");
    screen.wait_gone("typed meanwhile");
    screen.keys("\x1b");
    screen.wait_for("stopped");
    assert!(!scene.world.exists("made"));
}

#[tokio::test]
async fn a_prompt_that_waits_for_its_hooks_is_shown_and_stays_before_what_is_sent_later() {
    let scene = Scene::new();
    hooks(&scene, &[("UserPromptSubmit", "", "until [ -e go ]; do sleep 0.01; done")]);
    scene.server.when(PARENT).reply(text("ANSWER-1"));
    let screen = Screen::start(&scene.world, ["--dangerously-skip-permissions"], 100, 24);
    screen.wait_for("? keys");
    screen.keys("PARENT-1 first");
    screen.keys(ENTER);
    let shown = screen.wait_for("running UserPromptSubmit hooks 0:0");
    assert!(shown.contains("↳ main once that is done   PARENT-1 first"), "{shown}");
    assert!(shown.contains("Esc stops"), "{shown}");
    screen.keys("and second");
    screen.keys(ENTER);
    screen.wait_for("↳ main, next step   and second");
    scene.world.write("go", "");
    screen.wait_for("ANSWER-1");
    let asked = scene.server.requests().remove(0).text();
    let place = |part: &str| asked.find(part).unwrap_or_else(|| panic!("{part}: {asked}"));
    assert!(place("PARENT-1 first") < place("and second"), "{asked}");
    scene.server.finish();
}

#[tokio::test]
async fn a_prompt_that_waits_for_its_hooks_can_be_stopped() {
    let scene = Scene::new();
    let time = process::marked_seconds(1000);
    hooks(&scene, &[("UserPromptSubmit", "", &format!("sleep {time}"))]);
    let screen = Screen::start(&scene.world, ["--dangerously-skip-permissions"], 100, 24);
    screen.wait_for("? keys");
    screen.keys("PARENT-1 go");
    screen.keys(ENTER);
    screen.wait_for("running UserPromptSubmit hooks");
    screen.keys("sent later");
    screen.keys(ENTER);
    screen.wait_for("↳ main, next step   sent later");
    screen.keys(ESC);
    screen.wait_for("stopped after");
    screen.wait_gone("waits for hooks");
    let shown = screen.wait_for("› sent later");
    assert!(shown.contains("› PARENT-1 go"), "{shown}");
    screen.wait_for("1 queued message is back in the prompt");
    assert_eq!(process::left_after(Duration::from_secs(3), &time).await, [0; 0]);
    assert_eq!(scene.server.requests().len(), 0);
    scene.server.finish();
}

#[tokio::test]
async fn a_hook_that_fails_is_one_line_on_the_screen() {
    let scene = Scene::new();
    hooks(&scene, &[("PreToolUse", "Bash", "printf 'first\\nsecond\\033[31m\\n' >&2; exit 1")]);
    scene.server.when(PARENT).reply(tool_use("Bash", bash("echo hi"))).then(text("ANSWER-1"));
    let screen = Screen::start(&scene.world, ["--dangerously-skip-permissions"], 120, 24);
    screen.wait_for("? keys");
    screen.keys("PARENT-1 go");
    screen.keys(ENTER);
    let shown = screen.wait_for("ANSWER-1");
    let told: Vec<&str> = shown.lines().filter(|line| line.contains("exit 1: first")).collect();
    assert_eq!(told.len(), 1, "{shown}");
    assert!(!shown.lines().any(|line| line.trim() == "second"), "{shown}");
}

#[tokio::test]
async fn hooks_that_are_not_run_here_are_named_once_with_their_file_and_what_would_run() {
    let scene = Scene::new();
    let hook = |kind: &str| json!({ "type": kind, "prompt": "p", "url": "u", "command": "c" });
    let only_if = json!({ "type": "command", "command": "touch made", "if": "Bash(git:*)" });
    let [prompt, http, agent] = ["prompt", "http", "agent"].map(hook);
    let settings = json!({ "hooks": {
        "PreToolUse": [{ "hooks": [prompt, http, agent, only_if] }],
        "PermissionDenied": [{ "hooks": [hook("command")] }],
    } });
    scene.world.home(".claude/settings.json", &settings.to_string());
    let calls = tool_use("Bash", bash("true"));
    scene.server.when(PARENT).reply(calls.clone()).then(calls).then(text(DONE));
    let run = scene.go().await;
    let lines = notices(&run);
    let [line] = &lines[..] else { panic!("one line: {lines:?}") };
    assert!(line.contains(".claude/settings.json: hooks skipped: "), "{line}");
    for named in [
        "a PreToolUse hook of type prompt (line 1)",
        "a PreToolUse hook of type http (line 1)",
        "a PreToolUse hook of type agent (line 1)",
        "a PreToolUse hook with `if` (line 1)",
        "PermissionDenied (line 1)",
        "supported are hooks of type command, without `if`, for PreToolUse, PostToolUse, ",
    ] {
        assert!(line.contains(named), "{named}\n{line}");
    }
    assert!(!scene.world.exists("made"));
    scene.server.finish();
}
