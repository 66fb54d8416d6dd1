//! The screen as lines for screen readers.

use std::time::Duration;

use crossterm::event::KeyCode;

use crate::protocol::{
    Access, ApiError, ContentBlock, EventKind, Failure, MotionMode, NoticeLevel, PathTarget,
    RunEnd, Sender, ShellId, ToolDetails, ToolUseId, Usage,
};
use crate::tui::host::HostRequest;
use crate::tui::linear::{FrameCause, LinearFrame, LinearScreen};
use crate::tui::msg::Msg;
use crate::tui::testing::{TestScreen, finish};
use crate::tui::text::Highlighter;
use crate::tui::theme::Theme;
use crate::tui::view::View;

use super::root;

/// A screen with its lines.
struct Lines {
    screen: TestScreen,
    view: View,
    linear: LinearScreen,
}

impl Lines {
    fn new() -> Self {
        let mut screen = TestScreen::new();
        screen.model.settings.screen_reader = true;
        screen.model.settings.motion = MotionMode::Reduced;
        screen.model.size = LinearScreen::size(80);
        let view = View::new(Theme::default(), Highlighter::off());
        let mut lines = Self { screen, view, linear: LinearScreen::default() };
        lines.frame(false);
        lines
    }

    fn frame(&mut self, input: bool) -> LinearFrame {
        self.frame_on(FrameCause { input, asked: false })
    }

    /// The lines that Ctrl+L says.
    fn asked(&mut self) -> Vec<String> {
        self.frame_on(FrameCause { input: true, asked: true }).lines
    }

    fn frame_on(&mut self, cause: FrameCause) -> LinearFrame {
        let frame = self.linear.frame(&self.screen.model, &mut self.view, 80, cause);
        let metrics = Box::new(self.view.metrics().clone());
        self.screen.send(Msg::Drawn(metrics));
        frame
    }

    /// All announced lines as one text.
    fn said(&mut self) -> String {
        self.frame(true).lines.join("\n")
    }
}

#[test]
fn each_thing_is_said_once_and_time_alone_says_nothing() {
    let mut lines = Lines::new();
    lines.screen.prompt("go").says(&root(), "First line\n\nsecond");
    assert_eq!(lines.said(), "Main is working. Esc stops it.\nYou: go\nmain: First line");
    lines.screen.says(&root(), " half");
    assert_eq!(lines.said(), "");
    lines.screen.tool(&root(), "1", "Read", "src/a.rs");
    assert_eq!(lines.said(), "  second half");
    let before = lines.frame(false);
    lines.screen.wait(30_000);
    assert_eq!(lines.frame(false), before, "nothing moves");
    lines.screen.tool_done(&root(), "1", "Read", "12 lines");
    assert_eq!(lines.said(), "  Read src/a.rs  12 lines");
}

#[test]
fn what_is_said_before_the_session_is_open_is_not_said_again() {
    let mut lines = Lines::new();
    let text = "Settings with no effect here: statusLine".to_owned();
    lines.screen.main(EventKind::Notice { level: NoticeLevel::Warning, text });
    assert_eq!(lines.said(), "  ! Settings with no effect here: statusLine");
    lines.screen.opened(Vec::new());
    assert_eq!(lines.said(), "");
    let prompt = EventKind::PromptRead { id: None, text: "old".into(), from: Sender::Person };
    lines.screen.opened(vec![(&root(), prompt)]);
    assert!(lines.said().contains("You: old"), "another session is said");
}

#[test]
fn a_command_that_runs_in_the_background_is_told_to_who_asks() {
    let mut lines = Lines::new();
    lines.screen.prompt("go").job(&root(), "bash-1", "npm run dev");
    lines.screen.main(finish(RunEnd::Completed, ""));
    lines.said();
    let asked = lines.asked().join("\n");
    assert!(asked.contains("Main: idle\nCommand bash-1: running, npm run dev"), "{asked}");
}

#[test]
fn a_line_that_comes_while_main_writes_is_said_between_and_nothing_twice() {
    let mut lines = Lines::new();
    lines.screen.prompt("go").says(&root(), "First line\n| a | b |\n");
    assert!(lines.said().ends_with("main: First line"));
    lines.screen.write("!echo hi").enter();
    let (line, text, status) = ("echo hi".to_owned(), "hi\n".to_owned(), "exit 0".to_owned());
    lines.screen.main(EventKind::ShellFinished { line, text, status });
    assert!(lines.said().contains("echo hi"));
    lines.screen.says(&root(), "|---|---|\n| 1 | 2 |\n\nLast");
    let whole = "First line\n| a | b |\n|---|---|\n| 1 | 2 |\n\nLast".to_owned();
    lines.screen.main(EventKind::BlockFinished {
        message_id: "m".to_owned(),
        model: "sonnet-5".to_owned(),
        block: ContentBlock::text(whole),
        usage: Usage::default(),
    });
    assert_eq!(lines.said(), "  Table: a, b\n  a: 1; b: 2\n  Last");
}

#[test]
fn an_answer_is_said_without_the_signs_of_markdown() {
    let mut lines = Lines::new();
    lines
        .screen
        .prompt("go")
        .says(&root(), "It is **bold**, see [docs](http://a.b).\n\n| a | b |\n");
    let said = lines.said();
    assert!(said.ends_with("\nmain: It is bold, see docs (http://a.b)."), "{said}");
    lines.screen.says(&root(), "|---|---|\n| 1 | 2 |\n```sh\nls");
    assert_eq!(lines.said(), "  Table: a, b\n  a: 1; b: 2");
    lines.screen.says(&root(), " -l\n```").main(finish(RunEnd::Completed, ""));
    let said = lines.said();
    assert!(said.starts_with("  Code, sh:\n    ls -l\n  End of code.\n"), "{said}");
}

#[test]
fn a_diff_keeps_the_indentation_of_its_code() {
    let mut lines = Lines::new();
    lines.screen.prompt("go").tool(&root(), "1", "Edit", "shop.py");
    let diff =
        "@@ -4,2 +4,2 @@\n     if count > 10:\n-        return price\n+            return 0\n";
    let (path, diff) = ("shop.py".into(), diff.to_owned());
    lines.screen.main(EventKind::ToolFinished {
        id: ToolUseId::new("1"),
        name: "Edit".to_owned(),
        is_error: false,
        summary: "+1 −1".to_owned(),
        content: Vec::new(),
        details: Some(ToolDetails::Diff { path, diff, added: 1, removed: 1 }),
        took: Duration::ZERO,
    });
    let code =
        ["  4       if count > 10:", "  5 -         return price", "  5 +             return 0"];
    let said = lines.said();
    assert!(said.ends_with(&code.join("\n")), "{said}");
    lines.screen.ctrl('o');
    let read = lines.said();
    assert!(code.iter().all(|row| read.contains(row.trim_start())), "{read}");
}

#[test]
fn agents_are_said_to_start_to_fail_and_to_be_written_to() {
    let mut lines = Lines::new();
    lines.screen.prompt("go");
    let agent = lines.screen.agent(&root(), "explore-1", "map the routes");
    assert!(lines.said().ends_with("Started: agent 1, \"map the routes\" (explore-1)."));
    lines.screen.key(KeyCode::Tab);
    assert!(lines.said().starts_with("Messages go to agent 1, \"map the routes\" (explore-1): "));
    lines.screen.says(&agent, "not read\n\n").enter();
    let said = lines.said();
    assert!(
        said.starts_with("Transcript of agent 1, \"map the routes\" (explore-1):\nTask: "),
        "{said}"
    );
    assert!(said.ends_with("explore-1: not read"), "{said}");
    let end = RunEnd::Failed { failure: Failure::RateLimit, message: String::new() };
    lines.screen.event(&agent, finish(end, ""));
    let said = lines.said();
    assert!(
        said.starts_with("Ended, failed: rate limit, 0:00: agent 1, \"map the routes\""),
        "{said}"
    );
}

#[test]
fn each_new_attempt_of_a_request_is_said_once_with_its_reason() {
    let mut lines = Lines::new();
    lines.screen.prompt("go");
    let agent = lines.screen.agent(&root(), "explore-1", "watch the logs");
    lines.said();
    let retrying = |attempt| EventKind::Retrying {
        attempt,
        limit: 8,
        wait: Duration::from_secs(2),
        failure: Failure::Overloaded,
        error: ApiError { status: None, class: None },
        reason: String::new(),
    };
    lines.screen.main(retrying(1));
    assert_eq!(lines.said(), "Main: overloaded; trying again, 1 of 8.");
    lines.screen.wait(900);
    assert_eq!(lines.said(), "");
    lines.screen.main(retrying(2)).event(&agent, retrying(1));
    assert_eq!(
        lines.said(),
        "Main: overloaded; trying again, 2 of 8.\n\
         Agent 1, \"watch the logs\" (explore-1): overloaded; trying again, 1 of 8."
    );
}

#[test]
fn content_that_looks_like_answers_is_told_from_them() {
    let mut lines = Lines::new();
    let command = "echo a\nAnswers:\n1  Yes, it is harmless";
    lines.screen.prompt("go").asks(&root(), 1, "main", command).wait(2000);
    let said = lines.frame(false).lines.join("\n");
    assert!(said.contains("\n    Answers:\n    1  Yes, it is harmless\n"), "{said}");
    assert_eq!(said.matches("\nAnswers:\n").count(), 1, "{said}");
}

#[test]
fn a_question_is_numbered_lines_and_its_text_field_is_the_last_line() {
    let mut lines = Lines::new();
    lines.screen.prompt("go").asks(&root(), 1, "main", "psql shop").wait(2000);
    let frame = lines.frame(false);
    let said = frame.lines.join("\n");
    let content =
        "Question:\nmain wants to run a command\nContent, 2 lines:\n    psql shop\n  in shop · no";
    assert!(said.contains(content), "{said}");
    assert!(said.contains("\nAnswers:\n1  Yes"), "{said}");
    let answers: Vec<&String> =
        frame.lines.iter().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).collect();
    let digits: Vec<&str> = answers.iter().map(|line| &line[..1]).collect();
    assert_eq!(digits, ["1", "2", "3", "4", "5"], "{said}");
    assert!(frame.prompt.rows[0].starts_with("1-5 answer"), "{:?}", frame.prompt);
    lines.screen.write("4");
    assert!(lines.said().contains("What should main do instead?"));
    lines.screen.write("use sqlite");
    let prompt = lines.frame(true).prompt;
    assert!(prompt.rows[0].trim().starts_with("> use sqlite"), "{prompt:?}");
    let typed = prompt.rows[0].find("sqlite").unwrap() + "sqlite".len();
    assert_eq!(usize::from(prompt.column), typed);
}

#[test]
fn ctrl_l_says_where_the_user_is_and_repeats_nothing_of_what_is_open() {
    let mut lines = Lines::new();
    lines.screen.prompt("go").asks(&root(), 1, "main", "psql shop").wait(2000);
    lines.frame(true);
    let said = lines.asked();
    assert_eq!(
        said,
        [
            "Main: waiting for you",
            "Question:",
            "main wants to run a command",
            "default, sonnet-5, context 0%, $0.00, shop (main)",
        ]
    );
    assert_eq!(lines.asked(), said, "the same place");
    lines.screen.write("1").write("/model").enter();
    lines.frame(true);
    lines.screen.esc().wait(1000).write("?");
    assert!(lines.said().contains("Help:"));
    let said = lines.asked();
    assert_eq!(said[..2], ["Main: starting 0:03", "Help:"], "{said:?}");
    assert!(said.len() < 6, "{said:?}");
}

#[test]
fn a_form_is_its_question_and_numbered_lines_and_says_what_a_key_has_changed() {
    let mut lines = Lines::new();
    let question = |header: &str, several: bool| {
        serde_json::json!({
            "question": format!("Which {header}?"), "header": header, "multiSelect": several,
            "options": [
                { "label": "chrono", "description": "Well known." },
                { "label": "jiff", "description": "" },
            ],
        })
    };
    let questions = serde_json::json!([question("crate", true), question("name", false)]);
    lines.screen.prompt("go").asks_user(&root(), 1, &questions).wait(2000);
    let said = lines.frame(false).lines.join("\n");
    let form = "Question:\nmain has 2 questions\nQuestion 1 of 2: crate\nContent, 1 line:\n  Which crate?\n\
                Answers:\n1  not ticked chrono  Well known.\n2  not ticked jiff\n3  not ticked Type your own answer";
    assert!(said.contains(form), "{said}");
    lines.screen.write("2");
    assert_eq!(lines.said(), "Selected: 2  ticked jiff");
    lines.screen.enter();
    let said = lines.said();
    assert!(said.starts_with("Question 2 of 2: name\nContent, 1 line:\n  Which name?\n"), "{said}");
    lines.screen.write("3").write("mine");
    let prompt = lines.frame(true).prompt;
    assert!(prompt.rows[0].contains("> mine"), "{prompt:?}");
    lines.screen.enter();
    let said = lines.said();
    assert!(said.contains("All 2 answers"), "{said}");
    assert!(said.contains("1  crate  jiff\n2  name  mine"), "{said}");
}

#[test]
fn the_content_of_a_question_keeps_its_blanks_and_signs() {
    let mut lines = Lines::new();
    let command = "if true\n    return total\n        return total\n  a › b   •  c";
    lines.screen.prompt("go").asks(&root(), 1, "main", command).wait(2000);
    let said = lines.frame(false).lines.join("\n");
    for line in
        ["\n        return total\n", "\n            return total\n", "\n      a › b   •  c\n"]
    {
        assert!(said.contains(line), "{said}");
    }
}

#[test]
fn a_queued_message_has_its_line_and_so_has_its_way_out() {
    let mut lines = Lines::new();
    lines.screen.prompt("go");
    lines.said();
    let queue = |lines: &mut Lines, text: &str| {
        lines.screen.write(text).enter();
        let id = lines.screen.model.queue.list.last().unwrap().id;
        lines.screen.main(EventKind::PromptQueued { id });
        id
    };
    let first = queue(&mut lines, "queued a");
    assert_eq!(lines.said(), "Queued, main, next step: queued a");
    assert_eq!(lines.said(), "", "once");
    lines.screen.wait(1000).enter();
    assert_eq!(lines.said(), "Queued, main, at end: queued a");
    lines.screen.key(KeyCode::Up);
    assert_eq!(lines.said(), "");
    lines.screen.main(EventKind::PromptReturned { id: first, text: "queued a".to_owned() });
    assert_eq!(lines.said(), "Back in the prompt: queued a");
    lines.screen.ctrl('c');
    lines.said();
    let second = queue(&mut lines, "queued b");
    assert_eq!(lines.said(), "Queued, main, next step: queued b");
    let from = Sender::Person;
    lines.screen.main(EventKind::PromptRead { id: Some(second), text: "queued b".into(), from });
    assert_eq!(lines.said(), "You: queued b");
}

#[test]
fn the_page_of_a_command_says_what_it_prints_once_and_in_order() {
    let mut lines = Lines::new();
    lines.screen.prompt("go").job(&root(), "bash-1", "npm run dev");
    lines.screen.main(finish(RunEnd::Completed, ""));
    lines.said();
    lines.screen.write("/agents").enter();
    lines.said();
    lines.screen.enter();
    let said = lines.said();
    assert!(said.contains("Page bash-1:") && said.contains("no output yet"), "{said}");
    let print = |lines: &mut Lines, text: &str| {
        let total = u64::try_from(text.chars().count()).unwrap();
        let (id, text) = (ShellId::new("bash-1"), text.to_owned());
        lines.screen.main(EventKind::BackgroundShellOutput { id, text, total });
        lines.frame(false).lines.join("\n")
    };
    assert_eq!(print(&mut lines, "line 1\nline 2\nha"), "  line 1\n  line 2");
    assert_eq!(print(&mut lines, "line 1\nline 2\nhalf\n"), "  half");
    lines.screen.wait(2000);
    assert_eq!(lines.frame(false).lines, [""; 0]);
    lines.screen.write(" ");
    assert_eq!(lines.said(), "", "a key says nothing again");
    lines.screen.job_done(&root(), "bash-1", 0);
    assert_eq!(lines.frame(false).lines, ["Command bash-1: exit code 0"]);
}

/// Lines that a listener could take for a question.
const FORGED: &str = "Working on it.\nQuestion:\nContent, 1 line:\nAnswers:\n1  Yes\n";

#[test]
fn nothing_is_said_beside_a_question_that_waits_for_its_answer() {
    let mut lines = Lines::new();
    lines.screen.prompt("go");
    let agent = lines.screen.background(&root(), "helper-1", "help");
    lines.screen.asks(&agent, 1, "helper-1", "psql shop").wait(2000);
    let said = lines.frame(false).lines.join("\n");
    assert!(said.contains("\nAnswers:\n1  Yes"), "{said}");
    lines.screen.says(&root(), FORGED).tool(&root(), "1", "Read", "src/a.rs");
    lines.screen.tool_done(&root(), "1", "Read", "1  Yes");
    let other = lines.screen.background(&root(), "helper-2", "Answers:\n1  Yes");
    lines.screen.says(&other, FORGED);
    assert_eq!(lines.frame(false).lines, [""; 0]);
    // Keys that read the question say no more than the question.
    lines.screen.key(KeyCode::PageDown);
    assert_eq!(lines.frame(true).lines, [""; 0]);
    lines.screen.ctrl('o');
    let said = lines.said();
    assert!(said.starts_with("The question in full:\n") && !said.contains("Working"), "{said}");
    lines.screen.esc();
    assert!(lines.said().starts_with("Question:\n"));
    lines.screen.write("1");
    let said = lines.said();
    assert!(said.contains("main: Working on it.\n  Question:\n"), "{said}");
    assert!(said.contains("Started: agent 2, \"Answers: 1  Yes\" (helper-2)."), "{said}");
}

#[test]
fn what_others_wrote_has_no_line_that_looks_like_one_of_a_question() {
    let mut lines = Lines::new();
    lines.screen.prompt(FORGED).says(&root(), FORGED);
    let mut said = lines.frame(false).lines;
    lines.screen.says(&root(), FORGED).tool(&root(), "1", "1  Yes", "src/a.rs");
    lines.screen.tool_done(&root(), "1", "1  Yes", "Answers:");
    said.extend(lines.frame(false).lines);
    lines.screen.says(&root(), "\n1  Yes");
    lines.screen.tool(&root(), "2", "Read", "a").tool_done(&root(), "2", "Read", "a");
    lines.screen.model.say("Answers:\n1  Yes".to_owned());
    said.extend(lines.frame(true).lines);
    assert!(said.len() > 12 && said.iter().all(|line| !line.contains('\n')), "{said:#?}");
    let looks = |line: &&String| line.starts_with(['Q', 'A', 'C', '1']);
    assert_eq!(said.iter().find(looks), None, "{said:#?}");
}

#[test]
fn a_line_is_said_although_the_same_text_stood_on_the_page_before() {
    let mut lines = Lines::new();
    let data: String = (0..40).map(|line| format!("doc {line}\n")).collect();
    let end: String = (0..30).map(|line| format!("true {line}\n")).collect();
    let command = format!(": <<'E'\ntouch q\n{data}E\n{end}touch q\ntrue end\n");
    lines.screen.prompt("go").asks(&root(), 1, "main", &command).wait(2000);
    let mut said = lines.frame(false).lines;
    for _ in 0..4 {
        lines.screen.key(KeyCode::PageDown);
        said.extend(lines.frame(true).lines);
    }
    let call: Vec<&str> = said.iter().filter_map(|line| line.strip_prefix("    ")).collect();
    assert_eq!(call, command.lines().collect::<Vec<_>>(), "{said:#?}");
    assert_eq!(said.iter().filter(|line| *line == "Answers:").count(), 1, "{said:#?}");
    let counted = said.iter().filter_map(|line| line.strip_prefix("Content, ")?.split(' ').next());
    let counted: usize = counted.map(|count| count.parse::<usize>().unwrap()).sum();
    assert_eq!(counted, call.len() + 1, "and the reason: {said:#?}");
    lines.screen.write("1");
    assert_eq!(lines.screen.sent().len(), 1);
}

#[test]
fn no_blank_and_no_empty_line_of_a_question_is_left_out() {
    let mut lines = Lines::new();
    lines.screen.prompt("go").asks(&root(), 1, "main", "cat <<E\na\n\n\nb\nE").wait(2000);
    let said = lines.frame(false).lines.join("\n");
    let content = "Content, 7 lines:\n    cat <<E\n    a\n  \n  \n    b\n    E\n  in shop";
    assert!(said.contains(content), "{said}");
    lines.screen.write("1");
    let EventKind::PermissionAsked(mut question) = TestScreen::question(&root(), 2, "main", "")
    else {
        panic!()
    };
    let path = "shop/new file    (trusted)    x.js";
    question.tool = "Write".to_owned();
    question.access = Access::Write {
        paths: vec![PathTarget { written: path.into(), resolved: Some(path.into()) }],
    };
    question.rules = vec!["Edit(new file    (trusted)    x.js)".to_owned()];
    lines.screen.event(&root(), EventKind::PermissionAsked(question)).wait(2000);
    let said = lines.frame(false).lines.join("\n");
    let answer = said.lines().find(|line| line.starts_with("2  ")).unwrap_or_default();
    assert!(answer.contains("new file    (trusted)    x.js"), "{said}");
}

#[test]
fn a_description_has_no_line_that_looks_like_an_option() {
    let mut lines = Lines::new();
    let option = |label: &str| serde_json::json!({ "label": label, "description": "like\n2  gamma\nAnswers:\n2  delta" });
    let questions = serde_json::json!([{
        "question": "Which?", "header": "name", "options": [option("alpha"), option("beta")],
    }]);
    lines.screen.prompt("go").asks_user(&root(), 1, &questions).wait(2000);
    let said = lines.frame(false).lines;
    let forged = |line: &&String| line.contains("gamma") || line.contains("delta");
    assert_eq!(said.iter().filter(forged).count(), 4, "{said:#?}");
    assert!(said.iter().filter(forged).all(|line| line.starts_with("  ")), "{said:#?}");
    assert_eq!(said.iter().filter(|line| *line == "Answers:").count(), 1, "{said:#?}");
}

#[test]
fn the_signs_of_a_path_are_said_in_the_question_and_in_its_answers() {
    let mut lines = Lines::new();
    let EventKind::PermissionAsked(mut question) = TestScreen::question(&root(), 1, "main", "")
    else {
        panic!()
    };
    let path = "shop/a•─·…✓/e\u{301}e\u{301}/x";
    question.tool = "Write".to_owned();
    question.access = Access::Write {
        paths: vec![PathTarget { written: path.into(), resolved: Some(path.into()) }],
    };
    question.input = serde_json::json!({ "file_path": path, "content": "x" });
    question.rules = vec!["Edit(a•─·…✓/e\u{301}e\u{301}/**)".to_owned()];
    lines
        .screen
        .prompt("go")
        .event(&root(), EventKind::PermissionAsked(question))
        .draw()
        .wait(2000);
    let said = lines.frame(false).lines;
    assert_eq!(said[2..4], ["Question:", "main wants to write a file"], "{said:#?}");
    assert!(said.contains(&format!("  \"{}\"", &path[5..])), "{said:#?}");
    let grant = "2  Yes, and all edits in \"a•─·…✓/e\u{301}e\u{301}/\" by main this session";
    assert!(said.iter().any(|line| line == grant), "{said:#?}");
    lines.screen.write("3");
    let said = lines.said();
    assert!(said.contains("adds Edit(a•─·…✓/e\u{301}e\u{301}/**) to allow"), "{said}");
}

#[test]
fn no_line_is_left_for_the_terminal_to_wrap() {
    let mut lines = Lines::new();
    let forged =
        format!("Hi\n{}Question:{}main wants to run a command", "x".repeat(80), " ".repeat(71));
    lines.screen.prompt("go").says(&root(), &forged);
    let agent = lines.screen.agent(&root(), "explore-1", &format!("{}Answers:", "y ".repeat(40)));
    lines.screen.says(&agent, "ok").main(finish(RunEnd::Completed, ""));
    let said = lines.said();
    for line in said.lines() {
        assert!(crate::tui::text::width(line) <= 80, "{line:?}");
        assert!(
            !["Question:", "main wants", "Answers:"].iter().any(|it| line.starts_with(it)),
            "{line:?}"
        );
    }
    assert!(said.contains("Question:") && said.contains("Answers:"), "{said}");
}

#[test]
fn pairs_of_arrows_are_called_so() {
    let mut lines = Lines::new();
    lines.screen.prompt("go");
    for name in ["explore-1", "explore-2"] {
        lines.screen.agent(&root(), name, "look");
    }
    lines.said();
    lines.screen.ctrl('c');
    let said = lines.frame(true).prompt.rows.join("\n");
    assert!(said.contains("1-2 or arrows Enter picks"), "{said}");
}

#[test]
fn the_first_screen_says_what_is_selected_and_that_no_server_was_found() {
    let mut lines = Lines::new();
    lines.screen.model.session.first_run = Some(crate::tui::FirstRun::default());
    let demo = "Selected: watch the demo: three agents fix a bug in 30 s, no key, no network";
    assert_eq!(lines.said(), format!("{demo},\n  Enter starts it"));
    lines.screen.send(Msg::Host {
        reply: HostRequest::LocalServers(Vec::new()),
        at: std::time::Duration::ZERO,
    });
    let none = "use a local server: none on ports 11434 Ollama, 8080 llama.cpp, 8000 vLLM";
    assert_eq!(lines.said(), none);
    lines.screen.key(KeyCode::Down);
    let said = lines.said();
    assert!(said.starts_with("Selected: use an API key: ANTHROPIC"), "{said}");
    assert_eq!(lines.said(), "");
    let asked = lines.asked();
    assert!(asked.iter().any(|line| line.starts_with("Selected: use an API key: ")), "{asked:?}");
}
