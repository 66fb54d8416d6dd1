//! The reader: going through a transcript and searching it.

use std::time::Duration;

use crossterm::event::KeyCode;

use super::pictures::picture;
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
    assert!(picture(&mut screen, 80, 24).starts_with("explore-1 · "));
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
