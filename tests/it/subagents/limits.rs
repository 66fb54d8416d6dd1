//! What sub-agents may use, how many may run at once, and what happens to those that are too many.

use std::io::Write;

use serde_json::{Value, json};

use super::{LIFECYCLE, answer, frames_of, ids, spawns, task};
use crate::support::pty::{CTRL_C, ENTER, ESC, Screen};
use crate::support::record::{StreamEnd, ToolResult};
use crate::support::scene::{DONE, PARENT, Scene, agent, bash, calls};
use crate::support::script::{Reply, dynamic, text, tool_use};

/// A scene with the lifecycle tools and more of their section.
fn scene(more: &str) -> Scene {
    let scene = Scene::new();
    scene.world.config(&format!("{LIFECYCLE}{more}\n"));
    scene
}

/// An endless agent under this budget, each of whose answers costs 1000 tokens and makes `calls`
/// calls: how many requests it makes, and how it ends.
async fn spend(config: &str, budget: Value, calls: usize) -> (usize, String) {
    let scene = scene(config);
    let mut input = task("CHILD-A");
    input["budget"] = budget;
    scene.server.when(PARENT).reply(tool_use("agent_spawn", input)).forever(text(DONE));
    let step = (0..calls).fold(Reply::stream(), |all, _| all.tool_use("Bash", bash("true")));
    scene.server.when("CHILD-A").forever(step.usage(900, 100));
    let run = scene.go().await;
    let end = frames_of(&run, "system/task_notification")[0]["summary"].to_string();
    let made = scene.server.requests_of("CHILD-A").len();
    scene.server.finish();
    (made, end)
}

#[tokio::test]
async fn each_field_of_a_budget_stops_at_its_exact_point() {
    // 1000, 2000, 3000: the fourth would begin with nothing left.
    assert_eq!(spend("", json!({ "max_tokens": 2500 }), 1).await.0, 3);
    assert_eq!(spend("", json!({ "max_tokens": 3000 }), 1).await.0, 3);
    // The last turn is the one for the summary.
    assert_eq!(spend("", json!({ "max_turns": 4 }), 1).await.0, 4);
    // Two calls, then one of two, and a turn for the summary.
    assert_eq!(spend("", json!({ "max_tool_calls": 3 }), 2).await.0, 3);
    // Whichever comes first.
    let all = json!({ "max_tokens": 9000, "max_turns": 5, "max_tool_calls": 2 });
    assert_eq!(spend("", all, 1).await.0, 3);
}

#[tokio::test]
async fn the_tokens_are_those_asked_for_up_to_the_cap_or_else_the_default() {
    let asked = |tokens: u64| json!({ "max_tokens": tokens });
    for (config, budget, requests) in [
        ("max_budget_per_agent = 5000", asked(100_000), 5),
        ("max_budget_per_agent = 5000", asked(2000), 2),
        ("max_budget_per_agent = 5000", Value::Null, 5),
        ("default_budget = 4000", Value::Null, 4),
        ("default_budget = 4000", json!({ "max_turns": 9 }), 4),
        ("default_budget = 4000", asked(6000), 6),
        ("default_budget = 4000\nmax_budget_per_agent = 3000", Value::Null, 3),
    ] {
        let (made, end) = spend(config, budget.clone(), 1).await;
        assert_eq!(made, requests, "{config} {budget}: {end}");
    }
}

#[tokio::test]
async fn fifty_thousand_tokens_are_the_default_of_a_spawn_and_not_of_a_call() {
    let scene = scene("");
    let both = spawns(["CHILD-A"]).tool_use("AgentTool", agent("CHILD-B"));
    scene.server.when(PARENT).reply(both).forever(text(DONE));
    let dear = tool_use("Bash", bash("true")).usage(9_000, 1_000);
    for word in ["CHILD-A", "CHILD-B"] {
        scene.server.when(word).forever(dear.clone());
    }
    scene.go().await;
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 5);
    assert_eq!(scene.server.requests_of("CHILD-B").len(), 20, "c11: it has its turns");
    scene.server.finish();
}

#[track_caller]
fn assert_over(result: &ToolResult, limit: &str, value: usize, count: usize) {
    assert!(result.is_error, "{result:?}");
    let expected = format!("`{limit}` is {value}, and {count} exist");
    assert!(result.text.contains(&expected), "{expected}: {result:?}");
}

#[tokio::test]
async fn the_ninth_spawn_is_an_error_with_the_limit_its_value_and_the_count() {
    let scene = scene("max_children_per_agent = 20");
    let words: Vec<_> = (1..=9).map(|n| format!("CHILD-{n}")).collect();
    let batch = spawns(words.iter().map(String::as_str));
    scene.server.when(PARENT).reply(batch).forever(text(DONE));
    for word in &words[..8] {
        scene.server.when(word).reply(text("ok").gate("held"));
    }
    let running = scene.run().start();
    let results = scene.server.wait_for_of(PARENT, 2).await.remove(1).tool_results();
    assert!(results[..8].iter().all(|result| !result.is_error), "{results:?}");
    assert_over(&results[8], "max_concurrent_agents", 8, 8);
    scene.server.reached_by("held", 8).await;
    scene.server.open("held");
    running.wait().await.assert_code(0);
    assert_eq!(scene.world.child_transcripts().len(), 8, "s3_33: the ninth left nothing");
    scene.server.finish();
}

#[tokio::test]
async fn the_sixth_live_child_is_an_error_and_an_ended_one_makes_room() {
    let scene = scene("");
    let words = ["CHILD-1", "CHILD-2", "CHILD-3", "CHILD-4", "CHILD-5", "CHILD-6"];
    // Its place is free when the wait for it says so.
    let wait = dynamic(|request| tool_use("agent_wait", json!({ "agent_id": ids(request)[0] })));
    let again = tool_use("agent_spawn", task("CHILD-7"));
    scene.server.when(PARENT).reply(spawns(words)).then(wait).then(again).forever(text(DONE));
    scene.server.when("CHILD-1").reply(text("ok").gate("first"));
    for word in &words[1..5] {
        scene.server.when(word).reply(text("ok").gate("held"));
    }
    scene.server.when("CHILD-7").reply(text("ok"));
    let running = scene.run().start();
    let results = scene.server.wait_for_of(PARENT, 2).await.remove(1).tool_results();
    assert!(results[..5].iter().all(|result| !result.is_error), "{results:?}");
    assert_over(&results[5], "max_children_per_agent", 5, 5);
    scene.server.open("first");
    scene.server.wait_for_of("CHILD-7", 1).await;
    scene.server.reached_by("held", 4).await;
    scene.server.open("held");
    running.wait().await.assert_code(0);
    scene.server.finish();
}

#[tokio::test]
async fn a_foreground_call_over_the_limit_waits_its_turn() {
    let scene = scene("max_children_per_agent = 2");
    scene.parent_calls(["CHILD-A", "CHILD-B", "CHILD-C", "CHILD-D"].map(agent));
    for word in ["CHILD-A", "CHILD-B", "CHILD-C", "CHILD-D"] {
        scene.server.when(word).reply(text(word).gate(word));
    }
    let running = scene.run().start();
    scene.server.reached("CHILD-A").await;
    scene.server.reached("CHILD-B").await;
    assert_eq!(scene.server.requests().len(), 3);
    scene.server.open("CHILD-B");
    scene.server.reached("CHILD-C").await;
    assert_eq!(scene.server.requests_of("CHILD-D").len(), 0, "first come, first served");
    for word in ["CHILD-A", "CHILD-C", "CHILD-D"] {
        scene.server.open(word);
    }
    running.wait().await.assert_code(0);
    let results = scene.server.requests_of(PARENT)[1].tool_results();
    let texts: Vec<_> = results.iter().map(|result| result.text.as_str()).collect();
    assert_eq!(texts, ["CHILD-A", "CHILD-B", "CHILD-C", "CHILD-D"]);
    scene.server.finish();
}

#[tokio::test]
async fn calls_are_served_in_their_order_one_after_the_other() {
    let scene = scene("max_concurrent_agents = 1");
    let words = ["CHILD-A", "CHILD-B", "CHILD-C", "CHILD-D", "CHILD-E", "CHILD-F"];
    scene.parent_calls(words.map(agent));
    for word in words {
        scene.server.when(word).reply(text(word));
    }
    scene.go().await;
    let requests = scene.server.requests();
    let order: Vec<_> =
        requests[1..7].iter().map(|request| request.agent.as_deref().unwrap()).collect();
    assert_eq!(order, words);
    scene.server.finish();
}

#[tokio::test]
async fn on_limit_error_refuses_a_foreground_call_too() {
    let scene = scene("max_concurrent_agents = 1\non_limit = \"error\"");
    scene.parent_calls(["CHILD-A", "CHILD-B"].map(agent));
    scene.server.when("CHILD-A").reply(text("from A").gate("held"));
    let running = scene.run().start();
    running.printed("`max_concurrent_agents` is 1", 1).await;
    scene.server.open("held");
    running.wait().await.assert_code(0);
    let results = scene.server.requests_of(PARENT)[1].tool_results();
    assert_eq!(results[0].text, "from A");
    assert_over(&results[1], "max_concurrent_agents", 1, 1);
    assert_eq!(scene.server.requests_of("CHILD-B").len(), 0);
    scene.server.finish();
}

#[tokio::test]
async fn on_limit_queue_lets_a_spawn_wait_and_counts_it() {
    let scene = scene("max_concurrent_agents = 1\non_limit = \"queue\"");
    let script = scene.server.when(PARENT).reply(spawns(["CHILD-A", "CHILD-B"]));
    script.then(tool_use("agent_list", json!({}))).forever(text(DONE));
    scene.server.when("CHILD-A").reply(text("ok").gate("held"));
    scene.server.when("CHILD-B").reply(text("ok"));
    let running = scene.run().start();
    let requests = scene.server.wait_for_of(PARENT, 3).await;
    let states: Vec<_> =
        requests[1].tool_results().iter().map(|it| answer(it)["state"].clone()).collect();
    assert_eq!(states, ["running", "queued"]);
    let list = answer(&requests[2].tool_result());
    assert_eq!((&list["running_count"], &list["queued_count"]), (&json!(1), &json!(1)), "{list}");
    assert_eq!(scene.server.requests_of("CHILD-B").len(), 0);
    scene.server.open("held");
    running.wait().await.assert_code(0);
    assert_eq!(scene.server.requests_of("CHILD-B").len(), 1);
    scene.server.finish();
}

#[tokio::test]
async fn what_is_cancelled_in_the_queue_never_starts_and_the_slots_are_all_there() {
    let scene = scene("max_concurrent_agents = 1\non_limit = \"queue\"");
    let cancel = |which: usize| {
        dynamic(move |request| tool_use("agent_cancel", json!({ "agent_id": ids(request)[which] })))
    };
    let script = scene.server.when(PARENT).reply(spawns(["CHILD-A", "CHILD-B", "CHILD-C"]));
    let again = Reply::stream().gate("B").tool_use("agent_spawn", task("CHILD-D"));
    script.then(cancel(2)).then(cancel(0)).then(again).forever(text(DONE));
    scene.server.when("CHILD-A").reply(text("half").stall());
    scene.server.when("CHILD-B").reply(text("from B").gate("B is held"));
    scene.server.when("CHILD-D").reply(text("from D"));
    let running = scene.run().start();
    scene.server.reached("B is held").await;
    assert_eq!(scene.server.requests_of("CHILD-C").len(), 0);
    scene.server.open("B is held");
    scene.server.open("B");
    running.wait().await.assert_code(0);
    let requests = scene.server.requests_of(PARENT);
    let answers = [answer(&requests[2].tool_result()), answer(&requests[3].tool_result())];
    assert!(answers.iter().all(|it| it["success"] == true), "{answers:?}");
    assert_eq!(answers[0]["previous_state"], "queued");
    assert_eq!(scene.server.requests_of("CHILD-C").len(), 0, "it never started");
    assert_eq!(scene.world.child_transcripts().len(), 3, "nor left a file");
    scene.server.finish();
}

#[tokio::test]
async fn the_one_that_is_cancelled_on_the_screen_leaves_the_queue() {
    let scene = scene("max_concurrent_agents = 1");
    let script =
        scene.server.when(PARENT).reply(calls(["CHILD-A", "CHILD-B", "CHILD-C"].map(agent)));
    script.then(text(DONE));
    for word in ["CHILD-A", "CHILD-B"] {
        scene.server.when(word).reply(text(format!("TEXT-{word}")).gate(word));
    }
    let args = ["--dangerously-skip-permissions", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 120, 40);
    scene.server.reached("CHILD-A").await;
    screen.wait_for("queued");
    // The third pane, then the first.
    screen.keys("\x1b3");
    screen.keys(CTRL_C);
    screen.wait_for("cancelled before it started");
    // In the list, since a key that has just cancelled is deaf for a while.
    screen.keys("/agents");
    screen.wait_for("/agents");
    screen.keys(ENTER);
    screen.wait_until("the one at work in the list", |shown| {
        let is_chosen = |line: &str| line.contains(" ▸ ") && line.contains("general-purpose-1");
        shown.contains("x cancel") && shown.lines().any(is_chosen)
    });
    screen.keys("x");
    scene.server.reached("CHILD-B").await;
    screen.keys(ESC);
    screen.wait_gone("Esc closes");
    scene.server.open("CHILD-B");
    screen.wait_for(DONE);
    let results = scene.server.requests_of(PARENT)[1].tool_results();
    assert!(results[0].is_error && results[0].text.contains("TEXT-CHILD-A"), "{results:?}");
    assert_eq!((results[1].text.as_str(), results[1].is_error), ("TEXT-CHILD-B", false));
    assert!(results[2].text.contains("cancelled before it started"), "{results:?}");
    assert_eq!(scene.server.requests_of("CHILD-C").len(), 0);
    scene.server.finish();
}

#[tokio::test]
async fn three_levels_with_one_slot_and_one_place_at_work_come_to_an_end() {
    let scene = scene("max_depth = 3\nmax_concurrent_agents = 1\nmax_concurrent_ops = 1");
    scene.parent_calls([agent("CHILD-A"), agent("CHILD-D")]);
    scene.server.when("CHILD-A").reply(calls([agent("CHILD-B")])).then(text("from A"));
    scene.server.when("CHILD-B").reply(calls([agent("CHILD-C")])).then(text("from B"));
    let work = tool_use("Bash", bash("true")).tool_use("Bash", bash("true"));
    scene.server.when("CHILD-C").reply(work).then(text("from C"));
    scene.server.when("CHILD-D").reply(text("from D"));
    scene.go().await;
    let results = scene.server.requests_of(PARENT)[1].tool_results();
    let texts: Vec<_> = results.iter().map(|result| result.text.as_str()).collect();
    assert_eq!(texts, ["from A", "from D"]);
    scene.server.finish();
}

#[tokio::test]
async fn a_parent_that_waits_for_a_spawned_agent_lends_it_its_slot() {
    let scene = scene("max_depth = 2\nmax_concurrent_agents = 1\non_limit = \"queue\"");
    scene.parent_calls([agent("CHILD-A")]);
    let wait = dynamic(|request| tool_use("agent_wait", json!({ "agent_id": ids(request)[0] })));
    scene.server.when("CHILD-A").reply(spawns(["CHILD-B"])).then(wait).then(text("from A"));
    scene.server.when("CHILD-B").reply(text("from B"));
    scene.go().await;
    let told = answer(&scene.server.requests_of("CHILD-A")[2].tool_result());
    assert_eq!((&told["state"], &told["output"]), (&json!("completed"), &json!("from B")));
    scene.server.finish();
}

#[tokio::test]
async fn ending_an_agent_needs_no_place_at_work() {
    let scene = scene("max_concurrent_ops = 2");
    let fifo = scene.world.project_dir().join("go.fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    // One place is the agent's, whose answer never ends, the other the command's.
    let both = dynamic(|request| {
        let command = tool_use("Bash", bash("head -n 1 go.fifo"));
        command.tool_use("agent_cancel", json!({ "agent_id": ids(request)[0] }))
    });
    scene.server.when(PARENT).reply(spawns(["CHILD-A"])).then(both).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("half").stall());
    let running = scene.run().start();
    assert_eq!(scene.server.ended("CHILD-A").await.0, StreamEnd::ClosedByClient);
    // Opened for both directions it never waits for the other side.
    let mut pipe = std::fs::OpenOptions::new().read(true).write(true).open(&fifo).unwrap();
    pipe.write_all(b"go\n").unwrap();
    running.wait().await.assert_code(0);
    let results = scene.server.requests_of(PARENT)[2].tool_results();
    assert_eq!(answer(&results[1])["success"], true);
    scene.server.finish();
}
