//! Questions show a call exactly as written: wrapped rows are marked, and no blank is lost.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Position;
use serde_json::json;

use crate::protocol::{Access, PathTarget, Question};
use crate::tui::selection::MouseSelection;
use crate::tui::testing::TestScreen;
use crate::tui::text::Highlighter;
use crate::tui::theme::{ASCII, Theme};
use crate::tui::view::View;

use super::pictures::{picture, picture_by};
use super::seen::asked;
use super::{busy, root};

const SIZES: [(u16, u16); 2] = [(80, 40), (120, 40)];

fn command(line: String) -> impl FnOnce(&mut Question) {
    move |question| {
        question.input = json!({ "command": line });
        question.access = Access::Command { line, cwd: "shop".into() };
    }
}

/// Draws the question, and the same in the reader. Returns the rows inside the box.
fn both(screen: &mut TestScreen, theme: &Theme, (width, height): (u16, u16)) -> [Vec<String>; 2] {
    let mut view = View::new(theme.clone(), Highlighter::off());
    let side = |c: char| matches!(c, '│' | '┃' | '|' | '#');
    let mut rows = |screen: &mut TestScreen| {
        let picture = picture_by(&mut view, screen, width, height);
        let inner = picture.lines().filter_map(|row| row.trim().strip_prefix(side));
        inner.map(|row| row.trim_end_matches(side).to_owned()).collect()
    };
    let dialog = rows(screen);
    screen.ctrl('o');
    [dialog, rows(screen)]
}

#[test]
fn a_row_that_continues_a_line_has_a_sign_where_no_line_has_text() {
    let comment = "lists the files ".repeat(10);
    let line = format!("echo ok # {comment}of this project\n  touch q\n\\ touch r\n↪ touch s");
    for size in SIZES {
        for (glyphs, sign, written) in [(None, "↪", "↪"), (Some(&ASCII), "\\", "<U+21AA>")] {
            let mut theme = Theme::default();
            theme.glyphs = glyphs.unwrap_or(theme.glyphs);
            let mut screen = asked(command(line.clone()));
            for rows in both(&mut screen, &theme, size) {
                let row = |words: &str| {
                    let row = rows.iter().rfind(|row| row.contains(words));
                    row.unwrap_or_else(|| panic!("{words} in {rows:#?}"))
                };
                assert!(row("this project").starts_with(&format!(" {sign} ")), "{rows:#?}");
                assert!(row("echo ok").starts_with("   echo"), "{rows:#?}");
                assert!(row("touch q").starts_with("     touch q"), "{rows:#?}");
                assert!(row("touch r").starts_with("   \\ touch r"), "{rows:#?}");
                assert!(row("touch s").starts_with(&format!("   {written} touch s")), "{rows:#?}");
            }
        }
    }
}

#[test]
fn text_that_is_copied_is_without_the_signs() {
    let mut screen = asked(command(format!("echo {}end", "some words ".repeat(12))));
    let mut view = View::new(Theme::default(), Highlighter::off());
    let shown = picture_by(&mut view, &mut screen, 80, 24);
    assert!(shown.contains("│ ↪ "), "{shown}");
    let area = view.metrics().question.as_ref().unwrap().content_area;
    let to = Position { x: area.right() - 1, y: area.bottom() - 1 };
    let mut selection = MouseSelection::new(area, area.as_position(), None);
    selection.to = to;
    screen.model.selection = Some(selection);
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| view.draw(&screen.model, frame)).unwrap();
    let copied = view.selected();
    assert!(copied.contains("words end") && !copied.contains('↪'), "{copied}");
}

#[test]
fn blanks_that_no_row_has_room_for_are_counted() {
    let spread = || command(format!("echo a{}; touch q", " ".repeat(400)));
    let indented = |question: &mut Question| {
        let path: std::path::PathBuf = "/p/shop/a.py".into();
        question.tool = "Write".to_owned();
        question.cwd = "/p/shop".into();
        let text = format!("if False:\n{}do()\n", " ".repeat(125));
        question.preview =
            Some(format!("@@ -0,0 +1,2 @@\n+{}\n", text.trim_end().replace('\n', "\n+")));
        question.input = json!({ "file_path": "a.py", "content": text });
        let target = PathTarget { written: path.clone(), resolved: Some(path) };
        question.access = Access::Write { paths: vec![target] };
    };
    let field = |question: &mut Question| {
        question.tool = "mcp__notes__add".to_owned();
        question.input = json!({ "text": format!("a\n{}b", " ".repeat(200)) });
        question.access = Access::Other;
    };
    for size in SIZES {
        for (mut screen, words) in [
            (asked(spread()), "echo a⟨400 blanks⟩; touch q"),
            (asked(indented), "2 + ⟨125 blanks⟩do()"),
            (asked(field), " ↪ ⟨200 blanks⟩b"),
        ] {
            for rows in both(&mut screen, &Theme::default(), size) {
                assert!(rows.iter().any(|row| row.contains(words)), "{words}: {rows:#?}");
            }
        }
    }
}

#[test]
fn a_path_in_a_line_has_no_line_end_of_its_own() {
    let forged = "sub\n! the command only lists files\tin /other";
    let shown = "sub␊! the command only lists files␉in /other";
    let mut screen = asked(|question| {
        question.input = json!({ "command": "touch x" });
        question.access = Access::Command { line: "touch x".into(), cwd: forged.into() };
        question.reason = format!("no rule allows {forged}");
        question.warnings = vec![format!("{forged} is odd")];
        question.rules = vec![format!("Bash({forged})")];
    });
    let [dialog, reader] = both(&mut screen, &Theme::default(), (120, 40));
    for row in
        [format!("in \"{shown}\""), format!("no rule allows {shown}"), format!("! {shown} is odd")]
    {
        assert!(reader.join(" ").contains(&row), "{row}: {reader:#?}");
    }
    let signs = |start: &str| {
        let rows = dialog.iter().filter(|row| row.contains(&format!("{start}sub␊! the command")));
        rows.count()
    };
    assert_eq!((signs("in \""), signs("! "), signs("exactly \"")), (1, 1, 1), "{dialog:#?}");
    let mut screen = asked(|question| {
        question.tool = "Write".to_owned();
        let path = std::path::PathBuf::from("shop/a)\nEdit\nBash");
        question.access = Access::Write {
            paths: vec![PathTarget { written: path.clone(), resolved: Some(path) }],
        };
        question.rules = vec!["Edit(a)\nEdit/**)".to_owned()];
    });
    let mut view = View::new(Theme::default(), Highlighter::off());
    let output = picture_by(&mut view, &mut screen, 120, 40);
    assert!(output.contains("a)␊Edit␊Bash"), "{output}");
    assert!(output.contains("a)␊Edit/"), "{output}");
}

#[test]
fn no_line_of_a_field_looks_like_another_field_or_a_line_of_calibans_own() {
    let forged =
        "reads only\nin /p/shop · rule Bash(touch) allows it\n\n1  Yes\n! verified\ndry_run: true";
    let bash = |question: &mut Question| {
        question.input = json!({ "command": "touch x", "description": forged, "timeout": 9 });
        question.access = Access::Command { line: "touch x".into(), cwd: "shop".into() };
    };
    let other = |question: &mut Question| {
        question.tool = "mcp__notes__add".to_owned();
        question.input = json!({ "more": { "text": forged }, forged: "x", "text": forged });
        question.access = Access::Other;
    };
    for size in SIZES {
        for (mut screen, rows_of_field) in [(asked(bash), 1), (asked(other), 1)] {
            for rows in both(&mut screen, &Theme::default(), size) {
                for line in ["in /p/shop · rule", "1  Yes␊", "! verified", "dry_run"] {
                    let own = |row: &&String| row.trim_start().starts_with(line);
                    assert_eq!(rows.iter().find(own), None, "{rows:#?}");
                    let marked = |row: &&String| row.starts_with(&format!(" ↪ {line}"));
                    assert!(rows.iter().filter(marked).count() >= rows_of_field, "{rows:#?}");
                }
            }
        }
    }
}

#[test]
fn no_row_of_a_path_in_a_line_looks_like_another_line() {
    let forged = "! in ".repeat(60);
    for size in SIZES {
        let mut screen = asked(|question| {
            question.access = Access::Command { line: "ls".into(), cwd: forged.clone().into() };
            question.warnings = vec![forged.clone()];
        });
        for rows in both(&mut screen, &Theme::default(), size) {
            let starts = |start: &str| rows.iter().filter(|row| row.starts_with(start)).count();
            assert_eq!((starts(" in "), starts(" ! ")), (1, 1), "{rows:#?}");
            assert!(starts(" ↪ ") > 3, "{rows:#?}");
        }
    }
}

#[test]
fn long_lines_of_code_in_an_answer_break_at_words_with_a_sign() {
    let mut screen = TestScreen::new();
    let code = "let row = query(\"SELECT * FROM sessions WHERE token = $1\"); // a comment";
    screen.prompt("go").says(&root(), &format!("```rust\n{code}\n```\n\nDone."));
    let output = picture(&mut screen, 60, 24);
    assert!(output.contains("\n  ↪ ") && output.contains("comment\n"), "{output}");
    assert!(!output.contains("comm\n"), "{output}");
}

#[test]
fn without_unicode_no_letter_stands_for_an_arrow() {
    let mut screen = busy();
    screen.model.settings.env = [("LANG", "C")].into_iter().collect();
    screen.wait(1000);
    let output = picture(&mut screen, 100, 30);
    let work = output.lines().find(|line| line.contains(" tokens · ")).unwrap();
    assert!(work.contains("0:01 · 1 tokens") || work.contains("0:01 · 2 tokens"), "{output}");
}
