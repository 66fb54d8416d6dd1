//! US dollars and tokens.

use serde_json::{Value, json};

use super::{TOY, priced, scene_with_prices};
use crate::support::client::{ARGS, Client};
use crate::support::pty::Screen;
use crate::support::record::StreamEnd;
use crate::support::run::Finished;
use crate::support::scene::{DONE, PARENT, Scene, agent, agent_with, bash, calls};
use crate::support::script::{Reply, error, text, tool_use};

/// What tests of sums of prices may be off by.
const DUST: f64 = 1e-9;

async fn run(scene: &Scene, cap: &str) -> Finished {
    scene.run().args(["--model", TOY, "--max-budget-usd", cap]).finish().await
}

fn total(run: &Finished) -> f64 {
    run.result()["total_cost_usd"].as_f64().unwrap()
}

/// A call of a child, and a thousand tokens of answer around it.
fn dear_call() -> Reply {
    tool_use("Bash", bash("true")).usage(100, 1000)
}

#[tokio::test]
async fn a_child_may_spend_what_its_parent_has_left() {
    let scene = scene_with_prices(0.0, 100.0);
    scene.server.when(PARENT).reply(calls([agent("CHILD-A")]).usage(100, 4000));
    scene.server.when("CHILD-A").forever(dear_call());
    let run = run(&scene, "1.00").await;
    run.assert_code(5);
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 6, "0.60 at 0.10 each");
    assert_eq!(scene.server.requests_of(PARENT).len(), 1, "nothing is left to report to");
    assert_eq!(run.result()["subtype"], "error_max_budget_usd");
    assert!((total(&run) - 1.0).abs() < DUST, "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_child_stops_between_two_requests_and_the_first_one_over_is_not_sent() {
    let scene = scene_with_prices(0.0, 100.0);
    scene.server.when(PARENT).reply(calls([agent("CHILD-A")]).usage(100, 0));
    scene.server.when("CHILD-A").forever(dear_call());
    let run = run(&scene, "0.30").await;
    run.assert_code(5);
    let requests = scene.server.requests_of("CHILD-A");
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(|request| matches!(request.end, Some((StreamEnd::Whole, _)))));
    assert!(requests.iter().all(|request| request.offers_tools()), "no request for a summary");
    assert!(run.stdout.contains("$0.30"), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_session_that_goes_on_counts_what_a_nested_agent_has_spent_once() {
    let scene = scene_with_prices(0.0, 100.0);
    scene.world.config("[subagents]\nmax_depth = 2\n");
    scene
        .server
        .when(PARENT)
        .reply(calls([agent("CHILD-A")]).usage(100, 0))
        .then(text(DONE).usage(1, 0));
    let child = scene.server.when("CHILD-A").reply(calls([agent("CHILD-B")]).usage(100, 0));
    child.then(text("ok").usage(1, 0));
    scene.server.when("CHILD-B").reply(text("ok").usage(100, 3000));
    let first = scene.run().args(["--model", TOY]).finish().await;
    first.assert_code(0);
    assert!((0.30..0.31).contains(&total(&first)), "{first}");
    scene.server.when(PARENT).reply(text("MORE").usage(1, 0));
    for (cap, code) in [("0.30", 5), ("0.45", 0)] {
        let args = ["-c", "-p", "go on", "--model", TOY, "--max-budget-usd", cap];
        scene.world.run(args).finish().await.assert_code(code);
    }
    scene.server.finish();
}

/// An answer of so many pieces of ten tokens each, and usage that says so.
fn pieces(count: u64) -> Reply {
    let piece = "x".repeat(40);
    (0..count).fold(text("").gate("held"), |reply, _| reply.more(&piece)).usage(100, count * 10)
}

#[tokio::test]
async fn of_five_children_of_030_with_100_left_two_wait_until_the_others_have_settled() {
    let scene = scene_with_prices(0.0, 300.0);
    let words = ["CHILD-A", "CHILD-B", "CHILD-C", "CHILD-D", "CHILD-E"];
    scene.server.when(PARENT).reply(calls(words.map(agent)).usage(100, 0)).then(text(DONE));
    // Each may cost 0.30, and costs 0.15.
    for word in words {
        scene.server.when(word).forever(pieces(50));
    }
    let cap = ["--model", TOY, "--max-budget-usd", "1.00"];
    let running = scene.run().args(cap).start();
    scene.server.reached_by("held", 3).await;
    assert_eq!(scene.server.requests().len(), 1 + 3, "nothing is sent that is not paid for");
    scene.server.open("held");
    let run = running.wait().await;
    run.assert_code(0);
    assert_eq!(run.result()["result"], DONE);
    let results = scene.server.requests_of(PARENT)[1].tool_results();
    assert_eq!(results.iter().filter(|result| !result.is_error).count(), 5, "{results:?}");
    assert!((0.75..0.76).contains(&total(&run)), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn children_that_waited_are_told_when_the_money_is_spent() {
    let scene = scene_with_prices(0.0, 300.0);
    let words = ["CHILD-A", "CHILD-B", "CHILD-C", "CHILD-D", "CHILD-E"];
    scene.server.when(PARENT).reply(calls(words.map(agent)).usage(100, 0));
    // All that they may cost.
    for word in words {
        scene.server.when(word).forever(pieces(100));
    }
    let cap = ["--model", TOY, "--max-budget-usd", "1.00"];
    let running = scene.run().args(cap).start();
    scene.server.reached_by("held", 3).await;
    scene.server.open("held");
    let run = running.wait().await;
    run.assert_code(5);
    assert_eq!(scene.server.requests().len(), 1 + 4, "who is refused sends nothing");
    let ends: Vec<_> =
        run.frames().into_iter().filter(|frame| frame["subtype"] == "task_notification").collect();
    let done = ends.iter().filter(|end| end["status"] == "completed").count();
    assert_eq!((ends.len(), done), (5, 3), "{run}");
    // The fourth is lent the rest, and is cut where that ends.
    assert!(total(&run) <= 1.0 + 0.003 + DUST, "s4_4: {run}");
    scene.server.finish();
}

#[tokio::test]
async fn main_waits_for_what_an_agent_in_the_background_has_reserved() {
    let scene = scene_with_prices(0.0, 300.0);
    scene.world.config("[subagents]\nfaces = [\"agent\", \"lifecycle\"]\n");
    let spawn = tool_use("agent_spawn", json!({ "prompt": "CHILD-A look around" }));
    let main = scene.server.when(PARENT).reply(spawn.usage(100, 0));
    main.then(text("FIRST-77").usage(100, 1)).then(text(DONE).usage(100, 1));
    scene.server.when("CHILD-A").reply(text("REPORT-A").gate("held").usage(100, 10));
    // One request at a time is all that the budget has room for.
    let running = scene.run().args(["--model", TOY, "--max-budget-usd", "0.31"]).start();
    scene.server.reached("held").await;
    scene.server.open("held");
    let run = running.wait().await;
    run.assert_code(0);
    assert_eq!(run.result()["result"], DONE, "{run}");
    let last = scene.server.requests_of(PARENT).pop().unwrap();
    assert!(last.text().contains("REPORT-A"), "whoever came second was not refused");
    scene.server.finish();
}

#[tokio::test]
async fn a_wait_for_reserved_money_ends_with_the_run() {
    let scene = scene_with_prices(0.0, 300.0);
    scene.server.when(PARENT).reply(calls([agent("CHILD-A"), agent("CHILD-B")]).usage(100, 0));
    for word in ["CHILD-A", "CHILD-B"] {
        scene.server.when(word).forever(text("ok").gate("held").usage(100, 10));
    }
    let running = scene.run().args(["--model", TOY, "--max-budget-usd", "0.31"]).start();
    scene.server.reached("held").await;
    running.signal(nix::sys::signal::Signal::SIGINT);
    let run = running.wait().await;
    run.assert_code(130);
    assert_eq!(scene.server.requests().len(), 2);
    assert_eq!(run.result()["error_kind"], "cancelled", "{run}");
}

#[tokio::test]
async fn an_agent_that_waits_for_reserved_money_can_be_stopped_alone() {
    let scene = scene_with_prices(0.0, 300.0);
    let main = scene.server.when(PARENT);
    main.reply(calls([agent("CHILD-A"), agent("CHILD-B")]).usage(100, 0))
        .then(text(DONE).usage(100, 1));
    for word in ["CHILD-A", "CHILD-B"] {
        scene.server.when(word).forever(text("REPORT-1").gate("held").usage(100, 10));
    }
    // One request at a time is all that the budget has room for.
    let run = scene.world.run(ARGS).args(["--model", TOY, "--max-budget-usd", "0.31"]);
    let mut client = Client::start(run);
    client.initialize(json!({})).await.unwrap();
    client.prompt(PARENT);
    let mut tasks = Vec::new();
    for _ in 0..2 {
        tasks.push(client.frame(|frame| frame["subtype"] == "task_started").await);
    }
    scene.server.reached("held").await;
    let at_work = scene.server.requests()[1].text();
    let waits = |task: &&Value| !at_work.contains(task["prompt"].as_str().unwrap());
    let waiting = tasks.iter().find(waits).unwrap()["task_id"].clone();
    client.request(json!({ "subtype": "stop_task", "task_id": waiting })).await.unwrap();
    let ended = client.frame(|frame| frame["subtype"] == "task_notification").await;
    assert_eq!((&ended["task_id"], &ended["status"]), (&waiting, &json!("stopped")));
    assert_eq!(scene.server.requests().len(), 2, "the other one still streams");
    scene.server.open("held");
    assert_eq!(client.result().await["result"], DONE);
    client.close().await.assert_code(0);
    assert_eq!(scene.server.requests_of(PARENT).len(), 2);
}

#[tokio::test]
async fn a_stream_is_closed_where_the_money_ends_and_its_text_is_kept() {
    // A tenth of a cent a token, which is four characters: a piece costs a cent.
    let scene = scene_with_prices(0.0, 1000.0);
    let piece = |number: u32| format!("{:-<40}", format!("piece {number:02} "));
    let long = (1..=30).fold(Reply::stream().text(""), |reply, number| reply.more(piece(number)));
    scene.server.when(PARENT).reply(long.stall().usage(100, 1));
    let run = run(&scene, "0.05").await;
    run.assert_code(5);
    let result = run.result();
    assert_eq!(
        (&result["subtype"], &result["is_error"]),
        (&json!("error_max_budget_usd"), &json!(true))
    );
    let said = result["result"].as_str().unwrap();
    assert!(said.contains(&piece(6)) && !said.contains(&piece(7)), "{said}");
    assert!((total(&run) - 0.06).abs() < DUST, "one piece over the cap, and it is counted: {run}");
    assert_eq!(scene.server.ended(PARENT).await.0, StreamEnd::ClosedByClient);
    let stored = std::fs::read_to_string(scene.world.session().join("transcript.jsonl")).unwrap();
    assert!(stored.contains(&piece(6)), "{stored}");
    scene.server.finish();
}

#[tokio::test]
async fn while_there_is_money_a_stream_may_cost_more_than_was_thought() {
    let scene = scene_with_prices(1000.0, 1000.0);
    // A thousand times the input that anybody would have estimated.
    scene.server.when(PARENT).reply(text(DONE).usage(90_000, 10));
    let run = run(&scene, "100").await;
    run.assert_code(0);
    assert!((total(&run) - 90.01).abs() < DUST, "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn what_a_cut_stream_used_is_estimated_when_its_figures_never_came() {
    let scene = Scene::on_chat();
    priced(&scene, 1.0, 1.0);
    scene.server.when(PARENT).reply(text("x".repeat(400)).cut()).then(text(DONE).usage(100, 10));
    let run = scene.run().args(["--model", TOY]).finish().await;
    run.assert_code(0);
    let usage = &run.result()["modelUsage"][TOY];
    assert_eq!(usage["outputTokens"], 100 + 10, "{run}");
    assert!(usage["inputTokens"].as_u64().unwrap() > 100 + 100, "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn the_total_is_the_sum_of_all_requests_and_counts_each_once() {
    let scene = scene_with_prices(1.0, 10.0);
    let parent = calls([agent("CHILD-A"), agent("CHILD-B")]);
    scene.server.when(PARENT).reply(parent.usage(1000, 100)).then(text(DONE).usage(2000, 10));
    let failed = Reply::stream().error_event("overloaded_error", "for now").usage(300, 0);
    scene.server.when("CHILD-A").reply(failed).then(text("a").usage(300, 20).cache(5000, 600));
    let refused = error(529, "overloaded_error", "for now");
    scene.server.when("CHILD-B").reply(refused).then(text("b").usage(400, 30));
    let run = run(&scene, "5").await;
    run.assert_code(0);
    let usage = &run.result()["modelUsage"][TOY];
    let sums = ["inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"]
        .map(|name| usage[name].as_u64().unwrap());
    // The answer that failed had begun, which is one token; the refused one had not.
    assert_eq!(sums, [1000 + 2000 + 300 + 300 + 400, 100 + 10 + 1 + 20 + 30, 5000, 600]);
    let usd = (4000.0 + 5000.0 + 600.0 + 161.0 * 10.0) / 1e6;
    assert!((total(&run) - usd).abs() < DUST, "{usd}: {run}");
    let log = scene.world.log();
    let records = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let turns: Vec<_> =
        records.filter(|line| line.to_string().contains("turn_completed")).collect();
    assert_eq!(turns.len(), 5, "c15: one record a request\n{log}");
    scene.server.finish();
}

#[tokio::test]
async fn a_model_without_a_price_is_refused_at_start_when_there_is_a_cap() {
    let scene = Scene::new();
    let args = ["--model", "nobody-knows-1", "--max-budget-usd", "1"];
    let run = scene.run().args(args).finish().await;
    run.assert_code(2);
    assert!(run.stderr.contains("nobody-knows-1") && run.stderr.contains("models.toml"), "{run}");
    scene.world.config("[budget]\nmax_usd = 1.0\n");
    let screen = Screen::start(&scene.world, ["--model", "nobody-knows-1", "PARENT-1 go"], 120, 30);
    screen.wait_for("No price is known for nobody-knows-1");
    assert_eq!(scene.server.requests().len(), 0);
    scene.server.finish();
}

#[tokio::test]
async fn a_child_with_such_a_model_is_refused_and_its_parent_told() {
    let scene = scene_with_prices(0.0, 1.0);
    scene.parent_calls([agent_with("CHILD-A", "model", json!("nobody-knows-1"))]);
    let run = run(&scene, "1").await;
    run.assert_code(0);
    let result = scene.server.requests_of(PARENT)[1].tool_result();
    assert!(result.is_error && result.text.contains("nobody-knows-1"), "{result:?}");
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 0);
    scene.server.finish();
}
