//! A second caliban on one session: it shows the session, writes nothing, and continues in a copy.

use super::{NOTHING, send};
use crate::support::pty::{ENTER, Screen};
use crate::support::scene::Scene;
use crate::support::script::text;

const READ_ONLY: &str = "read-only: the session is open in another caliban";

/// A session on a screen, which has it open, and its transcript.
fn open_session() -> (Scene, Screen, Vec<u8>) {
    let scene = Scene::new();
    let reply = scene.server.when("HELLO-1").reply(text("said-1"));
    reply.then(text("said-2"));
    let screen = Screen::start(&scene.world, ["HELLO-1"], 120, 24);
    screen.wait_for("said-1");
    screen.wait_for("Ctrl+D quits");
    let stored = std::fs::read(scene.world.session().join("transcript.jsonl")).unwrap();
    (scene, screen, stored)
}

#[tokio::test]
async fn a_second_screen_shows_the_session_and_a_key_continues_in_a_copy() {
    let (scene, first, stored) = open_session();
    let original = scene.world.session();
    let second = Screen::start(&scene.world, ["-c"], 120, 24);
    let shown = second
        .wait_until("the session", |shown| shown.contains(READ_ONLY) && shown.contains("said-1"));
    assert!(shown.contains("continues in a copy, as --fork-session does"), "{shown}");
    // The draft stays; only the next Enter sends it.
    send(&second, "and HELLO-1 again");
    second.wait_for("this is a copy now");
    let shown = second.wait_gone(READ_ONLY);
    assert!(shown.contains("and HELLO-1 again"), "{shown}");
    assert_eq!(scene.server.requests().len(), 1);
    second.keys(ENTER);
    second.wait_for("said-2");
    assert_eq!(scene.world.sessions().len(), 2);
    assert_eq!(std::fs::read(original.join("transcript.jsonl")).unwrap(), stored);
    drop(first);
}

#[tokio::test]
async fn nothing_works_in_a_session_that_can_only_be_read() {
    let (scene, _first, stored) = open_session();
    let second = Screen::start(&scene.world, ["-c", "and HELLO-1 at once"], 120, 24);
    let shown = second.wait_until("the prompt in the draft", |shown| {
        shown.contains(READ_ONLY) && shown.contains("\u{203a} and HELLO-1 at once")
    });
    assert!(shown.contains("said-1"), "{shown}");
    assert_eq!(scene.server.requests().len(), 1);
    let session = scene.world.session();
    assert_eq!(std::fs::read(session.join("transcript.jsonl")).unwrap(), stored);
    // A session that is open elsewhere is also only shown when it is chosen on the screen.
    let third = Screen::start(&scene.world, NOTHING, 120, 24);
    third.wait_for("Ctrl+D quits");
    send(&third, &format!("/resume {}", session.file_name().unwrap().to_str().unwrap()));
    third.wait_for(READ_ONLY);
    send(&third, "/compact");
    third.wait_for("this is a copy now");
}

#[tokio::test]
async fn a_session_that_is_open_elsewhere_is_followed() {
    let (scene, first, _) = open_session();
    let second = Screen::start(&scene.world, ["-c"], 120, 24);
    second.wait_for(READ_ONLY);
    send(&first, "and HELLO-1 again");
    first.wait_for("said-2");
    let shown = second.wait_until("what the other has added", |shown| {
        shown.contains("and HELLO-1 again") && shown.matches("done in").count() == 2
    });
    assert!(shown.contains("said-1") && shown.contains("said-2"), "{shown}");
    assert!(shown.contains(READ_ONLY) && !shown.contains("interrupted"), "{shown}");
}
