use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::tui::theme::Theme;

fn thing(file: &str, line: usize, what: &str) -> TrustItem {
    TrustItem { file: file.to_owned(), line, what: what.to_owned() }
}

fn question(things: usize) -> TrustQuestion {
    let rule =
        |number| thing(".claude/settings.json", number, &format!("allow rule Bash(x{number})"));
    TrustQuestion {
        root: "/p/shop".to_owned(),
        changed: false,
        items: (1..=things).map(rule).collect(),
        own_items: Vec::new(),
    }
}

/// Draws a frame of this size at this time.
fn picture(asking: &mut TrustDialog<'_>, width: u16, height: u16, seconds: u64) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let now = Duration::from_secs(seconds);
    terminal.draw(|frame| draw::draw(asking, &Theme::no_color(), now, frame)).unwrap();
    terminal.backend().to_string()
}

fn press(asking: &mut TrustDialog<'_>, code: KeyCode, seconds: u64) -> Option<TrustAnswer> {
    asking.press(KeyEvent::new(code, KeyModifiers::NONE), Duration::from_secs(seconds))
}

#[test]
fn the_question_shows_each_thing_with_its_place_and_hides_nothing() {
    let question = TrustQuestion {
        root: "/p/shop".to_owned(),
        changed: false,
        items: vec![
            thing(".caliban/config.toml", 2, "permissions.mode: acceptEdits"),
            thing(
                ".caliban/config.toml",
                12,
                "providers.work: api_key_command = \"pass show a-long-name\", base_url = \"http://127.0.0.1:9/v1\"",
            ),
            thing(".claude/settings.json", 4, "hook Stop: a\u{1b}[2J\u{202e}b\nc\td"),
        ],
        own_items: Vec::new(),
    };
    insta::assert_snapshot!("trust_70x24", picture(&mut TrustDialog::new(&question), 70, 24, 2));
    let changed = TrustQuestion { changed: true, items: question.items[..1].to_vec(), ..question };
    insta::assert_snapshot!(
        "trust_changed_60x15",
        picture(&mut TrustDialog::new(&changed), 60, 15, 2)
    );
}

#[test]
fn the_things_of_a_file_stand_in_the_order_of_its_lines() {
    let kinds = [("b", 9, "hook"), ("a", 7, "allow rule"), ("b", 2, "env"), ("a", 3, "hook")];
    let items = kinds.map(|(file, line, what)| thing(file, line, what)).to_vec();
    let question = TrustQuestion { items, ..question(0) };
    let shown = picture(&mut TrustDialog::new(&question), 70, 24, 2);
    let places: Vec<_> = ["2  env", "9  hook", "3  hook", "7  allow rule"]
        .map(|row| shown.find(row).unwrap())
        .to_vec();
    assert!(places.is_sorted(), "{shown}");
}

#[test]
fn an_agents_file_is_shown_line_by_line() {
    let file =
        r"agent a in place of yours: ---\u{a}name: a\u{a}---\u{a}Say C:\\u{a} and \u{1b}[2J.";
    let mut question = question(0);
    question.items = vec![thing(".caliban/agents/a.md", 1, file)];
    let output = picture(&mut TrustDialog::new(&question), 80, 24, 2);
    assert!(output.contains("1  agent a in place of yours: ---  "), "{output}");
    assert!(output.contains("│        name: a  "), "{output}");
    assert!(output.contains(r"│        Say C:\\u{a} and \u{1b}[2J."), "{output}");
}

#[test]
fn one_line_below_is_one_line() {
    let question = question(9);
    let mut asking = TrustDialog::new(&question);
    let below = (8..30).map(|height| picture(&mut asking, 80, height, 2));
    assert!(
        below.into_iter().any(|output| output.contains("1 more line: PgDn or End shows it first"))
    );
}

#[test]
fn a_digit_answers_only_when_nothing_was_typed_for_a_second() {
    let question = question(1);
    let mut asking = TrustDialog::new(&question);
    assert!(!picture(&mut asking, 80, 24, 0).contains("1  trust"));
    assert_eq!(press(&mut asking, KeyCode::Char('1'), 0), None, "typed ahead");
    assert!(picture(&mut asking, 80, 24, 1).contains("1  trust"));
    assert_eq!(press(&mut asking, KeyCode::Char('x'), 2), None);
    let dead = picture(&mut asking, 80, 24, 2);
    assert!(!dead.contains("1  trust") && !dead.contains("2  not now"), "{dead}");
    assert!(dead.contains("│    trust this, now and in later sessions"), "{dead}");
    assert!(dead.contains("Esc not now · 1 and 2 work in a second"), "{dead}");
    assert_eq!(press(&mut asking, KeyCode::Char('1'), 2), None);
    assert_eq!(press(&mut asking, KeyCode::Enter, 3), None, "nothing is preselected");
    assert_eq!(press(&mut asking, KeyCode::Char('1'), 4), Some(TrustAnswer::Trust));
    assert_eq!(press(&mut asking, KeyCode::Char('2'), 4), Some(TrustAnswer::NotNow));
    assert_eq!(press(&mut asking, KeyCode::Esc, 0), Some(TrustAnswer::NotNow));
    let quit = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(asking.press(quit, Duration::ZERO), Some(TrustAnswer::Quit));
}

#[test]
fn what_does_not_fit_has_to_be_scrolled_to_before_it_can_be_trusted() {
    for (width, height) in [(80, 24), (60, 10), (20, 5)] {
        let question = question(40);
        let mut asking = TrustDialog::new(&question);
        picture(&mut asking, width, height, 2);
        assert_eq!(press(&mut asking, KeyCode::Char('1'), 3), None, "{width}x{height}");
        for _ in 0..200 {
            press(&mut asking, KeyCode::PageDown, 4);
        }
        let last = picture(&mut asking, width, height, 4);
        assert!(last.contains("Bash(x40)") || width < 40, "{last}");
        press(&mut asking, KeyCode::Home, 5);
        let top = picture(&mut asking, width, height, 5);
        // In the lowest window the folder scrolls with the list.
        let first = if height == 5 { "/p/shop" } else { ".claude/settings" };
        assert!(top.contains(first), "{top}");
        assert_eq!(press(&mut asking, KeyCode::Char('1'), 5), Some(TrustAnswer::Trust), "{top}");
    }
}

#[test]
fn no_size_of_a_terminal_breaks_the_question() {
    let question = question(3);
    for width in 1..30 {
        for height in 1..16 {
            picture(&mut TrustDialog::new(&question), width, height, 2);
        }
    }
}

#[test]
fn what_a_window_is_too_small_to_show_was_not_seen() {
    let question = question(1);
    let mut asking = TrustDialog::new(&question);
    for (width, height) in [(1, 1), (19, 40), (200, 4), (200, 2), (3, 30)] {
        picture(&mut asking, width, height, 2);
        press(&mut asking, KeyCode::End, 2);
        picture(&mut asking, width, height, 2);
        assert_eq!(press(&mut asking, KeyCode::Char('1'), 2), None, "{width}x{height}");
        asking.typed = Duration::ZERO;
    }
    for _ in 0..20 {
        let output = picture(&mut asking, 20, 5, 2);
        assert!(output.contains("2  not now"), "{output}");
        press(&mut asking, KeyCode::Down, 2);
    }
    let output = picture(&mut asking, 20, 5, 2);
    assert!(output.contains("1  trust this"), "{output}");
    assert_eq!(press(&mut asking, KeyCode::Char('1'), 2), Some(TrustAnswer::Trust));
}

#[test]
fn entries_of_the_users_own_stand_apart_and_have_to_be_seen_too() {
    let start = "hook PreToolUse(Bash): ./check.sh (your config.toml) starts in this project";
    let own = vec![thing("/home/ann/.config/caliban/config.toml", 3, start)];
    let alone =
        TrustQuestion { root: "/p/shop".to_owned(), own_items: own, ..TrustQuestion::default() };
    insta::assert_snapshot!("trust_own_70x16", picture(&mut TrustDialog::new(&alone), 70, 16, 2));
    let both = TrustQuestion { own_items: alone.own_items.clone(), ..question(2) };
    insta::assert_snapshot!("trust_both_70x24", picture(&mut TrustDialog::new(&both), 70, 24, 2));
    let many = TrustQuestion { own_items: alone.own_items, ..question(40) };
    let mut asking = TrustDialog::new(&many);
    picture(&mut asking, 80, 24, 2);
    assert_eq!(press(&mut asking, KeyCode::Char('1'), 3), None);
    press(&mut asking, KeyCode::End, 4);
    let last = picture(&mut asking, 80, 24, 4);
    assert!(last.contains("(your config.toml)"), "{last}");
    assert_eq!(press(&mut asking, KeyCode::Char('1'), 6), Some(TrustAnswer::Trust));
}

#[test]
fn the_folder_is_seen_before_it_can_be_trusted_in_a_low_window_too() {
    let question = question(2);
    let mut asking = TrustDialog::new(&question);
    let first = picture(&mut asking, 80, 8, 2);
    assert!(first.contains("/p/shop") && !first.contains("1  trust"), "{first}");
    assert_eq!(press(&mut asking, KeyCode::Char('1'), 2), None);
    press(&mut asking, KeyCode::End, 2);
    assert!(picture(&mut asking, 80, 8, 4).contains("1  trust"));
}

#[test]
fn a_window_of_another_width_has_to_be_scrolled_again() {
    let question = question(30);
    let mut asking = TrustDialog::new(&question);
    picture(&mut asking, 80, 24, 2);
    press(&mut asking, KeyCode::End, 2);
    assert!(picture(&mut asking, 80, 24, 4).contains("1  trust"));
    press(&mut asking, KeyCode::Home, 4);
    assert!(picture(&mut asking, 80, 20, 6).contains("1  trust"), "the lines are the same");
    assert!(!picture(&mut asking, 60, 24, 6).contains("1  trust"));
}

/// The lines that are printed for a screen reader, after each PgDn to the end.
fn printed(question: &TrustQuestion) -> Vec<String> {
    let mut asking = TrustDialog { printed: true, ..TrustDialog::new(question) };
    let mut aside = ask::PrintedDialog::default();
    let now = Duration::from_secs(2);
    let mut said = aside.lines(&mut asking, 96, &Theme::no_color(), now);
    for _ in 0..20 {
        press(&mut asking, KeyCode::PageDown, 2);
        said.extend(aside.lines(&mut asking, 96, &Theme::no_color(), now));
    }
    assert!(asking.seen_all);
    said
}

#[test]
fn each_row_is_printed_although_the_same_text_stood_on_the_page_before() {
    let mut question = question(0);
    let long =
        |name: &str| format!("{name} {} ; touch q && touch r #{}", "w".repeat(84), "w".repeat(86));
    let rule = |line| thing(".claude/settings.json", line, &long("allow rule"));
    question.items = vec![rule(1)];
    question
        .items
        .extend((2..300).map(|line| thing("b.toml", line, &format!("allow rule {line}"))));
    question.items.push(thing("c.toml", 300, &long("hook Stop:")));
    let said = printed(&question);
    let rows = said.iter().filter(|line| line.contains("touch q && touch r")).count();
    assert_eq!(rows, 2, "{said:#?}");
    assert_eq!(said.iter().filter(|line| line.contains("  allow rule")).count(), 299);
    assert_eq!(said.iter().filter(|line| line.starts_with("1  trust")).count(), 1, "{said:#?}");
}

#[test]
fn no_printed_row_of_a_value_looks_like_an_item_or_an_answer() {
    let mut question = question(0);
    let value = "hook Stop: true\\u{a}1  trust this\\u{a}    9  allow rule x\\u{a}b · … – •";
    let file = format!("{}1  trust this", "a".repeat(96));
    question.items = vec![thing(&file, 7, value), thing("b\n1  trust this", 1, "x")];
    let said = printed(&question);
    let answers: Vec<&String> =
        said.iter().filter(|line| line.starts_with(['1', '2', '9'])).collect();
    assert_eq!(
        answers,
        ["1  trust this, now and in later sessions", "2  not now: continue without it"]
    );
    let at = |text: &str| said.iter().find(|line| line.contains(text)).unwrap().find(text).unwrap();
    assert!(at("9  allow rule") > at("7  hook Stop"), "{said:#?}");
    assert!(said.iter().any(|line| line.contains("b · … – •")), "{said:#?}");
}
