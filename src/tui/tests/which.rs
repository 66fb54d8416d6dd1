//! "Cancel which?" and "Background which?": the numbers that they take, and what they do not take.

use crossterm::event::{KeyCode, KeyModifiers};

use crate::protocol::{Command, RunEnd};
use crate::tui::overlay::Overlay;
use crate::tui::testing::{TestScreen, finish};

use super::{busy, root};

/// The first of three agents has ended; its pane is still shown.
fn second_and_third() -> (TestScreen, [crate::protocol::AgentPath; 3]) {
    let mut screen = busy();
    let names = ["explore-1", "explore-2", "general-purpose-1"];
    let paths = names.map(|name| screen.agent(&root(), name, "one"));
    screen.event(&paths[0], finish(RunEnd::Completed, ""));
    (screen, paths)
}

#[test]
fn cancel_which_takes_the_numbers_of_the_panes() {
    let (mut screen, [_, second, third]) = second_and_third();
    screen.ctrl('c');
    let output = super::pictures::picture(&mut screen, 100, 30);
    assert!(
        output.contains("2 one  explore-2") && output.contains("2–3 or ↑↓ Enter picks"),
        "{output}"
    );
    screen.write("1");
    assert_eq!(screen.sent(), [], "it has ended");
    screen.write("2");
    assert_eq!(screen.sent(), [Command::Cancel(second.id().unwrap())]);
    let (mut screen, [_, _, other]) = second_and_third();
    screen.ctrl('c').write("3");
    assert_eq!(screen.sent(), [Command::Cancel(other.id().unwrap())]);
    assert_ne!(third, other);
    let (mut screen, [_, _, third]) = second_and_third();
    screen.ctrl('c').key(KeyCode::Down).enter();
    assert_eq!(screen.sent(), [Command::Cancel(third.id().unwrap())]);
}

#[test]
fn cancel_which_takes_numbers_of_two_digits() {
    let many = || {
        let mut screen = busy();
        let paths: Vec<_> =
            (1..=12).map(|n| screen.agent(&root(), &format!("explore-{n}"), "one")).collect();
        screen.ctrl('c');
        (screen, paths)
    };
    let (mut screen, paths) = many();
    let output = super::pictures::picture(&mut screen, 100, 40);
    assert!(output.contains("1–12 or ↑↓, then Enter · a twice: all"), "{output}");
    screen.write("12");
    assert_eq!(screen.sent(), [], "a digit may be a part of a number");
    screen.enter();
    assert_eq!(screen.sent(), [Command::Cancel(paths[11].id().unwrap())]);
    assert_eq!(screen.model.composer.text(), "");
    let (mut screen, paths) = many();
    screen.write("3");
    assert_eq!(screen.sent(), []);
    screen.enter();
    assert_eq!(screen.sent(), [Command::Cancel(paths[2].id().unwrap())]);
    let (mut screen, _) = many();
    screen.write("1").esc();
    assert_eq!((screen.sent(), screen.notice()), (vec![], "nothing cancelled"));
}

#[test]
fn a_number_that_is_not_listed_never_cancels_another_agent() {
    let mut screen = busy();
    let paths: Vec<_> =
        (1..=18).map(|n| screen.agent(&root(), &format!("explore-{n}"), "one")).collect();
    for ended in [12, 15, 18] {
        screen.event(&paths[ended - 1], finish(RunEnd::Completed, ""));
    }
    for number in ["12", "15", "18", "99", "152"] {
        screen.wait(300).ctrl('c').write(number).enter().enter();
        assert_eq!(screen.sent(), [], "{number}");
        let says = format!("agent {number} is not in this list");
        assert_eq!(screen.notice(), says);
        screen.esc();
    }
    // A digit is taken back, and the arrows begin anew.
    screen.wait(300).ctrl('c').write("152").key(KeyCode::Backspace).key(KeyCode::Backspace);
    screen.write("0").enter();
    assert_eq!(screen.sent(), [Command::Cancel(paths[9].id().unwrap())]);
    screen.wait(300).ctrl('c').write("15").key(KeyCode::Down).enter();
    assert_eq!(screen.sent(), [Command::Cancel(paths[1].id().unwrap())]);
    // One that ends while the list is open keeps its row, and its number stands for nobody else.
    screen.wait(300).ctrl('c').event(&paths[16], finish(RunEnd::Completed, "")).write("17").enter();
    assert_eq!((screen.sent(), screen.notice()), (vec![], "agent 17 has ended"));
}

#[test]
fn after_a_number_that_is_not_listed_a_digit_begins_another() {
    let mut screen = busy();
    let paths: Vec<_> =
        (1..=12).map(|n| screen.agent(&root(), &format!("explore-{n}"), "one")).collect();
    for ended in [1, 2, 3, 4, 5, 6, 7, 8, 10] {
        screen.event(&paths[ended - 1], finish(RunEnd::Completed, ""));
    }
    screen.ctrl('c').write("99");
    let shown = super::pictures::picture(&mut screen, 100, 40);
    assert!(shown.contains("› 99") && !shown.contains('▸'), "{shown}");
    assert!(shown.contains("9, 11, 12 or ↑↓, then Enter"), "{shown}");
    screen.enter().write("1");
    let shown = super::pictures::picture(&mut screen, 100, 40);
    assert!(shown.contains("› 1 "), "{shown}");
    screen.write("1").enter();
    assert_eq!(screen.sent(), [Command::Cancel(paths[10].id().unwrap())]);
}

#[test]
fn the_key_for_the_background_says_that_it_moves_agents_only() {
    let mut screen = busy();
    screen.tool(&root(), "1", "Bash", "npm run dev").ctrl('b');
    assert_eq!(screen.notice(), "no agent runs that could move · Ctrl+B moves agents only");
}

#[test]
fn background_which_takes_the_numbers_of_the_panes() {
    let (mut screen, [_, second, _]) = second_and_third();
    screen.ctrl('b').write("1");
    assert_eq!(screen.sent(), [], "it has ended");
    screen.write("2");
    assert_eq!(screen.sent(), [Command::Background(second.id().unwrap())]);
}

#[test]
fn every_place_shows_an_agent_by_the_same_number() {
    let (mut screen, [_, second, _]) = second_and_third();
    let output = super::pictures::picture(&mut screen, 100, 30);
    assert!(output.contains("▌2 one  explore"), "{output}");
    screen.chord(KeyCode::Char('2'), KeyModifiers::ALT);
    assert_eq!(screen.model.focus, Some(second));
    screen.enter();
    let output = super::pictures::picture(&mut screen, 100, 30);
    assert!(output.starts_with(" main › 2 one  explore-2 · sonnet-5"), "{output}");
    assert!(output.contains("others  ●1 one ✓  ●3 one "), "{output}");
    screen.esc().wait(300).esc().wait(300).write("/agents").enter();
    let output = super::pictures::picture(&mut screen, 100, 30);
    assert!(output.contains("2 one  explore-2"), "{output}");
}

#[test]
fn two_presses_of_ctrl_c_in_a_row_cancel_no_list_that_nobody_has_read() {
    let mut screen = busy();
    for name in ["explore-1", "explore-2", "explore-3"] {
        screen.agent(&root(), name, "map the routes");
    }
    screen.ctrl('c');
    assert!(matches!(screen.model.overlay, Some(Overlay::AgentPicker(_))));
    for pause in [30, 270, 600] {
        screen.sent();
        screen.wait(pause).ctrl('c');
        assert_eq!(screen.sent(), [], "after {pause} more ms");
    }
    assert!(matches!(screen.model.overlay, Some(Overlay::AgentPicker(_))));
    screen.wait(200).ctrl('c');
    assert_eq!(screen.sent().len(), 3);
}

#[test]
fn a_list_that_is_cut_counts_its_rows_and_shows_the_digits() {
    let mut screen = busy();
    for n in 1..=60 {
        screen.agent(&root(), &format!("explore-{n}"), "one");
    }
    screen.ctrl('c');
    let title = |screen: &mut TestScreen| {
        let output = super::pictures::picture(screen, 100, 30);
        output.lines().find(|line| line.contains("Cancel which?")).unwrap().to_owned()
    };
    assert!(title(&mut screen).contains("1 of 60"), "{}", title(&mut screen));
    screen.write("57");
    let shown = title(&mut screen);
    assert!(shown.contains("Cancel which? › 57 ") && shown.contains("57 of 60"), "{shown}");
    screen.key(KeyCode::Backspace);
    assert!(title(&mut screen).contains("Cancel which? › 5 "), "{}", title(&mut screen));
}

#[test]
fn a_pressed_once_on_a_list_is_forgotten_with_its_notice_and_a_third_press_does_nothing() {
    let (mut screen, _) = second_and_third();
    screen.ctrl('c').write("a").wait(4000).write("a");
    assert_eq!(screen.sent(), []);
    screen.write("a").wait(100).write("a");
    assert_eq!((screen.sent().len(), screen.model.composer.text()), (2, ""));
}

#[test]
fn the_keys_of_a_list_that_opens_are_on_the_screen_straight_after_a_cancel() {
    let (mut screen, _) = second_and_third();
    screen.agent(&root(), "explore-4", "one");
    screen.ctrl('c').write("2").wait(400).ctrl('c');
    let shown = super::pictures::picture(&mut screen, 80, 24);
    assert!(shown.contains("↑↓ Enter picks"), "{shown}");
}
