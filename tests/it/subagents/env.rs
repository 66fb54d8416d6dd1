//! What an agent does not share with others: variables, the shell's place, the list of what is to
//! do, what it has read.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::{Value, json};

use super::{AGENT_TOOLS, after_calls};
use crate::support::pty::Screen;
use crate::support::scene::{DONE, PARENT, Scene, agent, agent_with, bash, calls};
use crate::support::script::{Reply, text, tool_use};
use crate::support::world::KEY;

/// The program itself, as a command of an agent starts it.
const PROGRAM: &str = env!("CARGO_BIN_EXE_caliban");

fn define(scene: &Scene, name: &str, variables: &str) {
    let head = format!(
        "---\nname: {name}\ndescription: Looks for one thing.\nenv: {variables}\n---\nLook.\n"
    );
    scene.world.agent(name, &head);
}

#[tokio::test]
async fn two_siblings_see_the_variables_of_their_own_definition_alone() {
    let mut scene = Scene::new();
    scene.world.env("SHARED", "session").env("OVER", "session");
    define(&scene, "red", "{ RED_ONLY: r, OVER: red, ANTHROPIC_API_KEY: sk-red-0001 }");
    define(&scene, "blue", "{ BLUE_ONLY: b }");
    let env = || tool_use("Bash", bash("env | sort"));
    let first = calls([
        agent_with("CHILD-A", "agent", json!("red")),
        agent_with("CHILD-B", "agent", json!("blue")),
    ]);
    scene.server.when(PARENT).reply(first).then(env()).then(text(DONE));
    for word in ["CHILD-A", "CHILD-B"] {
        scene.server.when(word).reply(env()).then(text("seen"));
    }
    scene.go().await;
    let seen = |word: &str| {
        let printed = scene.server.requests_of(word).last().unwrap().tool_result().text;
        assert!(printed.contains("SHARED=session") && !printed.contains("API_KEY"), "{printed}");
        let named = ["RED_ONLY=r", "BLUE_ONLY=b", "OVER=red", "OVER=session"];
        named.map(|line| printed.lines().any(|printed| printed == line))
    };
    assert_eq!(seen("CHILD-A"), [true, false, true, false]);
    assert_eq!(seen("CHILD-B"), [false, true, false, true]);
    assert_eq!(seen(PARENT), [false, false, false, true]);
    scene.server.finish();
}

#[tokio::test]
async fn nothing_of_one_agents_tools_is_seen_by_another() {
    let scene = Scene::new();
    scene.world.write("a.txt", "one\n");
    scene.world.write("below/b.txt", "two\n");
    let todo = json!({ "todos": [{ "content": "CANARY-77", "status": "in_progress" }] });
    let read = json!({ "file_path": "a.txt" });
    let leave = tool_use("Bash", bash("cd below && export LEAK=CANARY-88"))
        .tool_use("TodoWrite", todo)
        .tool_use("Read", read);
    let edit = json!({ "file_path": "a.txt", "old_string": "one", "new_string": "two" });
    let look = || tool_use("Bash", bash("pwd; echo \"[$LEAK]\"")).tool_use("Edit", edit.clone());
    scene
        .server
        .when(PARENT)
        .reply(calls([agent("CHILD-A")]))
        .then(calls([agent("CHILD-B")]))
        .then(look())
        .then(text(DONE));
    scene
        .server
        .when("CHILD-A")
        .reply(leave)
        .then(tool_use("Bash", bash("pwd")))
        .then(text("left"));
    scene.server.when("CHILD-B").reply(look()).then(text("looked"));
    scene.go().await;
    let project = scene.world.project_dir().canonicalize().unwrap();
    let own = scene.server.requests_of("CHILD-A")[2].tool_result();
    assert_eq!(own.text, project.join("below").display().to_string(), "its own shell stays there");
    for word in ["CHILD-B", PARENT] {
        let requests = scene.server.requests_of(word);
        let last = requests.last().unwrap();
        let results = last.tool_results();
        assert_eq!(results[0].text, format!("{}\n[]", project.display()), "{word}");
        assert!(results[1].is_error && results[1].text.contains("ead"), "{word}: {results:?}");
        assert!(!last.text().contains("CANARY-77"), "{word}");
    }
    assert_eq!(scene.world.read("a.txt"), "one\n");
    scene.server.finish();
}

/// A command that starts this program with a prompt.
fn nested(prompt: &str) -> Value {
    bash(&format!("{PROGRAM} -p '{prompt}' --dangerously-skip-permissions; echo \"exit $?\""))
}

/// Keys are in the environment of no command: a program in a command needs another way to one.
const KEY_COMMAND: &str = "[providers.anthropic]\napi_key_command = \"echo sk-of-a-command-42\"\n";

#[tokio::test]
async fn a_program_that_an_agent_starts_counts_as_a_level() {
    let scene = Scene::new();
    scene.world.config(KEY_COMMAND);
    let parent = scene.server.when(PARENT).reply(tool_use("Bash", nested("NESTED-1 go")));
    parent.then(calls([agent("CHILD-A")])).then(text(DONE));
    scene.server.when("NESTED-1").reply(calls([agent("CHILD-B")]));
    let child = scene.server.when("CHILD-A").reply(tool_use("Bash", nested("NESTED-2 go")));
    child.then(text("tried"));
    scene.go().await;
    // Main's command is at the limit: an agent there cannot start another, and trying it stops it.
    let first = scene.server.requests_of("NESTED-1").remove(0);
    assert!(first.tool_names().iter().all(|name| !AGENT_TOOLS.contains(name)));
    let result = after_calls(&scene).tool_result();
    assert!(
        result.text.contains("depth limit is 1") && result.text.ends_with("exit 4"),
        "{result:?}"
    );
    assert_eq!(scene.server.requests_of("CHILD-B").len(), 0);
    // A child's command is beyond it: there is no agent at all.
    let result = scene.server.requests_of("CHILD-A")[1].tool_result();
    assert!(result.text.contains("at depth 2, and the depth limit is 1"), "{result:?}");
    assert!(result.text.ends_with("exit 4"), "{result:?}");
    assert_eq!(scene.server.requests_of("NESTED-2").len(), 0);
    scene.server.finish();
}

#[tokio::test]
async fn beyond_the_limit_neither_face_starts() {
    let mut scene = Scene::new();
    scene.world.env("CALIBAN_DEPTH", "2");
    let run = scene.run().finish().await;
    run.assert_code(4);
    assert!(run.stderr.contains("depth limit is 1") && run.stderr.contains("max_depth"), "{run}");
    assert!(!run.stderr.contains(KEY) && run.stdout.is_empty(), "{run}");
    let left = Screen::start(&scene.world, ["PARENT-1 go"], 80, 24).exit();
    assert_eq!(left.exit, Ok(4));
    assert!(String::from_utf8_lossy(&left.raw).contains("depth limit is 1"));
    // The same program may run where the limit is higher.
    scene.world.config("[subagents]\nmax_depth = 2\n");
    scene.server.when(PARENT).reply(text(DONE));
    scene.go().await;
    scene.world.env("CALIBAN_DEPTH", "two");
    let run = scene.run().finish().await;
    run.assert_code(2);
    assert!(run.stderr.contains("CALIBAN_DEPTH must be a whole number"), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_command_is_judged_by_the_path_and_the_home_of_its_own_agent() {
    let scene = Scene::new();
    let project = scene.world.project_dir();
    scene.world.write("bin/ls", "#!/bin/sh\necho FAKE-LS\n");
    let runs = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(project.join("bin/ls"), runs).unwrap();
    scene.world.write("inner/notes", "NOTES-44\n");
    let git = Command::new("git").args(["init", "-q"]).current_dir(&project).status();
    assert!(git.unwrap().success());
    let home = project.join("inner");
    define(
        &scene,
        "near",
        &format!("{{ PATH: \"./bin:/usr/bin:/bin\", HOME: {} }}", home.display()),
    );
    define(&scene, "usual", "{ OTHER: x }");
    scene.parent_calls([
        agent_with("CHILD-A", "agent", json!("near")),
        agent_with("CHILD-B", "agent", json!("usual")),
    ]);
    let looks = ["ls", "git status", "cat ~/notes"];
    for word in ["CHILD-A", "CHILD-B"] {
        let calls =
            looks.iter().fold(Reply::stream(), |all, line| all.tool_use("Bash", bash(line)));
        scene.server.when(word).reply(calls).then(text("looked"));
    }
    let rules = ["--allowed-tools", "Bash(cat:*)", "--disallowed-tools", "Read(inner/notes)"];
    scene.world.run(["-p", "PARENT-1 go"]).args(rules).finish().await.assert_code(0);
    let results = |word: &str| scene.server.requests_of(word)[1].tool_results();
    let seen = results("CHILD-A");
    let reasons = ["PATH finds ls in a working directory", "its HOME", "Read(inner/notes)"];
    for (result, reason) in seen.iter().zip(reasons) {
        assert!(result.is_error && result.text.contains(reason), "{seen:?}");
    }
    let seen = results("CHILD-B");
    assert!(!seen[0].is_error && !seen[1].is_error, "{seen:?}");
    assert!(seen[2].text.contains("No such file"), "the home is the user's: {seen:?}");
    scene.server.finish();
}
