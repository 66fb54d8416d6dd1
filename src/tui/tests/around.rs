//! Notifications and the user's own status line.

use std::time::Duration;

use crate::protocol::NotificationMethod;
use crate::protocol::{EventKind, Failure, PermissionMode, RunEnd};
use crate::tui::host::HostRequest;
use crate::tui::msg::{Msg, ScreenEffect};
use crate::tui::testing::{TestScreen, finish};

use super::pictures::picture;
use super::{busy, root};

/// A screen in a window without the focus.
fn unfocused() -> TestScreen {
    let mut screen = busy();
    look(&mut screen, false);
    screen
}

/// The window gets the focus, or loses it.
fn look(screen: &mut TestScreen, focused: bool) {
    let at = screen.at;
    screen.send(Msg::Window { focused, at });
}

/// Drains the effects and returns the notifications among them.
fn notified(screen: &mut TestScreen) -> Vec<String> {
    let texts = screen.effects.drain(..).filter_map(|effect| match effect {
        ScreenEffect::Notify(text) => Some(text),
        ScreenEffect::Ask(HostRequest::Notify { text, .. }) => Some(format!("command: {text}")),
        _ => None,
    });
    texts.collect()
}

fn failed() -> RunEnd {
    RunEnd::Failed { failure: Failure::RateLimit, message: String::new() }
}

#[test]
fn a_question_notifies_after_three_seconds_and_only_who_looks_elsewhere() {
    let mut screen = unfocused();
    screen.asks(&root(), 1, "main", "psql shop").wait(2900);
    assert_eq!(notified(&mut screen), Vec::<String>::new());
    screen.wait(200);
    assert_eq!(notified(&mut screen), ["main needs you: Bash"]);
    let mut screen = unfocused();
    screen.asks(&root(), 1, "main", "psql shop");
    look(&mut screen, true);
    screen.wait(4000);
    assert_eq!(notified(&mut screen), Vec::<String>::new());
}

#[test]
fn a_question_that_is_open_when_the_window_loses_the_focus_notifies_once() {
    let mut screen = busy();
    screen.asks(&root(), 1, "main", "psql shop").wait(10_000);
    assert_eq!(screen.model.questions.notify_at, None, "the user is looking at it");
    look(&mut screen, false);
    screen.wait(2000);
    look(&mut screen, true);
    screen.wait(9000);
    assert_eq!(notified(&mut screen), Vec::<String>::new(), "gone for two seconds only");
    look(&mut screen, false);
    screen.wait(3000);
    assert_eq!(notified(&mut screen), ["main needs you: Bash"]);
    look(&mut screen, true);
    look(&mut screen, false);
    assert_eq!(screen.model.questions.notify_at, None);
    let agent = screen.agent(&root(), "explore-1", "map the routes");
    screen.asks(&agent, 2, "explore-1", "make").wait(3000);
    assert_eq!(notified(&mut screen), ["agent 1 needs you: Bash"], "only the new one");
}

#[test]
fn the_end_of_a_long_turn_notifies_with_how_it_ended_unless_the_user_stopped_it() {
    for (seconds, end, expected) in [
        (9, RunEnd::Completed, None),
        (11, RunEnd::Completed, Some("main is done")),
        (11, failed(), Some("main failed: rate limit")),
        (11, RunEnd::Cancelled { before_start: false }, None),
    ] {
        let mut screen = unfocused();
        screen.wait(seconds * 1000).main(finish(end, ""));
        assert_eq!(notified(&mut screen).first().map(String::as_str), expected);
    }
    let mut screen = unfocused();
    screen.model.settings.notifications = NotificationMethod::Off;
    screen.wait(11_000).main(finish(RunEnd::Completed, ""));
    assert_eq!(notified(&mut screen), Vec::<String>::new());
}

#[test]
fn a_command_notifies_instead_until_it_fails() {
    let mut screen = unfocused();
    screen.model.settings.notify_command = true;
    let end = |screen: &mut TestScreen| {
        screen.wait(11_000).main(finish(RunEnd::Completed, "")).prompt("more");
        notified(screen)
    };
    assert_eq!(end(&mut screen), ["command: main is done"]);
    assert_eq!(end(&mut screen), Vec::<String>::new(), "one at a time");
    let at = screen.at;
    let answer = |result| HostRequest::Notify { text: "main is done".to_owned(), result };
    screen.send(Msg::Host { reply: answer(Ok(())), at });
    assert_eq!(end(&mut screen), ["command: main is done"]);
    let why = Err("config.toml:2: notify_command failed: exit 1".to_owned());
    screen.send(Msg::Host { reply: answer(why), at });
    assert_eq!(notified(&mut screen), ["main is done"], "the user is notified all the same");
    let shown = picture(&mut screen, 100, 30);
    assert!(
        shown.contains("config.toml:2: notify_command failed: exit 1. The terminal"),
        "{shown}"
    );
    assert_eq!(end(&mut screen), ["main is done"]);
}

/// Drains the effects and returns the inputs of the command for the status line.
fn inputs(screen: &mut TestScreen) -> Vec<serde_json::Value> {
    let inputs = screen.effects.drain(..).filter_map(|effect| match effect {
        ScreenEffect::Ask(HostRequest::StatusLine { input, .. }) => Some(input),
        _ => None,
    });
    inputs.map(|input| serde_json::from_str(&input).unwrap()).collect()
}

fn prints(screen: &mut TestScreen, line: Result<&str, &str>) {
    let line = line.map(str::to_owned).map_err(str::to_owned);
    let (input, at) = (String::new(), screen.at);
    screen.send(Msg::Host { reply: HostRequest::StatusLine { input, line }, at });
}

fn with_status_line() -> TestScreen {
    let mut screen = TestScreen::new();
    screen.model.settings.status_line = true;
    screen
}

#[test]
fn the_own_status_line_follows_the_session_and_rests_with_it() {
    let mut screen = with_status_line();
    screen.prompt("go");
    let input = inputs(&mut screen);
    assert_eq!(input.len(), 1);
    assert_eq!(input[0]["model"]["display_name"], "sonnet-5");
    assert_eq!(input[0]["workspace"]["git_branch"], "main");
    let agent = screen.agent(&root(), "explore-1", "map the routes");
    assert_eq!(inputs(&mut screen).len(), 0, "one at a time");
    prints(&mut screen, Ok("\u{1b}[31mMINE\u{1b}[0m \u{1b}]0;x\u{7}line"));
    let shown = picture(&mut screen, 100, 30);
    assert!(shown.contains(" MINE line") && !shown.contains("context"), "{shown}");
    screen.wait(200);
    assert_eq!(inputs(&mut screen).len(), 0, "not so soon");
    let wake = screen.model.next_wake().unwrap();
    screen.at = wake;
    screen.wait(0).wait(100);
    let input = inputs(&mut screen);
    assert_eq!(input.len(), 1);
    let expected = serde_json::json!({
        "number": 1, "name": "explore-1", "type": "explore", "task": "map the routes",
        "background": false, "state": "running",
    });
    assert_eq!(input[0]["agents"][0], expected);
    prints(&mut screen, Ok("MINE"));
    for _ in 0..20 {
        screen.says(&agent, "more text").wait(400);
    }
    assert_eq!(inputs(&mut screen).len(), 0, "text changes nothing that it shows");
    screen.event(&agent, finish(failed(), "")).wait(400);
    assert_eq!(inputs(&mut screen)[0]["agents"][0]["state"], "failed");
}

#[test]
fn the_mode_without_questions_stays_in_front_of_an_own_status_line() {
    let mut screen = with_status_line();
    screen.prompt("go").main(EventKind::ModeChanged { mode: PermissionMode::BypassPermissions });
    prints(&mut screen, Ok("MINE"));
    let shown = picture(&mut screen, 100, 30);
    assert!(shown.contains(" bypassPermissions MINE"), "{shown}");
}

#[test]
fn a_command_that_fails_is_reported_once_and_given_up_after_three_times() {
    let mut screen = with_status_line();
    screen.prompt("go");
    for round in 0..5 {
        let asked = inputs(&mut screen).len();
        assert_eq!(asked, usize::from(round < 3), "{round}");
        if asked == 1 {
            prints(&mut screen, Err("config.toml:3: status_line failed: exit 127"));
        }
        screen.wait(400).agent(&root(), &format!("explore-{round}"), "look");
    }
    let shown = picture(&mut screen, 120, 40);
    assert_eq!(shown.matches("status_line failed: exit 127").count(), 1, "{shown}");
    assert!(shown.contains(" default · sonnet-5"), "{shown}");
    assert!(screen.model.next_wake().is_some_and(|at| at > screen.at + Duration::from_millis(1)));
}
