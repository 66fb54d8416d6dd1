//! The traps that simpler implementations fall into. T1's and T10's other halves stand in `cancel`,
//! T14 in `session`.

use std::time::Duration;

use nix::sys::signal::Signal;
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde_json::json;

use super::{after_calls, frames_of};
use crate::support::DEADLINE;
use crate::support::process::{self, Fifo};
use crate::support::record::{Recorded, StreamEnd};
use crate::support::scene::{DONE, PARENT, Scene, agent, agent_with, bash};
use crate::support::script::{Reply, error, text, thinking, tool_use};
use crate::support::world::KEY;

const ONE_RETRY: &str = "[providers.anthropic]\nmax_retries = 1\n";

#[tokio::test]
async fn a_text_is_cut_at_a_grapheme_and_the_cap_holds_with_the_marker() {
    let family = "\u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f467}";
    let accent = "e\u{301}\u{323}";
    let texts = [
        ("CHILD-A", "x".repeat(5000)),
        ("CHILD-B", "x".repeat(5001)),
        ("CHILD-C", family.repeat(1200)),
        ("CHILD-D", format!("x{}", accent.repeat(2000))),
        ("CHILD-E", "漢".repeat(6000)),
    ];
    let scene = Scene::new();
    scene.parent_calls(texts.iter().map(|(word, _)| agent(word)));
    for (word, full) in &texts {
        scene.server.when(word).reply(text(full.clone()));
    }
    scene.go().await;
    let results = after_calls(&scene).tool_results();
    assert_eq!(results[0].text, texts[0].1, "a text of the exact limit is untouched");
    for ((word, full), result) in texts.iter().zip(&results).skip(1) {
        let shown: String = full
            .chars()
            .zip(result.text.chars())
            .take_while(|(a, b)| a == b)
            .map(|(a, _)| a)
            .collect();
        assert!(result.text.chars().count() <= 5000, "{word}: {}", result.text.chars().count());
        let marker = &result.text[shown.len()..];
        let total = full.chars().count().to_string();
        assert!(marker.contains(&total), "{word}: the marker {marker:?} does not name {total}");
        let rest = &full[shown.len()..];
        let cut_inside =
            rest.starts_with(['\u{200d}', '\u{301}', '\u{323}']) || shown.ends_with('\u{200d}');
        assert!(!cut_inside, "{word}: cut inside a grapheme");
    }
    let stored: Vec<_> = scene
        .world
        .child_transcripts()
        .iter()
        .map(|f| std::fs::read_to_string(f).unwrap())
        .collect();
    assert!(texts.iter().all(|(_, full)| stored.iter().any(|file| file.contains(full))));
    scene.server.finish();
}

#[tokio::test]
async fn results_come_in_call_order_and_one_failure_leaves_the_siblings_alone() {
    let scene = Scene::new();
    scene.world.config(ONE_RETRY);
    scene.parent_calls(["CHILD-A", "CHILD-B", "CHILD-C"].map(agent));
    scene.server.when("CHILD-A").reply(text("from A").gate("last"));
    scene.server.when("CHILD-B").forever(error(500, "api_error", "the server's own words"));
    scene.server.when("CHILD-C").reply(text("from C").gate("first"));
    let running = scene.run().start();
    scene.server.wait_for_of("CHILD-B", 2).await;
    // The failure is there before its siblings may go on.
    running.printed("\"is_error\":true", 1).await;
    scene.server.open("first");
    scene.server.ended("CHILD-C").await;
    scene.server.open("last");
    let run = running.wait().await;
    run.assert_code(0);
    let results = after_calls(&scene).tool_results();
    assert_eq!(
        results.iter().map(|r| r.id.as_str()).collect::<Vec<_>>(),
        ["toolu_0001", "toolu_0002", "toolu_0003"]
    );
    assert_eq!(results[0].text, "from A");
    assert_eq!(results[2].text, "from C");
    assert_eq!(results.iter().map(|r| r.is_error).collect::<Vec<_>>(), [false, true, false]);
    let ends = frames_of(&run, "system/task_notification");
    let status = |call: &str| {
        let end = ends.iter().find(|f| f["tool_use_id"] == call).expect("no notification");
        end["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(status("toolu_0001"), "completed");
    assert_eq!(status("toolu_0002"), "failed");
    assert_eq!(status("toolu_0003"), "completed");
    scene.server.finish();
}

#[tokio::test]
async fn a_turn_limit_is_a_flagged_partial_result_and_its_last_calls_are_not_run() {
    let scene = Scene::new();
    scene.world.agent(
        "short",
        "---\nname: short\ndescription: Looks for one thing and reports where it is.\nmaxTurns: 3\n---\nLook.\n",
    );
    scene.parent_calls([agent_with("CHILD-A", "agent", json!("short"))]);
    let step =
        |n: u32| text(format!("remark {n}")).tool_use("Bash", bash(&format!("touch {n}.txt")));
    scene.server.when("CHILD-A").reply(step(1)).then(step(2)).then(step(3));
    let run = scene.go().await;
    let made = ["1.txt", "2.txt", "3.txt"].map(|file| scene.world.exists(file));
    assert_eq!(made, [true, true, false]);
    let requests = scene.server.requests_of("CHILD-A");
    let offered: Vec<_> = requests.iter().map(Recorded::offers_tools).collect();
    assert_eq!(offered, [true, true, false], "the last turn is the summary turn");
    let result = after_calls(&scene).tool_result();
    assert!(result.is_error && result.blocks == 1, "{result:?}");
    assert!(result.text.contains("remark 3"), "{result:?}");
    let flag = result.text.lines().last().unwrap();
    assert!(flag.starts_with('[') && flag.ends_with(']') && flag.contains('3'), "{flag}");
    let ends = frames_of(&run, "system/task_notification");
    assert_ne!(ends[0]["status"], "completed");
    scene.server.finish();
}

#[tokio::test]
async fn a_rejected_key_in_a_child_stops_the_run_and_its_siblings() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A"), agent("CHILD-B")]);
    let rejected = error(401, "authentication_error", &format!("invalid x-api-key {KEY}"));
    scene.server.when("CHILD-A").reply(text("half").stall());
    let first = text("x").gate("both run").tool_use("Bash", bash("true"));
    scene.server.when("CHILD-B").reply(first).then(rejected);
    let running = scene.run().start();
    scene.server.wait_for_of("CHILD-A", 1).await;
    scene.server.open("both run");
    let run = running.wait().await;
    run.assert_code(3);
    assert_eq!(scene.server.ended("CHILD-A").await.0, StreamEnd::ClosedByClient);
    assert_eq!(scene.server.requests_of("CHILD-B").len(), 2, "a rejected key is not tried again");
    assert_eq!(scene.server.requests_of(PARENT).len(), 1);
    assert_eq!(run.result()["is_error"], true);
    assert!(!run.stdout.contains(KEY) && !run.stderr.contains(KEY), "{run}");
    assert!(!scene.world.log().contains(KEY));
}

#[tokio::test]
async fn a_rate_limit_in_a_child_is_a_soft_result_after_the_wait_it_was_asked_for() {
    let scene = Scene::new();
    scene.world.config(ONE_RETRY);
    scene.parent_calls([agent("CHILD-A")]);
    let limited = error(429, "rate_limit_error", "SLOW-77").header("retry-after", "1");
    scene.server.when("CHILD-A").forever(limited);
    scene.go().await;
    let requests = scene.server.requests_of("CHILD-A");
    assert_eq!(requests.len(), 2);
    assert!(requests[1].arrived - requests[0].arrived >= Duration::from_secs(1));
    let result = after_calls(&scene).tool_result();
    assert!(result.is_error && result.text.contains("rate limit"), "{result:?}");
    scene.server.finish();
}

#[tokio::test]
async fn a_rate_limit_after_partial_work_keeps_the_partial_text_flagged() {
    let scene = Scene::new();
    scene.world.config(ONE_RETRY);
    scene.parent_calls([agent("CHILD-A")]);
    let first = text("half of the findings").tool_use("Bash", bash("true"));
    scene.server.when("CHILD-A").reply(first).forever(error(429, "rate_limit_error", "SLOW-77"));
    scene.go().await;
    let result = after_calls(&scene).tool_result();
    assert!(result.is_error, "{result:?}");
    assert!(result.text.contains("half of the findings"), "{result:?}");
    let flag = result.text.lines().last().unwrap();
    assert!(flag.starts_with('[') && flag.contains("rate limit"), "{flag}");
    scene.server.finish();
}

#[tokio::test]
async fn a_list_of_only_unknown_names_is_refused_before_any_request() {
    let scene = Scene::new();
    scene.parent_calls([
        agent_with("CHILD-A", "tool_allowlist", json!(["Bsah", "Raed"])),
        agent_with("CHILD-B", "tool_allowlist", json!(["Read", "Read", "Raed"])),
    ]);
    scene.server.when("CHILD-B").reply(text("fine"));
    let run = scene.run().args(["--log-level", "debug"]).finish().await;
    run.assert_code(0);
    let results = after_calls(&scene).tool_results();
    assert!(results[0].is_error && results[0].text.contains("Bsah"), "{results:?}");
    assert_eq!(results[1].text, "fine");
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 0);
    assert_eq!(scene.server.requests_of("CHILD-B")[0].tool_names(), ["Read"]);
    let log = scene.world.log();
    let warned = log.lines().any(|line| line.contains("WARN") && line.contains("Raed"));
    assert!(warned, "a dropped name is warned of\n{log}");
    scene.server.finish();
}

#[tokio::test]
async fn an_empty_end_is_not_an_answer_and_no_older_remark_is_sold_as_one() {
    let endings = [
        ("nothing", Reply::stream()),
        ("thinking", thinking("hm", "sig-1")),
        ("blank", text(" \n ")),
    ];
    for (name, ending) in endings {
        let scene = Scene::new();
        scene.parent_calls([agent("CHILD-A")]);
        let first = text("REMARK-77").tool_use("Bash", bash("true"));
        scene.server.when("CHILD-A").reply(first).forever(ending);
        let run = scene.go().await;
        let result = after_calls(&scene).tool_result();
        assert!(result.is_error && result.blocks == 1, "{name}: {result:?}");
        assert!(!result.text.trim().is_empty(), "{name}");
        assert!(!result.text.starts_with("REMARK-77"), "{name}: {result:?}");
        assert!(result.text.contains("text"), "{name}: it says that there is none: {result:?}");
        let ends = frames_of(&run, "system/task_notification");
        assert_ne!(ends[0]["status"], "completed", "{name}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn an_interrupt_in_mid_tool_leaves_transcripts_that_the_next_prompt_can_use() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    let time = process::marked_seconds(61);
    let sleep = format!("echo BEFORE-$((60+6)); echo go > started.fifo; sleep {time}");
    scene.server.when("CHILD-A").reply(text("PARTIAL-77").tool_use("Bash", bash(&sleep)));
    let started = Fifo::new(&scene.world.project_dir().join("started.fifo"));
    let running = scene.run().start();
    started.opened().await;
    running.signal(Signal::SIGINT);
    let run = running.wait().await;
    run.assert_code(130);
    assert_eq!(run.result()["is_error"], true);
    let left = process::with_argument(&time);
    assert_eq!(left, Vec::<u32>::new(), "the command is gone when the program is");
    let child = std::fs::read_to_string(&scene.world.child_transcripts()[0]).unwrap();
    let count = |kind: &str| child.matches(&format!("\"type\":\"{kind}\"")).count();
    assert_eq!((count("tool_use"), count("tool_result")), (1, 1), "{child}");
    let result = child.lines().find(|line| line.contains("\"type\":\"tool_result\"")).unwrap();
    assert!(result.contains("BEFORE-66"), "what it had printed is kept: {result}");

    let next = scene.world.run(["-c", "-p", "continue", "--dangerously-skip-permissions"]);
    let next = next.finish().await;
    next.assert_code(0);
    assert_eq!(next.stdout, format!("{DONE}\n"));
    let request = after_calls(&scene);
    let results = request.tool_results();
    assert_eq!(results.len(), 1, "{results:?}");
    assert!(results[0].is_error && results[0].text.contains("PARTIAL-77"), "{results:?}");
    assert!(request.messages().last().unwrap().to_string().contains("continue"));
    scene.server.finish();
}

#[tokio::test]
async fn a_second_interrupt_ends_at_once_with_the_same_code() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    let time = process::marked_seconds(62);
    let stubborn = format!("trap '' TERM INT; echo go > started.fifo; sleep {time}");
    scene.server.when("CHILD-A").reply(tool_use("Bash", bash(&stubborn)));
    let started = Fifo::new(&scene.world.project_dir().join("started.fifo"));
    let running = scene.run().start();
    started.opened().await;
    running.signal(Signal::SIGINT);
    running.signal(Signal::SIGINT);
    running.wait().await.assert_code(130);
    // Killed they are, but nobody waits for them any more.
    let left = process::left_after(Duration::from_secs(2), &time).await;
    assert_eq!(left, Vec::<u32>::new());
}

#[tokio::test]
async fn strict_tools_make_one_unknown_name_an_error_before_any_request() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nstrict_tools = true\n");
    scene.parent_calls([
        agent_with("CHILD-A", "tool_allowlist", json!(["Read", "Raed"])),
        agent_with("CHILD-B", "tool_allowlist", json!(["Read"])),
    ]);
    scene.server.when("CHILD-B").reply(text("fine"));
    scene.go().await;
    let results = after_calls(&scene).tool_results();
    assert!(results[0].is_error && results[0].text.contains("Raed"), "{results:?}");
    assert_eq!((results[1].text.as_str(), results[1].is_error), ("fine", false));
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 0);
    assert_eq!(scene.world.child_transcripts().len(), 1, "the refused one left no file");
    scene.server.finish();
}

#[tokio::test]
async fn a_name_in_the_wrong_case_is_dropped_and_the_output_tells_of_it() {
    let scene = Scene::new();
    scene.parent_calls([agent_with("CHILD-A", "tool_allowlist", json!(["Grep", "read"]))]);
    scene.server.when("CHILD-A").reply(text("fine"));
    let run = scene.go().await;
    assert_eq!(scene.server.requests_of("CHILD-A")[0].tool_names(), ["Grep"]);
    let notices = frames_of(&run, "system/notice");
    assert_eq!(notices.len(), 1, "{run}");
    let notice = &notices[0];
    assert_eq!(notice["parent_tool_use_id"], "toolu_0001", "it is the child's: {notice}");
    assert_eq!(notice["level"], "warning");
    let words = notice["text"].as_str().unwrap();
    assert!(words.contains("read") && !words.contains("Grep"), "{words}");
    scene.server.finish();
}

/// The program on a terminal that is not read, its child's command at work; the terminal is closed.
/// How it ends.
async fn ended_by_a_closed_terminal(scene: &Scene, at_work: Fifo) -> u32 {
    let terminal = native_pty_system().openpty(PtySize::default()).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_caliban"));
    command.args(["--dangerously-skip-permissions", "PARENT-1 go"]);
    command.cwd(scene.world.project_dir());
    command.env_clear();
    for (name, value) in scene.world.variables() {
        command.env(name, value);
    }
    let mut child = terminal.slave.spawn_command(command).unwrap();
    let pid = child.process_id().unwrap();
    at_work.opened().await;
    // Both ends: nobody holds it any more.
    drop(terminal);
    let (tell, ended) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || tell.send(child.wait().unwrap()));
    let Ok(status) = tokio::time::timeout(DEADLINE, ended).await else {
        process::signal(pid, Signal::SIGKILL);
        panic!("the program goes on without its terminal");
    };
    let status = status.unwrap();
    assert_eq!(status.signal(), None, "it ended by itself");
    status.exit_code()
}

#[tokio::test]
async fn a_closed_terminal_ends_all_and_leaves_transcripts_that_the_next_prompt_can_use() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    let time = process::marked_seconds(66);
    let sleep = format!("echo go > started.fifo; sleep {time}");
    scene.server.when("CHILD-A").reply(text("PARTIAL-77").tool_use("Bash", bash(&sleep)));
    let started = Fifo::new(&scene.world.project_dir().join("started.fifo"));
    assert_eq!(ended_by_a_closed_terminal(&scene, started).await, 129);
    assert_eq!(process::with_argument(&time), Vec::<u32>::new());
    let child = std::fs::read_to_string(&scene.world.child_transcripts()[0]).unwrap();
    let count = |kind: &str| child.matches(&format!("\"type\":\"{kind}\"")).count();
    assert_eq!((count("tool_use"), count("tool_result")), (1, 1), "{child}");
    assert_eq!(scene.server.requests().len(), 2, "nobody went on");

    let next = scene.world.run(["-c", "-p", "continue"]).finish().await;
    next.assert_code(0);
    assert_eq!(next.stdout, format!("{DONE}\n"));
    let result = after_calls(&scene).tool_result();
    assert!(result.is_error && result.text.contains("PARTIAL-77"), "{result:?}");
    scene.server.finish();
}
