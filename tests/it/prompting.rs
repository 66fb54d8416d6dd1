//! Talking to a session on the screen: messages that queue, slash commands, looking into a child.

use std::path::PathBuf;
use std::time::Duration;

use crate::support::pty::{ENTER, ESC, Screen, TAB, UP};
use crate::support::scene::{DONE, PARENT, Scene, agent};
use crate::support::script::{error, text};
use crate::support::world::KEY;

const BYPASS: &str = "--dangerously-skip-permissions";

fn send(screen: &Screen, prompt: &str) {
    screen.keys(prompt);
    screen.wait_for(prompt);
    screen.keys(ENTER);
}

#[tokio::test]
async fn a_message_typed_while_the_agents_work_is_read_with_their_results() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(text("TEXT-A").gate("rest"));
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 40);
    screen.wait_for("TEXT-A");
    send(&screen, "first thought");
    screen.wait_for("↳ main, ");
    // Up takes it back, changed it goes into the queue again.
    screen.keys(UP);
    screen.wait_gone("↳ main, ");
    send(&screen, ", and a second");
    screen.wait_for("↳ main, ");
    assert_eq!(scene.server.requests_of(PARENT).len(), 1);
    scene.server.open("rest");
    screen.wait_for(DONE);
    screen.wait_gone("↳ main, ");
    let request = scene.server.requests_of(PARENT).remove(1);
    assert_eq!(request.tool_results().len(), 1);
    assert!(request.text().contains("first thought, and a second"), "{}", request.text());
    scene.server.finish();
}

#[tokio::test]
async fn a_stopped_turn_puts_queued_messages_back_into_the_prompt() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(text("HALF-77").stall()).then(text(DONE));
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 100, 30);
    screen.wait_for("HALF-77");
    send(&screen, "also this");
    screen.wait_for("↳ main, ");
    screen.keys(ESC);
    screen.wait_for("back in the prompt");
    screen.wait_for("› also this");
    screen.keys(ENTER);
    screen.wait_for(DONE);
    assert!(scene.server.requests()[1].text().contains("also this"));
    scene.server.finish();
}

#[tokio::test]
async fn enter_on_a_pane_shows_the_childs_whole_live_transcript() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A"), agent("CHILD-B")]);
    let lines: String = (1..=30).map(|n| format!("line {n} of A\n\n")).collect();
    scene.server.when("CHILD-A").reply(text(lines).gate("more").more("LATER-77").gate("rest"));
    scene.server.when("CHILD-B").reply(text("TEXT-B").gate("rest"));
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 40);
    screen.wait_for("line 30 of A");
    screen.wait_for("TEXT-B");
    screen.keys(TAB);
    screen.wait_for("▸1");
    screen.keys(ENTER);
    let shown = screen.wait_until("the zoomed child", |shown| {
        shown.contains("line 20 of A") && !shown.contains("TEXT-B")
    });
    assert!(shown.contains("line 30 of A"), "{shown}");
    scene.server.open("more");
    screen.wait_for("LATER-77");
    screen.keys("\x1b[5~");
    screen.keys("\x1b[5~");
    screen.wait_for("line 1 of A");
    screen.wait_for("CHILD-A look around");
    screen.keys(ESC);
    screen.wait_for("TEXT-B");
    scene.server.open("rest");
    screen.wait_for(DONE);
    scene.server.finish();
}

#[tokio::test]
async fn slash_commands_do_what_they_say() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(text("one-77")).then(text("two-77"));
    scene.server.when("FRESH-1").reply(text("three-77"));
    let screen = Screen::start(&scene.world, ["PARENT-1 go"], 100, 36);
    screen.wait_for("one-77");
    screen.wait_gone("writing");
    for (command, shown) in [
        ("/help", "Ctrl+O"),
        ("/agents", "general-purpose"),
        ("/permissions", "acceptEdits"),
        ("/cost", "session   <$0.01"),
        ("/resume", "no other session"),
    ] {
        send(&screen, command);
        screen.wait_until(command, |now| {
            now.contains(shown) && !now.contains(&format!("› {command}"))
        });
        // The same key is deaf for a moment after it closed something.
        while !screen.written_within(Duration::from_millis(300)).is_empty() {}
        screen.keys(ESC);
        screen.wait_for("Shift+Tab mode");
    }
    send(&screen, "/model model-77");
    screen.wait_for("from the next request on");
    send(&screen, "go on");
    screen.wait_for("two-77");
    screen.wait_gone("writing");
    assert_eq!(scene.server.requests()[1].model(), "model-77");
    send(&screen, "/clear");
    screen.wait_gone("two-77");
    send(&screen, "FRESH-1 start");
    screen.wait_for("three-77");
    screen.wait_gone("writing");
    let last = scene.server.requests().pop().unwrap();
    assert_eq!(last.messages().len(), 1, "an empty session");
    assert_eq!(scene.world.sessions().len(), 2);
    send(&screen, "/quit");
    let left = screen.exit();
    assert_eq!(left.exit, Ok(0));
    left.assert_restored();
    scene.server.finish();
}

/// A screen without a model, and the pipe from which a model that is chosen gets its key.
fn choosing_a_model(scene: &mut Scene) -> (Screen, PathBuf) {
    scene.world.unset("ANTHROPIC_API_KEY");
    let key = scene.world.root().join("key");
    let line = toml::Value::String(format!("cat '{}'", key.display()));
    scene.world.providers(&format!("[providers.anthropic]\napi_key_command = {line}\n"));
    let screen = Screen::start(&scene.world, [], 100, 30);
    screen.wait_for("gave no key");
    nix::unistd::mkfifo(&key, nix::sys::stat::Mode::S_IRWXU).unwrap();
    (screen, key)
}

#[tokio::test]
async fn a_prompt_waits_for_the_model_that_was_chosen_before_it_and_the_last_choice_counts() {
    let mut scene = Scene::new();
    scene.server.when(PARENT).reply(text("one-77"));
    let (screen, key) = choosing_a_model(&mut scene);
    send(&screen, "/model model-66");
    send(&screen, "/model model-77");
    screen.wait_gone("› /model");
    send(&screen, "PARENT-1 go");
    screen.wait_for("↳ main");
    assert_eq!(scene.server.requests().len(), 0);
    std::fs::write(&key, KEY).unwrap();
    screen.wait_for("one-77");
    assert_eq!(scene.server.requests()[0].model(), "model-77");
    scene.server.finish();
}

#[tokio::test]
async fn a_prompt_that_waits_for_the_next_run_is_read_when_the_user_last_said() {
    let mut scene = Scene::new();
    scene.server.when(PARENT).reply(text("one-77")).then(text("two-77"));
    let (screen, key) = choosing_a_model(&mut scene);
    send(&screen, "/model model-77");
    screen.wait_gone("› /model");
    send(&screen, "PARENT-1 go");
    screen.wait_for("↳ main");
    send(&screen, "LATER-2");
    screen.wait_for("next step   LATER-2");
    // The same key is deaf for a moment after it sent something.
    while !screen.written_within(Duration::from_millis(400)).is_empty() {}
    screen.keys(ENTER);
    screen.wait_for("at end   LATER-2");
    std::fs::write(&key, KEY).unwrap();
    screen.wait_for("two-77");
    let bodies = scene.server.requests().into_iter().map(|request| request.body.to_string());
    let has_later: Vec<bool> = bodies.map(|body| body.contains("LATER-2")).collect();
    assert_eq!(has_later, [false, true]);
    scene.server.finish();
}

#[tokio::test]
async fn an_effort_is_chosen_for_the_next_request_and_one_that_the_model_lacks_changes_nothing() {
    let scene = Scene::new();
    let replies = scene.server.when(PARENT).reply(text("one-77")).then(text("two-77"));
    replies.then(text("three-77")).then(text("four-77"));
    let args = ["--model", "claude-sonnet-5"];
    let screen = Screen::start(&scene.world, args, 100, 36);
    screen.wait_for("? keys");
    let ask = |command: &str, says: &str, answer: &str| {
        send(&screen, command);
        screen.wait_for(says);
        send(&screen, "PARENT-1 go");
        screen.wait_for(answer);
        screen.wait_gone("writing");
        let request = scene.server.requests().pop().unwrap();
        request.body["output_config"]["effort"].clone()
    };
    assert_eq!(ask("/effort high", "effort: high, from the next request on", "one-77"), "high");
    let refusal = "has no effort huge: choose low, medium, high, xhigh, max, or default";
    assert_eq!(ask("/effort huge", refusal, "two-77"), "high");
    // A model keeps the effort that it has.
    assert_eq!(ask("/model claude-sonnet-4-6", "model: claude-sonnet-4-6", "three-77"), "high");
    let none = serde_json::Value::Null;
    assert_eq!(ask("/effort default", "effort: default", "four-77"), none);
    send(&screen, "/effort ");
    let shown = screen.wait_for("what the model does by itself");
    assert!(shown.contains("▸ default") && shown.contains("│   medium"), "{shown}");
    scene.server.finish();
}

#[tokio::test]
async fn a_stored_session_is_picked_and_gone_on_with() {
    let scene = Scene::new();
    scene.server.when("OLD-1").reply(text("old answer")).then(text("new answer"));
    scene.world.run(["-p", "OLD-1 question"]).finish().await.assert_code(0);
    let screen = Screen::start(&scene.world, ["--resume"], 100, 30);
    screen.wait_for("OLD-1 question");
    screen.keys(ENTER);
    screen.wait_for("old answer");
    send(&screen, "and now");
    screen.wait_for("new answer");
    assert_eq!(scene.server.requests()[1].messages().len(), 3);
    assert_eq!(scene.world.sessions().len(), 1);
    scene.server.finish();
}

#[tokio::test]
async fn without_a_key_or_a_server_the_screen_says_what_to_do_and_keeps_the_draft() {
    let mut scene = Scene::new();
    scene.world.unset("ANTHROPIC_API_KEY").unset("OPENAI_API_KEY");
    scene.world.unset("ANTHROPIC_BASE_URL").unset("OPENAI_BASE_URL");
    let screen = Screen::start(&scene.world, [], 100, 30);
    let shown = screen.wait_for("No model yet");
    for part in ["ANTHROPIC_API_KEY", "watch the demo"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // Whether the usual ports have a server is up to the machine; that it was looked for is said either way.
    screen.wait_until("word of a local server", |shown| {
        shown.contains("none on ports 11434") || shown.contains("   found ")
    });
    send(&screen, "hello there");
    screen.wait_for("your text stays here");
    screen.wait_for("› hello there");
    scene.server.finish();
}

#[tokio::test]
async fn without_a_key_enter_starts_the_demo_and_the_terminal_comes_back() {
    let mut scene = Scene::new();
    scene.world.unset("ANTHROPIC_API_KEY").unset("OPENAI_API_KEY");
    scene.world.unset("ANTHROPIC_BASE_URL").unset("OPENAI_BASE_URL");
    let screen = Screen::start(&scene.world, [], 100, 30);
    screen.wait_for("Enter starts it");
    screen.keys(ENTER);
    screen.wait_for("Ten teas should get the bulk discount");
    screen.wait_for("3 agents");
    // Twice, since agents are working.
    screen.keys("\u{4}");
    screen.wait_for("again stops them and quits");
    screen.keys("\u{4}");
    let left = screen.exit();
    assert_eq!(left.exit, Ok(0));
    left.assert_restored();
    scene.server.finish();
}

#[tokio::test]
async fn a_command_of_ones_own_runs_without_the_model() {
    let scene = Scene::new();
    let screen = Screen::start(&scene.world, [], 100, 30);
    screen.wait_for("? keys");
    send(&screen, "!echo SHELL-$((70+7)) > made.txt; cat made.txt");
    screen.wait_for("SHELL-77");
    assert_eq!(scene.world.read("made.txt"), "SHELL-77\n");
    assert_eq!(scene.server.requests().len(), 0);
    scene.server.finish();
}

/// A command of the user that waits until its file is written, then a prompt.
fn prompt_behind_a_command(scene: &Scene) -> Screen {
    let screen = Screen::start(&scene.world, [], 100, 30);
    screen.wait_for("? keys");
    send(&screen, "!mkfifo go.txt; cat go.txt; echo OUT-$((70+7))");
    screen.wait_for("kills the command");
    send(&screen, "PARENT-1 go");
    screen.wait_for("main waits for the command   PARENT-1 go");
    screen
}

#[tokio::test]
async fn a_prompt_waits_for_the_users_own_command_and_takes_its_output_along() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(text("one"));
    let screen = prompt_behind_a_command(&scene);
    assert_eq!(scene.server.requests().len(), 0);
    scene.world.write("go.txt", "");
    screen.wait_for("one");
    screen.wait_gone("waits for the command");
    let request = scene.server.requests()[0].body.to_string();
    assert!(request.contains("OUT-77") && request.contains("PARENT-1 go"), "{request}");
    scene.server.finish();
}

#[tokio::test]
async fn a_command_that_outlasts_its_session_is_not_told_to_the_model_of_the_next() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(text("one-77"));
    scene.server.when("PARENT-2").reply(text("two-77"));
    let screen = Screen::start(&scene.world, ["PARENT-1 go"], 100, 30);
    screen.wait_for("one-77");
    screen.wait_gone("writing");
    send(&screen, "!mkfifo go.txt; echo WAITS-$((60+6)); cat go.txt; echo OUT-$((70+7))");
    screen.wait_for("WAITS-66");
    send(&screen, "/clear");
    screen.wait_gone("one-77");
    scene.world.write("go.txt", "");
    screen.wait_for("OUT-77");
    send(&screen, "PARENT-2 go");
    screen.wait_for("two-77");
    let request = scene.server.requests()[1].body.to_string();
    assert!(request.contains("PARENT-2") && !request.contains("OUT-77"), "{request}");
    scene.server.finish();
}

#[tokio::test]
async fn a_prompt_that_waits_for_a_command_can_be_taken_back_and_comes_back_when_that_is_killed() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(text("one"));
    let screen = prompt_behind_a_command(&scene);
    screen.keys(UP);
    screen.wait_for("› PARENT-1 go");
    screen.wait_gone("waits for the command");
    screen.keys(ENTER);
    screen.wait_for("main waits for the command");
    screen.keys(ESC);
    screen.wait_gone("main waits for the command");
    screen.wait_for("› PARENT-1 go");
    screen.keys(ENTER);
    screen.wait_for("one");
    let request = scene.server.requests()[0].body.to_string();
    assert!(request.contains("[The user ran `mkfifo go.txt"), "{request}");
    scene.server.finish();
}

#[tokio::test]
async fn the_draft_can_be_written_in_the_editor_and_prompts_are_remembered() {
    let mut scene = Scene::new();
    let editor = scene.world.settings_dir().join("editor.sh");
    std::fs::write(&editor, "#!/bin/sh\nprintf ' and EDITED-77' >> \"$1\"\n").unwrap();
    scene.world.env("EDITOR", &format!("sh {}", editor.display()));
    scene.server.when(PARENT).reply(text("one")).then(text("two"));
    let screen = Screen::start(&scene.world, [], 100, 30);
    screen.wait_for("? keys");
    screen.keys("PARENT-1 go");
    screen.wait_for("› PARENT-1 go");
    screen.keys("\x07");
    screen.wait_for("EDITED-77");
    screen.keys(ENTER);
    screen.wait_for("one");
    screen.wait_gone("writing");
    let prompt = scene.server.requests()[0].first_user_text();
    assert!(prompt.contains("PARENT-1 go") && prompt.contains("and EDITED-77"), "{prompt}");
    screen.keys("\x04");
    screen.exit().assert_restored();
    // The next start knows it still.
    let screen = Screen::start(&scene.world, [], 100, 30);
    screen.wait_for("? keys");
    screen.keys(UP);
    screen.wait_for("EDITED-77");
    screen.keys(ENTER);
    screen.wait_for("two");
    scene.server.finish();
}

#[tokio::test]
async fn enter_after_a_failure_asks_again_and_sends_the_prompt_once() {
    let scene = Scene::new();
    scene.world.config("[providers.anthropic]\nmax_retries = 0\n");
    let failure = error(500, "api_error", "the moon is full");
    scene.server.when(PARENT).reply(failure).then(text(DONE));
    let screen = Screen::start(&scene.world, ["PARENT-1 go"], 100, 30);
    screen.wait_for("the moon is full");
    screen.keys(ENTER);
    screen.wait_for(DONE);
    let request = scene.server.requests_of(PARENT).remove(1);
    assert_eq!(request.text().matches("PARENT-1 go").count(), 1, "{}", request.text());
    scene.server.finish();
}
