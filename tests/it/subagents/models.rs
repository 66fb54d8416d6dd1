//! Which provider, model and key a sub-agent works with.

use serde_json::{Value, json};

use super::{after_calls, frames_of};
use crate::support::record::Wire;
use crate::support::scene::{DONE, PARENT, Scene, agent, agent_with, bash, calls};
use crate::support::script::{error, text, tool_use};
use crate::support::world::KEY;

const OTHER_KEY: &str = "sk-of-the-definition-9876";

/// Definitions of the agents that the calls name, each with these lines of front matter.
fn define(scene: &Scene, name: &str, lines: &str) {
    let head =
        format!("---\nname: {name}\ndescription: Looks for one thing.\n{lines}\n---\nLook.\n");
    scene.world.agent(name, &head);
}

#[tokio::test]
async fn sub_agents_of_three_wires_work_in_one_run() {
    // The main agent speaks the fourth.
    let mut scene = Scene::on(Wire::Gemini);
    scene.world.env("CALIBAN_PROVIDER", "anthropic").providers(&format!(
        "[providers.responses]\nkind = \"openai_responses\"\nbase_url = \"{}/v1\"\n\
         api_key_env = \"OPENAI_API_KEY\"\n",
        scene.server.url()
    ));
    define(&scene, "chatty", "provider: openai\nmodel: gpt-5.5");
    define(&scene, "thoughtful", "provider: responses\nmodel: gpt-5.4");
    define(&scene, "star", "provider: gemini");
    let children = [
        ("CHILD-A", "chatty", Wire::Chat, "gpt-5.5"),
        ("CHILD-B", "thoughtful", Wire::Responses, "gpt-5.4"),
        ("CHILD-C", "star", Wire::Gemini, "gemini-3.8-flash"),
    ];
    scene.parent_calls(children.map(|(word, name, ..)| agent_with(word, "agent", json!(name))));
    for (word, ..) in children {
        let look = tool_use("Bash", bash(&format!("echo seen by {word}")));
        scene.server.when(word).reply(look).then(text(format!("from {word}")));
    }
    let run = scene.go().await;
    let models = run.result()["modelUsage"].clone();
    let results = after_calls(&scene).tool_results();
    for ((word, _, wire, model), result) in children.into_iter().zip(&results) {
        let requests = scene.server.requests_of(word);
        assert_eq!(requests.len(), 2, "{word}");
        assert!(requests.iter().all(|request| (request.wire, request.model()) == (wire, model)));
        assert!(requests[1].tool_result().text.contains(&format!("seen by {word}")), "{word}");
        assert_eq!(result.text, format!("from {word}"));
        assert_eq!(models[model]["inputTokens"], 200, "{models}");
    }
    assert!(scene.server.requests_of(PARENT).iter().all(|own| own.wire == Wire::Anthropic));
    scene.server.finish();
}

#[tokio::test]
async fn a_model_outside_of_the_list_is_refused_with_the_list() {
    let scene = Scene::new();
    scene
        .world
        .config("[subagents.allowed_models]\nanthropic = [\"opus\", \"claude-haiku-4-5\"]\n");
    scene.parent_calls([
        agent_with("CHILD-A", "model", json!("claude-sonnet-5")),
        agent_with("CHILD-B", "model", json!("claude-haiku-4-5")),
        agent("CHILD-C"),
    ]);
    scene.server.when("CHILD-B").reply(text("from B"));
    scene.server.when("CHILD-C").reply(text("from C"));
    let run = scene.run().args(["--model", "claude-sonnet-5"]).finish().await;
    run.assert_code(0);
    assert_eq!(run.result()["result"], DONE);
    let notices = frames_of(&run, "system/notice");
    let told = |notice: &Value| notice["text"].to_string().contains("may not use claude-sonnet-5");
    assert!(notices.iter().any(told), "c26: it is told at the start: {notices:?}");
    let results = after_calls(&scene).tool_results();
    assert!(results[0].is_error, "{results:?}");
    assert!(results[0].text.contains("Allowed: opus, claude-haiku-4-5."), "{results:?}");
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 0);
    let model = |word: &str| scene.server.requests_of(word)[0].model().to_owned();
    assert_eq!(model("CHILD-B"), "claude-haiku-4-5");
    assert_eq!(model("CHILD-C"), "claude-opus-5-5", "the first, as its parent's is not allowed");
    scene.server.finish();
}

#[tokio::test]
async fn the_configured_provider_and_model_hold_where_none_is_named() {
    for (config, model) in [
        ("default_provider = \"openai\"\ndefault_model = \"gpt-small\"\n", "gpt-small"),
        (
            "default_provider = \"openai\"\nallowed_models = { openai = [\"gpt-first\", \"gpt-2\"] }\n",
            "gpt-first",
        ),
    ] {
        let scene = Scene::new();
        scene.world.config(&format!("[subagents]\n{config}"));
        scene.parent_calls([agent("CHILD-A")]);
        scene.server.when("CHILD-A").reply(text("from A"));
        scene.go().await;
        let request = scene.server.requests_of("CHILD-A").remove(0);
        assert_eq!((request.wire, request.model()), (Wire::Chat, model));
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_key_of_the_definition_is_sent_for_that_child_alone() {
    let scene = Scene::new();
    define(&scene, "other", &format!("env:\n  ANTHROPIC_API_KEY: {OTHER_KEY}"));
    scene.parent_calls([agent_with("CHILD-A", "agent", json!("other")), agent("CHILD-B")]);
    scene.server.when("CHILD-A").reply(text(format!("I saw {OTHER_KEY}")));
    scene.server.when("CHILD-B").reply(text("from B"));
    let run = scene.run().args(["--log-level", "debug"]).finish().await;
    run.assert_code(0);
    let key =
        |word: &str| scene.server.requests_of(word)[0].header("x-api-key").unwrap().to_owned();
    assert_eq!([key("CHILD-A"), key("CHILD-B"), key(PARENT)], [OTHER_KEY, KEY, KEY]);
    assert!(!scene.world.log().contains(OTHER_KEY), "the key is in the log");
    scene.server.finish();
}

#[tokio::test]
async fn a_missing_key_is_a_soft_error_before_any_request() {
    let mut scene = Scene::new();
    let remote = "[providers.work]\nkind = \"openai_chat\"\nbase_url = \"https://work.invalid/v1\"\n\
                  api_key_env = \"WORK_KEY\"\n[subagents]\ndefault_provider = \"work\"\ndefault_model = \"m\"\n";
    scene.world.config(remote);
    scene.world.unset("WORK_KEY");
    scene.parent_calls([agent("CHILD-A")]);
    let run = scene.go().await;
    assert_eq!(run.result()["result"], DONE);
    let result = after_calls(&scene).tool_result();
    assert!(result.is_error && result.text.contains("set WORK_KEY"), "{result:?}");
    assert!(frames_of(&run, "system/task_started").is_empty(), "nothing was started");
    scene.server.finish();
}

#[tokio::test]
async fn a_rejected_key_is_soft_only_at_another_provider_and_where_the_operator_says_so() {
    let rejected = || error(401, "authentication_error", "invalid key");
    let soft = "[subagents]\nchild_auth = \"soft_if_other_provider\"\n";
    for (config, provider, code) in [(soft, "openai", 0), (soft, "anthropic", 3), ("", "openai", 3)]
    {
        let case = format!("{provider} with {config:?}");
        let scene = Scene::new();
        scene.world.config(config);
        define(&scene, "other", &format!("provider: {provider}"));
        scene.server.when(PARENT).reply(calls([agent_with("CHILD-A", "agent", json!("other"))]));
        scene.server.when("CHILD-A").reply(rejected());
        if code == 0 {
            scene.server.when(PARENT).reply(text(DONE));
        }
        let run = scene.run().finish().await;
        run.assert_code(code);
        assert_eq!(frames_of(&run, "system/task_notification")[0]["status"], "failed", "{case}");
        if code == 0 {
            let result = after_calls(&scene).tool_result();
            let failed = "[other-1: failed: key rejected (";
            assert!(result.is_error && result.text.starts_with(failed), "{case}: {result:?}");
        }
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_refused_connection_is_a_failed_result_that_names_the_address() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let scene = Scene::new();
    scene.world.config(&format!(
        "[providers.gone]\nkind = \"openai_chat\"\nbase_url = \"http://{address}/v1\"\nmax_retries = 0\n\
         [subagents]\ndefault_provider = \"gone\"\ndefault_model = \"m\"\n"
    ));
    scene.parent_calls([agent("CHILD-A")]);
    let run = scene.go().await;
    assert_eq!(run.result()["result"], DONE);
    let result = after_calls(&scene).tool_result();
    assert!(result.is_error && result.text.contains("no connection"), "{result:?}");
    assert!(result.text.contains(&address.to_string()), "{result:?}");
    scene.server.finish();
}
