//! Definitions that are edited between two prompts count from the second one on.

use serde_json::{Value, json};

use crate::support::pty::{ENTER, Screen};
use crate::support::record::{Recorded, Wire};
use crate::support::run::Running;
use crate::support::scene::{DONE, PARENT, Scene, agent_with, calls};
use crate::support::script::{text, tool_use};

fn file(name: &str, more: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Reads what {name} reads.\n{more}---\nYou are {name}.\n"
    )
}

fn start(scene: &Scene) -> Running {
    let args = ["-p", "--output-format", "stream-json", "--input-format", "stream-json"];
    scene.world.run(args).args(["--dangerously-skip-permissions"]).open_stdin().start()
}

/// Sends the prompt of this number, counted from 1, and waits for its end.
async fn prompt(running: &mut Running, number: usize) {
    let content = format!("PARENT-1 number {number}");
    running.send(&json!({ "type": "user", "message": { "role": "user", "content": content } }));
    running.printed("\"type\":\"result\"", number).await;
}

/// What a request tells the model of the agents that there are.
fn listed(request: &Recorded) -> &str {
    request.tool("AgentTool").unwrap()["description"].as_str().unwrap()
}

#[tokio::test]
async fn a_definition_that_comes_between_two_prompts_is_listed_and_can_be_called() {
    let scene = Scene::new();
    scene.world.agent("old", &file("old", ""));
    let call = calls([agent_with("CHILD-A", "agent", json!("reviewer"))]);
    scene.server.when(PARENT).reply(text("one")).then(call).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("ok"));
    let mut running = start(&scene);
    prompt(&mut running, 1).await;
    scene.world.agent("reviewer", &file("reviewer", ""));
    std::fs::remove_file(scene.world.settings_dir().join("agents/old.md")).unwrap();
    prompt(&mut running, 2).await;
    running.close().await.assert_code(0);
    let requests = scene.server.requests_of(PARENT);
    assert!(listed(&requests[0]).contains("- old:") && !listed(&requests[0]).contains("reviewer"));
    assert!(
        listed(&requests[1]).contains("- reviewer:") && !listed(&requests[1]).contains("- old:")
    );
    assert!(scene.server.requests_of("CHILD-A")[0].system().contains("You are reviewer."));
    scene.server.finish();
}

/// An agent that may write files could otherwise give itself programs that run outside of the gate.
#[tokio::test]
async fn what_a_definition_starts_counts_as_it_was_at_the_start_of_the_session() {
    let scene = Scene::new();
    let hook = |name: &str| {
        let file = scene.world.settings_dir().join(name);
        let command = format!("touch {}", file.display());
        format!("hooks:\n  PreToolUse:\n    - hooks:\n        - command: {command}\n")
    };
    scene.world.agent("old", &file("old", &hook("kept")));
    let call = |word: &str, name: &str| calls([agent_with(word, "agent", json!(name))]);
    let script = scene.server.when(PARENT).reply(text("one"));
    script.then(call("CHILD-A", "old")).then(call("CHILD-B", "new")).then(text(DONE));
    for word in ["CHILD-A", "CHILD-B"] {
        let read = tool_use("Glob", json!({ "pattern": "*" }));
        scene.server.when(word).reply(read).then(text("ok"));
    }
    let mut running = start(&scene);
    prompt(&mut running, 1).await;
    scene.world.agent("old", &file("old", &hook("changed")));
    scene.world.agent("new", &file("new", &hook("added")));
    prompt(&mut running, 2).await;
    let run = running.close().await;
    run.assert_code(0);
    let ran = ["kept", "changed", "added"].map(|it| scene.world.settings_dir().join(it).exists());
    assert_eq!(ran, [true, false, false]);
    let said = |frame: &Value| {
        frame["subtype"] == "notice" && frame.to_string().contains("new, old: new hooks, servers")
    };
    assert_eq!(run.frames().into_iter().filter(said).count(), 1, "{run}");
    scene.server.finish();
}

/// An agent that may write files could otherwise send a conversation elsewhere, or take the limits
/// from another agent.
#[tokio::test]
async fn a_definition_that_changes_narrows_at_once_and_widens_from_the_next_start() {
    let scene = Scene::new();
    scene.world.agent("wide", &file("wide", ""));
    let bound = "tools: Glob, Grep\nmaxTurns: 2\nmodel: haiku\n";
    scene.world.agent("bound", &file("bound", bound));
    let agents = [("CHILD-A", "bound"), ("CHILD-B", "wide"), ("CHILD-C", "new")];
    let call = calls(agents.map(|(word, name)| agent_with(word, "agent", json!(name))));
    scene.server.when(PARENT).reply(text("one")).then(call).then(text(DONE));
    for (word, _) in agents {
        let look = || tool_use("Glob", json!({ "pattern": "*" }));
        scene.server.when(word).reply(look()).then(text("ok"));
    }
    let mut running = start(&scene);
    prompt(&mut running, 1).await;
    let elsewhere = "provider: openai\nmodel: gpt-small\n";
    scene.world.agent("bound", &file("bound", &format!("maxTurns: 9\n{elsewhere}")));
    scene.world.agent("wide", &file("wide", "tools: Glob\n"));
    scene.world.agent("new", &file("new", elsewhere));
    prompt(&mut running, 2).await;
    let run = running.close().await;
    run.assert_code(0);
    let [bound, wide, new] = agents.map(|(word, _)| scene.server.requests_of(word));
    let route = |requests: &[Recorded]| (requests[0].wire, requests[0].model().to_owned());
    assert_eq!(route(&bound), (Wire::Anthropic, "claude-haiku-5-5".to_owned()));
    assert_eq!(bound[0].tool_names(), ["Glob", "Grep"]);
    assert!(bound[1].text().contains("This is your last turn"), "{run}");
    assert_eq!(wide[0].tool_names(), ["Glob"]);
    assert_eq!(route(&new), (Wire::Anthropic, "claude-sonnet-5".to_owned()));
    let told: Vec<_> = run.frames().into_iter().filter(|it| it["subtype"] == "notice").collect();
    let held = "bound, new: new hooks, servers, variables, providers, permissions and limits";
    assert!(told.iter().any(|it| it.to_string().contains(held)), "{told:?}");
    scene.server.finish();
}

#[tokio::test]
async fn a_new_problem_is_said_once_and_what_main_has_read_is_still_known() {
    let scene = Scene::new();
    scene.world.write("note.txt", "before\n");
    let edit = json!({ "file_path": "note.txt", "old_string": "before", "new_string": "after" });
    scene
        .server
        .when(PARENT)
        .reply(tool_use("Read", json!({ "file_path": "note.txt" })))
        .then(text("one"))
        .then(tool_use("Edit", edit))
        .then(text("two"))
        .then(text("three"));
    let mut running = start(&scene);
    prompt(&mut running, 1).await;
    scene.world.agent("broken", "no definition");
    prompt(&mut running, 2).await;
    prompt(&mut running, 3).await;
    let run = running.close().await;
    run.assert_code(0);
    let said =
        |frame: &Value| frame["subtype"] == "notice" && frame.to_string().contains("broken.md");
    assert_eq!(run.frames().into_iter().filter(said).count(), 1, "{run}");
    assert_eq!(scene.world.read("note.txt"), "after\n");
    let requests = scene.server.requests_of(PARENT);
    assert_eq!(requests[4].body["tools"], requests[0].body["tools"]);
    scene.server.finish();
}

#[tokio::test]
async fn the_screen_says_which_definitions_came_changed_and_went() {
    let scene = Scene::new();
    scene.world.agent("old", &file("old", ""));
    scene.world.agent("scout", &file("scout", ""));
    scene.server.when(PARENT).reply(text("the first answer")).then(text("the second answer"));
    let screen = Screen::start(&scene.world, ["PARENT-1 go"], 100, 30);
    screen.wait_for("the first answer");
    screen.wait_for("Ctrl+D quits");
    scene.world.agent("reviewer", &file("reviewer", ""));
    scene.world.agent("scout", &file("scout", "tools: Read\n"));
    std::fs::remove_file(scene.world.settings_dir().join("agents/old.md")).unwrap();
    screen.keys("go on");
    screen.keys(ENTER);
    // It is shown for some seconds, the answer stays.
    screen.wait_for("agents: +reviewer ~scout −old");
    screen.wait_for("the second answer");
    scene.server.finish();
}
