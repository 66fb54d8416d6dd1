//! A key with modifiers in a normal form: from key events, from the keymap, and for display.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key with its modifiers, normalized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chord {
    code: KeyCode,
    modifiers: KeyModifiers,
}

/// Named keys: the name in the keymap and the name on the screen.
const NAMED_KEYS: [(KeyCode, &str, &str); 15] = [
    (KeyCode::Enter, "enter", "Enter"),
    (KeyCode::Tab, "tab", "Tab"),
    (KeyCode::BackTab, "backtab", "Shift+Tab"),
    (KeyCode::Char(' '), "space", "space"),
    (KeyCode::Backspace, "backspace", "Backspace"),
    (KeyCode::Delete, "delete", "Del"),
    (KeyCode::Insert, "insert", "Ins"),
    (KeyCode::Up, "up", "Up"),
    (KeyCode::Down, "down", "Down"),
    (KeyCode::Left, "left", "Left"),
    (KeyCode::Right, "right", "Right"),
    (KeyCode::Home, "home", "Home"),
    (KeyCode::End, "end", "End"),
    (KeyCode::PageUp, "pageup", "PgUp"),
    (KeyCode::PageDown, "pagedown", "PgDn"),
];

/// Modifiers, in display order: the name in the keymap and on the screen.
const MODIFIERS: [(KeyModifiers, &str, &str); 3] = [
    (KeyModifiers::CONTROL, "ctrl+", "Ctrl+"),
    (KeyModifiers::ALT, "alt+", "Alt+"),
    (KeyModifiers::SHIFT, "shift+", "Shift+"),
];

impl Chord {
    pub(super) fn from_key(key: KeyEvent) -> Self {
        let mask = MODIFIERS.into_iter().fold(KeyModifiers::NONE, |all, (held, ..)| all | held);
        Self { code: key.code, modifiers: key.modifiers & mask }.normalize()
    }

    /// Normalizes: an uppercase letter has Shift, and Shift+Tab is its own key.
    fn normalize(mut self) -> Self {
        match self.code {
            KeyCode::Tab if self.modifiers.contains(KeyModifiers::SHIFT) => {
                self.code = KeyCode::BackTab;
                self.modifiers.remove(KeyModifiers::SHIFT);
            }
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

    /// Whether this is Ctrl+C or Esc, which cannot be rebound.
    pub(super) fn is_fixed(self) -> bool {
        self.code == KeyCode::Esc
            || (self.code == KeyCode::Char('c') && self.modifiers.contains(KeyModifiers::CONTROL))
    }

    /// Whether this key types text.
    pub(super) fn is_text(self) -> bool {
        let chord = self.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        matches!(self.code, KeyCode::Char(_)) && !chord
    }

    /// Parses a key name such as `ctrl+j`. After a modifier the case of a letter is ignored; use
    /// `shift+`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut modifiers = KeyModifiers::NONE;
        let small = text.to_lowercase();
        let mut rest = small.as_str();
        while let Some((held, name, _)) =
            MODIFIERS.iter().find(|(_, name, _)| rest.starts_with(name))
        {
            modifiers.insert(*held);
            rest = &rest[name.len()..];
        }
        let alone = modifiers.is_empty() && text.chars().count() == 1;
        let code = match rest {
            "esc" | "escape" => KeyCode::Esc,
            "del" => KeyCode::Delete,
            "pgup" => KeyCode::PageUp,
            "pgdn" | "pgdown" => KeyCode::PageDown,
            _ if alone => KeyCode::Char(text.chars().next()?),
            _ => match NAMED_KEYS.iter().find(|(_, name, _)| *name == rest) {
                Some((code, ..)) => *code,
                None => function_or_letter(rest)?,
            },
        };
        Some(Self { code, modifiers }.normalize())
    }
}

fn function_or_letter(text: &str) -> Option<KeyCode> {
    let mut letters = text.chars();
    match (letters.next()?, letters.next()) {
        (letter, None) => Some(KeyCode::Char(letter)),
        ('f', Some(_)) => {
            text[1..].parse().ok().filter(|key| (1..=12).contains(key)).map(KeyCode::F)
        }
        _ => None,
    }
}

/// As hints show it: `Ctrl+O`, `PgUp`, `j`, `G`.
impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alone = self.is_text();
        for (held, _, name) in MODIFIERS {
            let written = alone && held == KeyModifiers::SHIFT;
            if self.modifiers.contains(held) && !written {
                f.write_str(name)?;
            }
        }
        if let Some((.., name)) = NAMED_KEYS.iter().find(|(code, ..)| *code == self.code) {
            return f.write_str(name);
        }
        match self.code {
            KeyCode::Char(letter) if alone && !self.modifiers.contains(KeyModifiers::SHIFT) => {
                write!(f, "{letter}")
            }
            KeyCode::Char(letter) => write!(f, "{}", letter.to_uppercase()),
            KeyCode::F(number) => write!(f, "F{number}"),
            _ => Ok(()),
        }
    }
}
