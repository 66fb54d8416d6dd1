//! Keeps typed and pasted text, and removes a notice as soon as it no longer applies.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use crate::protocol::{ApiError, Command, EventKind, Failure, RunEnd, Sender};
use crate::tui::first_run::FirstRun;
use crate::tui::host::HostRequest;
use crate::tui::labels;
use crate::tui::msg::{HitKind, HitTarget, Msg, ScreenEffect};
use crate::tui::overlay::Overlay;
use crate::tui::testing::{TestScreen, finish};
use crate::tui::text::Highlighter;
use crate::tui::theme::Theme;
use crate::tui::view::View;

use super::pictures::{picture, picture_by};
use super::{busy, root};

fn paste(screen: &mut TestScreen, text: &str) {
    let at = screen.at;
    screen.send(Msg::Paste { text: text.to_owned(), at });
}

fn first_run() -> TestScreen {
    let mut screen = TestScreen::new();
    screen.model.session.first_run =
        Some(FirstRun { found: Some(Vec::new()), ..FirstRun::default() });
    screen
}

/// A turn with two agents that has ended, seen from the zoom of the first one.
fn ended_under_zoom() -> TestScreen {
    let mut screen = busy();
    let paths =
        ["explore-1", "explore-2"].map(|name| screen.agent(&root(), name, "map the routes"));
    screen.key(KeyCode::Tab).enter();
    for path in &paths {
        screen.event(path, finish(RunEnd::Completed, "two tables"));
    }
    screen.says(&root(), "All is well.").main(finish(RunEnd::Completed, ""));
    screen
}

#[test]
fn a_page_leaves_what_is_typed_to_the_draft() {
    for (typed, draft) in [("hello", "hello"), ("go 3", "go 3"), ("jjjh", "h"), ("/co", "/co")] {
        let mut screen = TestScreen::new();
        screen.write("?");
        assert!(matches!(screen.model.overlay, Some(Overlay::Help { .. })));
        screen.write(typed);
        assert_eq!(
            (screen.model.composer.text(), &screen.model.overlay),
            (draft, &None),
            "{typed}"
        );
    }
    let mut screen = TestScreen::new();
    screen.write("/cost").enter().write("fix it").enter();
    assert!(
        matches!(&screen.sent()[..], [Command::Prompt { prompt, .. }] if prompt.text == "fix it")
    );
    screen.write("?").write("g").wait(1000).write("fix");
    assert_eq!(screen.model.composer.text(), "fix", "a letter that scrolled a while ago is none");
    let mut screen = TestScreen::new();
    screen.write("?");
    paste(&mut screen, "from the clipboard");
    assert_eq!(
        (screen.model.composer.text(), &screen.model.overlay),
        ("from the clipboard", &None)
    );
}

#[test]
fn a_pasted_command_runs_only_where_all_of_it_is_on_the_screen() {
    for command in ["/permissions acceptEdits", "/export a.md", "/exit"] {
        for hidden in [
            format!("{command}\n\n"),
            format!("{command}{}", " ".repeat(5000)),
            format!("{command}\t"),
            format!("\n{command}"),
            format!("{command} \u{200b}"),
            format!("{command} a\u{3000}b"),
            format!("{command} {}", "x".repeat(300)),
            format!("{command}{}a", " ".repeat(90)),
        ] {
            let mut screen = TestScreen::new();
            paste(&mut screen, &hidden);
            screen.enter();
            assert_eq!(screen.sent(), [], "{hidden:?}");
            assert!(screen.notice().contains("was not run"), "{hidden:?}: {}", screen.notice());
            assert_eq!(screen.model.composer.buffer.full_text(), hidden, "it stays");
        }
        // What begins within a large paste is text.
        for large in
            [format!("{command}{}", "\n".repeat(120)), format!("{}{command}", "\n".repeat(120))]
        {
            let mut screen = TestScreen::new();
            paste(&mut screen, &large);
            screen.enter();
            assert!(
                matches!(&screen.sent()[..], [Command::Prompt { prompt, .. }] if prompt.text == large),
                "{:?}",
                screen.sent()
            );
        }
    }
    let mut screen = TestScreen::new();
    paste(&mut screen, "/cost");
    screen.enter();
    assert!(screen.model.overlay.is_some(), "{}", screen.notice());
    for whole in ["/permissions acceptEdits", "/permissions acceptEdits\n"] {
        let mut screen = TestScreen::new();
        paste(&mut screen, whole);
        screen.enter();
        assert!(matches!(screen.sent()[..], [Command::SetMode { .. }]), "{:?}", screen.sent());
    }
    let mut screen = TestScreen::new();
    screen.write("/permissions   acceptEdits  ").enter();
    assert!(matches!(screen.sent()[..], [Command::SetMode { .. }]), "{:?}", screen.sent());
}

#[test]
fn what_an_editor_leaves_of_a_pasted_argument_is_no_more_typed_than_that() {
    let edited = |write: &dyn Fn(&mut TestScreen)| {
        let mut screen = TestScreen::new();
        write(&mut screen);
        screen.enter();
        let Some(ScreenEffect::Edit(text)) = screen.effects.pop() else { panic!("no editor") };
        let at = screen.model.now;
        screen.send(Msg::Host { reply: HostRequest::Edit(Ok(format!("{text}\n"))), at });
        assert_eq!(screen.model.composer.text(), text);
        screen
    };
    let pasted = |text: &'static str| edited(&|screen| paste(screen, text));
    let mut screen = pasted("/edit !touch x");
    assert_eq!(screen.model.composer.text(), " !touch x");
    screen.enter();
    assert!(matches!(screen.sent()[..], [Command::Prompt { .. }]), "{:?}", screen.sent());
    let mut screen = pasted("/edit see @/home/me/secret.png and @agent-explore");
    screen.enter();
    let sent = screen.sent();
    let [Command::Prompt { prompt, .. }] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(prompt.agent_mentions, Some(vec![]));
    let mut screen = edited(&|screen| {
        screen.write("/edit !ls");
    });
    screen.enter();
    assert!(matches!(screen.sent()[..], [Command::Shell { .. }]), "{:?}", screen.sent());
}

#[test]
fn a_draft_that_no_editor_could_open_stays() {
    let mut screen = TestScreen::new();
    screen.write("/edit one more").enter();
    let at = screen.model.now;
    screen.send(Msg::Host { reply: HostRequest::Edit(Err("no editor".to_owned())), at });
    assert_eq!(screen.notice(), "no editor · the draft is unchanged");
    assert_eq!(screen.model.composer.text(), "one more");
}

#[test]
fn pastes_that_make_room_for_others_stay_pastes() {
    let mut screen = TestScreen::new();
    let long = |number: usize| format!("{number}{}", "\n".repeat(120));
    for number in 0..40 {
        paste(&mut screen, &long(number));
        screen.key(KeyCode::Backspace);
    }
    paste(&mut screen, "see @/home/me/secret.png now");
    paste(&mut screen, &long(40));
    screen.model.composer.buffer.undo();
    assert_eq!(screen.model.composer.text(), "see @/home/me/secret.png now");
    assert!(!screen.model.composer.buffer.is_typed());
}

#[test]
fn a_question_in_full_says_how_to_go_back_to_its_answers() {
    let mut screen = busy();
    screen.asks(&root(), 7, "main", "psql").ctrl('o').draw();
    assert!(matches!(screen.model.overlay, Some(Overlay::Question { .. })));
    for key in ["1", "x"] {
        screen.write(key);
        assert_eq!(
            (screen.sent(), screen.notice()),
            (vec![], "Esc goes back to the answers first")
        );
        assert!(screen.model.overlay.is_some() && screen.model.composer.is_empty());
    }
}

#[test]
fn ctrl_c_clears_a_command_and_a_slash_is_never_doubled() {
    let mut screen = TestScreen::new();
    screen.write("/").ctrl('c');
    assert_eq!(screen.model.composer.text(), "");
    screen.write("/").esc();
    assert_eq!(screen.model.composer.text(), "/");
    screen.write("/permissions");
    assert_eq!(screen.model.composer.text(), "/permissions");
    assert!(screen.model.composer.menu.is_some());
}

#[test]
fn a_cleared_draft_comes_back_also_on_the_first_screen() {
    let mut screen = first_run();
    screen.write("my long draft").ctrl('c');
    assert_eq!(screen.notice(), "draft cleared · Up brings it back");
    screen.key(KeyCode::Up);
    assert_eq!(screen.model.composer.text(), "my long draft");
    screen.wait(300).ctrl('c').key(KeyCode::Down);
    let first = |screen: &TestScreen| screen.model.session.first_run.clone().unwrap().selected;
    assert_eq!(
        (first(&screen), screen.notice()),
        (1, ""),
        "the arrows are those of the list again"
    );
    screen.key(KeyCode::Up);
    assert_eq!((first(&screen), screen.model.composer.text()), (0, ""));
}

#[test]
fn a_search_for_servers_that_was_asked_for_says_that_it_found_none() {
    let none = |screen: &mut TestScreen| {
        let at = screen.at;
        screen.send(Msg::Host { reply: HostRequest::LocalServers(Vec::new()), at });
    };
    let mut screen = first_run();
    none(&mut screen);
    assert_eq!(screen.notice(), "");
    screen.key(KeyCode::Up).write("r");
    none(&mut screen);
    assert_eq!(screen.notice(), "looked again: still none");
}

#[test]
fn a_notice_goes_with_what_it_is_about() {
    let mut screen = TestScreen::new();
    let at = screen.at;
    screen.write("/context").enter();
    screen.send(Msg::Host { reply: HostRequest::Commands(Vec::new()), at });
    assert_eq!(screen.notice(), "unknown command /context · /help lists the commands");
    screen.ctrl('u');
    assert_eq!(screen.notice(), "");
    screen.model.say("mode: default, reads freely, asks for everything else");
    screen.write("/permissions").enter();
    assert_eq!(screen.notice(), "", "it was about the screen before");
}

#[test]
fn the_rows_of_a_turn_come_when_the_last_pane_is_left() {
    let mut screen = ended_under_zoom();
    assert_eq!(screen.notice(), "main is done · Esc goes back");
    let mut view = View::new(Theme::default(), Highlighter::off());
    let mut seen = |screen: &mut TestScreen| picture_by(&mut view, screen, 80, 24);
    seen(&mut screen);
    screen.esc();
    assert_eq!(screen.notice(), "", "one is back");
    seen(&mut screen);
    screen.esc();
    let output = seen(&mut screen);
    assert!(output.contains("1 map the routes") && output.contains("2 map the routes"), "{output}");
}

#[test]
fn alt_and_a_number_opens_an_agent_of_the_last_turn() {
    let mut screen = ended_under_zoom();
    screen.esc().esc();
    assert_eq!(screen.model.focus, None);
    screen.chord(KeyCode::Char('2'), KeyModifiers::ALT);
    assert_eq!(screen.model.focused().map(|agent| agent.number), Some(2));
    screen.esc().chord(KeyCode::Char('7'), KeyModifiers::ALT);
    assert_eq!((&screen.model.focus, screen.notice()), (&None, "there is no agent 7 here"));
}

#[test]
fn arrows_stop_at_the_last_pane() {
    let mut screen = busy();
    let paths = ["explore-1", "explore-2"].map(|name| screen.agent(&root(), name, "one"));
    screen.key(KeyCode::Tab).key(KeyCode::Down).key(KeyCode::Down).key(KeyCode::Right);
    assert_eq!(screen.model.focus.as_ref(), Some(&paths[1]));
    screen.key(KeyCode::Up).key(KeyCode::Up).key(KeyCode::Left);
    assert_eq!(screen.model.focus.as_ref(), Some(&paths[0]));
}

#[test]
fn a_click_on_mains_transcript_returns_the_focus() {
    let mut screen = busy();
    screen.agent(&root(), "explore-1", "one");
    screen.key(KeyCode::Tab);
    for kind in [MouseEventKind::Down(MouseButton::Left), MouseEventKind::Up(MouseButton::Left)] {
        let event = MouseEvent { kind, column: 3, row: 3, modifiers: KeyModifiers::NONE };
        let hit = HitTarget { kind: HitKind::Body, ..HitTarget::default() };
        let at = screen.at;
        screen.send(Msg::Mouse { event, hit, at });
    }
    assert_eq!(screen.model.focus, None);
}

#[test]
fn an_unread_message_names_its_agent_by_its_task_and_goes_with_the_next_turn() {
    let mut screen = busy();
    let agent = screen.agent(&root(), "explore-1", "map the routes");
    screen.key(KeyCode::Tab).write("look at main.rs too").enter().esc();
    screen.event(&agent, finish(RunEnd::Completed, "")).main(finish(RunEnd::Completed, ""));
    let output = picture(&mut screen, 100, 30);
    assert!(output.contains("↳ agent 1, map the routes, ended before reading this"), "{output}");
    screen.reads(&root(), Sender::Person, "next");
    let output = picture(&mut screen, 100, 30);
    assert!(!output.contains("ended before reading this"), "{output}");
    screen.key(KeyCode::Up);
    assert_eq!(screen.model.composer.text(), "look at main.rs too");
}

#[test]
fn a_report_is_rendered() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let agent = screen.background(&root(), "explore-1", "map the routes");
    let text = "Found it.\n\n- Where: `lib/a.rs`\n- **Why**: a typo\n- one\n- two\n";
    screen.event(&agent, finish(RunEnd::Completed, text));
    screen.reads(&root(), Sender::Agent { name: "explore-1".to_owned() }, text);
    let output = picture(&mut screen, 100, 30);
    assert!(
        output.contains("• Where: lib/a.rs") && output.contains("… +2 lines · Ctrl+T"),
        "{output}"
    );
    screen.ctrl('t');
    let output = picture(&mut screen, 100, 30);
    assert!(output.contains("• Why: a typo") && output.contains("• two"), "{output}");
}

#[test]
fn a_retry_keeps_what_changes() {
    let mut screen = busy();
    let agent = screen.agent(&root(), "explore-1", "one");
    let (attempt, limit, wait) = (2, 8, Duration::from_secs(2));
    let (failure, error, reason) = (Failure::Overloaded, ApiError::default(), String::new());
    screen.event(&agent, EventKind::Retrying { attempt, limit, wait, failure, error, reason });
    let mut label = labels::agent_status(&screen.model, screen.model.agents.get(&agent).unwrap());
    let after = "retrying in 2 s (2 of 8)";
    assert!(label.text.ends_with(&format!(" · {after}")), "{label:?}");
    let cut = label.fitted(after.len() + 8);
    assert!(cut.ends_with(&format!("… · {after}")), "{cut}");
    assert_eq!(label.fitted(after.len() + 3), after);
    label.push_words(" · in the background");
    assert!(label.text.ends_with(&format!(" · in the background · {after}")), "{label:?}");
}

#[test]
fn a_word_typed_in_a_list_of_agents_cancels_nobody() {
    let with_agents = || {
        let mut screen = busy();
        for name in ["explore-1", "map-1", "review-1"] {
            screen.agent(&root(), name, "look around");
        }
        screen
    };
    for word in ["map", "api", "explore", "review"] {
        let mut screen = with_agents();
        screen.write("/agents").enter().sent();
        screen.write(word);
        assert_eq!(screen.sent(), [], "{word}");
        let Some(Overlay::Agents(list)) = &screen.model.overlay else { panic!() };
        assert_eq!((list.filtering, list.filter.text()), (true, word));
        assert_eq!(screen.notice(), "");
    }
    let mut screen = with_agents();
    screen.write("/agents").enter().write("a");
    assert_eq!((screen.sent(), screen.notice()), (vec![], "a again cancels 3 agents"));
    screen.write("a");
    assert_eq!(screen.sent().len(), 3);
    let mut screen = with_agents();
    screen.ctrl('c').write("what about a");
    assert_eq!((screen.sent(), screen.notice()), (vec![], "a again cancels all listed here"));
    screen.write("a");
    assert_eq!(screen.sent().len(), 3);
}

#[test]
fn a_cleared_draft_comes_back_before_a_queued_message() {
    let mut screen = busy();
    screen.write("queued A").enter().sent();
    screen.write("draft B").ctrl('c').key(KeyCode::Up);
    assert_eq!(screen.sent(), []);
    assert_eq!(screen.model.composer.text(), "draft B");
}

#[test]
fn no_earlier_prompt_takes_the_place_of_a_message_from_the_queue() {
    let mut screen = busy();
    screen.model.composer.remember("earlier".into());
    screen.write("also this").enter();
    let Some(Command::Prompt { prompt, .. }) = screen.sent().pop() else { panic!() };
    screen.key(KeyCode::Up).main(EventKind::PromptReturned { id: prompt.id, text: prompt.text });
    screen.key(KeyCode::Up).key(KeyCode::Up);
    assert_eq!(screen.model.composer.text(), "also this");
    assert_eq!(screen.notice(), "a queued message is in the prompt · Esc puts it back");
}

#[test]
fn an_own_command_that_runs_has_a_work_line() {
    let mut screen = TestScreen::new();
    screen.write("!sleep 20").enter().wait(5_000);
    let output = picture(&mut screen, 100, 30);
    assert!(output.contains("running sleep 20 · 0:05"), "{output}");
}

#[test]
fn a_notice_about_a_key_goes_with_the_next_one() {
    let mut screen = busy();
    for name in ["explore-1", "explore-2"] {
        screen.agent(&root(), name, "map the routes");
    }
    screen.chord(KeyCode::Char('9'), KeyModifiers::ALT);
    assert_eq!(screen.notice(), "there is no agent 9 here");
    screen.key(KeyCode::Tab);
    assert_eq!(screen.notice(), "");

    let mut screen = ended_under_zoom();
    screen.esc().wait(300).write("more").enter();
    assert!(screen.notice().contains("has ended · Enter again"), "{}", screen.notice());
    screen.key(KeyCode::Tab);
    assert_eq!(screen.notice(), "", "the focus has gone to another agent");

    let mut screen = busy();
    screen.asks(&root(), 1, "main", "psql shop").wait(2000).ctrl('o').draw().write("1");
    assert_eq!(screen.notice(), "Esc goes back to the answers first");
    screen.esc();
    assert_eq!(screen.notice(), "", "where Esc is a no");

    let mut screen = first_run();
    screen.model.session.first_run.as_mut().unwrap().selected = 2;
    screen.write("r").send(Msg::Host {
        reply: HostRequest::LocalServers(Vec::new()),
        at: Duration::from_secs(10),
    });
    assert_eq!(screen.notice(), "looked again: still none");
    screen.write("r");
    assert_eq!(screen.notice(), "");
}
