//! One task over all wires, with real files and a real shell; and what a model may send that makes no sense.

use serde_json::{Value, json};

use crate::support::pty::Screen;
use crate::support::record::{Recorded, Wire};
#[cfg(feature = "sub-agents")]
use crate::support::scene::agent;
use crate::support::scene::{Scene, bash};
use crate::support::script::{Reply, text, tool_use};
use crate::support::world::KEY;

const BUGGY: &str = "#!/bin/sh\necho $(($1 - $2))\n";
const ANSWER: &str = "It adds now: 2 + 3 = 5, žluťoučký 👩‍👩‍👧.";
const CHECK: &str = "[ \"$(sh add.sh 2 3)\" = 5 ] && echo PASS-77 || echo FAIL-77\n";

/// Scripts the model: read a script, run its test, mend it, run the test again. The bytes of each
/// answer come in pieces of `piece`.
fn plan_edit_and_test(scene: &Scene, piece: usize) {
    scene.world.write("add.sh", BUGGY);
    scene.world.write("check.sh", CHECK);
    let add = scene.world.project_dir().join("add.sh");
    let edit = json!({ "file_path": add, "old_string": "$1 - $2", "new_string": "$1 + $2" });
    let look = text("I read it.")
        .tool_use("Read", json!({ "file_path": add }))
        .tool_use("Bash", bash("sh check.sh"));
    for reply in [look, tool_use("Edit", edit), tool_use("Bash", bash("sh check.sh")), text(ANSWER)]
    {
        scene.server.when("TASK-1").reply(reply.pieces_of(piece));
    }
}

async fn edit_and_test(scene: &Scene, piece: usize) -> Vec<Recorded> {
    plan_edit_and_test(scene, piece);
    let run = scene.world.run(["-p", "TASK-1 mend add.sh", "--dangerously-skip-permissions"]);
    let run = run.finish().await;
    run.assert_code(0);
    assert_eq!(run.stdout, format!("{ANSWER}\n"));
    scene.server.requests()
}

fn assert_task_done(scene: &Scene, requests: &[Recorded]) {
    assert_eq!(requests.len(), 4);
    let first = requests[1].tool_results();
    assert_eq!(first.len(), 2, "{first:?}");
    assert!(first[0].text.contains("echo $(($1 - $2))"), "{first:?}");
    assert!(first[1].text.contains("FAIL-77"), "{first:?}");
    assert!(!requests[2].tool_result().is_error, "{:?}", requests[2].tool_result());
    assert!(requests[3].tool_result().text.contains("PASS-77"), "{:?}", requests[3].tool_result());
    assert_eq!(scene.world.read("add.sh"), BUGGY.replace('-', "+"));
}

#[tokio::test]
async fn a_script_is_mended_over_the_messages_wire() {
    let scene = Scene::new();
    let requests = edit_and_test(&scene, 4096).await;
    assert_task_done(&scene, &requests);
    scene.server.finish();
}

#[tokio::test]
async fn a_script_is_mended_over_the_chat_wire() {
    let scene = Scene::on_chat();
    let requests = edit_and_test(&scene, 4096).await;
    assert_task_done(&scene, &requests);
    scene.server.finish();
}

#[tokio::test]
async fn a_script_is_mended_over_the_responses_wire() {
    let scene = Scene::on(Wire::Responses);
    let requests = edit_and_test(&scene, 4096).await;
    assert!(requests.iter().all(|request| request.wire == Wire::Responses));
    assert_task_done(&scene, &requests);
    scene.server.finish();
}

#[tokio::test]
async fn a_script_is_mended_over_the_gemini_wire() {
    let scene = Scene::on(Wire::Gemini);
    let requests = edit_and_test(&scene, 4096).await;
    assert!(requests.iter().all(|request| request.wire == Wire::Gemini));
    assert_task_done(&scene, &requests);
    scene.server.finish();
}

#[tokio::test]
async fn a_script_is_mended_by_an_older_model_that_gives_its_calls_no_ids() {
    let mut scene = Scene::on(Wire::Gemini);
    scene.world.env("CALIBAN_MODEL", "gemini-2.5-pro");
    let requests = edit_and_test(&scene, 4096).await;
    assert_task_done(&scene, &requests);
    assert!(!requests[3].text().contains("thoughtSignature"), "nothing was signed");
    scene.server.finish();
}

#[tokio::test]
async fn a_script_is_mended_in_the_terminal_over_all_wires_with_a_person_who_allows_it() {
    for scene in Scene::on_each() {
        plan_edit_and_test(&scene, 64);
        let screen = Screen::start(&scene.world, ["TASK-1 mend add.sh"], 100, 40);
        for asked in ["sh check.sh", "$1 + $2", "sh check.sh"] {
            let shown = screen.wait_until("the question", |shown| {
                shown.contains("1  Yes") && shown.contains(asked)
            });
            assert!(!shown.contains("It adds now"), "{shown}");
            screen.keys("1");
            // The receipt of the answer stands for a moment; then the next question may come.
            screen.wait_gone("1  Yes");
        }
        let shown = screen.wait_for("It adds now: 2 + 3 = 5");
        for part in ["I read it.", "Read", "Edit", "Bash"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert_task_done(&scene, &scene.server.requests());
        scene.server.finish();
    }
}

#[tokio::test]
async fn streams_cut_into_single_bytes_give_the_same_on_all_wires() {
    for scene in Scene::on_each() {
        let requests = edit_and_test(&scene, 1).await;
        assert_task_done(&scene, &requests);
        scene.server.finish();
    }
}

#[tokio::test]
async fn the_prefix_stays_byte_identical_from_turn_to_turn_and_is_marked_for_the_cache() {
    let scene = Scene::new();
    let requests = edit_and_test(&scene, 4096).await;
    let prefix =
        |request: &Recorded| format!("{}{}", request.body["system"], request.body["tools"]);
    for request in &requests {
        assert_eq!(prefix(request), prefix(&requests[0]));
        assert!(request.body["system"].to_string().contains("ephemeral"), "{}", request.body);
        let last = request.messages().last().unwrap();
        assert!(last.to_string().contains("ephemeral"), "{last}");
    }
    let unmarked = |request: &Recorded| {
        request.body["messages"].to_string().replace(r#","cache_control":{"type":"ephemeral"}"#, "")
    };
    for pair in requests.windows(2) {
        let earlier = unmarked(&pair[0]);
        let earlier = earlier.trim_end_matches(']');
        assert!(unmarked(&pair[1]).starts_with(earlier), "history was rewritten");
    }
}

#[tokio::test]
async fn input_that_is_no_json_is_answered_and_not_run_on_each_wire_that_can_send_it() {
    for scene in [Wire::Anthropic, Wire::Chat, Wire::Responses].map(Scene::on) {
        let broken = Reply::stream().tool_use_raw("Bash", r#"{"command": "touch evil.txt"#);
        scene.server.when("TASK-1").reply(broken).then(text("sorry"));
        let run =
            scene.world.run(["-p", "TASK-1", "--dangerously-skip-permissions"]).finish().await;
        run.assert_code(0);
        assert!(!scene.world.exists("evil.txt"));
        let result = scene.server.requests()[1].tool_result();
        assert!(result.text.contains("JSON"), "{result:?}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn unknown_tools_and_wrong_fields_get_an_error_that_names_them() {
    let scene = Scene::new();
    let batch = tool_use("Teleport", json!({ "to": "moon" }))
        .tool_use("Bash", json!({ "command": 7 }))
        .tool_use("Bash", json!({}))
        .tool_use("Bash", bash("echo fine-77"));
    scene.server.when("TASK-1").reply(batch).then(text("ok"));
    let run = scene.world.run(["-p", "TASK-1", "--dangerously-skip-permissions"]).finish().await;
    run.assert_code(0);
    let results = scene.server.requests()[1].tool_results();
    let expected = [(true, "Teleport"), (true, "command"), (true, "command"), (false, "fine-77")];
    assert_eq!(results.len(), expected.len(), "{results:?}");
    for (result, (is_error, named)) in results.iter().zip(expected) {
        assert_eq!(result.is_error, is_error, "{result:?}");
        assert!(result.text.contains(named), "{named}: {result:?}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn a_call_that_the_output_limit_cut_off_is_never_run() {
    let scene = Scene::new();
    let cut = Reply::stream().tool_use("Bash", bash("touch evil.txt")).stop("max_tokens");
    scene.server.when("TASK-1").reply(cut).forever(text("I stop here"));
    let run = scene.world.run(["-p", "TASK-1", "--dangerously-skip-permissions"]).finish().await;
    assert!(!scene.server.requests().is_empty(), "{run}");
    assert!(!scene.world.exists("evil.txt"), "{run}");
}

#[tokio::test]
async fn pings_unknown_blocks_order_and_an_empty_text_block_do_no_harm() {
    let scene = Scene::new();
    let reply = text("").end_block().ping().text("a").ping().more("b").usage(5, 6).cache(7, 8);
    scene.server.when("TASK-1").reply(reply).then(text("again"));
    let args = ["-p", "TASK-1", "--output-format", "json"];
    let run = scene.world.run(args).finish().await;
    run.assert_code(0);
    assert_eq!(run.result()["result"], "ab");
    let usage = &run.result()["usage"];
    assert_eq!(usage["cache_read_input_tokens"], 7);
    assert_eq!(usage["cache_creation_input_tokens"], 8);
    scene.world.run(["-c", "-p", "and again"]).finish().await.assert_code(0);
    scene.server.finish();
}

#[tokio::test]
async fn a_refusal_is_not_an_answer() {
    let scene = Scene::new();
    scene.server.when("TASK-1").reply(text("half a").stop("refusal"));
    let run = scene.world.run(["-p", "TASK-1", "--output-format", "json"]).finish().await;
    run.assert_code(1);
    assert_eq!(run.result()["is_error"], true);
    scene.server.finish();
}

#[cfg(feature = "sub-agents")]
#[tokio::test]
async fn the_first_request_is_small() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(text("ok"));
    scene.go().await;
    let size = |word: &str| scene.server.requests_of(word)[0].text().len();
    assert!(size("PARENT-1") <= 10 * 1024, "main: {} bytes", size("PARENT-1"));
    assert!(size("CHILD-A") <= 6 * 1024, "child: {} bytes", size("CHILD-A"));
    scene.server.finish();
}

#[tokio::test]
async fn the_key_goes_into_the_header_of_its_wire_and_the_environment_names_the_model() {
    for (scene, header, value) in [
        (Scene::new(), "x-api-key", KEY.to_owned()),
        (Scene::on_chat(), "authorization", format!("Bearer {KEY}")),
        (Scene::on(Wire::Responses), "authorization", format!("Bearer {KEY}")),
        (Scene::on(Wire::Gemini), "x-goog-api-key", KEY.to_owned()),
    ] {
        scene.server.when("TASK-1").reply(text("ok"));
        let run = scene.world.run(["-p", "TASK-1"]).env("CALIBAN_MODEL", "model-77");
        run.finish().await.assert_code(0);
        let request = scene.server.requests().remove(0);
        assert_eq!(request.header(header), Some(value.as_str()));
        assert_eq!(request.model(), "model-77");
        assert!(!request.text().contains(KEY));
        scene.server.finish();
    }
}

#[tokio::test]
async fn two_starts_in_one_directory_send_the_same_prefix_on_all_wires() {
    for scene in Scene::on_each() {
        scene.world.write("AGENTS.md", "Say please.\n");
        scene.server.when("TASK-1").forever(text("ok"));
        for prompt in ["TASK-1 one", "TASK-1 two, and longer"] {
            scene.world.run(["-p", prompt]).finish().await.assert_code(0);
        }
        let requests = scene.server.requests();
        let prefix =
            |at: usize| format!("{}\n{}", requests[at].body["tools"], requests[at].system());
        assert!(prefix(0).contains("Say please."), "{}", prefix(0));
        assert_eq!(prefix(0), prefix(1));
    }
}

#[tokio::test]
async fn a_picture_that_is_read_reaches_the_model_as_an_image_on_all_wires() {
    // The smallest picture: one transparent pixel.
    const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
    let url = format!("data:image/png;base64,{PIXEL}");
    for scene in Scene::on_each() {
        let decode = format!("echo {PIXEL} | base64 -d > pixel.png");
        let read = json!({ "file_path": scene.world.project_dir().join("pixel.png") });
        scene
            .server
            .when("TASK-1")
            .reply(tool_use("Bash", bash(&decode)))
            .then(tool_use("Read", read))
            .then(text("a pixel"));
        let run = scene.world.run(["-p", "TASK-1", "--dangerously-skip-permissions"]);
        run.finish().await.assert_code(0);
        let request = scene.server.requests().pop().unwrap();
        let last = request.messages().last().unwrap();
        let found = |list: &Value, name: &str| {
            list.as_array().unwrap().iter().find(|part| part["type"] == name).cloned().unwrap()
        };
        match request.wire {
            Wire::Anthropic => {
                let source = &last["content"][0]["content"][0]["source"];
                assert_eq!(source["media_type"], "image/png", "{last}");
                assert_eq!(source["data"], PIXEL);
            }
            Wire::Chat => {
                assert_eq!(found(&last["content"], "image_url")["image_url"]["url"], url);
            }
            Wire::Responses => {
                assert_eq!(found(&last["output"], "input_image")["image_url"], url);
            }
            Wire::Gemini => {
                let response = &last["parts"][0]["functionResponse"];
                let expected = json!({ "mimeType": "image/png", "data": PIXEL });
                assert_eq!(response["parts"][0]["inlineData"], expected, "{last}");
            }
        }
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_page_of_this_machine_is_not_fetched() {
    let scene = Scene::new();
    let page = format!("{}/v1/secret", scene.server.url());
    let local = page.replace("127.0.0.1", "localhost");
    let fetch = |url: &str| json!({ "url": url, "prompt": "what is there?" });
    scene
        .server
        .when("TASK-1")
        .reply(tool_use("WebFetch", fetch(&page)).tool_use("WebFetch", fetch(&local)))
        .then(text("ok"));
    let run = scene.world.run(["-p", "TASK-1", "--dangerously-skip-permissions"]);
    run.finish().await.assert_code(0);
    let results = scene.server.requests()[1].tool_results();
    assert_eq!(results.len(), 2);
    assert!(results.iter().all(|result| result.is_error), "{results:?}");
    // A request to the server there would be a violation.
    scene.server.finish();
}
