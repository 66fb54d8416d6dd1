//! `caliban config set`: one key of a file, checked like the file, and nothing else of it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use futures_util::future::join_all;

use crate::support::run::Finished;
use crate::support::scene::{Scene, bash};
use crate::support::script::{text, tool_use};

async fn set(scene: &Scene, args: &[&str]) -> Finished {
    scene.world.run(["config", "set"]).args(args.iter().copied()).finish().await
}

fn own(scene: &Scene) -> String {
    fs::read_to_string(scene.world.settings_dir().join("config.toml")).unwrap_or_default()
}

#[tokio::test]
async fn a_key_is_set_in_the_users_file_and_the_rest_of_it_stays() {
    let scene = Scene::new();
    let file = scene.world.settings_dir().join("config.toml");
    fs::write(&file, "# mine\n[model]\nname = \"claude-sonnet-5\" # best\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let run = set(&scene, &["model.effort", "high"]).await;
    assert_eq!(run.assert_code(0).stdout, format!("Set model.effort in {}.\n", file.display()));
    let expected = "# mine\n[model]\nname = \"claude-sonnet-5\" # best\neffort = \"high\"\n";
    assert_eq!(own(&scene), expected);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    scene.server.when("HELLO-1").reply(text("hi"));
    scene.world.run(["-p", "HELLO-1"]).finish().await.assert_code(0);
    assert_eq!(scene.server.requests()[0].body["output_config"]["effort"], "high");
}

#[tokio::test]
async fn a_new_file_is_the_users_alone() {
    let scene = Scene::new();
    let file = scene.world.settings_dir().join("config.toml");
    if file.exists() {
        fs::remove_file(&file).unwrap();
    }
    set(&scene, &["tui.mouse", "false"]).await.assert_code(0);
    assert_eq!(own(&scene), "[tui]\nmouse = false\n");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn what_a_start_would_refuse_is_not_written() {
    let scene = Scene::new();
    scene.world.config("[tui]\nmouse = true\n");
    let before = own(&scene);
    let table = [
        (["tui.moouse", "false"], "did you mean tui.mouse?"),
        (["tui.panes", "left"], "allowed: auto, right, below, rows"),
        (["tui.theme", "no-such"], "no-such"),
        (["model.provider", "nobody"], "there is no provider \"nobody\""),
        (["providers.work.base_url", "http://127.0.0.1:1/v1"], "[providers.work] needs a `kind`"),
        (["permissions.deny", "[\"Bash(\"]"], "permission rule `Bash(`"),
    ];
    for (args, expected) in table {
        let run = set(&scene, &args).await;
        assert!(run.assert_code(2).stderr.contains(expected), "{args:?}: {run}");
        assert_eq!(run.stderr.lines().count(), 1, "{run}");
        assert_eq!(own(&scene), before, "{args:?}");
        let names_line = run.stderr.contains("config.toml:");
        assert!(args[0] != "tui.theme" || !names_line, "there is no such line: {run}");
    }
}

#[tokio::test]
async fn a_file_with_mistakes_is_left_alone() {
    let scene = Scene::new();
    let file = scene.world.settings_dir().join("config.toml");
    for broken in ["[tui]\nmous = true\n", "[tui\n"] {
        fs::write(&file, broken).unwrap();
        let run = set(&scene, &["tui.mouse", "false"]).await;
        assert!(run.assert_code(2).stderr.contains("config.toml:"), "{run}");
        assert_eq!(own(&scene), broken);
    }
}

#[tokio::test]
async fn a_project_may_only_be_given_what_it_may_set() {
    let scene = Scene::new();
    let in_project = ["--scope", "project"];
    let refused = [
        ["permissions.mode", "acceptEdits"],
        ["permissions.allow", "[\"Bash(make:*)\"]"],
        ["session.keep_days", "1"],
    ];
    for args in refused {
        let run = set(&scene, &[&in_project[..], &args].concat()).await;
        assert!(run.assert_code(2).stderr.contains("a project's file may not set this"), "{run}");
        assert!(!scene.world.exists(".caliban"), "{args:?}");
    }
    let narrower = ["permissions.deny", "[\"Bash(rm:*)\"]"];
    set(&scene, &[&in_project[..], &narrower].concat()).await.assert_code(0);
    assert_eq!(
        scene.world.read(".caliban/config.toml"),
        "[permissions]\ndeny = [\"Bash(rm:*)\"]\n"
    );
    set(&scene, &[&in_project[..], &["subagents.max_children_per_agent", "2"]].concat())
        .await
        .assert_code(0);
    let run = set(&scene, &["subagents.max_children_per_agent", "3"]).await;
    let hint = "Here, .caliban/config.toml:5 takes precedence.";
    assert!(run.assert_code(0).stdout.contains(hint), "{run}");
}

#[tokio::test]
async fn an_agents_command_cannot_change_the_configuration() {
    let scene = Scene::new();
    let before = own(&scene);
    let program = env!("CARGO_BIN_EXE_caliban");
    let command = format!("{program} config set permissions.mode bypassPermissions");
    let call = tool_use("Bash", bash(&command));
    scene.server.when("HELLO-1").reply(call).then(text("done"));
    let args = ["-p", "HELLO-1", "--dangerously-skip-permissions"];
    scene.world.run(args).finish().await.assert_code(0);
    let result = scene.server.requests()[1].body.to_string();
    assert!(result.contains("only you can change the configuration"), "{result}");
    assert_eq!(own(&scene), before);
}

#[tokio::test]
async fn a_file_that_another_process_is_changing_is_not_written() {
    let scene = Scene::new();
    let before = own(&scene);
    let folders = [scene.world.settings_dir(), scene.world.project_dir()];
    let locks = folders.map(|folder| fs::File::open(folder).unwrap());
    locks.iter().for_each(|lock| lock.lock().unwrap());
    let project = ["--scope", "project", "subagents.max_children_per_agent", "2"];
    let runs = [
        scene.world.run(["config", "set", "tui.mouse", "false"]).finish(),
        scene.world.run(["config", "set"]).args(project).finish(),
        scene.world.run(["mcp", "add", "one", "/bin/true"]).finish(),
        scene.world.run(["mcp", "add", "--scope", "project", "one", "/bin/true"]).finish(),
    ];
    for run in join_all(runs).await {
        assert!(run.stderr.contains("another process has held "), "{run}");
        assert_ne!(run.code, Some(0), "{run}");
    }
    assert_eq!(own(&scene), before);
    assert!(!scene.world.exists(".caliban") && !scene.world.exists(".mcp.json"));
    drop(locks);
    set(&scene, &["tui.mouse", "false"]).await.assert_code(0);
}

#[tokio::test]
async fn a_list_that_replaces_another_says_what_is_gone() {
    let scene = Scene::new();
    let first = r#"["Bash(rm:*)", "Read(x)", "Bash(a\nSet b)"]"#;
    set(&scene, &["permissions.deny", first]).await.assert_code(0);
    let run = set(&scene, &["permissions.deny", r#"["Bash(git push:*)", "Read(x)"]"#]).await;
    run.assert_code(0);
    assert!(
        run.stdout.ends_with(
            "The new list replaces the old one, so this is gone: Bash(rm:*), Bash(a\\u{a}Set b).\n"
        ),
        "{run}"
    );
    let run = set(&scene, &["permissions.deny", r#"["Read(x)", "Bash(git push:*)"]"#]).await;
    assert_eq!(run.stdout.lines().count(), 1, "{run}");
}

#[tokio::test]
async fn an_effort_that_the_model_does_not_take_is_set_with_a_word_about_it() {
    let scene = Scene::new();
    let run = set(&scene, &["model.effort", "hihg"]).await;
    run.assert_code(0);
    assert!(
        run.stdout
            .contains("does not take \"hihg\", so none is sent to it. It takes low, medium, high"),
        "{run}"
    );
    let run = set(&scene, &["model.effort", "high"]).await;
    assert_eq!(run.stdout.lines().count(), 1, "{run}");
}
