//! Large pastes. The editor goes through its whole text at each edit, so that a large paste is one
//! character to it, which stands for the text.

use std::ops::RangeInclusive;

/// The most bytes that pastes may add up to as text that can be edited. With fewer, no line has more
/// than the 65,535 columns that the editor can address.
pub const MAX_EDITED: usize = 60_000;

/// The characters that stand for pastes: Unicode reserves them for use inside programs.
const TOKENS: RangeInclusive<char> = '\u{fdd0}'..='\u{fdef}';

/// The fewest bytes of a paste that is one character.
const MIN_FOLDED: usize = 1000;

/// Pastes kept when their draft was sent or cleared, for the history.
const KEPT_PASTES: usize = 8;

/// The large pastes of a text, each of which is one character in it.
#[derive(Clone, Debug, Default)]
pub struct LargePastes {
    pastes: Vec<LargePaste>,
}

#[derive(Clone, Debug)]
struct LargePaste {
    text: String,
    label: String,
}

/// Whether a character stands for a large paste.
pub fn is_token(letter: char) -> bool {
    TOKENS.contains(&letter)
}

/// Turns line ends into `\n` and drops other control characters except tabs.
pub fn clean(text: &str) -> String {
    text.replace("\r\n", "\n")
        .replace('\r', "\n")
        .chars()
        .filter(|letter| matches!(letter, '\n' | '\t') || !letter.is_control())
        .collect()
}

impl LargePastes {
    /// Returns what to insert for a pasted text beside `edited` bytes: one character if it is large.
    pub fn fold_into(&mut self, text: &str, edited: usize) -> String {
        let text = text.replace(is_token, "");
        if text.len() < MIN_FOLDED || edited + text.len() <= MAX_EDITED {
            return text;
        }
        let known = self.pastes.iter().position(|paste| paste.text == text);
        let at = known.unwrap_or(self.pastes.len());
        let Some(token) = TOKENS.clone().nth(at) else { return text };
        if known.is_none() {
            self.pastes.push(LargePaste { label: label(&text), text });
        }
        token.to_string()
    }

    /// Returns the form to edit of a text from elsewhere, such as the history: in a large text each
    /// known paste is one character, or else all of it.
    pub fn fold(&mut self, text: &str) -> String {
        if text.len() <= MAX_EDITED {
            return text.replace(is_token, "");
        }
        let mut folded = text.replace(is_token, "");
        for (paste, token) in self.pastes.iter().zip(TOKENS) {
            folded = folded.replace(&paste.text, token.encode_utf8(&mut [0; 4]));
        }
        if folded.len() <= MAX_EDITED { folded } else { self.fold_into(text, 0) }
    }

    /// Puts the pastes in place of their characters.
    pub fn expand(&self, text: &str) -> String {
        if self.pastes.is_empty() {
            return text.to_owned();
        }
        let mut expanded = String::new();
        for letter in text.chars() {
            match self.paste(letter) {
                Some(paste) => expanded.push_str(&paste.text),
                None => expanded.push(letter),
            }
        }
        expanded
    }

    /// The text on the screen for a grapheme cluster that is a paste.
    pub fn label(&self, cluster: &str) -> Option<&str> {
        let paste = self.paste(cluster.chars().next()?)?;
        Some(&paste.label)
    }

    /// Forgets all but the newest pastes, once no text has their characters any more.
    pub fn forget_oldest(&mut self) {
        self.pastes.drain(..self.pastes.len().saturating_sub(KEPT_PASTES));
    }

    fn paste(&self, letter: char) -> Option<&LargePaste> {
        let at = u32::from(letter).checked_sub(u32::from(*TOKENS.start()))?;
        self.pastes.get(usize::try_from(at).ok()?)
    }
}

/// A label such as `[2,000 lines · 82 kB]`.
fn label(text: &str) -> String {
    let size = match text.len() {
        bytes @ ..1_000_000 => format!("{} kB", bytes / 1000),
        bytes => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    };
    let lines = match text.lines().count() {
        1 => "1 line".to_owned(),
        lines @ ..1000 => format!("{lines} lines"),
        lines @ ..1_000_000 => format!("{},{:03} lines", lines / 1000, lines % 1000),
        lines => {
            format!("{},{:03},{:03} lines", lines / 1_000_000, lines / 1000 % 1000, lines % 1000)
        }
    };
    format!("[{lines} · {size}]")
}
