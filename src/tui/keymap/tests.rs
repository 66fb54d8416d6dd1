use crossterm::event::{KeyCode, KeyModifiers};

use super::*;

fn press(map: &Keymap, context: KeyContext, code: KeyCode, held: KeyModifiers) -> Option<Action> {
    map.action(context, KeyEvent::new(code, held))
}

fn with(text: &str) -> Keymap {
    Keymap::built_in().unwrap().merge(text).unwrap()
}

fn refused(text: &str) -> String {
    Keymap::built_in().unwrap().merge(text).unwrap_err().to_string()
}

#[test]
fn the_built_in_map_is_valid_and_knows_awkward_keys() {
    let map = Keymap::built_in().unwrap();
    let press = |code, held| press(&map, KeyContext::Prompt, code, held);
    assert_eq!(press(KeyCode::Char('7'), KeyModifiers::CONTROL), Some(Action::Undo));
    assert_eq!(press(KeyCode::BackTab, KeyModifiers::SHIFT), Some(Action::Previous));
    assert_eq!(press(KeyCode::BackTab, KeyModifiers::NONE), Some(Action::Previous));
    assert_eq!(press(KeyCode::Char('3'), KeyModifiers::ALT), Some(Action::Agent(3)));
    assert_eq!(press(KeyCode::Char('g'), KeyModifiers::NONE), None);
}

#[test]
fn a_capital_letter_is_its_letter_with_shift() {
    let map = Keymap::built_in().unwrap();
    let end = press(&map, KeyContext::Reader, KeyCode::Char('G'), KeyModifiers::SHIFT);
    assert_eq!(end, Some(Action::End));
    assert_eq!(map.label(KeyContext::Reader, Action::End).as_deref(), Some("G"));
}

#[test]
fn a_key_of_the_persons_map_does_what_it_says_and_no_longer_what_it_did() {
    let map = with("[prompt]\nreader = [\"F2\", \"Ctrl+G\"]\nnone = [\"ctrl+b\"]\n");
    let press =
        |letter| press(&map, KeyContext::Prompt, KeyCode::Char(letter), KeyModifiers::CONTROL);
    assert_eq!(press('g'), Some(Action::Reader));
    assert_eq!(press('o'), Some(Action::Reader), "what is not named stays");
    assert_eq!(press('b'), None);
    assert_eq!(map.label(KeyContext::Prompt, Action::Reader).as_deref(), Some("F2"));
    assert_eq!(map.label(KeyContext::Prompt, Action::Edit), None, "its only key was taken");
    assert_eq!(map.label(KeyContext::List, Action::Reader).as_deref(), Some("Ctrl+O"));
}

#[test]
fn keys_are_shown_as_hints_name_them() {
    let map = Keymap::built_in().unwrap();
    let labels = |context, actions: &[Action]| map.labels(context, actions).unwrap();
    assert_eq!(labels(KeyContext::Prompt, &[Action::Up, Action::Down]), "↑↓");
    assert_eq!(labels(KeyContext::Reader, &[Action::Down, Action::Up]), "j k");
    assert_eq!(labels(KeyContext::Reader, &[Action::PageDown, Action::Home]), "space g");
    assert_eq!(labels(KeyContext::Prompt, &[Action::Previous]), "Shift+Tab");
    assert_eq!(labels(KeyContext::Prompt, &[Action::PageUp, Action::Newline]), "PgUp Ctrl+J");
    let map = with("[prompt]\nundo = [\"ctrl+shift+left\"]\n");
    assert_eq!(map.label(KeyContext::Prompt, Action::Undo).as_deref(), Some("Ctrl+Shift+Left"));
}

#[test]
fn a_wrong_map_says_the_line_what_is_wrong_there_and_what_is_allowed() {
    for (text, line, words) in [
        ("[prompt]\n\nfly = [\"f2\"]", 3, "\"fly\" in [prompt]: use one of submit, newline,"),
        ("[reader]\nyank = [\"f2\"]", 2, "page-down,"),
        ("[reader]\nagent-1 = [\"f2\"]", 2, "mark-next,"),
        ("[prompt]\nagent-10 = [\"f2\"]", 2, "agent-9, none"),
        ("[pormpt]\nundo = [\"f2\"]", 1, "[prompt], [list] or [reader]"),
        ("undo = [\"f2\"]", 1, "[prompt], [list] or [reader]"),
        ("[prompt]\nundo = [\n\"f1\",\n\"f99\"]", 4, "\"f99\": write it like"),
        ("[prompt]\nundo = \"f2\"", 2, "undo needs a list of keys"),
        ("[prompt]\nundo = [2]", 2, "undo needs a list of keys"),
        ("[prompt]\nundo = [\"ctrl+c\"]", 2, "\"ctrl+c\" cannot be changed"),
        ("[reader]\nclose = [\"esc\"]", 2, "\"esc\" cannot be changed"),
        ("[prompt]\nundo = [\"shift+u\"]", 2, "\"shift+u\" types text here"),
        ("[list]\nend = [\"space\"]", 2, "\"space\" types text here"),
        ("[prompt]\nundo = [\"f2\"]\nyank = [\"F2\"]", 3, "to undo and to yank in [prompt]"),
        ("[prompt]\nundo = [\"f2\"", 2, "not valid TOML"),
        ("[prompt]\nundo = [\"f2\"]\nundo = [\"f3\"]", 3, "not valid TOML"),
    ] {
        let error = refused(text);
        assert!(error.starts_with(&format!("{line}: ")), "{text:?}: {error}");
        assert!(error.contains(words) && !error.contains('\n'), "{text:?}: {error}");
    }
}
