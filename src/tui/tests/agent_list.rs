//! `/agents`, and `@` in the draft.

use crossterm::event::KeyCode;

use crate::protocol::{AgentPath, Command, EventKind, NoticeLevel, RunEnd, Sender, ShellId};
use crate::tui::agents::list::rows::ListRow;
use crate::tui::host::HostRequest;
use crate::tui::msg::{Msg, ScreenEffect};
use crate::tui::overlay::Overlay;
use crate::tui::page::PageBody;
use crate::tui::testing::{TestScreen, agent_choice, finish};
use crate::tui::transcript::ItemKind;

use super::pictures::picture;
use super::root;

fn defined(screen: &mut TestScreen, names: &[&str]) {
    let at = screen.at;
    let choices = names.iter().map(|name| agent_choice(name)).collect();
    screen.send(Msg::Host { reply: HostRequest::Agents(choices), at });
}

/// Main, `explore-1` and `bash-1` are running, `plan-1` has ended, and the list is open.
fn open_list() -> (TestScreen, AgentPath, AgentPath) {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let running = screen.agent(&root(), "explore-1", "map the routes");
    let ended = screen.agent(&root(), "plan-1", "split the work");
    screen.event(&ended, finish(RunEnd::Completed, "")).job(&root(), "bash-1", "npm run dev");
    screen.write("/agents").enter();
    defined(&mut screen, &["explore"]);
    screen.sent();
    (screen, running, ended)
}

fn rows(screen: &TestScreen) -> Vec<String> {
    let Some(Overlay::Agents(list)) = &screen.model.overlay else { panic!() };
    let rows = list.rows(&screen.model);
    rows.iter().map(|row| row.name(&screen.model).to_owned()).collect()
}

fn keys(screen: &TestScreen) -> String {
    let Some(Overlay::Agents(list)) = &screen.model.overlay else { panic!() };
    list.hint(&screen.model).join(" · ")
}

#[test]
fn what_runs_comes_first_then_the_session_then_definitions() {
    let (screen, ..) = open_list();
    assert_eq!(rows(&screen), ["explore-1", "bash-1", "plan-1", "explore"]);
}

#[test]
fn agents_stand_below_the_one_that_started_them_until_a_filter_orders_them() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let plan = screen.agent(&root(), "plan-1", "split the work");
    screen.agent(&root(), "explore-1", "map the routes");
    let below = screen.agent(&plan, "explore-2", "read the docs");
    let ended = screen.agent(&below, "explore-3", "look at the tests");
    screen.event(&ended, finish(RunEnd::Completed, "All pass.")).write("/agents").enter();
    defined(&mut screen, &["explore"]);
    let list = |screen: &mut TestScreen| {
        let shown = picture(screen, 80, 24);
        let rows = shown.lines().skip_while(|line| !line.starts_with("╭ agents"));
        let rows = rows.filter(|line| line.contains("plore-") || line.contains("plan-"));
        rows.map(|line| line.chars().skip(4).take(34).collect()).collect::<Vec<String>>()
    };
    assert_eq!(
        list(&mut screen),
        [
            "▌1 split the work     plan-1     ◦",
            "└▌3 read the docs     explore-2  ⠋",
            "▌2 map the routes     explore-1  ⠋",
            "▌4 look at the tests  explore-3  ✓",
        ],
        "the one that has ended is in another section"
    );
    screen.write("/explore");
    assert_eq!(list(&mut screen).iter().filter(|line| line.starts_with('▌')).count(), 3);
}

#[test]
fn a_command_has_a_sign_where_an_agent_has_a_number() {
    let (mut screen, ..) = open_list();
    let shown = picture(&mut screen, 80, 24);
    let row = |shown: &str| {
        let rows: Vec<&str> = shown.lines().filter(|line| line.contains("bash-1")).collect();
        let [row] = rows[..] else { panic!("once: {shown}") };
        row.to_owned()
    };
    assert!(row(&shown).starts_with("│   $ npm run dev  bash-1  ⠋ running  "), "{shown}");
    screen.esc();
    let shown = picture(&mut screen, 80, 24);
    assert!(row(&shown).starts_with("$ npm run dev  bash-1  ⠋ running  "), "{shown}");
    let narrow = picture(&mut screen, 40, 12);
    assert!(narrow.contains("$ npm run dev  bash-1"), "{narrow}");
}

#[test]
fn the_filter_looks_at_names_titles_and_commands() {
    let (mut screen, ..) = open_list();
    screen.write("/NPM dev");
    assert_eq!(rows(&screen), ["bash-1"]);
    screen.esc();
    assert_eq!(rows(&screen).len(), 4);
}

#[test]
fn escape_in_the_filter_does_what_the_keys_say() {
    let (mut screen, ..) = open_list();
    screen.write("/n");
    assert_eq!(keys(&screen), "type to filter · Enter open · Esc clears the filter");
    screen.key(KeyCode::Backspace);
    assert_eq!(keys(&screen), "type to filter · Enter open · Esc ends the filter");
    screen.esc().wait(300);
    assert!(keys(&screen).contains("Esc closes"), "{}", keys(&screen));
    screen.esc().wait(300).write("/agents npm").enter();
    assert_eq!(rows(&screen), ["bash-1"]);
    assert!(picture(&mut screen, 80, 24).contains("agents › npm"));
    screen.esc();
    assert_eq!(screen.model.overlay, None);
}

#[test]
fn keys_are_named_only_where_they_do_something() {
    let (mut screen, ..) = open_list();
    assert_eq!(
        keys(&screen),
        "Enter open · x cancel, b background · Esc closes · a twice cancels all · / filter"
    );
    screen.key(KeyCode::Down);
    assert_eq!(keys(&screen), "Enter open · x kill · Esc closes · a twice cancels all · / filter");
    screen.key(KeyCode::Down);
    assert_eq!(
        keys(&screen),
        "Enter open · r resume, at a cost · Esc closes · a twice cancels all · / filter"
    );
    screen.key(KeyCode::Down);
    assert_eq!(keys(&screen), "Enter mentions it · Esc closes · a twice cancels all · / filter");
}

#[test]
fn b_moves_x_cancels_and_r_resumes_the_chosen_one() {
    let (mut screen, running, ended) = open_list();
    let (running, ended) = (running.id().unwrap(), ended.id().unwrap());
    screen.write("r");
    assert_eq!(screen.sent(), []);
    screen.write("b");
    assert_eq!(screen.sent(), [Command::Background(running)]);
    assert_eq!(screen.notice(), "agent 1 is in the background now · main continues");
    screen.write("x");
    assert_eq!(screen.sent(), [Command::Cancel(running)]);
    screen.key(KeyCode::Down).write("x").write("x");
    assert_eq!(screen.sent(), [Command::KillShell(ShellId::new("bash-1"))]);
    screen.key(KeyCode::Down).write("b");
    assert_eq!(screen.sent(), []);
    screen.write("r");
    assert_eq!(screen.sent(), [Command::ResumeAgent(ended)]);
    assert_eq!(screen.notice(), "agent 2 resumes in the background");
}

#[test]
fn an_agent_that_never_began_cannot_be_resumed() {
    let (mut screen, running, _) = open_list();
    screen.event(&running, finish(RunEnd::Cancelled { before_start: true }, ""));
    screen.write("r");
    assert_eq!(screen.sent(), []);
}

#[test]
fn a_key_never_hits_the_neighbour_of_an_agent_that_ended() {
    let (mut screen, running, _) = open_list();
    screen.event(&running, finish(RunEnd::Completed, "")).write("x");
    assert_eq!(screen.sent(), []);
    assert_eq!(screen.notice(), "agent 1 has ended (done)");
}

#[test]
fn enter_opens_the_transcript_of_an_agent_in_the_background_that_has_gone() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let docs = screen.background(&root(), "docs-1", "docs");
    screen.event(&docs, finish(RunEnd::Completed, "Nothing.")).wait(11_000);
    assert!(screen.model.agents.visible().is_empty());
    screen.write("/agents").enter().enter();
    assert_eq!((screen.model.focus.as_ref(), screen.model.zoom), (Some(&docs), true));
    assert_eq!(screen.model.overlay, None);
    screen.esc().wait(300).esc();
    assert!(screen.model.agents.visible().is_empty());
}

#[test]
fn enter_on_a_definition_mentions_it_and_on_a_command_shows_it() {
    let (mut screen, ..) = open_list();
    screen.key(KeyCode::Up).enter();
    assert_eq!(screen.model.composer.text(), "@agent-explore ");
    screen.model.composer.discard();
    screen.write("/agents").enter().key(KeyCode::Down).enter();
    let Some(Overlay::Page(page)) = &screen.model.overlay else { panic!() };
    assert_eq!(page.body, PageBody::Job("bash-1".to_owned()));
}

#[test]
fn a_row_stands_for_the_same_agent_when_another_starts() {
    let (mut screen, _, ended) = open_list();
    screen.key(KeyCode::Down).key(KeyCode::Down);
    screen.background(&root(), "docs-1", "docs");
    let Some(Overlay::Agents(list)) = &screen.model.overlay else { panic!() };
    assert_eq!(list.selected_row(&screen.model), Some(ListRow::Agent(ended)));
}

#[test]
fn commands_stand_oldest_first_however_they_start() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    // They start together, and the second one is said first.
    for id in ["bash-2", "bash-10", "bash-1"] {
        screen.job(&root(), id, "npm run dev");
    }
    screen.write("/agents").enter();
    defined(&mut screen, &[]);
    assert_eq!(rows(&screen), ["bash-1", "bash-2", "bash-10"]);
    screen.key(KeyCode::Down).job_done(&root(), "bash-1", 0);
    assert_eq!(rows(&screen), ["bash-2", "bash-10", "bash-1"]);
    let selected = |screen: &TestScreen| {
        let Some(Overlay::Agents(list)) = &screen.model.overlay else { panic!() };
        list.selected_row(&screen.model)
    };
    let second = Some(ListRow::Job("bash-2".to_owned()));
    assert_eq!(selected(&screen), second);
    screen.job_done(&root(), "bash-2", 0);
    assert_eq!(rows(&screen), ["bash-10", "bash-1", "bash-2"]);
    assert_eq!(selected(&screen), second);
}

#[test]
fn the_words_below_the_list_do_not_repeat_the_row_of_a_command() {
    let mut screen = TestScreen::new();
    let long = format!("echo {}", "word ".repeat(30).trim());
    screen.prompt("go").job(&root(), "bash-1", "npm run dev").job(&root(), "bash-2", &long);
    screen.write("/agents").enter();
    defined(&mut screen, &[]);
    let shown = picture(&mut screen, 80, 24);
    assert_eq!(shown.matches("npm run dev").count(), 1, "{shown}");
    assert!(shown.contains("│ started by main "), "{shown}");
    screen.key(KeyCode::Down);
    let shown = picture(&mut screen, 80, 24);
    assert!(shown.contains("│ started by main ") && shown.contains("│ echo word word"), "{shown}");
}

#[test]
fn a_prompt_that_names_an_unknown_agent_stays_in_the_prompt() {
    let mut screen = TestScreen::new();
    defined(&mut screen, &["explore", "plan"]);
    screen.effects.clear();
    screen.write("@agent-exlpore look").enter();
    assert_eq!(screen.model.composer.text(), "@agent-exlpore look");
    assert_eq!(screen.notice(), "no agent exlpore: /agents lists them");
    assert!(
        screen.effects.contains(&ScreenEffect::Ask(HostRequest::Agents(Vec::new()))),
        "it may have come since"
    );
    assert_eq!(screen.sent(), []);
    defined(&mut screen, &["explore", "exlpore"]);
    screen.enter();
    assert!(matches!(&screen.sent()[..], [Command::Prompt { .. }]));
}

#[test]
fn only_a_typed_or_chosen_name_of_an_agent_is_the_users_wish() {
    let sent = |screen: &mut TestScreen| {
        screen.enter();
        let Some(Command::Prompt { prompt, .. }) = screen.sent().pop() else { panic!() };
        prompt.agent_mentions
    };
    let words = |words: &[&str]| Some(words.iter().map(|&word| word.to_owned()).collect());
    let paste = |screen: &mut TestScreen, text: &str| {
        let at = screen.at;
        screen.send(Msg::Paste { text: text.to_owned(), at });
    };
    let mut screen = TestScreen::new();
    screen.write("@agent-explore look");
    assert_eq!(sent(&mut screen), None, "all of it is typed");
    let mut screen = TestScreen::new();
    paste(&mut screen, "see @agent-explore now");
    assert_eq!(sent(&mut screen), words(&[]));
    let mut screen = TestScreen::new();
    paste(&mut screen, "see @agent-explore");
    screen.write(" what is that?");
    assert_eq!(sent(&mut screen), words(&[]));
    let mut screen = TestScreen::new();
    paste(&mut screen, "see @agent-");
    screen.write("explore it");
    assert_eq!(sent(&mut screen), words(&[]), "a word that was pasted in part");
    let mut screen = TestScreen::new();
    paste(&mut screen, "a log with @agent-plan\n");
    screen.write("@agent-explorx").key(KeyCode::Backspace).write("e look at this");
    assert_eq!(sent(&mut screen), words(&["@agent-explore"]));
    let mut screen = TestScreen::new();
    paste(&mut screen, "a log\n");
    screen.write("for @agent-explore");
    assert_eq!(sent(&mut screen), words(&["@agent-explore"]));
    let mut screen = TestScreen::new();
    defined(&mut screen, &["explore"]);
    paste(&mut screen, "a log with @agent-nobody\n");
    screen.write("@agent-ex").key(KeyCode::Tab);
    assert!(screen.model.composer.text().ends_with("@agent-explore "));
    assert_eq!(sent(&mut screen), words(&["@agent-explore"]));
}

#[test]
fn without_known_definitions_the_runtime_judges() {
    let mut screen = TestScreen::new();
    screen.write("see @agent-x now").enter();
    let Some(Command::Prompt { prompt, .. }) = screen.sent().pop() else { panic!() };
    assert_eq!(screen.model.composer.text(), "");
    let why = "@agent-x: there is no such agent".to_owned();
    screen.main(EventKind::PromptRefused { id: prompt.id, text: prompt.text, why: why.clone() });
    assert_eq!(screen.model.composer.text(), "see @agent-x now");
    let notice = ItemKind::Notice { level: NoticeLevel::Error, text: why };
    assert_eq!(screen.model.main.iter().last().map(|(_, item)| &item.kind), Some(&notice));
}

#[test]
fn a_queued_message_that_is_refused_is_named_where_it_was_not_written() {
    let mut screen = TestScreen::new();
    screen.prompt("go").write("BLOCK me please").enter();
    let Some(Command::Prompt { prompt, .. }) = screen.sent().pop() else { panic!() };
    screen.main(EventKind::PromptQueued { id: prompt.id });
    let why = "a hook rejected this prompt: no".to_owned();
    screen.main(EventKind::PromptRefused { id: prompt.id, text: prompt.text, why });
    let text = "\"BLOCK me please\" was not sent: a hook rejected this prompt: no".to_owned();
    let notice = ItemKind::Notice { level: NoticeLevel::Error, text };
    assert_eq!(screen.model.main.iter().last().map(|(_, item)| &item.kind), Some(&notice));
    assert_eq!(screen.model.composer.text(), "BLOCK me please");
}

#[test]
fn an_at_sign_finds_agents_by_letters_in_order_the_best_fit_first() {
    let mut screen = TestScreen::new();
    defined(&mut screen, &["api-plan", "general-purpose", "plan"]);
    let offered = |screen: &TestScreen| -> Vec<String> {
        let items = screen.model.composer.menu.iter().flat_map(|menu| &menu.items);
        items.map(|item| item.insert.clone()).collect()
    };
    screen.write("@pl");
    assert_eq!(offered(&screen), ["@agent-plan", "@agent-api-plan"]);
    screen.model.composer.discard();
    screen.write("@gnp");
    assert_eq!(offered(&screen), ["@agent-general-purpose"]);
}

#[test]
fn what_was_allowed_until_an_agent_ends_stands_in_permissions_until_then() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let agent = screen.agent(&root(), "explore-2", "query");
    screen.asks(&agent, 7, "explore-2", "psql shop").write("2");
    let shown = |screen: &mut TestScreen| -> String {
        screen.write("/permissions").enter();
        let shown = picture(screen, 120, 40);
        screen.model.overlay = None;
        shown
    };
    let line = "allow  Bash(psql:*)  explore-2, until it ends";
    assert!(!shown(&mut screen).contains(line), "nobody has said yet that it counts");
    let id = crate::protocol::QuestionId(7);
    screen.event(&agent, crate::protocol::EventKind::QuestionClosed { id, allowed: Some(true) });
    assert!(shown(&mut screen).contains(line));
    screen.event(&agent, finish(RunEnd::Completed, ""));
    assert!(!shown(&mut screen).contains(line));
}

#[test]
fn agents_of_an_earlier_program_are_listed_and_can_go_on_but_stand_in_no_panel() {
    let mut screen = TestScreen::new();
    let path = root().child(crate::protocol::AgentId::generate());
    let info = crate::tui::testing::agent_info("explore-1", "map the routes");
    let started = crate::protocol::EventKind::Started(Box::new(info));
    screen.opened(vec![(&path, started), (&path, finish(RunEnd::Interrupted, "half"))]);
    assert!(screen.model.agents.visible().is_empty());
    screen.write("/agents").enter();
    defined(&mut screen, &[]);
    assert_eq!(rows(&screen), ["explore-1"]);
    screen.write("r");
    assert!(screen.sent().contains(&Command::ResumeAgent(path.id().unwrap())));
}

#[test]
fn a_batch_shows_the_first_run_of_an_agent_that_was_resumed() {
    let mut screen = TestScreen::new();
    let paths = [0, 1].map(|_| root().child(crate::protocol::AgentId::generate()));
    let started = |name: &str| {
        EventKind::Started(Box::new(crate::tui::testing::agent_info(name, "map the routes")))
    };
    let turn = || EventKind::TurnStarted { turn: 1, limit: None };
    screen.opened(vec![
        (&paths[0], started("explore-1")),
        (&paths[0], turn()),
        (&paths[1], started("explore-2")),
        (&paths[1], turn()),
        (&paths[0], finish(RunEnd::Interrupted, "half")),
        (&paths[1], finish(RunEnd::Completed, "done")),
    ]);
    screen.event(&paths[0], started("explore-1")).event(&paths[0], turn());
    screen.wait(3000).event(&paths[0], finish(RunEnd::Completed, "done"));
    let batch = super::pictures::picture(&mut screen, 100, 30);
    let head = batch.lines().find(|line| line.contains("2 agents")).unwrap();
    assert!(head.contains("2 agents · ✓ 1 ⊘ 1 · 0:04  "), "{head}");
}

#[test]
fn the_conversations_of_stored_agents_are_asked_for_when_they_can_be_seen() {
    let mut screen = TestScreen::new();
    let paths = [0, 1].map(|_| root().child(crate::protocol::AgentId::generate()));
    let info = |name: &str| Box::new(crate::tui::testing::agent_info(name, "map"));
    screen.opened(vec![
        (&paths[0], EventKind::Started(info("explore-1"))),
        (&paths[0], finish(RunEnd::Completed, "LAST")),
        (&root(), EventKind::PromptRead { id: None, text: "go".into(), from: Sender::Person }),
        (&paths[1], EventKind::Started(info("explore-2"))),
        (&paths[1], finish(RunEnd::Completed, "LAST")),
    ]);
    assert_eq!(screen.sent(), [], "an open session reads nothing");
    screen.key(KeyCode::Tab);
    let ids = paths.clone().map(|path| path.id().unwrap());
    assert_eq!(screen.sent(), [Command::ReadTranscript(ids[1])], "only the last batch is seen");
    let task = "Please map.".to_owned();
    let read = EventKind::PromptRead { id: None, text: task.into(), from: Sender::Person };
    let block = crate::protocol::ContentBlock::text("WHOLE");
    let said = EventKind::BlockFinished {
        message_id: String::new(),
        model: String::new(),
        block,
        usage: crate::protocol::Usage::default(),
    };
    screen.event(&paths[1], EventKind::TranscriptRead { events: vec![read, said] });
    let texts = |screen: &TestScreen, path: &AgentPath| -> Vec<String> {
        let items = screen.model.transcript(path).iter();
        items
            .map(|(_, item)| match &item.kind {
                ItemKind::Prompt { text, task: true } => format!("task: {text}"),
                ItemKind::Text { text, .. } => text.to_string(),
                other => format!("{other:?}"),
            })
            .collect()
    };
    assert_eq!(texts(&screen, &paths[1]), ["task: Please map.", "WHOLE"]);
    // It is loaded now: nothing replaces it, and nothing requests it again.
    screen.event(&paths[1], EventKind::TranscriptRead { events: Vec::new() });
    screen.key(KeyCode::Tab);
    assert_eq!((screen.sent(), texts(&screen, &paths[1]).len()), (vec![], 2));
}

#[test]
fn an_agent_is_found_with_all_below_it_in_order_of_start() {
    let main = AgentPath::root();
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let first = screen.agent(&main, "plan-1", "one");
    let second = screen.agent(&main, "plan-2", "two");
    let below = screen.agent(&first, "explore-1", "three");
    let names = |screen: &TestScreen, top: &AgentPath| -> Vec<String> {
        screen.model.agents.within(top).map(|agent| agent.info.name.clone()).collect()
    };
    assert_eq!(names(&screen, &main), ["plan-1", "plan-2", "explore-1"]);
    assert_eq!(names(&screen, &first), ["plan-1", "explore-1"]);
    assert_eq!(names(&screen, &second), ["plan-2"]);
    assert_eq!(names(&screen, &below), ["explore-1"]);
    screen.model.agents.clear();
    assert_eq!(names(&screen, &main), [""; 0]);
}

#[test]
fn a_resumed_agent_keeps_its_task_and_its_row_below_the_earlier_turn() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let path = screen.agent(&root(), "explore-1", "map the routes");
    screen.turn_done(&path, 9_000, 0.03).wait(65_000);
    screen.event(&path, finish(RunEnd::MaxTurns { limit: 20 }, "half"));
    screen.main(finish(RunEnd::Completed, ""));
    let row = |screen: &mut TestScreen| {
        let shown = picture(screen, 120, 40);
        let line = shown.lines().find(|line| line.contains("turn limit, partial"));
        line.map(str::to_owned).unwrap_or_else(|| panic!("{shown}"))
    };
    let before = row(&mut screen);
    assert!(before.contains("1:05  1 turn  9k  $0.03"), "{before}");
    let told = "[Your last run has ended: turn limit 20, partial.]";
    let mut info = crate::tui::testing::agent_info("explore-1", told);
    info.prompt = told.to_owned();
    info.background = true;
    screen.event(&path, EventKind::Started(Box::new(info)));
    let main = Sender::Agent { name: "main".to_owned() };
    screen.reads(&path, main, told).event(&path, EventKind::TurnStarted { turn: 1, limit: None });
    screen.turn_done(&path, 5_000, 0.02);
    assert_eq!(row(&mut screen), before);
    let agent = screen.model.agents.get(&path).unwrap();
    assert_eq!(agent.info.description, "map the routes");
    let told = |kind: &ItemKind| matches!(kind, ItemKind::Prompt { text, .. } if text.contains("Your last"));
    assert!(!agent.transcript.iter().any(|(_, item)| told(&item.kind)));
    assert_eq!(agent.info.prompt, "Please map the routes.");
}

#[test]
fn a_pressed_once_is_forgotten_with_its_notice() {
    let (mut screen, ..) = open_list();
    screen.write("a").wait(6000).write("a");
    assert_eq!(screen.sent(), []);
    assert_eq!(screen.notice(), "a again cancels 1 agent");
    let typed = |screen: &TestScreen| match &screen.model.overlay {
        Some(Overlay::Agents(list)) => list.filter.text().to_owned(),
        other => panic!("{other:?}"),
    };
    screen.wait(6000).write("e");
    assert_eq!(typed(&screen), "e", "it begins no word either");
    let (mut screen, ..) = open_list();
    screen.write("aa").wait(100).write("a");
    assert_eq!((screen.sent().len(), typed(&screen)), (1, String::new()));
    assert!(!screen.notice().starts_with("a again"), "a third press does nothing");
}

/// An event with the end of what `bash-1` has printed.
fn printed(screen: &mut TestScreen, text: &str, total: u64) {
    let (id, text) = (ShellId::new("bash-1"), text.to_owned());
    screen.main(EventKind::BackgroundShellOutput { id, text, total });
}

#[test]
fn enter_on_a_command_shows_what_it_prints_and_how_it_ended() {
    let (mut screen, ..) = open_list();
    screen.key(KeyCode::Down).enter();
    let read = |seen| Command::ReadShell { id: ShellId::new("bash-1"), seen };
    assert_eq!(screen.sent(), [read(0)]);
    let shown = picture(&mut screen, 80, 24);
    assert!(shown.contains("$ npm run dev") && shown.contains("no output yet"), "{shown}");
    let lines: String = (1..=60).map(|line| format!("tick {line}\n")).collect();
    printed(&mut screen, &lines, 9_000);
    assert_eq!(screen.sent(), [read(9_000)], "only newer output is read");
    let shown = picture(&mut screen, 80, 24);
    assert!(shown.contains("tick 60") && !shown.contains("tick 1\n"), "{shown}");
    // It follows the output until the user scrolls up, and again from the end on.
    screen.key(KeyCode::PageUp);
    let above = picture(&mut screen, 80, 24);
    assert!(!above.contains("tick 60") && above.contains("tick 40"), "{above}");
    printed(&mut screen, &format!("{lines}tick 61\n"), 9_008);
    assert_eq!(picture(&mut screen, 80, 24).matches("tick 61").count(), 0);
    screen.key(KeyCode::End);
    assert!(picture(&mut screen, 80, 24).contains("tick 61"));
    printed(&mut screen, &format!("{lines}tick 61\ntick 62\n"), 9_016);
    assert!(picture(&mut screen, 80, 24).contains("tick 62"));
    screen.key(KeyCode::Home);
    let top = picture(&mut screen, 80, 24);
    assert!(top.contains("running") && top.contains("… earlier output is not kept"), "{top}");
    screen.sent();
    screen.job_done(&root(), "bash-1", 3);
    let ended = picture(&mut screen, 80, 24);
    assert!(ended.contains("failed · exit code 3"), "{ended}");
    // Nobody looks any more.
    screen.esc();
    printed(&mut screen, "late\n", 9_100);
    assert_eq!(screen.sent(), []);
}

#[test]
fn a_closed_page_asks_for_no_more_and_an_ended_command_still_has_its_output() {
    let (mut screen, ..) = open_list();
    screen.key(KeyCode::Down).enter().esc().sent();
    printed(&mut screen, "one\n", 4);
    assert_eq!(screen.sent(), []);
    screen.job_done(&root(), "bash-1", 0).write("/agents").enter().sent();
    screen.key(KeyCode::Down).key(KeyCode::Down).enter();
    let shown = picture(&mut screen, 80, 24);
    assert!(shown.contains("exit code 0") && shown.contains("│ one"), "{shown}");
    assert_eq!(screen.sent(), [], "nothing more will come");
}

#[test]
fn d_on_an_agent_without_work_says_so_and_still_begins_a_word() {
    let (mut screen, ..) = open_list();
    screen.write("d");
    assert_eq!(screen.notice(), "agent 1 is at work · d shows its work once it has ended");
    let (mut screen, ..) = open_list();
    screen.key(KeyCode::Down).key(KeyCode::Down).write("d");
    assert_eq!(screen.notice(), "it has left no work");
    let Some(Overlay::Agents(list)) = &screen.model.overlay else { panic!() };
    assert!(!list.filtering);
    screen.write("oc");
    let Some(Overlay::Agents(list)) = &screen.model.overlay else { panic!() };
    assert_eq!((list.filtering, list.filter.text()), (true, "doc"));
}

#[test]
fn an_ended_agent_in_the_list_is_not_said_to_go_back() {
    let (mut screen, ..) = open_list();
    screen.key(KeyCode::Down).key(KeyCode::Down).write("x");
    assert_eq!(screen.notice(), "agent 2 has ended (done)");
}
