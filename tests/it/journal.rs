//! Sessions that are resumed after a kill or an exit: their results, ends, money and thoughts are
//! still there.

mod money;
mod paths;
mod power;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::support::process::Fifo;
use crate::support::record::{Recorded, Wire};
use crate::support::run::{Finished, Running};
use crate::support::scene::{DONE, PARENT, Scene, agent, bash, calls};
use crate::support::script::{Reply, Step, Stream, error, text, thinking, tool_use};

const BYPASS: &str = "--dangerously-skip-permissions";
const LIFECYCLE: &str = "[subagents]\nfaces = [\"agent\", \"lifecycle\"]\n";

async fn kill(running: Running) {
    running.signal(Signal::SIGKILL);
    assert_eq!(running.wait().await.code, None);
}

/// Resumes the session with one more prompt; main's last request, and how the run ended.
async fn resume(scene: &Scene) -> (Recorded, Finished) {
    let run = scene.world.run(["-c", "-p", "go on", BYPASS]).finish().await;
    run.assert_code(0);
    (scene.server.requests_of(PARENT).pop().unwrap(), run)
}

fn spawn() -> Reply {
    tool_use("agent_spawn", json!({ "prompt": "CHILD-A look around" }))
}

#[tokio::test]
async fn a_report_that_waited_for_main_when_the_program_was_killed_is_read_once_after_a_resume() {
    let scene = Scene::new();
    scene.world.config(LIFECYCLE);
    let held = text("x").before_headers("held");
    scene.server.when(PARENT).reply(spawn()).then(held).forever(text(DONE));
    scene.server.when("CHILD-A").reply(text("REPORT-66"));
    let running = scene.run().start();
    scene.server.reached("held").await;
    running.printed("\"task_notification\"", 1).await;
    kill(running).await;
    let (request, _) = resume(&scene).await;
    assert_eq!(request.text().matches("REPORT-66").count(), 1, "{}", request.text());
    assert!(request.text().contains("has ended: done. Its report:"));
    let (request, _) = resume(&scene).await;
    assert_eq!(request.text().matches("REPORT-66").count(), 1, "not once more");
    scene.server.finish();
}

#[tokio::test]
async fn a_fork_hears_of_the_agents_that_main_was_waiting_for() {
    for (reply, end) in [
        (text("REPORT-66"), "has ended: done. Its report:"),
        (text("REPORT-66").before_headers("child"), "has ended: interrupted"),
    ] {
        let scene = Scene::new();
        scene.world.config(LIFECYCLE);
        let held = text("x").before_headers("held");
        scene.server.when(PARENT).reply(spawn()).then(held).forever(text(DONE));
        scene.server.when("CHILD-A").reply(reply);
        let running = scene.run().start();
        scene.server.reached("held").await;
        match end.contains("done") {
            true => running.printed("\"task_notification\"", 1).await,
            false => scene.server.reached("child").await,
        }
        kill(running).await;
        let args = ["-c", "--fork-session", "-p", "go on", BYPASS];
        scene.world.run(args).finish().await.assert_code(0);
        let told = |request: &Recorded| request.text().matches(end).count();
        let request = scene.server.requests_of(PARENT).pop().unwrap();
        assert_eq!(told(&request), 1, "{}", request.text());
        assert_eq!(request.text().contains("REPORT-66"), end.contains("done"));
        let (request, _) = resume(&scene).await;
        assert_eq!(told(&request), 1, "not once more: {}", request.text());
    }
}

#[tokio::test]
async fn main_reads_after_a_resume_that_a_background_agent_was_stopped_with_the_program() {
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let scene = Scene::new();
        scene.world.config(LIFECYCLE);
        let held = text("x").before_headers("held");
        scene.server.when(PARENT).reply(spawn()).then(held).forever(text(DONE));
        scene.server.when("CHILD-A").reply(text("half-66").gate("working"));
        let running = scene.run().start();
        scene.server.reached("held").await;
        scene.server.reached("working").await;
        running.signal(signal);
        running.wait().await;
        let how = if signal == Signal::SIGTERM { "cancelled" } else { "interrupted" };
        let told = format!("has ended: {how}, partial.");
        let (request, _) = resume(&scene).await;
        assert_eq!(request.text().matches(&told).count(), 1, "{}", request.text());
        let (request, _) = resume(&scene).await;
        assert_eq!(request.text().matches(&told).count(), 1, "not once more");
        scene.server.finish();
    }
}

/// Resumes the session of a run in which main has read of an agent's end, and checks that it does
/// not read it again.
async fn read_in_the_run(scene: Scene, run: Finished, code: i32, told: &str) {
    run.assert_code(code);
    let before = scene.server.requests().len();
    let (request, _) = resume(&scene).await;
    assert_eq!(request.text().matches(told).count(), 1, "{}", request.text());
    assert!(!request.text().contains("Its report:"), "{}", request.text());
    assert_eq!(scene.server.requests().len(), before + 1);
    scene.server.finish();
}

#[tokio::test]
async fn an_end_that_a_call_has_told_is_not_told_again_after_a_resume() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when(PARENT).reply(text(DONE));
    scene.server.when("CHILD-A").reply(text("REPORT-66"));
    let run = scene.run().finish().await;
    read_in_the_run(scene, run, 0, "REPORT-66").await;

    let scene = Scene::new();
    scene.world.config(LIFECYCLE);
    let wait = crate::support::script::dynamic(|request| {
        let started: Value = serde_json::from_str(&request.tool_result().text).unwrap();
        tool_use("agent_wait", json!({ "agent_id": started["agent_id"] }))
    });
    scene.server.when(PARENT).reply(spawn()).then(wait).then(text(DONE)).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("REPORT-66").gate("held"));
    let running = scene.run().start();
    running.printed("\"name\":\"agent_wait\"", 1).await;
    scene.server.open("held");
    let run = running.wait().await;
    read_in_the_run(scene, run, 0, "REPORT-66").await;

    // A rejected key ends main's run as well.
    let scene = Scene::new();
    scene.server.when(PARENT).reply(calls([agent("CHILD-A")])).then(text(DONE));
    scene.server.when("CHILD-A").reply(error(401, "authentication_error", "no-66"));
    let run = scene.run().finish().await;
    read_in_the_run(scene, run, 3, "general-purpose-1: ").await;
}

/// A session that is killed when the first of two sub-agents has ended and the second is at work.
async fn killed_between_siblings() -> Scene {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(calls([agent("CHILD-A"), agent("CHILD-B")])).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("REPORT-66"));
    scene.server.when("CHILD-B").reply(text("half").gate("held"));
    let running = scene.run().start();
    scene.server.reached("held").await;
    running.printed("\"tool_use_result\"", 1).await;
    kill(running).await;
    scene
}

#[tokio::test]
async fn finished_siblings_keep_their_results_when_the_program_is_killed() {
    let scene = killed_between_siblings().await;
    let (request, _) = resume(&scene).await;
    let results = request.tool_results();
    assert_eq!((results[0].text.as_str(), results[0].is_error), ("REPORT-66", false));
    assert!(results[1].is_error && results[1].text.contains("interrupted"), "{results:?}");
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 1);
    assert!(!request.text().contains("Its report:"), "no end is reported twice");
    scene.server.finish();
}

#[tokio::test]
async fn a_sub_agents_own_end_is_its_result_where_main_was_killed_before_it_could_write_that() {
    let scene = killed_between_siblings().await;
    // Killed a moment earlier, main's file would lack this line.
    let path = scene.world.session().join("transcript.jsonl");
    let stored = std::fs::read_to_string(&path).unwrap();
    let kept: String = stored
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("{\"type\":\"result\""))
        .collect();
    std::fs::write(&path, kept).unwrap();
    let (request, _) = resume(&scene).await;
    let results = request.tool_results();
    assert_eq!((results[0].text.as_str(), results[0].is_error), ("REPORT-66", false));
    assert!(results[1].is_error && results[1].text.contains("interrupted"), "{results:?}");
    scene.server.finish();
}

#[tokio::test]
async fn results_of_ordinary_tools_are_kept_as_they_come() {
    let scene = Scene::new();
    let reply = tool_use("Bash", bash("echo OUT-66"))
        .tool_use("Bash", bash("echo go > started.fifo; sleep 8.3731"));
    scene.server.when(PARENT).reply(reply).then(text(DONE));
    let started = Fifo::new(&scene.world.project_dir().join("started.fifo"));
    let running = scene.run().start();
    started.opened().await;
    running.printed("\"tool_use_result\"", 1).await;
    kill(running).await;
    let (request, _) = resume(&scene).await;
    let results = request.tool_results();
    assert_eq!(results.len(), 2, "{results:?}");
    assert!(results[0].text.contains("OUT-66") && !results[0].is_error, "{results:?}");
    assert!(results[1].is_error && results[1].text.contains("interrupted"), "{results:?}");
    scene.server.finish();
}

#[tokio::test]
async fn the_last_result_is_kept_too_while_a_hook_hears_of_the_batch() {
    let scene = Scene::new();
    let hook = "echo up >\"$CALIBAN_PROJECT_DIR\"/started.fifo; sleep 8.3732";
    scene.world.config(&format!("[[hooks.PostToolBatch]]\ncommand = '{hook}'\n"));
    scene.server.when(PARENT).reply(tool_use("Bash", bash("echo OUT-66"))).then(text(DONE));
    let started = Fifo::new(&scene.world.project_dir().join("started.fifo"));
    let running = scene.run().start();
    started.opened().await;
    kill(running).await;
    let (request, _) = resume(&scene).await;
    let result = request.tool_result();
    assert!(result.text.contains("OUT-66") && !result.is_error, "{result:?}");
    scene.server.finish();
}

#[tokio::test]
async fn a_fork_with_another_model_gets_no_thoughts_of_the_first_one_even_when_it_is_resumed() {
    let scene = Scene::new();
    let first = thinking("hm", "SIGNED-66").text("one");
    scene.server.when("HELLO-1").reply(first).forever(text("more"));
    let theirs = ["--model", "claude-opus-4-8"];
    let run = async |args: &[&str]| {
        scene.world.run(args.iter().copied()).finish().await.assert_code(0);
        scene.server.requests().pop().unwrap()
    };
    run(&["--model", "claude-sonnet-5", "-p", "HELLO-1"]).await;
    let forked =
        run(&[theirs.as_slice(), &["-c", "--fork-session", "-p", "second"]].concat()).await;
    assert!(!forked.text().contains("SIGNED-66"), "{}", forked.text());
    let resumed = run(&[theirs.as_slice(), &["-c", "-p", "third"]].concat()).await;
    assert_eq!(resumed.messages().len(), 5);
    assert!(!resumed.text().contains("SIGNED-66"), "{}", resumed.text());
    scene.server.finish();
}

/// An answer of one call with this id.
fn call_with_id(id: &str) -> Reply {
    let (id, json) = (id.to_owned(), vec![bash("true").to_string()]);
    let step = Step::ToolUse { id, name: "Bash".to_owned(), json };
    Reply::Stream(Stream { steps: vec![step], ..Stream::default() })
}

#[tokio::test]
async fn a_server_that_repeats_the_id_of_a_call_does_no_harm() {
    for wire in [Wire::Anthropic, Wire::Chat, Wire::Responses] {
        let scene = Scene::on(wire);
        let script = scene.server.when(PARENT).reply(call_with_id("call_0"));
        script.then(call_with_id("call_0")).then(call_with_id("call_0")).then(text(DONE));
        let run = scene.run().finish().await;
        // The server has noted its own repetition: what counts is that each request was valid.
        run.assert_code(0);
        let ids: Vec<_> = scene
            .server
            .requests()
            .iter()
            .skip(1)
            .map(|request| request.tool_result().id)
            .collect();
        assert_eq!(ids, ["call_0", "call_0-2", "call_0-3"], "{wire:?}");
        scene.server.finish();
    }
}
