//! Commands that run because they are known to only read: the kernel keeps them to that, where it can.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use caliban::exec::{CommandExit, Sandbox, Shell, ShellCall};
use caliban::protocol::{EnvOverlay, ReadOnly};
use tokio_util::sync::CancellationToken;

use crate::support::scene::{DONE, PARENT, Scene, bash};
use crate::support::script::{text, tool_use};
use crate::support::skip;

/// A scene with a changed file, in which `rg` is a script of the user's.
fn with_program(script: &str) -> Scene {
    let mut scene = Scene::new();
    scene.world.program("rg", script);
    scene.world.write("f", "one\n");
    for words in ["init -q", "add f"] {
        let mut git = Command::new("git");
        git.args(words.split(' ')).current_dir(scene.world.project_dir());
        assert!(git.env("HOME", scene.world.root()).status().unwrap().success());
    }
    scene.world.write("f", "two\n");
    scene
}

/// The result of `line` in a session with these arguments.
async fn result(scene: &Scene, line: &str, args: &[&str]) -> String {
    scene.server.when(PARENT).reply(tool_use("Bash", bash(line))).then(text(DONE));
    let run = scene.world.run(["-p", "PARENT-1 go"]).args(args.iter().copied()).finish().await;
    run.assert_code(0);
    scene.server.requests_of(PARENT)[1].tool_result().text
}

/// Runs `rg a` with `script` in two scenes: one without a rule, and one with a rule that allows it.
/// `check` gets the scene, the result and whether there is the rule.
async fn free_and_allowed(
    test: &str,
    script: &str,
    prepare: impl Fn(&Scene),
    check: impl Fn(&Scene, &str, bool),
) {
    if !caliban::exec::sandbox::available() {
        return skip(test, "there is no Landlock here");
    }
    let rule = ["--allowed-tools", "Bash(rg:*)"];
    for (args, is_allowed) in [(&[][..], false), (&rule, true)] {
        let scene = with_program(script);
        prepare(&scene);
        let text = result(&scene, "rg a", args).await;
        check(&scene, &text, is_allowed);
        scene.server.finish();
    }
}

#[tokio::test]
async fn git_asks_where_it_would_start_a_program_that_may_run_files_of_the_project() {
    let scene = with_program("cat f");
    let module = "open('mark', 'w')\nimport sys\nsys.stdout.write(sys.stdin.read())\n";
    scene.world.write("x.py", module);
    scene.world.write(".gitattributes", "f filter=x\n");
    scene.world.home(".gitconfig", "[filter \"x\"]\n\tclean = python3 -m x\n");
    let text = result(&scene, "git diff", &[]).await;
    let why = "your git setting filter.x.clean starts a program that may run the project's code";
    assert!(text.contains(why), "{text}");
    assert!(!scene.world.exists("mark"));
    scene.server.finish();
}

#[tokio::test]
async fn what_a_free_command_starts_writes_nothing_until_a_rule_allows_the_command() {
    free_and_allowed(
        "what_a_free_command_starts_writes_nothing_until_a_rule_allows_the_command",
        "touch mark && cat f",
        |_| {},
        |scene, text, writes| {
            assert_eq!(scene.world.exists("mark"), writes, "{text}");
            assert_eq!(text.lines().any(|line| line == "two"), writes, "{text}");
            assert_eq!(text.contains("ran in a read-only sandbox"), !writes, "{text}");
        },
    )
    .await;
}

#[tokio::test]
async fn what_a_free_command_starts_reads_only_the_project_until_a_rule_allows_the_command() {
    free_and_allowed(
        "what_a_free_command_starts_reads_only_the_project_until_a_rule_allows_the_command",
        "cat ~/key ../key && cat f",
        |scene| {
            for folder in [scene.world.home_dir(), scene.world.project_dir().join("..")] {
                std::fs::write(folder.join("key"), "KEY-11\n").unwrap();
            }
        },
        |_, text, reads| {
            assert_eq!(text.contains("KEY-11"), reads, "{text}");
            assert_eq!(text.contains("ran in a read-only sandbox"), !reads, "{text}");
        },
    )
    .await;
}

#[tokio::test]
async fn what_a_free_command_starts_changes_no_mode_and_no_time() {
    free_and_allowed(
        "what_a_free_command_starts_changes_no_mode_and_no_time",
        "{ touch -d @0 ~/key; chmod 666 ~/key; } && cat f",
        |scene| {
            let key = scene.world.home_dir().join("key");
            std::fs::write(&key, "").unwrap();
            std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        },
        |scene, text, changes| {
            let key = scene.world.home_dir().join("key").metadata().unwrap();
            let mode = key.permissions().mode() & 0o777;
            assert_eq!(mode, if changes { 0o666 } else { 0o600 }, "{text}");
            let is_old = key.modified().unwrap() == std::time::UNIX_EPOCH;
            assert_eq!(is_old, changes, "{text}");
            assert_eq!(text.lines().any(|line| line == "two"), changes, "{text}");
        },
    )
    .await;
}

#[tokio::test]
async fn a_free_command_that_may_start_others_is_asked_about_where_nothing_confines_it() {
    let scene = with_program("cat");
    let mut calls = tool_use("Bash", bash("git diff"));
    let others =
        ["touch x; git diff", "git diff > x", "git log > x", "touch x; rg a", "rg a; git diff"];
    for line in ["true; git diff", "touch x; cat f | head", "cat f > x"].into_iter().chain(others) {
        calls = calls.tool_use("Bash", bash(line));
    }
    scene.server.when(PARENT).reply(calls).then(text(DONE));
    let rule = ["--allowed-tools", "Bash(touch:*)", "--permission-mode", "acceptEdits"];
    scene.world.run(["-p", "PARENT-1 go"]).args(rule).finish().await.assert_code(0);
    let results = scene.server.requests_of(PARENT)[1].tool_results();
    let denied: Vec<bool> = results.iter().map(|result| result.is_error).collect();
    let free = [false; 4].into_iter().chain(others.map(|_| true));
    assert_eq!(denied, free.collect::<Vec<_>>(), "{results:?}");
    assert!(results[4].text.contains("free only in a line that only reads"), "{results:?}");
    let last = &results.last().unwrap().text;
    assert!(last.contains("git diff, which is free only in a line without rg"), "{last}");
    assert!(last.contains("rg, which is free only in a line without git"), "{last}");
    scene.server.finish();
}

#[tokio::test]
async fn what_a_free_command_starts_is_no_program_of_the_project_until_a_rule_allows_the_command() {
    free_and_allowed(
        "what_a_free_command_starts_is_no_program_of_the_project_until_a_rule_allows_the_command",
        "./prog",
        |scene| {
            let prog = scene.world.project_dir().join("prog");
            std::fs::write(&prog, "#!/bin/sh\necho RAN-12\n").unwrap();
            std::fs::set_permissions(&prog, std::fs::Permissions::from_mode(0o755)).unwrap();
        },
        |_, text, starts| {
            assert_eq!(text.contains("RAN-12"), starts, "{text}");
        },
    )
    .await;
}

#[tokio::test]
async fn beside_others_only_the_systems_programs_are_free_and_nothing_with_a_start_file() {
    let mut scene = Scene::new();
    scene.world.write("f", "one\n");
    // It could look for a program to start in the project, as those of version managers do.
    let shims = scene.world.home_dir().join("shims");
    std::fs::create_dir(&shims).unwrap();
    std::fs::write(shims.join("cat"), "#!/bin/sh\necho SHIM\n").unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(shims.join("cat"), mode).unwrap();
    let path = format!("{}:/usr/bin:/bin", shims.display());
    scene.world.env("PATH", &path);
    let lines = ["cat f", "cat f > x", "head f > x", "echo f > x"];
    for (start_file, free) in
        [(None, [true, false, true, true]), (Some("/dev/null"), [true, false, false, false])]
    {
        if let Some(file) = start_file {
            scene.world.env("BASH_ENV", file);
        }
        let mut calls = tool_use("Bash", bash(lines[0]));
        for line in &lines[1..] {
            calls = calls.tool_use("Bash", bash(line));
        }
        let before = scene.server.requests_of(PARENT).len();
        scene.server.when(PARENT).reply(calls).then(text(DONE));
        let accept = ["--permission-mode", "acceptEdits"];
        scene.world.run(["-p", "PARENT-1 go"]).args(accept).finish().await.assert_code(0);
        let results = scene.server.requests_of(PARENT)[before + 1].tool_results();
        let ran: Vec<bool> = results.iter().map(|result| !result.is_error).collect();
        assert_eq!(ran, free, "{results:?}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn a_link_in_the_place_of_an_ignore_file_shows_no_settings_of_the_users() {
    let test = "a_link_in_the_place_of_an_ignore_file_shows_no_settings_of_the_users";
    if !caliban::exec::sandbox::available() {
        return skip(test, "there is no Landlock here");
    }
    let mut scene = Scene::new();
    // Reads ignore files as ripgrep does, and prints their lines.
    let bin = scene.world.home_dir().join("tools/bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(bin.join("rg"), "#!/bin/sh\ncat .ignore\n").unwrap();
    std::fs::set_permissions(bin.join("rg"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let home = scene.world.home_dir();
    std::fs::write(home.join(".gitconfig"), "[url \"https://TOKEN-77@h/\"]\n").unwrap();
    std::os::unix::fs::symlink(home.join(".gitconfig"), scene.world.project_dir().join(".ignore"))
        .unwrap();
    scene.world.env("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
    scene.server.when(PARENT).reply(tool_use("Bash", bash("rg a"))).then(text(DONE));
    scene.world.run(["-p", "PARENT-1 go"]).finish().await.assert_code(0);
    let text = scene.server.requests_of(PARENT)[1].tool_result().text;
    assert!(text.contains("Permission denied") && !text.contains("TOKEN-77"), "{text}");
    scene.server.finish();
}

#[tokio::test]
async fn a_free_command_reads_what_the_users_own_settings_name() {
    let scene = Scene::new();
    let world = &scene.world;
    let home = world.home_dir();
    for (file, text) in [
        (".gitconfig", "[include]\n\tpath = more/settings\n"),
        ("more/settings", "[core]\n\texcludesFile = ~/more/names\n[user]\n\tname = Includer\n"),
        ("more/names", "*.tmp\n"),
    ] {
        std::fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
        std::fs::write(home.join(file), text).unwrap();
    }
    world.write("below/a.tmp", "");
    world.write("below/b", "");
    let mut git = Command::new("git");
    git.args(["init", "-q"]).current_dir(world.project_dir());
    assert!(git.env("HOME", world.root()).status().unwrap().success());
    let line = "cd below && git status --short -u && git log";
    scene.server.when(PARENT).reply(tool_use("Bash", bash(line))).then(text(DONE));
    world.run(["-p", "PARENT-1 go"]).finish().await.assert_code(0);
    let text = scene.server.requests_of(PARENT)[1].tool_result().text;
    assert!(text.contains("?? b") && !text.contains("a.tmp"), "{text}");
    assert!(!text.contains("ermission denied"), "{text}");
    scene.server.finish();
}

#[tokio::test]
async fn what_a_free_command_starts_reaches_nobody_until_a_rule_allows_the_command() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    free_and_allowed(
        "what_a_free_command_starts_reaches_nobody_until_a_rule_allows_the_command",
        &format!("bash -c ': </dev/tcp/127.0.0.1/{port}'"),
        |_| {},
        |_, text, reaches| {
            assert_eq!(listener.accept().is_ok(), reaches, "{text}");
        },
    )
    .await;
}

#[tokio::test]
async fn a_redirect_follows_no_link_that_appears_after_the_judgement() {
    let test = "a_redirect_follows_no_link_that_appears_after_the_judgement";
    let Some(sandbox) = Sandbox::new(Path::new(env!("CARGO_BIN_EXE_caliban"))) else {
        return skip(test, "there is no Landlock here");
    };
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let project = base.join("project");
    for name in ["project/sub", "project/.git/hooks", "outside"] {
        std::fs::create_dir_all(base.join(name)).unwrap();
    }
    for (target, link) in [("../outside", "out"), (".git/hooks", "hooks")] {
        std::os::unix::fs::symlink(target, project.join(link)).unwrap();
    }
    let shell = Shell::new(project.as_path().into(), [].into()).with_sandbox(Some(&sandbox));
    let env = EnvOverlay::from_iter([("PATH", "/usr/bin:/bin"), ("TMPDIR", "/tmp")]);
    let cancel = CancellationToken::new();
    let run = async |line: &str, write: &str| {
        let bounds = ReadOnly {
            folders: [project.clone()].into(),
            write: [project.join(write)].into(),
            ..ReadOnly::default()
        };
        let read_only = Some(&bounds);
        let call = ShellCall { line, env: &env, depth: 0, limit: None, cancel: &cancel, read_only };
        shell.run(call, |_| {}).await.unwrap().exit
    };
    // Judged as `sub/a`, whose folder has become a link by now.
    for line in ["echo x > out/a", "echo x > hooks/a", "echo x >> ../outside/a", "> a"] {
        assert_eq!(run(line, "sub").await, CommandExit::Code(1), "{line}");
    }
    assert_eq!(std::fs::read_dir(base.join("outside")).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(project.join(".git/hooks")).unwrap().count(), 0);
    let long = "line\n".repeat(20_000);
    let line = format!("cat > sub/a <<'E'\n{long}E\n");
    assert_eq!(run(&line, "sub").await, CommandExit::Code(0));
    assert_eq!(std::fs::read_to_string(project.join("sub/a")).unwrap(), long);
    assert_eq!(std::fs::read_dir(project.join("sub")).unwrap().count(), 1);
    assert_ne!(run("echo x > sub/a", "out").await, CommandExit::Code(0), "the folder is a link");
}

#[tokio::test]
async fn a_program_in_the_place_of_caliban_does_not_confine_its_commands() {
    let test = "a_program_in_the_place_of_caliban_does_not_confine_its_commands";
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().canonicalize().unwrap();
    let program = project.join("caliban");
    std::fs::copy(env!("CARGO_BIN_EXE_caliban"), &program).unwrap();
    let Some(sandbox) = Sandbox::new(&program) else {
        return skip(test, "there is no Landlock here");
    };
    let script = project.join("script");
    std::fs::write(&script, "#!/bin/sh\ntouch fired\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(script, program).unwrap();
    let shell = Shell::new(project.as_path().into(), [].into()).with_sandbox(Some(&sandbox));
    let env = EnvOverlay::from_iter([("PATH", "/usr/bin:/bin")]);
    let cancel = CancellationToken::new();
    let bounds = ReadOnly { folders: [project.clone()].into(), ..ReadOnly::default() };
    let (line, read_only) = ("pwd; ls; : > made", Some(&bounds));
    let call = ShellCall { line, env: &env, depth: 0, limit: None, cancel: &cancel, read_only };
    let outcome = shell.run(call, |_| {}).await.unwrap();
    assert!(outcome.output.text.starts_with(&format!("{}\ncaliban\n", project.display())));
    assert!(!project.join("fired").exists() && !project.join("made").exists());
}
