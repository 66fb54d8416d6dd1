//! From keys to named actions. The built-in map is `config/keymap.toml`; Ctrl+C and Esc are fixed and not part of it.

use std::collections::HashMap;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

const BUILT_IN: &str = include_str!("../../config/keymap.toml");

/// Why a keymap cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeymapError {
    #[error("the keymap is not valid TOML: {0}")]
    Toml(#[from] toml::de::Error),
    #[error("the keymap has no section [{0}]: use prompt, list or reader")]
    Section(String),
    #[error("the keymap names an unknown action {0:?}: run /help for those that exist")]
    Action(String),
    #[error(
        "the keymap has a key {0:?} that nobody can press: write it like \"ctrl+j\" or \"pageup\""
    )]
    Key(String),
    #[error("the keymap binds {0:?}, but Ctrl+C and Esc cannot be changed: remove that line")]
    Fixed(String),
}

/// Where a key is pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Context {
    Prompt,
    List,
    Reader,
}

macro_rules! actions {
    ($($variant:ident = $name:literal),+ $(,)?) => {
        /// What a key can do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Action { $($variant),+, Agent(u8) }

        impl Action {
            fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => name.strip_prefix("agent-")?.parse().ok().map(Self::Agent),
                }
            }
        }
    };
}

actions! {
    Submit = "submit", Newline = "newline", Left = "left", Right = "right", Up = "up", Down = "down",
    WordLeft = "word-left", WordRight = "word-right", LineStart = "line-start", LineEnd = "line-end",
    Home = "home", End = "end", Backspace = "backspace", Delete = "delete",
    BackgroundOrLeft = "background-or-left", DeleteOrQuit = "delete-or-quit", KillWordLeft = "kill-word-left", KillWordRight = "kill-word-right",
    KillLineLeft = "kill-line-left", KillLineRight = "kill-line-right", Yank = "yank", Undo = "undo",
    SearchHistory = "search-history", Next = "next", Previous = "previous", PageUp = "page-up",
    PageDown = "page-down", Reader = "reader", Edit = "edit", Redraw = "redraw", Suspend = "suspend",
    Search = "search", FindNext = "find-next", FindPrevious = "find-previous",
    MarkPrevious = "mark-previous", MarkNext = "mark-next", Copy = "copy", Expand = "expand", Close = "close",
}

/// A key with its modifiers, brought into one form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Chord {
    code: KeyCode,
    modifiers: KeyModifiers,
}

/// Which action each key stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap {
    bound: HashMap<(Context, Chord), Action>,
}

impl Keymap {
    /// The map that comes with the program.
    pub fn built_in() -> Result<Self, KeymapError> {
        Self { bound: HashMap::new() }.with(BUILT_IN)
    }

    /// This map with the keys of a TOML text on top.
    pub fn with(mut self, text: &str) -> Result<Self, KeymapError> {
        let sections: HashMap<String, HashMap<String, Vec<String>>> = toml::from_str(text)?;
        for (section, actions) in sections {
            let context = match section.as_str() {
                "prompt" => Context::Prompt,
                "list" => Context::List,
                "reader" => Context::Reader,
                _ => return Err(KeymapError::Section(section)),
            };
            for (name, keys) in actions {
                let action = Action::named(&name).ok_or(KeymapError::Action(name))?;
                for key in keys {
                    let chord = Chord::parse(&key).ok_or_else(|| KeymapError::Key(key.clone()))?;
                    if chord.fixed() {
                        return Err(KeymapError::Fixed(key));
                    }
                    self.bound.insert((context, chord), action);
                }
            }
        }
        Ok(self)
    }

    /// What the key does there, if anything.
    #[must_use]
    pub fn action(&self, context: Context, key: KeyEvent) -> Option<Action> {
        self.bound.get(&(context, Chord::of(key))).copied()
    }
}

impl Chord {
    fn of(key: KeyEvent) -> Self {
        let wanted = KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT;
        Self { code: key.code, modifiers: key.modifiers & wanted }.normal()
    }

    /// A letter's case is its shift; BackTab counts with or without Shift.
    fn normal(mut self) -> Self {
        match self.code {
            KeyCode::BackTab => self.modifiers.remove(KeyModifiers::SHIFT),
            KeyCode::Char(letter) if letter.is_uppercase() => {
                self.code = KeyCode::Char(letter.to_lowercase().next().unwrap_or(letter));
                self.modifiers.insert(KeyModifiers::SHIFT);
            }
            KeyCode::Char(letter) if !letter.is_alphabetic() => {
                self.modifiers.remove(KeyModifiers::SHIFT);
            }
            _ => {}
        }
        self
    }

    fn fixed(self) -> bool {
        self.code == KeyCode::Esc
            || (self.code == KeyCode::Char('c') && self.modifiers == KeyModifiers::CONTROL)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = text;
        loop {
            let (flag, behind) = match rest.split_once('+') {
                Some(("ctrl", behind)) => (KeyModifiers::CONTROL, behind),
                Some(("alt", behind)) => (KeyModifiers::ALT, behind),
                Some(("shift", behind)) => (KeyModifiers::SHIFT, behind),
                _ => break,
            };
            modifiers.insert(flag);
            rest = behind;
        }
        let code = match rest {
            "enter" => KeyCode::Enter,
            "tab" => KeyCode::Tab,
            "backtab" => KeyCode::BackTab,
            "space" => KeyCode::Char(' '),
            "backspace" => KeyCode::Backspace,
            "delete" => KeyCode::Delete,
            "up" => KeyCode::Up,
            "down" => KeyCode::Down,
            "left" => KeyCode::Left,
            "right" => KeyCode::Right,
            "home" => KeyCode::Home,
            "end" => KeyCode::End,
            "pageup" => KeyCode::PageUp,
            "pagedown" => KeyCode::PageDown,
            "esc" => KeyCode::Esc,
            _ => named_or_letter(rest)?,
        };
        Some(Self { code, modifiers }.normal())
    }
}

fn named_or_letter(text: &str) -> Option<KeyCode> {
    let mut letters = text.chars();
    match (letters.next()?, letters.next()) {
        (letter, None) => Some(KeyCode::Char(letter)),
        ('f', Some(_)) => {
            text[1..].parse().ok().filter(|key| (1..=12).contains(key)).map(KeyCode::F)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(code: KeyCode, modifiers: KeyModifiers) -> Option<Action> {
        Keymap::built_in().unwrap().action(Context::Prompt, KeyEvent::new(code, modifiers))
    }

    #[test]
    fn the_built_in_map_is_valid_and_knows_awkward_keys() {
        assert_eq!(press(KeyCode::Char('7'), KeyModifiers::CONTROL), Some(Action::Undo));
        assert_eq!(press(KeyCode::BackTab, KeyModifiers::SHIFT), Some(Action::Previous));
        assert_eq!(press(KeyCode::BackTab, KeyModifiers::NONE), Some(Action::Previous));
        assert_eq!(press(KeyCode::Char('3'), KeyModifiers::ALT), Some(Action::Agent(3)));
        assert_eq!(press(KeyCode::Char('g'), KeyModifiers::NONE), None);
    }

    #[test]
    fn a_capital_letter_is_its_letter_with_shift() {
        let map = Keymap::built_in().unwrap();
        let key = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(map.action(Context::Reader, key), Some(Action::End));
    }

    #[test]
    fn a_wrong_map_says_what_is_wrong_and_the_two_fixed_keys_stay() {
        let refuse = |text: &str| Keymap::built_in().unwrap().with(text).unwrap_err().to_string();
        assert!(refuse("[prompt]\nfly = [\"f2\"]").contains("fly"));
        assert!(refuse("[prompt]\nundo = [\"f99\"]").contains("f99"));
        assert!(refuse("[prompt]\nundo = [\"ctrl+c\"]").contains("cannot be changed"));
    }
}
