//! One table of what every wire must do; each test runs over all of them.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::support::pty::Screen;
use crate::support::record::{Recorded, StreamEnd, Wire};
use crate::support::run::Finished;
use crate::support::scene::{Scene, bash};
use crate::support::script::{Reply, error, html, text, thinking, tool_use};
use crate::support::world::KEY;

const BYPASS: &str = "--dangerously-skip-permissions";

/// Runs `test` on each wire, all at once.
async fn on_each_wire(test: impl AsyncFn(Scene, Wire)) {
    join_all(Wire::ALL.map(|wire| test(Scene::on(wire), wire))).await;
}

async fn run_json(scene: &Scene) -> Finished {
    scene.world.run(["-p", "TASK-1", "--output-format", "json", BYPASS]).finish().await
}

#[tokio::test]
async fn text_is_shown_as_it_comes() {
    for wire in Wire::ALL {
        let scene = Scene::on(wire);
        scene.server.when("TASK-1").reply(text("FIRST-77").gate("rest").more(" and SECOND-88"));
        let screen = Screen::start(&scene.world, ["TASK-1"], 100, 30);
        let shown = screen.wait_for("FIRST-77");
        assert!(!shown.contains("SECOND-88"), "{wire:?}: {shown}");
        scene.server.open("rest");
        screen.wait_for("FIRST-77 and SECOND-88");
        scene.server.finish();
    }
}

#[tokio::test]
async fn several_calls_of_one_answer_run_at_once_and_are_answered_in_call_order() {
    on_each_wire(async |scene, wire| {
        let wait = "while [ ! -e go ]; do sleep 0.02; done; echo LATE-1";
        let batch = text("I do three things.")
            .tool_use("Bash", bash(wait))
            .tool_use("Bash", bash("touch go; echo SOON-2"))
            .tool_use("Bash", bash("exit 3"));
        scene.server.when("TASK-1").reply(batch).then(text("done"));
        let run = run_json(&scene).await;
        run.assert_code(0);
        let results = scene.server.requests()[1].tool_results();
        assert_eq!(results.len(), 3, "{wire:?}: {results:?}");
        assert!(results[0].text.contains("LATE-1"), "{wire:?}: {results:?}");
        assert!(results[1].text.contains("SOON-2"), "{wire:?}: {results:?}");
        assert!(results[2].text.contains('3'), "{wire:?}: {results:?}");
        scene.server.finish();
    })
    .await;
}

#[tokio::test]
async fn thoughts_are_kept_and_echoed_through_a_loop_of_several_rounds() {
    on_each_wire(async |scene, wire| {
        if wire == Wire::Chat {
            // This wire has no thoughts that could be given back.
            return;
        }
        let round = |n: u32| {
            thinking(&format!("thought {n}"), &format!("sigs0{n}AA"))
                .text(format!("step {n}"))
                .tool_use("Bash", bash(&format!("echo {n}")))
                .tool_use("Bash", bash("true"))
        };
        let last = thinking("the last thought", "sigs04AA").text("ok");
        scene.server.when("TASK-1").reply(round(1)).then(round(2)).then(round(3)).then(last);
        run_json(&scene).await.assert_code(0);
        // The server looks at each place where a thought must stand; here is that they are there at all.
        let request = scene.server.requests().pop().unwrap();
        assert!(request.text().contains("sigs03AA"), "{wire:?}: {}", request.body);
        scene.server.finish();
    })
    .await;
}

#[tokio::test]
async fn thoughts_survive_the_end_of_the_session() {
    on_each_wire(async |scene, wire| {
        if wire == Wire::Chat {
            return;
        }
        let first = thinking("hm", "sigs01AA").tool_use("Bash", bash("echo one"));
        let last = thinking("so", "sigs02AA").text("ok");
        scene.server.when("TASK-1").reply(first).then(last).then(text("again"));
        run_json(&scene).await.assert_code(0);
        let run = scene.world.run(["-c", "-p", "and on", BYPASS]).finish().await;
        run.assert_code(0);
        let request = scene.server.requests().pop().unwrap();
        for signature in ["sigs01AA", "sigs02AA"] {
            assert!(request.text().contains(signature), "{wire:?}: {}", request.body);
        }
        scene.server.finish();
    })
    .await;
}

#[tokio::test]
async fn usage_cache_reads_and_cost_are_counted() {
    on_each_wire(async |scene, wire| {
        scene.world.models(
            "[models.priced]\nprice = { input = 1, output = 10, cache_write = 2, cache_read = 0.5 }\n",
        );
        let reply = text("ok").usage(200_000, 30_000).cache(100_000, 50_000);
        scene.server.when("TASK-1").reply(reply);
        let args = ["-p", "TASK-1", "--output-format", "json", "--model", "priced"];
        let run = scene.world.run(args).finish().await;
        run.assert_code(0);
        let result = run.result();
        let usage = |name: &str| result["usage"][name].as_u64().unwrap();
        // Two wires do not tell what was written to the cache.
        let (input, written) = match wire {
            Wire::Anthropic | Wire::Responses => (200_000, 50_000),
            Wire::Chat | Wire::Gemini => (250_000, 0),
        };
        assert_eq!(usage("input_tokens"), input, "{wire:?}: {result}");
        assert_eq!(usage("cache_creation_input_tokens"), written, "{wire:?}: {result}");
        assert_eq!(usage("cache_read_input_tokens"), 100_000, "{wire:?}: {result}");
        assert_eq!(usage("output_tokens"), 30_000, "{wire:?}: {result}");
        let expected = (input as f64 + 300_000.0 + written as f64 * 2.0 + 50_000.0) / 1e6;
        let cost = result["total_cost_usd"].as_f64().unwrap();
        assert!((cost - expected).abs() < 1e-9, "{wire:?}: {cost} {expected}");
        scene.server.finish();
    })
    .await;
}

#[tokio::test]
async fn a_rejected_key_ends_the_run_with_code_3_and_names_the_variable() {
    on_each_wire(async |scene, wire| {
        let said = format!("the key {KEY} is wrong");
        scene.server.when("TASK-1").reply(error(401, "authentication_error", &said));
        let run = scene.world.run(["-p", "TASK-1"]).finish().await;
        run.assert_code(3);
        let variable = match wire {
            Wire::Anthropic => "Set ANTHROPIC_API_KEY",
            Wire::Chat | Wire::Responses => "Set OPENAI_API_KEY",
            Wire::Gemini => "Set GEMINI_API_KEY",
        };
        assert!(run.stderr.contains(variable), "{wire:?}: {run}");
        for place in [&run.stderr, &run.stdout, &scene.world.log()] {
            assert!(!place.contains(KEY), "{wire:?}: the key shows: {place}");
        }
        scene.server.finish();
    })
    .await;
}

#[tokio::test]
async fn a_key_that_gemini_calls_a_bad_request_is_a_rejected_key() {
    let scene = Scene::on(Wire::Gemini);
    let body = json!({ "error": {
        "code": 400, "status": "INVALID_ARGUMENT",
        "message": "API key not valid. Please pass a valid API key.",
        "details": [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID" }],
    } });
    scene.server.when("TASK-1").reply(html(400, &body.to_string()));
    let run = scene.world.run(["-p", "TASK-1"]).finish().await;
    run.assert_code(3);
    assert!(run.stderr.contains("Set GEMINI_API_KEY"), "{run}");
    scene.server.finish();
}

/// How long the second request came after the first.
fn wait(requests: &[Recorded]) -> Duration {
    requests[1].arrived - requests[0].arrived
}

#[tokio::test]
async fn a_limited_rate_is_waited_for_as_long_as_the_server_says() {
    on_each_wire(async |scene, wire| {
        let limited = error(429, "rate_limit_error", "slow down").header("retry-after", "1.5");
        scene.server.when("TASK-1").reply(limited).then(text("at last"));
        let run = run_json(&scene).await;
        run.assert_code(0);
        assert_eq!(run.result()["result"], "at last");
        let requests = scene.server.requests();
        assert!(wait(&requests) >= Duration::from_millis(1500), "{wire:?}: {:?}", wait(&requests));
        assert_eq!(requests[0].body, requests[1].body, "{wire:?}: the same request");
        scene.server.finish();
    })
    .await;
}

#[tokio::test]
async fn gemini_may_say_in_the_body_how_long_to_wait() {
    let scene = Scene::on(Wire::Gemini);
    let body = json!({ "error": {
        "code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota.",
        "details": [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.5s" }],
    } });
    scene.server.when("TASK-1").reply(html(429, &body.to_string())).then(text("at last"));
    run_json(&scene).await.assert_code(0);
    assert!(wait(&scene.server.requests()) >= Duration::from_millis(1500));
    scene.server.finish();
}

#[tokio::test]
async fn a_failure_of_the_server_is_tried_again_and_nothing_of_it_is_kept() {
    let failures = [
        error(500, "api_error", "oh"),
        error(503, "overloaded_error", "busy"),
        text("half an ans").error_event("overloaded_error", "busy"),
        text("half an ans").cut(),
        Reply::stream().tool_use("Bash", bash("echo ran >> ran.txt")).end_block().cut(),
    ];
    join_all(failures.iter().map(async |failure| {
        on_each_wire(async |scene, wire| {
            let whole = tool_use("Bash", bash("echo ran >> ran.txt"));
            scene.server.when("TASK-1").reply(failure.clone()).then(whole).then(text("whole"));
            let run = run_json(&scene).await;
            run.assert_code(0);
            assert_eq!(run.result()["result"], "whole", "{wire:?}");
            assert_eq!(scene.world.read("ran.txt"), "ran\n", "{wire:?}: it ran twice");
            let requests = scene.server.requests();
            assert_eq!(requests[0].body, requests[1].body, "{wire:?}: the same request");
            scene.server.finish();
        })
        .await;
    }))
    .await;
}

#[tokio::test]
async fn a_call_that_gemini_could_not_write_is_asked_for_again() {
    let scene = Scene::on(Wire::Gemini);
    let broken = Reply::stream().tool_use_raw("Bash", "print(default_api.Bash(");
    scene.server.when("TASK-1").reply(broken).then(text("in words then"));
    let run = run_json(&scene).await;
    run.assert_code(0);
    assert_eq!(run.result()["result"], "in words then");
    scene.server.finish();
}

#[tokio::test]
async fn a_cancel_closes_the_connection() {
    on_each_wire(async |scene, wire| {
        scene.server.when("TASK-1").reply(text("half an answer").gate("held").stall());
        let running = scene.world.run(["-p", "TASK-1"]).start();
        scene.server.reached("held").await;
        let sent = Instant::now();
        running.signal(Signal::SIGINT);
        let (end, at) = scene.server.ended("TASK-1").await;
        assert_eq!(end, StreamEnd::ClosedByClient, "{wire:?}");
        assert!(at - sent < Duration::from_secs(5), "{wire:?}: {:?}", at - sent);
        running.wait().await.assert_code(130);
        assert_eq!(scene.server.requests().len(), 1, "{wire:?}");
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_the_limit_cut_off_and_a_refusal_are_told_apart_from_an_answer() {
    on_each_wire(async |scene, wire| {
        let cut = Reply::stream().tool_use("Bash", bash("touch evil.txt")).stop("max_tokens");
        scene.server.when("TASK-1").reply(cut).then(text("in pieces then"));
        let run = run_json(&scene).await;
        run.assert_code(0);
        assert!(!scene.world.exists("evil.txt"), "{wire:?}: a call that was cut off ran");
        let result = scene.server.requests()[1].tool_result();
        assert!(result.text.contains("was not run"), "{wire:?}: {result:?}");
        scene.server.when("TASK-2").reply(text("half a").stop("refusal"));
        let args = ["-p", "TASK-2", "--output-format", "json"];
        let run = scene.world.run(args).finish().await;
        run.assert_code(1);
        assert_eq!(run.result()["is_error"], true, "{wire:?}: {run}");
        // After these few tokens, the limit was not the one that was asked for.
        scene.server.when("TASK-3").reply(text("half a").stop("max_tokens"));
        let args = ["-p", "TASK-3", "--output-format", "json"];
        let run = scene.world.run(args).finish().await;
        run.assert_code(5);
        let early = "the server ended the answer early: it is partial";
        assert!(run.stdout.contains(early), "{wire:?}: {run}");
        scene.server.finish();
    })
    .await;
}

#[tokio::test]
async fn an_answer_of_nothing_but_thoughts_spoils_no_conversation() {
    on_each_wire(async |scene, wire| {
        if wire == Wire::Chat {
            return;
        }
        scene.server.when("TASK-1").reply(thinking("hm", "sigs01AA")).then(text("ok"));
        run_json(&scene).await;
        scene.world.run(["-c", "-p", "and on"]).finish().await.assert_code(0);
        assert_eq!(scene.server.requests().len(), 2, "{wire:?}");
        scene.server.finish();
    })
    .await;
}

#[cfg(feature = "sub-agents")]
#[tokio::test]
async fn a_fork_from_the_middle_of_a_turn_takes_the_thoughts_with_it() {
    use crate::support::script::dynamic;

    on_each_wire(async |scene, wire| {
        scene.world.config("[subagents]\nfaces = [\"agent\", \"lifecycle\"]\n");
        let begin =
            move || if wire == Wire::Chat { Reply::stream() } else { thinking("hm", "sigs01AA") };
        let play = move |request: &Recorded| {
            let last = request.messages().last().unwrap().to_string();
            if last.contains("TASK-1") {
                let fork = json!({ "prompt": "FORK-A go on" });
                return begin().tool_use("agent_fork", fork).tool_use("Bash", bash("true"));
            }
            if last.contains("FORK-A") {
                return tool_use("Bash", bash("echo done by the $((1 + 1))nd"));
            }
            text(if last.contains("by the 2nd") { "of the fork" } else { "of main" })
        };
        scene.server.when("TASK-1").forever(dynamic(play));
        run_json(&scene).await.assert_code(0);
        let requests = scene.server.requests();
        let of_fork =
            |request: &&Recorded| request.messages().last().unwrap().to_string().contains("FORK-A");
        let first = requests.iter().find(of_fork).expect("the fork asks");
        let knows = wire == Wire::Chat || first.text().contains("sigs01AA");
        assert!(knows, "{wire:?}: {}", first.body);
        let last = requests.iter().any(|request| {
            request.tool_results().iter().any(|result| result.text.contains("by the 2nd"))
        });
        assert!(last, "{wire:?}: the fork goes on with its result");
        scene.server.finish();
    })
    .await;
}

#[tokio::test]
async fn how_hard_to_think_is_said_in_the_words_of_the_wire() {
    on_each_wire(async |scene, wire| {
        scene.world.config("[model]\neffort = \"low\"\n");
        scene.server.when("TASK-1").reply(text("ok"));
        run_json(&scene).await.assert_code(0);
        let body = &scene.server.requests()[0].body;
        let (said, expected) = match wire {
            Wire::Anthropic => (&body["output_config"]["effort"], "low"),
            Wire::Chat => (&body["reasoning_effort"], "low"),
            Wire::Responses => (&body["reasoning"]["effort"], "low"),
            Wire::Gemini => (&body["generationConfig"]["thinkingConfig"]["thinkingLevel"], "LOW"),
        };
        assert_eq!(*said, Value::from(expected), "{wire:?}: {body}");
        scene.server.finish();
    })
    .await;
}

#[tokio::test]
async fn the_last_turn_sends_the_same_tools_and_forbids_calls() {
    on_each_wire(async |scene, wire| {
        scene.server.when("TASK-1").reply(tool_use("Bash", bash("echo one"))).then(text("ok"));
        let run = scene.world.run(["-p", "TASK-1", BYPASS, "--max-turns", "2"]).finish().await;
        run.assert_code(5);
        let requests = scene.server.requests();
        let (first, last) = (&requests[0], &requests[1]);
        assert!(first.offers_tools() && !last.offers_tools(), "{wire:?}: {}", last.body);
        assert_eq!(first.tools(), last.tools(), "{wire:?}: the cached prefix is lost");
        scene.server.finish();
    })
    .await;
}

#[tokio::test]
async fn a_conversation_goes_on_with_a_model_of_another_wire() {
    for (first, second) in [
        (Wire::Anthropic, Wire::Gemini),
        (Wire::Gemini, Wire::Responses),
        (Wire::Responses, Wire::Anthropic),
        (Wire::Chat, Wire::Gemini),
    ] {
        let mut scene = Scene::on(Wire::Gemini);
        scene.world.providers("[providers.openai]\nkind = \"openai_responses\"\n");
        scene.world.providers(&format!(
            "[providers.chat]\nkind = \"openai_chat\"\nbase_url = \"{}/v1\"\napi_key_env = \"OPENAI_API_KEY\"\n",
            scene.server.url()
        ));
        scene.world.unset("CALIBAN_PROVIDER");
        let call = Reply::stream().text("I look.").tool_use("Bash", bash("echo seen-1"));
        scene.server.when("TASK-1").reply(call).then(text("ok")).then(text("and on"));
        let args = |wire| match wire {
            Wire::Anthropic => ["--provider", "anthropic", "--model", "claude-sonnet-5"],
            Wire::Chat => ["--provider", "chat", "--model", "house-model"],
            Wire::Responses => ["--provider", "openai", "--model", "gpt-5.5"],
            Wire::Gemini => ["--provider", "gemini", "--model", "gemini-3.8-flash"],
        };
        let run = scene.world.run(["-p", "TASK-1", BYPASS]).args(args(first)).finish().await;
        run.assert_code(0);
        let run = scene.world.run(["-c", "-p", "more"]).args(args(second)).finish().await;
        run.assert_code(0);
        let last = scene.server.requests().pop().unwrap();
        assert_eq!(last.wire, second);
        assert!(last.text().contains("seen-1"), "{first:?} {second:?}: {}", last.body);
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_model_that_the_provider_does_not_know_is_named_and_so_is_the_address_if_that_may_be_wrong()
 {
    on_each_wire(async |scene, wire| {
        let unknown = error(404, "not_found_error", "model-x is not found");
        scene.server.when("TASK-1").reply(unknown);
        scene.server.when("TASK-2").reply(error(404, "not_found_error", "Not Found"));
        let failed = async |task: &str| {
            let run = scene.world.run(["-p", task, "--model", "model-x"]).finish().await;
            run.assert_code(1);
            run.stderr
        };
        let told = failed("TASK-1").await;
        let words = "does not know the model model-x (404)";
        assert!(told.contains(words) && told.contains("--model"), "{wire:?}: {told}");
        assert!(!told.contains("base_url"), "{wire:?}: {told}");
        let told = failed("TASK-2").await;
        let words = "does not know the model model-x or the address http://127.0.0.1:";
        assert!(told.contains(words) && told.contains("check base_url"), "{wire:?}: {told}");
        scene.server.finish();
    })
    .await;
}
