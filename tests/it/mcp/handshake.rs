//! How a connection begins: `initialize`, else `server/discover`; and what a server says of its tools then.

use std::path::Path;

use serde_json::json;

use super::http::web;
use super::{count, last, noted, server};
use crate::support::process;
use crate::support::scene::{DONE, PARENT, Scene};
use crate::support::script::{text, tool_use};

#[tokio::test]
async fn a_program_without_initialize_is_started_again_with_discover() {
    let scene = Scene::new();
    scene.world.config(&server(&scene, "stub", &[("STUB_MODE", "modern")]));
    let call = tool_use("mcp__stub__echo", json!({"text": "hello there"}));
    scene.server.when(PARENT).reply(call).then(text(DONE));
    let run = scene.go().await;
    assert_eq!(last(&scene).tool_result().text, "hello there", "{run}");
    assert_eq!(run.frames()[0]["mcp_servers"], json!([{"name": "stub", "status": "connected"}]));
    assert_eq!((count(&scene, "stub", "started"), count(&scene, "stub", "discover")), (2, 1));
    assert_eq!(run.stderr, "");
    for line in noted(&scene, "stub").iter().filter_map(|line| line.strip_prefix("started ")) {
        let pid: i32 = line.trim().parse().unwrap();
        process::eventually(|| !Path::new(&format!("/proc/{pid}")).exists()).await;
    }
    scene.server.finish();
}

#[tokio::test]
async fn a_web_server_without_initialize_is_asked_again_with_discover() {
    let web = web().await;
    let scene = Scene::new();
    scene.world.config(&format!("[mcp_servers.web]\nurl = \"{}/modern\"\n", web.url));
    let call = tool_use("mcp__web__echo", json!({"text": "hello there"}));
    scene.server.when(PARENT).reply(call).then(text(DONE));
    let run = scene.go().await;
    assert_eq!(last(&scene).tool_result().text, "hello there", "{run}");
    assert_eq!((web.count("initialize"), web.count("server/discover")), (1, 1));
    scene.server.finish();
}

#[tokio::test]
async fn a_server_that_refuses_for_another_reason_is_not_started_again() {
    let scene = Scene::new();
    scene.world.config(&server(&scene, "stub", &[("STUB_MODE", "refuse")]));
    scene.server.when(PARENT).reply(text(DONE));
    let run = scene.go().await;
    assert_eq!(count(&scene, "stub", "started"), 1);
    assert!(run.stdout.contains("MCP server stub: no licence found"), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_servers_instructions_come_with_its_tools() {
    let scene = Scene::new();
    let words = [("STUB_WORDS", "Ask for WORDS-77 first.")];
    let modern = [words[0], ("STUB_MODE", "modern")];
    scene.world.config(&format!(
        "{}{}{}",
        server(&scene, "old", &words),
        server(&scene, "new", &modern),
        server(&scene, "mute", &[])
    ));
    scene.server.when(PARENT).reply(text(DONE));
    scene.go().await;
    let system = last(&scene).system();
    for name in ["old", "new"] {
        let part = format!(
            "# MCP server {name}\nThe server says about its tools:\nAsk for WORDS-77 first."
        );
        assert_eq!(system.matches(&part).count(), 1, "{system}");
    }
    assert!(!system.contains("MCP server mute"), "{system}");
    scene.server.finish();
}

#[tokio::test]
async fn without_a_tool_of_the_server_there_are_no_instructions() {
    let scene = Scene::new();
    scene.world.config(&server(&scene, "stub", &[("STUB_WORDS", "Ask for WORDS-77 first.")]));
    scene.server.when(PARENT).reply(text(DONE));
    scene.world.run(["-p", "PARENT-1 go", "--disallowed-tools", "mcp__stub"]).finish().await;
    assert!(!last(&scene).text().contains("WORDS-77"));
    scene.server.finish();
}
