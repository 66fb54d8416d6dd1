//! The draft: selecting with keys and with the mouse, and large pastes.

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Position;
use ratatui::style::Style;

use crate::protocol::{AgentPath, Command, EventKind, PromptId, RunEnd};
use crate::tui::composer::{Movement, paste};
use crate::tui::host::HostRequest;
use crate::tui::interrupt::InterruptAction;
use crate::tui::msg::{Msg, ScreenEffect};
use crate::tui::overlay::Overlay;
use crate::tui::testing::{TestScreen, finish};
use crate::tui::text::Highlighter;
use crate::tui::theme::Theme;
use crate::tui::update::start;
use crate::tui::view::View;

const SHIFT: KeyModifiers = KeyModifiers::SHIFT;
const LEFT: MouseButton = MouseButton::Left;

/// A screen of 40 by 12 cells with its view.
struct DrawnPrompt {
    screen: TestScreen,
    view: View,
    theme: Theme,
    terminal: Terminal<TestBackend>,
}

impl DrawnPrompt {
    fn new(theme: Theme) -> Self {
        let view = View::new(theme.clone(), Highlighter::off());
        let terminal = Terminal::new(TestBackend::new(40, 12)).unwrap();
        let mut screen = TestScreen::new();
        screen.send(Msg::Resize { width: 40, height: 12 });
        Self { screen, view, theme, terminal }
    }

    fn draw(&mut self) -> &mut Self {
        let (view, screen) = (&mut self.view, &self.screen);
        self.terminal.draw(|frame| view.draw(&screen.model, frame)).unwrap();
        self
    }

    fn paste(&mut self, text: &str) -> &mut Self {
        let (text, at) = (text.to_owned(), self.screen.at);
        self.screen.send(Msg::Paste { text, at });
        self
    }

    fn mouse(&mut self, kind: MouseEventKind, column: u16, row: u16) -> &mut Self {
        let event = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
        let hit = self.view.hit_test(&self.screen.model, Position { x: column, y: row }, false);
        let at = self.screen.at;
        self.screen.send(Msg::Mouse { event, hit, at });
        self.draw()
    }

    fn click(&mut self, column: u16, row: u16) -> &mut Self {
        self.mouse(MouseEventKind::Down(LEFT), column, row);
        self.mouse(MouseEventKind::Up(LEFT), column, row)
    }

    fn row(&self, y: u16) -> String {
        let buffer = self.terminal.backend().buffer();
        let row: String = (0..40).map(|x| buffer[(x, y)].symbol()).collect();
        row.trim_end().to_owned()
    }

    /// The cells of a row that have the style of a selection.
    fn selected(&self, y: u16) -> Vec<u16> {
        let buffer = self.terminal.backend().buffer();
        let looks = |style: Style| style.patch(self.theme.selection) == style;
        (0..40).filter(|x| looks(buffer[(*x, y)].style())).collect()
    }

    /// The first row of the prompt.
    fn top(&self) -> u16 {
        (0..12).rev().find(|y| self.row(*y).starts_with('›')).unwrap()
    }

    fn cursor(&self) -> usize {
        self.screen.model.composer.buffer.cursor()
    }

    fn text(&self) -> &str {
        self.screen.model.composer.text()
    }
}

#[test]
fn each_key_with_shift_selects_what_it_passes() {
    let control = SHIFT | KeyModifiers::CONTROL;
    for (code, modifiers, selected) in [
        (KeyCode::Left, SHIFT, "r"),
        (KeyCode::Left, control, "four"),
        (KeyCode::Left, SHIFT | KeyModifiers::ALT, "four"),
        (KeyCode::Home, SHIFT, "three four"),
        (KeyCode::Up, SHIFT, "\nthree four"),
    ] {
        let mut screen = TestScreen::new();
        screen.write("one two").ctrl('j').write("three four").chord(code, modifiers);
        let selection = screen.model.composer.buffer.selected_text();
        assert_eq!(selection.as_deref(), Some(selected), "{code} {modifiers}");
        screen.key(KeyCode::Left);
        assert_eq!(screen.model.composer.buffer.selection(), None);
    }
    for (code, modifiers, selected) in [
        (KeyCode::Right, SHIFT, "o"),
        (KeyCode::Right, control, "one"),
        (KeyCode::End, SHIFT, "one two"),
        (KeyCode::Down, SHIFT, "one two\n"),
    ] {
        let mut screen = TestScreen::new();
        screen.write("one two").ctrl('j').write("three four").key(KeyCode::Up).ctrl('a');
        screen.chord(code, modifiers);
        let selection = screen.model.composer.buffer.selected_text();
        assert_eq!(selection.as_deref(), Some(selected), "{code} {modifiers}");
    }
}

#[test]
fn a_menu_closes_when_a_selection_leaves_its_word() {
    for code in [KeyCode::Up, KeyCode::Home] {
        let mut screen = TestScreen::new();
        screen.write("look at").ctrl('j').write("@src");
        let (at, paths) = (screen.at, vec!["src/a.rs".to_owned()]);
        screen.send(Msg::Host { reply: HostRequest::Files { query: "src".to_owned(), paths }, at });
        assert!(screen.model.composer.menu.is_some());
        screen.chord(code, SHIFT);
        assert!(screen.model.composer.menu.is_none(), "{code}");
        screen.key(KeyCode::Tab);
        assert_eq!(screen.model.composer.text(), "look at\n@src", "{code}");
    }
}

#[test]
fn the_help_names_the_keys_that_select() {
    let mut screen = TestScreen::new();
    screen.write("?");
    let help = super::pictures::picture(&mut screen, 80, 60);
    for row in [
        "│ Shift+Left/Right  select; typing replaces it",
        "│ Shift+Up/Down     select lines",
        "│ Shift+Home/End    select to the start or end",
        "│ Ctrl+Shift+Left   select a word back",
        "│ Ctrl+Shift+Right  select a word forward",
    ] {
        assert!(help.contains(row), "{row}: {help}");
    }
}

#[test]
fn typing_backspace_and_paste_replace_the_selection() {
    let select = |screen: &mut TestScreen| {
        screen.write("an old word").chord(KeyCode::Left, SHIFT | KeyModifiers::CONTROL);
    };
    let mut screen = TestScreen::new();
    select(&mut screen);
    screen.write("text");
    assert_eq!(screen.model.composer.text(), "an old text");
    screen.ctrl('7');
    assert_eq!(screen.model.composer.text(), "an old word", "one step back");
    let mut screen = TestScreen::new();
    select(&mut screen);
    screen.key(KeyCode::Backspace);
    assert_eq!(screen.model.composer.text(), "an old ");
    let mut screen = TestScreen::new();
    select(&mut screen);
    let at = screen.at;
    screen.send(Msg::Paste { text: "paste".to_owned(), at });
    assert_eq!(screen.model.composer.text(), "an old paste");
}

#[test]
fn esc_ends_the_selection_before_it_stops_main_and_ctrl_c_keeps_its_meaning() {
    let mut screen = TestScreen::new();
    screen.prompt("go").write("draft").chord(KeyCode::Home, SHIFT);
    assert_eq!(screen.model.interrupt_action(), InterruptAction::ClearDraft);
    let hint = super::pictures::picture(&mut screen, 80, 24);
    assert!(hint.contains("Esc ends the selection · Ctrl+C clears the draft"), "{hint}");
    screen.esc();
    assert_eq!(screen.model.composer.buffer.selection(), None);
    assert_eq!((screen.sent(), screen.model.composer.text()), (vec![], "draft"));
    screen.wait(300).esc();
    assert_eq!(screen.sent(), [Command::CancelTurn]);
}

#[test]
fn a_question_that_takes_the_keyboard_ends_the_selection() {
    let mut screen = TestScreen::new();
    screen.prompt("go").write("draft").asks(&AgentPath::root(), 1, "main", "psql").wait(2000);
    screen.chord(KeyCode::Home, SHIFT).esc();
    assert!(screen.model.questions.open.as_ref().unwrap().keyboard);
    assert_eq!(screen.model.composer.buffer.selection(), None);
}

#[test]
fn a_selection_is_visible_over_lines_with_and_without_colour() {
    for theme in [Theme::default(), Theme::no_color()] {
        let mut drawn = DrawnPrompt::new(theme);
        drawn.screen.write("日本 e\u{301}").ctrl('j').ctrl('j').write("end");
        let up = |screen: &mut TestScreen| screen.chord(KeyCode::Up, SHIFT).model.now;
        up(&mut drawn.screen);
        up(&mut drawn.screen);
        let top = drawn.draw().top();
        assert_eq!(drawn.row(top), "› 日 本  e\u{301}");
        // The cell behind a wide character is a part of it; the last one is the newline.
        assert_eq!(drawn.selected(top), [2, 4, 6, 7, 8]);
        assert_eq!(drawn.selected(top + 1), [2]);
        assert_eq!(drawn.selected(top + 2), [2, 3, 4]);
        drawn.screen.esc();
        drawn.draw();
        assert!(drawn.selected(top + 2).is_empty());
    }
}

#[test]
fn a_click_places_the_cursor_and_scrolls_nothing() {
    let mut drawn = DrawnPrompt::new(Theme::default());
    drawn.paste(&["word"; 20].join("\n")).draw();
    let rows: Vec<u16> = (0..12).filter(|y| drawn.row(*y).contains("word")).collect();
    let (first, last) = (rows[0], rows[rows.len() - 1]);
    drawn.click(4, first + 1);
    let row = 20 - rows.len() + 1;
    assert_eq!(drawn.cursor(), row * 5 + 2);
    drawn.click(30, last);
    assert_eq!(drawn.cursor(), drawn.text().len(), "beyond the end of the last line");
    drawn.click(0, last);
    assert_eq!(drawn.cursor(), 19 * 5, "on the sign before the line");
}

#[test]
fn a_click_knows_wide_characters_and_full_lines() {
    let mut drawn = DrawnPrompt::new(Theme::default());
    let full = "x".repeat(37);
    let top = drawn.paste(&format!("日本{full}")).draw().top();
    drawn.click(4, top);
    assert_eq!(drawn.cursor(), 3);
    drawn.click(5, top);
    assert_eq!(drawn.cursor(), 6, "the cursor is never in a character");
    drawn.click(3, top + 1);
    assert_eq!(drawn.cursor(), 6 + 33 + 1);
}

#[test]
fn a_drag_in_the_draft_selects_and_copies_it() {
    let mut drawn = DrawnPrompt::new(Theme::default());
    drawn.screen.write("one two").ctrl('j').write("three");
    let top = drawn.draw().top();
    drawn.mouse(MouseEventKind::Down(LEFT), 6, top).mouse(MouseEventKind::Drag(LEFT), 4, top + 1);
    assert_eq!(drawn.selected(top + 1), [2, 3]);
    drawn.mouse(MouseEventKind::Up(LEFT), 4, top + 1);
    let copied = ScreenEffect::Copy("two\nth".to_owned());
    assert!(drawn.screen.effects.contains(&copied), "{:?}", drawn.screen.effects);
    assert_eq!(drawn.screen.notice(), "copied 2 lines");
    drawn.screen.write("x");
    assert_eq!(drawn.text(), "one xree");
}

#[test]
fn a_click_in_the_draft_takes_the_keyboard_from_a_question_unless_it_is_empty() {
    for (draft, takes) in [("my draft", true), ("", false)] {
        let mut drawn = DrawnPrompt::new(Theme::default());
        let root = AgentPath::root();
        drawn.screen.prompt("go").write(draft);
        drawn.screen.asks(&root, 1, "main", "psql").wait(2000);
        drawn.screen.model.questions.open.as_mut().unwrap().keyboard = true;
        let top = drawn.draw().top();
        drawn.click(3, top);
        let keyboard = drawn.screen.model.questions.open.as_ref().unwrap().keyboard;
        assert_eq!((keyboard, drawn.cursor()), (!takes, usize::from(takes)), "{draft}");
    }
}

#[test]
fn a_large_paste_is_a_label_and_is_sent_whole_also_from_the_history() {
    let log = "a line of a log file, forty-one bytes long\n".repeat(2000);
    let mut drawn = DrawnPrompt::new(Theme::default());
    drawn.screen.write("why? ");
    let top = drawn.paste(&log).draw().top();
    assert_eq!(drawn.row(top), "› why? [2,000 lines · 86 kB]");
    drawn.screen.write(" look").ctrl('c').wait(300).key(KeyCode::Up);
    drawn.draw();
    assert_eq!(drawn.row(top), "› why? [2,000 lines · 86 kB] look");
    drawn.screen.enter();
    let sent = drawn.screen.sent();
    let [Command::Prompt { prompt, .. }] = &sent[..] else { panic!("{} sent", sent.len()) };
    assert_eq!(prompt.text, format!("why? {log} look"));
}

#[test]
fn an_editor_gets_a_large_paste_whole() {
    let log = "0123456789".repeat(10_000);
    let mut drawn = DrawnPrompt::new(Theme::default());
    drawn.paste(&log).screen.ctrl('g');
    assert!(drawn.screen.effects.contains(&ScreenEffect::Edit(log)));
    drawn.screen.model.composer.buffer.move_cursor(Movement::Left);
    assert_eq!(drawn.cursor(), 0);
}

#[test]
fn a_paste_that_no_draft_can_hold_is_refused_with_a_notice() {
    let mut drawn = DrawnPrompt::new(Theme::default());
    drawn.screen.write("why?");
    drawn.paste(&"x".repeat(paste::MAX_PASTED + 1));
    assert_eq!(drawn.text(), "why?");
    assert!(drawn.screen.notice().starts_with("not pasted: more than 16 MB"));
}

#[test]
fn a_killed_paste_that_no_longer_fits_is_refused_with_a_notice() {
    let mut drawn = DrawnPrompt::new(Theme::default());
    drawn.paste(&"x".repeat(10_000_000)).screen.ctrl('u');
    drawn.paste(&"y".repeat(10_000_000));
    let draft = drawn.text().to_owned();
    drawn.screen.ctrl('y');
    assert_eq!(drawn.text(), draft);
    assert!(drawn.screen.notice().starts_with("not pasted: more than 16 MB"));
}

#[test]
fn a_filter_takes_the_first_line_of_a_paste_up_to_a_limit_and_says_so() {
    let pasted = |text: &str| {
        let mut drawn = DrawnPrompt::new(Theme::default());
        drawn.screen.ctrl('r');
        drawn.paste(text);
        let Some(Overlay::History(search)) = &drawn.screen.model.overlay else { panic!() };
        (search.query.text().to_owned(), drawn.screen.notice().to_owned())
    };
    assert_eq!(pasted("one\r"), ("one".to_owned(), String::new()));
    let first = ("one".to_owned(), "pasted the first line only".to_owned());
    assert_eq!(pasted("one\rtwo"), first);
    let (query, notice) = pasted(&"日".repeat(1_000_000));
    assert_eq!((query, &*notice), ("日".repeat(333), "pasted the first 1000 bytes only"));
}

#[test]
fn only_what_is_typed_begins_a_command_of_the_users() {
    let prompted = |screen: &mut TestScreen| match screen.sent().as_slice() {
        [Command::Prompt { prompt, .. }] => prompt.text.clone(),
        other => panic!("{other:?}"),
    };
    // An argument may be the text of others.
    let mut screen = TestScreen::new();
    screen.effects = start(&mut screen.model, Some("!touch x\nplease".to_owned()), false);
    assert_eq!(prompted(&mut screen), " !touch x\nplease");
    let hidden = format!("{}/permissions acceptEdits{}", "\n".repeat(40), " ".repeat(5000));
    let mut screen = TestScreen::new();
    screen.effects = start(&mut screen.model, Some(hidden), false);
    assert!(screen.notice().contains("was not run"), "{}", screen.notice());
    screen.enter();
    assert_eq!((screen.sent(), screen.notice().contains("was not run")), (Vec::new(), true));
    // So may what is pasted, also in a form that is not shown.
    for text in ["![a picture](x)", "\u{1b}!touch x\n", &*format!("!{}", "x".repeat(70_000))] {
        let mut drawn = DrawnPrompt::new(Theme::default());
        drawn.paste(text).screen.enter();
        assert_eq!(prompted(&mut drawn.screen), format!(" {}", paste::clean(text)));
        // And again when it is recalled.
        drawn.screen.main(finish(RunEnd::Completed, ""));
        drawn.screen.key(KeyCode::Up).enter();
        assert!(prompted(&mut drawn.screen).starts_with(" !"));
    }
    let mut drawn = DrawnPrompt::new(Theme::default());
    drawn.screen.write("!");
    drawn.paste("touch x").screen.enter();
    assert_eq!(drawn.screen.sent(), [Command::Shell { line: "touch x".to_owned() }]);
}

#[test]
fn the_hint_says_that_a_shell_line_runs() {
    let mut screen = TestScreen::new();
    screen.write("!ls");
    assert!(
        super::pictures::picture(&mut screen, 100, 30)
            .contains("Enter runs it · Ctrl+C clears the draft")
    );
}

#[test]
fn a_draft_under_an_earlier_prompt_is_what_ctrl_c_brings_back() {
    let mut screen = TestScreen::new();
    screen.write("first prompt").enter();
    screen.main(finish(RunEnd::Completed, "")).wait(1000);
    screen.write("my precious long draft").key(KeyCode::Up);
    assert_eq!(screen.model.composer.text(), "first prompt");
    screen.ctrl('c').wait(300);
    assert_eq!(screen.notice(), "draft cleared · Up brings it back");
    screen.key(KeyCode::Up);
    assert_eq!(screen.model.composer.text(), "my precious long draft");

    let mut screen = TestScreen::new();
    screen.write("first prompt").enter();
    screen.main(finish(RunEnd::Completed, "")).wait(1000);
    screen.write("another draft").key(KeyCode::Up).enter();
    screen.main(finish(RunEnd::Completed, "")).wait(1000).key(KeyCode::Down);
    assert_eq!(screen.model.composer.text(), "another draft");
}

#[test]
fn queued_messages_leave_the_hint_line_its_keys() {
    let mut screen = super::busy();
    for (id, text) in [(0, "one"), (1, "two")] {
        screen.write(text).enter().main(EventKind::PromptQueued { id: PromptId(id) });
    }
    let shown = super::pictures::picture(&mut screen, 100, 30);
    let hint = shown.lines().nth(28).unwrap();
    assert!(hint.contains("? keys"), "{shown}");
    assert!(shown.contains("Enter: at end · ↑ edit"), "{shown}");
    let shown = super::pictures::picture(screen.write("a draft"), 100, 30);
    assert!(!shown.contains("↑ edit"), "neither key acts on it now: {shown}");
}

#[test]
fn a_shell_line_names_main_as_its_reader_whatever_fills_the_body() {
    let mut screen = super::busy();
    screen.agent(&super::root(), "explore-1", "watch the logs");
    screen.key(KeyCode::Tab).enter().write("!ls");
    let shown = super::pictures::picture(&mut screen, 100, 30);
    let words = "to main · runs in your shell · main sees it with your next prompt";
    assert!(shown.contains(words), "{shown}");
    screen.enter();
    let shown = super::pictures::picture(&mut screen, 100, 30);
    assert!(!screen.model.zoom && shown.contains("! ls"), "{shown}");
}
