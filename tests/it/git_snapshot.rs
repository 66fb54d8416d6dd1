//! What main is told about the repository with its first prompt.

use std::process::{Command, Stdio};

use crate::support::run::PROMPTS;
use crate::support::scene::Scene;
use crate::support::script::text;

/// A repository with two commits as the project.
fn repository(scene: &Scene) {
    scene.world.write("a.txt", "one\n");
    git(scene, &["init", "-q", "-b", "main"]);
    git(scene, &["add", "a.txt"]);
    git(scene, &["commit", "-qm", "shop: sell tea"]);
    git(scene, &["commit", "-q", "--allow-empty", "-m", "shop: sell coffee\n\nThe body."]);
}

fn git(scene: &Scene, words: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=A", "-c", "user.email=a@example.com"]).args(words);
    git.current_dir(scene.world.project_dir()).env("HOME", scene.world.home_dir());
    assert!(git.stdin(Stdio::null()).status().unwrap().success(), "{words:?}");
}

#[tokio::test]
async fn the_first_prompt_brings_the_changed_files_and_the_last_commits() {
    let scene = Scene::new();
    repository(&scene);
    scene.world.write("a.txt", "two\n");
    scene.world.write("new.txt", "new\n");
    scene.server.when("HELLO-1").reply(text("one")).then(text("two"));
    let mut run = scene.world.run(PROMPTS).open_stdin().start();
    run.turn("HELLO-1", 1).await;
    scene.world.write("later.txt", "x\n");
    run.turn("go on", 2).await;
    run.close().await.assert_code(0);
    let requests = scene.server.requests_of("HELLO-1");
    let first = requests[0].messages()[0].to_string();
    assert!(first.find("Git when the session was opened") < first.find("HELLO-1"), "{first}");
    for part in [" M a.txt", "?? new.txt", "shop: sell tea", "shop: sell coffee"] {
        assert_eq!(first.matches(part).count(), 1, "{part}: {first}");
    }
    assert!(!first.contains("The body"), "{first}");
    let second = requests[1].messages().last().unwrap().to_string();
    assert!(!second.contains("Git when"), "it is told once: {second}");
    scene.server.finish();
}

#[tokio::test]
async fn a_resumed_session_is_told_again_only_what_has_changed() {
    let scene = Scene::new();
    repository(&scene);
    scene.server.when("HELLO-1").forever(text("ok"));
    let resume = ["-c", "-p", "go on"];
    scene.world.run(["-p", "HELLO-1"]).finish().await.assert_code(0);
    scene.world.run(resume).finish().await.assert_code(0);
    scene.world.write("a.txt", "two\n");
    for _ in 0..2 {
        scene.world.run(resume).finish().await.assert_code(0);
    }
    let requests = scene.server.requests();
    let told = |at: usize| requests[at].messages().last().unwrap().to_string();
    assert!([0, 2].into_iter().all(|at| told(at).contains("Git when")), "{}", told(2));
    assert!(told(2).contains(" M a.txt"), "{}", told(2));
    assert!([1, 3].into_iter().all(|at| !told(at).contains("Git when")), "{}", told(1));
    scene.server.finish();
}

#[tokio::test]
async fn without_a_repository_or_a_commit_only_what_there_is_is_told() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").forever(text("ok"));
    scene.world.run(["-p", "HELLO-1"]).finish().await.assert_code(0);
    git(&scene, &["init", "-q", "-b", "main"]);
    scene.world.write("a.txt", "one\n");
    scene.world.run(["-p", "HELLO-1"]).finish().await.assert_code(0);
    let [without, with] = [0, 1].map(|at| scene.server.requests()[at].text());
    assert!(!without.contains("Git when"), "{without}");
    assert!(with.contains("?? a.txt") && !with.contains("Last commits"), "{with}");
    scene.server.finish();
}

#[tokio::test]
async fn nothing_is_told_where_main_may_not_ask_git_itself() {
    let scene = Scene::new();
    repository(&scene);
    scene.server.when("HELLO-1").forever(text("ok"));
    let rules = ["Bash(git log:*)", "Bash(git:*)", "Bash", "Read", "Read(./a.txt)"];
    for rule in rules {
        let args = ["-p", "HELLO-1", "--disallowed-tools", rule];
        scene.world.run(args).finish().await.assert_code(0);
    }
    scene.world.config("[permissions]\nask = [\"Bash(git status:*)\"]\n");
    scene.world.run(["-p", "HELLO-1"]).finish().await.assert_code(0);
    let requests = scene.server.requests();
    assert_eq!(requests.len(), rules.len() + 1);
    for request in requests {
        assert!(!request.text().contains("Git when"), "{}", request.text());
    }
    scene.server.finish();
}

#[tokio::test]
async fn nothing_is_told_of_a_repository_that_shows_the_commits_of_another() {
    let scene = Scene::new();
    repository(&scene);
    let theirs = scene.world.home_dir().join("theirs");
    std::fs::rename(scene.world.project_dir().join(".git"), &theirs).unwrap();
    scene.world.write(".git", &format!("gitdir: {}\n", theirs.display()));
    scene.server.when("HELLO-1").reply(text("ok"));
    scene.world.run(["-p", "HELLO-1"]).finish().await.assert_code(0);
    let request = scene.server.requests()[0].text();
    assert!(!request.contains("sell tea") && !request.contains("Git when"), "{request}");
    scene.server.finish();
}
