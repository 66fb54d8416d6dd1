//! Every dollar that was spent counts against the cap of a session that is resumed.

use nix::sys::signal::Signal;

use super::BYPASS;
use crate::support::run::Finished;
use crate::support::scene::{PARENT, Scene, agent, bash, calls};
use crate::support::script::{Reply, text, tool_use};

/// A model at a dollar for a thousand tokens of input; its answers cost nothing.
fn scene() -> Scene {
    let scene = Scene::new();
    scene.world.models(
        "[models.toy-1]\ncontext_window = 100_000\nmax_output = 1000\nprice = { input = 1000.0, output = 0.0 }\n",
    );
    scene
}

/// Resumes below a cap.
async fn resume(scene: &Scene, cap: &str) -> Finished {
    let args = ["-c", "-p", "go on", "--model", "toy-1", "--max-budget-usd", cap, BYPASS];
    scene.world.run(args).finish().await
}

/// Checks that the session has spent at least `cap`: no request goes out any more.
async fn assert_spent(scene: &Scene, cap: &str) {
    let before = scene.server.requests().len();
    let run = resume(scene, cap).await;
    run.assert_code(5);
    assert_eq!(scene.server.requests().len(), before, "{run}");
}

#[tokio::test]
async fn an_attempt_that_was_cut_without_a_text_counts_after_a_resume() {
    let scene = scene();
    let reply = tool_use("Bash", bash("true")).gate("held").usage(2000, 1);
    scene.server.when(PARENT).reply(reply);
    let running = scene.run().args(["--model", "toy-1", "--include-partial-messages"]).start();
    // What was spent is known once the head of the answer has arrived, not once it was sent.
    running.printed("message_start", 1).await;
    running.signal(Signal::SIGINT);
    running.wait().await.assert_code(130);
    assert_spent(&scene, "2").await;
    scene.server.finish();
}

#[tokio::test]
async fn what_is_under_way_when_the_program_is_killed_counts_after_a_resume() {
    for config in ["", "[subagents]\npersist = false\n"] {
        let scene = scene();
        scene.world.config(config);
        scene.server.when(PARENT).reply(calls([agent("CHILD-A")]).usage(1, 1));
        scene.server.when("CHILD-A").reply(text("HALF-66").gate("held").usage(2000, 1));
        let args = ["--model", "toy-1", "--include-partial-messages"];
        let running = scene.run().args(args).start();
        running.printed("HALF-66", 1).await;
        running.signal(Signal::SIGKILL);
        running.wait().await;
        assert_spent(&scene, "2").await;
        assert_spent(&scene, "2").await;
        let folder = scene.world.session();
        for folder in [folder.join("agents"), folder] {
            let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let names = files.map(|file| file.file_name().into_string().unwrap());
            assert_eq!(names.filter(|name| name.ends_with(".request")).count(), 0);
        }
    }
}

#[tokio::test]
async fn the_whole_blocks_of_an_answer_count_when_the_program_is_killed_in_the_next_one() {
    let scene = scene();
    scene.world.models(
        "[models.toy-1]\ncontext_window = 100_000\nmax_output = 1000\nprice = { input = 0.0, output = 1000.0 }\n",
    );
    let reply = text("x".repeat(8_400)).tool_use("Bash", bash("true")).gate("held");
    scene.server.when(PARENT).reply(reply.usage(10, 1));
    let args = ["--model", "toy-1", "--include-partial-messages"];
    let running = scene.run().args(args).start();
    running.printed("content_block_stop", 1).await;
    running.signal(Signal::SIGKILL);
    running.wait().await;
    // Four characters are estimated as a token.
    assert_spent(&scene, "2").await;
}

#[tokio::test]
async fn what_the_agents_below_a_killed_agent_have_spent_counts_after_a_resume() {
    let scene = scene();
    scene.world.config("[subagents]\nmax_depth = 2\nallow_nested_spawn = true\n");
    scene.server.when(PARENT).reply(calls([agent("CHILD-B")]).usage(1, 1));
    let first = calls([agent("CHILD-A")]).usage(1, 1);
    scene.server.when("CHILD-B").reply(first).then(text("x").before_headers("held"));
    scene.server.when("CHILD-A").reply(text("REPORT-66").usage(5000, 1));
    let running = scene.run().args(["--model", "toy-1"]).start();
    scene.server.reached("held").await;
    running.signal(Signal::SIGKILL);
    running.wait().await;
    assert_spent(&scene, "5").await;
    scene.server.finish();
}

#[tokio::test]
async fn what_agents_without_a_transcript_have_spent_counts_after_a_resume() {
    let scene = scene();
    scene.world.config("[subagents]\npersist = false\n");
    scene.server.when(PARENT).reply(calls([agent("CHILD-A")]).usage(1, 1)).then(done());
    scene.server.when("CHILD-A").reply(text("REPORT-66").usage(5000, 1));
    scene.run().args(["--model", "toy-1"]).finish().await.assert_code(0);
    assert_eq!(scene.world.child_transcripts().len(), 0);
    assert_spent(&scene, "5").await;
    scene.server.finish();
}

fn done() -> Reply {
    text("parent done").usage(1, 1)
}
