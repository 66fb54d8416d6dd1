//! Servers of sub-agents: those of the session, some of them, and their own.

use serde_json::json;

use super::{count, noted, offered, server, stub};
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
            server(&scene, "one", &[]),
            server(&scene, "two", &[])
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
    assert!(finished.stdout.contains("does nothing: agent worker mcpServers"), "{finished}");
    scene.server.finish();
}
