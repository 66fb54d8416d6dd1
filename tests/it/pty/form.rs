//! An agent's own questions on a real terminal: answered by keys, beside others, or not at all.

use serde_json::{Value, json};

use crate::support::pty::{ESC_ALONE, Screen, TAB};
use crate::support::record::ToolResult;
use crate::support::scene::{DONE, PARENT, Scene, agent, bash};
use crate::support::script::{text, tool_use};

const DOWN: &str = "\x1b[B";
const RIGHT: &str = "\x1b[C";

fn question(text: &str, header: &str, labels: &[&str]) -> Value {
    let options = labels.iter().map(|label| json!({ "label": label, "description": "Why." }));
    json!({ "question": text, "header": header, "options": options.collect::<Vec<_>>() })
}

fn library() -> Value {
    question("Which library?", "Library", &["chrono", "jiff"])
}

fn features() -> Value {
    let mut asked = question("Which features?", "Features", &["serde", "clock", "std"]);
    asked["multiSelect"] = json!(true);
    asked
}

fn ask(questions: &[Value]) -> Value {
    json!({ "questions": questions })
}

/// Main asks these questions.
fn asked(questions: &[Value], args: &[&str]) -> (Scene, Screen) {
    let scene = Scene::new();
    let main = scene.server.when(PARENT);
    main.reply(tool_use("AskUserQuestion", ask(questions))).then(text(DONE));
    let args = args.iter().copied().chain(["PARENT-1 go"]);
    let screen = Screen::start(&scene.world, args, 80, 24);
    (scene, screen)
}

/// What the model reads.
fn result(scene: &Scene, word: &str) -> ToolResult {
    scene.server.requests_of(word)[1].tool_result()
}

#[tokio::test]
async fn the_model_reads_what_the_user_chooses_in_every_mode() {
    for mode in ["default", "acceptEdits", "plan", "bypassPermissions"] {
        let args = ["--permission-mode", mode, "--allowed-tools", "AskUserQuestion"];
        let (scene, screen) = asked(&[library()], &args);
        let shown = screen.wait_for("main has a question");
        assert!(shown.contains("1  chrono") && shown.contains("3  Type your own"), "{shown}");
        screen.keys("2");
        let shown = screen.wait_for(DONE);
        assert!(shown.contains("● Question") && shown.contains("Library: jiff"), "{shown}");
        let read = result(&scene, PARENT);
        assert_eq!(read.text, "The user answered:\n\"Which library?\": \"jiff\"", "{mode}");
        assert!(!read.is_error);
        scene.server.finish();
    }
}

#[tokio::test]
async fn several_questions_take_options_and_typed_text_and_are_sent_together() {
    let name = question("Which name?", "Name", &["one", "two"]);
    let (scene, screen) = asked(&[library(), features(), name], &[]);
    screen.wait_for("main has 3 questions");
    screen.keys(DOWN);
    screen.wait_for("1▸ chrono");
    screen.keys("\r");
    screen.wait_for("Which features?");
    screen.keys("3");
    screen.wait_for("3▸ ☑ std");
    screen.keys(&format!("{DOWN}{DOWN} \r"));
    screen.wait_for("Which name?");
    screen.keys("3three");
    screen.wait_for("› three");
    screen.keys("\r");
    let shown = screen.wait_for("Send these answers?");
    assert!(shown.contains("Features   serde, std"), "{shown}");
    screen.keys("\r");
    screen.wait_for(DONE);
    assert_eq!(
        result(&scene, PARENT).text,
        "The user answered:\n\"Which library?\": \"chrono\"\n\"Which features?\": \"serde, std\"\n\
         \"Which name?\": \"three\""
    );
    scene.server.finish();
}

#[tokio::test]
async fn a_question_may_stay_without_an_answer() {
    let (scene, screen) = asked(&[library(), features()], &[]);
    screen.wait_for("main has 2 questions");
    screen.keys("1");
    screen.wait_for("Which features?");
    screen.keys(RIGHT);
    screen.wait_for("no answer");
    screen.keys("\r");
    screen.wait_for(DONE);
    let read = result(&scene, PARENT).text;
    assert!(read.ends_with("\"Which features?\": no answer"), "{read}");
    scene.server.finish();
}

#[tokio::test]
async fn esc_declines_and_the_model_reads_that() {
    let (scene, screen) = asked(&[library()], &[]);
    screen.wait_for("main has a question");
    screen.keys(ESC_ALONE);
    let shown = screen.wait_for(DONE);
    assert!(shown.contains("not answered"), "{shown}");
    let read = result(&scene, PARENT);
    assert_eq!((read.text.as_str(), read.is_error), ("the user declined to answer", true));
    scene.server.finish();
}

#[tokio::test]
async fn a_sub_agent_asks_while_main_waits_and_questions_queue() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A"), agent("CHILD-B")]);
    let first = scene.server.when("CHILD-A");
    first.reply(tool_use("AskUserQuestion", ask(&[features()]))).then(text("A done"));
    let second = text("x").gate("the first asks").tool_use("Bash", bash("touch b.txt"));
    scene.server.when("CHILD-B").reply(second).then(text("B done"));
    let args = ["--allowed-tools", "AgentTool", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 100, 30);
    screen.wait_for("agent 1 has a question");
    screen.keys("2");
    screen.wait_for("☑ clock");
    scene.server.open("the first asks");
    screen.wait_for("1 of 2");
    screen.keys(TAB);
    screen.wait_for("agent 2 wants to run a command");
    screen.keys("1");
    // It comes back with what was ticked.
    let shown = screen.wait_for("agent 1 has a question");
    assert!(shown.contains("☑ clock") && shown.contains("☐ serde"), "{shown}");
    screen.keys("\r");
    screen.wait_for(DONE);
    assert_eq!(
        result(&scene, "CHILD-A").text,
        "The user answered:\n\"Which features?\": \"clock\""
    );
    assert!(scene.world.exists("b.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn a_deny_rule_and_dont_ask_mode_hold() {
    let (scene, screen) = asked(&[library()], &["--permission-mode", "dontAsk"]);
    screen.wait_for(DONE);
    let read = result(&scene, PARENT);
    assert!(read.is_error && read.text.starts_with("dontAsk mode never asks"), "{read:?}");
    scene.server.finish();
    let (scene, screen) = asked(&[library()], &["--disallowed-tools", "AskUserQuestion"]);
    screen.wait_for(DONE);
    assert!(!scene.server.requests()[0].tool_names().contains(&"AskUserQuestion"));
    scene.server.finish();
}

#[tokio::test]
async fn an_input_of_the_wrong_shape_is_an_error_and_opens_nothing() {
    let one = question("Which?", "Which", &["only"]);
    let (scene, screen) = asked(&[one], &[]);
    screen.wait_for(DONE);
    let read = result(&scene, PARENT);
    assert!(read.is_error && read.text.contains("give 2 to 4"), "{read:?}");
    scene.server.finish();
}
