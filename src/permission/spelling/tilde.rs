//! Tildes that stand for a folder.

use super::piece::Piece;

/// Where the value begins in a word of the form of an assignment, such as `if=~/a`. Bash expands
/// tildes in these as well.
pub fn in_word(text: &[char]) -> Option<usize> {
    let mut at = name_length(text)?;
    at += usize::from(text.get(at) == Some(&'+'));
    (text.get(at) == Some(&'=')).then_some(at + 1)
}

/// The length of the name of a variable at the beginning of the text.
fn name_length(text: &[char]) -> Option<usize> {
    let is_letter = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let length = text.iter().take_while(|c| is_letter(c)).count();
    (length > 0 && !text[0].is_ascii_digit()).then_some(length)
}

/// Whether a tilde may stand for a folder behind a subscript, as in `x[a]=~/b`: only bash knows
/// where that ends.
pub fn is_behind_subscript(text: &[char], at: usize) -> bool {
    let begins = |length: usize| text.get(length) == Some(&'[') && at > length;
    let at = before_continuations(text, at);
    at > 0 && matches!(text[at - 1], '=' | ':') && name_length(text).is_some_and(begins)
}

/// Whether a tilde at this place may stand for a folder: at the beginning of the word, and in an
/// assignment at the beginning of its value, which is at `value`, and behind each colon that is
/// not quoted.
pub fn is_at(text: &[char], at: usize, value: Option<usize>, is_behind_colon: bool) -> bool {
    let at = before_continuations(text, at);
    let is_within =
        |start: usize| at == start || is_behind_colon && at > start && text[at - 1] == ':';
    at == 0 || value.is_some_and(is_within)
}

/// Expands the tilde and the name after it as bash does. Also returns where the name ends.
pub fn folder(text: &[char], at: usize) -> (Piece, usize) {
    let length = text[at..].iter().position(|c| matches!(c, '/' | ':'));
    let end = length.map_or(text.len(), |length| at + length);
    let name: String = text[at..end].iter().collect();
    let name = name.replace("\\\n", "");
    match name.as_str() {
        "~" => (Piece::Variable("HOME".to_owned()), end),
        // The top of the stack of folders is the working directory.
        "~+" | "~0" | "~+0" => (Piece::Variable("PWD".to_owned()), end),
        // With quotes or an expansion in the name, it is only a tilde.
        _ if name.contains(['\\', '\'', '"', '$', '`']) => (Piece::Char('~'), at + 1),
        _ => (Piece::Variable(name), end),
    }
}

/// The place without the line continuations before it.
fn before_continuations(text: &[char], mut at: usize) -> usize {
    while text[..at].ends_with(&['\\', '\n']) {
        at -= 2;
    }
    at
}
