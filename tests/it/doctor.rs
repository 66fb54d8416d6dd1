//! `caliban doctor`, and `/doctor` on the screen: what works, and what to do about what does not.

use crate::support::pty::{ENTER, Screen};
use crate::support::run::Finished;
use crate::support::scene::Scene;
use crate::support::world::KEY;

/// The lines that say so of something.
fn lines<'a>(run: &'a Finished, state: &str, about: &str) -> Vec<&'a str> {
    let found = run.stdout.lines().filter_map(|line| {
        let (of, rest) = line.split_once("  ")?;
        let (what, text) = rest.trim_start().split_once("  ")?;
        (of == state && what == about).then_some(text.trim_start())
    });
    found.collect()
}

#[tokio::test]
async fn where_all_is_well_each_line_says_so_and_no_key_is_shown() {
    let scene = Scene::new();
    scene.server.offer(&["claude-sonnet-5", "gpt-77"]);
    scene.world.write("AGENTS.md", "Say please.\n");
    let run = scene.world.run(["doctor"]).finish().await;
    run.assert_code(0);
    let states: Vec<_> = run.stdout.lines().filter_map(|line| line.split("  ").next()).collect();
    assert!(states.iter().all(|state| ["ok", "note"].contains(state)), "{run}");
    assert!(lines(&run, "ok", "key").contains(&"anthropic: from ANTHROPIC_API_KEY"), "{run}");
    let endpoints = ["anthropic: answers, 2 models", "openai: answers, 2 models"];
    assert_eq!(lines(&run, "ok", "endpoint"), endpoints, "{run}");
    assert_eq!(lines(&run, "ok", "agents"), ["explore, general-purpose, plan"]);
    let memory = lines(&run, "ok", "memory")[0];
    assert!(memory.contains("project/AGENTS.md, ") && memory.ends_with(" bytes"), "{run}");
    for about in ["config", "commands", "hooks", "trust", "disk", "terminal"] {
        assert!(!lines(&run, "ok", about).is_empty(), "{about}: {run}");
    }
    assert!(!run.stdout.contains(KEY) && run.stderr.is_empty(), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn what_is_wrong_is_named_with_what_to_do_and_makes_the_exit_code_1() {
    let mut scene = Scene::new();
    scene.world.unset("ANTHROPIC_API_KEY").unset("OPENAI_API_KEY");
    scene.world.config("[[hooks.PreToolUse]]\ncommand = \"./gone.sh --fast\"\n");
    let keymap = scene.world.settings_dir().join("keymap.toml");
    std::fs::write(keymap, "[prompt]\nundo = [\"hyper+z\"]\n").unwrap();
    scene.world.write(".caliban/agents/bad.md", "---\nname: bad\n---\nWork.\n");
    scene.world.write(".caliban/commands/bad.md", "---\nmodle: x\n---\nx\n");
    scene.world.write(".claude/commands/fine.md", "---\nmodel: haiku\n---\nx\n");
    scene.world.write("AGENTS.md", "@gone.md\n");
    scene.world.write(".caliban/config.toml", "[permissions]\nallow = [\"Bash(make:*)\"]\n");
    let run = scene.world.run(["doctor"]).finish().await;
    run.assert_code(1);
    for (state, about, text) in [
        ("WRONG", "key", "no model yet: set ANTHROPIC_API_KEY"),
        ("WRONG", "agents", ".caliban/agents/bad.md:1: `description` is missing"),
        ("WRONG", "commands", ".caliban/commands/bad.md:2: unknown key `modle`; allowed: "),
        ("note", "commands", ".claude/commands/fine.md:2: `model`: it is not supported"),
        ("WRONG", "keymap", "settings/keymap.toml:2: unknown key \"hyper+z\": write it like"),
        ("WRONG", "hooks", "./gone.sh: it starts in an empty folder"),
        ("note", "memory", "AGENTS.md:1: @gone.md was not read: there is no such file"),
        ("note", "trust", "1 entry of this project is ignored: `caliban trust`"),
    ] {
        let found = lines(&run, state, about);
        assert!(found.iter().any(|line| line.contains(text)), "{state} {about} {text}: {run}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn an_endpoint_that_refuses_the_key_or_is_not_there_is_wrong_and_another_model_is_a_note() {
    let mut scene = Scene::new();
    scene.world.unset("OPENAI_API_KEY");
    scene.server.offer(&["other-1"]);
    let run = scene.world.run(["doctor"]).finish().await;
    run.assert_code(0);
    let note = "anthropic: answers, but does not list claude-sonnet-5: /model shows its models";
    assert_eq!(lines(&run, "note", "endpoint"), [note], "{run}");
    scene.server.offer_error(401);
    let run = scene.world.run(["doctor"]).finish().await;
    run.assert_code(1);
    let [wrong] = lines(&run, "WRONG", "endpoint")[..] else { panic!("{run}") };
    assert!(wrong.contains("rejected the key") && wrong.contains("ANTHROPIC_API_KEY"), "{run}");
    assert!(!run.stdout.contains(KEY), "{run}");
    scene.world.env("ANTHROPIC_BASE_URL", "http://127.0.0.1:1");
    let run = scene.world.run(["doctor"]).finish().await;
    run.assert_code(1);
    let [wrong] = lines(&run, "WRONG", "endpoint")[..] else { panic!("{run}") };
    assert!(wrong.contains("Cannot reach 127.0.0.1:1"), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_configuration_that_cannot_be_read_hides_only_what_depends_on_it() {
    let scene = Scene::new();
    scene.world.config("[model]\nnmae = \"x\"\n");
    let run = scene.world.run(["doctor"]).finish().await;
    run.assert_code(1);
    let [wrong] = lines(&run, "WRONG", "config")[..] else { panic!("{run}") };
    assert!(wrong.contains("config.toml:2: ") && wrong.contains("name"), "{run}");
    assert_eq!(lines(&run, "ok", "terminal").len(), 1, "{run}");
    scene.server.offer(&["claude-sonnet-5"]);
    for (rules, why) in [
        ("allow = [\"Bsah(ls)\"]", "there is no tool Bsah"),
        ("deny = [\"Raed\"]", "did you mean Read?"),
    ] {
        scene.world.config(&format!("[permissions]\n{rules}\n"));
        let run = scene.world.run(["doctor"]).finish().await;
        run.assert_code(1);
        let [wrong] = lines(&run, "WRONG", "config")[..] else { panic!("{run}") };
        assert!(wrong.contains("config.toml:2: ") && wrong.contains(why), "{run}");
        assert!(lines(&run, "ok", "config").is_empty(), "{run}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn the_screen_shows_the_same_lines() {
    let scene = Scene::new();
    scene.server.offer(&["claude-sonnet-5"]);
    scene.world.write(".caliban/agents/bad.md", "---\nname: bad\n---\nWork.\n");
    let screen = Screen::start(&scene.world, [], 120, 40);
    screen.wait_for("? keys");
    screen.keys("/doctor");
    screen.wait_for("check keys");
    screen.keys(ENTER);
    screen.wait_for("anthropic: from ANTHROPIC_API_KEY");
    let shown = screen.contents();
    assert!(shown.contains("WRONG") && shown.contains("xterm-256color, 256 colours"), "{shown}");
    scene.server.finish();
}
