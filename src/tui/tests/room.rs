//! Questions on small screens and below a transcript, answers that do not fit, and rules being edited.

use crossterm::event::KeyCode;
use serde_json::Value;

use crate::protocol::{AgentPath, Answer, Command, EventKind, Question, QuestionId, RuleFile};
use crate::tui::testing::TestScreen;

use super::pictures::picture;
use super::root;
use super::seen::{asked, assert_dead_digits, click, command, edit, once};

#[test]
fn a_screen_without_room_for_the_content_allows_nothing() {
    for (width, height) in [(20, 4), (20, 3), (10, 20), (14, 6), (1, 1), (200, 4), (20, 0), (0, 4)]
    {
        let mut screen = asked(|_| {});
        for _ in 0..30 {
            picture(&mut screen, width, height);
            assert_dead_digits(&mut screen);
            screen.key(KeyCode::PageDown);
        }
        screen.key(KeyCode::End);
        picture(&mut screen, width, height);
        assert_dead_digits(&mut screen);
        screen.esc();
        assert_eq!(screen.sent().len(), 1, "{width}x{height}");
    }
}

#[test]
fn an_answer_that_is_not_on_the_screen_in_full_cannot_be_given() {
    let mut screen = asked(|question| {
        question.rules = (1..=40).map(|number| format!("Bash(program-{number}:*)")).collect();
    });
    for _ in 0..4 {
        screen.key(KeyCode::End);
        picture(&mut screen, 60, 15);
    }
    screen.write("2");
    assert_eq!(screen.sent(), [], "what it grants is cut");
    screen.write("1");
    assert_eq!(screen.sent(), once(1));
}

#[test]
fn a_rule_is_written_only_while_all_of_it_is_on_the_screen() {
    let mut screen = asked(|question| {
        question.rules = (1..=12).map(|number| format!("Bash(program-{number}:*)")).collect();
    });
    picture(&mut screen, 120, 40);
    picture(&mut screen, 120, 40);
    screen.write("3");
    let output = picture(&mut screen, 60, 15);
    assert!(output.contains("too small to show the rule"), "{output}");
    screen.enter();
    assert_eq!(screen.sent(), []);
    let output = picture(&mut screen, 120, 40);
    assert!(
        output.contains("Bash(program-1:*)") && output.contains("Bash(program-12:*)"),
        "{output}"
    );
    screen.enter();
    assert!(matches!(&screen.sent()[..], [Command::Answer { answer: Answer::Always { .. }, .. }]));
}

#[test]
fn signs_that_a_terminal_does_not_show_are_visible_in_a_rule() {
    let mut screen =
        asked(|question| question.rules = vec!["Bash(x\u{200b}\u{1b}[8my)".to_owned()]);
    picture(&mut screen, 120, 40);
    screen.write("3");
    let output = picture(&mut screen, 120, 40);
    assert!(output.contains("adds Bash(x⟨U+200B⟩␛[8my) to allow"), "{output}");
}

#[test]
fn a_long_rule_wraps_and_is_written_whole() {
    let rule = format!("Bash({} {})", "a".repeat(150), "b".repeat(40));
    let mut screen = asked(|question| question.rules = vec![rule.clone()]);
    picture(&mut screen, 80, 24);
    screen.key(KeyCode::End);
    picture(&mut screen, 80, 24);
    picture(&mut screen, 80, 24);
    screen.write("3");
    let output = picture(&mut screen, 80, 24);
    let letters = |letter| output.matches(letter).count();
    assert!(letters('b') >= 80 && letters('a') >= 300, "{output}");
    screen.enter();
    let answer = Answer::Always { rules: vec![rule], file: RuleFile::Local };
    assert_eq!(screen.sent(), [Command::Answer { id: QuestionId(1), answer }]);
}

#[test]
fn with_a_draft_the_answers_are_dead_as_well_until_the_end_was_shown() {
    let mut screen = asked(edit(60));
    picture(&mut screen, 80, 24);
    screen.write("hello");
    picture(&mut screen, 80, 24);
    click(&mut screen, 1);
    screen.enter();
    assert_eq!(screen.sent(), []);
    assert!(screen.model.questions.open.as_ref().unwrap().keyboard);
    screen.key(KeyCode::End);
    picture(&mut screen, 80, 24);
    click(&mut screen, 1);
    screen.enter();
    assert_eq!(screen.sent(), once(1));
}

#[test]
fn the_directory_of_a_command_is_shown_and_nothing_hides_in_a_diff() {
    let mut screen = asked(command("make all".to_owned()));
    let output = picture(&mut screen, 80, 24);
    assert!(output.contains("in /p/shop/sub · no rule allows psql"), "{output}");
    let mut screen = asked(|question| {
        edit(1)(question);
        question.preview = Some("@@ -0,0 +1 @@\n+\u{1b}]0; rm -rf ~ \n".to_owned());
        question.warnings = vec!["the name has letters of two alphabets".to_owned()];
        question.input = Value::Null;
    });
    let output = picture(&mut screen, 80, 24);
    assert!(output.contains("+ ␛]0; rm -rf ~"), "{output}");
    assert!(output.contains("! the name has letters of two alphabets"), "{output}");
}

#[test]
fn without_a_rule_the_missing_answers_are_explained() {
    let mut screen = asked(|question| question.rules.clear());
    let output = picture(&mut screen, 80, 24);
    assert!(output.contains("│ 2 and 3 need a rule; none is "), "{output}");
    assert!(output.contains("│ safe for this command "), "{output}");
    screen.write("23");
    assert_eq!(screen.sent(), []);
    screen.write("1");
    assert_eq!(screen.sent(), once(1));
}

/// A command of main with several lines, each of which is a rule.
fn lines_of_main(lines: &[String]) -> impl Fn(&mut Question) {
    let lines = lines.to_vec();
    move |question| {
        command(lines.join("\n"))(question);
        question.path = AgentPath::root();
        question.agent = "main".to_owned();
        question.rules = lines.iter().map(|line| format!("Bash({line})")).collect();
    }
}

fn docker(number: usize, length: usize) -> Vec<String> {
    let line = |at| {
        let start = format!("docker run --name box-{at} ");
        let fill = length.saturating_sub(start.len() + 8);
        format!("{start}{} --end={at}", "x".repeat(fill))
    };
    (1..=number).map(line).collect()
}

/// All text inside the box, without spaces.
fn inside(output: &str) -> String {
    let inner = output.lines().filter_map(|line| line.strip_prefix('│'));
    let inner = inner.filter_map(|line| line.split(['│', '┃']).next());
    let letters = inner.flat_map(str::chars);
    letters.filter(|letter| !letter.is_whitespace() && *letter != '↪').collect()
}

#[test]
fn without_a_key_nothing_can_be_allowed_that_is_not_on_the_screen_as_a_whole() {
    let mut held = 0;
    for (number, length) in [(1, 40), (3, 60), (4, 60), (4, 100), (5, 60), (5, 90), (5, 170)] {
        let lines = docker(number, length);
        for (width, height) in (8..30).flat_map(|height| [20, 60, 80, 120].map(|w| (w, height))) {
            let mut screen = asked(lines_of_main(&lines));
            for _ in 0..4 {
                let output = picture(&mut screen, width, height);
                if screen.model.answers().iter().all(|digit| *digit > 3) {
                    held += 1;
                    assert!(!output.contains("too small") || height < 9, "{output}");
                    continue;
                }
                let inside = inside(&output);
                for line in &lines {
                    let line: String = line.split(' ').collect();
                    assert!(inside.contains(&line), "{line} at {width}x{height}: {output}");
                }
                let reason = inside.replace('·', "");
                assert!(reason.contains("in/p/shop/subnoruleallowspsql"), "{output}");
            }
        }
    }
    assert!(held > 0);
}

#[test]
fn answers_that_take_lines_from_the_call_come_with_a_key_at_its_end() {
    let mut held = Vec::new();
    for (width, height, number) in [(80, 14, 4), (80, 14, 3), (60, 13, 3), (60, 15, 3), (80, 13, 5)]
    {
        let mut screen = asked(lines_of_main(&docker(number, 60)));
        let mut output = picture(&mut screen, width, height);
        for _ in 0..40 {
            if output.contains("End shows the answers") || screen.model.answers().contains(&1) {
                break;
            }
            assert_dead_digits(&mut screen);
            screen.key(KeyCode::PageDown);
            output = picture(&mut screen, width, height);
        }
        if screen.model.answers().contains(&1) {
            continue;
        }
        held.push((width, height, number));
        // Frames alone make no answer available.
        for _ in 0..3 {
            assert_eq!(picture(&mut screen, width, height), output);
            assert!(output.contains("in /p/shop/sub"), "{output}");
            assert_dead_digits(&mut screen);
        }
        screen.key(KeyCode::End);
        assert_dead_digits(&mut screen);
        let output = picture(&mut screen, width, height);
        assert!(output.contains("in /p/shop/sub"), "{output}");
        screen.write("2");
        let sent = [Command::Answer { id: QuestionId(1), answer: Answer::Session }];
        assert_eq!(screen.sent(), sent, "{output}");
    }
    assert!(held.len() > 1, "{held:?}");
}

#[test]
fn a_grant_of_long_commands_names_them_by_their_number() {
    let mut screen = asked(lines_of_main(&docker(5, 170)));
    for _ in 0..3 {
        picture(&mut screen, 80, 24);
        screen.key(KeyCode::End);
    }
    let output = picture(&mut screen, 80, 24);
    let words = "2  Yes, and let main run exactly these 5 commands this session";
    assert!(output.contains(words) && !output.contains("too small"), "{output}");
    assert!(inside(&output).contains("--end=4") && output.contains("--end=5"), "{output}");
    // A rule that is not visible in the call is shown in full.
    let mut screen = asked(|question| {
        lines_of_main(&docker(5, 170))(question);
        question.rules[4] = "Bash(docker:*)".to_owned();
    });
    for _ in 0..3 {
        picture(&mut screen, 120, 40);
        screen.key(KeyCode::End);
    }
    let output = picture(&mut screen, 120, 40);
    assert!(output.contains("any docker command"), "{output}");
}

#[test]
fn where_some_answers_fit_the_others_are_named() {
    for (width, height, rules) in [(60, 15, 40), (80, 24, 90)] {
        let mut screen = asked(|question| {
            let rules = (1..=rules).map(|number| format!("Bash(program-{number}:*)"));
            question.rules = rules.collect();
        });
        for _ in 0..4 {
            picture(&mut screen, width, height);
            screen.key(KeyCode::End);
        }
        let output = picture(&mut screen, width, height);
        assert!(output.contains("2 and 3 do not fit here; 1 works"), "{output}");
        assert!(!output.contains("too small") && !output.contains("1–5"), "{output}");
    }
}

#[test]
fn a_click_on_a_dead_answer_takes_an_earlier_choice_back() {
    let mut screen = asked(edit(60));
    picture(&mut screen, 80, 24);
    screen.key(KeyCode::Up);
    assert_eq!(screen.model.questions.open.as_ref().unwrap().selected, Some(5));
    click(&mut screen, 1);
    screen.enter();
    assert_eq!(screen.sent(), []);
    screen.key(KeyCode::Up).write("1").enter();
    assert_eq!(screen.sent(), []);
}

#[test]
fn an_ask_rule_is_named_as_the_reason_for_the_missing_answers() {
    let mut screen = asked(|question| {
        question.rules.clear();
        question.reason = "rule Bash(git push:*) in .caliban/config.toml asks".to_owned();
    });
    let output = picture(&mut screen, 80, 24);
    assert!(output.contains("│ The ask rule asks every time, "), "{output}");
    assert!(output.contains("│ so there is no 2 or 3 "), "{output}");
}

/// Agents at work, of which the second asks about a command, with a change of so many lines.
fn asked_beside(agents: usize, lines: usize) -> TestScreen {
    let root = AgentPath::root();
    let mut screen = TestScreen::new();
    screen.prompt("go");
    for at in 1..=agents {
        let agent = screen.agent(&root, &format!("explore-{at}"), "map the routes");
        screen.says(&agent, "One line.\n\nAnother one.").tool(&agent, "c", "Grep", "routes");
        if at != 2 {
            continue;
        }
        let mut question = TestScreen::question(&agent, 1, "explore-2", "psql shop");
        if lines > 0
            && let EventKind::PermissionAsked(question) = &mut question
        {
            question.input = serde_json::json!({ "command": "git apply" });
            let added = (1..=lines).map(|at| format!("+let a = {at};\n")).collect::<String>();
            question.preview = Some(format!("@@ -1,0 +1,{lines} @@\n{added}"));
        }
        screen.event(&agent, question);
    }
    screen.wait(5000);
    screen
}

#[test]
fn panes_below_the_transcript_become_lines_above_a_question() {
    for agents in [2, 3] {
        let shown = picture(&mut asked_beside(agents, 0), 80, 24);
        let lines: Vec<&str> = shown.lines().collect();
        let top = lines.iter().position(|line| line.starts_with('╭')).unwrap();
        let head = format!("─ {agents} agents · ");
        let first = 1 + lines.iter().position(|line| line.starts_with(&head)).unwrap();
        let led = lines[first + agents..top].join("\n");
        assert!(led.starts_with("▌  Another one.\n▌⠴ Grep routes"), "{shown}");
        for (at, line) in (1..).zip(&lines[first..first + agents]) {
            let state = if at == 2 { "⚑ needs you: Bash" } else { "⠴ Grep routes 0:05" };
            assert!(
                line.starts_with(&format!("▌{at} map the routes  explore  {state}")),
                "{shown}"
            );
        }
        let end = lines.iter().position(|line| line.starts_with('╰')).unwrap();
        assert!(lines[end + 1].contains("waiting for"), "down to the work line: {shown}");
    }
}

#[test]
fn agents_keep_their_lines_before_a_question_takes_blank_ones() {
    let shown = picture(&mut asked_beside(3, 5), 80, 24);
    for agent in ["▌1 map", "▌2 map", "▌3 map"] {
        assert!(shown.contains(agent), "{agent}: {shown}");
    }
    assert!(shown.contains("5 + let a = 5;") && shown.contains("│ 1  Yes "), "{shown}");
}

#[test]
fn of_a_few_agents_each_keeps_a_line_above_a_long_question() {
    for (height, agents) in [(24, 3), (24, 4), (24, 5), (30, 5)] {
        let shown = picture(&mut asked_beside(agents, 40), 80, height);
        for agent in 1..=agents {
            let row = format!("{agent} map");
            assert!(shown.contains(&row), "{row} of {agents} at {height}: {shown}");
        }
    }
}

/// As many agents, of which those chosen ask about a change of so many lines.
pub fn asking(
    agents: usize,
    asks: impl Fn(usize) -> bool,
    lines: impl Fn(usize) -> usize,
) -> TestScreen {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    for at in 1..=agents {
        let agent = screen.agent(&AgentPath::root(), &format!("explore-{at}"), "map it");
        screen.says(&agent, "One line.\n\nAnother one.");
        if asks(at) {
            screen.event(&agent, change(&agent, at, lines(at)));
        }
    }
    screen.wait(5000);
    screen
}

/// A question about a command with a change of so many lines.
fn change(asker: &AgentPath, number: usize, lines: usize) -> EventKind {
    let id = u64::try_from(number).unwrap();
    let mut question = TestScreen::question(asker, id, &format!("explore-{number}"), "psql shop");
    if let EventKind::PermissionAsked(question) = &mut question
        && lines > 0
    {
        let added = (1..=lines).map(|at| format!("+let a = {at};\n")).collect::<String>();
        question.preview = Some(format!("@@ -1,0 +1,{lines} @@\n{added}"));
    }
    question
}

fn all_ask(agents: usize, lines: usize) -> TestScreen {
    asking(agents, |_| true, |_| lines)
}

#[test]
fn of_a_few_agents_each_keeps_a_line_above_a_question_of_any_length() {
    for (height, agents) in [(24, 2), (24, 3), (24, 4), (24, 5), (30, 3), (30, 5), (40, 5)] {
        for lines in 0..=24 {
            let mut screen = asking(agents, |at| at == agents, |_| lines);
            let shown = picture(&mut screen, 80, height);
            let top = shown.lines().position(|line| line.starts_with('╭')).unwrap();
            let above: String = shown.lines().take(top).collect();
            for agent in 1..=agents {
                let row = format!("{agent} map");
                assert!(above.contains(&row), "{row}, {lines} lines, {height} rows: {shown}");
            }
        }
    }
}

#[test]
fn questions_and_agents_keep_their_places_from_one_question_to_the_next() {
    for (height, agents) in [(24, 2), (24, 3), (24, 5), (24, 8), (24, 30), (20, 4), (30, 5)] {
        let lengths = [0, 12, 1, 40, 7, 9, 3, 11];
        let mut screen = asking(agents, |_| true, |at| lengths[at % lengths.len()]);
        let main = root();
        screen.event(&main, change(&main, agents + 1, 2)).wait(1500);
        let mut places = Vec::new();
        for _ in 0..=agents {
            let shown = picture(&mut screen, 80, height);
            let row = |start: &str| {
                let row = shown.lines().position(|line| line.starts_with(start));
                row.unwrap_or_else(|| panic!("{start}: {shown}"))
            };
            let led = shown.lines().nth(row("╭") - 1).unwrap();
            assert!(
                led.contains("Another one.") || led.contains(&format!("{agents} agents")),
                "{led}: {shown}"
            );
            places.push((row("╭"), row("╰"), row(&format!("─ {agents} agents"))));
            screen.key(KeyCode::Tab).wait(1500);
        }
        places.dedup();
        assert_eq!(places.len(), 1, "80x{height}, {agents} agents: {places:?}");
    }
}

#[test]
fn a_question_beside_panes_covers_them_only_for_lines_that_wrap_often() {
    let covers = |shown: &str| {
        let top =
            shown.lines().rfind(|line| line.starts_with('╭')).unwrap_or_else(|| panic!("{shown}"));
        top.trim_end().ends_with('╮')
    };
    for (width, height) in [(120, 40), (160, 45)] {
        let lengths = [0, 12, 40, 300];
        let mut screen = asking(4, |_| true, |at| lengths[at % lengths.len()]);
        for _ in lengths {
            let shown = picture(&mut screen, width, height);
            assert!(!covers(&shown), "{shown}");
            screen.key(KeyCode::Tab).wait(1500);
        }
        // One row more of a sentence is no reason, many of a command are.
        for (line, expected) in [("word ".repeat(24), false), ("word ".repeat(120), true)] {
            let mut screen = asked(command(line));
            assert_eq!(covers(&picture(&mut screen, width, height)), expected, "{width}x{height}");
        }
    }
}

#[test]
fn on_a_small_screen_one_line_above_a_question_counts_the_agents() {
    let shown = picture(&mut asking(5, |at| at > 3, |_| 0), 60, 15);
    let top = shown.lines().position(|line| line.starts_with('╭')).unwrap();
    let above = shown.lines().nth(top - 1).unwrap();
    assert!(above.starts_with("─ 5 agents · 3 running · ⚑ 2 need you"), "{shown}");
}

#[test]
fn of_many_agents_that_ask_the_one_of_the_question_keeps_its_line() {
    for (height, agents, lines) in
        [(24, 6, 8), (24, 8, 40), (24, 12, 4), (24, 30, 40), (30, 30, 40)]
    {
        let mut screen = all_ask(agents, lines);
        for _ in 1..agents {
            screen.key(KeyCode::Tab).wait(1500);
        }
        let shown = picture(&mut screen, 80, height);
        assert!(shown.contains(&format!("agent {agents} wants")), "{shown}");
        assert!(shown.contains(&format!("{agents} map it ")), "{agents} at {height}: {shown}");
        let missing = agents - shown.matches(" map it ").count();
        assert!(missing == 0 || shown.contains(&format!(" +{missing} more")), "{shown}");
    }
}

#[test]
fn what_led_to_a_question_stays_in_view_above_it() {
    for (agents, width, height) in [(0, 120, 40), (0, 80, 24), (0, 60, 15), (2, 120, 40)] {
        let mut screen = TestScreen::new();
        screen.prompt("go");
        let lines: String = (1..=60).map(|line| format!("Line {line}.\n\n")).collect();
        screen.says(&root(), &lines).says(&root(), "This is why I ask.\n");
        for number in 1..=agents {
            screen.agent(&root(), &format!("explore-{number}"), "look");
        }
        screen.wait(2000).asks(&root(), 1, "main", "psql shop");
        let shown = picture(&mut screen, width, height);
        assert!(shown.contains("wants to run"), "{shown}");
        assert!(
            shown.contains("This is why I ask."),
            "{width}x{height}, {agents} agents:\n{shown}"
        );
    }
}

#[test]
fn a_transcript_that_was_scrolled_stays_where_it_is_when_a_question_opens() {
    let mut screen = TestScreen::new();
    let lines: String = (1..=60).map(|line| format!("Line {line}.\n\n")).collect();
    screen.prompt("go").says(&root(), &lines).draw().key(KeyCode::PageUp).key(KeyCode::PageUp);
    let before = picture(&mut screen, 80, 24);
    screen.draw().wait(2000).asks(&root(), 1, "main", "psql shop");
    let shown = picture(&mut screen, 80, 24);
    assert!(shown.contains("wants to run"), "{shown}");
    assert_eq!(before.lines().next(), shown.lines().next(), "{shown}");
}

#[test]
fn a_question_over_panes_leaves_the_last_lines_of_what_led_to_it() {
    let asked_by = |asker: Option<usize>, lines: usize| {
        let mut screen = TestScreen::new();
        screen.prompt("go");
        let names = ["explore-1", "explore-2", "explore-3"];
        let paths = names.map(|name| screen.agent(&root(), name, "look"));
        for path in &paths {
            screen.says(path, "It is there.");
        }
        let path = asker.map_or_else(root, |at| paths[at].clone());
        screen.says(&path, "First this.\n\nThe log will tell what runs once.");
        let mut question = TestScreen::question(&path, 1, "explore-2", "psql");
        if let EventKind::PermissionAsked(question) = &mut question {
            edit(lines)(question);
            question.path = path.clone();
        }
        screen.event(&path, question).wait(5000).draw();
        picture(&mut screen, 80, 24)
    };
    for lines in [2, 4, 8, 60] {
        let output = asked_by(Some(1), lines);
        assert!(output.contains("The log will tell what runs once."), "{lines}: {output}");
        assert!(output.contains("2 look"), "{lines}: {output}");
        let output = asked_by(None, lines);
        assert!(output.contains("The log will tell what runs once."), "{lines}: {output}");
    }
}

#[test]
fn a_question_that_covers_everything_says_which_key_shows_that() {
    let mut screen = TestScreen::new();
    screen.prompt("go").says(&root(), "First this.\n\nThe log will tell what runs once.");
    let mut question = TestScreen::question(&root(), 1, "main", "psql");
    if let EventKind::PermissionAsked(question) = &mut question {
        edit(60)(question);
        question.path = root();
    }
    screen.event(&root(), question).wait(5000).draw();
    let output = picture(&mut screen, 80, 24);
    assert!(output.contains("The log will tell what runs once."), "{output}");
    assert!(!output.contains("shows what it covers"), "{output}");
    let mut question = TestScreen::question(&root(), 1, "main", "psql");
    if let EventKind::PermissionAsked(question) = &mut question {
        edit(4)(question);
        question.path = root();
    }
    let mut screen = TestScreen::new();
    screen.prompt("go").says(&root(), "First this.\n\nThe log will tell what runs once.");
    screen.event(&root(), question).wait(5000).draw();
    let output = picture(&mut screen, 60, 15);
    assert!(output.contains("Tab shows what it covers"), "{output}");
    screen.key(KeyCode::Tab);
    let output = picture(&mut screen, 60, 15);
    assert!(output.contains("The log will tell what runs once."), "{output}");
}
