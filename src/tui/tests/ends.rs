//! How runs end, what they cost, and the mode that asks nothing.

use std::time::Duration;

use crossterm::event::KeyCode;

use crate::protocol::{AgentPath, ApiError, Command, EventKind, Failure, PermissionMode, RunEnd};
use crate::tui::testing::{TestScreen, finish};

use super::pictures::picture;
use super::root;

#[test]
fn a_provider_that_failed_is_not_called_overloaded() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let agent = screen.agent(&root(), "explore-1", "one");
    let message = "mock.example failed (500): oops. Try again later".to_owned();
    let end = RunEnd::Failed { failure: Failure::Overloaded, message };
    let EventKind::Finished(mut outcome) = finish(end.clone(), "") else { panic!() };
    outcome.api_error = Some(ApiError { status: Some(500), class: None });
    screen.event(&agent, EventKind::Finished(outcome.clone()));
    let agent = screen.model.agents.get(&agent).unwrap();
    let short = crate::tui::labels::short_end_label(agent, &end);
    assert_eq!(short, "failed: server error (HTTP 500)");
    let whole = crate::tui::labels::agent_end_label(agent, &end);
    assert_eq!(whole, "failed: mock.example failed (500): oops. Try again later");
    screen.main(EventKind::Finished(outcome));
    let shown = picture(&mut screen, 120, 40);
    assert!(shown.contains("✗ failed: server error (HTTP 500) · 0:00 · 1 agent ✗ 1"), "{shown}");
}

#[test]
fn an_account_without_credit_and_a_key_without_rights_are_called_so() {
    let words = |failure: Failure, status: u16| {
        let error = ApiError { status: Some(status), class: None };
        crate::tui::labels::failure_label(failure, Some(&error))
    };
    assert_eq!(words(Failure::BadRequest, 402), "failed: payment required");
    assert_eq!(words(Failure::Auth, 403), "failed: not allowed");
    assert_eq!(words(Failure::Auth, 401), "failed: key rejected");
    assert_eq!(words(Failure::BadRequest, 400), "failed: bad request");
}

#[test]
fn an_answer_cut_at_the_output_limit_is_called_so() {
    let mut screen = TestScreen::new();
    screen.prompt("go").main(finish(RunEnd::MaxTokens { limit: Some(32_000) }, "half"));
    let shown = picture(&mut screen, 120, 40);
    assert!(shown.contains("~ answer cut off at 32,000 tokens · 0:00"), "{shown}");
}

#[test]
fn agents_cancelled_before_they_started_count_in_the_last_line() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let cancelled = |before_start| finish(RunEnd::Cancelled { before_start }, "");
    let begun = screen.agent(&root(), "explore-1", "one");
    let queued = screen.queued_agent(&root(), "explore-2", "two");
    screen.event(&queued, EventKind::Queued { place: 1 }).wait(1000).esc();
    screen.event(&begun, cancelled(false)).event(&queued, cancelled(true));
    screen.main(cancelled(false));
    let shown = picture(&mut screen, 120, 40);
    assert!(shown.contains("stopped after 0:01 · 2 agents ⊘ 2"), "{shown}");
    // One of an earlier turn does not count in the next.
    screen.wait(1000).prompt("more").main(finish(RunEnd::Completed, ""));
    let shown = picture(&mut screen, 120, 40);
    assert!(shown.contains("✓ done in 0:00\n") || shown.contains("✓ done in 0:00 "), "{shown}");
    assert_eq!(shown.matches("2 agents ⊘ 2").count(), 1, "{shown}");
}

#[test]
fn an_unknown_price_is_said_once_and_cost_explains_it() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let agent = screen.agent(&root(), "explore-1", "map the routes");
    let unknown = |tokens| EventKind::TurnFinished {
        whole: true,
        usage: crate::protocol::Usage { input_tokens: tokens, ..Default::default() },
        cost: crate::protocol::Cost::UNKNOWN,
        model: "local".to_owned(),
        api_time: Duration::from_secs(1),
    };
    screen.event(&agent, unknown(9_000)).main(unknown(13_000));
    for focused in [false, true] {
        let shown = picture(&mut screen, 120, 40);
        assert_eq!(shown.matches("no price").count(), 1, "{shown}");
        assert!(!shown.contains('$'), "{shown}");
        if !focused {
            screen.key(KeyCode::Tab);
        }
    }
    screen.esc().event(&agent, finish(RunEnd::Completed, "found"));
    screen.main(finish(RunEnd::Completed, "")).write("/cost").enter();
    let shown = picture(&mut screen, 120, 40);
    assert!(shown.contains("no price is known for sonnet-5; a models.toml"), "{shown}");
    assert!(shown.contains("tokens    22k, agents included"), "{shown}");
    let lines: Vec<&str> = shown.lines().collect();
    let row = |start: &str| lines.iter().any(|line| line.contains(start));
    assert!(row("  main         13k") && row("1 explore-1     9k"), "{shown}");
}

#[test]
fn the_mode_without_questions_takes_enter_twice() {
    let mut screen = TestScreen::new();
    screen.write("/permissions").enter().write("bypass").enter();
    assert_eq!(screen.sent(), []);
    let shown = picture(&mut screen, 120, 40);
    assert!(shown.contains("runs everything without asking · Enter turns it on"), "{shown}");
    screen.key(KeyCode::Backspace).enter();
    assert_eq!(screen.sent(), [], "another key takes it back");
    screen.enter();
    let mode = PermissionMode::BypassPermissions;
    assert_eq!(screen.sent(), [Command::SetMode { mode, answers: false }]);
}

#[test]
fn the_children_of_a_cancelled_agent_end_with_it() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let parent = screen.agent(&root(), "general-purpose-1", "plan");
    let child = screen.agent(&parent, "explore-1", "look");
    let alone = screen.agent(&parent, "explore-2", "look");
    let cancelled = || finish(RunEnd::Cancelled { before_start: false }, "");
    screen.event(&alone, cancelled()).key(KeyCode::Tab).ctrl('c');
    screen.event(&child, cancelled()).event(&parent, cancelled());
    let label = |path| {
        let agent = screen.model.agents.get(path).unwrap();
        crate::tui::labels::agent_status(&screen.model, agent).text
    };
    assert_eq!(label(&alone), "cancelled by you");
    assert_eq!(label(&child), "cancelled with its parent");
    assert_eq!(label(&parent), "cancelled by you");
}

#[test]
fn agents_cancelled_before_they_started_share_a_row() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let first = screen.agent(&AgentPath::root(), "explore-1", "the first one");
    let queued: Vec<AgentPath> = (2..=40)
        .map(|n| screen.queued_agent(&AgentPath::root(), &format!("explore-{n}"), "wait"))
        .collect();
    let cancelled = |before_start| finish(RunEnd::Cancelled { before_start }, "");
    screen.event(&first, cancelled(false));
    for path in &queued {
        screen.event(path, cancelled(true));
    }
    screen.main(cancelled(false));
    let output = picture(&mut screen, 100, 30);
    assert!(output.contains("1 the first one"), "{output}");
    assert!(output.contains("⊘ 39 agents cancelled before they started: 2–40"), "{output}");
    assert!(!output.contains("wait"), "{output}");
}

#[test]
fn many_agents_leave_the_end_of_a_turn_on_the_screen() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let paths: Vec<_> = (1..=100)
        .map(|number| screen.agent(&root(), &format!("explore-{number}"), "look"))
        .collect();
    for (at, path) in paths.iter().enumerate() {
        let failed = RunEnd::Failed { failure: Failure::RateLimit, message: String::new() };
        screen.event(path, finish(if at == 70 { failed } else { RunEnd::Completed }, ""));
    }
    screen.says(&root(), "All are back.").main(finish(RunEnd::Completed, ""));
    let shown = picture(&mut screen, 120, 40);
    assert!(shown.contains("All are back.") && shown.contains("done in"), "{shown}");
    assert!(shown.contains("… +80 agents, done · /agents"), "{shown}");
    let row = shown.lines().find(|line| line.contains(" 71 look"));
    assert!(row.is_some(), "{shown}");
}

#[test]
fn one_agent_more_has_its_row_where_a_count_would_stand() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let paths: Vec<_> = (1..=30)
        .map(|number| screen.agent(&root(), &format!("explore-{number}"), "look"))
        .collect();
    for (at, path) in paths.iter().enumerate() {
        let cancelled = RunEnd::Cancelled { before_start: false };
        screen.event(path, finish(if at == 1 { RunEnd::Completed } else { cancelled }, ""));
    }
    screen.main(finish(RunEnd::Completed, ""));
    let shown = picture(&mut screen, 120, 45);
    assert!(shown.contains(" 2 look") && !shown.contains("done · /agents"), "{shown}");
}
