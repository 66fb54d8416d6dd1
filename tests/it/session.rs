//! Stored sessions: going on with one, and finding the way back after a crash.

use std::io::Write;

use nix::sys::signal::Signal;

use crate::support::process::Fifo;
use crate::support::pty::{CTRL_D, Screen};
use crate::support::record::Wire;
use crate::support::run::Running;
use crate::support::scene::{DONE, PARENT, Scene, agent, bash};
use crate::support::script::{Reply, text, tool_use};

const JSON: [&str; 2] = ["--output-format", "json"];

async fn said(scene: &Scene, args: &[&str]) -> serde_json::Value {
    let run = scene.world.run(args.iter().copied()).args(JSON).finish().await;
    run.assert_code(0);
    run.result()
}

#[tokio::test]
async fn continue_and_resume_go_on_with_the_same_session() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("one")).then(text("two")).then(text("three"));
    let id = said(&scene, &["-p", "HELLO-1"]).await["session_id"].as_str().unwrap().to_owned();
    assert_eq!(scene.world.session().file_name().unwrap().to_str(), Some(id.as_str()));
    assert_eq!(said(&scene, &["-c", "-p", "second"]).await["session_id"], id);
    let prefix = &id[..id.len() - 2];
    assert_eq!(said(&scene, &["--resume", prefix, "-p", "third"]).await["session_id"], id);
    let last = scene.server.requests().pop().unwrap();
    let roles: Vec<_> = last.messages().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
    for part in ["HELLO-1", "one", "second", "two", "third"] {
        assert!(last.text().contains(part), "{part}");
    }
    assert_eq!(scene.world.sessions().len(), 1);
    scene.server.finish();
}

#[tokio::test]
async fn what_cannot_be_resumed_is_exit_2_without_a_request() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("one"));
    for args in [["-c", "-p", "x"].as_slice(), &["--resume", "0123abcd", "-p", "x"]] {
        scene.world.run(args.iter().copied()).finish().await.assert_code(2);
    }
    assert_eq!(scene.server.requests().len(), 0);
    said(&scene, &["-p", "HELLO-1"]).await;
    // `--continue` means the newest session of this directory, not of another.
    let elsewhere = scene.world.settings_dir();
    let args = ["-C", elsewhere.to_str().unwrap(), "-c", "-p", "x"];
    scene.world.run(args).finish().await.assert_code(2);
    scene.server.finish();
}

#[tokio::test]
async fn a_session_can_be_named_or_not_be_kept() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").forever(text("one"));
    said(&scene, &["-p", "HELLO-1", "--no-session"]).await;
    assert_eq!(scene.world.sessions().len(), 0);
    let id = "019a9e9e-0000-7000-8000-000000000077";
    assert_eq!(said(&scene, &["-p", "HELLO-1", "--session-id", id]).await["session_id"], id);
    assert!(scene.world.session().ends_with(id));
}

#[tokio::test]
async fn a_torn_last_line_is_tolerated() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("one")).then(text("two")).then(text("three"));
    said(&scene, &["-p", "HELLO-1"]).await;
    let path = scene.world.session().join("transcript.jsonl");
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(b"{\"role\":\"assistant\",\"content\":[{\"type\":\"te").unwrap();
    drop(file);
    said(&scene, &["-c", "-p", "second"]).await;
    // What is appended after the tear can be read again, too.
    said(&scene, &["-c", "-p", "third"]).await;
    let last = scene.server.requests().pop().unwrap();
    assert_eq!(last.messages().len(), 5);
    scene.server.finish();
}

/// Kills the program, goes on, and checks that the open call is closed as interrupted and nothing runs again.
async fn kill_and_go_on(scene: &Scene, running: Running) {
    running.signal(Signal::SIGKILL);
    assert_eq!(running.wait().await.code, None);
    let children = scene.server.requests_of("CHILD-A").len();
    let args = ["-c", "-p", "go on", "--dangerously-skip-permissions"];
    let next = scene.world.run(args).finish().await;
    next.assert_code(0);
    assert_eq!(next.stdout, format!("{DONE}\n"));
    assert_eq!(scene.server.requests_of("CHILD-A").len(), children, "the child is not run again");
    let request = scene.server.requests_of(PARENT).pop().unwrap();
    let result = request.tool_result();
    assert!(result.is_error && result.text.contains("interrupted"), "{result:?}");
    let file = scene.world.child_transcripts().remove(0);
    let id = file.file_stem().unwrap().to_str().unwrap();
    assert!(result.text.contains(id), "the agent's id is named: {result:?}");
    assert!(request.messages().last().unwrap().to_string().contains("go on"));
}

/// A parent that waits for a child which does this.
fn scene_with(replies: impl IntoIterator<Item = Reply>) -> Scene {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    for reply in replies {
        scene.server.when("CHILD-A").reply(reply);
    }
    scene
}

#[tokio::test]
async fn killed_before_the_child_has_any_answer() {
    let scene = scene_with([text("x").before_headers("held")]);
    let running = scene.run().start();
    scene.server.reached("held").await;
    kill_and_go_on(&scene, running).await;
    scene.server.finish();
}

#[tokio::test]
async fn killed_in_the_middle_of_the_childs_stream() {
    let scene = scene_with([text("half").gate("held")]);
    let running = scene.run().start();
    scene.server.reached("held").await;
    kill_and_go_on(&scene, running).await;
    scene.server.finish();
}

#[tokio::test]
async fn killed_in_the_middle_of_the_childs_tool() {
    let scene = scene_with([tool_use("Bash", bash("echo go > started.fifo; sleep 8.3717"))]);
    let started = Fifo::new(&scene.world.project_dir().join("started.fifo"));
    let running = scene.run().start();
    started.opened().await;
    kill_and_go_on(&scene, running).await;
    scene.server.finish();
}

#[tokio::test]
async fn killed_after_the_childs_tool() {
    let second = text("x").before_headers("held");
    let scene = scene_with([text("first").tool_use("Bash", bash("true")), second]);
    let running = scene.run().start();
    scene.server.reached("held").await;
    kill_and_go_on(&scene, running).await;
    scene.server.finish();
}

#[tokio::test]
async fn killed_before_the_parent_has_its_answer() {
    let scene = Scene::new();
    let held = text("x").before_headers("held");
    let first = crate::support::scene::calls([agent("CHILD-A")]);
    scene.server.when(PARENT).reply(first).then(held).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("the report"));
    let running = scene.run().start();
    scene.server.reached("held").await;
    running.signal(Signal::SIGKILL);
    running.wait().await;
    let next = scene.world.run(["-c", "-p", "go on"]).finish().await;
    next.assert_code(0);
    let request = scene.server.requests_of(PARENT).pop().unwrap();
    assert_eq!(request.tool_result().text, "the report", "finished work is kept");
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 1);
    scene.server.finish();
}

#[tokio::test]
async fn killed_in_the_middle_of_mains_own_answer_and_of_its_own_tool() {
    let scene = Scene::new();
    let call = text("kept-77").tool_use("Bash", bash("echo go > started.fifo; sleep 8.3719"));
    scene.server.when(PARENT).reply(text("lost-66").gate("held")).then(call).then(text(DONE));
    let running = scene.run().start();
    scene.server.reached("held").await;
    running.signal(Signal::SIGKILL);
    running.wait().await;
    let started = Fifo::new(&scene.world.project_dir().join("started.fifo"));
    let again = scene.world.run(["-c", "-p", "again", "--dangerously-skip-permissions"]).start();
    started.opened().await;
    again.signal(Signal::SIGKILL);
    again.wait().await;
    let last = scene.world.run(["-c", "-p", "once more"]).finish().await;
    last.assert_code(0);
    let request = scene.server.requests().pop().unwrap();
    let result = request.tool_result();
    assert!(result.is_error && result.text.contains("interrupted"), "{result:?}");
    for kept in ["PARENT-1 go", "again", "kept-77", "once more"] {
        assert!(request.text().contains(kept), "{kept}: {}", request.text());
    }
    scene.server.finish();
}

#[tokio::test]
async fn two_programs_do_not_write_to_one_session() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("one")).then(text("two").gate("held"));
    let id = said(&scene, &["-p", "HELLO-1"]).await["session_id"].as_str().unwrap().to_owned();
    let first = scene.world.run(["--resume", &id, "-p", "second"]).start();
    scene.server.reached("held").await;
    let second = scene.world.run(["--resume", &id, "-p", "third"]).finish().await;
    assert_ne!(second.code, Some(0), "{second}");
    assert_eq!(second.code, Some(2), "{second}");
    let named = ["another caliban", "--fork-session"];
    assert!(named.iter().all(|part| second.stderr.contains(part)), "{second}");
    // The screen only shows it.
    for args in [["--resume", &id].as_slice(), &["-c"]] {
        let screen = Screen::start(&scene.world, args.iter().copied(), 120, 24);
        let shown = screen.wait_for("read-only: at work in the other caliban");
        assert!(shown.contains("one") && shown.contains("as --fork-session does"), "{shown}");
        screen.keys(CTRL_D);
        assert_eq!(screen.exit().exit, Ok(0));
    }
    scene.server.open("held");
    first.wait().await.assert_code(0);
    scene.server.finish();
}

#[tokio::test]
async fn a_fork_begins_with_the_history_and_leaves_the_session_as_it_was() {
    let scene = Scene::new();
    let answer = |word: &str, input: u64| text(word).usage(input, 5);
    let answers = scene.server.when("HELLO-1").reply(answer("one", 1_000));
    answers.then(answer("two", 2_000)).then(answer("three", 3_000));
    scene.server.when("HELLO-1").reply(answer("four", 4_000));
    let id = said(&scene, &["-p", "HELLO-1"]).await["session_id"].as_str().unwrap().to_owned();
    let used = |result: &serde_json::Value| {
        let models = result["modelUsage"].as_object().unwrap().values();
        models.map(|model| model["inputTokens"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let transcript = scene.world.session().join("transcript.jsonl");
    let before = std::fs::read(&transcript).unwrap();
    let named = "01990000-0000-7000-8000-00000000000a";
    let args = ["--resume", &id, "--fork-session", "--session-id", named, "-p", "second"];
    let second = said(&scene, &args).await;
    assert_eq!(second["session_id"], named);
    assert_eq!(used(&second), [2_000]);
    let third = said(&scene, &["-c", "--fork-session", "-p", "third"]).await;
    assert_eq!(used(&third), [3_000], "what the other sessions used is theirs");
    let fork = third["session_id"].clone();
    assert!(fork != id.as_str() && fork != named, "{fork}");
    assert_eq!(std::fs::read(&transcript).unwrap(), before);
    assert_eq!(scene.world.sessions().len(), 3);
    let roles = |at: usize| scene.server.requests()[at].messages().len();
    assert_eq!([roles(0), roles(1), roles(2)], [1, 3, 5], "the newest was forked again");
    let again = said(&scene, &["--resume", named, "-p", "on"]).await;
    assert_eq!(again["session_id"], named);
    assert_eq!(used(&again), [6_000]);
    assert_eq!(roles(3), 5, "the fork goes on by itself");
    let run = scene.world.run(["-r", "--fork-session", "-p", "x"]).finish().await;
    assert!(run.assert_code(2).stderr.contains("--fork-session"), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_session_is_exported_with_its_sub_agents_as_one_file() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(text("CHILD-SAYS-5"));
    let run = scene.go().await;
    let id = run.result()["session_id"].as_str().unwrap().to_owned();
    let export = async |more: &[&str]| {
        let args = [&["sessions", "export", &id[..20]], more].concat();
        let run = scene.world.run(args).finish().await;
        run.assert_code(0);
        run.stdout
    };
    let file: serde_json::Value = serde_json::from_str(&export(&[]).await).unwrap();
    assert_eq!(file["session"]["id"], id.as_str());
    let agents = file["agents"].as_array().unwrap();
    assert_eq!(agents.len(), 2);
    assert_eq!(agents[0]["agent"], serde_json::Value::Null);
    assert!(agents[0]["messages"].to_string().contains(PARENT));
    assert_eq!(agents[1]["agent"]["agent"], "general-purpose");
    assert!(agents[1]["messages"].to_string().contains("CHILD-SAYS-5"));
    assert_eq!(agents[1]["end"]["end"], "completed");
    let page = export(&["--format", "markdown"]).await;
    assert!(page.starts_with(&format!("# Session {id}\n")) && page.contains("# general-purpose"));
    assert!(page.contains(DONE) && page.contains("CHILD-SAYS-5"));
    let none = scene.world.run(["sessions", "export", "ffffffff"]).finish().await;
    none.assert_code(2);
}

#[tokio::test]
async fn a_session_is_removed_unless_a_program_writes_to_it() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("one").gate("hold"));
    let running = scene.world.run(["-p", "HELLO-1"]).start();
    scene.server.reached("hold").await;
    let folder = scene.world.session();
    let id = folder.file_name().unwrap().to_str().unwrap().to_owned();
    let refused = scene.world.run(["sessions", "rm", &id]).finish().await;
    refused.assert_code(2);
    assert!(refused.stderr.contains("another"), "{refused}");
    assert!(folder.join("transcript.jsonl").exists());
    scene.server.open("hold");
    running.wait().await.assert_code(0);
    let run = scene.world.run(["sessions", "rm", &id]).finish().await;
    assert_eq!(run.assert_code(0).stdout, format!("Removed session {id}.\n"));
    assert_eq!(scene.world.sessions().len(), 0);
    scene.world.run(["sessions", "rm", &id]).finish().await.assert_code(2);
    scene.server.finish();
}

#[tokio::test]
async fn a_resumed_session_keeps_its_provider_and_model_unless_others_are_named() {
    let mut scene = Scene::new();
    for prompt in [
        "HELLO-1",
        "SECOND-2",
        "THIRD-3",
        "FOURTH-4",
        "FIFTH-5",
        "SIXTH-6",
        "SEVENTH-7",
        "EIGHTH-8",
        "NINTH-9",
    ] {
        scene.server.when(prompt).forever(text("one"));
    }
    let theirs = ["--provider", "openai", "--model", "gpt-5.4-mini"];
    said(&scene, &[theirs.as_slice(), &["-p", "HELLO-1"]].concat()).await;
    let asked = |scene: &Scene| {
        let last = scene.server.requests().pop().unwrap();
        (last.wire, last.model().to_owned())
    };
    let began = (Wire::Chat, "gpt-5.4-mini".to_owned());
    assert_eq!(asked(&scene), began);
    said(&scene, &["-c", "-p", "SECOND-2"]).await;
    assert_eq!(asked(&scene), began, "Anthropic has a key too, and comes first by default");
    said(&scene, &["-c", "--fork-session", "-p", "THIRD-3"]).await;
    assert_eq!(asked(&scene), began);
    // What is named counts, by an option as by a file.
    said(&scene, &["-c", "--model", "claude-opus-4-8", "-p", "FOURTH-4"]).await;
    assert_eq!(asked(&scene), (Wire::Anthropic, "claude-opus-4-8".to_owned()));
    // A project does not choose who gets what was said.
    scene.world.write(".caliban/config.toml", "[model]\nname = \"claude-opus-4-8\"\n");
    said(&scene, &["-c", "-p", "SEVENTH-7"]).await;
    assert_eq!(asked(&scene), began);
    std::fs::remove_file(scene.world.project_dir().join(".caliban/config.toml")).unwrap();
    scene.world.config("[model]\nprovider = \"anthropic\"\n");
    said(&scene, &["-c", "-p", "FIFTH-5"]).await;
    assert_eq!(asked(&scene).0, Wire::Anthropic);
    scene.world.config("");
    Screen::start(&scene.world, ["-c"], 120, 30).wait_for("default · gpt-5.4-mini");
    scene.world.unset("OPENAI_API_KEY");
    let run = scene.world.run(["-c", "-p", "SIXTH-6"]).finish().await;
    run.assert_code(0);
    assert_eq!(asked(&scene).0, Wire::Anthropic);
    let told = "The session used gpt-5.4-mini of openai, but OPENAI_API_KEY is not set now.";
    assert_eq!(run.stderr.matches(told).count(), 1, "{run}");
    scene.world.unset("ANTHROPIC_API_KEY");
    let screen = Screen::start(&scene.world, ["-c"], 200, 40);
    screen.wait_for(told);
    screen.wait_for("No model yet");
    scene.server.finish();
}
