//! Settings of Claude Code that forbid something, or that change nothing here.

use serde_json::{Value, json};

use crate::support::client::{ARGS, Client};
use crate::support::pty::Screen;
use crate::support::run::Finished;
use crate::support::scene::{Scene, bash};
use crate::support::script::{text, tool_use};

const NO_BYPASS: &str = r#"{"permissions": {"disableBypassPermissionsMode": "disable"}}"#;
const REQUIRED: &str = r#"{"sandbox": {"enabled": true, "failIfUnavailable": true}}"#;

/// Main tries to touch a file.
async fn touch(scene: &Scene, args: &[&str]) -> Finished {
    scene.server.when("HELLO-1").reply(tool_use("Bash", bash("touch made"))).then(text("done"));
    scene.world.run(["-p", "HELLO-1"]).args(args.iter().copied()).finish().await
}

#[tokio::test]
async fn settings_without_effect_are_named_in_one_line() {
    let scene = Scene::new();
    let settings =
        json!({ "statusLine": { "type": "command", "command": "x" }, "outputStyle": "Loud" });
    scene.world.home(".claude/settings.json", &settings.to_string());
    scene.world.write(".claude/settings.json", r#"{"sandbox": {"enabled": true}}"#);
    scene.server.when("HELLO-1").reply(text("done"));
    let run = scene.world.run(["-p", "HELLO-1"]).finish().await;
    run.assert_code(0);
    let lines: Vec<_> =
        run.stderr.lines().filter(|line| line.contains("with no effect here")).collect();
    assert_eq!(lines.len(), 1, "{run}");
    for named in [
        "statusLine (",
        "outputStyle (",
        "sandbox (.claude/settings.json:1)",
        "without a sandbox",
        "write its command as status_line",
    ] {
        assert!(lines[0].contains(named), "{named}: {run}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn settings_that_ask_for_what_is_here_anyway_are_not_named() {
    let scene = Scene::new();
    let settings = r#"{"sandbox": {"enabled": false}, "outputStyle": "default", "model": "opus"}"#;
    scene.world.home(".claude/settings.json", settings);
    scene.server.when("HELLO-1").reply(text("done"));
    let run = scene.world.run(["-p", "HELLO-1"]).finish().await;
    assert!(!run.assert_code(0).stderr.contains("without effect"), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_demanded_sandbox_refuses_the_start_from_any_file_and_the_user_can_lift_it() {
    let scene = Scene::new();
    scene.world.write(".claude/settings.json", REQUIRED);
    let run = scene.world.run(["-p", "HELLO-1"]).finish().await;
    run.assert_code(2);
    assert!(run.stderr.contains("`sandbox.failIfUnavailable`"), "{run}");
    let mut client = Client::start(scene.world.run(ARGS));
    let why = client.initialize(json!({})).await.unwrap_err();
    assert!(why.contains("`sandbox.failIfUnavailable`"), "{why}");
    client.close().await.assert_code(2);
    assert_eq!(scene.server.requests().len(), 0);
    let lifted = r#"{"sandbox": {"enabled": false}}"#;
    scene.server.when("HELLO-1").reply(text("done"));
    let run = scene.world.run(["-p", "HELLO-1", "--settings", lifted]).finish().await;
    run.assert_code(0);
    scene.server.finish();
}

#[tokio::test]
async fn a_projects_file_cannot_lift_the_demand_of_the_user() {
    let scene = Scene::new();
    scene.world.home(".claude/settings.json", REQUIRED);
    let lifted = r#"{"sandbox": {"enabled": false, "failIfUnavailable": false}}"#;
    scene.world.write(".claude/settings.json", lifted);
    scene.world.trust();
    scene.world.run(["-p", "HELLO-1"]).finish().await.assert_code(2);
    assert_eq!(scene.server.requests().len(), 0);
}

#[tokio::test]
async fn a_disabled_bypass_is_refused_on_the_command_line_and_left_out_of_files() {
    let scene = Scene::new();
    scene.world.write(".claude/settings.json", NO_BYPASS);
    for args in
        [&["--dangerously-skip-permissions"][..], &["--permission-mode", "bypassPermissions"]]
    {
        let run = scene.world.run(["-p", "HELLO-1"]).args(args.iter().copied()).finish().await;
        run.assert_code(2);
        assert!(run.stderr.contains(".claude/settings.json:1 disables the mode"), "{run}");
    }
    scene.world.config("[permissions]\nmode = \"bypassPermissions\"\n");
    let run = touch(&scene, &[]).await;
    assert!(run.assert_code(0).stderr.contains("so the mode is default"), "{run}");
    assert!(!scene.world.exists("made"));
    scene.server.finish();
}

#[tokio::test]
async fn a_disabled_bypass_cannot_be_chosen_later_nor_by_an_answer_or_an_agent() {
    let scene = Scene::new();
    scene.world.home(".claude/settings.json", NO_BYPASS);
    let call = || tool_use("Bash", bash("touch made"));
    scene.server.when("HELLO-1").reply(call()).then(call()).then(text("done"));
    let args = ["--permission-prompt-tool", "stdio", "--allow-dangerously-skip-permissions"];
    let mut client = Client::start(scene.world.run(ARGS).args(args));
    client.initialize(json!({})).await.unwrap();
    let mode = json!({ "subtype": "set_permission_mode", "mode": "bypassPermissions" });
    let why = client.request(mode).await.unwrap_err();
    assert!(why.contains("disableBypassPermissionsMode"), "{why}");
    client.choose_bypass_by_answer("HELLO-1").await;
    let run = client.close().await;
    let told = |frame: &Value| frame["text"].to_string().contains("disableBypassPermissionsMode");
    assert!(run.frames().iter().any(told), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn an_agent_whose_own_mode_counts_is_not_in_a_disabled_one() {
    let scene = Scene::new();
    scene.world.home(".claude/settings.json", NO_BYPASS);
    scene.world.config("[subagents]\npermissions = \"own\"\n");
    let free = json!({ "free": { "description": "d", "prompt": "p", "permissionMode": "bypassPermissions" } });
    let mut call = crate::support::scene::agent("CHILD-A");
    call["subagent_type"] = json!("free");
    scene.server.when("HELLO-1").reply(crate::support::scene::calls([call])).then(text("done"));
    scene.server.when("CHILD-A").reply(tool_use("Bash", bash("touch made"))).then(text("seen"));
    let run = scene.world.run(["-p", "HELLO-1", "--agents", &free.to_string()]).finish().await;
    run.assert_code(0);
    assert!(!scene.world.exists("made"), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn the_screen_does_not_switch_to_a_disabled_mode() {
    let scene = Scene::new();
    scene.world.home(".claude/settings.json", NO_BYPASS);
    let screen = Screen::start(&scene.world, ["--allow-dangerously-skip-permissions"], 100, 30);
    screen.wait_for("caliban");
    screen.keys("/permissions\r");
    screen.wait_for("runs everything that no rule denies");
    screen.keys("\u{1b}[B\u{1b}[B\u{1b}[B\u{1b}[B\r");
    screen.wait_for("Enter turns it on");
    screen.keys("\r");
    screen.wait_for("is disabled by");
}

#[tokio::test]
async fn the_state_of_the_key_can_be_asked_for_as_json() {
    let mut scene = Scene::new();
    let status = async |scene: &Scene, code: i32| -> Value {
        let run = scene.world.run(["auth", "status", "--json"]).finish().await;
        run.assert_code(code);
        assert!(!run.stdout.contains(crate::support::world::KEY), "{run}");
        serde_json::from_str(&run.stdout).unwrap()
    };
    let known = status(&scene, 0).await;
    assert_eq!(
        (&known["loggedIn"], &known["apiKeySource"]),
        (&json!(true), &json!("ANTHROPIC_API_KEY"))
    );
    let run = scene.world.run(["auth"]).finish().await;
    run.assert_code(0);
    assert!(run.stdout.ends_with(": key from ANTHROPIC_API_KEY\n"), "{run}");
    scene.world.unset("ANTHROPIC_API_KEY").unset("OPENAI_API_KEY");
    let none = status(&scene, 1).await;
    assert_eq!((&none["loggedIn"], &none["authMethod"]), (&json!(false), &json!("none")));
}
