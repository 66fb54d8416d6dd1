//! Quitting: the work that it ends, and the messages that were not read.

use crate::tui::msg::Msg;
use crate::tui::testing::TestScreen;

use super::{busy, root};

#[test]
fn quitting_names_the_commands_that_end_with_it() {
    let mut screen = TestScreen::new();
    screen.job(&root(), "bash-1", "npm run dev").ctrl('c');
    assert_eq!(screen.notice(), "Ctrl+C again quits and ends bash-1");
    screen.job(&root(), "bash-2", "npm test").wait(3000).ctrl('c');
    assert_eq!(screen.notice(), "Ctrl+C again quits and ends bash-1 and bash-2");
    screen.job(&root(), "bash-3", "a").job(&root(), "bash-4", "b").wait(3000).ctrl('c');
    assert_eq!(screen.notice(), "Ctrl+C again quits and ends 4 background commands");
    screen.job_done(&root(), "bash-3", 0).job_done(&root(), "bash-4", 0);
    screen.job_done(&root(), "bash-1", 0).job_done(&root(), "bash-2", 0).wait(3000).ctrl('c');
    assert_eq!(screen.notice(), "Ctrl+C again quits");
}

#[test]
fn quitting_names_the_commands_that_end_beside_main() {
    let mut screen = TestScreen::new();
    screen.job(&root(), "bash-1", "npm run dev").prompt("go").ctrl('d');
    let words = "main and bash-1 are working · Ctrl+D again stops them and quits";
    assert_eq!(screen.notice(), words);
}

#[test]
fn unread_messages_are_short_and_name_their_agent_on_the_last_screen() {
    let mut screen = busy();
    screen.model.session.prompts = 1;
    let agent = screen.agent(&root(), "explore-1", "look");
    let at = screen.at;
    let long: String = (1..=150).map(|line| format!("line {line}\n")).collect();
    screen.send(Msg::Paste { text: long, at }).enter();
    screen.model.focus = Some(agent);
    screen.write("look twice").enter();
    screen.model.focus = None;
    screen.ctrl('d').ctrl('d');
    let lines = crate::tui::exit_summary::exit_summary(&screen.model);
    let head = lines.iter().position(|line| line.starts_with("2 messages were not read")).unwrap();
    let said: Vec<&str> = lines[head + 1..head + 13].iter().map(String::as_str).collect();
    assert_eq!((said[0], said[9]), ("  line 1", "  line 10"), "{said:?}");
    assert_eq!(said[10], "  … +140 lines", "{said:?}");
    assert_eq!(said[11], "  to agent 1: look twice", "{said:?}");
}
