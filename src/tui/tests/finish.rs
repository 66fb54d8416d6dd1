//! The figures in the last line of a turn.

use std::time::Duration;

use crate::protocol::{
    AgentId, AgentInfo, AgentPath, EventKind, ResultBlock, RunEnd, Sender, ToolDetails, ToolUseId,
};
use crate::tui::testing::{TestScreen, agent_info, finish};
use crate::tui::transcript::ItemKind;

use super::blocks::{command, done};
use super::root;

#[test]
fn tests_of_a_turn_are_green_or_red_as_the_last_command_said() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let mut run = |id: &str, code: i32, output: &str| {
        done(&mut screen, (id, "Bash", "cargo test"), code, ("", output), command(code));
        crate::tui::turn::tests_fact(&screen.model).map(|fact| fact.text)
    };
    assert_eq!(run("1", 0, "nothing to see"), None);
    let red = "test result: FAILED. 12 passed; 1 failed; 0 ignored";
    assert_eq!(run("2", 101, red).as_deref(), Some("1 of 13 tests red"));
    let green = "test result: ok. 13 passed; 0 failed; 0 ignored";
    assert_eq!(run("3", 0, green).as_deref(), Some("13 tests green"));
    let other = "test result: ok. 1 passed; 0 failed; 0 ignored\nerror: no such crate";
    assert_eq!(
        run("4", 101, other).as_deref(),
        Some("13 tests green"),
        "failed for another reason"
    );
    let agent = screen.agent(&AgentPath::root(), "review-1", "check");
    screen.tool(&agent, "5", "Bash", "pytest");
    screen.at += Duration::from_secs(1);
    screen.event(
        &agent,
        EventKind::ToolFinished {
            id: ToolUseId::new("5"),
            name: "Bash".to_owned(),
            is_error: false,
            summary: String::new(),
            content: vec![ResultBlock::Text { text: "=== 1 failed in 0.1s ===".to_owned() }],
            details: command(1),
            took: Duration::ZERO,
        },
    );
    assert_eq!(
        crate::tui::turn::tests_fact(&screen.model).map(|fact| fact.text).as_deref(),
        Some("1 of 1 test red")
    );
}

#[test]
fn tests_of_a_stored_agent_are_counted_before_its_conversation_is_read() {
    let mut screen = TestScreen::new();
    let agent = AgentPath::root().child(crate::protocol::AgentId::generate());
    let prompt = EventKind::PromptRead { id: None, text: "go".into(), from: Sender::Person };
    let ran = EventKind::ToolFinished {
        id: ToolUseId::new("1"),
        name: String::new(),
        is_error: false,
        summary: String::new(),
        content: vec![ResultBlock::Text { text: "7 passed, 0 failed".to_owned() }],
        details: command(0),
        took: Duration::ZERO,
    };
    let turn = || EventKind::TurnStarted { turn: 1, limit: None };
    screen.opened(vec![
        (&AgentPath::root(), prompt),
        (&AgentPath::root(), turn()),
        (&agent, EventKind::Started(Box::new(agent_info("review-1", "check")))),
        (&agent, turn()),
        (&agent, ran),
        (&agent, finish(RunEnd::Completed, "Fine.")),
        (&AgentPath::root(), finish(RunEnd::Completed, "")),
    ]);
    let facts = finish_facts(&screen);
    assert!(facts.contains("7 tests green"), "{facts}");
}

/// The facts of the last finish line.
fn finish_facts(screen: &TestScreen) -> String {
    let kinds = screen.model.main.iter().map(|(_, item)| &item.kind);
    let last = kinds.filter_map(|kind| match kind {
        ItemKind::Finish { facts, .. } => Some(facts),
        _ => None,
    });
    let facts: Vec<_> = last.last().unwrap().iter().map(|fact| fact.text.as_str()).collect();
    facts.join(" · ")
}

#[test]
fn an_agent_that_goes_on_in_the_background_counts_in_the_turn_that_it_left() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let [first, second] =
        ["explore-1", "explore-2"].map(|name| screen.agent(&root(), name, "look"));
    screen.turn_done(&first, 4_000, 0.01).turn_done(&second, 3_000, 0.01);
    screen.event(&second, EventKind::MovedToBackground);
    screen.event(&first, finish(RunEnd::Completed, "found")).main(finish(RunEnd::Completed, ""));
    assert_eq!(
        finish_facts(&screen),
        "done in 0:00 · 2 agents ✓ 1 · 1 continued in the background · 7k tokens · $0.02"
    );
}

#[test]
fn a_resumed_session_says_which_lines_its_agents_changed() {
    let mut screen = TestScreen::new();
    let agent = AgentPath::root().child(AgentId::generate());
    let main = root();
    let started = AgentInfo { number: 4, ..agent_info("writer-1", "write") };
    let details = ToolDetails::Diff {
        path: "docs/new.md".into(),
        diff: String::new(),
        added: 300,
        removed: 0,
    };
    let changed = EventKind::ToolFinished {
        id: ToolUseId::new(""),
        name: String::new(),
        is_error: false,
        summary: String::new(),
        content: Vec::new(),
        details: Some(details),
        took: Duration::ZERO,
    };
    screen.opened(vec![
        (&main, EventKind::PromptRead { id: None, text: "go".into(), from: Sender::Person }),
        (&main, EventKind::TurnStarted { turn: 1, limit: None }),
        (&agent, EventKind::Started(Box::new(started))),
        (&agent, EventKind::TurnStarted { turn: 1, limit: Some(20) }),
        (&agent, changed),
        (&agent, finish(RunEnd::Completed, "written")),
        (&main, finish(RunEnd::Completed, "")),
    ]);
    let facts = finish_facts(&screen);
    assert!(facts.contains("1 agent ✓ 1 · 1 file +300 −0"), "{facts}");
    let agent = screen.model.agents.get(&agent).unwrap();
    assert_eq!(agent.number, 4);
    let calls = agent.transcript.iter().filter(|(_, it)| matches!(it.kind, ItemKind::Tools(_)));
    assert_eq!(calls.count(), 0, "its conversation is read when it is shown");
}
