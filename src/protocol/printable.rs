//! Text that others wrote, made safe for a terminal.

/// Text of files and models made safe to print: control characters and changes of the writing direction are shown.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let hidden = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if hidden || (c.is_control() && !matches!(c, '\n' | '\t')) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// A text as one word of a shell: as it is where it means nothing else there, and else in quotes.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/.-_+@%:=,".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_shell_is_quoted_only_where_it_must_be() {
        let words = ["/a/b-c.d", "", "a b", "it's", "$HOME", "~/x"].map(shell_word);
        assert_eq!(words, ["/a/b-c.d", "''", "'a b'", r"'it'\''s'", "'$HOME'", "'~/x'"]);
    }
}
