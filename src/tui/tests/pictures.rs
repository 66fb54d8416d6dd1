//! Whole screens at the sizes that matter, as text.

use std::time::Duration;

use crossterm::event::KeyCode;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use crate::protocol::{
    AgentPath, Command, EventKind, Failure, ModelCause, ResultBlock, RunEnd, Sender, Todo,
    TodoStatus, ToolDetails, ToolUseId,
};
use crate::tui::host::{HostRequest, LocalServer};
use crate::tui::msg::{Msg, ScreenEffect};
use crate::tui::testing::{TestScreen, agent_choice, finish};
use crate::tui::text::Highlighter;
use crate::tui::theme::Theme;
use crate::tui::update::start;
use crate::tui::view::View;

/// The screen's text at a size, without trailing spaces.
pub(super) fn picture(screen: &mut TestScreen, width: u16, height: u16) -> String {
    picture_by(&mut View::new(Theme::default(), Highlighter::off()), screen, width, height)
}

/// The same, with a view that has drawn before.
pub(super) fn picture_by(
    view: &mut View,
    screen: &mut TestScreen,
    width: u16,
    height: u16,
) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    screen.send(Msg::Resize { width, height });
    terminal.draw(|frame| view.draw(&screen.model, frame)).unwrap();
    screen.send(Msg::Drawn(Box::new(view.metrics().clone())));
    let buffer = terminal.backend().buffer();
    let mut lines = Vec::new();
    for y in 0..height {
        let mut line = String::new();
        let mut skip = 0;
        for x in 0..width {
            let symbol = buffer[(x, y)].symbol();
            if skip == 0 {
                line.push_str(symbol);
            }
            skip = crate::tui::text::width(symbol).max(skip).saturating_sub(1);
        }
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n")
}

/// The same with the styles in use: below each line the cells that have one, in a view's theme.
pub(super) fn styled_picture(
    view: &mut View,
    screen: &mut TestScreen,
    width: u16,
    height: u16,
) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    screen.send(Msg::Resize { width, height });
    terminal.draw(|frame| view.draw(&screen.model, frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let mut lines = Vec::new();
    for y in 0..height {
        let cells: Vec<_> = (0..width).map(|x| &buffer[(x, y)]).collect();
        let text: String = cells.iter().map(|cell| cell.symbol()).collect();
        lines.push(text.trim_end().to_owned());
        let mut runs = Vec::new();
        let mut x = 0;
        for run in cells.chunk_by(|a, b| a.style() == b.style()) {
            let cell = run[0];
            let mut style = String::new();
            if cell.fg != ratatui::style::Color::Reset {
                style.push_str(&format!(" {}", cell.fg));
            }
            if cell.bg != ratatui::style::Color::Reset {
                style.push_str(&format!(" on {}", cell.bg));
            }
            if !cell.modifier.is_empty() {
                style.push_str(&format!(" {:?}", cell.modifier).to_lowercase());
            }
            if !style.is_empty() {
                runs.push(format!("{x}–{}{style}", x + run.len() - 1));
            }
            x += run.len();
        }
        if !runs.is_empty() {
            lines.push(format!("    ~ {}", runs.join(", ")));
        }
    }
    lines.join("\n")
}

/// Three agents working for main, as in the pictures of the specification.
pub(super) fn three() -> (TestScreen, [AgentPath; 3]) {
    let mut screen = TestScreen::new();
    let main = AgentPath::root();
    screen.prompt("find out why login is slow and fix it");
    let routes = screen.agent(&main, "explore-1", "map the routes");
    screen.turn_done(&routes, 9_000, 0.04);
    screen.event(&routes, EventKind::TurnStarted { turn: 4, limit: Some(20) });
    screen.says(
        &routes,
        "Two route tables; the one in http.rs is generated, so the other one must be edited.",
    );
    screen.at += Duration::from_secs(1);
    let query = screen.agent(&main, "explore-2", "find the slow query");
    screen.turn_done(&query, 8_000, 0.02);
    screen.event(&query, EventKind::TurnStarted { turn: 3, limit: Some(20) });
    screen.at += Duration::from_secs(1);
    let tests = screen.agent(&main, "review-1", "check the tests");
    screen.turn_done(&tests, 4_000, 0.01);
    screen.event(&tests, EventKind::TurnStarted { turn: 2, limit: Some(20) });
    screen.says(&tests, "tests/login.rs covers the guard, but not the second read of the session.");
    screen.at += Duration::from_secs(37);
    screen.tool(&routes, "t1", "Grep", "\"fn route\"");
    screen.says(&tests, " ");
    screen.wait(3000);
    (screen, [routes, query, tests])
}

/// A turn with every kind of call: grouped, with output, with a diff, a to-do list, failed, running.
pub(super) fn calls() -> TestScreen {
    let (mut screen, main) = (TestScreen::new(), AgentPath::root());
    screen.prompt("fix the border case");
    screen.says(&main, "I look round first.");
    screen.tool(&main, "1", "Read", "src/main.rs").tool_done(&main, "1", "Read", "15 lines");
    screen.tool(&main, "2", "Grep", "\"handler_1\" in src").tool_done(&main, "2", "Grep", "0 hits");
    let mut done =
        |id: &str, name: &str, subject: &str, code: i32, summary: &str, text: &str, details| {
            screen.tool(&main, id, name, subject);
            screen.main(EventKind::ToolFinished {
                id: ToolUseId::new(id),
                name: name.to_owned(),
                is_error: code != 0,
                summary: summary.to_owned(),
                content: vec![ResultBlock::Text { text: text.to_owned() }],
                details,
                took: Duration::from_millis(4200),
            });
        };
    let command = |code| Some(ToolDetails::Command { exit_code: Some(code), cwd: "shop".into() });
    let output: Vec<String> = (1..=13).map(|line| format!("line {line} of the output")).collect();
    let output = format!("{}\ntest result: ok. 214 passed", output.join("\n"));
    done("3", "Bash", "for i in $(seq 13); do echo $i; done", 0, "14 lines", &output, command(0));
    let diff = "@@ -11,4 +11,5 @@\n fn main() {\n-    let total = sum(items);\n+    // Ten or more cost less.\n+    let total = discounted(sum(items));\n     println!(\"{total}\");\n }\n";
    let diff = ToolDetails::Diff {
        path: "src/main.rs".into(),
        diff: diff.to_owned(),
        added: 2,
        removed: 1,
    };
    done("4", "Edit", "src/main.rs", 0, "+2 −1", "", Some(diff));
    let todo = |content: &str, status| Todo { content: content.to_owned(), status };
    let items = vec![
        todo("Find the rule", TodoStatus::Completed),
        todo("Fix the border case", TodoStatus::InProgress),
        todo("Run the tests", TodoStatus::Pending),
    ];
    let todos = Some(ToolDetails::Todos { items });
    done("5", "TodoWrite", "Fix the border case", 0, "1 of 3 done", "", todos);
    let text = "cat: nope.txt: No such file or directory\nexit code 3";
    done("6", "Bash", "cat nope.txt; exit 3", 3, "exit 3", text, command(3));
    screen.tool(&main, "7", "Bash", "cargo test");
    screen.main(EventKind::ToolProgress {
        id: ToolUseId::new("7"),
        text: "running 3 tests\n".to_owned(),
    });
    screen.wait(12_000);
    screen
}

#[test]
fn calls_stand_apart_from_their_results_and_a_line_tells_the_work() {
    insta::assert_snapshot!("calls_120x50", picture(&mut calls(), 120, 50));
    insta::assert_snapshot!("calls_80x24", picture(&mut calls(), 80, 24));
    insta::assert_snapshot!("calls_50x40", picture(&mut calls(), 50, 40));
    let mut screen = calls();
    let result = screen.tool_done(&AgentPath::root(), "7", "Bash", "3 lines");
    result.says(&AgentPath::root(), "Done:\n\n```rust\nlet x = 1;\n```");
    screen.turn_done(&AgentPath::root(), 21_000, 0.06).main(finish(RunEnd::Completed, ""));
    insta::assert_snapshot!("finished_80x24", picture(&mut screen, 80, 24));
}

fn twelve() -> TestScreen {
    let mut screen = TestScreen::new();
    let main = AgentPath::root();
    screen.prompt("review everything");
    for number in 1..=12 {
        let name = format!("review-{number}");
        if number <= 6 {
            let path = screen.agent(&main, &name, "read the docs");
            screen.says(
                &path,
                "The slow one is in session.rs: it reads the whole file for each request.",
            );
            if number == 3 {
                let failure = Failure::RateLimit;
                let message = "rate limit after 8 tries".to_owned();
                screen.event(&path, finish(RunEnd::Failed { failure, message }, ""));
            }
        } else {
            let path = screen.queued_agent(&main, &name, "read the docs");
            screen.event(&path, EventKind::Queued { place: number - 6 });
        }
    }
    screen.wait(12_000);
    screen
}

fn folded() -> TestScreen {
    let (mut screen, [routes, query, tests]) = three();
    screen.event(&routes, finish(RunEnd::Completed, "Two route tables."));
    screen.event(&query, finish(RunEnd::Cancelled { before_start: false }, ""));
    let message = "rate limit after 8 tries".to_owned();
    screen.event(&tests, finish(RunEnd::Failed { failure: Failure::RateLimit, message }, ""));
    screen.says(
        &AgentPath::root(),
        "Login reads the session twice. I removed the second read; 214 tests pass.",
    );
    screen.main(finish(RunEnd::Completed, ""));
    screen
}

#[test]
fn idle_at_all_sizes() {
    insta::assert_snapshot!("idle_80x24", picture(&mut TestScreen::new(), 80, 24));
    insta::assert_snapshot!("idle_60x15", picture(&mut TestScreen::new(), 60, 15));
    insta::assert_snapshot!("idle_20x5", picture(&mut TestScreen::new(), 20, 5));
}

#[test]
fn main_streams_at_80x24() {
    let mut screen = TestScreen::new();
    let main = AgentPath::root();
    screen.prompt("find out why login is slow");
    for id in ["1", "2", "3"] {
        screen.tool(&main, id, "Read", "src/lib.rs").tool_done(&main, id, "Read", "");
    }
    screen.tool(&main, "4", "Grep", "\"session\"").tool_done(&main, "4", "Grep", "14 hits");
    screen.says(&main, "The session is read twice: once in the guard and onc");
    screen.wait(12_000);
    insta::assert_snapshot!(picture(&mut screen, 80, 24));
}

#[test]
fn three_agents_with_a_focus() {
    let (mut screen, [_, query, _]) = three();
    screen.asks(&query, 1, "explore-2", "psql shop -c 'EXPLAIN …'");
    // Tab postpones the question, then goes to the panes.
    screen.key(KeyCode::Tab);
    screen.model.focus = Some(query);
    screen.wait(5000);
    insta::assert_snapshot!("three_80x24", picture(&mut screen, 80, 24));
    insta::assert_snapshot!("three_60x15", picture(&mut screen, 60, 15));
    insta::assert_snapshot!("three_120x40", picture(&mut screen, 120, 40));
    insta::assert_snapshot!("three_200x60", picture(&mut screen, 200, 60));
}

#[test]
fn a_question_covers_the_transcript_and_the_panes_go_on() {
    let (mut screen, [_, query, tests]) = three();
    screen.asks(&query, 1, "explore-2", "psql shop -c 'EXPLAIN ANALYZE SELECT * FROM sessions'");
    screen.asks(&tests, 2, "review-1", "cargo test").wait(5000);
    insta::assert_snapshot!("question_120x40", picture(&mut screen, 120, 40));
    insta::assert_snapshot!("question_80x24", picture(&mut screen, 80, 24));
    screen.key(KeyCode::Char('3'));
    insta::assert_snapshot!("rule_120x40", picture(&mut screen, 120, 40));
}

#[test]
fn each_agent_keeps_a_line_above_a_question_that_covers_the_panes() {
    // Its lines are wider than the transcript beside the panes.
    let line = |at| format!("+    let line_{at} = \"{}\";", "a value ".repeat(6));
    let diff = |lines| {
        let added: Vec<String> = (1..=lines).map(line).collect();
        Some(format!("@@ -1,0 +1,{lines} @@\n{}\n", added.join("\n")))
    };
    for (width, height, lines) in [(80, 24, 4), (100, 30, 8)] {
        let (mut screen, [_, _, tests]) = three();
        let mut question = TestScreen::question(&tests, 1, "review-1", "x");
        if let EventKind::PermissionAsked(question) = &mut question {
            question.input = serde_json::json!({ "command": "git apply" });
            question.preview = diff(lines);
        }
        screen.event(&tests, question).wait(5000);
        let output = picture(&mut screen, width, height);
        for agent in ["1 map the routes", "2 find the slow", "3 check the tes"] {
            assert!(output.contains(agent), "{agent} at {width}x{height}: {output}");
        }
        insta::assert_snapshot!(format!("question_over_panes_{width}x{height}"), output);
    }
}

#[test]
fn a_zoomed_agent_fills_the_body() {
    let (mut screen, [_, query, _]) = three();
    screen.tool(&query, "g", "Grep", "\"sessions\"").tool_done(&query, "g", "Grep", "14 hits");
    screen.says(&query, "The slow one is in session.rs:88. It reads the whole");
    screen.key(KeyCode::Tab).key(KeyCode::Tab).enter().wait(200);
    insta::assert_snapshot!(picture(&mut screen, 100, 24));
}

#[test]
fn twelve_agents() {
    insta::assert_snapshot!("twelve_80x24", picture(&mut twelve(), 80, 24));
    insta::assert_snapshot!("twelve_60x15", picture(&mut twelve(), 60, 15));
    insta::assert_snapshot!("twelve_120x40", picture(&mut twelve(), 120, 40));
    insta::assert_snapshot!("twelve_200x60", picture(&mut twelve(), 200, 60));
}

#[test]
fn a_batch_is_one_line_while_the_panel_shows_its_agents() {
    let (mut screen, [routes, query, tests]) = three();
    let count = |screen: &mut TestScreen| {
        let output = picture(screen, 120, 40);
        let tab = output.contains("Tab opens them");
        let main = output.lines().map(|line| line.chars().take(66).collect::<String>());
        (main.filter(|line| line.contains("find the slow query")).count(), tab)
    };
    assert_eq!(count(&mut screen), (0, false));
    for path in [&routes, &query, &tests] {
        screen.event(path, finish(RunEnd::Completed, "Found."));
    }
    screen.says(&AgentPath::root(), "Done.").main(finish(RunEnd::Completed, ""));
    assert_eq!(count(&mut screen), (1, true));
    screen.key(KeyCode::Tab);
    assert_eq!(count(&mut screen), (0, false), "the panel is open again");
    screen.esc();
    assert_eq!(count(&mut screen), (1, true));
}

#[test]
fn a_stopped_turn_folds_its_agents() {
    let (mut screen, paths) = three();
    screen.esc();
    for path in &paths {
        screen.event(path, finish(RunEnd::Cancelled { before_start: false }, ""));
    }
    assert!(!screen.model.agents.panel().is_empty());
    screen.main(finish(RunEnd::Cancelled { before_start: false }, ""));
    assert!(screen.model.agents.panel().is_empty());
}

/// Two of three agents and a command in the background, one of the agents moved there by the user.
fn aside() -> (TestScreen, [AgentPath; 2]) {
    let main = AgentPath::root();
    let (mut screen, [routes, query, tests]) = three();
    screen.event(&query, EventKind::MovedToBackground);
    let docs = screen.background(&main, "docs-1", "read the docs");
    screen.says(&docs, "The docs say nothing of sessions.").job(&main, "bash-1", "npm run dev");
    screen
        .event(&tests, finish(RunEnd::Completed, ""))
        .event(&routes, finish(RunEnd::Completed, ""));
    screen.wait(20_000);
    (screen, [query, docs])
}

#[test]
fn the_background_has_rows_between_body_and_queue() {
    let (mut screen, [query, docs]) = aside();
    insta::assert_snapshot!("background_60x15", picture(&mut screen, 60, 15));
    insta::assert_snapshot!("background_80x24", picture(&mut screen, 80, 24));
    screen.model.focus = Some(docs.clone());
    insta::assert_snapshot!("background_120x40", picture(&mut screen, 120, 40));
    screen.model.focus = None;
    screen.says(&AgentPath::root(), "Login reads the session twice.");
    let report = "Nothing.\n\nNot a word of sessions,\nlogins\nor\nqueries.";
    screen.main(finish(RunEnd::Completed, "")).event(&docs, finish(RunEnd::Completed, report));
    let name = "docs-1".to_owned();
    screen.reads(&AgentPath::root(), Sender::Agent { name }, report);
    screen.job_done(&AgentPath::root(), "bash-1", 1).wait(200);
    insta::assert_snapshot!("background_report_80x24", picture(&mut screen, 80, 24));
    screen.event(&query, finish(RunEnd::Completed, "The query.")).write("/agents").enter();
    let at = screen.at;
    let found = vec![agent_choice("explore"), agent_choice("plan")];
    screen.send(Msg::Host { reply: HostRequest::Agents(found), at });
    for _ in 0..6 {
        screen.key(KeyCode::Down);
    }
    insta::assert_snapshot!("background_agents_80x24", picture(&mut screen, 80, 24));
}

#[test]
fn figures_make_room_for_a_title_where_a_panel_is_narrow() {
    let (mut screen, _) = three();
    let output = picture(&mut screen, 100, 30);
    let header = |name: &str| output.lines().find(|line| line.contains(name)).unwrap();
    assert!(header("▌1").ends_with("▌1 map the routes  explore ⠋   0:42   4/20"), "{output}");
    assert!(header("▌2").ends_with("▌2 find the slow query     ⠋   0:41   3/20"), "{output}");
}

#[test]
fn children_stand_under_their_parent() {
    let mut screen = TestScreen::new();
    screen.prompt("split the work");
    let plan = screen.agent(&AgentPath::root(), "plan-1", "split the work");
    let first = screen.agent(&plan, "explore-1", "map the routes");
    screen.tool(&first, "t", "Grep", "\"fn route\"");
    screen.agent(&plan, "explore-2", "find the query");
    screen.wait(42_000);
    insta::assert_snapshot!(picture(&mut screen, 120, 20));
    let which = picture(screen.ctrl('c'), 120, 20);
    for row in [" ▌1 split the work", " ├▌2 map the routes", " └▌3 find the query"] {
        assert!(which.contains(row), "{row}: {which}");
    }
    screen.esc();
    screen.event(&first, finish(RunEnd::Completed, "Two tables."));
    let output = picture(&mut screen, 120, 20);
    assert!(output.contains("◦ waiting, 1 of 2 back"), "{output}");
}

#[test]
fn a_finished_turn_folds_its_agents() {
    insta::assert_snapshot!("folded_80x24", picture(&mut folded(), 80, 24));
    insta::assert_snapshot!("folded_120x40", picture(&mut folded(), 120, 40));
}

#[test]
fn an_opened_panel_rewraps_no_prose() {
    let text = "The session is read twice: once in the guard and once in the handler, which is why each request waits for the database two times in a row.";
    let mut screen = TestScreen::new();
    screen.prompt("why").says(&AgentPath::root(), text);
    let before = picture(&mut screen, 120, 40);
    screen.agent(&AgentPath::root(), "explore-1", "map the routes");
    let after = picture(&mut screen, 120, 40);
    let prose = |picture: &str| {
        picture.lines().find(|line| line.contains("The session")).unwrap()[..60].to_owned()
    };
    assert_eq!(prose(&before), prose(&after));
}

#[test]
fn lists_and_help_cover_the_body() {
    let (mut screen, _) = three();
    screen.write("/agents").enter().wait(5000);
    insta::assert_snapshot!("agents_80x24", picture(&mut screen, 80, 24));
    screen.esc().wait(300).write("?");
    insta::assert_snapshot!("help_80x24", picture(&mut screen, 80, 24));
    screen.esc().wait(300).write("/").wait(100);
    insta::assert_snapshot!("commands_80x24", picture(&mut screen, 80, 24));
    screen.key(KeyCode::Backspace).wait(300).ctrl('c').wait(5000);
    insta::assert_snapshot!("which_80x24", picture(&mut screen, 80, 24));
}

#[test]
fn without_a_model_the_first_screen_says_what_is_enough() {
    let mut screen = TestScreen::new();
    screen.model.session.first_run = Some(crate::tui::FirstRun::default());
    let asked = start(&mut screen.model, None, false);
    assert_eq!(asked, [ScreenEffect::Ask(HostRequest::LocalServers(Vec::new()))]);
    insta::assert_snapshot!("first_run_looking", picture(&mut screen, 100, 14));
    let server = |name: &str, models: &[&str], provider: &str| LocalServer {
        name: name.to_owned(),
        models: models.iter().copied().map(str::to_owned).collect(),
        provider: provider.to_owned(),
    };
    let at = screen.at;
    let models = ["qwen3-coder", "gpt-oss"];
    let found = vec![server("Ollama", &models, "ollama"), server("llama.cpp", &[], "llamacpp")];
    screen.send(Msg::Host { reply: HostRequest::LocalServers(found), at });
    insta::assert_snapshot!("first_run_servers", picture(&mut screen, 100, 14));
    screen.write("hello").enter();
    assert_eq!(screen.model.composer.text(), "hello");
    assert_eq!(screen.notice(), "No model yet: your text stays here · /model");
    let (provider, model) = ("ollama".to_owned(), "gpt-oss".to_owned());
    let (effort, efforts) = (None, None);
    let (context_window, cause) = (None, ModelCause::Model);
    let changed =
        EventKind::ModelChanged { provider, model, context_window, effort, efforts, cause };
    screen.main(changed);
    screen.enter();
    assert!(
        matches!(&screen.sent()[..], [Command::Prompt { prompt, .. }] if prompt.text == "hello")
    );
}

#[test]
fn the_reader_shows_all_of_it_in_one_column() {
    let (mut screen, _) = three();
    screen.says(&AgentPath::root(), "One.\n\nTwo.");
    screen.ctrl('o');
    insta::assert_snapshot!(picture(&mut screen, 80, 24));
}

#[test]
fn only_what_is_visible_is_drawn_and_scrolling_holds_its_place() {
    let mut screen = TestScreen::new();
    for number in 0..300 {
        screen.main(EventKind::PromptRead {
            id: None,
            text: format!("prompt {number}").into(),
            from: Sender::Person,
        });
        screen.main(EventKind::TextDelta { text: format!("answer {number}") });
    }
    let mut view = View::new(Theme::default(), Highlighter::off());
    let mut picture = |screen: &mut TestScreen| picture_by(&mut view, screen, 80, 24);
    picture(&mut screen);
    screen.key(KeyCode::PageUp);
    let held = picture(&mut screen);
    screen.main(EventKind::PromptRead { id: None, text: "one more".into(), from: Sender::Person });
    let after = picture(&mut screen);
    assert_eq!(held.lines().next(), after.lines().next());
    assert!(after.contains("↓ 2 new · End"), "{after}");
    // In a draft, End moves the cursor.
    screen.write("abc");
    assert!(picture(&mut screen).contains("↓ 2 new · PgDn"));
    while !picture(&mut screen).contains("one more") {
        let before = screen.model.metrics.body.top;
        screen.key(KeyCode::PageDown);
        picture(&mut screen);
        assert!(screen.model.metrics.body.top > before);
    }
    screen.key(KeyCode::PageUp).ctrl('c');
    let shown = picture(&mut screen);
    assert!(shown.contains('↓') && shown.contains("End"), "{shown}");
    screen.key(KeyCode::End);
    assert!(picture(&mut screen).contains("one more"));
}

#[test]
fn control_characters_of_a_command_are_visible_in_its_question() {
    let mut screen = TestScreen::new();
    screen
        .prompt("go")
        .asks(&AgentPath::root(), 1, "main", "echo hi\u{1b}[8m; rm -rf x")
        .wait(5000);
    let output = picture(&mut screen, 80, 24);
    assert!(output.contains("echo hi␛[8m; rm -rf x"), "{output}");
}

#[test]
fn a_newline_in_a_name_begins_no_line_of_a_page_or_of_the_head() {
    let mut screen = TestScreen::new();
    screen.model.session.cwd = "/a\nmodel       forged".to_owned();
    screen.model.session.folder = "/a\nmodel       forged".into();
    let output = picture(&mut screen, 80, 24);
    assert!(output.contains("/a␊model       forged"), "{output}");
    screen.write("/status").enter();
    let output = picture(&mut screen, 80, 24);
    assert!(output.contains("directory   /a␊model       forged"), "{output}");
}
