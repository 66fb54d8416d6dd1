//! What waits for trust beside rules: agents, limits, hooks and servers.

use serde_json::json;

use super::{SHARED, told, touch, trust};
use crate::support::record::Wire;
use crate::support::scene::{Scene, agent_with, bash};
use crate::support::script::{text, tool_use};

#[tokio::test]
async fn the_variables_of_a_projects_agent_wait_for_trust_also_when_they_change_in_a_session() {
    let scout = |value: &str| {
        format!("---\nname: scout\ndescription: Looks.\nenv:\n  LEVEL: \"{value}\"\n---\nLook.\n")
    };
    let scene = Scene::new();
    scene.world.write(".claude/agents/scout.md", &scout("one"));
    let run = async || {
        let call = agent_with("CHILD-A", "agent", "scout".into());
        scene.parent_calls([call]);
        let tell = tool_use("Bash", bash("echo level=${LEVEL:-none}"));
        scene.server.when("CHILD-A").reply(tell).then(text("told"));
        let run = scene.go().await;
        let told = told(&run).concat();
        (scene.server.requests_of("CHILD-A").pop().unwrap().tool_result().text, told)
    };
    let (level, told) = run().await;
    assert!(level.contains("level=none"), "{level}");
    assert!(told.contains("agent scout env (.claude/agents/scout.md:4)"), "{told}");
    assert!(!told.contains("one"), "{told}");
    let shown = trust(&scene, &[]).await;
    assert!(shown.stdout.contains("agent scout env: LEVEL = \"one\""), "{shown}");
    let (level, told) = run().await;
    assert!(level.contains("level=one") && told.is_empty(), "{level} {told}");
    scene.world.write(".claude/agents/scout.md", &scout("two"));
    let (level, told) = run().await;
    assert!(level.contains("level=none") && !told.is_empty(), "{level} {told}");
    scene.server.finish();
}

#[tokio::test]
async fn a_projects_agent_goes_to_another_provider_once_it_is_trusted() {
    let scene = Scene::new();
    let define = |name: &str, lines: &str| {
        let head = format!("---\nname: {name}\ndescription: Looks.\n{lines}\n---\nLook.\n");
        scene.world.write(&format!(".claude/agents/{name}.md"), &head);
    };
    define("same", "provider: anthropic\nmodel: haiku");
    define("cheap", "model: haiku");
    let run = async |away: &str| {
        define("away", away);
        let agents = [("CHILD-A", "away"), ("CHILD-B", "same"), ("CHILD-C", "cheap")];
        scene.parent_calls(agents.map(|(word, name)| agent_with(word, "agent", name.into())));
        let route = |(word, _): (&str, _)| {
            let request = scene.server.requests_of(word).pop().unwrap();
            (request.wire, request.model().to_owned())
        };
        agents.iter().for_each(|(word, _)| drop(scene.server.when(word).reply(text("seen"))));
        let run = scene.go().await;
        (agents.map(route), told(&run).concat())
    };
    let here = |model: &str| (Wire::Anthropic, model.to_owned());
    let haiku = here("claude-haiku-5-5");
    let (routes, told) = run("provider: openai\nmodel: gpt-small").await;
    assert_eq!(routes, [here("claude-sonnet-5"), haiku.clone(), haiku.clone()]);
    assert!(told.contains("agent away provider (.claude/agents/away.md:4)"), "{told}");
    assert!(!told.contains("agent same"), "{told}");
    let shown = trust(&scene, &[]).await;
    assert!(shown.stdout.contains("agent away provider: openai"), "{shown}");
    let (routes, told) = run("provider: openai\nmodel: gpt-small").await;
    let there = (Wire::Chat, "gpt-small".to_owned());
    assert_eq!((routes, told), ([there, haiku.clone(), haiku.clone()], String::new()));
    let (routes, told) = run("provider: vllm\nmodel: gpt-small").await;
    assert_eq!(routes, [here("claude-sonnet-5"), haiku.clone(), haiku]);
    assert!(told.contains("agent away provider"), "{told}");
    scene.server.finish();
}

#[tokio::test]
async fn a_project_makes_answers_longer_once_it_is_trusted() {
    let scene = Scene::new();
    scene.world.config("[model]\nmax_tokens = 9000\n");
    let room = async |tokens: u32| {
        scene.world.write(SHARED, &format!("[model]\nmax_tokens = {tokens}\n"));
        scene.server.when("TASK-1").reply(text("hello"));
        let run = scene.world.run(["-p", "TASK-1 go"]).finish().await;
        run.assert_code(0);
        let asked = scene.server.requests().pop().unwrap().body["max_tokens"].clone();
        (asked, told(&run).concat())
    };
    assert_eq!(room(4000).await, (json!(4000), String::new()));
    let (asked, told) = room(60_000).await;
    assert_eq!(asked, 9000);
    assert!(told.contains("model.max_tokens (.caliban/config.toml:2)"), "{told}");
    trust(&scene, &[]).await.assert_code(0);
    assert_eq!(room(60_000).await, (json!(60_000), String::new()));
    scene.server.finish();
}

#[tokio::test]
async fn a_projects_hook_runs_once_it_is_trusted_and_not_when_it_changes() {
    let hook = |file: &str| {
        format!(
            r#"{{"hooks": {{"SessionStart": [{{"hooks": [{{"type": "command", "command": "touch {file}"}}]}}]}}}}"#
        )
    };
    let scene = Scene::new();
    scene.world.write(".claude/settings.json", &hook("first"));
    let run = touch(&scene, &["--dangerously-skip-permissions"]).await;
    assert!(!scene.world.exists("first"), "{run}");
    assert!(told(&run)[0].contains("hook SessionStart (.claude/settings.json:1)"), "{run}");
    trust(&scene, &[]).await.assert_code(0);
    touch(&scene, &[]).await;
    assert!(scene.world.exists("first"));
    scene.world.write(".claude/settings.json", &hook("second"));
    let run = touch(&scene, &[]).await;
    assert!(!scene.world.exists("second") && told(&run).len() == 1, "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_projects_mcp_server_runs_once_it_is_trusted_and_a_change_of_it_is_asked_about() {
    let scene = Scene::new();
    let stub = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp/stub.sh");
    let log = scene.world.project_dir().join("stub.log");
    let file = |own: &str| {
        let env = json!({"STUB_LOG": log, "OWN": own});
        json!({"mcpServers": {"theirs": {"command": "bash", "args": [stub], "env": env}}})
            .to_string()
    };
    // What runs, whether its tool is offered, and how often it was told that something is left out.
    let run = async || {
        scene.server.when("TASK-1").reply(text("hello"));
        let run = scene.world.run(["-p", "TASK-1 go"]).finish().await;
        run.assert_code(0);
        let started = std::fs::read_to_string(&log).unwrap_or_default();
        let request = scene.server.requests().pop().unwrap();
        let is_offered = request.tool_names().contains(&"mcp__theirs__echo");
        for line in told(&run) {
            assert!(line.contains("MCP server theirs (.mcp.json:1)"), "{line}");
            assert!(!line.contains("VALUE-77"), "a notice holds no values: {line}");
        }
        (started.matches("started").count(), is_offered, told(&run).len())
    };
    scene.world.write(".mcp.json", &file("VALUE-77"));
    assert_eq!(run().await, (0, false, 1));
    let shown = trust(&scene, &[]).await;
    shown.assert_code(0);
    // What it is given decides what it does: whoever accepts it has seen it.
    assert!(shown.stdout.contains("MCP server theirs: bash "), "{shown}");
    assert!(shown.stdout.contains("OWN=VALUE-77"), "{shown}");
    assert_eq!(run().await, (1, true, 0));
    scene.world.write(".mcp.json", &file("VALUE-78"));
    assert_eq!(run().await, (1, false, 1), "another value is another server");
    trust(&scene, &[]).await.assert_code(0);
    assert_eq!(run().await, (2, true, 0));
    scene.server.finish();
}

#[tokio::test]
async fn a_project_replaces_a_known_agent_once_it_is_trusted() {
    let scene = Scene::new();
    let theirs = |more: &str| {
        format!(
            "---\nname: explore\ndescription: theirs\ntools: Bash\n---\nYou are theirs.{more}\n"
        )
    };
    scene.world.write(".claude/agents/x.md", &theirs(""));
    scene.world.write(".claude/agents/new.md", "---\ndescription: new\n---\nYou are new.\n");
    let agents = async || scene.world.run(["agents"]).finish().await.stdout;
    let explore = |list: &str| {
        let line = list.lines().find(|line| line.starts_with("explore")).unwrap();
        line.contains(".claude/agents/x.md")
    };
    let list = agents().await;
    assert!(!explore(&list) && list.contains("built in"), "{list}");
    assert!(list.lines().any(|line| line.starts_with("new ")), "{list}");
    let line =
        "left out: .claude/agents/x.md: not trusted, so it does not replace the agent explore";
    assert!(
        list.replace(
            &format!("{}/", scene.world.project_dir().canonicalize().unwrap().display()),
            ""
        )
        .contains(line),
        "{list}"
    );

    scene.parent_calls([agent_with("CHILD-A", "agent", "explore".into())]);
    scene.server.when("CHILD-A").reply(text("done"));
    let finished = scene.go().await;
    let child = scene.server.requests_of("CHILD-A")[0].clone();
    assert!(!child.text().contains("You are theirs"), "{finished}");
    assert!(!child.tool_names().contains(&"Bash"), "{:?}", child.tool_names());
    let notices = finished.stderr.matches("explore in place of the built-in one").count();
    let frames = finished.stdout.matches("does not replace").count();
    assert_eq!((notices, frames), (1, 0), "{finished}");

    let shown = trust(&scene, &[]).await;
    assert!(shown.stdout.contains("agent explore in place of the built-in one: ---"), "{shown}");
    assert!(explore(&agents().await));
    scene.world.write(".claude/agents/x.md", &theirs(" Obey."));
    assert!(!explore(&agents().await));
    scene.server.finish();
}
