//! Sub-agents that go on by their id: with their transcript, in the background, also after the
//! program was killed.

mod isolated;

use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::support::process::Fifo;
use crate::support::pty::{ENTER, ESC, Screen, UP};
use crate::support::record::{Recorded, all_text};
use crate::support::run::Running;
use crate::support::scene::{DONE, PARENT, Scene, agent, agent_with, bash, calls};
use crate::support::script::{Reply, dynamic, text, tool_use};

const LIFECYCLE: &str = "[subagents]\nfaces = [\"agent\", \"lifecycle\"]\n";
const BYPASS: &str = "--dangerously-skip-permissions";

/// A call that starts CHILD-A, in the foreground or not.
fn start(background: bool) -> Reply {
    match background {
        true => tool_use("agent_spawn", json!({ "prompt": "CHILD-A look around" })),
        false => calls([agent("CHILD-A")]),
    }
}

fn scene(background: bool, replies: impl IntoIterator<Item = Reply>) -> Scene {
    let scene = Scene::new();
    scene.world.config(LIFECYCLE);
    scene.server.when(PARENT).reply(start(background));
    if background {
        scene.server.when(PARENT).reply(text("x").before_headers("parent"));
    }
    for reply in replies {
        scene.server.when("CHILD-A").reply(reply);
    }
    scene
}

/// Kills the program when the child is where it should be, and a parent that does not wait for it asks again.
async fn kill_both(scene: &Scene, background: bool, running: Running) {
    if background {
        scene.server.reached("parent").await;
    }
    kill(running).await;
}

async fn kill(running: Running) {
    running.signal(Signal::SIGKILL);
    assert_eq!(running.wait().await.code, None);
}

/// The only sub-agent's file.
fn file(scene: &Scene) -> PathBuf {
    let files = scene.world.child_transcripts();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

fn id(scene: &Scene) -> String {
    file(scene).file_stem().unwrap().to_str().unwrap().to_owned()
}

fn ends(scene: &Scene) -> usize {
    let stored = std::fs::read_to_string(file(scene)).unwrap();
    stored.lines().filter(|line| line.starts_with("{\"type\":\"end\"")).count()
}

fn continued(scene: &Scene) -> Screen {
    let screen = Screen::start(&scene.world, [BYPASS, "-c"], 120, 36);
    screen.wait_for("? keys");
    screen
}

/// Opens the list of agents and chooses the first of them.
fn choose(screen: &Screen, name: &str) -> String {
    screen.keys("/agents");
    screen.wait_for("/agents");
    screen.keys(ENTER);
    let row = format!(" {name}  ");
    let shown = screen.wait_until("the agent in the list", |shown| {
        shown.contains(" ▸ ") && shown.lines().any(|line| line.contains(&row))
    });
    // The session may have been read after the list was opened: then the choice stays with a
    // definition, and the way up leads over the agents from the last to the first.
    let chosen = |shown: &str, row: &str| {
        shown.lines().any(|line| line.contains(" ▸ ") && line.contains(row))
    };
    if !chosen(&shown, &row) {
        screen.keys(UP);
        let is_agent = |shown: &str| chosen(shown, &row) || chosen(shown, " general-purpose-");
        let shown = screen.wait_until("an agent", is_agent);
        if !chosen(&shown, &row) {
            screen.keys(UP);
        }
    }
    screen.wait_until("the agent that was meant", |shown| chosen(shown, &row));
    screen.wait_for("r resume")
}

/// Goes on with the one agent, which has ended so.
fn press_r(screen: &Screen, how: &str) {
    let shown = choose(screen, "general-purpose-1");
    // The list shows the report of a completed agent in place of the word.
    let is_so = shown.contains(how) || how == "done" && shown.contains("✓ ");
    assert!(is_so, "{shown}");
    screen.keys("r");
    screen.keys(ESC);
}

/// After the program was killed: goes on with the session, and with the child by its id. The
/// child's last request.
async fn go_on_with_the_child(scene: &Scene, how: &str) -> Recorded {
    let before = scene.server.requests().len();
    scene.server.when("CHILD-A").reply(text("RESUMED-77"));
    scene.server.when(PARENT).reply(text("HEARD-77"));
    let screen = continued(scene);
    press_r(&screen, how);
    screen.wait_for("HEARD-77");
    assert_eq!(scene.server.requests().len(), before + 2, "nothing runs by itself");
    let heard = scene.server.requests_of(PARENT).pop().unwrap();
    assert_eq!(heard.text().matches("RESUMED-77").count(), 1);
    let child = scene.server.requests_of("CHILD-A").pop().unwrap();
    assert_eq!(child.first_user_text().lines().next(), Some("CHILD-A look around"));
    assert!(child.messages().last().unwrap().to_string().contains("You are resumed now"));
    assert_eq!(ends(scene), 2, "in the same file");
    assert!(std::fs::read_to_string(file(scene)).unwrap().contains("RESUMED-77"));
    child
}

#[tokio::test]
async fn killed_before_its_first_answer_a_child_goes_on_by_its_id() {
    for background in [false, true] {
        let scene = scene(background, [text("x").before_headers("held")]);
        let running = scene.run().start();
        scene.server.reached("held").await;
        kill_both(&scene, background, running).await;
        go_on_with_the_child(&scene, "interrupted").await;
    }
}

#[tokio::test]
async fn killed_in_the_middle_of_its_stream_a_child_goes_on_by_its_id() {
    for background in [false, true] {
        let scene = scene(background, [text("half-66").gate("held")]);
        let running = scene.run().start();
        scene.server.reached("held").await;
        kill_both(&scene, background, running).await;
        let child = go_on_with_the_child(&scene, "interrupted").await;
        assert!(!child.text().contains("half-66"), "what was not whole is void");
    }
}

#[tokio::test]
async fn killed_in_the_middle_of_its_tool_a_child_goes_on_by_its_id() {
    for background in [false, true] {
        let call = bash("echo go > started.fifo; sleep 8.3721");
        let scene = scene(background, [tool_use("Bash", call)]);
        let started = Fifo::new(&scene.world.project_dir().join("started.fifo"));
        let running = scene.run().start();
        started.opened().await;
        kill_both(&scene, background, running).await;
        let child = go_on_with_the_child(&scene, "interrupted").await;
        let result = child.tool_result();
        assert!(result.is_error && result.text.contains("interrupted"), "{result:?}");
    }
}

#[tokio::test]
async fn killed_after_its_tool_a_child_goes_on_by_its_id_with_the_result() {
    for background in [false, true] {
        let call = text("first-66").tool_use("Bash", bash("echo OUT-66"));
        let scene = scene(background, [call, text("x").before_headers("held")]);
        let running = scene.run().start();
        scene.server.reached("held").await;
        kill_both(&scene, background, running).await;
        let child = go_on_with_the_child(&scene, "interrupted").await;
        assert_eq!(child.tool_result().text, "OUT-66");
        scene.server.finish();
    }
}

#[tokio::test]
async fn killed_before_its_parent_has_answered_a_child_is_done_and_can_go_on() {
    let scene = scene(false, [text("REPORT-66")]);
    scene.server.when(PARENT).reply(text("x").before_headers("held"));
    let running = scene.run().start();
    scene.server.reached("held").await;
    kill(running).await;
    let child = go_on_with_the_child(&scene, "done").await;
    assert!(child.text().contains("REPORT-66"));
    scene.server.finish();
}

#[tokio::test]
async fn killed_before_its_parent_has_read_of_its_end_one_in_the_background_is_done() {
    let scene = scene(true, [text("REPORT-66")]);
    let running = scene.run().start();
    running.printed("\"task_notification\"", 1).await;
    kill_both(&scene, true, running).await;
    let child = go_on_with_the_child(&scene, "done").await;
    assert!(child.text().contains("REPORT-66"));
    scene.server.finish();
}

#[tokio::test]
async fn after_a_kill_a_background_agent_is_interrupted_and_not_running_for_ever() {
    let scene = scene(true, [text("half").gate("held")]);
    let running = scene.run().start();
    scene.server.reached("held").await;
    kill_both(&scene, true, running).await;
    let status = tool_use("agent_status", json!({ "agent_id": id(&scene) }));
    let look = status.tool_use("agent_list", json!({}));
    scene.server.when(PARENT).reply(look).then(start(true)).forever(text(DONE));
    scene.server.when("CHILD-A").reply(text("second"));
    let run = scene.world.run(["-c", "-p", "how is it?", BYPASS]).finish().await;
    run.assert_code(0);
    let requests = scene.server.requests_of(PARENT);
    let results = requests[3].tool_results();
    let status: Value = serde_json::from_str(&results[0].text).unwrap();
    assert_eq!((&status["state"], &status["is_final"]), (&json!("failed"), &json!(true)));
    assert_eq!(status["error"], "interrupted, partial");
    let list: Value = serde_json::from_str(&results[1].text).unwrap();
    assert_eq!((&list["running_count"], &list["total_count"]), (&json!(0), &json!(1)), "{list}");
    // Its name is not given again.
    let started: Value = serde_json::from_str(&requests[4].tool_result().text).unwrap();
    assert_eq!(started["name"], "general-purpose-2");
    scene.server.finish();
}

#[tokio::test]
async fn an_agent_that_had_no_turns_left_goes_on_in_the_same_program_with_all_of_them() {
    let scene = Scene::new();
    scene
        .world
        .agent("brief", "---\nname: brief\ndescription: looks\nmaxTurns: 2\n---\nLook around.\n");
    let call = agent_with("CHILD-A", "subagent_type", json!("brief"));
    scene.server.when(PARENT).reply(calls([call])).then(text(DONE)).then(text("HEARD-77"));
    let child = scene.server.when("CHILD-A").reply(tool_use("Bash", bash("echo one")));
    let child = child.then(text("PARTIAL-66").tool_use("Bash", bash("echo late")));
    child.then(tool_use("Bash", bash("echo two"))).then(text("RESUMED-77"));
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 36);
    screen.wait_for(DONE);
    screen.wait_gone("writing");
    choose(&screen, "brief-1");
    screen.keys("r");
    screen.keys(ESC);
    screen.wait_for("agent 1 reports");
    screen.wait_for("HEARD-77");
    let requests = scene.server.requests_of("CHILD-A");
    assert_eq!(requests.len(), 4);
    assert!(requests[2].offers_tools() && requests[2].text().contains("2 more turns"));
    assert_eq!(ends(&scene), 2);
    scene.server.finish();
}

/// A child that ended well, and a screen that has gone on with its session.
async fn finished_child(scene: &Scene, input: Value) {
    scene.server.when(PARENT).reply(calls([input])).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("REPORT-66"));
    scene.go().await;
}

#[tokio::test]
async fn an_agent_whose_definition_has_gone_is_not_started_and_told_of() {
    let scene = Scene::new();
    let definition = "---\nname: brief\ndescription: looks\n---\nLook around.\n";
    scene.world.agent("brief", definition);
    finished_child(&scene, agent_with("CHILD-A", "subagent_type", json!("brief"))).await;
    std::fs::remove_file(scene.world.settings_dir().join("agents/brief.md")).unwrap();
    let before = scene.server.requests().len();
    let screen = continued(&scene);
    choose(&screen, "brief-1");
    screen.keys("r");
    screen.keys(ESC);
    screen.wait_for("cannot resume brief-1: the agent definition brief no longer");
    assert_eq!((scene.server.requests().len(), ends(&scene)), (before, 1));
    scene.server.finish();
}

/// Presses `r` on a child that ended well, which is then refused with this notice and without a request.
async fn refused(scene: &Scene, notice: &str) {
    let before = scene.server.requests().len();
    let screen = continued(scene);
    press_r(&screen, "done");
    screen.wait_for(notice);
    assert_eq!((scene.server.requests().len(), ends(scene)), (before, 1));
}

/// Takes out of the transcripts what an earlier version had not written.
fn forget(path: &Path, key: &str) {
    for path in [path.to_owned(), path.with_extension("meta.json")] {
        let stored = std::fs::read_to_string(&path).unwrap();
        let (first, rest) = match path.extension().is_some_and(|ending| ending == "jsonl") {
            true => stored.split_once('\n').unwrap(),
            false => (stored.as_str(), ""),
        };
        let mut header: Value = serde_json::from_str(first).unwrap();
        let terms = header["agent"]["terms"].as_object_mut().unwrap();
        assert!(terms.remove(key).is_some(), "{stored}");
        std::fs::write(&path, format!("{header}\n{rest}")).unwrap();
    }
}

const FORK: &str = "FORK-A look at the tests";

/// Whether a fork asks this: its own prompt stands in a message of the user.
fn is_of_fork(request: &Recorded) -> bool {
    let of_user = request.messages().iter().filter(|message| message["role"] == "user");
    of_user.map(|message| all_text(&message["content"])).any(|text| text.contains(FORK))
}

/// A fork that has read a file and ended well. It and its original are told apart by what was said to them.
async fn finished_fork(scene: &Scene) {
    scene.world.config(LIFECYCLE);
    scene.world.write("seen.txt", "SEEN-77\n");
    scene.world.write("AGENTS.md", "RULE-ONE\n");
    let read = json!({ "file_path": scene.world.project_dir().join("seen.txt") });
    let router = dynamic(move |request| match (is_of_fork(request), request.text()) {
        (true, said) if said.contains("You are resumed now") => text("RESUMED-77"),
        (true, said) if said.contains("SEEN-77") => text("REPORT-66"),
        (true, _) => tool_use("Read", read.clone()),
        (false, said) if said.contains("RESUMED-77") => text("HEARD-77"),
        (false, _) if request.messages().len() > 1 => text(DONE),
        (false, _) => tool_use("agent_fork", json!({ "prompt": FORK })),
    });
    scene.server.when(PARENT).forever(router);
    scene.go().await;
}

/// The messages without the marks for the provider's cache.
fn plain(messages: &[Value]) -> Vec<Value> {
    let mut plain = messages.to_vec();
    for block in plain.iter_mut().filter_map(|message| message["content"].as_array_mut()).flatten()
    {
        block.as_object_mut().unwrap().remove("cache_control");
    }
    plain
}

#[tokio::test]
async fn a_fork_goes_on_with_its_conversation_and_its_originals_system_prompt() {
    let scene = Scene::new();
    finished_fork(&scene).await;
    // Were it made anew, the original's prompt would say this.
    scene.world.write("AGENTS.md", "RULE-TWO\n");
    let screen = continued(&scene);
    press_r(&screen, "done");
    screen.wait_for("HEARD-77");
    let all = scene.server.requests_of(PARENT);
    let (forked, original): (Vec<_>, Vec<_>) = all.into_iter().partition(is_of_fork);
    let [_, before, resumed] = &forked[..] else { panic!("{} requests of the fork", forked.len()) };
    assert!(original[0].system().contains("RULE-ONE"));
    assert!(original.last().unwrap().system().contains("RULE-TWO"));
    assert_eq!(resumed.system(), original[0].system());
    assert_eq!(resumed.model(), before.model());
    let known = plain(before.messages());
    assert_eq!(plain(resumed.messages())[..known.len()], known);
    assert_eq!(resumed.messages().len(), known.len() + 2, "its answer, and that it goes on");
    assert!(resumed.tool_names().contains(&"agent_fork"));
    assert_eq!(ends(&scene), 2, "in the same file");
    scene.server.finish();
}

#[tokio::test]
async fn a_fork_that_an_earlier_version_has_stored_is_refused() {
    let scene = Scene::new();
    finished_fork(&scene).await;
    forget(&file(&scene), "system");
    refused(&scene, "it was a fork, and an earlier").await;
    scene.server.finish();
}

#[tokio::test]
async fn one_of_the_second_level_is_still_there_when_it_goes_on() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nmax_depth = 2\nallow_nested_spawn = true\n");
    scene.server.when(PARENT).reply(calls([agent("CHILD-B")])).then(text(DONE));
    scene.server.when("CHILD-B").reply(calls([agent("CHILD-A")])).then(text("REPORT-B"));
    scene.server.when("CHILD-A").reply(text("REPORT-66"));
    scene.go().await;
    scene.server.when("CHILD-A").reply(calls([agent("CHILD-C")]));
    let screen = continued(&scene);
    press_r_below(&screen, "general-purpose-1", "general-purpose-2");
    screen.wait_for("the depth limit is 2");
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 2);
    assert_eq!(scene.server.requests_of("CHILD-C").len(), 0);
    scene.server.finish();
}

#[tokio::test]
async fn an_agent_that_goes_on_is_as_deep_and_as_narrow_as_it_was() {
    let scene = Scene::new();
    let input = agent_with("CHILD-A", "tool_allowlist", json!(["Read", "Grep"]));
    finished_child(&scene, input).await;
    let first = scene.server.requests_of("CHILD-A").remove(0);
    let child = go_on_with_the_child(&scene, "done").await;
    assert_eq!(child.tool_names(), first.tool_names());
    assert_eq!(child.tool_names(), ["Read", "Grep"]);
    assert_eq!((child.system(), child.model()), (first.system(), first.model()));
    scene.server.finish();
}

/// CHILD-B has these tools and starts CHILD-A; both have ended well.
async fn finished_grandchild(scene: &Scene, mut middle: Value, tools: &[&str]) {
    scene.world.config("[subagents]\nmax_depth = 2\nallow_nested_spawn = true\n");
    middle["tool_allowlist"] = json!(tools);
    scene.server.when(PARENT).reply(calls([middle])).then(text(DONE));
    scene.server.when("CHILD-B").reply(calls([agent("CHILD-A")])).then(text("REPORT-B"));
    scene.server.when("CHILD-A").reply(text("REPORT-66"));
    scene.go().await;
}

/// Chooses the second agent of the list, which stands below the first, and goes on with it.
fn press_r_below(screen: &Screen, first: &str, second: &str) {
    choose(screen, first);
    screen.wait_for(&format!(" {second}  "));
    screen.keys("\x1b[B");
    screen.wait_until("the second agent chosen", |shown| {
        shown.lines().any(|line| line.contains("▸ └▌2 look around ") && line.contains(second))
    });
    screen.keys("r");
    screen.keys(ESC);
}

#[tokio::test]
async fn one_of_the_second_level_gets_no_tool_that_the_one_above_it_had_not() {
    let scene = Scene::new();
    finished_grandchild(&scene, agent("CHILD-B"), &["Read", "AgentTool"]).await;
    scene.server.when("CHILD-A").reply(text("RESUMED-77"));
    scene.server.when(PARENT).reply(text("HEARD-77"));
    let screen = continued(&scene);
    press_r_below(&screen, "general-purpose-1", "general-purpose-2");
    screen.wait_for("HEARD-77");
    let requests = scene.server.requests_of("CHILD-A");
    assert_eq!(requests[0].tool_names(), ["Read"]);
    assert_eq!(requests[1].tool_names(), ["Read"]);
    scene.server.finish();
}

#[tokio::test]
async fn one_of_the_second_level_that_was_stored_without_its_bounds_is_refused() {
    let scene = Scene::new();
    finished_grandchild(&scene, agent("CHILD-B"), &["Read", "AgentTool"]).await;
    let below = |path: &PathBuf| std::fs::read_to_string(path).unwrap().contains("CHILD-A look");
    let of_main = |path: &PathBuf| std::fs::read_to_string(path).unwrap().contains("CHILD-B look");
    let files = scene.world.child_transcripts();
    let path = files.iter().find(|path| below(path) && !of_main(path)).unwrap();
    forget(path, "below");
    let screen = continued(&scene);
    press_r_below(&screen, "general-purpose-1", "general-purpose-2");
    screen.wait_for("without the bounds of the agent that");
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 1);
    scene.server.finish();
}

#[tokio::test]
async fn a_call_beyond_the_depth_limit_is_a_violation_after_a_resume_too() {
    let scene = Scene::new();
    finished_child(&scene, agent("CHILD-A")).await;
    scene.server.when("CHILD-A").reply(calls([agent("CHILD-B")]));
    let screen = continued(&scene);
    press_r(&screen, "done");
    screen.wait_for("the depth limit is 1");
    assert_eq!(scene.server.requests_of("CHILD-B").len(), 0);
    assert_eq!(scene.server.requests_of(PARENT).len(), 2, "main is not woken by it");
    scene.server.finish();
}

#[tokio::test]
async fn a_missing_depth_counts_as_none_and_the_path_still_counts() {
    let scene = Scene::new();
    finished_child(&scene, agent("CHILD-A")).await;
    for path in [file(&scene), file(&scene).with_extension("meta.json")] {
        let stored = std::fs::read_to_string(&path).unwrap();
        let old = stored
            .replace(",\"delegation_depth\":1", "")
            .replace(",\n    \"delegation_depth\": 1", "");
        assert_ne!(stored, old, "{stored}");
        std::fs::write(&path, old).unwrap();
    }
    let child = go_on_with_the_child(&scene, "done").await;
    assert!(!child.tool_names().contains(&"AgentTool"));
    scene.server.finish();
}

#[tokio::test]
async fn sessions_show_takes_an_agents_id_and_prints_that_one_alone() {
    let scene = Scene::new();
    finished_child(&scene, agent("CHILD-A")).await;
    let id = id(&scene);
    let run = scene.world.run(["sessions", "show", &id]).finish().await;
    run.assert_code(0);
    assert!(run.stdout.contains("REPORT-66") && !run.stdout.contains(DONE), "{run}");
    let run = scene.world.run(["sessions", "show", "0"]).finish().await;
    assert_ne!(run.code, Some(0));
    assert!(run.stderr.contains("2 ids begin with `0`") && run.stderr.contains(&id), "{run}");
    let run = scene.world.run(["sessions", "show", "feed"]).finish().await;
    assert_ne!(run.code, Some(0));
    assert!(
        run.stderr.contains("has the name `feed`, and no session or agent ID starts with it"),
        "{run}"
    );
    scene.server.finish();
}

#[tokio::test]
async fn an_agent_that_goes_on_reads_what_its_own_agents_have_reported() {
    let scene = Scene::new();
    let config = "max_depth = 2\nallow_nested_spawn = true\nfaces = [\"agent\", \"lifecycle\"]\n";
    scene.world.config(&format!("[subagents]\n{config}"));
    scene.server.when(PARENT).reply(calls([agent("CHILD-B")])).forever(text(DONE));
    let spawn = tool_use("agent_spawn", json!({ "prompt": "CHILD-A look around" }));
    let child = scene.server.when("CHILD-B").reply(spawn);
    child.then(text("x").before_headers("held")).forever(text("WENT-ON-77"));
    scene.server.when("CHILD-A").reply(text("REPORT-66"));
    let running = scene.run().start();
    scene.server.reached("held").await;
    running.printed("\"task_notification\"", 1).await;
    kill(running).await;
    let screen = continued(&scene);
    press_r(&screen, "interrupted");
    screen.wait_for("WENT-ON-77");
    let request = scene.server.requests_of("CHILD-B").pop().unwrap();
    assert_eq!(request.text().matches("REPORT-66").count(), 1, "{}", request.text());
    scene.server.finish();
}
