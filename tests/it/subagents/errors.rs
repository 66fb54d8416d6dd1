//! What the failures of a child's provider come to: a soft result that says what failed, and a
//! parent that goes on.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::{after_calls, frames_of};
use crate::support::record::{StreamEnd, ToolResult};
use crate::support::run::Finished;
use crate::support::scene::{DONE, PARENT, Scene, agent, agent_with, bash, calls};
use crate::support::script::{Reply, error, text, tool_use};

/// One more try, and a second of silence at most.
const IMPATIENT: &str = "[providers.anthropic]\nmax_retries = 1\nidle_timeout_s = 1\n";

/// A run whose one child gets this answer to every request: what its parent reads, and the run.
async fn child_gets(scene: &Scene, answer: Reply) -> (ToolResult, Finished) {
    scene.world.config(IMPATIENT);
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").forever(answer);
    let run = scene.go().await;
    assert_eq!(run.result()["result"], DONE, "the parent goes on");
    (after_calls(scene).tool_result(), run)
}

/// The structured side of the one child's result.
fn report(run: &Finished) -> Value {
    let frames = frames_of(run, "user");
    let mut reports = frames.iter().map(|frame| &frame["tool_use_result"]);
    reports.find(|report| report["agentId"].is_string()).unwrap().clone()
}

#[track_caller]
fn assert_failed(result: &ToolResult, run: &Finished, failure: &str, words: &str) {
    assert!(result.is_error && result.blocks == 1, "{result:?}");
    assert!(result.text.contains("failed") && result.text.contains(words), "{result:?}");
    let report = report(run);
    assert_eq!(report["status"], "failed");
    assert_eq!(report["end"]["failure"], failure, "{report}");
    assert_eq!(frames_of(run, "system/task_notification")[0]["status"], "failed");
}

#[tokio::test]
async fn a_rate_limit_that_outlasts_the_retries_is_a_failed_result() {
    let scene = Scene::new();
    let limited = error(429, "rate_limit_error", "slow down").header("retry-after", "0");
    let (result, run) = child_gets(&scene, limited).await;
    assert_failed(&result, &run, "rate_limit", "rate limit");
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 2);
    scene.server.finish();
}

#[tokio::test]
async fn a_silent_stream_is_a_failed_result() {
    for silent in [text("half").stall(), text("x").before_headers("never")] {
        let scene = Scene::new();
        let (result, run) = child_gets(&scene, silent).await;
        assert_failed(&result, &run, "timeout", "timeout");
        assert_eq!(scene.server.ended("CHILD-A").await.0, StreamEnd::ClosedByClient);
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_provider_that_is_down_is_a_failed_result() {
    for (answer, failure, words) in [
        (error(500, "api_error", "oops"), "overloaded", "overloaded"),
        (error(503, "api_error", "oops"), "overloaded", "overloaded"),
        (error(529, "overloaded_error", "busy"), "overloaded", "overloaded"),
        (text("the fi").cut(), "connection", "no connection"),
    ] {
        let scene = Scene::new();
        let (result, run) = child_gets(&scene, answer).await;
        assert_failed(&result, &run, failure, words);
        assert_eq!(scene.server.requests_of("CHILD-A").len(), 2, "{failure}: tried again once");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_context_that_is_too_long_is_a_failed_result_without_a_second_try() {
    let scene = Scene::new();
    let message = "prompt is too long: 210000 tokens > 200000 maximum";
    let (result, run) = child_gets(&scene, error(400, "invalid_request_error", message)).await;
    assert_failed(&result, &run, "context_full", "context full");
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 1);
    scene.server.finish();
}

#[tokio::test]
async fn a_request_that_is_refused_is_a_failed_result_without_a_second_try() {
    let scene = Scene::new();
    let answer = error(400, "invalid_request_error", "the moon is full");
    let (result, run) = child_gets(&scene, answer).await;
    assert_failed(&result, &run, "bad_request", "the moon is full");
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 1);
    scene.server.finish();
}

#[tokio::test]
async fn the_words_of_a_failing_server_are_never_the_childs_findings() {
    let scene = Scene::new();
    let answer = error(400, "invalid_request_error", "FOUND-77 in src/main.rs");
    let (result, _) = child_gets(&scene, answer).await;
    let lines: Vec<_> = result.text.lines().collect();
    assert_eq!(lines.len(), 1, "{result:?}");
    assert!(
        lines[0].starts_with('[') && lines[0].ends_with(']'),
        "all of it is the flag: {result:?}"
    );
    assert!(lines[0].contains("no final text"), "{result:?}");
    scene.server.finish();
}

#[tokio::test]
async fn a_parent_can_try_again_with_a_simpler_task() {
    let scene = Scene::new();
    let simpler = agent_with("CHILD-B", "description", json!("only one file"));
    scene.parent_calls_in_turn([agent("CHILD-A"), simpler]);
    let message = "prompt is too long: 210000 tokens > 200000 maximum";
    scene.server.when("CHILD-A").reply(error(400, "invalid_request_error", message));
    scene.server.when("CHILD-B").reply(text("the finding"));
    let run = scene.go().await;
    assert_eq!(run.result()["is_error"], false);
    let requests = scene.server.requests_of(PARENT);
    assert!(requests[1].tool_result().is_error);
    let second = requests[2].tool_result();
    assert_eq!((second.text.as_str(), second.is_error), ("the finding", false));
    scene.server.finish();
}

#[tokio::test]
async fn failures_speak_the_words_that_there_are() {
    let scene = Scene::new();
    let (_, run) = child_gets(&scene, error(500, "api_error", "oops")).await;
    let words: BTreeSet<String> = run
        .frames()
        .iter()
        .map(|frame| {
            let word = |name: &str| frame[name].as_str().unwrap_or_default().to_owned();
            format!("{}/{}", word("type"), word("subtype"))
        })
        .collect();
    let known = [
        "assistant/",
        "user/",
        "result/success",
        "system/init",
        "system/api_retry",
        "system/task_started",
        "system/task_updated",
        "system/task_notification",
    ];
    let unknown: Vec<_> = words.iter().filter(|word| !known.contains(&word.as_str())).collect();
    assert_eq!(unknown, Vec::<&String>::new());
    assert_eq!(run.result()["stop_reason"], "end_turn");
    let status = &frames_of(&run, "system/task_notification")[0]["status"];
    assert!(["completed", "failed", "stopped"].iter().any(|word| status == word), "{status}");
    scene.server.finish();
}

#[tokio::test]
async fn a_silent_child_is_given_up_and_its_slot_is_free() {
    let scene = Scene::new();
    let one_at_a_time = "[subagents]\nmax_concurrent_agents = 1\n[providers.anthropic]\n\
                         max_retries = 0\nidle_timeout_s = 1\n";
    scene.world.config(one_at_a_time);
    scene.parent_calls([agent("CHILD-A"), agent("CHILD-B")]);
    scene.server.when("CHILD-A").reply(text("half").stall());
    scene.server.when("CHILD-B").reply(text("from B"));
    scene.go().await;
    let results = after_calls(&scene).tool_results();
    assert!(results[0].is_error && results[0].text.contains("timeout"), "{results:?}");
    assert!(results[0].text.starts_with("half"), "the partial text is kept: {results:?}");
    assert_eq!((results[1].text.as_str(), results[1].is_error), ("from B", false));
    let (silent, next) =
        (&scene.server.requests_of("CHILD-A")[0], &scene.server.requests_of("CHILD-B")[0]);
    assert!(silent.index < next.index, "the first call has the first slot");
    // The client's second of silence begins a little before the server has noted the request.
    let waited = next.arrived - silent.arrived;
    assert!(waited >= Duration::from_millis(800), "it waited for the slot, and not {waited:?}");
    scene.server.finish();
}

#[tokio::test]
async fn usage_is_counted_once_on_both_wires() {
    // Chat completions do not tell what was written to the cache: it is input.
    for (scene, model, input, written) in
        [(Scene::new(), "claude-sonnet-5", 600, 20), (Scene::on_chat(), "gpt-5.5", 620, 0)]
    {
        let failed = || error(500, "api_error", "oops");
        let call = || calls([agent("CHILD-A")]).usage(100, 10);
        scene.server.when(PARENT).reply(failed()).then(call()).then(text(DONE).usage(200, 20));
        let answer = text("from A").usage(300, 30).cache(50, 20);
        scene.server.when("CHILD-A").reply(failed()).then(answer);
        let run = scene.go().await;
        let result = run.result();
        let own = &result["usage"];
        assert_eq!((&own["input_tokens"], &own["output_tokens"]), (&json!(300), &json!(30)));
        let tree = &result["modelUsage"][model];
        let of_tree = [
            ("inputTokens", input),
            ("outputTokens", 60),
            ("cacheReadInputTokens", 50),
            ("cacheCreationInputTokens", written),
        ];
        for (field, expected) in of_tree {
            assert_eq!(tree[field], expected, "{model}: {field}");
        }
        assert_eq!(report(&run)["usage"]["cache_read_input_tokens"], 50, "{model}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn an_attempt_that_broke_off_is_paid_for_once() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    let torn = text("half").usage(40, 5).cut();
    scene.server.when("CHILD-A").reply(torn).then(text("whole").usage(300, 30));
    let run = scene.run().args(["--model", "claude-sonnet-5"]).finish().await;
    run.assert_code(0);
    let usage = &report(&run)["usage"];
    let counted = (usage["input_tokens"].clone(), usage["output_tokens"].clone());
    assert_eq!(counted, (json!(340), json!(31)), "what the broken answer had told by then");
    let tree = &run.result()["modelUsage"]["claude-sonnet-5"];
    assert_eq!(tree["inputTokens"], 540, "two answers of the parent's at 100 beside it");
    scene.server.finish();
}

/// The fields of a request and of all that it holds, as paths, with the kinds of its blocks. What a
/// tool takes is its own matter.
fn shape(value: &Value, path: &str, fields: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                let path = format!("{path}.{name}");
                match name.as_str() {
                    "type" | "role" => fields.insert(format!("{path}={value}")),
                    _ => fields.insert(path.clone()),
                };
                if !["input", "input_schema", "parameters"].contains(&name.as_str()) {
                    shape(value, &path, fields);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| shape(item, path, fields)),
        _ => {}
    }
}

#[tokio::test]
async fn requests_have_the_same_fields_with_and_without_delegation() {
    for make in [Scene::new, Scene::on_chat] {
        let fields = async |config: &str, call: Reply| {
            let scene = make();
            scene.world.config(config);
            scene.server.when(PARENT).reply(call).then(text(DONE));
            if !config.contains("enabled = false") {
                let work = tool_use("Bash", bash("true"));
                scene.server.when("CHILD-A").reply(work).then(text("ok"));
            }
            scene.go().await;
            let mut fields = BTreeSet::new();
            for request in scene.server.requests() {
                shape(&request.body, "", &mut fields);
            }
            scene.server.finish();
            fields
        };
        let off = fields("[subagents]\nenabled = false\n", tool_use("Bash", bash("true"))).await;
        let on = fields("", calls([agent("CHILD-A")])).await;
        assert!(off.len() > 10, "{off:?}");
        assert_eq!(on, off);
    }
}
