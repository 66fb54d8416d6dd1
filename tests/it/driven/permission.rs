//! `--permission-prompt-tool stdio`: what a person would be asked, the program is asked.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::{connect, request};
use crate::support::client::{ARGS, Client};
use crate::support::run::Finished;
use crate::support::scene::{Scene, agent, agent_with, bash, calls};
use crate::support::script::{text, tool_use};

const ASKS: [&str; 2] = ["--permission-prompt-tool", "stdio"];

/// A conversation whose first answer is one `touch`.
async fn touching(scene: &Scene, file: &str) -> Client {
    let call = tool_use("Bash", bash(&format!("touch {file}")));
    scene.server.when("HELLO-1").reply(call).then(text("done"));
    connect(scene, &ASKS).await
}

async fn end(mut client: Client) -> Finished {
    assert_eq!(client.result().await["result"], "done");
    let run = client.close().await;
    run.assert_code(0);
    run
}

#[tokio::test]
async fn a_question_says_who_asks_for_what_and_yes_lets_it_run() {
    let scene = Scene::new();
    let mut client = touching(&scene, "a.txt").await;
    client.prompt("HELLO-1");
    let call = client.frame(|frame| frame["message"]["content"][0]["type"] == "tool_use").await;
    let question = client.question("can_use_tool").await;
    let body = &question.body;
    assert_eq!(body["tool_name"], "Bash");
    assert_eq!(body["input"]["command"], "touch a.txt");
    assert_eq!(body["tool_use_id"], call["message"]["content"][0]["id"]);
    assert_eq!(body["agent_id"], Value::Null);
    let offer = &body["permission_suggestions"][0];
    assert_eq!((&offer["type"], &offer["destination"]), (&json!("addRules"), &json!("session")));
    assert!(!scene.world.exists("a.txt"));
    client.answer(&question, json!({ "behavior": "allow", "updatedInput": body["input"] }));
    end(client).await;
    assert!(scene.world.exists("a.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn a_changed_input_goes_no_further_than_its_names_did_when_it_was_asked_about() {
    let scene = Scene::new();
    let project = scene.world.project_dir();
    scene.world.write("sub/a.txt", "");
    let file = |content: &str| json!({ "file_path": "sub/n.txt", "content": content });
    for (number, content) in ["x\n", "x\n\n"].into_iter().enumerate() {
        let prompt = format!("HELLO-{number}");
        scene.server.when(&prompt).reply(tool_use("Write", file("x\n"))).then(text("done"));
        let mut client = connect(&scene, &ASKS).await;
        client.prompt(&prompt);
        let question = client.question("can_use_tool").await;
        std::fs::rename(project.join("sub"), project.join("old")).unwrap();
        symlink(scene.world.home_dir(), project.join("sub")).unwrap();
        let answer = json!({ "behavior": "allow", "updatedInput": file(content) });
        client.answer(&question, answer);
        end(client).await;
        let result = scene.server.requests().pop().unwrap().tool_result();
        assert!(result.is_error && result.text.contains("leads elsewhere"), "{}", result.text);
        assert!(!scene.world.home_dir().join("n.txt").exists());
        std::fs::remove_file(project.join("sub")).unwrap();
        std::fs::rename(project.join("old"), project.join("sub")).unwrap();
    }
    scene.server.finish();
}

#[tokio::test]
async fn a_question_says_where_links_lead_and_what_to_beware_of() {
    let scene = Scene::new();
    let project = scene.world.project_dir();
    scene.world.write("docs/a.txt", "");
    scene.world.write(".git/hooks/none", "");
    symlink("../.git/hooks/post-checkout", project.join("docs/readme.md")).unwrap();
    let write = json!({ "file_path": "docs/readme.md", "content": "x\n" });
    let calls = tool_use("Write", write).tool_use("Bash", bash("ca\u{200b}t x"));
    scene.server.when("HELLO-1").reply(calls).then(text("done"));
    let mut client = connect(&scene, &ASKS).await;
    client.prompt("HELLO-1");
    let hook = project.canonicalize().unwrap().join(".git/hooks/post-checkout");
    for _ in 0..2 {
        let question = client.question("can_use_tool").await;
        let body = &question.body;
        let reason = body["decision_reason"].as_str().unwrap();
        if body["tool_name"] == "Write" {
            assert_eq!(body["blocked_path"], hook.to_str().unwrap());
            let link = format!("docs/readme.md leads to {}", hook.display());
            assert!(reason.contains(&link), "{reason}");
        } else {
            assert_eq!(body["blocked_path"], Value::Null);
            assert!(reason.ends_with("; cat has the invisible character U+200B in it"), "{reason}");
        }
        client.answer(&question, json!({ "behavior": "deny", "message": "no" }));
    }
    end(client).await;
    scene.server.finish();
}

#[tokio::test]
async fn a_hook_that_asks_has_the_program_asked_also_where_the_mode_lets_everything_run() {
    let scene = Scene::new();
    let asks = json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "ask",
        "permissionDecisionReason": "WHY-88",
    } });
    let hook = json!({ "type": "command", "command": format!("printf '%s' '{asks}'") });
    let settings = json!({ "hooks": { "PreToolUse": [{ "hooks": [hook] }] } });
    scene.world.home(".claude/settings.json", &settings.to_string());
    let call = tool_use("Bash", bash("touch a.txt"));
    scene.server.when("HELLO-1").reply(call).then(text("done"));
    let free = [ASKS[0], ASKS[1], "--dangerously-skip-permissions"];
    let mut client = connect(&scene, &free).await;
    client.prompt("HELLO-1");
    let question = client.question("can_use_tool").await;
    assert_eq!(question.body["decision_reason"], "a hook asks: WHY-88");
    client.answer(&question, json!({ "behavior": "deny", "message": "WHY-77" }));
    end(client).await;
    assert!(!scene.world.exists("a.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn a_changed_input_is_what_runs() {
    let scene = Scene::new();
    let mut client = touching(&scene, "a.txt").await;
    client.prompt("HELLO-1");
    let question = client.question("can_use_tool").await;
    let changed = bash("touch b.txt");
    client.answer(&question, json!({ "behavior": "allow", "updatedInput": changed }));
    end(client).await;
    assert_eq!(["a.txt", "b.txt"].map(|file| scene.world.exists(file)), [false, true]);
    scene.server.finish();
}

#[tokio::test]
async fn a_changed_input_is_checked_and_judged_again() {
    let scene = Scene::new();
    scene.world.config("[permissions]\ndeny = [\"Bash(rm:*)\"]\n");
    for (input, named) in [(bash("rm -r x"), "Bash(rm:*)"), (json!({ "line": 5 }), "command")] {
        let mut client = touching(&scene, "a.txt").await;
        client.prompt("HELLO-1");
        let question = client.question("can_use_tool").await;
        client.answer(&question, json!({ "behavior": "allow", "updatedInput": input }));
        end(client).await;
        let result = scene.server.requests().pop().unwrap().tool_result();
        assert!(result.is_error && result.text.contains(named), "{result:?}");
    }
    assert!(!scene.world.exists("a.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn no_tells_the_model_why_and_no_with_interrupt_ends_the_turn() {
    let scene = Scene::new();
    let mut client = touching(&scene, "a.txt").await;
    client.prompt("HELLO-1");
    let question = client.question("can_use_tool").await;
    client.answer(&question, json!({ "behavior": "deny", "message": "WHY-77" }));
    let result = client.result().await;
    assert_eq!(result["permission_denials"][0]["tool_name"], "Bash");
    let told = scene.server.requests()[1].tool_result().text;
    assert_eq!(told, "denied by the program that drives caliban: WHY-77");
    scene.server.when("HELLO-1").reply(tool_use("Bash", bash("touch a.txt")));
    client.prompt("again");
    let question = client.question("can_use_tool").await;
    let deny = json!({ "behavior": "deny", "message": "stop", "interrupt": true });
    client.answer(&question, deny);
    let result = client.result().await;
    assert_eq!(result["error_kind"], "cancelled");
    assert_eq!(result["permission_denials"][0]["tool_input"]["command"], "touch a.txt");
    let run = client.close().await;
    run.assert_code(130);
    assert!(run.stdout.contains("denied by the program that drives caliban: stop"), "{run}");
    assert!(!run.stdout.contains("This call was cancelled."), "{run}");
    assert!(!scene.world.exists("a.txt"));
    assert_eq!(scene.server.requests().len(), 3, "no request after the interrupt");
}

#[tokio::test]
async fn rules_and_mode_of_an_answer_hold_for_what_follows() {
    let scene = Scene::new();
    // The same call again, which would be a second question that nobody answers.
    let again = tool_use("Bash", bash("touch a.txt"));
    let edit = tool_use("Write", json!({ "file_path": "c.txt", "content": "x" }));
    let mut client = touching(&scene, "a.txt").await;
    scene.server.when("HELLO-1").reply(again).then(edit).then(text("done"));
    client.prompt("HELLO-1");
    let question = client.question("can_use_tool").await;
    let mut updates = question.body["permission_suggestions"].as_array().unwrap().clone();
    updates.push(json!({ "type": "setMode", "mode": "acceptEdits", "destination": "session" }));
    client.answer(&question, json!({ "behavior": "allow", "updatedPermissions": updates }));
    client.result().await;
    client.prompt("go on");
    end(client).await;
    assert!(["a.txt", "c.txt"].iter().all(|file| scene.world.exists(file)));
    scene.server.finish();
}

#[tokio::test]
async fn rules_that_an_answer_writes_into_a_file_hold_now_and_in_the_next_run() {
    for destination in ["localSettings", "projectSettings"] {
        let scene = Scene::new();
        let again = |file: &str| tool_use("Bash", bash(&format!("touch {file}")));
        let mut client = touching(&scene, "a.txt").await;
        client.prompt("HELLO-1");
        let question = client.question("can_use_tool").await;
        let rule = json!({ "toolName": "Bash", "ruleContent": "touch:*" });
        let update = json!({
            "type": "addRules", "rules": [rule], "behavior": "allow", "destination": destination,
        });
        client.answer(&question, json!({ "behavior": "allow", "updatedPermissions": [update] }));
        client.result().await;
        scene.server.when("HELLO-1").reply(again("b.txt")).then(text("done"));
        client.prompt("go on");
        end(client).await;
        // Nobody can be asked here: it runs because it may.
        scene.server.when("PARENT-1").reply(again("c.txt")).then(text("done"));
        let run = scene.world.run(["-p", "PARENT-1 go"]).finish().await;
        run.assert_code(0);
        assert_eq!(run.stderr, "", "{destination}");
        let made = ["a.txt", "b.txt", "c.txt"].map(|file| scene.world.exists(file));
        assert_eq!(made, [true; 3], "{destination}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn what_is_no_answer_is_a_no_and_is_told() {
    let scene = Scene::new();
    let mut client = touching(&scene, "a.txt").await;
    scene.server.when("HELLO-1").reply(tool_use("Bash", bash("touch b.txt"))).then(text("done"));
    client.prompt("HELLO-1");
    let question = client.question("can_use_tool").await;
    client.answer(&question, json!({ "behavior": "perhaps" }));
    client.result().await;
    client.prompt("again");
    let question = client.question("can_use_tool").await;
    client.fail(&question, "canUseTool callback is not provided");
    let run = end(client).await;
    assert!(run.stderr.contains("perhaps") && run.stderr.contains("not provided"), "{run}");
    assert!(!scene.world.exists("a.txt") && !scene.world.exists("b.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_a_no_at_once_and_no_result_of_its_own() {
    let long = format!("touch a.txt #{}", "x".repeat(17 << 20));
    for (answer, why) in [
        (json!({ "subtype": "odd", "response": {} }), "unknown variant `odd`"),
        (json!({ "subtype": "error" }), "missing field `error`"),
        (
            json!({
                "subtype": "success",
                "response": { "behavior": "allow", "updatedInput": bash(&long) },
            }),
            "longer than 16 MB",
        ),
    ] {
        let scene = Scene::new();
        let mut client = touching(&scene, "a.txt").await;
        client.prompt("HELLO-1");
        let question = client.question("can_use_tool").await;
        let mut response = json!({ "request_id": question.id });
        response.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        client.respond(response);
        let run = end(client).await;
        assert!(!scene.world.exists("a.txt"));
        let told = scene.server.requests()[1].tool_result();
        assert!(told.is_error && told.text.contains(why), "{told:?}");
        assert_eq!(run.stderr.lines().filter(|line| line.contains(why)).count(), 1, "{run}");
        let results = run.frames().into_iter().filter(|frame| frame["type"] == "result");
        assert_eq!(results.count(), 1, "{run}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_question_of_a_sub_agent_names_it_and_waits_beside_others() {
    let scene = Scene::new();
    scene
        .server
        .when("HELLO-1")
        .reply(calls([agent("CHILD-A"), agent("CHILD-B")]))
        .then(text("done"));
    for (child, file) in [("CHILD-A", "a.txt"), ("CHILD-B", "b.txt")] {
        let call = tool_use("Bash", bash(&format!("touch {file}")));
        scene.server.when(child).reply(call).then(text("seen"));
    }
    let mut client = connect(&scene, &ASKS).await;
    client.prompt("HELLO-1");
    let mut questions =
        [client.question("can_use_tool").await, client.question("can_use_tool").await];
    questions.sort_by_key(|question| question.body["input"]["command"].to_string());
    let mut agents = Vec::new();
    for _ in 0..2 {
        agents.push(
            client.frame(|frame| frame["subtype"] == "task_started").await["task_id"].clone(),
        );
    }
    for question in &questions {
        assert!(agents.contains(&question.body["agent_id"]), "{question:?}");
    }
    client.answer(&questions[1], json!({ "behavior": "deny", "message": "no" }));
    client.answer(&questions[0], json!({ "behavior": "allow" }));
    end(client).await;
    assert_eq!(["a.txt", "b.txt"].map(|file| scene.world.exists(file)), [true, false]);
    scene.server.finish();
}

#[tokio::test]
async fn a_question_in_the_background_is_open_when_mains_turn_is_over() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nfaces = [\"agent\", \"lifecycle\"]\n");
    let start = calls([agent_with("CHILD-A", "run_in_background", json!(true))]);
    scene.server.when("HELLO-1").reply(start).then(text("resting")).then(text("done"));
    let call = tool_use("Bash", bash("touch a.txt"));
    scene.server.when("CHILD-A").reply(call).then(text("seen"));
    let mut client = connect(&scene, &ASKS).await;
    client.prompt("HELLO-1");
    let question = client.question("can_use_tool").await;
    client.frame(|frame| frame["message"]["content"][0]["text"] == "resting").await;
    assert!(!scene.world.exists("a.txt"));
    client.answer(&question, json!({ "behavior": "allow" }));
    end(client).await;
    assert!(scene.world.exists("a.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn an_agent_call_that_is_not_allowed_falls_through_to_the_permission_prompt() {
    for (behavior, children) in [("deny", 0), ("allow", 1)] {
        let scene = Scene::new();
        scene.world.config("[permissions]\nask = [\"AgentTool\"]\n");
        scene.server.when("HELLO-1").reply(calls([agent("CHILD-A")])).then(text("done"));
        scene.server.when("CHILD-A").reply(text("seen"));
        let mut client = connect(&scene, &ASKS).await;
        client.prompt("HELLO-1");
        let question = client.question("can_use_tool").await;
        assert_eq!(question.body["tool_name"], "Agent");
        assert_eq!(question.body["input"], agent("CHILD-A"));
        client.answer(&question, json!({ "behavior": behavior, "message": "no" }));
        end(client).await;
        assert_eq!(scene.server.requests_of("CHILD-A").len(), children);
    }
}

#[tokio::test]
async fn an_interrupt_withdraws_the_question_and_a_late_answer_is_no_mistake() {
    let scene = Scene::new();
    let mut client = touching(&scene, "a.txt").await;
    client.prompt("HELLO-1");
    let question = client.question("can_use_tool").await;
    client.request(request("interrupt")).await.unwrap();
    client.withdrawn(&question).await;
    client.answer(&question, json!({ "behavior": "allow" }));
    assert_eq!(client.result().await["error_kind"], "cancelled");
    client.prompt("go on");
    let run = end(client).await;
    assert!(!run.stderr.contains("no request has the id"), "{run}");
    assert!(!scene.world.exists("a.txt"));
}

#[tokio::test]
async fn a_client_that_leaves_in_the_middle_of_a_question_has_said_no_and_the_turn_ends() {
    let scene = Scene::new();
    let mut client = touching(&scene, "a.txt").await;
    client.prompt("HELLO-1");
    client.question("can_use_tool").await;
    let run = client.close().await;
    run.assert_code(0);
    assert_eq!(run.result()["result"], "done");
    let result = scene.server.requests()[1].tool_result();
    assert!(result.text.contains("is gone"), "{result:?}");
    assert!(!scene.world.exists("a.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn a_program_that_asks_is_told_when_the_run_works_waits_for_it_and_is_idle() {
    let scene = Scene::new();
    let call = tool_use("Bash", bash("touch a.txt"));
    scene.server.when("HELLO-1").reply(call).then(text("done")).then(text("done"));
    let run = scene.world.run(ARGS).args(ASKS).env("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1");
    let mut client = Client::start(run);
    client.initialize(json!({})).await.unwrap();
    client.prompt("HELLO-1");
    let question = client.question("can_use_tool").await;
    client.prompt("and on");
    client.answer(&question, json!({ "behavior": "allow" }));
    client.result().await;
    let frames = end(client).await.frames();
    let shown = |frame: &Value| match frame["type"].as_str() {
        Some("result") => Some("result".to_owned()),
        _ => frame["state"].as_str().map(str::to_owned),
    };
    let states: Vec<_> = frames.iter().filter_map(shown).collect();
    assert_eq!(states, ["running", "requires_action", "running", "result", "result", "idle"]);
    assert!(frames.iter().all(|frame| frame["state"].is_null() || frame["sdk_host_only"] == true));
}

#[tokio::test]
async fn a_program_behind_the_sdk_is_told_at_once_that_an_interrupted_run_is_idle() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("half").gate("rest"));
    let run = scene.world.run(ARGS).args(ASKS).env("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1");
    let mut client = Client::start(run);
    client.initialize(json!({})).await.unwrap();
    client.prompt("HELLO-1");
    client.frame(|frame| frame["state"] == "running").await;
    scene.server.reached("rest").await;
    client.request(json!({ "subtype": "interrupt" })).await.unwrap();
    // Unmarked, so that the SDK hands it on.
    let idle = client.frame(|frame| frame["state"] == "idle").await;
    assert!(idle.get("sdk_host_only").is_none(), "{idle}");
    client.close().await;
    scene.server.finish();
}

#[tokio::test]
async fn an_answer_is_read_though_a_thousand_prompts_came_before_it() {
    let scene = Scene::new();
    let mut client = touching(&scene, "a.txt").await;
    client.prompt("HELLO-1");
    let question = client.question("can_use_tool").await;
    scene.server.when("HELLO-1").forever(text("done"));
    for number in 0..1100 {
        client.prompt(&format!("flood {number}"));
    }
    client.answer(&question, json!({ "behavior": "allow" }));
    assert_eq!(client.result().await["result"], "done");
    assert!(scene.world.exists("a.txt"));
    client.running().signal(nix::sys::signal::Signal::SIGTERM);
    client.close().await.assert_code(143);
}
