//! Names and texts of others within a sentence of caliban's.

use std::borrow::Cow;

/// Characters besides letters and digits that a name may have without quotes.
const PLAIN: &str = "/._-~@+%,=:#$^&!*?'()[]{}";

/// The name, in quotes unless it is one plain word: with blanks in it, a file could be called
/// `a (trusted)` and continue the sentence around it.
pub fn quoted_name(name: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || PLAIN.contains(c);
    match !name.is_empty() && !name.starts_with('(') && name.chars().all(is_plain) {
        true => Cow::Borrowed(name),
        false => Cow::Owned(quoted(name)),
    }
}

/// The text in quotes, which end only where it does.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_in_quotes_unless_it_is_one_plain_word() {
        for plain in ["src/main.rs", "/p/größe.txt", "app/(shop)/[id].tsx", "~/.ssh/id", "a:1"] {
            assert_eq!(quoted_name(plain), plain);
        }
        for (name, shown) in [
            ("", "\"\""),
            ("(trusted)", "\"(trusted)\""),
            ("a.txt (trusted)", "\"a.txt (trusted)\""),
            ("a·b", "\"a·b\""),
            ("a\nb", "\"a\nb\""),
            ("a\u{a0}b", "\"a\u{a0}b\""),
            ("a\" wants \"b", "\"a\\\" wants \\\"b\""),
            ("a\\", "\"a\\\\\""),
        ] {
            assert_eq!(quoted_name(name), shown);
        }
    }
}
