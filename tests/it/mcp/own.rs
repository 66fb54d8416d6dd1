//! Servers of sub-agents: those of the session, some of them, and their own.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{count, noted, offered, server, stub};
use crate::support::client::{ARGS, Client};
use crate::support::process;
use crate::support::scene::{PARENT, Scene, agent_with};
use crate::support::script::{text, tool_use};

/// A definition of the person's with these lines in its front matter.
fn definition(scene: &Scene, lines: &str) {
    let text = format!("---\ndescription: Works with servers of its own.\n{lines}---\nYou work.");
    scene.world.agent("worker", &text);
}

#[tokio::test]
async fn a_sub_agent_has_the_sessions_servers_or_those_that_its_definition_names() {
    for (lines, expected) in [
        ("", vec!["mcp__one__echo", "mcp__two__echo"]),
        ("mcpServers: [two]\n", vec!["mcp__two__echo"]),
        ("mcpServers: []\n", vec![]),
        ("tools: [Read, mcp__one__echo]\n", vec!["mcp__one__echo"]),
        ("tools: [Read, mcp__one]\n", vec!["mcp__one__echo"]),
        ("disallowedTools: [mcp__one__*]\n", vec!["mcp__two__echo"]),
    ] {
        let scene = Scene::new();
        scene.world.config(&format!(
            "{}{}",
            server(&scene, "one", &[("STUB_WORDS", "WORDS-one")]),
            server(&scene, "two", &[("STUB_WORDS", "WORDS-two")])
        ));
        definition(&scene, lines);
        scene.parent_calls([agent_with("CHILD-A", "agent", "worker".into())]);
        let child = match expected.as_slice() {
            [first, ..] => tool_use(first, json!({"text": "from below"})),
            [] => text("nothing there"),
        };
        let script = scene.server.when("CHILD-A").reply(child);
        if !expected.is_empty() {
            script.then(text("done"));
        }
        scene.go().await;
        let requests = scene.server.requests_of("CHILD-A");
        assert_eq!(offered(&requests[0]), expected, "{lines}");
        for name in ["one", "two"] {
            let is_expected = expected.contains(&format!("mcp__{name}__echo").as_str());
            let is_told = requests[0].system().contains(&format!("WORDS-{name}"));
            assert_eq!(is_told, is_expected, "{lines}");
        }
        if !expected.is_empty() {
            assert_eq!(requests[1].tool_result().text, "from below", "{lines}");
        }
        assert_eq!(count(&scene, "one", "started"), 1, "one process for all");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_server_of_a_definition_lives_as_long_as_its_agent() {
    let scene = Scene::new();
    scene.world.config(&server(&scene, "one", &[]));
    let log = scene.world.project_dir().join("own.log");
    definition(
        &scene,
        &format!(
            "mcpServers:\n  - one\n  - own:\n      command: bash\n      args: [{}]\n      env: {{ STUB_LOG: {} }}\n",
            stub().display(),
            log.display()
        ),
    );
    let call = tool_use("AgentTool", agent_with("CHILD-A", "agent", "worker".into()));
    scene.server.when(PARENT).reply(call).then(text("held").gate("held"));
    let own = tool_use("mcp__own__echo", json!({"text": "mine"}));
    scene.server.when("CHILD-A").reply(own).then(text("child done"));
    let running = scene.run().start();
    scene.server.reached("held").await;
    process::eventually(|| count(&scene, "own", "ended") == 1).await;
    assert_eq!(
        count(&scene, "one", "ended"),
        0,
        "the session's goes on: {:?}",
        noted(&scene, "one")
    );
    scene.server.open("held");
    running.wait().await.assert_code(0);
    let requests = scene.server.requests_of("CHILD-A");
    assert_eq!(offered(&requests[0]), ["mcp__one__echo", "mcp__own__echo"]);
    assert_eq!(requests[1].tool_result().text, "mine");
    assert_eq!(offered(&super::last(&scene)), ["mcp__one__echo"], "main has it not");
    scene.server.finish();
}

#[tokio::test]
async fn a_projects_definition_starts_no_server() {
    let scene = Scene::new();
    let text_of = format!(
        "---\ndescription: Works with servers of its own.\nmcpServers:\n  - own:\n      command: bash\n      args: [{}]\n---\nYou work.",
        stub().display()
    );
    scene.world.write(".caliban/agents/worker.md", &text_of);
    scene.parent_calls([agent_with("CHILD-A", "agent", "worker".into())]);
    scene.server.when("CHILD-A").reply(text("done"));
    let finished = scene.go().await;
    assert_eq!(offered(&scene.server.requests_of("CHILD-A")[0]), [""; 0]);
    assert!(
        finished.stdout.contains("Ignored until you trust it: agent worker mcpServers"),
        "{finished}"
    );
    scene.server.finish();
}

#[tokio::test]
async fn an_agent_whose_only_tools_are_those_of_a_late_server_waits_for_it_and_not_for_ever() {
    let scene = Scene::new();
    let gate = scene.world.project_dir().join("gate");
    nix::unistd::mkfifo(&gate, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let late = [("STUB_MODE", "late"), ("STUB_GATE", gate.to_str().unwrap())];
    scene.world.config(&server(&scene, "late", &late));
    definition(&scene, "tools: [mcp__late]\n");
    let call = |word: &str| tool_use("AgentTool", agent_with(word, "agent", "worker".into()));
    let parent = scene.server.when(PARENT).reply(call("CHILD-A")).then(call("CHILD-B"));
    parent.then(call("CHILD-C")).then(text("all done"));
    for child in ["CHILD-B", "CHILD-C"] {
        let echo = tool_use("mcp__late__echo", json!({"text": child}));
        scene.server.when(child).reply(echo).then(text("child done"));
    }
    let run = scene.world.run(ARGS).args(["--dangerously-skip-permissions"]);
    let mut client = Client::start(run);
    client.prompt("PARENT-1 go");
    let calls = |word: &'static str| {
        move |frame: &Value| frame["message"]["content"][0]["input"]["prompt"] == word
    };
    client.frame(calls("CHILD-A look around")).await;
    let began = Instant::now();
    // Nobody starts the server this time.
    client.frame(calls("CHILD-B look around")).await;
    assert!(began.elapsed() >= Duration::from_secs(4), "{:?}", began.elapsed());
    tokio::task::spawn_blocking(move || std::fs::write(gate, "go\n")).await.unwrap().unwrap();
    assert_eq!(client.result().await["result"], "all done");
    client.close().await.assert_code(0);
    let results: Vec<_> =
        scene.server.requests_of(PARENT)[1..].iter().map(|request| request.tool_result()).collect();
    let why = "`tools` of the agent worker leaves no tool (unknown: mcp__late: the MCP server late is not connected yet)";
    assert!(results[0].is_error && results[0].text.contains(why), "{:?}", results[0]);
    for (result, child) in results[1..].iter().zip(["CHILD-B", "CHILD-C"]) {
        assert!(!result.is_error && result.text.contains("child done"), "{result:?}");
        let requests = scene.server.requests_of(child);
        assert_eq!(offered(&requests[0]), ["mcp__late__echo"]);
        assert_eq!(requests[1].tool_result().text, child);
    }
    assert_eq!(offered(&super::last(&scene)), [""; 0], "main's tools stay as they are");
    assert!(scene.server.requests_of("CHILD-A").is_empty());
    scene.server.finish();
}

#[tokio::test]
async fn an_agent_whose_only_tools_are_those_of_a_server_that_is_not_there_is_refused_with_the_reason()
 {
    for (config, tool, why) in [
        (
            Some("die"),
            "mcp__dead__*",
            "mcp__dead__*: the MCP server dead failed: it ended with exit code 3; it said: no licence found",
        ),
        (
            Some("fine"),
            "mcp__dead__no",
            "mcp__dead__no: the MCP server dead offers no such tool here",
        ),
        (None, "mcp__dead", "mcp__dead: there is no MCP server dead"),
    ] {
        let scene = Scene::new();
        let config = config.map(|mode| server(&scene, "dead", &[("STUB_MODE", mode)]));
        scene.world.config(&config.unwrap_or_default());
        definition(&scene, &format!("tools: [{tool}]\n"));
        scene.parent_calls([agent_with("CHILD-A", "agent", "worker".into())]);
        scene.go().await;
        let result = super::last(&scene).tool_result();
        assert!(result.is_error && result.text.contains(why), "{result:?}");
        scene.server.finish();
    }
}
