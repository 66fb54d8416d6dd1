//! S0: the sub-agent as a blocking tool.

use std::io::Write;

use serde_json::{Value, json};

use super::{AGENT_TOOLS, after_calls, frames_of, log_of};
use crate::support::process;
use crate::support::pty::Screen;
use crate::support::record::{Recorded, StreamEnd};
use crate::support::scene::{DONE, PARENT, Scene, agent, agent_with, bash, calls};
use crate::support::script::{error, text, tool_use};

fn first_of(scene: &Scene, word: &str) -> Recorded {
    scene.server.requests_of(word)[0].clone()
}

#[tokio::test]
async fn a_call_of_the_agent_tool_starts_a_second_conversation() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(text("found it"));
    let run = scene.go().await;
    assert!(first_of(&scene, PARENT).tool_names().contains(&"AgentTool"));
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 1);
    assert_eq!(run.result()["result"], DONE);
    scene.server.finish();
}

#[tokio::test]
async fn a_call_without_a_prompt_is_an_error_and_starts_nothing() {
    let scene = Scene::new();
    scene.parent_calls([json!({ "description": "look around" }), json!({ "prompt": "  " })]);
    scene.go().await;
    let results = after_calls(&scene).tool_results();
    assert!(results.iter().all(|r| r.is_error && r.text.contains("prompt")), "{results:?}");
    assert_eq!(scene.server.requests().len(), 2, "the parent's own");
    scene.server.finish();
}

#[tokio::test]
async fn the_allowlist_is_a_list_or_null_and_nothing_else() {
    let scene = Scene::new();
    scene.parent_calls([
        agent_with("CHILD-A", "tool_allowlist", json!(["Read"])),
        agent_with("CHILD-B", "tool_allowlist", Value::Null),
        agent_with("CHILD-C", "tool_allowlist", json!(7)),
    ]);
    scene.server.when("CHILD-A").reply(text("a"));
    scene.server.when("CHILD-B").reply(text("b"));
    scene.go().await;
    let results = after_calls(&scene).tool_results();
    let errors: Vec<_> = results.iter().map(|result| result.is_error).collect();
    assert_eq!(errors, [false, false, true]);
    assert!(results[2].text.contains("tool_allowlist"), "{results:?}");
    assert_eq!(scene.server.requests_of("CHILD-C").len(), 0);
    scene.server.finish();
}

#[tokio::test]
async fn the_model_is_the_parents_unless_the_call_names_one() {
    let scene = Scene::new();
    let other = agent_with("CHILD-B", "model", json!("claude-haiku-4-5"));
    scene.parent_calls([agent("CHILD-A"), other]);
    scene.server.when("CHILD-A").reply(text("a"));
    scene.server.when("CHILD-B").reply(text("b"));
    scene.run().args(["--model", "claude-sonnet-5"]).finish().await.assert_code(0);
    assert_eq!(first_of(&scene, "CHILD-A").model(), "claude-sonnet-5");
    assert_eq!(first_of(&scene, "CHILD-B").model(), "claude-haiku-4-5");
    scene.server.finish();
}

#[tokio::test]
async fn the_result_is_one_text_block_the_childs_final_text() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene
        .server
        .when("CHILD-A")
        .reply(text("an earlier remark").tool_use("Bash", bash("echo x")))
        .then(text("the final text\n\nwith two paragraphs"));
    scene.go().await;
    let result = after_calls(&scene).tool_result();
    assert_eq!(result.text, "the final text\n\nwith two paragraphs");
    assert_eq!((result.blocks, result.is_error), (1, false));
    scene.server.finish();
}

#[tokio::test]
async fn a_long_text_is_cut_with_a_marker_and_kept_in_full() {
    let scene = Scene::new();
    let long: String = (0..6000_u32).map(|n| char::from(b'a' + (n % 26) as u8)).collect();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(text(long.clone()));
    scene.go().await;
    let result = after_calls(&scene).tool_result();
    assert!(result.text.chars().count() <= 5000, "{}", result.text.chars().count());
    assert!(result.text.starts_with(&long[..4000]));
    assert!(result.text.contains("6000"), "the marker says how much there is");
    let stored = std::fs::read_to_string(&scene.world.child_transcripts()[0]).unwrap();
    assert!(stored.contains(&long), "the full text is stored");
    scene.server.finish();
}

#[tokio::test]
async fn a_child_is_no_process_of_its_own() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A"), agent("CHILD-B")]);
    for word in ["CHILD-A", "CHILD-B"] {
        scene.server.when(word).reply(text("half").gate("held"));
    }
    let running = scene.run().start();
    scene.server.reached_by("held", 2).await;
    assert_eq!(process::children(running.pid()), Vec::<u32>::new());
    scene.server.open("held");
    running.wait().await.assert_code(0);
    scene.server.finish();
}

#[tokio::test]
async fn children_in_turn_use_the_parents_connection() {
    let scene = Scene::new();
    scene.parent_calls_in_turn(["CHILD-A", "CHILD-B", "CHILD-C", "CHILD-D", "CHILD-E"].map(agent));
    for word in ["CHILD-A", "CHILD-B", "CHILD-C", "CHILD-D", "CHILD-E"] {
        scene.server.when(word).reply(text("ok"));
    }
    scene.go().await;
    let requests = scene.server.requests();
    assert_eq!(requests.len(), 11);
    let mut connections: Vec<_> = requests.iter().map(|request| request.connection).collect();
    connections.sort_unstable();
    connections.dedup();
    assert!(connections.len() <= 2, "{connections:?}");
    scene.server.finish();
}

#[tokio::test]
async fn two_children_of_one_definition_share_the_cached_prefix() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A"), agent("CHILD-B")]);
    scene.server.when("CHILD-A").reply(text("a"));
    scene.server.when("CHILD-B").reply(text("b"));
    scene.go().await;
    let prefix = |word: &str| {
        let request = first_of(&scene, word);
        format!("{}{}", request.body["system"], request.body["tools"])
    };
    assert_eq!(prefix("CHILD-A"), prefix("CHILD-B"));
    assert!(prefix("CHILD-A").contains("cache_control"), "{}", prefix("CHILD-A"));
    scene.server.finish();
}

#[tokio::test]
async fn each_call_builds_a_fresh_agent() {
    let scene = Scene::new();
    scene.parent_calls_in_turn([agent("CHILD-A"), agent("CHILD-B")]);
    scene.server.when("CHILD-A").reply(text("CANARY-77"));
    scene.server.when("CHILD-B").reply(text("b"));
    scene.go().await;
    let second = first_of(&scene, "CHILD-B");
    assert_eq!(second.messages().len(), 1);
    assert!(!second.text().contains("CANARY-77") && !second.text().contains("CHILD-A"));
    scene.server.finish();
}

#[tokio::test]
async fn the_child_gets_a_filtered_registry_in_the_parents_order() {
    let scene = Scene::new();
    let some = agent_with("CHILD-A", "tool_allowlist", json!(["Grep", "Bash", "Read"]));
    scene.parent_calls([some]);
    scene.server.when("CHILD-A").reply(text("a"));
    scene.go().await;
    let (parent, child) = (first_of(&scene, PARENT), first_of(&scene, "CHILD-A"));
    let mut expected = parent.tool_names();
    expected.retain(|name| ["Grep", "Bash", "Read"].contains(name));
    assert_eq!(child.tool_names(), expected);
    scene.server.finish();
}

#[tokio::test]
async fn a_child_has_twenty_turns_and_the_model_cannot_raise_that() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A"), agent_with("CHILD-B", "max_turns", json!(99))]);
    for word in ["CHILD-A", "CHILD-B"] {
        scene.server.when(word).forever(text("on").tool_use("Bash", bash("true")));
    }
    scene.go().await;
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 20);
    assert_eq!(scene.server.requests_of("CHILD-B").len(), 20);
    let results = after_calls(&scene).tool_results();
    assert!(results.iter().all(|result| result.is_error), "{results:?}");
    scene.server.finish();
}

#[tokio::test]
async fn an_allowlist_gives_exactly_those_tools() {
    let scene = Scene::new();
    scene.parent_calls([agent_with("CHILD-A", "tool_allowlist", json!(["Read", "Glob"]))]);
    scene.server.when("CHILD-A").reply(tool_use("Bash", bash("touch evil.txt"))).then(text("ok"));
    scene.go().await;
    let child = first_of(&scene, "CHILD-A");
    let mut names = child.tool_names();
    names.sort_unstable();
    assert_eq!(names, ["Glob", "Read"]);
    let withheld = scene.server.requests_of("CHILD-A")[1].tool_result();
    assert!(withheld.is_error && !scene.world.exists("evil.txt"), "{withheld:?}");
    scene.server.finish();
}

#[tokio::test]
async fn an_unknown_name_in_the_list_does_not_fail_the_call() {
    let scene = Scene::new();
    scene.parent_calls([agent_with("CHILD-A", "tool_allowlist", json!(["Read", "Bsah"]))]);
    scene.server.when("CHILD-A").reply(text("fine"));
    scene.go().await;
    assert_eq!(first_of(&scene, "CHILD-A").tool_names(), ["Read"]);
    assert_eq!(after_calls(&scene).tool_result().text, "fine");
    scene.server.finish();
}

#[tokio::test]
async fn without_a_list_the_child_has_all_tools_but_the_agent_tool() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(text("a"));
    scene.go().await;
    let (parent, child) = (first_of(&scene, PARENT), first_of(&scene, "CHILD-A"));
    let mut expected = parent.tool_names();
    expected.retain(|name| !AGENT_TOOLS.contains(name));
    assert!(expected.len() < parent.tool_names().len());
    assert_eq!(child.tool_names(), expected);
    scene.server.finish();
}

#[tokio::test]
async fn no_child_has_the_agent_tool_even_if_it_is_listed() {
    let scene = Scene::new();
    let listed = json!(["AgentTool", "Agent", "Task", "Read"]);
    scene.parent_calls([agent_with("CHILD-A", "tool_allowlist", listed)]);
    scene.server.when("CHILD-A").reply(text("a"));
    scene.go().await;
    assert_eq!(first_of(&scene, "CHILD-A").tool_names(), ["Read"]);
    scene.server.finish();
}

#[tokio::test]
async fn the_child_inherits_the_output_limit() {
    let scene = Scene::new();
    scene.world.config("[model]\nmax_tokens = 7777\n");
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(text("a"));
    scene.go().await;
    assert_eq!(first_of(&scene, PARENT).body["max_tokens"], 7777);
    assert_eq!(first_of(&scene, "CHILD-A").body["max_tokens"], 7777);
    scene.server.finish();
}

#[tokio::test]
async fn the_parent_transcript_gets_only_the_call_and_its_result() {
    let scene = Scene::new();
    scene.world.write("secret.txt", "CANARY-77\n");
    let path = scene.world.project_dir().join("secret.txt");
    scene.parent_calls([agent("CHILD-A")]);
    scene
        .server
        .when("CHILD-A")
        .reply(text("CANARY-88").tool_use("Read", json!({ "file_path": path })))
        .then(text("the report"));
    scene.go().await;
    let child = scene.server.requests_of("CHILD-A")[1].text();
    assert!(child.contains("CANARY-77") && child.contains("CANARY-88"));
    let parent = after_calls(&scene).text();
    let stored = std::fs::read_to_string(scene.world.session().join("transcript.jsonl")).unwrap();
    for (place, text) in [("request", parent), ("transcript", stored)] {
        assert!(text.contains("the report"), "{place}: {text}");
        assert!(!text.contains("CANARY"), "{place}: {text}");
    }
    scene.server.finish();
}

/// A run at log level `debug` with one child that makes one call.
async fn logged() -> Scene {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(tool_use("Bash", bash("echo LOGGED-77"))).then(text("ok"));
    scene.run().args(["--log-level", "debug"]).finish().await.assert_code(0);
    scene
}

#[tokio::test]
async fn the_debug_log_holds_the_childs_full_trace() {
    let scene = logged().await;
    let is_child = |record: &Value| record["agent"].as_str().is_some_and(|path| path != "root");
    let turns = log_of(&scene, "turn_started");
    assert_eq!(turns.iter().filter(|record| is_child(record)).count(), 2, "{turns:?}");
    assert_eq!(turns.len(), 4, "{turns:?}");
    let calls = log_of(&scene, "tool_call");
    let of_child: Vec<_> = calls.iter().filter(|record| is_child(record)).collect();
    assert_eq!(of_child.len(), 1, "{calls:?}");
    assert_eq!(of_child[0]["tool"], "Bash");
    assert!(of_child[0].to_string().contains("LOGGED-77"), "{}", of_child[0]);
    scene.server.finish();
}

#[tokio::test]
async fn the_parent_asks_nothing_until_the_child_has_ended() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(tool_use("Bash", bash("true"))).then(text("x").gate("held"));
    let running = scene.run().start();
    scene.server.reached("held").await;
    assert_eq!(scene.server.requests_of(PARENT).len(), 1);
    scene.server.open("held");
    running.wait().await.assert_code(0);
    let (end, at) = scene.server.ended("CHILD-A").await;
    assert_eq!(end, StreamEnd::Whole);
    assert!(after_calls(&scene).arrived >= at);
    scene.server.finish();
}

#[tokio::test]
async fn the_parents_end_is_the_childrens_end() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A"), agent("CHILD-B")]);
    for word in ["CHILD-A", "CHILD-B"] {
        scene.server.when(word).reply(text("half").stall());
    }
    let running = scene.run().start();
    scene.server.wait_for(3).await;
    let pressed = std::time::Instant::now();
    running.signal(nix::sys::signal::Signal::SIGINT);
    running.wait().await.assert_code(130);
    for word in ["CHILD-A", "CHILD-B"] {
        let (end, at) = scene.server.ended(word).await;
        assert_eq!(end, StreamEnd::ClosedByClient);
        assert!(at - pressed < std::time::Duration::from_secs(1), "{:?}", at - pressed);
    }
    assert_eq!(scene.server.requests_of(PARENT).len(), 1);
}

#[tokio::test]
async fn a_deny_rule_holds_for_the_childs_tools() {
    let scene = Scene::new();
    scene.world.config("[permissions]\ndeny = [\"Bash(touch:*)\"]\n");
    scene.parent_calls([agent("CHILD-A")]);
    let batch = tool_use("Bash", bash("touch evil.txt")).tool_use("Bash", bash("echo RAN-77"));
    scene.server.when("CHILD-A").reply(batch).then(text("ok"));
    scene.go().await;
    let results = scene.server.requests_of("CHILD-A")[1].tool_results();
    assert!(results[0].is_error && !scene.world.exists("evil.txt"), "{results:?}");
    assert!(!results[1].is_error && results[1].text.contains("RAN-77"), "{results:?}");
    scene.server.finish();
}

#[tokio::test]
async fn the_screen_shows_what_a_child_does_while_the_parent_waits() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene
        .server
        .when("CHILD-A")
        .reply(
            text("FIRST-77")
                .gate("one")
                .tool_use("Bash", bash("echo CALLED-77; head -n 1 go.fifo")),
        )
        .then(text("SECOND-77").gate("two"));
    let fifo = scene.world.project_dir().join("go.fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let args = ["--dangerously-skip-permissions", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 120, 40);
    screen.wait_for("FIRST-77");
    screen.wait_for("1/20");
    screen.wait_for("waiting for 1 agent");
    screen.wait_for("0:01");
    scene.server.open("one");
    screen.wait_for("Bash");
    screen.wait_for("CALLED-77");
    // Opened for both directions it never waits for the other side.
    let mut pipe = std::fs::OpenOptions::new().read(true).write(true).open(&fifo).unwrap();
    pipe.write_all(b"go\n").unwrap();
    screen.wait_for("SECOND-77");
    screen.wait_for("2/20");
    assert_eq!(scene.server.requests_of(PARENT).len(), 1, "the parent waits");
    scene.server.open("two");
    screen.wait_for(DONE);
    scene.server.finish();
}

#[tokio::test]
async fn usage_is_one_line_for_the_call_with_the_details_in_the_log() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene
        .server
        .when("CHILD-A")
        .reply(tool_use("Bash", bash("true")).usage(1000, 20))
        .then(text("ok").usage(3000, 40));
    let run = scene.run().args(["--model", "claude-sonnet-5"]).finish().await;
    run.assert_code(0);
    let ends = frames_of(&run, "system/task_notification");
    assert_eq!(ends.len(), 1, "{run}");
    assert_eq!(ends[0]["usage"]["total_tokens"], 4060);
    assert_eq!(ends[0]["usage"]["tool_uses"], 1);
    let result = run.result();
    assert_eq!(result["usage"]["input_tokens"], 200, "the main agent alone");
    assert_eq!(result["modelUsage"]["claude-sonnet-5"]["inputTokens"], 4200, "the whole tree");
    let turns = log_of(&scene, "turn_completed");
    assert_eq!(turns.iter().filter(|record| record["agent"] != "root").count(), 2, "{turns:?}");
    scene.server.finish();
}

#[tokio::test]
async fn calls_of_one_message_run_at_once() {
    let scene = Scene::new();
    scene.parent_calls(["CHILD-A", "CHILD-B", "CHILD-C"].map(agent));
    for word in ["CHILD-A", "CHILD-B", "CHILD-C"] {
        scene.server.when(word).reply(text(word).gate("all"));
    }
    let running = scene.run().start();
    // Each stream is held until all three are open: one after the other would never come to an end.
    scene.server.reached_by("all", 3).await;
    scene.server.open("all");
    running.wait().await.assert_code(0);
    let texts: Vec<_> = after_calls(&scene).tool_results().into_iter().map(|r| r.text).collect();
    assert_eq!(texts, ["CHILD-A", "CHILD-B", "CHILD-C"]);
    scene.server.finish();
}

#[tokio::test]
async fn an_overloaded_child_tries_again_as_the_parent_does() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(error(529, "overloaded_error", "busy"));
    scene.server.when(PARENT).reply(calls([agent("CHILD-A")])).then(text(DONE));
    let busy = error(529, "overloaded_error", "busy");
    scene.server.when("CHILD-A").reply(busy).then(text("at last"));
    scene.go().await;
    assert_eq!(scene.server.requests_of(PARENT)[2].tool_result().text, "at last");
    scene.server.finish();
}

#[tokio::test]
async fn the_tool_can_be_offered_under_another_of_its_names() {
    for name in ["Agent", "Task"] {
        let scene = Scene::new();
        scene.world.config(&format!("[subagents]\ntool_name = \"{name}\"\n"));
        scene.server.when(PARENT).reply(tool_use(name, agent("CHILD-A"))).then(text(DONE));
        scene.server.when("CHILD-A").reply(text("ok"));
        let run = scene.go().await;
        let first = scene.server.requests_of(PARENT).remove(0);
        let offered: Vec<_> =
            first.tool_names().into_iter().filter(|name| AGENT_TOOLS.contains(name)).collect();
        assert_eq!(offered, [name]);
        let result = after_calls(&scene).tool_result();
        assert_eq!((result.text.as_str(), result.is_error), ("ok", false), "{name}");
        let child = &scene.server.requests_of("CHILD-A")[0];
        assert!(child.tool_names().iter().all(|name| !AGENT_TOOLS.contains(name)), "{name}");
        let listed = run.frames()[0]["tools"].to_string();
        assert!(listed.contains(&format!("\"{name}\"")), "{listed}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn without_a_cap_a_long_text_comes_whole() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nresult_max_chars = 0\n");
    let long: String = (0..6000_u32).map(|n| char::from(b'a' + (n % 26) as u8)).collect();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(text(long.clone()));
    scene.go().await;
    let result = after_calls(&scene).tool_result();
    assert_eq!((result.text, result.is_error), (long, false));
    scene.server.finish();
}
