//! A second caliban on one session: it shows the session, writes nothing, and continues in a copy.

use super::{BYPASS, NOTHING, send};
use crate::support::pty::{CTRL_C, CTRL_D, ENTER, Screen};
use crate::support::scene::{DONE, PARENT, Scene, agent, calls};
use crate::support::script::text;

const READ_ONLY: &str = "read-only: the session is open in another caliban";
const AT_WORK: &str = "at work in the other caliban";

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
        [READ_ONLY, "\u{203a} and HELLO-1 at once", "said-1"].iter().all(|it| shown.contains(it))
    });
    assert!(shown.contains("so it can only be read here"), "{shown}");
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

#[tokio::test]
async fn agents_that_work_in_the_other_caliban_are_not_called_interrupted() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(calls([agent("CHILD-A"), agent("CHILD-B")]));
    scene.server.when(PARENT).reply(text(DONE).usage(50_000, 100));
    scene.server.when("CHILD-A").reply(text("FOUND-66").usage(50_000, 100));
    scene.server.when("CHILD-B").reply(text("EARLY-77").gate("held").more(" LATE-77"));
    let first = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 30);
    first.wait_for("EARLY-77");
    first.wait_for("✓ 1");
    let second = Screen::start(&scene.world, ["-c"], 120, 30);
    let shown = second.wait_until("the agents", |shown| {
        shown.contains(&format!("read-only: {AT_WORK}")) && shown.contains("✓ 1")
    });
    assert!(shown.contains("2 agents"), "{shown}");
    let row = shown.lines().find(|line| line.contains(" 2 look around")).unwrap_or_default();
    assert!(row.contains(AT_WORK), "{shown}");
    for word in ["interrupted", "failed", "✗", "⊘"] {
        assert!(!shown.contains(word), "{word}: {shown}");
    }
    send(&second, "/agents");
    let list = second.wait_for("this session");
    assert!(list.matches(AT_WORK).count() >= 2, "{list}");
    second.keys(CTRL_C);
    scene.server.open("held");
    first.wait_for("done in");
    let shown = second.wait_for("done in");
    assert!(shown.contains("✓ 2") && shown.contains(READ_ONLY), "{shown}");
    // The sum is that of the rows.
    let cost = |screen: &Screen| {
        send(screen, "/cost");
        let shown = screen.wait_for("agents included");
        let lines = shown.lines().filter(|line| line.contains('$') && !line.contains("sonnet"));
        lines.map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(cost(&second), cost(&first));
}

#[tokio::test]
async fn a_session_that_the_other_caliban_has_left_is_resumed_and_not_copied() {
    let (scene, first, _) = open_session();
    let second = Screen::start(&scene.world, ["-c"], 120, 24);
    second.wait_for(READ_ONLY);
    first.keys(CTRL_D);
    first.wait_ended();
    let shown = second.wait_for("read-only: the other caliban has left the session");
    assert!(shown.contains("resumes it here") && !shown.contains("in a copy"), "{shown}");
    send(&second, "and HELLO-1 again");
    second.wait_for("the session goes on here");
    let shown = second.wait_gone("read-only");
    assert!(shown.contains("and HELLO-1 again") && !shown.contains("said-2"), "{shown}");
    second.keys(ENTER);
    second.wait_for("said-2");
    assert_eq!(scene.world.sessions().len(), 1);
}

#[tokio::test]
async fn a_session_that_is_open_elsewhere_is_not_renamed_and_its_copy_says_why_it_is_not_exported()
{
    let (scene, _first, _) = open_session();
    let second = Screen::start(&scene.world, ["-c"], 120, 24);
    second.wait_for(READ_ONLY);
    send(&second, "/rename mine");
    second.wait_for("the session is open in another caliban: name it there");
    assert!(!scene.world.session().join("name").exists());
    second.keys(CTRL_C);
    second.keys(ENTER);
    second.wait_for("this is a copy now");
    send(&second, "/export");
    second.wait_for("nothing to export yet: it is stored with its first prompt");
}

#[tokio::test]
async fn the_agents_of_the_original_are_no_cost_of_a_copy() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(text("FOUND-66").usage(50_000, 100));
    let first = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 120, 30);
    first.wait_for("done in");
    let copy = Screen::start(&scene.world, ["-c", "--fork-session"], 120, 30);
    copy.wait_for(DONE);
    send(&copy, "/cost");
    let shown = copy.wait_for("agents included");
    assert!(shown.contains("session   $0.00"), "{shown}");
    assert!(shown.contains("tokens    0, agents included"), "{shown}");
    // The turn is shown as it was.
    assert!(copy.contents().contains("✓ 1 · 50k tokens"), "{shown}");
    let row = shown.lines().find(|line| line.contains("1 general-purpose")).unwrap_or_default();
    assert!(row.contains("$0.10  before the copy"), "{shown}");
}

#[tokio::test]
async fn the_list_of_sessions_marks_those_that_are_open_elsewhere() {
    let (scene, first, _) = open_session();
    let second = Screen::start(&scene.world, NOTHING, 120, 24);
    second.wait_for("Ctrl+D quits");
    send(&second, "/resume");
    let row = |shown: &str| shown.lines().find(|line| line.contains("HELLO-1")).map(str::to_owned);
    second.wait_until("the mark", |shown| row(shown).is_some_and(|row| row.contains("  open")));
    second.keys(CTRL_C);
    second.wait_gone("just now");
    first.keys(CTRL_D);
    first.wait_ended();
    send(&second, "/resume");
    let shown = second.wait_for("just now");
    assert!(!row(&shown).unwrap().contains("  open"), "{shown}");
}
