//! Failures that pass: which are tried again, what the person sees meanwhile, and that nothing runs twice.

use std::time::Duration;

use futures_util::future::join_all;

use crate::support::pty::Screen;
use crate::support::scene::{DONE, PARENT, Scene, bash};
use crate::support::script::{Reply, error, html, text};

#[tokio::test]
async fn each_passing_failure_is_tried_again_after_a_wait_that_is_told() {
    let failures = [408, 409, 429, 500, 502, 503, 504, 529];
    join_all(failures.map(async |status| {
        let scene = Scene::new();
        let failure = error(status, "api_error", "for now");
        scene.server.when("HELLO-1").reply(failure).then(text("at last"));
        let run = scene.world.run(["-p", "HELLO-1"]).finish().await;
        run.assert_code(0);
        assert_eq!(run.stdout, "at last\n", "{status}");
        assert!(run.stderr.contains(". Retrying in"), "{status}: {run}");
        assert!(!run.stderr.to_lowercase().contains("try again"), "{status}: {run}");
        let requests = scene.server.requests();
        assert_eq!(requests[0].body, requests[1].body, "{status}: the same request");
        let wait = requests[1].arrived - requests[0].arrived;
        assert!(wait >= Duration::from_millis(300), "{status}: {wait:?}");
        scene.server.finish();
    }))
    .await;
}

#[tokio::test]
async fn a_page_of_a_gateway_that_is_down_is_tried_again_too() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(html(502, "<html>Bad gateway</html>")).then(text("ok"));
    scene.world.run(["-p", "HELLO-1"]).finish().await.assert_code(0);
    scene.server.finish();
}

#[tokio::test]
async fn what_will_not_pass_is_not_tried_again() {
    let failures = [(400, 1), (401, 3), (403, 3), (404, 1), (413, 1), (422, 1)];
    join_all(failures.map(async |(status, code)| {
        let scene = Scene::new();
        scene.server.when("HELLO-1").reply(error(status, "invalid_request_error", "no"));
        let run = scene.world.run(["-p", "HELLO-1"]).finish().await;
        run.assert_code(code);
        assert_eq!(scene.server.requests().len(), 1, "{status}");
        scene.server.finish();
    }))
    .await;
}

#[tokio::test]
async fn the_screen_tells_of_the_wait_that_the_server_asked_for() {
    let scene = Scene::new();
    let limited = error(429, "rate_limit_error", "slow down").header("retry-after", "2");
    scene.server.when(PARENT).reply(limited).then(text(DONE));
    let screen = Screen::start(&scene.world, ["PARENT-1 go"], 100, 30);
    screen.wait_for("retrying in");
    screen.wait_for(DONE);
    screen.wait_gone("retrying in");
    let requests = scene.server.requests();
    assert!(requests[1].arrived - requests[0].arrived >= Duration::from_secs(2));
    scene.server.finish();
}

#[tokio::test]
async fn the_partial_text_of_a_broken_stream_is_replaced_on_the_screen() {
    let scene = Scene::new();
    scene
        .server
        .when(PARENT)
        .reply(text("TORN-66 half a").gate("cut").cut())
        .then(text("WHOLE-77").gate("shown").more(" to the end"));
    let screen = Screen::start(&scene.world, ["PARENT-1 go"], 100, 30);
    screen.wait_for("TORN-66");
    scene.server.open("cut");
    let shown = screen.wait_for("WHOLE-77");
    assert!(!shown.contains("TORN-66"), "{shown}");
    scene.server.open("shown");
    screen.wait_for("WHOLE-77 to the end");
    let session = scene.world.session().join("transcript.jsonl");
    let stored = std::fs::read_to_string(session).unwrap();
    assert!(!stored.contains("TORN-66"), "{stored}");
    scene.server.finish();
}

/// A message with one call, broken off when the call is whole and the message is not.
fn torn_call() -> Reply {
    Reply::stream().tool_use("Bash", bash("echo ran >> ran.txt")).end_block().cut()
}

#[tokio::test]
async fn a_call_whose_message_broke_off_runs_once_when_it_comes_again() {
    for scene in [Scene::new(), Scene::on_chat()] {
        let whole = || Reply::stream().tool_use("Bash", bash("echo ran >> ran.txt"));
        scene.server.when(PARENT).reply(torn_call()).then(whole()).then(text(DONE));
        scene.go().await;
        assert_eq!(scene.world.read("ran.txt"), "ran\n");
        let requests = scene.server.requests();
        assert_eq!(requests[0].body, requests[1].body, "asked from the start");
        scene.server.finish();
    }
}
