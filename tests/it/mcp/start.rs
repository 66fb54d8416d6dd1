//! Where servers start: the user's own run nothing of a project before the user accepts that for
//! this project.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::stub;
use crate::support::run::Finished;
use crate::support::scene::{DONE, PARENT, Scene};
use crate::support::script::text;

/// A program of the project, which leaves `ran` in it.
fn program(scene: &Scene, path: &str) {
    let project = scene.world.project_dir();
    scene.world.write(path, &format!("#!/bin/sh\ntouch '{}/ran'\n", project.display()));
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(project.join(path), mode).unwrap();
}

async fn caliban(scene: &Scene, args: &[&str]) -> Finished {
    scene.world.run(args.iter().copied()).finish().await
}

async fn go(scene: &Scene, args: &[&str]) -> Finished {
    scene.server.when(PARENT).reply(text(DONE));
    let run = scene.world.run(["-p", "PARENT-1 go"]).args(args.iter().copied()).finish().await;
    run.assert_code(0);
    run
}

/// The words of a server that writes down where it starts, what lies there and its last argument,
/// and then is the stub.
fn looking(log: &Path, last: &str) -> Vec<String> {
    let script = "{ pwd -P; ls -A | wc -l; printf '%s\\n' \"$2\" \"$CALIBAN_PROJECT_DIR\"; } >\"$1\"; exec bash \"$0\"";
    let words = ["-c", script, &stub().display().to_string(), &log.display().to_string(), last];
    words.map(str::to_owned).to_vec()
}

/// The user's server of this name with these words behind `bash`.
fn own(scene: &Scene, args: &[String], more: &str) {
    let args = Value::from(args);
    scene.world.config(&format!("[mcp_servers.mine]\ncommand = \"bash\"\nargs = {args}\n{more}\n"));
}

struct Seen {
    place: PathBuf,
    files: String,
    last: String,
    project: PathBuf,
}

/// Reads the notes that the server wrote.
fn seen(log: &Path) -> Seen {
    let text = std::fs::read_to_string(log).unwrap();
    let mut lines = text.lines().map(str::to_owned);
    let mut next = || lines.next().unwrap();
    let (place, files, last, project) = (next(), next(), next(), next());
    Seen { place: place.into(), files: files.trim().to_owned(), last, project: project.into() }
}

#[tokio::test]
async fn no_command_starts_a_program_of_a_clone_for_a_server_of_the_users_own() {
    let mut scene = Scene::new();
    for path in ["serve.sh", "npx-like", "node_modules/.bin/npx-like"] {
        program(&scene, path);
    }
    let path = std::env::var("PATH").unwrap();
    scene.world.env("PATH", &format!("node_modules/.bin:.:{path}"));
    scene.server.offer(&["claude-sonnet-5"]);
    for command in ["./serve.sh", "npx-like"] {
        let args = if command == "npx-like" { "args = [\"-y\", \"pkg\"]\n" } else { "" };
        scene.world.config(&format!("[mcp_servers.mine]\ncommand = \"{command}\"\n{args}"));
        for args in [&["mcp"][..], &["mcp", "get", "mine"], &["doctor"]] {
            let run = caliban(&scene, args).await;
            assert!(!scene.world.exists("ran"), "{args:?}\n{run}");
            assert!(run.stdout.contains(&format!("program not found: {command}")), "{run}");
        }
        let run = go(&scene, &[]).await;
        assert!(!scene.world.exists("ran"), "{run}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn a_server_of_the_users_own_starts_in_an_empty_folder_and_knows_the_project() {
    let scene = Scene::new();
    let log = scene.world.home_dir().join("log");
    own(&scene, &looking(&log, "${CALIBAN_PROJECT_DIR}/docs"), "");
    let project = scene.world.project_dir().canonicalize().unwrap();
    scene.server.offer(&["claude-sonnet-5"]);
    for args in [&["mcp"][..], &["mcp", "get", "mine"], &["doctor"], &["-p", "PARENT-1 go"]] {
        if args[0] == "-p" {
            scene.server.when(PARENT).reply(text(DONE));
        }
        let run = caliban(&scene, args).await;
        let Seen { place, files, last, project: named } = seen(&log);
        assert!(!place.starts_with(&project) && files == "0" && !place.exists(), "{place:?} {run}");
        assert_eq!((last, &named), (format!("{}/docs", project.display()), &project), "{run}");
        assert!(!run.stderr.contains("empty folder"), "it names no relative file\n{run}");
        std::fs::remove_file(&log).unwrap();
    }
    scene.server.finish();
}

#[tokio::test]
async fn one_that_asks_for_the_project_starts_there_once_the_pair_is_accepted() {
    let scene = Scene::new();
    for folder in [".git", "other/.git"] {
        std::fs::create_dir_all(scene.world.project_dir().join(folder)).unwrap();
    }
    let log = scene.world.home_dir().join("log");
    own(&scene, &looking(&log, "."), "cwd = \"project\"");
    let project = scene.world.project_dir().canonicalize().unwrap();
    let waits = "Started in an empty folder, not in this project: MCP server mine (";
    let run = go(&scene, &[]).await;
    assert!(!seen(&log).place.starts_with(&project), "{run}");
    assert_eq!(run.stderr.matches(waits).count(), 1, "{run}");
    let listed = caliban(&scene, &["mcp"]).await;
    assert!(listed.stdout.contains(waits), "{listed}");
    let shown = caliban(&scene, &["trust"]).await;
    assert!(shown.stdout.contains("MCP server mine: bash -c "), "{shown}");
    assert!(shown.stdout.contains(" (your config.toml) starts in this project"), "{shown}");
    let run = go(&scene, &[]).await;
    assert_eq!(seen(&log).place, project, "{run}");
    assert!(!run.stderr.contains(waits), "{run}");
    let got = caliban(&scene, &["mcp", "get", "mine"]).await;
    assert!(got.stdout.contains("this project"), "{got}");
    let run = go(&scene, &["-C", "other"]).await;
    assert!(!seen(&log).place.starts_with(&project), "another project\n{run}");
    own(&scene, &looking(&log, ".."), "cwd = \"project\"");
    let run = go(&scene, &[]).await;
    assert!(!seen(&log).place.starts_with(&project), "another line\n{run}");
    scene.server.finish();
}

#[tokio::test]
async fn servers_of_the_project_and_of_the_command_line_start_in_the_project() {
    let scene = Scene::new();
    let project = scene.world.project_dir().canonicalize().unwrap();
    let log = scene.world.home_dir().join("log");
    let args = looking(&log, ".");
    let servers = json!({"mcpServers": {"theirs": {"command": "bash", "args": args}}}).to_string();
    go(&scene, &["--mcp-config", &servers]).await;
    assert_eq!(seen(&log).place, project);
    std::fs::remove_file(&log).unwrap();
    for file in [".mcp.json", ".caliban/config.toml"] {
        let toml =
            format!("[mcp_servers.theirs]\ncommand = \"bash\"\nargs = {}\n", Value::from(&*args));
        scene.world.write(file, if file == ".mcp.json" { &servers } else { &toml });
        caliban(&scene, &["trust"]).await.assert_code(0);
        go(&scene, &[]).await;
        assert_eq!(seen(&log).place, project, "{file}");
        std::fs::remove_file(scene.world.project_dir().join(file)).unwrap();
    }
    scene.server.finish();
}

#[tokio::test]
async fn a_relative_word_is_refused_for_all_projects_and_named_in_an_existing_entry() {
    let scene = Scene::new();
    scene.world.write("docs/a.md", "");
    scene.world.config("# mine\n");
    let file = scene.world.settings_dir().join("config.toml");
    let before = std::fs::read_to_string(&file).unwrap();
    for words in [
        &["npx", "--", "-y", "pkg", "."][..],
        &["npx", "--", "-y", "pkg", ".."],
        &["node", "./serve.js"],
        &["node", "../serve.js"],
        &["node", "docs"],
        &["node", "--", "--root=./x"],
        &["./serve.sh"],
        &["tools/serve.sh"],
        &["-e", "ROOT=.", "node"],
    ] {
        let split = words.iter().position(|word| *word == "node" || *word == "npx");
        let (options, rest) =
            if words[0] == "-e" { words.split_at(split.unwrap()) } else { (&[][..], words) };
        let args = [&["mcp", "add"][..], options, &["x"], rest].concat();
        let run = caliban(&scene, &args).await;
        run.assert_code(2);
        for way in ["--scope project", "cwd = \"project\"", "${CALIBAN_PROJECT_DIR}"] {
            assert!(run.stderr.contains(way), "{words:?}\n{run}");
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before, "{words:?}");
    }
    let run = caliban(&scene, &["mcp", "add", "-s", "project", "here", "node", "./serve.js"]).await;
    run.assert_code(0);
    let good = ["mcp", "add", "x", "npx", "--", "-y", "@a/pkg", "${CALIBAN_PROJECT_DIR}", "/abs"];
    caliban(&scene, &good).await.assert_code(0);

    let scene = Scene::new();
    scene.world.config("[mcp_servers.x]\ncommand = \"true\"\nargs = [\"-y\", \"pkg\", \".\"]\n");
    let line = "MCP server x starts in an empty folder, where `.` is not a file of this project: ";
    let run = go(&scene, &[]).await;
    assert_eq!(run.stderr.matches(line).count(), 1, "{run}");
    let list = caliban(&scene, &["mcp"]).await;
    assert_eq!(list.stdout.matches(line).count(), 1, "{list}");
    scene.server.offer(&["claude-sonnet-5"]);
    let doctor = caliban(&scene, &["doctor"]).await;
    assert_eq!(doctor.stdout.matches(line).count(), 1, "{doctor}");
    scene.server.finish();
}
