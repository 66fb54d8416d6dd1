//! What a project's files may bring in where the project is a part of a larger repository.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::support::run::Finished;
use crate::support::scene::{Scene, agent_with};
use crate::support::script::text;

const SECRET: &str = "SECRET-1";
const UNTRACKED: &str = "outside of the working directories, and git does not track it";

fn git(dir: &Path, words: &[&str]) {
    let mut git = Command::new("git");
    git.args(words).current_dir(dir).env("HOME", "/nowhere");
    assert!(git.status().unwrap().success(), "git {words:?}");
}

/// A repository with an untracked `.env` and a tracked `docs/style.md`; `lib` in it is somebody else's.
fn with_library() -> Scene {
    let scene = Scene::new();
    let project = scene.world.project_dir();
    git(&project, &["init", "-q"]);
    scene.world.write("docs/style.md", "STYLE-2\n");
    scene.world.write("lib/src/lib.rs", "\n");
    git(&project, &["add", "-A"]);
    scene.world.write(".env", &format!("---\ndescription: {SECRET}\n---\n{SECRET}\n"));
    scene
}

fn link(scene: &Scene, path: &str, target: &str) {
    let path = scene.world.project_dir().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(target, path).unwrap();
}

/// Runs the prompt in `lib`.
async fn run(scene: &Scene, prompt: &str, args: &[&str]) -> Finished {
    let run = scene.world.run(["-p", prompt]).args(args.iter().copied());
    let run = run.within(&scene.world.project_dir().join("lib")).finish().await;
    run.assert_code(0);
    run
}

/// Whether any request holds this text.
fn sent(scene: &Scene, part: &str) -> bool {
    let requests = scene.server.requests();
    assert!(!requests.is_empty());
    requests.iter().any(|request| request.body.to_string().contains(part))
}

#[tokio::test]
async fn an_import_brings_in_no_untracked_file_of_the_repository_around() {
    let scene = with_library();
    scene.world.write("lib/AGENTS.md", "LIB-3 @../.env @../docs/style.md @.env @notes/deep.md\n");
    scene.world.write("lib/.env", "OWN-4\n");
    scene.world.write("lib/notes/deep.md", "DEEP-5 @../../.env\n");
    scene.server.when("HELLO-1").reply(text("hi"));
    let finished = run(&scene, "HELLO-1", &[]).await;
    assert!(!sent(&scene, SECRET), "{finished}");
    for part in ["LIB-3", "STYLE-2", "OWN-4", "DEEP-5"] {
        assert!(sent(&scene, part), "{part}: {finished}");
    }
    for (importer, import) in [("AGENTS.md", "../.env"), ("notes/deep.md", "../../.env")] {
        let line = format!("{importer}:1: @{import} was not read: it lies {UNTRACKED}: track it");
        assert!(finished.stderr.contains(&line), "{finished}");
    }
    assert_eq!(finished.stderr.lines().count(), 2, "{finished}");
    scene.server.finish();
}

#[tokio::test]
async fn a_memory_file_that_is_a_link_brings_in_no_untracked_file_of_the_repository_around() {
    let scene = with_library();
    link(&scene, "lib/AGENTS.md", "../.env");
    link(&scene, "lib/CLAUDE.md", "../docs/style.md");
    // Nor does a link in their folder that the repository's own file imports from there.
    scene.world.write("AGENTS.md", "ROOT-3 @lib/README.md @docs/draft.md\n");
    scene.world.write("docs/draft.md", "DRAFT-4\n");
    link(&scene, "lib/README.md", "../.env");
    scene.server.when("HELLO-1").reply(text("hi"));
    let finished = run(&scene, "HELLO-1", &[]).await;
    assert!(!sent(&scene, SECRET), "{finished}");
    for part in ["STYLE-2", "ROOT-3", "DRAFT-4"] {
        assert!(sent(&scene, part), "{part}: {finished}");
    }
    assert_eq!(finished.stderr.matches("it is a link to ").count(), 2, "{finished}");
    assert_eq!(finished.stderr.matches(UNTRACKED).count(), 2, "{finished}");
    scene.server.finish();
}

#[tokio::test]
async fn an_additional_directory_may_be_imported_from_and_brings_in_nothing_else() {
    let scene = with_library();
    scene.world.write("../extra/x.md", "EXTRA-3 @../key.md\n");
    scene.world.write("../key.md", SECRET);
    scene.world.write("lib/AGENTS.md", "@../../extra/x.md\n");
    scene.server.when("HELLO-1").reply(text("hi"));
    let extra = scene.world.root().join("extra");
    let finished = run(&scene, "HELLO-1", &["--add-dir", extra.to_str().unwrap()]).await;
    assert!(sent(&scene, "EXTRA-3") && !sent(&scene, SECRET), "{finished}");
    assert!(finished.stderr.contains("@../key.md was not read: it lies outside"), "{finished}");
    scene.server.finish();
}

#[tokio::test]
async fn a_deny_rule_holds_for_what_git_tracks() {
    let scene = with_library();
    scene.world.config("[permissions]\ndeny = [\"Read(**/style.md)\"]\n");
    scene.world.write("lib/AGENTS.md", "LIB-3 @../docs/style.md\n");
    scene.server.when("HELLO-1").reply(text("hi"));
    let finished = run(&scene, "HELLO-1", &[]).await;
    assert!(sent(&scene, "LIB-3") && !sent(&scene, "STYLE-2"), "{finished}");
    assert!(finished.stderr.contains("a permission rule denies it"), "{finished}");
    scene.server.finish();
}

#[tokio::test]
async fn commands_and_skills_that_are_links_bring_in_no_untracked_file_of_the_repository_around() {
    let scene = with_library();
    for kind in ["caliban", "claude"] {
        link(&scene, &format!("lib/.{kind}/commands/leak-{kind}.md"), "../../../.env");
        link(&scene, &format!("lib/.{kind}/skills/leak-{kind}/SKILL.md"), "../../../../.env");
    }
    link(&scene, "lib/.agents/skills/leak-agents/SKILL.md", "../../../../.env");
    scene.world.write("private/SKILL.md", &format!("---\ndescription: {SECRET}\n---\n{SECRET}\n"));
    scene.world.write("private/folder.md", SECRET);
    link(&scene, "lib/.claude/skills/folder", "../../../private");
    link(&scene, "lib/.claude/commands/folder", "../../../private");
    link(&scene, "lib/.claude/commands/style.md", "../../../docs/style.md");
    scene.server.when("STYLE-2").reply(text("hi"));
    let finished = run(&scene, "/style", &[]).await;
    assert!(!sent(&scene, SECRET) && sent(&scene, "STYLE-2"), "{finished}");
    assert_eq!(finished.stderr.matches("it is a link to ").count(), 6, "{finished}");
    assert_eq!(finished.stderr.matches("this folder is a link to ").count(), 1, "{finished}");
    let run = scene.world.run(["-p", "/leak-claude"]);
    let leak = run.within(&scene.world.project_dir().join("lib")).finish().await;
    leak.assert_code(2);
    assert!(leak.stderr.contains(UNTRACKED), "{leak}");
    scene.server.finish();
}

#[tokio::test]
async fn definitions_that_are_links_bring_in_no_untracked_file_of_the_repository_around() {
    let scene = with_library();
    let definition = |name: &str, word: &str| {
        format!("---\nname: {name}\ndescription: {name}\n---\nYou are {word}.\n")
    };
    scene.world.write("agents/shared.md", &definition("shared", "SHARED-3"));
    git(&scene.world.project_dir(), &["add", "agents"]);
    scene.world.write("agents/draft.md", &definition("draft", SECRET));
    scene.world.write("private/x.md", &definition("private", SECRET));
    scene.world.write("own.md", &definition("own", SECRET));
    link(&scene, "lib/.claude/agents/tracked", "../../../agents");
    link(&scene, "lib/.claude/agents/folder", "../../../private");
    link(&scene, "lib/.caliban/agents/own.md", "../../../own.md");
    let lib = scene.world.project_dir().join("lib");
    let list = scene.world.run(["agents"]).within(&lib).finish().await;
    for (name, is_there) in [("shared", true), ("draft", false), ("private", false), ("own", false)]
    {
        let found = list.stdout.lines().any(|line| line.starts_with(&format!("{name} ")));
        assert_eq!(found, is_there, "{name}: {list}");
    }
    assert_eq!(list.stdout.matches(UNTRACKED).count(), 3, "{list}");
    scene.parent_calls([agent_with("CHILD-A", "agent", json!("shared"))]);
    scene.server.when("CHILD-A").reply(text("done"));
    scene.run().within(&lib).finish().await.assert_code(0);
    assert!(scene.server.requests_of("CHILD-A")[0].system().contains("SHARED-3"));
    assert!(!sent(&scene, SECRET));
    scene.server.finish();
}
