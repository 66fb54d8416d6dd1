//! Calls of servers' tools: what is offered, what comes back, what is shown meanwhile.

use serde_json::{Value, json};

use super::{count, last, noted, offered, server, tools};
use crate::support::process;
use crate::support::pty::Screen;
use crate::support::record::{Recorded, all_text};
use crate::support::scene::{DONE, PARENT, Scene, agent_with};
use crate::support::script::{dynamic, text, tool_use};

/// A scene with one stub that offers these tools.
fn with_tools(names: &[&str], variables: &[(&str, &str)]) -> Scene {
    let scene = Scene::new();
    let list = tools(names);
    let all: Vec<_> =
        std::iter::once(("STUB_TOOLS", list.as_str())).chain(variables.iter().copied()).collect();
    scene.world.config(&server(&scene, "stub", &all));
    scene
}

#[tokio::test]
async fn a_servers_tool_is_called_and_its_text_is_the_result() {
    let scene = Scene::new();
    scene.world.config(&server(&scene, "stub", &[]));
    let call = tool_use("mcp__stub__echo", json!({"text": "hello there"}));
    scene.server.when(PARENT).reply(call).then(text(DONE));
    let finished = scene.go().await;
    let result = last(&scene).tool_result();
    assert_eq!((result.text.as_str(), result.is_error), ("hello there", false));
    let init = &finished.frames()[0];
    assert_eq!(init["mcp_servers"], json!([{"name": "stub", "status": "connected"}]));
    assert!(init["tools"].as_array().unwrap().contains(&json!("mcp__stub__echo")), "{init}");
    assert_eq!(count(&scene, "stub", "started"), 1);
    scene.server.finish();
}

#[tokio::test]
async fn a_servers_tool_has_the_shape_of_every_tool_and_says_nothing_of_its_origin() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    let list = json!([{
        "name": "look", "title": "Looker", "description": "Looks.", "inputSchema": schema,
        "annotations": {"readOnlyHint": true, "title": "ORIGIN-77"}, "_meta": {"origin": "ORIGIN-77"},
    }]);
    let scene = Scene::new();
    scene.world.config(&server(&scene, "stub", &[("STUB_TOOLS", &list.to_string())]));
    scene.server.when(PARENT).reply(text(DONE));
    scene.go().await;
    let request = last(&scene);
    let mut tool = request.tool("mcp__stub__look").unwrap().clone();
    tool.as_object_mut().unwrap().remove("cache_control");
    let expected =
        json!({"name": "mcp__stub__look", "description": "Looks.", "input_schema": schema});
    assert_eq!(tool, expected);
    assert!(!request.text().contains("ORIGIN-77"));
    scene.server.finish();
}

#[tokio::test]
async fn errors_images_and_structures_come_back_as_what_they_are() {
    let scene = with_tools(
        &["fail", "refuse", "show"],
        &[(
            "STUB_ANSWER",
            r#"{"content":[{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="},{"type":"resource","resource":{"uri":"file:///a","text":"inside"}}],"structuredContent":{"a":1}}"#,
        )],
    );
    let batch = tool_use("mcp__stub__fail", json!({}))
        .tool_use("mcp__stub__refuse", json!({}))
        .tool_use("mcp__stub__show", json!({}));
    scene.server.when(PARENT).reply(batch).then(text(DONE));
    scene.go().await;
    let request = last(&scene);
    let results = request.tool_results();
    assert_eq!((results[0].text.as_str(), results[0].is_error), ("it did not work", true));
    assert_eq!(results[1].text, "MCP server stub: no such thing");
    assert!(results[1].is_error);
    assert_eq!(results[2].text, "[resource file:///a]\ninside");
    assert!(request.text().contains("iVBORw0KGgo="));
    scene.server.finish();
}

#[tokio::test]
async fn progress_is_shown_while_a_call_runs() {
    let gate = tempfile::tempdir().unwrap();
    let gate = gate.path().join("gate");
    nix::unistd::mkfifo(&gate, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let scene = with_tools(&["steps"], &[("STUB_GATE", gate.to_str().unwrap())]);
    let call = tool_use("mcp__stub__steps", json!({}));
    scene.server.when(PARENT).reply(call).then(text(DONE));
    let screen =
        Screen::start(&scene.world, ["--dangerously-skip-permissions", "PARENT-1 go"], 100, 30);
    screen.wait_for("step two");
    std::fs::write(&gate, "go\n").unwrap();
    screen.wait_for(DONE);
    assert_eq!(last(&scene).tool_result().text, "done");
    scene.server.finish();
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once_and_the_server_is_told() {
    let scene = with_tools(&["never"], &[]);
    let call = tool_use("mcp__stub__never", json!({}));
    scene.server.when(PARENT).reply(call).then(text(DONE));
    let screen =
        Screen::start(&scene.world, ["--dangerously-skip-permissions", "PARENT-1 go"], 100, 30);
    screen.wait_for("never");
    process::eventually(|| count(&scene, "stub", "call never") == 1).await;
    screen.keys("\u{3}");
    screen.wait_for("stopped after");
    process::eventually(|| count(&scene, "stub", "cancelled") == 1).await;
    screen.keys("go on\r");
    screen.wait_for(DONE);
    assert!(last(&scene).text().contains("This call was cancelled."));
    scene.server.finish();
}

#[tokio::test]
async fn what_a_server_asks_of_us_is_answered_or_refused() {
    let scene = with_tools(&["asks"], &[]);
    scene
        .server
        .when(PARENT)
        .reply(tool_use("mcp__stub__asks", json!({})))
        .then(text(DONE).gate("asked"));
    let running = scene.run().start();
    scene.server.reached("asked").await;
    process::eventually(|| count(&scene, "stub", "answer") == 5).await;
    let mut answers: Vec<Value> = noted(&scene, "stub")
        .iter()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("answer ")?).ok())
        .collect();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers[0]["result"], json!({}), "a ping");
    assert_eq!(answers[1]["result"], json!({"roots": []}));
    assert_eq!(answers[2]["error"]["code"], -32601, "no model is lent");
    assert_eq!(answers[3]["result"]["action"], "decline");
    assert_eq!(answers[4]["error"]["code"], -32601, "what nobody knows");
    scene.server.open("asked");
    running.wait().await.assert_code(0);
    assert_eq!(last(&scene).tool_result().text, "asked");
    scene.server.finish();
}

#[tokio::test]
async fn rules_decide_on_servers_tools_by_server_and_by_tool() {
    for (rule, expected) in [
        ("mcp__stub", [false, false]),
        ("mcp__stub__*", [false, false]),
        ("mcp__stub__echo", [false, true]),
    ] {
        let scene = with_tools(&["echo", "agent"], &[]);
        let batch = tool_use("mcp__stub__echo", json!({"text": "x"}))
            .tool_use("mcp__stub__agent", json!({"text": "y"}));
        scene.server.when(PARENT).reply(batch).then(text(DONE));
        let args = ["-p", "PARENT-1 go", "--allowed-tools", rule];
        scene.world.run(args).finish().await.assert_code(0);
        let errors: Vec<_> = last(&scene).tool_results().iter().map(|it| it.is_error).collect();
        assert_eq!(errors, expected, "{rule}");

        let denied = with_tools(&["echo", "agent"], &[]);
        denied.server.when(PARENT).reply(text(DONE));
        denied.run().args(["--disallowed-tools", rule]).finish().await.assert_code(0);
        let left = offered(&last(&denied)).len();
        assert_eq!(left, expected.iter().filter(|it| **it).count(), "{rule}");
    }
}

#[tokio::test]
async fn a_hint_that_a_tool_only_reads_widens_no_right() {
    let list =
        r#"[{"name":"echo","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]"#;
    let scene = Scene::new();
    scene.world.config(&server(&scene, "stub", &[("STUB_TOOLS", list)]));
    let call = tool_use("mcp__stub__echo", json!({"text": "x"}));
    scene.server.when(PARENT).reply(call).then(text(DONE));
    scene.world.run(["-p", "PARENT-1 go"]).finish().await.assert_code(0);
    assert!(last(&scene).tool_result().is_error);
    assert_eq!(count(&scene, "stub", "call"), 0);
    scene.server.finish();
}

#[tokio::test]
async fn a_tool_that_reports_a_fatal_error_stops_the_run() {
    for (kind, code) in [("autonomy", 4), ("auth", 3)] {
        let answer = json!({
            "isError": true, "content": [{"type": "text", "text": "stop"}],
            "structuredContent": {"error": {"kind": kind, "message": "WHY-77"}},
        });
        let scene = with_tools(&["judge"], &[("STUB_ANSWER", &answer.to_string())]);
        scene.server.when(PARENT).reply(tool_use("mcp__stub__judge", json!({})));
        let finished = scene.run().finish().await;
        finished.assert_code(code);
        assert!(finished.stdout.contains("WHY-77"), "{finished}");
        assert_eq!(scene.server.requests().len(), 1, "no request after it");
        // The session can go on: the call has its result.
        scene.server.when(PARENT).reply(text("more"));
        let again = scene.world.run(["-p", "MORE-1", "--continue"]).finish().await;
        again.assert_code(0);
        scene.server.finish();
    }
}

#[tokio::test]
async fn where_violations_are_reported_the_model_is_told() {
    let answer = json!({
        "isError": true, "content": [{"type": "text", "text": "TOLD-77"}],
        "structuredContent": {"error": {"kind": "autonomy", "message": "too deep"}},
    });
    let scene = Scene::new();
    let list = tools(&["judge"]);
    let stub =
        server(&scene, "stub", &[("STUB_TOOLS", &list), ("STUB_ANSWER", &answer.to_string())]);
    scene.world.config(&format!("{stub}[subagents]\non_autonomy_violation = \"report\"\n"));
    scene.server.when(PARENT).reply(tool_use("mcp__stub__judge", json!({}))).then(text(DONE));
    scene.go().await;
    assert_eq!(last(&scene).tool_result().text, "TOLD-77");
    scene.server.finish();
}

#[tokio::test]
async fn a_missing_server_is_waited_for_and_named_once() {
    let scene = Scene::new();
    scene.world.config(&server(&scene, "silent", &[("STUB_MODE", "silent")]));
    scene.server.when(PARENT).reply(text(DONE)).then(text("second done"));
    let args = ["-p", "--input-format", "stream-json", "--output-format", "stream-json"];
    let mut running = scene.world.run(args).open_stdin().start();
    let prompt = |text: &str| json!({"type": "user", "message": {"role": "user", "content": text}});
    running.send(&prompt("PARENT-1 go"));
    running.printed(DONE, 1).await;
    running.send(&prompt("more"));
    running.printed("second done", 1).await;
    let finished = running.close().await;
    let said = finished.stdout.matches("MCP servers not ready: silent").count();
    assert_eq!(said, 1, "{finished}");
    scene.server.finish();
}

#[tokio::test]
async fn a_fork_is_told_of_its_originals_tools_whatever_has_come_since() {
    let scene = Scene::new();
    let stub = server(&scene, "stub", &[("STUB_TOOLS", &tools(&["grow", "echo"]))]);
    scene.world.config(&format!("[subagents]\nfaces = [\"agent\", \"lifecycle\"]\n{stub}"));
    let router = dynamic(|request| {
        let turns = request.messages().iter().filter(|message| message["role"] == "assistant");
        match (request.text().contains("FORK-A go on"), turns.count()) {
            (_, 0) => tool_use("mcp__stub__grow", json!({})),
            (false, 1) => tool_use("agent_fork", json!({"prompt": "FORK-A go on"})).gate("grown"),
            _ => text(DONE),
        }
    });
    scene.server.when(PARENT).forever(router);
    let running = scene.run().start();
    process::eventually(|| count(&scene, "stub", "list") == 2).await;
    scene.server.open("grown");
    running.wait().await.assert_code(0);
    let requests = scene.server.requests_of(PARENT);
    let is_fork = |request: &&Recorded| {
        all_text(&request.messages().last().unwrap()["content"]).contains("FORK-A")
    };
    let fork = requests.iter().find(is_fork).expect("a fork");
    assert_eq!(fork.body["tools"], requests[0].body["tools"]);
    scene.server.finish();
}

#[tokio::test]
async fn a_server_with_much_wrong_says_no_more_than_a_person_reads() {
    let list: Vec<_> =
        (0..300).map(|number| json!({"name": format!("t{number}"), "inputSchema": []})).collect();
    let scene = Scene::new();
    scene.world.config(&server(&scene, "stub", &[("STUB_TOOLS", &json!(list).to_string())]));
    scene.server.when(PARENT).reply(text(DONE));
    let finished = scene.go().await;
    let frames = finished.frames();
    let said: Vec<_> = frames
        .iter()
        .filter_map(|frame| frame["text"].as_str())
        .filter(|text| text.starts_with("MCP server stub: "))
        .collect();
    assert_eq!(said.len(), 21, "{said:?}");
    assert_eq!(said[20], "MCP server stub: further problems are not shown");
    scene.server.finish();
}

#[tokio::test]
async fn a_result_of_an_odd_shape_is_read_as_far_as_it_can_be() {
    for (answer, expected) in [
        (
            r#"{"content":[{"type":"hologram"},{"type":"text","text":"beside"}]}"#,
            "[content of type \"hologram\": not shown]\nbeside",
        ),
        (r#"{"content":[{"type":"text"},{"type":"text","text":"beside"}]}"#, "beside"),
        (r#"{"content":"words"}"#, "(no output)"),
        (r#"{}"#, "(no output)"),
        (r#"[1]"#, "(no output)"),
        (r#"{"toolResult":"old"}"#, "(no output)"),
    ] {
        let scene = with_tools(&["odd"], &[("STUB_ANSWER", answer)]);
        let call = tool_use("mcp__stub__odd", json!({}));
        scene.server.when(PARENT).reply(call).then(text(DONE));
        scene.go().await;
        let result = last(&scene).tool_result();
        assert_eq!((result.text.as_str(), result.is_error), (expected, false), "{answer}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn modes_hold_for_servers_tools_too() {
    for (mode, rule, expected) in [
        ("plan", None, 0),
        ("plan", Some("mcp__stub"), 0),
        ("dontAsk", None, 0),
        ("dontAsk", Some("mcp__stub"), 1),
        ("acceptEdits", None, 0),
    ] {
        let scene = with_tools(&["echo"], &[]);
        let call = tool_use("mcp__stub__echo", json!({"text": "x"}));
        scene.server.when(PARENT).reply(call).then(text(DONE));
        let mut args = vec!["-p", "PARENT-1 go", "--permission-mode", mode];
        args.extend(rule.iter().flat_map(|rule| ["--allowed-tools", *rule]));
        scene.world.run(args).finish().await.assert_code(0);
        assert_eq!(count(&scene, "stub", "call"), expected, "{mode} {rule:?}");
        assert_eq!(last(&scene).tool_result().is_error, expected == 0, "{mode} {rule:?}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn what_is_wrong_with_the_servers_of_a_definition_is_told_and_a_name_twice_is_not_wrong() {
    let own = |stub: &str| {
        format!("mcpServers:\n  - stub\n  - stub:\n      command: bash\n      args: [{stub}]\n")
    };
    let said = "the MCP servers stub and stub both offer mcp__stub__echo: the first is used";
    for (lines, expected) in [
        ("mcpServers: [stub, stub]\n".to_owned(), 0),
        (own(&super::stub().display().to_string()), 1),
    ] {
        let scene = with_tools(&["echo"], &[]);
        let text_of = format!("---\ndescription: Works.\n{lines}---\nYou work.");
        scene.world.agent("worker", &text_of);
        scene.parent_calls([agent_with("CHILD-A", "agent", "worker".into())]);
        scene.server.when("CHILD-A").reply(text("done"));
        let finished = scene.go().await;
        assert_eq!(finished.stdout.matches(said).count(), expected, "{finished}");
        let requests = scene.server.requests_of("CHILD-A");
        assert_eq!(offered(&requests[0]), ["mcp__stub__echo"]);
        scene.server.finish();
    }
}
