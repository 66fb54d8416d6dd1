//! The parts of an open word.

use super::char_set::CharSet;

/// A part of an open word.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    Char(char),
    /// `?`: any one character.
    One,
    /// `[…]`: one of these characters.
    Set(CharSet),
    /// `*`: any part of a name.
    Star,
    /// The value of this variable, or the folder that bash makes of this word with a `~`.
    Variable(String),
    /// Any text.
    Any,
    /// Any text, because there are more alternatives than the limit.
    Limit,
}

impl Piece {
    /// Whether it stands for the home of a user, or another folder that bash writes with a `~`.
    pub fn is_home(&self) -> bool {
        matches!(self, Self::Variable(name) if name == "HOME" || name.starts_with('~'))
    }
}
