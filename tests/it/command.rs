//! The sub-commands that print something and end, over what real runs have left behind.

use crate::support::run::Finished;
use crate::support::scene::{DONE, PARENT, Scene, agent};
use crate::support::script::text;
use crate::support::skip;
use crate::support::world::KEY;

async fn said(scene: &Scene, args: &[&str]) -> String {
    let run: Finished = scene.world.run(args.iter().copied()).finish().await;
    run.assert_code(0);
    assert_eq!(run.stderr, "", "{run}");
    run.stdout
}

#[tokio::test]
async fn sessions_are_listed_and_shown_with_their_sub_agents() {
    let scene = Scene::new();
    assert_eq!(said(&scene, &["sessions", "list"]).await, "No sessions yet.\n");
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(text("the report \u{1b}]0;x\u{7}"));
    scene.go().await;
    let id = scene.world.session().file_name().unwrap().to_str().unwrap().to_owned();
    let list = said(&scene, &["sessions"]).await;
    let row = list.lines().nth(1).unwrap();
    assert!(
        row.starts_with(&id) && row.contains("PARENT-1 go") && row.contains("project"),
        "{list}"
    );
    let shown = said(&scene, &["sessions", "show", &id[..id.len() - 1]]).await;
    for part in
        ["› PARENT-1 go", "AgentTool", "== general-purpose-1 · look around · done", "the report"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    scene.server.finish();
}

#[tokio::test]
async fn agents_are_listed_and_shown_from_each_place() {
    let scene = Scene::new();
    let definition = |said: &str| {
        format!("---\nname: scout\ndescription: Finds lost things.\ntools: Read\n---\n{said}\n")
    };
    scene.world.agent("scout", &definition("The user's own."));
    let list = said(&scene, &["agents", "list"]).await;
    for name in ["general-purpose", "scout"] {
        assert!(list.lines().any(|line| line.starts_with(name)), "{list}");
    }
    assert!(said(&scene, &["agents", "show", "scout"]).await.contains("The user's own."));
    scene.world.write(".caliban/agents/scout.md", &definition("The project's own."));
    assert!(said(&scene, &["agents", "show", "scout"]).await.contains("The user's own."));
    said(&scene, &["trust"]).await;
    let shown = said(&scene, &["agents", "show", "scout"]).await;
    assert!(shown.contains("The project's own.") && shown.contains("Read"), "{shown}");
    scene.world.write(".caliban/agents/bad.md", "---\nname: bad\n---\nx\n");
    let list = said(&scene, &["agents"]).await;
    assert!(list.contains("refused: ") && list.contains("bad.md:1"), "{list}");
}

#[tokio::test]
async fn the_configuration_is_shown_with_the_origin_of_each_value_and_no_key() {
    let scene = Scene::new();
    scene.world.config("[model]\nmax_tokens = 7777\n");
    scene.world.write(".caliban/config.toml", "[subagents]\nmax_turns = 7\n");
    let shown = said(&scene, &["config", "show"]).await;
    let line = |key: &str| shown.lines().find(|line| line.starts_with(key)).unwrap_or_default();
    assert!(line("model.max_tokens").contains("7777"), "{shown}");
    assert!(line("model.max_tokens").contains("config.toml:2"), "{shown}");
    assert!(line("subagents.max_turns").contains(".caliban/config.toml:2"), "{shown}");
    assert!(line("permissions.mode").ends_with("# built in"), "{shown}");
    assert!(!shown.contains(KEY) && shown.contains("ANTHROPIC_API_KEY"), "{shown}");
    let paths = said(&scene, &["config", "path"]).await;
    let user = scene.world.settings_dir().join("config.toml");
    let row = paths.lines().find(|line| line.starts_with(user.to_str().unwrap()));
    assert!(row.is_some_and(|row| row.ends_with(" read")), "{paths}");
    let local = paths.lines().find(|line| line.contains("config.local.toml"));
    assert!(local.is_some_and(|row| row.ends_with(" not there")), "{paths}");
}

#[tokio::test]
async fn completions_are_scripts_that_their_shells_accept() {
    let scene = Scene::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = said(&scene, &["completions", shell]).await;
        assert!(script.contains("output-format") && script.contains("demo"), "{shell}: {script}");
        let file = scene.world.project_dir().join(shell);
        std::fs::write(&file, script).unwrap();
        let checked = std::process::Command::new(shell).arg("-n").arg(&file).output();
        match checked {
            Ok(output) => assert!(output.status.success(), "{shell}: {output:?}"),
            Err(_) => {
                skip("completions_are_scripts_that_their_shells_accept", &format!("no {shell}"));
            }
        }
    }
    scene.world.run(["completions", "cmd"]).finish().await.assert_code(2);
}

#[tokio::test]
async fn one_word_without_a_terminal_is_an_unknown_command() {
    let scene = Scene::new();
    let run = scene.world.run(["frobnicate"]).finish().await;
    run.assert_code(2);
    assert!(run.stderr.contains("unknown command \"frobnicate\"; caliban --help"), "{run}");
}

#[tokio::test]
async fn the_theme_in_a_file_is_checked_where_the_configuration_is() {
    let scene = Scene::new();
    scene.world.config("[tui]\ntheme = \"neon\"\n");
    let shown = said(&scene, &["config", "show"]).await;
    assert!(shown.contains("config.toml:2: unknown theme \"neon\"; choose one of auto"), "{shown}");
}

#[tokio::test]
async fn a_headless_run_names_a_theme_that_does_not_exist() {
    let scene = Scene::new();
    scene.world.config("[tui]\ntheme = \"neon\"\n");
    scene.server.when(PARENT).reply(text(DONE));
    let run = scene.world.run(["-p", "PARENT-1 go"]).finish().await;
    run.assert_code(0);
    assert!(run.stderr.contains("config.toml:2: unknown theme \"neon\"; choose one"), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_scripted_provider_goes_by_the_name_that_the_configuration_gives_it() {
    let scene = Scene::new();
    let says = "[says]\nunmatched = \"u\"\nstuck = \"s\"\naside = \"a\"\n";
    let agent = "[[agent]]\nmatch = \"^go\"\n[[agent.reply]]\ntext = \"played\"\n";
    scene.world.write("scenario.toml", &format!("pace = 0.0\n{says}{agent}"));
    let scenario = scene.world.project_dir().join("scenario.toml");
    scene.world.config(&format!(
        "[model]\nprovider = \"show\"\nname = \"m\"\n[providers.show]\nkind = \"scripted\"\nscenario = {scenario:?}\n"
    ));
    assert_eq!(said(&scene, &["-p", "go"]).await.trim(), "played");
}

#[tokio::test]
async fn the_demo_needs_no_key_no_server_and_no_network() {
    let mut scene = Scene::new();
    scene.world.unset("ANTHROPIC_API_KEY").unset("OPENAI_API_KEY");
    scene.world.unset("ANTHROPIC_BASE_URL").unset("OPENAI_BASE_URL");
    scene.world.env("HTTPS_PROXY", "http://127.0.0.1:1");
    let shown = said(&scene, &["demo", "--print"]).await;
    assert!(shown.contains("scripted"), "it says so: {shown}");
    assert!(shown.contains("0 failed") && shown.contains("36.00"), "from the real run: {shown}");
    assert_eq!(scene.server.requests().len(), 0);
}

#[tokio::test]
async fn the_demo_runs_no_hook_of_the_persons_own() {
    let scene = Scene::new();
    let hook = r#"{"hooks": {"SessionStart": [{"hooks": [{"command": "touch ~/ran"}]}]}}"#;
    scene.world.home(".claude/settings.json", hook);
    let ran = || scene.world.home_dir().join("ran").exists();
    said(&scene, &["demo", "--print"]).await;
    assert!(!ran(), "the demo reads nothing of the person's");
    scene.server.when(PARENT).reply(text(DONE));
    scene.go().await;
    assert!(ran(), "the same hook runs in a session of their own");
}

#[tokio::test]
async fn the_schema_of_the_configuration_is_printed_also_when_the_configuration_is_broken() {
    let scene = Scene::new();
    scene.world.config("nonsense =");
    let schema: serde_json::Value =
        serde_json::from_str(&said(&scene, &["config", "schema"]).await).unwrap();
    assert_eq!(schema["properties"]["model"]["properties"]["name"]["type"], "string");
}
