//! The models that can be picked: what endpoints offer, and servers on this machine that take no key.

use crate::support::pty::{ENTER, ESC, Screen};
use crate::support::record::Wire;
use crate::support::scene::Scene;
use crate::support::script::text;
use crate::support::world::KEY;

/// A scene without any key, with a server on this machine in the place of the named provider.
fn without_a_key(provider: &str) -> Scene {
    let mut scene = Scene::new();
    scene.world.unset("ANTHROPIC_API_KEY").unset("OPENAI_API_KEY");
    scene.world.unset("ANTHROPIC_BASE_URL").unset("OPENAI_BASE_URL");
    scene
        .world
        .providers(&format!("[providers.{provider}]\nbase_url = \"{}/v1\"\n", scene.server.url()));
    scene.server.keyless();
    scene
}

fn send(screen: &Screen, text: &str) {
    screen.keys(text);
    screen.keys(ENTER);
}

#[tokio::test]
async fn model_lists_what_the_endpoint_offers_and_the_one_that_is_taken_answers() {
    for wire in Wire::ALL {
        let scene = Scene::on(wire);
        scene.server.offer(&["model-alpha-66", "model-beta-77"]);
        scene.server.when("TASK-1").reply(text("by the default"));
        scene.server.when("TASK-2").reply(text("by the other"));
        let screen = Screen::start(&scene.world, [], 100, 30);
        screen.wait_for("? keys");
        send(&screen, "TASK-1");
        screen.wait_for("by the default");
        assert!(scene.server.lists().is_empty(), "{wire:?}: nobody asked for a list");
        // While main works, the command would wait.
        screen.wait_for("Shift+Tab mode");
        send(&screen, "/clear");
        screen.wait_gone("by the default");
        send(&screen, "/model");
        let shown = screen.wait_for("model-beta-77");
        assert!(shown.contains("model-alpha-66"), "{wire:?}: {shown}");
        assert!(!shown.contains("catalogue"), "{wire:?}: {shown}");
        screen.keys("beta");
        screen.wait_gone("model-alpha-66");
        screen.keys(ENTER);
        screen.wait_for("default · model-beta-77");
        send(&screen, "TASK-2");
        screen.wait_for("by the other");
        let requests = scene.server.requests();
        assert_eq!(requests[1].model(), "model-beta-77", "{wire:?}");
        assert_eq!(requests[1].wire, wire);
        scene.server.finish();
    }
}

#[tokio::test]
async fn an_endpoint_that_cannot_be_asked_is_named_and_the_catalogue_stands_in() {
    let expected = [
        (Wire::Anthropic, "Set ANTHROPIC_API_KEY", "claude-opus-5"),
        (Wire::Chat, "Set OPENAI_API_KEY", "gpt-5.5"),
        (Wire::Responses, "Set OPENAI_API_KEY", "gpt-5.5"),
        (Wire::Gemini, "Set GEMINI_API_KEY", "gemini-2.5-pro"),
    ];
    for (wire, advice, model) in expected {
        let scene = Scene::on(wire);
        scene.server.offer_error(401);
        let screen = Screen::start(&scene.world, [], 100, 40);
        screen.wait_for("? keys");
        send(&screen, "/model");
        let shown = screen.wait_until("the reason", |shown| {
            shown.contains(advice) && shown.contains("showing the models of the catalogue")
        });
        assert!(shown.contains(model), "{wire:?}: {shown}");
        assert!(!shown.contains(KEY), "{wire:?}: {shown}");
        screen.keys(ESC);
        screen.wait_gone("showing the models of the catalogue");
    }
}

#[tokio::test]
async fn models_of_every_provider_with_a_key_are_listed_and_a_missing_list_hides_none_of_the_others()
 {
    let mut scene = Scene::on(Wire::Gemini);
    scene.world.unset("CALIBAN_PROVIDER");
    scene.world.providers(
        "[providers.gone]\nkind = \"openai_chat\"\nbase_url = \"http://127.0.0.1:9/v1\"\n",
    );
    scene.server.offer(&["model-77"]);
    let screen = Screen::start(&scene.world, [], 100, 30);
    screen.wait_for("? keys");
    send(&screen, "/model");
    let shown = screen.wait_for("model-77");
    for row in ["Anthropic", "OpenAI", "Gemini · 77k window"] {
        let names = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let row = format!("model-77 {row}");
        assert!(shown.lines().any(|line| names(line).contains(&row)), "{row}: {shown}");
    }
    assert!(!shown.contains("gone"), "a server that is not there is no news: {shown}");
    scene.server.finish();
}

#[tokio::test]
async fn a_server_on_this_machine_is_found_and_usable_without_a_key() {
    for (provider, called) in [("ollama", "Ollama"), ("llamacpp", "llama.cpp")] {
        let scene = without_a_key(provider);
        scene.server.offer(&["qwen-66", "qwen-77"]);
        scene.server.when("TASK-1").reply(text("from next door"));
        let screen = Screen::start(&scene.world, [], 100, 30);
        screen.wait_for(&format!("found {called} with 2 models"));
        send(&screen, "/model");
        let shown = screen.wait_for("qwen-77");
        assert!(shown.contains(called), "{shown}");
        screen.keys("qwen-77");
        screen.wait_gone("qwen-66");
        screen.keys(ENTER);
        screen.wait_for("default · qwen-77");
        send(&screen, "TASK-1");
        screen.wait_for("from next door");
        let request = scene.server.requests().remove(0);
        assert_eq!((request.wire, request.model()), (Wire::Chat, "qwen-77"));
        scene.server.finish();
    }
}

#[tokio::test]
async fn the_name_of_such_a_server_is_enough() {
    for provider in ["ollama", "llamacpp", "vllm"] {
        let scene = without_a_key(provider);
        scene.server.offer(&["qwen-66", "qwen-77"]);
        scene.server.when("TASK-1").forever(text("from next door"));
        let run = scene.world.run(["-p", "TASK-1", "--provider", provider]).finish().await;
        run.assert_code(0);
        assert_eq!(run.stdout, "from next door\n");
        assert_eq!(scene.server.requests()[0].model(), "qwen-66", "the first one");
        let args = ["-p", "TASK-1", "--provider", provider, "--model", "qwen-77"];
        scene.world.run(args).finish().await.assert_code(0);
        assert_eq!(scene.server.requests()[1].model(), "qwen-77");
        assert_eq!(scene.server.lists().len(), 1, "a named model needs no list");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_server_without_a_model_or_that_is_not_there_says_what_to_do() {
    let scene = without_a_key("ollama");
    scene.server.offer(&[]);
    let run = scene.world.run(["-p", "TASK-1", "--provider", "ollama"]).finish().await;
    run.assert_code(2);
    assert!(run.stderr.contains("Ollama has no model yet"), "{run}");
    scene.world.config("[providers.vllm]\nbase_url = \"http://127.0.0.1:9/v1\"\n");
    let run = scene.world.run(["-p", "TASK-1", "--provider", "vllm"]).finish().await;
    run.assert_code(2);
    for part in ["vLLM", "is the server running?", "--model"] {
        assert!(run.stderr.contains(part), "{part}: {run}");
    }
    assert_eq!(scene.server.requests().len(), 0);
}
