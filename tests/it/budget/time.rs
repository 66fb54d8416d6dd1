//! The wall clock.

use std::time::Duration;

use crate::support::process::Fifo;
use crate::support::record::StreamEnd;
use crate::support::scene::{DONE, PARENT, Scene, agent, bash};
use crate::support::script::{text, tool_use};

/// Far more than the two seconds that the runs have, far less than what they were stopped from doing.
const SOON: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_child_is_stopped_when_its_parents_time_is_over() {
    let scene = Scene::new();
    scene.world.config("[budget]\nmax_wall_s = 2\n");
    scene.parent_calls([agent("CHILD-A"), agent("CHILD-B")]);
    scene.server.when("CHILD-A").reply(text("PARTIAL-77").stall());
    let command = bash("exec > held.fifo; sleep 60");
    scene.server.when("CHILD-B").reply(tool_use("Bash", command));
    let held = Fifo::new(&scene.world.project_dir().join("held.fifo"));
    let run = scene.run().finish().await;
    run.assert_code(5);
    assert!(run.took >= Duration::from_secs(2) && run.took < SOON, "{:?}", run.took);
    assert_eq!(scene.server.ended("CHILD-A").await.0, StreamEnd::ClosedByClient);
    held.closed().await;
    assert_eq!(scene.server.requests_of(PARENT).len(), 1, "no request after the end");
    assert_eq!(
        run.result()["errors"][0],
        "stopped at the time limit of 0:02: the answer is partial"
    );
    let stored = std::fs::read_to_string(scene.world.session().join("transcript.jsonl")).unwrap();
    assert!(stored.contains("PARTIAL-77"), "its text is kept\n{stored}");
    let messages = stored.lines().filter(|line| line.starts_with("{\"type\":\"message\""));
    let told = messages.map(|line| line.matches(": time limit 0:02, partial").count());
    assert_eq!(told.sum::<usize>(), 2, "both say why\n{stored}");
}

#[tokio::test]
async fn a_prompt_that_is_answered_in_time_is_left_alone() {
    let scene = Scene::new();
    scene.world.config("[budget]\nmax_wall_s = 600\n");
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(text("a"));
    assert_eq!(scene.go().await.result()["result"], DONE);
    scene.server.finish();
}
