//! S3.14: a child in host mode stays for messages after its first prompt.

use serde_json::{Value, json};

use super::comms::{COMMS, about_first, scene};
use super::log_of;
use crate::support::record::Recorded;
use crate::support::scene::{DONE, PARENT, Scene, agent, calls};
use crate::support::script::{Reply, text, tool_use};

fn host(more: &Value) -> Reply {
    let mut input = json!({ "prompt": "CHILD-A look around", "host_mode": true });
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    tool_use("agent_spawn", input)
}

fn send(message: &str) -> Reply {
    about_first("agent_send", json!({ "message": message }))
}

fn answer(request: &Recorded) -> Value {
    serde_json::from_str(&request.tool_result().text).unwrap()
}

fn last(request: &Recorded) -> String {
    request.messages().last().unwrap().to_string()
}

#[tokio::test]
async fn a_later_message_is_a_second_run_of_the_same_child_and_the_end_does_not_wait_for_it() {
    let scene = scene();
    let server = &scene.server;
    server
        .when(PARENT)
        .reply(host(&json!({})))
        .then(text("waiting"))
        .then(send("SECOND-2"))
        .then(text("waiting"))
        .then(text(DONE));
    server.when("CHILD-A").reply(text("the first answer").gate("first"));
    server.when("CHILD-A").reply(text("the second answer").gate("second"));
    let running = scene.run().start();
    for (gate, requests) in [("first", 2), ("second", 4)] {
        // Main has nothing to do any more but to wait for the answer.
        server.wait_for_of(PARENT, requests).await;
        server.open(gate);
    }
    let run = running.wait().await;
    run.assert_code(0);
    let parent = scene.server.requests_of(PARENT);
    assert!(parent[0].tool("agent_spawn").unwrap().to_string().contains("host_mode"));
    let first = last(&parent[2]);
    assert!(first.contains("the first answer") && first.contains("stays for messages"), "{first}");
    assert_eq!(answer(&parent[3])["delivered"], true);
    assert!(last(&parent[4]).contains("the second answer"));
    let child = scene.server.requests_of("CHILD-A");
    assert_eq!(child.len(), 2);
    assert!(child[1].text().contains("the first answer"), "the same conversation");
    assert!(last(&child[1]).contains("SECOND-2"));
    assert_eq!(run.result()["result"], DONE);
    assert_eq!(scene.world.child_transcripts().len(), 1);
    scene.server.finish();
}

#[tokio::test]
async fn one_that_rests_is_running_and_not_final_and_is_ended_by_a_cancel() {
    let scene = scene();
    scene
        .server
        .when(PARENT)
        .reply(host(&json!({})))
        .then(about_first("agent_wait", json!({})))
        .then(about_first("agent_cancel", json!({})))
        .then(about_first("agent_status", json!({})))
        .then(send("too late"))
        .then(text(DONE));
    scene.server.when("CHILD-A").reply(text("the first answer"));
    scene.go().await;
    let parent = scene.server.requests_of(PARENT);
    let waited = answer(&parent[2]);
    assert_eq!((&waited["state"], &waited["is_final"]), (&json!("running"), &json!(false)));
    assert_eq!(answer(&parent[3])["previous_state"], "running");
    let status = answer(&parent[4]);
    assert_eq!((&status["state"], &status["is_final"]), (&json!("cancelled"), &json!(true)));
    assert!(status["output"].as_str().unwrap().contains("the first answer"));
    assert!(parent[5].tool_result().text.contains("has ended (cancelled)"));
    scene.server.finish();
}

#[tokio::test]
async fn one_that_rests_holds_no_slot_and_gets_one_again() {
    let scene = Scene::new();
    scene.world.config(&format!("{COMMS}max_concurrent_agents = 1\nmax_children_per_agent = 1\n"));
    scene
        .server
        .when(PARENT)
        .reply(host(&json!({})))
        .then(about_first("agent_wait", json!({})))
        .then(calls([agent("CHILD-B")]))
        .then(send("SECOND-2"))
        .then(about_first("agent_wait", json!({})))
        .forever(text(DONE));
    scene.server.when("CHILD-A").reply(text("one")).then(text("two"));
    scene.server.when("CHILD-B").reply(text("beside it"));
    scene.go().await;
    let parent = scene.server.requests_of(PARENT);
    assert_eq!(parent[3].tool_result().text, "beside it");
    // The wait was for the second answer, not for the rest before it.
    assert_eq!(answer(&parent[5])["state"], "running");
    assert!(last(&parent[5]).contains("two"), "{}", last(&parent[5]));
    scene.server.finish();
}

#[tokio::test]
async fn a_message_that_its_budget_has_no_room_for_ends_it() {
    let scene = scene();
    scene
        .server
        .when(PARENT)
        .reply(host(&json!({ "budget": { "max_tokens": 100 } })))
        .then(about_first("agent_wait", json!({})))
        .then(send("SECOND-2"))
        .then(about_first("agent_wait", json!({})))
        .then(text(DONE));
    scene.server.when("CHILD-A").reply(text("one").usage(100, 10));
    scene.go().await;
    let waited = answer(&scene.server.requests_of(PARENT)[4]);
    assert_eq!((&waited["state"], &waited["is_final"]), (&json!("failed"), &json!(true)));
    assert!(waited["error"].as_str().unwrap().contains("budget 100 tokens used up"), "{waited}");
    scene.server.finish();
}

#[tokio::test]
async fn the_time_of_an_agent_runs_while_it_rests() {
    let scene = scene();
    let limited = host(&json!({ "budget": { "max_wall_s": 1 } }));
    scene.server.when(PARENT).reply(limited).forever(text(DONE));
    scene.server.when("CHILD-A").reply(text("one"));
    let args = ["-p", "--output-format", "stream-json", "--input-format", "stream-json"];
    let mut running =
        scene.world.run(args).args(["--dangerously-skip-permissions"]).open_stdin().start();
    let prompt = json!({ "role": "user", "content": "PARENT-1 go" });
    running.send(&json!({ "type": "user", "message": prompt }));
    // Its end stands in the frames at once; main, which is idle, reads of it with its next prompt.
    running.printed("task_notification", 1).await;
    running.send(&json!({ "type": "user", "message": { "role": "user", "content": "go on" } }));
    running.printed("has ended: time limit", 1).await;
    running.close().await.assert_code(0);
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 1);
    scene.server.finish();
}

#[tokio::test]
async fn a_message_makes_nobody_shallower_and_a_call_beyond_the_limit_is_a_violation() {
    let scene = scene();
    scene
        .server
        .when(PARENT)
        .reply(host(&json!({})))
        .then(about_first("agent_wait", json!({})))
        .then(send("SECOND-2"))
        .then(about_first("agent_wait", json!({})));
    scene.server.when("CHILD-A").reply(text("one")).then(calls([agent("CHILD-B")]));
    let run = scene.run().finish().await;
    run.assert_code(4);
    assert_eq!(run.result()["error_kind"], "autonomy_violation");
    let child = scene.server.requests_of("CHILD-A");
    assert_eq!(child.len(), 2);
    assert!(last(&child[1]).contains("SECOND-2"));
    assert!(!child[1].tool_names().contains(&"AgentTool"));
    assert_eq!(scene.server.requests_of("CHILD-B").len(), 0);
    assert_eq!(log_of(&scene, "autonomy_violation").len(), 1);
    scene.server.finish();
}
