//! Prefix rules: what an allow rule for a program or a sub-command does not cover. Each test first
//! shows with the real program that the line would run a program of the project.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::support::scene::{Scene, bash};
use crate::support::script::{text, tool_use};
use crate::support::skip;

/// The file that the project's program leaves.
const FIRED: &str = "fired";

/// Runs the line as the user would, with no settings of their own, and says whether the project's
/// program ran. GNU make starts `$SHELL` for a variable on its command line, and none if that is not set.
fn fires(scene: &Scene, line: &str) -> bool {
    let project = scene.world.project_dir();
    let mut shell = Command::new("bash");
    shell.args(["-c", line]).current_dir(&project);
    shell.env("HOME", "/nowhere").env("SHELL", "/bin/sh");
    shell.output().unwrap();
    let fired = project.join(FIRED);
    let found = fired.exists();
    if found {
        std::fs::remove_file(fired).unwrap();
    }
    found
}

/// Has the model run the line under the rule, and returns the error of the call.
async fn call(scene: &Scene, rule: &str, line: &str) -> Option<String> {
    scene.server.when("TASK-1").reply(tool_use("Bash", bash(line))).then(text("done"));
    let run = scene.world.run(["-p", "TASK-1 go", "--allowed-tools", rule]).finish().await;
    run.assert_code(0);
    let result = scene.server.requests().pop().unwrap().tool_result();
    result.is_error.then_some(result.text)
}

fn git(dir: &Path, words: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=A", "-c", "user.email=a@example.com"]).args(words);
    let done = git.current_dir(dir).env("HOME", "/nowhere").output().unwrap();
    assert!(done.status.success(), "git {words:?}: {done:?}");
}

/// A project under git with a folder `fx` that a commit can bring: git takes it for a repository,
/// and runs the command of its settings when something is pushed to it.
fn with_crafted_folder() -> Scene {
    let scene = Scene::new();
    let project = scene.world.project_dir();
    let command = format!("touch {}; :", project.join(FIRED).display());
    let config = format!("[core]\n\tbare = true\n\talternateRefsCommand = \"{command}\"\n");
    for (file, content) in [
        ("fx/HEAD", "ref: refs/heads/main\n"),
        ("fx/config", config.as_str()),
        ("fx/refs/heads/.keep", ""),
        ("fx/objects/info/alternates", "../../other/objects\n"),
        ("other/HEAD", "ref: refs/heads/main\n"),
        ("other/config", "[core]\n\tbare = true\n"),
        ("other/refs/.keep", ""),
        ("other/objects/.keep", ""),
    ] {
        scene.world.write(file, content);
    }
    git(&project, &["init", "-q", "-b", "main"]);
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-qm", "first"]);
    scene
}

#[tokio::test]
async fn a_push_into_a_folder_of_the_project_runs_none_of_its_programs() {
    let scene = with_crafted_folder();
    for (folder, branch) in [("./fx", "a"), ("fx", "b")] {
        let line = |branch: &str| format!("git push {folder} HEAD:refs/heads/{branch}");
        assert!(fires(&scene, &line(branch)), "git itself runs the command of the folder");
        let error = call(&scene, "Bash(git push:*)", &line("x")).await.unwrap();
        assert!(error.contains("git with a repository on this machine"), "{error}");
        assert!(!scene.world.exists(FIRED), "{folder}");
    }
    // The rule that names the folder is the user's word for it.
    assert_eq!(
        call(&scene, "Bash(git push ./fx:*)", "git push ./fx HEAD:refs/heads/y").await,
        None
    );
    assert!(scene.world.exists(FIRED));
    scene.server.finish();
}

#[tokio::test]
async fn a_setting_of_ssh_behind_a_mark_starts_no_program_of_the_project() {
    let scene = Scene::new();
    scene.world.write("evil.sh", &format!("#!/bin/sh\ntouch {FIRED}\nexit 1\n"));
    let script = scene.world.project_dir().join("evil.sh");
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    for line in [
        "ssh -o =ProxyCommand=./evil.sh h",
        "ssh -o '=ProxyCommand ./evil.sh' h",
        "ssh -o ' =ProxyCommand=./evil.sh' h",
    ] {
        assert!(fires(&scene, line), "ssh itself runs it: {line}");
        let error = call(&scene, "Bash(ssh:*)", line).await.unwrap();
        assert!(error.contains("ssh with -o ProxyCommand"), "{error}");
        assert!(!scene.world.exists(FIRED), "{line}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn a_name_of_a_file_is_no_command_line_by_way_of_a_glob() {
    let scene = Scene::new();
    let project = scene.world.project_dir();
    scene.world.write("a.txt", "a\n");
    scene.world.write(&format!("-xtouch {FIRED}"), "");
    git(&project, &["init", "-q", "-b", "main"]);
    git(&project, &["config", "user.name", "A"]);
    git(&project, &["config", "user.email", "a@example.com"]);
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-qm", "first"]);
    git(&project, &["branch", "feat"]);
    git(&project, &["commit", "-q", "--allow-empty", "-m", "second"]);
    let line = "for f in -*; do git rebase -f feat \"$f\"; done";
    assert!(fires(&scene, line), "git itself takes the name for an option");
    let error = call(&scene, "Bash(git rebase:*)", line).await.unwrap();
    assert!(error.contains("words known only at run time"), "{error}");
    assert!(!scene.world.exists(FIRED));
    scene.server.finish();
}

#[tokio::test]
async fn a_name_of_a_file_sets_no_variable_of_make() {
    let scene = Scene::new();
    scene.world.write("Makefile", "test:\n\t@true\n");
    scene.world.write(&format!("x:=$(shell touch {FIRED})"), "");
    let has_make = Command::new("make").arg("--version").output().is_ok();
    let lines = ["make test x*", "make test 'y$(shell touch fired)=1'"];
    for line in lines {
        if has_make {
            assert!(fires(&scene, line), "make itself runs it: {line}");
        }
        let error = call(&scene, "Bash(make test:*)", line).await.unwrap();
        assert!(error.contains("no rule allows make with"), "{error}");
        assert!(!scene.world.exists(FIRED), "{line}");
    }
    if has_make {
        assert_eq!(call(&scene, "Bash(make test:*)", "make test V=1 -j2").await, None);
    } else {
        skip("a_name_of_a_file_sets_no_variable_of_make", "no make to compare the judge with");
    }
    scene.server.finish();
}

#[tokio::test]
async fn a_shell_among_the_words_of_a_program_is_asked_about() {
    let scene = Scene::new();
    for line in [
        format!("env -- sh -c 'touch {FIRED}'"),
        format!("setpriv --no-new-privs sh -c 'touch {FIRED}'"),
        format!("git bisect run sh -c 'touch {FIRED}'"),
        format!("find . -maxdepth 0 -exec sh -c 'touch {FIRED}' ';'"),
    ] {
        let program = line.split(' ').next().unwrap();
        let error = call(&scene, &format!("Bash({program}:*)"), &line).await;
        assert!(error.is_some(), "{line}");
        assert!(!scene.world.exists(FIRED), "{line}");
    }
    // A runner of the project's programs, as `uv run` is one.
    scene.world.write("run.py", "import os, sys\nos.execvp(sys.argv[1], sys.argv[1:])\n");
    let line = |shell: &str| format!("python3 run.py {shell} -c 'touch {FIRED}'");
    assert!(fires(&scene, &line("sh")), "the runner itself starts it");
    for shell in ["sh", "/bin/sh", "$SHELL", "/bin/s[h]", "$(command -v sh)"] {
        for rule in ["Bash(python3 run.py:*)", "Bash(python3 run.py sh:*)"] {
            let error = call(&scene, rule, &line(shell)).await.unwrap();
            assert!(error.contains("no rule allows"), "{error}");
            assert!(!scene.world.exists(FIRED), "{shell}");
        }
    }
    assert_eq!(call(&scene, "Bash(python3 run.py:*)", "python3 run.py true").await, None);
    scene.server.finish();
}

#[tokio::test]
async fn a_patch_writes_through_no_link_that_git_does_not_track() {
    let scene = Scene::new();
    let project = scene.world.project_dir();
    let outside = project.parent().unwrap().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let patch = "diff --git a/d/x b/d/x\nnew file mode 100644\n--- /dev/null\n+++ b/d/x\n@@ -0,0 +1 @@\n+x\n";
    let mail = format!(
        "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nFrom: A <a@example.com>\n\
         Date: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: [PATCH] x\n\n---\n{patch}-- \n2.40.0\n"
    );
    scene.world.write("mail", &mail);
    scene.world.write("patch", patch);
    git(&project, &["init", "-q", "-b", "main"]);
    git(&project, &["config", "user.name", "A"]);
    git(&project, &["config", "user.email", "a@example.com"]);
    git(&project, &["commit", "-q", "--allow-empty", "-m", "first"]);
    std::os::unix::fs::symlink(&outside, project.join("d")).unwrap();
    let written = outside.join("x");
    for (rule, line) in [
        ("Bash(git am:*)", "git am -q mail"),
        ("Bash(git apply:*)", "git apply --index patch"),
        ("Bash(git apply:*)", "git apply -3 patch"),
    ] {
        let mut shell = Command::new("bash");
        shell.args(["-c", line]).current_dir(&project).env("HOME", "/nowhere").output().unwrap();
        assert!(written.exists(), "git itself follows the link: {line}");
        std::fs::remove_file(&written).unwrap();
        git(&project, &["reset", "-q", "HEAD~0"]);
        if line.starts_with("git am") {
            git(&project, &["reset", "-q", "HEAD~1"]);
        }
        let error = call(&scene, rule, line).await.unwrap();
        assert!(error.contains("a link that a patch may follow"), "{error}");
        assert!(!written.exists(), "{line}");
    }
    scene.server.finish();
}
