//! How a worktree is made, or why it is not, and what ends that.

use std::path::PathBuf;
use std::process::Command;

use nix::sys::signal::Signal;
use serde_json::json;

use super::super::after_calls;
use super::{define, git, scene, tidy, worktrees};
use crate::support::DEADLINE;
use crate::support::client::{ARGS, Client};
use crate::support::process;
use crate::support::scene::{DONE, PARENT, Scene, calls};
use crate::support::script::{text, tool_use};
use crate::support::skip;

#[tokio::test]
async fn a_repository_that_keeps_all_branches_in_one_table_gives_no_worktree() {
    let test = "a_repository_that_keeps_all_branches_in_one_table_gives_no_worktree";
    let scene = Scene::new();
    define(&scene, "");
    scene.world.write("a.txt", "one\n");
    let mut init = Command::new("git");
    init.args(["init", "-q", "-b", "main", "--ref-format=reftable"]);
    if !init.current_dir(scene.world.project_dir()).output().unwrap().status.success() {
        skip(test, "this git has no reftable");
        return;
    }
    for words in ["add -A", "commit -qm first"] {
        git(&scene, words);
    }
    scene.parent_calls([tidy("CHILD-A")]);
    scene.go().await;
    let result = after_calls(&scene).tool_result();
    assert!(result.text.contains("in the format reftable"), "{result:?}");
    assert!(result.text.contains("start it without isolation"), "{result:?}");
    assert_eq!(worktrees(&scene), Vec::<PathBuf>::new());
    assert_eq!(git(&scene, "branch --list caliban/*"), "");
    scene.server.finish();
}

#[tokio::test]
async fn without_a_repository_the_call_is_a_soft_error_that_says_what_to_do() {
    let scene = Scene::new();
    define(&scene, "");
    scene.parent_calls([tidy("CHILD-A")]);
    scene.go().await;
    let result = after_calls(&scene).tool_result();
    assert!(result.is_error && result.text.contains("`git init`"), "{result:?}");
    assert!(result.text.contains("or start the agent without isolation"), "{result:?}");
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 0);
    assert_eq!(scene.world.child_transcripts(), Vec::<PathBuf>::new());
    let left = std::fs::read_dir(scene.world.settings_dir().join("worktrees"));
    assert_eq!(left.map_or(0, Iterator::count), 0, "nothing is left behind");
    scene.server.finish();
}

/// Settings of a repository that name a program, such as a filter for the files that a worktree is
/// filled with.
#[tokio::test]
async fn a_repository_whose_settings_name_a_program_gives_no_worktree_and_starts_nothing() {
    let scene = scene();
    let started = scene.world.project_dir().join("started");
    let filter = format!("[filter \"x\"]\n\tsmudge = touch {} && cat\n", started.display());
    scene.world.write(".gitattributes", "* filter=x\n");
    git(&scene, "add -A");
    git(&scene, "commit -qm attributes");
    let config = scene.world.project_dir().join(".git/config");
    let plain = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{plain}{filter}")).unwrap();
    scene.parent_calls([tidy("CHILD-A")]);
    scene.go().await;
    let result = after_calls(&scene).tool_result();
    assert!(
        result.is_error && result.text.contains("filter.smudge may start a program"),
        "{result:?}"
    );
    assert!(result.text.contains("start it without isolation"), "{result:?}");
    assert!(!scene.world.exists("started"));
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 0);
}

/// Makes each checkout of the project wait for a writer of a pipe, whose path marks its process.
fn slow_checkout(scene: &mut Scene) -> String {
    // Where a filter may read: among the user's programs.
    scene.world.program("waiter", "");
    let pipe = scene.world.root().join("tools/bin/held.fifo");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let marker = pipe.display().to_string();
    // The user's own: a repository whose settings name a program gives no worktree.
    let filter = format!("[filter \"slow\"]\n\tclean = cat\n\tsmudge = cat {marker}\n");
    scene.world.home(".gitconfig", &filter);
    scene.world.write(".gitattributes", "*.txt filter=slow\n");
    git(scene, "add -A");
    git(scene, "commit -qm slow");
    marker
}

/// Nothing of a worktree that was being made is left: neither a process nor a file nor a branch.
async fn assert_nothing_left(scene: &Scene, marker: &str) {
    assert_eq!(process::left_after(DEADLINE, marker).await, Vec::<u32>::new());
    process::eventually(|| {
        let left = std::fs::read_dir(scene.world.settings_dir().join("worktrees"));
        left.map_or(0, Iterator::count) == 0
            && worktrees(scene).is_empty()
            && git(scene, "branch --list caliban/*").is_empty()
    })
    .await;
}

#[tokio::test]
async fn a_signal_ends_the_making_of_a_worktree_and_a_result_is_written() {
    let mut scene = scene();
    let marker = slow_checkout(&mut scene);
    scene.server.when(PARENT).reply(calls([tidy("CHILD-A")]));
    let running = scene.run().start();
    process::eventually(|| !process::with_argument(&marker).is_empty()).await;
    running.signal(Signal::SIGINT);
    let run = running.wait().await;
    run.assert_code(130);
    assert_eq!(run.result()["subtype"], "error_during_execution");
    assert_nothing_left(&scene, &marker).await;
    scene.server.finish();
}

#[tokio::test]
async fn the_time_limit_of_an_agent_holds_while_its_worktree_is_made() {
    let mut scene = scene();
    let marker = slow_checkout(&mut scene);
    scene.world.config("[subagents]\nmax_wall_s = 1\n");
    scene.parent_calls([tidy("CHILD-A")]);
    scene.go().await;
    let result = after_calls(&scene).tool_result();
    assert!(result.is_error && result.text.contains("time limit"), "{result:?}");
    assert_nothing_left(&scene, &marker).await;
    scene.server.finish();
}

#[tokio::test]
async fn git_ends_with_an_agent_that_is_stopped_alone_while_its_worktree_is_made() {
    let mut scene = scene();
    let marker = slow_checkout(&mut scene);
    scene.server.when(PARENT).reply(calls([tidy("CHILD-A")])).then(text(DONE));
    let mut client = Client::start(scene.world.run(ARGS));
    client.initialize(json!({})).await.unwrap();
    client.prompt(PARENT);
    let task = client.frame(|frame| frame["subtype"] == "task_started").await["task_id"].clone();
    process::eventually(|| !process::with_argument(&marker).is_empty()).await;
    client.request(json!({ "subtype": "stop_task", "task_id": task })).await.unwrap();
    let ended = client.frame(|frame| frame["subtype"] == "task_notification").await;
    assert_eq!(ended["status"], "stopped");
    assert_eq!(process::with_argument(&marker), Vec::<u32>::new(), "git ends before its agent");
    assert_eq!(client.result().await["result"], DONE);
    // The session stays open: nothing else removes what was made.
    assert_nothing_left(&scene, &marker).await;
    client.close().await.assert_code(0);
    let result = after_calls(&scene).tool_result();
    assert!(result.is_error && result.text.contains("cancelled"), "{result:?}");
    scene.server.finish();
}

#[tokio::test]
async fn main_goes_on_while_many_worktrees_are_made() {
    // More than the runtime has threads that may block.
    const AGENTS: usize = 60;
    let mut scene = scene();
    let marker = slow_checkout(&mut scene);
    scene.world.config(&format!(
        "[subagents]\nfaces = [\"lifecycle\"]\nmax_concurrent_agents = {AGENTS}\nmax_children_per_agent = {AGENTS}\n"
    ));
    let spawn = |number| json!({ "prompt": format!("CHILD-{number} tidy"), "agent": "tidy" });
    let spawns = (0..AGENTS)
        .fold(text("all of them"), |reply, number| reply.tool_use("agent_spawn", spawn(number)));
    let read = json!({ "file_path": "a.txt" });
    let parent = scene.server.when(PARENT).reply(spawns);
    parent.then(tool_use("Read", read)).then(text("it works"));
    let running = scene.run().start();
    // The answers to the calls, and then what was read: journal and tools work.
    scene.server.wait_for_of(PARENT, 3).await;
    running.signal(Signal::SIGINT);
    running.wait().await.assert_code(130);
    assert_nothing_left(&scene, &marker).await;
    scene.server.finish();
}
