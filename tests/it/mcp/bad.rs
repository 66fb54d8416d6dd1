//! Servers that are not what they should be: one clear line each, nothing hangs, nothing is lost.

use std::time::Duration;

use serde_json::{Value, json};

use super::{count, last, offered, server, tools};
use crate::support::run::Finished;
use crate::support::scene::{DONE, PARENT, Scene};
use crate::support::script::{text, tool_use};

/// What the frames say of servers, in order.
fn lines(finished: &Finished) -> Vec<String> {
    let frames = finished.frames();
    let notices = frames.iter().filter(|frame| frame["subtype"] == "notice");
    let texts = notices.filter_map(|frame| frame["text"].as_str());
    texts.filter(|text| text.contains("MCP")).map(str::to_owned).collect()
}

/// Runs with a stub that has these variables beside one that works, and answers with what was said.
async fn beside_a_good_one(config: impl Fn(&Scene) -> String) -> (Scene, Vec<String>, Value) {
    let scene = Scene::new();
    let good = server(&scene, "good", &[]);
    scene.world.config(&format!("{good}{}", config(&scene)));
    let call = tool_use("mcp__good__echo", json!({"text": "still here"}));
    scene.server.when(PARENT).reply(call).then(text(DONE));
    let finished = scene.go().await;
    assert_eq!(last(&scene).tool_result().text, "still here");
    let servers = finished.frames()[0]["mcp_servers"].clone();
    let lines = lines(&finished);
    (scene, lines, servers)
}

#[tokio::test]
async fn a_server_that_cannot_be_started_is_one_line_and_costs_no_other() {
    let plain = |toml: &str| {
        let toml = toml.to_owned();
        move |_: &Scene| toml.clone()
    };
    let (scene, said, servers) =
        beside_a_good_one(|scene| server(scene, "bad", &[("STUB_MODE", "die")])).await;
    assert_eq!(said, ["MCP server bad: it ended with exit code 3; it said: no licence found"]);
    let expected =
        json!([{"name": "bad", "status": "failed"}, {"name": "good", "status": "connected"}]);
    assert_eq!(servers, expected);
    scene.server.finish();

    let (scene, said, _) =
        beside_a_good_one(plain("[mcp_servers.bad]\ncommand = \"no-such-program-77\"\n")).await;
    assert_eq!(said, ["MCP server bad: program not found: no-such-program-77"]);
    scene.server.finish();

    let unset = "[mcp_servers.bad]\ncommand = \"bash\"\nargs = [\"${NOT_SET_77}\"]\n";
    let (scene, said, _) = beside_a_good_one(plain(unset)).await;
    assert_eq!(
        said,
        [
            "MCP server bad: the variable NOT_SET_77 is not set: set it, or give a default with ${NOT_SET_77:-…}"
        ]
    );
    scene.server.finish();

    let deaf = |scene: &Scene| {
        format!("{}startup_timeout_s = 0.5\n", server(scene, "bad", &[("STUB_MODE", "deaf")]))
    };
    let (scene, said, _) = beside_a_good_one(deaf).await;
    assert_eq!(
        said,
        [
            "MCP server bad: it did not answer within 0.5 s; it printed text that is not MCP: \"I am no server\""
        ]
    );
    scene.server.finish();

    let nobody = "[mcp_servers.bad]\nurl = \"http://127.0.0.1:1/mcp?key=sk-literal-77\"\n";
    let (scene, said, _) = beside_a_good_one(plain(nobody)).await;
    assert_eq!(said, ["MCP server bad: cannot reach http://127.0.0.1:1/mcp: connection refused"]);
    assert!(!scene.world.log().contains("sk-literal-77"), "{}", scene.world.log());
    scene.server.finish();
}

#[tokio::test]
async fn keys_of_a_servers_variables_and_headers_are_in_no_line_and_no_log() {
    let talks = |_: &Scene| {
        let talk = "echo refused key $KEY >&2; exit 3";
        format!(
            "[mcp_servers.bad]\ncommand = \"bash\"\nargs = [\"-c\", \"{talk}\"]\nenv = {{ KEY = \"sk-literal-77\" }}\n"
        )
    };
    let (scene, said, _) = beside_a_good_one(talks).await;
    assert_eq!(said, ["MCP server bad: it ended with exit code 3; it said: refused key ***"]);
    let log = scene.world.log();
    assert!(log.contains("refused key ***") && !log.contains("sk-literal-77"), "{log}");
    scene.server.finish();
}

#[tokio::test]
async fn garbage_and_noise_beside_the_protocol_are_passed_over() {
    for mode in ["garbage", "noisy"] {
        let scene = Scene::new();
        scene.world.config(&server(&scene, "stub", &[("STUB_MODE", mode)]));
        let call = tool_use("mcp__stub__echo", json!({"text": "through"}));
        scene.server.when(PARENT).reply(call).then(text(DONE));
        let finished = scene.go().await;
        assert_eq!(last(&scene).tool_result().text, "through", "{mode}");
        assert_eq!(lines(&finished), [""; 0], "{mode}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_list_of_tools_without_an_end_is_one_line() {
    let endless = |scene: &Scene| server(scene, "bad", &[("STUB_MODE", "endless")]);
    let (scene, said, _) = beside_a_good_one(endless).await;
    assert_eq!(said, ["MCP server bad: its list of tools never ends"]);
    assert_eq!(count(&scene, "bad", "list"), 200, "pages");
    scene.server.finish();
}

#[tokio::test]
async fn a_result_that_is_too_large_fails_at_once_and_the_server_stays() {
    let scene = Scene::new();
    let list = tools(&["huge", "echo"]);
    scene.world.config(&server(&scene, "stub", &[("STUB_TOOLS", &list)]));
    let echo = tool_use("mcp__stub__echo", json!({"text": "still here"}));
    let huge = tool_use("mcp__stub__huge", json!({}));
    scene.server.when(PARENT).reply(huge).then(echo).then(text(DONE));
    scene.go().await;
    let said = scene.server.requests_of(PARENT)[1].tool_result();
    let expected = "MCP server stub: it sent a message larger than 16 MB, which was skipped";
    assert_eq!((said.text.as_str(), said.is_error), (expected, true));
    assert_eq!(last(&scene).tool_result().text, "still here");
    assert_eq!(count(&scene, "stub", "started"), 1);
    scene.server.finish();
}

#[tokio::test]
async fn an_answer_that_is_no_message_fails_at_once_and_the_server_stays() {
    let scene = Scene::new();
    scene.world.config(&server(&scene, "stub", &[("STUB_TOOLS", &tools(&["tear", "mutter"]))]));
    let torn = tool_use("mcp__stub__tear", json!({}));
    let good = tool_use("mcp__stub__mutter", json!({}));
    scene.server.when(PARENT).reply(torn).then(good).then(text(DONE));
    let finished = scene.go().await;
    assert!(finished.took < Duration::from_secs(20), "{:?}", finished.took);
    let result = scene.server.requests_of(PARENT)[1].tool_result();
    let said = r#"MCP server stub: it sent an invalid JSON-RPC message: "{\"jsonrpc\":\"2.0\""#;
    assert!(result.is_error && result.text.starts_with(said), "{result:?}");
    assert_eq!(last(&scene).tool_result().text, "after a word");
    assert_eq!(count(&scene, "stub", "started"), 1);
    scene.server.finish();
}

#[tokio::test]
async fn text_beside_the_protocol_fails_no_call_and_is_named_when_the_time_is_over() {
    let scene = Scene::new();
    let stub = server(&scene, "stub", &[("STUB_TOOLS", &tools(&["babble", "mutter"]))]);
    // Longer than any silence after which a call might be given up.
    scene.world.config(&format!("{stub}timeout_s = 4\n"));
    let bad = tool_use("mcp__stub__babble", json!({}));
    let good = tool_use("mcp__stub__mutter", json!({}));
    scene.server.when(PARENT).reply(bad).then(good).then(text(DONE));
    scene.go().await;
    let result = scene.server.requests_of(PARENT)[1].tool_result();
    let said = "This call took longer than 4 s and was stopped.\n\nMCP server stub sent no answer, but printed text: \
                \"I am afraid I cannot\" (a server must log to stderr)";
    assert_eq!((result.text.as_str(), result.is_error), (said, true));
    assert_eq!(last(&scene).tool_result().text, "after a word");
    assert_eq!(count(&scene, "stub", "started"), 1);
    scene.server.finish();
}

#[tokio::test]
async fn tools_beyond_the_bounds_of_a_server_are_left_out_with_one_line() {
    let names: Vec<String> = (0..300).map(|n| format!("t{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (first, more) = (tools(&names), tools(&names).replace("\"t", "\"u"));
    let scene = Scene::new();
    scene.world.config(&server(&scene, "stub", &[("STUB_TOOLS", &first), ("STUB_MORE", &more)]));
    scene.server.when(PARENT).reply(text(DONE));
    let finished = scene.go().await;
    assert_eq!(offered(&last(&scene)).len(), 512);
    let [line] = &lines(&finished)[..] else { panic!("one line\n{finished}") };
    let start = "MCP server stub: offers too many tools: 88 are left out after the first 512; ";
    assert!(line.starts_with(start), "{line}");
    scene.server.finish();
}

#[tokio::test]
async fn a_flood_of_progress_holds_up_nothing() {
    let scene = Scene::new();
    scene.world.config(&server(&scene, "stub", &[("STUB_TOOLS", &tools(&["flood"]))]));
    let call = tool_use("mcp__stub__flood", json!({}));
    scene.server.when(PARENT).reply(call).then(text(DONE));
    scene.go().await;
    assert_eq!(last(&scene).tool_result().text, "after the flood");
    scene.server.finish();
}

#[tokio::test]
async fn tools_that_cannot_be_offered_are_named_and_the_others_are_offered() {
    let page = r#"[{"name":"one","inputSchema":{"type":"object"}},{"name":"one","inputSchema":{"type":"object"}},{"name":"list","inputSchema":[]}]"#;
    let more = r#"[{"name":"two","inputSchema":{"type":"object"}},{"name":"text","inputSchema":{"type":"string"}}]"#;
    let scene = Scene::new();
    scene.world.config(&server(&scene, "stub", &[("STUB_TOOLS", page), ("STUB_MORE", more)]));
    scene.server.when(PARENT).reply(text(DONE));
    let finished = scene.go().await;
    assert_eq!(offered(&last(&scene)), ["mcp__stub__one", "mcp__stub__two"], "of both pages");
    assert_eq!(
        lines(&finished),
        [
            "MCP server stub: lists two tools named one: the first is used",
            "MCP server stub: the schema of its tool list is not an object: it is left out",
            "MCP server stub: the schema of its tool text is not an object: it is left out",
        ]
    );
    scene.server.finish();
}

#[tokio::test]
async fn two_servers_with_one_name_for_models_are_told_apart_in_one_line() {
    let scene = Scene::new();
    scene.world.config(&server(&scene, "a_x", &[]));
    let stub = super::stub().display().to_string();
    let flag = json!({"mcpServers": {"a.x": {"command": "bash", "args": [stub]}}}).to_string();
    scene.server.when(PARENT).reply(text(DONE));
    let finished = scene.run().args(["--mcp-config", &flag]).finish().await;
    finished.assert_code(0);
    assert_eq!(offered(&last(&scene)), ["mcp__a_x__echo"]);
    assert_eq!(
        lines(&finished),
        ["the MCP servers a.x and a_x both offer mcp__a_x__echo: the first is used"]
    );
    scene.server.finish();
}

#[tokio::test]
async fn a_flag_that_cannot_be_read_ends_the_start() {
    let scene = Scene::new();
    for (value, expected) in [
        ("{", "--mcp-config: not valid JSON"),
        ("nowhere.json", "--mcp-config: no such file: nowhere.json"),
        (r#"{"mcpServers":{"x":{"type":"web","url":"http://h"}}}"#, "type \"web\", which"),
    ] {
        let finished = scene.world.run(["-p", "x", "--mcp-config", value]).finish().await;
        finished.assert_code(2);
        assert!(finished.stderr.contains(expected), "{finished}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn an_sse_server_of_the_flag_is_left_out_and_a_description_means_nothing_wrong() {
    let scene = Scene::new();
    let stub = super::stub().display().to_string();
    let given = json!({"command": "bash", "args": [stub], "description": "Echoes."});
    let old = json!({"type": "sse", "url": "http://127.0.0.1:9"});
    let flag = json!({"mcpServers": {"given": given, "old": old}}).to_string();
    scene.server.when(PARENT).reply(text(DONE));
    let finished = scene.run().args(["--mcp-config", &flag]).finish().await;
    finished.assert_code(0);
    assert_eq!(offered(&last(&scene)), ["mcp__given__echo"]);
    let said = lines(&finished);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("MCP server old skipped: has type sse, "), "{said:?}");
    scene.server.finish();
}

#[tokio::test]
async fn strict_leaves_only_the_servers_of_the_flag() {
    let scene = Scene::new();
    scene.world.config(&server(&scene, "own", &[]));
    let stub = super::stub().display().to_string();
    let flag = json!({"mcpServers": {"given": {"command": "bash", "args": [stub]}}}).to_string();
    scene.server.when(PARENT).reply(text(DONE)).then(text(DONE));
    scene.run().args(["--mcp-config", &flag]).finish().await.assert_code(0);
    assert_eq!(offered(&last(&scene)), ["mcp__given__echo", "mcp__own__echo"]);
    scene.run().args(["--strict-mcp-config", "--mcp-config", &flag]).finish().await.assert_code(0);
    assert_eq!(offered(&last(&scene)), ["mcp__given__echo"]);
    scene.server.finish();
}

#[tokio::test]
async fn a_projects_servers_wait_for_trust() {
    let scene = Scene::new();
    let stub = super::stub().display().to_string();
    let file = json!({"mcpServers": {"theirs": {"command": "bash", "args": [stub]}}});
    scene.world.write(".mcp.json", &file.to_string());
    scene.server.when(PARENT).reply(text(DONE)).then(text(DONE));
    let finished = scene.go().await;
    assert_eq!(offered(&last(&scene)), [""; 0]);
    assert!(finished.stderr.contains("MCP server theirs"), "{finished}");
    scene.world.run(["trust"]).finish().await.assert_code(0);
    scene.go().await;
    assert_eq!(offered(&last(&scene)), ["mcp__theirs__echo"]);
    scene.server.finish();
}
