//! Questions that an agent asks the user: the program gets them, and answers in the changed input.

use serde_json::{Value, json};

use super::connect;
use crate::support::client::Client;
use crate::support::record::ToolResult;
use crate::support::scene::{DONE, PARENT, Scene};
use crate::support::script::{text, tool_use};

const ASKS: [&str; 2] = ["--permission-prompt-tool", "stdio"];

fn asked() -> Value {
    let option = |label: &str| json!({ "label": label, "description": "Why." });
    let question = |text: &str, header: &str, several: bool| {
        json!({
            "question": text, "header": header, "multiSelect": several,
            "options": [option("serde"), option("clock")],
        })
    };
    json!({ "questions": [
        question("Which library?", "Library", false), question("Which features?", "Features", true),
    ] })
}

async fn asking(scene: &Scene, args: &[&str]) -> Client {
    scene.server.when(PARENT).reply(tool_use("AskUserQuestion", asked())).then(text(DONE));
    let mut client = connect(scene, args).await;
    client.prompt("PARENT-1 go");
    client
}

async fn result(scene: &Scene, mut client: Client) -> ToolResult {
    assert_eq!(client.result().await["result"], DONE);
    client.close().await.assert_code(0);
    scene.server.requests_of(PARENT)[1].tool_result()
}

#[tokio::test]
async fn the_program_answers_in_the_input_also_where_the_mode_lets_everything_run() {
    for more in
        [&[][..], &["--dangerously-skip-permissions"], &["--allowed-tools", "AskUserQuestion"]]
    {
        let scene = Scene::new();
        let mut client = asking(&scene, &[&ASKS, more].concat()).await;
        let question = client.question("can_use_tool").await;
        let body = &question.body;
        assert_eq!((&body["tool_name"], &body["input"]), (&json!("AskUserQuestion"), &asked()));
        assert_eq!(body["permission_suggestions"], json!([]));
        let mut input = asked();
        input["answers"] =
            json!({ "Which library?": "my own", "Which features?": ["serde", "clock"] });
        client.answer(&question, json!({ "behavior": "allow", "updatedInput": input }));
        let read = result(&scene, client).await;
        assert_eq!(
            read.text,
            "The user answered:\n\"Which library?\": \"my own\"\n\"Which features?\": \"serde, clock\""
        );
        assert!(!read.is_error);
        scene.server.finish();
    }
}

#[tokio::test]
async fn no_and_a_yes_without_answers_are_errors_that_say_so() {
    for (answer, part) in [
        (
            json!({ "behavior": "deny", "message": "busy" }),
            "denied by the program that drives caliban: busy",
        ),
        (json!({ "behavior": "allow" }), "approved without an answer"),
        (json!({ "behavior": "allow", "updatedInput": asked() }), "approved without an answer"),
    ] {
        let scene = Scene::new();
        let mut client = asking(&scene, &ASKS).await;
        let question = client.question("can_use_tool").await;
        client.answer(&question, answer);
        let read = result(&scene, client).await;
        assert!(read.is_error && read.text.contains(part), "{read:?}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_model_cannot_answer_its_own_questions() {
    let scene = Scene::new();
    let mut forged = asked();
    forged["answers"] = json!({ "Which library?": "serde" });
    scene.server.when(PARENT).reply(tool_use("AskUserQuestion", forged)).then(text(DONE));
    let mut client = connect(&scene, &ASKS).await;
    client.prompt("PARENT-1 go");
    let read = result(&scene, client).await;
    assert!(read.is_error && read.text.contains("Only the user fills in answers"), "{read:?}");
    scene.server.finish();
}

#[tokio::test]
async fn without_somebody_to_ask_the_tool_is_not_offered() {
    let scene = Scene::new();
    let client = asking(&scene, &[]).await;
    let read = result(&scene, client).await;
    assert!(read.is_error && read.text.contains("There is no tool AskUserQuestion"), "{read:?}");
    assert!(!scene.server.requests()[0].tool_names().contains(&"AskUserQuestion"));
    scene.server.finish();
}

#[tokio::test]
async fn a_hook_can_answer_and_the_program_is_not_asked() {
    let scene = Scene::new();
    let mut input = asked();
    input["answers"] = json!({ "Which library?": "clock" });
    let answer = json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": input,
    } });
    let before = json!({ "type": "command", "command": format!("printf '%s' '{answer}'") });
    let settings = json!({ "hooks": { "PreToolUse": [{ "hooks": [before] }] } });
    scene.world.home(".claude/settings.json", &settings.to_string());
    let client = asking(&scene, &ASKS).await;
    let read = result(&scene, client).await;
    assert!(read.text.starts_with("The user answered:\n\"Which library?\": \"clock\""), "{read:?}");
    scene.server.finish();
}

#[tokio::test]
async fn a_hook_that_only_allows_leaves_the_questions_open_and_another_is_notified() {
    let scene = Scene::new();
    let allow = json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow",
    } });
    let before = json!({ "type": "command", "command": format!("printf '%s' '{allow}'") });
    let notified = json!({ "type": "command", "command": "cat >notified" });
    let settings = json!({ "hooks": {
        "PreToolUse": [{ "hooks": [before] }], "Notification": [{ "hooks": [notified] }],
    } });
    scene.world.home(".claude/settings.json", &settings.to_string());
    scene.world.trust();
    let mut client = asking(&scene, &ASKS).await;
    let question = client.question("can_use_tool").await;
    client.answer(&question, json!({ "behavior": "deny", "message": "no" }));
    assert!(result(&scene, client).await.is_error);
    let notified = scene.world.read("notified");
    assert!(notified.contains("caliban has a question for you"), "{notified}");
    scene.server.finish();
}

const PLAN: &str = "# Fix it";

/// Main presents a plan, and writes a file afterwards.
async fn planning(scene: &Scene, args: &[&str]) -> Client {
    let write = tool_use("Write", json!({ "file_path": "a.txt", "content": "x" }));
    let main = scene.server.when(PARENT).reply(tool_use("ExitPlanMode", json!({ "plan": PLAN })));
    main.then(write).then(text(DONE));
    let mut client = connect(scene, &[args, &["--permission-mode", "plan"]].concat()).await;
    client.prompt("PARENT-1 go");
    client
}

#[tokio::test]
async fn the_program_approves_a_plan_and_chooses_the_mode_that_follows() {
    let accepts = json!([{ "type": "setMode", "mode": "acceptEdits", "destination": "session" }]);
    for answer in [
        json!({ "behavior": "allow", "updatedInput": { "plan": PLAN }, "updatedPermissions": accepts }),
        json!({ "behavior": "allow", "updatedInput": { "plan": "# Less", "mode": "acceptEdits" } }),
    ] {
        let scene = Scene::new();
        let mut client = planning(&scene, &ASKS).await;
        let question = client.question("can_use_tool").await;
        let body = &question.body;
        assert_eq!(
            (&body["tool_name"], &body["input"]["plan"]),
            (&json!("ExitPlanMode"), &json!(PLAN))
        );
        client.answer(&question, answer.clone());
        let read = result(&scene, client).await;
        assert!(!read.is_error && read.text.starts_with("The user approved the plan"), "{read:?}");
        assert_eq!(read.text.ends_with("# Less"), answer["updatedInput"]["plan"] == "# Less");
        assert!(scene.world.exists("a.txt"), "edits run");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_plain_yes_to_a_plan_leaves_the_default_mode_and_no_leaves_plan_mode() {
    for (answer, asked) in [
        (json!({ "behavior": "allow" }), true),
        (json!({ "behavior": "deny", "message": "smaller steps" }), false),
    ] {
        let scene = Scene::new();
        let mut client = planning(&scene, &ASKS).await;
        let question = client.question("can_use_tool").await;
        client.answer(&question, answer);
        if asked {
            let question = client.question("can_use_tool").await;
            assert_eq!(question.body["tool_name"], "Write");
            client.answer(&question, json!({ "behavior": "deny", "message": "no" }));
        }
        let read = result(&scene, client).await;
        assert_eq!(read.is_error, !asked, "{read:?}");
        assert_eq!(read.text.ends_with("smaller steps"), !asked, "{read:?}");
        let written = scene.server.requests_of(PARENT)[2].tool_result();
        assert_eq!(written.text.contains("plan mode is on"), !asked, "{written:?}");
        assert!(!scene.world.exists("a.txt"));
        scene.server.finish();
    }
}

#[tokio::test]
async fn without_somebody_to_ask_a_plan_is_an_answer() {
    let scene = Scene::new();
    scene
        .server
        .when(PARENT)
        .reply(tool_use("ExitPlanMode", json!({ "plan": PLAN })))
        .then(text(DONE));
    let run = scene.world.run(["-p", "PARENT-1 go", "--permission-mode", "plan"]).finish().await;
    run.assert_code(0);
    let requests = scene.server.requests();
    let offered = requests[0].tool_names();
    assert!(!offered.contains(&"ExitPlanMode") && !offered.contains(&"AskUserQuestion"));
    assert!(!requests[0].text().contains("Plan mode is on"));
    let read = requests[1].tool_result();
    assert!(read.is_error && read.text.contains("There is no tool ExitPlanMode"), "{read:?}");
    scene.server.finish();
}
