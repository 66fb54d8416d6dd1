//! The reader: going through a transcript and searching it.

use std::time::Duration;

use crossterm::event::KeyCode;

use super::pictures::picture;
use super::root;
use crate::protocol::{AgentPath, EventKind, ResultBlock, RunEnd, Sender, ToolUseId};
use crate::tui::msg::ScreenEffect;
use crate::tui::testing::{TestScreen, finish};

#[test]
fn the_reader_goes_from_prompt_to_prompt_shows_what_it_found_and_reaches_folded_agents() {
    let mut screen = TestScreen::new();
    for number in 0..3 {
        screen.main(EventKind::PromptRead {
            id: None,
            text: format!("prompt {number}").into(),
            from: Sender::Person,
        });
        screen.main(EventKind::TextDelta { text: format!("Answer **{number}**") });
    }
    let agent = screen.agent(&AgentPath::root(), "explore-1", "one");
    screen.event(&agent, finish(RunEnd::Completed, "")).says(&AgentPath::root(), "Done.");
    assert!(screen.model.agents.panel().is_empty());
    screen.ctrl('o');
    picture(&mut screen, 80, 24);
    let copied = |screen: &mut TestScreen| {
        screen.effects.clear();
        screen.write("y");
        match &screen.effects[..] {
            [ScreenEffect::Copy(text)] => text.clone(),
            other => panic!("{other:?}"),
        }
    };
    screen.write("[");
    picture(&mut screen, 80, 24);
    let first = copied(&mut screen);
    screen.write("]");
    picture(&mut screen, 80, 24);
    assert_ne!(copied(&mut screen), first);
    screen.write("/ANSWER 2").enter();
    assert!(picture(&mut screen, 80, 24).contains("Answer 2"));
    assert_eq!(copied(&mut screen), "Answer **2**");
    screen.key(KeyCode::Tab);
    assert!(picture(&mut screen, 80, 24).starts_with("agent 1 · "));
}

#[test]
fn the_search_of_the_reader_shows_the_line_and_counts_the_lines_that_match() {
    let main = AgentPath::root();
    let mut screen = TestScreen::new();
    screen.prompt("count");
    screen.tool(&main, "seq", "Bash", "seq 1 400");
    let output: Vec<String> = (1..=400).map(|number| number.to_string()).collect();
    screen.main(EventKind::ToolFinished {
        id: ToolUseId::new("seq"),
        name: "Bash".to_owned(),
        is_error: false,
        summary: "400 lines".to_owned(),
        content: vec![ResultBlock::Text { text: output.join("\n") }],
        details: None,
        took: Duration::ZERO,
    });
    screen.says(&main, "The last is 400, and **399** is before it.");
    screen.ctrl('o').draw();
    screen.key(KeyCode::Home).draw();
    screen.write("/399").enter();
    let output = picture(&mut screen, 80, 24);
    assert!(output.lines().any(|line| line.trim() == "399"), "{output}");
    assert!(output.contains("/399 · 1 of 2"), "{output}");
    screen.write("n");
    let output = picture(&mut screen, 80, 24);
    assert!(output.contains("399 is before it") && output.contains("2 of 2"), "{output}");
    screen.write("n");
    assert!(picture(&mut screen, 80, 24).contains("1 of 2"), "round");
    screen.write("N");
    assert!(picture(&mut screen, 80, 24).contains("2 of 2"), "round the other way");
    // From the position where the user scrolled to.
    screen.key(KeyCode::Home).draw();
    screen.write("/39").enter();
    let output = picture(&mut screen, 80, 24);
    assert!(
        output.contains("1 of 15") && output.lines().any(|line| line.trim() == "39"),
        "{output}"
    );
    screen.key(KeyCode::Home);
    assert!(picture(&mut screen, 80, 24).contains("15 found"));
    screen.write("/nowhere").enter();
    assert!(picture(&mut screen, 80, 24).contains("/nowhere · not found"));
    // The prompt has nothing to fold.
    screen.write("e");
    assert_eq!(screen.notice(), "nothing to fold here");
}

#[test]
fn the_reader_opens_where_the_transcript_is_scrolled_to() {
    let mut screen = TestScreen::new();
    let lines = |word: &str| -> String {
        (1..=90).map(|line| format!("{word} {line}\n\n")).collect::<Vec<_>>().concat()
    };
    let main = AgentPath::root();
    screen.prompt("go").says(&main, &lines("early")).tool(&main, "1", "Bash", "ls");
    screen.tool_done(&main, "1", "Bash", "ls").says(&main, &lines("late"));
    let top = |screen: &mut TestScreen| -> usize {
        let shown = picture(screen, 80, 24);
        let line = shown.lines().find_map(|line| line.trim().strip_prefix("early "));
        line.unwrap_or_else(|| panic!("{shown}")).parse().unwrap()
    };
    screen.draw();
    while !picture(&mut screen, 80, 24).contains("early 40") {
        screen.key(KeyCode::PageUp).draw();
    }
    let before = top(&mut screen);
    screen.ctrl('o').draw();
    assert!(top(&mut screen).abs_diff(before) <= 1, "{before}");
    // A search begins there.
    screen.write("/early").enter();
    let shown = picture(&mut screen, 80, 24);
    assert!(!shown.contains("past the end") && shown.contains("of 90"), "{shown}");
    screen.esc().draw();
    // At its end, it follows it.
    screen.key(KeyCode::End).draw().ctrl('o').draw();
    assert!(picture(&mut screen, 80, 24).contains("late 90"));
}

#[test]
fn the_only_prompt_is_found_in_both_directions_and_notices_leave_with_the_reader() {
    let mut screen = TestScreen::new();
    screen.prompt("the only one").says(&AgentPath::root(), "Answer.\n\nMore.");
    screen.main(finish(RunEnd::Completed, ""));
    for key in ["[", "]"] {
        screen.ctrl('o').draw();
        screen.key(KeyCode::Home).draw();
        screen.write(key).draw();
        assert_eq!(screen.notice(), "the only prompt");
        assert!(picture(&mut screen, 80, 24).contains("the only one"));
        screen.esc();
        assert_eq!(screen.notice(), "");
    }
}

#[test]
fn what_is_expanded_in_the_body_is_not_folded_in_the_reader() {
    let main = AgentPath::root();
    let mut screen = TestScreen::new();
    screen.prompt("count");
    for (id, tool) in [("1", "Read"), ("2", "Grep")] {
        screen.tool(&main, id, tool, &format!("the subject of {tool}"));
        screen.main(EventKind::ToolFinished {
            id: ToolUseId::new(id),
            name: tool.to_owned(),
            is_error: false,
            summary: "9 lines".to_owned(),
            content: vec![ResultBlock::Text {
                text: (1..=9).map(|line| format!("{tool} {line}\n")).collect(),
            }],
            details: None,
            took: Duration::ZERO,
        });
    }
    screen.draw().ctrl('t');
    let output = picture(&mut screen, 80, 40);
    let line = |text: &str| output.lines().position(|line| line.contains(text)).expect(text);
    assert!(line("Read the subject of Read   9 lines") < line("Read 1"), "{output}");
    assert!(line("Read 9") < line("Grep the subject of Grep   9 lines"), "{output}");
    screen.ctrl('o').draw();
    assert!(picture(&mut screen, 80, 40).contains("Grep 9"));
    picture(&mut screen, 80, 12);
    screen.key(KeyCode::Home).draw().key(KeyCode::Down).key(KeyCode::Down).draw().write("e");
    assert!(!picture(&mut screen, 80, 40).contains("Grep 9"));
    screen.esc();
    assert!(picture(&mut screen, 80, 40).contains("Grep 9"), "the reader folds for itself");
}

#[test]
fn a_cancelled_command_says_so_once() {
    let main = AgentPath::root();
    let mut screen = TestScreen::new();
    screen.prompt("go").tool(&main, "1", "Bash", "sleep 30");
    let text = "one\n[cancelled after 0.4 s, all its processes ended]".to_owned();
    screen.main(EventKind::ToolFinished {
        id: ToolUseId::new("1"),
        name: "Bash".to_owned(),
        is_error: true,
        summary: "cancelled".to_owned(),
        content: vec![ResultBlock::Text { text }],
        details: None,
        took: Duration::ZERO,
    });
    let output = picture(&mut screen, 80, 24);
    assert!(output.contains("└ one"), "{output}");
    assert_eq!(output.matches("cancelled").count(), 1, "{output}");
}

#[test]
fn the_rule_names_what_the_reader_shows_and_the_prompt_offers_nothing() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let path = screen.agent(&root(), "explore-1", "map the routes");
    screen.says(&path, "Two tables.").event(&path, finish(RunEnd::Completed, ""));
    screen.main(finish(RunEnd::Completed, "")).ctrl('o');
    let shown = picture(&mut screen, 100, 30);
    assert!(shown.contains("─ reading main ─") && !shown.contains("Ask, or"), "{shown}");
    screen.key(KeyCode::Tab);
    let shown = picture(&mut screen, 100, 30);
    assert!(shown.contains("─ reading 1 map the routes ─"), "{shown}");
    screen.esc().write("/theme").enter();
    let shown = picture(&mut screen, 100, 30);
    assert!(!shown.contains("Ask, or"), "{shown}");
}
