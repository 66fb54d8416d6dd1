//! A call runs where it was judged, and touches what it was judged to touch: directories of
//! commands, links on the way to files.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::client::{ARGS, Client};
use crate::support::record::ToolResult;
use crate::support::run::Finished;
use crate::support::scene::{Scene, bash};
use crate::support::script::{Reply, text, tool_use};

/// One call at a time, so that a command has ended before the next one starts.
const IN_TURN: &str = "[subagents]\nmax_concurrent_ops = 1\n";

fn git(dir: &Path, words: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=A", "-c", "user.email=a@example.com"]).args(words).current_dir(dir);
    assert!(git.env("HOME", "/nowhere").output().unwrap().status.success(), "git {words:?}");
}

/// A project under git with a folder `evil` that looks like a bare repository, whose settings make
/// git run a program that leaves the file `fired`.
fn with_bare_folder() -> Scene {
    let scene = Scene::new();
    let project = scene.world.project_dir();
    git(&project, &["init", "-q", "-b", "main"]);
    scene.world.write("a.txt", "one\n");
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-qm", "first"]);
    git(&project, &["clone", "-q", "--bare", ".", "evil"]);
    let fire = format!("touch {}; false", project.join("fired").display());
    for (key, value) in [("bare", "false"), ("worktree", "."), ("fsmonitor", &fire)] {
        git(&project, &["config", "-f", "evil/config", &format!("core.{key}"), value]);
    }
    scene.world.config(IN_TURN);
    scene
}

/// Answers with these messages in turn, and then with a text.
async fn run(scene: &Scene, messages: impl IntoIterator<Item = Reply>, args: &[&str]) -> Finished {
    for message in messages {
        scene.server.when("TASK-1").reply(message);
    }
    scene.server.when("TASK-1").reply(text("ok"));
    let base = ["-p", "TASK-1 go", "--output-format", "stream-json"];
    let run = scene.world.run(base).args(args.iter().copied()).finish().await;
    run.assert_code(0);
    run
}

/// The results of the calls of a message, counted from 0.
fn results(scene: &Scene, message: usize) -> Vec<ToolResult> {
    scene.server.requests_of("TASK-1")[message + 1].tool_results()
}

#[tokio::test]
async fn the_commands_of_one_message_start_where_the_shell_stood_when_it_came() {
    let scene = with_bare_folder();
    let moved = tool_use("Bash", bash("cd evil")).tool_use("Bash", bash("git status --short"));
    let calls = [
        moved.tool_use("Bash", bash("pwd")),
        tool_use("Bash", bash("pwd")).tool_use("Bash", bash("git status")),
    ];
    run(&scene, calls, &[]).await;
    let project = scene.world.project_dir().canonicalize().unwrap();
    let first = results(&scene, 0);
    assert!(first[1].text.contains("?? evil/"), "{first:?}");
    assert_eq!(first[2].text, project.to_str().unwrap());
    let second = results(&scene, 1);
    assert_eq!(second[0].text, project.join("evil").to_str().unwrap());
    assert!(second[1].is_error, "a rule is needed there: {second:?}");
    assert!(!scene.world.exists("fired"));
    scene.server.finish();
}

#[tokio::test]
async fn a_link_that_leads_each_process_elsewhere_leads_nowhere() {
    let scene = Scene::new();
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, scene.world.project_dir().join(name)).unwrap();
    };
    scene.world.write("x", "inside\n");
    scene.world.write("sub/a", "");
    let secret = scene.world.settings_dir().join("secret");
    std::fs::write(&secret, "CANARY-44\n").unwrap();
    link("/proc/self/cwd/x", "l");
    link(secret.to_str().unwrap(), "sub/x");
    link("/proc/self/cwd/w", "lw");
    link(scene.world.settings_dir().join("made").to_str().unwrap(), "sub/w");
    let calls = [
        tool_use("Bash", bash("cd sub")),
        tool_use("Bash", bash("cat ../l"))
            .tool_use("Bash", bash("cat < ../l"))
            .tool_use("Bash", bash("echo a > ../lw")),
    ];
    run(&scene, calls, &["--permission-mode", "acceptEdits"]).await;
    let results = results(&scene, 1);
    assert!(results.iter().all(|result| result.is_error), "{results:?}");
    assert!(!results.iter().any(|result| result.text.contains("CANARY-44")), "{results:?}");
    assert!(!scene.world.settings_dir().join("made").exists());
    scene.server.finish();
}

#[tokio::test]
async fn git_takes_no_folder_for_a_repository_because_it_looks_like_one() {
    let scene = with_bare_folder();
    let lines = ["cd evil && git status", "git -C evil status", "cd evil && env git log"];
    let calls =
        lines.into_iter().fold(Reply::stream(), |reply, line| reply.tool_use("Bash", bash(line)));
    let calls = calls.tool_use("Bash", bash("git --git-dir=evil rev-parse --is-bare-repository"));
    run(&scene, [calls], &["--dangerously-skip-permissions"]).await;
    let results = results(&scene, 0);
    for result in &results[..lines.len()] {
        assert!(result.is_error && result.text.contains("safe.bareRepository"), "{result:?}");
    }
    assert_eq!(results[lines.len()].text, "false", "named outright it is one");
    assert!(!scene.world.exists("fired"));
    scene.server.finish();
}

#[tokio::test]
async fn a_yes_runs_the_command_in_the_directory_that_the_question_named() {
    let scene = Scene::new();
    scene.world.config(IN_TURN);
    scene.world.write("build.sh", "touch good\n");
    scene.world.write("evil/build.sh", "touch ../bad\n");
    let calls = tool_use("Bash", bash("cd evil")).tool_use("Bash", bash("sh ./build.sh"));
    scene.server.when("HELLO-1").reply(calls);
    scene.server.when("HELLO-1").reply(tool_use("Bash", bash("sh ./build.sh"))).then(text("done"));
    let args = ["--permission-prompt-tool", "stdio", "--model", "claude-sonnet-5"];
    let mut client = Client::start(scene.world.run(ARGS).args(args));
    client.initialize(json!({})).await.unwrap();
    client.prompt("HELLO-1");
    let project = scene.world.project_dir().canonicalize().unwrap();
    let question = client.question("can_use_tool").await;
    assert_eq!(question.body["cwd"], project.to_str().unwrap());
    let changed = bash("sh ./build.sh; touch changed");
    client.answer(&question, json!({ "behavior": "allow", "updatedInput": changed }));
    let question = client.question("can_use_tool").await;
    assert_eq!(question.body["cwd"], project.join("evil").to_str().unwrap());
    let made = ["good", "changed", "bad"].map(|file| scene.world.exists(file));
    assert_eq!(made, [true, true, false]);
    client.answer(&question, json!({ "behavior": "deny", "message": "no" }));
    client.result().await;
    client.close().await.assert_code(0);
    scene.server.finish();
}

fn write(path: &str) -> Value {
    json!({ "file_path": path, "content": "x\n" })
}

#[tokio::test]
async fn a_write_through_a_link_of_the_project_ends_where_it_was_judged_to_end() {
    let scene = Scene::new();
    let project = scene.world.project_dir();
    scene.world.write("deep/er/est/a.txt", "");
    symlink("deep/er/est", project.join("d")).unwrap();
    // By its text this leads to the home beside the project.
    symlink("d/../../home/made.txt", project.join("auto.txt")).unwrap();
    symlink(scene.world.home_dir(), project.join("out")).unwrap();
    symlink("out/made.txt", project.join("plain.txt")).unwrap();
    let calls = tool_use("Write", write("auto.txt")).tool_use("Write", write("plain.txt"));
    run(&scene, [calls], &["--permission-mode", "acceptEdits"]).await;
    assert_eq!(scene.world.read("deep/home/made.txt"), "x\n");
    assert!(!scene.world.home_dir().join("made.txt").exists());
    let results = results(&scene, 0);
    assert!(!results[0].is_error && results[1].is_error, "{results:?}");
    scene.server.finish();
}

#[tokio::test]
async fn a_link_that_appears_while_a_question_waits_is_not_followed() {
    let scene = Scene::new();
    scene.world.write("sub/a.txt", "");
    scene.server.when("HELLO-1").reply(tool_use("Write", write("sub/new/made.txt")));
    scene.server.when("HELLO-1").reply(text("done"));
    let args = ["--permission-prompt-tool", "stdio", "--model", "claude-sonnet-5"];
    let mut client = Client::start(scene.world.run(ARGS).args(args));
    client.initialize(json!({})).await.unwrap();
    client.prompt("HELLO-1");
    let question = client.question("can_use_tool").await;
    let sub = scene.world.project_dir().join("sub");
    std::fs::rename(&sub, sub.with_file_name("was")).unwrap();
    symlink(scene.world.home_dir(), &sub).unwrap();
    client.answer(&question, json!({ "behavior": "allow" }));
    client.result().await;
    let result = scene.server.requests()[1].tool_result();
    assert!(result.is_error && result.text.contains("leads elsewhere"), "{result:?}");
    assert!(!scene.world.home_dir().join("new").exists());
    client.close().await.assert_code(0);
    scene.server.finish();
}

#[tokio::test]
async fn a_cd_goes_where_the_gate_believes_it_to_go() {
    let mut scene = Scene::new();
    scene.world.home("secret.txt", "SECRET-1\n");
    scene.world.write("home/secret.txt", "harmless\n");
    scene.world.write("deep/er/est/a/secret.txt", "");
    symlink("deep/er/est", scene.world.project_dir().join("link")).unwrap();
    let above = scene.world.project_dir().parent().unwrap().display().to_string();
    scene.world.env("CDPATH", &above);
    let lines = [
        "cd home && cat secret.txt",
        "cd link/../.. && cat home/secret.txt",
        "for i in 1 2; do cd link; done; cat secret.txt",
    ];
    let calls =
        lines.into_iter().fold(Reply::stream(), |reply, line| reply.tool_use("Bash", bash(line)));
    run(&scene, [calls], &[]).await;
    let results = results(&scene, 0);
    assert_eq!(results[0].text, "harmless");
    assert!(results[1..].iter().all(|result| result.is_error), "{results:?}");
    assert!(results.iter().all(|result| !result.text.contains("SECRET-1")), "{results:?}");
    scene.server.finish();
}
