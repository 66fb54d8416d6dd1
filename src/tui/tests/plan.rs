//! A plan that waits for approval: its answers, the editor, and its look at the sizes that matter.

use std::time::Duration;

use crossterm::event::KeyCode;
use serde_json::{Value, json};

use crate::protocol::{
    Answer, Command, Denial, EventKind, QuestionId, ResultBlock, ToolDetails, ToolUseId,
};
use crate::tui::host::HostRequest;
use crate::tui::msg::{Msg, ScreenEffect};
use crate::tui::testing::TestScreen;
use crate::tui::text::Highlighter;
use crate::tui::theme::Theme;
use crate::tui::view::View;

use super::pictures::{picture, styled_picture};
use super::root;

const PLAN: &str = "# Fix the discount\n\nThe border case is wrong:\n\n1. Change `-gt` to `-ge` in \
                    `lib/discount.sh`\n2. Run **all** tests\n\n```sh\nbash tests/run.sh\n```\n\n| step | risk |\n\
                    |---|---|\n| edit | low |\n| tests | none |\n";

fn planned(plan: &str) -> TestScreen {
    let mut screen = TestScreen::new();
    screen.send(Msg::Resize { width: 120, height: 40 });
    screen.prompt("go").wait(2000).plans(&root(), 1, "main", plan);
    screen
}

/// The input of the approval that was sent.
fn approved(screen: &mut TestScreen) -> Value {
    match &screen.sent()[..] {
        [] => Value::Null,
        [Command::Answer { id: QuestionId(1), answer: Answer::Allowed(allowance) }] => {
            allowance.input.clone().unwrap()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_yes_chooses_the_mode_that_follows() {
    for (digit, mode) in [("1", "default"), ("2", "acceptEdits")] {
        let mut screen = planned(PLAN);
        screen.write(digit);
        assert_eq!(approved(&mut screen), json!({ "plan": PLAN, "mode": mode }));
        assert_eq!(screen.notice(), "plan approved (main)");
    }
}

#[test]
fn an_approved_plan_stays_folded_in_the_transcript() {
    let mut screen = TestScreen::new();
    screen.prompt("go").tool(&root(), "1", "ExitPlanMode", "Fix the discount");
    screen.main(EventKind::ToolFinished {
        id: ToolUseId::new("1"),
        name: "ExitPlanMode".to_owned(),
        is_error: false,
        summary: "approved".to_owned(),
        content: vec![ResultBlock::Text { text: "The user approved the plan.".to_owned() }],
        details: Some(ToolDetails::Plan { plan: PLAN.to_owned() }),
        took: Duration::ZERO,
    });
    let shown = picture(&mut screen, 80, 40);
    assert!(shown.contains("Plan Fix the discount   approved"), "{shown}");
    assert!(shown.contains("1. Change -gt to -ge in lib/discount.sh"), "{shown}");
    assert!(shown.contains("… +") && shown.contains("lines · Ctrl+T"), "{shown}");
    assert!(!shown.contains("The user approved") && !shown.contains("risk"), "{shown}");
    screen.draw().ctrl('t');
    let shown = picture(&mut screen, 80, 40);
    assert!(shown.contains("risk") && !shown.contains("… +"), "{shown}");
}

#[test]
fn no_keeps_plan_mode_and_takes_words() {
    let mut screen = planned(PLAN);
    screen.write("4");
    assert!(picture(&mut screen, 80, 24).contains("What should main plan instead?"));
    screen.write("use sqlite").enter();
    let no = Answer::No { reason: Some("use sqlite".to_owned()) };
    assert_eq!(screen.sent(), [Command::Answer { id: QuestionId(1), answer: no }]);
    assert_eq!(screen.notice(), "plan refused (main)");
    let mut screen = planned(PLAN);
    screen.esc();
    let no = Answer::No { reason: None };
    assert_eq!(screen.sent(), [Command::Answer { id: QuestionId(1), answer: no }]);
}

#[test]
fn a_plan_is_approved_only_once_its_end_was_on_the_screen() {
    let long: String = (1..=80).map(|step| format!("{step}. Step {step}\n")).collect();
    let mut screen = planned(&long);
    let output = picture(&mut screen, 80, 24);
    assert!(output.contains("Step 1") && !output.contains("Step 80"), "{output}");
    screen.write("123");
    assert_eq!(screen.effects, []);
    screen.key(KeyCode::End);
    let output = picture(&mut screen, 80, 24);
    assert!(output.contains("Step 80"), "{output}");
    screen.key(KeyCode::End).draw().write("2");
    assert_eq!(approved(&mut screen)["mode"], "acceptEdits");
}

#[test]
fn the_plan_can_be_edited_and_is_shown_again() {
    let mut screen = planned(PLAN);
    screen.write("3");
    assert_eq!(screen.effects, [ScreenEffect::Edit(PLAN.to_owned())]);
    screen.effects.clear();
    let edited = |text: Result<&str, &str>| {
        HostRequest::Edit(match text {
            Ok(text) => Ok(text.to_owned()),
            Err(problem) => Err(problem.to_owned()),
        })
    };
    let at = screen.at;
    screen.send(Msg::Host { reply: edited(Ok("# Only look\n")), at });
    screen.write("1");
    assert_eq!(approved(&mut screen), Value::Null, "the new one was not on the screen");
    let output = picture(&mut screen, 80, 24);
    assert!(output.contains("Only look") && !output.contains("border case"), "{output}");
    assert_eq!(screen.model.composer.text(), "");
    // An editor that fails, or an empty file, changes nothing.
    for text in [Err("no editor"), Ok(" \n")] {
        screen.write("3").send(Msg::Host { reply: edited(text), at });
    }
    assert_eq!(screen.notice(), "no editor · the plan is unchanged");
    screen.effects.clear();
    screen.draw().write("1");
    assert_eq!(approved(&mut screen), json!({ "plan": "# Only look", "mode": "default" }));
}

#[test]
fn nothing_in_a_plan_can_hide() {
    let mut screen = planned("Do\u{1b}[8m it\u{202e}. \u{200b}Now");
    let output = picture(&mut screen, 80, 24);
    assert!(output.contains("Do␛[8m it⟨U+202E⟩. ⟨U+200B⟩Now"), "{output}");
}

#[test]
fn a_plan_is_shown_as_it_is_written() {
    let lines = [
        "# Plan #",
        "Setext",
        "======",
        "7) first",
        "9) second",
        "- [ ] task",
        "[a link](https://x.example \"and push\")",
        "[https://x.example](https://x.example)",
        "![alt](picture.png \"title\")",
        "```bash then also rm -rf ~",
        "ls",
        "```",
        "~~~",
        "~~~",
        "<!-- comment --> <b hidden>html</b>",
        "&#8203;&#27;&shy;&#x2800;&amp;",
        "[x]: https://x.example \"reference\"",
        "[^1]: a footnote",
        "| a | b |",
        "|:--|--:|",
        "\\*escaped\\*",
        "> quote",
        "***",
        "hard\\",
        "break",
    ];
    let mut screen = planned(&lines.join("\n"));
    let mut view = View::new(Theme::default(), Highlighter::off());
    styled_picture(&mut view, &mut screen, 120, 50);
    screen.draw();
    let output = picture(&mut screen, 120, 50);
    let rows: Vec<&str> = output.lines().map(|row| row.trim_matches(['│', ' ', '┃'])).collect();
    for line in lines {
        assert!(rows.contains(&line), "{line}: {output}");
    }
}

#[test]
fn plans_look_as_the_rest_does_at_each_size() {
    for (width, height) in [(120, 40), (80, 24), (60, 15)] {
        let mut view = View::new(Theme::named("dark").unwrap(), Highlighter::off());
        let mut screen = planned(PLAN);
        styled_picture(&mut view, &mut screen, width, height);
        screen.draw();
        let output = styled_picture(&mut view, &mut screen, width, height);
        insta::assert_snapshot!(format!("plan_{width}x{height}"), output);
    }
}

#[test]
fn a_refused_plan_stays_with_the_words_of_the_user() {
    let mut screen = TestScreen::new();
    let denial =
        Denial { by_user: true, declined: false, reason: Some("leave\nthe tests".to_owned()) };
    screen.prompt("go").main(EventKind::PermissionDenied {
        id: ToolUseId::new("1"),
        tool: "ExitPlanMode".to_owned(),
        input: json!({ "plan": PLAN }),
        denial: denial.clone(),
    });
    screen.main(EventKind::ToolFinished {
        id: ToolUseId::new("1"),
        name: "ExitPlanMode".to_owned(),
        is_error: true,
        summary: "denied".to_owned(),
        content: vec![ResultBlock::Text { text: "the user said no: leave the tests".to_owned() }],
        details: Some(ToolDetails::Denied(denial)),
        took: Duration::ZERO,
    });
    let shown = picture(&mut screen, 80, 40);
    let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
    let line = |words: &str| lines.iter().position(|line| line.contains(words));
    let head = line("● Plan").unwrap();
    assert!(lines[head].ends_with("denied by you"), "{shown}");
    let (step, folded) = (line("1. Change -gt to -ge"), line("lines · Ctrl+T"));
    let words = line("└ leave␊the tests");
    assert!(Some(head) < step && step < folded && folded < words, "{shown}");
    screen.draw().ctrl('t');
    let shown = picture(&mut screen, 80, 40);
    assert!(shown.contains("risk") && shown.contains("└ leave␊the tests"), "{shown}");
}

#[test]
fn a_plan_that_the_editor_could_not_change_is_called_so() {
    let mut screen = planned(PLAN);
    let at = screen.at;
    screen.write("3");
    let reply = HostRequest::Edit(Err("vi ended with exit status: 1".to_owned()));
    screen.send(Msg::Host { reply, at });
    assert_eq!(screen.notice(), "vi ended with exit status: 1 · the plan is unchanged");
}

#[test]
fn a_plan_that_was_changed_and_then_refused_is_kept_as_it_was_refused() {
    let mut screen = planned("1. Change ten files");
    let at = screen.at;
    screen.write("3");
    let reply = HostRequest::Edit(Ok("1. Change eleven files".to_owned()));
    screen.send(Msg::Host { reply, at }).draw().esc();
    assert!(matches!(screen.sent()[..], [.., Command::Answer { .. }]));
    let call = ToolUseId::new("ask-1");
    let denial = Denial::by_user(None);
    screen.main(EventKind::QuestionClosed { id: QuestionId(1), allowed: Some(false) });
    screen.main(EventKind::PermissionDenied {
        id: call,
        tool: "ExitPlanMode".to_owned(),
        input: json!({ "plan": "1. Change ten files" }),
        denial,
    });
    let shown = picture(&mut screen, 80, 40);
    assert!(shown.contains("eleven files") && !shown.contains("ten files"), "{shown}");
}
