//! Prompts, queueing, focus, folding, commands.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyModifiers};
use jiff::Timestamp;

use crate::protocol::{
    AgentEvent, Command, CompactionState, EventKind, Failure, NoticeLevel, PermissionMode,
    PromptId, PromptTiming, RunEnd, Sender, SessionId,
};
use crate::tui::host::{CommandChoice, HostRequest, SessionChoice};
use crate::tui::msg::{Msg, ScreenEffect};
use crate::tui::queue::MessageState;
use crate::tui::slash::COMMANDS;
use crate::tui::testing::{TestScreen, agent_choice, finish};
use crate::tui::transcript::ItemKind;

use super::pictures::picture;
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
}

#[test]
fn commands_run_from_the_menu_and_unknown_ones_keep_the_draft() {
    let mut screen = TestScreen::new();
    screen.write("/qu").enter();
    assert!(screen.effects.contains(&ScreenEffect::Quit));
    let mut screen = TestScreen::new();
    screen.write("/frobnicate now").enter();
    assert_eq!(screen.notice(), "", "a file may have it");
    let reply = HostRequest::Commands(Vec::new());
    screen.send(Msg::Host { answered: reply, at: Duration::ZERO });
    assert_eq!(screen.notice(), "unknown command /frobnicate · /help lists the commands");
    assert_eq!(screen.model.composer.text(), "/frobnicate now");
    screen.model.composer.discard();
    screen.write("/usr/bin/env is a path").enter();
    assert_eq!(screen.sent().len(), 1);
}

#[test]
fn every_command_of_the_menu_has_an_action() {
    for (name, _) in COMMANDS {
        let mut screen = TestScreen::new();
        screen.write(&format!("/{name} ")).enter();
        assert!(!screen.notice().contains("no action"), "{name}: {}", screen.notice());
    }
}

#[test]
fn a_command_that_people_have_written_is_sent_as_soon_as_it_is_known() {
    let fix = || CommandChoice {
        name: "gh:fix".to_owned(),
        description: "Mends".to_owned(),
        argument_hint: None,
    };
    let known = || Msg::Host { answered: HostRequest::Commands(vec![fix()]), at: Duration::ZERO };
    for draft in ["/gh:fix 12", "/fix 12"] {
        let mut screen = TestScreen::new();
        screen.write(draft).enter();
        assert_eq!(screen.sent(), []);
        let [Command::Prompt { prompt, .. }] = &screen.send(known()).sent()[..] else { panic!() };
        assert_eq!(prompt.text, draft);
        // A draft changed in the meantime stays.
        let mut screen = TestScreen::new();
        screen.write(draft).enter().write("3").send(known());
        assert_eq!((screen.sent(), screen.model.composer.text()), (vec![], &*format!("{draft}3")));
    }
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
        screen.send(Msg::Host { answered: reply, at: Duration::ZERO });
        assert_eq!(asked(&mut screen), []);
    }
}

#[test]
fn clear_waits_while_main_works() {
    let mut screen = TestScreen::new();
    screen.prompt("go").write("/clear").enter();
    assert_eq!(
        (screen.sent(), screen.notice()),
        (vec![], "/clear must wait: main is working · Esc stops it")
    );
}

#[test]
fn another_session_replaces_what_is_shown() {
    let mut screen = TestScreen::new();
    let first = SessionId::generate();
    screen.main(EventKind::SessionOpened { id: first, history: Vec::new(), forked: false });
    screen.prompt("go").main(finish(RunEnd::Completed, ""));
    let read =
        |text: &str| EventKind::PromptRead { id: None, text: text.into(), from: Sender::Person };
    let state = CompactionState::Done { before_tokens: 170_000, after_tokens: 4_000 };
    let compacted = EventKind::Compaction { by_hand: true, state };
    screen.opened(vec![(&root(), read("earlier")), (&root(), compacted), (&root(), read("later"))]);
    let kinds: Vec<_> = screen.model.main.iter().map(|(_, item)| item.kind.clone()).collect();
    let prompt = |text: &str| ItemKind::Prompt { text: text.into(), task: false };
    let text = "compacted: 170k to 4k tokens · continues from a summary".to_owned();
    let mark = ItemKind::Notice { level: NoticeLevel::Info, text };
    assert_eq!(kinds, [prompt("earlier"), mark, prompt("later")]);
}

#[test]
fn without_a_model_the_draft_stays() {
    let mut screen = TestScreen::new();
    screen.model.session.first_run = Some(crate::tui::FirstRun::default());
    screen.write("hello").enter();
    assert_eq!((screen.sent(), screen.model.composer.text()), (vec![], "hello"));
    assert_eq!(screen.notice(), "No model yet: your text stays here · /model");
}

#[test]
fn a_large_paste_stays_text_and_sends_nothing() {
    let mut screen = TestScreen::new();
    let text = "line\r\n".repeat(5000);
    let at = screen.at;
    screen.send(Msg::Paste { text, at });
    assert_eq!(screen.sent(), []);
    assert_eq!(screen.model.composer.text().lines().count(), 5000);
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
    let retrying = |status| EventKind::Retrying {
        attempt: 2,
        limit: 8,
        wait,
        failure,
        status: Some(status),
        reason: reason.clone(),
    };
    screen.main(retrying(529));
    assert_eq!(screen.model.main.last_text(), None);
    let words = |screen: &TestScreen| crate::tui::labels::main_label(&screen.model);
    assert_eq!(words(&screen), "overloaded · retrying in 4 s (2 of 8)");
    screen.main(retrying(500));
    assert_eq!(words(&screen), "the provider failed (500) · retrying in 4 s (2 of 8)");
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
fn a_click_focuses_a_second_one_zooms_and_a_click_on_an_answer_only_chooses_it() {
    use crate::tui::msg::{HitKind, HitTarget};
    use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
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
    screen.send(Msg::Host { answered: HostRequest::Agents(choices), at });
    let paths = vec!["docs/example.md".to_owned()];
    screen.send(Msg::Host { answered: HostRequest::Files { query: "ex".to_owned(), paths }, at });
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
        screen.model.composer.remember(text);
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
    screen.send(Msg::Host { answered: HostRequest::Files { query: "ma".to_owned(), paths }, at });
    screen.key(KeyCode::Tab);
    assert_eq!(screen.model.composer.text(), "!cat src/main.rs ");
}

#[test]
fn a_wrapped_draft_is_walked_line_by_line_before_the_history() {
    let mut screen = TestScreen::new();
    screen.send(Msg::Resize { width: 20, height: 24 });
    screen.model.composer.remember("earlier");
    screen.write("one two three four five").key(KeyCode::Up);
    assert_eq!(screen.model.composer.buffer.cursor(), 6);
    screen.key(KeyCode::Up);
    assert_eq!(screen.model.composer.text(), "earlier");
    screen.key(KeyCode::Down);
    assert_eq!(screen.model.composer.text(), "one two three four five");
}

#[test]
fn what_the_mouse_draws_over_is_copied_and_clicks_nothing() {
    use crate::tui::msg::{HitKind, HitTarget};
    use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
    use ratatui::layout::Rect;
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
    let chosen: Vec<_> = screen.model.selection.unwrap().rows().collect();
    assert_eq!(chosen, [(3, 52, 80), (4, 50, 80), (5, 50, 51)]);
    mouse(&mut screen, MouseEventKind::Up(MouseButton::Left), 10, 5);
    assert!(screen.effects.contains(&ScreenEffect::CopySelection));
    assert_eq!((screen.notice(), &screen.model.focus), ("copied 3 lines", &None));
    screen.write("x");
    assert_eq!(screen.model.selection, None);
}

#[test]
fn the_wheel_scrolls_the_pane_under_it_and_leaves_the_focus_alone() {
    use crate::tui::msg::{HitKind, HitTarget};
    use crate::tui::transcript::Extent;
    use crossterm::event::{MouseEvent, MouseEventKind};
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
fn a_reply_that_brings_nothing_new_draws_nothing() {
    use crate::tui::model::DrawUrgency;
    let mut screen = TestScreen::new();
    screen.model.draw = DrawUrgency::Clean;
    let at = screen.at;
    let branch = screen.model.session.branch.clone();
    for reply in [HostRequest::Branch(branch), HostRequest::Remember(String::new())] {
        screen.send(Msg::Host { answered: reply, at });
        assert_eq!(screen.model.draw, DrawUrgency::Clean);
    }
    screen.send(Msg::Host { answered: HostRequest::Branch(Some("other".to_owned())), at });
    assert_eq!(screen.model.draw, DrawUrgency::Now);
}

fn compaction(by_hand: bool, state: CompactionState) -> EventKind {
    EventKind::Compaction { by_hand, state }
}

#[test]
fn compact_is_a_command_of_idle_main_and_takes_instructions() {
    let mut screen = TestScreen::new();
    screen.write("/compact keep the names").enter();
    let instructions = Some("keep the names".to_owned());
    assert_eq!(screen.sent(), [Command::Compact { instructions }]);
    screen.main(compaction(true, CompactionState::Started));
    assert!(screen.model.main_is_busy());
    assert_eq!(crate::tui::labels::main_label(&screen.model), "compacting 0:00");
    screen.write("/compact").enter();
    assert_eq!(screen.sent(), []);
    assert_eq!(screen.notice(), "/compact must wait: main is working · Esc stops it");
    let done = CompactionState::Done { before_tokens: 170_000, after_tokens: 4_000 };
    screen.main(compaction(true, done));
    assert!(!screen.model.main_is_busy());
    assert_eq!(screen.model.run.context, 4_000);
    let kinds: Vec<_> = screen.model.main.iter().map(|(_, item)| item.kind.clone()).collect();
    let text = "compacted: 170k to 4k tokens · continues from a summary".to_owned();
    assert_eq!(kinds, [ItemKind::Notice { level: NoticeLevel::Info, text }]);
}

#[test]
fn esc_stops_a_compaction_by_hand_and_main_is_idle_again() {
    let mut screen = TestScreen::new();
    screen.main(compaction(true, CompactionState::Started)).esc();
    assert_eq!(screen.sent(), [Command::CancelTurn]);
    screen.main(compaction(true, CompactionState::Cancelled));
    assert!(!screen.model.main_is_busy() && !screen.model.run.cancelling);
}

#[test]
fn a_run_that_compacts_goes_on_and_a_repeated_summary_takes_no_text_back() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let agent = screen.agent(&root(), "explore-1", "one");
    screen.says(&agent, "first words");
    screen.event(&agent, compaction(false, CompactionState::Started));
    let state = |screen: &TestScreen| {
        let agent = screen.model.agents.get(&agent).unwrap();
        crate::tui::labels::agent_status(&screen.model, agent).text
    };
    assert_eq!(state(&screen), "compacting");
    let (attempt, limit, wait) = (1, 4, std::time::Duration::ZERO);
    let (failure, status, reason) = (Failure::Overloaded, Some(529), "529".to_owned());
    screen.event(&agent, EventKind::Retrying { attempt, limit, wait, failure, status, reason });
    let why = "no".to_owned();
    screen.event(&agent, compaction(false, CompactionState::Failed { why }));
    assert_eq!(state(&screen), "starting");
    let transcript = &screen.model.agents.get(&agent).unwrap().transcript;
    assert_eq!(transcript.last_text(), Some("first words"));
    let last = transcript.iter().last().map(|(_, item)| item.kind.clone());
    let text = "not compacted: no".to_owned();
    assert_eq!(last, Some(ItemKind::Notice { level: NoticeLevel::Warning, text }));
}

#[test]
fn the_session_that_is_open_is_not_offered_again() {
    let mut screen = TestScreen::new();
    screen.opened(Vec::new());
    let open = screen.model.session.id.unwrap();
    let choice = |id: SessionId, title: &str| SessionChoice {
        id,
        title: title.to_owned(),
        age: "2 min ago".to_owned(),
        agents: 0,
        cost: None,
        answer: String::new(),
    };
    screen.write("/resume").enter();
    let sessions = vec![choice(open, "OPEN-1"), choice(SessionId::generate(), "OTHER-2")];
    screen.send(Msg::Host { answered: HostRequest::Sessions(sessions), at: Duration::ZERO });
    let output = picture(&mut screen, 100, 24);
    assert!(output.contains("OTHER-2") && !output.contains("OPEN-1"), "{output}");
}

#[test]
fn the_end_of_a_long_session_is_shown_until_all_of_it_is_there() {
    let mut screen = TestScreen::new();
    let read =
        |text: &str| EventKind::PromptRead { id: None, text: text.into(), from: Sender::Person };
    let at = Timestamp::from_second(9).unwrap();
    let last = AgentEvent { path: root(), seq: 0, at, kind: read("last") };
    screen.main(EventKind::SessionPreview { history: vec![last] });
    let shown = |screen: &TestScreen| screen.model.main.iter().count();
    assert_eq!(shown(&screen), 1);
    screen.opened(vec![(&root(), read("first")), (&root(), read("last"))]);
    assert_eq!(shown(&screen), 2);
}

#[test]
fn clearing_says_so_and_counts_prompts_anew() {
    let mut screen = TestScreen::new();
    screen.opened(Vec::new());
    assert_eq!(screen.notice(), "");
    screen.write("hello").enter();
    assert_eq!(screen.model.session.prompts, 1);
    screen.opened(Vec::new());
    assert_eq!(screen.notice(), "cleared · this is a new session");
    assert_eq!(screen.model.session.prompts, 0);
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
