//! S3: sub-agents in the background: how they are started, and with what.

use serde_json::{Value, json};

use super::{LIFECYCLE, answer, ids, request, spawns, task};
use crate::support::scene::{DONE, PARENT, Scene, agent_with, calls};
use crate::support::script::{Reply, text, tool_use};

const TOOLS: [&str; 6] =
    ["agent_spawn", "agent_fork", "agent_status", "agent_wait", "agent_cancel", "agent_list"];

/// A scene with the lifecycle tools.
fn scene() -> Scene {
    let scene = Scene::new();
    scene.world.config(LIFECYCLE);
    scene
}

#[tokio::test]
async fn the_lifecycle_tools_are_offered_with_their_face_only() {
    for (config, offered) in [("", false), (LIFECYCLE, true)] {
        let scene = Scene::new();
        scene.world.config(config);
        scene.server.when(PARENT).reply(text(DONE));
        let run = scene.go().await;
        let parent = request(&scene, PARENT, 0);
        let names = parent.tool_names();
        let there: Vec<_> = names.iter().filter(|name| name.starts_with("agent_")).collect();
        assert_eq!(there, if offered { TOOLS.iter().collect() } else { Vec::new() });
        let fields = &parent.tool("AgentTool").unwrap()["input_schema"]["properties"];
        assert_eq!(fields.get("run_in_background").is_some(), offered, "{fields}");
        assert_eq!(run.frames()[0]["tools"], json!(names));
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_spawn_returns_at_once_and_its_agent_has_nothing_but_the_prompt() {
    let scene = scene();
    let first = text("SAID-77").tool_use("agent_spawn", task("CHILD-A"));
    scene.server.when(PARENT).reply(first).then(text("meanwhile")).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("half").gate("held").more(" from A"));
    let running = scene.run().start();
    scene.server.reached("held").await;
    let second = scene.server.wait_for_of(PARENT, 2).await.remove(1);
    let started = answer(&second.tool_result());
    assert_eq!(
        (&started["name"], &started["state"]),
        (&json!("general-purpose-1"), &json!("running"))
    );
    assert_eq!(started["agent_id"], ids(&second)[0].as_str());
    scene.server.open("held");
    let run = running.wait().await;
    run.assert_code(0);
    assert_eq!(run.result()["result"], DONE);
    let child = request(&scene, "CHILD-A", 0);
    assert_eq!(child.messages().len(), 1);
    assert!(
        !child.text().contains("SAID-77") && !child.text().contains(PARENT),
        "{}",
        child.text()
    );
    let told = request(&scene, PARENT, 2).messages().last().unwrap().to_string();
    assert!(told.contains("general-purpose-1 (") && told.contains("half from A"), "{told}");
    scene.server.finish();
}

#[tokio::test]
async fn the_three_policies_as_objects_and_as_strings() {
    let scene = scene();
    let with = |word: &str, access: Value| json!({ "prompt": format!("{word} look"), "tool_access": access });
    let allow = json!({ "policy": "allow_list", "tools": ["Grep", "Read"] });
    let deny = json!({ "policy": "deny_list", "tools": ["Bash", "Write"] });
    let inputs = [
        with("CHILD-A", json!({ "policy": "inherit" })),
        with("CHILD-B", allow.clone()),
        with("CHILD-C", deny.clone()),
        with("CHILD-D", json!(allow.to_string())),
    ];
    let batch =
        inputs.into_iter().fold(Reply::stream(), |all, input| all.tool_use("agent_spawn", input));
    scene.server.when(PARENT).reply(batch).forever(text(DONE));
    for word in ["CHILD-A", "CHILD-B", "CHILD-C", "CHILD-D"] {
        scene.server.when(word).reply(text("ok"));
    }
    scene.go().await;
    let parent = request(&scene, PARENT, 0);
    let all: Vec<_> = parent.tool_names().into_iter().filter(|name| !is_face(name)).collect();
    let names = |word: &str| {
        let child = request(&scene, word, 0);
        child.tool_names().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(names("CHILD-A"), all, "s3_39: all but those that start sub-agents");
    assert_eq!(names("CHILD-B"), ["Read", "Grep"]);
    let left: Vec<_> = all.iter().filter(|name| !["Bash", "Write"].contains(name)).collect();
    assert!(left.len() + 2 == all.len() && names("CHILD-C").iter().eq(left), "{all:?}");
    assert_eq!(names("CHILD-D"), names("CHILD-B"));
    scene.server.finish();
}

fn is_face(name: &str) -> bool {
    name == "AgentTool" || TOOLS.contains(&name)
}

#[tokio::test]
async fn a_system_prompt_replaces_the_definitions_own() {
    let scene = scene();
    let own = json!({ "prompt": "CHILD-A look", "system_prompt": "SYSTEM-77" });
    let both = tool_use("agent_spawn", own).tool_use("agent_spawn", task("CHILD-B"));
    scene.server.when(PARENT).reply(both).forever(text(DONE));
    scene.server.when("CHILD-A").reply(text("ok"));
    scene.server.when("CHILD-B").reply(text("ok"));
    scene.go().await;
    let system = |word: &str| request(&scene, word, 0).system();
    let definition = "You carry out one task on your own";
    assert!(system("CHILD-A").contains("SYSTEM-77") && !system("CHILD-A").contains(definition));
    assert!(system("CHILD-B").contains(definition) && !system("CHILD-B").contains("SYSTEM-77"));
    scene.server.finish();
}

#[tokio::test]
async fn the_instructions_for_tools_can_be_left_out() {
    for (inherits, config) in [
        (true, LIFECYCLE.to_owned()),
        (false, format!("{LIFECYCLE}inherit_tool_instructions = false\n")),
        (false, format!("{LIFECYCLE}inherit_system_prompt = false\n")),
    ] {
        let scene = Scene::new();
        scene.world.config(&config);
        scene.server.when(PARENT).reply(spawns(["CHILD-A"])).forever(text(DONE));
        scene.server.when("CHILD-A").reply(text("ok"));
        scene.go().await;
        let system = request(&scene, "CHILD-A", 0).system();
        assert_eq!(system.contains("Read a file before you edit it."), inherits, "{system}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_call_or_a_definition_sends_its_agent_to_the_background() {
    let scene = scene();
    scene.world.agent(
        "beside",
        "---\nname: beside\ndescription: Looks for one thing and reports where it is.\nbackground: true\n---\nLook.\n",
    );
    let both = calls([
        agent_with("CHILD-A", "run_in_background", json!(true)),
        agent_with("CHILD-B", "agent", json!("beside")),
    ]);
    scene.server.when(PARENT).reply(both).forever(text(DONE));
    scene.server.when("CHILD-A").reply(text("from A").gate("held"));
    scene.server.when("CHILD-B").reply(text("from B").gate("held"));
    let running = scene.run().start();
    let results = scene.server.wait_for_of(PARENT, 2).await.remove(1).tool_results();
    for result in &results {
        assert!(!result.is_error && result.text.contains("runs in the background"), "{result:?}");
    }
    scene.server.reached_by("held", 2).await;
    scene.server.open("held");
    running.wait().await.assert_code(0);
    let last = scene.server.requests_of(PARENT).pop().unwrap().text();
    let count = |what: &str| last.matches(what).count();
    assert_eq!((count("from A"), count("from B")), (1, 1), "each exactly once: {last}");
    scene.server.finish();
}

#[tokio::test]
async fn the_tools_say_when_to_delegate_and_not_to_poll() {
    let scene = scene();
    scene.server.when(PARENT).reply(text(DONE));
    scene.go().await;
    let parent = request(&scene, PARENT, 0);
    let says = |tool: &str, words: &[&str]| {
        let text = parent.tool(tool).unwrap()["description"].as_str().unwrap();
        assert!(words.iter().all(|word| text.contains(word)), "{tool}: {text}");
    };
    says("AgentTool", &["Delegate wide", "Do yourself", "Never poll"]);
    says("agent_spawn", &["Use it for", "not for", "never poll"]);
    says("agent_fork", &["Use it for", "agent_spawn is cheaper", "never poll"]);
    says("agent_status", &["Never poll"]);
    says("agent_list", &["never poll"]);
    says("agent_wait", &["Only when you have nothing else to do"]);
    scene.server.finish();
}
