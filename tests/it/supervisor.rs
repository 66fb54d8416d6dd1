//! What agents run ends with all that it has started, and what it has started knows that an agent did.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::support::process::{self, Fifo, marked_seconds};
use crate::support::pty::{ENTER, Screen};
use crate::support::record::ToolResult;
use crate::support::scene::{DONE, PARENT, Scene, agent_with, bash};
use crate::support::script::{text, tool_use};

const PROGRAM: &str = env!("CARGO_BIN_EXE_caliban");

/// How soon all processes must be gone.
const SOON: Duration = Duration::from_secs(2);

/// A line that leaves a daemon behind: out of its group and its session, its parent gone. It runs
/// when the line ends.
fn daemon(marker: &str) -> String {
    daemon_behind("", marker)
}

/// The same for a daemon that ignores every request to end.
fn deaf_daemon(marker: &str) -> String {
    daemon_behind("trap \"\" TERM HUP INT; ", marker)
}

fn daemon_behind(first: &str, marker: &str) -> String {
    format!(
        "mkfifo up-{marker}; (setsid sh -c '{first}echo up >up-{marker}; exec sleep {marker}' \
         </dev/null >/dev/null 2>&1 &); read up <up-{marker}"
    )
}

async fn assert_gone(marker: &str) {
    assert_eq!(process::left_after(SOON, marker).await, Vec::<u32>::new());
}

/// What the command of a tool call comes to.
async fn result_of(scene: &Scene, command: &str) -> ToolResult {
    scene.server.when(PARENT).reply(tool_use("Bash", bash(command))).then(text(DONE));
    scene.go().await;
    scene.server.requests_of(PARENT)[1].tool_result()
}

#[tokio::test]
async fn a_daemon_ends_with_the_command_that_left_it() {
    let scene = Scene::new();
    let marker = marked_seconds(1011);
    let command = tool_use("Bash", bash(&format!("{}; echo left it", daemon(&marker))));
    scene.server.when(PARENT).reply(command).then(text(DONE).gate("next"));
    let running = scene.run().start();
    scene.server.reached("next").await;
    assert_eq!(process::with_argument(&marker), Vec::<u32>::new(), "while the agent goes on");
    scene.server.open("next");
    running.wait().await.assert_code(0);
    assert_eq!(scene.server.requests_of(PARENT)[1].tool_result().text, "left it");
    scene.server.finish();
}

#[tokio::test]
async fn a_daemon_of_a_background_command_ends_when_that_is_killed() {
    let scene = Scene::new();
    let marker = marked_seconds(1012);
    let line = format!("{}; echo up >started.fifo; sleep {marker}", daemon(&marker));
    let started = Fifo::new(&scene.world.project_dir().join("started.fifo"));
    let start = json!({ "command": line, "run_in_background": true });
    let kill = tool_use("KillShell", json!({ "shell_id": "bash-1" })).gate("kill");
    let parent = scene.server.when(PARENT).reply(tool_use("Bash", start));
    parent.then(kill).then(text(DONE).gate("next"));
    let running = scene.run().start();
    started.opened().await;
    scene.server.open("kill");
    scene.server.reached("next").await;
    assert_gone(&marker).await;
    scene.server.open("next");
    running.wait().await.assert_code(0);
    scene.server.finish();
}

#[tokio::test]
async fn a_daemon_is_asked_to_end_before_it_is_killed() {
    let scene = Scene::new();
    let marker = marked_seconds(1019);
    let line = format!(
        "mkfifo up; (setsid sh -c 'trap \"echo asked >asked.txt; exit\" TERM; echo up >up; sleep {marker} & wait' \
         </dev/null >/dev/null 2>&1 &); read up <up; echo up >started.fifo; sleep {marker}"
    );
    let started = Fifo::new(&scene.world.project_dir().join("started.fifo"));
    let start = json!({ "command": line, "run_in_background": true });
    let kill = tool_use("KillShell", json!({ "shell_id": "bash-1" })).gate("kill");
    scene.server.when(PARENT).reply(tool_use("Bash", start)).then(kill).then(text(DONE));
    let running = scene.run().start();
    started.opened().await;
    scene.server.open("kill");
    running.wait().await.assert_code(0);
    assert_gone(&marker).await;
    assert_eq!(scene.world.read("asked.txt"), "asked\n");
    scene.server.finish();
}

#[tokio::test]
async fn a_daemon_ends_when_the_program_is_killed() {
    let marker = marked_seconds(1013);
    is_gone_after_a_kill(&marker, &daemon(&marker)).await;
}

#[tokio::test]
async fn a_daemon_that_ignores_requests_to_end_is_gone_with_the_program_too() {
    let marker = marked_seconds(1018);
    is_gone_after_a_kill(&marker, &deaf_daemon(&marker)).await;
}

/// Kills the program while a command runs that has left this daemon behind.
async fn is_gone_after_a_kill(marker: &str, daemon: &str) {
    let scene = Scene::new();
    let line = format!("{daemon}; echo up >started.fifo; sleep {marker}");
    let started = Fifo::new(&scene.world.project_dir().join("started.fifo"));
    scene.server.when(PARENT).reply(tool_use("Bash", bash(&line)));
    let running = scene.run().start();
    started.opened().await;
    running.signal(Signal::SIGKILL);
    running.wait().await;
    assert_gone(marker).await;
}

#[tokio::test]
async fn daemons_of_hooks_and_servers_end_with_them() {
    let scene = Scene::new();
    let (hook, server) = (marked_seconds(1014), marked_seconds(1015));
    let quoted = |line: &str| Value::from(format!("cd $CALIBAN_PROJECT_DIR; {line}"));
    scene.world.config(&format!(
        "[[hooks.UserPromptSubmit]]\ncommand = {}\n[mcp_servers.own]\ncommand = \"bash\"\nargs = [\"-c\", {}]\n",
        quoted(&daemon(&hook)),
        quoted(&format!("{}; echo up >served.fifo; exit 1", daemon(&server))),
    ));
    let served = Fifo::new(&scene.world.project_dir().join("served.fifo"));
    scene.server.when(PARENT).reply(text(DONE).gate("end"));
    let running = scene.run().start();
    scene.server.reached("end").await;
    assert_eq!(process::with_argument(&hook), Vec::<u32>::new(), "while main works");
    served.opened().await;
    scene.server.open("end");
    running.wait().await.assert_code(0);
    assert_gone(&server).await;
    scene.server.finish();
}

#[tokio::test]
async fn a_daemon_of_the_users_own_command_is_left_alone() {
    let scene = Scene::new();
    let marker = marked_seconds(1016);
    let screen = Screen::start(&scene.world, [], 100, 30);
    screen.wait_for("›");
    screen.keys(&format!("!{}; printf 'left-%s' it{ENTER}", daemon(&marker)));
    screen.wait_for("left-it");
    // The command names the daemon too, and so does what it began with.
    process::eventually(|| process::with_argument(&marker).len() == 1).await;
    for daemon in process::with_argument(&marker) {
        process::signal(daemon, Signal::SIGKILL);
    }
}

#[tokio::test]
async fn the_last_words_of_what_outlives_the_shell_are_heard() {
    let scene = Scene::new();
    let line = "exec > >(cat; printf 'last words'); echo first; (sleep 1000 >/dev/null 2>&1 &)";
    let result = result_of(&scene, line).await;
    assert_eq!(result.text, "first\nlast words");
    scene.server.finish();
}

#[tokio::test]
async fn a_supervisor_shows_nothing_of_its_command_and_survives_polite_signals() {
    let scene = Scene::new();
    let result = result_of(
        &scene,
        "kill -TERM $PPID; kill -HUP $PPID; kill -INT $PPID; tr '\\0' ' ' </proc/$PPID/cmdline; echo; echo still here",
    );
    assert_eq!(result.await.text, "caliban supervise --depth 1 \nstill here");
    scene.server.finish();
}

#[tokio::test]
async fn a_command_that_kills_its_supervisor_ends_too() {
    let scene = Scene::new();
    let marker = marked_seconds(1017);
    let result = result_of(&scene, &format!("kill -KILL $PPID; sleep {marker}")).await;
    assert!(result.is_error && result.text.contains("killed by SIGKILL"), "{result:?}");
    assert_gone(&marker).await;
    scene.server.finish();
}

#[tokio::test]
async fn the_depth_below_an_agent_is_the_greatest_of_all_above_whatever_is_cleared() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nmax_depth = 0\n");
    let go = format!("{PROGRAM} -p 'NESTED-1 go'; echo exit $?");
    let home = format!("CALIBAN_HOME={}", scene.world.settings_dir().display());
    let keep = format!("HOME=$HOME PATH=$PATH {home}");
    let calls = [
        format!("CALIBAN_DEPTH=0 {go}"),
        format!("env -u CALIBAN_DEPTH {go}"),
        format!("export CALIBAN_DEPTH=0; setsid -w {go}"),
        format!("exec env -i {keep} CALIBAN_DEPTH=0 sh -c \"{go}\""),
        // Its parent is gone, and so are all environments that tell of it.
        format!(
            "mkfifo answer; (setsid env -i {keep} sh -c \"({go}) >answer 2>&1\" </dev/null &); cat answer"
        ),
    ];
    let calls = calls.map(|line| line.replace("$?\"", "\\$?\"").replace("$?)", "\\$?)"));
    let count = calls.len();
    let reply = calls.iter().fold(text("all"), |reply, line| reply.tool_use("Bash", bash(line)));
    scene.server.when(PARENT).reply(reply).then(text(DONE));
    scene.go().await;
    let results = scene.server.requests_of(PARENT)[1].tool_results();
    assert_eq!(results.len(), count);
    for (result, call) in results.iter().zip(calls) {
        let told = result.text.contains("at depth 1, and the depth limit is 0");
        assert!(told && result.text.contains("exit 4"), "{call}: {result:?}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn hooks_and_servers_of_a_sub_agent_are_as_deep_as_its_commands() {
    let scene = Scene::new();
    let write = |file: &str| format!("echo $CALIBAN_DEPTH >>$CALIBAN_PROJECT_DIR/{file}");
    scene.world.config(&format!(
        "[[hooks.PreToolUse]]\nmatcher = \"Bash\"\ncommand = {}\n",
        Value::from(write("hook"))
    ));
    let serve = Value::from(format!("{}; exit 1", write("server")));
    scene.world.agent("worker", &format!(
        "---\ndescription: Works.\nmcpServers:\n  - own:\n      command: bash\n      args: [\"-c\", {serve}]\n      env:\n        CALIBAN_DEPTH: \"0\"\n---\nWork.\n"
    ));
    let call = || bash("echo $CALIBAN_DEPTH");
    let reply = tool_use("Bash", call())
        .tool_use("AgentTool", agent_with("CHILD-A", "agent", "worker".into()));
    scene.server.when(PARENT).reply(reply).then(text(DONE));
    scene.server.when("CHILD-A").reply(tool_use("Bash", call())).then(text("done"));
    scene.go().await;
    assert_eq!(scene.server.requests_of("CHILD-A")[1].tool_result().text, "2");
    let mut hooks: Vec<String> = scene.world.read("hook").lines().map(str::to_owned).collect();
    hooks.sort();
    assert_eq!(hooks, ["1", "2"]);
    assert!(scene.world.read("server").lines().all(|depth| depth == "2"));
    scene.server.finish();
}
