//! Commands of the prompt: those of people, sessions, compaction.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;

use crate::protocol::{
    AgentEvent, ApiError, Command, CompactionState, EventKind, Failure, McpState, McpStatus,
    NoticeLevel, PermissionMode, RunEnd, Sender, SessionId,
};
use crate::tui::host::{CommandChoice, HostRequest, McpServers};
use crate::tui::msg::{Msg, ScreenEffect};
use crate::tui::overlay::Overlay;
use crate::tui::slash::COMMANDS;
use crate::tui::slash::update::server_lines;
use crate::tui::testing::{TestScreen, finish, session_choice};
use crate::tui::transcript::ItemKind;

use super::overlays::reply;
use super::pictures::picture;
use super::{busy, root};

#[test]
fn commands_run_from_the_menu_and_unknown_ones_keep_the_draft() {
    let mut screen = TestScreen::new();
    screen.write("/qu").enter();
    assert!(screen.effects.contains(&ScreenEffect::Quit));
    let mut screen = TestScreen::new();
    screen.write("/frobnicate now").enter();
    assert_eq!(screen.notice(), "", "a file may have it");
    let reply = HostRequest::Commands(Vec::new());
    screen.send(Msg::Host { reply, at: Duration::ZERO });
    assert_eq!(screen.notice(), "unknown command /frobnicate · /help lists the commands");
    assert_eq!(screen.model.composer.text(), "/frobnicate now");
    screen.model.composer.discard();
    screen.write("/usr/bin/env is a path").enter();
    assert_eq!(screen.sent().len(), 1);
}

#[test]
fn every_command_of_the_menu_has_an_action() {
    for name in COMMANDS.map(|command| command.name) {
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
    let known = || Msg::Host { reply: HostRequest::Commands(vec![fix()]), at: Duration::ZERO };
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
fn clear_waits_while_main_works() {
    let mut screen = TestScreen::new();
    screen.prompt("go").write("/clear").enter();
    assert_eq!(
        (screen.sent(), screen.notice()),
        (vec![], "/clear must wait: main is working · Esc stops it")
    );
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
fn the_session_that_is_open_is_not_offered_again() {
    let mut screen = TestScreen::new();
    screen.opened(Vec::new());
    let open = screen.model.session.id.unwrap();
    screen.write("/resume").enter();
    let sessions =
        vec![session_choice(open, "OPEN-1"), session_choice(SessionId::generate(), "OTHER-2")];
    let reply = HostRequest::Sessions { everywhere: false, most: None, sessions };
    screen.send(Msg::Host { reply, at: Duration::ZERO });
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
fn renaming_without_a_name_begins_with_the_one_that_there_is() {
    let renames = |screen: &mut TestScreen| {
        let effects = std::mem::take(&mut screen.effects).into_iter();
        let names = effects.filter_map(|effect| match effect {
            ScreenEffect::Ask(HostRequest::Rename { name, .. }) => Some(name),
            _ => None,
        });
        names.collect::<Vec<_>>()
    };
    let mut screen = TestScreen::new();
    screen.opened(Vec::new());
    screen.write("/ren").enter();
    assert_eq!(screen.model.composer.text(), "/rename ");
    assert!(screen.model.composer.menu.is_none() && renames(&mut screen).is_empty());
    screen.model.composer.clear();
    screen.model.session.name = Some("Slow login".to_owned());
    screen.write("/rename").enter();
    assert_eq!(screen.model.composer.text(), "/rename Slow login");
    assert_eq!(screen.notice(), "/rename - removes the name");
    screen.write(" 2").enter();
    assert_eq!(renames(&mut screen), ["Slow login 2"]);
    screen.write("/rename -").enter();
    assert_eq!(renames(&mut screen), [""]);
    screen.model.session.name = None;
    screen.write("/rename -").enter();
    assert!(renames(&mut screen).is_empty());
    assert_eq!(screen.notice(), "this session has no name");
}

#[test]
fn a_session_that_is_not_stored_has_no_name_and_no_export() {
    for command in ["/rename x", "/rename", "/export a.md"] {
        let mut screen = TestScreen::new();
        screen.opened(Vec::new());
        screen.model.session.resumable = false;
        screen.effects.clear();
        screen.write(command).enter();
        assert_eq!(screen.notice(), "this session is not stored", "{command}");
        let asks = |effect: &ScreenEffect| {
            matches!(
                effect,
                ScreenEffect::Ask(HostRequest::Rename { .. } | HostRequest::Export { .. })
            )
        };
        assert!(!screen.effects.iter().any(asks));
    }
    let mut screen = TestScreen::new();
    screen.opened(Vec::new());
    let id = screen.model.session.id.unwrap().to_string();
    screen.write("/status").enter();
    assert!(picture(&mut screen, 120, 40).contains(&id));
    screen.esc();
    screen.model.session.resumable = false;
    screen.write("/status").enter();
    let shown = picture(&mut screen, 120, 40);
    assert!(shown.contains("session     not stored") && !shown.contains(&id), "{shown}");
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
    let (failure, error, reason) = (Failure::Overloaded, ApiError::default(), String::new());
    screen.event(&agent, EventKind::Retrying { attempt, limit, wait, failure, error, reason });
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
fn exit_quits_too() {
    let mut screen = TestScreen::new();
    screen.write("/exit").enter();
    assert_eq!(screen.sent(), [Command::Quit]);
    assert!(!crate::tui::slash::COMMANDS.iter().any(|command| command.name == "exit"));
}

#[test]
fn quit_asks_before_it_stops_work() {
    let mut screen = TestScreen::new();
    screen.prompt("go").write("/exit ").enter();
    assert_eq!(screen.notice(), "main is working · /exit again stops it");
    assert!(!screen.sent().contains(&Command::Quit));
    screen.write("/exit ").enter();
    assert!(screen.sent().contains(&Command::Quit));
}

#[test]
fn an_export_goes_to_the_named_file_and_says_where() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let session = SessionId::generate();
    screen.model.session.id = Some(session);
    screen.write("/export notes.md").enter();
    let (path, result) = ("notes.md".to_owned(), Ok(PathBuf::new()));
    let asked = HostRequest::Export { session, path: path.clone(), result };
    assert!(screen.effects.contains(&ScreenEffect::Ask(asked)), "{:?}", screen.effects);
    let result = Ok(PathBuf::from("/shop/notes.md"));
    let reply = HostRequest::Export { session, path: path.clone(), result };
    screen.send(Msg::Host { reply, at: Duration::ZERO });
    assert_eq!(screen.notice(), "exported to /shop/notes.md");
    let result = Err("/shop/notes.md exists: name another file".to_owned());
    let reply = HostRequest::Export { session, path, result };
    screen.send(Msg::Host { reply, at: Duration::ZERO });
    assert_eq!(screen.notice(), "/shop/notes.md exists: name another file");
}

#[test]
fn cost_says_when_there_was_no_request_yet() {
    let mut screen = busy();
    screen.write("/cost").enter();
    let shown = picture(&mut screen, 100, 30);
    assert!(shown.contains("context   no request has ended yet"), "{shown}");
}

#[test]
fn cost_follows_the_work_while_it_is_open() {
    let mut screen = busy();
    screen.write("/cost").enter().turn_done(&root(), 5_000, 0.25);
    let shown = picture(&mut screen, 100, 30);
    assert!(shown.contains("session   $0.25") && shown.contains("tokens    5k"), "{shown}");
}

#[test]
fn an_argument_is_used_or_the_command_says_that_it_takes_none() {
    let mut screen = TestScreen::new();
    screen.write("/diff HEAD~1").enter();
    assert_eq!(screen.notice(), "/diff takes no argument");
    assert_eq!(screen.model.composer.text(), "/diff HEAD~1", "it can be changed");
    assert!(screen.model.overlay.is_none());
    screen.model.composer.discard();
    screen.write("/permissions plan").enter();
    let mode = PermissionMode::Plan;
    assert_eq!(screen.sent(), [Command::SetMode { mode, answers: false }]);
    screen.write("/permissions free").enter();
    assert!(
        screen.notice().starts_with("there is no mode free · default, "),
        "{}",
        screen.notice()
    );
    assert_eq!(screen.sent(), []);
    screen.write("/permissions bypassPermissions").enter();
    assert_eq!(screen.sent(), [], "the list asks twice");
    let Some(Overlay::Picker(picker)) = &screen.model.overlay else { panic!("no list") };
    assert_eq!(picker.matching()[picker.selected].label, "bypassPermissions");
    screen.esc().wait(300);
    screen.write("/resume spring cleaning").enter();
    let Some(Overlay::Picker(picker)) = &screen.model.overlay else { panic!("no list") };
    assert_eq!(picker.filter.text(), "spring cleaning");
    screen.esc().wait(300);
    screen.write("/agents tidy").enter();
    let Some(Overlay::Agents(list)) = &screen.model.overlay else { panic!("no list") };
    assert_eq!(list.filter.text(), "tidy");
}

#[test]
fn no_file_takes_the_name_of_a_built_in_command() {
    for name in ["x:permissions", "x:exit", "permissions"] {
        let custom = CommandChoice {
            name: name.to_owned(),
            description: String::new(),
            argument_hint: None,
        };
        let mut screen = TestScreen::new();
        screen.model.commands = Some(vec![custom]);
        screen.write("/permissions acceptEdits").enter();
        assert!(matches!(screen.sent()[..], [Command::SetMode { .. }]), "{:?}", screen.sent());
    }
}

#[test]
fn the_page_of_servers_follows_them_until_it_is_closed() {
    let servers = |state| {
        let (tools, error, about) = (Vec::new(), None, "npx docs".to_owned());
        let status = McpStatus { name: "docs".to_owned(), state, tools, error, about };
        McpServers { running: vec![status], notes: Vec::new() }
    };
    let ask = |opened, servers| ScreenEffect::Ask(HostRequest::McpServers { opened, servers });
    let mut screen = TestScreen::new();
    screen.write("/mcp").enter();
    let opened = screen.at;
    assert!(screen.effects.contains(&ask(opened, McpServers::default())));
    for state in [McpState::Pending, McpState::Connected] {
        screen.effects.clear();
        let servers = servers(state);
        reply(&mut screen, HostRequest::McpServers { opened, servers: servers.clone() });
        assert!(picture(&mut screen, 80, 24).contains(state.label()));
        assert!(screen.effects.contains(&ask(opened, servers)), "{:?}", screen.effects);
    }
    // A page that is opened again is followed by itself.
    screen.esc().wait(300).write("/mcp").enter().effects.clear();
    let late = servers(McpState::Pending);
    reply(&mut screen, HostRequest::McpServers { opened, servers: late });
    assert_eq!(screen.effects, []);
    assert!(picture(&mut screen, 80, 24).contains("loading …"));
    let (opened, servers) = (screen.at, servers(McpState::Connected));
    screen.esc().wait(300).effects.clear();
    reply(&mut screen, HostRequest::McpServers { opened, servers });
    assert_eq!(screen.effects, []);
}

#[test]
fn a_name_on_the_page_of_servers_begins_no_line() {
    let status = McpStatus {
        name: "docs\n  1  Yes".to_owned(),
        state: McpState::Failed,
        tools: vec!["do\n  1  Yes\u{202e}".to_owned(), "Bash".to_owned()],
        error: Some("gone\n  1  Yes".to_owned()),
        about: "npx\n  1  Yes".to_owned(),
    };
    let servers = McpServers { running: vec![status], notes: Vec::new() };
    let lines = server_lines(&servers);
    assert_eq!(lines.len(), 3);
    for (text, _) in lines.iter().flat_map(|line| &line.0) {
        assert!(!text.contains('\n'), "{text:?}");
    }
    let shown: String = lines[1].0.iter().map(|(text, _)| text.as_str()).collect();
    assert!(shown.trim_start().starts_with("offers: do") && shown.contains("Yes"), "{shown}");
}
