//! The name of a slash command at the beginning of a prompt.

/// Splits a prompt into the name after the slash and the rest, if it looks like a command: `/usr/bin` does not.
pub fn split(prompt: &str) -> Option<(&str, &str)> {
    let line = prompt.trim().strip_prefix('/')?;
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ':' | '.');
    (!name.is_empty() && name.chars().all(plain)).then(|| (name, arguments.trim()))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_path_and_a_slash_alone_are_no_commands() {
        assert_eq!(split(" /compact  keep the\nnames "), Some(("compact", "keep the\nnames")));
        assert_eq!(split("/team:review"), Some(("team:review", "")));
        for prompt in ["/usr/bin/env", "/", "/ cost", "// a comment", "cost", "see /cost", ""] {
            assert_eq!(split(prompt), None, "{prompt}");
        }
    }
}
