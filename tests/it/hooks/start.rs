//! Where hooks start: the user's own run nothing of a project before the user accepts that for this project.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::json;

use crate::support::process;
use crate::support::pty::{CTRL_D, Screen};
use crate::support::run::Finished;
use crate::support::scene::{DONE, PARENT, Scene, agent_with, bash};
use crate::support::script::{text, tool_use};

/// A program of the project of which nobody has heard, which leaves `ran` in the project.
fn program(scene: &Scene, path: &str) {
    let project = scene.world.project_dir();
    scene.world.write(path, &format!("#!/bin/sh\ntouch '{}/ran'\n", project.display()));
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(project.join(path), mode).unwrap();
}

/// A run in which the model touches `made`.
async fn touch(scene: &Scene, args: &[&str]) -> Finished {
    scene.server.when(PARENT).reply(tool_use("Bash", bash("touch made"))).then(text(DONE));
    let run = scene.world.run(["-p", "PARENT-1 go", "--dangerously-skip-permissions"]);
    let run = run.args(args.iter().copied()).finish().await;
    run.assert_code(0);
    run
}

/// A hook before each call of Bash in the user's configuration.
fn own(scene: &Scene, command: &str, more: &str) {
    let command = json!(command);
    scene.world.config(&format!(
        "[[hooks.PreToolUse]]\nmatcher = \"Bash\"\ncommand = {command}\n{more}\n"
    ));
}

/// The lines of stderr with this text.
fn lines<'a>(run: &'a Finished, part: &str) -> Vec<&'a str> {
    run.stderr.lines().filter(|line| line.contains(part)).collect()
}

async fn trust(scene: &Scene, args: &[&str]) -> Finished {
    let run = scene.world.run(["trust"]).args(args.iter().copied()).finish().await;
    run.assert_code(0);
    run
}

fn project(scene: &Scene) -> PathBuf {
    scene.world.project_dir().canonicalize().unwrap()
}

const WAITS: &str = "Started in an empty folder, not in this project: ";
/// Writes down where it runs and what lies there, and fails as a guard does when the project is not there.
const LOOK: &str = "{ pwd -P; ls -A; } >\"$CALIBAN_PROJECT_DIR/seen\"; [ \"$CLAUDE_PROJECT_DIR\" = \"$CALIBAN_PROJECT_DIR\" ] && [ -e check.sh ] || { echo no check.sh >&2; exit 2; }";

#[tokio::test]
async fn a_hook_of_the_users_own_runs_no_file_of_a_clone_and_a_line_says_what_to_write() {
    let scene = Scene::new();
    program(&scene, "check.sh");
    own(&scene, "./check.sh", "");
    let run = touch(&scene, &[]).await;
    assert!(!scene.world.exists("ran"), "{run}");
    assert!(!scene.world.exists("made"), "a guard that is not found denies\n{run}");
    let [notice] = lines(&run, "`./check.sh` depends on the folder it starts in")[..] else {
        panic!("{run}")
    };
    for part in ["config.toml:", "cwd = \"project\"", "$CALIBAN_PROJECT_DIR"] {
        assert!(notice.contains(part), "{notice}");
    }
    let [failed, denied] = lines(&run, "exit 127: ")[..] else { panic!("{run}") };
    assert!(failed.contains("it started in an empty folder"), "{failed}");
    assert!(denied.contains("./check.sh could not be started"), "{denied}");
    scene.server.finish();
}

#[tokio::test]
async fn it_starts_in_an_empty_folder_outside_of_the_project_which_is_gone_afterwards() {
    for home in ["settings", "project/.home"] {
        let mut scene = Scene::new();
        own(&scene, LOOK, "");
        if home != "settings" {
            let settings = scene.world.settings_dir();
            let inside = scene.world.project_dir().join(".home");
            std::fs::rename(settings, &inside).unwrap();
            scene.world.env("CALIBAN_HOME", inside.to_str().unwrap());
        }
        let run = touch(&scene, &[]).await;
        assert!(!scene.world.exists("made"), "a guard that says no is heard\n{run}");
        let seen = scene.world.read("seen");
        let place = PathBuf::from(seen.trim_end());
        assert!(!place.starts_with(project(&scene)) && seen.lines().count() == 1, "{seen}");
        assert!(!place.exists(), "{seen}");
        assert!(!run.stderr.contains("empty folder"), "it needs no project\n{run}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn one_that_asks_for_the_project_starts_there_once_the_pair_is_accepted_and_is_never_skipped()
{
    let scene = Scene::new();
    program(&scene, "check.sh");
    for folder in ["other/.git", ".git"] {
        std::fs::create_dir_all(scene.world.project_dir().join(folder)).unwrap();
    }
    scene.world.write("other/check.sh", "");
    own(&scene, LOOK, "cwd = \"project\"");
    let seen = || scene.world.read("seen");
    let is_here = || seen().starts_with(&format!("{}\n", project(&scene).display()));

    let run = touch(&scene, &[]).await;
    assert!(!is_here() && !scene.world.exists("made"), "it runs, and may say no\n{run}");
    let [line] = lines(&run, WAITS)[..] else { panic!("one line\n{run}") };
    assert!(line.contains("hook PreToolUse(Bash) (") && line.contains("config.toml:"), "{line}");
    assert!(line.contains("`caliban trust ") && line.contains("--show"), "{line}");

    let entry = format!("hook PreToolUse(Bash): {LOOK} (your config.toml) starts in this project");
    let shown = trust(&scene, &["--show"]).await;
    assert!(shown.stdout.contains("(1 thing)") && shown.stdout.contains(&entry), "{shown}");
    assert!(!shown.stdout.contains("Trusted ("), "{shown}");
    let accepted = trust(&scene, &[]).await;
    assert!(accepted.stdout.contains(&entry), "{accepted}");
    let shown = trust(&scene, &["--show"]).await;
    let (_, trusted) = shown.stdout.split_once("Trusted (1 thing)").expect(&shown.stdout);
    assert!(trusted.contains(&entry), "{shown}");
    let run = touch(&scene, &[]).await;
    assert!(is_here() && scene.world.exists("made") && lines(&run, WAITS).is_empty(), "{run}");

    let run = touch(&scene, &["-C", "other"]).await;
    let other = std::fs::read_to_string(scene.world.project_dir().join("other/seen")).unwrap();
    assert!(!other.contains("other"), "another project: {other}");
    assert_eq!(lines(&run, WAITS).len(), 1, "{run}");

    own(&scene, &format!("true; {LOOK}"), "cwd = \"project\"");
    let run = touch(&scene, &[]).await;
    assert!(!is_here() && lines(&run, WAITS).len() == 1, "another line\n{run}");
    own(&scene, LOOK, "cwd = \"project\"");
    touch(&scene, &[]).await;
    assert!(is_here());
    trust(&scene, &["--revoke"]).await;
    touch(&scene, &[]).await;
    assert!(!is_here());
    scene.server.finish();
}

#[tokio::test]
async fn hooks_for_claude_code_ask_for_the_project_and_those_of_the_command_line_have_it() {
    let scene = Scene::new();
    program(&scene, "check.sh");
    let hook = json!({ "type": "command", "command": "./check.sh" });
    let settings = json!({ "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [hook] }] } });
    scene.world.home(".claude/settings.json", &settings.to_string());
    let run = touch(&scene, &[]).await;
    assert!(!scene.world.exists("ran"), "{run}");
    assert_eq!(lines(&run, WAITS).len(), 1, "{run}");
    assert!(lines(&run, "exit 127: ")[0].contains("`caliban trust` starts it in this project"));
    let frames = touch(&scene, &["--output-format", "stream-json"]).await;
    assert!(lines(&frames, WAITS).len() == 1 && frames.stdout.contains(WAITS), "{frames}");
    let shown = trust(&scene, &[]).await;
    let line = "hook PreToolUse(Bash): ./check.sh (your settings.json) starts in this project";
    assert!(shown.stdout.contains(line), "{shown}");
    let run = touch(&scene, &[]).await;
    assert!(scene.world.exists("ran") && run.stderr.is_empty(), "{run}");

    let scene = Scene::new();
    program(&scene, "check.sh");
    let run = touch(&scene, &["--settings", &settings.to_string()]).await;
    assert!(scene.world.exists("ran") && run.stderr.is_empty(), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_call_whose_guard_has_no_folder_to_start_in_does_not_run() {
    let scene = Scene::new();
    let temp = std::env::temp_dir();
    let all = [scene.world.root(), &temp, "/tmp".as_ref(), "/var/tmp".as_ref()];
    let hook = "[[hooks.PreToolUse]]\ncommand = \"true\"\n";
    scene.world.config(&format!("{hook}[permissions]\nadditional_dirs = {}\n", json!(all)));
    let run = touch(&scene, &[]).await;
    assert!(!scene.world.exists("made"), "{run}");
    let result = scene.server.requests_of(PARENT)[1].tool_result();
    let advice = "set TMPDIR to a folder outside of the project";
    assert!(result.is_error && result.text.contains(advice), "{}", result.text);
    assert!(!lines(&run, advice).is_empty(), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn the_same_line_in_two_of_the_users_files_runs_once_until_they_start_in_two_folders() {
    let scene = Scene::new();
    let line = "echo ran >>\"$CALIBAN_PROJECT_DIR/times\"";
    own(&scene, line, "");
    let hook = json!({ "type": "command", "command": line });
    let settings = json!({ "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [hook] }] } });
    scene.world.home(".claude/settings.json", &settings.to_string());
    touch(&scene, &[]).await;
    assert_eq!(scene.world.read("times"), "ran\n");
    trust(&scene, &[]).await;
    touch(&scene, &[]).await;
    assert_eq!(scene.world.read("times"), "ran\n".repeat(3));
    scene.server.finish();
}

#[tokio::test]
async fn no_folder_of_the_users_is_removed_from_one_for_temporary_files() {
    let mut scene = Scene::new();
    let temp = scene.world.root().join("temp");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(86_400);
    let files = ["private-notes", "caliban-private-notes"].map(|name| {
        let folder = temp.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("thesis.txt"), "years of work").unwrap();
        std::fs::File::open(&folder).unwrap().set_modified(long_ago).unwrap();
        folder.join("thesis.txt")
    });
    let inside = scene.world.project_dir().join(".home");
    std::fs::rename(scene.world.settings_dir(), &inside).unwrap();
    scene.world.env("CALIBAN_HOME", inside.to_str().unwrap());
    for name in ["XDG_RUNTIME_DIR", "TMPDIR"] {
        scene.world.env(name, temp.to_str().unwrap());
    }
    let hook = "[[hooks.PreToolUse]]\ncommand = 'pwd >\"$CALIBAN_PROJECT_DIR/place\"'\n";
    std::fs::write(inside.join("config.toml"), hook).unwrap();
    let run = touch(&scene, &[]).await;
    let place = scene.world.read("place");
    assert!(PathBuf::from(place.trim()).starts_with(&temp), "{place}\n{run}");
    for file in files {
        assert!(file.is_file(), "{}", file.display());
    }
    scene.server.finish();
}

#[tokio::test]
async fn no_program_of_the_project_stands_in_for_one_of_the_users_by_path_or_by_what_bash_reads_first()
 {
    let mut scene = Scene::new();
    for path in ["jq-guard", "node_modules/.bin/jq-guard", "bin/jq-guard", "rc"] {
        program(&scene, path);
    }
    let home = scene.world.home_dir().join("bin");
    std::fs::create_dir(&home).unwrap();
    let guard = home.join("jq-guard");
    let script = "#!/bin/sh\necho own >>\"$CALIBAN_PROJECT_DIR/own\"\n";
    std::fs::write(&guard, script).unwrap();
    std::fs::set_permissions(&guard, std::fs::Permissions::from_mode(0o755)).unwrap();
    let inside = scene.world.project_dir().join("bin");
    let path = std::env::var("PATH").unwrap();
    let path = format!(".::node_modules/.bin:{}:{}:{path}:", inside.display(), home.display());
    scene.world.env("PATH", &path);
    scene.world.env("BASH_ENV", "./rc");
    let command = "jq-guard; cd \"$CALIBAN_PROJECT_DIR\" && jq-guard";
    scene.server.when(PARENT).reply(text(DONE));
    let hook = json!(command);
    scene.world.config(&format!("[[hooks.SessionStart]]\ncommand = {hook}\n"));
    let run = scene.world.run(["-p", "PARENT-1 go"]).finish().await;
    run.assert_code(0);
    assert!(!scene.world.exists("ran"), "{run}");
    assert_eq!(scene.world.read("own"), "own\nown\n", "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_hook_and_a_server_of_the_users_own_definition_follow_the_same_rule() {
    let scene = Scene::new();
    program(&scene, "check.sh");
    program(&scene, "serve.sh");
    let definition = |cwd: &str| {
        format!(
            "---\ndescription: Works with care.\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - command: ./check.sh\n{cwd}mcpServers:\n  - own:\n      command: ./serve.sh\n---\nWork.\n"
        )
    };
    let run = async |definition: &str| {
        scene.world.agent("worker", definition);
        scene.parent_calls([agent_with("CHILD-A", "agent", "worker".into())]);
        let call = tool_use("Bash", bash("touch made"));
        scene.server.when("CHILD-A").reply(call).then(text("done"));
        scene.go().await
    };
    let first = run(&definition("")).await;
    assert!(!scene.world.exists("ran") && lines(&first, WAITS).is_empty(), "{first}");
    let asks = definition("          cwd: project\n");
    let second = run(&asks).await;
    assert!(!scene.world.exists("ran") && !scene.world.exists("made"), "{second}");
    assert!(lines(&second, WAITS)[0].contains("agent worker hooks ("), "{second}");
    let shown = trust(&scene, &[]).await;
    let line = "agent worker hooks: hook PreToolUse(Bash): ./check.sh (your worker.md) starts in this project";
    assert!(shown.stdout.contains(line), "{shown}");
    let third = run(&asks).await;
    assert!(scene.world.exists("ran") && lines(&third, WAITS).is_empty(), "{third}");
    assert!(scene.world.exists("made"), "{third}");
    scene.server.finish();
}

#[tokio::test]
async fn the_command_that_prints_a_key_runs_no_file_of_the_project() {
    let mut scene = Scene::new();
    scene.world.unset("ANTHROPIC_API_KEY");
    program(&scene, "key.sh");
    let config = |command: &str| {
        let command = json!(command);
        format!("[providers.anthropic]\napi_key_command = {command}\n")
    };
    scene.world.config(&config("./key.sh"));
    let run = scene.world.run(["-p", "PARENT-1 go", "--provider", "anthropic"]).finish().await;
    assert_eq!(run.code, Some(3), "{run}");
    assert!(!scene.world.exists("ran"), "{run}");
    scene.world.config(&config("pwd -P >\"$CALIBAN_PROJECT_DIR/where\"; echo sk-of-a-command"));
    scene.server.when(PARENT).reply(text(DONE));
    let run = scene.world.run(["-p", "PARENT-1 go", "--provider", "anthropic"]).finish().await;
    run.assert_code(0);
    let place = scene.world.read("where");
    assert!(!PathBuf::from(place.trim()).starts_with(project(&scene)), "{place}");
    scene.server.finish();
}

#[tokio::test]
async fn the_trust_page_shows_the_whole_line_and_a_yes_starts_the_hook_in_this_project() {
    let scene = Scene::new();
    let hook = "touch started-here";
    scene
        .world
        .config(&format!("[[hooks.SessionStart]]\ncommand = \"{hook}\"\ncwd = \"project\"\n"));
    for (key, starts) in [("2", false), ("1", true)] {
        let screen = Screen::start(&scene.world, [], 110, 30);
        let shown = screen.wait_for("1  trust this");
        let line = format!("hook SessionStart: {hook} (your config.toml) starts in this project");
        assert!(shown.contains(&line) && shown.contains("settings/config.toml"), "{shown}");
        screen.keys(key);
        let shown = screen.wait_for("? keys");
        assert_eq!(shown.contains("Started in an empty folder"), !starts, "{shown}");
        screen.keys(CTRL_D);
        screen.exit().assert_restored();
        assert_eq!(scene.world.exists("started-here"), starts);
    }
    std::fs::remove_file(scene.world.project_dir().join("started-here")).unwrap();
    let again = Screen::start(&scene.world, [], 110, 30);
    again.wait_for("? keys");
    process::eventually(|| scene.world.exists("started-here")).await;
    scene.server.finish();
}
