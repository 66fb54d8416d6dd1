//! How one call's own limits end an agent, and what its parent is told then.

use serde_json::json;

use super::{after_calls, frames_of};
use crate::support::scene::{PARENT, Scene, agent, agent_with, bash, calls};
use crate::support::script::{error, text, tool_use};

const TOY: &str = "toy-model";

/// A scene with a model whose answers cost a tenth of a dollar per thousand tokens.
fn priced() -> Scene {
    let scene = Scene::new();
    scene.world.models(&format!(
        "[models.{TOY}]\ncontext_window = 100000\nmax_output = 1000\nthinking = \"off\"\n\
         price = {{ input = 0.0, output = 100.0 }}\n"
    ));
    scene
}

#[tokio::test]
async fn a_call_has_a_ceiling_of_its_own_in_dollars() {
    let scene = priced();
    scene.parent_calls([agent_with("CHILD-A", "max_cost_usd", json!(0.25))]);
    scene.server.when("CHILD-A").forever(tool_use("Bash", bash("true")).usage(0, 1000));
    scene.run().args(["--model", TOY]).finish().await.assert_code(0);
    // After two answers a twentieth is left, and the next one is closed where that ends or never sent.
    let sent = scene.server.requests_of("CHILD-A").len();
    assert!((2..=3).contains(&sent), "{sent}");
    let result = after_calls(&scene).tool_result();
    assert!(result.is_error && result.text.contains("$0.25"), "{result:?}");
    scene.server.finish();
}

#[tokio::test]
async fn a_spent_budget_of_one_call_is_a_soft_result_and_the_parent_goes_on() {
    let scene = priced();
    let definition = "---\nname: frugal\ndescription: Spends next to nothing at all.\nbudget:\n  max_usd: 0.15\n---\nWork.";
    scene.world.agent("frugal", definition);
    scene.parent_calls([agent_with("CHILD-A", "agent", json!("frugal"))]);
    scene.server.when("CHILD-A").forever(tool_use("Bash", bash("true")).usage(0, 1000));
    let run = scene.run().args(["--model", TOY]).finish().await;
    run.assert_code(0);
    let result = after_calls(&scene).tool_result();
    assert!(result.is_error && result.text.contains("budget $0.15 used up, partial"), "{result:?}");
    let report = frames_of(&run, "user")
        .into_iter()
        .find(|frame| frame["tool_use_result"]["agentId"].is_string());
    assert_eq!(report.unwrap()["tool_use_result"]["status"], "failed");
    assert_eq!(scene.server.requests_of(PARENT).len(), 2);
    scene.server.finish();
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_a_soft_result() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nmax_wall_s = 1\n");
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(text("so far").stall());
    scene.go().await;
    let result = after_calls(&scene).tool_result();
    assert!(result.is_error && result.text.starts_with("so far"), "{result:?}");
    assert!(result.text.contains("time limit 0:01, partial"), "{result:?}");
    scene.server.finish();
}

#[tokio::test]
async fn an_agent_that_never_ends_is_a_soft_result_after_its_turns() {
    let scene = Scene::new();
    scene.parent_calls([agent_with("CHILD-A", "max_turns", json!(3))]);
    scene.server.when("CHILD-A").forever(tool_use("Bash", bash("true")));
    scene.go().await;
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 3);
    let result = after_calls(&scene).tool_result();
    assert!(result.is_error && result.text.contains("turn limit 3, partial"), "{result:?}");
    scene.server.finish();
}

#[tokio::test]
async fn a_rejected_key_in_a_child_stops_the_run_without_another_request_of_its_parent() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(calls([agent("CHILD-A")]));
    scene.server.when("CHILD-A").reply(error(401, "authentication_error", "invalid x-api-key"));
    scene.run().finish().await.assert_code(3);
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 1, "no retry");
    assert_eq!(scene.server.requests_of(PARENT).len(), 1, "no retry of the parent");
    scene.server.finish();
}

#[tokio::test]
async fn after_a_fatal_end_the_session_goes_on() {
    let beyond = || calls([agent("CHILD-B")]);
    let rejected = || error(401, "authentication_error", "invalid x-api-key");
    for (fatal, code) in [(rejected(), 3), (beyond(), 4)] {
        let scene = Scene::new();
        scene.server.when(PARENT).reply(calls([agent("CHILD-A")])).then(text("resumed"));
        scene.server.when("CHILD-A").reply(fatal);
        scene.run().finish().await.assert_code(code);
        let mut files = scene.world.child_transcripts();
        files.push(scene.world.session().join("transcript.jsonl"));
        for file in files {
            let stored = std::fs::read_to_string(file).unwrap();
            let count = |kind: &str| stored.matches(&format!("\"type\":\"{kind}\"")).count();
            assert_eq!(count("tool_use"), count("tool_result"), "{code}: {stored}");
        }
        let next = scene.world.run(["-c", "-p", "continue"]).finish().await;
        next.assert_code(0);
        assert_eq!(next.stdout, "resumed\n", "{code}");
        let read = after_calls(&scene);
        let result = read.tool_result();
        assert!(result.is_error && result.id == "toolu_0001", "{code}: {result:?}");
        assert!(read.messages().last().unwrap().to_string().contains("continue"), "{code}");
        assert_eq!(scene.server.requests_of("CHILD-A").len(), 1, "{code}: nobody runs by itself");
        assert_eq!(scene.server.requests_of("CHILD-B").len(), 0, "{code}");
        scene.server.finish();
    }
}
