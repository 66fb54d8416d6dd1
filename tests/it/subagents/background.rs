//! Work in the background: its results and failures reach the main agent once, between two steps,
//! also when it is idle.

use serde_json::{Value, json};

use crate::support::process;
use crate::support::pty::{ENTER, ESC, Screen};
use crate::support::record::{Recorded, StreamEnd};
use crate::support::run::Running;
use crate::support::scene::{DONE, PARENT, Scene, bash};
use crate::support::script::{Reply, error, text, tool_use};
use crate::support::server::Scripting;

const LIFECYCLE: &str = "[subagents]\nfaces = [\"agent\", \"lifecycle\"]\n";
const BYPASS: &str = "--dangerously-skip-permissions";
/// Room for about 30,000 tokens of conversation.
const SMALL: &str = "[models.small]\ncontext_window = 40_000\nmax_output = 4_000\n";

fn scene() -> Scene {
    let scene = Scene::new();
    scene.world.config(LIFECYCLE);
    scene
}

/// Starts these in the background, in one message.
fn spawns<const N: usize>(words: [&str; N]) -> Reply {
    let prompt = |word: &str| json!({ "prompt": format!("{word} look around") });
    words.iter().fold(Reply::stream(), |reply, word| reply.tool_use("agent_spawn", prompt(word)))
}

fn screen(scene: &Scene) -> Screen {
    Screen::start(&scene.world, [BYPASS, "--model", "small", "PARENT-1 go"], 110, 36)
}

fn send(screen: &Screen, prompt: &str) {
    screen.keys(prompt);
    screen.wait_for(prompt);
    screen.keys(ENTER);
}

/// How often a text stands in a conversation.
fn count(request: &Recorded, text: &str) -> usize {
    request.text().matches(text).count()
}

fn last_of_parent(scene: &Scene) -> Recorded {
    scene.server.requests_of(PARENT).pop().unwrap()
}

/// Waits until so many agents have ended, as the frames tell it.
async fn ended(running: &Running, agents: usize) {
    running.printed("\"task_notification\"", agents).await;
}

/// What stands in the newest message, block by block.
fn newest(request: &Recorded) -> Vec<Value> {
    request.messages().last().unwrap()["content"].as_array().unwrap().clone()
}

#[tokio::test]
async fn two_that_end_at_once_are_delivered_once_each() {
    let scene = scene();
    scene.server.when(PARENT).reply(spawns(["CHILD-A", "CHILD-B"])).forever(text(DONE));
    scene.server.when("CHILD-A").reply(text("REPORT-A").before_headers("both"));
    scene.server.when("CHILD-B").reply(text("REPORT-B").before_headers("both"));
    let running = scene.run().start();
    scene.server.reached_by("both", 2).await;
    scene.server.wait_for_of(PARENT, 2).await;
    scene.server.open("both");
    running.wait().await.assert_code(0);
    let last = last_of_parent(&scene);
    assert_eq!((count(&last, "REPORT-A"), count(&last, "REPORT-B")), (1, 1), "{}", last.text());
    scene.server.finish();
}

#[tokio::test]
async fn one_that_ends_while_its_parent_streams_waits_for_the_end_of_the_stream() {
    let scene = scene();
    let streaming = text("mid-77").gate("held");
    scene.server.when(PARENT).reply(spawns(["CHILD-A"])).then(streaming).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("REPORT-A"));
    let running = scene.run().start();
    scene.server.reached("held").await;
    ended(&running, 1).await;
    scene.server.open("held");
    running.wait().await.assert_code(0);
    let requests = scene.server.requests_of(PARENT);
    assert_eq!(requests[1].end.unwrap().0, StreamEnd::Whole);
    assert_eq!(requests.len(), 3);
    assert_eq!(count(&requests[2], "REPORT-A"), 1);
    let [.., answer, report] = requests[2].messages() else { panic!("{}", requests[2].text()) };
    assert!(answer.to_string().contains("mid-77") && report.to_string().contains("REPORT-A"));
    scene.server.finish();
}

#[tokio::test]
async fn one_that_ends_during_a_tool_call_comes_behind_its_result() {
    let scene = scene();
    let wait = "until [ -e go ]; do sleep 0.01; done; echo TOOL-77";
    let main = scene.server.when(PARENT).reply(spawns(["CHILD-A"]));
    main.then(tool_use("Bash", bash(wait))).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("REPORT-A"));
    let running = scene.run().start();
    scene.server.wait_for_of(PARENT, 2).await;
    ended(&running, 1).await;
    scene.world.write("go", "");
    running.wait().await.assert_code(0);
    let last = last_of_parent(&scene);
    assert_eq!(count(&last, "REPORT-A"), 1);
    let blocks = newest(&last);
    assert_eq!(blocks[0]["type"], "tool_result", "{blocks:?}");
    assert!(
        blocks[0].to_string().contains("TOOL-77") && blocks[1].to_string().contains("REPORT-A")
    );
    scene.server.finish();
}

#[tokio::test]
async fn an_idle_parent_wakes() {
    let scene = scene();
    scene.world.models(SMALL);
    let main = scene.server.when(PARENT).reply(spawns(["CHILD-A"]));
    main.then(text("IDLE-77")).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("REPORT-A").before_headers("held"));
    let screen = screen(&scene);
    screen.wait_for("IDLE-77");
    screen.wait_gone("writing");
    scene.server.reached("held").await;
    scene.server.open("held");
    screen.wait_for("agent 1 reports");
    screen.wait_for(DONE);
    assert_eq!(count(&last_of_parent(&scene), "REPORT-A"), 1);
    scene.server.finish();
}

#[tokio::test]
async fn one_that_ends_during_a_compaction_is_delivered_behind_the_summary() {
    let scene = scene();
    scene.world.models(SMALL);
    let main = scene.server.when(PARENT).reply(spawns(["CHILD-A"]));
    let summary = text("PARENT-1 SUMMARY-77").gate("compacting");
    main.then(text("IDLE-77").usage(30_000, 10)).then(summary).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("REPORT-A").before_headers("held"));
    let screen = screen(&scene);
    screen.wait_for("IDLE-77");
    screen.wait_gone("writing");
    send(&screen, "/compact");
    scene.server.reached("compacting").await;
    scene.server.open("held");
    screen.wait_until("the agent's end", |shown| {
        shown.lines().any(|line| line.contains("look around") && line.contains("✓"))
    });
    assert_eq!(scene.server.requests_of(PARENT).len(), 3, "nothing comes in between");
    scene.server.open("compacting");
    screen.wait_for(DONE);
    let last = last_of_parent(&scene);
    assert!(last.first_user_text().contains("SUMMARY-77"), "{}", last.text());
    assert_eq!(count(&last, "REPORT-A"), 1);
    scene.server.finish();
}

#[tokio::test]
async fn at_the_end_a_headless_run_waits_for_what_works_in_the_background() {
    let scene = scene();
    scene.server.when(PARENT).reply(spawns(["CHILD-A"])).then(text("FIRST-77")).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("REPORT-A").before_headers("held"));
    let running = scene.run().start();
    running.printed("FIRST-77", 1).await;
    scene.server.open("held");
    let run = running.wait().await;
    run.assert_code(0);
    assert_eq!(run.result()["result"], DONE);
    assert_eq!(count(&last_of_parent(&scene), "REPORT-A"), 1);
    scene.server.finish();
}

#[tokio::test]
async fn a_rejected_key_in_the_background_ends_the_parent_after_its_stream() {
    let scene = scene();
    let streaming = text("mid-77").gate("held");
    scene.server.when(PARENT).reply(spawns(["CHILD-A"])).then(streaming).then(text(DONE));
    scene.server.when("CHILD-A").reply(error(401, "authentication_error", "invalid x-api-key"));
    let running = scene.run().start();
    scene.server.reached("held").await;
    ended(&running, 1).await;
    scene.server.open("held");
    let run = running.wait().await;
    assert_eq!(run.result()["is_error"], true, "{run}");
    run.assert_code(3);
    let requests = scene.server.requests_of(PARENT);
    assert_eq!((requests.len(), requests[1].end.unwrap().0), (2, StreamEnd::Whole));
    // The transcript is one that can be gone on with, and holds the whole answer.
    scene.world.run(["-c", "-p", "go on"]).finish().await.assert_code(0);
    assert!(last_of_parent(&scene).text().contains("mid-77"));
    scene.server.finish();
}

#[tokio::test]
async fn after_a_fatal_failure_in_the_background_only_a_prompt_wakes_main() {
    let scene = scene();
    scene.world.models(SMALL);
    let main = scene.server.when(PARENT).reply(spawns(["CHILD-A", "CHILD-B"]));
    main.then(text("IDLE-77")).then(text(DONE));
    let working = tool_use("Bash", bash("true")).before_headers("first");
    let rejected = error(401, "authentication_error", "invalid x-api-key");
    scene.server.when("CHILD-A").reply(working).then(rejected);
    scene.server.when("CHILD-B").reply(text("REPORT-B").before_headers("second"));
    let screen = screen(&scene);
    screen.wait_for("IDLE-77");
    screen.wait_gone("writing");
    scene.server.open("first");
    screen.wait_for("general-purpose-1: ");
    scene.server.open("second");
    screen.wait_until("the end of the second", |shown| shown.contains("REPORT-B"));
    send(&screen, "and now?");
    screen.wait_for(DONE);
    assert_eq!(scene.server.requests_of(PARENT).len(), 3, "the report alone starts no run");
    assert_eq!(count(&last_of_parent(&scene), "REPORT-B"), 1);
    scene.server.finish();
}

#[tokio::test]
async fn the_end_of_a_background_command_is_told_once_and_wakes_main() {
    let scene = scene();
    scene.world.models(SMALL);
    let command = "until [ -e go ]; do sleep 0.01; done; exit 3";
    let start = tool_use("Bash", json!({ "command": command, "run_in_background": true }));
    let main = scene.server.when(PARENT).reply(start).then(text("IDLE-77"));
    main.then(text("TOLD-77")).then(text(DONE));
    let screen = screen(&scene);
    screen.wait_for("IDLE-77");
    screen.wait_gone("writing");
    scene.world.write("go", "");
    screen.wait_for("TOLD-77");
    screen.wait_gone("writing");
    send(&screen, "and now?");
    screen.wait_for(DONE);
    let requests = scene.server.requests_of(PARENT);
    assert_eq!(requests.len(), 4);
    let told = newest(&requests[2]).pop().unwrap()["text"].as_str().unwrap().to_owned();
    let end = "has ended: exit code 3. BashOutput shows what it printed.]";
    assert_eq!(told, format!("[bash-1 ({command}) {end}"));
    assert_eq!(count(&requests[3], end), 1);
    scene.server.finish();
}

#[tokio::test]
async fn a_command_that_the_person_kills_is_gone_and_main_is_not_woken() {
    let scene = scene();
    scene.world.models(SMALL);
    let time = process::marked_seconds(73);
    let command = format!("echo up; sleep {time}");
    let start = json!({ "command": command, "run_in_background": true });
    let main = scene.server.when(PARENT).reply(tool_use("Bash", start)).then(text("IDLE-77"));
    main.then(text(DONE));
    let screen = screen(&scene);
    screen.wait_for("IDLE-77");
    screen.wait_gone("writing");
    send(&screen, "/agents");
    screen.wait_for("x kill");
    screen.keys("x");
    screen.wait_for("bash-1  ⊘ ");
    screen.keys(ESC);
    screen.wait_gone("Esc closes");
    send(&screen, "and now?");
    screen.wait_for(DONE);
    assert_eq!(process::with_argument(&time), Vec::<u32>::new());
    let requests = scene.server.requests_of(PARENT);
    assert_eq!((requests.len(), count(&requests[2], "bash-1 (")), (3, 0));
    scene.server.finish();
}

/// A prompt on stdin.
fn user(text: &str) -> Value {
    json!({
        "type": "user", "message": { "role": "user", "content": text },
        "parent_tool_use_id": null, "session_id": "default",
    })
}

/// Main starts an agent in the background, and then has no turn left to wait for it.
fn leaves_an_agent(scene: &Scene) -> Scripting<'_> {
    scene.server.when(PARENT).reply(spawns(["CHILD-A"])).then(text("LAST-77"))
}

const TWO_TURNS: [&str; 2] = ["--max-turns", "2"];
const FRAMES_IN: [&str; 2] = ["--input-format", "stream-json"];

fn driven(scene: &Scene) -> Running {
    let run = scene.world.run(["-p", "--output-format", "stream-json", BYPASS]);
    let mut running = run.args(FRAMES_IN).args(TWO_TURNS).open_stdin().start();
    running.send(&user("PARENT-1 go"));
    running
}

/// The places of frames with this value.
fn places(frames: &[Value], field: &str, value: &str) -> Vec<usize> {
    let all = frames.iter().enumerate();
    all.filter(|(_, frame)| frame[field] == value).map(|(place, _)| place).collect()
}

#[tokio::test]
async fn a_failure_in_the_background_is_no_second_result_of_the_prompt_before() {
    let scene = scene();
    leaves_an_agent(&scene).then(text(DONE));
    let working = text("x").gate("held").tool_use("Bash", bash("true"));
    let rejected = error(401, "authentication_error", "invalid x-api-key");
    scene.server.when("CHILD-A").reply(working).then(rejected);
    let mut running = driven(&scene);
    running.printed("\"result\"", 1).await;
    scene.server.open("held");
    running.printed("\"notice\"", 1).await;
    running.send(&user("and now"));
    running.printed(DONE, 1).await;
    let run = running.close().await;
    let frames = run.frames();
    let results: Vec<_> = places(&frames, "type", "result");
    let texts: Vec<_> = results.iter().map(|place| &frames[*place]["result"]).collect();
    assert_eq!(texts, ["LAST-77", DONE], "{run}");
    let notice = &frames[places(&frames, "subtype", "notice")[0]];
    assert!(notice["text"].as_str().unwrap().contains("general-purpose-1"), "{notice}");
    scene.server.finish();
}

#[tokio::test]
async fn agents_that_are_cancelled_at_the_end_are_notified_of_before_the_result() {
    let scene = scene();
    let last = text("LAST-77").before_headers("last");
    scene.server.when(PARENT).reply(spawns(["CHILD-A"])).then(last);
    scene.server.when("CHILD-A").reply(text("PARTIAL-77").gate("work").stall());
    let running = scene.run().args(TWO_TURNS).start();
    scene.server.reached("work").await;
    scene.server.open("last");
    let run = running.wait().await;
    run.assert_code(5);
    assert_eq!(run.result()["subtype"], "error_max_turns", "{run}");
    let frames = run.frames();
    let ends = places(&frames, "subtype", "task_notification");
    assert_eq!(ends.len(), 1, "{run}");
    assert_eq!(frames[ends[0]]["status"], "stopped");
    scene.server.finish();
}

#[tokio::test]
async fn a_signal_notifies_of_agents_in_the_background_before_the_result() {
    let scene = scene();
    scene.server.when(PARENT).reply(spawns(["CHILD-A", "CHILD-B"])).then(text("x").stall());
    for word in ["CHILD-A", "CHILD-B"] {
        scene.server.when(word).reply(text("x").gate(word).stall());
    }
    let running = scene.run().start();
    scene.server.reached("CHILD-A").await;
    scene.server.reached("CHILD-B").await;
    running.signal(nix::sys::signal::Signal::SIGTERM);
    let run = running.wait().await;
    run.assert_code(143);
    assert_eq!(run.result()["error_kind"], "cancelled", "{run}");
    assert_eq!(places(&run.frames(), "subtype", "task_notification").len(), 2, "{run}");
}

#[tokio::test]
async fn when_stdin_is_closed_agents_in_the_background_are_cancelled_and_notified_of() {
    let scene = scene();
    leaves_an_agent(&scene);
    scene.server.when("CHILD-A").reply(text("PARTIAL-77").stall());
    let running = driven(&scene);
    running.printed("\"result\"", 1).await;
    scene.server.wait_for_of("CHILD-A", 1).await;
    let run = running.close().await;
    let frames = run.frames();
    assert_eq!(places(&frames, "type", "result").len(), 1, "{run}");
    let ends = places(&frames, "subtype", "task_notification");
    assert_eq!((ends.len(), &frames[ends[0]]["status"]), (1, &json!("stopped")), "{run}");
    scene.server.finish();
}
