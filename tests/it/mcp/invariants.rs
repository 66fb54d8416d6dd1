//! What holds of every tool holds of a server's: the same loop, the same gates, the same shape.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Instant;

use serde_json::{Value, json};

use super::{count, last, noted, offered, server, tools};
use crate::support::process;
use crate::support::run::Finished;
use crate::support::scene::{DONE, PARENT, Scene, agent, agent_with, bash};
use crate::support::script::{text, tool_use};

/// A request, a frame or a line of a session without what differs from run to run: ids, times, and
/// which tool it was.
fn plain(value: &Value) -> Value {
    const DROPPED: [&str; 16] = [
        "call",
        "uuid",
        "timestamp",
        "session_id",
        "id",
        "duration_ms",
        "duration_api_ms",
        "took",
        "at",
        "tool_use_result",
        "details",
        "summary",
        "session",
        "cwd",
        "tools",
        "agents",
    ];
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, _)| !DROPPED.contains(&key.as_str()));
            kept.map(|(key, value)| (key.clone(), plain(value))).collect()
        }
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::String(text) => {
            text.replace("mcp__stub__agent", "TOOL").replace("AgentTool", "TOOL").into()
        }
        other => other.clone(),
    }
}

/// The text of a value; an error that lists the tools lists those that there are.
fn without_tool_list(value: &Value) -> String {
    let text = value.to_string();
    match text.split_once("The tools are: ") {
        Some((before, after)) => {
            format!("{before}{}", after.split_once(".\"").map_or("", |(_, rest)| rest))
        }
        None => text,
    }
}

/// Runs one script with this tool: two calls at once, then one that fails, then the end.
async fn with_tool(scene: &Scene, tool: &str) -> Finished {
    let pair = tool_use(tool, agent("CHILD-A")).tool_use(tool, agent("CHILD-B"));
    let broken = tool_use("mcp__none__none", json!({}));
    scene.server.when(PARENT).reply(pair).then(broken).then(text(DONE));
    scene.go().await
}

/// The frames of the main agent, without those that only tell of sub-agents.
fn main_frames(finished: &Finished) -> Vec<Value> {
    let frames = finished.frames().into_iter().skip(1);
    let of_main = frames.filter(|frame| {
        let kind = frame["subtype"].as_str().unwrap_or_default();
        frame["parent_tool_use_id"].is_null()
            && !kind.starts_with("task_")
            && frame["type"] != "result"
    });
    of_main.map(|frame| plain(&frame)).collect()
}

/// What the main agent sent: its messages.
fn messages(scene: &Scene) -> Vec<Value> {
    scene
        .server
        .requests_of(PARENT)
        .iter()
        .map(|request| plain(&request.body["messages"]))
        .collect()
}

/// The messages of the stored session.
fn stored(scene: &Scene) -> Vec<Value> {
    let text = std::fs::read_to_string(scene.world.session().join("transcript.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| !line["message"].is_null()).map(|line| plain(&line["message"])).collect()
}

#[tokio::test]
async fn the_agent_tool_and_a_server_s_tool_make_the_same_run() {
    let with_agents = Scene::new();
    for word in ["CHILD-A", "CHILD-B"] {
        with_agents.server.when(word).reply(text(format!("{word} look around")));
    }
    let agents = with_tool(&with_agents, "AgentTool").await;
    let with_server = Scene::new();
    let entry = with_agents.server.requests()[0].tool("AgentTool").unwrap().clone();
    let list = json!([{"name": "agent", "description": entry["description"], "inputSchema": entry["input_schema"]}]);
    let config = server(&with_server, "stub", &[("STUB_TOOLS", &list.to_string())]);
    with_server.world.config(&format!("{config}[subagents]\nenabled = false\n"));
    let servers = with_tool(&with_server, "mcp__stub__agent").await;
    let same = |left: Vec<Value>, right: Vec<Value>| {
        // Calls that run side by side end in any order.
        let sorted = |values: Vec<Value>| {
            let mut texts: Vec<_> = values.iter().map(without_tool_list).collect();
            texts.sort();
            texts
        };
        pretty_assertions::assert_eq!(sorted(left), sorted(right));
    };
    same(messages(&with_agents), messages(&with_server));
    same(main_frames(&agents), main_frames(&servers));
    same(stored(&with_agents), stored(&with_server));
    let entry_of = |scene: &Scene, name: &str| {
        let mut entry = scene.server.requests_of(PARENT)[0].tool(name).unwrap().clone();
        entry.as_object_mut().unwrap().remove("cache_control");
        plain(&entry)
    };
    assert_eq!(entry_of(&with_agents, "AgentTool"), entry_of(&with_server, "mcp__stub__agent"));
    with_agents.server.finish();
    with_server.server.finish();
}

#[tokio::test]
async fn a_batch_of_shell_server_and_agent_calls_never_has_more_than_two_at_work() {
    let scene = Scene::new();
    let gate = scene.world.project_dir().join("gate");
    nix::unistd::mkfifo(&gate, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut go = std::fs::OpenOptions::new().read(true).write(true).open(&gate).unwrap();
    let list = tools(&["held"]);
    let stub =
        server(&scene, "stub", &[("STUB_TOOLS", &list), ("STUB_GATE", gate.to_str().unwrap())]);
    scene.world.config(&format!("{stub}[subagents]\nmax_concurrent_ops = 2\n"));
    let held = tool_use("mcp__stub__held", json!({"text": "a"}))
        .tool_use("mcp__stub__held", json!({"text": "b"}))
        .tool_use("mcp__stub__held", json!({"text": "c"}))
        .tool_use("Bash", bash("echo command >> stub.log"))
        .tool_use("AgentTool", agent("CHILD-A"));
    scene.server.when(PARENT).reply(held).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("child"));
    let running = scene.run().start();
    // The answers of the server's calls are noted in the same file as what begins.
    let log = scene.world.project_dir().join("stub.log");
    let mut answer = |times: usize| {
        let mut log = std::fs::OpenOptions::new().append(true).open(&log).unwrap();
        log.write_all("answer\n".repeat(times).as_bytes()).unwrap();
        let answered = Instant::now();
        go.write_all("go\n".repeat(times).as_bytes()).unwrap();
        answered
    };
    process::eventually(|| count(&scene, "stub", "call held") == 2).await;
    let first = answer(1);
    process::eventually(|| count(&scene, "stub", "call held") == 3).await;
    answer(2);
    running.wait().await.assert_code(0);
    let what = ["call held", "answer", "command"];
    let begun: Vec<_> =
        noted(&scene, "stub").into_iter().filter(|line| what.contains(&line.as_str())).collect();
    let expected = "call held,call held,answer,call held,answer,answer,command";
    assert_eq!(begun.join(","), expected, "the third and the command wait");
    let child = scene.server.requests_of("CHILD-A").remove(0);
    assert!(child.arrived > first, "the child waits");
    assert_eq!(last(&scene).tool_results().len(), 5);
    scene.server.finish();
}

#[tokio::test]
async fn one_limit_stops_a_command_a_servers_call_and_an_agent_alike() {
    let scene = Scene::new();
    let stub = server(&scene, "stub", &[("STUB_TOOLS", &tools(&["never"]))]);
    scene.world.config(&format!("{stub}[budget]\nmax_call_s = 1\n"));
    let batch = tool_use("mcp__stub__never", json!({}))
        .tool_use("Bash", bash("echo begun; exec sleep 600"))
        .tool_use("AgentTool", agent("CHILD-A"));
    scene.server.when(PARENT).reply(batch).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("begun").stall());
    scene.go().await;
    let results = last(&scene).tool_results();
    assert_eq!(results.len(), 3);
    let why = "This call took longer than 1 s and was stopped.";
    for result in &results {
        assert!(result.is_error && result.text.starts_with(why), "{result:?}");
    }
    // What there was of a result by then is not lost.
    assert!(results[1..].iter().all(|result| result.text.contains("begun")), "{results:?}");
    let stored = std::fs::read_to_string(scene.world.session().join("transcript.jsonl")).unwrap();
    assert!(stored.contains("\"agent_id\""), "{stored}");
    assert!(!stored.contains("with_parent"), "its parent goes on\n{stored}");
    assert!(results[2].text.contains(": time limit 0:01, partial"), "{:?}", results[2]);
    scene.server.finish();
}

#[tokio::test]
async fn a_servers_call_is_logged_as_every_call() {
    let scene = Scene::new();
    scene.world.config(&server(&scene, "stub", &[("STUB_TOOLS", &tools(&["echo", "fail"]))]));
    let batch = tool_use("mcp__stub__echo", json!({"text": "x"}))
        .tool_use("mcp__stub__fail", json!({}))
        .tool_use("Bash", bash("true"))
        .tool_use("AgentTool", agent("CHILD-A"));
    scene.server.when(PARENT).reply(batch).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("child"));
    scene.go().await;
    let log = scene.world.log();
    let records = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let calls: Vec<Value> = records.filter(|record| record["event"] == "tool_call").collect();
    assert_eq!(calls.len(), 4, "{calls:?}");
    let fields = |call: &Value| call.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert!(calls.iter().all(|call| fields(call) == fields(&calls[0])), "{calls:?}");
    let status: BTreeMap<_, _> = calls
        .iter()
        .map(|call| (call["tool"].as_str().unwrap(), call["status"].as_str().unwrap()))
        .collect();
    assert_eq!((status["mcp__stub__echo"], status["mcp__stub__fail"]), ("ok", "error"));
    scene.server.finish();
}

/// A run in which main and two sub-agents call a server's tool; `shared` or not.
async fn three_agents(shared: bool) -> Scene {
    let scene = Scene::new();
    let stub = server(&scene, "stub", &[]);
    scene.world.config(&format!("{stub}shared = {shared}\n"));
    let first = tool_use("mcp__stub__echo", json!({"text": "main"}));
    let children = tool_use("AgentTool", agent("CHILD-A"));
    let more = tool_use("AgentTool", agent("CHILD-B"));
    scene.server.when(PARENT).reply(first).then(children).then(more).then(text(DONE));
    for word in ["CHILD-A", "CHILD-B"] {
        let call = tool_use("mcp__stub__echo", json!({"text": word}));
        scene.server.when(word).reply(call).then(text("done"));
    }
    scene.go().await;
    scene
}

#[tokio::test]
async fn shared_servers_and_separate_ones_make_the_same_requests_and_sessions() {
    let (pooled, apart) = (three_agents(true).await, three_agents(false).await);
    assert_eq!(count(&pooled, "stub", "started"), 1);
    assert_eq!(count(&apart, "stub", "started"), 3);
    let bodies = |scene: &Scene| -> Vec<Value> {
        let requests = scene.server.requests();
        let mut bodies: Vec<_> = requests
            .iter()
            .map(|it| (it.agent.clone(), it.index, it.body["messages"].clone(), offered(it)))
            .collect();
        bodies.sort_by_key(|(agent, index, ..)| (agent.clone(), *index));
        bodies
            .iter()
            .map(|(agent, _, messages, tools)| json!([agent, plain(messages), tools]))
            .collect()
    };
    let here = |scene: &Scene, value: Vec<Value>| {
        Value::from(value)
            .to_string()
            .replace(&scene.world.project_dir().display().to_string(), "HERE")
    };
    pretty_assertions::assert_eq!(here(&pooled, bodies(&pooled)), here(&apart, bodies(&apart)));
    pretty_assertions::assert_eq!(here(&pooled, stored(&pooled)), here(&apart, stored(&apart)));
    pooled.server.finish();
    apart.server.finish();
}

#[tokio::test]
async fn agents_with_other_variables_never_share_a_process() {
    let scene = Scene::new();
    scene.world.config(&server(&scene, "stub", &[("STUB_TOOLS", &tools(&["own"]))]));
    for (name, own) in [("blue", "blue"), ("azure", "blue"), ("red", "red")] {
        let text = format!(
            "---\ndescription: Works with its own variables.\nenv:\n  OWN: {own}\n---\nYou work."
        );
        scene.world.agent(name, &text);
    }
    let call = || tool_use("mcp__stub__own", json!({}));
    let batch = tool_use("AgentTool", agent_with("CHILD-A", "agent", "blue".into()))
        .tool_use("AgentTool", agent_with("CHILD-B", "agent", "azure".into()))
        .tool_use("AgentTool", agent_with("CHILD-C", "agent", "red".into()));
    scene.server.when(PARENT).reply(call()).then(batch).then(text(DONE));
    for word in ["CHILD-A", "CHILD-B", "CHILD-C"] {
        scene.server.when(word).reply(call().gate("all")).then(text("done"));
    }
    let running = scene.run().start();
    scene.server.reached_by("all", 3).await;
    scene.server.open("all");
    running.wait().await.assert_code(0);
    let said = |word: &str| scene.server.requests_of(word)[1].tool_result().text;
    for (word, own) in
        [(PARENT, "none"), ("CHILD-A", "blue"), ("CHILD-B", "blue"), ("CHILD-C", "red")]
    {
        let text = said(word);
        assert!(text.starts_with(&format!("OWN={own} KEY=none ")), "{word}: {text}");
    }
    let mut started: Vec<_> = noted(&scene, "stub")
        .iter()
        .filter(|line| line.starts_with("started"))
        .map(|line| line.split(' ').nth(2).unwrap_or_default().to_owned())
        .collect();
    started.sort();
    assert_eq!(started, ["", "blue", "red"], "one process for each set of variables");
    scene.server.finish();
}
