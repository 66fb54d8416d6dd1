//! A stored session on the screen: its agents are there as they were, whoever ended the program.

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{BYPASS, send};
use crate::pictures::masked;
use crate::support::process::{self, Fifo};
use crate::support::pty::{CTRL_C, CTRL_D, ENTER, ESC_ALONE, Screen, TAB};
use crate::support::scene::{DONE, PARENT, Scene, agent_with, bash, calls};
use crate::support::script::{Reply, error, text, tool_use};

const CONTINUE: [&str; 2] = [BYPASS, "-c"];

fn titled(word: &str, title: &str) -> Value {
    agent_with(word, "description", json!(title))
}

/// Three children: one is done, one reaches its limit of turns, one fails.
fn scene(config: &str) -> Scene {
    let scene = Scene::new();
    scene.world.config(&format!("[tui]\nmotion = \"reduced\"\n{config}"));
    let mut limited = titled("CHILD-B", "read the tests");
    limited["max_turns"] = json!(2);
    let batch = [titled("CHILD-A", "map the routes"), limited, titled("CHILD-C", "check")];
    scene.server.when(PARENT).reply(calls(batch).usage(3_000, 10));
    scene.server.when(PARENT).reply(text(DONE).usage(50_000, 100));
    let step = |word: &str| tool_use("Bash", bash(&format!("echo {word}"))).usage(2_000, 20);
    scene.server.when("CHILD-A").reply(step("OUT-66"));
    scene.server.when("CHILD-A").reply(text("FOUND-66").usage(2_500, 30));
    scene.server.when("CHILD-B").reply(step("one")).then(text("HALF-66").usage(1_000, 10));
    scene.server.when("CHILD-C").reply(error(400, "invalid_request_error", "not this"));
    scene
}

/// What a user can see of the agents: the transcript, the panes with this work of theirs, the
/// costs and the list.
fn pictures(screen: &Screen, work: &[&str]) -> [String; 4] {
    let shown = screen.wait_until("the folded batch", |shown| {
        shown.contains(DONE) && shown.contains("✓ 1 ✗ 1 ~ 1") && shown.contains("Ctrl+D quits")
    });
    let main = masked(&shown);
    screen.keys(TAB);
    // What was said in the other panes may be read after the first.
    let panes = masked(&screen.wait_until("the panes", |shown| {
        let ends = ["Enter open", "HALF-66"];
        ends.iter().chain(work).all(|part| shown.contains(part))
    }));
    screen.keys(ESC_ALONE);
    screen.wait_for("Ctrl+D quits");
    send(screen, "/cost");
    let costs = masked(&screen.wait_for("agents included"));
    // Esc is deaf for a moment after it took a step; Ctrl+C closes as well.
    screen.keys(CTRL_C);
    screen.wait_for("Ctrl+D quits");
    send(screen, "/agents");
    let list = masked(&screen.wait_until("the list", |shown| {
        shown.contains("@ plan") && shown.contains("this session")
    }));
    screen.keys(ESC_ALONE);
    screen.wait_for("Ctrl+D quits");
    [main, panes, costs, list]
}

fn assert_same(before: &[String; 4], after: &[String; 4]) {
    for (before, after) in before.iter().zip(after) {
        assert_eq!(before, after, "\n{before}\n{after}");
    }
}

/// Quits when the turn is over: before that, the keys mean something else.
fn quit_after_turn(screen: Screen) {
    screen.quit_when_idle();
    assert_eq!(screen.exit().exit, Ok(0));
}

fn quit(screen: Screen) {
    screen.keys(CTRL_D);
    assert_eq!(screen.exit().exit, Ok(0));
}

/// The picture without the limits of turns, whose column has another width then.
fn without_limits(shown: &str) -> String {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = shown.lines().map(words).collect();
    // Nor is there anything to resume once an agent without a file is no longer in memory.
    let hint = " · /agents resumes what ended early";
    lines.join("\n").replace("/20 ", " ").replace(" 2/2 ", " 2 ").replace(hint, "")
}

/// The files as an earlier version wrote them.
fn make_old(scene: &Scene) {
    for file in scene.world.child_transcripts() {
        let stored = std::fs::read_to_string(&file).unwrap();
        let lines = stored.lines().map(|line| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            if let Some(agent) = record.get_mut("agent").and_then(Value::as_object_mut) {
                let known: Vec<_> = ["max_turns", "background"].map(|key| agent.remove(key)).into();
                assert!(known.iter().all(Option::is_some), "{line}");
            }
            format!("{record}\n")
        });
        let lines: String = lines.collect();
        std::fs::write(&file, lines).unwrap();
    }
}

#[tokio::test]
async fn a_resumed_session_shows_its_agents_costs_and_context_as_they_were() {
    let scene = scene("");
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 36);
    let live = pictures(&screen, &["OUT-66", "echo one"]);
    assert!(live[0].contains("context 5%"), "{}", live[0]);
    quit(screen);
    let screen = Screen::start(&scene.world, CONTINUE, 120, 36);
    assert_same(&live, &pictures(&screen, &["OUT-66", "echo one"]));
    screen.signal(Signal::SIGKILL);
    drop(screen);
    let screen = Screen::start(&scene.world, CONTINUE, 120, 36);
    assert_same(&live, &pictures(&screen, &["OUT-66", "echo one"]));
    quit(screen);
    // A file of an earlier version does not say how many turns an agent had.
    make_old(&scene);
    let screen = Screen::start(&scene.world, CONTINUE, 120, 36);
    let [main, _, costs, list] = pictures(&screen, &["OUT-66", "echo one"]);
    assert_eq!(
        [main, costs, list].map(|it| without_limits(&it)),
        [0, 2, 3].map(|at| without_limits(&live[at]))
    );
    assert_eq!(scene.server.requests().len(), 7, "looking costs nothing");
}

#[tokio::test]
async fn the_zoomed_view_of_a_stored_agent_has_its_task_its_calls_and_its_answer() {
    let scene = scene("");
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 36);
    pictures(&screen, &["OUT-66", "echo one"]);
    quit(screen);
    let screen = Screen::start(&scene.world, CONTINUE, 120, 36);
    screen.wait_for("✓ 1 ✗ 1 ~ 1");
    screen.keys(TAB);
    screen.wait_for("Enter open");
    screen.keys(ENTER);
    let parts =
        ["main › 1 ", "echo OUT-66", "task: CHILD-A look around", "● Bash", "FOUND-66", "2/20"];
    screen.wait_until("the zoomed agent", |shown| parts.iter().all(|part| shown.contains(part)));
    screen.keys(TAB);
    let parts = ["main › 2 ", "task: CHILD-B look around", "echo one", "HALF-66"];
    screen.wait_until("the second agent", |shown| parts.iter().all(|part| shown.contains(part)));
    quit(screen);
}

#[tokio::test]
async fn stored_calls_are_shown_in_the_words_of_their_tools() {
    let scene = Scene::new();
    scene.world.write("src/a.txt", "one\ntwo\nthree\n");
    let path = scene.world.project_dir().join("src/a.txt");
    let todos = json!([{"content": "ITEM-1", "status": "in_progress", "activeForm": "doing"}]);
    let calls = tool_use("Grep", json!({"pattern": "two", "path": "src"}))
        .tool_use("Glob", json!({"pattern": "**/*.txt"}))
        .tool_use("Read", json!({"file_path": path, "offset": 2, "limit": 1}))
        .tool_use("TodoWrite", json!({"todos": todos}));
    scene.server.when(PARENT).reply(calls).then(text(DONE));
    let words = ["Grep \"two\" in src", "Glob \"**/*.txt\"", "src/a.txt lines 2-2", " ITEM-1"];
    for arguments in [[BYPASS, "PARENT-1 go"], CONTINUE] {
        let screen = Screen::start(&scene.world, arguments, 120, 36);
        let shown = screen.wait_for(DONE);
        for words in words {
            assert!(shown.contains(words), "{words}\n{shown}");
        }
        quit_after_turn(screen);
    }
}

#[tokio::test]
async fn the_end_of_a_background_command_is_the_same_line_after_a_resume() {
    let scene = Scene::new();
    let command = "mkfifo next; read -r _ < next; exit 3";
    let server = json!({"command": command, "run_in_background": true});
    let main = scene.server.when(PARENT);
    main.reply(tool_use("Bash", server)).then(text("STARTED-66")).then(text(DONE));
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 36);
    screen.wait_for("STARTED-66");
    let next = scene.world.project_dir().join("next");
    tokio::task::spawn_blocking(move || std::fs::write(next, "go\n")).await.unwrap().unwrap();
    screen.wait_for(DONE);
    let line = "bash-1 failed · exit code 3 · mkfifo next; read -r _ < next; exit 3";
    screen.wait_for(line);
    quit_after_turn(screen);
    let shown = Screen::start(&scene.world, CONTINUE, 120, 36).wait_for(DONE);
    assert!(shown.contains(line) && !shown.contains("BashOutput shows"), "{shown}");
    scene.server.finish();
}

#[tokio::test]
async fn background_commands_are_listed_after_a_resume_with_how_they_ended() {
    let scene = Scene::new();
    let start =
        |command: &str| tool_use("Bash", json!({"command": command, "run_in_background": true}));
    let sleep = format!("sleep {}", process::marked_seconds(73));
    let main = scene.server.when(PARENT).reply(start("mkfifo next; read -r _ < next; exit 3"));
    let main = main.then(text("STARTED-66")).then(text(DONE));
    let main = main.then(start(&sleep)).then(text("SECOND-66"));
    main.then(start("exec sleep 77.1441")).then(text("THIRD-66"));
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 40);
    screen.wait_for("STARTED-66");
    let next = scene.world.project_dir().join("next");
    tokio::task::spawn_blocking(move || std::fs::write(next, "go\n")).await.unwrap().unwrap();
    screen.wait_for(DONE);
    screen.wait_for("Ctrl+D quits");
    send(&screen, "more");
    screen.wait_for("SECOND-66");
    screen.quit_when_idle();
    screen.wait_for("1 command is running · Ctrl+D again stops it and quits");
    quit(screen);
    let screen = Screen::start(&scene.world, CONTINUE, 120, 40);
    let shown = screen.wait_for("SECOND-66");
    assert!(shown.contains("ran in the background as bash-2 until it was killed"), "{shown}");
    assert!(!shown.contains("runs in the background as bash-2"), "{shown}");
    assert!(!shown.contains("$ sleep"), "no row above the prompt: {shown}");
    send(&screen, "/agents");
    let shown = screen.wait_for("@ plan");
    assert!(shown.contains("bash-1  ✗ exit code 3"), "{shown}");
    assert!(shown.contains("bash-2  ⊘ killed") && !shown.contains("running"), "{shown}");
    screen.keys(ENTER);
    screen.wait_for("its output is not stored");
    screen.keys(CTRL_C);
    screen.wait_for("Ctrl+D quits");
    // A new one has a number of its own.
    send(&screen, "more");
    screen.wait_for("THIRD-66");
    send(&screen, "/agents");
    let shown = screen.wait_for("@ plan");
    assert!(shown.contains("bash-3  ") && shown.contains("bash-1  ✗ exit code 3"), "{shown}");
    scene.server.finish();
}

#[tokio::test]
async fn background_commands_of_sub_agents_are_listed_after_a_resume_and_keep_their_numbers() {
    let scene = Scene::new();
    let sleep = format!("sleep {}", process::marked_seconds(73));
    let start =
        |command: &str| tool_use("Bash", json!({"command": command, "run_in_background": true}));
    let main = scene.server.when(PARENT).reply(calls([titled("CHILD-A", "serve")]));
    main.then(text(DONE)).then(start("exec sleep 77.1442")).then(text("SECOND-66"));
    scene.server.when("CHILD-A").reply(start(&sleep)).then(text("FOUND-66"));
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 40);
    screen.wait_for(DONE);
    screen.quit_when_idle();
    screen.exit();
    let screen = Screen::start(&scene.world, CONTINUE, 120, 40);
    screen.wait_for(DONE);
    send(&screen, "/agents");
    let shown = screen.wait_for("@ plan");
    assert!(shown.contains("bash-1  ⊘ killed"), "{shown}");
    screen.keys(CTRL_C);
    screen.wait_for("Ctrl+D quits");
    send(&screen, "more");
    let shown = screen.wait_for("SECOND-66");
    assert!(shown.contains("in the background as bash-2"), "{shown}");
    scene.server.finish();
}

#[tokio::test]
async fn what_results_tell_the_model_alone_is_not_on_the_screen() {
    let scene = Scene::new();
    let server = json!({"command": "sleep 76.1177", "run_in_background": true, "timeout": 60_000});
    let start = tool_use("Bash", server);
    let end = tool_use("KillShell", json!({"shell_id": "bash-1"}));
    scene.server.when(PARENT).reply(start).then(end).then(text(DONE));
    for arguments in [[BYPASS, "PARENT-1 go"], CONTINUE] {
        let screen = Screen::start(&scene.world, arguments, 120, 36);
        let shown = screen.wait_for(DONE);
        for words in ["in the background as bash-1", "KillShell bash-1   killed"] {
            assert!(shown.contains(words), "{words}\n{shown}");
        }
        for words in ["read its output", "all its processes", "└"] {
            assert!(!shown.contains(words), "{words}\n{shown}");
        }
        quit_after_turn(screen);
    }
}

#[tokio::test]
async fn the_users_own_commands_are_shown_as_they_were() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(text(DONE));
    let screen = Screen::start(&scene.world, [BYPASS], 100, 30);
    screen.wait_for("›");
    let own = |shown: &str| {
        let lines = shown.lines().skip_while(|line| !line.contains("printf"));
        lines.take(3).map(|line| line.trim_end().to_owned()).collect::<Vec<_>>()
    };
    screen.keys(&format!("!printf 'OUT-%s' 77; exit 3{ENTER}"));
    let live = own(&screen.wait_for("✗ exit 3"));
    assert!(live.join("\n").contains("OUT-77"), "{live:?}");
    screen.keys(&format!("PARENT-1 go{ENTER}"));
    screen.wait_for(DONE);
    quit_after_turn(screen);
    let screen = Screen::start(&scene.world, CONTINUE, 100, 30);
    let shown = screen.wait_for(DONE);
    assert_eq!(own(&shown), live, "{shown}");
    quit_after_turn(screen);
    let request = &scene.server.requests()[0];
    let note = "[The user ran `printf 'OUT-%s' 77; exit 3` in a shell. It printed:]\\nOUT-77";
    assert!(request.body.to_string().contains(note), "{}", request.body);
}

#[tokio::test]
async fn agents_without_files_are_in_the_batch_by_the_reports_of_their_ends() {
    let scene = scene("[subagents]\npersist = false\n");
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 36);
    let live = pictures(&screen, &["FOUND-66"]);
    quit(screen);
    let screen = Screen::start(&scene.world, CONTINUE, 120, 36);
    let stored = pictures(&screen, &["FOUND-66"]);
    assert_eq!(without_limits(&stored[0]), without_limits(&live[0]));
    assert_eq!(without_limits(&stored[2]), without_limits(&live[2]));
    assert!(!stored[3].contains("r resume"), "{}", stored[3]);
    quit(screen);
    // A fork begins with the same batch, at no cost of its own.
    let screen = Screen::start(&scene.world, [BYPASS, "-c", "--fork-session"], 120, 36);
    let shown = masked(&screen.wait_for("✓ 1 ✗ 1 ~ 1"));
    let batch = |shown: &str| shown.lines().take(9).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(batch(&without_limits(&shown)), batch(&without_limits(&live[0])));
    assert!(shown.contains("context 5% · $0.00"), "{shown}");
    quit(screen);
}

#[tokio::test]
async fn children_that_were_at_work_when_the_program_was_killed_are_interrupted() {
    let scene = Scene::new();
    let batch = [titled("CHILD-A", "map the routes"), titled("CHILD-B", "read the tests")];
    scene.server.when(PARENT).reply(calls(batch));
    scene.server.when("CHILD-A").reply(text("FOUND-66"));
    let first = text("first-66").tool_use("Bash", bash("true"));
    let held = |reply: Reply| reply.gate("held");
    scene.server.when("CHILD-B").reply(first).then(held(text("half-66")));
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 36);
    screen.wait_until("one done and one at work", |shown| {
        shown.contains("✓ done") && shown.contains("half-66")
    });
    screen.signal(Signal::SIGKILL);
    drop(screen);
    let look = || {
        let screen = Screen::start(&scene.world, CONTINUE, 120, 36);
        let shown = screen.wait_until("the batch", |shown| {
            shown.contains("2 agents ✓ 1 ⊘ 1") && shown.contains("Ctrl+D quits")
        });
        let row = shown.lines().find(|line| line.contains("read the tests")).unwrap();
        assert!(row.contains("interrupted") && row.contains("2 turns"), "{shown}");
        assert!(!row.contains("0:"), "{shown}");
        screen.keys(TAB);
        screen.wait_for("Enter open");
        screen.keys(TAB);
        screen.wait_for("to 2 read the tests");
        screen.keys(ENTER);
        let zoomed = screen.wait_until("the conversation from the file", |shown| {
            shown.contains("main › 2 read the tests") && shown.contains("Bash true")
        });
        assert!(zoomed.contains("first-66") && !zoomed.contains("half-66"), "{zoomed}");
        quit(screen);
        (masked(&shown), masked(&zoomed))
    };
    let first = look();
    assert_eq!(first, look(), "the second time is like the first");
}

#[tokio::test]
async fn an_agent_that_was_killed_in_a_call_keeps_what_it_has_cost() {
    let scene = Scene::new();
    let fifo = |name: &str| Fifo::new(&scene.world.project_dir().join(name));
    let (held, _never) = (fifo("held.fifo"), fifo("other.fifo"));
    scene.server.when(PARENT).reply(calls([titled("CHILD-A", "map the routes")]).usage(10, 1));
    let call = tool_use("Bash", bash("echo > held.fifo; read x < other.fifo")).usage(20_000, 1_000);
    scene.server.when("CHILD-A").reply(call);
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 36);
    held.opened().await;
    screen.wait_for("21k");
    screen.signal(Signal::SIGKILL);
    drop(screen);
    for _ in 0..2 {
        let screen = Screen::start(&scene.world, CONTINUE, 120, 36);
        let shown = screen.wait_until("the batch", |shown| {
            shown.contains("⊘ 1") && shown.contains("Ctrl+D quits")
        });
        let row = shown.lines().find(|line| line.contains("map the routes")).unwrap();
        assert!(row.contains("interrupted") && row.contains("21k"), "{shown}");
        quit(screen);
    }
}

/// Two agents at work, of which the user has cancelled the second.
fn one_cancelled_alone() -> (Scene, Screen) {
    let scene = Scene::new();
    let tasks = [titled("CHILD-A", "map the routes"), titled("CHILD-B", "read the tests")];
    scene.server.when(PARENT).reply(calls(tasks));
    scene.server.when("CHILD-A").reply(text("half-66").gate("held"));
    scene.server.when("CHILD-B").reply(text("half-77").gate("held"));
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 36);
    screen
        .wait_until("both agents", |shown| shown.contains("half-66") && shown.contains("half-77"));
    screen.keys(CTRL_C);
    screen.wait_for("Cancel which");
    screen.keys("2");
    screen.wait_for("cancelled by you");
    (scene, screen)
}

/// The same session once more, in which the first agent ended with main.
fn resumed(scene: &Scene) -> (Screen, String) {
    let screen = Screen::start(&scene.world, CONTINUE, 120, 36);
    let shown = screen.wait_for("cancelled with main");
    let row = |task: &str| shown.lines().find(|line| line.contains(task)).unwrap();
    assert!(row("map the routes").contains("cancelled with main"), "{shown}");
    assert!(row("read the tests").contains("cancelled by you"), "{shown}");
    (screen, shown)
}

#[tokio::test]
async fn an_agent_that_was_stopped_with_main_is_so_after_a_resume() {
    let (scene, screen) = one_cancelled_alone();
    screen.keys(ESC_ALONE);
    screen.wait_until("the end of both", |shown| {
        shown.contains("stopped after") && shown.contains("cancelled with main")
    });
    screen.keys(CTRL_D);
    screen.exit();
    let (screen, shown) = resumed(&scene);
    assert!(shown.contains("2 agents ⊘ 2") && shown.contains("stopped after"), "{shown}");
    screen.keys(CTRL_C);
}

#[tokio::test]
async fn agents_that_were_at_work_when_the_user_quit_ended_with_main() {
    let (scene, screen) = one_cancelled_alone();
    screen.keys(CTRL_D);
    screen.wait_for("again stops them and quits");
    screen.keys(CTRL_D);
    screen.exit();
    let (screen, _) = resumed(&scene);
    quit(screen);
}

#[tokio::test]
async fn calls_that_were_denied_or_failed_look_the_same_after_a_resume() {
    let scene = Scene::new();
    let reply = tool_use("Bash", bash("cat no-such")).tool_use("Bash", bash("touch made"));
    scene.server.when(PARENT).reply(reply).then(text("SAID-77"));
    let calls = |screen: &Screen| {
        let shown = screen.wait_for("SAID-77");
        let is_call = |row: &&str| row.starts_with('●') && row.contains(" Bash");
        let rows = shown.lines().filter(is_call);
        rows.map(|row| row.trim_end().to_owned()).collect::<Vec<_>>()
    };
    let screen = Screen::start(&scene.world, ["PARENT-1 go"], 120, 36);
    screen.wait_for("1  Yes");
    screen.keys(ESC_ALONE);
    let live = calls(&screen);
    assert_eq!(live.len(), 2, "{live:?}");
    assert!(live[0].contains("cat no-such") && live[0].contains("exit 1"), "{live:?}");
    assert!(live[1].contains("● Bash touch made   denied by you"), "{live:?}");
    quit_after_turn(screen);
    let screen = Screen::start(&scene.world, CONTINUE, 120, 36);
    assert_eq!(calls(&screen), live);
    quit_after_turn(screen);
}
