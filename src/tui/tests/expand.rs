//! Output that a key or a click expands in place.

use std::time::Duration;

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use crate::protocol::{AgentPath, EventKind, ResultBlock, RunEnd, ToolUseId};
use crate::tui::msg::Msg;
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
    let at = Position { x: 5, y: u16::try_from(row).unwrap() };
    let hit = view.hit_test(&screen.model, at, false);
    for kind in [MouseEventKind::Down(MouseButton::Left), MouseEventKind::Up(MouseButton::Left)] {
        let event = MouseEvent { kind, column: at.x, row: at.y, modifiers: KeyModifiers::NONE };
        let (hit, at) = (hit.clone(), screen.at);
        screen.send(Msg::Mouse { event, hit, at });
    }
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
