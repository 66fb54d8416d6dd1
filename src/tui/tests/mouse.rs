//! Clicks, selection and the wheel.

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::{Position, Rect};

use crate::protocol::{Command, RunEnd};
use crate::tui::host::HostRequest;
use crate::tui::labels::copied_label;
use crate::tui::msg::{HitKind, HitTarget, Msg, ScreenEffect};
use crate::tui::testing::{TestScreen, agent_choice, finish};
use crate::tui::text::Highlighter;
use crate::tui::theme::Theme;
use crate::tui::transcript::Extent;
use crate::tui::view::View;

use super::pictures::picture_by;
use super::root;

#[test]
fn a_click_focuses_a_second_one_zooms_and_a_click_on_an_answer_only_chooses_it() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let agent = screen.agent(&root(), "explore-1", "one");
    let (column, row, modifiers) = (0, 0, KeyModifiers::NONE);
    let at = screen.at;
    let click = |screen: &mut TestScreen, target: HitKind| {
        for kind in [MouseEventKind::Down(MouseButton::Left), MouseEventKind::Up(MouseButton::Left)]
        {
            let event = MouseEvent { kind, column, row, modifiers };
            let under = HitTarget { kind: target.clone(), ..HitTarget::default() };
            screen.send(Msg::Mouse { event, hit: under, at });
        }
    };
    click(&mut screen, HitKind::Pane(agent.clone()));
    assert_eq!((screen.model.focus.as_ref(), screen.model.zoom), (Some(&agent), false));
    click(&mut screen, HitKind::Pane(agent.clone()));
    assert!(screen.model.zoom);
    screen.asks(&agent, 1, "explore-1", "psql");
    click(&mut screen, HitKind::Answer(1));
    assert_eq!(screen.sent(), []);
    assert_eq!(screen.model.questions.open.as_ref().unwrap().selected, Some(1));
}

#[test]
fn what_the_mouse_draws_over_is_copied_and_clicks_nothing() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let agent = screen.agent(&root(), "explore-1", "one");
    let area = Rect::new(50, 2, 30, 10);
    let at = screen.at;
    let mouse = |screen: &mut TestScreen, kind: MouseEventKind, column, row| {
        let event = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
        let target = HitKind::Pane(agent.clone());
        let under = HitTarget { kind: target, area, ..HitTarget::default() };
        screen.send(Msg::Mouse { event, hit: under, at });
    };
    mouse(&mut screen, MouseEventKind::Down(MouseButton::Left), 52, 3);
    mouse(&mut screen, MouseEventKind::Drag(MouseButton::Left), 10, 5);
    let chosen: Vec<_> = screen.model.selection.as_ref().unwrap().rows().collect();
    assert_eq!(chosen, [(3, 52, 80), (4, 50, 80), (5, 50, 51)]);
    mouse(&mut screen, MouseEventKind::Up(MouseButton::Left), 10, 5);
    assert!(screen.effects.contains(&ScreenEffect::CopySelection));
    assert_eq!(screen.model.focus, None);
    screen.write("x");
    assert_eq!(screen.model.selection, None);
}

#[test]
fn the_wheel_scrolls_the_pane_under_it_and_leaves_the_focus_alone() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let agent = screen.agent(&root(), "explore-1", "one");
    let kind = MouseEventKind::ScrollUp;
    let event = MouseEvent { kind, column: 60, row: 5, modifiers: KeyModifiers::NONE };
    let pane = Extent { total: 50, height: 10, ..Extent::default() };
    let under = HitTarget { kind: HitKind::Pane(agent.clone()), pane, ..HitTarget::default() };
    let at = screen.at;
    screen.send(Msg::Mouse { event, hit: under, at });
    assert_eq!(screen.model.agents.get(&agent).unwrap().scroll.top, Some(37));
    assert_eq!((screen.model.focus.as_ref(), screen.model.main_scroll.top), (None, None));
}

#[test]
fn a_click_on_the_row_of_an_agent_opens_it() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let agents = ["one", "two"].map(|task| screen.agent(&root(), &format!("explore-{task}"), task));
    for agent in &agents {
        screen.says(agent, "Found it.").event(agent, finish(RunEnd::Completed, "Found it."));
    }
    screen.says(&root(), "Done.").main(finish(RunEnd::Completed, ""));
    let mut view = View::new(Theme::default(), Highlighter::off());
    let output = picture_by(&mut view, &mut screen, 100, 30);
    let row = output.lines().position(|line| line.contains("2 two")).unwrap();
    let mut click = |screen: &mut TestScreen, row: usize| {
        let at = Position { x: 8, y: u16::try_from(row).unwrap() };
        let hit = view.hit_test(&screen.model, at, false);
        for kind in [MouseEventKind::Down(MouseButton::Left), MouseEventKind::Up(MouseButton::Left)]
        {
            let event = MouseEvent { kind, column: at.x, row: at.y, modifiers: KeyModifiers::NONE };
            let (hit, at) = (hit.clone(), screen.at);
            screen.send(Msg::Mouse { event, hit, at });
        }
    };
    click(&mut screen, row + 1);
    assert_eq!((&screen.model.focus, screen.model.zoom), (&None, false), "the line of hints");
    click(&mut screen, row);
    assert_eq!((screen.model.focus.as_ref(), screen.model.zoom), (Some(&agents[1]), true));
}

#[test]
fn a_notice_says_how_much_was_copied() {
    for (text, words) in [
        ("word", "copied 4 characters"),
        ("x", "copied 1 character"),
        ("👩\u{200d}👩\u{200d}👧 two", "copied 5 characters"),
        ("one\ntwo\n\nthree", "copied 4 lines"),
        (" \n ", "nothing to copy there"),
    ] {
        assert_eq!(copied_label(text), words);
    }
}

/// A screen with numbered lines in main's transcript and in the pane of an agent.
fn numbered() -> (TestScreen, View) {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let lines = |name: &str| (10..90).map(|at| format!("- {name} {at}\n")).collect::<String>();
    let agent = screen.agent(&root(), "explore-1", "one");
    screen.says(&root(), &lines("main")).says(&agent, &lines("pane"));
    (screen, View::new(Theme::default(), Highlighter::off()))
}

/// Moves the mouse with its button held, and draws. Returns the text selected then.
fn drag(screen: &mut TestScreen, view: &mut View, down: bool, x: u16, y: u16) -> String {
    let at = Position { x, y };
    let hit = view.hit_test(&screen.model, at, false);
    let button = MouseButton::Left;
    let kind = if down { MouseEventKind::Down(button) } else { MouseEventKind::Drag(button) };
    let event = MouseEvent { kind, column: x, row: y, modifiers: KeyModifiers::NONE };
    screen.send(Msg::Mouse { event, hit, at: screen.at });
    redraw(screen, view);
    view.selected().to_owned()
}

/// Draws another frame of the same size.
fn redraw(screen: &mut TestScreen, view: &mut View) {
    let mut terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
    terminal.draw(|frame| view.draw(&screen.model, frame)).unwrap();
    screen.send(Msg::Drawn(Box::new(view.metrics().clone())));
}

#[test]
fn esc_ends_a_selection_before_it_stops_anything() {
    let (mut screen, mut view) = numbered();
    screen.prompt("go");
    picture_by(&mut view, &mut screen, 120, 40);
    drag(&mut screen, &mut view, true, 5, 20);
    assert_ne!(drag(&mut screen, &mut view, false, 30, 20), "");
    screen.wait(500).esc();
    assert_eq!((screen.sent(), screen.model.selection.is_none()), (vec![], true));
    screen.wait(500).esc();
    assert_eq!(screen.sent(), [Command::CancelTurn]);
}

#[test]
fn a_selection_held_beside_its_area_scrolls_and_keeps_what_leaves_the_screen() {
    for (x, name) in [(5, "main"), (75, "pane")] {
        let (mut screen, mut view) = numbered();
        let numbers = |text: &str| -> Vec<usize> {
            let words = text.lines().filter_map(|line| line.split(&format!("{name} ")).nth(1));
            // The first and the last may be cut.
            words.filter_map(|word| word.trim().parse().ok()).filter(|at| *at >= 10).collect()
        };
        picture_by(&mut view, &mut screen, 120, 40);
        drag(&mut screen, &mut view, true, x, 20);
        let first = numbers(&drag(&mut screen, &mut view, false, x, 10));
        let last = first[first.len() - 1];
        for _ in 0..60 {
            drag(&mut screen, &mut view, false, x, 0);
        }
        // The button is held without moving.
        for _ in 0..30 {
            screen.wait(60);
            redraw(&mut screen, &mut view);
        }
        let far = numbers(view.selected());
        assert_eq!(far, (10..=last).collect::<Vec<_>>(), "{name}: {}", view.selected());
        // Back below the beginning, until it is on the screen again, and beyond.
        for _ in 0..90 {
            drag(&mut screen, &mut view, false, x, 39);
        }
        let text = drag(&mut screen, &mut view, false, x + 20, 30);
        let back = numbers(&text);
        assert!(back.len() > 3, "{name}: {text}");
        assert!(back.windows(2).all(|pair| pair[1] == pair[0] + 1), "{name}: {text}");
        let began = text.lines().next().unwrap_or_default();
        assert!(began.ends_with(&(last + 1).to_string()), "{name}: {text}");
    }
}

/// Presses and releases the button at a cell of a frame that is drawn first.
fn click_at(screen: &mut TestScreen, view: &mut View, x: u16, y: u16) {
    picture_by(view, screen, 120, 40);
    let hit = view.hit_test(&screen.model, Position { x, y }, false);
    for kind in [MouseEventKind::Down(MouseButton::Left), MouseEventKind::Up(MouseButton::Left)] {
        let event = MouseEvent { kind, column: x, row: y, modifiers: KeyModifiers::NONE };
        let (hit, at) = (hit.clone(), screen.at);
        screen.send(Msg::Mouse { event, hit, at });
    }
}

/// The line of the frame that contains the text.
fn line_of(screen: &mut TestScreen, view: &mut View, text: &str) -> u16 {
    let shown = picture_by(view, screen, 120, 40);
    let lines: Vec<&str> = shown.lines().collect();
    let at = lines.iter().rposition(|line| line.contains(text));
    u16::try_from(at.unwrap_or_else(|| panic!("{text}: {shown}"))).unwrap()
}

#[test]
fn a_click_in_a_list_selects_and_another_one_opens() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let agents = ["map", "query", "docs"].map(|task| screen.agent(&root(), "explore-1", task));
    let mut view = View::new(Theme::default(), Highlighter::off());
    screen.write("/agents").enter();
    let (first, second) =
        (line_of(&mut screen, &mut view, "1 map"), line_of(&mut screen, &mut view, "2 query"));
    click_at(&mut screen, &mut view, 10, first);
    assert!(screen.model.overlay.is_some(), "one click opens not even what is selected");
    click_at(&mut screen, &mut view, 10, second);
    assert!(screen.model.overlay.is_some());
    // A key in between is about something else.
    screen.key(KeyCode::Up).key(KeyCode::Down);
    click_at(&mut screen, &mut view, 10, second);
    assert!(screen.model.overlay.is_some());
    // The heading is no row.
    click_at(&mut screen, &mut view, 10, first - 1);
    click_at(&mut screen, &mut view, 10, second);
    assert_eq!((screen.model.focus.as_ref(), screen.model.zoom), (Some(&agents[1]), true));
}

#[test]
fn a_list_does_not_scroll_between_two_clicks() {
    let mut screen = TestScreen::new();
    let mut view = View::new(Theme::default(), Highlighter::off());
    screen.write("/agents").enter();
    let agents = (0..60).map(|number| agent_choice(&format!("agent-{number:02}"))).collect();
    screen.send(Msg::Host { reply: HostRequest::Agents(agents), at: screen.at });
    let row = line_of(&mut screen, &mut view, "agent-25");
    click_at(&mut screen, &mut view, 10, row);
    assert_eq!(line_of(&mut screen, &mut view, "@ agent-25"), row);
    click_at(&mut screen, &mut view, 10, row);
    assert_eq!(screen.model.composer.text(), "@agent-agent-25 ");
}

#[test]
fn a_click_in_the_menu_selects_and_another_one_does_what_enter_does() {
    let mut screen = TestScreen::new();
    let mut view = View::new(Theme::default(), Highlighter::off());
    screen.write("/");
    // Selected with a key, it would be in the middle.
    let row = line_of(&mut screen, &mut view, "/mcp");
    click_at(&mut screen, &mut view, 10, row);
    let menu = screen.model.composer.menu.clone().unwrap();
    assert_eq!(menu.items[menu.selected].insert, "/mcp");
    assert_eq!(line_of(&mut screen, &mut view, "/mcp"), row);
    assert_eq!(screen.model.overlay, None);
    click_at(&mut screen, &mut view, 10, row);
    assert!(picture_by(&mut view, &mut screen, 120, 40).contains("loading …"));
    screen.esc().wait(300).write("see @");
    let paths = ["README.md", "src/main.rs"].map(str::to_owned).to_vec();
    let reply = HostRequest::Files { query: String::new(), paths };
    screen.send(Msg::Host { reply, at: screen.at });
    let row = line_of(&mut screen, &mut view, "@README.md");
    (0..2).for_each(|_| click_at(&mut screen, &mut view, 10, row));
    assert_eq!(screen.model.composer.text(), "see @README.md ");
}

#[test]
fn a_click_in_the_menu_over_a_question_does_not_reach_it() {
    let mut screen = TestScreen::new();
    let mut view = View::new(Theme::default(), Highlighter::off());
    screen.prompt("go").wait(2000).asks(&root(), 1, "main", "psql shop").write("/");
    picture_by(&mut view, &mut screen, 120, 40);
    let menus = view.hit_areas().filter(|(_, kind)| matches!(kind, HitKind::MenuRow(_)));
    let rows: Vec<Rect> = menus.map(|(area, _)| *area).collect();
    assert!(!rows.is_empty());
    for area in rows {
        // The border beside a row is the menu's, too.
        for x in [area.x, 0] {
            click_at(&mut screen, &mut view, x, area.y);
            assert_eq!(screen.model.questions.open.as_ref().unwrap().selected, None);
        }
    }
    assert_eq!(screen.sent(), []);
}

#[test]
fn the_row_of_a_background_command_opens_its_page_and_the_hint_says_where_it_is() {
    let mut screen = TestScreen::new();
    screen.prompt("go").job(&root(), "bash-1", "npm run dev");
    screen.main(finish(RunEnd::Completed, ""));
    let mut view = View::new(Theme::default(), Highlighter::off());
    line_of(&mut screen, &mut view, "? keys · /agents shows bash-1 · Ctrl+D quits");
    let row = line_of(&mut screen, &mut view, "$ npm run dev");
    click_at(&mut screen, &mut view, 10, row);
    line_of(&mut screen, &mut view, "no output yet");
}

#[test]
fn a_click_in_cancel_which_selects_and_another_one_cancels() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let agents = ["map", "query", "docs"].map(|task| screen.agent(&root(), "explore-1", task));
    let mut view = View::new(Theme::default(), Highlighter::off());
    screen.ctrl('c').wait(2_000);
    let third = line_of(&mut screen, &mut view, "3 docs");
    click_at(&mut screen, &mut view, 10, third);
    assert_eq!(screen.sent(), []);
    click_at(&mut screen, &mut view, 10, third);
    assert_eq!(screen.sent(), [Command::Cancel(agents[2].id().unwrap())]);
}

#[test]
fn a_scrolled_pane_names_a_key_only_if_the_key_scrolls_it() {
    let (mut screen, mut view) = numbered();
    let agent = screen.model.agents.iter().next().unwrap().path.clone();
    picture_by(&mut view, &mut screen, 120, 40);
    let (kind, modifiers) = (MouseEventKind::ScrollUp, KeyModifiers::NONE);
    let hit = view.hit_test(&screen.model, Position { x: 90, y: 8 }, true);
    let event = MouseEvent { kind, column: 90, row: 8, modifiers };
    let at = screen.at;
    screen.send(Msg::Mouse { event, hit, at });
    screen.says(&agent, "- one more\n");
    let shown = picture_by(&mut view, &mut screen, 120, 40);
    assert!(shown.contains("↓ 1 new") && !shown.contains("End"), "{shown}");
    screen.key(KeyCode::Tab);
    let shown = picture_by(&mut view, &mut screen, 120, 40);
    assert!(shown.contains("↓ 1 new · End"), "{shown}");
}
