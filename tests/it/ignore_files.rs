//! Ignore files that a clone brings: a search and the list of files on the screen are neither held
//! up nor led by them.

use std::os::unix::fs::symlink;

use nix::sys::stat::Mode;
use serde_json::json;

use crate::support::pty::Screen;
use crate::support::scene::Scene;
use crate::support::script::{text, tool_use};

/// Four files, and in `.env` and outside the project the names of two of them.
fn guesses() -> Scene {
    let scene = Scene::new();
    scene.world.config("[permissions]\ndeny = [\"Read(.env)\"]\n");
    for name in ["guess-1", "guess-2", "guess-3", "guess-4"] {
        scene.world.write(name, "needle\n");
    }
    scene.world.write(".env", "guess-3\n");
    std::fs::write(scene.world.root().join("list"), "guess-2\n").unwrap();
    scene
}

/// What Glob and Grep find.
async fn found(scene: &Scene) -> [Vec<String>; 2] {
    let glob = tool_use("Glob", json!({ "pattern": "guess*" }));
    let calls = glob.tool_use("Grep", json!({ "pattern": "needle" }));
    scene.server.when("TASK-1").reply(calls).then(text("ok"));
    scene.world.run(["-p", "TASK-1 go"]).finish().await.assert_code(0);
    let results = scene.server.requests_of("TASK-1").last().unwrap().tool_results();
    [0, 1].map(|at| {
        let mut names: Vec<_> = results[at].text.lines().map(str::to_owned).collect();
        names.sort();
        names
    })
}

const ALL: [&str; 4] = ["guess-1", "guess-2", "guess-3", "guess-4"];

#[tokio::test]
async fn what_a_search_leaves_out_does_not_give_away_a_file_that_may_not_be_read() {
    for name in [".ignore", ".gitignore"] {
        for target in ["../list", ".env"] {
            let scene = guesses();
            symlink(target, scene.world.project_dir().join(name)).unwrap();
            let [glob, grep] = found(&scene).await;
            assert_eq!(glob, ALL, "{name} -> {target}");
            assert_eq!(grep, ALL, "{name} -> {target}");
            scene.server.finish();
        }
    }
    let scene = guesses();
    scene.world.config("[permissions]\ndeny = [\"Read(.ignore)\"]\n");
    scene.world.write(".ignore", "guess-2\n");
    assert_eq!(found(&scene).await, [ALL, ALL], "hidden by a rule");
    scene.server.finish();
}

#[tokio::test]
async fn an_ignore_file_without_an_end_holds_nothing_up() {
    let scene = guesses();
    nix::unistd::mkfifo(&scene.world.root().join("pipe"), Mode::S_IRWXU).unwrap();
    let project = scene.world.project_dir();
    symlink("../pipe", project.join(".gitignore")).unwrap();
    symlink("/dev/zero", project.join(".ignore")).unwrap();
    assert_eq!(found(&scene).await, [ALL, ALL]);
    let screen = Screen::start(&scene.world, [], 80, 24);
    screen.wait_for("? keys");
    screen.keys("@guess");
    let shown = screen.wait_for("guess-4");
    assert!(ALL.iter().all(|name| shown.contains(name)), "{shown}");
    scene.server.finish();
}

#[tokio::test]
async fn the_project_s_own_ignore_files_count_for_searches_and_for_the_screen() {
    let scene = guesses();
    scene.world.write(".git/info/exclude", "guess-1\n");
    scene.world.write(".gitignore", "guess-2\nguess-4\n");
    scene.world.write(".ignore", "guess-3\n!guess-4\n");
    assert_eq!(found(&scene).await, [["guess-4"], ["guess-4"]]);
    let screen = Screen::start(&scene.world, [], 80, 24);
    screen.wait_for("? keys");
    screen.keys("@guess");
    let shown = screen.wait_for("guess-4");
    assert!(!ALL[..3].iter().any(|name| shown.contains(name)), "{shown}");
    scene.server.finish();
}
