//! The wording of questions, and of the lines that name the agent asking.

use crossterm::event::KeyCode;

use super::pictures::picture;
use super::root;
use crate::protocol::{EventKind, QuestionId};
use crate::tui::testing::TestScreen;

#[test]
fn a_stop_says_whom_it_has_stopped_and_not_which_question_is_gone() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let agents = [1, 2].map(|at| {
        let agent = screen.agent(&root(), &format!("explore-{at}"), "look");
        screen.asks(&agent, at, &format!("explore-{at}"), "psql");
        agent
    });
    screen.wait(2000).key(KeyCode::Tab).wait(2000).key(KeyCode::Tab).wait(2000).esc();
    assert!(screen.notice().starts_with("Stopped: main and 2 agents"), "{}", screen.notice());
    for (agent, id) in agents.iter().zip(1..) {
        screen.event(agent, EventKind::QuestionClosed { id: QuestionId(id), allowed: None });
    }
    assert!(screen.notice().starts_with("Stopped: main and 2 agents"), "{}", screen.notice());
}

#[test]
fn many_agents_that_ask_are_counted_by_the_panel_alone() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    for at in 1..=12 {
        let agent = screen.agent(&root(), &format!("explore-{at}"), "look");
        screen.asks(&agent, at, &format!("explore-{at}"), "psql");
    }
    screen.wait(2000);
    let shown = picture(&mut screen, 160, 45);
    assert!(shown.contains("12 agents · ⚑ 12 need you"), "{shown}");
    assert_eq!(shown.matches("need you").count(), 1, "{shown}");
    assert!(shown.matches("needs you").count() >= 12, "{shown}");
    assert!(!shown.contains("needs you, "), "all say it in the same words: {shown}");
}

#[test]
fn the_note_about_missing_answers_stands_in_their_place() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let mut question = TestScreen::question(&root(), 1, "main", "psql shop");
    if let EventKind::PermissionAsked(question) = &mut question {
        question.rules.clear();
    }
    screen.event(&root(), question).wait(2000);
    let shown = picture(&mut screen, 120, 40);
    let rows: Vec<&str> = shown.lines().skip_while(|line| !line.starts_with("│ 1")).collect();
    assert!(rows[0].contains("1  Yes") && rows[0].contains("4  No"), "{shown}");
    assert!(
        rows[1].starts_with("│ 2 and 3 need a rule; none is ") && rows[1].contains("5  No"),
        "{shown}"
    );
    assert!(
        rows[2].starts_with("│ safe for this command ") && rows[2].contains("Esc No"),
        "{shown}"
    );
    assert!(rows[3].starts_with('╰'), "{shown}");
}

#[test]
fn the_text_of_a_write_that_would_fail_has_numbered_lines() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let mut question = TestScreen::question(&root(), 1, "main", "");
    if let EventKind::PermissionAsked(question) = &mut question {
        question.tool = "Write".to_owned();
        question.access = crate::protocol::Access::Write { paths: Vec::new() };
        question.input = serde_json::json!({ "content": "# Shop\n\nRun the tests.\n" });
        question.preview = Some("This would fail: README.md was not read.".to_owned());
    }
    screen.event(&root(), question).wait(2000);
    let shown = picture(&mut screen, 120, 40);
    assert!(shown.contains("1 + # Shop") && shown.contains("3 + Run the tests."), "{shown}");
    assert!(shown.contains("This would fail") && !shown.contains('␊'), "{shown}");
}

#[test]
fn a_receipt_leaves_room_for_the_keys() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let agent = screen.agent(&root(), "explore-1", "look");
    screen.asks(&agent, 1, "agent 1", "sleep 3; touch made-by-1; ls -la src; cat src/*.py");
    picture(&mut screen, 80, 24);
    screen.wait(2000).esc();
    let shown = picture(&mut screen, 80, 24);
    let hint = shown.lines().find(|line| line.contains("denied: Bash sleep 3; ")).unwrap();
    assert!(hint.contains("… (agent 1)") && hint.contains("Ctrl+C cancels agent 1"), "{shown}");
}

#[test]
fn the_task_is_left_out_where_the_call_says_the_same() {
    for (description, named) in [("run the tests", 0), ("run all of them", 1)] {
        let mut screen = TestScreen::new();
        screen.prompt("go");
        let agent = screen.agent(&root(), "explore-1", "run the tests");
        let mut question = TestScreen::question(&agent, 1, "agent 1", "cargo test");
        if let EventKind::PermissionAsked(question) = &mut question {
            let input = serde_json::json!({ "command": "cargo test", "description": description });
            question.input = input;
        }
        screen.event(&agent, question).wait(2000);
        let shown = picture(&mut screen, 120, 40);
        assert_eq!(shown.matches("task: \"").count(), named, "{shown}");
    }
}
