//! What the catalogue says of models reaches the wire: efforts, room for answers, prices. And it
//! says what is so.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::record::{Recorded, Wire};
use crate::support::run::Finished;
use crate::support::scene::{PARENT, Scene, agent_with, bash};
use crate::support::script::{text, tool_use};
use crate::support::skip;

const BYPASS: &str = "--dangerously-skip-permissions";

/// Two requests to `model` on a wire: one that ends with a call, and the last one.
async fn two_turns(wire: Wire, model: &str, args: &[&str]) -> (Finished, Vec<Recorded>) {
    let scene = Scene::on(wire);
    scene.server.when("TASK-1").reply(tool_use("Bash", bash("echo one"))).then(text("ok"));
    let run = scene.world.run(["-p", "TASK-1", BYPASS, "--model", model]).args(args.to_vec());
    let run = run.finish().await;
    run.assert_code(0);
    let requests = scene.server.requests();
    scene.server.finish();
    (run, requests)
}

/// The places where the wires say how hard to think.
fn effort(request: &Recorded) -> Value {
    let body = &request.body;
    match request.wire {
        Wire::Anthropic => body["output_config"].clone(),
        Wire::Chat => body["reasoning_effort"].clone(),
        Wire::Responses => body["reasoning"].clone(),
        Wire::Gemini => body["generationConfig"]["thinkingConfig"]["thinkingLevel"].clone(),
    }
}

#[tokio::test]
async fn an_effort_that_the_model_lacks_is_left_out_and_said_once() {
    for (wire, model, word, takes) in [
        (Wire::Anthropic, "claude-haiku-4-5", "high", "none"),
        (Wire::Anthropic, "claude-sonnet-4-5-20250929", "low", "none"),
        (Wire::Anthropic, "claude-opus-4-5", "xhigh", "low, medium, high"),
        (Wire::Chat, "gpt-4.1", "high", "none"),
        (Wire::Responses, "gpt-4o", "high", "none"),
        (Wire::Gemini, "gemini-3.8-flash", "max", "low, medium, high"),
    ] {
        let (run, requests) = two_turns(wire, model, &["--effort", word]).await;
        assert_eq!(requests.len(), 2, "{model}");
        for request in &requests {
            assert_eq!(effort(request), Value::Null, "{model}: {}", request.body);
        }
        let notice = format!(
            "Effort \"{word}\" is not sent to {model}, which does not support it. Efforts of this model: {takes}."
        );
        assert_eq!(run.stderr.matches(&notice).count(), 1, "{model}: {run}");
    }
}

#[tokio::test]
async fn an_effort_that_the_model_takes_is_sent_without_a_word() {
    for (model, word) in [("claude-opus-4-5", "low"), ("claude-opus-5-5", "max")] {
        let (run, requests) = two_turns(Wire::Anthropic, model, &["--effort", word]).await;
        assert_eq!(requests[1].body["output_config"], json!({ "effort": word }));
        assert_eq!(run.stderr, "", "{model}");
    }
    let (run, requests) = two_turns(Wire::Anthropic, "house-model", &["--effort", "low"]).await;
    assert_eq!(
        requests[0].body["output_config"],
        json!({ "effort": "low" }),
        "nobody knows better"
    );
    assert_eq!(run.stderr, "");
}

#[tokio::test]
async fn gemini_2_5_takes_an_effort_as_a_budget() {
    for (word, budget) in [("low", 1_024), ("high", 24_576)] {
        let (run, requests) =
            two_turns(Wire::Gemini, "gemini-2.5-flash", &["--effort", word]).await;
        let thinking = &requests[1].body["generationConfig"]["thinkingConfig"];
        assert_eq!(*thinking, json!({ "includeThoughts": true, "thinkingBudget": budget }));
        assert_eq!(run.stderr, "");
    }
}

#[tokio::test]
async fn a_sub_agent_of_a_model_without_efforts_gets_none_of_the_session() {
    let scene = Scene::new();
    scene.parent_calls([agent_with("CHILD-A", "model", json!("claude-haiku-4-5"))]);
    scene.server.when("CHILD-A").reply(text("fine"));
    let run = scene.run().args(["--model", "claude-sonnet-5", "--effort", "high"]).finish().await;
    run.assert_code(0);
    let child = &scene.server.requests_of("CHILD-A")[0];
    assert_eq!((child.model(), effort(child)), ("claude-haiku-4-5", Value::Null));
    for request in scene.server.requests_of(PARENT) {
        assert_eq!(effort(&request), json!({ "effort": "high" }));
    }
    scene.server.finish();
}

#[tokio::test]
async fn each_model_gets_the_room_for_answers_that_it_has_unless_the_user_says_otherwise() {
    let room = async |model: &str, config: &str| {
        let scene = Scene::new();
        scene.world.config(config);
        scene.server.when("TASK-1").reply(text("ok"));
        scene.world.run(["-p", "TASK-1", "--model", model]).finish().await.assert_code(0);
        scene.server.requests()[0].body["max_tokens"].as_u64().unwrap()
    };
    assert_eq!(room("claude-opus-5-5", "").await, 64_000);
    assert_eq!(room("claude-haiku-4-5", "").await, 32_000);
    assert_eq!(room("house-model", "").await, 16_000);
    assert_eq!(room("claude-opus-5-5", "model.max_tokens = 5000\n").await, 5_000);
    assert_eq!(room("claude-haiku-4-5", "model.max_tokens = 500000\n").await, 64_000, "no more");
}

#[tokio::test]
async fn an_unknown_model_of_a_known_family_thinks_has_room_and_a_budget() {
    let scene = Scene::new();
    scene.server.when("TASK-1").reply(text("ok").usage(100_000, 10_000));
    let args = ["-p", "TASK-1", "--model", "claude-opus-9", "--output-format", "stream-json"];
    let run = scene.world.run(args).args(["--max-budget-usd", "5"]).finish().await;
    run.assert_code(0);
    let body = &scene.server.requests()[0].body;
    assert_eq!(body["thinking"]["type"], "adaptive", "{body}");
    assert_eq!(body["max_tokens"], 64_000, "{body}");
    let cost = run.result()["total_cost_usd"].as_f64().unwrap();
    assert!((cost - (0.5 + 0.25)).abs() < 1e-9, "counted at the most: {cost}");
    let notice = "No price is known for claude-opus-9. Its family costs $4 to $5";
    assert_eq!(run.stdout.matches(notice).count(), 1, "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_long_request_costs_what_long_requests_cost() {
    for (input, usd) in [(100_000, 0.0105), (100_001, 0.052_500_5)] {
        let scene = Scene::new();
        scene.server.when("TASK-1").reply(text("ok").usage(input, 1_000));
        let args = ["-p", "TASK-1", "--model", "haiku", "--output-format", "json"];
        let run = scene.world.run(args).finish().await;
        run.assert_code(0);
        let cost = run.result()["total_cost_usd"].as_f64().unwrap();
        assert!((cost - usd).abs() < 1e-9, "{input}: {cost}");
        scene.server.finish();
    }
}

/// The price table of the litellm package, where `.ci/run` has put it.
fn price_table() -> Option<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("target/price-table/litellm/model_prices_and_context_window_backup.json");
    let text = std::fs::read_to_string(path).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

/// What the table says of a model in the catalogue.
fn entry<'a>(table: &'a Value, model: &str) -> &'a Value {
    if model.starts_with("gemini") { &table[format!("gemini/{model}")] } else { &table[model] }
}

/// A price of the table per million tokens; without one for the cache, that of input.
fn usd(entry: &Value, kind: &str, length: &str) -> f64 {
    let price = |kind: &str| entry[format!("{kind}_cost_per_token{length}")].as_f64();
    let cached = |kind: &str| entry[format!("{kind}_input_token_cost{length}")].as_f64();
    let price = match kind {
        "cache_write" => cached("cache_creation").or_else(|| price("input")),
        "cache_read" => cached("cache_read").or_else(|| price("input")),
        kind => price(kind),
    };
    price.unwrap_or(-1.0) * 1e6
}

/// How an entry of the catalogue differs from one of the table.
fn differences(model: &str, own: &Value, entry: &Value) -> Vec<String> {
    let mut all = Vec::new();
    let mut differs = |what: &str, own: f64, other: f64| {
        if (own - other).abs() > 1e-6 {
            all.push(format!("{model} {what}: {own} here, {other} there"));
        }
    };
    let number = |value: &Value| value.as_f64().unwrap_or(-1.0);
    let long = own["price"].get("long");
    let above =
        long.map(|long| format!("_above_{}k_tokens", long["above"].as_u64().unwrap() / 1000));
    for kind in ["input", "output", "cache_write", "cache_read"] {
        differs(kind, number(&own["price"][kind]), usd(entry, kind, ""));
        if let (Some(long), Some(above)) = (long, &above) {
            differs(&format!("{kind}{above}"), number(&long[kind]), usd(entry, kind, above));
        }
    }
    let has_long = entry
        .as_object()
        .unwrap()
        .keys()
        .any(|key| key.starts_with("input_cost_per_token_above_") && key.ends_with("k_tokens"));
    differs("long", f64::from(u8::from(long.is_some())), f64::from(u8::from(has_long)));
    differs("max_output", number(&own["max_output"]), number(&entry["max_output_tokens"]));
    for word in ["none", "minimal", "xhigh", "max"] {
        let flag = &entry[format!("supports_{word}_reasoning_effort")];
        if let (Some(words), Some(flag)) = (own["effort"].as_array(), flag.as_bool()) {
            let listed = words.iter().any(|listed| listed == word);
            differs(word, f64::from(u8::from(listed)), f64::from(u8::from(flag)));
        }
    }
    all
}

#[test]
fn the_catalogue_agrees_with_a_public_price_table() {
    // Newer than the table's newest edition.
    const ABSENT: [&str; 1] = ["claude-fable-5-2"];
    let Some(table) = price_table() else {
        skip(
            "the_catalogue_agrees_with_a_public_price_table",
            "the price table is not installed, .ci/run does that",
        );
        return;
    };
    let text = include_str!("../../config/models.toml");
    let catalogue: Value = toml::from_str(text).unwrap();
    let mut wrong = Vec::new();
    for (model, own) in catalogue["models"].as_object().unwrap() {
        match entry(&table, model) {
            Value::Null if ABSENT.contains(&model.as_str()) => {}
            Value::Null => wrong.push(format!("{model}: not in the table")),
            entry => wrong.extend(differences(model, own, entry)),
        }
    }
    for (model, entry) in table.as_object().unwrap() {
        let is_claude = entry["litellm_provider"] == "anthropic" && model.starts_with("claude-");
        let base = model.rsplit_once('-').filter(|(_, date)| date.len() == 8);
        let base = base.map_or(model.as_str(), |(name, _)| name);
        if is_claude && catalogue["models"].get(base).is_none() {
            wrong.push(format!("{model}: not in the catalogue"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
