//! Sub-agents in worktrees of their own, through the whole program.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use nix::sys::stat::Mode;
use serde_json::{Value, json};

use super::after_calls;
use crate::support::DEADLINE;
use crate::support::process;
use crate::support::scene::{Scene, agent_with, bash};
use crate::support::script::{text, tool_use};

/// A scene whose project is a repository with one commit, and whose `tidy` agents are isolated.
fn scene() -> Scene {
    let scene = Scene::new();
    scene.world.agent(
        "tidy",
        "---\nname: tidy\ndescription: Tidies up, apart from everybody else.\nisolation: worktree\n---\nTidy.\n",
    );
    scene.world.write("a.txt", "one\n");
    for words in ["init -q -b main", "add -A", "commit -qm first"] {
        git(&scene, words);
    }
    scene
}

fn git(scene: &Scene, words: &str) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.com"])
        .args(words.split(' '))
        .current_dir(scene.world.project_dir())
        .output()
        .unwrap();
    assert!(output.status.success(), "git {words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn tidy(word: &str) -> Value {
    agent_with(word, "agent", json!("tidy"))
}

/// The paths of the worktrees beside the project.
fn worktrees(scene: &Scene) -> Vec<PathBuf> {
    let listed = git(scene, "worktree list --porcelain");
    let paths = listed.lines().filter_map(|line| line.strip_prefix("worktree "));
    paths.skip(1).map(PathBuf::from).collect()
}

#[tokio::test]
async fn s1_17_a_relative_path_is_the_worktrees() {
    let scene = scene();
    scene.world.write("a.txt", "changed since\n");
    scene.parent_calls([tidy("CHILD-A")]);
    let read = json!({ "file_path": "a.txt" });
    scene.server.when("CHILD-A").reply(tool_use("Read", read)).then(text("seen"));
    scene.go().await;
    let seen = scene.server.requests_of("CHILD-A")[1].tool_result();
    assert!(seen.text.contains("one") && !seen.text.contains("changed"), "{seen:?}");
    let result = after_calls(&scene).tool_result();
    assert!(result.text.contains("worktree removed: no changes"), "{result:?}");
    assert_eq!(worktrees(&scene), Vec::<PathBuf>::new());
    assert_eq!(git(&scene, "branch --list caliban/*"), "");
    scene.server.finish();
}

#[tokio::test]
async fn t24_an_isolated_child_writes_in_its_worktree_and_nowhere_else() {
    let scene = scene();
    let original = scene.world.project_dir().canonicalize().unwrap().join("a.txt");
    let original = original.display().to_string();
    scene.parent_calls([tidy("CHILD-A")]);
    let write = |path: &str| json!({ "file_path": path, "content": "escaped\n" });
    let escapes = tool_use("Write", write("new.txt"))
        .tool_use("Write", write(&original.replace("a.txt", "b.txt")))
        .tool_use("Bash", bash(&format!("echo escaped > {original}")))
        .tool_use(
            "Bash",
            bash("git -C \"$(git rev-parse --git-common-dir)/..\" commit -qm x --allow-empty"),
        )
        .tool_use("Bash", bash("git config user.name B"));
    scene.server.when("CHILD-A").reply(escapes).then(text("tried"));
    scene.go().await;
    let results = scene.server.requests_of("CHILD-A")[1].tool_results();
    let errors: Vec<_> = results.iter().map(|result| result.is_error).collect();
    assert_eq!(errors, [false, true, true, true, true], "{results:?}");
    assert!(results[1].text.contains("worktree"), "the bound is named: {results:?}");
    assert_eq!(scene.world.read("a.txt"), "one\n");
    assert!(!scene.world.exists("b.txt") && !scene.world.exists("new.txt"));
    assert_eq!(git(&scene, "status --porcelain"), "");
    let kept = worktrees(&scene);
    assert_eq!(std::fs::read_to_string(kept[0].join("new.txt")).unwrap(), "escaped\n");
    let result = after_calls(&scene).tool_result();
    let report = format!("worktree kept: {} (branch caliban/tidy-", kept[0].display());
    assert!(result.text.contains(&report) && result.text.contains("1 file changed"), "{result:?}");
    scene.server.finish();
}

#[tokio::test]
async fn s1_5_the_working_directory_stays_while_an_isolated_child_works() {
    let scene = scene();
    let project = std::fs::canonicalize(scene.world.project_dir()).unwrap();
    // The confined shell stands in `/` and reads from a pipe until the test lets it go on.
    let pipe = project.join("on.fifo");
    nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    let away = format!("cd / && head -n 1 {}", pipe.display());
    scene.parent_calls([tidy("CHILD-A")]);
    scene
        .server
        .when("CHILD-A")
        .reply(text("x").gate("before").tool_use("Bash", bash(&away)))
        .then(text("x").gate("after"));
    let running = scene.run().start();
    let assert_unmoved = |at: &str| {
        assert_eq!(process::cwds(running.pid()), BTreeSet::from([project.clone()]), "{at}");
    };
    scene.server.reached("before").await;
    assert_unmoved("before the command");
    scene.server.open("before");
    let mut pipe = opened_by_a_reader(pipe).await;
    assert_unmoved("while a shell stands in /");
    pipe.write_all(b"go\n").unwrap();
    scene.server.reached("after").await;
    assert_unmoved("after the command");
    scene.server.open("after");
    running.wait().await.assert_code(0);
    scene.server.finish();
}

/// The writing end of a pipe, once somebody has opened it to read.
async fn opened_by_a_reader(pipe: PathBuf) -> File {
    let (tell, opened) = tokio::sync::oneshot::channel();
    // Opening to write waits until somebody opens to read.
    std::thread::spawn(move || tell.send(OpenOptions::new().write(true).open(pipe)));
    let opened = tokio::time::timeout(DEADLINE, opened).await;
    opened.expect("no command came to the pipe").unwrap().unwrap()
}

#[tokio::test]
async fn without_a_repository_the_call_is_a_soft_error_that_says_what_to_do() {
    let scene = Scene::new();
    scene.world.agent(
        "tidy",
        "---\nname: tidy\ndescription: Tidies up, apart from everybody else.\nisolation: worktree\n---\nTidy.\n",
    );
    scene.parent_calls([tidy("CHILD-A")]);
    scene.go().await;
    let result = after_calls(&scene).tool_result();
    assert!(result.is_error && result.text.contains("`git init`"), "{result:?}");
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 0);
    scene.server.finish();
}
