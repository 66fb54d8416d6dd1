//! Agents in the background and their list, on a real terminal.

use super::{BYPASS, NOTHING, send};
use crate::support::pty::{BACKSPACE, CTRL_C, ENTER, ESC_ALONE, Screen, TAB};
use crate::support::scene::{DONE, PARENT, Scene, agent, bash, calls};
use crate::support::script::{text, tool_use};

/// The commonest prefix of terminal multiplexers: pressed twice, it reaches us once.
const CTRL_B: &str = "\x02";

#[tokio::test]
async fn ctrl_b_with_a_draft_moves_the_cursor_left() {
    let scene = Scene::new();
    let screen = Screen::start(&scene.world, NOTHING, 80, 24);
    screen.wait_for("? keys");
    screen.keys("ac");
    screen.keys(CTRL_B);
    screen.keys("b");
    screen.wait_for("› abc");
    scene.server.finish();
}

#[tokio::test]
async fn ctrl_b_moves_a_running_agent_to_the_background_and_its_result_comes_by_itself() {
    let scene = Scene::new();
    let first = calls([agent("CHILD-A")]);
    scene.server.when(PARENT).reply(first).then(text(DONE)).then(text("HEARD-77"));
    scene.server.when("CHILD-A").reply(text("TEXT-A").gate("rest").more(" CHILD-END"));
    let screen = Screen::start(&scene.world, [BYPASS, "PARENT-1 go"], 80, 24);
    screen.wait_for("TEXT-A");
    screen.keys(CTRL_B);
    screen.wait_for(DONE);
    let shown = screen.wait_for("in the background");
    assert!(!shown.contains("waits for"), "{shown}");
    // Esc never stops it: main rests by now, and the key after it shows that it was taken.
    screen.wait_gone("Esc stops");
    screen.keys(ESC_ALONE);
    screen.keys("x");
    screen.wait_for("› x");
    screen.keys(BACKSPACE);
    assert!(scene.server.requests_of("CHILD-A")[0].end.is_none());
    scene.server.open("rest");
    screen.wait_for("agent 1 reports");
    screen.wait_for("HEARD-77");
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 1, "it was not begun anew");
    scene.server.finish();
}

#[tokio::test]
async fn questions_in_the_background_outlive_the_turns_of_main() {
    let scene = Scene::new();
    let first = calls(["CHILD-A", "CHILD-B", "CHILD-C"].map(agent));
    let main = scene.server.when(PARENT).reply(first).then(text(DONE));
    let main = main.then(text("STOP-ME").gate("never")).then(text("HEARD-B"));
    main.then(text("HEARD-C"));
    scene.server.when("CHILD-A").reply(text("TEXT-A").gate("rest").more(" A-END"));
    for (word, file) in [("CHILD-B", "b.txt"), ("CHILD-C", "c.txt")] {
        let asks = tool_use("Bash", bash(&format!("touch {file}")));
        scene.server.when(word).reply(asks).then(text(format!("{word} ended")));
    }
    let args = ["--allowed-tools", "AgentTool", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 120, 40);
    screen.wait_for("1 of 2");
    screen.wait_gone("answers work in a moment");
    // The one from "Background which?", the other from the list of agents.
    screen.keys(TAB);
    screen.wait_for("Tab later");
    screen.keys(TAB);
    screen.wait_gone("wants to run");
    screen.keys(CTRL_B);
    screen.wait_for("Background which?");
    screen.keys("2");
    screen.wait_for("agent 2 is in the background now");
    send(&screen, "/agents");
    screen.wait_for("definitions");
    screen.keys("\x1b[B\x1b[Bb");
    screen.wait_for("agent 3 is in the background now");
    // Esc right behind another one would be ignored.
    screen.keys(CTRL_C);
    scene.server.open("rest");
    screen.wait_for(DONE);
    screen.wait_gone("Esc stops");
    let shown = screen.contents();
    assert!(!shown.contains("withdrawn") && shown.matches("needs you").count() >= 2, "{shown}");
    // Nor does a turn that the user stops end them.
    send(&screen, "more");
    screen.wait_for("STOP-ME");
    screen.keys(ESC_ALONE);
    screen.wait_for("2 background agents keep running");
    screen.wait_gone("Esc stops");
    screen.keys(TAB);
    screen.wait_for("touch");
    screen.keys("1");
    // The report of one is a turn of main, at whose end the other still asks.
    screen.wait_for("HEARD-B");
    screen.wait_until("the other question", |shown| {
        shown.contains("wants to run") && !shown.contains("answers work in a moment")
    });
    screen.keys("1");
    screen.wait_for("HEARD-C");
    assert!(scene.world.exists("b.txt") && scene.world.exists("c.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn the_list_of_agents_has_definitions_and_enter_mentions_one() {
    let scene = Scene::new();
    let screen = Screen::start(&scene.world, NOTHING, 80, 24);
    screen.wait_for("? keys");
    send(&screen, "/agents");
    // They are looked for when the list is opened, so they may come after it.
    screen.wait_until("the built-in ones", |shown| {
        shown.contains("definitions") && shown.contains("@ explore") && shown.contains("@ plan")
    });
    let shown = screen.wait_for("tools: ");
    assert!(shown.contains("model: ") && shown.contains("built in"), "{shown}");
    assert!(!shown.contains("b background") && !shown.contains("r resume"), "{shown}");
    screen.keys("/plan");
    screen.wait_for("agents › plan");
    screen.keys(ENTER);
    screen.wait_for("› @agent-plan");
    scene.server.finish();
}

#[tokio::test]
async fn an_unknown_agent_is_named_and_the_text_stays() {
    let scene = Scene::new();
    let screen = Screen::start(&scene.world, NOTHING, 80, 24);
    screen.wait_for("? keys");
    screen.keys("@agent-");
    screen.wait_for("@agent-explore");
    screen.keys("exlpore look");
    screen.keys(ENTER);
    let shown = screen.wait_for("no agent exlpore: /agents lists them");
    assert!(shown.contains("› @agent-exlpore look"), "{shown}");
    assert_eq!(scene.server.requests().len(), 0);
    scene.server.finish();
}
