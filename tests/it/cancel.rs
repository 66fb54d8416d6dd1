//! Stopping: signals without a terminal, Ctrl-C and Esc with one. What is stopped leaves nothing behind.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::json;

use crate::support::process::{self, Fifo};
use crate::support::pty::{CTRL_C, ENTER, ESC, Screen};
use crate::support::record::StreamEnd;
use crate::support::scene::{DONE, PARENT, Scene, agent, bash};
use crate::support::script::{text, tool_use};

const BYPASS: &str = "--dangerously-skip-permissions";
/// How soon a stream must be closed after the key; far more than it takes, for slow machines.
const SOON: Duration = Duration::from_secs(1);
/// How soon it is closed when nothing else delays it, and how often that is tried: a busy machine only adds.
const PROMPTLY: Duration = Duration::from_millis(50);
const ROUNDS: usize = 5;

/// Starts a turn with an open stream, stops it, and says how long the stream stayed open.
async fn open_after(stop: impl AsyncFn(&Scene) -> (Instant, &'static str)) -> Duration {
    let scene = Scene::new();
    let (stopped, word) = stop(&scene).await;
    let (end, at) = scene.server.ended(word).await;
    assert_eq!(end, StreamEnd::ClosedByClient);
    at - stopped
}

async fn assert_prompt(stop: impl AsyncFn(&Scene) -> (Instant, &'static str)) {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        times.push(open_after(&stop).await);
        if times.iter().min() < Some(&PROMPTLY) {
            return;
        }
    }
    panic!("the stream stayed open for {times:?}");
}

#[tokio::test]
async fn a_cancelled_childs_stream_is_closed_within_50_ms() {
    assert_prompt(async |scene| {
        scene.parent_calls([agent("CHILD-A")]);
        scene.server.when("CHILD-A").reply(text("PARTIAL-77").stall());
        let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 100, 30);
        screen.wait_for("PARTIAL-77");
        let pressed = Instant::now();
        screen.keys(CTRL_C);
        scene.server.ended("CHILD-A").await;
        (pressed, "CHILD-A")
    })
    .await;
}

#[tokio::test]
async fn the_streams_of_a_stopped_turn_are_closed_within_50_ms() {
    assert_prompt(async |scene| {
        scene.parent_calls([agent("CHILD-A"), agent("CHILD-B")]);
        scene.server.when("CHILD-A").reply(text("TEXT-A").stall());
        scene.server.when("CHILD-B").reply(text("TEXT-B").stall());
        let running = scene.run().start();
        scene.server.wait_for_of("CHILD-A", 1).await;
        scene.server.wait_for_of("CHILD-B", 1).await;
        let sent = Instant::now();
        running.signal(Signal::SIGINT);
        // The later of the two counts.
        let (_, first) = scene.server.ended("CHILD-A").await;
        let (_, second) = scene.server.ended("CHILD-B").await;
        (sent, if first > second { "CHILD-A" } else { "CHILD-B" })
    })
    .await;
}

#[tokio::test]
async fn a_stubborn_process_group_is_gone_within_two_seconds_of_a_cancel() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    // Every process of the group holds the pipe open, and none heeds a polite signal.
    let stubborn = "trap '' TERM INT HUP; exec 9> held.fifo; echo go > started.fifo; \
                    (sleep 66.1173 & sleep 66.1173) & sleep 66.1173";
    scene.server.when("CHILD-A").reply(text("PARTIAL-77").tool_use("Bash", bash(stubborn)));
    let started = Fifo::new(&scene.world.project_dir().join("started.fifo"));
    let held = Fifo::new(&scene.world.project_dir().join("held.fifo"));
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 100, 30);
    started.opened().await;
    let pressed = Instant::now();
    screen.keys(CTRL_C);
    let gone = held.closed().await;
    assert!(gone - pressed < Duration::from_secs(2), "{:?}", gone - pressed);
    screen.wait_for(DONE);
    let result = scene.server.requests_of(PARENT)[1].tool_result();
    assert!(result.is_error && result.text.contains("cancelled"), "{result:?}");
    scene.server.finish();
}

#[tokio::test]
async fn signals_end_a_headless_run_with_their_code_and_a_result_frame() {
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let scene = Scene::new();
        scene.server.when(PARENT).reply(text("half an answer").gate("held"));
        let running = scene.run().start();
        scene.server.reached("held").await;
        let sent = Instant::now();
        running.signal(signal);
        let run = running.wait().await;
        run.assert_code(code);
        let (end, at) = scene.server.ended(PARENT).await;
        assert_eq!(end, StreamEnd::ClosedByClient);
        assert!(at - sent < SOON, "{signal}: {:?}", at - sent);
        let result = run.result();
        assert_eq!(result["is_error"], true);
        assert_eq!(result["subtype"], "error_during_execution");
        let transcript = scene.world.session().join("transcript.jsonl");
        for line in std::fs::read_to_string(transcript).unwrap().lines() {
            serde_json::from_str::<serde_json::Value>(line).expect(line);
        }
        scene.server.finish();
    }
}

#[tokio::test]
async fn after_a_signal_the_session_goes_on_with_what_there_was() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(text("half an answer").gate("held")).then(text("the rest"));
    let screen = Screen::start(&scene.world, ["PARENT-1 go"], 80, 24);
    // Only what the program has shown has surely arrived there.
    screen.wait_for("half an answer");
    screen.signal(Signal::SIGTERM);
    screen.exit().assert_restored();
    let next = scene.world.run(["-c", "-p", "go on"]).finish().await;
    next.assert_code(0);
    assert_eq!(next.stdout, "the rest\n");
    let request = scene.server.requests().pop().unwrap();
    assert!(request.text().contains("half an answer"), "the partial text is kept");
    scene.server.finish();
}

#[tokio::test]
async fn after_an_interrupt_the_next_prompt_is_answered() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(text("half").gate("held")).then(text("the rest"));
    let running = scene.run().start();
    scene.server.reached("held").await;
    running.signal(Signal::SIGINT);
    running.wait().await.assert_code(130);
    let next = scene.world.run(["-c", "-p", "go on"]).finish().await;
    next.assert_code(0);
    assert_eq!(next.stdout, "the rest\n");
    scene.server.finish();
}

#[tokio::test]
async fn a_signal_takes_the_whole_process_group_of_a_command_along() {
    let scene = Scene::new();
    let time = process::marked_seconds(63);
    let nested = format!("sh -c 'sleep {time} & sleep {time}' & echo go > started.fifo; wait");
    scene.server.when(PARENT).reply(tool_use("Bash", bash(&nested)));
    let started = Fifo::new(&scene.world.project_dir().join("started.fifo"));
    let running = scene.run().start();
    started.opened().await;
    running.signal(Signal::SIGTERM);
    running.wait().await.assert_code(143);
    assert_eq!(process::with_argument(&time), Vec::<u32>::new());
    scene.server.finish();
}

#[tokio::test]
async fn a_command_that_runs_into_its_time_limit_is_killed_and_the_model_is_told() {
    let scene = Scene::new();
    let time = process::marked_seconds(64);
    let input = json!({ "command": format!("echo BEFORE-77; sleep {time}"), "timeout": 300 });
    scene.server.when(PARENT).reply(tool_use("Bash", input)).then(text(DONE));
    scene.go().await;
    let result = scene.server.requests()[1].tool_result();
    assert!(result.is_error && result.text.contains("BEFORE-77"), "{result:?}");
    assert_eq!(process::with_argument(&time), Vec::<u32>::new());
    scene.server.finish();
}

#[tokio::test]
async fn ctrl_c_on_the_only_child_ends_that_child_and_the_parent_goes_on() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(text("PARTIAL-77").gate("held"));
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 100, 30);
    screen.wait_for("PARTIAL-77");
    let pressed = Instant::now();
    screen.keys(CTRL_C);
    let (end, at) = scene.server.ended("CHILD-A").await;
    assert_eq!(end, StreamEnd::ClosedByClient);
    assert!(at - pressed < SOON, "{:?}", at - pressed);
    screen.wait_for(DONE);
    let result = scene.server.requests_of(PARENT)[1].tool_result();
    assert!(result.is_error && result.blocks == 1, "{result:?}");
    assert!(result.text.contains("PARTIAL-77") && result.text.contains("cancelled"), "{result:?}");
    scene.server.when(PARENT).reply(text("NEXT-77"));
    screen.keys("and now?");
    screen.keys(ENTER);
    screen.wait_for("NEXT-77");
    scene.server.finish();
}

#[tokio::test]
async fn a_child_cancelled_in_mid_tool_leaves_no_command_behind() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    let time = process::marked_seconds(65);
    let sleep = format!("echo go > started.fifo; sleep {time}");
    scene.server.when("CHILD-A").reply(text("PARTIAL-77").tool_use("Bash", bash(&sleep)));
    let started = Fifo::new(&scene.world.project_dir().join("started.fifo"));
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 100, 30);
    started.opened().await;
    // A key acts on what the screen knows.
    screen.wait_for("Bash echo go");
    screen.keys(CTRL_C);
    screen.wait_for(DONE);
    assert_eq!(process::with_argument(&time), Vec::<u32>::new());
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 1, "no request follows a cancel");
    let child = std::fs::read_to_string(&scene.world.child_transcripts()[0]).unwrap();
    let count = |kind: &str| child.matches(&format!("\"type\":\"{kind}\"")).count();
    assert_eq!((count("tool_use"), count("tool_result")), (1, 1), "{child}");
    scene.server.finish();
}

#[tokio::test]
async fn ctrl_c_on_one_of_three_children_ends_only_the_one_meant() {
    let scene = Scene::new();
    scene.parent_calls(["CHILD-A", "CHILD-B", "CHILD-C"].map(agent));
    for (word, shown) in [("CHILD-A", "TEXT-A"), ("CHILD-B", "TEXT-B"), ("CHILD-C", "TEXT-C")] {
        scene.server.when(word).reply(text(shown).gate("rest").more(" ended"));
    }
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 40);
    for shown in ["TEXT-A", "TEXT-B", "TEXT-C"] {
        screen.wait_for(shown);
    }
    // With several running and none focused it asks which.
    screen.keys(CTRL_C);
    screen.wait_for("Cancel which?");
    assert_eq!(scene.server.requests().iter().filter(|r| r.end.is_none()).count(), 3);
    screen.keys("2");
    assert_eq!(scene.server.ended("CHILD-B").await.0, StreamEnd::ClosedByClient);
    screen.wait_for("cancelled");
    let open: Vec<_> = scene.server.requests().into_iter().filter(|r| r.end.is_none()).collect();
    assert_eq!(open.len(), 2, "the siblings go on");
    scene.server.open("rest");
    screen.wait_for(DONE);
    let results = scene.server.requests_of(PARENT)[1].tool_results();
    let errors: Vec<_> = results.iter().map(|result| result.is_error).collect();
    assert_eq!(errors, [false, true, false], "{results:?}");
    assert_eq!(results[0].text, "TEXT-A ended");
    assert_eq!(results[2].text, "TEXT-C ended");
    scene.server.finish();
}

#[tokio::test]
async fn ctrl_c_twice_on_several_children_ends_them_all() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A"), agent("CHILD-B")]);
    scene.server.when("CHILD-A").reply(text("TEXT-A").stall());
    scene.server.when("CHILD-B").reply(text("TEXT-B").stall());
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 40);
    screen.wait_for("TEXT-A");
    screen.wait_for("TEXT-B");
    screen.keys(CTRL_C);
    // The list takes the key once it can have been read.
    screen.wait_for("a twice or Ctrl+C: all");
    screen.keys(CTRL_C);
    for word in ["CHILD-A", "CHILD-B"] {
        assert_eq!(scene.server.ended(word).await.0, StreamEnd::ClosedByClient);
    }
    screen.wait_for(DONE);
    scene.server.finish();
}

#[tokio::test]
async fn esc_stops_the_turn_with_all_its_agents_and_the_next_prompt_works() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A"), agent("CHILD-B")]);
    scene.server.when("CHILD-A").reply(text("TEXT-A").stall());
    scene.server.when("CHILD-B").reply(text("TEXT-B").stall());
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 40);
    screen.wait_for("TEXT-A");
    screen.wait_for("TEXT-B");
    screen.keys(ESC);
    for word in ["CHILD-A", "CHILD-B"] {
        assert_eq!(scene.server.ended(word).await.0, StreamEnd::ClosedByClient);
    }
    screen.wait_for("Stopped: main and 2 agents");
    // The notice answers the key; what is sent before the end is given back.
    screen.wait_for("stopped after");
    assert_eq!(scene.server.requests_of(PARENT).len(), 1);
    screen.keys("go on");
    screen.keys(ENTER);
    screen.wait_for(DONE);
    let results = scene.server.requests_of(PARENT)[1].tool_results();
    assert!(results.iter().all(|result| result.is_error), "{results:?}");
    assert!(results[0].text.contains("TEXT-A") && results[1].text.contains("TEXT-B"));
    scene.server.finish();
}

#[tokio::test]
async fn ctrl_c_stops_a_main_agent_that_works_alone() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(text("TEXT-77").stall());
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 80, 24);
    screen.wait_for("TEXT-77");
    screen.keys(CTRL_C);
    assert_eq!(scene.server.ended(PARENT).await.0, StreamEnd::ClosedByClient);
    screen.wait_for("Stopped");
    scene.server.finish();
}
