//! Old sessions: removed on request, or in the background where the user's file says so; never one in use.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::support::pty::Screen;
use crate::support::scene::{DONE, PARENT, Scene, agent};
use crate::support::script::text;

/// Stores a session with one agent, and makes it look as if it was last used years ago.
async fn old_session(scene: &Scene) -> std::path::PathBuf {
    let before = scene.world.sessions();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(text("FOUND-66"));
    scene.world.run(["-p", "PARENT-1 go"]).finish().await.assert_code(0);
    let new = scene.world.sessions().into_iter().find(|folder| !before.contains(folder)).unwrap();
    age(&new);
    new
}

fn age(session: &Path) {
    let agents = fs::read_dir(session.join("agents")).unwrap().map(|entry| entry.unwrap().path());
    let agents = agents.filter(|file| file.extension().is_some_and(|it| it == "jsonl"));
    for file in agents.chain([session.join("transcript.jsonl")]) {
        let text = fs::read_to_string(&file).unwrap();
        let this_year = text.split("\"created\":\"").nth(1).unwrap()[..4].to_owned();
        let text = ["at", "created"].iter().fold(text, |text, key| {
            text.replace(&format!("\"{key}\":\"{this_year}"), &format!("\"{key}\":\"2020"))
        });
        fs::write(&file, text).unwrap();
        let long_ago = SystemTime::now() - Duration::from_secs(400 * 24 * 3600);
        File::options().append(true).open(&file).unwrap().set_modified(long_ago).unwrap();
    }
}

async fn prune(scene: &Scene, args: &[&str]) -> String {
    let run = scene.world.run(["sessions", "prune"]).args(args.iter().copied()).finish().await;
    run.assert_code(0).stdout.clone()
}

#[tokio::test]
async fn old_sessions_are_removed_with_their_agents_and_named_with_their_size() {
    let scene = Scene::new();
    let old = old_session(&scene).await;
    scene.server.when("HELLO-1").reply(text("hi"));
    scene.world.run(["-p", "HELLO-1"]).finish().await.assert_code(0);
    let id = old.file_name().unwrap().to_str().unwrap();
    let listed = prune(&scene, &["--dry-run"]).await;
    assert!(listed.contains(id) && listed.contains("2020-"), "{listed}");
    assert!(listed.contains("PARENT-1 go") && listed.contains("1 session would be removed, "));
    assert!(old.join("transcript.jsonl").exists());
    let removed = prune(&scene, &[]).await;
    assert!(removed.contains(id) && removed.contains("1 session removed, "), "{removed}");
    assert!(!old.exists());
    assert_eq!(scene.world.sessions().len(), 1, "the new one stays");
    let nothing = prune(&scene, &["--older-than", "7"]).await;
    assert_eq!(nothing, "No session was last used more than 7 days ago.\n");
}

#[tokio::test]
async fn a_session_in_use_stays_however_old() {
    let scene = Scene::new();
    let old = old_session(&scene).await;
    let id = old.file_name().unwrap().to_str().unwrap();
    let screen = Screen::start(&scene.world, ["--resume", id], 100, 30);
    screen.wait_for(DONE);
    age(&old);
    assert!(prune(&scene, &[]).await.ends_with("1 session in use: kept.\n"));
    assert!(old.join("transcript.jsonl").exists());
    screen.quit_when_idle();
    assert_eq!(screen.exit().exit, Ok(0));
    prune(&scene, &[]).await;
    assert!(!old.exists());
}

#[tokio::test]
async fn the_screen_removes_them_where_the_users_file_says_so() {
    let scene = Scene::new();
    let old = old_session(&scene).await;
    // What a project's file says does not count.
    scene.world.write(".caliban/config.toml", "[session]\nkeep_days = 1\n");
    let screen = Screen::start(&scene.world, [PARENT; 0], 100, 30);
    screen.wait_for("session.keep_days is ignored");
    screen.quit_when_idle();
    screen.exit();
    assert!(old.exists());
    scene.world.config("[session]\nkeep_days = 90\n");
    let screen = Screen::start(&scene.world, [PARENT; 0], 100, 30);
    screen.wait_for("removed 1 session unused for 90 days");
    assert!(!old.exists());
}

#[tokio::test]
async fn the_screen_keeps_a_session_whose_agent_left_a_worktree() {
    let scene = Scene::new();
    let old = old_session(&scene).await;
    let kept = scene.world.root().join("left");
    fs::create_dir(&kept).unwrap();
    let checkout = serde_json::json!({ "path": kept, "branch": "b", "start": "0" });
    let record = serde_json::json!({ "type": "worktree", "n": 1, "checkout": checkout });
    let mut agents = fs::read_dir(old.join("agents")).unwrap().map(|entry| entry.unwrap().path());
    let file = agents.find(|file| file.extension().is_some_and(|it| it == "jsonl"));
    let file = file.unwrap();
    let text = fs::read_to_string(&file).unwrap();
    let (head, rest) = text.split_once('\n').unwrap();
    fs::write(&file, format!("{head}\n{record}\n{rest}")).unwrap();
    let gone = old_session(&scene).await;
    age(&old);
    scene.world.config("[session]\nkeep_days = 90\n");
    let screen = Screen::start(&scene.world, [PARENT; 0], 100, 30);
    screen.wait_for("removed 1 session unused for 90 days");
    assert!(old.exists() && !gone.exists());
    drop(screen);
    let removed = prune(&scene, &[]).await;
    assert!(removed.contains("/left of an agent stays: it may hold work."), "{removed}");
    assert!(!old.exists());
}
