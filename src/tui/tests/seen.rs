//! The content of a question must have been on the screen before it can be allowed.

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use serde_json::{Value, json};

use crate::protocol::{self, Access, AgentPath, Answer, Command, EventKind, Question, QuestionId};
use crate::tui::msg::{HitKind, HitTarget, Msg};
use crate::tui::overlay::Overlay;
use crate::tui::testing::TestScreen;
use crate::tui::text::Highlighter;
use crate::tui::theme::Theme;
use crate::tui::view::View;

use super::pictures::{picture, styled_picture, three};

/// Changes the call of a question.
type Change<'a> = Box<dyn Fn(&mut Question) + 'a>;

/// The sizes at which a question must be answerable.
const SIZES: [(u16, u16); 4] = [(60, 15), (80, 24), (100, 30), (120, 40)];

pub fn once(id: u64) -> [Command; 1] {
    [Command::Answer { id: QuestionId(id), answer: Answer::Once }]
}

/// Three agents working, the first with the question under test; the others ask for something short.
pub fn asked(change: impl FnOnce(&mut Question)) -> TestScreen {
    let mut screen = TestScreen::new();
    let main = AgentPath::root();
    screen.prompt("go");
    let asker = screen.agent(&main, "explore-1", "map the routes");
    let second = screen.agent(&main, "explore-2", "find the slow query");
    let third = screen.agent(&main, "review-1", "check the tests");
    let EventKind::PermissionAsked(mut question) =
        TestScreen::question(&asker, 1, "explore-1", "psql shop")
    else {
        panic!()
    };
    change(&mut question);
    screen.wait(2000).event(&asker, EventKind::PermissionAsked(question));
    screen.event(&second, TestScreen::question(&second, 2, "explore-2", "ls"));
    screen.event(&third, TestScreen::question(&third, 3, "review-1", "ls"));
    screen
}

/// Access to a file without symbolic links.
fn target(path: &str) -> protocol::PathTarget {
    protocol::PathTarget { written: path.into(), resolved: Some(path.into()) }
}

/// An edit of `src/main.rs` that replaces one line with many.
pub fn edit(lines: usize) -> impl FnOnce(&mut Question) {
    move |question| {
        let new: String = (1..=lines).map(|line| format!("+word-{line};\n")).collect();
        question.tool = "Edit".to_owned();
        question.cwd = "/p/shop".into();
        question.input =
            json!({ "file_path": "src/main.rs", "old_string": "x", "new_string": "y" });
        question.access = Access::Write { paths: vec![target("/p/shop/src/main.rs")] };
        question.reason = "no rule allows writing src/main.rs".to_owned();
        question.rules = vec!["Edit(src/**)".to_owned()];
        question.preview = Some(format!("@@ -1 +1,{lines} @@\n-old\n{new}"));
    }
}

pub fn command(line: String) -> impl FnOnce(&mut Question) {
    move |question| {
        question.input = json!({ "command": line });
        question.access = Access::Command { line, cwd: "/p/shop/sub".into() };
    }
}

pub fn click(screen: &mut TestScreen, digit: u8) {
    let at = screen.at;
    for kind in [MouseEventKind::Down(MouseButton::Left), MouseEventKind::Up(MouseButton::Left)] {
        let event = MouseEvent { kind, column: 5, row: 5, modifiers: KeyModifiers::NONE };
        let under = HitTarget { kind: HitKind::Answer(digit), ..HitTarget::default() };
        screen.send(Msg::Mouse { event, hit: under, at });
    }
}

/// Tries every input that could allow the call, and fails if anything is sent.
#[track_caller]
fn assert_dead(screen: &mut TestScreen) {
    screen.write("123").enter();
    for digit in 1..=3 {
        click(screen, digit);
        screen.enter();
    }
    screen.key(KeyCode::Down).key(KeyCode::Up).key(KeyCode::Down);
    let selected = screen.model.questions.open.as_ref().unwrap().selected;
    assert_eq!(selected, Some(4), "arrows pass over what cannot be answered");
    screen.model.questions.open.as_mut().unwrap().selected = None;
    assert_eq!(screen.sent(), []);
}

#[test]
fn a_long_edit_cannot_be_allowed_until_its_end_was_on_the_screen() {
    for (width, height) in SIZES {
        let mut screen = asked(edit(60));
        screen.write("1");
        assert_eq!(screen.sent(), [], "nothing was drawn yet");
        let output = picture(&mut screen, width, height);
        assert!(output.contains("word-4;"), "six lines of it at least: {output}");
        assert!(output.contains("below ╯"), "{output}");
        assert!(output.contains(" PgDn or End shows the rest · then 1–3"), "{output}");
        assert_dead(&mut screen);
        screen.key(KeyCode::End).write("1");
        assert_eq!(screen.sent(), [], "the end was not drawn yet");
        let output = picture(&mut screen, width, height);
        assert!(output.contains("word-60;") && output.contains("in /p/shop"), "{output}");
        screen.key(KeyCode::End);
        let output = picture(&mut screen, width, height);
        assert!(output.contains("1  Yes") && output.contains("edits in src/"), "{output}");
        screen.write("1");
        assert_eq!(screen.sent(), once(1), "{width}x{height}");
    }
}

#[test]
fn a_question_about_an_edit_shows_its_lines_its_reason_and_its_task() {
    let change = |question: &mut Question| {
        edit(1)(question);
        question.agent = "explore-2".to_owned();
        question.cwd = "shop".into();
        question.access = Access::Write { paths: vec![target("shop/lib/discount.sh")] };
        question.rules = vec!["Edit(lib/**)".to_owned()];
        question.reason = "no rule allows writing it".to_owned();
        question.preview = Some(
            "@@ -6,4 +6,4 @@\n bulk_discount() {\n   local count=$1 cents=$2\n\
             -  if [ \"$count\" -gt \"$bulk_from\" ]; then\n\
             +  if [ \"$count\" -ge \"$bulk_from\" ]; then\n     cents=$((cents * (100 - bulk_percent) / 100))\n"
                .to_owned(),
        );
    };
    let (mut screen, [_, query, tests]) = three();
    let EventKind::PermissionAsked(mut question) =
        TestScreen::question(&query, 1, "explore-2", "x")
    else {
        panic!()
    };
    change(&mut question);
    screen.event(&query, EventKind::PermissionAsked(question));
    screen.asks(&tests, 2, "review-1", "cargo test").wait(5000);
    for (width, height) in [(60, 15), (80, 24), (120, 40), (160, 45)] {
        let output = picture(&mut screen, width, height);
        insta::assert_snapshot!(format!("edit_{width}x{height}"), output);
    }
}

#[test]
fn a_name_or_a_task_cannot_continue_the_words_around_it() {
    let name = "a.txt (a link to b.txt) · 1 of 3";
    let change = |question: &mut Question| {
        edit(1)(question);
        question.cwd = "/p/a (trusted)".into();
        question.access = Access::Write {
            paths: vec![protocol::PathTarget {
                written: format!("/p/a (trusted)/{name}").into(),
                resolved: Some("/q/c d".into()),
            }],
        };
    };
    let mut screen = asked(change);
    let output = picture(&mut screen, 200, 45);
    let title = format!("wants to edit \"{name}\" (a link to \"/q/c d\")");
    assert!(output.contains(&title), "{output}");
    let below =
        "in \"/p/a (trusted)\" · no rule allows writing src/main.rs · task: \"map the routes\"";
    assert!(output.contains(below), "{output}");
}

#[test]
fn the_code_of_an_edit_and_of_a_command_has_its_colours() {
    let (sender, ready) = std::sync::mpsc::sync_channel(1);
    let highlighter = Highlighter::new(move || {
        let _ = sender.send(());
    });
    highlighter.request();
    ready.recv().unwrap();
    let edited = |question: &mut Question| {
        edit(1)(question);
        question.preview = Some(
            "@@ -6,2 +6,2 @@\n fn discount() -> u32 {\n-    let count = 10;\n+    let count = 12; // a dozen\n"
                .to_owned(),
        );
    };
    let theme = || Theme::named("dark").unwrap();
    let mut view = View::new(theme(), highlighter);
    let output = styled_picture(&mut view, &mut asked(edited), 80, 24);
    insta::assert_snapshot!("styled_edit", output);
    let line = "cargo test --package shop cart::total && echo \"all of it\"";
    let output = styled_picture(&mut view, &mut asked(command(line.to_owned())), 80, 24);
    insta::assert_snapshot!("styled_command", output);
}

#[test]
fn a_question_without_a_rule_promises_only_the_yes_that_it_has() {
    for (width, height) in SIZES {
        let mut screen = asked(|question| {
            edit(60)(question);
            question.rules.clear();
        });
        let output = picture(&mut screen, width, height);
        assert!(output.contains("shows the rest · then 1"), "{output}");
        assert!(!output.contains("then 1–"), "{width}x{height}: {output}");
    }
}

#[test]
fn a_call_that_is_too_large_to_show_can_only_be_refused() {
    let text = |content: String| -> Change<'static> {
        Box::new(move |question| {
            edit(1)(question);
            question.preview = None;
            question.input = json!({ "file_path": "src/main.rs", "content": content });
        })
    };
    let large: [Change<'_>; 4] = [
        text("x".repeat(protocol::MAX_SHOWN_BYTES)),
        text("\n".repeat(60_000)),
        Box::new(|question| edit(60_000)(question)),
        Box::new(|question| question.input = json!({ "all": vec![Value::Null; 60_000] })),
    ];
    for change in &large {
        for (width, height) in SIZES {
            let mut screen = asked(change);
            for _ in 0..2 {
                let output = picture(&mut screen, width, height);
                assert!(output.contains("too large to show"), "{output}");
                assert!(output.contains("too large to allow it here"), "{output}");
                assert_dead(&mut screen);
                screen.key(KeyCode::End);
            }
            screen.key(KeyCode::Esc);
            let no = Answer::No { reason: None };
            assert_eq!(screen.sent(), [Command::Answer { id: QuestionId(1), answer: no }]);
        }
    }
}

#[test]
fn a_call_of_many_lines_is_shown_whole() {
    let mut screen = asked(edit(5_000));
    picture(&mut screen, 80, 24);
    screen.key(KeyCode::End);
    let output = picture(&mut screen, 80, 24);
    assert!(output.contains("word-5000;"), "{output}");
    picture(&mut screen, 80, 24);
    screen.write("1");
    assert_eq!(screen.sent(), once(1));
}

#[test]
fn page_down_and_the_wheel_lead_to_the_end_too() {
    let mut screen = asked(edit(60));
    for _ in 0..20 {
        picture(&mut screen, 80, 24);
        screen.key(KeyCode::PageDown);
    }
    picture(&mut screen, 80, 24);
    screen.write("1");
    assert_eq!(screen.sent(), once(1));
    let mut screen = asked(edit(60));
    for _ in 0..30 {
        picture(&mut screen, 80, 24);
        let kind = MouseEventKind::ScrollDown;
        let event = MouseEvent { kind, column: 5, row: 5, modifiers: KeyModifiers::NONE };
        let under = HitTarget { kind: HitKind::Overlay, ..HitTarget::default() };
        let at = screen.at;
        screen.send(Msg::Mouse { event, hit: under, at });
    }
    picture(&mut screen, 80, 24);
    screen.write("1");
    assert_eq!(screen.sent(), once(1));
}

#[test]
fn what_is_on_the_screen_as_a_whole_can_be_answered_at_once() {
    for (width, height) in SIZES {
        for edit in [edit(3), edit(1)] {
            let mut screen = asked(edit);
            let output = picture(&mut screen, width, height);
            assert!(output.contains("wants to edit src/main.rs"), "{output}");
            assert!(output.contains("1 of 3"), "{output}");
            screen.write("1");
            assert_eq!(screen.sent(), once(1), "{output}");
        }
    }
}

#[test]
fn no_is_always_an_answer() {
    let mut screen = asked(edit(500));
    screen.write("4").enter();
    assert_eq!(screen.sent().len(), 1);
    let mut screen = asked(edit(500));
    screen.draw().write("5");
    assert_eq!(screen.sent().len(), 2);
    let mut screen = asked(edit(500));
    screen.draw().esc();
    assert_eq!(screen.sent().len(), 1);
}

#[test]
fn another_width_wraps_the_content_anew_and_its_end_has_to_be_seen_again() {
    let mut screen = asked(edit(60));
    picture(&mut screen, 80, 24);
    screen.key(KeyCode::End);
    picture(&mut screen, 80, 24);
    screen.key(KeyCode::Home);
    picture(&mut screen, 80, 24);
    assert!(screen.model.answers().contains(&1));
    screen.send(Msg::Resize { width: 70, height: 24 }).write("1");
    assert_eq!(screen.sent(), [], "nothing of this size was drawn yet");
    picture(&mut screen, 70, 24);
    assert_dead(&mut screen);
    screen.key(KeyCode::End);
    picture(&mut screen, 70, 24);
    screen.key(KeyCode::End);
    // A smaller height does not change the wrapping.
    picture(&mut screen, 70, 20);
    screen.write("1");
    assert_eq!(screen.sent(), once(1));
}

#[test]
fn what_was_seen_of_one_question_says_nothing_about_the_next() {
    let mut screen = asked(edit(60));
    let main = AgentPath::root();
    screen.event(&main, TestScreen::question(&main, 9, "main", &"x ".repeat(4000)));
    picture(&mut screen, 80, 24);
    screen.key(KeyCode::End);
    picture(&mut screen, 80, 24);
    for _ in 0..3 {
        screen.key(KeyCode::Tab).write("1");
        assert_eq!(screen.sent(), []);
    }
    picture(&mut screen, 80, 24);
    assert_eq!(screen.model.questions.open.as_ref().unwrap().id, QuestionId(9));
    assert_dead(&mut screen);
}

#[test]
fn the_end_of_the_reader_counts_as_seen() {
    let mut screen = asked(edit(600));
    picture(&mut screen, 80, 24);
    screen.ctrl('o');
    let output = picture(&mut screen, 80, 24);
    assert!(output.starts_with("╭ ⚑ agent 1 wants to edit src/main.rs"), "{output}");
    assert!(output.contains("+ word-15;"), "{output}");
    screen.esc().wait(300);
    picture(&mut screen, 80, 24);
    assert_dead(&mut screen);
    screen.ctrl('o');
    picture(&mut screen, 80, 24);
    screen.write("G");
    assert!(picture(&mut screen, 80, 24).contains("+ word-600;"));
    screen.write("1").esc().wait(300);
    assert_eq!(screen.sent(), []);
    picture(&mut screen, 80, 24);
    screen.write("1");
    assert_eq!(screen.sent(), once(1));
}

#[test]
fn a_question_that_goes_takes_its_reader_along() {
    let mut screen = asked(edit(60));
    let asker = screen.model.questions.waiting[0].question.path.clone();
    screen.draw().ctrl('o');
    assert!(matches!(screen.model.overlay, Some(Overlay::Question { .. })));
    screen.event(&asker, EventKind::QuestionClosed { id: QuestionId(1), allowed: None });
    assert_eq!(screen.model.overlay, None);
}

#[test]
fn a_character_that_a_terminal_may_drop_is_shown_by_its_number() {
    let mut screen =
        asked(command("./te\u{1161}st.sh \u{378}# x; cat \u{1112}\u{1161}".to_owned()));
    let output = picture(&mut screen, 120, 40);
    assert!(output.contains("./te⟨U+1161⟩st.sh ⟨U+0378⟩# x; cat \u{1112}\u{1161}"), "{output}");
}

/// Calls of all kinds that contain these words; `text` is the words joined with spaces.
fn calls<'a>(words: &'a [String], text: &'a str) -> Vec<Change<'a>> {
    vec![
        Box::new(move |question| command(text.to_owned())(question)),
        Box::new(move |question| command(words.join(""))(question)),
        Box::new(move |question| command(words.join("\n"))(question)),
        Box::new(move |question| {
            question.tool = "WebFetch".to_owned();
            let url = format!("https://example.org/{}", words.join("/"));
            question.input = json!({ "url": url, "prompt": "summarize" });
            question.access = Access::Fetch { url };
        }),
        Box::new(move |question| {
            question.tool = "AgentTool".to_owned();
            question.input = json!({ "subagent_type": "explore", "prompt": text });
            question.access = Access::Agent { name: "explore".to_owned() };
        }),
        Box::new(move |question| {
            question.tool = "mcp__db__query".to_owned();
            question.input = json!({ "query": words });
            question.access = Access::Other;
        }),
        Box::new(move |question| {
            edit(1)(question);
            question.preview = None;
            question.input =
                json!({ "file_path": "src/main.rs", "old_string": text, "new_string": "" });
        }),
        Box::new(move |question| {
            edit(1)(question);
            question.access = Access::Write {
                paths: words.iter().map(|word| target(&format!("/q/{word}"))).collect(),
            };
        }),
    ]
}

#[test]
fn nothing_of_any_call_is_hidden_at_any_size() {
    let words: Vec<String> = (1..=300).map(|number| format!("w{number}w")).collect();
    let text = words.join(" ");
    let calls = calls(&words, &text);
    let sizes = SIZES.into_iter().chain([(20, 8), (30, 12), (200, 60)]);
    for (width, height) in sizes {
        for (at, call) in calls.iter().enumerate() {
            let mut screen = asked(call);
            let mut seen = String::new();
            for _ in 0..2000 {
                let output = picture(&mut screen, width, height);
                let inner = output.lines().filter_map(|line| line.strip_prefix('│'));
                let inner = inner.filter_map(|line| line.split(['│', '┃']).next());
                let letters = inner.flat_map(str::chars);
                seen.extend(letters.filter(|letter| !letter.is_whitespace() && *letter != '↪'));
                if screen.model.answers().contains(&1) {
                    break;
                }
                assert_dead_digits(&mut screen);
                screen.key(KeyCode::PageDown);
            }
            for word in words.iter().map(String::as_str).chain(["norule"]) {
                assert!(seen.contains(word), "{at} at {width}x{height}: {word} in {seen}");
            }
            screen.write("1");
            assert_eq!(screen.sent(), once(1), "{at} at {width}x{height}");
        }
    }
}

#[track_caller]
pub fn assert_dead_digits(screen: &mut TestScreen) {
    screen.write("123");
    assert_eq!(screen.sent(), []);
}

#[test]
fn the_title_counts_changed_and_visible_lines_and_only_several_questions() {
    let mut screen = asked(edit(60));
    let output = picture(&mut screen, 160, 40);
    assert!(output.contains("+60 −1 · lines 1–"), "{output}");
    assert!(output.contains(" · 1 of 3 ╮"), "{output}");
    screen.ctrl('o');
    let output = picture(&mut screen, 120, 40);
    assert!(output.contains("+60 −1 · lines 1–") && output.contains(" · 1 of 3 ╮"), "{output}");
    assert!(output.contains("↑↓ scroll · Esc back to the answers"), "{output}");
    screen.key(KeyCode::End);
    assert!(!picture(&mut screen, 120, 40).contains("lines 1–"));
    screen.esc();
    let (second, third) = (screen.model.questions.waiting[1].question.id, QuestionId(3));
    crate::tui::question::update::closed(&mut screen.model, second, None);
    crate::tui::question::update::closed(&mut screen.model, third, None);
    let output = picture(&mut screen, 120, 40);
    assert!(output.contains("+60 −1") && !output.contains("1 of 1"), "{output}");
}

#[test]
fn a_no_never_stands_on_the_line_of_a_yes() {
    for (width, height) in SIZES {
        let mut screen = asked(edit(60));
        for _ in 0..2 {
            let output = picture(&mut screen, width, height);
            let mixed = |line: &str| line.contains("Yes") && line.contains("4  No");
            let in_columns = |line: &str| line.contains("   4  No");
            let bad: Vec<_> = output.lines().filter(|line| mixed(line)).collect();
            assert!(bad.iter().all(|line| in_columns(line)), "{output}");
            screen.key(KeyCode::End);
        }
    }
}
