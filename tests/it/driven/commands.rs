//! Commands of the screen without one: answered as text, and not by the model.

use serde_json::{Value, json};

use super::{connect, start};
use crate::support::scene::Scene;
use crate::support::script::text;

const SUMMARY: &str = "SUMMARY-77";

#[tokio::test]
async fn commands_are_answered_without_a_request() {
    let scene = Scene::new();
    scene.world.write(".claude/commands/own-command.md", "---\ndescription: mine\n---\nx\n");
    let main = scene.server.when("HELLO-1").reply(text("one").usage(1000, 50));
    main.then(text("two").usage(50_000, 50));
    let mut client = start(&scene, &[]);
    let info = client.initialize(json!({})).await.unwrap();
    let names = |list: &Value, of: fn(&Value) -> &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|it| of(it).as_str().unwrap().to_owned()).collect()
    };
    let known = ["clear", "compact", "context", "cost", "help", "usage"];
    assert_eq!(names(&info["commands"], |it| &it["name"])[..6], known);
    let init = client.frame(|frame| frame["subtype"] == "init").await;
    assert_eq!(names(&init["slash_commands"], |it| it)[..6], known);
    // The first one comes before anything was asked.
    for (prompt, named) in [
        ("/help", vec!["/compact", "/own-command"]),
        ("HELLO-1", vec!["one"]),
        ("/cost", vec!["$0.0025", "1000 input", "50 output"]),
        ("/usage", vec!["$0.0025"]),
        (" /context ", vec!["1050 of ", "claude-sonnet-5"]),
        ("/nonsense x", vec!["/nonsense", "/help"]),
        ("HELLO-1 again", vec!["two"]),
        ("/compact", vec!["compacted"]),
    ] {
        if prompt == "/compact" {
            scene.server.when("HELLO-1").reply(text(SUMMARY));
        }
        let result = client.turn(prompt).await;
        assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(false)));
        let answer = result["result"].as_str().unwrap();
        assert!(named.iter().all(|named| answer.contains(named)), "{prompt}: {answer}");
        let is_answer = |frame: &Value| frame["message"]["content"][0]["text"] == answer;
        let frame = client.frame(is_answer).await;
        assert_eq!(frame["type"], "assistant");
        assert_eq!(
            frame["message"]["model"] == "<synthetic>",
            !prompt.starts_with("HELLO-1"),
            "{prompt}"
        );
    }
    let run = client.close().await;
    run.assert_code(0);
    assert_eq!(scene.server.requests().len(), 3, "the prompts, and the summary");
    let boundary = run.frames().into_iter().find(|frame| frame["subtype"] == "compact_boundary");
    assert_eq!(boundary.unwrap()["compact_metadata"]["trigger"], "manual");
    scene.server.finish();
}

#[tokio::test]
async fn clear_begins_another_session_and_forgets_the_conversation() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("one").usage(1000, 50));
    scene.server.when("HELLO-2").reply(text("two"));
    let mut client = connect(&scene, &[]).await;
    let first = client.turn("HELLO-1").await;
    // At once: the runtime may not have put the agent away yet.
    let cleared = client.turn("/clear").await;
    let reset = client.frame(|frame| frame["type"] == "conversation_reset").await;
    assert_eq!(reset["session_id"], first["session_id"]);
    assert!(reset["uuid"].is_string(), "{reset}");
    assert_eq!(reset["new_conversation_id"], cleared["session_id"]);
    assert_ne!(cleared["session_id"], first["session_id"]);
    assert_eq!((&cleared["is_error"], &cleared["total_cost_usd"]), (&json!(false), &json!(0.0)));
    let second = client.turn("HELLO-2").await;
    assert_eq!((&second["result"], &second["session_id"]), (&json!("two"), &cleared["session_id"]));
    client.close().await.assert_code(0);
    assert_eq!(scene.server.requests_of("HELLO-2")[0].messages().len(), 1, "nothing is left");
    assert_eq!(scene.world.sessions().len(), 2);
    scene.server.finish();
}

#[tokio::test]
async fn commands_in_a_row_are_carried_out_in_order() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("one").usage(50_000, 50)).then(text(SUMMARY));
    scene.server.when("HELLO-2").reply(text("two"));
    let mut client = connect(&scene, &[]).await;
    for prompt in ["HELLO-1", "/compact", "/clear", "/compact", "/clear", "HELLO-2"] {
        client.prompt(prompt);
    }
    let mut answers = Vec::new();
    for _ in 0..6 {
        answers.push(client.result().await["result"].as_str().unwrap().to_owned());
    }
    for (answer, named) in answers.iter().zip([
        "one",
        "was compacted",
        "was cleared",
        "not compacted: there is nothing to summarize yet",
        "was cleared",
        "two",
    ]) {
        assert!(answer.contains(named), "{answers:?}");
    }
    client.close().await.assert_code(0);
    scene.server.finish();
}

#[tokio::test]
async fn an_interrupt_ends_a_compaction_and_the_next_prompt_is_answered() {
    let scene = Scene::new();
    scene
        .server
        .when("HELLO-1")
        .reply(text("one").usage(50_000, 50))
        .then(text(SUMMARY).gate("never"));
    scene.server.when("HELLO-1").reply(text("two"));
    let mut client = connect(&scene, &[]).await;
    client.turn("HELLO-1").await;
    client.prompt("/compact");
    scene.server.reached("never").await;
    client.request(super::request("interrupt")).await.unwrap();
    assert_eq!(client.result().await["error_kind"], "cancelled");
    assert_eq!(client.turn("again").await["result"], "two");
    client.close().await.assert_code(0);
}

#[tokio::test]
async fn one_prompt_that_is_a_command_is_answered_on_stdout() {
    let scene = Scene::new();
    for (prompt, code, named) in [
        ("/cost", 0, "$0.00"),
        ("/help", 0, "/compact"),
        ("/context", 0, "0 of "),
        ("/clear", 0, "was cleared"),
        ("/compact", 0, "nothing to summarize"),
        ("/nonsense", 2, ""),
    ] {
        let run = scene.world.run(["-p", prompt]).finish().await;
        run.assert_code(code);
        assert!(run.stdout.contains(named), "{run}");
        assert_eq!(run.stderr.contains("/nonsense"), code == 2, "{run}");
        let run = scene.world.run(["-p", prompt, "--output-format", "json"]).finish().await;
        run.assert_code(code);
        assert!(run.result().to_string().contains(named), "{run}");
    }
    assert_eq!(scene.server.requests().len(), 0);
}

#[tokio::test]
async fn what_only_looks_like_a_command_goes_to_the_model() {
    let scene = Scene::new();
    scene.world.write(".caliban/commands/own.md", "BODY-9 $ARGUMENTS\n");
    scene.server.when("HELLO-1").reply(text("one"));
    scene.server.when("HELLO-2").reply(text("two"));
    let run = scene.world.run(["-p", "/etc/hosts HELLO-1"]).finish().await;
    run.assert_code(0);
    let run = scene.world.run(["-p", "/own HELLO-2"]).finish().await;
    run.assert_code(0);
    assert!(scene.server.requests()[1].first_user_text().contains("BODY-9 HELLO-2"));
    scene.server.finish();
}
