//! Questions that agents ask the user: the form, its keys, and its look at the sizes that matter.

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;
use serde_json::{Value, json};

use crate::protocol::{Answer, Command, QuestionId};
use crate::tui::msg::{HitKind, Msg};
use crate::tui::testing::TestScreen;
use crate::tui::text::Highlighter;
use crate::tui::theme::Theme;
use crate::tui::view::View;

use super::pictures::{picture, styled_picture};
use super::root;

fn option(label: &str, description: &str) -> Value {
    json!({ "label": label, "description": description })
}

fn library() -> Value {
    json!({
        "question": "Which library should parse the dates?", "header": "Library",
        "options": [
            option("chrono (Recommended)", "Known to most people; the crate uses it already."),
            option("jiff", "Newer, with time zones."),
            option("time", "Small."),
        ],
    })
}

fn features() -> Value {
    json!({
        "question": "Which features should the crate have?", "header": "Features",
        "multiSelect": true,
        "options": [
            option("serde", "Serializes and deserializes dates."),
            option("clock", "Reads the system's time."),
            option("std", "Needs an allocator and an operating system."),
        ],
    })
}

fn layout() -> Value {
    json!({
        "question": "How should the page be laid out?", "header": "Layout",
        "options": [
            { "label": "Two columns", "description": "", "preview": "+----+----+\n| a  | b  |\n+----+----+" },
            { "label": "One column", "description": "", "preview": "+---------+\n| a       |\n\n| b       |\n+---------+" },
        ],
    })
}

fn asked(questions: &Value) -> TestScreen {
    let mut screen = TestScreen::new();
    screen.prompt("go").wait(2000).asks_user(&root(), 1, questions);
    screen
}

/// The answers that were sent, by question.
fn answers(screen: &mut TestScreen) -> Value {
    match &screen.sent()[..] {
        [] => Value::Null,
        [Command::Answer { id: QuestionId(1), answer: Answer::Allowed(allowance) }] => {
            let input = allowance.input.clone().unwrap();
            assert!(input["questions"].is_array(), "the questions stay: {input}");
            input["answers"].clone()
        }
        other => panic!("{other:?}"),
    }
}

const WHICH_LIBRARY: &str = "Which library should parse the dates?";
const WHICH_FEATURES: &str = "Which features should the crate have?";

#[test]
fn a_digit_answers_the_only_question() {
    let mut screen = asked(&json!([library()]));
    screen.write("2");
    assert_eq!(answers(&mut screen), json!({ WHICH_LIBRARY: "jiff" }));
    assert_eq!(screen.notice(), "answered: Library: jiff (main)");
    assert!(screen.model.questions.open.is_none());
}

#[test]
fn enter_chooses_the_row_of_the_cursor_and_nothing_before_there_is_one() {
    let mut screen = asked(&json!([library()]));
    screen.enter();
    assert_eq!(answers(&mut screen), Value::Null);
    assert_eq!(screen.notice(), "no answer yet · a digit or ↑↓ chooses");
    screen.key(KeyCode::Down).key(KeyCode::Down).key(KeyCode::Down).enter();
    assert_eq!(answers(&mut screen), json!({ WHICH_LIBRARY: "time" }));
}

#[test]
fn several_options_are_ticked_with_space_and_digits_and_sent_in_their_order() {
    let mut screen = asked(&json!([features()]));
    screen.write(" ");
    assert_eq!(screen.notice(), "no row is selected yet · ↑↓ or a digit selects one");
    screen.enter();
    assert_eq!(screen.notice(), "no answer yet · Space or a digit ticks an option");
    screen.write("31").key(KeyCode::Down).write(" ");
    let output = picture(&mut screen, 80, 24);
    for row in ["1  ☑ serde", "2▸ ☑ clock", "3  ☑ std"] {
        assert!(output.contains(row), "{output}");
    }
    screen.write(" 3").enter();
    assert_eq!(answers(&mut screen), json!({ WHICH_FEATURES: "serde" }));
}

#[test]
fn the_user_can_type_another_answer() {
    let mut screen = asked(&json!([library()]));
    screen.write("4").enter();
    assert_eq!(answers(&mut screen), Value::Null, "an empty one is none");
    screen.write("my own, 2 lines").ctrl('j').write("yes").enter();
    assert_eq!(answers(&mut screen), json!({ WHICH_LIBRARY: "my own, 2 lines\nyes" }));
    assert_eq!(screen.model.composer.text(), "");
    let mut screen = asked(&json!([features()]));
    let at = screen.at;
    screen.write("14").send(Msg::Paste { text: "pasted".into(), at }).enter();
    assert_eq!(answers(&mut screen), json!({ WHICH_FEATURES: "serde, pasted" }));
}

#[test]
fn an_own_answer_of_many_lines_scrolls_with_what_is_typed() {
    let mut screen = asked(&json!([library()]));
    screen.write("4").draw();
    for line in 0..40 {
        screen.write(&format!("line {line}")).ctrl('j').draw();
    }
    let output = picture(screen.write("the end"), 80, 24);
    assert!(output.contains("the end"), "{output}");
}

#[test]
fn an_own_answer_replaces_an_option_and_an_option_replaces_it() {
    let mut screen = asked(&json!([library(), features()]));
    screen.write("1").key(KeyCode::Left).write("4own").draw();
    assert_eq!(screen.model.questions.form().unwrap().questions[0].answer().unwrap(), "own");
    screen.key(KeyCode::Up).draw().write("3");
    assert_eq!(screen.model.questions.form().unwrap().questions[0].answer().unwrap(), "time");
}

#[test]
fn several_questions_have_tabs_and_a_last_one_that_sends_all_answers() {
    let mut screen = asked(&json!([library(), features(), layout()]));
    screen.write("2").draw().write("12").enter().draw();
    screen.key(KeyCode::Right).draw();
    let output = picture(&mut screen, 80, 24);
    for line in ["1  Library    jiff", "2  Features   serde, clock", "3  Layout     no answer"] {
        assert!(output.contains(line), "{output}");
    }
    assert_eq!(answers(&mut screen), Value::Null, "nothing is sent yet");
    screen.write("1").draw().write("1").draw();
    screen.key(KeyCode::Right).key(KeyCode::Right).enter();
    assert_eq!(answers(&mut screen), Value::Null, "the summary was not on the screen");
    screen.draw().enter();
    let sent = json!({ WHICH_LIBRARY: "chrono (Recommended)", WHICH_FEATURES: "serde, clock" });
    assert_eq!(answers(&mut screen), sent);
}

#[test]
fn a_key_for_one_question_does_not_answer_the_next_one() {
    let mut screen = asked(&json!([library(), features()]));
    screen.write("13");
    let form = screen.model.questions.form().unwrap();
    assert_eq!((form.tab, form.questions[1].answer()), (1, None));
    screen.draw().write("3");
    let form = screen.model.questions.form().unwrap();
    assert_eq!(form.questions[1].answer().unwrap(), "std");
}

#[test]
fn nothing_is_sent_without_any_answer() {
    let mut screen = asked(&json!([library(), features()]));
    screen.key(KeyCode::Right).key(KeyCode::Right).draw().enter();
    assert_eq!(answers(&mut screen), Value::Null);
    assert_eq!(screen.notice(), "no answer yet · Esc declines");
}

#[test]
fn esc_declines_and_in_the_text_field_only_leaves_that() {
    let mut screen = asked(&json!([library()]));
    screen.write("4own").esc();
    assert_eq!(screen.sent(), []);
    screen.wait(300).esc();
    let no = Answer::No { reason: None };
    assert_eq!(screen.sent(), [Command::Answer { id: QuestionId(1), answer: no }]);
    assert_eq!(screen.notice(), "not answered (main)");
}

#[test]
fn letters_go_to_the_draft_and_the_answers_stay() {
    let mut screen = asked(&json!([features()]));
    screen.write("2hm 3");
    assert_eq!(screen.model.composer.text(), "hm 3");
    screen.key(KeyCode::Tab).draw().enter();
    assert_eq!(answers(&mut screen), json!({ WHICH_FEATURES: "clock" }));
}

#[test]
fn a_form_waits_its_turn_and_keeps_its_answers() {
    let mut screen = asked(&json!([features()]));
    screen.asks(&root(), 2, "main", "ls").write("1");
    screen.key(KeyCode::Tab).draw().write("1");
    let once = Command::Answer { id: QuestionId(2), answer: Answer::Once };
    assert_eq!(screen.sent(), [once]);
    screen.wait(400).draw().enter();
    assert_eq!(answers(&mut screen), json!({ WHICH_FEATURES: "serde" }));
}

#[test]
fn a_refused_answer_comes_back_with_its_form() {
    use crate::protocol::EventKind;
    let mut screen = asked(&json!([features()]));
    screen.write("1").enter();
    screen.sent();
    screen.main(EventKind::AnswerRefused { id: QuestionId(1), why: "no".into() }).wait(2000).draw();
    assert_eq!(screen.model.questions.form().unwrap().questions[0].answer().unwrap(), "serde");
}

#[test]
fn an_option_that_is_not_on_the_screen_is_shown_before_it_is_chosen() {
    let mut long = library();
    for option in long["options"].as_array_mut().unwrap() {
        option["description"] = json!("It needs many words. ".repeat(20));
    }
    let mut screen = asked(&json!([long]));
    let output = picture(&mut screen, 60, 15);
    assert!(!output.contains("time"), "{output}");
    screen.write("3");
    assert_eq!(answers(&mut screen), Value::Null);
    let output = picture(&mut screen, 60, 15);
    assert!(output.contains("3▸ time"), "{output}");
    screen.write("3");
    assert_eq!(answers(&mut screen), json!({ WHICH_LIBRARY: "time" }));
}

#[test]
fn an_option_is_chosen_only_after_its_preview_was_on_the_screen() {
    let mut screen = asked(&json!([layout()]));
    // Keys that arrive before the next frame choose nothing that it would show first.
    screen.draw().write("22").enter();
    screen.key(KeyCode::Up).key(KeyCode::Down).enter();
    assert_eq!(answers(&mut screen), Value::Null);
    screen.draw().write("1");
    assert_eq!(answers(&mut screen), Value::Null);
    screen.draw().write("1");
    assert_eq!(answers(&mut screen), json!({ "How should the page be laid out?": "Two columns" }));
}

/// Clicks on these words of the frame.
fn click(screen: &mut TestScreen, words: &str) {
    let mut view = View::new(Theme::default(), Highlighter::off());
    let output = styled_picture(&mut view, screen, 80, 24);
    screen.send(Msg::Drawn(Box::new(view.metrics().clone())));
    let lines = output.lines().filter(|line| !line.starts_with("    ~")).enumerate();
    let place = |(row, line): (usize, &str)| Some((line[..line.find(words)?].chars().count(), row));
    let (column, row) = lines.filter_map(place).next().unwrap();
    let (column, row) = (u16::try_from(column).unwrap(), u16::try_from(row).unwrap());
    let hit = view.hit_test(&screen.model, Position::new(column, row), false);
    let (at, modifiers) = (screen.at, KeyModifiers::NONE);
    for kind in [MouseEventKind::Down(MouseButton::Left), MouseEventKind::Up(MouseButton::Left)] {
        let event = MouseEvent { kind, column, row, modifiers };
        screen.send(Msg::Mouse { event, hit: hit.clone(), at });
    }
}

#[test]
fn a_click_moves_the_cursor_and_another_one_answers() {
    let mut screen = asked(&json!([library()]));
    click(&mut screen, "jiff");
    assert_eq!(answers(&mut screen), Value::Null);
    click(&mut screen, "Small.");
    assert_eq!(answers(&mut screen), Value::Null);
    click(&mut screen, "Small.");
    assert_eq!(answers(&mut screen), json!({ WHICH_LIBRARY: "time" }));
}

#[test]
fn a_click_ticks_a_box_and_shows_a_tab() {
    let mut screen = asked(&json!([library(), features()]));
    click(&mut screen, "Features");
    click(&mut screen, "serde");
    click(&mut screen, "clock");
    click(&mut screen, "clock");
    click(&mut screen, "std");
    click(&mut screen, "Send");
    assert_eq!(answers(&mut screen), Value::Null);
    click(&mut screen, "no answer");
    assert_eq!(screen.model.questions.form().unwrap().tab, 0);
    click(&mut screen, "Send");
    screen.draw().enter();
    assert_eq!(answers(&mut screen), json!({ WHICH_FEATURES: "serde, std" }));
}

#[test]
fn the_rows_of_an_option_are_where_they_are_drawn() {
    let mut screen = asked(&json!([library()]));
    let mut view = View::new(Theme::default(), Highlighter::off());
    let output = styled_picture(&mut view, &mut screen, 80, 24);
    let lines: Vec<_> = output.lines().filter(|line| !line.starts_with("    ~")).collect();
    let answers = view.hit_areas().filter_map(|(area, kind)| match kind {
        HitKind::Answer(digit) => Some((usize::from(area.y), *digit)),
        _ => None,
    });
    let answers: Vec<_> = answers.collect();
    assert!(answers.len() >= 4, "{answers:?}");
    for (number, word) in [(1, "chrono"), (2, "jiff"), (3, "time"), (4, "Type your own")] {
        let (y, _) = answers.iter().find(|(_, digit)| *digit == number).unwrap();
        assert!(lines[*y].contains(word), "{output}");
    }
}

#[test]
fn nothing_in_a_question_can_hide() {
    let hostile = json!([{
        "question": "Which\u{1b}[8m one\u{202e}?", "header": "H\u{200b}",
        "options": [option("a\u{202e}b", "c\u{7}d"), option("e\u{a0}f", "x\ty")],
    }]);
    let mut screen = asked(&hostile);
    let output = picture(&mut screen, 80, 24);
    for shown in ["Which␛[8m one⟨U+202E⟩?", "a⟨U+202E⟩b", "c␇d", "e⟨U+00A0⟩f", "x␉y"]
    {
        assert!(output.contains(shown), "{shown}: {output}");
    }
}

#[test]
fn ctrl_o_shows_all_questions_with_all_previews() {
    let mut screen = asked(&json!([library(), layout()]));
    screen.ctrl('o');
    let output = picture(&mut screen, 80, 24);
    for shown in [WHICH_LIBRARY, "• jiff", "Newer, with time zones.", "| a  | b  |"] {
        assert!(output.contains(shown), "{shown}: {output}");
    }
    screen.esc().draw().write("1");
    assert_eq!(screen.model.questions.form().unwrap().tab, 1);
}

#[test]
fn a_form_with_a_long_preview_is_small_at_first_and_keeps_its_question_in_view() {
    let long: String = (1..=40).map(|row| format!("row {row}\n")).collect();
    let asks = json!([{
        "question": "Which layout?", "header": "Layout",
        "options": [
            { "label": "wide", "description": "two columns", "preview": long },
            { "label": "tall", "description": "one column", "preview": "+--+\n|a |" },
        ],
    }]);
    let mut screen = asked(&asks);
    let boxed = |shown: &str| shown.lines().filter(|line| line.starts_with('│')).count();
    let shown = picture(&mut screen, 100, 30);
    assert!(boxed(&shown) <= 6 && shown.contains("Ctrl+O previews"), "{shown}");
    screen.key(KeyCode::Down);
    for (width, height) in [(100, 30), (60, 15)] {
        let shown = picture(&mut screen, width, height);
        for words in ["Which layout?", "wide", "row 1", "… +", "tall", "Type your own"] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        assert!(!shown.contains("row 40"), "{shown}");
    }
    screen.key(KeyCode::Down);
    let shown = picture(&mut screen, 100, 30);
    assert!(shown.contains("|a |") && boxed(&shown) <= 8, "as large as what it shows: {shown}");
}

#[test]
fn forms_look_as_the_rest_does_at_each_size() {
    for (width, height) in [(120, 40), (80, 24), (60, 15)] {
        let mut view = View::new(Theme::named("dark").unwrap(), Highlighter::off());
        let mut screen = asked(&json!([library(), features(), layout()]));
        let mut shot = |screen: &mut TestScreen, name: &str| {
            // The sizes of a first frame decide which digits work.
            styled_picture(&mut view, screen, width, height);
            screen.draw();
            let output = styled_picture(&mut view, screen, width, height);
            screen.draw();
            insta::assert_snapshot!(format!("form_{name}_{width}x{height}"), output);
        };
        shot(&mut screen, "one");
        screen.write("1").draw().write("13").key(KeyCode::Down);
        shot(&mut screen, "several");
        screen.enter().draw().key(KeyCode::Down).key(KeyCode::Down);
        shot(&mut screen, "preview");
        screen.key(KeyCode::Down).write("three columns");
        shot(&mut screen, "typed");
        screen.enter();
        shot(&mut screen, "summary");
    }
}

#[test]
fn a_remark_on_a_key_goes_with_the_next_one() {
    let mut screen = asked(&json!([features(), library()]));
    screen.enter();
    assert_eq!(screen.notice(), "no answer yet · Space or a digit ticks an option");
    screen.write("1");
    assert_eq!(screen.notice(), "");
}
