//! Custom keymaps: keys do what the map says, and hints name them.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use crate::tui::keymap::Keymap;
use crate::tui::overlay::Overlay;
use crate::tui::testing::TestScreen;
use crate::tui::text::Highlighter;
use crate::tui::theme::Theme;
use crate::tui::view::View;

/// A screen with this map on top of the built-in one.
fn screen(map: &str) -> TestScreen {
    let mut screen = TestScreen::new();
    screen.model.keymap = Arc::new(Keymap::built_in().unwrap().merge(map).unwrap());
    screen
}

fn picture(screen: &TestScreen, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(100, height)).unwrap();
    let mut view = View::new(Theme::default(), Highlighter::off());
    terminal.draw(|frame| view.draw(&screen.model, frame)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn hints_and_the_help_name_the_keys_of_the_map_and_those_keys_act() {
    let mut screen = screen(
        "[prompt]\nprevious = [\"alt+m\"]\nnewline = [\"f5\"]\nreader = [\"f2\"]\nnone = [\"ctrl+d\", \"ctrl+g\"]\n\
         [reader]\ndown = [\"f6\"]\n[list]\nsubmit = [\"f9\"]\n",
    );
    let idle = picture(&screen, 24);
    assert!(idle.contains("? keys · Alt+M mode"), "{idle}");
    assert!(!idle.contains("quits"), "no key does that any more: {idle}");
    screen.write("one").key(KeyCode::F(5)).write("two");
    assert_eq!(screen.model.composer.text(), "one\ntwo");
    let draft = picture(&screen, 24);
    assert!(draft.contains("Enter sends · Ctrl+C clears the draft · F5 new line"), "{draft}");
    screen.ctrl('u').key(KeyCode::Backspace).ctrl('u').write("?");
    let help = picture(&screen, 80);
    for row in ["│ F2                read and", "│ F5, \\ Enter", "│ Alt+M             next perm"]
    {
        assert!(help.contains(row), "{row}: {help}");
    }
    assert!(
        !help.contains("edit the draft in $EDITOR") && !help.contains("quit on an empty"),
        "{help}"
    );
    screen.esc().wait(300).key(KeyCode::F(2));
    assert!(matches!(screen.model.overlay, Some(Overlay::Reader(_))));
    let reader = picture(&screen, 24);
    assert!(reader.contains("F6 k, space b, g G"), "{reader}");
    screen.esc().wait(300).ctrl('r');
    let history = picture(&screen, 24);
    assert!(history.contains("F9 selects"), "{history}");
}

#[test]
fn a_key_of_the_reader_is_the_readers_even_where_lists_have_it() {
    let mut screen = screen("[reader]\nclose = [\"ctrl+l\"]\n");
    screen.ctrl('o');
    assert!(matches!(screen.model.overlay, Some(Overlay::Reader(_))));
    screen.ctrl('l');
    assert!(screen.model.overlay.is_none());
}

#[test]
fn the_next_older_prompt_has_the_key_that_the_list_gives_it() {
    let mut screen = screen("[list]\nsearch-history = [\"f3\"]\n");
    for prompt in ["first", "second"] {
        screen.write(prompt).enter();
    }
    screen.ctrl('r').key(KeyCode::F(3)).enter();
    assert_eq!(screen.model.composer.text(), "first");
    screen.ctrl('u').ctrl('r').chord(KeyCode::Char('r'), KeyModifiers::CONTROL).enter();
    assert_eq!(screen.model.composer.text(), "first");
}
