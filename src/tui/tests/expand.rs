//! Output that a key or a click expands in place.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use crate::protocol::{AgentPath, EventKind, ResultBlock, RunEnd, ToolUseId};
use crate::tui::msg::Msg;
use crate::tui::overlay::Overlay;
use crate::tui::testing::{TestScreen, finish};
use crate::tui::text::Highlighter;
use crate::tui::theme::Theme;
use crate::tui::view::View;

use super::pictures::{calls, picture_by};

#[test]
fn a_key_and_a_click_expand_the_output_in_place() {
    let mut screen = calls();
    let mut view = View::new(Theme::default(), Highlighter::off());
    assert!(!picture_by(&mut view, &mut screen, 80, 40).contains("line 5 of"));
    let output = picture_by(&mut view, &mut screen, 80, 50);
    let row = output.lines().position(|line| line.contains("for i in")).unwrap();
    click(&mut screen, &mut view, 5, u16::try_from(row).unwrap());
    let expanded = picture_by(&mut view, &mut screen, 80, 50);
    assert!(expanded.contains("line 5 of the output"), "{expanded}");
    assert_eq!(
        expanded.lines().take(row + 1).collect::<Vec<_>>(),
        output.lines().take(row + 1).collect::<Vec<_>>()
    );
    screen.ctrl('t');
    assert!(!picture_by(&mut view, &mut screen, 80, 50).contains("line 5 of the output"));
}

/// Two commands with ten lines of output each, and a short answer.
fn two_outputs(lines_after: usize) -> TestScreen {
    let (mut screen, main) = (TestScreen::new(), AgentPath::root());
    screen.prompt("go");
    for name in ["first", "second"] {
        screen.tool(&main, name, "Bash", name);
        let output: Vec<String> = (1..=10).map(|line| format!("{name} {line}")).collect();
        screen.main(EventKind::ToolFinished {
            id: ToolUseId::new(name),
            name: "Bash".to_owned(),
            is_error: false,
            summary: "10 lines".to_owned(),
            content: vec![ResultBlock::Text { text: output.join("\n") }],
            details: None,
            took: Duration::from_millis(5),
        });
    }
    screen.says(&main, &"An answer.\n\n".repeat(lines_after));
    screen.main(finish(RunEnd::Completed, ""));
    screen
}

#[test]
fn the_key_expands_the_last_folded_output_on_the_screen_then_those_above_and_then_folds_them() {
    let mut screen = two_outputs(1);
    let mut view = View::new(Theme::default(), Highlighter::off());
    let mut shown = |screen: &mut TestScreen| picture_by(&mut view, screen, 80, 26);
    let folded = shown(&mut screen);
    assert!(!folded.contains("first 2") && !folded.contains("second 2"), "{folded}");
    let head = |output: &str| output.lines().take(8).map(str::to_owned).collect::<Vec<_>>();
    let last = shown(screen.ctrl('t'));
    assert!(!last.contains("first 2") && last.contains("second 2"), "{last}");
    assert_eq!(head(&last), head(&folded), "what is above stays");
    let both = shown(screen.ctrl('t'));
    assert!(both.contains("first 2") && both.contains("● Bash second"), "{both}");
    assert_eq!(shown(screen.ctrl('t')), folded, "and it follows the end again");
    assert_eq!(screen.model.main_scroll.top, None);
}

/// Two agents, each with a command of ten lines of output, and a command of main's.
fn agents_with_output() -> (TestScreen, [AgentPath; 2]) {
    let (mut screen, main) = (two_outputs(1), AgentPath::root());
    screen.prompt("again");
    let agents = ["one", "two"].map(|name| {
        let path = screen.agent(&main, &format!("explore-{name}"), name);
        screen.tool(&path, name, "Bash", name);
        let output: Vec<String> = (1..=10).map(|line| format!("{name} {line}")).collect();
        screen.event(
            &path,
            EventKind::ToolFinished {
                id: ToolUseId::new(name),
                name: "Bash".to_owned(),
                is_error: false,
                summary: "10 lines".to_owned(),
                content: vec![ResultBlock::Text { text: output.join("\n") }],
                details: None,
                took: Duration::from_millis(5),
            },
        );
        path
    });
    (screen, agents)
}

fn click(screen: &mut TestScreen, view: &mut View, x: u16, y: u16) {
    let hit = view.hit_test(&screen.model, Position { x, y }, false);
    for kind in [MouseEventKind::Down(MouseButton::Left), MouseEventKind::Up(MouseButton::Left)] {
        let event = MouseEvent { kind, column: x, row: y, modifiers: KeyModifiers::NONE };
        let (hit, at) = (hit.clone(), screen.at);
        screen.send(Msg::Mouse { event, hit, at });
    }
}

#[test]
fn the_line_about_folded_output_names_a_key_only_where_the_key_acts() {
    let (mut screen, [_, second]) = agents_with_output();
    let mut view = View::new(Theme::default(), Highlighter::off());
    let mut shown = |screen: &mut TestScreen| picture_by(&mut view, screen, 120, 40);
    let named = |output: &str| {
        let hints =
            output.lines().flat_map(|line| line.split('│')).filter(|part| part.contains("… +"));
        hints.map(|part| part.contains("Ctrl+T")).collect::<Vec<_>>()
    };
    assert_eq!(named(&shown(&mut screen)).iter().filter(|named| **named).count(), 2);
    screen.chord(KeyCode::Char('2'), KeyModifiers::ALT);
    assert_eq!(screen.model.focus.as_ref(), Some(&second));
    let focused = shown(&mut screen);
    assert_eq!(named(&focused).iter().filter(|named| **named).count(), 1, "{focused}");
    let expanded = shown(screen.ctrl('t'));
    assert!(expanded.contains("two 2") && !expanded.contains("second 2"), "{expanded}");
    assert_eq!(shown(screen.ctrl('t')), focused);
    screen.ctrl('o');
    let Some(Overlay::Reader(reader)) = &screen.model.overlay else { panic!("no reader") };
    assert_eq!(reader.path, second);
}

#[test]
fn a_click_on_the_line_about_folded_output_expands_it_in_its_pane() {
    let (mut screen, [_, second]) = agents_with_output();
    let mut view = View::new(Theme::default(), Highlighter::off());
    let before = picture_by(&mut view, &mut screen, 120, 40);
    let row =
        before.lines().collect::<Vec<_>>().iter().rposition(|line| line.contains("… +")).unwrap();
    click(&mut screen, &mut view, 80, u16::try_from(row).unwrap());
    assert_eq!((screen.model.focus.as_ref(), screen.model.zoom), (Some(&second), false));
    let expanded = picture_by(&mut view, &mut screen, 120, 40);
    assert!(expanded.contains("two 2"), "{expanded}");
    click(&mut screen, &mut view, 80, u16::try_from(row).unwrap());
    let folded = picture_by(&mut view, &mut screen, 120, 40);
    assert!(!folded.contains("two 2") && folded.contains("two 10"), "{folded}");
    click(&mut screen, &mut view, 80, u16::try_from(row - 2).unwrap());
    assert!(screen.model.zoom, "elsewhere, a second click opens the agent");
}

#[test]
fn a_click_on_the_head_of_a_pane_focuses_it_and_copies_nothing() {
    let (mut screen, [first, second]) = agents_with_output();
    let mut view = View::new(Theme::default(), Highlighter::off());
    for (path, head) in [(second, "2 two"), (first, "1 one")] {
        let shown = picture_by(&mut view, &mut screen, 120, 40);
        let row = shown.lines().position(|line| line.contains(head)).unwrap();
        click(&mut screen, &mut view, 80, u16::try_from(row).unwrap());
        assert_eq!(screen.model.focus.as_ref(), Some(&path), "{shown}");
        assert_eq!(screen.notice(), "");
    }
}

#[test]
fn the_key_expands_nothing_that_is_not_on_the_screen() {
    let mut screen = two_outputs(20);
    let mut view = View::new(Theme::default(), Highlighter::off());
    let before = picture_by(&mut view, &mut screen, 80, 26);
    assert!(!before.contains("Bash"), "{before}");
    screen.ctrl('t');
    assert_eq!(screen.notice(), "nothing to expand on the screen · Ctrl+O shows everything");
    screen.wait(10_000);
    assert_eq!(picture_by(&mut view, &mut screen, 80, 26), before);
}
