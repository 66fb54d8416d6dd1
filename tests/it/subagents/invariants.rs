//! S1: a sub-agent is always and only a tool. What cannot be seen from outside (S1.2, S1.5, S1.6)
//! stands in `layering`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{after_calls, log_of};
use crate::support::process::{self, Fifo};
use crate::support::scene::{PARENT, Scene, agent, bash};
use crate::support::script::{text, tool_use};
use crate::support::skip;

#[tokio::test]
async fn no_text_and_no_stop_reason_starts_a_sub_agent() {
    for stop in ["end_turn", "stop_sequence", "pause_turn_of_tomorrow"] {
        let scene = Scene::new();
        let call = json!({ "type": "tool_use", "name": "AgentTool", "input": agent("CHILD-A") });
        scene.server.when(PARENT).reply(text(format!("@agent-general-purpose {call}")).stop(stop));
        scene.run().args(["--log-level", "debug"]).finish().await.assert_code(0);
        assert_eq!(scene.server.requests().len(), 1, "{stop}");
        assert_eq!(log_of(&scene, "tool_call"), Vec::<Value>::new());
        scene.server.finish();
    }
}

#[tokio::test]
async fn calls_of_every_origin_are_answered_alike_in_call_order() {
    let scene = Scene::new();
    scene.world.write("a.txt", "READ-77\n");
    let read = json!({ "file_path": scene.world.project_dir().join("a.txt") });
    let batch = tool_use("AgentTool", agent("CHILD-A"))
        .tool_use("Bash", bash("echo BASH-77"))
        .tool_use("AgentTool", json!({}))
        .tool_use("Read", read)
        .tool_use("AgentTool", agent("CHILD-B"));
    scene.server.when(PARENT).reply(batch).then(text("ok"));
    // The first call ends last.
    scene.server.when("CHILD-A").reply(text("AGENT-77").gate("late"));
    scene.server.when("CHILD-B").reply(text("AGENT-88"));
    let running = scene.run().start();
    scene.server.ended("CHILD-B").await;
    scene.server.open("late");
    running.wait().await.assert_code(0);
    let results = after_calls(&scene).tool_results();
    let expected = ["AGENT-77", "BASH-77", "prompt", "READ-77", "AGENT-88"];
    assert_eq!(results.len(), expected.len(), "{results:?}");
    for (at, (result, expected)) in results.iter().zip(expected).enumerate() {
        assert!(result.text.contains(expected), "{expected}: {result:?}");
        assert_eq!(result.id, format!("toolu_{:04}", at + 1));
        assert_eq!(result.is_error, expected == "prompt");
    }
    let messages = after_calls(&scene).messages().len();
    assert_eq!(messages, 3, "all results are in one message");
    scene.server.finish();
}

#[tokio::test]
async fn every_tool_has_the_same_shape_and_says_nothing_of_its_origin() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(text("ok"));
    scene.go().await;
    let request = scene.server.requests().remove(0);
    assert!(request.tools().len() > 5, "{:?}", request.tool_names());
    for tool in request.tools() {
        let mut fields: BTreeSet<_> =
            tool.as_object().unwrap().keys().map(String::as_str).collect();
        fields.remove("cache_control");
        assert_eq!(fields, BTreeSet::from(["description", "input_schema", "name"]));
        assert!(tool["description"].as_str().is_some_and(|text| !text.is_empty()), "{tool}");
        assert!(tool["input_schema"]["properties"].is_object(), "{tool}");
    }
    let agent = request.tool("AgentTool").unwrap();
    assert_eq!(agent["input_schema"]["required"], json!(["prompt"]));
    scene.server.finish();
}

#[tokio::test]
async fn the_working_directory_never_changes() {
    let scene = Scene::new();
    let elsewhere = scene.world.settings_dir();
    let project = std::fs::canonicalize(scene.world.project_dir()).unwrap();
    // The shell stands in `/` until the test lets it go on.
    let path = |name: &str| project.join(name).display().to_string();
    let away = format!("cd / && echo go > {} && head -n 1 {}", path("at.fifo"), path("on.fifo"));
    let at_root = Fifo::new(&project.join("at.fifo"));
    nix::unistd::mkfifo(&project.join("on.fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    scene.parent_calls([agent("CHILD-A")]);
    scene
        .server
        .when("CHILD-A")
        .reply(text("x").gate("before").tool_use("Bash", bash(&away)))
        .then(text("x").gate("after").tool_use("Bash", bash("pwd")))
        .then(text("x").gate("end"));
    let running = scene.world.run(["-p", "PARENT-1 go", "--dangerously-skip-permissions"]);
    let running = running.args(["-C", elsewhere.to_str().unwrap()]).start();
    let assert_unmoved = |at: &str| {
        let here = BTreeSet::from([project.clone()]);
        assert_eq!(process::cwds(running.pid()), here, "{at}: all threads stay");
    };
    scene.server.reached("before").await;
    assert_unmoved("before the command");
    scene.server.open("before");
    at_root.opened().await;
    assert_unmoved("while a shell stands in /");
    let shells = process::children(running.pid());
    assert!(!shells.is_empty(), "the shell is a child");
    std::fs::write(project.join("on.fifo"), "go\n").unwrap();
    for gate in ["after", "end"] {
        scene.server.reached(gate).await;
        assert_unmoved(gate);
        scene.server.open(gate);
    }
    running.wait().await.assert_code(0);
    let second = scene.server.requests_of("CHILD-A")[2].tool_result();
    assert_eq!(second.text.trim(), "/", "the child's shell did move");
    scene.server.finish();
}

/// Notes each call of `getenv`: a line with the process and the name.
const GETENV_SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
char *getenv(const char *name) {
    static char *(*real)(const char *);
    if (!real) real = (char *(*)(const char *))dlsym(RTLD_NEXT, "getenv");
    char *path = real("GETENV_LOG");
    if (path) {
        int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        if (file >= 0) {
            dprintf(file, "%d %s\n", (int)getpid(), name);
            close(file);
        }
    }
    return real(name);
}
"#;

#[tokio::test]
async fn the_environment_is_not_read_after_the_start() {
    let scene = Scene::new();
    let (source, shim) =
        (scene.world.settings_dir().join("shim.c"), scene.world.settings_dir().join("shim.so"));
    std::fs::write(&source, GETENV_SHIM).unwrap();
    let built = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-w", "-o"])
        .args([&shim, &source])
        .arg("-ldl")
        .status();
    if !built.is_ok_and(|status| status.success()) {
        skip("the_environment_is_not_read_after_the_start", "there is no C compiler");
        return;
    }
    let calls = scene.world.settings_dir().join("getenv.log");
    let listed = std::process::Command::new("ls")
        .env("LD_PRELOAD", &shim)
        .env("GETENV_LOG", &calls)
        .output();
    let listed = listed.is_ok_and(|output| output.status.success());
    assert!(listed && calls.exists(), "the shim notes what an ordinary program reads");
    scene.parent_calls([agent("CHILD-A")]);
    scene
        .server
        .when("CHILD-A")
        .reply(text("x").gate("started").tool_use("Bash", bash("true")))
        .then(text("x").gate("end"));
    let run = scene.run().env("LD_PRELOAD", shim.to_str().unwrap());
    let running = run.env("GETENV_LOG", calls.to_str().unwrap()).start();
    let own = format!("{} ", running.pid());
    let read = || -> Vec<String> {
        let all = std::fs::read_to_string(&calls).unwrap();
        all.lines().filter(|line| line.starts_with(&own)).map(str::to_owned).collect()
    };
    scene.server.reached("started").await;
    let before = read();
    scene.server.open("started");
    scene.server.reached("end").await;
    assert_eq!(read(), before, "read in the middle of the run");
    scene.server.open("end");
    running.wait().await.assert_code(0);
    scene.server.finish();
}

#[tokio::test]
async fn commands_see_no_provider_keys() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(tool_use("Bash", bash("env | sort"))).then(text("ok"));
    scene.go().await;
    let env = scene.server.requests_of("CHILD-A")[1].tool_result();
    assert!(env.text.contains("PATH="), "{env:?}");
    assert!(!env.text.contains(crate::support::world::KEY), "{env:?}");
    assert!(env.text.contains("CALIBAN_DEPTH="), "{env:?}");
    scene.server.finish();
}
