//! What servers and their tools are called, and what rules mean that name them.

use serde_json::json;

use super::{last, offered, server, tools};
use crate::support::client::{ARGS, Client};
use crate::support::run::Finished;
use crate::support::scene::{DONE, PARENT, Scene};
use crate::support::script::{text, tool_use};

/// Longer than names of servers may be in names of tools.
const LONG: &str = "a-server-with-a-name-that-is-longer-than-any-that-a-wire-would-ever-take";

/// One run in which the model calls this tool, with nothing allowed but by `args`.
async fn call(scene: &Scene, tool: &str, args: [&str; 2]) -> (Finished, bool) {
    scene.server.when(PARENT).reply(tool_use(tool, json!({"text": "x"}))).then(text(DONE));
    let run = scene.world.run(["-p", "PARENT-1 go"]).args(args).finish().await;
    run.assert_code(0);
    let ran = !last(scene).tool_result().is_error;
    (run, ran)
}

#[tokio::test]
async fn a_rule_for_a_server_with_a_long_name_covers_each_of_its_tools() {
    let scene = Scene::new();
    let second = "another-tool-with-a-name-that-is-too-long-for-what-is-left";
    let list = tools(&["echo", second]);
    let answer = r#"{"content":[{"type":"text","text":"done"}]}"#;
    let other = format!("{LONG}-too");
    scene.world.config(&format!(
        "{}{}",
        server(&scene, LONG, &[("STUB_TOOLS", &list), ("STUB_ANSWER", answer)]),
        server(&scene, &other, &[])
    ));
    scene.server.when(PARENT).reply(text(DONE));
    scene.go().await;
    let all = offered(&last(&scene));
    assert!(all.len() == 3 && all.iter().all(|name| name.len() <= 64), "{all:?}");
    let theirs = all.iter().find(|name| !name.contains("another") && name.ends_with("echo"));
    let of_other = |name: &String| {
        let start = name.split("__").nth(1);
        all.iter().filter(|other| other.split("__").nth(1) == start).count() == 1
    };
    let (others, own): (Vec<String>, Vec<String>) = all.iter().cloned().partition(of_other);
    assert!(theirs.is_some() && (others.len(), own.len()) == (1, 2), "{all:?}");

    for rule in [format!("mcp__{LONG}"), format!("mcp__{LONG}__*")] {
        scene.server.when(PARENT).reply(text(DONE));
        scene.run().args(["--disallowed-tools", &rule]).finish().await.assert_code(0);
        assert_eq!(offered(&last(&scene)), others, "{rule}");
        for tool in &own {
            let (_, ran) = call(&scene, tool, ["--allowed-tools", &rule]).await;
            assert!(ran, "{rule} lets {tool} run");
        }
        let (_, ran) = call(&scene, &others[0], ["--allowed-tools", &rule]).await;
        assert!(!ran, "{rule} is not about the other");
    }
    let rule = format!("mcp__{LONG}__{second}");
    for tool in &own {
        let (_, ran) = call(&scene, tool, ["--allowed-tools", &rule]).await;
        assert_eq!(ran, tool.contains("another"), "{tool}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn a_rule_for_a_server_means_it_also_where_its_name_has_other_letters_on_the_wire() {
    let scene = Scene::new();
    let stub = super::stub().display().to_string();
    let file = json!({"mcpServers": {"dot.ted": {"command": "bash", "args": [stub]}}});
    scene.world.write(".mcp.json", &file.to_string());
    scene.world.run(["trust"]).finish().await.assert_code(0);
    scene.server.when(PARENT).reply(text(DONE));
    let denied = ["--disallowed-tools", "mcp__dot.ted"];
    scene.run().args(denied).finish().await.assert_code(0);
    assert_eq!(offered(&last(&scene)), [""; 0]);
    for (rule, runs) in
        [("mcp__dot.ted__echo", true), ("mcp__dot_ted", true), ("mcp__dot__ted", false)]
    {
        let (_, ran) = call(&scene, "mcp__dot_ted__echo", ["--allowed-tools", rule]).await;
        assert_eq!(ran, runs, "{rule}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn a_server_whose_name_does_not_show_where_it_ends_is_one_line_and_never_started() {
    let scene = Scene::new();
    scene.world.config(&format!("{}{}", server(&scene, "a", &[]), server(&scene, "a__echo", &[])));
    let rule = ["--allowed-tools", "mcp__a__echo"];
    let (run, ran) = call(&scene, "mcp__a__echo", rule).await;
    assert!(ran, "{run}");
    assert_eq!(offered(&last(&scene)), ["mcp__a__echo"]);
    assert_eq!(super::count(&scene, "a__echo", "started"), 0);
    let line = "MCP server a__echo: tool names and rules would call it a__echo, where __ ends a server's name: give it a name without __";
    assert_eq!(run.stderr.matches(line).count(), 1, "{run}");
    let added = scene.world.run(["mcp", "add", "b__x", "prog"]).finish().await;
    added.assert_code(2);
    assert!(added.stderr.contains("the name b__x: tool names and rules"), "{added}");
    scene.server.finish();
}

#[tokio::test]
async fn what_a_rule_withholds_stays_withheld_and_says_so_from_prompt_to_prompt_without_agents() {
    let scene = Scene::new();
    let own = server(&scene, "stub", &[]);
    scene.world.config(&format!("[subagents]\nenabled = false\n{own}"));
    let call = || tool_use("mcp__stub__echo", json!({"text": "x"}));
    let mut script = scene.server.when(PARENT).reply(call()).then(text(DONE));
    for _ in 0..2 {
        script = script.then(call()).then(text(DONE));
    }
    let args = ["--dangerously-skip-permissions", "--disallowed-tools", "mcp__stub"];
    let mut client = Client::start(scene.world.run(ARGS).args(args));
    for _ in 0..3 {
        client.turn("PARENT-1 go").await;
        let request = last(&scene);
        assert_eq!(offered(&request), [""; 0]);
        let result = request.tool_result();
        assert!(result.is_error && result.text.contains("rule mcp__stub"), "{result:?}");
    }
    client.close().await.assert_code(0);
    scene.server.finish();
}
