//! Prompts, queueing, focus, folding, and what the host answers.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyModifiers};

use crate::protocol::{
    ApiError, Command, EventKind, Failure, PermissionMode, PromptId, PromptTiming, RunEnd, Sender,
};
use crate::tui::host::HostRequest;
use crate::tui::msg::{Msg, ScreenEffect};
use crate::tui::queue::MessageState;
use crate::tui::testing::{TestScreen, agent_choice, finish};
use crate::tui::transcript::ItemKind;

use super::root;

#[test]
fn enter_sends_to_main_and_three_keys_make_a_new_line() {
    let mut screen = TestScreen::new();
    screen.write("a").ctrl('j').write("b\\").enter().write("c");
    screen.chord(KeyCode::Enter, KeyModifiers::SHIFT).write("d").enter();
    let sent = screen.sent();
    let [Command::Prompt { to, prompt }] = &sent[..] else { panic!("{sent:?}") };
    assert!(to.is_root());
    assert_eq!((prompt.text.as_str(), prompt.when), ("a\nb\nc\nd", PromptTiming::NextStep));
    assert!(screen.model.composer.is_empty());
}

#[test]
fn a_prompt_to_idle_main_never_stands_in_the_queue_and_a_later_one_does() {
    let mut screen = TestScreen::new();
    screen.write("one").enter();
    assert_eq!(screen.model.queue.visible().count(), 0);
    screen.main(EventKind::PromptRead {
        id: Some(PromptId(1)),
        text: "one".into(),
        from: Sender::Person,
    });
    screen.write("two").enter();
    assert_eq!(screen.model.queue.visible().count(), 1);
    screen.main(EventKind::PromptRead {
        id: Some(PromptId(2)),
        text: "two".into(),
        from: Sender::Person,
    });
    assert_eq!(screen.model.queue.list, []);
}

#[test]
fn a_message_goes_to_the_focused_agent_and_never_to_an_ended_one() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let agent = screen.agent(&root(), "explore-1", "one");
    screen.key(KeyCode::Tab).write("hurry").enter();
    assert!(matches!(&screen.sent()[..], [Command::Prompt { to, .. }] if *to == agent));
    screen.event(&agent, finish(RunEnd::Completed, ""));
    assert_eq!(screen.model.queue.list[0].state, MessageState::Orphaned);
    screen.write("again").enter();
    assert_eq!(screen.sent(), []);
    assert_eq!(screen.notice(), "agent 1 has ended · Enter again sends it to main");
    assert_eq!(screen.model.composer.text(), "again");
    screen.write("!").enter();
    assert_eq!(screen.sent(), [], "another draft");
    screen.enter();
    assert!(
        matches!(&screen.sent()[..], [Command::Prompt { to, prompt }] if to.is_root() && prompt.text == "again!")
    );
    assert_eq!(screen.model.focus, None);
}

#[test]
fn tab_goes_round_the_agents_and_never_back_to_the_prompt() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let first = screen.agent(&root(), "explore-1", "one");
    let second = screen.agent(&root(), "explore-2", "two");
    screen.key(KeyCode::Tab);
    assert_eq!(screen.model.focus.as_ref(), Some(&first));
    screen.key(KeyCode::Tab);
    assert_eq!(screen.model.focus.as_ref(), Some(&second));
    screen.key(KeyCode::Tab);
    assert_eq!(screen.model.focus.as_ref(), Some(&first));
    screen.key(KeyCode::BackTab);
    assert_eq!(screen.model.focus.as_ref(), Some(&second));
    assert_eq!(screen.sent(), []);
}

#[test]
fn an_agent_that_ends_keeps_the_focus() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let first = screen.agent(&root(), "explore-1", "one");
    screen.agent(&root(), "explore-2", "two");
    screen.key(KeyCode::Tab).event(&first, finish(RunEnd::Completed, "done"));
    assert_eq!(screen.model.focus.as_ref(), Some(&first));
}

#[test]
fn the_batch_folds_when_main_speaks_but_never_under_a_focus() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let agent = screen.agent(&root(), "explore-1", "one");
    screen.key(KeyCode::Tab).event(&agent, finish(RunEnd::Completed, "done"));
    screen.says(&root(), "So");
    assert_eq!(screen.model.agents.panel().len(), 1);
    screen.esc();
    assert_eq!(screen.model.agents.panel().len(), 0);
    screen.main(finish(RunEnd::Completed, "")).key(KeyCode::Tab);
    assert_eq!(screen.model.focus.as_ref(), Some(&agent));
}

#[test]
fn the_call_of_an_agent_is_shown_by_the_line_of_its_batch() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    screen.agent(&root(), "explore-1", "one");
    screen.agent(&root(), "explore-2", "two");
    let kinds: Vec<_> = screen.model.main.iter().map(|(_, item)| &item.kind).collect();
    assert!(matches!(kinds[1], ItemKind::Batch { members, .. } if members.len() == 2));
    assert_eq!(kinds[2], &ItemKind::Hidden);
}

#[test]
fn shift_tab_on_the_prompt_walks_the_safe_modes() {
    let mut screen = TestScreen::new();
    screen.key(KeyCode::BackTab);
    let mode = |mode| Command::SetMode { mode, answers: false };
    assert_eq!(screen.sent(), [mode(PermissionMode::AcceptEdits)]);
    // Two keys at once, before the first has been carried out.
    screen.key(KeyCode::BackTab).key(KeyCode::BackTab);
    assert_eq!(screen.sent(), [mode(PermissionMode::Plan), mode(PermissionMode::Default)]);
    screen.main(EventKind::ModeChanged { mode: PermissionMode::AcceptEdits });
    assert_eq!(screen.notice(), "mode: acceptEdits, edits run without asking");
    screen.main(EventKind::ModeChanged { mode: PermissionMode::Plan });
    screen.main(EventKind::ModeChanged { mode: PermissionMode::Default });
    screen.key(KeyCode::BackTab);
    assert_eq!(screen.sent(), [mode(PermissionMode::AcceptEdits)]);
    screen.asks(&root(), 1, "main", "ls");
    screen.main(EventKind::ModeChanged { mode: PermissionMode::AcceptEdits });
    let notice = "mode: acceptEdits, edits run without asking · open questions stay";
    assert_eq!(screen.notice(), notice);
}

#[test]
fn what_the_host_answers_asks_it_nothing_again_but_for_files() {
    let asked = |screen: &mut TestScreen| {
        let asked = screen.effects.drain(..).filter_map(|effect| match effect {
            ScreenEffect::Ask(HostRequest::Files { .. }) => None,
            ScreenEffect::Ask(request) => Some(request),
            _ => None,
        });
        asked.collect::<Vec<_>>()
    };
    let agents = HostRequest::Agents(vec![agent_choice("plan")]);
    let table = [
        ("/", HostRequest::Commands(Vec::new()), HostRequest::Commands(Vec::new())),
        ("@", HostRequest::Agents(Vec::new()), agents),
    ];
    for (draft, request, reply) in table {
        let mut screen = TestScreen::new();
        screen.write(draft);
        assert_eq!(asked(&mut screen), [request]);
        screen.send(Msg::Host { reply, at: Duration::ZERO });
        assert_eq!(asked(&mut screen), []);
    }
}

#[test]
fn without_a_model_the_draft_stays() {
    let mut screen = TestScreen::new();
    screen.model.session.first_run = Some(crate::tui::FirstRun::default());
    screen.write("hello");
    let shown = super::pictures::picture(&mut screen, 80, 24);
    assert!(shown.contains("no model yet · Ctrl+C clears the draft"), "{shown}");
    screen.enter();
    assert_eq!((screen.sent(), screen.model.composer.text()), (vec![], "hello"));
    assert_eq!(screen.notice(), "No model yet: your text stays here · /model");
}

#[test]
fn a_large_paste_is_kept_whole_and_sends_nothing() {
    let mut screen = TestScreen::new();
    let text = "line\r\n".repeat(5000);
    let at = screen.at;
    screen.send(Msg::Paste { text, at });
    assert_eq!(screen.sent(), []);
    assert_eq!(screen.model.composer.buffer.full_text().lines().count(), 5000);
}

#[test]
fn nothing_wakes_an_idle_screen() {
    let mut screen = TestScreen::new();
    assert_eq!(screen.model.next_wake(), None);
    screen.prompt("go");
    assert!(screen.model.next_wake().is_some());
    screen.main(finish(RunEnd::Completed, ""));
    assert_eq!(screen.model.next_wake(), None);
}

#[test]
fn a_retried_request_takes_back_its_text_and_says_why_it_waits() {
    let mut screen = TestScreen::new();
    screen.prompt("go").says(&root(), "half an ans");
    let (wait, failure) = (std::time::Duration::from_secs(4), Failure::Overloaded);
    let reason = "mock.example is overloaded (529): try again later".to_owned();
    let retrying = |status, class: Option<&str>| EventKind::Retrying {
        attempt: 2,
        limit: 8,
        wait,
        failure,
        error: ApiError { status, class: class.map(str::to_owned) },
        reason: reason.clone(),
    };
    screen.main(retrying(Some(529), None));
    assert_eq!(screen.model.main.last_text(), None);
    let words = |screen: &TestScreen| crate::tui::labels::main_label(&screen.model);
    assert_eq!(words(&screen), "overloaded · retrying in 4 s (2 of 8)");
    screen.main(retrying(Some(500), None));
    assert_eq!(words(&screen), "server error (HTTP 500) · retrying in 4 s (2 of 8)");
    // Inside an answer.
    screen.main(retrying(None, None));
    assert_eq!(words(&screen), "overloaded · retrying in 4 s (2 of 8)");
    screen.main(retrying(None, Some("api_error")));
    assert_eq!(words(&screen), "server error (api_error) · retrying in 4 s (2 of 8)");
    screen.main(retrying(None, Some("")));
    assert_eq!(words(&screen), "server error · retrying in 4 s (2 of 8)");
}

#[test]
fn empty_enter_tries_a_failed_turn_again() {
    let mut screen = TestScreen::new();
    screen.write("hello").enter();
    screen.main(EventKind::PromptRead {
        id: Some(PromptId(1)),
        text: "hello".into(),
        from: Sender::Person,
    });
    let failure = crate::protocol::Failure::Connection;
    let message =
        "Cannot reach 127.0.0.1:11434: is the server running? Enter tries again".to_owned();
    screen.main(finish(RunEnd::Failed { failure, message }, ""));
    screen.sent();
    screen.enter();
    assert_eq!(screen.sent(), [Command::Retry]);
}

#[test]
fn an_at_sign_offers_agents_and_the_files_that_the_host_finds() {
    let mut screen = TestScreen::new();
    screen.write("ask @ex");
    assert!(screen.effects.contains(&ScreenEffect::Ask(HostRequest::Agents(Vec::new()))));
    assert!(screen.effects.contains(&ScreenEffect::Ask(HostRequest::Files {
        query: "ex".to_owned(),
        paths: Vec::new()
    })));
    let at = screen.at;
    let choices = vec![agent_choice("explore")];
    screen.send(Msg::Host { reply: HostRequest::Agents(choices), at });
    let paths = vec!["docs/example.md".to_owned()];
    screen.send(Msg::Host { reply: HostRequest::Files { query: "ex".to_owned(), paths }, at });
    let rows: Vec<_> = screen.model.composer.menu.iter().flat_map(|menu| &menu.items).collect();
    assert_eq!(
        rows.iter().map(|row| row.insert.as_str()).collect::<Vec<_>>(),
        ["@agent-explore", "@docs/example.md"]
    );
    screen.key(KeyCode::Down).key(KeyCode::Tab);
    assert_eq!(screen.model.composer.text(), "ask @docs/example.md ");
}

#[test]
fn history_search_takes_the_newest_match() {
    let mut screen = TestScreen::new();
    for text in ["fix login", "read docs", "fix logout"] {
        screen.model.composer.remember(text.into());
    }
    screen.ctrl('r').write("fix").enter();
    assert_eq!(screen.model.composer.text(), "fix logout");
    screen.model.composer.discard();
    screen.ctrl('r').write("fix").ctrl('r').enter();
    assert_eq!(screen.model.composer.text(), "fix login");
}

#[test]
fn tab_completes_a_file_in_an_own_command_and_only_when_asked() {
    let mut screen = TestScreen::new();
    screen.write("!cat ma");
    assert!(screen.effects.iter().all(|effect| !matches!(effect, ScreenEffect::Ask(_))));
    screen.key(KeyCode::Tab);
    assert_eq!(
        screen.effects,
        [ScreenEffect::Ask(HostRequest::Files { query: "ma".to_owned(), paths: Vec::new() })]
    );
    let at = screen.at;
    let paths = vec!["src/main.rs".to_owned()];
    screen.send(Msg::Host { reply: HostRequest::Files { query: "ma".to_owned(), paths }, at });
    screen.key(KeyCode::Tab);
    assert_eq!(screen.model.composer.text(), "!cat src/main.rs ");
}

#[test]
fn a_menu_that_may_lack_files_says_so() {
    let shown = |found: usize| {
        let mut screen = TestScreen::new();
        screen.write("@ma");
        let paths = (0..found).map(|at| format!("src/main-{at}.rs")).collect();
        let (query, at) = ("ma".to_owned(), screen.at);
        screen.send(Msg::Host { reply: HostRequest::Files { query, paths }, at });
        super::pictures::picture(&mut screen, 80, 24)
    };
    assert!(shown(49).contains("1 of 49 ") && !shown(49).contains("49+"));
    assert!(shown(50).contains("1 of 50+"), "{}", shown(50));
}

#[test]
fn a_completed_name_is_one_word_of_a_command_and_hides_nothing() {
    let found = |typed: &str, query: &str, name: &str| {
        let mut screen = TestScreen::new();
        screen.write(typed).key(KeyCode::Tab);
        let (query, paths, at) = (query.to_owned(), vec![name.to_owned()], screen.at);
        screen.send(Msg::Host { reply: HostRequest::Files { query, paths }, at });
        screen.key(KeyCode::Tab);
        screen.model.composer.text().to_owned()
    };
    for (name, word) in [
        ("a; touch x", "'a; touch x'"),
        ("a$(touch x)", "'a$(touch x)'"),
        ("it's", r"'it'\''s'"),
        ("-rf", "./-rf"),
        ("a;touch x;:\n\n! cat a", r"$'a;touch x;:\012\012! cat a'"),
        ("a\u{202e}b", r"$'a\u202eb'"),
    ] {
        assert_eq!(found("!cat a", "a", name), format!("!cat {word} "), "{name:?}");
    }
    assert_eq!(found("see @a", "a", "a b.md"), "see @\"a b.md\" ");
    assert_eq!(found("see @a", "a", "a\nb"), "see @a", "the prompt would show another name");
}

#[test]
fn a_wrapped_draft_is_walked_line_by_line_before_the_history() {
    let mut screen = TestScreen::new();
    screen.send(Msg::Resize { width: 20, height: 24 });
    screen.model.composer.remember("earlier".into());
    screen.write("one two three four five").key(KeyCode::Up);
    assert_eq!(screen.model.composer.buffer.cursor(), 9);
    screen.key(KeyCode::Up);
    assert_eq!(screen.model.composer.text(), "earlier");
    screen.key(KeyCode::Down);
    assert_eq!(screen.model.composer.text(), "one two three four five");
}

#[test]
fn a_reply_that_brings_nothing_new_draws_nothing() {
    use crate::tui::model::DrawUrgency;
    let mut screen = TestScreen::new();
    screen.model.draw = DrawUrgency::Clean;
    let at = screen.at;
    let branch = screen.model.session.branch.clone();
    for reply in [HostRequest::Branch(branch), HostRequest::Remember("".into())] {
        screen.send(Msg::Host { reply, at });
        assert_eq!(screen.model.draw, DrawUrgency::Clean);
    }
    screen.send(Msg::Host { reply: HostRequest::Branch(Some("other".to_owned())), at });
    assert_eq!(screen.model.draw, DrawUrgency::Now);
}

#[test]
fn a_second_enter_sends_to_main_however_late() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let agent = screen.agent(&root(), "explore-1", "one");
    screen.key(KeyCode::Tab).event(&agent, finish(RunEnd::Completed, ""));
    screen.write("again");
    let hint = |screen: &mut TestScreen| super::pictures::picture(screen, 100, 30);
    assert!(hint(&mut screen).contains("Enter twice sends it to main"));
    screen.enter().wait(9_000);
    assert_eq!((screen.sent(), screen.notice()), (vec![], ""));
    assert!(hint(&mut screen).contains("Enter sends it to main"));
    screen.enter();
    assert!(matches!(&screen.sent()[..], [Command::Prompt { to, .. }] if to.is_root()));
}
