//! Hooks of the handshake: callbacks that run in the driving program.

use serde_json::{Value, json};

use super::{ARGS, Client, MODEL, request, start};
use crate::support::scene::{Scene, agent, bash, calls};
use crate::support::script::{text, tool_use};

/// A client with one callback for each of these events; its id is the event's name.
async fn hooked(scene: &Scene, events: &[(&str, Value)]) -> Client {
    let mut client = start(scene, &["--dangerously-skip-permissions"]);
    let hooks: serde_json::Map<_, _> = events
        .iter()
        .map(|(event, matcher)| {
            (event.to_string(), json!([{ "matcher": matcher, "hookCallbackIds": [event] }]))
        })
        .collect();
    client.initialize(json!({ "hooks": hooks })).await.unwrap();
    client
}

/// Answers the next callback, which is this event's, and says what it was told.
async fn answer(client: &mut Client, event: &str, answer: Value) -> Value {
    let question = client.question("hook_callback").await;
    assert_eq!(question.body["callback_id"], event);
    assert_eq!(question.body["input"]["hook_event_name"], event);
    client.answer(&question, answer);
    question.body
}

fn decision(decision: &str, more: Value) -> Value {
    let mut specific = json!({ "hookEventName": "PreToolUse", "permissionDecision": decision });
    specific.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ "hookSpecificOutput": specific })
}

#[tokio::test]
async fn a_callback_before_a_call_can_deny_it_change_it_or_let_it_be() {
    let scene = Scene::new();
    let touch = |file: &str| tool_use("Bash", bash(&format!("touch {file}")));
    scene.server.when("HELLO-1").reply(touch("a.txt")).then(touch("b.txt")).then(touch("c.txt"));
    scene.server.when("HELLO-1").reply(text("done"));
    let mut client = hooked(&scene, &[("PreToolUse", json!("Bash"))]).await;
    client.prompt("HELLO-1");
    let reason = json!({ "permissionDecisionReason": "WHY-77" });
    let told = answer(&mut client, "PreToolUse", decision("deny", reason)).await;
    assert_eq!(told["input"]["tool_name"], "Bash");
    assert_eq!(told["input"]["tool_input"]["command"], "touch a.txt");
    let call = client.frame(|frame| frame["message"]["content"][0]["type"] == "tool_use").await;
    assert_eq!(told["tool_use_id"], call["message"]["content"][0]["id"]);
    let changed = json!({ "updatedInput": bash("touch d.txt") });
    answer(&mut client, "PreToolUse", decision("allow", changed)).await;
    answer(&mut client, "PreToolUse", json!({})).await;
    assert_eq!(client.result().await["result"], "done");
    client.close().await.assert_code(0);
    let made = ["a.txt", "b.txt", "c.txt", "d.txt"].map(|file| scene.world.exists(file));
    assert_eq!(made, [false, false, true, true]);
    assert!(scene.server.requests()[1].tool_result().text.contains("WHY-77"));
    scene.server.finish();
}

#[tokio::test]
async fn prompts_calls_agents_and_ends_are_told_to_their_callbacks_in_order() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(calls([agent("CHILD-A")])).then(text("done"));
    scene.server.when("CHILD-A").reply(text("seen"));
    let events = ["UserPromptSubmit", "SubagentStart", "SubagentStop", "PostToolUse", "Stop"];
    let mut client = hooked(&scene, &events.map(|event| (event, Value::Null))).await;
    client.prompt("HELLO-1");
    let context = json!({
        "hookSpecificOutput": { "hookEventName": "UserPromptSubmit", "additionalContext": "MORE-55" },
    });
    answer(&mut client, events[0], context).await;
    for event in &events[1..] {
        answer(&mut client, event, json!({})).await;
    }
    assert_eq!(client.result().await["result"], "done");
    client.close().await.assert_code(0);
    assert!(scene.server.requests_of("HELLO-1")[0].text().contains("MORE-55"));
    scene.server.finish();
}

#[tokio::test]
async fn the_callbacks_of_the_first_prompt_wait_for_those_of_the_sessions_beginning() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("one")).then(text("two"));
    let events = [("SessionStart", json!(null)), ("UserPromptSubmit", json!(null))];
    let mut client = hooked(&scene, &events).await;
    client.prompt("HELLO-1");
    let begins = client.question("hook_callback").await;
    assert_eq!(begins.body["input"]["hook_event_name"], "SessionStart");
    // Time enough for the other one to come, if nothing held it back.
    for _ in 0..20 {
        client.request(request("mcp_status")).await.unwrap();
    }
    let context = json!({ "hookEventName": "SessionStart", "additionalContext": "CONTEXT-1" });
    client.answer(&begins, json!({ "hookSpecificOutput": context }));
    // What the beginning had to say is not lost with a prompt that is refused.
    let prompt = client.question("hook_callback").await;
    assert_eq!(prompt.body["input"]["hook_event_name"], "UserPromptSubmit");
    client.answer(&prompt, json!({ "decision": "block", "reason": "not this" }));
    client.result().await;
    client.prompt("HELLO-1 again");
    let prompt = client.question("hook_callback").await;
    client.answer(&prompt, json!({}));
    assert_eq!(client.result().await["result"], "one");
    let run = client.close().await;
    run.assert_code(0);
    let frames = run.frames();
    let is_asked =
        |frame: &&Value| frame["request"]["input"]["hook_event_name"] == "UserPromptSubmit";
    let before = frames.iter().take_while(|frame| !is_asked(frame));
    let is_status = |frame: &&Value| frame["response"]["response"]["mcpServers"].is_array();
    assert_eq!(before.filter(is_status).count(), 20, "{run}");
    let first = scene.server.requests()[0].first_user_text();
    assert!(first.contains("CONTEXT-1") && first.contains("HELLO-1 again"), "{first}");
}

#[tokio::test]
async fn a_callback_that_fails_is_one_line_and_the_call_runs() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(tool_use("Bash", bash("touch a.txt"))).then(text("done"));
    let mut client = hooked(&scene, &[("PreToolUse", json!("Bash"))]).await;
    client.prompt("HELLO-1");
    let question = client.question("hook_callback").await;
    client.fail(&question, "RAISED-66");
    assert_eq!(client.result().await["result"], "done");
    let run = client.close().await;
    run.assert_code(0);
    let told = run.frames().iter().filter(|frame| frame.to_string().contains("RAISED-66")).count();
    assert_eq!(told, 1, "{run}");
    assert!(scene.world.exists("a.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn a_callback_whose_answer_cannot_be_read_denies_at_once() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(tool_use("Bash", bash("touch a.txt"))).then(text("done"));
    let mut client = hooked(&scene, &[("PreToolUse", json!("Bash"))]).await;
    client.prompt("HELLO-1");
    let question = client.question("hook_callback").await;
    client.respond(json!({ "subtype": "error", "request_id": question.id }));
    assert_eq!(client.result().await["result"], "done");
    let run = client.close().await;
    run.assert_code(0);
    let frames = run.frames();
    let count = |is: &dyn Fn(&Value) -> bool| frames.iter().filter(|frame| is(frame)).count();
    let says = |frame: &Value| frame.to_string().contains("the answer cannot be read");
    assert_eq!(count(&|frame| frame["type"] == "system" && says(frame)), 1, "{run}");
    assert_eq!(count(&|frame| frame["type"] == "result"), 1, "{run}");
    assert!(!scene.world.exists("a.txt"), "it may be a denial");
    scene.server.finish();
}

#[tokio::test]
async fn an_interrupt_withdraws_a_callback_and_a_client_that_leaves_holds_nothing_up() {
    let scene = Scene::new();
    let call = || tool_use("Bash", bash("touch a.txt"));
    scene.server.when("HELLO-1").reply(call()).then(call()).then(text("done"));
    let mut client = hooked(&scene, &[("PreToolUse", json!("Bash"))]).await;
    client.prompt("HELLO-1");
    let question = client.question("hook_callback").await;
    client.request(request("interrupt")).await.unwrap();
    client.withdrawn(&question).await;
    assert_eq!(client.result().await["error_kind"], "cancelled");
    client.prompt("again");
    client.question("hook_callback").await;
    let run = client.close().await;
    run.assert_code(0);
    assert_eq!(run.result()["result"], "done");
    assert!(scene.world.exists("a.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn a_matcher_that_cannot_be_read_refuses_the_handshake() {
    let scene = Scene::new();
    let mut client = Client::start(scene.world.run(ARGS).args(MODEL));
    let hooks = json!({ "PreToolUse": [{ "matcher": "(", "hookCallbackIds": ["h"] }] });
    let why = client.initialize(json!({ "hooks": hooks })).await.unwrap_err();
    assert!(why.contains("PreToolUse") && why.contains("matcher"), "{why}");
    client.close().await.assert_code(2);
}

#[tokio::test]
async fn a_callback_can_answer_a_question_in_the_users_place() {
    let scene = Scene::new();
    let touch = |file: &str| tool_use("Bash", bash(&format!("touch {file}")));
    for file in ["a.txt", "b.txt", "c.txt", "d.txt"] {
        scene.server.when("HELLO-1").reply(touch(file));
    }
    scene.server.when("HELLO-1").reply(text("done"));
    let mut client = start(&scene, &["--permission-prompt-tool", "stdio"]);
    let hooks = json!({ "PermissionRequest": [{ "matcher": "Bash", "hookCallbackIds": ["PermissionRequest"] }] });
    client.initialize(json!({ "hooks": hooks })).await.unwrap();
    client.prompt("HELLO-1");
    let decide = |decision: Value| json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision } });
    let event = "PermissionRequest";
    let told = answer(&mut client, event, decide(json!({ "behavior": "allow" }))).await;
    assert_eq!(told["input"]["tool_name"], "Bash");
    assert_eq!(told["input"]["tool_input"]["command"], "touch a.txt");
    let no = json!({ "behavior": "deny", "message": "WHY-77" });
    answer(&mut client, event, decide(no)).await;
    let changed = json!({ "behavior": "allow", "updatedInput": bash("touch e.txt") });
    answer(&mut client, event, decide(changed)).await;
    answer(&mut client, event, json!({})).await;
    let question = client.question("can_use_tool").await;
    assert_eq!(question.body["input"]["command"], "touch d.txt", "only this one is left");
    client.answer(&question, json!({ "behavior": "allow" }));
    let result = client.result().await;
    assert_eq!(result["permission_denials"].as_array().unwrap().len(), 1, "{result}");
    client.close().await.assert_code(0);
    let made = ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"].map(|file| scene.world.exists(file));
    assert_eq!(made, [true, false, false, true, true]);
    assert!(scene.server.requests()[2].tool_result().text.contains("WHY-77"));
    scene.server.finish();
}

#[tokio::test]
async fn a_call_that_is_changed_on_approval_is_judged_with_the_hooks_advice() {
    let scene = Scene::new();
    let touch = tool_use("Bash", bash("touch a.txt"));
    scene.server.when("HELLO-1").reply(touch).then(text("done"));
    let args = ["--permission-prompt-tool", "stdio", "--allowed-tools", "Bash(touch:*)"];
    let mut client = start(&scene, &args);
    let hooks = json!({
        "PreToolUse": [{ "hookCallbackIds": ["PreToolUse"] }],
        "PermissionRequest": [{ "hookCallbackIds": ["PermissionRequest"] }],
    });
    client.initialize(json!({ "hooks": hooks })).await.unwrap();
    client.prompt("HELLO-1");
    answer(&mut client, "PreToolUse", decision("ask", json!({}))).await;
    let changed = json!({ "behavior": "allow", "updatedInput": bash("touch b.txt") });
    let specific = json!({ "hookEventName": "PermissionRequest", "decision": changed });
    answer(&mut client, "PermissionRequest", json!({ "hookSpecificOutput": specific })).await;
    assert_eq!(client.result().await["result"], "done");
    client.close().await.assert_code(0);
    assert_eq!(["a.txt", "b.txt"].map(|file| scene.world.exists(file)), [false, true]);
    scene.server.finish();
}

#[tokio::test]
async fn a_callback_cannot_answer_for_a_deny_rule_and_may_end_the_turn() {
    let scene = Scene::new();
    let rm = tool_use("Bash", bash("rm -f x"));
    let touch = tool_use("Bash", bash("touch a.txt"));
    scene.server.when("HELLO-1").reply(rm).then(touch);
    let args = ["--permission-prompt-tool", "stdio", "--disallowed-tools", "Bash(rm:*)"];
    let mut client = start(&scene, &args);
    let hooks = json!({ "PermissionRequest": [{ "hookCallbackIds": ["PermissionRequest"] }] });
    client.initialize(json!({ "hooks": hooks })).await.unwrap();
    client.prompt("HELLO-1");
    let stop = json!({ "behavior": "deny", "message": "WHY-77", "interrupt": true });
    let specific = json!({ "hookEventName": "PermissionRequest", "decision": stop });
    let told =
        answer(&mut client, "PermissionRequest", json!({ "hookSpecificOutput": specific })).await;
    assert_eq!(told["input"]["tool_input"]["command"], "touch a.txt", "a rule has no question");
    assert_eq!(client.result().await["error_kind"], "cancelled");
    client.close().await;
    assert!(!scene.world.exists("a.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn failures_and_whole_batches_are_told_and_can_be_added_to() {
    let scene = Scene::new();
    let two = tool_use("Bash", bash("echo WRONG-5; exit 3")).tool_use("Bash", bash("echo fine"));
    scene.server.when("HELLO-1").reply(two).then(text("done"));
    let events = ["PostToolUseFailure", "PostToolBatch"];
    let mut client = hooked(&scene, &events.map(|event| (event, Value::Null))).await;
    client.prompt("HELLO-1");
    let add = |event: &str, words: &str| json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": words } });
    let told = answer(&mut client, events[0], add(events[0], "MORE-55")).await;
    let input = &told["input"];
    assert_eq!((&input["tool_name"], &input["is_interrupt"]), (&json!("Bash"), &json!(false)));
    assert!(input["error"].as_str().unwrap().contains("WRONG-5"), "{input}");
    let told = answer(&mut client, events[1], add(events[1], "MORE-66")).await;
    let calls = told["input"]["tool_calls"].as_array().unwrap();
    assert_eq!(calls.len(), 2, "{told}");
    assert_eq!(calls[1]["tool_input"]["command"], "echo fine");
    assert!(calls[1]["tool_response"].to_string().contains("fine"), "{told}");
    assert_eq!(client.result().await["result"], "done");
    client.close().await.assert_code(0);
    let results = scene.server.requests()[1].tool_results();
    assert!(results[0].text.contains("MORE-55") && results[0].is_error, "{results:?}");
    assert!(results[1].text.contains("MORE-66") && !results[1].is_error, "{results:?}");
    scene.server.finish();
}

#[tokio::test]
async fn a_callback_for_a_batch_can_end_the_turn_before_the_next_request() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(tool_use("Bash", bash("touch a.txt")));
    let mut client = hooked(&scene, &[("PostToolBatch", Value::Null)]).await;
    client.prompt("HELLO-1");
    let stop = json!({ "decision": "block", "reason": "WHY-77" });
    answer(&mut client, "PostToolBatch", stop).await;
    assert_eq!(client.result().await["error_kind"], "cancelled");
    let run = client.close().await;
    assert!(run.frames().iter().any(|frame| frame["text"].to_string().contains("WHY-77")), "{run}");
    assert!(scene.world.exists("a.txt"));
    assert_eq!(scene.server.requests().len(), 1);
    scene.server.finish();
}
