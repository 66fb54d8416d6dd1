//! Sub-agents with a worktree of their own that go on.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::worktree::{git, worktrees};
use super::{choose, continued, finished_child, finished_grandchild, press_r_below};
use crate::support::pty::ESC;
use crate::support::record::Recorded;
use crate::support::scene::{PARENT, Scene, agent_with, bash};
use crate::support::script::{Reply, text, tool_use};

/// A scene whose project is a repository with one commit, and whose `tidy` agents are isolated.
fn repository() -> Scene {
    let scene = Scene::new();
    define_tidy(&scene, "isolation: worktree\n");
    scene.world.write("a.txt", "one\n");
    for words in ["init -q -b main", "add -A", "commit -qm first"] {
        git(&scene, words);
    }
    scene
}

fn define_tidy(scene: &Scene, line: &str) {
    let about = "name: tidy\ndescription: Tidies up, apart from everybody else.";
    scene.world.agent("tidy", &format!("---\n{about}\n{line}---\nTidy.\n"));
}

fn tidy(word: &str) -> Value {
    agent_with(word, "subagent_type", json!("tidy"))
}

fn write(path: &str) -> Value {
    json!({ "file_path": path, "content": "mine\n" })
}

/// Goes on with the isolated agent, which does this; its requests since, and what main has heard of it.
async fn go_on_with_tidy(scene: &Scene, work: Reply) -> (Vec<Recorded>, String) {
    let before = scene.server.requests_of("CHILD-A").len();
    // Another word each time: those before are still on the screen.
    let word = format!("HEARD-{before}");
    scene.server.when("CHILD-A").reply(work).then(text("RESUMED-77"));
    scene.server.when(PARENT).reply(text(&word));
    let screen = continued(scene);
    choose(&screen, "tidy-1");
    screen.keys("r");
    screen.keys(ESC);
    screen.wait_for(&word);
    let heard = scene.server.requests_of(PARENT).pop().unwrap();
    let heard = heard.messages().last().unwrap().to_string();
    (scene.server.requests_of("CHILD-A").split_off(before), heard)
}

#[tokio::test]
async fn an_isolated_agent_goes_on_in_its_worktree_and_cannot_leave_it() {
    let scene = repository();
    scene.server.when("CHILD-A").reply(tool_use("Write", write("new.txt")));
    finished_child(&scene, tidy("CHILD-A")).await;
    let tree = worktrees(&scene);
    // What its definition says today does not open the worktree.
    define_tidy(&scene, "");
    let outside = scene.world.project_dir().canonicalize().unwrap().join("b.txt");
    let outside = outside.to_str().unwrap();
    let work = tool_use("Read", json!({ "file_path": "new.txt" }))
        .tool_use("Write", write("more.txt"))
        .tool_use(
            "Bash",
            bash("git add new.txt && git -c user.name=A -c user.email=a commit -qm x"),
        )
        .tool_use("Write", write(outside))
        .tool_use("Bash", bash(&format!("echo escaped > {outside}")));
    let (requests, heard) = go_on_with_tidy(&scene, work).await;
    let results = requests[1].tool_results();
    let errors: Vec<_> = results.iter().map(|result| result.is_error).collect();
    assert_eq!(errors, [false, false, false, true, true], "{results:?}");
    assert!(results[0].text.contains("mine"), "{results:?}");
    assert!(results[3].text.contains("worktree"), "the bound is named: {results:?}");
    assert!(!scene.world.exists("b.txt") && !scene.world.exists("more.txt"));
    assert_eq!(worktrees(&scene), tree, "it is the same one");
    assert_eq!(std::fs::read_to_string(tree[0].join("more.txt")).unwrap(), "mine\n");
    assert_eq!(requests[0].system(), scene.server.requests_of("CHILD-A")[0].system());
    let kept = format!("worktree kept: {} (branch caliban/tidy-", tree[0].display());
    assert!(heard.contains(&kept) && heard.contains("1 file changed, 1 commit)"), "{heard}");
    scene.server.finish();
}

#[tokio::test]
async fn an_isolated_agent_whose_worktree_is_gone_gets_a_new_one_and_is_told() {
    let scene = repository();
    finished_child(&scene, tidy("CHILD-A")).await;
    assert_eq!(worktrees(&scene), Vec::<PathBuf>::new(), "it held nothing");
    scene.world.write("a.txt", "two\n");
    git(&scene, "commit -qam second");
    let (requests, heard) = go_on_with_tidy(&scene, tool_use("Write", write("new.txt"))).await;
    let tree = worktrees(&scene);
    let system = requests[0].system();
    assert!(system.contains(tree[0].to_str().unwrap()) && system.contains("It is a new one"));
    assert!(!scene.server.requests_of("CHILD-A")[0].system().contains("It is a new one"));
    assert_eq!(std::fs::read_to_string(tree[0].join("a.txt")).unwrap(), "two\n");
    assert!(heard.contains("1 file changed)"), "{heard}");
    // That one is the one that it goes on in from now on.
    let (requests, heard) = go_on_with_tidy(&scene, tool_use("Write", write("more.txt"))).await;
    assert!(!requests[0].system().contains("It is a new one"));
    assert_eq!(worktrees(&scene), tree);
    assert!(heard.contains("2 files changed)"), "{heard}");
    scene.server.finish();
}

#[tokio::test]
async fn one_below_an_isolated_agent_does_not_go_on_outside_of_its_worktree() {
    let scene = repository();
    finished_grandchild(&scene, tidy("CHILD-B"), &["Read", "Write", "AgentTool"]).await;
    define_tidy(&scene, "");
    let screen = continued(&scene);
    press_r_below(&screen, "tidy-1", "general-purpose-1");
    screen.wait_for("it worked in the git worktree");
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 1);
    scene.server.finish();
}
