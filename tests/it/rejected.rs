//! Prompts that are too large or that the provider rejects: later prompts go without them.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::pty::{ENTER, Screen};
use crate::support::record::Recorded;
use crate::support::run::Finished;
use crate::support::scene::{PARENT, Scene, bash};
use crate::support::script::{Reply, error, text, tool_use};

/// A small window, so that one argument can fill it.
const SMALL: &str = "[models.small]\ncontext_window = 30_000\nmax_output = 4_000\n\
                     [models.medium]\ncontext_window = 36_000\nmax_output = 4_000\n";

fn scene() -> Scene {
    let scene = Scene::new();
    scene.world.models(SMALL);
    scene
}

async fn prompt(scene: &Scene, model: &str, text: &str) -> Finished {
    let args = ["-c", "--model", model, "--dangerously-skip-permissions", "-p", text];
    scene.world.run(args).finish().await
}

async fn first(scene: &Scene, model: &str) {
    let args = ["--model", model, "-p", "PARENT-1 remember Ann"];
    scene.world.run(args).finish().await.assert_code(0);
}

fn rejection() -> Reply {
    error(400, "invalid_request_error", "this is odd")
}

/// A prompt of about this many tokens.
fn long(tokens: usize) -> String {
    format!("PARENT-1 LONG-66 {}", "word ".repeat(tokens * 4 / 5))
}

fn transcript(scene: &Scene) -> PathBuf {
    scene.world.session().join("transcript.jsonl")
}

fn last(scene: &Scene) -> Recorded {
    scene.server.requests().pop().unwrap()
}

/// Fails unless user and assistant alternate.
fn assert_alternate(request: &Recorded) {
    let role = |message: &Value| message["role"].as_str().unwrap().to_owned();
    let roles: Vec<_> = request.messages().iter().map(role).collect();
    let expected = ["user", "assistant"].into_iter().cycle().take(roles.len());
    assert_eq!(roles, expected.collect::<Vec<_>>());
}

#[tokio::test]
async fn a_prompt_larger_than_the_window_is_refused_and_changes_nothing() {
    let scene = scene();
    scene.server.when(PARENT).reply(text("yes")).then(text("Ann"));
    first(&scene, "small").await;
    let before = std::fs::read(transcript(&scene)).unwrap();
    let refused = prompt(&scene, "small", &long(29_500)).await;
    refused.assert_code(2);
    for part in ["about 29,000 tokens", "small reads 30,000 at once", "save it to a file"] {
        assert!(refused.stderr.contains(part), "{refused}");
    }
    assert_eq!(scene.server.requests().len(), 1);
    assert_eq!(std::fs::read(transcript(&scene)).unwrap(), before);
    prompt(&scene, "small", "PARENT-1 who?").await.assert_code(0);
    assert!(last(&scene).text().contains("remember Ann") && !last(&scene).text().contains("LONG"));
    scene.server.finish();
}

#[tokio::test]
async fn the_screen_gives_a_prompt_that_is_too_large_back() {
    let scene = scene();
    scene.server.when(PARENT).reply(text("ANN-77"));
    let screen = Screen::start(&scene.world, ["--model", "small"], 110, 30);
    screen.wait_for("? keys");
    screen.paste(&long(40_000));
    screen.wait_for(" kB]");
    screen.keys(ENTER);
    screen.wait_for("This prompt takes about");
    let shown = screen.wait_for("your text is back in the prompt");
    assert!(shown.contains(" kB]"), "{shown}");
    screen.keys("\u{3}PARENT-1 who?");
    screen.wait_for("who?");
    screen.keys(ENTER);
    screen.wait_for("ANN-77");
    assert_eq!(scene.server.requests().len(), 1);
    scene.server.finish();
}

#[tokio::test]
async fn a_conversation_is_not_compacted_for_a_prompt_that_leaves_no_room_anyway() {
    let scene = scene();
    scene.server.when(PARENT).reply(text("yes")).then(text("read")).then(text("SUMMARY"));
    first(&scene, "medium").await;
    prompt(&scene, "medium", &long(26_000)).await.assert_code(0);
    assert_eq!(scene.server.requests().len(), 2, "no summary was requested");
    assert!(last(&scene).text().contains("LONG-66") && last(&scene).text().contains("Ann"));
    let file = std::fs::read_to_string(transcript(&scene)).unwrap();
    assert!(!file.contains("\"type\":\"compacted\""), "{file}");
}

#[tokio::test]
async fn a_rejected_prompt_is_not_sent_again_with_the_next_one() {
    let scene = scene();
    scene.server.when(PARENT).reply(text("yes")).then(rejection()).then(text("Ann"));
    first(&scene, "small").await;
    let failed = prompt(&scene, "small", "PARENT-1 BAD-66").await;
    failed.assert_code(1);
    assert!(failed.stderr.contains("this is odd"), "{failed}");
    prompt(&scene, "small", "PARENT-1 who?").await.assert_code(0);
    let request = last(&scene);
    assert!(request.text().contains("remember Ann") && request.text().contains("who?"));
    assert!(!request.text().contains("BAD-66"), "{}", request.text());
    assert_alternate(&request);
    let id = scene.world.session().file_name().unwrap().to_str().unwrap().to_owned();
    let shown = scene.world.run(["sessions", "show", &id]).finish().await.stdout;
    assert!(shown.contains("BAD-66"), "its record stays readable: {shown}");
    scene.server.finish();
}

#[tokio::test]
async fn a_rejected_result_leaves_its_call_with_another_one() {
    let scene = scene();
    let call = tool_use("Bash", bash("echo OUT-$((60 + 6))"));
    scene.server.when(PARENT).reply(call).then(rejection()).then(text("well"));
    let args = ["--model", "small", "--dangerously-skip-permissions", "-p", "PARENT-1 go"];
    scene.world.run(args).finish().await.assert_code(1);
    prompt(&scene, "small", "PARENT-1 and now").await.assert_code(0);
    let request = last(&scene);
    let result = request.tool_result();
    assert!(result.text.contains("was left out") && !request.text().contains("OUT-66"));
    assert_alternate(&request);
    scene.server.finish();
}

#[tokio::test]
async fn enter_does_not_send_a_rejected_prompt_again_and_another_prompt_goes_without_it() {
    let scene = scene();
    let main = scene.server.when(PARENT).reply(text("ANSWER-1")).then(rejection());
    main.then(text("ANSWER-2"));
    let args = ["--model", "small", "PARENT-1 remember Ann"];
    let screen = Screen::start(&scene.world, args, 110, 30);
    screen.wait_for("ANSWER-1");
    screen.wait_gone("writing");
    screen.keys("PARENT-1 BAD-66");
    screen.wait_for("BAD-66");
    screen.keys(ENTER);
    let shown = screen.wait_for("your next prompt goes without it");
    assert!(!shown.contains("tries again"), "{shown}");
    screen.keys(ENTER);
    screen.wait_for("the same would be rejected again · Up brings the prompt back");
    screen.keys("PARENT-1 who?");
    screen.wait_for("who?");
    screen.keys(ENTER);
    screen.wait_for("ANSWER-2");
    let request = last(&scene);
    assert!(request.text().contains("Ann") && !request.text().contains("BAD-66"));
    assert_alternate(&request);
    assert_eq!(scene.server.requests_of(PARENT).len(), 3);
    scene.server.finish();
}

#[cfg(feature = "sub-agents")]
#[tokio::test]
async fn the_rejected_task_of_a_sub_agent_is_a_report_to_its_parent() {
    use crate::support::scene::agent;

    let scene = scene();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(rejection());
    scene.run().finish().await.assert_code(0);
    let result = scene.server.requests_of(PARENT).pop().unwrap().tool_result();
    assert!(result.text.contains("this is odd"), "{}", result.text);
    let file = std::fs::read_to_string(&scene.world.child_transcripts()[0]).unwrap();
    assert!(file.contains("\"rejected\":true"), "{file}");
    scene.server.finish();
}
