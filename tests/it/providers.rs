//! Which provider and model answer, as far as the configuration decides it before anything is asked.

use crate::support::scene::Scene;
use crate::support::script::text;

#[tokio::test]
async fn a_main_model_that_sub_agents_may_not_use_is_reported_at_startup() {
    let scene = Scene::new();
    scene.world.config("[subagents.allowed_models]\nanthropic = [\"haiku\", \"opus\"]\n");
    scene.server.when("HELLO-1").forever(text("hi"));
    let run = |model| scene.world.run(["-p", "HELLO-1", "--model", model]).finish();
    let outside = run("claude-sonnet-5").await;
    outside.assert_code(0);
    for named in ["claude-sonnet-5", "haiku, opus", "they use claude-haiku-5-5"] {
        assert!(outside.stderr.contains(named), "{named}: {outside}");
    }
    assert_eq!(run("claude-opus-5-5").await.stderr, "");
    scene.server.finish();
}

#[tokio::test]
async fn a_provider_of_sub_agents_that_is_not_there_is_exit_2_and_names_those_that_are() {
    let scene = Scene::new();
    for config in [
        "[subagents]\ndefault_provider = \"gemeni\"\n",
        "[subagents.allowed_models]\ngemeni = [\"x\"]\n",
    ] {
        scene.world.config(config);
        let run = scene.world.run(["-p", "HELLO-1"]).finish().await;
        run.assert_code(2);
        for named in
            ["config.toml:2", "gemeni", "anthropic, gemini, llamacpp, ollama, openai, vllm"]
        {
            assert!(run.stderr.contains(named), "{named}: {run}");
        }
    }
    assert_eq!(scene.server.requests().len(), 0);
}
