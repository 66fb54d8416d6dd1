//! The panes, rows and grids of agents at the sizes that matter, as text and with styles.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Modifier;

use crate::protocol::{AgentPath, EventKind, Failure, MotionMode, RunEnd};
use crate::tui::msg::Msg;
use crate::tui::testing::{TestScreen, finish};
use crate::tui::text::Highlighter;
use crate::tui::theme::Theme;
use crate::tui::view::View;

use super::pictures::{picture, styled_picture};
use super::root;

/// Agents that have said and done something, the seventh of each ten asking, the fourth failed.
pub(super) fn many(number: usize) -> (TestScreen, Vec<AgentPath>) {
    let tasks = ["map the routes", "find the slow query", "check the tests", "read the docs"];
    let mut screen = TestScreen::new();
    screen.prompt("review everything");
    let mut paths = Vec::new();
    for at in 0..number {
        let name = format!("explore-{}", at + 1);
        let path = screen.agent(&AgentPath::root(), &name, tasks[at % tasks.len()]);
        screen.turn_done(&path, 4_000, 0.02);
        for (id, file) in [("a", "src/http.rs"), ("b", "src/session.rs")] {
            screen.tool(&path, id, "Read", file).tool_done(&path, id, "Read", "212 lines");
        }
        screen.says(
            &path,
            "Two route tables; the one in `http.rs` is generated.\n\n- **Where:** session.rs:88\n\
             - **Why:** the token has no index, so the whole table is read\n- **Fix:** one index\n\n\
             The other table is written by hand, and must be edited. Next: who calls it.",
        );
        screen.tool(&path, "c", "Grep", "\"register\\(\"");
        paths.push(path);
    }
    for (at, path) in paths.iter().enumerate() {
        match at % 10 {
            3 => {
                let failure = Failure::RateLimit;
                let message = "rate limit after 8 tries".to_owned();
                screen.event(path, finish(RunEnd::Failed { failure, message }, ""));
            }
            6 => {
                let id = u64::try_from(at).unwrap();
                let name = format!("explore-{}", at + 1);
                screen.event(path, TestScreen::question(path, id, &name, "psql shop"));
            }
            _ => {}
        }
    }
    screen.key(KeyCode::Tab).wait(42_000);
    screen.model.questions.open = None;
    screen.model.questions.pause_until = Some(Duration::from_secs(1000));
    (screen, paths)
}

#[test]
fn panes_and_zoom_with_their_styles() {
    for theme in ["dark", "light"] {
        let (mut screen, _) = one_done(3);
        let mut view = View::new(Theme::named(theme).unwrap(), Highlighter::off());
        let output = styled_picture(&mut view, &mut screen, 120, 30);
        insta::assert_snapshot!(format!("styled_panes_{theme}"), output);
        screen.key(KeyCode::Tab).enter();
        let output = styled_picture(&mut view, &mut screen, 100, 20);
        insta::assert_snapshot!(format!("styled_zoom_{theme}"), output);
    }
    let env = [("TERM", "xterm"), ("NO_COLOR", "1")].into_iter().collect();
    let (mut screen, _) = one_done(3);
    screen.key(KeyCode::Tab);
    let theme = Theme::named("dark").unwrap().for_terminal(&env);
    let output = styled_picture(&mut View::new(theme, Highlighter::off()), &mut screen, 120, 30);
    insta::assert_snapshot!("styled_panes_no_color", output);
}

const SIZES: [(u16, u16); 6] = [(60, 15), (80, 24), (100, 30), (120, 40), (160, 45), (220, 60)];

/// The first of some agents has ended, and its pane has become small.
fn one_done(number: usize) -> (TestScreen, Vec<AgentPath>) {
    let (mut screen, paths) = many(number);
    screen.model.focus = None;
    screen.event(&paths[0], finish(RunEnd::Completed, "**Two** route tables.")).wait(5000);
    (screen, paths)
}

#[test]
fn many_agents_at_the_sizes_that_matter() {
    for (width, height) in SIZES {
        let shot = |name: &str, screen: &mut TestScreen| {
            let output = picture(screen, width, height);
            insta::assert_snapshot!(format!("{name}_{width}x{height}"), output);
        };
        let (mut screen, _) = one_done(3);
        shot("one_done", &mut screen);
        let (mut screen, paths) = many(8);
        shot("eight", &mut screen);
        screen.model.focus = Some(paths[4].clone());
        shot("eight_focus", &mut screen);
        let (mut screen, paths) = many(32);
        screen.model.focus = Some(paths[4].clone());
        shot("thirty_two", &mut screen);
        let (mut screen, _) = many(100);
        shot("hundred", &mut screen);
    }
}

#[test]
fn left_and_right_go_to_the_column_beside() {
    let (mut screen, paths) = many(53);
    screen.model.focus = Some(paths[4].clone());
    picture(&mut screen, 120, 40);
    let mut goes = |key: KeyCode, to: usize| {
        screen.key(key);
        assert_eq!(screen.model.focus.as_ref(), Some(&paths[to]), "{key:?}");
    };
    goes(KeyCode::Right, 22);
    goes(KeyCode::Right, 40);
    goes(KeyCode::Right, 40);
    goes(KeyCode::Down, 41);
    goes(KeyCode::Left, 23);
    goes(KeyCode::Up, 22);
    goes(KeyCode::Left, 4);
    goes(KeyCode::Left, 4);
    for at in 5..=17 {
        goes(KeyCode::Down, at);
    }
    goes(KeyCode::Right, 35);
    // The last column has one row less.
    goes(KeyCode::Right, 35);
    goes(KeyCode::Left, 17);
}

/// The number of lines of each pane on the right.
fn pane_heights(output: &str) -> Vec<usize> {
    let head = |line: &str| {
        let pane = line.split('│').nth(1).unwrap_or_default();
        pane.trim_start().starts_with(['▌', '▸'])
            && pane.chars().nth(2).is_some_and(|letter| letter.is_ascii_digit())
    };
    let tops: Vec<usize> = output.lines().enumerate().filter(|l| head(l.1)).map(|l| l.0).collect();
    let end = output.lines().take_while(|line| line.contains('│')).count();
    tops.iter().zip(tops[1..].iter().chain([&end])).map(|(top, next)| next - top).collect()
}

#[test]
fn the_pane_of_an_ended_agent_leaves_its_room_to_the_others_step_by_step() {
    let (mut screen, paths) = many(3);
    screen.model.focus = None;
    let heights = |screen: &mut TestScreen| pane_heights(&picture(screen, 120, 40));
    assert_eq!(heights(&mut screen), [11, 11, 11]);
    screen.event(&paths[0], finish(RunEnd::Completed, "Two route tables."));
    assert_eq!(heights(screen.wait(1000)), [11, 11, 11], "it can still be read");
    let wake = screen.model.next_wake().unwrap() - screen.at;
    assert!(wake <= Duration::from_millis(500), "{wake:?}");
    let mut before = 11;
    for _ in 0..3 {
        let now = heights(screen.wait(300));
        assert!(now[0] <= before && now.iter().sum::<usize>() == 33, "{now:?}");
        before = now[0];
    }
    assert_eq!(heights(screen.wait(1000)), [3, 15, 15]);
    screen.model.focus = Some(paths[0].clone());
    assert_eq!(heights(&mut screen), [11, 11, 11], "the focused one has room");
    screen.model.focus = None;
    // The last one to end keeps its room.
    screen.event(&paths[1], finish(RunEnd::Completed, "Found."));
    screen.wait(3000).event(&paths[2], finish(RunEnd::Completed, "Found.")).wait(5000);
    assert_eq!(heights(&mut screen), [3, 3, 27]);
}

#[test]
fn a_header_is_lit_once_when_its_agent_ends() {
    let (mut screen, paths) = many(3);
    screen.model.focus = None;
    let lit = |screen: &mut TestScreen| {
        let mut terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
        let mut view = View::new(Theme::default(), Highlighter::off());
        screen.send(Msg::Resize { width: 120, height: 40 });
        terminal.draw(|frame| view.draw(&screen.model, frame)).unwrap();
        let cell = terminal.backend().buffer()[(100, 1)].clone();
        cell.modifier.contains(Modifier::REVERSED)
    };
    assert!(!lit(&mut screen));
    screen.event(&paths[0], finish(RunEnd::Completed, "Found."));
    assert!(lit(&mut screen));
    assert!(!lit(screen.wait(200)));
    screen.model.settings.motion = MotionMode::Reduced;
    screen.event(&paths[1], finish(RunEnd::Completed, "Found."));
    assert!(!lit(&mut screen));
}

#[test]
fn a_header_never_loses_its_state() {
    for number in [3, 8, 12, 32] {
        for (width, height) in SIZES {
            let (mut screen, paths) = many(number);
            let output = picture(&mut screen, width, height);
            if number > 6 {
                assert!(output.contains("needs you"), "{output}");
            }
            for path in &paths {
                screen.event(path, finish(RunEnd::Completed, "Found."));
            }
            let output = picture(&mut screen, width, height);
            assert!(output.contains("✓ done") || output.contains("✓ Found."), "{output}");
        }
    }
}

#[test]
fn agents_in_trouble_are_among_those_that_are_shown() {
    let (mut screen, paths) = many(100);
    for path in &paths[..40] {
        screen.event(path, finish(RunEnd::Completed, "Found."));
    }
    let output = picture(&mut screen, 80, 24);
    assert!(output.contains("▌97 map the r"), "it needs the user: {output}");
    assert!(output.contains("▌94 find the "), "it has failed: {output}");
    assert!(!output.contains("▌ 1 "), "it is done: {output}");
    screen.model.focus = Some(paths[0].clone());
    let output = picture(&mut screen, 80, 24);
    assert!(output.contains("▸ 1 map the r"), "it has the focus: {output}");
    screen.enter();
    let output = picture(&mut screen, 80, 24);
    assert!(output.contains("others  ●44 ✗  ●47 ⚑  ●57 ⚑  ●67 ⚑  ●77 ⚑  ●87 ⚑  ●97 ⚑"), "{output}");
    assert!(output.contains("  +92 more"), "{output}");
}

#[test]
fn a_budget_stands_beside_the_cost_and_in_zoom_as_a_bar() {
    let mut screen = TestScreen::new();
    screen.model.session.max_usd = Some(2.0);
    screen.prompt("go");
    let path = screen.agent(&AgentPath::root(), "explore-1", "map the routes");
    screen.model.agents.get_mut(&path).unwrap().info.max_usd = Some(0.5);
    screen.turn_done(&path, 21_000, 0.13);
    screen.event(&path, EventKind::TurnStarted { turn: 5, limit: Some(20) });
    screen.says(&path, &"x".repeat(800)).wait(4000).says(&path, "y");
    let output = picture(&mut screen, 120, 40);
    assert!(output.contains("5/20   $0.13/0.50"), "{output}");
    assert!(output.contains(" · $0.13/2.00 · "), "{output}");
    screen.key(KeyCode::Tab).enter();
    let output = picture(&mut screen, 120, 40);
    let head = output.lines().next().unwrap_or_default();
    assert!(head.ends_with("5/20 ━━━┈┈┈┈┈┈┈   21k   $0.13/0.50 ━━━┈┈┈┈┈┈┈"), "{output}");
    assert!(output.contains("· 50 tokens/s"), "{output}");
    let output = picture(&mut screen, 80, 24);
    assert!(output.lines().next().unwrap_or_default().ends_with("  5/20   21k   $0.13/0.50"));
}

#[test]
fn the_panes_of_children_are_not_listed_in_their_parents_pane() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let parent = screen.agent(&AgentPath::root(), "general-purpose-1", "plan it");
    screen.says(&parent, "Two below me.");
    screen.agent(&parent, "explore-1", "read the docs");
    screen.agent(&parent, "explore-2", "check the cache");
    let output = picture(&mut screen, 120, 40);
    assert_eq!(output.matches("2 read the docs").count(), 1, "{output}");
    assert!(output.contains("waiting for 2 agents"), "{output}");
    screen.key(KeyCode::Tab).enter();
    let output = picture(&mut screen, 120, 40);
    assert!(output.contains("read the docs"), "zoomed, it lists them: {output}");
}

#[test]
fn main_names_the_agents_that_need_the_user() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let names = ["explore-1", "explore-2", "explore-3"];
    let paths = names.map(|name| screen.agent(&AgentPath::root(), name, "look"));
    screen.write("a draft");
    screen.event(&paths[2], TestScreen::question(&paths[2], 1, "explore-3", "psql"));
    assert!(picture(&mut screen, 120, 40).contains("⚑ agent 3 needs you"));
    screen.event(&paths[0], TestScreen::question(&paths[0], 2, "explore-1", "psql"));
    assert!(picture(&mut screen, 120, 40).contains("⚑ agents 1 and 3 need you"));
    screen.event(&paths[1], TestScreen::question(&paths[1], 3, "explore-2", "psql"));
    let shown = picture(&mut screen, 120, 40);
    assert!(shown.contains("⚑ 3 need you") && !shown.contains("agents need you"), "{shown}");
}

#[test]
fn a_grid_takes_half_the_body_before_it_cuts_tasks() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    for at in 0..32 {
        screen.agent(&AgentPath::root(), &format!("explore-{at}"), "find the slow query");
    }
    screen.key(KeyCode::Char('x')).key(KeyCode::Backspace);
    let output = picture(&mut screen, 120, 40);
    assert_eq!(output.matches("find the slow query  ").count(), 32, "{output}");
}

#[test]
fn numbers_do_not_depend_on_the_focus() {
    let numbers = |focused: bool| {
        let mut screen = TestScreen::new();
        let mut started = Vec::new();
        for turn in ["go", "more"] {
            screen.prompt(turn);
            for batch in ["one", "two"] {
                let agents = [1, 2].map(|n| screen.agent(&root(), &format!("explore-{n}"), batch));
                if focused {
                    screen.key(KeyCode::Tab);
                }
                for agent in &agents {
                    screen.event(agent, finish(RunEnd::Completed, ""));
                    started.push(screen.model.agents.get(agent).unwrap().number);
                }
                screen.says(&root(), "They are back.");
            }
            screen.main(finish(RunEnd::Completed, ""));
        }
        assert_eq!(screen.model.focus.is_some(), focused);
        started
    };
    assert_eq!(numbers(false), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(numbers(true), numbers(false));
}

#[test]
fn an_agent_in_the_queue_names_its_place_in_the_same_words_everywhere() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    screen.agent(&root(), "explore-1", "one");
    let queued = screen.queued_agent(&root(), "explore-2", "two");
    screen.event(&queued, EventKind::Queued { place: 3 }).wait(2000);
    for (width, height) in [(120, 40), (80, 24), (60, 15)] {
        let output = picture(&mut screen, width, height);
        assert_eq!(output.matches("◌ 3rd in line").count(), 1, "{output}");
        assert!(!output.contains("◌ queued"), "{output}");
    }
    screen.write("/agents").enter();
    let output = picture(&mut screen, 120, 40);
    assert!(output.contains("◌ 3rd in line"), "{output}");
    screen.esc().wait(1000).chord(KeyCode::Char('2'), KeyModifiers::ALT).enter();
    let output = picture(&mut screen, 120, 40);
    assert!(screen.model.zoom && output.contains("◌ 3rd in line"), "{output}");
}

#[test]
fn alt_with_a_digit_reaches_every_number_that_ends_with_it() {
    let (mut screen, paths) = many(28);
    let mut press = |digit| {
        screen.chord(KeyCode::Char(digit), KeyModifiers::ALT);
        screen.model.focus.clone()
    };
    for number in [7, 17, 27, 7] {
        assert_eq!(press('7').as_ref(), Some(&paths[number - 1]), "{number}");
    }
}

#[test]
fn a_line_goes_down_beside_children_to_the_next_one_of_their_parent() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let top = screen.agent(&AgentPath::root(), "plan-1", "top");
    let first = screen.agent(&top, "plan-2", "first");
    screen.agent(&first, "explore-1", "leaf one");
    screen.agent(&first, "explore-2", "leaf two");
    screen.agent(&top, "explore-3", "second");
    let output = picture(&mut screen, 120, 40);
    let edge = |task: &str| {
        let line = output.lines().find(|line| line.contains(task)).unwrap();
        line.split_once("│ ").unwrap().1.split(char::is_numeric).next().unwrap().to_owned()
    };
    let edges = ["first", "leaf one", "leaf two", "second"].map(edge);
    assert_eq!(edges, ["├▌", "│├▌", "│└▌", "└▌"], "{output}");
    assert!(output.contains("│ ││▌") && output.contains("│ │ ▌"), "{output}");
    let blank =
        output.lines().filter(|line| line.ends_with("│ ││") || line.ends_with("│ │")).count();
    assert_eq!(blank, 4, "nor between the panes: {output}");
}

#[test]
fn the_end_that_differs_is_among_those_that_are_shown() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let root = AgentPath::root();
    let agents: Vec<AgentPath> =
        (1..=100).map(|at| screen.agent(&root, &format!("explore-{at}"), "look")).collect();
    for (at, path) in agents.iter().enumerate() {
        screen.wait(10);
        let end = match at {
            2 => RunEnd::Cancelled { before_start: false },
            _ => RunEnd::Completed,
        };
        screen.event(path, finish(end, "done"));
    }
    let output = picture(&mut screen, 120, 40);
    assert!(output.contains("▌  3 look"), "{output}");
}

#[test]
fn the_head_of_an_agent_leaves_out_those_below_it() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let plan = screen.agent(&root(), "plan-1", "split the work");
    screen.agent(&plan, "explore-1", "map the routes");
    screen.agent(&root(), "explore-2", "read the docs");
    screen.write("/agents").enter().enter();
    let shown = picture(&mut screen, 120, 40);
    let others = shown.lines().find(|line| line.contains("others")).unwrap_or_default();
    assert!(others.contains("read the docs") && !others.contains("map the routes"), "{shown}");
}
