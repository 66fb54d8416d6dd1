use proptest::prelude::*;

use super::*;

fn typed(text: &str) -> TextBuffer {
    let mut buffer = TextBuffer::default();
    text.chars().for_each(|letter| buffer.type_char(letter));
    buffer
}

#[test]
fn editing_moves_by_clusters_and_words() {
    let mut buffer = TextBuffer::from("fix the e\u{301}tude");
    buffer.move_cursor(Movement::WordLeft);
    assert_eq!(buffer.cursor(), 8);
    buffer.move_cursor(Movement::Right);
    buffer.move_cursor(Movement::Right);
    buffer.delete(Movement::Left);
    assert_eq!(buffer.text(), "fix the e\u{301}ude");
    buffer.kill(Movement::WordLeft);
    assert_eq!(buffer.text(), "fix the ude");
    buffer.yank();
    assert_eq!(buffer.text(), "fix the e\u{301}ude");
}

#[test]
fn a_range_that_ends_before_it_starts_is_undone_as_one_step() {
    let mut buffer = typed("one two");
    buffer.move_cursor(Movement::LineStart);
    buffer.replace_before(4, "x ");
    assert_eq!(buffer.text(), "x two");
    buffer.undo();
    assert_eq!(buffer.text(), "one two");
}

#[test]
fn no_step_and_no_key_splits_a_cluster() {
    let family = "👩\u{200d}👩\u{200d}👧";
    let mut buffer = TextBuffer::from(format!("a{family}漢e\u{301}").as_str());
    let mut stops = Vec::new();
    while buffer.cursor() > 0 {
        buffer.move_cursor(Movement::Left);
        stops.push(buffer.cursor());
    }
    assert_eq!(stops, [22, 19, 1, 0]);
    buffer.delete(Movement::Right);
    buffer.delete(Movement::Right);
    assert_eq!(buffer.text(), "漢e\u{301}");
    buffer.undo();
    assert_eq!((buffer.text(), buffer.cursor()), (&*format!("{family}漢e\u{301}"), 0));
}

#[test]
fn killing_to_a_line_end_takes_the_newline_only_when_nothing_else_is_left() {
    let mut buffer = TextBuffer::from("one\ntwo");
    buffer.kill(Movement::LineStart);
    assert_eq!(buffer.text(), "one\n");
    buffer.kill(Movement::LineStart);
    assert_eq!(buffer.text(), "one");
}

#[test]
fn only_kills_are_yanked_also_in_the_next_text() {
    let mut buffer = TextBuffer::from("keep this word");
    buffer.kill(Movement::WordLeft);
    buffer.delete(Movement::Left);
    buffer.select(Movement::WordLeft);
    buffer.type_char('x');
    assert_eq!(buffer.take(), "keep x");
    buffer.yank();
    assert_eq!(buffer.text(), "word");
}

#[test]
fn undo_takes_back_a_typed_word_at_a_time() {
    let mut buffer = typed("check it");
    buffer.undo();
    assert_eq!(buffer.text(), "check ");
    buffer.undo();
    assert_eq!(buffer.text(), "");
    buffer.undo();
    assert_eq!(buffer.text(), "");
}

#[test]
fn typing_over_a_selection_is_one_undo_step() {
    let mut buffer = TextBuffer::from("an old word");
    buffer.select(Movement::WordLeft);
    assert_eq!(buffer.selected_text().as_deref(), Some("word"));
    "text".chars().for_each(|letter| buffer.type_char(letter));
    assert_eq!((buffer.text(), buffer.selection()), ("an old text", None));
    buffer.undo();
    assert_eq!((buffer.text(), buffer.cursor()), ("an old word", 7));
}

#[test]
fn a_selection_goes_both_ways_over_lines_and_is_deleted_or_killed_whole() {
    let mut buffer = TextBuffer::from("one\ntwo\nthree");
    buffer.select(Movement::Up { width: 80 });
    assert_eq!(buffer.selected_text().as_deref(), Some("\nthree"));
    buffer.select(Movement::LineStart);
    buffer.kill(Movement::LineEnd);
    assert_eq!(buffer.text(), "one\n");
    buffer.yank();
    assert_eq!(buffer.text(), "one\ntwo\nthree");
    buffer.move_cursor(Movement::LineStart);
    buffer.select(Movement::Down { width: 80 });
    buffer.delete(Movement::Left);
    assert_eq!(buffer.text(), "one\ntwo\n");
    buffer.undo();
    assert_eq!(buffer.text(), "one\ntwo\nthree");
}

#[test]
fn left_and_right_go_to_the_ends_of_the_selection_and_end_it() {
    for (movement, cursor) in [(Movement::Left, 4), (Movement::Right, 8)] {
        let mut buffer = TextBuffer::from("one more");
        buffer.select(Movement::WordLeft);
        buffer.move_cursor(movement);
        assert_eq!((buffer.cursor(), buffer.selection()), (cursor, None));
    }
}

#[test]
fn buffers_differ_in_text_cursor_or_selection() {
    let buffer = TextBuffer::from("word");
    let mut moved = buffer.clone();
    assert_eq!(buffer, typed("word"));
    moved.move_cursor(Movement::Left);
    assert_ne!(buffer, moved);
    let mut selected = buffer;
    selected.select(Movement::Left);
    assert_ne!(moved, selected);
}

#[test]
fn pasted_line_ends_become_newlines_and_escapes_are_dropped() {
    let mut buffer = TextBuffer::default();
    buffer.insert("a\r\nb\rc\u{1b}[31m");
    assert_eq!(buffer.text(), "a\nb\nc[31m");
}

#[test]
fn moving_between_lines_keeps_the_column() {
    let up = |width| Movement::Up { width };
    let mut buffer = TextBuffer::from("first line\n2\nthird line");
    assert!(buffer.move_cursor(up(80)));
    assert!(buffer.move_cursor(up(80)));
    assert_eq!(buffer.cursor(), 1);
    assert!(!buffer.move_cursor(up(80)));
    let mut soft = TextBuffer::from("first second");
    assert!(soft.move_cursor(up(6)) && soft.move_cursor(up(6)));
    assert!(!soft.move_cursor(up(6)));
}

#[test]
fn a_large_paste_is_one_character_and_is_sent_whole() {
    let log = "a line of a log file, forty-one bytes long\n".repeat(2000);
    let mut buffer = typed("why? ");
    buffer.paste(&log);
    assert_eq!(buffer.text().chars().count(), 6);
    assert_eq!(buffer.display(&buffer.text()[5..]), "[2,000 lines · 86 kB]");
    buffer.type_char('!');
    let whole = format!("why? {log}!");
    assert_eq!(buffer.full_text(), whole);
    buffer.kill(Movement::WordLeft);
    buffer.undo();
    assert_eq!(buffer.take(), whole);
    // As from the history, and with other text beside it.
    buffer.set(&PastPrompt::from(&*format!("{whole} really?")));
    assert_eq!(buffer.text().chars().count(), 15);
    assert_eq!(buffer.full_text(), format!("{whole} really?"));
}

#[test]
fn a_paste_of_many_short_lines_is_one_character_too() {
    let lines = |count: usize| "a line\n".repeat(count);
    let mut buffer = typed("");
    buffer.paste(&lines(100));
    assert_eq!(buffer.text(), lines(100), "it can be edited");
    let mut buffer = typed("why? ");
    buffer.paste(&lines(101));
    assert_eq!(buffer.display(&buffer.text()[5..]), "[101 lines · 707 bytes]");
    let whole = buffer.take();
    assert_eq!(whole, format!("why? {}", lines(101)));
    buffer.set(&PastPrompt::from(&*whole));
    assert_eq!(buffer.text().chars().count(), 6, "also from the history");
}

#[test]
fn many_pastes_of_every_size_are_sent_whole() {
    let mut buffer = TextBuffer::default();
    let mut whole = String::new();
    for number in 0..40 {
        let text = format!("{number} ").repeat(10_000);
        buffer.paste(&text);
        whole.push_str(&text);
    }
    assert_eq!(buffer.full_text(), whole);
    assert_eq!(buffer.take(), whole);
    buffer.set(&PastPrompt::from(&*whole));
    assert_eq!(buffer.take(), whole);
}

#[test]
fn more_large_pastes_than_there_are_characters_for_stay_in_order_and_cheap_to_edit() {
    let (mut buffer, mut whole) = (TextBuffer::default(), String::new());
    for number in 0..60 {
        let text = format!("{number} ").repeat(31_000);
        assert!(buffer.paste(&text));
        buffer.type_char('.');
        whole.push_str(&format!("{text}."));
    }
    buffer.move_cursor(Movement::LineStart);
    for number in 0..60 {
        let text = format!("-{number}").repeat(31_000);
        assert!(buffer.paste(&text));
        buffer.move_cursor(Movement::LineStart);
        whole.insert_str(0, &text);
    }
    assert!(buffer.text().len() < 1000, "{} bytes to edit", buffer.text().len());
    assert!(buffer.full_text() == whole);
}

#[test]
fn pastes_that_nothing_needs_make_room_and_the_killed_text_survives() {
    let text = |number: usize| format!("{number} ").repeat(31_000);
    let mut buffer = TextBuffer::default();
    for number in 0..60 {
        buffer.paste(&text(number));
        buffer.kill(Movement::LineStart);
    }
    buffer.paste("small");
    buffer.yank();
    assert!(buffer.full_text() == format!("small{}", text(59)));
}

#[test]
fn a_paste_that_would_take_too_much_memory_changes_nothing() {
    let mut buffer = TextBuffer::default();
    assert!(buffer.paste(&"x".repeat(paste::MAX_PASTED)));
    let before = buffer.clone();
    assert!(!buffer.paste(&"y".repeat(paste::MAX_EDITED)));
    assert_eq!(buffer, before);
    assert!(buffer.paste("and a word"));
    buffer.select(Movement::LineStart);
    assert!(buffer.paste(&"y".repeat(paste::MAX_PASTED)), "in place of the first");
    assert_eq!(buffer.full_text().len(), paste::MAX_PASTED);
}

#[test]
fn a_draft_with_large_pastes_comes_back_from_the_history_as_it_was() {
    let text = |number: usize, bytes: usize| format!("{number:09} ").repeat(bytes / 10);
    let large = |count, bytes| (0..count).map(|number| text(number, bytes)).collect::<Vec<_>>();
    for (pastes, other) in [(large(1, 10_000_000), "first"), (large(32, 100_000), "first")] {
        let mut buffer = typed("why? ");
        pastes.iter().for_each(|text| assert!(buffer.paste(text)));
        " really?".chars().for_each(|letter| buffer.type_char(letter));
        let (draft, edited) = (buffer.full_text(), buffer.text().to_owned());
        buffer.set(&PastPrompt::from(other));
        buffer.set(&PastPrompt::from(&*draft));
        assert_eq!(buffer.text(), edited);
        buffer.undo();
        assert_eq!(buffer.text(), other);
        buffer.undo();
        assert_eq!(buffer.text(), edited);
        buffer.undo();
        assert_eq!(buffer.text(), edited.trim_end_matches("really?"));
    }
}

#[test]
fn a_sent_prompt_with_a_large_paste_is_recalled_as_it_was() {
    let mut buffer = typed("why? ");
    buffer.paste(&"0123456789".repeat(1_000_000));
    let edited = buffer.text().to_owned();
    let sent = buffer.take();
    buffer.set(&PastPrompt::from(&*sent));
    assert_eq!(buffer.text(), edited);
    assert!(buffer.full_text() == sent);
}

#[test]
fn a_large_text_inserted_elsewhere_leaves_the_cursor_with_its_text() {
    let text = |number: usize| format!("{number:09} ").repeat(10_000);
    let before = |buffer: &TextBuffer| buffer.pastes.expand(&buffer.text()[..buffer.cursor()]);
    // Too many pastes, so that some become one; and too many bytes.
    let many: Vec<String> = (0..32).map(text).collect();
    for pastes in [many, vec!["0123456789".repeat(1_000_000)]] {
        let mut buffer = typed("one two ");
        pastes.iter().for_each(|text| assert!(buffer.paste(text)));
        " three four".chars().for_each(|letter| buffer.type_char(letter));
        let whole = buffer.full_text();
        for (cursor, at) in [(4, 0), (4, 8), (buffer.text().len() - 4, 4)] {
            let mut buffer = buffer.clone();
            buffer.place_cursor(cursor, false);
            let inserted = "x".repeat(9_000_000);
            let (ahead, end) =
                (before(&buffer), buffer.insert_at(at, &PastPrompt::from(&*inserted)));
            let expected = format!("{}{inserted}{}", &whole[..at], &whole[at..]);
            assert!(buffer.full_text() == expected);
            assert!(buffer.pastes.expand(&buffer.text()[..end]) == expected[..at + inserted.len()]);
            let moved = if cursor >= at { ahead.len() + inserted.len() } else { ahead.len() };
            assert!(before(&buffer) == expected[..moved], "cursor {cursor}, at {at}");
            assert!(buffer.text().len() < 1000);
        }
    }
}

#[test]
fn the_same_large_paste_counts_each_time() {
    let text = "0123456789".repeat(600_000);
    let mut buffer = TextBuffer::default();
    assert!(buffer.paste(&text) && buffer.paste(&text));
    assert!(!buffer.paste(&text));
    assert_eq!(buffer.full_text().len(), 2 * text.len());
}

#[test]
fn a_known_large_paste_is_yanked_without_losing_undo() {
    let text = "0123456789".repeat(1_000_000);
    let mut buffer = typed("why? ");
    buffer.paste(&text);
    buffer.kill(Movement::WordLeft);
    assert!(buffer.yank());
    for kept in [5, 6, 5] {
        buffer.undo();
        assert_eq!(buffer.text().chars().count(), kept);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Type(char),
    Insert(&'static str),
    Move(Movement),
    Select(Movement),
    Delete(Movement),
    Kill(Movement),
    Yank,
}

fn step() -> impl Strategy<Value = Step> {
    let movement = || {
        prop::sample::select(vec![
            Movement::Left,
            Movement::Right,
            Movement::WordLeft,
            Movement::WordRight,
            Movement::LineStart,
            Movement::LineEnd,
            Movement::Up { width: 4 },
            Movement::Down { width: 4 },
        ])
    };
    let letter = prop::sample::select(vec!['a', ' ', '漢', '\u{301}', '\u{200d}', '👩', '\n']);
    let piece = prop::sample::select(vec!["", "one two", "a\nb", "\n", "e\u{301}\n\n漢"]);
    prop_oneof![
        3 => letter.prop_map(Step::Type),
        1 => piece.prop_map(Step::Insert),
        2 => movement().prop_map(Step::Move),
        2 => movement().prop_map(Step::Select),
        1 => movement().prop_map(Step::Delete),
        1 => movement().prop_map(Step::Kill),
        1 => Just(Step::Yank),
    ]
}

proptest! {
    #[test]
    fn undo_leads_back_through_every_text_and_the_cursor_splits_no_character(
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let mut buffer = TextBuffer::default();
        let mut texts = vec![String::new()];
        for step in steps {
            match step {
                Step::Type(letter) => buffer.type_char(letter),
                Step::Insert(text) => buffer.insert(text),
                Step::Move(movement) => { buffer.move_cursor(movement); }
                Step::Select(movement) => buffer.select(movement),
                Step::Delete(movement) => buffer.delete(movement),
                Step::Kill(movement) => buffer.kill(movement),
                Step::Yank => prop_assert!(buffer.yank()),
            }
            prop_assert!(buffer.text().is_char_boundary(buffer.cursor()));
            prop_assert_eq!(buffer.text(), buffer.area.lines().join("\n"));
            texts.push(buffer.text().to_owned());
        }
        while !buffer.undo.is_empty() {
            buffer.undo();
            let text = buffer.text();
            let last = texts.iter().rposition(|known| known == text);
            prop_assert!(last.is_some(), "{:?} in {:?}", text, texts);
            texts.truncate(last.map_or(0, |last| last + 1));
        }
        prop_assert_eq!(buffer.text(), "");
    }
}
