//! Background agents and commands: keys, rows, ends and reports.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyModifiers};

use crate::protocol::{AgentPath, Command, EventKind, RunEnd, Sender, SessionId};
use crate::tui::exit_summary::exit_summary;
use crate::tui::host::HostRequest;
use crate::tui::labels::{agent_status, main_label};
use crate::tui::msg::{Msg, ScreenEffect};
use crate::tui::overlay::Overlay;
use crate::tui::testing::{TestScreen, agent_info, finish, session_choice};
use crate::tui::transcript::{AnswerText, ItemKind, Scroll};

use super::pictures::picture;
use super::{busy, root};

/// Main is idle, and these agents are running in the background.
fn idle_with(names: &[&str]) -> (TestScreen, Vec<AgentPath>) {
    let mut screen = busy();
    let paths = names.iter().map(|name| screen.background(&root(), name, "look")).collect();
    screen.main(finish(RunEnd::Completed, ""));
    screen.sent();
    (screen, paths)
}

fn names(agents: &[&crate::tui::agents::AgentState]) -> Vec<String> {
    agents.iter().map(|agent| agent.info.name.clone()).collect()
}

fn agent(name: &str) -> Sender {
    Sender::Agent { name: name.to_owned() }
}

fn cancelled() -> EventKind {
    finish(RunEnd::Cancelled { before_start: false }, "")
}

#[test]
fn ctrl_b_on_the_empty_prompt_moves_the_focused_agent() {
    let mut screen = busy();
    for name in ["explore-1", "explore-2", "explore-3"] {
        screen.agent(&root(), name, "look");
    }
    screen.key(KeyCode::Tab).ctrl('b');
    let first = screen.model.focus.clone().unwrap();
    assert_eq!(screen.sent(), [Command::Background(first.id().unwrap())]);
    assert_eq!(screen.notice(), "agent 1 is in the background now · main waits for 2");
    screen.event(&first, EventKind::MovedToBackground);
    assert_eq!(names(&screen.model.agents.panel()), ["explore-2", "explore-3"]);
    assert_eq!(names(&screen.model.agents.strip()), ["explore-1"]);
    assert_eq!(screen.model.focus.as_ref(), Some(&first));
    assert_eq!(main_label(&screen.model), "waiting for 2 agents");
    screen.ctrl('b');
    assert_eq!((screen.sent(), screen.notice()), (vec![], "agent 1 is already in the background"));
}

#[test]
fn ctrl_b_without_focus_moves_the_only_running_agent() {
    let mut screen = busy();
    let running = screen.agent(&root(), "explore-1", "one");
    let queued = screen.queued_agent(&root(), "explore-2", "two");
    screen.event(&queued, EventKind::Queued { place: 1 });
    screen.background(&root(), "docs-1", "docs");
    screen.ctrl('b');
    assert_eq!(screen.sent(), [Command::Background(running.id().unwrap())]);
    assert_eq!(screen.notice(), "agent 1 is in the background now · main waits for 1");
    screen.event(&running, EventKind::MovedToBackground).event(&queued, cancelled());
    let last = screen.agent(&root(), "explore-3", "three");
    screen.ctrl('b');
    assert_eq!(screen.sent(), [Command::Background(last.id().unwrap())]);
    assert_eq!(screen.notice(), "agent 4 is in the background now · main continues");
}

#[test]
fn ctrl_b_with_several_and_no_focus_asks_which() {
    let mut screen = busy();
    let first = screen.agent(&root(), "explore-1", "one");
    let second = screen.agent(&root(), "explore-2", "two");
    let queued = screen.queued_agent(&root(), "explore-3", "three");
    screen.event(&queued, EventKind::Queued { place: 1 });
    screen.ctrl('b');
    let Some(Overlay::AgentPicker(which)) = &screen.model.overlay else { panic!() };
    assert_eq!(which.rows, [first.clone(), second.clone()]);
    screen.ctrl('c');
    assert_eq!((screen.sent(), screen.notice()), (vec![], "nothing moved"));
    screen.ctrl('b').event(&first, finish(RunEnd::Completed, "")).write("1");
    assert_eq!(screen.sent(), []);
    screen.write("2");
    assert_eq!(screen.sent(), [Command::Background(second.id().unwrap())]);
    assert_eq!(screen.model.overlay, None);
}

#[test]
fn all_that_background_which_lists_move_with_a() {
    let mut screen = busy();
    let first = screen.agent(&root(), "explore-1", "one").id().unwrap();
    let second = screen.agent(&root(), "explore-2", "two").id().unwrap();
    screen.ctrl('b').write("aa");
    assert_eq!(screen.sent(), [Command::Background(first), Command::Background(second)]);
    assert_eq!(screen.notice(), "2 agents are in the background now");
}

#[test]
fn ctrl_b_with_a_draft_moves_the_cursor_left() {
    let mut screen = busy();
    screen.agent(&root(), "explore-1", "one");
    screen.write("ac").ctrl('b').write("b");
    assert_eq!((screen.sent(), screen.model.composer.text()), (vec![], "abc"));
}

#[test]
fn ctrl_b_on_a_queued_or_ended_agent_only_says_so() {
    let mut screen = busy();
    let queued = screen.queued_agent(&root(), "explore-1", "one");
    screen.event(&queued, EventKind::Queued { place: 1 });
    screen.key(KeyCode::Tab).ctrl('b');
    assert_eq!(
        (screen.sent(), screen.notice()),
        (vec![], "agent 1 has not started · x in /agents cancels it")
    );
    screen.event(&queued, finish(RunEnd::Completed, "")).ctrl('b');
    assert_eq!((screen.sent(), screen.notice()), (vec![], "agent 1 has ended (done) · Esc back"));
}

#[test]
fn an_agent_that_moves_takes_those_below_it_along() {
    let mut screen = busy();
    let plan = screen.agent(&root(), "plan-1", "split");
    let child = screen.agent(&plan, "explore-1", "one");
    screen.event(&plan, EventKind::MovedToBackground);
    assert_eq!(names(&screen.model.agents.strip()), ["plan-1", "explore-1"]);
    assert!(screen.model.agents.panel().is_empty());
    assert!(screen.model.awaited_agents().is_empty());
    // The plan itself still waits for its child.
    let plan = screen.model.agents.get(&plan).unwrap();
    assert_eq!(agent_status(&screen.model, plan).text, "waiting for 1 agent");
    screen.agent(&child, "explore-2", "two");
    assert!(screen.model.awaited_agents().is_empty());
}

#[test]
fn a_parent_does_not_wait_for_its_child_in_the_background() {
    let mut screen = busy();
    let plan = screen.agent(&root(), "plan-1", "split");
    screen.background(&plan, "explore-1", "one");
    let agent = screen.model.agents.get(&plan).unwrap();
    assert_eq!(agent_status(&screen.model, agent).text, "starting");
    assert_eq!(main_label(&screen.model), "waiting for 1 agent");
}

#[test]
fn tab_reaches_the_background_last_and_alt_digit_goes_there() {
    let mut screen = busy();
    let docs = screen.background(&root(), "docs-1", "docs");
    let first = screen.agent(&root(), "explore-1", "one");
    assert_eq!(screen.model.agents.get(&docs).unwrap().number, 1);
    assert_eq!(screen.model.agents.get(&first).unwrap().number, 2);
    screen.key(KeyCode::Tab);
    assert_eq!(screen.model.focus.as_ref(), Some(&first));
    screen.key(KeyCode::Tab);
    assert_eq!(screen.model.focus.as_ref(), Some(&docs));
    screen.key(KeyCode::Tab).chord(KeyCode::Char('1'), KeyModifiers::ALT).enter();
    assert_eq!((screen.model.focus.as_ref(), screen.model.zoom), (Some(&docs), true));
}

#[test]
fn a_focused_background_agent_is_cancelled_by_ctrl_c() {
    let mut screen = busy();
    let docs = screen.background(&root(), "docs-1", "docs");
    screen.key(KeyCode::Tab).ctrl('c');
    assert_eq!(screen.sent(), [Command::Cancel(docs.id().unwrap())]);
}

#[test]
fn esc_stops_main_and_says_that_the_background_goes_on() {
    let mut screen = busy();
    screen.agent(&root(), "explore-1", "one");
    let docs = screen.background(&root(), "docs-1", "docs");
    screen.esc();
    assert_eq!(
        (screen.sent(), screen.notice()),
        (vec![Command::CancelTurn], "Stopped: main and 1 agent · 1 background agent keeps running")
    );
    let agent = screen.model.agents.get(&docs).unwrap();
    assert_eq!(agent_status(&screen.model, agent).text, "starting");
    screen.main(cancelled()).wait(300).esc().wait(300).esc();
    assert_eq!(screen.sent(), [], "Esc never touches background agents");
    let mut screen = busy();
    screen.background(&root(), "docs-1", "docs");
    screen.background(&root(), "docs-2", "docs");
    screen.ctrl('c');
    assert_eq!(screen.notice(), "Stopped · 2 background agents keep running");
}

#[test]
fn a_background_agent_that_ends_while_main_stops_was_not_stopped_with_it() {
    let mut screen = busy();
    let docs = screen.background(&root(), "docs-1", "docs");
    screen.esc().event(&docs, cancelled());
    let agent = screen.model.agents.get(&docs).unwrap();
    assert_eq!(agent_status(&screen.model, agent).text, "cancelled by you");
}

#[test]
fn while_main_works_ctrl_c_leaves_the_background_alone() {
    let mut screen = busy();
    screen.background(&root(), "docs-1", "docs");
    screen.write("draft").ctrl('c');
    assert_eq!((screen.sent(), screen.notice()), (vec![], "draft cleared · Up brings it back"));
    screen.wait(300).ctrl('c');
    assert_eq!(screen.sent(), [Command::CancelTurn]);
}

#[test]
fn with_main_idle_ctrl_c_clears_the_draft_then_cancels_the_only_background_agent() {
    let (mut screen, paths) = idle_with(&["docs-1"]);
    screen.write("draft").ctrl('c');
    assert_eq!(screen.sent(), []);
    screen.wait(300).ctrl('c');
    assert_eq!(screen.sent(), [Command::Cancel(paths[0].id().unwrap())]);
    screen.event(&paths[0], cancelled()).wait(300).ctrl('c');
    assert_eq!((screen.sent(), screen.notice()), (vec![], "Ctrl+C again quits"));
}

#[test]
fn with_main_idle_and_several_in_the_background_ctrl_c_asks_which() {
    let (mut screen, paths) = idle_with(&["docs-1", "docs-2"]);
    screen.ctrl('c');
    let Some(Overlay::AgentPicker(which)) = &screen.model.overlay else { panic!() };
    assert_eq!(which.rows, paths);
    screen.write("2");
    assert_eq!(screen.sent(), [Command::Cancel(paths[1].id().unwrap())]);
}

#[test]
fn a_ctrl_c_that_stopped_main_beside_background_agents_does_not_arm_quitting() {
    let mut screen = busy();
    let docs = screen.background(&root(), "docs-1", "docs");
    screen.ctrl('c').main(cancelled()).event(&docs, cancelled());
    screen.wait(400).ctrl('c');
    assert!(!screen.effects.contains(&ScreenEffect::Quit));
}

#[test]
fn the_turn_waits_for_a_background_agent_that_agent_wait_names() {
    let mut screen = busy();
    let docs = screen.background(&root(), "docs-1", "docs");
    screen.background(&root(), "docs-2", "docs");
    screen.tool(&root(), "w", "agent_wait", "docs-1");
    assert_eq!(main_label(&screen.model), "waiting for 1 agent");
    screen.ctrl('c');
    assert_eq!(screen.sent(), [Command::Cancel(docs.id().unwrap())]);
}

#[test]
fn a_row_of_the_background_shows_its_end_until_main_has_read_the_result() {
    let (mut screen, paths) = idle_with(&["docs-1", "docs-2"]);
    screen.event(&paths[0], finish(RunEnd::Completed, "Nothing.")).wait(9_000);
    assert_eq!(names(&screen.model.agents.strip()), ["docs-1", "docs-2"]);
    screen.reads(&root(), agent("docs-1"), "Nothing.");
    assert_eq!(names(&screen.model.agents.strip()), ["docs-2"]);
    assert!(screen.model.agents.get(&paths[0]).is_some());
}

#[test]
fn a_row_whose_result_nobody_reads_goes_after_ten_seconds_but_never_under_the_focus() {
    let (mut screen, paths) = idle_with(&["docs-1"]);
    screen.key(KeyCode::Tab).event(&paths[0], finish(RunEnd::Completed, "Nothing."));
    screen.wait(20_000);
    assert_eq!(screen.model.focus.as_ref(), Some(&paths[0]));
    assert_eq!(screen.model.agents.strip().len(), 1);
    assert_eq!(screen.model.next_wake(), None, "nothing moves while the row is held");
    screen.esc();
    assert!(screen.model.agents.strip().is_empty());
    let (mut screen, paths) = idle_with(&["docs-1"]);
    screen.event(&paths[0], finish(RunEnd::Completed, "Nothing.")).wait(9_900);
    assert_eq!(screen.model.agents.strip().len(), 1);
    assert!(screen.model.next_wake().is_some());
    screen.wait(200);
    assert!(screen.model.agents.strip().is_empty());
    assert_eq!(screen.model.next_wake(), None);
}

#[test]
fn a_result_that_comes_by_itself_begins_a_turn_and_moves_no_focus() {
    let (mut screen, paths) = idle_with(&["docs-1", "docs-2"]);
    screen.key(KeyCode::Tab).key(KeyCode::Tab);
    screen.model.main_scroll = Scroll { top: Some(0), ..Scroll::default() };
    screen.event(&paths[0], finish(RunEnd::Completed, "Nothing."));
    screen.reads(&root(), agent("docs-1"), "[docs-1 has ended: done. Its report:]\n\nNothing.");
    assert!(screen.model.main_is_busy());
    assert_eq!(screen.model.focus.as_ref(), Some(&paths[1]));
    assert_eq!(screen.model.main_scroll.top, Some(0));
    let last = screen.model.main.iter().last().map(|(_, item)| item.kind.clone());
    let (head, text) = ("agent 1 reports · look".to_owned(), "Nothing.".to_owned());
    assert_eq!(last, Some(ItemKind::Report { head, text }));
}

#[test]
fn while_main_is_being_stopped_ctrl_c_cancels_nobody_in_the_background() {
    let mut screen = busy();
    screen.background(&root(), "docs-1", "docs");
    screen.ctrl('c').wait(300).ctrl('c');
    assert_eq!(screen.sent(), [Command::CancelTurn]);
}

#[test]
fn a_report_says_when_it_is_not_of_an_agent_that_is_done() {
    let (mut screen, paths) = idle_with(&["docs-1"]);
    screen.event(&paths[0], finish(RunEnd::MaxTurns { limit: 20 }, "half"));
    screen.reads(&root(), agent("docs-1"), "[docs-1 has ended]\n\nhalf");
    let last = screen.model.main.iter().last().map(|(_, item)| item.kind.clone());
    let (head, text) =
        ("agent 1 reports · look · turn limit, partial".to_owned(), "half".to_owned());
    assert_eq!(last, Some(ItemKind::Report { head, text }));
}

#[test]
fn a_message_of_an_agent_that_works_is_no_report() {
    let mut screen = busy();
    let docs = screen.background(&root(), "docs-1", "docs");
    screen.reads(&root(), agent("docs-1"), "Which folder?").reads(&docs, agent("main"), "lib");
    let head = |items: Vec<ItemKind>| match items.into_iter().last() {
        Some(ItemKind::Report { head, .. }) => head,
        other => panic!("{other:?}"),
    };
    let main = screen.model.main.iter().map(|(_, item)| item.kind.clone()).collect();
    assert_eq!(head(main), "docs-1 says");
    let items = &screen.model.agents.get(&docs).unwrap().transcript;
    assert_eq!(head(items.iter().map(|(_, item)| item.kind.clone()).collect()), "main says");
}

#[test]
fn an_agents_message_that_nobody_read_does_not_come_into_the_draft() {
    let mut screen = busy();
    let docs = screen.background(&root(), "docs-1", "docs");
    screen.esc();
    let (id, text) = (crate::protocol::PromptId(1 << 40), "a message".to_owned());
    screen.event(&docs, EventKind::PromptReturned { id, text: text.clone() });
    screen.main(EventKind::PromptReturned { id, text });
    assert_eq!(screen.model.composer.text(), "");
}

#[test]
fn a_turn_that_begins_late_in_a_session_has_just_given_a_sign() {
    let (mut screen, paths) = idle_with(&["docs-1"]);
    screen.wait(100_000).event(&paths[0], finish(RunEnd::Completed, "Nothing."));
    screen.reads(&root(), agent("docs-1"), "Nothing.");
    assert_eq!(main_label(&screen.model), "starting 0:00");
}

#[test]
fn a_retry_is_not_offered_any_more_when_a_result_has_begun_a_turn() {
    let (mut screen, paths) = idle_with(&["docs-1"]);
    screen.model.can_retry = true;
    screen.event(&paths[0], finish(RunEnd::Completed, "Nothing."));
    screen.reads(&root(), agent("docs-1"), "Nothing.").main(finish(RunEnd::Completed, ""));
    screen.enter();
    assert_eq!(screen.sent(), []);
}

#[test]
fn a_resumed_agent_keeps_its_number_and_transcript() {
    let mut screen = busy();
    let path = screen.agent(&root(), "explore-1", "one");
    screen.turn_done(&path, 1_000, 0.02).says(&path, "half");
    screen.event(&path, finish(RunEnd::MaxTurns { limit: 20 }, "half"));
    screen.says(&root(), "So.").main(finish(RunEnd::Completed, ""));
    let before = screen.model.agents.get(&path).unwrap().transcript.ids();
    let info = agent_info("explore-1", "one");
    screen.event(&path, EventKind::Started(Box::new(info)));
    screen.event(&path, EventKind::TurnStarted { turn: 1, limit: Some(20) });
    let agent = screen.model.agents.get(&path).unwrap();
    assert!(agent.running() && agent.in_background && agent.outcome.is_none());
    assert_eq!((agent.number, &agent.transcript.ids()), (1, &before));
    assert!(agent.run.cost.usd > 0.0, "what it has cost stays");
    assert_eq!(screen.model.agents.iter().count(), 1);
    assert_eq!(names(&screen.model.agents.strip()), ["explore-1"]);
    assert!(screen.model.awaited_agents().is_empty());
}

#[test]
fn a_resumed_agent_keeps_its_number() {
    let mut screen = busy();
    let first = screen.agent(&root(), "explore-1", "one");
    screen.event(&first, finish(RunEnd::Completed, "")).says(&root(), "So.");
    let second = screen.agent(&root(), "explore-2", "two");
    screen.event(&first, EventKind::Started(Box::new(agent_info("explore-1", "one"))));
    let number = |path| screen.model.agents.get(path).unwrap().number;
    assert_eq!((number(&second), number(&first)), (2, 1));
}

#[test]
fn the_batch_folds_without_the_agent_that_left_it() {
    let mut screen = busy();
    let stays = screen.agent(&root(), "explore-1", "one");
    let moves = screen.agent(&root(), "explore-2", "two");
    screen.event(&moves, EventKind::MovedToBackground);
    screen.event(&stays, finish(RunEnd::Completed, "")).says(&root(), "So.");
    assert!(screen.model.agents.panel().is_empty());
    assert_eq!(names(&screen.model.agents.strip()), ["explore-2"]);
    let whole = screen.model.main.iter().any(
        |(_, item)| matches!(&item.kind, ItemKind::Batch { members, .. } if members.len() == 2),
    );
    assert!(whole);
}

#[test]
fn the_folded_batch_opens_again_with_the_agent_that_had_left_it_once_that_has_ended() {
    let mut screen = busy();
    let stays = screen.agent(&root(), "explore-1", "one");
    let moves = screen.agent(&root(), "explore-2", "two");
    screen.event(&moves, EventKind::MovedToBackground);
    screen.event(&stays, finish(RunEnd::Completed, "")).says(&root(), "So.");
    screen.main(finish(RunEnd::Completed, "")).key(KeyCode::Tab);
    assert_eq!(names(&screen.model.agents.visible()), ["explore-1", "explore-2"]);
    assert_eq!(names(&screen.model.agents.panel()), ["explore-1"]);
    screen.esc().event(&moves, finish(RunEnd::Completed, ""));
    screen.reads(&root(), agent("explore-2"), "").main(finish(RunEnd::Completed, ""));
    screen.key(KeyCode::Tab);
    assert_eq!(names(&screen.model.agents.panel()), ["explore-1", "explore-2"]);
    assert!(screen.model.agents.strip().is_empty());
}

#[test]
fn a_verbatim_answer_stands_in_mains_transcript_and_is_what_copy_takes() {
    let mut screen = busy();
    let (name, text) = ("explore-1".to_owned(), "# All of it".to_owned());
    screen.main(EventKind::Verbatim { name, text: text.clone() });
    let items: Vec<_> = screen.model.main.iter().map(|(_, item)| item.kind.clone()).collect();
    let head = "explore-1 answers".to_owned();
    let expected = [
        ItemKind::Report { head, text: String::new() },
        ItemKind::Text { text: AnswerText::Whole(text.into()), done: true, edition: 0 },
    ];
    assert_eq!(items[items.len() - 2..], expected);
    assert_eq!(screen.model.main.last_text(), Some("# All of it"));
}

#[test]
fn a_verbatim_answer_leaves_what_main_writes_whole() {
    let mut screen = TestScreen::new();
    screen.prompt("go").says(&root(), "Main goes");
    let (name, text) = ("explore-1".to_owned(), "All of it".to_owned());
    screen.main(EventKind::Verbatim { name, text }).says(&root(), " on");
    let texts = screen.model.main.iter().filter_map(|(_, item)| match &item.kind {
        ItemKind::Text { text, done, .. } => Some((text.to_string(), *done)),
        _ => None,
    });
    let texts: Vec<_> = texts.collect();
    assert_eq!(texts, [("Main goes on".to_owned(), false), ("All of it".to_owned(), true)]);
}

#[test]
fn a_background_command_has_a_row_until_its_end_was_read() {
    let mut screen = busy();
    screen.job(&root(), "bash-1", "npm run dev").main(finish(RunEnd::Completed, ""));
    assert!(screen.model.next_wake().is_some(), "its clock goes on");
    screen.job_done(&root(), "bash-1", 1).wait(5_000);
    assert_eq!(screen.model.jobs.strip().count(), 1);
    screen.reads(&root(), Sender::Job { name: "bash-1".to_owned() }, "exit 1");
    assert_eq!(screen.model.jobs.strip().count(), 0);
    assert!(screen.model.jobs.get("bash-1").is_some());
    let last = screen.model.main.iter().last().map(|(_, item)| item.kind.clone());
    assert!(matches!(last, Some(ItemKind::Report { head, .. }) if head == "bash-1 has ended"));
}

#[test]
fn quitting_counts_what_works_in_the_background() {
    let (mut screen, _) = idle_with(&["docs-1"]);
    screen.ctrl('d');
    assert_eq!(screen.notice(), "1 agent is working · Ctrl+D again stops it and quits");
    screen.job(&root(), "bash-1", "npm run dev").wait(3_000).ctrl('d');
    assert_eq!(
        screen.notice(),
        "1 agent and 1 command are working · Ctrl+D again stops them and quits"
    );
    screen.wait(200).ctrl('d');
    assert_eq!(screen.sent(), [Command::Quit]);
    screen.model.session.prompts = 1;
    let lines = exit_summary(&screen.model);
    assert!(lines.iter().any(|line| line.starts_with("1 agent · ⊘1")), "{lines:?}");
}

/// Main idle, with what works in the background.
fn at_work(agents: usize, jobs: usize) -> TestScreen {
    let (mut screen, _) = idle_with(&["docs-1", "docs-2"][..agents]);
    for number in 1..=jobs {
        screen.job(&root(), &format!("bash-{number}"), "npm run dev");
    }
    screen
}

#[test]
fn clear_is_asked_twice_with_work_in_the_background() {
    for (agents, jobs, words) in [
        (1, 0, "1 agent is working · /clear again stops it"),
        (2, 0, "2 agents are working · /clear again stops them"),
        (0, 1, "1 command is running · /clear again stops it"),
        (0, 2, "2 commands are running · /clear again stops them"),
        (1, 1, "1 agent and 1 command are working · /clear again stops them"),
    ] {
        let mut screen = at_work(agents, jobs);
        screen.write("/clear").enter();
        assert_eq!((screen.sent(), screen.notice()), (vec![], words));
        screen.wait(300).write("/clear").enter();
        assert_eq!(screen.sent(), [Command::Clear]);
    }
}

#[test]
fn the_command_that_quits_is_named_as_it_was_typed() {
    for name in ["/exit", "/quit"] {
        let mut screen = at_work(1, 0);
        screen.write(name).enter();
        assert_eq!(screen.notice(), format!("1 agent is working · {name} again stops it"));
        screen.wait(300).write("/quit").enter();
        assert_eq!(screen.sent(), [Command::Quit]);
    }
}

#[test]
fn another_session_is_asked_twice_with_work_in_the_background() {
    let id = SessionId::generate();
    let resume = format!("/resume {id}");
    for (agents, jobs, words) in [
        (1, 0, "1 agent is working · /resume again stops it"),
        (0, 1, "1 command is running · /resume again stops it"),
    ] {
        let mut screen = at_work(agents, jobs);
        screen.write(&resume).enter();
        assert_eq!((screen.sent(), screen.notice()), (vec![], words));
        // Which is no answer to another question.
        screen.write("/clear").enter();
        assert_eq!(screen.sent(), []);
        screen.write(&resume).enter();
        assert_eq!(screen.sent(), []);
        screen.write(&resume).enter();
        assert_eq!(screen.sent(), [Command::Resume(id)]);
    }
    let mut screen = at_work(0, 0);
    screen.write(&resume).enter();
    assert_eq!(screen.sent(), [Command::Resume(id)]);
}

#[test]
fn a_session_in_the_list_is_chosen_twice_with_work_in_the_background() {
    let listed = |agents, jobs| {
        let mut screen = at_work(agents, jobs);
        let id = SessionId::generate();
        let sessions = vec![session_choice(id, "an older one")];
        let reply = HostRequest::Sessions { everywhere: false, most: None, sessions };
        screen.write("/resume").enter();
        screen.send(Msg::Host { reply, at: Duration::ZERO });
        (screen, id)
    };
    let (mut screen, id) = listed(0, 0);
    screen.enter();
    assert_eq!(screen.sent(), [Command::Resume(id)]);
    for (agents, jobs, hint) in [
        (2, 0, "2 agents are working · Enter again stops them and resumes this session"),
        (0, 1, "1 command is running · Enter again stops it and resumes this session"),
    ] {
        let (mut screen, id) = listed(agents, jobs);
        screen.enter();
        assert_eq!(screen.sent(), []);
        let shown = picture(&mut screen, 100, 30);
        assert!(shown.contains(hint), "{shown}");
        screen.key(KeyCode::Down).enter();
        assert_eq!(screen.sent(), [], "another key takes it back");
        screen.enter();
        assert_eq!(screen.sent(), [Command::Resume(id)]);
    }
}

#[test]
fn an_agent_in_the_background_has_no_second_row_below_the_turn() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let one = screen.agent(&root(), "explore-1", "map the routes");
    let two = screen.agent(&root(), "explore-2", "read the docs");
    screen.event(&two, EventKind::MovedToBackground);
    screen
        .event(&one, finish(RunEnd::Completed, "Two tables."))
        .main(finish(RunEnd::Completed, ""));
    let rows = |screen: &mut TestScreen| {
        let output = super::pictures::picture(screen, 100, 30);
        assert!(output.contains("1 map the routes"), "{output}");
        output.matches("read the docs").count()
    };
    assert_eq!(rows(&mut screen), 1, "above the prompt");
    screen.event(&two, finish(RunEnd::Completed, "No docs.")).wait(11_000);
    assert_eq!(rows(&mut screen), 1, "below the turn, with what came of it");
}
