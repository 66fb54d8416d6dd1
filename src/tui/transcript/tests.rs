use super::*;
use crate::protocol::NoticeLevel;

fn text_of(transcript: &TranscriptState, id: ItemId) -> &str {
    match &transcript.get(id).unwrap().kind {
        ItemKind::Text { text, .. } => text,
        ItemKind::Thinking { text, .. } => text,
        other => panic!("not a text: {other:?}"),
    }
}

#[test]
fn a_finished_block_stands_for_its_deltas() {
    let mut transcript = TranscriptState::default();
    transcript.text_delta("The ses");
    transcript.text_delta("sion");
    transcript.text_finished("The session");
    transcript.text_delta("Next");
    assert_eq!(text_of(&transcript, 0), "The session");
    assert_eq!(text_of(&transcript, 1), "Next");
}

#[test]
fn a_repeated_request_takes_back_only_what_it_said() {
    let mut transcript = TranscriptState::default();
    transcript.text_finished("kept");
    transcript.request_started();
    transcript.text_delta("void");
    transcript.void_request();
    assert_eq!((text_of(&transcript, 1), transcript.last_text()), ("void", Some("kept")));
    transcript.push(ItemKind::Notice { level: NoticeLevel::Info, text: "slow".to_owned() });
    assert_eq!(text_of(&transcript, 1), "void", "it stays until there is an answer");
    transcript.text_delta("again");
    assert_eq!(text_of(&transcript, 0), "kept");
    assert_eq!(transcript.get(1).unwrap().kind, ItemKind::Hidden);
    assert_eq!(text_of(&transcript, 3), "again");
}

#[test]
fn reading_calls_in_a_row_share_an_item_and_others_do_not() {
    let mut transcript = TranscriptState::default();
    for (id, name) in [("1", "Read"), ("2", "Grep"), ("3", "Bash"), ("4", "Read")] {
        transcript.call_started(ToolUseId::new(id), name.to_owned(), String::new());
    }
    assert_eq!(transcript.ids(), 0..3);
}

#[test]
fn a_bounded_transcript_gives_up_its_oldest_items_and_says_so() {
    let mut transcript = TranscriptState::bounded(1000);
    for _ in 0..20 {
        transcript.text_finished("x".repeat(100));
    }
    assert!(transcript.iter().count() < 12);
    let (_, front) = transcript.iter().next().unwrap();
    assert!(matches!(front.kind, ItemKind::Dropped { items } if items > 5));
    assert!(transcript.changed_since(3).is_none());
}

#[test]
fn a_view_learns_which_items_changed() {
    let mut transcript = TranscriptState::default();
    transcript.text_finished("a");
    let seen = transcript.revision();
    transcript.text_delta("b");
    transcript.text_delta("c");
    assert_eq!(transcript.changed_since(seen), Some(vec![1]));
    assert_eq!(transcript.changed_since(transcript.revision()), Some(vec![]));
}

#[test]
fn a_line_that_comes_while_an_answer_grows_does_not_cut_it() {
    let mut transcript = TranscriptState::default();
    transcript.thinking_delta("let me ", Duration::ZERO);
    transcript.push(ItemKind::Notice { level: NoticeLevel::Info, text: "a line".to_owned() });
    transcript.thinking_delta("see", Duration::ZERO);
    transcript.thinking_finished("let me see", Duration::ZERO);
    transcript.text_delta("| a | b |\n");
    transcript.push(ItemKind::Notice { level: NoticeLevel::Info, text: "another".to_owned() });
    transcript.text_delta("|---|---|\n");
    transcript.shell_finished("echo hi".to_owned(), "hi", "exit 0".to_owned());
    transcript.text_finished("| a | b |\n|---|---|\n");
    transcript.text_delta("Next");
    let texts = [0, 2, 5].map(|id| text_of(&transcript, id));
    assert_eq!(texts, ["let me see", "| a | b |\n|---|---|\n", "Next"]);
    assert_eq!(transcript.ids(), 0..6);
}

#[test]
fn calls_that_fail_at_once_stand_in_the_order_in_which_they_were_made() {
    let mut transcript = TranscriptState::default();
    let ids = ["1", "2", "3"].map(ToolUseId::new);
    for id in &ids {
        transcript.call_announced(id.clone(), format!("task {id}"));
    }
    for at in [2, 0, 1] {
        let result = ToolCallResult {
            is_error: true,
            summary: "bad input".to_owned(),
            details: None,
            took: Duration::ZERO,
        };
        transcript.call_finished(&ids[at], "Agent", "no", result);
    }
    let found = transcript.iter().filter_map(|(_, item)| match &item.kind {
        ItemKind::Tools(calls) => Some(calls[0].summary.clone()),
        _ => None,
    });
    assert_eq!(found.collect::<Vec<_>>(), ["task 1", "task 2", "task 3"]);
}

#[test]
fn the_end_of_a_long_result_begins_with_a_word_and_says_what_it_is() {
    let mut transcript = TranscriptState::default();
    let id = ToolUseId::new("1");
    let output: String = (0..9000).map(|row| format!("row {row} of a long answer ")).collect();
    let result = ToolCallResult {
        is_error: false,
        summary: String::new(),
        details: None,
        took: Duration::ZERO,
    };
    transcript.call_finished(&id, "mcp__shop__list", &output, result);
    let ItemKind::Tools(calls) = &transcript.get(0).unwrap().kind else { panic!() };
    let (first, rest) = calls[0].output.split_once('\n').unwrap();
    assert_eq!(first, "… the beginning is not kept");
    let word = rest.split(' ').next().unwrap();
    assert!(output.contains(&format!(" {word} ")) && rest.len() <= MAX_CALL_OUTPUT, "{word}");
}
