//! Rules that change while agents run: the next decision is made by what the files say by then.

use serde_json::Value;

use super::{after_calls, frames_of};
use crate::support::pty::{ENTER, Screen};
use crate::support::run::Finished;
use crate::support::scene::{DONE, Scene, agent, bash};
use crate::support::script::{Reply, text, tool_use};

const DENY_TOUCH: &str = "[permissions]\ndeny = [\"Bash(touch:*)\"]\n";
const DENY_MKDIR: &str = "[permissions]\ndeny = [\"Bash(mkdir:*)\"]\n";
const SHARED: &str = ".caliban/config.toml";
const LOCAL: &str = ".caliban/config.local.toml";
const ASKS: &str = "1  Yes";

fn touch(file: &str) -> Reply {
    tool_use("Bash", bash(&format!("touch {file}")))
}

/// The notices of a run that speak of rules.
fn notices(run: &Finished) -> Vec<Value> {
    let mut notices = frames_of(run, "system/notice");
    notices.retain(|notice| notice.to_string().contains("permission rules stay"));
    notices
}

#[tokio::test]
async fn a_new_deny_rule_counts_at_the_next_call_of_a_running_child() {
    // The file that changes, and what it says before: nothing, or no such file.
    let rows =
        [(SHARED, None), (LOCAL, None), (SHARED, Some("")), ("the user's", Some("# mine\n"))];
    for (file, before) in rows {
        let scene = Scene::new();
        let write = |content: &str| match file {
            SHARED | LOCAL => scene.world.write(file, content),
            _ => scene.world.config(content),
        };
        before.into_iter().for_each(write);
        scene.parent_calls([agent("CHILD-A")]);
        let then = Reply::stream().gate("narrowed").tool_use("Bash", bash("touch after.txt"));
        let then = then.tool_use("Bash", bash("mkdir by-flag")).tool_use("Bash", bash("echo free"));
        scene.server.when("CHILD-A").reply(touch("before.txt")).then(then).then(text("ok"));
        let run = scene.run().args(["--disallowed-tools", "Bash(mkdir:*)"]).start();
        scene.server.reached("narrowed").await;
        write(DENY_TOUCH);
        scene.server.open("narrowed");
        run.wait().await.assert_code(0);
        let requests = scene.server.requests_of("CHILD-A");
        assert!(!requests[1].tool_result().is_error, "{file}: {requests:?}");
        assert!(scene.world.exists("before.txt") && !scene.world.exists("after.txt"), "{file}");
        let results = requests[2].tool_results();
        let denies = |index: usize, rule: &str| {
            results[index].is_error && results[index].text.contains(&format!("rule {rule} "))
        };
        assert!(denies(0, "Bash(touch:*)"), "{file}: {results:?}");
        assert!(denies(1, "Bash(mkdir:*)"), "{file}: what a flag says stays: {results:?}");
        assert!(!results[2].is_error, "{file}: {results:?}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn an_allow_rule_that_is_taken_out_no_longer_counts_and_a_projects_file_allows_nothing() {
    let scene = Scene::new();
    scene.world.config("[permissions]\nallow = [\"Bash(touch:*)\"]\n");
    scene.parent_calls([agent("CHILD-A")]);
    let then = Reply::stream().gate("narrowed").tool_use("Bash", bash("touch after.txt"));
    scene.server.when("CHILD-A").reply(touch("before.txt")).then(then).then(text("ok"));
    let args = ["-p", "PARENT-1 go", "--output-format", "stream-json"];
    let run = scene.world.run(args).args(["--allowed-tools", "AgentTool"]).start();
    scene.server.reached("narrowed").await;
    scene.world.config("");
    scene.world.write(
        SHARED,
        "[permissions]\nallow = [\"Bash(touch:*)\"]\nmode = \"bypassPermissions\"\n",
    );
    scene.server.open("narrowed");
    run.wait().await.assert_code(0);
    assert!(scene.world.exists("before.txt") && !scene.world.exists("after.txt"));
    let result = scene.server.requests_of("CHILD-A")[2].tool_result();
    assert!(result.is_error && result.text.contains("no rule allows"), "{result:?}");
    scene.server.finish();
}

#[tokio::test]
async fn a_new_configuration_nearer_by_does_not_hide_the_rules_of_the_project() {
    let scene = Scene::new();
    scene.world.write(".git/HEAD", "ref: refs/heads/main\n");
    scene.world.write(SHARED, DENY_TOUCH);
    scene.world.write("sub/here.txt", "");
    scene.parent_calls([agent("CHILD-A")]);
    let then = Reply::stream().gate("hidden").tool_use("Bash", bash("touch after.txt"));
    scene.server.when("CHILD-A").reply(touch("before.txt")).then(then).then(text("ok"));
    let run = scene.run().args(["--cd", "sub"]).start();
    scene.server.reached("hidden").await;
    scene.world.write(&format!("sub/{SHARED}"), "");
    scene.world.config("# read it all again\n");
    scene.server.open("hidden");
    run.wait().await.assert_code(0);
    assert!(!scene.world.exists("sub/before.txt") && !scene.world.exists("sub/after.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn a_broken_rule_file_changes_nothing_and_is_told_once() {
    let rows = [
        ("[permissions]\ndeny = [\"Bash(\"]\n", ":2: "),
        ("[permissions]\n\ndeny = [\"Bash\"\n", ":3: "),
        ("[permissions]\ndeny = 3\n", ":2: "),
    ];
    for (broken, line) in rows {
        let scene = Scene::new();
        scene.world.config(DENY_TOUCH);
        scene.parent_calls([agent("CHILD-A")]);
        let first = Reply::stream().gate("broken").tool_use("Bash", bash("touch no.txt"));
        let last = Reply::stream().gate("mended").tool_use("Bash", bash("mkdir after"));
        let child =
            scene.server.when("CHILD-A").reply(first.tool_use("Bash", bash("mkdir before")));
        child.then(touch("no.txt")).then(last).then(text("ok"));
        let run = scene.run().start();
        scene.server.reached("broken").await;
        scene.world.write(SHARED, broken);
        scene.server.open("broken");
        scene.server.reached("mended").await;
        scene.world.write(SHARED, DENY_MKDIR);
        scene.server.open("mended");
        let run = run.wait().await;
        run.assert_code(0);
        let told = notices(&run);
        assert_eq!(told.len(), 1, "{broken}: {run}");
        let text = told[0]["text"].as_str().unwrap();
        assert!(text.starts_with(&format!("{SHARED}{line}")), "{broken}: {text}");
        assert_eq!(told[0]["level"], "warning");
        assert!(!scene.world.exists("no.txt"), "{broken}: the old rules stay");
        assert!(scene.world.exists("before"), "{broken}: and no others come");
        assert!(!scene.world.exists("after"), "{broken}: mended, it counts");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_new_deny_rule_also_counts_for_a_call_that_is_asked_about() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(touch("made.txt")).then(text("ok"));
    let args = ["--allowed-tools", "AgentTool", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 120, 40);
    screen.wait_for(ASKS);
    scene.world.write(SHARED, DENY_TOUCH);
    screen.keys("1");
    screen.wait_for(DONE);
    assert!(!scene.world.exists("made.txt"), "{}", screen.contents());
    let result = scene.server.requests_of("CHILD-A")[1].tool_result();
    assert!(result.is_error && result.text.contains("rule Bash(touch:*) "), "{result:?}");
    assert_eq!(after_calls(&scene).tool_result().text, "ok");
    scene.server.finish();
}

#[tokio::test]
async fn answers_for_the_session_and_for_always_still_count_when_the_rules_are_read_again() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    let child = scene.server.when("CHILD-A").reply(touch("granted.txt"));
    let again = Reply::stream().gate("read again").tool_use("Bash", bash("touch granted.txt"));
    let again = again.tool_use("Bash", bash("mkdir always")).tool_use("Bash", bash("rmdir flag"));
    child.then(tool_use("Bash", bash("mkdir always"))).then(again).then(text("ok"));
    let args = ["--allowed-tools", "AgentTool,Bash(rmdir:*)", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 120, 40);
    screen.wait_for("touch granted.txt");
    screen.wait_for(ASKS);
    screen.keys("2");
    screen.wait_for("mkdir always");
    screen.wait_for(ASKS);
    screen.keys("3");
    screen.wait_for("config.local.toml");
    screen.keys(ENTER);
    scene.server.reached("read again").await;
    let folder = |name: &str| scene.world.project_dir().join(name);
    std::fs::remove_dir(folder("always")).unwrap();
    std::fs::create_dir(folder("flag")).unwrap();
    scene.world.config("[permissions]\nask = [\"WebFetch\"]\n");
    scene.server.open("read again");
    screen.wait_for(DONE);
    let results = scene.server.requests_of("CHILD-A")[3].tool_results();
    assert!(results.iter().all(|result| !result.is_error), "{results:?}");
    assert!(scene.world.exists("always") && !scene.world.exists("flag"));
    scene.server.finish();
}
