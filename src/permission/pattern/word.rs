//! Compares one word of a rule with one word of a command.

use super::restriction::Restriction;
use crate::permission::program::base_name;
use crate::permission::spelling::Spelling;

/// Whether the words name the same kind of thing: `secret`, `secrets`, `secret/x` and `pod,secret`.
pub fn same_noun(token: &str, word: &str) -> bool {
    let singular = |noun: &str| noun.strip_suffix('s').unwrap_or(noun).to_owned();
    let is_noun = |noun: &str| noun.len() > 2 && noun.chars().all(|c| c.is_ascii_alphabetic());
    let kinds = word.split('/').next().unwrap_or_default();
    is_noun(token)
        && kinds.split(',').any(|kind| is_noun(kind) && singular(kind) == singular(token))
}

/// Whether the text is written as a path: two plain words are names of their own, such as that of a
/// sub-command.
pub fn is_path(text: &str) -> bool {
    text.contains('/') || text.contains('.') && text.contains(char::is_alphanumeric)
}

/// Whether the word is, or may turn out to be, the file that the token names.
pub fn names_file(token: &str, word: &Spelling<'_>) -> bool {
    match word.exact() {
        Some(text) => same_file(token, text) != Restriction::No,
        None => may_be_file(token, word),
    }
}

/// Whether the word, whose folder is known only at run time, may be the file that the token names.
pub fn may_be_file(token: &str, word: &Spelling<'_>) -> bool {
    !word.beginning().starts_with('-') && may_end_as_file(token, word)
}

/// The same for a word that may begin with an option.
pub fn may_end_as_file(token: &str, word: &Spelling<'_>) -> bool {
    let is_file = !token.contains('*') && !token.starts_with('-');
    is_file && word.has_slash() && word.base().may_be(base_name(token))
}

/// Compares a word with the file that the token names, in another spelling of its path.
pub fn same_file(token: &str, word: &str) -> Restriction {
    let plain = |path: &str| {
        let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
        parts.collect::<Vec<_>>().join("/")
    };
    let is_option = |word: &str| word.starts_with('-');
    if !(is_path(token) || word.contains('/'))
        || token.contains('*')
        || is_option(token)
        || is_option(word)
    {
        return Restriction::No;
    }
    match token.starts_with('/') == word.starts_with('/') && plain(token) == plain(word) {
        true => Restriction::Yes,
        false if base_name(token) == base_name(word) => {
            Restriction::Maybe(format!("`{word}` may be the same file as `{token}`"))
        }
        false => Restriction::No,
    }
}

/// Whether the word is the token, or the option that the token names with a value.
pub fn fits(token: &str, word: &str) -> bool {
    if token.contains('*') {
        return wild(token, word);
    }
    let value = || word.strip_prefix(token).is_some_and(|rest| rest.starts_with('='));
    word == token || token.starts_with("--") && value()
}

/// Whether `text` matches `pattern`, where `*` stands for any run of characters. Takes time linear
/// in the product of their lengths.
pub fn wild(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        match rest.find(piece) {
            Some(place) => rest = &rest[place + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::wild;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, expected) in [
            ("git * main", "git push origin main", true),
            ("git * main", "git main", false),
            ("a*a", "a", false),
            ("a*b*c", "axxbyyc", true),
            ("*", "anything", true),
        ] {
            assert_eq!(wild(pattern, text), expected, "{pattern} ~ {text}");
        }
    }
}
