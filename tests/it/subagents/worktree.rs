//! Sub-agents in worktrees of their own, through the whole program.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use nix::sys::stat::Mode;
use serde_json::{Value, json};

use super::after_calls;
use crate::support::DEADLINE;
use crate::support::process;
use crate::support::scene::{Scene, agent, agent_with, bash, calls};
use crate::support::script::{Reply, text, tool_use};
use crate::support::world::executable;

mod kept;
mod making;
mod work;

/// A scene whose project is a repository with one commit, and whose `tidy` agents are isolated.
fn scene() -> Scene {
    scene_with("")
}

/// The same, with more lines in the front matter of `tidy`.
fn scene_with(lines: &str) -> Scene {
    let scene = Scene::new();
    define(&scene, lines);
    scene.world.write("a.txt", "one\n");
    for words in ["init -q -b main", "add -A", "commit -qm first"] {
        git(&scene, words);
    }
    scene
}

/// The folder `sub` of the project, which has a file and one beside it in the commit.
fn below(scene: &Scene) -> PathBuf {
    scene.world.write("sub/b.txt", "two\n");
    scene.world.write("beside/c.txt", "three\n");
    for words in ["add -A", "commit -qm second"] {
        git(scene, words);
    }
    scene.world.project_dir().join("sub")
}

fn define(scene: &Scene, lines: &str) {
    let about = "name: tidy\ndescription: Tidies up, apart from everybody else.";
    let head = format!("---\n{about}\nisolation: worktree\n{lines}---\nTidy.\n");
    scene.world.agent("tidy", &head);
}

pub(super) fn git(scene: &Scene, words: &str) -> String {
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

/// A call that writes `new.txt` where the agent works.
fn write_new(content: &str) -> Reply {
    tool_use("Write", json!({ "file_path": "new.txt", "content": content }))
}

/// The one worktree, which holds `new.txt`, and what a report must say of it.
#[track_caller]
fn kept(scene: &Scene) -> String {
    let trees = worktrees(scene);
    let [tree] = &trees[..] else { panic!("one worktree, not {trees:?}") };
    assert_eq!(std::fs::read_to_string(tree.join("new.txt")).unwrap(), "mine\n");
    assert!(!scene.world.exists("new.txt"));
    format!("worktree kept: {} (branch caliban/tidy-", tree.display())
}

/// The paths of the worktrees beside the project.
pub(super) fn worktrees(scene: &Scene) -> Vec<PathBuf> {
    let listed = git(scene, "worktree list --porcelain");
    let paths = listed.lines().filter_map(|line| line.strip_prefix("worktree "));
    paths.skip(1).map(PathBuf::from).collect()
}

#[tokio::test]
async fn a_relative_path_is_the_worktrees() {
    let scene = scene();
    scene.world.write("a.txt", "changed since\n");
    scene.parent_calls([tidy("CHILD-A")]);
    let read = json!({ "file_path": "a.txt" });
    scene.server.when("CHILD-A").reply(tool_use("Read", read)).then(text("seen"));
    scene.go().await;
    let seen = scene.server.requests_of("CHILD-A")[1].tool_result();
    assert!(seen.text.contains("one") && !seen.text.contains("changed"), "{seen:?}");
    let result = after_calls(&scene).tool_result();
    assert_eq!((result.text.as_str(), result.is_error), ("seen", false), "there is nothing to say");
    assert_eq!(worktrees(&scene), Vec::<PathBuf>::new());
    assert_eq!(git(&scene, "branch --list caliban/*"), "");
    scene.server.finish();
}

#[tokio::test]
async fn the_git_of_a_worktree_is_none_of_a_folder_of_the_session() {
    let mut scene = scene();
    let other = scene.world.root().join("other");
    std::fs::create_dir_all(other.join(".git")).unwrap();
    std::fs::create_dir_all(other.join("pkg")).unwrap();
    executable(&other.join("bin/git"), "echo > \"${0%/*}/ran\"");
    let path = std::env::var("PATH").unwrap();
    scene.world.env("PATH", &format!("{}:{path}", other.join("bin").display()));
    scene.parent_calls([tidy("CHILD-A")]);
    scene.server.when("CHILD-A").reply(text("seen"));
    let more = other.join("pkg").display().to_string();
    let run = scene.world.run(["-p", "PARENT-1 go", "--add-dir", &more]).finish().await;
    run.assert_code(0);
    assert_eq!(after_calls(&scene).tool_result().text, "seen");
    assert!(!other.join("bin/ran").exists());
    scene.server.finish();
}

#[tokio::test]
async fn an_isolated_child_writes_in_its_worktree_and_nowhere_else() {
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
async fn an_isolated_child_of_a_folder_in_the_repository_reads_freely_in_that_folder_alone() {
    let scene = scene();
    let folder = below(&scene);
    scene.parent_calls([tidy("CHILD-A")]);
    let read = |path: &str| json!({ "file_path": path });
    let calls = tool_use("Read", read("b.txt"))
        .tool_use("Read", read("../beside/c.txt"))
        .tool_use("Bash", bash("cat b.txt"))
        .tool_use("Bash", bash("cat ../beside/c.txt"))
        .tool_use("Bash", bash("cd ../beside && cat c.txt"))
        .tool_use("Bash", bash("git log --oneline"));
    scene.server.when("CHILD-A").reply(calls).then(text("tried"));
    // Nobody can be asked, so what is not free is denied.
    let run = scene.world.run(["-p", "PARENT-1 go", "--output-format", "stream-json"]);
    run.within(&folder).finish().await.assert_code(0);
    let results = scene.server.requests_of("CHILD-A")[1].tool_results();
    let errors: Vec<_> = results.iter().map(|result| result.is_error).collect();
    assert_eq!(errors, [false, true, false, true, true, false], "{results:?}");
    assert!(results[1].text.contains("outside the working directories"), "{results:?}");
    scene.server.finish();
}

#[tokio::test]
async fn an_isolated_child_of_a_folder_in_the_repository_can_write_in_all_of_its_worktree() {
    let scene = scene();
    let folder = below(&scene);
    scene.parent_calls([tidy("CHILD-A")]);
    let write = |path: &str| json!({ "file_path": path, "content": "mine\n" });
    let calls = tool_use("Write", write("new.txt"))
        .tool_use("Write", write("../beside/new.txt"))
        .tool_use("Bash", bash("echo mine > ../new.txt && git add -A"))
        .tool_use("Write", write(&scene.world.project_dir().join("x.txt").display().to_string()));
    scene.server.when("CHILD-A").reply(calls).then(text("tried"));
    scene.run().within(&folder).finish().await.assert_code(0);
    let results = scene.server.requests_of("CHILD-A")[1].tool_results();
    let errors: Vec<_> = results.iter().map(|result| result.is_error).collect();
    assert_eq!(errors, [false, false, false, true], "{results:?}");
    assert!(!scene.world.exists("x.txt") && !scene.world.exists("sub/new.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn the_working_directory_stays_while_an_isolated_child_works() {
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
async fn a_rule_through_a_link_holds_for_an_isolated_child_as_for_its_parent() {
    for (settings, list) in [
        ("[permissions]\ndeny = [\"Read(~/code/project/secret)\"]\n", ""),
        ("[permissions]\ndeny = [\"Read(~/code/*/secret)\"]\n", ""),
        ("", "disallowedTools: Read(~/code/project/secret)\n"),
    ] {
        let scene = scene_with(list);
        scene.world.config(settings);
        symlink(scene.world.root(), scene.world.home_dir().join("code")).unwrap();
        scene.world.write("secret", "TOP-4711\n");
        git(&scene, "add -A");
        git(&scene, "commit -qm second");
        scene.parent_calls([tidy("CHILD-A")]);
        let calls = tool_use("Read", json!({ "file_path": "secret" }))
            .tool_use("Bash", bash("cat secret"))
            .tool_use("Grep", json!({ "pattern": "TOP", "output_mode": "content" }));
        scene.server.when("CHILD-A").reply(calls).then(text("seen"));
        scene.go().await;
        let results = scene.server.requests_of("CHILD-A")[1].tool_results();
        let denied: Vec<bool> = results.iter().map(|result| result.is_error).collect();
        assert_eq!(denied, [true, true, false], "{settings}{list}: {results:?}");
        assert!(results.iter().all(|it| !it.text.contains("TOP-4711")), "{results:?}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_background_shell_of_an_isolated_child_is_confined_too() {
    let scene = scene();
    let outside = scene.world.project_dir().canonicalize().unwrap().join("b.txt");
    let command = format!("echo escaped > {}; echo mine > new.txt", outside.display());
    let start = json!({ "command": command, "run_in_background": true });
    scene.parent_calls([tidy("CHILD-A")]);
    let tried = tool_use("Bash", bash("until [ -s new.txt ]; do sleep 0.02; done"));
    let look = tool_use("BashOutput", json!({ "bash_id": "bash-1" }));
    let child = scene.server.when("CHILD-A").reply(tool_use("Bash", start));
    child.then(tried).then(look).then(text("tried"));
    scene.go().await;
    assert!(!scene.world.exists("b.txt"));
    let result = after_calls(&scene).tool_result();
    let kept = kept(&scene);
    assert!(result.text.contains(&kept), "{kept}\n{result:?}");
    let seen = scene.server.requests_of("CHILD-A")[3].tool_result();
    assert!(seen.text.contains("Permission denied"), "the kernel says no: {seen:?}");
    scene.server.finish();
}

#[tokio::test]
async fn children_in_worktrees_of_their_own_change_the_same_file_at_once() {
    let scene = scene();
    scene.parent_calls(["CHILD-A", "CHILD-B"].map(tidy));
    for word in ["CHILD-A", "CHILD-B"] {
        let edit = json!({ "file_path": "a.txt", "old_string": "one", "new_string": word });
        let read = tool_use("Read", json!({ "file_path": "a.txt" }));
        let script = scene.server.when(word).reply(read);
        script.then(text("x").gate("both have read").tool_use("Edit", edit)).then(text(word));
    }
    let running = scene.run().start();
    scene.server.reached_by("both have read", 2).await;
    scene.server.open("both have read");
    running.wait().await.assert_code(0);
    assert_eq!(scene.world.read("a.txt"), "one\n");
    let trees = worktrees(&scene);
    assert_eq!(trees.len(), 2);
    let results = after_calls(&scene).tool_results();
    for (result, word) in results.iter().zip(["CHILD-A", "CHILD-B"]) {
        let told = |tree: &&PathBuf| result.text.contains(&tree.display().to_string());
        let tree = trees.iter().find(told).unwrap_or_else(|| panic!("{result:?}"));
        assert!(result.text.starts_with(word) && result.text.contains("1 file changed"));
        assert_eq!(std::fs::read_to_string(tree.join("a.txt")).unwrap(), format!("{word}\n"));
    }
    scene.server.finish();
}

#[tokio::test]
async fn an_agent_below_an_isolated_one_works_in_its_worktree_and_cannot_leave_it() {
    let scene = scene();
    scene.world.config("[subagents]\nmax_depth = 2\n");
    let original = scene.world.project_dir().canonicalize().unwrap();
    scene.parent_calls([tidy("CHILD-A")]);
    let below = calls([agent("CHILD-B"), tidy("CHILD-C")]);
    scene.server.when("CHILD-A").reply(below).then(text("tidied"));
    let write = |path: String| json!({ "file_path": path, "content": "mine\n" });
    let tries = tool_use("Write", write("new.txt".to_owned()))
        .tool_use("Write", write(original.join("b.txt").display().to_string()))
        .tool_use("Bash", bash(&format!("echo escaped > {}/b.txt", original.display())));
    scene.server.when("CHILD-B").reply(tries).then(text("tried"));
    scene.go().await;
    let results = scene.server.requests_of("CHILD-B")[1].tool_results();
    let errors: Vec<_> = results.iter().map(|result| result.is_error).collect();
    assert_eq!(errors, [false, true, true], "{results:?}");
    assert!(!scene.world.exists("b.txt"));
    let kept = kept(&scene);
    assert!(after_calls(&scene).tool_result().text.contains(&kept), "{kept}");
    let of_a = scene.server.requests_of("CHILD-A")[1].tool_results();
    assert!(!of_a[0].is_error, "{of_a:?}");
    let none = "start the agent without isolation";
    assert!(of_a[1].is_error && of_a[1].text.contains(none), "no worktree in a worktree: {of_a:?}");
    assert_eq!(scene.server.requests_of("CHILD-C").len(), 0);
    scene.server.finish();
}

#[tokio::test]
async fn a_confined_command_cannot_hide_that_an_agent_started_it() {
    // The kernel keeps it from reading the environments of the processes above.
    let scene = scene();
    let home = scene.world.settings_dir().display().to_string();
    let program = env!("CARGO_BIN_EXE_caliban");
    let line = format!("exec env -i HOME=$HOME CALIBAN_HOME={home} {program} -p 'NESTED-1 go'");
    scene.parent_calls([tidy("CHILD-A")]);
    scene.server.when("CHILD-A").reply(tool_use("Bash", bash(&line))).then(text("tried"));
    scene.go().await;
    let result = scene.server.requests_of("CHILD-A")[1].tool_result();
    assert!(result.text.contains("at depth 2, and the depth limit is 1"), "{result:?}");
    assert!(result.text.ends_with("exit code 4"), "{result:?}");
    scene.server.finish();
}
