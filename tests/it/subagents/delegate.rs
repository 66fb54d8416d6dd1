//! S4: delegation as a tool of its own per agent, its report, and what happens at the depth limit.

use serde_json::{Value, json};

use super::{answer, frames_of, log_of};
use crate::support::pty::Screen;
use crate::support::record::Recorded;
use crate::support::run::Finished;
use crate::support::scene::{DONE, PARENT, Scene, agent, bash, calls};
use crate::support::script::{Reply, text, tool_use};

const FINDER: &str =
    "---\nname: finder\ndescription: Finds the one place where a thing is done.\n---\nFind it.\n";

/// A scene with all faces and so many levels.
fn scene(max_depth: u32) -> Scene {
    let scene = Scene::new();
    let faces = "faces = [\"agent\", \"lifecycle\", \"delegate\"]";
    scene.world.config(&format!("[subagents]\n{faces}\nmax_depth = {max_depth}\n"));
    scene.world.agent("finder", FINDER);
    scene
}

fn delegate(word: &str) -> Reply {
    tool_use("delegate_to_finder", json!({ "prompt": format!("{word} look around") }))
}

fn after_call(scene: &Scene) -> Recorded {
    scene.server.requests_of(PARENT)[1].clone()
}

#[tokio::test]
async fn one_tool_per_agent_with_the_description_that_both_faces_share() {
    let scene = scene(1);
    scene.server.when(PARENT).reply(text(DONE));
    let run = scene.go().await;
    let parent = scene.server.requests_of(PARENT).remove(0);
    let tools: Vec<_> =
        parent.tool_names().into_iter().filter(|name| name.starts_with("delegate_to_")).collect();
    let agents = run.frames()[0]["agents"].clone();
    let agents = agents.as_array().unwrap().iter();
    let expected: Vec<_> = agents
        .map(|name| format!("delegate_to_{}", name.as_str().unwrap().replace('-', "_")))
        .collect();
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    let tools: Vec<String> = tools.into_iter().map(str::to_owned).collect();
    assert!(tools.len() >= 4, "{tools:?}");
    assert_eq!(sorted(tools), sorted(expected));
    let own = parent.tool("delegate_to_finder").unwrap();
    let description = own["description"].as_str().unwrap();
    assert!(
        description.starts_with("Finds the one place where a thing is done.\n"),
        "{description}"
    );
    assert_eq!(own["input_schema"]["required"], json!(["prompt"]));
    let plain = parent.tool("AgentTool").unwrap()["description"].as_str().unwrap();
    assert!(plain.contains("\n- finder: Finds the one place where a thing is done."), "{plain}");
    scene.server.finish();
}

#[tokio::test]
async fn the_report_is_the_result_and_is_structured() {
    let scene = scene(1);
    scene.server.when(PARENT).reply(delegate("CHILD-A")).then(text(DONE));
    let work = tool_use("Bash", bash("true")).usage(1000, 20);
    scene.server.when("CHILD-A").reply(work).then(text("from A").usage(2000, 30));
    scene.run().args(["--model", "claude-sonnet-5"]).finish().await.assert_code(0);
    let child = scene.server.requests_of("CHILD-A");
    assert!(child[0].system().contains("Find it."));
    assert_eq!(child[0].first_user_text().lines().last().unwrap(), "CHILD-A look around");
    let result = after_call(&scene).tool_result();
    assert_eq!((result.blocks, result.is_error), (1, false));
    let report = answer(&result);
    assert_eq!((&report["status"], &report["end"]), (&json!("completed"), &json!("done")));
    assert_eq!((&report["text"], &report["name"]), (&json!("from A"), &json!("finder-1")));
    assert_eq!((&report["turns"], &report["tool_calls"]), (&json!(2), &json!(1)));
    assert_eq!(report["usage"]["input_tokens"], 3000);
    assert!(
        report["cost_usd"].as_f64().unwrap() > 0.0 && report["agent_id"].is_string(),
        "{report}"
    );
    // Its time holds that between its requests, and is a part of that between its parent's.
    let parent = scene.server.requests_of(PARENT);
    let least = (child[1].arrived - child[0].arrived).as_millis();
    let most = (parent[1].arrived - parent[0].arrived).as_millis();
    let told = u128::from(report["duration_ms"].as_u64().unwrap());
    assert!((least..=most).contains(&told), "{told} is not in {least}..={most} ms");
    scene.server.finish();
}

#[tokio::test]
async fn an_unknown_price_is_not_told_as_zero() {
    let scene = scene(1);
    scene.server.when(PARENT).reply(delegate("CHILD-A")).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("from A"));
    scene.run().args(["--model", "model-of-tomorrow"]).finish().await.assert_code(0);
    let report = answer(&after_call(&scene).tool_result());
    assert_eq!(report["cost_usd"], Value::Null);
    scene.server.finish();
}

#[tokio::test]
async fn a_partial_end_is_an_error_that_says_which_and_keeps_the_text() {
    let scene = scene(1);
    scene.world.agent("finder", &FINDER.replace("\n---\nFind", "\nmaxTurns: 2\n---\nFind"));
    scene.server.when(PARENT).reply(delegate("CHILD-A")).then(text(DONE));
    let more = text("half of it").tool_use("Bash", bash("true"));
    scene.server.when("CHILD-A").reply(more.clone()).then(more);
    scene.go().await;
    let result = after_call(&scene).tool_result();
    assert!(result.is_error, "{result:?}");
    let report = answer(&result);
    assert_eq!(
        (&report["status"], &report["end"]),
        (&json!("failed"), &json!("turn limit 2, partial"))
    );
    assert!(report["text"].as_str().unwrap().starts_with("half of it"), "{report}");
    scene.server.finish();
}

#[tokio::test]
async fn a_definition_for_the_background_is_not_waited_for() {
    let scene = scene(1);
    scene.world.agent("finder", &FINDER.replace("\n---\nFind", "\nbackground: true\n---\nFind"));
    let script = scene.server.when(PARENT).reply(delegate("CHILD-A")).then(text("meanwhile"));
    script.then(text(DONE));
    scene.server.when("CHILD-A").reply(text("from A").gate("held"));
    let running = scene.run().start();
    let second = scene.server.wait_for_of(PARENT, 2).await.remove(1);
    let report = answer(&second.tool_result());
    assert_eq!((&report["status"], &report["name"]), (&json!("running"), &json!("finder-1")));
    scene.server.ended(PARENT).await;
    scene.server.open("held");
    running.wait().await.assert_code(0);
    assert_eq!(scene.server.requests_of(PARENT)[2].text().matches("from A").count(), 1);
    scene.server.finish();
}

/// The depth that each agent has in records of this kind, in order of appearance.
fn depths(records: &[Value]) -> Vec<u64> {
    let mut depths: Vec<u64> = Vec::new();
    for record in records {
        let depth = record["delegation_depth"].as_u64().unwrap_or_else(|| panic!("{record}"));
        if !depths.contains(&depth) {
            depths.push(depth);
        }
    }
    depths.sort_unstable();
    depths
}

#[tokio::test]
async fn a_chain_of_three_counts_its_depth_in_log_and_transcripts() {
    let scene = scene(3);
    scene.server.when(PARENT).reply(delegate("CHILD-A")).then(text(DONE));
    scene.server.when("CHILD-A").reply(calls([agent("CHILD-B")])).then(text("from A"));
    scene.server.when("CHILD-B").reply(tool_use("Bash", bash("true"))).then(text("from B"));
    scene.go().await;
    for event in ["turn_started", "turn_completed", "tool_call"] {
        assert_eq!(depths(&log_of(&scene, event)), [0, 1, 2], "{event}");
    }
    let mut stored: Vec<_> = scene
        .world
        .child_transcripts()
        .iter()
        .map(|path| {
            let meta = std::fs::read_to_string(path.with_extension("meta.json")).unwrap();
            serde_json::from_str::<Value>(&meta).unwrap()
        })
        .collect();
    stored.sort_by_key(|meta| find(meta, "delegation_depth").as_u64());
    let depths: Vec<_> = stored.iter().map(|meta| find(meta, "delegation_depth")).collect();
    assert_eq!(depths, [json!(1), json!(2)]);
    scene.server.finish();
}

/// The field of this name, wherever it stands.
fn find(value: &Value, name: &str) -> Value {
    match value {
        Value::Object(fields) => fields.get(name).cloned().unwrap_or_else(|| {
            let inner = fields.values().map(|field| find(field, name));
            inner.into_iter().find(|found| !found.is_null()).unwrap_or_default()
        }),
        _ => Value::Null,
    }
}

/// Each way in which an agent at the limit may try to start another.
fn ways() -> Vec<(&'static str, Value)> {
    let prompt = json!({ "prompt": "CHILD-B look around" });
    ["AgentTool", "Agent", "Task", "agent_spawn", "agent_fork", "delegate_to_finder"]
        .map(|name| (name, prompt.clone()))
        .into()
}

#[tokio::test]
async fn a_call_at_the_limit_is_a_violation_whatever_it_is_called() {
    for (name, input) in ways() {
        let scene = scene(2);
        // The depth counts along the chain, through whichever tool it goes.
        scene.server.when(PARENT).reply(delegate("CHILD-A")).forever(text(DONE));
        let spawn = tool_use("agent_spawn", json!({ "prompt": "CHILD-C look around" }));
        scene.server.when("CHILD-A").reply(spawn).forever(text("from A"));
        scene.server.when("CHILD-C").reply(tool_use(name, input)).forever(text("from C"));
        let run = scene.run().finish().await;
        run.assert_code(4);
        assert_eq!(scene.server.requests_of("CHILD-B").len(), 0, "{name}");
        let of_last = scene.server.requests_of("CHILD-C");
        assert_eq!(of_last.len(), 1, "{name}: it and the fork that it wanted ask nothing more");
        let offered = of_last[0].tool_names().into_iter().any(|tool| tool == name);
        assert!(!offered, "{name} is withheld");
        assert_violation(&run, 2, 2);
        let logged = log_of(&scene, "autonomy_violation");
        assert_eq!(logged.len(), 1, "{name}: {logged:?}");
        assert_eq!(
            (&logged[0]["kind"], &logged[0]["depth"]),
            (&json!("depth_exceeded"), &json!(2))
        );
        let result = run.result();
        assert!(
            result["is_error"] == true && result.to_string().contains("depth limit"),
            "{result}"
        );
    }
}

#[track_caller]
fn assert_violation(run: &Finished, depth: u32, limit: u32) {
    let frames = frames_of(run, "user");
    let mut typed = frames.iter().map(|frame| &frame["tool_use_result"]["autonomy_boundary"]);
    let boundary = typed.find(|boundary| boundary.is_object()).unwrap_or_else(|| panic!("{run}"));
    assert_eq!(*boundary, json!({ "kind": "depth_exceeded", "depth": depth, "limit": limit }));
}

#[tokio::test]
async fn the_operator_sees_a_call_beyond_the_depth_limit() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(calls([agent("CHILD-B")]));
    let args = ["--dangerously-skip-permissions", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 120, 40);
    // Who tried what, the limit and its key, and what came of it; the message is folded to the width.
    screen.wait_for("general-purpose-1: An agent at depth 1 tried to start a");
    screen.wait_for("the depth limit is 1");
    let shown = screen
        .wait_for("(`max_depth`): the run was stopped. Ask for the work without a further level");
    assert_eq!(scene.server.requests_of("CHILD-B").len(), 0);
    assert_eq!(scene.server.requests_of(PARENT).len(), 1, "the run stops: {shown}");
}

#[tokio::test]
async fn a_reported_violation_is_a_soft_error_and_the_run_goes_on() {
    let scene = Scene::new();
    scene.world.config("[subagents]\non_autonomy_violation = \"report\"\n");
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(calls([agent("CHILD-B")])).then(text("alone"));
    let run = scene.go().await;
    assert_eq!(run.result()["result"], DONE);
    assert_eq!(scene.server.requests_of("CHILD-B").len(), 0);
    let refused = scene.server.requests_of("CHILD-A")[1].tool_result();
    assert!(refused.is_error && refused.text.contains("Do the work yourself"), "{refused:?}");
    assert_eq!(log_of(&scene, "autonomy_violation").len(), 1);
    scene.server.finish();
}

#[tokio::test]
async fn without_nesting_a_grandchild_is_refused_with_depth_left() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nmax_depth = 3\nallow_nested_spawn = false\n");
    scene.server.when(PARENT).reply(calls([agent("CHILD-A")]));
    scene.server.when("CHILD-A").reply(calls([agent("CHILD-B")]));
    let run = scene.run().finish().await;
    run.assert_code(4);
    assert_eq!(scene.server.requests_of("CHILD-B").len(), 0);
    assert!(!scene.server.requests_of("CHILD-A")[0].tool_names().contains(&"AgentTool"));
    assert_violation(&run, 1, 1);
    assert!(run.stdout.contains("allow_nested_spawn"), "it says which key\n{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_chain_goes_as_deep_as_the_limit_and_no_deeper() {
    let scene = scene(3);
    scene.server.when(PARENT).reply(calls([agent("CHILD-A")])).then(text(DONE));
    scene.server.when("CHILD-A").reply(calls([agent("CHILD-B")])).then(text("from A"));
    scene.server.when("CHILD-B").reply(calls([agent("CHILD-C")])).then(text("from B"));
    scene.server.when("CHILD-C").reply(text("from C"));
    scene.go().await;
    let offers = |word: &str| {
        let request = scene.server.requests_of(word).remove(0);
        request.tool_names().contains(&"AgentTool")
    };
    assert_eq!(["CHILD-A", "CHILD-B", "CHILD-C"].map(offers), [true, true, false]);
    assert_eq!(scene.server.requests_of("CHILD-B")[1].tool_result().text, "from C");
    scene.server.finish();
}

#[tokio::test]
async fn what_an_agent_was_not_given_it_cannot_hand_on() {
    let scene = scene(2);
    let some = json!({ "prompt": "CHILD-A look", "tool_allowlist": ["Read", "AgentTool"] });
    scene.server.when(PARENT).reply(calls([some])).then(text(DONE));
    scene.server.when("CHILD-A").reply(calls([agent("CHILD-B")])).then(text("from A"));
    scene
        .server
        .when("CHILD-B")
        .reply(tool_use("Bash", bash("touch evil.txt")))
        .then(text("from B"));
    scene.go().await;
    assert_eq!(scene.server.requests_of("CHILD-B")[0].tool_names(), ["Read"]);
    assert!(!scene.world.exists("evil.txt"));
    scene.server.finish();
}
