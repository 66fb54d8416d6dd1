//! Around a session: its beginning and end, the prompts, summaries, and what the person is called for.

use serde_json::{Value, json};

use super::{decide, hooks, lines, say, told};
use crate::support::pty::{ENTER, Screen};
use crate::support::scene::{DONE, PARENT, Scene, bash};
use crate::support::script::{text, tool_use};

const WRITE: &str = "cat >>told";

fn field(told: &[Value], name: &str) -> Vec<String> {
    told.iter().map(|told| told[name].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn a_session_begins_and_ends_and_the_model_reads_what_hooks_print() {
    let scene = Scene::new();
    let start = format!("{WRITE}; echo CONTEXT-1");
    let json = decide("SessionStart", json!({ "additionalContext": "CONTEXT-2" }));
    hooks(
        &scene,
        &[("SessionStart", "", &start), ("SessionStart", "", &json), ("SessionEnd", "", WRITE)],
    );
    scene.server.when(PARENT).reply(text(DONE)).then(text(DONE));
    scene.go().await;
    let first = scene.server.requests_of(PARENT)[0].first_user_text();
    for part in ["CONTEXT-1", "CONTEXT-2", "PARENT-1 go"] {
        assert!(first.contains(part), "{first}");
    }
    let args = ["-c", "-p", "PARENT-1 more", "--dangerously-skip-permissions"];
    scene.world.run(args).finish().await.assert_code(0);
    let told = told(&scene, "told");
    assert_eq!(
        field(&told, "hook_event_name"),
        ["SessionStart", "SessionEnd", "SessionStart", "SessionEnd"]
    );
    assert_eq!(field(&told, "source"), ["startup", "", "resume", ""]);
    assert_eq!(field(&told, "reason"), ["", "other", "", "other"]);
    scene.server.finish();
}

#[tokio::test]
async fn what_hooks_add_is_told_apart_from_what_was_typed_in_lists_and_on_resume() {
    let scene = Scene::new();
    let events =
        [("SessionStart", "", "echo CONTEXT-1"), ("UserPromptSubmit", "", "echo CONTEXT-2")];
    hooks(&scene, &events);
    scene.server.when(PARENT).reply(text(DONE));
    scene.go().await;
    let list = scene.world.run(["sessions"]).finish().await;
    assert!(list.stdout.contains("PARENT-1 go") && !list.stdout.contains("CONTEXT"), "{list}");
    let id = list.stdout.lines().nth(1).and_then(|line| line.split(' ').next()).unwrap();
    let shown = scene.world.run(["sessions", "show", id]).finish().await;
    let parts = "› PARENT-1 go\n\n[note to the model: CONTEXT-1\n\nCONTEXT-2]\n";
    assert!(shown.stdout.contains(parts), "{shown}");
    let screen = Screen::start(&scene.world, ["-c"], 80, 24);
    screen.wait_for("› PARENT-1 go");
    // As before: what only the model reads is not on the screen.
    let shown = screen.wait_for(DONE);
    assert!(!shown.contains("CONTEXT"), "{shown}");
    screen.quit_when_idle();
    screen.exit();
    scene.server.finish();
}

#[tokio::test]
async fn a_prompt_gets_what_hooks_add_or_is_refused_with_their_reason() {
    let json = decide("UserPromptSubmit", json!({ "additionalContext": "CONTEXT-1" }));
    for command in ["cat >told; echo CONTEXT-1", &json] {
        let scene = Scene::new();
        hooks(&scene, &[("UserPromptSubmit", "ignored", command)]);
        scene.server.when(PARENT).reply(text(DONE));
        scene.go().await;
        let first = scene.server.requests_of(PARENT)[0].first_user_text();
        assert!(first.contains("CONTEXT-1") && first.contains("PARENT-1 go"), "{first}");
        if scene.world.exists("told") {
            assert_eq!(told(&scene, "told")[0]["prompt"], "PARENT-1 go");
        }
        scene.server.finish();
    }
    let block = say(&json!({ "decision": "block", "reason": "no secrets please" }));
    for command in ["echo 'no secrets please' >&2; exit 2", &block] {
        let scene = Scene::new();
        hooks(&scene, &[("UserPromptSubmit", "", command)]);
        let run = scene.run().finish().await;
        run.assert_code(2);
        assert!(run.stderr.contains("a hook rejected this prompt: no secrets please"), "{run}");
        let plain = scene.world.run(["-p", "PARENT-1 go"]).finish().await;
        plain.assert_code(2);
        assert_eq!(plain.stdout, "");
        assert!(plain.stderr.contains("a hook rejected this prompt: no secrets please"), "{plain}");
        assert_eq!(scene.server.requests().len(), 0);
        scene.server.finish();
    }
}

#[tokio::test]
async fn on_the_screen_a_refused_prompt_comes_back_and_the_session_tells_its_ends() {
    let scene = Scene::new();
    let guard = "grep -q secret && { echo 'no secrets' >&2; exit 2; }; exit 0";
    let ends = [("SessionStart", "", WRITE), ("SessionEnd", "", WRITE)];
    hooks(&scene, &[("UserPromptSubmit", "", guard), ends[0], ends[1]]);
    scene.server.when(PARENT).reply(text("ANSWER-1"));
    let screen = Screen::start(&scene.world, [], 80, 24);
    screen.wait_for("? keys");
    screen.keys("PARENT-1 secret");
    screen.keys(ENTER);
    screen.wait_for("a hook rejected this prompt: no secrets");
    screen.wait_until("the text is back", |shown| shown.contains("› PARENT-1 secret"));
    screen.wait_for("Refused · your text is back in the prompt");
    screen.keys("\x15PARENT-1 fine");
    screen.keys(ENTER);
    screen.wait_for("ANSWER-1");
    screen.wait_gone("writing");
    screen.keys("/clear");
    screen.keys(ENTER);
    screen.wait_gone("ANSWER-1");
    screen.quit_when_idle();
    screen.exit();
    let told = told(&scene, "told");
    assert_eq!(field(&told, "source"), ["startup", "", "clear", ""]);
    assert_eq!(field(&told, "reason"), ["", "clear", "", "prompt_input_exit"]);
    let ids = field(&told, "session_id");
    assert!(ids[0] == ids[1] && ids[2] == ids[3] && ids[0] != ids[2], "{ids:?}");
    scene.server.finish();
}

#[tokio::test]
async fn what_goes_with_a_prompt_that_a_hook_rejects_goes_with_the_next() {
    let scene = Scene::new();
    scene.world.write("AGENTS.md", "RULE-OLD\n");
    let guard = "grep -q secret && { echo 'no secrets' >&2; exit 2; }; exit 0";
    hooks(&scene, &[("UserPromptSubmit", "", guard)]);
    let answers = scene.server.when(PARENT).reply(text("ANSWER-1"));
    answers.then(text("ANSWER-2")).then(text("ANSWER-3"));
    let screen = Screen::start(&scene.world, ["PARENT-1 go"], 80, 24);
    screen.wait_for("ANSWER-1");
    screen.wait_gone("writing");
    screen.keys(&format!("!echo OUT-$((70+7)){ENTER}"));
    screen.wait_for("OUT-77");
    scene.world.write("AGENTS.md", "RULE-NEWER\n");
    screen.keys(&format!("a secret{ENTER}"));
    screen.wait_for("a hook rejected this prompt: no secrets");
    screen.wait_until("the text is back", |shown| shown.contains("› a secret"));
    assert_eq!(scene.server.requests().len(), 1);
    screen.keys(&format!("\x15go on{ENTER}"));
    screen.wait_for("ANSWER-2");
    screen.wait_gone("writing");
    screen.keys(&format!("and on{ENTER}"));
    screen.wait_for("ANSWER-3");
    let requests = scene.server.requests_of(PARENT);
    let last = |at: usize| requests[at].messages().last().unwrap().to_string();
    for part in ["OUT-77", "RULE-NEWER"] {
        assert!(last(1).contains(part), "{part}: {}", last(1));
        assert!(!last(2).contains(part), "it is told once: {}", last(2));
    }
    scene.server.finish();
}

#[tokio::test]
async fn notifications_say_that_a_question_waits_and_that_the_work_is_done() {
    let scene = Scene::new();
    hooks(&scene, &[("Notification", "", WRITE), ("Notification", "idle_prompt", "touch idle")]);
    scene.server.when(PARENT).reply(tool_use("Bash", bash("touch made"))).then(text("ANSWER-1"));
    let screen = Screen::start(&scene.world, [], 80, 24);
    screen.wait_for("? keys");
    screen.keys("PARENT-1 go");
    screen.keys(ENTER);
    screen.wait_for("1  Yes");
    screen.keys("1");
    screen.wait_for("ANSWER-1");
    screen.quit_when_idle();
    screen.exit();
    let told = told(&scene, "told");
    assert_eq!(field(&told, "notification_type"), ["permission_prompt", "idle_prompt"]);
    assert_eq!(told[0]["message"], "caliban needs your permission to use Bash");
    assert!(scene.world.exists("made") && scene.world.exists("idle"));
    scene.server.finish();
}

#[tokio::test]
async fn a_summary_is_told_before_it_is_made_and_can_be_forbidden() {
    let scene = Scene::new();
    let guard =
        format!("{WRITE}; grep -q 'keep all' told && {{ echo 'not now' >&2; exit 2; }}; exit 0");
    hooks(&scene, &[("PreCompact", "manual", &guard), ("PreCompact", "auto", "touch wrong")]);
    scene.server.when(PARENT).reply(text("ANSWER-1").usage(50_000, 10)).then(text("SUMMARY-1"));
    let screen = Screen::start(&scene.world, [], 100, 24);
    screen.wait_for("? keys");
    screen.keys("PARENT-1 go");
    screen.keys(ENTER);
    screen.wait_for("ANSWER-1");
    screen.wait_gone("writing");
    screen.keys("/compact keep all");
    screen.keys(ENTER);
    screen.wait_for("blocked by a hook: not now");
    assert_eq!(scene.server.requests_of(PARENT).len(), 1);
    let told = told(&scene, "told");
    assert_eq!(
        (&told[0]["trigger"], &told[0]["custom_instructions"]),
        (&json!("manual"), &json!("keep all"))
    );
    assert!(!scene.world.exists("wrong"));
    assert_eq!(lines(&scene, "told").len(), 1);
    drop(screen);
}
