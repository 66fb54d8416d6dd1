//! The line that says what works, and since when.

use std::time::Duration;

use crate::protocol::{
    ApiError, EventKind, Failure, NoticeLevel, ResultBlock, Todo, TodoStatus, ToolDetails,
    ToolUseId, WaitKind,
};
use crate::tui::testing::TestScreen;
use crate::tui::transcript::ItemKind;

use super::pictures::picture;
use super::{busy, root};

/// Writes a to-do list.
fn to_do(screen: &mut TestScreen, id: &str, items: &[(&str, TodoStatus)]) {
    let items = items
        .iter()
        .map(|(content, status)| Todo { content: (*content).to_owned(), status: *status });
    screen.tool(&root(), id, "TodoWrite", "");
    screen.main(EventKind::ToolFinished {
        id: ToolUseId::new(id),
        name: "TodoWrite".to_owned(),
        is_error: false,
        summary: format!("1 of {} done", items.len()),
        content: Vec::new(),
        details: Some(ToolDetails::Todos { items: items.collect() }),
        took: Duration::ZERO,
    });
}

#[test]
fn the_count_of_retries_stays_whole_and_no_words_are_cut_while_there_is_room() {
    let mut screen = busy();
    screen.main(EventKind::Retrying {
        attempt: 3,
        limit: 8,
        wait: Duration::from_secs(2),
        failure: Failure::Overloaded,
        error: ApiError { status: None, class: Some("server_error_of_the_upstream".to_owned()) },
        reason: String::new(),
    });
    let shown = picture(&mut screen, 120, 40);
    let cause = "server error (server_error_of_the_upstream)";
    let whole = format!("{cause} · retrying in 2 s (3 of 8) · 0:00");
    assert!(shown.contains(&whole), "{shown}");
    let narrow = picture(&mut screen, 80, 24);
    assert!(narrow.contains("… · retrying in 2 s (3 of 8) · 0:00 · Esc stops"), "{narrow}");
    screen.wait(9_000);
    let begun = picture(&mut screen, 120, 40);
    assert!(begun.contains("· trying again for 0:07 (3 of 8) · 0:09"), "{begun}");
}

#[test]
fn a_wait_for_budget_fits_into_a_pane() {
    let mut screen = busy();
    let agent = screen.agent(&root(), "explore-1", "one");
    screen.event(&agent, EventKind::WaitBegan(WaitKind::Budget));
    let shown = picture(&mut screen, 120, 40);
    assert!(shown.contains("waiting for budget 0:00"), "{shown}");
}

#[test]
fn the_step_of_the_to_do_list_stays_when_the_list_has_scrolled_away() {
    let mut screen = busy();
    let items = [
        ("read it", TodoStatus::Completed),
        ("fix the parser", TodoStatus::InProgress),
        ("test it", TodoStatus::Pending),
    ];
    to_do(&mut screen, "t1", &items);
    screen.tool(&root(), "b1", "Bash", "cargo test");
    for (width, height, name) in [(120, 40, "fix the parser · 0:00"), (80, 24, "fix the")] {
        let shown = picture(&mut screen, width, height);
        let line = format!("running cargo test · step 2 of 3: {name}");
        assert!(shown.contains(&line), "{shown}");
    }
    let small = picture(&mut screen, 60, 15);
    assert!(small.contains("─ to main · step 2 of 3 · running Bash cargo test 0:00"), "{small}");
    to_do(&mut screen, "t2", &[]);
    let shown = picture(&mut screen, 120, 40);
    assert!(!shown.contains("step 2 of 3") && !shown.contains("To-do"), "{shown}");
}

#[test]
fn a_note_of_an_agent_stays_in_its_transcript() {
    let mut screen = busy();
    let agent = screen.agent(&root(), "explore-1", "one");
    let text = "a hook asked the agent to continue: run the tests";
    for path in [&root(), &agent] {
        screen.event(path, EventKind::Note { text: text.to_owned() });
    }
    let note = ItemKind::Notice { level: NoticeLevel::Info, text: text.to_owned() };
    let agent = &screen.model.agents.get(&agent).unwrap().transcript;
    for transcript in [&screen.model.main, agent] {
        assert!(transcript.iter().any(|(_, item)| item.kind == note));
    }
}

#[test]
fn an_error_about_the_to_do_list_is_for_the_model() {
    let mut screen = busy();
    screen.tool(&root(), "t1", "TodoWrite", "");
    let text = "Invalid input for TodoWrite: `todos[0].status`: unknown variant `doing`".to_owned();
    screen.main(EventKind::ToolFinished {
        id: ToolUseId::new("t1"),
        name: "TodoWrite".to_owned(),
        is_error: true,
        summary: text.clone(),
        content: vec![ResultBlock::Text { text }],
        details: None,
        took: Duration::ZERO,
    });
    let shown = picture(&mut screen, 120, 40);
    assert!(shown.contains("To-do   ✗ not updated") && !shown.contains("Invalid"), "{shown}");
}
