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

/// A permission rule, in quotes unless its only parentheses are around its second part: text behind the
/// first `)` would continue the sentence.
pub fn quoted_rule(rule: &str) -> Cow<'_, str> {
    let (tool, covered) = match rule.strip_suffix(')').and_then(|rest| rest.split_once('(')) {
        Some((tool, covered)) => (tool, covered),
        None => (rule, ""),
    };
    let is_plain = |c: char| c == ' ' || c.is_alphanumeric() || PLAIN.contains(c);
    let is_tool = |c: char| c.is_alphanumeric() || "_-*".contains(c);
    match tool.chars().all(is_tool) && covered.chars().all(|c| is_plain(c) && !"()".contains(c)) {
        true => Cow::Borrowed(rule),
        false => Cow::Owned(quoted(rule)),
    }
}

/// The text in quotes, which end only where it does. It has no line ends or tabs.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", single_line(text).replace('\\', "\\\\").replace('"', "\\\""))
}

/// The text with signs in the place of line ends and tabs.
pub fn single_line(text: &str) -> String {
    text.replace('\n', "␊").replace('\r', "␍").replace('\t', "␉")
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
            ("a\r\nb", "\"a␍␊b\""),
            ("a\tb", "\"a␉b\""),
            ("a\u{a0}b", "\"a\u{a0}b\""),
            ("a\" wants \"b", "\"a\\\" wants \\\"b\""),
            ("a\\", "\"a\\\\\""),
        ] {
            assert_eq!(quoted_name(name), shown);
        }
    }

    #[test]
    fn a_rule_is_in_quotes_if_a_sentence_could_end_in_it() {
        for plain in ["Bash(git push:*)", "Bash", "mcp__x__y", "Edit(src/**)", "Bash(make -j 4)"] {
            assert_eq!(quoted_rule(plain), plain);
        }
        for (rule, shown) in [
            ("Bash(touch* · allowed: x)", "\"Bash(touch* · allowed: x)\""),
            ("Bash(a) asks (b)", "\"Bash(a) asks (b)\""),
            ("Bash(echo \"a\")", "\"Bash(echo \\\"a\\\")\""),
            ("Bash(a\nb)", "\"Bash(a␊b)\""),
            ("Bash(a", "\"Bash(a\""),
            ("a b", "\"a b\""),
        ] {
            assert_eq!(quoted_rule(rule), shown);
        }
    }
}
