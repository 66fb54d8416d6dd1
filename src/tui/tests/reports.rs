//! The results and reports of agents in the background, and what becomes of their rows.

use crossterm::event::KeyCode;

use crate::protocol::{EventKind, RunEnd};
use crate::tui::labels::main_label;
use crate::tui::testing::{TestScreen, agent_info, finish};
use crate::tui::transcript::{AnswerText, ItemKind, Scroll};

use super::background::{agent, idle_with, names};
use super::{busy, root};

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
    assert_eq!(last, Some(ItemKind::Report { head, text, failed: false }));
}

#[test]
fn a_report_says_when_it_is_not_of_an_agent_that_is_done() {
    let (mut screen, paths) = idle_with(&["docs-1"]);
    screen.event(&paths[0], finish(RunEnd::MaxTurns { limit: 20 }, "half"));
    screen.reads(&root(), agent("docs-1"), "[docs-1 has ended]\n\nhalf");
    let last = screen.model.main.iter().last().map(|(_, item)| item.kind.clone());
    let (head, text) =
        ("agent 1 reports · look · turn limit, partial".to_owned(), "half".to_owned());
    assert_eq!(last, Some(ItemKind::Report { head, text, failed: false }));
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
        ItemKind::Report { head, text: String::new(), failed: false },
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
