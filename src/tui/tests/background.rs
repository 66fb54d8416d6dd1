//! Background agents and commands: keys, rows and what stops them.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyModifiers};

use crate::protocol::{
    AgentPath, Command, EventKind, RunEnd, Sender, SessionId, ShellEnd, ShellId,
};
use crate::tui::exit_summary::exit_summary;
use crate::tui::host::HostRequest;
use crate::tui::labels::{agent_status, main_label};
use crate::tui::msg::{Msg, ScreenEffect};
use crate::tui::overlay::Overlay;
use crate::tui::testing::{TestScreen, finish, session_choice};
use crate::tui::transcript::ItemKind;

use super::pictures::picture;
use super::{busy, root};

/// Main is idle, and these agents are running in the background.
pub(super) fn idle_with(names: &[&str]) -> (TestScreen, Vec<AgentPath>) {
    let mut screen = busy();
    let paths = names.iter().map(|name| screen.background(&root(), name, "look")).collect();
    screen.main(finish(RunEnd::Completed, ""));
    screen.sent();
    (screen, paths)
}

pub(super) fn names(agents: &[&crate::tui::agents::AgentState]) -> Vec<String> {
    agents.iter().map(|agent| agent.info.name.clone()).collect()
}

pub(super) fn agent(name: &str) -> Sender {
    Sender::Agent { name: name.to_owned() }
}

pub(super) fn cancelled() -> EventKind {
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
    assert_eq!(screen.notice(), "agent 1 is in the background now · main waits for 2 agents");
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
    assert_eq!(screen.notice(), "agent 1 is in the background now · main waits for 1 agent");
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
fn while_main_is_being_stopped_ctrl_c_cancels_nobody_in_the_background() {
    let mut screen = busy();
    screen.background(&root(), "docs-1", "docs");
    screen.ctrl('c').wait(300).ctrl('c');
    assert_eq!(screen.sent(), [Command::CancelTurn]);
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
    let head = "bash-1 failed · exit code 1 · npm run dev".to_owned();
    assert_eq!(last, Some(ItemKind::Report { head, text: String::new(), failed: true }));
}

#[test]
fn the_end_of_a_command_of_an_earlier_process_is_a_line_like_any_other() {
    let mut screen = TestScreen::new();
    let text =
        "[bash-2 (sleep 4; exit 3) has ended: exit code 3. BashOutput shows what it printed.]";
    screen.reads(&root(), Sender::Job { name: "bash-2".to_owned() }, text);
    let last = screen.model.main.iter().last().map(|(_, item)| item.kind.clone());
    let head = "bash-2 failed · exit code 3 · sleep 4; exit 3".to_owned();
    assert_eq!(last, Some(ItemKind::Report { head, text: String::new(), failed: true }));
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

#[test]
fn the_notice_about_a_kill_goes_with_its_end_and_the_row_with_the_next_turn() {
    let mut screen = TestScreen::new();
    screen.job(&root(), "bash-1", "npm run dev").write("/agents").enter().write("x");
    assert_eq!(screen.notice(), "bash-1 is being killed");
    let (id, end) = (ShellId::new("bash-1"), ShellEnd::Killed);
    screen.main(EventKind::BackgroundShellEnded { id, end });
    assert_eq!(screen.notice(), "");
    assert_eq!(screen.model.jobs.strip().count(), 1);
    screen.esc().prompt("go on");
    assert_eq!(screen.model.jobs.strip().count(), 0);
}
