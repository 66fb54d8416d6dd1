//! The content of a pane: calls, text and notes in few lines.

use std::time::Duration;

use crossterm::event::KeyCode;

use crate::protocol::{
    AgentId, AgentInfo, AgentPath, EventKind, NoticeLevel, ResultBlock, ToolUseId,
};
use crate::tui::testing::{TestScreen, agent_info};

use super::panes::many;
use super::pictures::picture;
use super::root;

#[test]
fn most_lines_of_a_pane_hold_text() {
    for (number, width, height) in
        [(1, 80, 24), (3, 80, 24), (8, 120, 40), (3, 120, 40), (8, 160, 45), (12, 220, 60)]
    {
        let (mut screen, _) = many(number);
        let output = picture(&mut screen, width, height);
        let lines: Vec<&str> =
            output.lines().flat_map(|line| line.split('▌').skip(1)).map(str::trim).collect();
        let filled = lines.iter().filter(|line| !line.trim_matches(['│', ' ']).is_empty()).count();
        assert!(filled * 3 >= lines.len() * 2, "{filled} of {}: {output}", lines.len());
    }
}

/// Two agents, the first with calls and a failure that are wider than its pane.
fn wide_calls() -> (TestScreen, [AgentPath; 2]) {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let task = "follow the price through all files of the shop and name each place that changes it";
    let first = screen.agent(&AgentPath::root(), "explore-1", task);
    let second = screen.agent(&AgentPath::root(), "explore-2", "wait");
    let long = r#""\b(line_total|unit_price|bulk_discount)\b""#;
    screen.tool(&first, "1", "Grep", long).tool_done(&first, "1", "Grep", "8 hits");
    screen.says(&first, "Now the callers.");
    screen.tool(&first, "2", "Read", "bin/receipt.sh");
    screen.tool_done(&first, "2", "Read", "15 lines");
    let long = r#""^check .*(discount|full price)" in tests/run.sh"#;
    screen.tool(&first, "3", "Grep", long).tool_done(&first, "3", "Grep", "4 hits");
    (screen, [first, second])
}

#[test]
fn a_call_in_a_pane_keeps_its_result_and_says_what_is_cut() {
    let (mut screen, _) = wide_calls();
    let output = picture(&mut screen, 120, 40);
    for words in
        ["…   8 hits", "…   4 hits", "Read bin/receipt.sh   15 lines", "task: Please follow"]
    {
        assert!(output.contains(words), "{words}: {output}");
    }
    // Each call alone, on at most two lines.
    let grep = output.lines().filter(|line| line.contains("▌● Grep") || line.contains("▌  Grep"));
    assert_eq!(grep.count(), 2, "{output}");
    let task = output.lines().filter(|line| line.contains("each place")).count();
    assert_eq!(task, 0, "the task is one line: {output}");
}

/// The first lines of the panes on the right, below their headers.
fn pane_tops(output: &str) -> Vec<&str> {
    let lines: Vec<&str> =
        output.lines().filter_map(|line| line.split("│ ").nth(1)).map(str::trim_end).collect();
    let is_head = |line: &str| {
        line.starts_with(['▌', '▸']) && line.chars().nth(1).is_some_and(|c| c.is_ascii_digit())
    };
    let below = lines.windows(2).filter(|two| is_head(two[0]));
    below.map(|two| two[1].trim_start_matches('▌')).collect()
}

/// Three agents, the first of which ran a command with output, and then said something.
fn after_a_command(output: &str, text: &str) -> TestScreen {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let path = screen.agent(&AgentPath::root(), "explore-1", "check");
    screen.says(&path, "A sentence before the command.");
    screen.tool(&path, "1", "Bash", "bash tests/run.sh --with-everything --and-more --of-it");
    screen.event(
        &path,
        EventKind::ToolFinished {
            id: ToolUseId::new("1"),
            name: "Bash".to_owned(),
            is_error: false,
            summary: format!("{} lines", output.lines().count()),
            content: vec![ResultBlock::Text { text: output.to_owned() }],
            details: None,
            took: Duration::from_millis(5),
        },
    );
    screen.says(&path, text);
    for name in ["explore-2", "explore-3"] {
        screen.agent(&AgentPath::root(), name, "wait");
    }
    screen
}

#[test]
fn a_pane_begins_with_the_beginning_of_something() {
    let top = |mut screen: TestScreen| {
        let output = picture(&mut screen, 100, 20);
        pane_tops(&output)[0].to_owned()
    };
    // Within the output of a call: the call.
    let within = top(after_a_command("one\ntwo\nthree", "Found."));
    assert!(within.starts_with("● Bash bash tests/run.sh --with-eve"), "{within}");
    assert!(within.ends_with('…') && !within.ends_with("… …"), "{within}");
    // At the second line of a call: the same, but nothing is left out.
    let second = top(after_a_command("one", "Found."));
    assert!(second.starts_with("● Bash bash tests/run.sh --with-every"), "{second}");
    assert!(!second.ends_with(" …"), "{second}");
    let points = "Two points:\n\n- first\n- second\n- third\n- fourth";
    assert_eq!(top(after_a_command("one", points)), "  • second");
    let words = "The table is read anew for each request, because nothing keeps it. ".repeat(12);
    let sentence = top(after_a_command("one", words.trim()));
    assert!(sentence.starts_with("… "), "{sentence}");
    assert_eq!(top(after_a_command("one", "Two points:\n\n- first\n- second")), "…");
}

#[test]
fn a_pane_of_one_line_shows_the_beginning_of_a_finished_sentence() {
    let (mut screen, _) = many(8);
    screen.model.focus = None;
    let output = picture(&mut screen, 100, 30);
    assert!(output.contains("▌  The other table is written by hand, …"), "{output}");
    assert!(!output.contains("▌  it."), "{output}");
}

#[test]
fn a_headline_is_not_said_again_below_it() {
    let table = [
        ("Map the routes", ""),
        ("map the routes.", ""),
        ("Map the routes. Change nothing.", "task: Change nothing."),
        ("map the routestable", "task: map the routestable"),
        ("Look at the routes", "task: Look at the routes"),
    ];
    for (prompt, shown) in table {
        let mut screen = TestScreen::new();
        screen.prompt("go");
        let path = AgentPath::root().child(AgentId::generate());
        let info =
            AgentInfo { prompt: prompt.to_owned(), ..agent_info("explore-1", "map the routes") };
        screen.event(&path, EventKind::Started(Box::new(info)));
        let output = picture(&mut screen, 100, 30);
        let pane: Vec<&str> =
            output.lines().filter_map(|line| line.split('▌').nth(1)).map(str::trim).collect();
        let task = pane.iter().find(|line| line.starts_with("task:")).copied().unwrap_or_default();
        assert_eq!(task, shown, "{output}");
        assert!(pane[0].starts_with("1 map the routes"), "{output}");
    }
}

/// The columns at which figures end in the line of the first agent and in the line about all.
fn figure_ends(output: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let is_about = |line: &&str| line.contains("▌1 ") || line.contains("2 agents · 2");
    for line in output.lines().filter(is_about) {
        let letters: Vec<char> = line.chars().collect();
        let ends_here = |at: usize| {
            let next = letters.get(at + 1);
            let is_figure = |c: &char| c.is_ascii_digit() || *c == 'k';
            is_figure(&letters[at]) && next.is_none_or(|c| !is_figure(c) && *c != '.')
        };
        ends.extend((0..letters.len()).filter(|at| ends_here(*at)));
    }
    ends
}

#[test]
fn figures_stay_in_their_columns_as_digits_come() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let agents = ["one", "two"].map(|task| screen.agent(&root(), &format!("explore-{task}"), task));
    screen.event(&agents[0], EventKind::TurnStarted { turn: 9, limit: Some(20) });
    screen.turn_done(&agents[0], 900, 0.01).wait(595_000);
    screen.says(&agents[0], "Found").says(&agents[1], "Found");
    for (width, height) in [(120, 40), (200, 60), (60, 15)] {
        let mut screen = TestScreen { model: screen.model.clone(), ..TestScreen::new() };
        screen.at = screen.model.now;
        let before = picture(&mut screen, width, height);
        screen.event(&agents[0], EventKind::TurnStarted { turn: 10, limit: Some(20) });
        screen.turn_done(&agents[0], 120_000, 12.0).says(&agents[0], "More").wait(10_000);
        let after = picture(&mut screen, width, height);
        assert_eq!(figure_ends(&before), figure_ends(&after), "{before}\n{after}");
        assert!(after.contains("10:0") && after.contains("10/20"), "{after}");
    }
}

#[test]
fn a_note_in_a_pane_takes_one_line_and_a_warning_all_that_it_needs() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let path = screen.agent(&root(), "tidy-1", "round the discount");
    let place = "/home/user/.local/share/caliban/worktrees/tidy-1-281ce1dd/".repeat(3);
    for (level, word) in [(NoticeLevel::Info, "note"), (NoticeLevel::Warning, "warning")] {
        let text = format!("{word} {place} end-of-{word}");
        screen.event(&path, EventKind::Notice { level, text });
    }
    let shown = picture(&mut screen, 120, 40);
    assert!(shown.contains("note /home") && !shown.contains("end-of-note"), "{shown}");
    assert!(shown.contains("end-of-warning"), "{shown}");
    screen.key(KeyCode::Tab).enter();
    assert!(picture(&mut screen, 120, 40).contains("end-of-note"));
}
