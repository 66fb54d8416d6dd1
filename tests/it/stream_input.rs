//! Prompts as frames on stdin: several turns over one process, and what happens to lines that are none.

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::support::run::{Finished, Run};
use crate::support::scene::{Scene, agent, bash, calls};
use crate::support::script::{error, text, tool_use};

const FORMATS: [&str; 6] =
    ["-p", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose"];

fn run(scene: &Scene) -> Run<'_> {
    scene.world.run(FORMATS)
}

fn user(text: &str) -> Value {
    json!({
        "type": "user", "message": { "role": "user", "content": text },
        "parent_tool_use_id": null, "session_id": "default",
    })
}

/// These lines, one after the other.
fn lines<'a>(lines: impl IntoIterator<Item = &'a Value>) -> String {
    lines.into_iter().map(|line| format!("{line}\n")).collect()
}

fn results(run: &Finished) -> Vec<Value> {
    run.frames().into_iter().filter(|frame| frame["type"] == "result").collect()
}

fn texts(results: &[Value]) -> Vec<&str> {
    results.iter().map(|result| result["result"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn each_frame_is_a_turn_of_one_conversation_with_its_own_result() {
    let scene = Scene::new();
    let first = tool_use("Bash", bash("true")).usage(1000, 10);
    scene.server.when("HELLO-1").reply(first).then(text("one").usage(1000, 10));
    scene.server.when("HELLO-1").reply(text("two").usage(3000, 20));
    let blocks = json!({
        "type": "user",
        "message": { "role": "user", "content": [{ "type": "text", "text": "SECOND-2 go on" }] },
    });
    let args = ["--model", "claude-sonnet-5", "--dangerously-skip-permissions"];
    let run = run(&scene).args(args).stdin(lines([&user("HELLO-1 go"), &blocks])).finish().await;
    run.assert_code(0);
    let frames = run.frames();
    assert_eq!(frames.iter().filter(|frame| frame["subtype"] == "init").count(), 1);
    let results = results(&run);
    assert_eq!(texts(&results), ["one", "two"]);
    assert_eq!(frames.last(), results.last());
    assert_eq!(results[0]["session_id"], results[1]["session_id"]);
    let turns: Vec<_> = results.iter().map(|result| result["num_turns"].clone()).collect();
    assert_eq!(turns, [2, 1], "of each prompt");
    assert_eq!(results[1]["usage"]["input_tokens"], 3000, "of this prompt");
    assert_eq!(results[1]["modelUsage"]["claude-sonnet-5"]["inputTokens"], 5000, "of the session");
    let cost = |at: usize| results[at]["total_cost_usd"].as_f64().unwrap();
    assert!((cost(0) - 0.0042).abs() < 1e-9, "{}", cost(0));
    assert!((cost(1) - 0.0104).abs() < 1e-9, "cumulative: {}", cost(1));
    let last = scene.server.requests().pop().unwrap();
    let conversation = last.text();
    assert!(conversation.contains("HELLO-1 go") && conversation.contains("SECOND-2 go on"));
    scene.server.finish();
}

#[tokio::test]
async fn a_frame_that_comes_early_waits_for_its_turn_and_the_end_of_stdin_waits_for_it() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("one").gate("first")).then(text("two"));
    let mut running = run(&scene).open_stdin().start();
    running.send(&user("HELLO-1"));
    scene.server.reached("first").await;
    running.send(&user("SECOND-2"));
    // Answered at once, though the turn goes on: so the frame before it has been read.
    running.send(&json!({
        "type": "control_request", "request_id": "r1", "request": { "subtype": "mcp_status" },
    }));
    running.printed("control_response", 1).await;
    assert_eq!(scene.server.requests().len(), 1);
    scene.server.open("first");
    let run = running.close().await;
    run.assert_code(0);
    assert_eq!(texts(&results(&run)), ["one", "two"]);
    let second = &scene.server.requests()[1];
    let last = second.messages().last().unwrap().to_string();
    assert!(last.contains("SECOND-2") && second.messages().len() == 3, "a turn of its own: {last}");
    scene.server.finish();
}

#[tokio::test]
async fn the_program_waits_for_the_next_frame_while_stdin_is_open() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("one")).then(text("two"));
    let mut running = run(&scene).open_stdin().start();
    for turn in 1..=2 {
        running.send(&user("HELLO-1"));
        running.printed("\"type\":\"result\"", turn).await;
    }
    running.close().await.assert_code(0);
    scene.server.finish();
}

#[tokio::test]
async fn a_bad_line_gets_an_error_of_its_own_and_the_prompts_around_it_are_worked_on() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("one")).then(text("two"));
    let long = format!("\"{}\"", "x".repeat(17 << 20));
    let bad = ["{\"type\":", "{\"type\":\"frobnicate\"}", "{\"type\":\"user\"}", long.as_str()];
    let input = [
        vec![user("HELLO-1").to_string()],
        bad.map(str::to_owned).into(),
        vec![user("HELLO-1").to_string()],
    ]
    .concat()
    .join("\n");
    let run = run(&scene).stdin(input).finish().await;
    run.assert_code(2);
    let results = results(&run);
    assert_eq!(results.len(), 5, "{run}");
    assert_eq!((&results[0]["result"], &results[4]["result"]), (&json!("one"), &json!("two")));
    let named = [(2, "JSON"), (4, "message"), (5, "longer than 16 MB")];
    for (result, (line, named)) in results[1..4].iter().zip(named) {
        assert_eq!((&result["is_error"], &result["num_turns"]), (&json!(true), &json!(0)));
        assert_eq!(result["error_kind"], "bad_input");
        let why = result["errors"][0].as_str().unwrap();
        assert!(why.contains(&format!("stdin line {line}: ")) && why.contains(named), "{why}");
        assert!(run.stderr.contains(why), "{run}");
    }
    let other = "stdin line 3 ignored: unknown variant `frobnicate`";
    assert!(run.stderr.contains(other), "{run}");
    assert!(run.stderr.len() < 2000, "the line itself is not repeated");
    scene.server.finish();
}

#[tokio::test]
async fn stdin_without_a_prompt_is_exit_2_without_a_request() {
    let scene = Scene::new();
    for input in ["", "\n \n", &lines([&user(" \n")])] {
        let run = run(&scene).stdin(input).finish().await;
        run.assert_code(2);
        assert_eq!(run.result()["is_error"], true);
        assert!(run.stderr.contains("prompt"), "{run}");
    }
    assert_eq!(scene.server.requests().len(), 0);
}

#[tokio::test]
async fn formats_that_do_not_go_together_are_exit_2() {
    let scene = Scene::new();
    let input = ["--input-format", "stream-json"];
    for (args, named) in [
        (vec!["-p"], "--output-format stream-json"),
        (vec!["-p", "--output-format", "json"], "--output-format stream-json"),
        (vec!["-p", "go", "--output-format", "stream-json"], "stdin"),
        (vec![], "--output-format stream-json"),
    ] {
        let run = scene.world.run(args).args(input).stdin(lines([&user("go")])).finish().await;
        run.assert_code(2);
        assert!(run.stderr.contains(named), "{run}");
        assert_eq!(run.stdout, "");
    }
    assert_eq!(scene.server.requests().len(), 0);
}

#[tokio::test]
async fn a_turn_that_fails_is_told_and_the_next_one_is_worked_on() {
    let scene = Scene::new();
    let full = error(400, "invalid_request_error", "the moon is full");
    scene.server.when("HELLO-1").reply(full).then(text("better"));
    let run = run(&scene).stdin(lines([&user("HELLO-1 a"), &user("HELLO-1 b")])).finish().await;
    run.assert_code(1);
    let results = results(&run);
    assert_eq!((&results[0]["is_error"], &results[1]["is_error"]), (&json!(true), &json!(false)));
    assert_eq!(results[0]["error_kind"], "bad_request");
    assert_eq!(results[1]["error_kind"], Value::Null);
    assert_eq!(results[1]["result"], "better");
    let next = scene.server.requests().pop().unwrap();
    assert!(!next.text().contains("HELLO-1 a"), "what failed is not sent again");
    scene.server.finish();
}

#[tokio::test]
async fn an_interrupt_ends_the_turn_and_what_waits_behind_it() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("half").gate("never"));
    let mut running = run(&scene).open_stdin().start();
    running.send(&user("HELLO-1"));
    running.send(&user("SECOND-2"));
    scene.server.reached("never").await;
    running.signal(Signal::SIGINT);
    let run = running.wait().await;
    run.assert_code(130);
    assert_eq!(results(&run).len(), 1, "{run}");
    assert_eq!(run.result()["error_kind"], "cancelled");
    assert_eq!(scene.server.requests().len(), 1);
}

#[tokio::test]
async fn a_signal_between_two_prompts_ends_the_program_though_stdin_is_open() {
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let scene = Scene::new();
        scene.server.when("HELLO-1").reply(text("one"));
        let mut running = run(&scene).open_stdin().start();
        running.send(&user("HELLO-1"));
        running.printed("\"type\":\"result\"", 1).await;
        running.signal(signal);
        let run = running.wait().await;
        run.assert_code(code);
        assert_eq!(texts(&results(&run)), ["one"], "nothing was stopped, so nothing more is told");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_frame_can_do_without_sub_agents_for_its_turn() {
    let scene = Scene::new();
    let mut without = user("HELLO-1");
    without["subagents"] = json!(false);
    scene.server.when("HELLO-1").reply(calls([agent("CHILD-A")])).then(text("one"));
    scene.server.when("HELLO-1").reply(calls([agent("CHILD-B")])).then(text("two"));
    scene.server.when("CHILD-B").reply(text("from B"));
    let run = run(&scene).stdin(lines([&without, &user("again")])).finish().await;
    run.assert_code(0);
    let requests = scene.server.requests_of("HELLO-1");
    let offered: Vec<_> =
        requests.iter().map(|request| request.tool_names().contains(&"AgentTool")).collect();
    assert_eq!(offered, [false, false, true, true], "for that turn alone");
    let refused = requests[1].tool_result();
    assert!(refused.is_error && refused.text.contains("AgentTool"), "{refused:?}");
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 0);
    assert_eq!(requests[3].tool_result().text, "from B");
    scene.server.finish();
}

#[tokio::test]
async fn an_image_of_a_frame_reaches_the_model_and_stays_in_the_conversation() {
    for chat in [false, true] {
        let scene = if chat { Scene::on_chat() } else { Scene::new() };
        scene.server.when("HELLO-1").reply(text("a dot")).then(text("still a dot"));
        let mut frame = user("");
        let source = json!({ "type": "base64", "media_type": "image/png", "data": "iVBORw0=" });
        frame["message"]["content"] = json!([
            { "type": "text", "text": "HELLO-1 what is it?" },
            { "type": "image", "source": source },
        ]);
        let run = run(&scene).stdin(lines([&frame, &user("and now?")])).finish().await;
        run.assert_code(0);
        for request in scene.server.requests() {
            assert!(request.body.to_string().contains("iVBORw0="), "{}", request.body);
        }
        scene.server.finish();
    }
}
