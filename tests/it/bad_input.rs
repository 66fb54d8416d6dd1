//! Input that makes no sense, and a world that refuses: one clear message, the right exit code, nothing lost.

use serde_json::json;

use crate::support::pty::Screen;
use crate::support::scene::{Scene, bash};
use crate::support::script::{text, tool_use};

/// One line on stderr that names all of `named`, nothing on stdout.
async fn refused(scene: &Scene, args: &[&str], code: i32, named: &[&str]) {
    let run = scene.world.run(args.iter().copied()).finish().await;
    run.assert_code(code);
    assert_eq!(run.stdout, "", "{args:?}");
    assert!(run.stderr.starts_with("caliban: ") && run.stderr.lines().count() == 1, "{run}");
    for name in named {
        assert!(run.stderr.contains(name), "{args:?}: {name} is not named\n{run}");
    }
    assert_eq!(scene.server.requests().len(), 0);
}

#[tokio::test]
async fn each_thing_wrong_in_a_configuration_is_named_with_its_file_and_line() {
    let scene = Scene::new();
    for (toml, named) in [
        ("[model]\nname = \"a\"\n[modell]\n", &[":3", "modell", "model"][..]),
        ("[model]\nmax_tokns = 1\n", &[":2", "max_tokns", "max_tokens"]),
        ("[model]\nmax_tokens = \"many\"\n", &[":2", "max_tokens"]),
        ("[permissions]\n\nmode = \"sometimes\"\n", &[":3", "sometimes", "acceptEdits", "plan"]),
        ("[permissions]\nallow = [\"Bash(\"]\n", &["Bash("]),
        ("[providers.mine]\nkind = \"antropic\"\n", &[":2", "antropic", "openai_chat"]),
        ("[tui]\npanes = \"left\"\n", &[":2", "left", "right", "below"]),
        ("[model\n", &[":1"]),
    ] {
        scene.world.config(toml);
        refused(&scene, &["-p", "x"], 2, &[&["config.toml"], named].concat()).await;
    }
}

#[tokio::test]
async fn a_configuration_that_cannot_be_read_is_named() {
    let scene = Scene::new();
    let path = scene.world.settings_dir().join("config.toml");
    std::fs::write(&path, b"[model]\nname = \"\xff\"\n").unwrap();
    refused(&scene, &["-p", "x"], 2, &["config.toml", "UTF-8"]).await;
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    refused(&scene, &["-p", "x"], 2, &["config.toml", "cannot be read"]).await;
}

#[tokio::test]
async fn the_screen_does_not_open_on_a_broken_configuration() {
    let scene = Scene::new();
    scene.world.config("[tui]\npanes = \"left\"\n");
    let screen = Screen::start(&scene.world, ["hello"], 80, 24);
    let left = screen.exit();
    assert_eq!(left.exit, Ok(2));
    let raw = String::from_utf8_lossy(&left.raw).into_owned();
    assert!(raw.contains("config.toml:2") && !raw.contains("\u{1b}["), "{raw}");
}

#[tokio::test]
async fn names_of_things_that_are_not_there_are_refused_with_those_that_are() {
    let scene = Scene::new();
    refused(&scene, &["-p", "x", "--provider", "nobody"], 2, &["nobody", "anthropic"]).await;
    refused(&scene, &["-p", "x", "-C", "not/here"], 2, &["not/here"]).await;
    scene.world.write("a-file", "");
    refused(&scene, &["-p", "x", "-C", "a-file"], 2, &["a-file", "directory"]).await;
    refused(&scene, &["agents", "show", "nobody"], 2, &["nobody", "general-purpose"]).await;
    refused(&scene, &["sessions", "show", "0123abcd"], 2, &["0123abcd"]).await;
}

#[tokio::test]
async fn a_call_of_an_unknown_agent_is_told_which_there_are() {
    let scene = Scene::new();
    let call = json!({ "prompt": "look", "agent": "nobody" });
    scene.server.when("TASK-1").reply(tool_use("AgentTool", call)).then(text("ok"));
    let run = scene.world.run(["-p", "TASK-1", "--dangerously-skip-permissions"]);
    run.finish().await.assert_code(0);
    let result = scene.server.requests()[1].tool_result();
    assert!(result.is_error, "{result:?}");
    assert!(
        result.text.contains("nobody") && result.text.contains("general-purpose"),
        "{result:?}"
    );
    scene.server.finish();
}

#[tokio::test]
async fn stdin_that_is_no_text_is_exit_2_without_a_request() {
    let scene = Scene::new();
    let run = scene.world.run(["-p", "HELLO-1"]).stdin(b"caf\xe9\n".as_slice()).finish().await;
    run.assert_code(2);
    assert!(run.stderr.contains("stdin") && run.stderr.contains("UTF-8"), "{run}");
    assert_eq!(scene.server.requests().len(), 0);
}

#[tokio::test]
async fn a_full_disk_under_the_session_is_told_and_what_was_written_stays() {
    let scene = Scene::new();
    let answer = "a".repeat(3000);
    scene.server.when("HELLO-1").reply(text(&answer)).then(text(&answer)).then(text("ok"));
    scene.world.run(["-p", "HELLO-1"]).finish().await.assert_code(0);
    let path = scene.world.session().join("transcript.jsonl");
    let before = std::fs::read_to_string(&path).unwrap();
    // There is room for the prompt, and not for the answer.
    let room = u32::try_from(before.len() / 1024 + 2).unwrap();
    let run = scene.world.run(["-c", "-p", "second"]).file_limit(room).finish().await;
    run.assert_code(1);
    assert!(run.stderr.contains("free some space"), "{run}");
    let after = std::fs::read_to_string(&path).unwrap();
    assert!(after.starts_with(&before), "what was written stays");
    for line in after.lines() {
        serde_json::from_str::<serde_json::Value>(line).expect(line);
    }
    let next = scene.world.run(["-c", "-p", "third"]).finish().await;
    next.assert_code(0);
    let request = scene.server.requests().pop().unwrap();
    assert!(request.text().contains(&answer) && request.text().contains("second"), "it goes on");
    scene.server.finish();
}

#[tokio::test]
async fn a_session_store_that_cannot_be_written_to_is_told_before_any_request() {
    let scene = Scene::new();
    std::fs::write(scene.world.settings_dir().join("sessions"), "in the way").unwrap();
    let run = scene.world.run(["-p", "HELLO-1"]).finish().await;
    assert_ne!(run.code, Some(0), "{run}");
    assert!(run.stderr.contains("CALIBAN_HOME"), "{run}");
    assert_eq!(scene.server.requests().len(), 0);
}

#[tokio::test]
async fn a_reader_of_stdout_that_goes_away_is_no_panic() {
    let scene = Scene::new();
    let long = "line\n".repeat(50_000);
    scene.server.when("HELLO-1").reply(text(long).tool_use("Bash", bash("true"))).then(text("ok"));
    let program = env!("CARGO_BIN_EXE_caliban");
    let script =
        format!("{program} -p HELLO-1 --output-format stream-json | head -n 1 | cut -c 1-20");
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", &script]).current_dir(scene.world.project_dir()).env_clear();
    shell.envs(scene.world.variables().iter().cloned());
    let output = tokio::task::spawn_blocking(move || shell.output().unwrap()).await.unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!stderr.contains("panicked"), "{stderr}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1);
}
