//! Which files of other programs are read, and which commands and skills of theirs are offered.

use serde_json::{Value, json};

use super::start;
use crate::support::scene::Scene;
use crate::support::script::{text, tool_use};

/// What hooks and memory files of each source say that they were read.
const PARTS: [&str; 3] = ["user", "project", "local"];

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: about {name}\n---\nBODY-OF-{name}\n")
}

/// A command that agents are denied; a project's word on that needs no trust.
fn denies(part: &str) -> String {
    json!({ "permissions": { "deny": [format!("Bash(echo {part})")] } }).to_string()
}

/// A world with files of all three sources, and with our own.
fn brought() -> Scene {
    let scene = Scene::new();
    let world = &scene.world;
    world.home(".claude/settings.json", &denies("user"));
    world.home(".claude/CLAUDE.md", "MEMORY-OF-user\n");
    world.home(".claude/skills/user-skill/SKILL.md", &skill("user-skill"));
    world.home(".agents/skills/user-shared/SKILL.md", &skill("user-shared"));
    world.write(".agents/skills/project-shared/SKILL.md", &skill("project-shared"));
    world.write(".claude/settings.json", &denies("project"));
    world.write("CLAUDE.md", "MEMORY-OF-project\n");
    world.write(".claude/skills/project-skill/SKILL.md", &skill("project-skill"));
    world.write(".claude/commands/project-command.md", "x\n");
    world.write(
        ".claude/agents/project-agent.md",
        "---\nname: project-agent\ndescription: d\n---\np\n",
    );
    world.write(".mcp.json", r#"{"mcpServers": {"project-server": {"command": "true"}}}"#);
    world.write(".claude/settings.local.json", &denies("local"));
    world.write("CLAUDE.local.md", "MEMORY-OF-local\n");
    world.write(".caliban/config.toml", "[permissions]\ndeny = [\"Bash(echo ours)\"]\n");
    world.write(".caliban/skills/own-skill/SKILL.md", &skill("own-skill"));
    scene
}

/// The names in a frame's list.
fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().filter_map(Value::as_str).collect()
}

#[tokio::test]
async fn only_the_setting_sources_that_are_named_are_read_and_our_own_files_always() {
    for (args, read) in [
        (vec![], vec!["user", "project", "local"]),
        (vec!["--setting-sources=user,project"], vec!["user", "project"]),
        (vec!["--setting-sources", "project"], vec!["project"]),
        (vec!["--setting-sources", "user,local"], vec!["user", "local"]),
        (vec!["--setting-sources="], vec![]),
        (vec!["--setting-sources", ""], vec![]),
    ] {
        let scene = brought();
        let mut server = scene.server.when("HELLO-1");
        for part in PARTS.iter().chain(&["ours"]) {
            server = server.then(tool_use("Bash", json!({ "command": format!("echo {part}") })));
        }
        server.then(text("done"));
        let mut client = start(&scene, &[&["--allowed-tools", "Bash"], &*args].concat());
        client.initialize(json!({})).await.unwrap();
        let init = client.frame(|frame| frame["subtype"] == "init").await;
        client.turn("HELLO-1").await;
        let run = client.close().await;
        run.assert_code(0);
        let requests = scene.server.requests();
        let is_read = |part: &str| read.contains(&part);
        for (number, part) in PARTS.iter().enumerate() {
            let denied = requests[number + 1].tool_result().is_error;
            assert_eq!(denied, is_read(part), "{args:?}: settings of {part}");
            let told = requests[0].system().contains(&format!("MEMORY-OF-{part}"));
            assert_eq!(told, is_read(part), "{args:?}: memory of {part}");
        }
        assert!(requests[4].tool_result().is_error, "{args:?}: our own file counts");
        for (field, name, part) in [
            ("skills", "user-skill", "user"),
            ("skills", "user-shared", "user"),
            ("skills", "project-skill", "project"),
            ("skills", "project-shared", "project"),
            ("slash_commands", "project-command", "project"),
            ("agents", "project-agent", "project"),
        ] {
            assert_eq!(names(&init[field]).contains(&name), is_read(part), "{args:?}: {init}");
        }
        assert!(names(&init["skills"]).contains(&"own-skill"), "{args:?}: {init}");
        // It waits for trust, and a line says so where the file is read.
        assert_eq!(run.stderr.contains("project-server"), is_read("project"), "{args:?}: {run}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn an_unknown_setting_source_is_refused_with_those_there_are() {
    let scene = Scene::new();
    let run = scene.world.run(["-p", "--setting-sources", "user,managed", "x"]).finish().await;
    run.assert_code(2);
    let why = "`managed` must be user, project or local";
    assert!(run.stderr.contains(why), "{run}");
    assert_eq!(scene.server.requests().len(), 0);
}

#[tokio::test]
async fn the_handshake_lists_commands_with_what_they_are_for_and_what_may_follow() {
    let scene = Scene::new();
    let front = "---\ndescription: Mends an issue\nargument-hint: [issue]\n---\n";
    scene.world.write(".claude/commands/mend.md", &format!("{front}MEND-1 $1\n"));
    scene.world.write(".claude/skills/pdf/SKILL.md", &skill("pdf"));
    let mut client = start(&scene, &[]);
    let info = client.initialize(json!({})).await.unwrap();
    let commands = info["commands"].as_array().unwrap();
    let own = ["clear", "compact", "context", "cost", "help", "usage", "init", "review"];
    let is_own = |command: &Value| own.iter().any(|name| command["name"] == *name);
    let found: Vec<_> = commands.iter().filter(|command| !is_own(command)).collect();
    let expected = [
        json!({ "name": "mend", "description": "Mends an issue", "argumentHint": "[issue]" }),
        json!({ "name": "pdf", "description": "about pdf", "argumentHint": "" }),
    ];
    assert_eq!(found, expected.iter().collect::<Vec<_>>());
    assert_eq!(commands.len(), own.len() + expected.len(), "{info}");
    client.close().await.assert_code(0);
}

#[tokio::test]
async fn skills_of_the_handshake_are_those_that_models_are_offered() {
    for (skills, offered, missing) in [
        (json!(["pdf", "gone"]), vec!["pdf"], vec!["initialize: there is no skill named gone"]),
        (json!([]), vec![], vec![]),
        (json!("all"), vec!["pdf", "secret"], vec![]),
    ] {
        let scene = Scene::new();
        for name in ["pdf", "secret"] {
            scene.world.write(&format!(".claude/skills/{name}/SKILL.md"), &skill(name));
        }
        let load = tool_use("Skill", json!({ "skill": "secret" }));
        scene.server.when("HELLO-1").reply(load).then(text("done"));
        let mut client = start(&scene, &["--allowed-tools", "Skill(pdf),Skill"]);
        client.initialize(json!({ "skills": skills })).await.unwrap();
        let init = client.frame(|frame| frame["subtype"] == "init").await;
        assert_eq!(names(&init["skills"]), offered);
        client.turn("HELLO-1").await;
        let requests = scene.server.requests();
        let tool = requests[0].tool("Skill").map(|tool| tool["description"].to_string());
        let listed = tool.unwrap_or_default();
        for name in ["pdf", "secret"] {
            let is_listed = listed.contains(&format!("- {name}: about {name}"));
            assert_eq!(is_listed, offered.contains(&name), "{listed}");
        }
        let loaded = requests[1].tool_result();
        assert_eq!(loaded.text.contains("BODY-OF-secret"), offered.contains(&"secret"));
        let run = client.close().await;
        run.assert_code(0);
        let notices = run.frames().into_iter().filter(|frame| frame["subtype"] == "notice");
        let told: Vec<Value> = notices.map(|notice| notice["text"].clone()).collect();
        assert_eq!(told, missing, "{run}");
    }
}
