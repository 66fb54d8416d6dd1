//! The program without a terminal: output formats, prompts from stdin, exit codes, endpoints that misbehave.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::support::record::StreamEnd;
use crate::support::scene::{Scene, agent, bash, calls};
use crate::support::script::{error, html, text, thinking, tool_use};
use crate::support::world::{KEY, World};
use crate::support::{DEADLINE, process};

const NO_RETRIES: &str = "[providers.anthropic]\nmax_retries = 0\nidle_timeout_s = 1\n";

fn of_type<'a>(frames: &'a [Value], kind: &str) -> Vec<&'a Value> {
    frames.iter().filter(|frame| frame["type"] == kind).collect()
}

#[tokio::test]
async fn text_prints_the_answer_and_nothing_else() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("hi ").more("there"));
    let run = scene.world.run(["-p", "HELLO-1 greet me"]).finish().await;
    run.assert_code(0);
    assert_eq!(run.stdout, "hi there\n");
    assert_eq!(run.stderr, "");
    assert_eq!(scene.server.requests().len(), 1, "no request but the agent's own");
    scene.server.finish();
}

#[tokio::test]
async fn the_prompt_comes_from_stdin_or_follows_the_argument() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("a")).then(text("b"));
    scene.world.run(["-p"]).stdin("HELLO-1 from stdin").finish().await.assert_code(0);
    let both = scene.world.run(["-p", "HELLO-1 argument"]).stdin("from stdin");
    both.finish().await.assert_code(0);
    let requests = scene.server.requests();
    assert!(requests[0].first_user_text().contains("HELLO-1 from stdin"));
    let text = requests[1].first_user_text();
    let (argument, stdin) = (text.find("HELLO-1 argument"), text.find("from stdin"));
    assert!(argument.is_some() && argument < stdin, "{text}");
    scene.server.finish();
}

#[tokio::test]
async fn a_pipe_that_is_never_written_to_does_not_hold_up_an_argument() {
    let scene = Scene::new();
    scene.server.when("HELLO-2").reply(text("answered"));
    let run = scene.world.run(["-p", "HELLO-2 alone"]).open_stdin().finish().await;
    run.assert_code(0);
    assert_eq!(run.stdout, "answered\n");
    assert!(run.stderr.contains("no input on stdin within 3 s"), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn json_prints_the_result_frame_alone() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("hi").usage(1000, 50));
    let args = ["-p", "HELLO-1", "--output-format", "json", "--model", "claude-sonnet-5"];
    let run = scene.world.run(args).finish().await;
    run.assert_code(0);
    assert_eq!(run.frames().len(), 1);
    let result = run.result();
    assert_eq!(result["subtype"], "success");
    assert_eq!(result["is_error"], false);
    assert_eq!(result["result"], "hi");
    assert_eq!(result["num_turns"], 1);
    assert_eq!(result["usage"]["input_tokens"], 1000);
    assert_eq!(result["usage"]["output_tokens"], 50);
    assert_eq!(result["permission_denials"], json!([]));
    let cost = result["total_cost_usd"].as_f64().unwrap();
    assert!((cost - 0.0025).abs() < 1e-9, "1000 x $2 + 50 x $10 per million, not {cost}");
    let of_model = &result["modelUsage"]["claude-sonnet-5"];
    assert_eq!((&of_model["inputTokens"], &of_model["outputTokens"]), (&json!(1000), &json!(50)));
    for field in ["duration_ms", "duration_api_ms"] {
        assert!(result[field].is_u64(), "{field}: {result}");
    }
    assert!(result["session_id"].is_string());
    scene.server.finish();
}

#[tokio::test]
async fn stream_json_begins_with_init_and_ends_with_the_result() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("hi"));
    let run = scene.world.run(["-p", "HELLO-1", "--output-format", "stream-json"]).finish().await;
    run.assert_code(0);
    let frames = run.frames();
    let init = &frames[0];
    assert_eq!((&init["type"], &init["subtype"]), (&json!("system"), &json!("init")));
    for field in ["tools", "agents", "mcp_servers"] {
        assert!(init[field].is_array(), "{field}: {init}");
    }
    assert!(init["tools"].as_array().unwrap().contains(&json!("AgentTool")));
    assert_eq!(init["permissionMode"], "default");
    let cwd = std::fs::canonicalize(init["cwd"].as_str().unwrap()).unwrap();
    assert_eq!(cwd, std::fs::canonicalize(scene.world.project_dir()).unwrap());
    assert_eq!(init["model"], scene.server.requests()[0].model());
    assert_eq!(of_type(&frames, "result").len(), 1);
    assert_eq!(run.result()["result"], "hi");
    let mut ids = BTreeSet::new();
    for frame in &frames {
        assert_eq!(frame["session_id"], init["session_id"], "{frame}");
        assert!(ids.insert(frame["uuid"].as_str().unwrap()), "{frame}");
        assert!(frame["timestamp"].as_str().unwrap().contains('T'), "{frame}");
        assert_eq!(frame.get("parent_tool_use_id"), Some(&Value::Null), "{frame}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn each_finished_block_is_a_frame_of_the_same_message() {
    let scene = Scene::new();
    scene.world.write("a.txt", "content of a\n");
    let read = json!({ "file_path": scene.world.project_dir().join("a.txt") });
    let first = thinking("hm", "sig-1").text("I look.").tool_use("Read", read.clone());
    scene.server.when("HELLO-1").reply(first).then(text("ok"));
    let run = scene.world.run(["-p", "HELLO-1", "--output-format", "stream-json"]).finish().await;
    run.assert_code(0);
    let frames = run.frames();
    let assistant = of_type(&frames, "assistant");
    let blocks: Vec<_> = assistant.iter().map(|frame| &frame["message"]["content"]).collect();
    assert!(blocks.iter().all(|blocks| blocks.as_array().unwrap().len() == 1), "{blocks:?}");
    let kinds: Vec<_> = blocks.iter().map(|blocks| blocks[0]["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["thinking", "text", "tool_use", "text"]);
    assert_eq!(blocks[0][0]["signature"], "sig-1");
    assert_eq!(blocks[2][0]["input"], read);
    let id = |at: usize| &assistant[at]["message"]["id"];
    assert!(id(0).is_string() && id(0) == id(1) && id(1) == id(2) && id(2) != id(3));
    let result = of_type(&frames, "user")[0];
    let result = &result["message"]["content"][0];
    assert_eq!(result["tool_use_id"], blocks[2][0]["id"]);
    assert!(result["content"].to_string().contains("content of a"), "{result}");
    scene.server.finish();
}

#[tokio::test]
async fn a_refused_request_is_exit_1_with_the_reason_on_stderr_and_in_the_frame() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(error(400, "invalid_request_error", "the moon is full"));
    let run = scene.world.run(["-p", "HELLO-1", "--output-format", "stream-json"]).finish().await;
    run.assert_code(1);
    assert!(run.stderr.contains("the moon is full"), "{run}");
    let result = run.result();
    assert_eq!(result["is_error"], true);
    assert_eq!((&result["subtype"], &result["api_error_status"]), (&json!("success"), &json!(400)));
    assert!(result.to_string().contains("the moon is full"), "{result}");
    scene.server.finish();
}

#[tokio::test]
async fn a_blank_prompt_is_exit_2_before_any_request() {
    let scene = Scene::new();
    for run in [
        scene.world.run(["-p", " \n"]),
        scene.world.run(["-p"]),
        scene.world.run(["-p"]).stdin("\n\n"),
    ] {
        let run = run.finish().await;
        run.assert_code(2);
        assert!(run.stderr.contains("prompt"), "{run}");
        assert_eq!(run.stdout, "");
    }
    assert_eq!(scene.server.requests().len(), 0);
}

#[tokio::test]
async fn a_wrong_flag_or_value_is_exit_2_and_names_it() {
    let scene = Scene::new();
    for (args, named) in [
        (["-p", "x", "--frobnicate", "1"], "--frobnicate"),
        (["-p", "x", "--permission-mode", "sometimes"], "sometimes"),
        (["-p", "x", "--output-format", "xml"], "xml"),
        (["-p", "x", "--max-turns", "many"], "many"),
    ] {
        let run = scene.world.run(args).finish().await;
        run.assert_code(2);
        assert!(run.stderr.contains(named), "{run}");
    }
    assert_eq!(scene.server.requests().len(), 0);
}

#[tokio::test]
async fn a_broken_configuration_is_exit_2_and_names_file_line_and_what_is_allowed() {
    let scene = Scene::new();
    scene.world.config("[model]\nmax_tokens = 100\nmax_tokns = 100\n");
    let run = scene.world.run(["-p", "x"]).finish().await;
    run.assert_code(2);
    for named in ["config.toml", "3", "max_tokns", "max_tokens"] {
        assert!(run.stderr.contains(named), "{named} is not named\n{run}");
    }
    scene.world.config("[subagents]\nmax_turns = \"many\"\n");
    let run = scene.world.run(["-p", "x"]).finish().await;
    run.assert_code(2);
    for named in ["config.toml", "2", "max_turns"] {
        assert!(run.stderr.contains(named), "{named} is not named\n{run}");
    }
    assert_eq!(scene.server.requests().len(), 0);
}

#[tokio::test]
async fn no_key_is_exit_3_without_a_request() {
    let mut scene = Scene::new();
    scene.world.unset("ANTHROPIC_API_KEY").unset("OPENAI_API_KEY");
    let run = scene.world.run(["-p", "HELLO-1", "--provider", "anthropic"]).finish().await;
    run.assert_code(3);
    assert!(run.stderr.contains("ANTHROPIC_API_KEY"), "{run}");
    assert_eq!(scene.server.requests().len(), 0);
}

#[tokio::test]
async fn a_rejected_key_is_exit_3_and_is_never_shown() {
    let scene = Scene::new();
    let message = format!("invalid x-api-key {KEY}");
    scene.server.when("HELLO-1").reply(error(401, "authentication_error", &message));
    let args = ["-p", "HELLO-1", "--output-format", "stream-json", "--log-level", "debug"];
    let run = scene.world.run(args).finish().await;
    run.assert_code(3);
    assert!(run.stderr.contains("401"), "{run}");
    assert!(!run.stdout.contains(KEY) && !run.stderr.contains(KEY), "{run}");
    assert!(!scene.world.log().contains(KEY), "the key is in the log");
    scene.server.finish();
}

#[tokio::test]
async fn a_refused_connection_is_exit_1_and_names_the_address() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let world = World::at(&format!("http://{address}"));
    world.config(NO_RETRIES);
    let run = world.run(["-p", "HELLO-1"]).finish().await;
    run.assert_code(1);
    assert!(run.stderr.contains(&address.to_string()), "{run}");
    assert_eq!(run.stdout, "");
}

#[tokio::test]
async fn a_silent_endpoint_is_given_up_after_the_idle_timeout() {
    let scene = Scene::new();
    scene.world.config(NO_RETRIES);
    scene.server.when("HELLO-1").reply(text("x").before_headers("never"));
    scene.server.when("HELLO-2").reply(text("half").stall());
    for word in ["HELLO-1", "HELLO-2"] {
        let run = scene.world.run(["-p", word]).finish().await;
        run.assert_code(1);
        assert!(run.took >= Duration::from_secs(1), "{:?}", run.took);
        assert_ne!(run.stderr, "");
        assert_eq!(scene.server.ended(word).await.0, StreamEnd::ClosedByClient);
    }
    scene.server.finish();
}

#[tokio::test]
async fn a_page_instead_of_an_answer_is_exit_1_and_is_not_dumped() {
    let scene = Scene::new();
    scene.world.config(NO_RETRIES);
    let page = format!("<html><body>{}</body></html>", "<p>Welcome to the proxy</p>".repeat(200));
    for (word, status) in [("HELLO-1", 200), ("HELLO-2", 404), ("HELLO-3", 502)] {
        scene.server.when(word).reply(html(status, &page));
        let run = scene.world.run(["-p", word]).finish().await;
        run.assert_code(1);
        assert_ne!(run.stderr, "");
        assert!(run.stderr.len() < 1000, "{run}");
        assert_eq!(run.stdout, "");
    }
    scene.server.finish();
}

#[tokio::test]
async fn a_stream_that_breaks_before_a_block_is_whole_is_asked_for_again() {
    let scene = Scene::new();
    let whole = || text("the whole answer");
    scene
        .server
        .when("HELLO-1")
        .reply(text("the who").cut())
        .then(whole().cut_at(80))
        .then(whole());
    let run = scene.world.run(["-p", "HELLO-1"]).finish().await;
    run.assert_code(0);
    assert_eq!(run.stdout, "the whole answer\n");
    scene.server.finish();
}

#[tokio::test]
async fn a_broken_stream_without_tries_left_is_exit_1() {
    let scene = Scene::new();
    scene.world.config(NO_RETRIES);
    scene.server.when("HELLO-1").reply(text("the who").cut());
    let run = scene.world.run(["-p", "HELLO-1", "--output-format", "json"]).finish().await;
    run.assert_code(1);
    assert_eq!(run.result()["is_error"], true);
    scene.server.finish();
}

#[tokio::test]
async fn overload_is_tried_again_and_retry_after_is_honoured() {
    let scene = Scene::new();
    scene
        .server
        .when("HELLO-1")
        .reply(error(529, "overloaded_error", "busy"))
        .then(error(429, "rate_limit_error", "slow down").header("retry-after", "1"))
        .then(text("").error_event("overloaded_error", "busy"))
        .then(text("at last"));
    let run = scene.world.run(["-p", "HELLO-1"]).finish().await;
    run.assert_code(0);
    assert_eq!(run.stdout, "at last\n");
    let requests = scene.server.requests();
    assert!(requests[2].arrived - requests[1].arrived >= Duration::from_secs(1));
    assert!(requests.windows(2).all(|pair| pair[0].body == pair[1].body), "the same request");
    scene.server.finish();
}

#[tokio::test]
async fn the_turn_limit_is_exit_5_with_the_summary_printed() {
    let scene = Scene::new();
    scene
        .server
        .when("HELLO-1")
        .reply(tool_use("Bash", bash("echo one >> ran.txt")))
        .then(text("so far").tool_use("Bash", bash("echo two >> ran.txt")));
    let args = ["-p", "HELLO-1", "--max-turns", "2", "--dangerously-skip-permissions"];
    let run = scene.world.run(args).args(["--output-format", "stream-json"]).finish().await;
    run.assert_code(5);
    let result = run.result();
    assert_eq!(result["subtype"], "error_max_turns");
    assert_eq!(result["num_turns"], 2);
    assert!(result.to_string().contains("so far"), "{result}");
    assert_eq!(scene.world.read("ran.txt"), "one\n", "a call of the last turn must not run");
    let requests = scene.server.requests();
    assert!(requests[0].offers_tools() && !requests[1].offers_tools());
    scene.server.finish();
}

#[tokio::test]
async fn the_only_turn_offers_tools_and_its_calls_run() {
    let scene = Scene::new();
    let first = text("I write.").tool_use("Bash", json!({ "command": "echo one >> ran.txt" }));
    scene.server.when("HELLO-1").reply(first).then(text("unused"));
    let args = ["-p", "HELLO-1", "--max-turns", "1", "--dangerously-skip-permissions"];
    let run = scene.world.run(args).args(["--output-format", "stream-json"]).finish().await;
    run.assert_code(5);
    let result = run.result();
    assert_eq!((&result["subtype"], &result["num_turns"]), (&json!("error_max_turns"), &json!(1)));
    assert_eq!(result["terminal_reason"], "max_turns");
    assert_eq!(scene.world.read("ran.txt"), "one\n");
    assert_eq!(scene.server.requests().len(), 1);
    assert!(scene.server.requests()[0].offers_tools());
    let results = run.frames().into_iter().filter(|frame| frame["type"] == "user").count();
    assert_eq!(results, 1, "{run}");
    // An answer without a call is whole; and what the call gave is there when the session goes on.
    let run = scene.world.run(["-p", "-c", "go on", "--max-turns", "1"]).finish().await;
    run.assert_code(0);
    assert_eq!(run.stdout, "unused\n");
    let results = scene.server.requests()[1].tool_results();
    assert!(!results[0].is_error, "{results:?}");
    scene.server.finish();
}

#[tokio::test]
async fn a_sub_agent_with_one_turn_is_still_asked_for_its_answer() {
    let scene = Scene::new();
    let mut call = agent("CHILD-A");
    call["max_turns"] = json!(1);
    scene.server.when("HELLO-1").reply(tool_use("AgentTool", call)).then(text("done"));
    scene.server.when("CHILD-A").reply(text("seen"));
    let run = scene.world.run(["-p", "HELLO-1"]).finish().await;
    run.assert_code(0);
    assert!(!scene.server.requests_of("CHILD-A")[0].offers_tools());
    scene.server.finish();
}

#[tokio::test]
async fn the_money_limit_is_exit_5() {
    let scene = Scene::new();
    let dear = text("so far").tool_use("Bash", bash("true")).usage(1000, 120_000);
    scene.server.when("HELLO-1").reply(dear);
    let args = ["-p", "HELLO-1", "--model", "claude-sonnet-5", "--max-budget-usd", "1.00"];
    let args2 = ["--dangerously-skip-permissions", "--output-format", "json"];
    let run = scene.world.run(args).args(args2).finish().await;
    run.assert_code(5);
    assert_eq!(run.result()["subtype"], "error_max_budget_usd");
    assert!(run.stdout.contains("so far"), "the partial answer is printed\n{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_sub_agent_call_beyond_the_depth_limit_is_exit_4() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(calls([agent("CHILD-B")]));
    let run = scene.run().finish().await;
    run.assert_code(4);
    assert_eq!(scene.server.requests_of("CHILD-B").len(), 0);
    assert_eq!(scene.server.requests_of("PARENT-1").len(), 1, "the run stops");
}

#[tokio::test]
async fn a_reader_that_went_away_is_noticed_at_the_first_write() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("one-77").gate("held").more("two").stall());
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_caliban"));
    command.args(["-p", "HELLO-1", "--output-format", "stream-json", "--include-partial-messages"]);
    command.current_dir(scene.world.project_dir()).env_clear();
    command.envs(scene.world.variables().iter().cloned());
    let pipes = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = pipes.spawn().unwrap();
    let (pid, stdout) = (child.id(), child.stdout.take().unwrap());
    let read = tokio::task::spawn_blocking(move || {
        let mut lines = BufReader::new(stdout).lines();
        lines.any(|line| line.unwrap().contains("one-77"))
    });
    assert!(read.await.unwrap(), "and the pipe is closed");
    scene.server.open("held");
    let ended = tokio::task::spawn_blocking(move || child.wait().unwrap());
    let Ok(ended) = tokio::time::timeout(DEADLINE, ended).await else {
        process::signal(pid, Signal::SIGKILL);
        panic!("it goes on although nobody reads");
    };
    assert_eq!(ended.unwrap().code(), Some(1));
    assert_eq!(scene.server.ended("HELLO-1").await.0, StreamEnd::ClosedByClient);
    scene.server.finish();
}
