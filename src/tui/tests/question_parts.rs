//! The parts of a question around its content: answers, text fields, agents and reasons.

use crossterm::event::{KeyCode, KeyModifiers};

use crate::protocol::{Access, Answer, Command, EventKind, QuestionId};
use crate::tui::testing::TestScreen;

use super::pictures::picture;
use super::room::asking;
use super::root;
use super::seen::{asked, command, edit};

#[test]
fn the_words_of_a_no_keep_their_label_and_mark_on_a_low_screen() {
    let mut screen = asked(command("make all".to_owned()));
    picture(&mut screen, 80, 24);
    screen.write("4");
    for line in 1..=20 {
        screen.write(&format!("do {line}")).ctrl('j');
    }
    let shown = picture(&mut screen, 80, 24);
    let lines: Vec<&str> = shown.lines().collect();
    let label = lines.iter().position(|line| line.contains("do instead? (optional)")).unwrap();
    assert!(lines[label + 1].starts_with("│ › do "), "{shown}");
    assert!(shown.contains("do 20"), "the cursor is in view: {shown}");
}

#[test]
fn a_blank_line_sets_the_answers_apart_from_content_that_is_cut() {
    let mut screen = asked(edit(60));
    let shown = picture(&mut screen, 80, 24);
    let lines: Vec<&str> = shown.lines().collect();
    let yes = lines.iter().position(|line| line.starts_with("│ 1  Yes")).unwrap();
    assert_eq!(lines[yes - 1].trim_matches(['│', '┃', ' ']), "", "{shown}");
    assert!(shown.contains(" lines and the reason below ╯"), "{shown}");
}

#[test]
fn a_call_without_arguments_says_so() {
    let mut screen = asked(|question| {
        question.tool = "mcp__shop__list".to_owned();
        question.input = serde_json::json!({});
        question.access = Access::Other;
    });
    let shown = picture(&mut screen, 120, 40);
    assert!(shown.contains("│ without arguments"), "{shown}");
}

#[test]
fn figures_above_panes_keep_the_time_before_the_words_of_states() {
    let shown = picture(&mut asking(3, |at| at == 2, |_| 0), 120, 40);
    let head = shown.lines().next().unwrap();
    assert!(head.contains("3 agents · 2 running · ⚑ 1 ") && head.contains("0:05"), "{shown}");
}

#[test]
fn the_key_of_an_agent_shows_its_question_or_says_why_not() {
    let mut screen = asking(3, |at| at < 3, |_| 0);
    picture(&mut screen, 120, 40);
    screen.chord(KeyCode::Char('2'), KeyModifiers::ALT);
    let shown = picture(&mut screen, 120, 40);
    assert!(shown.contains("⚑ agent 2 wants to run"), "{shown}");
    screen.chord(KeyCode::Char('3'), KeyModifiers::ALT);
    assert_eq!(screen.notice(), "agent 3 asks nothing · Tab puts the question off");
    screen.chord(KeyCode::Char('7'), KeyModifiers::ALT);
    assert_eq!(screen.notice(), "there is no agent 7 here");
}

#[test]
fn the_words_of_a_no_are_sent_with_their_line_ends() {
    let mut screen = asked(command("make all".to_owned()));
    picture(&mut screen, 120, 40);
    screen.write("4").write("first line").ctrl('j').write("second line").enter();
    let reason = Some("first line\nsecond line".to_owned());
    let answer = Answer::No { reason };
    assert_eq!(screen.sent(), [Command::Answer { id: QuestionId(1), answer }]);
}

#[test]
fn what_led_to_a_long_question_of_main_stays_in_view_beside_panes() {
    let mut screen = asking(3, |_| false, |_| 0);
    screen.says(&root(), "This is why I ask.\n");
    let mut question = TestScreen::question(&root(), 9, "main", "psql");
    if let EventKind::PermissionAsked(question) = &mut question {
        edit(60)(question);
        question.path = root();
    }
    screen.event(&root(), question).wait(5000).draw();
    let shown = picture(&mut screen, 120, 40);
    let top = shown.lines().position(|line| line.starts_with('╭')).unwrap();
    let above: String = shown.lines().take(top).collect();
    assert!(above.contains("This is why I ask."), "{shown}");
    assert!(shown.contains("▌3 map it"), "the panes stay: {shown}");
}
